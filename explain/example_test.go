package explain_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"database/sql"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/digest/finding"
	"github.com/quern-dev/quern/explain"
	"github.com/quern-dev/quern/slowlog"
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

// Plans of a workload's classes become findings beside those of its log.
func ExamplePlan_Findings() {
	var agg digest.Aggregator
	for range 100 {
		agg.Add(&slowlog.Event{Query: "SELECT id FROM orders WHERE note = 'x'", QueryTime: 80 * time.Millisecond, Weight: 1})
		agg.Add(&slowlog.Event{Query: "UPDATE counter SET n = n + 1", QueryTime: 20 * time.Millisecond, Weight: 1})
	}
	profile := agg.Profile()
	first := profile.Top(1, digest.ByTotalTime)[0]

	// as an Explainer gives it for first.Sample()
	plan, err := explain.Parse("id\tselect_type\ttable\ttype\tpossible_keys\tkey\tkey_len\tref\trows\tExtra\n" +
		"1\tSIMPLE\torders\tALL\tNULL\tNULL\tNULL\tNULL\t50000\tUsing where\n")
	if err != nil {
		log.Fatal(err)
	}
	e := finding.Examine(profile, finding.DefaultLimits(), plan.Findings(first.ID, explain.Medium))
	for _, f := range e.Findings {
		if f.Code == "plan/full-scan" {
			fmt.Printf("%s, wins up to %.0f %%\n%s\n", f.Title, 100*f.Gain, f.Cases[0].Evidence)
		}
	}
	// Output:
	// Plan: a large table is read in full, wins up to 80 %
	// table orders: type ALL: all 50,000 rows are read, 50,000 pass; median 80ms
}

// Has the plan changed? Estimates and values do not count.
func ExamplePlan_Fingerprint() {
	const head = "id\tselect_type\ttable\ttype\tpossible_keys\tkey\tkey_len\tref\trows\tExtra\n"
	var plans []string
	for _, row := range []string{
		"1\tSIMPLE\torders\tref\tcustomer\tcustomer\t4\tconst\t120\tNULL\n",
		"1\tSIMPLE\torders\tref\tcustomer\tcustomer\t4\tconst\t97\tNULL\n",
		"1\tSIMPLE\torders\tALL\tcustomer\tNULL\tNULL\tNULL\t80000\tUsing where\n",
	} {
		plan, err := explain.Parse(head + row)
		if err != nil {
			log.Fatal(err)
		}
		plans = append(plans, plan.Fingerprint())
	}
	fmt.Println(plans[0] == plans[1], plans[1] == plans[2])
	// Output: true false
}

// What is in a plan, step by step.
func ExampleNode_All() {
	plan, err := explain.Parse(`{"query_block": {"select_id": 1, "cost_info": {"query_cost": "8.41"},
	"ordering_operation": {"using_filesort": true, "table": {"table_name": "orders", "access_type": "ref",
	"possible_keys": ["customer"], "key": "customer", "used_key_parts": ["customer_id"], "key_length": "4", "ref": ["const"],
	"rows_examined_per_scan": 12, "rows_produced_per_join": 12, "filtered": "100.00"}}}}`)
	if err != nil {
		log.Fatal(err)
	}
	for n := range plan.Root.All() {
		fmt.Println(n.Op, n.Name, n.Access, n.Key(), n.Rows.Or(0))
	}
	// Output:
	// select    0
	// sort    0
	// table orders ref customer 12
}

// To run a query and see what its plan did. Give it no query of strangers.
func ExampleExplainer_RunAndAnalyze() {
	var db *sql.DB

	_ = func(ctx context.Context) error {
		ex := explain.New(db, explain.Options{Timeout: 10 * time.Second})
		plan, err := ex.RunAndAnalyze(ctx, "shop", "SELECT COUNT(*) FROM orders WHERE late")
		if err != nil {
			return err
		}
		for n := range plan.Tables() {
			if n.Actual != nil {
				fmt.Println(n.Name, n.Rows.Or(0), "rows expected,", n.Actual.Rows.Or(0), "read")
			}
		}
		return nil
	}
}
