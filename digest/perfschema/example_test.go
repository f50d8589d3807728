package perfschema_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"time"

	_ "github.com/go-sql-driver/mysql"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/digest/perfschema"
)

// The statements that took most of a server's time in a minute.
func Example() {
	db, err := sql.Open("mysql", "quern@tcp(localhost:3306)/")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	ctx := context.Background()
	p := perfschema.New(db)
	if _, err := p.Poll(ctx, nil); err != nil {
		log.Fatal(err) // errors.Is tells perfschema.ErrOff and perfschema.ErrDenied
	}
	time.Sleep(time.Minute)
	var agg digest.Aggregator
	stats, err := p.Poll(ctx, &agg)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range agg.Profile().Top(10, digest.ByTotalTime) {
		fmt.Println(c.ID, c.Count, c.QueryTime.Sum(), c.QueryTime.Quantile(.95), c.Fingerprint)
	}
	if stats.Overflowed > 0 {
		fmt.Println(stats.Overflowed, "statements of digests for which the server has no room")
	}
}

// The classes of a slow log, with the counts of the server, which knows also of
// what was too fast to be logged.
func ExamplePoller_Join() {
	var db *sql.DB
	var logged *digest.Profile

	_ = func(ctx context.Context) error {
		p := perfschema.New(db)
		if _, err := p.Join(ctx, logged); err != nil {
			return err
		}
		var agg digest.Aggregator
		if _, err := p.Poll(ctx, &agg); err != nil {
			return err
		}
		counted := agg.Profile()
		for _, c := range logged.Top(10, digest.ByTotalTime) {
			if all := counted.Class(c.ID); all != nil {
				fmt.Printf("%.0f of %.0f statements were slow: %s\n", c.Count, all.Count, c.Fingerprint)
			}
		}
		return nil
	}
}
