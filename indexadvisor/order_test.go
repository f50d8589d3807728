package indexadvisor

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/quern-dev/quern/internal/testservers"
)

// started returns a run that knows its server.
func started(t *testing.T, db *sql.DB) *run {
	t.Helper()
	r := New(MySQL(db), Options{}).run()
	if err := r.start(context.Background()); err != nil {
		t.Fatal(err)
	}
	return r
}

// Whether an index gives an order that names a column of one value is what
// the servers do with that column.
func TestOrderByAFixedColumnIsWhatTheServersDo(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		fill(t, db, 4000)
		exec(t, db, "CREATE TABLE t (id INT PRIMARY KEY, a INT, c INT NOT NULL, pad VARCHAR(100), KEY ac (a, c))",
			"INSERT INTO t SELECT i, IF(i % 10 = 0, NULL, i % 50), i % 300, REPEAT('x', 100) FROM seq", "ANALYZE TABLE t")
		ctx := context.Background()
		r := started(t, db)
		for _, cond := range []string{"a = 3", "a <=> 3", "NOT a <> 3", "a IN (3)", "a IS NULL", "ISNULL(a)", "NOT (a IS NOT NULL)", "a <=> NULL", "NULL <=> a"} {
			for _, c := range []struct{ what, tail string }{
				{"*", "ORDER BY a, c LIMIT 5"}, {"*", "ORDER BY c, a LIMIT 5"}, {"*", "ORDER BY c LIMIT 5"}, {"*", "ORDER BY a LIMIT 5"},
				{"a, c, COUNT(*)", "GROUP BY a, c"}, {"c, COUNT(*)", "GROUP BY c"},
			} {
				sql := "SELECT " + c.what + " FROM t WHERE " + cond + " " + c.tail
				row, err := explainRow(t, db, r.server.MariaDB, sql)
				if err != nil {
					t.Fatal(err)
				}
				if row.key != "ac" {
					t.Fatalf("%s: the server reads %+v", sql, row)
				}
				a, err := r.analyse(ctx, schema, sql)
				if err != nil {
					t.Fatal(err)
				}
				b := a.blocks[0]
				x := b.accesses[0]
				s := b.read(r.server, x, &x.table.Indexes[slices.IndexFunc(x.table.Indexes, func(ix Index) bool { return ix.Name == "ac" })], 0)
				got, want := s.ordered && s.grouped, !strings.Contains(row.extra, "filesort") && !strings.Contains(row.extra, "temporary")
				if got != want {
					t.Errorf("%s: the index gives the order: %v, but the server: %v (%s)", sql, got, want, row.extra)
				}
			}
		}
	})
}

// An index that has the groups one after the other is read where no other is
// worth it, even where reading the table and sorting costs far less.
func TestServersGroupByAnIndexWhateverItCosts(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		fill(t, db, 4000)
		exec(t, db, "CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL, c INT NOT NULL, pad VARCHAR(100), KEY a (a), KEY c (c))",
			"INSERT INTO t SELECT i, i * 7919 % 500, i % 3, i % 1000, REPEAT('x', 100) FROM seq", "ANALYZE TABLE t")
		ctx := context.Background()
		r := started(t, db)
		for _, sql := range []string{
			"SELECT a, COUNT(*) FROM t WHERE b = 2 GROUP BY a", "SELECT a, COUNT(*) FROM t WHERE b <> 2 GROUP BY a", "SELECT a, SUM(b) FROM t GROUP BY a",
			"SELECT a, COUNT(*) FROM t WHERE c = 7 GROUP BY a", "SELECT b, COUNT(*) FROM t WHERE b <> 2 GROUP BY b",
		} {
			row, err := explainRow(t, db, r.server.MariaDB, sql)
			if err != nil {
				t.Fatal(err)
			}
			it, err := r.item(ctx, Query{Schema: schema, SQL: sql})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if ix := it.variants[0].blocks[0].best(r.server, indexSet(nil)).steps[0].index; ix != nil {
				got = ix.Name
			}
			if got != row.key {
				t.Errorf("%s: the index %q, but the server reads %q", sql, got, row.key)
			}
		}
	})
}
