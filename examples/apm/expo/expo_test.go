package expo

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quern-dev/quern/digest"
)

func durations(values ...time.Duration) *digest.Durations {
	var d digest.Durations
	for _, v := range values {
		d.Add(v)
	}
	return &d
}

// random returns times from microseconds to hours.
func random(n int) []time.Duration {
	r := rand.New(rand.NewPCG(1, 2))
	values := make([]time.Duration, n)
	for i := range values {
		values[i] = time.Duration(1000*math.Exp(22*r.Float64())) / 1000 * 1000
	}
	return values
}

// within returns how many values are below v and 1 % less, and not above v and 1 %
// more.
func within(values []time.Duration, v float64) (low, high uint64) {
	for _, d := range values {
		if d.Seconds() < .99*v {
			low++
		}
		if d.Seconds() <= 1.01*v {
			high++
		}
	}
	return low, high
}

func TestBucketsHoldWhatTheyShould(t *testing.T) {
	values := append(random(3000), 0, 0, 0)
	d := durations(values...)
	for scale := -4; scale <= 8; scale++ {
		b := Of(d, scale)
		if b.Zero != 3 || b.Count() != uint64(len(values)) {
			t.Fatalf("scale %d: got %d zeros of %d, want 3 of %d", scale, b.Zero, b.Count(), len(values))
		}
		n := b.Zero
		for i, c := range b.Counts {
			n += c
			if low, high := within(values, b.Upper(b.Offset+i)); n < low || n > high {
				t.Errorf("scale %d: %d values up to %v s, want %d to %d", scale, n, b.Upper(b.Offset+i), low, high)
			}
		}
		if last := len(b.Counts) - 1; b.Counts[0] == 0 || b.Counts[last] == 0 {
			t.Errorf("scale %d: an end is empty: %v", scale, b.Counts)
		}
	}
}

func TestPowersOfTwoEndTheirBucket(t *testing.T) {
	for scale := -4; scale <= 8; scale++ {
		b := Buckets{Scale: scale}
		for e := -30; e < 12; e++ {
			v := math.Ldexp(1, e)
			i := index(v, scale)
			if !(b.Lower(i) < v && v <= b.Upper(i)) {
				t.Errorf("scale %d: %v is in the bucket from %v to %v", scale, v, b.Lower(i), b.Upper(i))
			}
			if above := index(math.Nextafter(v, math.Inf(1)), scale); scale >= 0 && above != i+1 {
				t.Errorf("scale %d: what is above %v is in bucket %d, want %d", scale, v, above, i+1)
			}
		}
	}
}

func TestFitMakesTheBucketsOfTheSmallerScale(t *testing.T) {
	d := durations(random(5000)...)
	for _, n := range []int{2, 10, 160} {
		b := Of(d, 5).Fit(n)
		if len(b.Counts) > n {
			t.Errorf("got %d buckets, want at most %d", len(b.Counts), n)
		}
		if diff := cmp.Diff(Of(d, b.Scale), b); diff != "" {
			t.Errorf("scale %d (-direct +fitted):\n%s", b.Scale, diff)
		}
		if b.Scale < 5 && len(Of(d, b.Scale+1).Counts) <= n {
			t.Errorf("scale %d would do for %d buckets, got %d", b.Scale+1, n, b.Scale)
		}
	}
}

func TestAtMostCountsAtItsBounds(t *testing.T) {
	values := append(random(3000), 0)
	d := durations(values...)
	bounds := []time.Duration{0, time.Microsecond, 5 * time.Microsecond, 2 * time.Millisecond, time.Second, 50 * time.Second, 24 * time.Hour}
	counts, total := AtMost(d, bounds)
	if total != uint64(len(values)) || !slices.IsSorted(counts) || counts[0] != 1 || counts[len(counts)-1] != total {
		t.Fatalf("got %v of %d", counts, total)
	}
	for i, b := range bounds[1:] {
		if low, high := within(values, b.Seconds()); counts[i+1] < low || counts[i+1] > high {
			t.Errorf("%d values up to %v, want %d to %d", counts[i+1], b, low, high)
		}
	}
}

func TestPowersOfTenPartBuckets(t *testing.T) {
	var values []time.Duration
	for v := time.Microsecond; v < 20*time.Minute; v *= 10 {
		values = append(values, v-1, v, v+1)
	}
	for i := 0; i < len(values); i += 3 {
		counts, _ := AtMost(durations(values...), []time.Duration{values[i+1]})
		if counts[0] != uint64(i)+1 {
			t.Errorf("%d values below %v, want %d", counts[0], values[i+1], i+1)
		}
	}
}

func TestFractionsOfWeightsAreRoundedAlike(t *testing.T) {
	var d digest.Durations
	for i := range 100 {
		d.AddWeighted(time.Duration(i)*time.Second, 1.75)
	}
	_, total := AtMost(&d, nil)
	if b := Of(&d, 3); b.Count() != total || total != 200 {
		t.Errorf("got %d and %d, want 200", b.Count(), total)
	}
}
