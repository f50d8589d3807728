package indexadvisor_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"

	"github.com/quern-dev/quern/indexadvisor"
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
