package finding_test

import (
	"fmt"
	"time"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/digest/finding"
	"github.com/quern-dev/quern/slowlog"
)

func ExampleExamine() {
	var agg digest.Aggregator
	for range 100 {
		agg.Add(&slowlog.Event{Query: "SELECT name FROM quote ORDER BY RAND() LIMIT 1", QueryTime: 80 * time.Millisecond, Weight: 1})
		agg.Add(&slowlog.Event{Query: "UPDATE counter SET n = n + 1", QueryTime: 10 * time.Millisecond, Weight: 1})
	}
	limits := finding.DefaultLimits()
	limits.Dominant = .95
	for _, f := range finding.Examine(agg.Profile(), limits).Findings {
		fmt.Printf("%s, wins up to %.0f %%\n", f.Title, 100*f.Gain)
		for _, c := range f.Cases {
			fmt.Println(" ", c.Evidence)
		}
		for _, a := range f.Actions {
			fmt.Printf("  %s: %s\n", a.Remedy, a.Try)
		}
	}
	// Output:
	// ORDER BY RAND(), wins up to 89 %
	//   median 80ms
	//   cache it: Where anything random does, draw a list once and show it to many.
	//   tune it: Draw random keys in the application and fetch their rows.
}
