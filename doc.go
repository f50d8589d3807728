// Package quern is a module for query workload analysis of MySQL, Percona
// Server and MariaDB: from slow logs and request logs to the query classes that
// cost the most, their plans, and the indexes that would mend them.
//
// This package holds no code; it is the map of the others.
package quern
