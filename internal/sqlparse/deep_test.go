package sqlparse

import (
	"errors"
	"strings"
	"testing"
)

// Whatever a text nests, its tree can be walked by recursion.
func TestDeepStatementsAreRefused(t *testing.T) {
	repeat := strings.Repeat
	for name, statement := range map[string]func(n int) string{
		"OR":          func(n int) string { return "SELECT 1 FROM t WHERE a" + repeat(" OR a", n) },
		"NOT":         func(n int) string { return "SELECT 1 FROM t WHERE " + repeat("NOT ", n) + "a" },
		"signs":       func(n int) string { return "SELECT " + repeat("- ", n) + "a" },
		"parentheses": func(n int) string { return "SELECT " + repeat("(", n) + "1" + repeat(")", n) },
		"calls":       func(n int) string { return "SELECT " + repeat("f(", n) + "1" + repeat(")", n) },
		"subqueries":  func(n int) string { return repeat("SELECT (", n) + "SELECT 1" + repeat(")", n) },
		"CASE":        func(n int) string { return "SELECT " + repeat("CASE WHEN ", n) + "1" + repeat(" THEN 1 END", n) },
		"joins":       func(n int) string { return "SELECT 1 FROM t" + repeat(",t", n) },
		"derived":     func(n int) string { return repeat("SELECT 1 FROM (", n) + "SELECT 1" + repeat(") t", n) },
		"WITH":        func(n int) string { return repeat("WITH a AS (", n) + "SELECT 1" + repeat(") SELECT 1", n) },
	} {
		if _, err := Parse(statement(500), Options{}); err != nil {
			t.Errorf("%s, 500 deep: %v", name, err)
		}
		if _, err := Parse(statement(20_000), Options{}); !errors.Is(err, ErrTooDeep) {
			t.Errorf("%s, 20,000 deep: error %v, want ErrTooDeep", name, err)
		}
		if _, err := Parse(statement(2_000_000), Options{}); err != ErrTooLong {
			t.Errorf("%s, 2,000,000 deep: error %v, want ErrTooLong", name, err)
		}
	}
	if _, err := Parse("SELECT 1"+repeat(" UNION SELECT 1", 20_000), Options{}); err != nil {
		t.Errorf("a long UNION is flat, but: %v", err)
	}
}
