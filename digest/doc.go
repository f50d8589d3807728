// Package digest turns the events of a query log into a profile of the workload:
// statements that differ only in their literals are one class, and a class knows
// how often it ran, how long it took, and what it read.
package digest
