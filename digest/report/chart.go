package report

import (
	"math"
	"strings"
	"time"

	"github.com/quern-dev/quern/digest"
)

// bar draws a part of one as a bar of at most width columns, in eighths of a
// column. What is not nothing shows.
func bar(part float64, width int) string {
	eighths := int(math.Round(min(max(part, 0), 1) * float64(width) * 8))
	if part > 0 {
		eighths = max(eighths, 1)
	}
	s := strings.Repeat("█", eighths/8)
	if eighths%8 > 0 {
		s += string([]rune("▏▎▍▌▋▊▉")[eighths%8-1])
	}
	return s
}

// sparkline draws values of 0 and more as columns of a height.
func sparkline(values []float64) string {
	highest := 0.0
	for _, v := range values {
		highest = max(highest, v)
	}
	heights := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, v := range values {
		if v <= 0 {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(heights[min(int(v/highest*8), 7)])
	}
	return b.String()
}

// resample spreads the counts of a timeline over n equal parts of the time from
// from to to.
func resample(timeline []digest.Interval, from, to time.Time, n int) []float64 {
	values := make([]float64, n)
	start := float64(from.Unix())
	width := (float64(to.Unix()) + 1 - start) / float64(n)
	for _, iv := range timeline {
		// an interval may begin before the first event and end behind the last
		low := max((float64(iv.Start.Unix())-start)/width, 0)
		high := min((float64(iv.Start.Add(iv.Width).Unix())-start)/width, float64(n))
		for i := int(low); i < n && float64(i) < high; i++ {
			part := min(high, float64(i+1)) - max(low, float64(i))
			values[i] += iv.Count * part / (high - low)
		}
	}
	return values
}

// A decade is the part of a distribution of times from Low to below ten times Low.
type decade struct {
	low   int64 // nanoseconds, a power of ten, 0 for the first
	count float64
}

// firstDecade is the border below which times are not told apart: 1 µs, the unit
// of logs.
const firstDecade = 1000

// decades returns the distribution of h from the decade of low to that of high.
func decades(h *digest.Histogram, low, high int64) []decade {
	var ds []decade
	below := 0.0
	for d := (decade{}); ; d = (decade{low: d.next()}) {
		next := d.next()
		atMost := h.AtMost(next - 1)
		if next == math.MaxInt64 {
			atMost = h.Count()
		}
		if next > low {
			d.count = atMost - below
			ds = append(ds, d)
		}
		if next > high || next == math.MaxInt64 {
			return ds
		}
		below = atMost
	}
}

// next returns the border above, the largest number at the end.
func (d decade) next() int64 {
	if d.low > math.MaxInt64/10 {
		return math.MaxInt64
	}
	return max(d.low*10, firstDecade)
}

// label names the border of a decade.
func (d decade) label() string {
	if d.low == 0 {
		return "0"
	}
	return duration(float64(d.low))
}
