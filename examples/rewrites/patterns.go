package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// pattern is a question that can be asked in several ways.
type pattern struct {
	name  string
	equal string // the conditions under which the forms give the same rows
	forms []form // the first is the one most people write
}

// form is one way to ask.
type form struct {
	name   string
	sql    string
	random bool   // gives other rows each time
	not    string // the server that does not know the syntax: "MySQL" or "MariaDB"
}

// The schema: customers, of whom some have no order; orders, of which each has a
// place in time of its own; items of five products.
var schema = []string{
	"CREATE TABLE digits (d INT PRIMARY KEY)",
	"INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)",
	"CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL, country CHAR(2) NOT NULL)",
	`INSERT INTO customers SELECT 1 + 3 * n, CONCAT('customer ', n), ELT(1 + n % 4, 'DE', 'FR', 'JP', 'US')
		FROM (SELECT a.d + 10 * b.d + 100 * c.d AS n FROM digits a, digits b, digits c WHERE c.d < 6) numbers`,
	`CREATE TABLE orders (id INT PRIMARY KEY, customer_id INT NOT NULL, referrer_id INT NULL, status VARCHAR(10) NOT NULL,
		created DATETIME NOT NULL, total DECIMAL(10,2) NOT NULL, KEY customer_created (customer_id, created), KEY referrer (referrer_id), KEY status_created (status, created))`,
	`INSERT INTO orders SELECT n, 1 + 3 * (n * 7 % 540), IF(n % 10 = 0, NULL, 1 + 3 * (n * 11 % 450)), ELT(1 + n % 4, 'new', 'paid', 'shipped', 'returned'),
			'2026-01-01' + INTERVAL n * 13 MINUTE, n % 97 + 0.5
		FROM (SELECT 1 + a.d + 10 * b.d + 100 * c.d + 1000 * e.d AS n FROM digits a, digits b, digits c, digits e WHERE e.d < 6) numbers`,
	"CREATE TABLE items (order_id INT, product_id INT, qty INT NOT NULL, PRIMARY KEY (order_id, product_id), KEY product (product_id, order_id))",
	`INSERT INTO items SELECT o.id, p.d, 1 + o.id % 3 FROM orders o JOIN digits p ON p.d BETWEEN 1 AND 5 AND (o.id * p.d + o.id / 7) % 3 < 1`,
	"CREATE TABLE wanted (product_id INT PRIMARY KEY)",
	"INSERT INTO wanted VALUES (1), (2), (4)",
	"ANALYZE TABLE customers, orders, items, wanted",
}

var patterns = []pattern{
	{
		name:  "exclusion join: customers without orders",
		equal: "orders.customer_id is NOT NULL; with a NULL in it NOT IN gives no row at all, see below",
		forms: []form{
			{name: "NOT IN", sql: "SELECT c.id, c.name FROM customers c WHERE c.id NOT IN (SELECT o.customer_id FROM orders o)"},
			{name: "NOT EXISTS", sql: "SELECT c.id, c.name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id)"},
			{name: "LEFT JOIN … IS NULL", sql: "SELECT c.id, c.name FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.customer_id IS NULL"},
			{name: "COUNT = 0", sql: "SELECT c.id, c.name FROM customers c WHERE (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id) = 0"},
		},
	},
	{
		name:  "exclusion join over a column with NULL: customers who referred nobody",
		equal: "NOT IN has to leave the NULLs out itself; NOT EXISTS and the join do so anyway",
		forms: []form{
			{name: "NOT IN, without NULL", sql: "SELECT c.id, c.name FROM customers c WHERE c.id NOT IN (SELECT o.referrer_id FROM orders o WHERE o.referrer_id IS NOT NULL)"},
			{name: "NOT EXISTS", sql: "SELECT c.id, c.name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.referrer_id = c.id)"},
			{name: "LEFT JOIN … IS NULL", sql: "SELECT c.id, c.name FROM customers c LEFT JOIN orders o ON o.referrer_id = c.id WHERE o.id IS NULL"},
		},
	},
	{
		name:  "random selection: one customer",
		equal: "never the same rows; ORDER BY RAND() is fair, a random key favours those behind gaps in the keys",
		forms: []form{
			{name: "ORDER BY RAND()", random: true, sql: "SELECT c.id, c.name FROM customers c ORDER BY RAND() LIMIT 1"},
			{name: "random key, once", random: true, sql: "SELECT c.id, c.name FROM (SELECT RAND() * (SELECT MAX(id) FROM customers) AS k) r JOIN customers c ON c.id >= r.k ORDER BY c.id LIMIT 1"},
			{name: "random key, for each row", random: true, sql: "SELECT c.id, c.name FROM customers c WHERE c.id >= RAND() * (SELECT MAX(id) FROM customers) ORDER BY c.id LIMIT 1"},
		},
	},
	{
		name:  "greatest per group: the latest order of each customer",
		equal: "no two orders of a customer have the same time; where some do, only ROW_NUMBER gives one of them",
		forms: []form{
			{name: "correlated MAX", sql: "SELECT o.customer_id, o.id, o.total FROM orders o WHERE o.created = (SELECT MAX(p.created) FROM orders p WHERE p.customer_id = o.customer_id)"},
			{name: "join with MAX per group", sql: "SELECT o.customer_id, o.id, o.total FROM orders o JOIN (SELECT customer_id, MAX(created) AS created FROM orders GROUP BY customer_id) m ON m.customer_id = o.customer_id AND m.created = o.created"},
			{name: "no later one: NOT EXISTS", sql: "SELECT o.customer_id, o.id, o.total FROM orders o WHERE NOT EXISTS (SELECT 1 FROM orders p WHERE p.customer_id = o.customer_id AND p.created > o.created)"},
			{name: "no later one: LEFT JOIN", sql: "SELECT o.customer_id, o.id, o.total FROM orders o LEFT JOIN orders p ON p.customer_id = o.customer_id AND p.created > o.created WHERE p.id IS NULL"},
			{name: "ROW_NUMBER", sql: "SELECT d.customer_id, d.id, d.total FROM (SELECT o.customer_id, o.id, o.total, ROW_NUMBER() OVER (PARTITION BY o.customer_id ORDER BY o.created DESC) AS n FROM orders o) d WHERE d.n = 1"},
			{name: "LATERAL", not: "MariaDB", sql: "SELECT l.customer_id, l.id, l.total FROM customers c JOIN LATERAL (SELECT o.customer_id, o.id, o.total FROM orders o WHERE o.customer_id = c.id ORDER BY o.created DESC LIMIT 1) l"},
		},
	},
	{
		name:  "dynamic pivot: totals by day and status (the statuses as pivot makes them)",
		equal: "always; a status that is new since the text was made is missing in all of them",
		forms: []form{
			{name: "SUM of CASE", sql: "SELECT DATE(created) AS day, " + cells("SUM(CASE WHEN status = '%[1]s' THEN total ELSE 0 END) AS `%[1]s`") + " FROM orders GROUP BY DATE(created)"},
			{name: "a subquery for each cell", sql: "SELECT d.day, " + cells("COALESCE((SELECT SUM(o.total) FROM orders o WHERE o.created >= d.day AND o.created < d.day + INTERVAL 1 DAY AND o.status = '%[1]s'), 0) AS `%[1]s`") +
				" FROM (SELECT DISTINCT DATE(created) AS day FROM orders) d"},
			{name: "a join for each column", sql: "SELECT d.day, " + cells("COALESCE(`%[1]s`.s, 0) AS `%[1]s`") + " FROM (SELECT DISTINCT DATE(created) AS day FROM orders) d" +
				strings.ReplaceAll(cells(" LEFT JOIN (SELECT DATE(created) AS day, SUM(total) AS s FROM orders WHERE status = '%[1]s' GROUP BY DATE(created)) `%[1]s` ON `%[1]s`.day = d.day"), ",  LEFT", " LEFT")},
		},
	},
	{
		name:  "relational division: orders with all wanted products",
		equal: "items are unique by order and product (else COUNT(DISTINCT)), and something is wanted: of nothing, double NOT EXISTS gives every order, the others none",
		forms: []form{
			{name: "double NOT EXISTS", sql: "SELECT o.id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM wanted w WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.order_id = o.id AND i.product_id = w.product_id))"},
			{name: "COUNT of matches", sql: "SELECT i.order_id FROM items i JOIN wanted w ON w.product_id = i.product_id GROUP BY i.order_id HAVING COUNT(*) = (SELECT COUNT(*) FROM wanted)"},
			{name: "a join for each product", sql: "SELECT a.order_id FROM items a JOIN items b ON b.order_id = a.order_id AND b.product_id = 2 JOIN items c ON c.order_id = a.order_id AND c.product_id = 4 WHERE a.product_id = 1"},
		},
	},
}

// cells writes the expression for each status, separated by commas.
func cells(expression string) string {
	var out []string
	for _, s := range []string{"new", "paid", "returned", "shipped"} {
		out = append(out, fmt.Sprintf(expression, s))
	}
	return strings.Join(out, ", ")
}

// pivot makes the pivot's text from the values that are there, as a program does
// whose columns are not known beforehand. Values become text here, so they are
// quoted; names too.
func pivot(ctx context.Context, db *sql.DB) (string, error) {
	rows, err := db.QueryContext(ctx, "SELECT DISTINCT status FROM orders ORDER BY status")
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var columns []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return "", err
		}
		value := "'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(s) + "'"
		name := "`" + strings.ReplaceAll(s, "`", "``") + "`"
		columns = append(columns, "SUM(CASE WHEN status = "+value+" THEN total ELSE 0 END) AS "+name)
	}
	if len(columns) == 0 {
		return "", sql.ErrNoRows
	}
	return "SELECT DATE(created) AS day, " + strings.Join(columns, ", ") + " FROM orders GROUP BY DATE(created)", rows.Err()
}

// load creates the schema's tables in the default schema of the connection.
func load(ctx context.Context, conn *sql.Conn) error {
	for _, stmt := range schema {
		if _, err := conn.ExecContext(ctx, stmt); err != nil {
			return fmt.Errorf("loading the tables: %w", err)
		}
	}
	return nil
}
