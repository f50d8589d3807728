package digest

import (
	"fmt"
	"iter"
	"math"
	"math/big"
	"time"

	"github.com/quern-dev/quern/internal/fixed"
)

// MaxWeight is the largest weight that one value can have; larger ones count as
// this.
const MaxWeight = fixed.MaxWeight

// maxUnweighted values of weight 1 are as many as a sum of weights can hold.
const maxUnweighted = math.MaxUint64 >> fixed.Bits

// A Summary is what is known of a set of weighted integers without their
// distribution: how many, their sum, their extremes and their variance. All of
// it is exact integer arithmetic, so that summaries merge in any order to the
// same result. The zero value is empty.
type Summary struct {
	n        uint64 // values added
	weight   uint64 // sum of their weights, in units; stays at the largest number
	min, max int64
	// nil as long as the fields above tell the rest: all values are one value,
	// and there is one only or the weights are all 1
	moments *moments
}

// moments are sums over the values v of weight w, the weight in units.
type moments struct {
	sum     fixed.U128 // w v
	weights fixed.U128 // w w
	squares fixed.U192 // w v v
}

func (s *Summary) add(v int64, w uint64) {
	v = max(v, 0)
	if s.n == 0 {
		s.n, s.weight, s.min, s.max = 1, w, v, v
		return
	}
	if s.moments == nil && (v != s.min || v != s.max || w != fixed.One || !s.weightsAreOne()) {
		m := s.sums()
		s.moments = &m
	}
	if m := s.moments; m != nil {
		if v != 0 { // much is counted that hardly ever happens
			m.sum.AddMul(uint64(v), w)
			m.squares.AddMul(uint64(v), uint64(v), w)
		}
		m.weights.AddMul(w, w)
	}
	s.n++
	s.weight = addSaturated(s.weight, w)
	s.min = min(s.min, v)
	s.max = max(s.max, v)
}

// sums returns the moments, kept or not.
func (s *Summary) sums() moments {
	if s.moments != nil {
		return *s.moments
	}
	var m moments
	m.sum.AddMul(uint64(s.min), s.weight)
	m.squares.AddMul(uint64(s.min), uint64(s.min), s.weight)
	if s.n == 1 {
		m.weights.AddMul(s.weight, s.weight)
	} else {
		m.weights.AddMul(s.weight, fixed.One)
	}
	return m
}

func (s *Summary) merge(o *Summary) {
	if o.n == 0 {
		return
	}
	if s.n == 0 {
		*s = o.clone()
		return
	}
	plain := s.moments == nil && o.moments == nil && s.min == o.min && s.weightsAreOne() && o.weightsAreOne()
	if !plain {
		m, om := s.sums(), o.sums()
		m.sum.Add(om.sum)
		m.squares.Add(om.squares)
		m.weights.Add(om.weights)
		s.moments = &m
	}
	s.n = addCounts(s.n, o.n)
	s.weight = addSaturated(s.weight, o.weight)
	s.min = min(s.min, o.min)
	s.max = max(s.max, o.max)
}

// weightsAreOne reports whether the weights add up to the number of values, as
// they do where each is 1.
func (s *Summary) weightsAreOne() bool { return s.weight == s.n<<fixed.Bits && s.n <= maxUnweighted }

func (s *Summary) clone() Summary {
	c := *s
	if s.moments != nil {
		m := *s.moments
		c.moments = &m
	}
	return c
}

// Observed returns the number of values added, whatever their weights.
func (s *Summary) Observed() uint64 { return s.n }

// Count returns the sum of the weights: the number of values that those
// observed stand for.
func (s *Summary) Count() float64 { return fixed.Float(s.weight) }

// CountError returns the standard error of Count as an estimate from a sample
// in which a value of weight w was kept with probability 1/w, each for itself:
// the square root of the sum of w(w-1), after Horvitz and Thompson (1952). It is
// 0 where all weights are 1. Where whole sessions are kept or left out the error
// is larger than this.
func (s *Summary) CountError() float64 {
	m := s.sums()
	variance := m.weights.Float64()/(fixed.One*fixed.One) - s.Count()
	return math.Sqrt(max(variance, 0))
}

// Sum returns the sum of value times weight, the float64 nearest to the exact
// integer that is kept.
func (s *Summary) Sum() float64 {
	m := s.sums()
	return m.sum.Float64() / fixed.One
}

// Min returns the smallest value, 0 of an empty Summary.
func (s *Summary) Min() int64 { return s.min }

// Max returns the largest value, 0 of an empty Summary.
func (s *Summary) Max() int64 { return s.max }

// Mean returns the weighted mean, 0 of an empty Summary.
func (s *Summary) Mean() float64 {
	if s.weight == 0 {
		return 0
	}
	return s.Sum() / s.Count()
}

// Variance returns the weighted variance of the values around their mean, that
// of the values as a whole population. It is computed from exact sums: values
// that lie close together far from 0 do not cancel.
func (s *Summary) Variance() float64 {
	if s.weight == 0 || s.min == s.max {
		return 0
	}
	m := s.sums()
	// (W Q - S S) / (W W) with the sums of weights W, of values S and of squares Q
	w := new(big.Int).SetUint64(s.weight)
	sum := m.sum.Big()
	d := new(big.Int).Mul(w, m.squares.Big())
	d.Sub(d, sum.Mul(sum, sum))
	v, _ := new(big.Rat).SetFrac(d, w.Mul(w, w)).Float64()
	return max(v, 0)
}

// StdDev returns the square root of Variance.
func (s *Summary) StdDev() float64 { return math.Sqrt(s.Variance()) }

// A Histogram is a Summary and the distribution of its values: the whole numbers
// from 0 on, in buckets that are exact below 128 and 1/64 of a power of two wide
// above. It holds its precision over the whole range of int64, has nothing to
// set, and histograms merge in any order to the same result as if all values
// had been added to one.
//
// The zero value is empty and ready. A histogram of one value takes 48 bytes;
// of many, as much as the buckets that they fill, at most 30 KB.
type Histogram struct {
	Summary
	buckets *buckets // nil as long as all values are one value
}

// Add adds a value of weight 1. A negative value counts as 0.
func (h *Histogram) Add(v int64) { h.add(v, fixed.One) }

// AddWeighted adds a value that stands for w values, such as 1/rate of what was
// sampled at that rate. Weights are kept to 1/1048576; those above MaxWeight
// count as MaxWeight, and a value whose weight is not above 0 is not added.
func (h *Histogram) AddWeighted(v int64, w float64) {
	if units := fixed.Weight(w); units > 0 {
		h.add(v, units)
	}
}

func (h *Histogram) add(v int64, w uint64) {
	v = max(v, 0)
	switch {
	case h.buckets != nil:
		h.buckets.add(bucketOf(v), w)
	case h.n > 0 && v != h.min:
		h.split()
		h.buckets.add(bucketOf(v), w)
	}
	h.Summary.add(v, w)
}

// split starts the buckets with what was one value.
func (h *Histogram) split() {
	h.buckets = &buckets{sparse: make([]cell, 0, 8)}
	h.buckets.add(bucketOf(h.min), h.weight)
}

// Merge adds all values of o, which stays as it is.
func (h *Histogram) Merge(o *Histogram) {
	switch {
	case o.n == 0:
		return
	case h.n == 0:
		*h = o.clone()
		return
	case h == o:
		c := o.clone()
		o = &c
	}
	if h.buckets == nil && (o.buckets != nil || o.min != h.min) {
		h.split()
	}
	if h.buckets != nil {
		for i, w := range o.cells() {
			h.buckets.add(i, w)
		}
	}
	h.Summary.merge(&o.Summary)
}

// Clone returns a copy that shares no memory with h.
func (h *Histogram) Clone() *Histogram {
	c := h.clone()
	return &c
}

func (h *Histogram) clone() Histogram {
	c := Histogram{Summary: h.Summary.clone()}
	if h.buckets != nil {
		c.buckets = h.buckets.clone()
	}
	return c
}

// cells yields the filled buckets in rising order with their weight in units.
func (h *Histogram) cells() iter.Seq2[int, uint64] {
	return func(yield func(int, uint64) bool) {
		switch {
		case h.n == 0:
		case h.buckets == nil:
			yield(bucketOf(h.min), h.weight)
		default:
			h.buckets.each(yield)
		}
	}
}

// Quantile returns the q-quantile: the smallest value whose cumulative weight
// reaches q times the total. The value is within 1 % of the exact one, exact
// below 128, and never outside of Min and Max, which are the 0- and the
// 1-quantile. Of an empty histogram it is 0. It panics if q is not from 0 to 1:
// the 95th percentile is 0.95, and 95 would quietly be the largest value.
func (h *Histogram) Quantile(q float64) int64 {
	mustQuantile(q)
	switch {
	case h.buckets == nil || q == 0:
		return h.min
	case q == 1:
		return h.max
	}
	// Most decimal fractions are no binary ones: 0.55 times 20 is a little more
	// than 11, which must not ask for the 12th value.
	target := q * float64(h.weight) * (1 - 1e-14)
	var sum uint64
	for i, w := range h.buckets.each {
		sum = addSaturated(sum, w)
		if float64(sum) >= target {
			return min(max(bucketMiddle(i), h.min), h.max)
		}
	}
	return h.max
}

// mustQuantile panics if q is no quantile.
func mustQuantile(q float64) {
	if !(q >= 0 && q <= 1) {
		panic(fmt.Sprintf("digest: no quantile %v: want 0 to 1, such as 0.95 for the 95th percentile", q))
	}
}

// A Bucket is a part of a Histogram: the weight of the values from Low to High,
// both of them included.
type Bucket struct {
	Low, High int64
	Count     float64
}

// Buckets yields the buckets that hold a value, in rising order.
func (h *Histogram) Buckets() iter.Seq[Bucket] {
	return func(yield func(Bucket) bool) {
		for i, w := range h.cells() {
			low, high := bucketRange(i)
			if !yield(Bucket{low, high, fixed.Float(w)}) {
				return
			}
		}
	}
}

// AtMost returns the weight of the values that are at most v. The values that
// share a bucket with v count as far as the bucket lies at or below v, as if
// they were spread evenly over it.
func (h *Histogram) AtMost(v int64) float64 {
	if v >= h.max {
		return h.Count()
	}
	var sum float64
	for b := range h.Buckets() {
		if b.Low > v {
			break
		}
		if b.High > v {
			b.Count *= float64(v-b.Low+1) / float64(b.High-b.Low+1)
		}
		sum += b.Count
	}
	return sum
}

// Durations is a Histogram of time spans, kept in nanoseconds: servers write
// microseconds, TiDB writes nanoseconds, and neither is rounded. The zero value
// is empty and ready.
type Durations struct{ h Histogram }

// Add adds a time span of weight 1. A negative one counts as 0.
func (d *Durations) Add(v time.Duration) { d.h.Add(int64(v)) }

// AddWeighted adds a time span that stands for w of its kind; see
// Histogram.AddWeighted.
func (d *Durations) AddWeighted(v time.Duration, w float64) { d.h.AddWeighted(int64(v), w) }

// Merge adds all time spans of o, which stays as it is.
func (d *Durations) Merge(o *Durations) { d.h.Merge(&o.h) }

// Histogram returns the histogram, in nanoseconds, that d is a view of.
func (d *Durations) Histogram() *Histogram { return &d.h }

// Observed returns the number of time spans added, whatever their weights.
func (d *Durations) Observed() uint64 { return d.h.Observed() }

// Count returns the sum of the weights.
func (d *Durations) Count() float64 { return d.h.Count() }

// CountError returns the standard error of Count; see Summary.CountError.
func (d *Durations) CountError() float64 { return d.h.CountError() }

// Sum returns the sum of time span times weight, rounded to a nanosecond. Sums
// above 292 years do not fit and come out as the longest Duration; Seconds has
// no such limit.
func (d *Durations) Sum() time.Duration {
	m := d.h.sums()
	return time.Duration(m.sum.RoundedInt64())
}

// Seconds returns the sum in seconds.
func (d *Durations) Seconds() float64 { return d.h.Sum() / 1e9 }

// Min returns the shortest time span, 0 of none.
func (d *Durations) Min() time.Duration { return time.Duration(d.h.min) }

// Max returns the longest time span, 0 of none.
func (d *Durations) Max() time.Duration { return time.Duration(d.h.max) }

// Mean returns the weighted mean, rounded to a nanosecond.
func (d *Durations) Mean() time.Duration { return time.Duration(math.Round(d.h.Mean())) }

// StdDev returns the standard deviation, rounded to a nanosecond.
func (d *Durations) StdDev() time.Duration { return time.Duration(math.Round(d.h.StdDev())) }

// VarianceToMean returns variance divided by mean, in seconds: how far the time
// spans scatter. It is 0 of none.
func (d *Durations) VarianceToMean() float64 {
	if mean := d.h.Mean(); mean > 0 {
		return d.h.Variance() / mean / 1e9
	}
	return 0
}

// Quantile returns the q-quantile; see Histogram.Quantile.
func (d *Durations) Quantile(q float64) time.Duration { return time.Duration(d.h.Quantile(q)) }
