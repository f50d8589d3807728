package advisorbench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// query is a query of the bench.
type query struct {
	what, where string
	from        []source
	// the work of the query by the indexes that it may use, and by plan
	work, plans map[string]work
}

// source is a table that a query reads.
type source struct {
	table, alias string
	columns      []string // what could be in an index
	// for soar's rule
	equal, ranges, order, group []string
}

// sql is the query, with the given indexes and no others if hinted.
func (q *query) sql(hinted bool, set []index) string {
	var from []string
	for _, s := range q.from {
		t := s.table + " " + s.alias
		if hinted {
			var names []string
			for _, ix := range set {
				if ix.table == s.table {
					names = append(names, ix.name())
				}
			}
			t += " USE INDEX (" + strings.Join(names, ", ") + ")"
		}
		from = append(from, t)
	}
	return "SELECT " + q.what + " FROM " + strings.Join(from, " JOIN ") + " WHERE " + q.where
}

func (q *query) String() string { return q.sql(false, nil) }

// sampler gives a value of a column of a random row as SQL text.
type sampler func(t table, c column) string

// writer makes queries.
type writer struct {
	*rand.Rand
	sample sampler
}

// queries makes n queries with one to six conditions of every class, ORDER BY
// and LIMIT, GROUP BY, lists, and joins.
func queries(n int, ts []table, seed uint64, sample sampler) []*query {
	w := &writer{Rand: rand.New(rand.NewPCG(seed, 1)), sample: sample}
	small, big := ts[:len(ts)-1], ts[len(ts)-1]
	var out []*query
	for i := range n {
		var q *query
		switch k := 1 + i/len(small)%6; i % 12 {
		case 0, 7:
			q = w.join(small)
		case 11:
			q = w.single(big, k)
		default:
			q = w.single(small[i%len(small)], k)
		}
		q.work, q.plans = map[string]work{}, map[string]work{}
		out = append(out, q)
	}
	return out
}

// single makes a query of one table with k conditions.
func (w *writer) single(t table, k int) *query {
	s := source{table: t.name}
	var conds []string
	most := 6
	if t.rows > 200_000 {
		most = 3 // indexes of big tables take long to build
	}
	for _, j := range w.Perm(6)[:min(k, most)] {
		conds = append(conds, w.condition(t, t.columns[j], &s))
	}
	what, tail := "*", ""
	// more are columns that the rest of the query names.
	more := func(n int) []column {
		var out []column
		for _, j := range w.Perm(6) {
			if c := t.columns[j]; len(out) < n && (slices.Contains(s.columns, c.name) || len(s.columns) < most) {
				s.use(c.name)
				out = append(out, c)
			}
		}
		return out
	}
	switch w.IntN(8) {
	case 0, 1:
		desc := []string{"", " DESC"}[w.IntN(2)]
		var by []string
		for _, c := range more(1 + w.IntN(2)) {
			s.order = append(s.order, c.name)
			by = append(by, c.name+desc)
		}
		tail = fmt.Sprintf(" ORDER BY %s LIMIT %d", strings.Join(by, ", "), 1+w.IntN(30))
	case 2, 3:
		for _, c := range more(1 + w.IntN(2)) {
			s.group = append(s.group, c.name)
		}
		by := strings.Join(s.group, ", ")
		what, tail = by+", COUNT(*)", " GROUP BY "+by
	case 4:
		what = "COUNT(*)"
	case 5:
		what = "id, " + s.columns[0]
	}
	return &query{what: what, where: strings.Join(conds, " AND ") + tail, from: []source{s}}
}

// join makes a query over two tables of the same size: all are joined on f.
func (w *writer) join(ts []table) *query {
	q := &query{what: "x.pad, y.pad"}
	conds := []string{"x.f = y.f"}
	p := w.Perm(len(ts))
	for i, alias := range []string{"x", "y"} {
		t := ts[p[i]]
		s := source{table: t.name, alias: alias, equal: []string{"f"}, columns: []string{"f"}}
		for _, j := range w.Perm(5)[:1+w.IntN(2)] {
			conds = append(conds, w.condition(t, t.columns[j], &s))
		}
		q.from = append(q.from, s)
	}
	q.where = strings.Join(conds, " AND ")
	switch w.IntN(3) {
	case 0:
		q.what = "COUNT(*)"
	case 1:
		q.where += " LIMIT 100"
	default:
		q.where += " LIMIT 2000"
	}
	return q
}

func (s *source) use(c string) {
	if !slices.Contains(s.columns, c) {
		s.columns = append(s.columns, c)
	}
}

// condition makes a condition of a random class on a column. There are no
// expressions over columns: on MariaDB an index serves them only where the
// query is written in another way.
func (w *writer) condition(t table, c column, s *source) string {
	s.use(c.name)
	name := c.name
	if s.alias != "" {
		name = s.alias + "." + name
	}
	equal := func(format string, args ...any) string {
		s.equal = append(s.equal, c.name)
		return fmt.Sprintf(format, args...)
	}
	ranged := func(format string, args ...any) string {
		s.ranges = append(s.ranges, c.name)
		return fmt.Sprintf(format, args...)
	}
	v := w.sample(t, c)
	if v == "NULL" || c.null && w.IntN(6) == 0 {
		return equal("%s IS NULL", name)
	}
	n := w.IntN(20)
	if c.time() {
		switch {
		case n < 12:
			return ranged("%s >= %s AND %[1]s < %[2]s + INTERVAL %d DAY", name, v, 1+w.IntN(40))
		case n < 15:
			return ranged("%s BETWEEN %s AND %[2]s + INTERVAL %d HOUR", name, v, 1+w.IntN(100))
		case n < 18:
			return ranged("%s > %s", name, v)
		}
		return equal("%s = %s", name, v)
	}
	list := func(k int) string {
		items := []string{v}
		for range k {
			if x := w.sample(t, c); x != "NULL" && !slices.Contains(items, x) {
				items = append(items, x)
			}
		}
		return strings.Join(items, ", ")
	}
	switch {
	case n < 8:
		return equal("%s = %s", name, v)
	case n < 11:
		return ranged("%s IN (%s)", name, list(1+w.IntN(4)))
	case n == 11:
		if x := w.sample(t, c); x != "NULL" && x != v {
			return ranged("(%s = %s OR %[1]s = %[3]s)", name, v, x)
		}
		return equal("%s <=> %s", name, v)
	case n < 15 && c.text:
		text := strings.Trim(v, "'")
		return ranged("%s LIKE '%s%%'", name, text[:1+w.IntN(len(text))])
	case n < 15:
		return ranged("%s BETWEEN %s AND %[2]s + %d", name, v, w.IntN(20))
	case n == 15:
		return ranged("%s <= %s", name, v)
	case n == 16:
		return ranged("%s > %s", name, v)
	// The rest filters only.
	case n == 17:
		return fmt.Sprintf("%s <> %s", name, v)
	case n == 18 && c.null:
		return fmt.Sprintf("%s IS NOT NULL", name)
	case n == 18:
		return fmt.Sprintf("%s NOT IN (%s)", name, list(2))
	case c.text:
		text := strings.Trim(v, "'")
		return fmt.Sprintf("%s LIKE '%%%s%%'", name, text[len(text)/2:])
	}
	return fmt.Sprintf("%s <> %s", name, v)
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
