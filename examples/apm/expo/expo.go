// Package expo turns the query times of package digest into the histograms that
// monitoring systems know: exponential ones, as OpenTelemetry and Prometheus's
// native histograms have them, and cumulative counts at given bounds.
//
// Each bucket of a digest.Histogram counts as the value in its middle, which is
// within 1 % of any value in it. Powers of ten from a microsecond on part buckets
// of a digest.Histogram: the count at such a bound is that of the times below it,
// without error.
//
// Weights that are no whole numbers are rounded in each bucket, for these
// histograms count in whole numbers. What is rounded is the same for every form,
// and never falls as times are added.
package expo

import (
	"math"
	"time"

	"github.com/quern-dev/quern/digest"
)

// Buckets are an exponential histogram of seconds.
type Buckets struct {
	// Scale says how wide buckets are: each ends at 2^(2^-Scale) times the end of
	// the one before.
	Scale int
	// Zero is the number of times that are 0.
	Zero uint64
	// Counts[i] is the number of times in the bucket of the number Offset+i,
	// above Lower(Offset+i) and not above Upper of it. The first and the last
	// are not 0.
	Offset int
	Counts []uint64
}

// Of returns the query times as buckets of the scale, which is from -4 to 8.
func Of(d *digest.Durations, scale int) Buckets {
	b := Buckets{Scale: scale}
	for v, n := range counted(d) {
		if v == 0 {
			b.Zero += n
			continue
		}
		i := index(v, scale)
		if len(b.Counts) == 0 {
			b.Offset = i
		}
		for len(b.Counts) <= i-b.Offset { // values rise
			b.Counts = append(b.Counts, 0)
		}
		b.Counts[i-b.Offset] += n
	}
	return b
}

// AtMost returns for each of the rising bounds how many of the query times are
// not above it, and how many there are.
func AtMost(d *digest.Durations, bounds []time.Duration) (counts []uint64, total uint64) {
	counts = make([]uint64, len(bounds))
	next := 0
	for v, n := range counted(d) {
		for next < len(bounds) && v > bounds[next].Seconds() {
			counts[next] = total
			next++
		}
		total += n
	}
	for ; next < len(bounds); next++ {
		counts[next] = total
	}
	return counts, total
}

// counted yields the middle of each bucket in seconds, rising, and its rounded
// weight, which is above 0.
func counted(d *digest.Durations) func(yield func(float64, uint64) bool) {
	return func(yield func(float64, uint64) bool) {
		for b := range d.Histogram().Buckets() {
			middle := b.Low + min((b.High-b.Low)/2, b.Low/100)
			if n := uint64(math.Round(b.Count)); n > 0 && !yield(float64(middle)/1e9, n) {
				return
			}
		}
	}
}

// index returns the number of the bucket of v, which is above 0.
func index(v float64, scale int) int {
	frac, exp := math.Frexp(v) // v = frac × 2^exp, frac from 0.5 to below 1
	if scale <= 0 {
		if frac == .5 {
			exp-- // a power of two ends its bucket
		}
		return (exp - 1) >> -scale
	}
	if frac == .5 {
		return (exp-1)<<scale - 1
	}
	return exp<<scale + int(math.Ceil(math.Ldexp(math.Log2(frac), scale))) - 1
}

// Upper returns the end of the bucket of number i, in seconds.
func (b Buckets) Upper(i int) float64 { return math.Exp2(math.Ldexp(float64(i+1), -b.Scale)) }

// Lower returns where the bucket of number i begins, in seconds.
func (b Buckets) Lower(i int) float64 { return b.Upper(i - 1) }

// Count returns the number of times in all buckets.
func (b Buckets) Count() uint64 {
	n := b.Zero
	for _, c := range b.Counts {
		n += c
	}
	return n
}

// Fit returns the same times in at most n buckets, n above 1: it makes two
// buckets one, by as many scales as it takes.
func (b Buckets) Fit(n int) Buckets {
	for len(b.Counts) > n {
		wide := Buckets{Scale: b.Scale - 1, Zero: b.Zero, Offset: b.Offset >> 1}
		wide.Counts = make([]uint64, (b.Offset+len(b.Counts)-1)>>1-wide.Offset+1)
		for i, c := range b.Counts {
			wide.Counts[(b.Offset+i)>>1-wide.Offset] += c
		}
		b = wide
	}
	return b
}
