package explaintest

import (
	"database/sql"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/quern-dev/quern/explain"
	"github.com/quern-dev/quern/internal/testservers"
)

// recorder is a testing.TB that keeps what is reported.
type recorder struct {
	testing.TB
	errors []string
	fatal  string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatalf(format string, args ...any) {
	r.fatal = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// record returns what an assertion reports.
func record(t *testing.T, assert func(testing.TB)) *recorder {
	rec := &recorder{TB: t}
	var wg sync.WaitGroup
	wg.Go(func() { assert(rec) })
	wg.Wait()
	return rec
}

func orders(t *testing.T, srv *testservers.Server) *sql.DB {
	t.Helper()
	db := srv.DB(t, srv.Schema(t))
	for _, stmt := range []string{
		"CREATE TABLE orders (id INT PRIMARY KEY AUTO_INCREMENT, customer INT NOT NULL, note VARCHAR(20), KEY by_customer (customer))",
		"INSERT INTO orders (customer, note) VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e'), (6, 'f'), (7, 'g'), (8, 'h')",
		"INSERT INTO orders (customer, note) SELECT a.customer * 10 + b.customer, a.note FROM orders a, orders b, orders c",
		"INSERT INTO orders (customer, note) SELECT a.customer + 100 * b.id, a.note FROM orders a, orders b WHERE b.id <= 24",
		"ANALYZE TABLE orders",
	} {
		if _, err := db.Exec(stmt); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

func TestAssertionsHoldAndFail(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		db := orders(t, srv)
		const hidden, plain = "SELECT id FROM orders WHERE customer + 0 = 45", "SELECT id FROM orders WHERE customer = 45"
		good := Rewrite{DB: db, Old: hidden, New: plain}
		back := Rewrite{DB: db, Old: plain, New: hidden}
		other := Rewrite{DB: db, Old: plain, New: "SELECT id FROM orders WHERE customer = 46"}
		update := Rewrite{DB: db, Old: "UPDATE orders SET note = 'x' WHERE customer = 45", New: "SELECT orders.*  FROM orders\nWHERE customer = 45"}
		for _, c := range []struct {
			name   string
			assert func(testing.TB)
			want   string // what is reported; "" for nothing
		}{
			{"the same rows", good.SameRows, ""},
			{"other rows", other.SameRows, "the rows differ"},
			{"another order", Rewrite{DB: db, Old: "SELECT id FROM orders WHERE customer = 45 ORDER BY id", New: "SELECT id FROM orders WHERE customer = 45 ORDER BY id DESC"}.SameRows, "the order differs"},
			{"the index by its name", func(t testing.TB) { good.UsesIndex(t, "orders", "by_customer") }, ""},
			{"the index by its column", func(t testing.TB) { good.UsesIndex(t, "orders", "customer") }, ""},
			{"no index", func(t testing.TB) { back.UsesIndex(t, "orders", "customer") }, "not read by index customer"},
			{"the index for its order", func(t testing.TB) {
				Rewrite{DB: db, New: "SELECT id FROM orders ORDER BY customer LIMIT 3"}.UsesIndex(t, "orders", "by_customer")
			}, ""},
			{"no such table", func(t testing.TB) { good.UsesIndex(t, "items", "customer") }, "does not show table items"},
			{"no problem", func(t testing.TB) { good.NoProblem(t) }, ""},
			{"a problem", func(t testing.TB) { back.NoProblem(t) }, "function-on-column"},
			{"another problem", func(t testing.TB) { back.NoProblem(t, explain.LargeSort) }, ""},
			{"few rows", func(t testing.TB) { good.ReadsAtMost(t, 100) }, ""},
			{"many rows", func(t testing.TB) { back.ReadsAtMost(t, 100) }, "want at most 100"},
			{"one class", other.SameClass, ""},
			{"two classes", good.SameClass, "another class"},
			{"the SELECT of an UPDATE", update.Rewrites, ""},
			{"another SELECT", Rewrite{DB: db, Old: update.Old, New: plain}.Rewrites, "rewritten to another query"},
		} {
			t.Run(c.name, func(t *testing.T) {
				rec := record(t, c.assert)
				got := strings.Join(rec.errors, "\n")
				if rec.fatal != "" || (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
					t.Errorf("reported %q, fatal %q; want %q", got, rec.fatal, c.want)
				}
				if c.want != "" && !strings.Contains(c.name, "class") && !strings.Contains(c.name, "SELECT") && strings.Count(got, "select #1") < 2 {
					t.Errorf("the report does not show both plans:\n%s", got)
				}
			})
		}
		if rec := record(t, Rewrite{DB: db, Old: plain, New: "DELETE FROM orders"}.SameRows); rec.fatal == "" {
			t.Error("a DELETE was compared")
		}
	})
}
