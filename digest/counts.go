package digest

import (
	"math"
	"time"

	"github.com/quern-dev/quern/internal/fixed"
	"github.com/quern-dev/quern/slowlog"
)

// Counts are what a server itself counted of statements of one class between two
// looks at it, as performance_schema does.
type Counts struct {
	// SQL is one of the statements, or a digest of them. Statements of which it
	// is empty are of no known class: they go to Profile.Overflow.
	SQL    string
	Schema string
	// Command is the name of an administrator command, such as Prepare, if it is
	// such that were counted. SQL has then no say.
	Command string

	Count  uint64 // statements
	Errors uint64 // of them, those that ended with an error

	// TotalTime is the sum of the query times. Times has their distribution, if
	// it is known: as many values as Count, from the server's own buckets
	// (Histogram.AddMany), so that their sum may be a little off.
	TotalTime time.Duration
	Times     *Histogram
	// Sums are the sums of other measures.
	Sums map[Measure]uint64

	First, Last time.Time // when the first and the last of them ended

	Sample     string // one of the statements whole, if one is known
	SampleTime time.Duration
}

// AddCounts adds what a server counted, as so many events of weight 1. What is
// known only as a sum, Times where it is nil among it, counts as if it were
// spread evenly over the statements: sums and means are right, and extremes and
// percentiles are means. The filter has no say.
func (a *Aggregator) AddCounts(k Counts) {
	if k.Count == 0 {
		return
	}
	a.init()
	ev := &slowlog.Event{Query: k.SQL, Schema: k.Schema, Command: k.Command}
	if k.Command != "" {
		ev.Query = ""
	}
	a.classify(ev)
	key := a.wholeKey()

	c := newClass(Kind(key[0]), string(key))
	c.Observed = k.Count
	c.weight = weightOfMany(k.Count)
	c.seen(unixNano(k.First), unixNano(k.First))
	c.seen(unixNano(k.Last), unixNano(k.Last))
	if c.QueryTime.h = spread(k.Count, uint64(max(k.TotalTime, 0))); k.Times != nil && k.Times.n > 0 {
		m := k.Times.sums()
		m.sum = fixed.U128{}
		m.sum.AddMul(uint64(max(k.TotalTime, 0)), fixed.One)
		c.QueryTime.h = k.Times.clone()
		c.QueryTime.h.moments = &m
	}
	d := new(detail)
	c.detail = d
	for m, sum := range k.Sums {
		h := spread(k.Count, sum)
		switch m {
		case QueryTime:
		case LockTime:
			c.LockTime.h = h
		case RowsExamined:
			c.RowsExamined = h
		default:
			d.measures = append(d.measures, measureSummary{measure: m, hist: a.hists[m], h: h})
		}
	}
	d.schemas.add(k.Schema, c.weight, &a.names)
	if k.Errors > 0 {
		d.errors.add(errorEntry{number: UnknownError, n: k.Errors, weight: weightOfMany(k.Errors)})
	}
	if c.last != noTime {
		d.timeline.cover(floorSecond(c.last), floorSecond(c.last), classIntervals)
		d.timeline.cells[0] = timeCell{c.weight, c.QueryTime.h.sums().sum}
	}
	f := facts{query: k.Sample, schema: k.Schema, time: c.last, queryTime: int64(k.SampleTime)}
	if s := f.sample(&a.rule); s != nil {
		d.samples = samples{slowest: s, lowest: []*Sample{s}}
		d.samples.trim(a.rule.samples)
	}
	t := totals{
		events:   k.Count,
		weight:   c.weight,
		time:     c.QueryTime.h.Summary,
		first:    c.first,
		last:     c.last,
		timeline: d.timeline,
	}
	if c.Kind == Statements {
		t.statements = c.QueryTime
		t.fraction = c.QueryTime.h.min%int64(time.Second) != 0 || c.QueryTime.h.max%int64(time.Second) != 0
	}
	a.totals.merge(&t)
	if k.SQL == "" && k.Command == "" {
		a.rest().merge(c, &a.rule)
	} else {
		a.class(key, ev).merge(c, &a.rule)
	}
}

// AddMany adds n values of weight 1 that are all v.
func (h *Histogram) AddMany(v int64, n uint64) {
	v, n = max(v, 0), min(n, maxCount)
	h.Merge(&Histogram{Summary: Summary{n: n, weight: weightOfMany(n), min: v, max: v}})
}

// spread returns n values that add up to sum, as equal as integers can be.
func spread(n, sum uint64) (h Histogram) {
	each := min(sum/n, math.MaxInt64-1)
	h.AddMany(int64(each), n-sum%n)
	h.AddMany(int64(each)+1, sum%n)
	return h
}

// weightOfMany returns the weight of n values of weight 1.
func weightOfMany(n uint64) uint64 {
	if n > maxUnweighted {
		return math.MaxUint64
	}
	return n << fixed.Bits
}
