package digest

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/quern-dev/quern/internal/fixed"
)

// totals is what is known of all events together.
type totals struct {
	events   uint64
	weight   uint64 // in units
	weighted bool   // the weight of some event is not 1
	skipped  uint64
	filtered uint64

	time       Summary   // query times of all events
	logged     uint64    // their sum in nanoseconds, whatever the weights; stays at the largest number
	statements Durations // query times of Statements
	fraction   bool      // a statement's query time is no whole second

	sessionSampled bool
	first, last    int64 // 0 for noTime
	timeline       timeline
}

func (t *totals) add(f *facts, kind Kind) {
	t.events++
	t.weight = addSaturated(t.weight, f.weight)
	t.weighted = t.weighted || f.weight != fixed.One
	t.sessionSampled = t.sessionSampled || f.sessionSampled
	if f.hasQueryTime {
		t.time.add(f.queryTime, f.weight)
		t.logged = addSaturated(t.logged, uint64(f.queryTime))
		if kind == Statements {
			t.statements.h.add(f.queryTime, f.weight)
			t.fraction = t.fraction || f.queryTime%int64(time.Second) != 0
		}
	}
	t.seen(f.time, f.time)
	t.timeline.add(f.time, f.queryTime, f.weight, profileIntervals)
}

// seen widens the range of times. The zero value of totals has none: noTime is
// kept as 0, an instant that no log has.
func (t *totals) seen(first, last int64) {
	if first == noTime || first == 0 {
		return
	}
	if t.first == 0 || first < t.first {
		t.first = first
	}
	if t.last == 0 || last > t.last {
		t.last = last
	}
}

func (t *totals) merge(o *totals) {
	t.events = addCounts(t.events, o.events)
	t.weight = addSaturated(t.weight, o.weight)
	t.weighted = t.weighted || o.weighted
	t.skipped = addCounts(t.skipped, o.skipped)
	t.filtered = addCounts(t.filtered, o.filtered)
	t.time.merge(&o.time)
	t.logged = addSaturated(t.logged, o.logged)
	t.statements.Merge(&o.statements)
	t.fraction = t.fraction || o.fraction
	t.sessionSampled = t.sessionSampled || o.sessionSampled
	t.seen(o.first, o.last)
	t.timeline.merge(&o.timeline, profileIntervals)
}

func (t *totals) clone() totals {
	c := *t
	c.time = t.time.clone()
	c.statements.h = t.statements.h.clone()
	c.timeline.cells = slices.Clone(t.timeline.cells)
	return c
}

// A Profile is a workload: classes of statements and what all of them add up
// to. It does not change, and is safe for concurrent use.
type Profile struct {
	// Events is the number of events observed, Count the sum of their weights:
	// how many statements and commands they stand for.
	Events uint64
	Count  float64
	// Skipped is the number of damaged records, Filtered that of the events that
	// the filter kept out. Neither is in any other number.
	Skipped, Filtered uint64
	// QueryTime is of all Statements together; TotalTime of whatever took time.
	QueryTime Durations

	settings settings
	totals   totals
	classes  []*Class // by ID
	overflow *Class
}

func (p *Profile) setTotals(t *totals) {
	p.totals = t.clone()
	p.Events = t.events
	p.Count = fixed.Float(t.weight)
	p.Skipped = t.skipped
	p.Filtered = t.filtered
	p.QueryTime = p.totals.statements
}

func compareClasses(a, b *Class) int {
	return cmp.Or(bytes.Compare(a.ID[:], b.ID[:]), strings.Compare(a.key, b.key))
}

// Len returns the number of classes, the overflow not counted.
func (p *Profile) Len() int { return len(p.classes) }

// Classes yields all classes by rising ID, without the overflow.
func (p *Profile) Classes() iter.Seq[*Class] { return slices.Values(p.classes) }

// Class returns the class of the ID, or nil.
func (p *Profile) Class(id ID) *Class {
	i, found := slices.BinarySearchFunc(p.classes, id, func(c *Class, id ID) int { return bytes.Compare(c.ID[:], id[:]) })
	if !found {
		return nil
	}
	return p.classes[i]
}

// Overflow returns the class of the statements whose own class found no room,
// nil if all did.
func (p *Profile) Overflow() *Class { return p.overflow }

// Top returns the n first classes by an order, all of them if n is not above 0.
// Classes that are equal by it stand in the order of their IDs. The overflow is
// not among them.
func (p *Profile) Top(n int, by Order) []*Class {
	type ranked struct {
		class *Class
		rare  bool
		value float64
	}
	rs := make([]ranked, len(p.classes))
	for i, c := range p.classes {
		rs[i] = ranked{c, c.Observed < by.atLeast, by.Value(c)}
	}
	slices.SortStableFunc(rs, func(a, b ranked) int {
		if a.rare != b.rare {
			if a.rare {
				return 1
			}
			return -1
		}
		return cmp.Compare(b.value, a.value)
	})
	if n <= 0 || n > len(rs) {
		n = len(rs)
	}
	top := make([]*Class, n)
	for i := range top {
		top[i] = rs[i].class
	}
	return top
}

// TotalTime returns the sum of query time times weight over all events. Sums
// above 292 years come out as the longest Duration.
func (p *Profile) TotalTime() time.Duration {
	m := p.totals.time.sums()
	return time.Duration(m.sum.RoundedInt64())
}

// TotalSeconds is TotalTime in seconds, without a limit.
func (p *Profile) TotalSeconds() float64 { return p.totals.time.Sum() / 1e9 }

// Share returns the part of the total time that the class took, from 0 to 1.
func (p *Profile) Share(c *Class) float64 {
	if total := p.TotalSeconds(); total > 0 {
		return c.QueryTime.Seconds() / total
	}
	return 0
}

// CountError returns the standard error of Count; see Summary.CountError.
func (p *Profile) CountError() float64 {
	return countError(&p.totals.time, p.Count, p.Events)
}

// From returns when the first event was logged, the zero time if that is not
// known.
func (p *Profile) From() time.Time {
	if p.totals.first == 0 {
		return time.Time{}
	}
	return timeOf(p.totals.first)
}

// To returns when the last event was logged, the zero time if that is not known.
func (p *Profile) To() time.Time {
	if p.totals.last == 0 {
		return time.Time{}
	}
	return timeOf(p.totals.last)
}

// Timeline returns when the events were logged.
func (p *Profile) Timeline() []Interval { return p.totals.timeline.list() }

// Sampled reports whether some event has a weight other than 1: counts and sums
// are then estimates.
func (p *Profile) Sampled() bool { return p.totals.weighted }

// SessionSampled reports whether some of the events were sampled by session. The
// errors of counts are then larger than CountError says.
func (p *Profile) SessionSampled() bool { return p.totals.sessionSampled }

// Threshold returns the query time below which the log seems to have left
// statements out: the shortest that it has. Above 0, whatever the profile says of
// the distribution of times is said of the logged statements only, and a class
// that is seldom slow looks slow.
func (p *Profile) Threshold() time.Duration { return p.QueryTime.Min() }

// WholeSeconds reports whether all query times are whole seconds, as servers
// before MySQL 5.1.21 logged them: a class of 0 s may have taken anything below 1 s.
func (p *Profile) WholeSeconds() bool {
	return p.QueryTime.Observed() > 0 && !p.totals.fraction
}

// GroupedBy returns the names of the groups, with commas between them.
func (p *Profile) GroupedBy() string { return p.settings.groups }

// Merge returns the profile of all that the profiles are of. They stay as they
// are. The error is an *OptionsError if they were made with options that do not
// agree. Of no profile it is empty.
func Merge(profiles ...*Profile) (*Profile, error) {
	var a Aggregator
	for i, p := range profiles {
		if i == 0 {
			a.ready = true
			a.start(p.settings)
		}
		if err := a.MergeProfile(p); err != nil {
			return nil, err
		}
	}
	return a.Profile(), nil
}

// Parts yields the profile in parts of which Merge makes the whole again, in any
// order: each class alone, under its ID, and what belongs to no class (totals,
// overflow) under the zero ID. Those who merge many profiles on many machines
// merge the parts of one ID, and never hold all classes in one place. The totals
// of a class's part are zero.
func (p *Profile) Parts() iter.Seq2[ID, *Profile] {
	return func(yield func(ID, *Profile) bool) {
		rest := *p
		rest.classes = nil
		if !yield(ID{}, &rest) {
			return
		}
		for i, c := range p.classes {
			if !yield(c.ID, &Profile{settings: p.settings, classes: p.classes[i : i+1 : i+1]}) {
				return
			}
		}
	}
}

// An OptionsError says why two profiles do not merge: an option on which depends
// what a class is or holds is not the same.
type OptionsError struct {
	Option     string
	Have, Want string
}

func (e *OptionsError) Error() string {
	return fmt.Sprintf("digest: profiles of different options do not merge: %s is %q in one and %q in the other", e.Option, e.Have, e.Want)
}

// agree returns an *OptionsError if o is not the same as s.
func (s *settings) agree(o *settings) error {
	for _, c := range []struct{ option, want, have string }{
		{"fingerprint", s.fingerprint, o.fingerprint},
		{"group", s.groups, o.groups},
		{"histograms", fmt.Sprint(s.hists), fmt.Sprint(o.hists)},
		{"samples", fmt.Sprint(s.samples), fmt.Sprint(o.samples)},
		{"text", s.text.String(), o.text.String()},
		{"maximum of text", fmt.Sprint(s.maxText), fmt.Sprint(o.maxText)},
	} {
		if c.have != c.want {
			return &OptionsError{c.option, c.have, c.want}
		}
	}
	return nil
}
