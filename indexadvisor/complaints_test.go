package indexadvisor

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/quern-dev/quern/internal/sqlparse"
)

// What users complained about in other advisors, with the behaviour that
// would have been right. More of them are elsewhere: duplicate indexes in
// TestRedundantIndexes and TestTrapsOfDuplicateIndexesOnServers; functions
// that are run in TestCountingRunsNothingThatActs; one failure that ends all
// in TestOneFailureIsOne; thresholds in TestFrequencyDecidesWhatASavingIsWorth;
// NULL, character sets and documents in copies in TestVerifyOnAScratchServer;
// names of temporary schemas in advice in TestVerifyAcrossSchemasAndViews;
// odd catalogs in TestOddTablesOnServers; partial results in
// TestAdviceSoFarWhenTimeEnds.
//
// Complaints that do not concern this package: plans in formats that a reader
// does not know, plans that are executed, and rewrites of UPDATE and DELETE
// are package explain's; lists of queries without an index are package
// digest's; hypothetical indexes on a server in use are not made here at all.
func TestComplaintsAboutOtherAdvisors(t *testing.T) {
	hash := func(i, k int) int { return (i*2654435761 ^ i>>3*(k*40503+1)) >> 4 & 0x7fffffff }
	for _, c := range []struct {
		name, ddl string
		row       func(i int) []any
		sql       string
		want      []string // any of these
		note      string
	}{
		{"an unequal column and the primary key are no parts", "CREATE TABLE t (vid BIGINT PRIMARY KEY, st INT, ok INT, db VARCHAR(20), src INT, pad VARCHAR(200))",
			func(i int) []any {
				return []any{i, hash(i, 1) % 5, hash(i, 2) % 20, fmt.Sprint("d", hash(i, 3)%30), hash(i, 4) % 40, "x"}
			},
			"SELECT * FROM t WHERE st<>-9 AND ok=1 AND db='d3' AND src IN (14) ORDER BY vid DESC LIMIT 20", []string{"t(src, db)", "t(src, db, ok)"}, ""},
		{"an index counts as used in whatever order the conditions stand", "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, c INT, KEY k (a, b, c))",
			func(i int) []any { return []any{i, i % 20, i / 20 % 20, i / 400 % 20} }, "SELECT * FROM t WHERE a=1 AND c=3 AND b=2", []string{""}, "k serves it already"},
		{"a two-valued column is no index of its own", "CREATE TABLE t (id INT PRIMARY KEY, st INT, u INT, pad VARCHAR(200), KEY u (u))",
			func(i int) []any { return []any{i, i % 2, hash(i, 1) % 10000, "x"} }, "SELECT * FROM t WHERE u=5 AND st=1", []string{"", "+t(u, st)"}, ""},
		{"a missing index on IS NULL where NULL is rare", "CREATE TABLE t (a INT, b INT, c INT, d INT)",
			func(i int) []any {
				if i%1000 == 0 {
					return []any{i, i, i, nil}
				}
				return []any{i, i, i, i}
			}, "DELETE FROM t WHERE d IS NULL", []string{"t(d)"}, ""},
		{"a prepared statement without values is advised by the number of values", "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, pad VARCHAR(200))",
			func(i int) []any { return []any{i, hash(i, 1) % 3000, hash(i, 2) % 3, "x"} }, "SELECT * FROM t WHERE a=? AND b=?", []string{"t(a)", "t(a, b)"}, ""},
		{"a prepared statement on the primary key", "CREATE TABLE t (w INT, d INT, c INT, PRIMARY KEY (w, d, c))",
			func(i int) []any { return []any{i, 1, 1} }, "SELECT * FROM t WHERE w=? AND d=? AND c=?", []string{""}, "PRIMARY fixes the row"},
		{"an empty result says why", "CREATE TABLE t (a INT PRIMARY KEY, b INT)", func(i int) []any { return []any{i, i} }, "SELECT * FROM t WHERE a=1 AND b=2", []string{""}, "PRIMARY fixes the row"},
		{"the end of the primary key is no full scan", "CREATE TABLE t (a INT PRIMARY KEY, b INT)", func(i int) []any { return []any{i, i} }, "SELECT a FROM t ORDER BY a DESC LIMIT 1", []string{""}, ""},
		{"both directions", "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, pad VARCHAR(200))", func(i int) []any { return []any{i, hash(i, 1) % 500, hash(i, 2) % 300, "x"} },
			"SELECT * FROM t ORDER BY a ASC, b DESC LIMIT 5", []string{"t(a, b DESC)"}, ""},
		{"a column that is only selected is no part, nor is a constant order", "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(200), age INT, pad VARCHAR(200))",
			func(i int) []any { return []any{i, fmt.Sprint("n", hash(i, 1)%5000), i % 90, "x"} }, "SELECT id, name, age, pad FROM t AS x WHERE x.name='n7' ORDER BY x.name DESC", []string{"t(name)"}, ""},
		{"the range stands last, although it tells more values apart", "CREATE TABLE t (id INT PRIMARY KEY, ts DATETIME, st INT, pad VARCHAR(200))",
			func(i int) []any {
				return []any{i, fmt.Sprintf("2024-%02d-%02d %02d:00:00", hash(i, 1)%12+1, hash(i, 2)%28+1, hash(i, 3)%24), hash(i, 4) % 30, "x"}
			},
			"SELECT * FROM t WHERE st=1 AND ts>'2024-10-01'", []string{"t(st, ts)"}, ""},
		{"order columns keep their order, whatever their cardinality", "CREATE TABLE t (id INT PRIMARY KEY, midc INT, lowc INT, hic INT, pad VARCHAR(200))",
			func(i int) []any { return []any{i, hash(i, 1) % 200, hash(i, 2) % 3, hash(i, 3) % 9000, "x"} }, "SELECT * FROM t WHERE midc=5 ORDER BY lowc, hic LIMIT 5", []string{"t(midc, lowc, hic)"}, ""},
		{"a long string is no prefix where the whole fits", "CREATE TABLE t (id INT PRIMARY KEY, note VARCHAR(200), amount INT, pad VARCHAR(200))",
			func(i int) []any { return []any{i, fmt.Sprint("n", i%100), hash(i, 1) % 9999, "x"} }, "SELECT * FROM t WHERE note='n7' ORDER BY amount LIMIT 3", []string{"t(note, amount)"}, ""},
		{"each alias of a self-join for itself", "CREATE TABLE t (id INT PRIMARY KEY, midc INT, hic INT, c INT, pad VARCHAR(200))",
			func(i int) []any { return []any{i, hash(i, 1) % 3000, hash(i, 2) % 9000, hash(i, 3) % 5000, "x"} },
			"SELECT a.pad, b.pad FROM t a JOIN t b ON a.midc=b.hic WHERE a.c=5", []string{"t(c) t(hic)", "t(hic) t(c)"}, ""},
		{"names differ in case, and the primary key ends every index", "CREATE TABLE t (Id INT PRIMARY KEY, UserName VARCHAR(9), KEY k (UserName))",
			func(i int) []any { return []any{i, fmt.Sprint("n", i%5000)} }, "SELECT * FROM t WHERE username='n7' AND id>5", []string{""}, "k serves it already"},
		{"an index on the remainder, not on the column", "CREATE TABLE t (id INT PRIMARY KEY, length INT)",
			func(i int) []any { return []any{i, i % 200} }, "SELECT * FROM t WHERE length % 20 = 4", []string{"t((`length` % 20))"}, ""},
		{"HAVING on a grouping column", "CREATE TABLE t (id INT PRIMARY KEY, a INT, KEY ka (a))", func(i int) []any { return []any{i, i % 50} },
			"SELECT a, COUNT(*) FROM t GROUP BY a HAVING a=5", []string{""}, "move the HAVING condition"},
		{"a rewrite is named for DATE()", "CREATE TABLE t (id INT PRIMARY KEY, d DATETIME, KEY kd (d))", func(i int) []any { return []any{i, "2024-01-01 00:00:00"} },
			"SELECT * FROM t WHERE DATE(d)='2024-01-01'", []string{""}, "d >= '2024-01-01' AND d < '2024-01-01' + INTERVAL 1 DAY"},
		{"a rewrite is named for arithmetic", "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, KEY ka (a))", func(i int) []any { return []any{i, i % 5000, 1} },
			"SELECT * FROM t WHERE a + 1 = 7", []string{"t((`a` + 1))"}, "a = 7 - 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMemory(t)
			m.add(c.ddl, 20000, c.row)
			a := m.advise(c.sql)
			ok := false
			for _, w := range c.want {
				ok = ok || short(a) == w
			}
			if !ok {
				t.Errorf("got %q, want one of %q\n%s", short(a), c.want, strings.Join(a.Notes, "\n"))
			}
			if c.note != "" {
				wantNote(t, a, c.note)
			}
		})
	}
}

func TestSubqueryServedByACompositeIndex(t *testing.T) {
	m := newMemory(t)
	m.add("CREATE TABLE o5 (id INT PRIMARY KEY, cust INT, pad VARCHAR(100))", 20000, func(i int) []any { return []any{i, i, "x"} })
	m.add("CREATE TABLE i5 (oid INT, sku INT, q INT, PRIMARY KEY (oid, sku), KEY k (sku, oid))", 20000, func(i int) []any { return []any{i, i % 100, 1} })
	if a := m.advise("SELECT * FROM o5 WHERE EXISTS (SELECT 1 FROM i5 WHERE i5.oid=o5.id AND i5.sku=7)"); short(a) != "" {
		t.Errorf("got %s\n%s", short(a), strings.Join(a.Notes, "\n"))
	}
	if a := m.advise("SELECT * FROM o5 WHERE id IN (SELECT oid FROM i5 WHERE sku=7)"); short(a) != "" {
		t.Errorf("got %s", short(a))
	}
}

// The DDL is read back by a parser: its columns are those of the suggestion.
func TestDDLSaysWhatTheSuggestionSays(t *testing.T) {
	m := newMemory(t)
	m.add("CREATE TABLE `o``7` (id INT PRIMARY KEY, `a b` INT, `sel``ect` VARCHAR(50), d INT, pad VARCHAR(200))", 20000, func(i int) []any {
		return []any{i, i * 31 % 977, fmt.Sprint("v", i*7%500), i % 1000, "x"}
	})
	for _, sql := range []string{
		"SELECT * FROM `o``7` WHERE `a b`=5 AND `sel``ect`='v35'",
		"SELECT * FROM `o``7` ORDER BY `a b`, d DESC LIMIT 3",
	} {
		a := m.advise(sql)
		if len(a.Suggestions) != 1 {
			t.Fatalf("%s: %s", sql, short(a))
		}
		s := a.Suggestions[0]
		stmt, err := sqlparse.Parse(strings.Split(s.DDL, ", ALGORITHM")[0], sqlparse.Options{})
		if err != nil {
			t.Fatalf("%s: %v", s.DDL, err)
		}
		alter := stmt.(*ast.AlterTableStmt)
		if alter.Table.Schema.O != "s" || alter.Table.Name.O != "o`7" {
			t.Errorf("the DDL is for %s.%s", alter.Table.Schema.O, alter.Table.Name.O)
		}
		var parts []Part
		for _, k := range alter.Specs[0].Constraint.Keys {
			parts = append(parts, Part{Name: k.Column.Name.O, Length: max(0, k.Length), Desc: k.Desc})
		}
		if d := cmp.Diff(s.Columns, parts); d != "" {
			t.Error(d)
		}
	}
}

// Sixty columns and many conditions must not explode.
func TestManyColumnsStayBounded(t *testing.T) {
	m := newMemory(t)
	var cols, conds []string
	for i := range 60 {
		cols = append(cols, fmt.Sprintf("c%d INT", i))
		conds = append(conds, fmt.Sprintf("c%d = %d", i, i%3))
	}
	m.add("CREATE TABLE t (id INT PRIMARY KEY, "+strings.Join(cols, ", ")+")", 3000, func(i int) []any {
		row := []any{i}
		for k := range 60 {
			row = append(row, (i>>(k%11))%(k%7+2))
		}
		return row
	})
	start := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	a, err := New(&m.Rows, Options{}).Advise(ctx, Query{Schema: "s", SQL: "SELECT * FROM t WHERE " + strings.Join(conds, " AND ") + " ORDER BY c3, c4"})
	if err != nil || a.Incomplete {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
	for _, s := range a.Suggestions {
		if len(s.Columns) > 5 {
			t.Errorf("%d columns", len(s.Columns))
		}
	}
}

func TestSizeGrowsWithColumns(t *testing.T) {
	tab := &Table{Engine: "InnoDB", Columns: []Column{{Name: "k", Type: "int"}, {Name: "p", Type: "decimal", Precision: 15}, {Name: "q", Type: "varchar", Chars: 30}}}
	last := int64(0)
	for n := 1; n <= 3; n++ {
		parts := []Part{{Name: "k"}, {Name: "p"}, {Name: "q"}}[:n]
		size := tab.indexBytes(parts, 1e6, 16384)
		if size <= last {
			t.Errorf("%d columns take %d bytes, one less takes %d", n, size, last)
		}
		last = size
	}
	if got := tab.indexBytes([]Part{{Name: "k"}}, 10, 16384); got != 16384 {
		t.Errorf("an index of ten rows takes %d bytes, a page expected", got)
	}
}

// A join of many tables is planned within bounds, and still finds the index.
func TestJoinOfManyTables(t *testing.T) {
	m := newMemory(t)
	var from, conds []string
	for i := range 20 {
		m.add(fmt.Sprintf("CREATE TABLE t%d (id INT PRIMARY KEY, up INT, a INT, pad VARCHAR(200))", i), 3000, func(k int) []any { return []any{k, k * 7 % 3000, k % 500, "x"} })
		from = append(from, fmt.Sprintf("t%d", i))
		if i > 0 {
			conds = append(conds, fmt.Sprintf("t%d.up = t%d.id", i, i-1))
		}
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	a, err := New(&m.Rows, Options{}).Advise(ctx, Query{Schema: "s", SQL: "SELECT * FROM " + strings.Join(from, ", ") + " WHERE " + strings.Join(conds, " AND ") + " AND t0.a = 7"})
	if err != nil || a.Incomplete {
		t.Fatalf("after %v: %v", time.Since(start), err)
	}
	if len(a.Suggestions) == 0 {
		t.Errorf("nothing is suggested: %s", strings.Join(a.Notes, "\n"))
	}
}
