package indexadvisor

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// Statements that repeat or nest one thing without end are advised on, or refused,
// within a bound on the memory.
func TestHostileStatementsTakeBoundedMemory(t *testing.T) {
	repeat := strings.Repeat
	m := newMemory(t)
	m.add("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, KEY ka (a))", 1200, func(i int) []any { return []any{i, i % 7, i % 3} })
	for name, statement := range map[string]func(n int) string{
		"OR":         func(n int) string { return "SELECT 1 FROM t WHERE a = 1" + repeat(" OR b = 2", n) },
		"AND":        func(n int) string { return "SELECT 1 FROM t WHERE a = 1" + repeat(" AND b = 2", n) },
		"AND of ORs": func(n int) string { return "SELECT 1 FROM t WHERE a = 1" + repeat(" AND (a = 1 OR b = 2)", n) },
		"OR of ANDs": func(n int) string {
			return "SELECT 1 FROM t WHERE " + repeat("(a = 1 AND b = 2 OR ", n) + "a" + repeat(")", n)
		},
		"NOT":         func(n int) string { return "SELECT 1 FROM t WHERE " + repeat("NOT ", n) + "a" },
		"parentheses": func(n int) string { return "SELECT 1 FROM t WHERE " + repeat("(", n) + "a = 1" + repeat(")", n) },
		"calls":       func(n int) string { return "SELECT 1 FROM t WHERE a = " + repeat("f(", n) + "1" + repeat(")", n) },
		"IN": func(n int) string {
			return repeat("SELECT a FROM t WHERE a IN (", n) + "SELECT a FROM t" + repeat(")", n)
		},
		"EXISTS": func(n int) string {
			return repeat("SELECT a FROM t WHERE EXISTS (", n) + "SELECT a FROM t" + repeat(")", n)
		},
		"a list": func(n int) string { return "SELECT a FROM t WHERE a IN (1" + repeat(", 2", n) + ")" },
		"joins":  func(n int) string { return "SELECT 1 FROM t" + repeat(", t", n) },
		"derived": func(n int) string {
			return repeat("SELECT a FROM (", n) + "SELECT a FROM t" + repeat(") t WHERE a = 1", n)
		},
		"WITH": func(n int) string {
			return repeat("WITH a AS (", n) + "SELECT 1 FROM t" + repeat(") SELECT 1 FROM a", n)
		},
		"UNION": func(n int) string {
			return "SELECT 1 FROM t WHERE a = 1" + repeat(" UNION SELECT 1 FROM t WHERE a = 2", n)
		},
		"CASE": func(n int) string {
			return "SELECT 1 FROM t WHERE " + repeat("CASE WHEN a = 1 THEN b = 2 ELSE ", n) + "a" + repeat(" END", n)
		},
		"rows": func(n int) string { return "INSERT INTO t (a) VALUES (1)" + repeat(", (2)", n) },
	} {
		for _, n := range []int{1000, 20_000, 1_000_000} {
			sql := statement(n)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := New(&m.Rows, Options{}).Advise(context.Background(), Query{Schema: "s", SQL: sql})
			runtime.ReadMemStats(&after)
			if err != nil && !errors.Is(err, ErrSyntax) && !errors.Is(err, ErrNotCounted) {
				t.Errorf("%s, %d times: error %v, want none, ErrSyntax or ErrNotCounted", name, n, err)
			}
			if n == 1_000_000 && err == nil {
				t.Errorf("%s, %d times: no error of %d bytes", name, n, len(sql))
			}
			if got, want := after.TotalAlloc-before.TotalAlloc, uint64(400<<20); got > want {
				t.Errorf("%s, %d times: %d allocated, want %d at most", name, n, got, want)
			}
		}
	}
}

// Few lines of WITH unfold to any number of tables, and conditions on a UNION to one
// for each part: what is looked into is bounded, and the notes say that it is not all.
func TestUnfoldedStatementsAreBounded(t *testing.T) {
	m := newMemory(t)
	m.add("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, KEY ka (a))", 1200, func(i int) []any { return []any{i, i % 7, i % 3} })
	doubled := func(format string) string {
		s := "WITH c0 AS (SELECT a, b FROM t)"
		for i := range 12 {
			s += ", " + strings.ReplaceAll(strings.ReplaceAll(format, "new", fmt.Sprint("c", i+1)), "old", fmt.Sprint("c", i))
		}
		return s + " SELECT * FROM c12 WHERE a = 1"
	}
	union := "SELECT a, b FROM t"
	for range 200 {
		union += " UNION ALL SELECT b, a FROM t"
	}
	for name, c := range map[string]struct{ sql, note string }{
		"joins":                 {doubled("new AS (SELECT x.a FROM old x, old y)"), "more than 1000 tables"},
		"unions":                {doubled("new AS (SELECT a FROM old UNION SELECT a FROM old)"), "more than 1000 tables"},
		"subqueries":            {doubled("new AS (SELECT (SELECT MAX(a) FROM old) a, (SELECT MIN(a) FROM old) b)"), "more than 1000 tables"},
		"conditions":            {"SELECT * FROM t WHERE a = 1" + strings.Repeat(" AND b <> a", 5000), "more than 3000 conditions"},
		"conditions on a union": {"SELECT * FROM (" + union + ") d WHERE a = 1" + strings.Repeat(" AND b = 2", 20), "more than 3000 conditions"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a, err := New(&m.Rows, Options{}).Advise(context.Background(), Query{Schema: "s", SQL: c.sql})
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		wantNote(t, a, c.note)
		if got, want := after.TotalAlloc-before.TotalAlloc, uint64(400<<20); got > want {
			t.Errorf("%s: %d allocated, want %d at most", name, got, want)
		}
	}
}
