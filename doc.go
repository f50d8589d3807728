// Package quern is a module for query workload analysis of MySQL, Percona
// Server and MariaDB: from slow logs and request logs to the query classes that
// cost the most, their plans, and the indexes that would mend them.
//
// This package holds no code; it is the map of the others. They follow the way
// of a performance consultant, from what users feel down to the index that mends
// it, and data goes one way through them:
//
//   - slowlog reads slow logs of every dialect, the general log and the slow_log
//     table as Events, and writes them. Package slowlog/logfile opens plain, gzip
//     and zstd files and follows one that is still being written.
//   - digest makes Events into a Profile: classes of statements that differ in
//     their literals alone, ranked by load or by latency. It fingerprints,
//     aggregates, merges, compares, and collects in the background of a program.
//     Package digest/perfschema has the server's own counts as classes.
//   - slowlog/requestlog reads the logs of requests, and digest/goal holds them
//     against goals ("search pages: 95 % under 1 s"): which requests miss them,
//     where their time went, and which queries took it.
//   - digest/finding looks at a Profile, and at the plans of its classes, as a
//     consultant would: what is wrong, what to do about it in which order, and
//     how much that can win.
//   - digest/report shows a Profile or an Analysis as text, JSON or one HTML file.
//   - explain rewrites a statement to the SELECT that reads the same rows, asks a
//     server for its plan without letting it run anything, and names what is
//     wrong with it. Package explain/explaintest tests rewritten queries.
//   - indexadvisor counts the rows that each condition matches, chooses the
//     columns of an index and their order by that, and proves the change.
//
// Start with the programs under examples: topqueries, goals, explain, advise. Those
// with a module of their own, apm and beam, are run as go -C examples/apm run .
//
// Packages slowlog and digest and those below them need nothing but the standard
// library, but for zstd. Packages explain and indexadvisor take a *sql.DB and
// parse SQL with the parser of TiDB.
package quern
