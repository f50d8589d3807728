package report

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quern-dev/quern/digest"
)

func TestLinesAreWrappedAtTheirWidth(t *testing.T) {
	for _, tt := range []struct {
		line  string
		width int
		want  []string
	}{
		{"", 5, []string{""}},
		{"abc", 5, []string{"abc"}},
		{"abc def ghi", 7, []string{"abc def", "ghi"}},
		{"abcdefghi", 4, []string{"abcd", "efgh", "i"}},
		{"  abc def", 6, []string{"  abc", "  def"}},
		{"世界世界", 5, []string{"世界", "世界"}},
	} {
		if diff := cmp.Diff(tt.want, wrap(tt.line, tt.width)); diff != "" {
			t.Errorf("wrap(%q, %d) (-want +got):\n%s", tt.line, tt.width, diff)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("SELECT 'a\x1b[2J'\n\tFROM 世界 \u202e\xff", 20)
	f.Add("        deep   indentation here", 9)
	f.Fuzz(func(t *testing.T, s string, width int) {
		width = 8 + int(uint(width)%200)
		for _, l := range textLines(s) {
			for _, r := range l {
				if !visible(r) {
					t.Errorf("%U is left", r)
				}
			}
			words := strings.Join(strings.Fields(l), "")
			var got strings.Builder
			for _, w := range wrap(l, width) {
				if columns(w) > width {
					t.Errorf("%q takes more than %d columns", w, width)
				}
				got.WriteString(strings.Join(strings.Fields(w), ""))
			}
			if got.String() != words {
				t.Errorf("wrapped to %q, want %q", got.String(), words)
			}
			if c := clip(l, width); columns(c) > width {
				t.Errorf("%q takes more than %d columns", c, width)
			}
		}
	})
}

func TestDecadesHaveExactBorders(t *testing.T) {
	var d digest.Durations
	for _, v := range []time.Duration{0, 400, 999, 1000, 5000, 123456, 999_999, time.Millisecond, time.Second - time.Microsecond, time.Second, 10 * time.Second} {
		d.Add(v)
	}
	got := decades(d.Histogram(), int64(d.Min()), int64(d.Max()))
	want := []struct {
		label string
		count float64
	}{{"0", 3}, {"1µs", 2}, {"10µs", 0}, {"100µs", 2}, {"1ms", 1}, {"10ms", 0}, {"100ms", 1}, {"1s", 1}, {"10s", 1}}
	if len(got) != len(want) {
		t.Fatalf("%d decades, want %d", len(got), len(want))
	}
	for i, w := range want {
		if got[i].label() != w.label || math.Abs(got[i].count-w.count) > 1e-9 {
			t.Errorf("decade %d is %s with %v, want %s with %v", i, got[i].label(), got[i].count, w.label, w.count)
		}
	}
}

func TestDecadesAddUpToTheWhole(t *testing.T) {
	var d digest.Durations
	for range 1000 {
		d.AddWeighted(time.Duration(math.Exp(rand.Float64()*math.Log(math.MaxInt64))), 1+rand.Float64()*9)
	}
	sum := 0.0
	for _, d := range decades(d.Histogram(), 0, int64(d.Max())) {
		sum += d.count
	}
	if math.Abs(sum-d.Count()) > 1e-6*sum {
		t.Errorf("decades hold %v of %v", sum, d.Count())
	}
}

func TestResamplingKeepsTheSum(t *testing.T) {
	from := time.Date(2026, 1, 1, 0, 0, 7, 0, time.UTC)
	to := from.Add(1000 * time.Second)
	line := []digest.Interval{
		{Start: from.Add(-7 * time.Second), Width: 64 * time.Second, Count: 5},
		{Start: from.Add(500 * time.Second), Width: 64 * time.Second, Count: 3},
		{Start: from.Add(990 * time.Second), Width: 64 * time.Second, Count: 2},
	}
	for _, n := range []int{1, 2, 7, 68, 500} {
		values := resample(line, from, to, n)
		sum := 0.0
		for _, v := range values {
			sum += v
		}
		if math.Abs(sum-10) > 1e-9 {
			t.Errorf("%d parts hold %v, want 10", n, sum)
		}
	}
}

func TestASparklineShowsWhatIsNotNothing(t *testing.T) {
	if got, want := sparkline([]float64{0, 1, 50, 100, 0}), " ▁▅█ "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := bar(1e-9, 8), "▏"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := bar(1, 8), "████████"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
