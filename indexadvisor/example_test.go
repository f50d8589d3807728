package indexadvisor_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"time"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/indexadvisor"
	"github.com/quern-dev/quern/slowlog"
)

// The rounds of counts lead to the columns: the model fixes the make, so that
// the make is left out.
func Example() {
	cars := &indexadvisor.Table{
		Schema: "shop", Name: "cars",
		Columns: []indexadvisor.Column{{Name: "id", Type: "int"}, {Name: "make", Type: "int"}, {Name: "model", Type: "int"}, {Name: "color", Type: "int"}, {Name: "note", Type: "text"}},
		Indexes: []indexadvisor.Index{{Name: "PRIMARY", Unique: true, Kind: "BTREE", Parts: []indexadvisor.Part{{Name: "id"}}}},
	}
	rows := &indexadvisor.Rows{Tables: []*indexadvisor.Table{cars}, Data: map[string][][]any{}}
	for i := range int64(20000) {
		model := i % 400
		rows.Data["shop.cars"] = append(rows.Data["shop.cars"], []any{i, model % 40, model, i / 400 % 7, "red"})
	}
	adv := indexadvisor.New(rows, indexadvisor.Options{})
	a, err := adv.Advise(context.Background(), indexadvisor.Query{Schema: "shop", SQL: "SELECT * FROM cars WHERE make = 3 AND model = 123 AND color = 2"})
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range a.Suggestions {
		fmt.Print(s.Rounds)
		fmt.Println(s.DDL)
		fmt.Println(s.RowsBefore, "rows before,", s.RowsAfter, "after")
	}
	// Output:
	// Round 1: of all 20000 rows
	//            500  SUM(make = 3)
	//   *         50  SUM(model = 123)
	//           2800  SUM(color = 2)
	//   model = 123 matches the fewest rows and is next.
	// Round 2: of the 50 rows WHERE model = 123
	//             50  SUM(make = 3)
	//   *          7  SUM(color = 2)
	//   color = 2 matches the fewest rows and is next.
	// Round 3: of the 7 rows WHERE model = 123 AND color = 2
	//              7  SUM(make = 3)
	//   The best of them keeps 7 of 7 rows: no condition filters more, so none becomes a column.
	// ALTER TABLE `shop`.`cars` ADD INDEX `ix_model_color` (`model`, `color`), ALGORITHM=INPLACE, LOCK=NONE
	// 20000 rows before, 7 after
}

// On a server, nothing is needed but a pool of connections.
func ExampleMySQL() {
	db, err := sql.Open("mysql", "advisor@tcp(127.0.0.1:3306)/")
	if err != nil {
		return // no driver is linked into this example
	}
	defer db.Close()
	adv := indexadvisor.New(indexadvisor.MySQL(db), indexadvisor.Options{})
	a, err := adv.Advise(context.Background(), indexadvisor.Query{Schema: "shop", SQL: "SELECT * FROM orders WHERE status = 'open' AND customer = 7"})
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range a.Suggestions {
		fmt.Println(s.Rounds, s.DDL, s.RowsBefore, s.RowsAfter)
	}
	fmt.Println(a.Notes) // why nothing, when nothing
}

// orders is a table of 20,000 rows in memory, without an index but its key.
func orders(indexes ...indexadvisor.Index) *indexadvisor.Rows {
	t := &indexadvisor.Table{
		Schema: "shop", Name: "orders",
		Columns: []indexadvisor.Column{{Name: "id", Type: "int"}, {Name: "customer", Type: "int"}, {Name: "status", Type: "int"}, {Name: "note", Type: "text"}},
		Indexes: append([]indexadvisor.Index{{Name: "PRIMARY", Unique: true, Kind: "BTREE", Parts: []indexadvisor.Part{{Name: "id"}}}}, indexes...),
	}
	rows := &indexadvisor.Rows{Tables: []*indexadvisor.Table{t}, Data: map[string][][]any{}}
	for i := range int64(20000) {
		rows.Data["shop.orders"] = append(rows.Data["shop.orders"], []any{i, i % 500, i % 7, "x"})
	}
	return rows
}

// Indexes for what a slow log holds.
func ExampleAdvisor_AdviseProfile() {
	var agg digest.Aggregator
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for i := range 100 {
		agg.Add(&slowlog.Event{Time: at.Add(time.Duration(i) * time.Minute), Schema: "shop", Weight: 1,
			Query: fmt.Sprintf("SELECT * FROM orders WHERE customer = %d", i), QueryTime: 80 * time.Millisecond})
	}
	adv := indexadvisor.New(orders(), indexadvisor.Options{MaxIndexes: 1})
	a, err := adv.AdviseProfile(context.Background(), agg.Profile(), "")
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range a.Suggestions {
		fmt.Println(s.DDL)
		fmt.Println("undone by", s.Undo)
	}
	// Output:
	// ALTER TABLE `shop`.`orders` ADD INDEX `ix_customer` (`customer`), ALGORITHM=INPLACE, LOCK=NONE
	// undone by ALTER TABLE `shop`.`orders` DROP INDEX `ix_customer`
}

// Indexes that may go.
func ExampleAdvisor_Redundant() {
	rows := orders(
		indexadvisor.Index{Name: "customer", Kind: "BTREE", Parts: []indexadvisor.Part{{Name: "customer"}}},
		indexadvisor.Index{Name: "customer_status", Kind: "BTREE", Parts: []indexadvisor.Part{{Name: "customer"}, {Name: "status"}}})
	a, err := indexadvisor.New(rows, indexadvisor.Options{}).Redundant(context.Background(), "shop", "orders")
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range a.Suggestions {
		fmt.Println(s.Trial)
		fmt.Println(s.DDL)
	}
	// Output:
	// ALTER TABLE `shop`.`orders` ALTER INDEX `customer` INVISIBLE
	// ALTER TABLE `shop`.`orders` DROP INDEX `customer`
}

// Is the index worth it? A copy of the data on another server tells.
func ExampleVerify() {
	var production, scratch *sql.DB

	_ = func(ctx context.Context, q indexadvisor.Query, s indexadvisor.Suggestion) error {
		v, err := indexadvisor.Verify(ctx, indexadvisor.Scratch{From: production, On: scratch}, q, s)
		if err != nil {
			return err
		}
		fmt.Println(v.Verdict, v.Before.Read, "rows before,", v.After.Read, "after")
		return nil
	}
}
