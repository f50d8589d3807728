// Package advisorbench measures how near the optimum the advice of package
// indexadvisor is: it makes tables and queries, builds every index of up to
// three columns that a query could use, and compares the best of them, the
// advised one and none by what the server does.
package advisorbench

import (
	"fmt"
	"strings"
)

// column is a column of a bench table.
type column struct {
	name string
	typ  string
	expr string // its value, from the row number i and pseudo-random numbers
	text bool
	null bool
}

func (c column) time() bool { return strings.HasPrefix(c.typ, "DATETIME") }

// table is a table of the bench.
type table struct {
	name    string
	rows    int
	columns []column
}

// bigger is how many times as many rows the big table has.
const bigger = 50

// tables are the tables of the bench: uniform, skewed, correlated and
// NULL-heavy columns, wide strings, and a big one. All have a column f to join
// on, and a pad that makes a row wide.
func tables(rows int, seed uint64) []table {
	// h is the k-th pseudo-random number of row i, in [0, 2^28).
	h := func(k int) string {
		return fmt.Sprintf("CAST(CONV(LEFT(SHA2(CONCAT_WS(':', %d, %d, i), 224), 7), 16, 10) AS UNSIGNED)", seed, k)
	}
	mod := func(k, n int) string { return fmt.Sprintf("%s %% %d", h(k), n) }
	// zipf has few common values and many rare ones: value v with a share of
	// about 1/v.
	zipf := func(k, n int) string { return fmt.Sprintf("FLOOR(POW(%d, (%s) / 100000))", n, mod(k, 100_000)) }
	minute := func(expr string) string { return "'2020-01-01' + INTERVAL (" + expr + ") MINUTE" }
	nulls := func(k, n int, expr string) string { return fmt.Sprintf("IF(%s < %d, NULL, %s)", mod(k, 100), n, expr) }
	number := func(name, expr string) column { return column{name, "INT NOT NULL", expr, false, false} }
	date := func(expr string) column { return column{"d", "DATETIME NOT NULL", minute(expr), false, false} }
	pad := column{"pad", "VARCHAR(120) NOT NULL", "REPEAT('x', 100)", true, false}
	return []table{
		{"uniform", rows, []column{
			number("a", mod(1, 1000)), number("b", mod(2, 100)), number("c", mod(3, 10)), date(mod(4, 1_000_000)),
			number("e", mod(5, 2)), number("f", mod(6, 30_000)), pad,
		}},
		{"skewed", rows, []column{
			number("a", zipf(1, 5000)), number("b", zipf(2, 300)), number("c", zipf(3, 20)), date("POW(" + mod(4, 1000) + ", 2)"),
			number("e", mod(5, 50)+" = 0"), number("f", zipf(6, 50_000)), pad,
		}},
		{"related", rows, []column{ // b follows from a, c from b, d grows with the key, e says that a row is old
			number("a", mod(1, 2000)), number("b", mod(1, 2000)+" % 100"), number("c", mod(1, 2000)+" % 10"), date("i"),
			number("e", fmt.Sprintf("i < %d", rows-rows/50)), number("f", mod(6, 500)), pad,
		}},
		{"nulls", rows, []column{
			{"a", "INT", nulls(7, 90, mod(1, 500)), false, true},
			{"b", "INT", nulls(8, 50, mod(2, 50)), false, true},
			{"c", "INT", nulls(9, 2, mod(3, 200)), false, true},
			{"d", "DATETIME", nulls(10, 80, minute(mod(4, 1_000_000))), false, true},
			number("e", mod(5, 4)), number("f", mod(6, 3000)), pad,
		}},
		{"strings", rows, []column{
			{"a", "VARCHAR(60) NOT NULL", "CONCAT('user', LPAD(" + mod(1, 8000) + ", 12, '0'), '@example.org')", true, false},
			{"b", "VARCHAR(255) NOT NULL", "CONCAT('https://www.example.org/', " + mod(2, 40) + ", '/', REPEAT('catalogue/', 7), " + mod(12, 50) + ")", true, false},
			{"c", "CHAR(2) NOT NULL", "ELT(1 + " + mod(3, 8) + ", 'se', 'de', 'at', 'fr', 'it', 'es', 'pl', 'no')", true, false},
			date(mod(4, 1_000_000)), number("e", mod(5, 3)), number("f", mod(6, 900)), pad,
		}},
		{"big", bigger * rows, []column{
			number("a", mod(1, 5000)), number("b", mod(2, 300)), number("c", mod(3, 20)), date("i"),
			number("e", mod(5, 2)), number("f", mod(6, 40_000)), pad,
		}},
	}
}
