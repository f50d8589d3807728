package explaintest_test

import (
	"database/sql"
	"testing"

	"github.com/quern-dev/quern/explain/explaintest"
)

// A test of a rewritten query in a program's own test suite.
func Example() {
	var testDB *sql.DB // the suite's, on a server with data

	_ = func(t *testing.T) {
		rw := explaintest.Rewrite{
			DB:  testDB,
			Old: "SELECT * FROM orders WHERE DATE(created) = '2026-01-02'",
			New: "SELECT * FROM orders WHERE created >= '2026-01-02' AND created < '2026-01-03'",
		}
		rw.SameRows(t)
		rw.UsesIndex(t, "orders", "created")
		rw.NoProblem(t)
		rw.ReadsAtMost(t, 1000)
	}
}
