package requestlog

import (
	"context"
	"testing"

	"github.com/quern-dev/quern/internal/testservers"
)

// A connection that breaks ends the rows with an error, wherever it does.
func TestATableWhoseConnectionBreaksIsNoWholeTable(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		const rows = 1000
		for _, q := range []string{
			"CREATE TABLE requests (id INT PRIMARY KEY AUTO_INCREMENT, page VARCHAR(20), wall_ms INT)",
			"INSERT INTO requests (page, wall_ms) VALUES ('search', 120)",
		} {
			if _, err := db.Exec(q); err != nil {
				t.Fatal(err)
			}
		}
		for n := 1; n < rows; n *= 2 {
			if _, err := db.Exec("INSERT INTO requests (page, wall_ms) SELECT page, wall_ms FROM requests LIMIT ?", min(n, rows-n)); err != nil {
				t.Fatal(err)
			}
		}
		frail, breakAfter := srv.Fragile(t, schema)
		broken := 0
		for bytes := int64(0); ; bytes = 2*bytes + 100 {
			breakAfter(bytes)
			table := Table{DB: frail, Name: "requests"}
			n, failed := 0, error(nil)
			for _, err := range table.All(context.Background()) {
				if failed != nil {
					t.Fatal("a row behind an error")
				}
				if failed = err; err == nil {
					n++
				}
			}
			if failed == nil {
				if n != rows {
					t.Errorf("without an error %d rows of %d", n, rows)
				}
				break
			}
			broken++
		}
		if broken < 3 {
			t.Errorf("%d broken connections", broken)
		}
	})
}
