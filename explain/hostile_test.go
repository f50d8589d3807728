package explain

import (
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// allocated returns how many bytes f allocates.
func allocated(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// Statements that repeat or nest one thing without end, each a form for n.
var hostileStatements = map[string]func(n int) string{
	"OR":               func(n int) string { return "UPDATE t SET a = 1 WHERE a = 1" + strings.Repeat(" OR a = 2", n) },
	"NOT":              func(n int) string { return "DELETE FROM t WHERE " + strings.Repeat("NOT ", n) + "a" },
	"signs":            func(n int) string { return "SELECT " + strings.Repeat("- ", n) + "a FROM t" },
	"parentheses":      func(n int) string { return "SELECT " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n) },
	"open parentheses": func(n int) string { return "SELECT " + strings.Repeat("(", n) },
	"subqueries":       func(n int) string { return strings.Repeat("SELECT (", n) + "SELECT 1" + strings.Repeat(")", n) },
	"comments":         func(n int) string { return "SELECT 1" + strings.Repeat("/* x */", n) },
	"executable comments": func(n int) string {
		return "SELECT " + strings.Repeat("/*!50000 ", n) + "1" + strings.Repeat(" */", n)
	},
	"tables":           func(n int) string { return "UPDATE t" + strings.Repeat(",t", n) + " SET a = 1" },
	"assignments":      func(n int) string { return "UPDATE t SET a = 1" + strings.Repeat(", b = (SELECT 1)", n/4) },
	"locking clauses":  func(n int) string { return "SELECT 1 FROM t " + strings.Repeat("FOR UPDATE ", n) },
	"nested FOR SHARE": func(n int) string { return "SELECT (SELECT 1 FROM t " + strings.Repeat("FOR SHARE ", n) + ")" },
	"INTO":             func(n int) string { return "SELECT 1 FROM t " + strings.Repeat("INTO OUTFILE x ", n) },
	"calls":            func(n int) string { return "SELECT CONVERT(1, " + strings.Repeat("char(1), ", n) + "1)" },
	"blocks behind a long WITH": func(n int) string {
		return "WITH a AS (SELECT 1)" + strings.Repeat(", b AS (SELECT 1)", n/4) + " SELECT 1" + strings.Repeat(", (SELECT MAX(a) FROM a)", n/4)
	},
	"different blocks": func(n int) string {
		var b strings.Builder
		b.WriteString("WITH a AS (SELECT 1) SELECT 1")
		for i := range n / 10 {
			b.WriteString(", (SELECT MAX(a) FROM a" + strings.Repeat("x", i%97) + ")")
		}
		return b.String()
	},
	"EXPLAIN": func(n int) string { return strings.Repeat("EXPLAIN ", n) + "SELECT 1" },
	"hints":   func(n int) string { return "SELECT /*+ " + strings.Repeat("SET_VAR(a=1) ", n) + "*/ 1" },
}

// To rewrite a statement takes memory in proportion to its length, and one beyond a
// limit is refused at once.
func TestHostileStatementsTakeBoundedMemory(t *testing.T) {
	const perByte = 2000 // tokens, and the trees of the statement and of its SELECT
	for name, statement := range hostileStatements {
		for _, n := range []int{1000, 10_000} {
			sql := statement(n)
			var err error
			got := allocated(func() { _, err = Rewrite(sql, RewriteOptions{}) })
			var refused *RewriteError
			if err != nil && !errors.As(err, &refused) {
				t.Errorf("%s: %T: %v", name, err, err)
			}
			if want := perByte*len(sql) + 1<<20; got > want {
				t.Errorf("%s of %d bytes: %d allocated, want %d at most", name, len(sql), got, want)
			}
		}
		long := statement(5_000_000)
		if got := allocated(func() {
			var refused *RewriteError
			if _, err := Rewrite(long, RewriteOptions{}); !errors.As(err, &refused) || refused.Code != Unreadable {
				t.Errorf("%s of %d bytes: error %v, want one that says it is unreadable", name, len(long), err)
			}
		}); got > 1<<20 {
			t.Errorf("%s of %d bytes: %d allocated to refuse it", name, len(long), got)
		}
	}
}

// A plan comes from a file, or a server that is not ours.
func TestHostilePlansTakeBoundedMemory(t *testing.T) {
	const perByte = 600 // under the race detector, whose pools forget
	n := 200_000
	if os.Getenv("QUERN_LONG") == "1" {
		n *= 5
	}
	repeat := strings.Repeat
	for name, plan := range map[string]string{
		"objects":        repeat(`{"query_block":`, n) + "1" + repeat("}", n),
		"lists":          `{"query_block": {"nested_loop": ` + repeat("[", n) + repeat("]", n) + "}}",
		"open lists":     `{"query_block": ` + repeat("[", n),
		"blocks":         repeat(`{"query_block":{"nested_loop":[{"table":{"materialized_from_subquery":`, n/100) + "1" + repeat("}}]}}", n/100),
		"many members":   `{"query_block": {` + repeat(`"a":1,`, n) + `"b":1}}`,
		"many tables":    `{"query_block": {"nested_loop": [` + repeat(`{"table":{"table_name":"t"}},`, n/100) + `{"table":{"table_name":"t"}}]}}`,
		"a long string":  `{"query_block": {"select_id": "` + repeat("x", 5*n),
		"tree":           repeat("-> Filter: x\n", n/10),
		"deeper tree":    deeper("-> Filter: x", 2000),
		"rows":           "id\tselect_type\ttable" + repeat("\n1\tSIMPLE\tt", n/100),
		"nested derived": derivedRows(2000),
		"columns":        "id\tselect_type\ttable" + repeat("\tx", n) + "\n1\tSIMPLE\tt",
		"borders":        "+" + repeat("-+", n) + "\n|" + repeat("|", n),
		"vertical":       repeat("*************************** 1. row ***************************\n  id: 1\n", n/100),
		"NULs":           repeat("\x00", n),
		"UTF-16":         "\xff\xfe" + repeat("{\x00", n),
		"TiDB":           "id\testRows\ttask\taccess object\toperator info\n" + repeat("└─", n/100) + "TableFullScan_2\t7\tcop\ttable:t\tx",
	} {
		var err error
		got := allocated(func() {
			var p *Plan
			if p, err = Parse(plan); err == nil {
				_, _ = p.String(), p.Problems()
				if _, err := json.Marshal(p); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
		var refused *ParseError
		if err != nil && !errors.As(err, &refused) {
			t.Errorf("%s: %T: %v", name, err, err)
		}
		if want := perByte*len(plan) + 1<<20; got > want {
			t.Errorf("%s of %d bytes: %d allocated, %.0f a byte, want %d at most", name, len(plan), got, float64(got)/float64(len(plan)), want)
		}
	}
}

// deeper returns n lines, each indented more than the one before.
func deeper(line string, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat("    ", i) + line + "\n")
	}
	return b.String()
}

// derivedRows returns rows of which each is the derived table of the one before.
func derivedRows(n int) string {
	var b strings.Builder
	b.WriteString("id\tselect_type\ttable")
	for i := 1; i <= n; i++ {
		b.WriteString("\n" + strings.Join([]string{strconv.Itoa(i), "DERIVED", "<derived" + strconv.Itoa(i+1) + ">"}, "\t"))
	}
	return b.String()
}
