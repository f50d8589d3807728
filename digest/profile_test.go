package digest

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quern-dev/quern/slowlog"
)

func TestThresholdAndWholeSeconds(t *testing.T) {
	for _, tt := range []struct {
		times     []time.Duration
		threshold time.Duration
		whole     bool
	}{
		{nil, 0, false},
		{[]time.Duration{1500 * time.Millisecond, 2 * time.Second}, 1500 * time.Millisecond, false},
		{[]time.Duration{0, 2 * time.Second}, 0, true},
	} {
		var evs []*slowlog.Event
		for _, d := range tt.times {
			evs = append(evs, event("select 1", d))
		}
		p := profileOf(t, Options{}, evs)
		if p.Threshold() != tt.threshold || p.WholeSeconds() != tt.whole {
			t.Errorf("%v: got threshold %v, whole seconds %v, want %v, %v", tt.times, p.Threshold(), p.WholeSeconds(), tt.threshold, tt.whole)
		}
	}
}

func TestTopIsATotalOrder(t *testing.T) {
	evs := randomEvents(rand.New(rand.NewPCG(11, 11)), 1000)
	p := profileOf(t, Options{GroupBy: []Group{GroupFunc("line", func(ev *slowlog.Event) string { return ev.Query })}}, evs)
	for _, by := range []Order{ByTotalTime, ByCount, ByErrors, ByScatter, ByQuantile(.95), ByStat(RowsSent, Mean), ByStat(QueryTime, Max).AtLeast(5)} {
		all := p.Top(0, by)
		if len(all) != p.Len() {
			t.Fatalf("%v: %d classes, want %d", by, len(all), p.Len())
		}
		for i, c := range all[1:] {
			prev := all[i]
			if by.atLeast > 0 && (prev.Observed < by.atLeast) != (c.Observed < by.atLeast) {
				if prev.Observed < by.atLeast {
					t.Errorf("%v: a class of %d events stands before one of %d", by, prev.Observed, c.Observed)
				}
				continue
			}
			if v, w := by.Value(prev), by.Value(c); v < w || v == w && compareClasses(prev, c) >= 0 {
				t.Errorf("%v: %v %v stands before %v %v", by, v, prev.ID, w, c.ID)
			}
		}
		if diff := cmp.Diff(ids(all[:3]), ids(p.Top(3, by))); diff != "" {
			t.Errorf("%v: Top(3) is not the beginning of all (-want +got):\n%s", by, diff)
		}
	}
}

func ids(cs []*Class) (ids []ID) {
	for _, c := range cs {
		ids = append(ids, c.ID)
	}
	return ids
}

func TestParseOrder(t *testing.T) {
	p := profileOf(t, Options{}, randomEvents(rand.New(rand.NewPCG(12, 12)), 200))
	for name, want := range map[string]Order{
		"total": ByTotalTime, "Count": ByCount, "errors": ByErrors, "scatter": ByScatter,
		"avg": ByStat(QueryTime, Mean), "max": ByStat(QueryTime, Max), "min": ByStat(QueryTime, Min),
		"p50": ByQuantile(.5), "p99.9": ByQuantile(.999),
		"rows_examined": ByStat(RowsExamined, Sum), "Rows_sent:avg": ByStat(RowsSent, Mean),
		"lock_time:p95": ByMeasureQuantile(LockTime, .95), "query_time": ByTotalTime,
	} {
		by, err := ParseOrder(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(ids(p.Top(0, want)), ids(p.Top(0, by))); diff != "" {
			t.Errorf("%s does not rank as it should (-want +got):\n%s", name, diff)
		}
		again, err := ParseOrder(by.String())
		if err != nil || again.String() != by.String() {
			t.Errorf("%s: its name %q reads as %q, %v", name, by, again, err)
		}
	}
	for _, name := range []string{"", "p", "p101", "p-1", "pNaN", "median", "colour:avg", "rows_sent:", "rows_sent:total", "time"} {
		if o, err := ParseOrder(name); err == nil {
			t.Errorf("%q is read as %v, want an error", name, o)
		}
	}
}

func FuzzParseOrder(f *testing.F) {
	for _, s := range []string{"total", "p95", "p99.9", "rows_sent:avg", "InnoDB_IO_r_wait:p50", ":", "p1e1"} {
		f.Add(s)
	}
	p := profileOf(f, Options{}, randomEvents(rand.New(rand.NewPCG(1, 1)), 20))
	f.Fuzz(func(t *testing.T, s string) {
		by, err := ParseOrder(s)
		if err != nil {
			return
		}
		again, err := ParseOrder(by.String())
		if err != nil || again.String() != by.String() {
			t.Errorf("%q reads as %q, and that as %q, %v", s, by, again, err)
		}
		if n := len(p.Top(0, by)); n != p.Len() {
			t.Errorf("%q ranks %d of %d classes", s, n, p.Len())
		}
	})
}

func TestAPercentileIsRankedAmongClassesThatHaveOne(t *testing.T) {
	for _, tt := range []struct {
		q    float64
		want uint64
	}{{.5, 2}, {.9, 10}, {.95, 20}, {.99, 100}, {.999, 1000}, {.99999, 1000}, {1, 1}, {0, 1}} {
		if got := MinCount(tt.q); got != tt.want {
			t.Errorf("MinCount(%v) = %d, want %d", tt.q, got, tt.want)
		}
	}
	evs := []*slowlog.Event{event("select once", time.Minute)}
	for range 30 {
		evs = append(evs, event("select often", time.Millisecond))
	}
	p := profileOf(t, Options{}, evs)
	for _, tt := range []struct {
		by   Order
		want float64
	}{
		{ByQuantile(.95), 1}, {ByQuantile(.95).WithMinCount(), 30}, {ByMeasureQuantile(QueryTime, .95).WithMinCount(), 30}, {ByTotalTime.WithMinCount(), 1},
	} {
		if got := p.Top(1, tt.by)[0].Count; got != tt.want {
			t.Errorf("%v: the class of %v events is first, want that of %v", tt.by, got, tt.want)
		}
	}
}

func TestWhatIsNoQuantilePanics(t *testing.T) {
	var h Histogram
	var d Durations
	for _, q := range []float64{95, 1.01, -.01, math.NaN(), math.Inf(1)} {
		for name, f := range map[string]func(){
			"ByQuantile": func() { ByQuantile(q) }, "ByMeasureQuantile": func() { ByMeasureQuantile(LockTime, q) },
			"MinCount": func() { MinCount(q) }, "Histogram.Quantile": func() { h.Quantile(q) }, "Durations.Quantile": func() { d.Quantile(q) },
		} {
			func() {
				defer func() {
					if r, ok := recover().(string); !ok || !strings.Contains(r, "want 0 to 1") {
						t.Errorf("%s(%v): recovered %q, want a panic that says what a quantile is", name, q, r)
					}
				}()
				f()
			}()
		}
	}
}

func TestOrderTellsWhichHistogramItAsks(t *testing.T) {
	for name, want := range map[string]Measure{"rows_sent:p95": RowsSent, "rows_examined:p95": 0, "p99": 0, "rows_sent:avg": 0, "total": 0} {
		by, err := ParseOrder(name)
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := by.Histogram(); ok != (want != 0) || ok && m != want {
			t.Errorf("%s: got %v, %v, want %v", name, m, ok, want)
		}
	}
	// One that every class has makes no other profile.
	if _, err := Merge(profileOf(t, Options{}, nil), profileOf(t, Options{Histograms: []Measure{LockTime, QueryTime}}, nil)); err != nil {
		t.Error(err)
	}
}

func TestTimelineCoarsens(t *testing.T) {
	var evs []*slowlog.Event
	for i := range 10_000 {
		ev := event("select 1", time.Millisecond)
		ev.Time = testStart.Add(time.Duration(i) * 700 * time.Millisecond)
		evs = append(evs, ev)
	}
	p := profileOf(t, Options{}, evs)
	for name, tl := range map[string][]Interval{"class": p.Top(1, ByCount)[0].Timeline(), "profile": p.Timeline()} {
		limit := map[string]int{"class": classIntervals, "profile": profileIntervals}[name]
		if len(tl) > limit || len(tl) < limit/2 {
			t.Errorf("%s: %d intervals, want at most %d and more than half of it", name, len(tl), limit)
		}
		var sum float64
		want := map[time.Time]float64{}
		for _, ev := range evs {
			want[time.Unix(ev.Time.Unix()/int64(tl[0].Width.Seconds())*int64(tl[0].Width.Seconds()), 0).UTC()]++
		}
		for _, iv := range tl {
			sum += iv.Count
			if iv.Count != want[iv.Start] {
				t.Errorf("%s: %v has %v, want %v", name, iv.Start, iv.Count, want[iv.Start])
			}
		}
		if sum != 10_000 {
			t.Errorf("%s: the timeline counts %v, want 10000", name, sum)
		}
	}
}

func TestTimelineOfAnyTimesIsBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 13))
	for range 50 {
		var evs []*slowlog.Event
		for range 30 {
			ev := event("select 1", time.Millisecond)
			ev.Time = time.Unix((1-2*r.Int64N(2))*r.Int64N(1<<33)>>r.IntN(33), 0)
			evs = append(evs, ev)
		}
		whole := profileOf(t, Options{}, evs)
		if n := len(whole.Timeline()); n > profileIntervals {
			t.Fatalf("%d intervals", n)
		}
		merged, err := Merge(profileOf(t, Options{}, evs[:10]), profileOf(t, Options{}, evs[10:]))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole.Timeline(), merged.Timeline()); diff != "" {
			t.Fatalf("merged (-want +got):\n%s", diff)
		}
	}
}
