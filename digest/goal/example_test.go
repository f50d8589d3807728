package goal_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/quern-dev/quern/digest/goal"
	"github.com/quern-dev/quern/slowlog"
	"github.com/quern-dev/quern/slowlog/requestlog"
)

const access = `time:2026-11-30T10:00:00Z	page:search	wtime:2.000	utime:0.200	sphinx_time:1.000	mysql_time:0.480	mysql_calls:7	request_id:r1
time:2026-11-30T10:00:01Z	page:search	wtime:0.120	utime:0.020	sphinx_time:0.060	mysql_time:0.030	mysql_calls:2	request_id:r2
`

func Example() {
	goals, err := goal.Parse("search:p50<1s")
	if err != nil {
		log.Fatal(err)
	}
	an := goal.NewAnalysis(goals)
	for req, err := range requestlog.NewReader(strings.NewReader(access)).All() {
		if err != nil {
			log.Fatal(err)
		}
		an.Add(req)
	}
	for _, v := range an.Verdicts() {
		fmt.Println(v.Goal, v.State)
		fmt.Println("missing:", v.Missing)
		fmt.Println("their time:", v.Breakdown)
		best := v.Potential[0]
		fmt.Printf("without %s %.0f of them would meet the goal\n", best.Component, best.Gone.Requests)
	}
	// Output:
	// search:p50<1s met
	// missing: 1 (50.00%)
	// their time: sphinx 50.0%, mysql 24.0%, lost 16.0%, cpu 10.0%
	// without sphinx 0 of them would meet the goal
}

func ExampleAnalysis_AddQuery() {
	const slow = `# Time: 2026-11-30T09:59:59.500000Z
# User@Host: shop[shop] @ web1 [10.0.0.1]  Id: 7
# Query_time: 0.400000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 90000
SET timestamp=1796032799;
SELECT * FROM product WHERE name LIKE '%shoe%' /* request_id='r1' */;
`
	goals, err := goal.Parse("search:p95<1s")
	if err != nil {
		log.Fatal(err)
	}
	an := goal.NewAnalysis(goals)
	for req, err := range requestlog.NewReader(strings.NewReader(access)).All() {
		if err != nil {
			log.Fatal(err)
		}
		an.Add(req)
	}
	for ev, err := range slowlog.NewReader(strings.NewReader(slow)).All() {
		if err != nil {
			log.Fatal(err)
		}
		an.AddQuery(ev)
	}
	q := an.Verdicts()[0].Queries
	fmt.Println(q.Classes[0].Fingerprint)
	fmt.Println(q.Time, "of a wait of", q.Wait)
	// Output:
	// select * from product where name like ?
	// 400ms of a wait of 480ms
}

// Goals for all pages, for one, and for a part of its requests.
func ExampleParse() {
	goals, err := goal.Parse("*:p99<3s; search:p95<1s,p99<2s; search{user=bot}:p95<5s")
	if err != nil {
		log.Fatal(err)
	}
	for _, g := range goals {
		fmt.Println(g.Name(), g.LimitName())
	}
	// Output:
	// * p99<3s
	// search p95<1s
	// search p99<2s
	// search{user=bot} p95<5s
}

// The requests of a goal by an attribute of theirs.
func ExampleAnalysis_segmentBy() {
	goals, err := goal.Parse("*:p95<1s")
	if err != nil {
		log.Fatal(err)
	}
	an := goal.NewAnalysis(goals)
	an.SegmentBy = []string{"country"}
	const requests = "page:search\twall_ms:120\tcountry:de\n" +
		"page:search\twall_ms:1300\tcountry:fr\n" +
		"page:cart\twall_ms:90\tcountry:de\n"
	for req, err := range requestlog.NewReader(strings.NewReader(requests)).All() {
		if err != nil {
			log.Fatal(err)
		}
		an.Add(req)
	}
	for _, g := range an.Verdicts()[0].Segments["country"] {
		fmt.Println(g.Name, g.Requests, g.Missing)
	}
	// Output:
	// fr 1 1 (100.00%)
	// de 2 0 (0.00%)
}
