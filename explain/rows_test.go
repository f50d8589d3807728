package explain

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quern-dev/quern/internal/testservers"
)

// The tables of this test are small, since they are read whole before and after
// each statement. Their keys are their first columns.
var smallTables = []string{
	"DROP TABLE IF EXISTS m_orders, m_customers, m_items, m_events, m_copy",
	`CREATE TABLE m_orders (id INT PRIMARY KEY, customer_id INT NOT NULL, status VARCHAR(10) NOT NULL, total DECIMAL(10,2) NOT NULL, ordered_at DATETIME NOT NULL, note VARCHAR(40) NULL, KEY customer (customer_id), KEY status_total (status, total))`,
	"INSERT INTO m_orders SELECT id, 1 + customer_id % 90, status, total, ordered_at, note FROM orders WHERE id <= 400",
	`CREATE TABLE m_customers (id INT PRIMARY KEY, name VARCHAR(80) NOT NULL, country CHAR(2) NOT NULL, score INT NULL, KEY country (country))`,
	"INSERT INTO m_customers SELECT id, name, country, IF(id % 3, id % 11, NULL) FROM customers WHERE id <= 90",
	`CREATE TABLE m_items (order_id INT, line_no INT, qty INT NOT NULL, price DECIMAL(10,2) NOT NULL, PRIMARY KEY (order_id, line_no))`,
	"INSERT INTO m_items SELECT order_id, line_no, qty, price FROM order_items WHERE order_id <= 250",
	`CREATE TABLE m_events (id INT, at DATETIME, kind VARCHAR(20) NOT NULL, PRIMARY KEY (id, at), KEY kind (kind)) PARTITION BY RANGE COLUMNS (at) (PARTITION p1 VALUES LESS THAN ('2023-06-15'), PARTITION p2 VALUES LESS THAN (MAXVALUE))`,
	"INSERT INTO m_events SELECT id, at, kind FROM events WHERE id <= 300",
	`CREATE TABLE m_copy (id INT PRIMARY KEY, customer_id INT NULL, total DECIMAL(10,2) NULL)`,
	"ANALYZE TABLE m_orders, m_customers, m_items, m_events",
}

// conditions on m_orders, for every form of a one-table UPDATE and DELETE.
var conditions = []string{
	"id = 5",
	"id IN (1, 2, 3, 399, 4000)",
	"customer_id = 7",
	"status = 'shipped' AND total > 50",
	"note IS NOT NULL",
	"total BETWEEN 20 AND 40 OR customer_id < 4",
	"customer_id IN (SELECT id FROM m_customers WHERE country = 'DE')",
	"customer_id NOT IN (SELECT id FROM m_customers WHERE score > 5)",
	"EXISTS (SELECT 1 FROM m_items i WHERE i.order_id = id AND i.qty > 3)",
	"total > (SELECT AVG(price) FROM m_items)",
	"YEAR(ordered_at) = 2023 AND id % 7 = 3",
	"(customer_id, status) IN ((1, 'paid'), (2, 'shipped'), (3, 'new'))",
	"CASE WHEN total > 100 THEN customer_id < 10 ELSE status LIKE 'p%' END",
	"customer_id IN (SELECT c FROM (SELECT customer_id c, COUNT(*) n FROM orders WHERE id < 90 GROUP BY customer_id) d WHERE n > 0)",
	"status = 'set where x' OR status = \"pa\"'id' -- WHERE id = 1\n",
}

var oneTable = []string{
	"UPDATE m_orders SET note = '~' WHERE %s",
	"UPDATE LOW_PRIORITY IGNORE m_orders AS o SET o.note = '~', o.total = -1 WHERE %s",
	"UPDATE m_orders USE INDEX (customer) SET note = CONCAT('~', (SELECT MAX(name) FROM m_customers)) WHERE %s",
	"UPDATE m_orders SET note = '~' WHERE %s ORDER BY total DESC, id LIMIT 6",
	"DELETE FROM m_orders WHERE %s",
	"DELETE QUICK IGNORE FROM m_orders WHERE %s ORDER BY ordered_at, id LIMIT 4",
	"DELETE o FROM m_orders o WHERE %s",
	"DELETE FROM o USING m_orders AS o WHERE %s",
	"UPDATE m_orders o JOIN m_customers c ON c.id = o.customer_id SET o.note = CONCAT('~', c.name) WHERE o.status <> 'x' AND o.id > 0 AND (o.id) IN (SELECT id FROM (SELECT id FROM m_orders WHERE %s) q)",
}

// Statements with names of tables in them; copies are the rows that they insert.
var otherWrites = []string{
	"UPDATE m_orders SET note = '~'",
	"DELETE FROM m_items",
	"UPDATE m_events PARTITION (p2) SET kind = '~' WHERE kind = 'view'",
	"DELETE FROM m_events PARTITION (p1) WHERE kind = 'view' ORDER BY id LIMIT 7",
	"DELETE FROM m_items WHERE order_id = 3 AND qty > 1",
	"UPDATE m_customers SET name = '~' WHERE score IS NULL",
	"UPDATE m_customers SET name = '~' WHERE score <=> NULL AND country IN ('DE', 'FR')",
	"UPDATE m_orders o JOIN m_customers c ON c.id = o.customer_id SET o.note = '~' WHERE c.country = 'JP'",
	"UPDATE m_orders o, m_customers c SET o.note = '~', c.name = '~' WHERE c.id = o.customer_id AND c.country = 'JP'",
	"UPDATE m_orders o LEFT JOIN m_items i ON i.order_id = o.id SET o.note = '~' WHERE i.order_id IS NULL",
	"UPDATE m_customers c JOIN (SELECT customer_id, SUM(total) t FROM m_orders GROUP BY customer_id) s ON s.customer_id = c.id SET c.name = CONCAT('~', s.t) WHERE s.t > 100",
	"UPDATE m_orders o JOIN m_items i USING (id) SET o.note = '~' WHERE i.qty > 1",
	"UPDATE m_orders o STRAIGHT_JOIN m_customers c ON c.id = o.customer_id AND c.score > 3 SET o.total = o.total + 1000",
	"DELETE o, i FROM m_orders o JOIN m_items i ON i.order_id = o.id WHERE o.customer_id < 9",
	"DELETE o.*, i.* FROM m_orders o LEFT JOIN m_items i ON i.order_id = o.id WHERE o.customer_id < 9",
	"DELETE i FROM m_items i JOIN m_orders o ON o.id = i.order_id JOIN m_customers c ON c.id = o.customer_id WHERE c.country = 'SE'",
	"DELETE FROM m_items USING m_items JOIN m_orders ON m_orders.id = m_items.order_id WHERE m_orders.status = 'paid'",
	"DELETE o FROM m_orders o LEFT JOIN m_items i ON i.order_id = o.id WHERE i.order_id IS NULL",
	"DELETE c FROM m_customers c, (SELECT customer_id FROM m_orders GROUP BY customer_id HAVING COUNT(*) > 6) d WHERE d.customer_id = c.id",
	"DELETE a FROM m_customers a JOIN m_customers b ON a.country = b.country AND a.id > b.id",
	"INSERT INTO m_copy (id, customer_id, total) SELECT id, customer_id, total FROM m_orders WHERE status = 'paid'",
	"INSERT IGNORE INTO m_copy SELECT id, customer_id, total FROM m_orders WHERE id < 50 FOR UPDATE",
	"REPLACE INTO m_copy (id, total) SELECT o.id, SUM(i.qty * i.price) FROM m_orders o JOIN m_items i ON i.order_id = o.id GROUP BY o.id",
	"INSERT INTO m_copy (id) (SELECT id FROM m_customers WHERE country = 'DE') UNION (SELECT id FROM m_customers WHERE country = 'FR')",
	"INSERT INTO m_copy (id) SELECT id FROM m_customers WHERE country = 'DE' ON DUPLICATE KEY UPDATE total = 1",
	"INSERT INTO m_copy (id) WITH c AS (SELECT id FROM m_customers WHERE score > 4) SELECT id FROM c",
}

// Not written by MariaDB 10.11.
var mysqlWrites = []string{
	"WITH c AS (SELECT id FROM m_customers WHERE country = 'DE') UPDATE m_orders SET note = '~' WHERE customer_id IN (SELECT id FROM c)",
	"WITH c AS (SELECT id FROM m_customers WHERE country = 'DE') DELETE FROM m_orders WHERE customer_id IN (SELECT id FROM c)",
	"WITH c AS (SELECT id FROM m_customers WHERE country = 'DE') DELETE o FROM m_orders o JOIN c ON c.id = o.customer_id",
	"UPDATE /*+ NO_INDEX(o customer) */ m_orders o SET o.note = '~' WHERE customer_id = 7",
}

// Not written by MySQL.
var mariadbWrites = []string{
	"DELETE FROM m_orders WHERE customer_id = 7 RETURNING id, note",
	"UPDATE m_orders o JOIN m_customers c ON c.id = o.customer_id SET o.note = '~' WHERE c.country = 'JP' ORDER BY o.id LIMIT 5",
}

func TestTheSelectReadsTheRowsThatTheStatementWrites(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		db, schema := openShop(t, srv)
		mustExec(t, db, smallTables...)
		var statements []string
		for _, form := range oneTable {
			for _, c := range conditions {
				if strings.Contains(form, "o ") && strings.Contains(c, "i.order_id = id") {
					c = strings.ReplaceAll(c, "= id", "= o.id")
				}
				if strings.Contains(c, "--") && !strings.HasSuffix(form, "%s") || strings.Contains(form, ") q") && strings.Contains(c, "EXISTS") {
					continue
				}
				statements = append(statements, fmt.Sprintf(form, c))
			}
		}
		statements = append(statements, otherWrites...)
		if srv.Flavor == testservers.FlavorMySQL {
			statements = append(statements, mysqlWrites...)
		} else {
			statements = append(statements, mariadbWrites...)
		}
		ex := New(db, Options{})
		conn, err := db.Conn(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		run, written := 0, 0
		for _, stmt := range statements {
			p, err := ex.Explain(context.Background(), schema, stmt)
			if err != nil {
				if strings.Contains(stmt, "USING (id)") {
					continue // m_items has no id: both statements are wrong
				}
				t.Errorf("%s: %v", stmt, err)
				continue
			}
			run++
			written += compareRows(t, conn, stmt, p.Select)
		}
		t.Logf("%d statements, %d rows written", run, written)
		if run < 150 {
			t.Errorf("only %d statements", run)
		}
	})
}

// compareRows runs the SELECT, then the statement, in one transaction that is
// rolled back, and compares the keys that the SELECT reads of each written table
// with the keys of the rows that have changed.
func compareRows(t *testing.T, conn *sql.Conn, stmt, query string) (written int) {
	t.Helper()
	ctx := context.Background()
	if _, err := conn.ExecContext(ctx, "START TRANSACTION"); err != nil {
		t.Fatal(err)
	}
	defer conn.ExecContext(ctx, "ROLLBACK")
	r, err := Rewrite(stmt, RewriteOptions{})
	if err != nil {
		t.Error(err)
		return 0
	}
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		t.Errorf("%s: %v", query, err)
		return 0
	}
	_, read, err := readRows(rows)
	if err != nil {
		t.Errorf("%s: %v", query, err)
		return 0
	}
	tables := []string{"m_orders", "m_customers", "m_items", "m_events", "m_copy"}
	before := make(map[string]map[string]string)
	for _, table := range tables {
		before[table] = snapshot(t, conn, table)
	}
	if _, err := conn.ExecContext(ctx, stmt); err != nil {
		t.Errorf("%s: %v", stmt, err)
		return 0
	}
	want := make(map[string][]string)
	for _, table := range tables {
		after := snapshot(t, conn, table)
		for key, row := range before[table] {
			if after[key] != row {
				want[table] = append(want[table], key)
			}
		}
		for key := range after {
			if _, ok := before[table][key]; !ok {
				want[table] = append(want[table], key)
			}
		}
		slices.Sort(want[table])
		written += len(want[table])
		if want[table] == nil {
			delete(want, table)
		}
	}
	got := make(map[string][]string)
	column := 0
	for _, w := range r.Written {
		table, width := tableOfAlias(stmt, w)
		for _, row := range read {
			if key := keyOf(table, row[column:]); key != "" && !slices.Contains(got[table], key) {
				got[table] = append(got[table], key)
			}
		}
		slices.Sort(got[table])
		column += width
		if r.write == writeInsert {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n%s\n(-changed +read):\n%s", stmt, query, diff)
	}
	return written
}

// tableOfAlias returns the table that a written name stands for, and the number
// of its columns.
func tableOfAlias(stmt, alias string) (table string, columns int) {
	table = map[string]string{"o": "m_orders", "c": "m_customers", "i": "m_items", "a": "m_customers"}[alias]
	if table == "" {
		table = alias
	}
	return table, map[string]int{"m_orders": 6, "m_customers": 4, "m_items": 4, "m_events": 3, "m_copy": 3}[table]
}

func keyOf(table string, row []sql.NullString) string {
	if !row[0].Valid {
		return "" // the missing side of an outer join
	}
	if table == "m_items" || table == "m_events" {
		return row[0].String + "/" + row[1].String
	}
	return row[0].String
}

func snapshot(t *testing.T, conn *sql.Conn, table string) map[string]string {
	t.Helper()
	rows, err := conn.QueryContext(context.Background(), "SELECT * FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	_, values, err := readRows(rows)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]string, len(values))
	for _, v := range values {
		out[keyOf(table, v)] = fmt.Sprint(v)
	}
	return out
}

// Statements that read: that EXPLAIN of what is made of them works.
var reading = []string{
	"SELECT id FROM m_orders WHERE customer_id = 7 FOR UPDATE",
	"SELECT id FROM m_orders WHERE customer_id = 7 LOCK IN SHARE MODE",
	"SELECT id, total INTO @a, @b FROM m_orders WHERE id = 7",
	"SELECT id FROM m_orders WHERE id = 7 INTO @a",
	"SELECT id INTO OUTFILE '/nowhere/x' FIELDS TERMINATED BY ',' FROM m_orders",
	"SELECT id FROM m_orders INTO DUMPFILE '/nowhere/x'",
	"CREATE TABLE m_new AS SELECT id, total FROM m_orders WHERE customer_id = 7",
	"CREATE TEMPORARY TABLE IF NOT EXISTS m_new (PRIMARY KEY (id)) ENGINE=InnoDB IGNORE SELECT id FROM m_orders",
	"SET @x = (SELECT MAX(id) FROM m_orders WHERE customer_id = 7)",
	"DO (SELECT MAX(id) FROM m_orders)",
	"CALL p((SELECT MAX(id) FROM m_orders))",
	"EXPLAIN UPDATE m_orders SET note = 'x' WHERE id = 7",
	"EXPLAIN FORMAT=JSON SELECT id FROM m_orders WHERE id = 7",
	"DESC SELECT id FROM m_orders",
	"ANALYZE FORMAT=JSON DELETE FROM m_orders WHERE id = 7",
	"PREPARE s FROM 'DELETE FROM m_orders WHERE id = 7 AND total <> ''x'''",
	"INSERT INTO m_copy (id) VALUES ((SELECT MAX(id) + 1000 FROM m_orders)), (2)",
	"INSERT INTO m_copy SET id = (SELECT MAX(id) + 1000 FROM m_orders), total = 3",
	"REPLACE m_copy VALUES ((SELECT MIN(id) FROM m_orders), 1, 2)",
	"(SELECT id FROM m_orders WHERE id < 5) UNION ALL (SELECT id FROM m_customers WHERE id < 5) ORDER BY 1 LIMIT 3",
	"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT * FROM n JOIN m_orders ON m_orders.id = n.i",
	"SELECT * FROM m_orders /*!40000 FORCE INDEX (customer) */ WHERE customer_id = 7",
	"SELECT STRAIGHT_JOIN o.id FROM m_orders o JOIN m_items i ON i.order_id = o.id WHERE o.customer_id = 7",
	"SELECT `id` FROM `m_orders` WHERE `note` = 'a;b' AND `status` <> \"/* x */\"",
	"SELECT id FROM m_orders WHERE note SOUNDS LIKE 'merci'",
	"SELECT GROUP_CONCAT(DISTINCT id ORDER BY id SEPARATOR ';') FROM m_orders GROUP BY customer_id WITH ROLLUP",
}

func TestWhatReadsIsExplained(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		db, schema := openShop(t, srv)
		mustExec(t, db, smallTables...)
		ex := New(db, Options{})
		for _, stmt := range reading {
			p, err := ex.Explain(context.Background(), schema, stmt)
			if err != nil {
				t.Errorf("%s: %v", stmt, err)
				continue
			}
			if len(slices.Collect(p.Tables())) == 0 && !strings.Contains(p.Raw, "optimized away") {
				t.Errorf("%s: no table in\n%s", stmt, p)
			}
		}
	})
}

// The plan of the SELECT is the statement's own wherever it is not marked
// approximate, and mostly where it is.
func TestThePlanIsThatOfTheStatement(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		db, schema := openShop(t, srv)
		mustExec(t, db, smallTables...)
		ex := New(db, Options{})
		same, differ := 0, 0
		statements := slices.Concat(otherWrites, []string{
			"UPDATE orders o JOIN customers c ON c.id = o.customer_id SET o.note = 'x' WHERE c.segment = 'partner' AND o.status = 'new'",
			"UPDATE orders o JOIN reviews r ON r.customer_id = o.customer_id SET o.note = 'x' WHERE r.stars = 1",
			"DELETE i FROM order_items i JOIN products p ON p.id = i.product_id WHERE p.category_id = 7",
			"DELETE r FROM reviews r LEFT JOIN orders o ON o.customer_id = r.customer_id WHERE o.id IS NULL",
			"UPDATE payments p JOIN orders o ON o.total = p.amount SET p.method = 'x' WHERE o.customer_id = 9",
			"INSERT INTO archived_orders (id, customer_id, total) SELECT id, customer_id, total FROM orders WHERE status = 'cancelled' AND ordered_at < '2023-06-01'",
			"DELETE FROM reviews WHERE customer_id IN (SELECT id FROM customers WHERE country = 'SE') AND stars < 2",
			"DELETE FROM reviews WHERE product_id IN (SELECT id FROM products WHERE category_id = 4) LIMIT 5",
			"UPDATE orders SET note = 'x' WHERE customer_id IN (SELECT id FROM customers WHERE email LIKE 'user77%')",
			"UPDATE products SET stock = stock + 1 WHERE category_id = 12 AND price < 50.00 ORDER BY price LIMIT 10",
		})
		for _, form := range oneTable[:5] {
			for _, c := range conditions {
				if !strings.Contains(c, "--") && !strings.Contains(c, "EXISTS") {
					statements = append(statements, fmt.Sprintf(form, c))
				}
			}
		}
		for _, stmt := range statements {
			if strings.Contains(stmt, "USING (id)") {
				continue
			}
			p, err := ex.Explain(context.Background(), schema, stmt)
			if err != nil {
				t.Errorf("%s: %v", stmt, err)
				continue
			}
			native, err := ex.ExplainNative(context.Background(), schema, stmt)
			if err != nil {
				t.Errorf("%s: native: %v", stmt, err)
				continue
			}
			if strings.Contains(native.Raw, "Deleting all rows") {
				continue // MariaDB names no table
			}
			diff := cmp.Diff(shapeOf(native), shapeOf(p))
			switch {
			case diff == "":
				same++
			case p.Approximate:
				differ++
			default:
				t.Errorf("%s (-native +select):\n%s\n%s\n%s", stmt, diff, native, p)
			}
		}
		t.Logf("%d alike, %d marked approximate and different", same, differ)
		if differ > same {
			t.Errorf("%d plans differ, %d are alike", differ, same)
		}
	})
}

// shapeOf lists the accesses of a plan. A scan by PRIMARY is a table scan, and an
// equality may be called ref, const or range.
func shapeOf(p *Plan) []string {
	out := []string{}
	for n := range p.Tables() {
		access := string(n.Access)
		switch {
		case n.Access == AccessIndex && n.Key() == "PRIMARY", n.Access == AccessAll:
			out = append(out, n.Name+" all")
			continue
		case n.Access == AccessRef, n.Access == AccessConst, n.Access == AccessRange, n.Access == AccessEqRef:
			access = "lookup"
		}
		out = append(out, n.Name+" "+access+" "+n.Key())
	}
	return out
}
