package report_test

import (
	"log"
	"os"
	"strings"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/digest/report"
	"github.com/quern-dev/quern/slowlog"
)

const exampleLog = `# Time: 2026-01-01T00:00:00.000000Z
# User@Host: app[app] @ web01 []  Id: 7
# Query_time: 0.250000  Lock_time: 0.000010 Rows_sent: 1  Rows_examined: 5000
SET timestamp=1767225600;
SELECT name FROM customer WHERE email = 'a@example.com';
`

// The ten classes that cost the most, for a terminal.
func ExampleReport_WriteText() {
	var agg digest.Aggregator
	r := slowlog.NewReader(strings.NewReader(exampleLog))
	for ev, err := range r.All() {
		if err != nil {
			log.Fatal(err)
		}
		agg.Add(ev)
	}
	rep := &report.Report{
		Profile: agg.Profile(),
		Limit:   10,
		Sources: []report.Source{{Name: "slow.log", Stats: r.Stats()}},
	}
	if err := rep.WriteText(os.Stdout, report.TextOptions{}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// Logs        slow.log, 237B
	// Events      1 in 1 class, not sampled
	// Time        2026-01-01 00:00:00 to 00:00:00 UTC
	// Load        250ms of query time
	// Threshold   nothing shorter than 250ms was logged: percentiles are of logged
	//             statements
	// Skipped     nothing
	//
	// Query classes by total time
	//
	//                             ──── query time of logged statements ────
	//   # load              count  total    avg    p50    p95    p99    max ex/sent
	//   1 ████████    100%      1  250ms  250ms  250ms  250ms  250ms  250ms    5000
	//     SELECT customer                                              q1:4a29893c095a
	// ex/sent: rows examined for each row sent
	//
	// ── 1 ── SELECT customer ──────────────────────────────────────── 100% of load ──
	//
	//                         total    min    avg    p50    p95    p99    max stddev
	// Query time              250ms  250ms  250ms  250ms  250ms  250ms  250ms      0
	// Lock time                10µs   10µs   10µs   10µs   10µs   10µs   10µs      0
	// Rows sent                   1      1      1                           1      0
	// Rows examined            5000   5000   5000   5000   5000   5000   5000      0
	//
	// Query time
	// 100ms –    1s ████████████████████████████████████████████████   100%       1
	//
	// Count       1 statement, 100% of all
	// Examined    5000 rows for each row sent
	// Seen        2026-01-01 00:00:00 to 00:00:00 UTC
	// Users       app 100%
	// Hosts       web01 100%
	// Percona     C34F6EBD5498DE5E2CD709E3F853A734
	// ID          q1:4a29893c095a1d737a4df63a01eff005
	//
	// Slowest     250ms, 2026-01-01 00:00:00, app@web01, connection 7, line 1
	//     SELECT name FROM customer WHERE email = 'a@example.com'
}
