package indexadvisor

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/quern-dev/quern/internal/testservers"
)

// handlers runs a query and tells how many entries and rows it read.
func handlers(t *testing.T, conn *sql.Conn, query string) (n int64) {
	t.Helper()
	ctx := context.Background()
	for _, s := range []string{"FLUSH STATUS", "DO (" + query + ")"} {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	err := records(ctx, conn, func(m map[string]sql.NullString) { n += atoi(m["VALUE"]) }, "SHOW SESSION STATUS LIKE 'Handler_read%'")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// After a range of one value the next column of an index is looked up; after
// another range it is not.
func TestColumnAfterARangeOfOneValueIsLookedUp(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		fill(t, db, 8000)
		exec(t, db, "CREATE TABLE t (id INT PRIMARY KEY, i INT NOT NULL, c CHAR(2) CHARACTER SET utf8mb4 NOT NULL, v VARCHAR(9) CHARACTER SET utf8mb4 NOT NULL, n INT NOT NULL, KEY (i, n), KEY (c, n), KEY (v, n))",
			"INSERT INTO t SELECT i, i % 20, ELT(1 + i % 20 DIV 5, 'aa', 'ab', 'ba', 'bb'), CONCAT('v', i % 20), i * 7919 % 1000 FROM seq", "ANALYZE TABLE t")
		conn, err := db.Conn(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		r := started(t, db)
		for _, cond := range []string{
			"i BETWEEN 3 AND 3", "i BETWEEN 3 AND 4 - 1", "i BETWEEN 3 AND 4", "i BETWEEN 3 AND 3 + 5", "c LIKE 'ab'", "c LIKE 'ab%'", "c LIKE 'a%'",
			"v LIKE 'v5'", "v LIKE 'v1%'", "v BETWEEN 'v1' AND 'v1'", "v BETWEEN 'v1' AND 'v15'",
		} {
			query := "SELECT COUNT(*) FROM t WHERE " + cond + " AND n BETWEEN 500 AND 503"
			a, err := r.analyse(context.Background(), schema, query)
			if err != nil {
				t.Fatal(err)
			}
			got := a.blocks[0].accesses[0].preds[0].Class == List
			read := handlers(t, conn, query)
			if want := read < 50; got != want {
				t.Errorf("%s: columns after it are looked up: %v, but the server reads %d entries", cond, got, read)
			}
		}
	})
}

// Which conditions lead the servers to an index, and where they read the whole
// table instead, however few rows the entries leave to be fetched.
func TestLongRangesAreAvoidedAsTheServersDo(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		fill(t, db, 16000)
		exec(t, db, "CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL, c INT NOT NULL, d INT NOT NULL, pad VARCHAR(100), KEY cab (c, a, b), KEY ba (b, a), KEY d (d))",
			"INSERT INTO t SELECT i, i * 7919 % 1000, i % 2, i * 104729 % 100, i % 50 = 0, REPEAT('x', 100) FROM seq", "ANALYZE TABLE t")
		r := started(t, db)
		for _, cond := range []string{
			"c < 5", "c < 10", "c < 24", "c < 45", "c < 80", "c > 60 AND a = 3", "c IN (1, 2, 3)", "c <> 5 AND a < 10",
			"b = 1", "b = 1 AND a < 200", "b = 1 AND a < 950", "d = 0", "d = 1", "b < 2 AND a < 5",
			"c < 45 ORDER BY pad LIMIT 5", "c < 45 GROUP BY b",
			"c < 45 LIMIT 5", "c < 90 LIMIT 500", "c < 45 LIMIT 20000", "b = 1 LIMIT 5", "d = 0 LIMIT 5", "c < 90 ORDER BY id LIMIT 5",
		} {
			sql := "SELECT AVG(LENGTH(pad)) FROM t WHERE " + cond
			if strings.Contains(cond, "LIMIT") {
				sql = "SELECT pad FROM t WHERE " + cond
			}
			row, err := explainRow(t, db, r.server.MariaDB, sql)
			if err != nil {
				t.Fatal(err)
			}
			it, err := r.item(context.Background(), Query{Schema: schema, SQL: sql})
			if err != nil {
				t.Fatal(err)
			}
			b := it.variants[0].blocks[0]
			got := ""
			if ix := b.best(r.server, indexSet(nil)).steps[0].index; ix != nil {
				got = ix.Name
			}
			common := slices.ContainsFunc(b.accesses[0].table.Indexes, func(ix Index) bool { return ix.Name == row.key && b.read(r.server, b.accesses[0], &ix, 0).common })
			if got != row.key && !common && (got != "" || row.key != "PRIMARY") {
				t.Errorf("%s: the index %q, but the server reads %q", sql, got, row.key)
			}
		}
	})
}

// How the servers read the tables of a join: equalities with values lead to a
// table's rows anew for each row of the other one, or the table is read once and
// its rows are hashed, and a LIMIT makes the servers use an index for conditions
// that nearly all rows meet.
func TestTablesOfAJoinAreReadAsTheServersDo(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		fill(t, db, 8000)
		for i, table := range []string{"x", "y"} {
			exec(t, db, "CREATE TABLE "+table+" (id INT PRIMARY KEY, f INT NOT NULL, half INT, rare INT NOT NULL, r INT NOT NULL, pad VARCHAR(120), KEY (half), KEY rare (rare, f), KEY (r))",
				fmt.Sprintf("INSERT INTO %s SELECT i, i * %d %% 9000, IF(i * 7 %% 11 < 5, NULL, i %% 3), i * 13 %% 100, i * 104729 %% 1000, REPEAT('x', 100) FROM seq", table, 7919+2*i), "ANALYZE TABLE "+table)
		}
		r := started(t, db)
		for _, cond := range []string{
			"x.half IS NULL AND y.rare = 5", "x.half IS NULL AND y.half = 1", "x.rare = 5 AND y.rare = 7", "x.r < 5 AND y.rare IN (5, 7)", "x.r < 5 AND y.rare < 9", "x.r < 5 AND y.half IS NULL", "x.r < 900 AND y.rare = 5",
			"x.half IS NULL AND y.half IS NULL LIMIT 50", "x.r < 900 AND y.r < 900 LIMIT 50", "x.r < 900 AND y.half IS NULL LIMIT 50",
		} {
			query := "SELECT x.pad, y.pad FROM x JOIN y ON x.f = y.f WHERE " + cond
			want := map[string]string{}
			format := "FORMAT=TRADITIONAL "
			if r.server.MariaDB {
				format = ""
			}
			conn, err := db.Conn(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			err = records(context.Background(), conn, func(m map[string]sql.NullString) { want[m["TABLE"].String] = m["KEY"].String }, "EXPLAIN "+format+query)
			conn.Close()
			if err != nil {
				t.Fatal(err)
			}
			it, err := r.item(context.Background(), Query{Schema: schema, SQL: query})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, s := range it.variants[0].blocks[0].best(r.server, indexSet(nil)).steps {
				got[s.access.alias] = ""
				if s.index != nil {
					got[s.access.alias] = s.index.Name
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: indexes (-server +model):\n%s", cond, diff)
			}
		}
	})
}

// The rows that a join finds are those that the server finds, by which of the
// conditions they meet.
func TestRowsThatAreJoinedAreCounted(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		fill(t, db, 3000)
		exec(t, db, "CREATE TABLE a (id INT PRIMARY KEY, v INT, m INT NOT NULL)", "INSERT INTO a SELECT i, IF(i % 9, FLOOR(POW(50, i % 100 / 100)), NULL), i % 7 FROM seq",
			"CREATE TABLE b (id INT PRIMARY KEY, v INT, m INT NOT NULL, n INT)", "INSERT INTO b SELECT i, IF(i % 4, i % 70, NULL), i % 3, i % 11 FROM seq", "ANALYZE TABLE a, b")
		ctx := context.Background()
		r := started(t, db)
		it, err := r.item(ctx, Query{Schema: schema, SQL: "SELECT * FROM a JOIN b ON a.v = b.v WHERE a.m = 3 AND b.m = 1 AND b.n > 5"})
		if err != nil {
			t.Fatal(err)
		}
		e := it.variants[0].blocks[0].edges[0]
		got := map[string]float64{"rows": e.bfound.Rows, "m": e.bfound.rows(1), "n": e.bfound.rows(2), "both": e.bfound.rows(3), "back": e.afound.rows(1)}
		want := map[string]float64{}
		for name, cond := range map[string]string{"rows": "a.m = 3", "m": "a.m = 3 AND b.m = 1", "n": "a.m = 3 AND b.n > 5", "both": "a.m = 3 AND b.m = 1 AND b.n > 5", "back": "a.m = 3 AND b.m = 1 AND b.n > 5"} {
			var n float64
			if err := db.QueryRow("SELECT COUNT(*) FROM a JOIN b ON a.v = b.v WHERE " + cond).Scan(&n); err != nil {
				t.Fatal(err)
			}
			want[name] = n
		}
		if diff := cmp.Diff(want, got); diff != "" || want["both"] == 0 {
			t.Errorf("joined rows (-server +counted):\n%s", diff)
		}
	})
}
