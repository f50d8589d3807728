package finding_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/digest/finding"
)

// planned examines a workload of two classes of half the load each, and one that
// is let alone, with what is said of their plans.
func planned(t *testing.T, plans func(first, second, small digest.ID) []finding.Plan) (*finding.Examination, []*digest.Class) {
	t.Helper()
	var w workload
	w.run(100, "SELECT a FROM t WHERE b = 1", 101*time.Millisecond, nil)
	w.run(100, "SELECT c FROM u WHERE d = 1", 100*time.Millisecond, nil)
	w.run(100, "SELECT e FROM v WHERE f = 1", 10*time.Microsecond, nil)
	p := w.agg.Profile()
	top := p.Top(3, digest.ByTotalTime)
	limits := finding.DefaultLimits()
	limits.Dominant = 1
	return finding.Examine(p, limits, plans(top[0].ID, top[1].ID, top[2].ID)...), top
}

// of returns the findings of plans.
func of(e *finding.Examination) (list []finding.Finding) {
	for _, f := range e.Findings {
		if f.Code == "plan/scan" || f.Code == "plan/sort" {
			list = append(list, f)
		}
	}
	return list
}

var (
	scan   = finding.PlanCheck{Code: "plan/scan", Title: "Scan", Why: "Why scan.", Fine: "No scan", Limit: "severity low", Remedy: finding.Tune}
	sort   = finding.PlanCheck{Code: "plan/sort", Title: "Sort", Why: "Why sort.", Fine: "No sort", Limit: "severity low", Remedy: finding.Cache}
	looked = []finding.PlanCheck{scan, sort}
)

func TestProblemsOfPlansAreFindingsByKind(t *testing.T) {
	e, top := planned(t, func(first, second, small digest.ID) []finding.Plan {
		return []finding.Plan{
			{Class: first, Looked: looked, Problems: []finding.PlanProblem{{Code: "plan/scan", Evidence: "t: 5 rows", Try: "index b"}, {Code: "plan/scan", Evidence: "x: 6 rows", Try: "index x"}}},
			{Class: second, Looked: looked, Problems: []finding.PlanProblem{{Code: "plan/scan", Evidence: "u: 7 rows", Try: "index d"}}},
			{Class: small, Looked: looked, Problems: []finding.PlanProblem{{Code: "plan/sort", Evidence: "v: 8 rows", Try: "less"}}},
		}
	})
	want := []finding.Finding{{
		Code: "plan/scan", Title: "Scan", Why: "Why scan.", Actions: []finding.Action{{Remedy: finding.Tune}}, Gain: 1,
		Cases: []finding.Case{
			{Class: top[0], Evidence: "t: 5 rows; x: 6 rows; median 101ms, 1 row examined a statement", Try: "index b index x", Gain: .502},
			{Class: top[1], Evidence: "u: 7 rows; median 100ms, 1 row examined a statement", Try: "index d", Gain: .498},
		},
	}}
	same := cmp.Comparer(func(a, b *digest.Class) bool { return a == b })
	if diff := cmp.Diff(want, of(e), same, cmpopts.EquateApprox(0, .001)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	for _, c := range e.Checks {
		if c.Code == "plan/sort" {
			if diff := cmp.Diff(finding.Check{Code: "plan/sort", Title: "Sort", Fine: "No sort", Limit: "severity low"}, c); diff != "" {
				t.Errorf("what a class shows that is let alone (-want +got):\n%s", diff)
			}
			return
		}
	}
	t.Error("what was looked for in plans and is fine is not among the checks")
}

func TestWhatToTryIsSaidOnceWhereItIsTheSame(t *testing.T) {
	e, _ := planned(t, func(first, second, _ digest.ID) []finding.Plan {
		problems := []finding.PlanProblem{{Code: "plan/sort", Evidence: "5 rows", Try: "less"}}
		return []finding.Plan{{Class: first, Looked: looked, Problems: problems}, {Class: second, Looked: looked, Problems: problems}}
	})
	f := of(e)[0]
	if diff := cmp.Diff([]finding.Action{{Remedy: finding.Cache, Try: "less"}}, f.Actions); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	for _, c := range f.Cases {
		if c.Try != "" {
			t.Errorf("a case says it again: %q", c.Try)
		}
	}
}

func TestItIsToldWhichPlansWereLookedAt(t *testing.T) {
	e, top := planned(t, func(first, second, _ digest.ID) []finding.Plan {
		return []finding.Plan{{Class: first, Looked: looked}, {Class: second, Missing: "a hazard"}}
	})
	want := finding.Plans{Classes: 1, Load: .502, Missing: []finding.NoPlan{{Class: top[1].ID, Why: "a hazard"}}}
	if diff := cmp.Diff(want, e.Plans, cmpopts.EquateApprox(0, .001)); diff != "" {
		t.Errorf("plans (-want +got):\n%s", diff)
	}
	if len(of(e)) > 0 {
		t.Errorf("findings of plans without problems: %+v", of(e))
	}
}
