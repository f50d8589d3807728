package main

import (
	"bytes"
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/quern-dev/quern/explain"
	"github.com/quern-dev/quern/explain/explaintest"
	"github.com/quern-dev/quern/internal/testservers"
)

// testDB returns a pool on a schema with the tables of patterns.go. In a program's
// own tests it is whatever they use, with data that resembles production's.
func testDB(t *testing.T, srv *testservers.Server) *sql.DB {
	t.Helper()
	db := srv.DB(t, srv.Schema(t))
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := load(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	return db
}

func TestRewrites(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		db := testDB(t, srv)
		t.Run("every form gives the rows of the first", func(t *testing.T) { everyForm(t, db, srv) })
		t.Run("exclusion join", func(t *testing.T) { exclusionJoin(t, db) })
		t.Run("random selection", func(t *testing.T) { randomSelection(t, db) })
		t.Run("greatest per group", func(t *testing.T) { greatestPerGroup(t, db) })
		t.Run("dynamic pivot", func(t *testing.T) { dynamicPivot(t, db) })
		t.Run("relational division", func(t *testing.T) { relationalDivision(t, db) })
		t.Run("the table of results", func(t *testing.T) { resultTable(t, db, srv) })
	})
}

func everyForm(t *testing.T, db *sql.DB, srv *testservers.Server) {
	for _, p := range patterns {
		for _, f := range p.forms[1:] {
			if !f.random && f.not != string(srv.Flavor) {
				t.Run(p.name+"/"+f.name, func(t *testing.T) {
					explaintest.Rewrite{DB: db, Old: p.forms[0].sql, New: f.sql}.SameRows(t)
				})
			}
		}
	}
}

func exclusionJoin(t *testing.T, db *sql.DB) {
	rw := explaintest.Rewrite{DB: db,
		Old: "SELECT c.id, c.name FROM customers c WHERE (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id) = 0",
		New: "SELECT c.id, c.name FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.customer_id IS NULL",
	}
	rw.SameRows(t)
	rw.UsesIndex(t, "o", "customer_created")
	rw.ReadsAtMost(t, 1500)

	// The trap: one NULL among the values, and NOT IN is never true.
	trap, err := explain.Compare(t.Context(), db,
		"SELECT c.id FROM customers c WHERE c.id NOT IN (SELECT o.referrer_id FROM orders o)",
		"SELECT c.id FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.referrer_id = c.id)")
	if err != nil {
		t.Fatal(err)
	}
	if trap.SameRows || trap.A.Rows != 0 || trap.B.Rows == 0 {
		t.Errorf("NOT IN over a NULL gives %d rows, NOT EXISTS %d", trap.A.Rows, trap.B.Rows)
	}
}

func randomSelection(t *testing.T, db *sql.DB) {
	rw := explaintest.Rewrite{DB: db,
		New: "SELECT c.id, c.name FROM (SELECT RAND() * (SELECT MAX(id) FROM customers) AS k) r JOIN customers c ON c.id >= r.k ORDER BY c.id LIMIT 1",
	}
	rw.ReadsAtMost(t, 20)
	rw.NoProblem(t, explain.OrderByRand)
}

func greatestPerGroup(t *testing.T, db *sql.DB) {
	rw := explaintest.Rewrite{DB: db,
		Old: "SELECT o.customer_id, o.id, o.total FROM orders o WHERE o.created = (SELECT MAX(p.created) FROM orders p WHERE p.customer_id = o.customer_id)",
		New: "SELECT o.customer_id, o.id, o.total FROM orders o JOIN (SELECT customer_id, MAX(created) AS created FROM orders GROUP BY customer_id) m ON m.customer_id = o.customer_id AND m.created = o.created",
	}
	rw.SameRows(t)
	rw.UsesIndex(t, "o", "customer_created")
	rw.NoProblem(t, explain.DependentSubquery)
	rw.ReadsAtMost(t, 6000)
}

func dynamicPivot(t *testing.T, db *sql.DB) {
	text, err := pivot(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	rw := explaintest.Rewrite{DB: db, New: text}
	for _, f := range patterns[4].forms {
		rw.Old = f.sql
		rw.SameRows(t)
	}
	rw.ReadsAtMost(t, 15_000) // each order once, and the groups

	// A value is data, whatever it looks like. Quoted, it is a column's name.
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), "INSERT INTO orders VALUES (0, 1, NULL, 'a`\\'\\\\', '2025-12-31', 7)"); err != nil {
		t.Fatal(err)
	}
	defer conn.ExecContext(context.Background(), "DELETE FROM orders WHERE id = 0")
	text, err = pivot(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	var day string
	var odd, rest [4]sql.NullString
	row := db.QueryRowContext(t.Context(), text+" ORDER BY day LIMIT 1")
	if err := row.Scan(&day, &odd[0], &rest[0], &rest[1], &rest[2], &rest[3]); err != nil {
		t.Fatal(err)
	}
	if odd[0].String != "7.00" || rest[0].String != "0.00" {
		t.Errorf("the column of the odd value holds %q, another %q", odd[0].String, rest[0].String)
	}
}

func relationalDivision(t *testing.T, db *sql.DB) {
	rw := explaintest.Rewrite{DB: db,
		Old: "SELECT o.id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM wanted w WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.order_id = o.id AND i.product_id = w.product_id))",
		New: "SELECT i.order_id FROM items i JOIN wanted w ON w.product_id = i.product_id GROUP BY i.order_id HAVING COUNT(*) = (SELECT COUNT(*) FROM wanted)",
	}
	rw.SameRows(t)
	rw.ReadsAtMost(t, 24_000)

	// Of nothing, double NOT EXISTS finds all, and counting finds none.
	c, err := explain.Compare(t.Context(), db,
		"SELECT o.id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM wanted w WHERE w.product_id < 0 AND NOT EXISTS (SELECT 1 FROM items i WHERE i.order_id = o.id AND i.product_id = w.product_id))",
		"SELECT i.order_id FROM items i JOIN wanted w ON w.product_id = i.product_id AND w.product_id < 0 GROUP BY i.order_id HAVING COUNT(*) = (SELECT COUNT(*) FROM wanted WHERE product_id < 0)")
	if err != nil {
		t.Fatal(err)
	}
	if c.A.Rows != 6000 || c.B.Rows != 0 {
		t.Errorf("of nothing: %d and %d rows", c.A.Rows, c.B.Rows)
	}
}

func resultTable(t *testing.T, db *sql.DB, srv *testservers.Server) {
	var out bytes.Buffer
	if err := report(t.Context(), db, explain.ParseServer(srv.Version, ""), &out); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "other rows") {
		t.Errorf("forms give other rows:\n%s", &out)
	}
	if got := strings.Count(out.String(), "fastest"); got != len(patterns) {
		t.Errorf("%d winners of %d patterns:\n%s", got, len(patterns), &out)
	}
}
