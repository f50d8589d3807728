// Package explain asks servers how they mean to run a statement, without
// running it, and says what is wrong with the plan.
//
// [Rewrite] turns a statement that writes into the SELECT that reads the same
// rows by the same access paths, and lists its hazards. [Explainer] sends it to
// a server and gives back a [Plan]: one tree for every server and format. The
// parsers, [Parse] and [ParseRows], read plans from files and need no
// connection. [Plan.Problems] names what is wrong, with the evidence and what to
// try. [Compare] judges a rewritten query by its rows, plan and work.
//
// # What EXPLAIN runs
//
// EXPLAIN is not free of effects. Seen on MySQL 9.7 and MariaDB 10.11, plain
// EXPLAIN
//
//   - runs a derived table, common table expression or view without FROM or with
//     constant tables, with whatever it calls: SLEEP, GET_LOCK, NEXTVAL, on MariaDB
//     a stored function that writes a row;
//   - on MySQL runs any derived table that is expected to give one row; on both,
//     subqueries that do not depend on outer rows and whose value is wanted for a
//     key; with whatever they cost;
//   - evaluates deterministic functions, named locks and assignments of user
//     variables next to an indexed column or a constant table;
//   - waits for row locks and metadata locks.
//
// No list of bad functions can hold against stored functions. Explainer allows
// the other way round: a function that is not known to be this server's own is a
// [Hazard], also inside views, whose definitions it reads. Beyond that it sends
// only what the server's prepare takes for one statement, inside a READ ONLY
// transaction, with limits of time, on a connection of its own that it closes
// afterwards, and kills the server's query when the context ends.
//
// Blocks and subqueries that could be run are explained by themselves first, and
// refused where their estimate is above [Options.MaxExecuted]. What is not
// recognised, as IN with a subquery behind a column of a table that turns out
// constant, is bounded by the limit of time. On TiDB, where READ ONLY may be without effect, and
// on MySQL before 8.0 the guard rests on their documentation alone.
//
// # The account to use
//
// Give Explainer an account with SELECT and SHOW VIEW on the schemas in question
// and nothing else: no EXECUTE, no FILE, no write privilege. [Explainer.ExplainNative]
// and [Explainer.RunAndAnalyze] are apart and say what more they need.
//
//	CREATE USER explain@'10.0.0.%' IDENTIFIED BY '…';
//	GRANT SELECT, SHOW VIEW ON shop.* TO explain@'10.0.0.%';
package explain
