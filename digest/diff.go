package digest

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/quern-dev/quern/internal/fixed"
)

// A Diff is what changed from one profile to another.
type Diff struct {
	Before, After *Profile
	// Changes has every class of either profile, the largest change of load
	// first.
	Changes []Change
	// Threshold is above 0 if one log seems to leave out what the other has: the
	// shortest query times of the two are more than a factor of 4 apart. It is the
	// longer one, and latencies are compared above it only.
	Threshold time.Duration
}

// A Change is what changed about a class.
//
// Whether a change is more than chance is decided, for the latency, by the
// rank-sum test of Mann and Whitney (1947) on the query times. It asks nothing of
// their distribution and takes the number of observations into account, of
// weighted ones the number of equal ones that would tell as much (Kish 1965). For
// the load it is the t-test of Welch (1947) on the loads of the intervals of the
// two timelines, 8 to 64 of the shorter one, so that a class that comes in bursts
// has to change by more than its bursts. As many classes are compared, the
// verdicts are those of Benjamini and Hochberg (1995), of which not more than 1
// in 20 is expected to be wrong; and a change of less than a tenth is none.
type Change struct {
	ID            ID
	Before, After *Class // nil where the class is new or gone

	// Load is the sum of query times per second of time: how many statements of
	// the class were running on average. Where a log does not tell its times, it
	// is the sum of query times.
	LoadBefore, LoadAfter float64
	// Rate is the number of statements per second, or their number.
	RateBefore, RateAfter float64
	// Load is the verdict on the load: More, Less or Same. LoadP is the
	// probability of so large a difference by chance, 1 where the timelines are
	// too short to tell.
	Load  Verdict
	LoadP float64

	// Ratio is the mean query time after over that before, MedianRatio the same
	// of the median, above Diff.Threshold both; 0 where there is no such time.
	Ratio, MedianRatio float64
	// Latency is the verdict on the query times: More (slower), Less (faster) or
	// Same. LatencyP is the probability of so large a difference by chance, 1
	// where one of the two has none.
	Latency  Verdict
	LatencyP float64
}

// New reports whether the class is in the later profile only.
func (c *Change) New() bool { return c.Before == nil }

// Gone reports whether the class is in the earlier profile only.
func (c *Change) Gone() bool { return c.After == nil }

// Class returns the class as it was later, or else as it was before.
func (c *Change) Class() *Class {
	if c.After != nil {
		return c.After
	}
	return c.Before
}

// A Verdict says which way something changed.
type Verdict int8

const (
	Less Verdict = iota - 1
	Same         // or too few observations to tell
	More
)

func (v Verdict) String() string { return [...]string{"less", "same", "more"}[v+1] }

const (
	falseDiscoveryRate = .05
	leastRatio         = 1.1
	thresholdFactor    = 4
	leastIntervals     = 8
	mostIntervals      = 64
)

// Compare returns what changed. Profiles of different length or sampling compare:
// loads are per second, and counts those that the events stand for. The error is
// an *OptionsError if the classes of the two are not the same thing.
func Compare(before, after *Profile) (*Diff, error) {
	a, b := before.settings, after.settings
	if err := (&settings{fingerprint: a.fingerprint, groups: a.groups}).agree(&settings{fingerprint: b.fingerprint, groups: b.groups}); err != nil {
		return nil, err
	}
	d := &Diff{Before: before, After: after}
	if low, high := before.Threshold(), after.Threshold(); max(low, high) > thresholdFactor*min(low, high) {
		d.Threshold = max(low, high)
	}
	for c := range before.Classes() {
		d.Changes = append(d.Changes, d.change(c, after.Class(c.ID)))
	}
	for c := range after.Classes() {
		if before.Class(c.ID) == nil {
			d.Changes = append(d.Changes, d.change(nil, c))
		}
	}
	d.judge(func(c *Change) (p *float64, v *Verdict) { return &c.LatencyP, &c.Latency })
	d.judge(func(c *Change) (p *float64, v *Verdict) { return &c.LoadP, &c.Load })
	slices.SortFunc(d.Changes, func(a, b Change) int {
		return cmp.Or(
			cmp.Compare(math.Abs(b.LoadAfter-b.LoadBefore), math.Abs(a.LoadAfter-a.LoadBefore)),
			slices.Compare(a.ID[:], b.ID[:]))
	})
	return d, nil
}

// judge takes back the verdicts of the changes that are not significant among
// all of them, by the procedure of Benjamini and Hochberg.
func (d *Diff) judge(of func(c *Change) (*float64, *Verdict)) {
	var ps []float64 // of what could be tested
	for i := range d.Changes {
		if p, _ := of(&d.Changes[i]); *p < 1 {
			ps = append(ps, *p)
		}
	}
	slices.Sort(ps)
	limit := 0.
	for i, p := range ps {
		if p <= falseDiscoveryRate*float64(i+1)/float64(len(ps)) {
			limit = p
		}
	}
	for i := range d.Changes {
		if p, v := of(&d.Changes[i]); *p > limit {
			*v = Same
		}
	}
}

// change compares two classes, one of which may be nil. Its verdicts say which
// way the change goes, if it is one.
func (d *Diff) change(before, after *Class) Change {
	c := Change{Before: before, After: after, LoadP: 1, LatencyP: 1}
	c.ID = c.Class().ID
	lengthBefore, lengthAfter := d.lengths()
	if before == nil {
		before = newClass(after.Kind, after.key)
	}
	if after == nil {
		after = newClass(before.Kind, before.key)
	}
	c.LoadBefore, c.LoadAfter = before.QueryTime.Seconds()/lengthBefore, after.QueryTime.Seconds()/lengthAfter
	c.RateBefore, c.RateAfter = before.Count/lengthBefore, after.Count/lengthAfter
	d.latency(&c, before, after)
	d.load(&c, before, after)
	return c
}

// lengths returns the lengths of the two profiles in seconds, 1 each where one of
// them does not tell.
func (d *Diff) lengths() (before, after float64) {
	before = d.Before.To().Sub(d.Before.From()).Seconds()
	after = d.After.To().Sub(d.After.From()).Seconds()
	if before <= 0 || after <= 0 {
		return 1, 1
	}
	return before, after
}

// latency compares the query times above the threshold.
func (d *Diff) latency(c *Change, before, after *Class) {
	if before.Kind == Suppressed {
		return // its times are no statements'
	}
	var pairs []pair
	var sums [2]struct{ weight, time float64 }
	for side, h := range [2]*Histogram{before.QueryTime.Histogram(), after.QueryTime.Histogram()} {
		for i, w := range h.cells() {
			if _, high := bucketRange(i); high < int64(d.Threshold) {
				continue
			}
			p := pair{value: float64(bucketMiddle(i))}
			p.weight[side] = fixed.Float(w)
			pairs = append(pairs, p)
			sums[side].weight += p.weight[side]
			sums[side].time += p.weight[side] * p.value
		}
	}
	if sums[0].weight == 0 || sums[1].weight == 0 {
		return
	}
	if mean := sums[0].time / sums[0].weight; mean > 0 {
		c.Ratio = sums[1].time / sums[1].weight / mean
	}
	sortPairs(pairs)
	if median := medianOf(pairs, 0); median > 0 {
		c.MedianRatio = medianOf(pairs, 1) / median
	}
	c.LatencyP, c.Latency = rankSum(pairs, [2]float64{
		before.QueryTime.h.equalValues() * sums[0].weight / before.QueryTime.Count(),
		after.QueryTime.h.equalValues() * sums[1].weight / after.QueryTime.Count(),
	})
	c.Latency = c.Latency.atLeast(c.Ratio, c.MedianRatio)
}

// atLeast returns Same unless one of the ratios is far enough from 1 in the
// direction of v. A ratio of 0 is not known.
func (v Verdict) atLeast(ratios ...float64) Verdict {
	known := false
	for _, r := range ratios {
		if r == 0 {
			continue
		}
		known = true
		if v == More && r >= leastRatio || v == Less && r <= 1/leastRatio {
			return v
		}
	}
	if known {
		return Same
	}
	return v
}

// equalValues returns how many of the values count: what share of them, by their
// unequal weights, tells as much as so many of equal weight.
func (s *Summary) equalValues() float64 {
	m := s.sums()
	if w := m.weights.Float64(); w > 0 {
		return float64(s.weight) / w * float64(s.weight)
	}
	return 0
}

// squares returns the sum of the squares of the values.
func (s *Summary) squares() float64 {
	m := s.sums()
	return m.squares.Float64() / fixed.One
}

// meanWeight returns the mean weight of the statements that the values stand
// for, each of which has the weight of its value.
func (s *Summary) meanWeight() float64 {
	if n := s.equalValues(); n > 0 {
		return s.Count() / n
	}
	return 1
}

// load compares the loads of the intervals of both timelines.
func (d *Diff) load(c *Change, before, after *Class) {
	if d.Before.From().IsZero() || d.After.From().IsZero() {
		return
	}
	lines := [2]timeline{before.details().timeline, after.details().timeline}
	shift := max(lines[0].shift, lines[1].shift)
	intervals := func(p *Profile) float64 {
		return float64(p.To().Unix()>>shift-p.From().Unix()>>shift) + 1
	}
	for min(intervals(d.Before), intervals(d.After)) > mostIntervals {
		shift++
	}
	n := [2]float64{intervals(d.Before), intervals(d.After)}
	if min(n[0], n[1]) < leastIntervals {
		return
	}
	// If nothing changed and statements came by chance, each for itself, an
	// interval's load would have this variance, times the weight that one logged
	// statement has. Where there are few or none, it is more than the variance
	// that shows.
	byChance := (before.QueryTime.h.squares() + after.QueryTime.h.squares()) / (n[0] + n[1])
	var means, errors [2]float64 // errors are squares of standard errors
	for i, p := range [2]*Profile{d.Before, d.After} {
		t := lines[i]
		t.cells = slices.Clone(t.cells)
		t.widen(shift - t.shift)
		var sum, sumSquares float64
		for _, cell := range t.cells {
			load := cell.time.Float64() / fixed.One
			sum += load
			sumSquares += load * load
		}
		means[i] = sum / n[i]
		errors[i] = max(
			(sumSquares/n[i]-means[i]*means[i])/(n[i]-1),
			byChance*p.totals.time.meanWeight()/n[i])
	}
	c.LoadP, c.Load = welch(means, errors, n)
	if c.LoadBefore > 0 && c.LoadAfter > 0 {
		c.Load = c.Load.atLeast(c.LoadAfter / c.LoadBefore)
	}
}

// welch is the two-sided t-test of Welch (1947), given the means of two samples,
// the squares of their standard errors, and their sizes. The verdict says which
// way the second mean differs.
func welch(mean, square, n [2]float64) (p float64, v Verdict) {
	variance := square[0] + square[1]
	if !(variance > 0) {
		return 1, Same
	}
	t2 := (mean[1] - mean[0]) * (mean[1] - mean[0]) / variance
	freedom := variance * variance / (square[0]*square[0]/(n[0]-1) + square[1]*square[1]/(n[1]-1))
	// the normal deviate as improbable as t, after Wallace (1959)
	z := (8*freedom + 1) / (8*freedom + 3) * math.Sqrt(freedom*math.Log1p(t2/freedom))
	return math.Erfc(z / math.Sqrt2), Verdict(cmp.Compare(mean[1], mean[0]))
}

// A pair is how often two samples have a value.
type pair struct {
	value  float64
	weight [2]float64
}

func sortPairs(ps []pair) {
	slices.SortFunc(ps, func(a, b pair) int { return cmp.Compare(a.value, b.value) })
}

// medianOf returns the median of one of the samples.
func medianOf(ps []pair, side int) float64 {
	var total, sum float64
	for _, p := range ps {
		total += p.weight[side]
	}
	for _, p := range ps {
		if sum += p.weight[side]; sum >= total/2 {
			return p.value
		}
	}
	return 0
}

// rankSum is the two-sided test of Mann and Whitney in its normal approximation,
// with the corrections for ties and for continuity. The pairs are sorted; n are
// the sizes of the samples, whatever their weights add up to. The verdict says
// which way the second sample differs.
func rankSum(ps []pair, n [2]float64) (p float64, v Verdict) {
	var total, below [2]float64
	for _, p := range ps {
		total[0] += p.weight[0]
		total[1] += p.weight[1]
	}
	if n[0] == 0 || n[1] == 0 || total[0] == 0 || total[1] == 0 {
		return 1, Same
	}
	// larger is the probability that a value of the second sample is above one of
	// the first, with half of that of ties; ties the sum of t^3-t over ties of
	// size t.
	var larger, ties float64
	for i := 0; i < len(ps); {
		var share [2]float64
		for first := i; i < len(ps) && ps[i].value == ps[first].value; i++ {
			share[0] += ps[i].weight[0] / total[0]
			share[1] += ps[i].weight[1] / total[1]
		}
		larger += share[1] * (below[0] + share[0]/2)
		below[0] += share[0]
		if t := share[0]*n[0] + share[1]*n[1]; t > 1 {
			ties += t*t*t - t
		}
	}
	size := n[0] + n[1]
	variance := n[0] * n[1] / 12 * (size + 1 - ties/(size*(size-1)))
	if !(variance > 0) {
		return 1, Same
	}
	u := (larger - .5) * n[0] * n[1]
	z := max(math.Abs(u)-.5, 0) / math.Sqrt(variance)
	return math.Erfc(z / math.Sqrt2), Verdict(cmp.Compare(u, 0))
}
