package explain

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/digest/finding"
	"github.com/quern-dev/quern/slowlog"
)

// busy is a workload of which the statement is 4/5, and the statement's class.
func busy(sql string) (*digest.Profile, digest.ID) {
	var agg digest.Aggregator
	for range 10 {
		agg.Add(&slowlog.Event{Query: sql, QueryTime: 400 * time.Millisecond, Weight: 1})
		agg.Add(&slowlog.Event{Query: "DO 1", QueryTime: 100 * time.Millisecond, Weight: 1})
	}
	p := agg.Profile()
	return p, p.Top(1, digest.ByTotalTime)[0].ID
}

// found reports whether the plan's problem is a finding in a workload, which is
// then held to what a finding has to say.
func found(t *testing.T, p *Plan, sql string, code ProblemCode) bool {
	t.Helper()
	profile, class := busy(sql)
	e := finding.Examine(profile, finding.DefaultLimits(), p.Findings(class, Info))
	for _, f := range e.Findings {
		if f.Code != "plan/"+string(code) {
			continue
		}
		if f.Title == "" || f.Why == "" || len(f.Actions) != 1 || len(f.Cases) != 1 {
			t.Fatalf("%+v", f)
		}
		if c := f.Cases[0]; strings.IndexFunc(c.Evidence, unicode.IsDigit) < 0 || f.Actions[0].Try == "" || c.Class.ID != class {
			t.Errorf("%+v", f)
		}
		if f.Gain < .79 || f.Gain > .81 {
			t.Errorf("it wins %v at most of a class of 4/5 of the load", f.Gain)
		}
		return true
	}
	return false
}

func TestEveryProblemThatWeighsIsAKindOfFinding(t *testing.T) {
	var want, got []string
	for _, c := range checks() {
		if c.code != EmptyTable && c.code != ImpossibleCondition && c.code != NoMatchingRow { // worth knowing, no more
			want = append(want, string(c.code))
		}
	}
	for code, k := range kinds {
		got = append(got, string(code))
		if k.title == "" || k.why == "" || k.remedy == finding.Measure {
			t.Errorf("%s: %+v", code, k)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}

func TestAFindingSaysTableAccessAndRows(t *testing.T) {
	const table = "id\tselect_type\ttable\ttype\tpossible_keys\tkey\tkey_len\tref\trows\tExtra\n"
	p, err := Parse(table + "1\tSIMPLE\to\tALL\tNULL\tNULL\tNULL\tNULL\t50000\tUsing where; Using filesort")
	if err != nil {
		t.Fatal(err)
	}
	profile, class := busy("SELECT * FROM orders o WHERE note = 'x' ORDER BY at")
	e := finding.Examine(profile, finding.DefaultLimits(), p.Findings(class, Medium))
	i := slices.IndexFunc(e.Findings, func(f finding.Finding) bool { return f.Code == "plan/full-scan" })
	if i < 0 {
		t.Fatalf("%+v", e.Findings)
	}
	if diff := cmp.Diff("table o: type ALL: all 50,000 rows are read, 50,000 pass; median 400ms", e.Findings[i].Cases[0].Evidence); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
	if e.Plans.Classes != 1 || e.Plans.Load < .79 || e.Plans.Load > .81 {
		t.Errorf("%+v", e.Plans)
	}
	var fine []string
	for _, c := range e.Fine() {
		fine = append(fine, c.Code)
	}
	for code, want := range map[string]bool{"plan/full-scan": false, "plan/large-sort": false, "plan/cartesian-join": true, "plan/empty-table": false} {
		if slices.Contains(fine, code) != want {
			t.Errorf("%s is fine: %v, want %v", code, !want, want)
		}
	}
}

func TestAProblemBelowTheSeverityIsNoFinding(t *testing.T) {
	const table = "id\tselect_type\ttable\ttype\tpossible_keys\tkey\tkey_len\tref\trows\tExtra\n"
	p, err := Parse(table + "1\tSIMPLE\to\tALL\tNULL\tNULL\tNULL\tNULL\t50000\tUsing where")
	if err != nil {
		t.Fatal(err)
	}
	profile, class := busy("SELECT * FROM orders o WHERE note = 'x'")
	for least, want := range map[Severity]bool{Info: true, High: true, Critical: false} {
		e := finding.Examine(profile, finding.DefaultLimits(), p.Findings(class, least))
		got := slices.ContainsFunc(e.Findings, func(f finding.Finding) bool { return f.Code == "plan/full-scan" })
		if got != want {
			t.Errorf("from %s on: found %v, want %v", least, got, want)
		}
		for _, c := range e.Checks {
			if c.Code == "plan/full-scan" && c.Limit != "severity "+least.String() {
				t.Errorf("the check names the limit %q", c.Limit)
			}
		}
	}
	if p := new(Plan).Findings(class, Info); p.Missing == "" {
		t.Error("nothing is said of a plan that is none")
	}
}
