package digest

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/exp/stats"

	"github.com/quern-dev/quern/internal/fixed"
)

// distributions are ten shapes that latencies and row counts take, from all one
// value to the whole range of int64.
var distributions = []struct {
	name string
	draw func(r *rand.Rand) int64
}{
	{"constant", func(r *rand.Rand) int64 { return 4_000_321 }},
	{"two values far apart", func(r *rand.Rand) int64 { return []int64{1_000_000, 1_000_000_000}[r.IntN(2)] }},
	{"small integers", func(r *rand.Rand) int64 { return r.Int64N(128) }},
	{"uniform", func(r *rand.Rand) int64 { return r.Int64N(10_000_000) }},
	{"exponential", func(r *rand.Rand) int64 { return int64(r.ExpFloat64() * 5e6) }},
	{"log-normal", func(r *rand.Rand) int64 { return int64(math.Exp(2*r.NormFloat64()) * 1e6) }},
	{"pareto", func(r *rand.Rand) int64 { return int64(1000 / math.Pow(1-r.Float64(), 1.25)) }},
	{"cache hit or miss", func(r *rand.Rand) int64 {
		if r.Float64() < .9 {
			return int64(2e5 + 1e4*r.NormFloat64())
		}
		return int64(8e7 + 1e7*r.NormFloat64())
	}},
	{"whole seconds", func(r *rand.Rand) int64 { return r.Int64N(30) * 1e9 }},
	{"all of int64", func(r *rand.Rand) int64 { return r.Int64() >> r.IntN(63) }},
}

func drawn(r *rand.Rand, draw func(*rand.Rand) int64, n int) []int64 {
	vs := make([]int64, n)
	for i := range vs {
		vs[i] = max(draw(r), 0)
	}
	return vs
}

// checkQuantiles compares every quantile of h with the order statistics of the
// values, which stats.Quantiles returns without interpolation at k/(n-1).
func checkQuantiles(t *testing.T, h *Histogram, values []int64) {
	t.Helper()
	n := len(values)
	floats := make([]float64, n)
	for i, v := range values {
		floats[i] = float64(v)
	}
	slices.Sort(floats)
	var at []float64
	for k := range n {
		at = append(at, float64(k)/float64(n-1))
	}
	exact := stats.Quantiles(floats, at...)
	for k, want := range exact {
		got := h.Quantile(float64(k+1) / float64(n))
		if tolerance := want * .01; math.Abs(float64(got)-want) > tolerance || want < 128 && float64(got) != math.Round(want) {
			t.Fatalf("quantile of rank %d of %d: got %d, want %v", k+1, n, got, want)
		}
		if got < h.Min() || got > h.Max() {
			t.Fatalf("quantile of rank %d of %d: %d is outside of [%d, %d]", k+1, n, got, h.Min(), h.Max())
		}
	}
}

func TestQuantilesAreWithinOnePercentOfTheExactOnes(t *testing.T) {
	for _, d := range distributions {
		for _, n := range []int{2, 3, 10, 33, 100, 5000} {
			t.Run(fmt.Sprintf("%s/%d", d.name, n), func(t *testing.T) {
				values := drawn(rand.New(rand.NewPCG(1, uint64(n))), d.draw, n)
				var h Histogram
				for _, v := range values {
					h.Add(v)
				}
				checkQuantiles(t, &h, values)
			})
		}
	}
}

func TestWeightedQuantilesAreThoseOfAsManyValues(t *testing.T) {
	for _, d := range distributions {
		t.Run(d.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(2, 2))
			var h Histogram
			var values []int64
			for _, v := range drawn(r, d.draw, 500) {
				w := 1 + r.IntN(9)
				h.AddWeighted(v, float64(w))
				values = append(values, slices.Repeat([]int64{v}, w)...)
			}
			checkQuantiles(t, &h, values)
			if got, want := h.Count(), float64(len(values)); got != want {
				t.Errorf("Count: got %v, want %v", got, want)
			}
		})
	}
}

func TestQuantileTakesDecimalFractionsAsWritten(t *testing.T) {
	for n := 1; n <= 200; n++ {
		var h Histogram
		for v := range n {
			h.Add(int64(v % 128))
		}
		sorted := make([]int, n)
		for v := range sorted {
			sorted[v] = v % 128
		}
		slices.Sort(sorted)
		for percent := 1; percent <= 100; percent++ {
			rank := (n*percent + 99) / 100 // the ceiling, in integers
			if got, want := h.Quantile(float64(percent)/100), int64(sorted[rank-1]); got != want {
				t.Errorf("p%d of %d values: got %d, want %d", percent, n, got, want)
			}
		}
	}
}

func TestSummaryAgreesWithExactArithmetic(t *testing.T) {
	for _, d := range distributions {
		t.Run(d.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 3))
			var h Histogram
			sum, squares, weights := new(big.Rat), new(big.Rat), new(big.Rat)
			for _, v := range drawn(r, d.draw, 300) {
				w := float64(1+r.IntN(1<<22)) / (1 << 20) // a multiple of what weights are kept to
				h.AddWeighted(v, w)
				x := new(big.Rat).SetInt64(v)
				rw := new(big.Rat).SetFloat64(w)
				weights.Add(weights, rw)
				wx := new(big.Rat).Mul(x, rw)
				sum.Add(sum, wx)
				squares.Add(squares, wx.Mul(wx, x))
			}
			mean := new(big.Rat).Quo(sum, weights)
			variance := new(big.Rat).Quo(squares, weights)
			variance.Sub(variance, new(big.Rat).Mul(mean, mean))
			for _, c := range []struct {
				what string
				got  float64
				want *big.Rat
			}{
				{"Count", h.Count(), weights}, {"Sum", h.Sum(), sum}, {"Mean", h.Mean(), mean}, {"Variance", h.Variance(), variance},
			} {
				want, _ := c.want.Float64()
				if math.Abs(c.got-want) > 1e-15*want {
					t.Errorf("%s: got %v, want %v", c.what, c.got, want)
				}
			}
		})
	}
}

func TestVarianceIsThatOfThePopulation(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	var h Histogram
	var floats []float64
	for range 1000 {
		v := 1e12 + r.Int64N(1000) // far from 0, close together
		h.Add(v)
		floats = append(floats, float64(v))
	}
	mean, sample := stats.MeanAndStdDev(floats)
	n := float64(len(floats))
	if got, want := h.StdDev(), sample*math.Sqrt((n-1)/n); math.Abs(got-want) > 1e-6*want {
		t.Errorf("StdDev: got %v, want %v", got, want)
	}
	if got := h.Mean(); math.Abs(got-mean) > 1e-3 {
		t.Errorf("Mean: got %v, want %v", got, mean)
	}
}

// logical is all that a histogram says, whatever the form it is kept in.
type logical struct {
	N, Weight uint64
	Min, Max  int64
	Moments   moments
	Cells     []cell
}

func logicalOf(h *Histogram) logical {
	l := logical{N: h.n, Weight: h.weight, Min: h.min, Max: h.max, Moments: h.sums()}
	for i, w := range h.cells() {
		l.Cells = append(l.Cells, cell{i, w})
	}
	return l
}

var allowDigest = cmp.AllowUnexported(cell{}, moments{})

func TestMergedInAnyOrderIsAddedAtOnce(t *testing.T) {
	weights := []struct {
		name string
		draw func(r *rand.Rand) float64
	}{
		{"unweighted", func(*rand.Rand) float64 { return 1 }},
		{"whole weights", func(r *rand.Rand) float64 { return float64(1 + r.IntN(100)) }},
		{"inverse rates", func(r *rand.Rand) float64 { return 1 / (.001 + r.Float64()) }},
		{"mostly 1", func(r *rand.Rand) float64 {
			if r.IntN(50) == 0 {
				return 1e5
			}
			return 1
		}},
	}
	for _, d := range distributions {
		for _, w := range weights {
			t.Run(d.name+"/"+w.name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(5, 5))
				for range 20 {
					var whole Histogram
					parts := make([]Histogram, 1+r.IntN(6))
					for _, v := range drawn(r, d.draw, r.IntN(400)) {
						w := w.draw(r)
						whole.AddWeighted(v, w)
						parts[r.IntN(len(parts))].AddWeighted(v, w)
					}
					want := logicalOf(&whole)
					// Merge neighbours, in a random order of pairs, until one is left.
					r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
					for len(parts) > 1 {
						i := r.IntN(len(parts) - 1)
						before := logicalOf(&parts[i+1])
						parts[i].Merge(&parts[i+1])
						if diff := cmp.Diff(before, logicalOf(&parts[i+1]), allowDigest); diff != "" {
							t.Fatalf("Merge changed its argument:\n%s", diff)
						}
						parts = slices.Delete(parts, i+1, i+2)
					}
					if diff := cmp.Diff(want, logicalOf(&parts[0]), allowDigest); diff != "" {
						t.Fatalf("merged differs from added at once (-want +got):\n%s", diff)
					}
				}
			})
		}
	}
}

func TestMergeWithItselfDoubles(t *testing.T) {
	var h, want Histogram
	for v := range int64(100) {
		h.Add(v * v)
		want.Add(v * v)
		want.Add(v * v)
	}
	h.Merge(&h)
	if diff := cmp.Diff(logicalOf(&want), logicalOf(&h), allowDigest); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCloneSharesNothing(t *testing.T) {
	for _, n := range []int{1, 2, 20, 5000} {
		var h Histogram
		r := rand.New(rand.NewPCG(6, 6))
		for range n {
			h.Add(r.Int64N(1e9))
		}
		c := h.Clone()
		want := logicalOf(c)
		for range n {
			h.AddWeighted(r.Int64N(1e9), 2.5)
		}
		if diff := cmp.Diff(want, logicalOf(c), allowDigest); diff != "" {
			t.Errorf("%d values: adding to the original changed the clone:\n%s", n, diff)
		}
	}
}

func TestBucketsAddUpToCount(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	var h Histogram
	for range 3000 {
		h.AddWeighted(int64(math.Exp(20*r.Float64())), float64(1+r.IntN(3)))
	}
	var sum float64
	last := int64(-1)
	for b := range h.Buckets() {
		if b.Low <= last {
			t.Fatalf("bucket [%d, %d] does not follow %d", b.Low, b.High, last)
		}
		last = b.High
		sum += b.Count
	}
	if sum != h.Count() {
		t.Errorf("buckets hold %v, want %v", sum, h.Count())
	}
}

func TestAtMostInvertsQuantile(t *testing.T) {
	var h Histogram
	for v := int64(1); v <= 10_000; v++ {
		h.Add(v)
	}
	for _, v := range []int64{-1, 0, 1, 100, 127, 128, 1000, 9999, 10_000, 20_000} {
		want := float64(min(max(v, 0), 10_000))
		if got := h.AtMost(v); math.Abs(got-want) > .01*want {
			t.Errorf("AtMost(%d): got %v, want %v", v, got, want)
		}
	}
}

func TestWhatIsNoWeightIsNotAdded(t *testing.T) {
	var h Histogram
	for _, w := range []float64{0, -1, math.NaN(), math.Inf(-1)} {
		h.AddWeighted(5, w)
	}
	if h.Observed() != 0 || h.Count() != 0 {
		t.Errorf("got %d values of weight %v, want none", h.Observed(), h.Count())
	}
	h.AddWeighted(5, math.Inf(1))
	h.AddWeighted(5, 1e-30)
	if got, want := h.Count(), MaxWeight+1./fixed.One; got != want {
		t.Errorf("Count: got %v, want %v", got, want)
	}
}

func TestHugeWeightsSaturate(t *testing.T) {
	var half, h Histogram
	half.Add(1)
	half.Add(1000)
	for range 45 {
		half.Merge(&half)
	}
	h.Merge(&half)
	h.Merge(&half)
	if got, want := h.Count(), float64(math.MaxUint64)/fixed.One; got != want {
		t.Errorf("Count: got %v, want it to stay at %v", got, want)
	}
}

func TestNegativeValuesCountAsZero(t *testing.T) {
	var h Histogram
	h.Add(-5)
	h.Add(7)
	if h.Min() != 0 || h.Sum() != 7 || h.Quantile(.5) != 0 {
		t.Errorf("got min %d, sum %v, median %d, want 0, 7, 0", h.Min(), h.Sum(), h.Quantile(.5))
	}
}

// A count estimated from a sample must miss the truth by about as much as
// CountError says: over many samples the errors in units of it have variance 1.
func TestCountErrorIsTheErrorOfSampledCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	var chi2 float64
	const samples, truth = 400, 20_000
	for range samples {
		var h Histogram
		for i := range truth {
			if w := []float64{1, 10, 100}[i%3]; r.Float64() < 1/w {
				h.AddWeighted(1, w)
			}
		}
		z := (h.Count() - truth) / h.CountError()
		chi2 += z * z
	}
	if got := chi2 / samples; got < .8 || got > 1.2 {
		t.Errorf("squared errors in units of CountError: mean %.2f, want 1", got)
	}
	var whole Histogram
	whole.Add(1)
	whole.Add(2)
	if got := whole.CountError(); got != 0 {
		t.Errorf("CountError of unsampled values: got %v, want 0", got)
	}
}

func TestDurations(t *testing.T) {
	var d Durations
	d.Add(3 * time.Nanosecond) // TiDB's clock
	d.AddWeighted(2*time.Second, 10)
	d.Add(-time.Second)
	if got, want := d.Sum(), 20*time.Second+3; got != want {
		t.Errorf("Sum: got %v, want %v", got, want)
	}
	if got, want := d.Seconds(), 20.000000003; got != want {
		t.Errorf("Seconds: got %v, want %v", got, want)
	}
	if got := d.Quantile(.5); got != 2*time.Second {
		t.Errorf("median: got %v, want 2s", got)
	}
	if got := d.Quantile(.16); got != 3 {
		t.Errorf("p16: got %v, want 3ns", got)
	}
	for range 100 {
		d.AddWeighted(math.MaxInt64, MaxWeight)
	}
	if got := d.Sum(); got != math.MaxInt64 {
		t.Errorf("Sum of more than 292 years: got %v, want the longest duration", got)
	}
	if got, want := d.Seconds(), 100.*math.MaxInt64*MaxWeight/1e9; math.Abs(got-want) > 1e-9*want {
		t.Errorf("Seconds: got %v, want %v", got, want)
	}
}

func TestEmptyHistogramIsAllZero(t *testing.T) {
	var h Histogram
	h.Merge(new(Histogram))
	for range h.Buckets() {
		t.Error("an empty histogram has a bucket")
	}
	got := []float64{h.Count(), h.CountError(), h.Sum(), h.Mean(), h.Variance(), float64(h.Quantile(.5)), h.AtMost(7), float64(h.Min()), float64(h.Max())}
	if diff := cmp.Diff(make([]float64, len(got)), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAddToFilledBucketsDoesNotAllocate(t *testing.T) {
	var h Histogram
	values := drawn(rand.New(rand.NewPCG(9, 9)), distributions[5].draw, 1000)
	for _, v := range values {
		h.Add(v)
	}
	i := 0
	if n := testing.AllocsPerRun(1000, func() { h.Add(values[i%len(values)]); i++ }); n != 0 {
		t.Errorf("Add allocates %v times", n)
	}
}

func BenchmarkHistogramAdd(b *testing.B) {
	for _, d := range distributions {
		b.Run(d.name, func(b *testing.B) {
			values := drawn(rand.New(rand.NewPCG(10, 10)), d.draw, 1024)
			var h Histogram
			i := 0
			for b.Loop() {
				h.Add(values[i&1023])
				i++
			}
		})
	}
}

func TestPowersOfTenAreBorders(t *testing.T) {
	var h Histogram
	want := map[int64]float64{}
	for low := int64(1000); low <= 1e17; low *= 10 {
		h.Add(low - 1)
		h.AddWeighted(low, 3)
		want[low] = h.Count() - 3
	}
	for low, count := range want {
		if got := h.AtMost(low - 1); got != count {
			t.Errorf("%v are below %d, want %v", got, low, count)
		}
	}
}

func TestBucketsCoverAllNumbersOnce(t *testing.T) {
	next := int64(0)
	for i := range numPages * pageLen {
		low, high := bucketRange(i)
		if low != next || high < low {
			t.Fatalf("bucket %d is %d to %d, want it to begin with %d", i, low, high, next)
		}
		for _, v := range []int64{low, high, low + (high-low)/2} {
			if got := bucketOf(v); got != i {
				t.Fatalf("%d is in bucket %d, want %d", v, got, i)
			}
			if m := bucketMiddle(i); math.Abs(float64(m)-float64(v)) > .01*float64(v) {
				t.Fatalf("%d in the middle of bucket %d is more than 1 %% off %d", m, i, v)
			}
		}
		if high == math.MaxInt64 {
			return
		}
		next = high + 1
	}
	t.Fatalf("the last bucket ends before %d", next)
}
