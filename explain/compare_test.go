package explain

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/quern-dev/quern/internal/testservers"
)

func TestCompareJudgesRowsAndOrder(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		db, _ := openShop(t, srv)
		for _, c := range []struct {
			name, a, b string
			same       bool
			order      Order
		}{
			{"another way to the same rows", "SELECT id FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id)",
				"SELECT c.id AS customer FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.id IS NULL", true, NotFixed},
			{"a row twice", "SELECT id FROM customers WHERE id < 5", "SELECT id FROM customers WHERE id < 5 UNION ALL SELECT 4", false, NotFixed},
			{"other rows", "SELECT id FROM customers WHERE id < 5", "SELECT id FROM customers WHERE id < 6 AND id > 1", false, NotFixed},
			{"NULL is not an empty string", "SELECT NULL", "SELECT ''", false, NotFixed},
			{"values do not run into each other", "SELECT 'a', 'bc'", "SELECT 'ab', 'c'", false, NotFixed},
			{"numbers of another scale", "SELECT 1.50, 2.0, SUM(total) FROM orders", "SELECT 1.5, 2, SUM(total) + 0.000 FROM orders", true, NotFixed},
			{"another number of columns", "SELECT 1", "SELECT 1, 2", false, NotFixed},
			{"the same order", "SELECT id FROM customers WHERE id < 50 ORDER BY id DESC", "SELECT id FROM customers WHERE id <= 49 ORDER BY 1 DESC", true, SameOrder},
			{"another order", "SELECT id FROM customers WHERE id < 50 ORDER BY id DESC", "SELECT id FROM customers WHERE id < 50 ORDER BY id", true, DifferentOrder},
			{"ties", "SELECT country, id FROM customers WHERE id < 50 ORDER BY country, RAND(1)", "SELECT country, id FROM customers WHERE id < 50 ORDER BY country", true, NotFixed},
		} {
			t.Run(c.name, func(t *testing.T) {
				got, err := Compare(context.Background(), db, c.a, c.b)
				if err != nil {
					t.Fatal(err)
				}
				if got.SameRows != c.same || c.same && got.Order != c.order {
					t.Errorf("same rows: %t, order %s; want %t, %s\n%s", got.SameRows, got.Order, c.same, c.order, got)
				}
				if got.A.Plan == nil || got.B.Plan == nil || len(got.A.Times) == 0 || len(got.A.Times) != len(got.B.Times) {
					t.Errorf("%+v", got)
				}
			})
		}
	})
}

func TestCompareCountsTheWork(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		db, _ := openShop(t, srv)
		c, err := Compare(context.Background(), db, "SELECT COUNT(*) FROM orders WHERE customer_id + 0 = 42", "SELECT COUNT(*) FROM orders WHERE customer_id = 42")
		if err != nil {
			t.Fatal(err)
		}
		if a, b := c.A.RowsRead(), c.B.RowsRead(); a < 15000 || a > 15100 || b < 1 || b > 20 {
			t.Errorf("rows read: %d and %d, want some 15,000 and a few", a, b)
		}
		if !strings.Contains(c.String(), "Handler_read_next") || !strings.Contains(c.String(), "the same 1 rows") {
			t.Errorf("%s", c)
		}
		// Counting what counts nothing.
		c, err = Compare(context.Background(), db, "SELECT 1", "SELECT 2")
		if err != nil {
			t.Fatal(err)
		}
		if n := c.A.RowsRead() + c.B.RowsRead(); n != 0 {
			t.Errorf("SELECT 1 reads %d rows: %v", n, c.A.Status)
		}
	})
}

func TestCompareTakesQueriesAloneAndLeavesNothing(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		db, _ := openShop(t, srv)
		changed := sideEffects(t, db)
		var e *RewriteError
		if _, err := Compare(context.Background(), db, "DELETE FROM orders", "SELECT 1"); !errors.As(err, &e) || e.Code != NotAQuery {
			t.Errorf("a DELETE: %v", err)
		}
		if _, err := Compare(context.Background(), db, "SELECT f_write(1)", "SELECT 1"); err == nil {
			t.Error("a function that writes was run")
		}
		if _, err := Compare(context.Background(), db, "SELECT 1 INTO OUTFILE '/tmp/quern_compare'", "SELECT 1"); err != nil {
			t.Errorf("INTO is taken away: %v", err)
		}
		if diff := changed(); diff != "" {
			t.Errorf("rows have changed:\n%s", diff)
		}
	})
}
