package goal

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/quern-dev/quern/slowlog/requestlog"
)

// A State says whether a goal is met.
type State uint8

const (
	// Unclear is a goal that is about no request of the log, whose percentile asks
	// for more requests than there are (p99 asks for 100), or that the sampling of
	// the log leaves open.
	Unclear State = iota
	Met
	Missed
)

func (s State) String() string { return [...]string{"unclear", "met", "missed"}[s] }

// A Verdict says how the requests stand to one goal.
type Verdict struct {
	Goal  Goal
	State State

	Requests float64 // that the goal is about, weighted
	Observed uint64  // the number of those in the log

	Attained Attained // the goal's percentile
	Missing  Missing

	// Apdex is the application performance index for the goal's limit T: requests
	// below T count 1, those below 4T a half.
	Apdex float64

	Breakdown Breakdown // of the requests that miss the goal
	All       Breakdown // of all

	Potential []Potential        // by component, the greatest first
	Pages     []Group            // the one with the most missing requests first
	Segments  map[string][]Group // by the attributes of Analysis.SegmentBy

	Series   []Point       // in the order of time
	Interval time.Duration // of the series
	Hiccups  []Hiccup      // intervals that stand out

	Samples []*requestlog.Request // some of the missing requests, the slowest first

	Queries *Queries // of the missing requests; nil if no query was given
}

// Attained is a percentile of the wall time with the interval of 95 % that the
// sampling of the log leaves for it. Without sampling the interval is the value.
type Attained struct{ Value, Low, High time.Duration }

// Missing is the part of the requests that miss a goal: those that take as long as
// its limit or longer.
type Missing struct {
	Requests float64 // weighted
	Observed uint64

	// Share of all requests, with the interval of 95 % that sampling leaves.
	Share, Low, High float64
}

func (m Missing) String() string {
	if m.Low == m.High {
		return fmt.Sprintf("%.0f (%.2f%%)", m.Requests, 100*m.Share)
	}
	return fmt.Sprintf("%.0f (%.2f%%, %.2f%% to %.2f%%)", m.Requests, 100*m.Share, 100*m.Low, 100*m.High)
}

// A Group is the requests of one page, or of one value of a segment.
type Group struct {
	Name      string
	Requests  float64
	Attained  time.Duration // the goal's percentile
	Missing   Missing
	Breakdown Breakdown // of the missing requests
	All       Breakdown
}

// A Potential says what could be won at one component.
type Potential struct {
	Component string
	Share     float64 // of the time of the missing requests: more cannot be won

	// What would come of it if the component took no time, a tenth, or half.
	Gone, Tenth, Half Gain
}

// A Gain says how many of the missing requests would meet the goal.
type Gain struct {
	Requests float64 // weighted
	Share    float64 // of the missing requests
	Meets    bool    // the goal would be met
}

// Verdicts returns a verdict for each goal, in the order of the goals.
func (a *Analysis) Verdicts() []Verdict {
	verdicts := make([]Verdict, len(a.goals))
	for _, k := range a.kinds {
		for i, l := range k.limits {
			verdicts[l.index] = a.verdict(k, i, l)
		}
	}
	return verdicts
}

func (a *Analysis) verdict(k *kind, i int, l *limit) Verdict {
	v := Verdict{Goal: l.goal, Requests: k.all.weight(), Observed: k.all.observed, All: k.all.view()}
	var missing breakdown
	if len(k.missing) > 0 {
		missing = k.missing[i]
	}
	v.Breakdown = missing.view()
	v.Missing = missingOf(&missing.count, &k.all.count)
	v.State = stateOf(l.goal, v.Missing, v.Observed)
	low, high := quantileInterval(l.goal.quantile(), &k.all.count)
	v.Attained = Attained{k.walls.Quantile(l.goal.quantile()), k.walls.Quantile(low), k.walls.Quantile(high)}
	if v.Requests > 0 {
		v.Apdex = (v.Requests - v.Missing.Requests + l.tolerating.weight()/2) / v.Requests
	}
	v.Potential = potentials(l, &missing, k.all.weight())
	v.Pages = groupViews(k.pages, i, l.goal)
	if len(a.SegmentBy) > 0 {
		v.Segments = make(map[string][]Group)
		for attr, values := range k.segments {
			v.Segments[attr] = groupViews(values, i, l.goal)
		}
	}
	v.Interval = k.series.length()
	v.Series = k.series.points(i, l.goal)
	v.Hiccups = k.series.hiccups(i, l.goal)
	for i := range v.Hiccups {
		a.join.running(&v.Hiccups[i])
	}
	for _, s := range l.samples {
		v.Samples = append(v.Samples, s.Request)
	}
	slices.SortFunc(v.Samples, func(a, b *requestlog.Request) int {
		return cmp.Or(cmp.Compare(b.Wall, a.Wall), a.Time.Compare(b.Time), cmp.Compare(a.ID, b.ID))
	})
	v.Queries = a.join.queries(l.index, &a.Join)
	return v
}

func missingOf(missing, all *count) Missing {
	m := Missing{Requests: missing.weight(), Observed: missing.observed}
	m.Share, m.Low, m.High = shareInterval(missing, all)
	return m
}

// stateOf decides by the interval of the missing share. A percentile that so few
// requests cannot show is unclear, unless it is missed whatever the others do.
func stateOf(g Goal, m Missing, observed uint64) State {
	if observed == 0 {
		return Unclear
	}
	if float64(observed) < math.Floor(1/g.allowed()+1e-9) {
		if low, _ := wilson(float64(m.Observed)/float64(observed), float64(observed), z); low > g.allowed() {
			return Missed
		}
		return Unclear
	}
	// The weights are sums of fixed-point numbers: allow for the rounding of 1-p.
	const epsilon = 1e-12
	switch {
	case m.High <= g.allowed()+epsilon:
		return Met
	case m.Low > g.allowed()+epsilon:
		return Missed
	}
	return Unclear
}

func potentials(l *limit, missing *breakdown, all float64) []Potential {
	wall := float(missing.wall)
	var list []Potential
	for name, g := range l.gains {
		p := Potential{Component: name}
		if wall > 0 {
			p.Share = missing.sum(name) / wall
		}
		for _, to := range [...]struct {
			gain *Gain
			n    *count
		}{{&p.Gone, &g.gone}, {&p.Tenth, &g.tenth}, {&p.Half, &g.half}} {
			to.gain.Requests = to.n.weight()
			to.gain.Share = to.n.weight() / missing.weight()
			to.gain.Meets = (missing.weight()-to.n.weight())/all <= l.goal.allowed()+1e-12
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b Potential) int {
		return cmp.Or(cmp.Compare(b.Gone.Requests, a.Gone.Requests), cmp.Compare(b.Share, a.Share), cmp.Compare(a.Component, b.Component))
	})
	return list
}

func groupViews(groups map[string]*group, limit int, goal Goal) []Group {
	list := make([]Group, 0, len(groups))
	for name, g := range groups {
		list = append(list, Group{
			Name: name, Requests: g.all.weight(), Attained: g.walls.Quantile(goal.quantile()),
			Missing: missingOf(&g.missing[limit].count, &g.all.count), Breakdown: g.missing[limit].view(), All: g.all.view(),
		})
	}
	slices.SortFunc(list, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Missing.Requests, a.Missing.Requests), cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Name, b.Name))
	})
	return list
}
