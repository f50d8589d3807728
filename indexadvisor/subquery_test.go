package indexadvisor

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/quern-dev/quern/internal/testservers"
)

// Subqueries that are no plain semi-joins: the condition inside goes to the table
// inside, and the column outside is looked up where the server does that. What is
// suggested is made, and the server uses it.
func TestSubqueriesOnServers(t *testing.T) {
	cases := []struct {
		sql  string
		want [2]string // on MySQL, on MariaDB
		note [2]string
	}{
		{"SELECT * FROM o WHERE c IN (SELECT x FROM u WHERE y = 5 GROUP BY x)", [2]string{"o(c) u(y, x)", "o(c) u(y, x)"}, [2]string{}},
		{"SELECT * FROM o WHERE c IN (SELECT DISTINCT x FROM u WHERE y = 5 ORDER BY x)", [2]string{"o(c) u(y, x)", "o(c) u(y, x)"}, [2]string{}},
		{"SELECT * FROM o WHERE c = ANY (SELECT x FROM u WHERE y = 5)", [2]string{"o(c) u(y, x)", "o(c) u(y, x)"}, [2]string{}},
		{"SELECT * FROM o WHERE c IN (SELECT x FROM (SELECT x FROM u WHERE y = 5 LIMIT 3) d)", [2]string{"o(c) u(y, x)", "o(c) u(y, x)"}, [2]string{}},
		{"SELECT * FROM o WHERE c IN (SELECT x FROM (SELECT x FROM u WHERE y = 5 UNION SELECT x FROM u WHERE y = 6) d)", [2]string{"o(c) u(y, x)", "o(c) u(y, x)"}, [2]string{}},
		// MariaDB looks the outer column up with the result, MySQL checks each row.
		{"SELECT * FROM o WHERE c IN (SELECT x FROM u WHERE y = 5 GROUP BY x HAVING COUNT(*) > 0)", [2]string{"u(y)", "o(c) u(y, x)"}, [2]string{"joined as a derived table", ""}},
		{"SELECT * FROM o WHERE c IN (SELECT MAX(x) FROM u WHERE z = 5 GROUP BY y)", [2]string{"u(z)", "o(c) u(z, y, x)"}, [2]string{"joined as a derived table", ""}},
		// These are run for each row outside.
		{"SELECT * FROM o WHERE c IN (SELECT x FROM u WHERE y = 5 UNION SELECT x FROM u WHERE y = 6)", [2]string{"u(x, y)", "u(x, y)"}, [2]string{"a derived table around it", "a derived table around it"}},
		{"SELECT * FROM o WHERE c NOT IN (SELECT x FROM u WHERE y = 5 UNION SELECT x FROM u WHERE y = 6)", [2]string{"u(x, y)", "u(x, y)"}, [2]string{}},
		{"UPDATE o SET s = 1 WHERE c IN (SELECT x FROM u WHERE y = 5) LIMIT 5", [2]string{"u(x, y)", "u(x, y)"}, [2]string{}},
		{"UPDATE o SET s = 1 WHERE c IN (SELECT x FROM u WHERE y = 5)", [2]string{"o(c) u(y)", "u(x, y)"}, [2]string{}},
		// A constant instead of the column, and a row.
		{"SELECT * FROM o WHERE 77 IN (SELECT x FROM u WHERE u.y = o.s)", [2]string{"o(s) u(x, y)", "o(s) u(x, y)"}, [2]string{}},
		{"SELECT o.id FROM o WHERE (c, s) IN (SELECT x, y FROM u WHERE z = 7)", [2]string{"o(c, s) u(z, x, y)", "o(c, s) u(z, x, y)"}, [2]string{}},
	}
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		fill(t, db, 1<<14)
		exec(t, db,
			"CREATE TABLE o (id INT PRIMARY KEY, c INT NOT NULL, s INT NOT NULL, pad VARCHAR(200))", "INSERT INTO o SELECT i, i % 4000, i % 7, REPEAT('x', 100) FROM seq",
			"CREATE TABLE u (id INT PRIMARY KEY, x INT NOT NULL, y INT NOT NULL, z INT NOT NULL, pad VARCHAR(100))", "INSERT INTO u SELECT i, i * 7919 % 16000, i % 500, i % 900, 'x' FROM seq",
			"ANALYZE TABLE o, u")
		source := MySQL(db)
		for _, c := range cases {
			a := adviseOn(t, db, schema, c.sql)
			k := 0
			if srv.Flavor == testservers.FlavorMariaDB {
				k = 1
			}
			tables := strings.SplitAfter(short(a), ")")
			for i := range tables {
				tables[i] = strings.TrimSpace(tables[i])
			}
			slices.Sort(tables)
			if got := strings.TrimSpace(strings.Join(tables, " ")); got != c.want[k] {
				t.Errorf("%s: got %s, want %s\n%s", c.sql, got, c.want[k], strings.Join(a.Notes, "\n"))
			}
			if c.note[k] != "" {
				wantNote(t, a, c.note[k])
			}
			for _, s := range a.Suggestions {
				exec(t, db, s.DDL)
			}
			exec(t, db, "ANALYZE TABLE o, u")
			keys, err := source.Keys(context.Background(), schema, c.sql)
			if err != nil {
				t.Errorf("%s: %v", c.sql, err)
			}
			for _, s := range a.Suggestions {
				if !slices.Contains(keys, s.Name) {
					t.Errorf("%s: the server does not use %s: %q", c.sql, s.Name, keys)
				}
				exec(t, db, s.Undo)
			}
		}
		// A LIMIT right inside has no plan on either server.
		const limited = "SELECT * FROM o WHERE c IN (SELECT x FROM u WHERE y = 5 LIMIT 3)"
		wantNote(t, adviseOn(t, db, schema, limited), "the servers refuse a LIMIT")
		if _, err := source.Keys(context.Background(), schema, limited); err == nil {
			t.Errorf("%s: the server has a plan", limited)
		}
	})
}

// What NOT EXISTS asks of a row outside filters none of them.
func TestAntijoinFiltersNothingOutside(t *testing.T) {
	m := newMemory(t)
	m.add("CREATE TABLE o (id INT PRIMARY KEY, c INT NOT NULL, s INT NOT NULL, pad VARCHAR(200))", 20000, func(i int) []any { return []any{i, i, i % 500, "x"} })
	m.add("CREATE TABLE u (id INT PRIMARY KEY, x INT NOT NULL, KEY kx (x))", 20000, func(i int) []any { return []any{i, i} })
	for _, sql := range []string{
		"SELECT * FROM o WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.x = o.c AND o.s = 2)",
		"SELECT * FROM o WHERE NOT (EXISTS (SELECT 1 FROM u WHERE u.x = o.c AND o.s = 2))",
		"SELECT * FROM o WHERE NOT (o.c IN (SELECT x FROM u WHERE o.s = 2))",
		"SELECT * FROM o WHERE o.c <> ALL (SELECT x FROM u WHERE o.s = 2)",
	} {
		if a := m.advise(sql); short(a) != "" {
			t.Errorf("%s: got %s", sql, short(a))
		}
	}
	if a := m.advise("SELECT * FROM o WHERE EXISTS (SELECT 1 FROM u WHERE u.x = o.c AND o.s = 2)"); short(a) != "o(s)" {
		t.Errorf("EXISTS: got %s", short(a))
	}
}
