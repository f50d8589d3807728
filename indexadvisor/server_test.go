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

// Each condition is classified, and the server is asked what it can do with
// an index on the column: an equality must be looked up (ref), a list or a
// range be read as a range, and a filter not use the index at all.
func TestClassesAreWhatTheServersDo(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		db := srv.DB(t, srv.Schema(t))
		maria := srv.Flavor == testservers.FlavorMariaDB
		exec(t, db, `CREATE TABLE t (id INT PRIMARY KEY, i INT, nn INT NOT NULL, ui INT UNSIGNED, v VARCHAR(50) CHARACTER SET utf8mb4, vb VARBINARY(50), tx TEXT CHARACTER SET utf8mb4,
			vl VARCHAR(50) CHARACTER SET latin1, d DATE, dt DATETIME, dc DECIMAL(10,2), db DOUBLE, en ENUM('a','b','c'), a INT, b INT, c INT, fl INT, pad VARCHAR(200),
			KEY i(i), KEY nn(nn), KEY ui(ui), KEY v(v), KEY vb(vb), KEY tx(tx(10)), KEY vl(vl), KEY d(d), KEY dt(dt), KEY dc(dc), KEY db(db), KEY en(en), KEY abc(a,b,c))`)
		fill(t, db, 20000)
		exec(t, db, `INSERT INTO t SELECT i, i%5000, i%5000, i%5000, CONCAT('v', LPAD(i%5000,4,'0')), CONCAT('v', i%5000), CONCAT('v', i%5000), CONCAT('v', i%5000),
			'2000-01-01' + INTERVAL i%5000 DAY, '2000-01-01' + INTERVAL i%5000 DAY, i%5000, i%5000, IF(i%100, 'a', 'b'), i%100, i%77, i%13, i%10, REPEAT('x',200) FROM seq`,
			"ANALYZE TABLE t")
		source := MySQL(db)
		ctx := context.Background()
		server, err := source.Server(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var schema string
		if err := db.QueryRow("SELECT DATABASE()").Scan(&schema); err != nil {
			t.Fatal(err)
		}
		both := func(c Class) [2]Class { return [2]Class{c, c} }
		for _, c := range []struct {
			cond string
			want [2]Class // on MySQL, on MariaDB
			len  string   // key_len where it tells something
		}{
			{"i = 5", both(Equality), "5"},
			{"5 = i", both(Equality), "5"},
			{"i <=> 5", both(Equality), "5"},
			{"i IS NULL", both(Equality), "5"},
			{"ISNULL(i)", both(Equality), "5"},
			{"NOT (i <> 5)", both(Equality), "5"},
			{"NOT (i > 5)", both(Range), "5"},
			{"NOT i", both(Equality), "5"},
			{"nn = 5", both(Equality), "4"},
			{"i = '5'", both(Equality), "5"},
			{"i = 1e3", both(Equality), "5"},
			{"i IN (5)", both(Equality), "5"},
			{"i IN (5, 6, 7)", both(List), "5"},
			{"i = 5 OR i = 6", both(List), "5"},
			{"i IN (5, '6')", [2]Class{List, Filter}, ""},
			{"i IN (5, 6.5)", [2]Class{List, Filter}, ""},
			{"i > 4990", both(Range), "5"},
			{"i BETWEEN 5 AND 8", both(Range), "5"},
			{"i > 5 AND i < 9", both(Range), "5"},
			{"i = 5 OR i > 4995", both(Range), "5"},
			{"i IS TRUE", both(Filter), ""},
			{"(i = 5) IS TRUE", both(Filter), ""},
			{"-i = -5", both(Filter), ""},
			{"i + 1 = 5", both(Filter), ""},
			{"i = 5 XOR i = 6", both(Filter), ""},
			{"i = RAND()", both(Filter), ""},
			{"i = 5 OR fl = 2", both(Filter), ""},
			{"i = 5 OR fl + 1 = 2", both(Filter), ""},
			{"i = nn", both(Filter), ""},
			{"v = 'v0001'", both(Equality), "203"},
			{"v = 5", both(Filter), ""},
			{"v > 5", both(Filter), ""},
			{"v IN ('a', 5)", both(Filter), ""},
			{"v IN (1, 2)", both(Filter), ""},
			{"v IN ('v0001', 'v0002')", both(List), "203"},
			{"v LIKE 'v000%'", both(Prefix), "203"},
			{`v LIKE 'v0001\_%'`, both(Prefix), "203"},
			{"v LIKE '%v000'", both(Filter), ""},
			{"v LIKE '_0001'", both(Filter), ""},
			{"v LIKE 12", [2]Class{Filter, Prefix}, ""},
			{"v NOT LIKE 'v%'", both(Filter), ""},
			{"v REGEXP '^v0001'", both(Filter), ""},
			{"LOWER(v) = 'v0001'", both(Filter), ""},
			{"v COLLATE utf8mb4_bin = 'v0001'", both(Filter), ""},
			{"v LIKE 'v0001%' COLLATE utf8mb4_bin", both(Filter), ""},
			{"v = 'v0001' COLLATE utf8mb4_bin", [2]Class{Range, Equality}, ""},
			{"v = 'v0001' COLLATE utf8mb4_unicode_ci", both(Filter), ""},
			{"v = BINARY 'v0001'", [2]Class{Range, Equality}, ""},
			{"vb = 'v1'", both(Equality), "53"},
			{"vb LIKE 'v123%'", both(Prefix), "53"},
			{"tx = 'v1'", both(Equality), "43"},
			{"tx LIKE 'v12%'", both(Prefix), "43"},
			{"vl = 'v1'", both(Equality), "53"},
			{"d = '2001-02-03'", both(Equality), "4"},
			{"d >= '2013-09-01' AND d < '2013-09-03'", both(Range), "4"},
			{"d LIKE '2001-02%'", both(Filter), ""},
			{"dt = '2001-02-03'", both(Equality), ""},
			{"dt > '2013-09-01'", both(Range), ""},
			{"dt BETWEEN '2001-02-03' AND '2001-02-03' + INTERVAL 1 DAY", both(Range), ""},
			{"DATE(dt) = '2001-02-03'", both(Filter), ""},
			{"dc = 5", both(Equality), ""},
			{"db = 5", both(Equality), "9"},
			{"i LIKE '12%'", both(Filter), ""},
			{"en = 'b'", both(Equality), ""},
			{"en > 'b'", both(Filter), ""},
			{"(a, b) = (1, 2)", both(Equality), "10"},
			{"(a, b) IN ((1, 2), (3, 4))", both(List), "10"},
			{"(a, b) > (98, 1)", both(Filter), ""},
			{"(a, b) NOT IN ((1, 2))", both(Filter), ""},
			{"a = b", both(Filter), ""},
		} {
			a := &analysis{ctx: ctx, catalog: source, server: server, schema: schema}
			query := "SELECT * FROM t WHERE " + c.cond
			r := &run{Advisor: New(source, Options{})}
			r.server = server
			r.tables = map[string]*Table{}
			a, err := r.analyse(ctx, schema, query)
			if err != nil {
				t.Errorf("%s: %v", c.cond, err)
				continue
			}
			want := c.want[0]
			if maria {
				want = c.want[1]
			}
			preds := a.blocks[0].accesses[0].preds
			if len(preds) == 0 {
				t.Errorf("%s: no predicate", c.cond)
				continue
			}
			class := func(p *Predicate) Class {
				if len(p.Keys) > 0 && p.Keys[0].Expr != "" {
					return Filter // of no use to an index on the column
				}
				return p.Class
			}
			for _, p := range preds {
				if got := class(p); got != want {
					t.Errorf("%s is classified %s, want %s (%s)", c.cond, got, want, p.Why)
				}
			}
			row, err := explainRow(t, db, maria, query)
			if err != nil {
				t.Errorf("%s: %v", c.cond, err)
				continue
			}
			seen := Filter
			switch {
			case row.kind == "ref" || row.kind == "const" || row.kind == "eq_ref":
				seen = Equality
			case row.kind == "range" && want == List:
				seen = List
			case row.kind == "range" && want == Prefix:
				seen = Prefix
			case row.kind == "range" || row.kind == "index_merge":
				seen = Range
			}
			if seen != want {
				t.Errorf("%s is said to be %s, but the server reads %+v", c.cond, want, row)
			}
			if c.len != "" && row.keyLen != c.len {
				t.Errorf("%s: key_len is %s, want %s", c.cond, row.keyLen, c.len)
			}
		}
	})
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
