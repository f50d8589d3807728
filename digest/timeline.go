package digest

import (
	"slices"
	"time"

	"github.com/quern-dev/quern/internal/fixed"
)

// How many intervals the timelines of a class and of a profile have at most.
const (
	classIntervals   = 32
	profileIntervals = 256
)

// An Interval is a part of a timeline.
type Interval struct {
	Start time.Time // in UTC, a multiple of Width since 1970
	Width time.Duration
	Count float64 // statements that ended in the interval
	// Seconds is the sum of their query times, which may have begun before it.
	Seconds float64
}

// timeline counts statements by when they ended. Its intervals are as many
// seconds wide as the smallest power of two with which all it has seen fit its
// limit. That width depends on the first and on the last time alone, and wider
// intervals are made of whole narrower ones, so that timelines merge in any
// order to the same result.
type timeline struct {
	shift uint  // the width is 1<<shift seconds
	first int64 // number of cells[0]: its start in seconds, divided by the width
	cells []timeCell
}

type timeCell struct {
	weight uint64     // in units
	time   fixed.U128 // sum of query time times weight
}

func (c *timeCell) add(o *timeCell) {
	c.weight = addSaturated(c.weight, o.weight)
	c.time.Add(o.time)
}

func (t *timeline) add(ns, queryTime int64, w uint64, limit int) {
	if ns == noTime {
		return
	}
	sec := floorSecond(ns)
	n := sec >> t.shift
	if at := n - t.first; at < 0 || at >= int64(len(t.cells)) {
		t.cover(n, n, limit)
		n = sec >> t.shift
	}
	c := &t.cells[n-t.first]
	c.weight = addSaturated(c.weight, w)
	c.time.AddMul(uint64(queryTime), w)
}

// floorSecond returns the second that an instant lies in.
func floorSecond(ns int64) int64 {
	sec := ns / 1e9
	if ns%1e9 < 0 {
		sec--
	}
	return sec
}

// cover makes cells for the intervals from first to last, which are numbered by
// the present width, wider ones if there would be more than limit.
func (t *timeline) cover(first, last int64, limit int) {
	if len(t.cells) > 0 {
		first = min(first, t.first)
		last = max(last, t.first+int64(len(t.cells))-1)
	}
	by := uint(0)
	for last>>by-first>>by >= int64(limit) {
		by++
	}
	t.widen(by)
	first, last = first>>by, last>>by
	if len(t.cells) == 0 {
		t.first = first
	}
	if before := t.first - first; before > 0 {
		t.cells = slices.Insert(t.cells, 0, make([]timeCell, before)...)
		t.first = first
	}
	if after := int(last-first) + 1 - len(t.cells); after > 0 {
		t.cells = append(t.cells, make([]timeCell, after)...)
	}
}

// widen makes the intervals 1<<by times as wide.
func (t *timeline) widen(by uint) {
	if by == 0 {
		return
	}
	first := t.first >> by
	kept := 0
	for i, c := range t.cells {
		at := int((t.first+int64(i))>>by - first)
		if at == kept {
			t.cells[kept] = c
			kept++
		} else {
			t.cells[at].add(&c)
		}
	}
	t.shift += by
	t.first, t.cells = first, t.cells[:kept]
}

func (t *timeline) merge(o *timeline, limit int) {
	if len(o.cells) == 0 {
		return
	}
	if len(t.cells) == 0 {
		*t = timeline{o.shift, o.first, slices.Clone(o.cells)}
		return
	}
	if o.shift > t.shift {
		t.widen(o.shift - t.shift)
	}
	by := t.shift - o.shift
	t.cover(o.first>>by, (o.first+int64(len(o.cells))-1)>>by, limit)
	by = t.shift - o.shift
	for i := range o.cells {
		t.cells[(o.first+int64(i))>>by-t.first].add(&o.cells[i])
	}
}

func (t *timeline) list() []Interval {
	var list []Interval
	for i, c := range t.cells {
		list = append(list, Interval{
			Start:   time.Unix((t.first+int64(i))<<t.shift, 0).UTC(),
			Width:   time.Second << t.shift,
			Count:   fixed.Float(c.weight),
			Seconds: c.time.Float64() / fixed.One / 1e9,
		})
	}
	return list
}
