package indexadvisor

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/quern-dev/quern/internal/testservers"
)

func exec(t testing.TB, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%.120s: %v", s, err)
		}
	}
}

// fill makes a table seq of the numbers 0 to n-1.
func fill(t testing.TB, db *sql.DB, n int) {
	t.Helper()
	exec(t, db, "CREATE TABLE seq (i INT PRIMARY KEY)", "INSERT INTO seq VALUES (0)")
	for have := 1; have < n; have *= 2 {
		exec(t, db, fmt.Sprintf("INSERT INTO seq SELECT i + %d FROM seq WHERE i + %[1]d < %d", have, n))
	}
}

// planRow is what EXPLAIN says about the first table.
type planRow struct {
	kind, possible, key, keyLen, extra string
}

func explainRow(t testing.TB, db *sql.DB, mariadb bool, query string) (planRow, error) {
	t.Helper()
	format := "FORMAT=TRADITIONAL "
	if mariadb {
		format = ""
	}
	rows, err := db.Query("EXPLAIN " + format + query)
	if err != nil {
		return planRow{}, err
	}
	defer rows.Close()
	names, _ := rows.Columns()
	var p planRow
	if rows.Next() {
		vals := make([]sql.NullString, len(names))
		ptrs := make([]any, len(names))
		for i := range vals {
			ptrs[i] = &vals[i]
		}
		if err := rows.Scan(ptrs...); err != nil {
			return planRow{}, err
		}
		for i, n := range names {
			switch strings.ToLower(n) {
			case "type":
				p.kind = vals[i].String
			case "possible_keys":
				p.possible = vals[i].String
			case "key":
				p.key = vals[i].String
			case "key_len":
				p.keyLen = vals[i].String
			case "extra":
				p.extra = vals[i].String
			}
		}
	}
	return p, rows.Err()
}

func TestArticleOnServers(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		exec(t, db, `CREATE TABLE tbl (id INT PRIMARY KEY AUTO_INCREMENT, status VARCHAR(20) NOT NULL, source VARCHAR(20) NOT NULL, no_send_before DATETIME NOT NULL,
			tries INT NOT NULL, date DATETIME NOT NULL, body VARCHAR(200) NOT NULL)`)
		fill(t, db, 37271)
		exec(t, db, `INSERT INTO tbl (status, source, no_send_before, tries, date, body) SELECT IF(i < 550, 'waiting', 'sent'), 'twitter',
			IF(i < 296, '2009-06-30', '2009-05-01'), IF(i >= 296 AND i < 998, 25, 3), '2009-05-01' + INTERVAL i MINUTE, 'x' FROM seq`, "ANALYZE TABLE tbl")
		a, err := New(MySQL(db), Options{}).Advise(context.Background(), Query{Schema: schema, SQL: waiting})
		if err != nil {
			t.Fatal(err)
		}
		if got := short(a); got != "tbl(status, no_send_before, tries)" {
			t.Fatalf("got %s\n%s", got, strings.Join(a.Notes, "\n"))
		}
		var counts []int64
		for _, c := range a.Suggestions[0].Rounds[0].Counts {
			counts = append(counts, c.Rows)
		}
		if fmt.Sprint(counts) != "[550 37271 36975 36569]" {
			t.Errorf("counts of the first round are %v", counts)
		}
		// The statements that it gives do and undo what they say.
		s := a.Suggestions[0]
		before := showCreate(t, db, "tbl")
		exec(t, db, s.DDL)
		if row, err := explainRow(t, db, srv.Flavor == testservers.FlavorMariaDB, waiting); err != nil || row.key != s.Name {
			t.Errorf("the server does not use the index: %+v, %v", row, err)
		}
		exec(t, db, s.Undo)
		if after := showCreate(t, db, "tbl"); after != before {
			t.Errorf("undoing leaves\n%s\ninstead of\n%s", after, before)
		}
		if s.Trial != "" {
			exec(t, db, s.Trial, s.Undo)
		}
	})
}

func showCreate(t testing.TB, db *sql.DB, table string) string {
	t.Helper()
	var name, ddl string
	if err := db.QueryRow("SHOW CREATE TABLE "+quote(table)).Scan(&name, &ddl); err != nil {
		t.Fatal(err)
	}
	return ddl
}

// Which side of a join an index can be looked up on, with values of the other
// side's type and collation, is what the servers do.
func TestJoinTypesAreWhatTheServersDo(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		types := []struct{ name, typ, value string }{
			{"i", "INT", "i"}, {"big", "BIGINT UNSIGNED", "i"}, {"dc", "DECIMAL(10,2)", "i"}, {"db", "DOUBLE", "i"},
			{"v4", "VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", "i"}, {"v3", "VARCHAR(40) CHARACTER SET utf8mb3", "i"}, {"vl", "VARCHAR(40) CHARACTER SET latin1", "i"},
			{"vbin", "VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "i"}, {"vb", "VARBINARY(40)", "i"},
			{"d", "DATE", "'2000-01-01' + INTERVAL i DAY"}, {"dt", "DATETIME", "'2000-01-01' + INTERVAL i DAY"},
		}
		fill(t, db, 3000)
		for _, c := range types {
			exec(t, db, fmt.Sprintf("CREATE TABLE t_%s (id INT PRIMARY KEY, c %s, pad VARCHAR(100), KEY c (c))", c.name, c.typ),
				fmt.Sprintf("INSERT INTO t_%s SELECT i, %s, REPEAT('x', 100) FROM seq", c.name, c.value), "ANALYZE TABLE t_"+c.name)
		}
		source := MySQL(db)
		server, err := source.Server(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		column := map[string]*Column{}
		for _, c := range types {
			tab, err := source.Table(context.Background(), schema, "t_"+c.name)
			if err != nil {
				t.Fatal(err)
			}
			column[c.name] = tab.column("c")
		}
		temporal := func(name string) bool { return name == "d" || name == "dt" }
		for _, inner := range types {
			for _, outer := range types {
				if temporal(inner.name) != temporal(outer.name) {
					continue
				}
				query := fmt.Sprintf("SELECT STRAIGHT_JOIN x.pad, y.pad FROM t_%s x JOIN t_%s y ON y.c = x.c WHERE x.id < 3", outer.name, inner.name)
				rows, err := db.Query("EXPLAIN " + map[bool]string{true: "", false: "FORMAT=TRADITIONAL "}[srv.Flavor == testservers.FlavorMariaDB] + query)
				if err != nil {
					continue // collations that cannot be compared
				}
				names, _ := rows.Columns()
				looked := false
				for rows.Next() {
					vals := make([]sql.NullString, len(names))
					ptrs := make([]any, len(names))
					for i := range vals {
						ptrs[i] = &vals[i]
					}
					rows.Scan(ptrs...)
					var table, kind string
					for i, n := range names {
						switch strings.ToLower(n) {
						case "table":
							table = vals[i].String
						case "type":
							kind = vals[i].String
						}
					}
					if table == "y" {
						looked = kind == "ref" || kind == "eq_ref"
					}
				}
				rows.Close()
				if got := joinable(server, column[inner.name], column[outer.name]); got != looked {
					t.Errorf("an index on %s looked up with %s: %v, but the server: %v", inner.typ, outer.typ, got, looked)
				}
			}
		}
	})
}

// resultOf is the number of rows of a query and their sum of ids.
func resultOf(t testing.TB, db *sql.DB, query string) string {
	t.Helper()
	var n, sum sql.NullInt64
	if err := db.QueryRow("SELECT COUNT(*), SUM(id) FROM ("+query+") x").Scan(&n, &sum); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return fmt.Sprint(n.Int64, " rows, ", sum.Int64)
}
