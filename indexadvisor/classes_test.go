package indexadvisor

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/quern-dev/quern/internal/testservers"
)

// Each condition is classified, and the server is asked what it can do with
// an index on the column (possible_keys, type, key_len): an equality must be
// looked up, a list and a range be read as ranges, and a filter not use the
// index at all.
//
// Not here: SOUNDS LIKE, which the parser does not know; joins, which
// TestJoinTypesAreWhatTheServersDo has; HAVING; MATCH, spatial functions and
// searches in JSON arrays, which no B-tree serves; EXISTS and IN (SELECT …),
// which become joins.
func TestClassesAreWhatTheServersDo(t *testing.T) {
	both := func(c Class) [2]Class { return [2]Class{c, c} }
	equality, list, rng, prefix, filter := both(Equality), both(List), both(Range), both(Prefix), both(Filter)
	type row struct {
		cond string
		want [2]Class // on MySQL, on MariaDB
		len  string   // key_len, where it is not that of the one column
		// A filter whose key possible_keys lists though it is of no use; of
		// other classes, a condition that matches so much that the server
		// reads the table all the same.
		odd [2]bool
	}
	no, yes := [2]bool{}, [2]bool{true, true}
	rows := []row{
		// c = const, <=>, IS NULL
		{"i = 5", equality, "", no},
		{"5 = i", equality, "", no},
		{"(i = 5)", equality, "", no},
		{"1 = 1 AND i = 5", equality, "", no},
		{"i <=> 5", equality, "", no},
		{"i <=> NULL", equality, "", no},
		{"i IS NULL", equality, "", no},
		{"ISNULL(i)", equality, "", no},
		{"i IS UNKNOWN", equality, "", no},
		{"dn IS NULL", equality, "", no}, // finds '0000-00-00'
		{"NOT (i <> 5)", equality, "", no},
		{"NOT i", equality, "", no},
		{"!i", equality, "", no},
		{"nn = 5", equality, "", no},
		{"i = '5'", equality, "", no},
		{"i = 1e3", equality, "", no},
		{"i = 1 + 1", equality, "", no},
		{"i = CONNECTION_ID()", equality, "", no},
		{"i = (SELECT 5)", equality, "", no},
		{"i = (SELECT MAX(ui) FROM t u WHERE u.id < 3)", equality, "", no},
		{"i > (SELECT MAX(ui) FROM t u WHERE u.id > 19990)", rng, "", no},
		{"i = (SELECT u.nn FROM t u WHERE u.id = t.id)", filter, "", no},
		{"gv = 12", equality, "", no},
		{"i + 7 = 12", [2]Class{Equality, Filter}, "", no}, // MySQL finds the generated column
		{"dc = 5", equality, "", no},
		{"dc = '5'", equality, "", no},
		{"db = 5", equality, "", no},
		{"d = '2001-02-03'", equality, "", no},
		{"dt = '2001-02-03'", equality, "", no},
		{"dt = DATE '2001-02-03'", equality, "", no},
		{"en = 'b'", equality, "", no},
		{"en = 2", equality, "", no},
		// IN and OR
		{"i IN (5)", equality, "", no},
		{"i IN (5, 6, 7)", list, "", no},
		{"i IN (1+1, 2*3)", list, "", no},
		{"i = 5 OR i = 6", list, "", no},
		{"i = 5 OR i IS NULL", list, "", no},
		{"i IN (5, '6')", [2]Class{List, Filter}, "", [2]bool{false, true}},
		{"i IN (5, 6.5)", [2]Class{List, Filter}, "", [2]bool{false, true}},
		{"dc IN (5, 6.5)", list, "", no},
		{"db IN (5, 6.5)", list, "", no},
		{"v IN ('v0001', 'v0002')", list, "", no},
		{"v IN ('a', 5)", filter, "", yes},
		{"v IN (1, 2)", filter, "", yes},
		{"en IN ('b', 'c')", list, "", no},
		{"i IN (NULL)", filter, "", no},
		{"i = 5 OR fl = 2", filter, "", yes},
		{"i = 5 OR fl + 1 = 2", filter, "", yes},
		// ranges
		{"i < 5", rng, "", no},
		{"i <= 5", rng, "", no},
		{"i >= 4995", rng, "", no},
		{"5 > i", rng, "", no},
		{"NOT (i > 5)", rng, "", no},
		{"i BETWEEN 5 AND 8", rng, "", no},
		{"i BETWEEN 5 AND 4 + 1", list, "", no},
		{"i BETWEEN '5' AND '8'", rng, "", no},
		{"i NOT BETWEEN 5 AND 4990", rng, "", no},
		{"NOT (i BETWEEN 5 AND 4990)", rng, "", no},
		{"i > 5 AND i < 9", rng, "", no},
		{"i = 5 OR i > 4995", rng, "", no},
		{"i > 5 OR i < 2", rng, "", yes},
		{"5 BETWEEN i AND nn", rng, "", no},
		{"i BETWEEN 5 AND nn", filter, "", yes},
		{"ni IS NOT NULL", rng, "", no},
		{"i IS NOT NULL", rng, "", yes},
		{"NOT (i IS NULL)", rng, "", yes},
		{"i <> 5", rng, "", yes},
		{"NOT (i = 5)", rng, "", yes},
		{"i NOT IN (5, 6)", rng, "", yes},
		{"d >= '2013-09-01' AND d < '2013-09-03'", rng, "", no},
		{"dt > '2013-09-01'", rng, "", no},
		{"dt BETWEEN '2001-02-03' AND '2001-02-03' + INTERVAL 1 DAY", rng, "", no},
		{"v > 'v4990'", rng, "", no},
		{"v >= 'v4990' AND v < 'v4991'", rng, "", no},
		{"en > 'b'", filter, "", yes},
		// LIKE
		{"v LIKE 'v000%'", prefix, "", no},
		{`v LIKE 'v0001\_%'`, prefix, "", no},
		{"v LIKE 'v0001|_%' ESCAPE '|'", prefix, "", no},
		{"v LIKE 'v0001'", list, "", no},
		{"v LIKE CONCAT('v', '0001%')", prefix, "", no},
		{"v LIKE 'v_01'", prefix, "", yes}, // the range of 'v'
		{"vb LIKE 'v123%'", prefix, "", no},
		{"tx LIKE 'v12%'", prefix, "", no},
		{"v LIKE 12", [2]Class{Filter, Prefix}, "", [2]bool{true, false}},
		{"v LIKE '%v000'", filter, "", no},
		{"v LIKE '_0001'", filter, "", no},
		{"v NOT LIKE 'v%'", filter, "", no},
		{"v REGEXP '^v0001'", filter, "", no},
		{"v NOT REGEXP '^v0001'", filter, "", no},
		{"i LIKE '12%'", filter, "", yes},
		{"d LIKE '2001-02%'", filter, "", yes},
		{"dt LIKE '2001-02-03%'", filter, "", yes},
		{"en LIKE 'b%'", filter, "", yes},
		// truth
		{"i", filter, "", yes},
		{"i IS TRUE", filter, "", no},
		{"i IS NOT TRUE", filter, "", no},
		{"i IS NOT FALSE", filter, "", no},
		{"(i = 5) IS TRUE", filter, "", no},
		{"(i = 5) = TRUE", filter, "", no},
		{"i = 5 XOR i = 6", filter, "", no},
		// never true
		{"i = NULL", filter, "", no},
		{"i > NULL", filter, "", no},
		{"nn IS NULL", filter, "", no},
		// expressions
		{"-i = -5", filter, "", no},
		{"i + 1 = 5", filter, "", no},
		{"LOWER(v) = 'v0001'", filter, "", no},
		{"COALESCE(i, 0) = 5", filter, "", no},
		{"IF(i = 5, 1, 0) = 1", filter, "", no},
		{"CASE WHEN i = 5 THEN 1 END = 1", filter, "", no},
		{"CAST(i AS CHAR) = '5'", filter, "", no},
		{"DATE(dt) = '2001-02-03'", filter, "", no},
		{"YEAR(dt) = 2001", filter, "", no},
		{"i = RAND()", filter, "", no},
		{"v = UUID()", filter, "", no},
		{"i = nn", filter, "", no},
		// conversions and collations
		{"v = 'v0001'", equality, "", no},
		{"v = _latin1'v0001'", equality, "", no},
		{"v = 5", filter, "", yes},
		{"v > 5", filter, "", yes},
		{"vb = 'v1'", equality, "", no},
		{"vb = 5", filter, "", yes},
		{"tx = 'v1'", equality, "", no},
		{"vl = 'v1'", equality, "", no},
		{"v COLLATE utf8mb4_bin = 'v0001'", filter, "", [2]bool{true, false}},
		{"BINARY v = 'v0001'", filter, "", no},
		{"v LIKE 'v0001%' COLLATE utf8mb4_bin", filter, "", yes},
		{"v = 'v0001' COLLATE utf8mb4_bin", [2]Class{Range, Equality}, "", no},
		{"v = 'v0001' COLLATE utf8mb4_unicode_ci", filter, "", yes},
		{"v = BINARY 'v0001'", [2]Class{Range, Equality}, "", no},
		// several columns
		{"(a, b) = (1, 2)", equality, "10", no},
		{"(b, a) = (2, 1)", equality, "10", no},
		{"(a, b) = (1, 2) AND c = 3", equality, "15", no},
		{"a = b AND b = 5 AND c = 3", equality, "15", no},
		{"(a, b) IN ((1, 2), (3, 4))", list, "10", no},
		{"a IN (1, 2) AND b IN (3, 4)", list, "10", no},
		{"(a = 1 AND b = 2) OR (a = 3 AND b = 4)", list, "10", no},
		{"(i = 5 AND fl = 1) OR (i = 6 AND fl = 2) OR i = 7", list, "", no},
		{"(i = 5 AND fl = 1) OR pad = 'y'", filter, "", yes},
		{"(a, b) > (98, 1)", filter, "", no},
		{"(a, b) < (1, 2)", filter, "", no},
		{"(a, b) NOT IN ((1, 2))", filter, "", no},
		{"a = b", filter, "", no},
	}
	columnLen := map[string]string{"i": "5", "nn": "4", "ui": "5", "v": "203", "vb": "53", "tx": "43", "vl": "53", "d": "4", "dt": "6", "dn": "3", "dc": "6", "db": "9", "en": "2", "gv": "5", "ni": "5"}
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		exec(t, db, `CREATE TABLE t (id INT PRIMARY KEY, i INT, nn INT NOT NULL, ui INT UNSIGNED, v VARCHAR(50) CHARACTER SET utf8mb4, vb VARBINARY(50), tx TEXT CHARACTER SET utf8mb4,
			vl VARCHAR(50) CHARACTER SET latin1, d DATE, dt DATETIME, dn DATE NOT NULL, dc DECIMAL(10,2), db DOUBLE, en ENUM('a','b','c'), ni INT, gv INT AS (i + 7) VIRTUAL, a INT, b INT, c INT, fl INT, pad VARCHAR(200),
			KEY i(i), KEY nn(nn), KEY ui(ui), KEY v(v), KEY vb(vb), KEY tx(tx(10)), KEY vl(vl), KEY d(d), KEY dt(dt), KEY dn(dn), KEY dc(dc), KEY db(db), KEY en(en), KEY ni(ni), KEY gv(gv), KEY abc(a,b,c))`)
		fill(t, db, 20000)
		exec(t, db, `INSERT INTO t (id, i, nn, ui, v, vb, tx, vl, d, dt, dn, dc, db, en, ni, a, b, c, fl, pad)
			SELECT i, i%5000, i%5000, i%5000, CONCAT('v', LPAD(i%5000,4,'0')), CONCAT('v', i%5000), CONCAT('v', i%5000), CONCAT('v', i%5000),
			'2000-01-01' + INTERVAL i%5000 DAY, '2000-01-01' + INTERVAL i%5000 DAY, '2000-01-01' + INTERVAL i%5000 DAY, i%5000, i%5000, IF(i%100, 'a', 'b'), IF(i%500, NULL, i), i%100, i%77, i%13, i%10, REPEAT('x',200) FROM seq`,
			"ANALYZE TABLE t")
		r := New(MySQL(db), Options{}).run()
		if err := r.start(context.Background()); err != nil {
			t.Fatal(err)
		}
		for _, c := range rows {
			query := "SELECT * FROM t WHERE " + c.cond
			a, err := r.analyse(context.Background(), schema, query)
			if err != nil {
				t.Errorf("%s: %v", c.cond, err)
				continue
			}
			want, odd := c.want[0], c.odd[0]
			if r.server.MariaDB {
				want, odd = c.want[1], c.odd[1]
			}
			got, key := Filter, ""
			for _, p := range a.blocks[0].accesses[0].preds {
				// An index on the expression is none on the column.
				if p.Class != Filter && p.Keys[0].Expr == "" && key == "" {
					got, key = p.Class, strings.ToLower(p.Keys[0].Name)
				}
			}
			if got != want {
				t.Errorf("%s is classified %s, want %s", c.cond, got, want)
			}
			row, err := explainRow(t, db, r.server.MariaDB, query)
			if err != nil {
				t.Errorf("%s: %v", c.cond, err)
				continue
			}
			keyLen := columnLen[key]
			if c.len != "" {
				key, keyLen = "abc", c.len
			}
			kinds := map[Class][]string{Equality: {"ref", "const", "eq_ref"}, List: {"range", "ref_or_null"}, Range: {"range"}, Prefix: {"range"}, Filter: {"ALL", ""}}[want]
			switch {
			case want == Filter:
				if !slices.Contains(kinds, row.kind) || row.key != "" || odd != (row.possible != "") {
					t.Errorf("%s is a filter, but the server reads %+v", c.cond, row)
				}
			case !slices.Contains(strings.Split(row.possible, ","), key):
				t.Errorf("%s is said to be %s, but the server lists the keys %q", c.cond, want, row.possible)
			case odd:
				if row.kind != "ALL" {
					t.Errorf("%s matches most rows, but the server reads %+v", c.cond, row)
				}
			case !slices.Contains(kinds, row.kind) || row.keyLen != keyLen:
				t.Errorf("%s is said to be %s with key_len %s, but the server reads %+v", c.cond, want, keyLen, row)
			}
		}
	})
}
