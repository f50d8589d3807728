package digest_test

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/slowlog"
)

const slow = `# Time: 2026-03-01T10:00:00.000000Z
# User@Host: app[app] @ web1 []  Id:     7
# Query_time: 0.250000  Lock_time: 0.000010 Rows_sent: 1  Rows_examined: 5000
use shop;
SET timestamp=1772359200;
SELECT * FROM orders WHERE customer_id = 17;
# Time: 2026-03-01T10:00:02.000000Z
# User@Host: app[app] @ web1 []  Id:     7
# Query_time: 0.750000  Lock_time: 0.000010 Rows_sent: 3  Rows_examined: 15000
SET timestamp=1772359202;
SELECT * FROM orders WHERE customer_id = 4;
# Time: 2026-03-01T10:00:03.000000Z
# User@Host: app[app] @ web2 []  Id:     8
# Query_time: 0.500000  Lock_time: 0.000010 Rows_sent: 0  Rows_examined: 1
SET timestamp=1772359203;
UPDATE orders SET late = 1 WHERE id = 99;
`

func profile() *digest.Profile {
	var agg digest.Aggregator
	for ev, err := range slowlog.NewReader(strings.NewReader(slow)).All() {
		if err != nil {
			log.Fatal(err)
		}
		agg.Add(ev)
	}
	return agg.Profile()
}

func ExampleAggregator() {
	var agg digest.Aggregator
	for ev, err := range slowlog.NewReader(strings.NewReader(slow)).All() {
		if err != nil {
			log.Fatal(err)
		}
		agg.Add(ev)
	}
	for _, c := range agg.Profile().Top(10, digest.ByTotalTime) {
		fmt.Println(c.Count, c.QueryTime.Sum(), c.QueryTime.Max(), c.RowsExamined.Sum(), c.Fingerprint)
	}
	// Output:
	// 2 1s 750ms 20000 select * from orders where customer_id = ?
	// 1 500ms 500ms 1 update orders set late = ? where id = ?
}

// Group by several things at once, and only what passes a filter.
func ExampleOptions() {
	agg := digest.Aggregator{Options: digest.Options{
		GroupBy: []digest.Group{digest.ByHost, digest.ByVerb},
		Filter:  digest.Filter{MinTime: 300 * time.Millisecond},
	}}
	for ev, err := range slowlog.NewReader(strings.NewReader(slow)).All() {
		if err != nil {
			log.Fatal(err)
		}
		agg.Add(ev)
	}
	for _, c := range agg.Profile().Top(0, digest.ByTotalTime) {
		fmt.Println(c.Key(), c.Count, c.QueryTime.Sum())
	}
	// Output:
	// [web1 SELECT] 1 750ms
	// [web2 UPDATE] 1 500ms
}

func ExampleProfile_Top() {
	by, err := digest.ParseOrder("rows_examined:max")
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range profile().Top(1, by) {
		fmt.Println(c.RowsExamined.Max(), c.Sample().Query)
	}
	// Output:
	// 15000 SELECT * FROM orders WHERE customer_id = 4
}

// Hosts send their profiles in the binary form, somebody merges them.
func ExampleMerge() {
	sent, err := profile().MarshalBinary()
	if err != nil {
		log.Fatal(err)
	}
	var all []*digest.Profile
	for range 3 {
		p := new(digest.Profile)
		if err := p.UnmarshalBinary(sent); err != nil {
			log.Fatal(err)
		}
		all = append(all, p)
	}
	sum, err := digest.Merge(all...)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sum.Events, sum.TotalTime())
	// Output:
	// 9 4.5s
}

func ExampleProfile_WriteJSON() {
	var b bytes.Buffer
	if err := profile().WriteJSON(&b, 1, digest.ByTotalTime); err != nil {
		log.Fatal(err)
	}
	os.Stdout.WriteString(strings.Join(strings.SplitAfter(b.String(), "\n")[:9], ""))
	// Output:
	// {
	//   "quern": 1,
	//   "events": 3,
	//   "weight": 3,
	//   "skipped": 0,
	//   "filtered": 0,
	//   "classes": 2,
	//   "total_time": 1.5,
	//   "weighted_time": 1.5,
}

func ExampleCompare() {
	before := profile()
	var slower digest.Aggregator
	for ev, err := range slowlog.NewReader(strings.NewReader(slow)).All() {
		if err != nil {
			log.Fatal(err)
		}
		ev.QueryTime *= 2
		slower.Add(ev)
	}
	d, err := digest.Compare(before, slower.Profile())
	if err != nil {
		log.Fatal(err)
	}
	c := d.Changes[0]
	fmt.Printf("%.2f times the mean time, latency: %v\n", c.Ratio, c.Latency) // two calls prove nothing
	// Output:
	// 2.00 times the mean time, latency: same
}

// A wrapper of database/sql observes, a ticker of the host exports.
func ExampleCollector() {
	col := digest.NewCollector(digest.CollectorOptions{MaxClasses: 5000})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 25 {
				col.Observe(digest.Observation{
					SQL:      fmt.Sprintf("SELECT name FROM customers WHERE id = %d", i),
					Schema:   "shop",
					Duration: 2 * time.Millisecond,
				})
			}
		})
	}
	wg.Wait()
	p := col.Flush()
	for _, c := range p.Top(50, digest.ByQuantile(.99)) {
		fmt.Println(c.Count, c.QueryTime.Quantile(.99), c.Fingerprint)
	}
	if rest := p.Overflow(); rest != nil { // not among Top's
		fmt.Println(rest.Count, rest.QueryTime.Quantile(.99), rest.Name())
	}
	// Output:
	// 100 2ms select name from customers where id = ?
}

func ExampleHistogram() {
	var h digest.Histogram
	for v := range int64(1001) {
		h.Add(v)
	}
	h.AddWeighted(5000, 100) // stands for a hundred such values
	fmt.Println(h.Count(), h.Mean(), h.Quantile(.5), h.Max())
	// Output:
	// 1101 908.7193460490463 547 5000
}

// What a class knows of its statements.
func ExampleClass() {
	c := profile().Top(1, digest.ByTotalTime)[0]
	fmt.Println(c.QueryTime.Quantile(.95), c.QueryTime.Mean(), c.RowsExamined.Quantile(.5))
	hosts, _ := c.Hosts()
	fmt.Println(c.FirstSeen().Format(time.TimeOnly), hosts, c.Summary(digest.RowsSent).Max())
	// Output:
	// 750ms 500ms 5023
	// 10:00:00 [{web1 2}] 3
}

// The classes that are slow for more than one statement in a hundred, if they have
// enough statements to say so.
func ExampleByQuantile() {
	for _, c := range profile().Top(10, digest.ByQuantile(.99).WithMinCount()) {
		fmt.Println(c.QueryTime.Quantile(.99), c.Fingerprint)
	}
	// Output:
	// 750ms select * from orders where customer_id = ?
	// 500ms update orders set late = ? where id = ?
}

// A log is read by two workers, each with an Aggregator of its own.
func ExampleAggregator_Merge() {
	const workers = 2
	var aggs [workers]digest.Aggregator
	err := slowlog.NewReader(strings.NewReader(slow)).Each(workers, func(worker int, ev *slowlog.Event) error {
		aggs[worker].Add(ev)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := aggs[0].Merge(&aggs[1]); err != nil {
		log.Fatal(err)
	}
	p := aggs[0].Profile()
	fmt.Println(p.Events, p.TotalTime())
	// Output: 3 1.5s
}

// A profile without the literals of its statements.
func ExampleTextMode() {
	agg := digest.Aggregator{Options: digest.Options{Text: digest.TextRedacted}}
	agg.Add(&slowlog.Event{Query: "SELECT * FROM card WHERE number = '4111 1111'", Weight: 1})
	for _, c := range agg.Profile().Top(0, digest.ByCount) {
		fmt.Println(c.Sample().Query)
	}
	// Output: SELECT * FROM card WHERE number = ?
}

// A histogram of another measure than the usual three.
func ExampleMeasureOf() {
	tables := digest.MeasureOf(slowlog.KeyTmpTables)
	agg := digest.Aggregator{Options: digest.Options{Histograms: []digest.Measure{digest.RowsSent, tables}}}
	for ev, err := range slowlog.NewReader(strings.NewReader(slow)).All() {
		if err != nil {
			log.Fatal(err)
		}
		agg.Add(ev)
	}
	c := agg.Profile().Top(1, digest.ByTotalTime)[0]
	fmt.Println(c.Histogram(digest.RowsSent).Quantile(.9), c.Histogram(tables).Observed())
	// Output: 3 0
}

// Groups of one's own: the application that a comment names.
func ExampleGroupFunc() {
	var f digest.Fingerprinter
	byApp := digest.GroupFunc("application", func(ev *slowlog.Event) string { return f.Tags(ev.Query).Get("application") })
	agg := digest.Aggregator{Options: digest.Options{GroupBy: []digest.Group{byApp}}}
	agg.Add(&slowlog.Event{Query: "SELECT 1 /* application='shop' */", Weight: 1})
	agg.Add(&slowlog.Event{Query: "SELECT 2 /* application='shop' */", Weight: 1})
	for _, c := range agg.Profile().Top(0, digest.ByCount) {
		fmt.Println(c.Key(), c.Count)
	}
	// Output: [shop] 2
}

// Of a sampled log, counts are estimates.
func ExampleClass_CountError() {
	var agg digest.Aggregator
	for range 50 {
		agg.Add(&slowlog.Event{Query: "SELECT 1", Weight: 100})
	}
	c := agg.Profile().Top(1, digest.ByCount)[0]
	fmt.Printf("%.0f ± %.0f statements, %d in the log\n", c.Count, c.CountError(), c.Observed)
	// Output: 5000 ± 704 statements, 50 in the log
}

// When a class ran.
func ExampleClass_Timeline() {
	for _, i := range profile().Top(1, digest.ByTotalTime)[0].Timeline() {
		fmt.Println(i.Start.Format(time.TimeOnly), i.Width, i.Count, i.Seconds)
	}
	// Output:
	// 10:00:00 1s 1 0.25
	// 10:00:01 1s 0 0
	// 10:00:02 1s 1 0.75
}
