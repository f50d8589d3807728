// Package advisorbench measures how near the optimum the advice of package
// indexadvisor is: it makes tables and queries, builds every index of up to
// three columns that a query could use, and compares the best of them, the
// advised one and none by what the server does.
package advisorbench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// column is a column of a bench table.
type column struct {
	name string
	typ  string
	expr string // its value from the row number i and pseudo-random numbers h(k)
	text bool
	null bool
}

// table is a table of the bench.
type table struct {
	name    string
	rows    int
	columns []column
}

// h is an SQL expression for the k-th pseudo-random number of row i, in
// [0, 2^31): a multiplicative hash.
func h(k int) string {
	return fmt.Sprintf("((i * %d + %d) * 2654435761 %% 4294967291 DIV 2)", 2*k+1, 7919*k)
}

// zipf has few common values and many rare ones: value v with a share of
// about 1/v.
func zipf(k, values int) string {
	return fmt.Sprintf("FLOOR(POW(%d, (%s %% 100000) / 100000))", values, h(k))
}

// bigger is how many times as many rows the big table has.
const bigger = 5

// tables are the tables of the bench: uniform, skewed, correlated and
// NULL-heavy columns, wide strings, and a big one.
func tables(rows int) []table {
	big := []column{
		{"a", "INT NOT NULL", h(1) + " % 5000", false, false},
		{"b", "INT NOT NULL", h(2) + " % 300", false, false},
		{"c", "INT NOT NULL", h(3) + " % 20", false, false},
		{"d", "DATETIME NOT NULL", "'2020-01-01' + INTERVAL i MINUTE", false, false},
		{"e", "INT NOT NULL", h(5) + " % 2", false, false},
		{"f", "INT NOT NULL", h(6) + " % 40000", false, false},
		{"pad", "VARCHAR(120) NOT NULL", "REPEAT('x', 100)", true, false},
	}
	return []table{
		{"uniform", rows, []column{
			{"a", "INT NOT NULL", h(1) + " % 1000", false, false},
			{"b", "INT NOT NULL", h(2) + " % 100", false, false},
			{"c", "INT NOT NULL", h(3) + " % 10", false, false},
			{"d", "DATETIME NOT NULL", "'2020-01-01' + INTERVAL (" + h(4) + " % 1000000) MINUTE", false, false},
			{"e", "INT NOT NULL", h(5) + " % 2", false, false},
			{"f", "INT NOT NULL", h(6) + " % 30000", false, false},
			{"pad", "VARCHAR(120) NOT NULL", "REPEAT('x', 100)", true, false},
		}},
		{"skewed", rows, []column{
			{"a", "INT NOT NULL", zipf(1, 5000), false, false},
			{"b", "INT NOT NULL", zipf(2, 300), false, false},
			{"c", "INT NOT NULL", zipf(3, 20), false, false},
			{"d", "DATETIME NOT NULL", "'2020-01-01' + INTERVAL POW(" + h(4) + " % 1000, 2) MINUTE", false, false},
			{"e", "INT NOT NULL", h(5) + " % 50 = 0", false, false},
			{"f", "INT NOT NULL", zipf(6, 50000), false, false},
			{"pad", "VARCHAR(120) NOT NULL", "REPEAT('x', 100)", true, false},
		}},
		{"related", rows, []column{ // b follows from a, c from b, d grows with the key, e says that a row is old
			{"a", "INT NOT NULL", h(1) + " % 2000", false, false},
			{"b", "INT NOT NULL", h(1) + " % 2000 % 100", false, false},
			{"c", "INT NOT NULL", h(1) + " % 2000 % 10", false, false},
			{"d", "DATETIME NOT NULL", "'2020-01-01' + INTERVAL i MINUTE", false, false},
			{"e", "INT NOT NULL", fmt.Sprintf("i < %d", rows-rows/50), false, false},
			{"f", "INT NOT NULL", h(6) + " % 500", false, false},
			{"pad", "VARCHAR(120) NOT NULL", "REPEAT('x', 100)", true, false},
		}},
		{"nulls", rows, []column{
			{"a", "INT", "IF(" + h(7) + " % 10 = 0, " + h(1) + " % 500, NULL)", false, true},
			{"b", "INT", "IF(" + h(8) + " % 2 = 0, " + h(2) + " % 50, NULL)", false, true},
			{"c", "INT", "IF(" + h(9) + " % 50 = 0, NULL, " + h(3) + " % 200)", false, true},
			{"d", "DATETIME", "IF(" + h(10) + " % 5 = 0, '2020-01-01' + INTERVAL (" + h(4) + " % 1000000) MINUTE, NULL)", false, true},
			{"e", "INT NOT NULL", h(5) + " % 4", false, false},
			{"f", "INT NOT NULL", h(6) + " % 3000", false, false},
			{"pad", "VARCHAR(120) NOT NULL", "REPEAT('x', 100)", true, false},
		}},
		{"strings", rows, []column{
			{"a", "VARCHAR(60) NOT NULL", "CONCAT('user', LPAD(" + h(1) + " % 8000, 12, '0'), '@example.org')", true, false},
			{"b", "VARCHAR(100) NOT NULL", "CONCAT('/shop/', " + h(2) + " % 40, '/', " + h(12) + " % 50)", true, false},
			{"c", "CHAR(2) NOT NULL", "ELT(1 + " + h(3) + " % 8, 'se', 'de', 'at', 'fr', 'it', 'es', 'pl', 'no')", true, false},
			{"d", "DATETIME NOT NULL", "'2020-01-01' + INTERVAL (" + h(4) + " % 1000000) MINUTE", false, false},
			{"e", "INT NOT NULL", h(5) + " % 3", false, false},
			{"f", "INT NOT NULL", h(6) + " % 900", false, false},
			{"pad", "VARCHAR(120) NOT NULL", "REPEAT('x', 100)", true, false},
		}},
		{"big", bigger * rows, big},
	}
}

// query is a query of the bench.
type query struct {
	sql    string
	tables []string
	// what could be in an index, by table
	columns map[string][]string
	// equality and range columns, for soar's rule; only for one table
	equal, ranges, order, group []string
}

// queries makes n queries with one to six conditions of every class, ORDER BY
// and LIMIT, GROUP BY, lists, and joins. sample returns a value of a column
// of a random row as SQL text.
func queries(n int, ts []table, seed uint64, sample func(t table, c column) string) []query {
	rnd := rand.New(rand.NewPCG(seed, 1))
	var out []query
	for i := 0; len(out) < n; i++ {
		t := ts[i%len(ts)]
		if i%9 == 8 {
			out = append(out, join(rnd, ts, sample))
			continue
		}
		out = append(out, single(rnd, t, sample))
	}
	return out
}

func single(rnd *rand.Rand, t table, sample func(table, column) string) query {
	q := query{tables: []string{t.name}, columns: map[string][]string{}}
	use := func(c string) {
		if !slices.Contains(q.columns[t.name], c) {
			q.columns[t.name] = append(q.columns[t.name], c)
		}
	}
	var conds []string
	k := 1 + rnd.IntN(6)
	most := 5
	if t.name == "big" {
		most = 3 // its indexes take long to build
	}
	for _, j := range rnd.Perm(6)[:k] {
		c := t.columns[j]
		if len(q.columns[t.name]) == most {
			break
		}
		cond, kind := condition(rnd, t, c, sample)
		conds = append(conds, cond)
		use(c.name)
		switch kind {
		case "=":
			q.equal = append(q.equal, c.name)
		default:
			q.ranges = append(q.ranges, c.name)
		}
	}
	what := "*"
	tail := ""
	switch rnd.IntN(6) {
	case 0:
		c := t.columns[rnd.IntN(6)]
		if len(q.columns[t.name]) < most || slices.Contains(q.columns[t.name], c.name) {
			desc := ""
			if rnd.IntN(2) == 0 {
				desc = " DESC"
			}
			tail = fmt.Sprintf(" ORDER BY %s%s LIMIT %d", c.name, desc, 1+rnd.IntN(20))
			use(c.name)
			q.order = []string{c.name}
		}
	case 1:
		c := t.columns[rnd.IntN(6)]
		if len(q.columns[t.name]) < most || slices.Contains(q.columns[t.name], c.name) {
			what = c.name + ", COUNT(*)"
			tail = " GROUP BY " + c.name
			use(c.name)
			q.group = []string{c.name}
		}
	case 2:
		what = "COUNT(*)"
	case 3:
		what = "id, " + q.columns[t.name][0]
	}
	q.sql = fmt.Sprintf("SELECT %s FROM %s WHERE %s%s", what, t.name, strings.Join(conds, " AND "), tail)
	return q
}

// condition makes a condition of a random class on a column.
func condition(rnd *rand.Rand, t table, c column, sample func(table, column) string) (cond, kind string) {
	v := sample(t, c)
	if v == "NULL" || c.null && rnd.IntN(5) == 0 {
		return c.name + " IS NULL", "="
	}
	switch n := rnd.IntN(10); {
	case n < 5 && !strings.HasPrefix(c.typ, "DATETIME"):
		return c.name + " = " + v, "="
	case n < 7 && !strings.HasPrefix(c.typ, "DATETIME"):
		list := []string{v}
		for range 1 + rnd.IntN(3) {
			if w := sample(t, c); w != "NULL" {
				list = append(list, w)
			}
		}
		return c.name + " IN (" + strings.Join(list, ", ") + ")", "in"
	case c.text && n < 9:
		return c.name + " LIKE '" + strings.Trim(v, "'")[:min(len(v)-2, 2+rnd.IntN(15))] + "%'", "like"
	case strings.HasPrefix(c.typ, "DATETIME") && n < 8:
		return fmt.Sprintf("%s BETWEEN %s AND %[2]s + INTERVAL %d DAY", c.name, v, 1+rnd.IntN(40)), "range"
	case n == 9:
		return c.name + " > " + v, "range"
	}
	return c.name + " <= " + v, "range"
}

// join makes a query over two tables: all are joined on f.
func join(rnd *rand.Rand, ts []table, sample func(table, column) string) query {
	a, b := ts[rnd.IntN(5)], ts[rnd.IntN(5)]
	for a.name == b.name {
		b = ts[rnd.IntN(5)]
	}
	q := query{tables: []string{a.name, b.name}, columns: map[string][]string{a.name: {"f"}, b.name: {"f"}}}
	conds := []string{"x.f = y.f"}
	for i, t := range []table{a, b} {
		alias := []string{"x.", "y."}[i]
		for _, j := range rnd.Perm(5)[:1+rnd.IntN(2)] {
			c := t.columns[j]
			cond, _ := condition(rnd, t, c, sample)
			conds = append(conds, alias+cond)
			q.columns[t.name] = append(q.columns[t.name], c.name)
		}
	}
	q.sql = fmt.Sprintf("SELECT x.pad, y.pad FROM %s x JOIN %s y WHERE %s LIMIT 2000", a.name, b.name, strings.Join(conds, " AND "))
	return q
}

// lists are all lists of one to three of the columns.
func lists(columns []string) [][]string {
	var out [][]string
	var extend func(prefix []string)
	extend = func(prefix []string) {
		for _, c := range columns {
			if !slices.Contains(prefix, c) {
				next := append(slices.Clone(prefix), c)
				out = append(out, next)
				if len(next) < 3 {
					extend(next)
				}
			}
		}
	}
	extend(nil)
	return out
}
