package report_test

import (
	"log"
	"os"
	"strings"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/digest/finding"
	"github.com/quern-dev/quern/digest/goal"
	"github.com/quern-dev/quern/digest/report"
	"github.com/quern-dev/quern/slowlog"
	"github.com/quern-dev/quern/slowlog/requestlog"
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

// One file to send to somebody, with the plan of the slowest statement beside its
// class.
func ExampleReport_WriteHTML() {
	var agg digest.Aggregator
	for ev, err := range slowlog.NewReader(strings.NewReader(exampleLog)).All() {
		if err != nil {
			log.Fatal(err)
		}
		agg.Add(ev)
	}
	rep := &report.Report{Profile: agg.Profile(), Limit: 10, Sections: map[digest.ID][]report.Section{}}
	for _, c := range rep.Profile.Top(rep.Limit, rep.By) {
		rep.Sections[c.ID] = []report.Section{{Title: "Plan", Text: "customer full scan  rows 5000 → 500"}}
	}
	rep.Findings = finding.Examine(rep.Profile, finding.DefaultLimits())

	f, err := os.CreateTemp("", "report-*.html")
	if err != nil {
		log.Fatal(err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := rep.WriteHTML(f); err != nil {
		log.Fatal(err)
	}
}

// How the requests of a log stand to their goals.
func ExampleGoals_WriteText() {
	goals, err := goal.Parse("search:p50<1s")
	if err != nil {
		log.Fatal(err)
	}
	an := goal.NewAnalysis(goals)
	const access = "time:2026-11-30T10:00:00Z\tpage:search\twall_ms:2000\tmysql_ms:1480\n" +
		"time:2026-11-30T10:00:01Z\tpage:search\twall_ms:120\tmysql_ms:30\n"
	for req, err := range requestlog.NewReader(strings.NewReader(access)).All() {
		if err != nil {
			log.Fatal(err)
		}
		an.Add(req)
	}
	rep := &report.Goals{Verdicts: an.Verdicts(), Stats: an.Stats()}
	if err := rep.WriteText(os.Stdout, report.TextOptions{}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 2 requests, 2026-11-30 10:00:00 to 10:00:01 UTC
	//
	// Goal                                     attained  requests        missing Apdex
	// search:p50<1s                        met    120ms         2       1  50.0%  0.75
	//
	// search:p50<1s: met ─────────────────────────────────────────────────────────────
	// p50 is 120ms. Of 2 requests 1 miss, 50.0% of them; 50.0% may.
	//
	//                missing requests              all             would   meet     at
	// Time in          share     mean   calls    share     mean     none   1/10    1/2
	// mysql            74.0%    1.48s            71.2%    755ms    100%   100%     0%
	// lost             26.0%    520ms            28.8%    305ms      0%     0%     0%
	// Would meet: share of the missing requests.
	//
	// Pages               requests         missing  attained                 most time
	// search                     2        1  50.0%     120ms               mysql 74.0%
	//
	// For example  Nov 30 10:00:00      2s  search
}
