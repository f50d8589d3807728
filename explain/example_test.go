package explain_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"database/sql"

	"github.com/quern-dev/quern/explain"
)

func ExampleRewrite() {
	r, err := explain.Rewrite("UPDATE orders o JOIN customers c ON c.id = o.customer_id SET o.note = c.name WHERE c.country = 'DE'", explain.RewriteOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Select)

	_, err = explain.Rewrite("select a from t where b = ?", explain.RewriteOptions{})
	fmt.Println(err)

	r, err = explain.Rewrite("WITH d AS (SELECT cleanup(1)) SELECT * FROM d", explain.RewriteOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Hazards[0].Code, r.Hazards[0].Text)
	// Output:
	// SELECT o.*, c.name FROM orders o JOIN customers c ON c.id = o.customer_id WHERE c.country = 'DE'
	// explain: this SELECT cannot be explained: it has ? in the place of values; take a sample of the class
	// stored-function the function cleanup is not known to be the server's own
}

// A plan that somebody sent in a file.
func ExampleParse() {
	plan, err := explain.Parse(`
+----+-------------+-------+------------+------+---------------+----------+---------+-----------+-------+----------+-------------+
| id | select_type | table | partitions | type | possible_keys | key      | key_len | ref       | rows  | filtered | Extra       |
+----+-------------+-------+------------+------+---------------+----------+---------+-----------+-------+----------+-------------+
|  1 | SIMPLE      | o     | NULL       | ALL  | customer      | NULL     | NULL    | NULL      | 80000 |    10.00 | Using where |
|  1 | SIMPLE      | i     | NULL       | ref  | PRIMARY       | PRIMARY  | 4       | shop.o.id |     3 |   100.00 | NULL        |
+----+-------------+-------+------------+------+---------------+----------+---------+-----------+-------+----------+-------------+`)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(plan)
	for _, p := range plan.Problems() {
		fmt.Printf("%s %s: %s\n", p.Severity, p.Code, p.Evidence)
	}
	// Output:
	// select #1
	// └─ join
	//    ├─ o full scan  rows 80000 → 8000
	//    └─ i ref PRIMARY(4 bytes)  rows 3 × 8000
	// high full-scan: type ALL: all 80,000 rows are read, 8000 pass
	// medium possible-key-not-used: possible keys customer, none used; 80,000 rows
}

func ExampleExplainer() {
	var db *sql.DB // of an account with SELECT and SHOW VIEW

	_ = func(ctx context.Context) {
		ex := explain.New(db, explain.Options{Timeout: 2 * time.Second})
		plan, err := ex.Explain(ctx, "shop", "UPDATE orders SET late = 1 WHERE due < '2026-01-01'")
		var hazard *explain.HazardError
		switch {
		case errors.As(err, &hazard):
			log.Fatal(hazard.Hazards) // what would run
		case err != nil:
			log.Fatal(err)
		}
		fmt.Println(plan.Select, plan.Approximate)
		fmt.Println(plan)
		for _, p := range plan.Problems() {
			fmt.Println(p.Code, p.Table, p.Evidence, p.Try)
		}
	}
}

func ExampleCompare() {
	var db *sql.DB // on a copy of the data

	_ = func(ctx context.Context) {
		c, err := explain.Compare(ctx, db,
			"SELECT id FROM customers WHERE id NOT IN (SELECT customer_id FROM orders)",
			"SELECT c.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.id IS NULL")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(c.SameRows, c.A.RowsRead(), c.B.RowsRead())
		fmt.Println(c)
	}
}
