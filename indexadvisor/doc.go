// Package indexadvisor finds the columns of an index, and their order, by
// counting.
//
// The method is Baron Schwartz's ("A rule of thumb for choosing column order
// in indexes", 2009). Each condition of the WHERE clause is wrapped in SUM():
// the one that matches the fewest rows comes first in the index. It moves from
// the SELECT list into the WHERE clause, and the others are counted again
// inside that subset; a column that filters nothing more is left out. So a
// column that looks selective by itself but says the same as another one is
// found out, which no count of distinct values shows.
//
// The counts decide which columns belong into the index. What a B-tree can do
// decides the rest: columns fixed by equalities stand first, in the order of
// the rounds; then lists; then either one range, or the columns of ORDER BY or
// GROUP BY, whichever reads less; then columns that are checked on the index
// entry, or that spare fetching the row. Every candidate is costed by the
// counts, and a column stays only if the query costs noticeably more without
// it. The reason in each Suggestion tells what each column is there for.
//
// The advisor asks a Catalog for tables and indexes and a Counter for counts.
// MySQL gives both from a server; its statements only read, and are limited in
// time, and wait while it is busy. Big tables are sampled by ranges of the
// primary key, and the rounds then show confidence intervals; where a round of
// the sample runs dry, the rows that it is about are counted themselves, if an
// index leads to them. Rows gives both from memory.
//
// Nothing is ever changed on the server that is asked. Verify tries a
// suggestion on another one, in a schema of its own that it drops again.
package indexadvisor
