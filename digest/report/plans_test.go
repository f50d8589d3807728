package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/digest/finding"
	"github.com/quern-dev/quern/digest/report"
	"github.com/quern-dev/quern/slowlog"
)

// withPlans is the report of a made-up day with what programs add that ask a
// server: plans and their problems, and advice on indexes.
func withPlans(t *testing.T) *report.Report {
	t.Helper()
	r := shop(t)
	r.Limit = 3
	top := r.Profile.Top(3, r.By)
	looked := []finding.PlanCheck{
		{Code: "plan/scan", Title: "Plan: a large table is read in full", Why: "What is read grows with the table.", Fine: "no large table is read in full", Limit: "severity medium", Remedy: finding.Tune},
		{Code: "plan/sort", Title: "Plan: a large result is sorted", Why: "All rows come before the first.", Fine: "no large result is sorted", Limit: "severity medium", Remedy: finding.Tune},
		{Code: "plan/cross", Title: "Plan: tables are joined without a condition", Why: "Every row meets every other.", Fine: "every join has a condition", Limit: "severity medium", Remedy: finding.Remove},
	}
	scan := func(table, rows, column string) finding.PlanProblem {
		return finding.PlanProblem{Code: "plan/scan", Evidence: "table " + table + ": type ALL: all " + rows + " rows are read", Try: "Try an index that begins with " + column + "."}
	}
	plans := []finding.Plan{
		{Class: top[0].ID, Looked: looked, Problems: []finding.PlanProblem{scan("product", "80,000", "name")}},
		{Class: top[1].ID, Looked: looked, Problems: []finding.PlanProblem{
			scan("orders", "840,000", "state"), {Code: "plan/sort", Evidence: "Using filesort: 840,000 rows are sorted", Try: "Try an index that gives the order."},
		}},
		{Class: top[2].ID, Missing: "explain: the statement has a hazard"},
	}
	r.Findings = finding.Examine(r.Profile, finding.DefaultLimits(), plans...)
	r.Overall = []report.Section{{Title: "Advice on indexes", Text: "1. Add index state_at (state, at) on shop.orders\n\n   Round 1: of all 840000 rows\n     *       1200  SUM(state = 'open')\n           420000  SUM(at > 1)\n"}}
	r.Sections = map[digest.ID][]report.Section{
		top[1].ID: {
			{Title: "Plan", Text: "sort\n└─ orders full scan  rows 840000  where orders.state = 'open' and " + strings.Repeat("orders.a_rather_long_name + ", 12) + "1 > 0\n"},
			{Title: "Problems", Text: "critical: full-scan of orders\n  type ALL: all 840,000 rows are read\n  Try an index that begins with state.\n"},
		},
	}
	return r
}

func TestPlansAreAsInTheGoldenFiles(t *testing.T) {
	r := withPlans(t)
	golden(t, "plans-80.txt", []byte(text(t, r, report.TextOptions{})))
	golden(t, "plans.html", []byte(page(t, r)))
	var b, indented bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	if err := json.Indent(&indented, b.Bytes(), "", "\t"); err != nil {
		t.Fatal(err)
	}
	golden(t, "plans.json", indented.Bytes())
}

// hostilePlans is a report all of whose texts were written by an attacker: names of
// tables and indexes, conditions, and errors of the server.
func hostilePlans(evil string) *report.Report {
	var agg digest.Aggregator
	for range 5 {
		agg.Add(&slowlog.Event{Query: "SELECT a FROM t", QueryTime: time.Second, Weight: 1})
		agg.Add(&slowlog.Event{Query: "SELECT b FROM u", QueryTime: time.Second, Weight: 1})
	}
	r := &report.Report{Profile: agg.Profile(), Overall: []report.Section{{Title: evil, Text: evil}}, Sections: map[digest.ID][]report.Section{}}
	looked := []finding.PlanCheck{{Code: evil, Title: evil, Why: evil, Fine: evil, Limit: evil}, {Code: "plan/b", Title: evil, Why: evil, Fine: evil, Limit: evil}}
	var plans []finding.Plan
	for c := range r.Profile.Classes() {
		r.Sections[c.ID] = []report.Section{{Title: evil, Text: evil}}
		plans = append(plans, finding.Plan{Class: c.ID, Looked: looked, Problems: []finding.PlanProblem{{Code: evil, Evidence: evil, Try: evil + c.ID.Short()}}})
	}
	plans = append(plans, finding.Plan{Class: plans[0].Class, Missing: evil})
	r.Findings = finding.Examine(r.Profile, finding.DefaultLimits(), plans...)
	return r
}

func TestNothingOfAPlanIsWrittenUnescaped(t *testing.T) {
	const evil = "</script><script>window.owned=1</script><img src=x onerror=window.owned=1>\" ' onload=window.owned=1 x=\u202e\u2066\x1b[2J\u009b\U000e0041"
	r := hostilePlans(evil)
	html := page(t, r)
	if n := strings.Count(html, "<script"); n != 1 {
		t.Errorf("%d script elements, want the page's own", n)
	}
	if n := strings.Count(html, "&lt;/script&gt;"); n < 10 {
		t.Errorf("the texts are on the page %d times", n)
	}
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	for form, out := range map[string]string{"HTML": html, "text": text(t, r, report.TextOptions{}), "JSON": b.String()} {
		if form == "HTML" && strings.Contains(out, "<img") {
			t.Error("an element of a plan is on the page")
		}
		for i, c := range out {
			if c != '\n' && c != '\t' && (c < ' ' || c == 0x9b || c == 0x202e || c == 0x2066 || c >= 0xe0000) {
				t.Fatalf("%s has %U at %d: %q", form, c, i, out[max(i-20, 0):i])
			}
		}
	}
}

// A plan's texts name columns and say why, at most; a megabyte is somebody's joke.
func TestAMegabyteInAPlanDoesNotFillThePage(t *testing.T) {
	r := hostilePlans(strings.Repeat("<b>'\u202e", 150_000))
	for form, out := range map[string]string{"HTML": page(t, r), "text": text(t, r, report.TextOptions{})} {
		if len(out) > 1_000_000 {
			t.Errorf("%s has %d bytes", form, len(out))
		}
	}
}
