package indexadvisor

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// shop has orders of customers.
func shop(t *testing.T) *memory {
	m := newMemory(t)
	m.add("CREATE TABLE orders (id INT PRIMARY KEY, cust INT NOT NULL, st VARCHAR(20) NOT NULL, at DATETIME NOT NULL, note VARCHAR(50), amount INT, pad VARCHAR(200))", 20000, func(i int) []any {
		return []any{i, i * 7919 % 2000, []string{"paid", "open"}[i%20/19], fmt.Sprintf("2024-%02d-%02d 00:00:00", i%12+1, i/12%28+1), fmt.Sprint("n", i%300), i % 997, "x"}
	})
	m.add("CREATE TABLE customers (id INT PRIMARY KEY, city VARCHAR(50), name VARCHAR(50))", 4000, func(i int) []any {
		return []any{i, fmt.Sprint("c", i%400), fmt.Sprint("n", i)}
	})
	m.Tables = append(m.Tables,
		&Table{Schema: "s", Name: "v", View: "select id, cust, st from s.orders where amount > 3", Columns: []Column{{Name: "id"}, {Name: "cust"}, {Name: "st"}}},
		&Table{Schema: "s", Name: "w", View: "select cust AS c, count(0) AS n from s.v group by cust", Columns: []Column{{Name: "c"}, {Name: "n"}}})
	return m
}

// Statements of every shape: the condition goes to the base table that it
// belongs to, and where nothing is suggested the notes say why.
func TestStatementsOfEveryShape(t *testing.T) {
	m := shop(t)
	many := make([]string, 3000)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for _, c := range []struct{ sql, want, note string }{
		{"SELECT 1", "", "reads no table"},
		{"VALUES ROW(1, 2)", "", "reads no table"},
		{"SELECT * FROM orders WHERE gone = 1", "", "no table of the statement has a column gone"},
		{"SELECT * FROM orders o WHERE EXISTS (SELECT 1 FROM customers c WHERE c.id = o.gone)", "", "no table of the statement has a column gone"},
		{"SELECT * FROM orders WHERE cust = (SELECT id FROM customers WHERE name = 'n7')", "orders(cust) customers(name)", ""},
		{"SELECT * FROM orders WHERE cust = 7 AND at > (SELECT MAX(at) FROM orders WHERE id < 100)", "orders(cust, at)", "PRIMARY serves it already"},
		{"SELECT * FROM orders o WHERE note = 'n7' AND amount > (SELECT AVG(amount) FROM orders i WHERE i.cust = o.cust)", "orders(cust, amount) orders(note)", ""},
		{"SELECT * FROM (SELECT id, note FROM orders UNION ALL SELECT id, name FROM customers) u WHERE u.note = 'n7'", "orders(note) customers(name)", ""},
		{"SELECT * FROM (SELECT note, COUNT(*) n FROM orders GROUP BY note UNION SELECT name, 1 FROM customers) u WHERE n = 7 AND u.note = 'n7'", "orders(note) customers(name)", ""},
		{"SELECT * FROM (SELECT id, note FROM orders UNION ALL SELECT id, name FROM customers LIMIT 5) u WHERE u.note = 'n7'", "", "no condition is there"},
		{"SELECT * FROM (SELECT o.*, ROW_NUMBER() OVER (PARTITION BY cust ORDER BY at) rn FROM orders o) x WHERE rn = 1 AND cust = 7", "orders(cust)", ""},
		{"SELECT * FROM (SELECT o.*, ROW_NUMBER() OVER (PARTITION BY st) rn, RANK() OVER (PARTITION BY cust, st) k FROM orders o) x WHERE cust = 7", "", "no condition is there"},
		{"SELECT * FROM v WHERE cust = 7 AND st = 'open'", "orders(cust, st)", ""},
		{"SELECT * FROM w WHERE c = 7", "orders(cust, amount)", ""},
		{"WITH a AS (SELECT * FROM orders WHERE cust = 7), b AS (SELECT * FROM a WHERE note = 'n7') SELECT * FROM b", "orders(cust, note)", ""},
		{"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r JOIN orders o ON o.cust = r.n", "orders(cust)", "the recursive table r is not looked into"},
		{"SELECT * FROM orders WHERE cust IN (" + strings.Join(many[:1500], ",") + ") AND note = 'n7'", "orders(note)", ""},
		{"SELECT * FROM orders WHERE (cust = 7 AND note = 'n7') OR (cust = 8 AND amount = 3) OR cust = 9", "orders(cust)", ""},
		{"SELECT * FROM orders o JOIN customers c ON c.id = o.cust WHERE (o.note = 'n5' AND c.name = 'n5') OR (o.note = 'n6' AND c.name = 'n6')", "customers(name) orders(cust, note)", ""},
		{"SELECT * FROM orders WHERE cust = 7 INTO @a, @b", "orders(cust)", ""},
		{"SELECT * FROM orders WHERE cust = 7 FOR UPDATE SKIP LOCKED", "orders(cust)", ""},
		{"DELETE FROM orders WHERE cust = 7 RETURNING id", "orders(cust)", "what an index costs it is not counted"},
		{"UPDATE orders SET st = 'x' WHERE cust = 7 ORDER BY id LIMIT 3", "orders(cust)", ""},
		{"UPDATE orders o JOIN customers c ON c.id = o.cust SET o.st = 'x' WHERE c.name = 'n7'", "customers(name) orders(cust)", ""},
		{"INSERT INTO customers SELECT id, note, pad FROM orders WHERE cust = 7", "orders(cust)", ""},
		{"INSERT INTO customers VALUES (1, 'a', 'b') ON DUPLICATE KEY UPDATE name = 'x'", "", "reads no table"},
		{"CREATE TABLE x AS SELECT * FROM orders WHERE cust = 7", "orders(cust)", ""},
		{"EXPLAIN SELECT * FROM orders WHERE cust = 7", "orders(cust)", ""},
		{"TABLE orders", "", "no condition is there"},
		{"SELECT * FROM orders PARTITION (p0) WHERE cust = 7", "orders(cust)", ""},
	} {
		a := m.advise(c.sql)
		got := strings.Split(strings.ReplaceAll(short(a), ") ", ")\n"), "\n")
		want := strings.Split(strings.ReplaceAll(c.want, ") ", ")\n"), "\n")
		if d := diffSets(got, want); len(d) > 0 {
			t.Errorf("%.150s\n got %s\nwant %s\n%s", c.sql, short(a), c.want, strings.Join(a.Notes, "\n"))
		}
		if c.note != "" {
			wantNote(t, a, c.note)
		}
		if c.want == "" && len(a.Notes) == 0 {
			t.Errorf("%.150s: nothing is suggested, and no word why", c.sql)
		}
	}
}

// What holds nothing to advise on is refused with a reason, and without the
// statement's values.
func TestStatementsThatAreRefused(t *testing.T) {
	m := shop(t)
	for sql, want := range map[string]string{
		"":           "no statement",
		"-- nothing": "no statement",
		"SELECT * FROM orders WHERE note = 'secret'; SELECT 2": "more than one statement",
		"SELECT * FROM orders WHERE note = 'secret' AND":       "does not know this syntax",
		"SET @a = 'secret'":       "it reads no table by an index",
		"CALL p('secret')":        "it reads no table by an index",
		"SHOW TABLES":             "it reads no table by an index",
		"CREATE TABLE x (id INT)": "it reads no table by an index",
		"SELECT * FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'secret'": "the server's own",
		"SELECT * FROM gone WHERE a = 'secret'":                                 "no such table",
	} {
		_, err := New(&m.Rows, Options{}).Advise(context.Background(), Query{Schema: "s", SQL: sql})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want an error with %q", sql, err, want)
		}
	}
}
