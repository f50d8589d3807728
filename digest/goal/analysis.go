package goal

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/internal/fixed"
	"github.com/quern-dev/quern/slowlog/requestlog"
)

// An Analysis holds requests against goals. Its memory grows with the number of
// pages, segments, components and intervals, all of them bounded, and not with the
// number of requests. It is not for concurrent use; make one for each goroutine and
// Merge them.
type Analysis struct {
	// Interval is the length of the intervals of the time series; 0 means 5
	// minutes. It is doubled as often as the series would have more than 2000.
	Interval time.Duration

	// SegmentBy names attributes of requests. The requests of each goal are also
	// grouped by their values; by those of several where the names are joined with
	// plus signs: page+user.
	SegmentBy []string

	// MaxGroups bounds the pages of a goal, and the values of each of SegmentBy;
	// further ones are one group, OtherName. 0 means 1000.
	MaxGroups int

	// Join says how queries are joined to the missing requests.
	Join JoinOptions

	kinds []*kind
	goals []Goal
	join  join
	stats Stats

	scratch []byte
}

// Stats counts what an Analysis was given.
type Stats struct {
	Requests  uint64 // given to Add
	NoGoal    uint64 // of them matched by no goal
	NoWall    uint64 // left out, because the log does not say how long they took
	Absurd    uint64 // left out, because a time of theirs is negative or above requestlog.MaxDuration
	From, To  time.Time
	Queries   uint64 // given to AddQuery
	QueryFrom time.Time
	QueryTo   time.Time
}

// A kind is the requests that some goals are about, with the limits of those goals.
type kind struct {
	goal   Goal
	limits []*limit

	group
	pages    map[string]*group
	segments map[string]map[string]*group // by attribute and value
	series   series
}

// A limit is what one goal demands of its kind.
type limit struct {
	goal  Goal
	index int // among the goals of the analysis

	tolerating count // of Apdex: more than the limit, less than four times
	gains      map[string]*gains
	samples    []sample // in the order of their hashes
}

// A sample is a missing request that is kept.
type sample struct {
	hash uint64
	*requestlog.Request
}

// maxSamples is the number of missing requests that are kept of each goal: those
// with the lowest hashes, so that they are the same in whatever order they come.
const maxSamples = 5

func (l *limit) keep(hash uint64, r *requestlog.Request, clone bool) {
	i, _ := slices.BinarySearchFunc(l.samples, hash, func(s sample, hash uint64) int { return cmp.Compare(s.hash, hash) })
	if i >= maxSamples {
		return
	}
	if clone {
		r = r.Clone()
	}
	l.samples = slices.Insert(l.samples, i, sample{hash, r})
	l.samples = l.samples[:min(len(l.samples), maxSamples)]
}

// sampleHash depends on what tells requests apart.
func (a *Analysis) sampleHash(r *requestlog.Request) uint64 {
	a.scratch = append(append(append(a.scratch[:0], r.ID...), r.URL...), r.Page...)
	a.scratch = binary.LittleEndian.AppendUint64(a.scratch, uint64(r.Time.UnixNano()))
	a.scratch = binary.LittleEndian.AppendUint64(a.scratch, uint64(r.Wall))
	return hashOf(a.scratch)
}

// A group adds up requests, and apart those that miss each limit.
type group struct {
	walls   digest.Durations
	all     breakdown
	missing []breakdown // by limit
}

// gains counts the missing requests that would meet the goal if one part of their
// time were gone, or that many times shorter.
type gains struct{ gone, tenth, half count }

// NewAnalysis returns an Analysis for the goals. Set its fields before the first Add.
// It panics if a Percentile is not above 0 and below 100, as those are that Parse
// returns.
func NewAnalysis(goals []Goal) *Analysis {
	for _, g := range goals {
		if !(g.Percentile > 0 && g.Percentile < 100) {
			panic(fmt.Sprintf("goal: no percentile %v: want one above 0 and below 100, such as 95", g.Percentile))
		}
	}
	a := &Analysis{goals: slices.Clone(goals)}
	a.join.entries, a.join.classes = make(map[string]*entry), make(map[digest.ID]string)
	for i, g := range goals {
		l := &limit{goal: g, index: i, gains: make(map[string]*gains)}
		k := slices.IndexFunc(a.kinds, func(k *kind) bool { return k.goal.Name() == g.Name() })
		if k < 0 {
			k = len(a.kinds)
			a.kinds = append(a.kinds, &kind{goal: g, pages: make(map[string]*group), segments: make(map[string]map[string]*group)})
		}
		a.kinds[k].limits = append(a.kinds[k].limits, l)
	}
	return a
}

// Stats returns what the analysis was given so far.
func (a *Analysis) Stats() Stats { return a.stats }

// Goals returns the goals.
func (a *Analysis) Goals() []Goal { return slices.Clone(a.goals) }

func (a *Analysis) maxGroups() int {
	if a.MaxGroups > 0 {
		return a.MaxGroups
	}
	return 1000
}

// Add takes a request. It keeps no memory of r.
func (a *Analysis) Add(r *requestlog.Request) {
	a.stats.Requests++
	switch w := fixed.Weight(r.Weight); {
	case r.Flags&requestlog.NoWall != 0:
		a.stats.NoWall++
	case absurd(r):
		a.stats.Absurd++
	case w > 0:
		if !r.Time.IsZero() {
			a.stats.From, a.stats.To = span(a.stats.From, a.stats.To, r.Time, r.Time)
		}
		a.add(r, w)
	}
}

// absurd says whether a time of the request cannot be true; sums would drown in it.
func absurd(r *requestlog.Request) bool {
	bad := func(d time.Duration) bool { return d < 0 || d > requestlog.MaxDuration }
	for i := range r.Waits {
		if bad(r.Waits[i].Time) || r.Waits[i].Calls < 0 {
			return true
		}
	}
	return bad(r.Wall) || bad(r.CPUUser) || bad(r.CPUSystem)
}

// segment returns the request's value of an attribute, or its values of several.
func (a *Analysis) segment(r *requestlog.Request, attrs string) (string, bool) {
	first, rest, several := strings.Cut(attrs, "+")
	value, ok := r.Attr(first)
	if !several || !ok {
		return value, ok
	}
	other, ok := a.segment(r, rest)
	return value + " " + other, ok
}

// span widens a span of time, in which zero means unknown, by another.
func span(from, to, from2, to2 time.Time) (time.Time, time.Time) {
	if from.IsZero() || !from2.IsZero() && from2.Before(from) {
		from = from2
	}
	if to2.After(to) {
		to = to2
	}
	return from, to
}

func (a *Analysis) add(r *requestlog.Request, w uint64) {
	matched := false
	var missed []int
	for _, k := range a.kinds {
		if !k.goal.Matches(r) {
			continue
		}
		matched = true
		k.group.add(r, w, k.limits)
		groupOf(k.pages, r.Page, a.maxGroups()).add(r, w, k.limits)
		for _, attr := range a.SegmentBy {
			if value, ok := a.segment(r, attr); ok {
				values := k.segments[attr]
				if values == nil {
					values = make(map[string]*group)
					k.segments[attr] = values
				}
				groupOf(values, value, a.maxGroups()).add(r, w, k.limits)
			}
		}
		k.series.add(r, w, k.limits, a.Interval, a.maxGroups())
		for _, l := range k.limits {
			if r.Wall < l.goal.Limit {
				continue
			}
			missed = append(missed, l.index)
			if r.Wall < 4*l.goal.Limit {
				l.tolerating.add(w)
			}
			l.potential(r, w)
			l.keep(a.sampleHash(r), r, true)
		}
	}
	if !matched {
		a.stats.NoGoal++
	}
	a.join.request(r, w, missed, &a.Join)
}

// groupOf returns the group of that name, or the one of all others.
func groupOf(groups map[string]*group, name string, most int) *group {
	g := groups[name]
	if g != nil {
		return g
	}
	if len(groups) >= most {
		name = OtherName
		if g = groups[name]; g != nil {
			return g
		}
	}
	g = new(group)
	groups[strings.Clone(name)] = g
	return g
}

func (g *group) add(r *requestlog.Request, w uint64, limits []*limit) {
	g.walls.AddWeighted(r.Wall, fixed.Float(w))
	g.all.add(r, w)
	if len(g.missing) == 0 {
		g.missing = make([]breakdown, len(limits))
	}
	for i, l := range limits {
		if r.Wall >= l.goal.Limit {
			g.missing[i].add(r, w)
		}
	}
}

func (g *group) merge(o *group) {
	g.walls.Merge(&o.walls)
	g.all.merge(&o.all)
	if len(g.missing) == 0 {
		g.missing = make([]breakdown, len(o.missing))
	}
	for i := range o.missing {
		g.missing[i].merge(&o.missing[i])
	}
}

// potential counts a missing request for each part of its time that it would meet
// the goal without.
func (l *limit) potential(r *requestlog.Request, w uint64) {
	l.gain(CPU, r.CPU(), r, w)
	l.gain(Lost, max(0, r.Lost()), r, w)
	for i := range r.Waits {
		l.gain(r.Waits[i].Component, r.Waits[i].Time, r, w)
	}
}

func (l *limit) gain(name string, d time.Duration, r *requestlog.Request, w uint64) {
	if d <= 0 {
		return
	}
	g := l.gains[name]
	if g == nil {
		if len(l.gains) >= maxComponents+2 {
			return // beyond the bound the breakdown has one part of all, of which no single one can be made faster
		}
		g = new(gains)
		l.gains[strings.Clone(name)] = g
	}
	// Where waits overlap, the request still takes as long as the longest other one.
	floor := longestOther(name, r)
	for _, try := range [...]struct {
		left time.Duration
		meet *count
	}{{0, &g.gone}, {d / 10, &g.tenth}, {d / 2, &g.half}} {
		if max(r.Wall-d+try.left, floor) < l.goal.Limit {
			try.meet.add(w)
		}
	}
}

func longestOther(name string, r *requestlog.Request) time.Duration {
	var longest time.Duration
	if name != CPU {
		longest = r.CPU()
	}
	for i := range r.Waits {
		if r.Waits[i].Component != name {
			longest = max(longest, r.Waits[i].Time)
		}
	}
	return longest
}

// ErrGoals says that two analyses cannot be merged because their goals, intervals or
// segments differ.
var ErrGoals = errors.New("goal: analyses of different goals, intervals or segments cannot be merged")

// Merge adds what o was given. The result is that of one Analysis that was given
// all, in whatever order, as long as no bound was reached; under a bound the totals
// still are. o is not to be used afterwards.
func (a *Analysis) Merge(o *Analysis) error {
	if len(a.goals) != len(o.goals) || a.Interval != o.Interval || !slices.Equal(a.SegmentBy, o.SegmentBy) {
		return ErrGoals
	}
	for i := range a.goals {
		if a.goals[i].String() != o.goals[i].String() {
			return ErrGoals
		}
	}
	for i, k := range a.kinds {
		ok := o.kinds[i]
		k.group.merge(&ok.group)
		mergeGroups(k.pages, ok.pages, a.maxGroups())
		for attr, values := range ok.segments {
			if k.segments[attr] == nil {
				k.segments[attr] = make(map[string]*group)
			}
			mergeGroups(k.segments[attr], values, a.maxGroups())
		}
		k.series.merge(&ok.series, a.maxGroups())
		for j, l := range k.limits {
			ol := ok.limits[j]
			l.tolerating.merge(&ol.tolerating)
			for _, s := range ol.samples {
				l.keep(s.hash, s.Request, false)
			}
			for name, og := range ol.gains {
				g := l.gains[name]
				if g == nil {
					g = new(gains)
					l.gains[name] = g
				}
				g.gone.merge(&og.gone)
				g.tenth.merge(&og.tenth)
				g.half.merge(&og.half)
			}
		}
	}
	a.join.merge(&o.join, &a.Join)
	s, t := &a.stats, &o.stats
	s.Requests += t.Requests
	s.NoGoal += t.NoGoal
	s.NoWall += t.NoWall
	s.Absurd += t.Absurd
	s.From, s.To = span(s.From, s.To, t.From, t.To)
	s.Queries += t.Queries
	s.QueryFrom, s.QueryTo = span(s.QueryFrom, s.QueryTo, t.QueryFrom, t.QueryTo)
	return nil
}

func mergeGroups(groups, others map[string]*group, most int) {
	for name, o := range others {
		groupOf(groups, name, most).merge(o)
	}
}
