package indexadvisor

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/quern-dev/quern/internal/testservers"
)

// constraints are what no advice may change: keys that are unique or foreign.
func constraints(t *testing.T, db *sql.DB, schema, table string) []string {
	t.Helper()
	rows, err := db.Query(`SELECT DISTINCT CONCAT_WS(' ', c.CONSTRAINT_TYPE, (SELECT GROUP_CONCAT(CONCAT_WS('.', k.COLUMN_NAME, k.REFERENCED_COLUMN_NAME) ORDER BY k.ORDINAL_POSITION)
		FROM information_schema.KEY_COLUMN_USAGE k WHERE k.TABLE_SCHEMA = c.TABLE_SCHEMA AND k.TABLE_NAME = c.TABLE_NAME AND k.CONSTRAINT_NAME = c.CONSTRAINT_NAME))
		FROM information_schema.TABLE_CONSTRAINTS c WHERE c.TABLE_SCHEMA = ? AND c.TABLE_NAME = ?`, schema, table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s string
		rows.Scan(&s)
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

// Tables on which finders of duplicate indexes have been caught dropping what
// was needed, or missing what was not. What is suggested is done: it changes
// no constraint, and nothing more is suggested then.
func TestTrapsOfDuplicateIndexesOnServers(t *testing.T) {
	same := func(s string) [2]string { return [2]string{s, s} }
	const absent = "absent" // the server has no such kind of index
	cases := []struct {
		ddl  [2]string // on MySQL, on MariaDB
		want [2]string
	}{
		{same("id INT PRIMARY KEY, v VARCHAR(100), KEY k10 (v(10)), KEY kfull (v)"), same("k10")},
		{same("id INT PRIMARY KEY, a INT, v VARCHAR(100), UNIQUE u10 (v(10)), KEY kv (v), KEY k2 (a, v), KEY k3 (a, v(20))"), same("k3")},
		{same("id INT PRIMARY KEY, v VARCHAR(100), KEY kv (v), KEY k10b (v(10), id)"), same("k10b")},
		{[2]string{"id INT PRIMARY KEY, g POINT NOT NULL SRID 0, SPATIAL KEY s (g), a INT, KEY ka (a)", "id INT PRIMARY KEY, g GEOMETRY NOT NULL, SPATIAL KEY s (g), KEY g (g(20))"}, same("")},
		{same("a INT, KEY b1 (a) USING BTREE, KEY h1 (a) USING HASH) ENGINE=MEMORY -- "), same("")},
		{[2]string{"id INT PRIMARY KEY, a INT, b INT, KEY ka (a), KEY kab (a, b) INVISIBLE", "id INT PRIMARY KEY, a INT, b INT, KEY ka (a), KEY kab (a, b) IGNORED"}, same("")},
		{same("id INT, b INT, PRIMARY KEY (id, b), UNIQUE uid (id)"), same("")},
		{same("id INT PRIMARY KEY, a INT, b INT, UNIQUE u (a), KEY ab (a, b), KEY adesc (a DESC, b)"), same("")},
		{same("id INT PRIMARY KEY, v VARCHAR(100), KEY k5 (v(5)), KEY k50 (v(50))"), same("k5")},
		{same("id INT PRIMARY KEY, a INT, KEY ka (a), KEY ka_id (a, id)"), same("ka_id")},
		{same("id INT PRIMARY KEY, a TEXT, b TEXT, FULLTEXT f1 (a, b), FULLTEXT f2 (a, b), FULLTEXT f3 (a)"), same("f2")},
		{same("id INT PRIMARY KEY, a INT NOT NULL, UNIQUE u1 (a), UNIQUE u2 (a)"), same("u2")},
		{same("a INT, b INT, KEY x (a), KEY y (a, b)"), same("x")},
		{[2]string{"a INT, KEY k1 (a) INVISIBLE, KEY k2 (a DESC), KEY k3 ((a + 0))", "a INT, KEY k1 (a) IGNORED, KEY k2 (a DESC)"}, same("")},
		{same("a INT, b INT, PRIMARY KEY (a, b), UNIQUE u (a)"), same("")},
		{same("Id INT, b INT, PRIMARY KEY (Id), KEY x (b, ID)"), same("")},
		{same("p INT, q INT, a INT, PRIMARY KEY (p, q), KEY x (a, p), KEY y (a, q, p), KEY z (p, a), KEY w (a)"), same("x w")},
		{same("i INT, j INT, UNIQUE u (i, j), KEY i (i, j)"), same("i")},
		{same("id INT, a INT, KEY k1 (id, a), KEY k2 (id DESC, a)"), same("")},
		{[2]string{"s VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, KEY k1 (s), KEY k2 ((s COLLATE utf8mb4_0900_ai_ci)), KEY k3 ((s COLLATE utf8mb4_0900_as_cs))", absent}, same("")},
		{[2]string{"a INT, KEY k1 ((a + 1)), KEY k2 ((a + 1))", absent}, [2]string{"k2", ""}},
		{same("`a\"\"\"b` INT, `c``d` INT, KEY k1 (`a\"\"\"b`), KEY k2 (`a\"\"\"b`, `c``d`)"), same("k1")},
		{same("f INT, r INT, KEY k1 (f, r), KEY k2 (r)"), same("")},
		{same("id INT PRIMARY KEY, p INT, q INT, KEY fk (p), CONSTRAINT c1 FOREIGN KEY (p) REFERENCES parent (id), CONSTRAINT c2 FOREIGN KEY (p) REFERENCES parent (id)"), same("")},
		{same("id INT PRIMARY KEY, p INT, q INT, KEY fk (p), KEY fkq (p, q), CONSTRAINT c1 FOREIGN KEY (p) REFERENCES parent (id)"), same("fk")},
		{same("`a\"\"\"b` INT, `c``d` INT, KEY `k``1` (`a\"\"\"b`), KEY k2 (`a\"\"\"b`, `c``d`)"), same("k`1")},
		{same("id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, a INT, KEY k1 (a), KEY k2 (a)) AUTO_INCREMENT=18446744073709551000 -- "), same("k2")},
	}
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		exec(t, db, "CREATE TABLE parent (id INT PRIMARY KEY)")
		k := 0
		if srv.Flavor == testservers.FlavorMariaDB {
			k = 1
		}
		adv := New(MySQL(db), Options{})
		for _, c := range cases {
			if c.ddl[k] == absent {
				continue
			}
			exec(t, db, "CREATE TABLE t ("+c.ddl[k]+"\n)"[strings.Count(c.ddl[k], "-- ")*2:])
			before := constraints(t, db, schema, "t")
			a, err := adv.Redundant(context.Background(), schema, "t")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range a.Suggestions {
				got = append(got, s.Name)
				if s.Bytes%16384 != 0 {
					t.Errorf("%s: %s takes %d bytes, which are no pages", c.ddl[k], s.Name, s.Bytes)
				}
				exec(t, db, s.DDL)
			}
			if d := cmp.Diff(c.want[k], strings.Join(got, " ")); d != "" {
				t.Errorf("%s: %s", c.ddl[k], d)
			}
			// A second UNIQUE key over the same columns may go.
			if d := cmp.Diff(slices.Compact(before), slices.Compact(constraints(t, db, schema, "t"))); d != "" {
				t.Errorf("%s: constraints change: %s", c.ddl[k], d)
			}
			if a, err := adv.Redundant(context.Background(), schema, "t"); err != nil || len(a.Suggestions) > 0 {
				t.Errorf("%s: again %s, %v", c.ddl[k], short(a), err)
			}
			exec(t, db, "DROP TABLE t")
		}
	})
}

// Conditions that call functions which do something are not sent to the
// server; the others on the same table are counted all the same.
func TestCountingRunsNothingThatActs(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		fill(t, db, 3000)
		exec(t, db, "SET GLOBAL log_bin_trust_function_creators = 1", "CREATE TABLE t (id INT PRIMARY KEY, a INT, pad VARCHAR(200))", "INSERT INTO t SELECT i, i % 500, REPEAT('x', 200) FROM seq",
			"CREATE TABLE victim (id INT)", "INSERT INTO victim VALUES (1)", "ANALYZE TABLE t",
			"CREATE FUNCTION wipe(n INT) RETURNS INT MODIFIES SQL DATA BEGIN DELETE FROM victim; RETURN n; END")
		start := time.Now()
		for _, cond := range []string{"wipe(a) = 5", schema + ".wipe(5) = 5", "SLEEP(100) = 0", "GET_LOCK('x', 100) = 1", "BENCHMARK(1e12, MD5('x')) = 0",
			"a = (SELECT wipe(5))", "EXISTS (SELECT wipe(5) FROM (SELECT SLEEP(100)) x)", "@x := 5", "LOAD_FILE('/etc/passwd') IS NULL"} {
			a := adviseOn(t, db, schema, "SELECT * FROM t WHERE a = 5 AND "+cond)
			if got := short(a); got != "t(a)" {
				t.Errorf("%s: got %q\n%s", cond, got, strings.Join(a.Notes, "\n"))
			}
		}
		if d := time.Since(start); d > 90*time.Second {
			t.Errorf("it took %v: a function ran", d)
		}
		var n int
		if err := db.QueryRow("SELECT COUNT(*) FROM victim").Scan(&n); err != nil || n != 1 {
			t.Errorf("%d victims are left, %v", n, err)
		}
	})
}

// One statement that cannot be looked into does not keep the others from it,
// and a server that is not there is called so.
func TestOneFailureIsOne(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		fill(t, db, 20000)
		exec(t, db, "CREATE TABLE t (id INT PRIMARY KEY, updated DATETIME, a INT, pad VARCHAR(200))", "INSERT INTO t SELECT i, NOW() - INTERVAL i HOUR, i % 500, REPEAT('x', 200) FROM seq",
			"CREATE TABLE gone (a INT)", "CREATE VIEW broken AS SELECT a FROM gone", "DROP TABLE gone", "ANALYZE TABLE t")
		a, err := New(MySQL(db), Options{}).AdviseAll(context.Background(), []Query{
			{ID: "first", Schema: schema, SQL: "SELECT * FROM broken WHERE a = 5"},
			{ID: "second", Schema: schema, SQL: "SELECT * FROM t WHERE a ="},
			{ID: "third", Schema: schema, SQL: "SELECT * FROM t WHERE updated >= CURDATE() - INTERVAL 1 DAY", PerDay: 10},
		})
		if err != nil || short(a) != "t(updated)" {
			t.Fatalf("%s, %v", short(a), err)
		}
		wantNote(t, a, "first: not looked into: table "+schema+".gone: no such table")
		wantNote(t, a, "second: not looked into: the statement is not understood")
	})
	db, err := sql.Open("mysql", "nobody:x@tcp(127.0.0.1:1)/")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := New(MySQL(db), Options{}).Advise(context.Background(), Query{Schema: "s", SQL: "SELECT * FROM t WHERE a = 1"}); err == nil || !strings.Contains(err.Error(), "asking the server what it is") {
		t.Errorf("without a server: %v", err)
	}
}

// A saving of some dozen rows is worth an index if the query runs often
// enough, and not if it hardly ever runs.
func TestFrequencyDecidesWhatASavingIsWorth(t *testing.T) {
	m := newMemory(t)
	m.add("CREATE TABLE ev (id INT PRIMARY KEY, cust INT NOT NULL, typ INT NOT NULL, pad VARCHAR(200), KEY kc (cust))", 20000, func(i int) []any {
		return []any{i, i % 1000, i / 1000 % 3, "x"}
	})
	q := Query{Schema: "s", SQL: "SELECT * FROM ev WHERE cust = 5 AND typ = 1"}
	rare, err := New(&m.Rows, Options{}).Advise(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	q.PerDay = 1e7
	often, err := New(&m.Rows, Options{}).Advise(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	if short(rare) != "" || short(often) != "+ev(cust, typ)" {
		t.Errorf("once a day %q, ten million times %q\n%s", short(rare), short(often), strings.Join(rare.Notes, "\n"))
	}
}
