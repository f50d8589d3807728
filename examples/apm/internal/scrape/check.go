package scrape

import (
	"math"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// A Time is a query time, and how many statements it stands for.
type Time struct {
	time.Duration
	Weight uint64
}

// Check compares the buckets of a histogram with the times that it is of: at every
// bound its count lies between that of the times that are 1 % below it, and 1 %
// above; at a classic bound that is a power of ten it is that of the times below.
func Check(t testing.TB, h *dto.Histogram, times []Time) {
	t.Helper()
	var total uint64
	for _, d := range times {
		total += d.Weight
	}
	if h.GetSampleCount() != total {
		t.Errorf("the count is %d, want %d", h.GetSampleCount(), total)
	}
	for _, b := range h.Bucket {
		bound := b.GetUpperBound()
		low, high := between(times, .99*bound, math.Nextafter(1.01*bound, math.Inf(1)))
		if e := math.Log10(bound); math.Abs(e-math.Round(e)) < 1e-9 {
			low, high = between(times, bound, bound)
		}
		if n := b.GetCumulativeCount(); n < low || n > high {
			t.Errorf("%d up to %v s, want %d to %d", n, bound, low, high)
		}
	}
	if len(h.PositiveSpan) == 0 {
		return // the text form has no native histogram
	}
	native := Native(h)
	sum := h.GetZeroCount()
	for bound, n := range native {
		sum += uint64(n)
		at := h.GetZeroCount()
		for b, n := range native {
			if b <= bound {
				at += uint64(n)
			}
		}
		if low, high := between(times, .99*bound, math.Nextafter(1.01*bound, math.Inf(1))); at < low || at > high {
			t.Errorf("native: %d up to %v s, want %d to %d", at, bound, low, high)
		}
	}
	if sum != total {
		t.Errorf("native: the buckets hold %d, want %d", sum, total)
	}
}

// between returns the weight of the times below each bound, in seconds.
func between(times []Time, a, b float64) (low, high uint64) {
	for _, d := range times {
		if d.Seconds() < a {
			low += d.Weight
		}
		if d.Seconds() < b {
			high += d.Weight
		}
	}
	return low, high
}
