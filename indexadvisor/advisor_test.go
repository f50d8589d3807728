package indexadvisor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// messages is the table of Baron Schwartz's article: 37,271 messages, of
// which 550 wait, all come from Twitter, 36,975 may be sent by a certain time
// and 36,569 were tried 20 times at most. None meets all conditions.
func messages(t *testing.T) *memory {
	m := newMemory(t)
	m.add(`CREATE TABLE tbl (id INT PRIMARY KEY, status VARCHAR(20) NOT NULL, source VARCHAR(20) NOT NULL, no_send_before DATETIME NOT NULL,
		tries INT NOT NULL, date DATETIME NOT NULL, body VARCHAR(200) NOT NULL)`, 37271, func(i int) []any {
		status, before, tries := "sent", "2009-05-01 00:00:00", 3
		if i < 550 {
			status = "waiting"
		}
		if i < 296 {
			before = "2009-06-30 00:00:00"
		} else if i < 998 {
			tries = 25
		}
		return []any{i, status, "twitter", before, tries, fmt.Sprintf("2009-05-%02d 00:00:00", i%28+1), "x"}
	})
	return m
}

const waiting = `SELECT * FROM tbl WHERE status='waiting' AND source='twitter' AND no_send_before <= '2009-05-28 03:17:50' AND tries <= 20
	ORDER BY date ASC LIMIT 1`

func TestRoundsAreThoseOfTheArticle(t *testing.T) {
	a := messages(t).advise(waiting)
	if len(a.Suggestions) != 1 {
		t.Fatalf("%d suggestions, 1 expected", len(a.Suggestions))
	}
	s := a.Suggestions[0]
	type round struct {
		Where  int
		Rows   int64
		Counts []int64
		Chosen int
	}
	var got []round
	for _, r := range s.Rounds {
		x := round{len(r.Where), r.Rows, nil, -1}
		for i, c := range r.Counts {
			x.Counts = append(x.Counts, c.Rows)
			if c.Chosen {
				x.Chosen = i
			}
		}
		got = append(got, x)
	}
	want := []round{
		{0, 37271, []int64{550, 37271, 36975, 36569}, 0}, // status
		{1, 550, []int64{550, 254, 296}, 1},              // no_send_before
		{2, 254, []int64{254, 0}, 1},                     // tries
		{3, 0, []int64{0}, -1},                           // source is useless
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := partList(s.Columns); got != "(status, no_send_before, tries)" {
		t.Errorf("columns are %s", got)
	}
	for _, part := range []string{"The ORDER BY was considered: (status, date)", "reads about 550 rows", "source = 'twitter'"} {
		if !strings.Contains(s.Reason, part) {
			t.Errorf("the reason lacks %q: %s", part, s.Reason)
		}
	}
	if s.RowsBefore != 37271 || s.RowsAfter != 254 {
		t.Errorf("rows before and after are %d and %d, want 37271 and 254", s.RowsBefore, s.RowsAfter)
	}
}

// A model belongs to one make, so that the make filters nothing once the
// model is fixed, although it is the second most selective by itself.
func TestCorrelatedColumnIsLeftOut(t *testing.T) {
	m := newMemory(t)
	m.add("CREATE TABLE cars (id INT PRIMARY KEY, make INT NOT NULL, model INT NOT NULL, color INT NOT NULL, sold INT NOT NULL, note VARCHAR(100))", 50000, func(i int) []any {
		model := i % 1000
		return []any{i, model % 40, model, i / 1000 % 7, i / 1000 % 7 % 3, "x"}
	})
	a := m.advise("SELECT * FROM cars WHERE make=3 AND model=123 AND color=2 AND sold=2")
	if got := short(a); got != "cars(model, color)" {
		t.Errorf("got %s, want cars(model, color)\n%s", got, a.Suggestions[0].Rounds)
	}
}

func TestAdviceDoesNotDependOnTheOrderOfConditions(t *testing.T) {
	m := messages(t)
	conds := []string{"status='waiting'", "source='twitter'", "no_send_before <= '2009-05-28 03:17:50'", "tries <= 20"}
	want := ""
	for range 6 {
		rand.Shuffle(len(conds), func(i, j int) { conds[i], conds[j] = conds[j], conds[i] })
		got := short(m.advise("SELECT * FROM tbl WHERE " + strings.Join(conds, " AND ") + " ORDER BY date LIMIT 1"))
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%v: got %s, before %s", conds, got, want)
		}
	}
}

// wide has columns of many kinds of selectivity.
func wide(t *testing.T, keys string) *memory {
	m := newMemory(t)
	if keys != "" {
		keys = ", " + keys
	}
	m.add(`CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL, c INT, d DATETIME NOT NULL, v VARCHAR(50), two INT NOT NULL,
		pad VARCHAR(255) NOT NULL, Length INT NOT NULL`+keys+`)`, 20000, func(i int) []any {
		h := func(k int) int { return (i*2654435761 ^ i>>3*k*40503) >> 4 & 0x7fffffff }
		var c any
		if i%3 > 0 {
			c = h(3) % 50
		}
		return []any{i, h(1) % 200, h(2) % 100, c, fmt.Sprintf("2024-%02d-%02d 10:00:00", h(5)%12+1, h(6)%28+1), fmt.Sprintf("v%04d", h(7)%5000), h(8) % 2, "x", h(9) % 300}
	})
	return m
}

func TestShapeOfTheIndex(t *testing.T) {
	plain, keyed := wide(t, ""), wide(t, "KEY ka (a), KEY kv (v), UNIQUE KEY u (b, id)")
	for _, c := range []struct {
		name string
		m    *memory
		sql  string
		want string
		note string
	}{
		{"a range stands after the equality, whatever is more selective", plain, "SELECT * FROM t WHERE two=1 AND d>='2024-12-20'", "t(two, d)", ""},
		{"range and order by the same column", plain, "SELECT * FROM t WHERE a=5 AND d>'2024-03-01' ORDER BY d", "t(a, d)", ""},
		{"ORDER BY keeps its order", plain, "SELECT * FROM t WHERE a=5 ORDER BY two, b LIMIT 3", "t(a, two, b)", ""},
		{"a constant column in ORDER BY is no part", plain, "SELECT * FROM t WHERE v='v0001' ORDER BY v DESC", "t(v)", ""},
		{"ORDER BY the primary key needs no part", plain, "SELECT * FROM t WHERE a=5 ORDER BY id DESC LIMIT 20", "t(a)", ""},
		{"mixed directions need a descending part", plain, "SELECT * FROM t ORDER BY a, b DESC LIMIT 5", "t(a, b DESC)", ""},
		{"an expression without a rewrite needs a functional part", plain, "SELECT * FROM t WHERE length % 20 = 4 AND a=5", "t(a, (`Length` % 20))", ""},
		{"a condition that no key serves is checked on the entry", plain, "SELECT * FROM t WHERE a < 20 AND v LIKE '%7'", "t(a, v)", "begins with a wildcard"},
		{"a number compared with a string column", plain, "SELECT * FROM t WHERE v = 123", "", "quote the number"},
		{"the primary key fixes the row", plain, "SELECT * FROM t WHERE id=5 AND b=2", "", "PRIMARY fixes the row"},
		{"nothing but the primary key's range", plain, "SELECT * FROM t WHERE id > 19000", "", "PRIMARY serves it already"},
		{"a list after the equality", plain, "SELECT * FROM t WHERE b IN (1,2,3) AND a=7", "t(a, b)", ""},
		{"an OR over one column is a list", plain, "SELECT * FROM t WHERE (b=1 OR b=2) AND a=7", "t(a, b)", ""},
		{"an OR over two columns", plain, "SELECT * FROM t WHERE a=1 OR b=2", "", "different columns"},
		{"IS NULL of a common NULL", plain, "SELECT * FROM t WHERE c IS NULL AND a=5", "t(a, c)", ""},
		{"not equal is no column", plain, "SELECT * FROM t WHERE c<>3 AND a=5 ORDER BY id DESC LIMIT 20", "t(a)", ""},
		{"group by", plain, "SELECT b, COUNT(*) FROM t GROUP BY b", "t(b)", ""},
		{"served already, and the rest filters a half", keyed, "SELECT * FROM t WHERE a=5 AND v='v0007'", "", "kv serves it already"},
		{"an index is extended rather than added", keyed, "SELECT * FROM t WHERE b=7 AND a=5 AND length=4", "+t(a, Length)", ""},
		{"names of columns in any case", keyed, "SELECT * FROM t WHERE V='v0009' AND ID>5", "", "kv serves it already"},
		{"no condition", plain, "SELECT * FROM t", "", "no condition is there"},
		{"half of the rows", plain, "SELECT * FROM t WHERE two=1", "", "10"},
		{"DELETE is advised by what it reads", plain, "DELETE FROM t WHERE a=5 AND b=7", "t(a, b)", ""},
		{"UPDATE", plain, "UPDATE t SET two=0 WHERE v='v0001'", "t(v)", ""},
		{"an alias", plain, "SELECT id, pad FROM t AS x WHERE x.v='v0001' ORDER BY x.v DESC", "t(v)", ""},
		{"a derived table's condition goes to the base table", plain, "SELECT * FROM (SELECT * FROM t WHERE a=5) x WHERE x.b=7", "t(a, b)", ""},
		{"through GROUP BY", plain, "SELECT * FROM (SELECT v, COUNT(*) n FROM t GROUP BY v) x WHERE x.v='v0001'", "t(v)", ""},
		{"a common table expression", plain, "WITH x AS (SELECT * FROM t WHERE a=5) SELECT * FROM x WHERE b=7", "t(a, b)", ""},
		{"MIN and MAX", plain, "SELECT MAX(d) FROM t WHERE a=5", "t(a, d)", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.m.t = t
			a := c.m.advise(c.sql)
			if got := short(a); got != c.want {
				t.Errorf("%s\n got %s\nwant %s\n%s", c.sql, got, c.want, strings.Join(a.Notes, "\n"))
			}
			if c.note != "" {
				wantNote(t, a, c.note)
			}
		})
	}
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	m := wide(t, "")
	ctx := context.Background()
	_, err := New(&m.Rows, Options{}).Advise(ctx, Query{Schema: "s", SQL: "SELECT * FROM gone WHERE a=1"})
	if !errors.Is(err, ErrNoTable) {
		t.Errorf("for a missing table: %v", err)
	}
	if _, err := New(&m.Rows, Options{}).Advise(ctx, Query{Schema: "s", SQL: "SELEC 'secret' FROM t"}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("for a syntax error: %v", err)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := New(&m.Rows, Options{}).Advise(canceled, Query{Schema: "s", SQL: "SELECT * FROM t WHERE a=1"}); !errors.Is(err, context.Canceled) {
		t.Errorf("for a canceled context: %v", err)
	}
}

func TestSmallAndEmptyTablesGetNoIndex(t *testing.T) {
	m := newMemory(t)
	m.add("CREATE TABLE small (id INT PRIMARY KEY, a INT)", 100, func(i int) []any { return []any{i, i} })
	m.add("CREATE TABLE empty (id INT PRIMARY KEY, a INT)", 0, nil)
	for sql, note := range map[string]string{
		"SELECT * FROM small WHERE a=1": "the table is small: 100 rows",
		"SELECT * FROM empty WHERE a=1": "the table is empty",
	} {
		a := m.advise(sql)
		if len(a.Suggestions) > 0 {
			t.Errorf("%s: %s", sql, short(a))
		}
		wantNote(t, a, note)
	}
}

func TestJoinColumnsInBothRoles(t *testing.T) {
	m := newMemory(t)
	m.add("CREATE TABLE orders (id INT PRIMARY KEY, cust INT NOT NULL, status INT NOT NULL, pad VARCHAR(200))", 30000, func(i int) []any {
		return []any{i, i * 7919 % 3000, i * 31 % 10, "x"}
	})
	m.add("CREATE TABLE customers (id INT PRIMARY KEY, city INT NOT NULL, name VARCHAR(100))", 3000, func(i int) []any { return []any{i, i % 300, "x"} })
	a := m.advise("SELECT o.* FROM customers c JOIN orders o ON o.cust=c.id WHERE c.city=17")
	got := strings.Fields(strings.ReplaceAll(short(a), ", ", ","))
	slices.Sort(got)
	if d := cmp.Diff([]string{"customers(city)", "orders(cust)"}, got); d != "" {
		t.Errorf("%s\n%s", d, strings.Join(a.Notes, "\n"))
	}
}
