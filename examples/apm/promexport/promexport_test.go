package promexport

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/examples/apm/internal/classes"
	"github.com/quern-dev/quern/examples/apm/internal/scrape"
	"github.com/quern-dev/quern/slowlog"
)

// scraped returns what a server of the collectors answers to a scraper.
func scraped(t *testing.T, accept string, collectors ...prometheus.Collector) (families scrape.Families, body string) {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(collectors...)
	rec := httptest.NewRecorder()
	req := httptest.NewRequest("GET", "/metrics", nil)
	req.Header.Set("Accept", accept)
	promhttp.HandlerFor(r, promhttp.HandlerOpts{EnableOpenMetrics: true}).ServeHTTP(rec, req)
	if rec.Code != http.StatusOK {
		t.Fatalf("status %d: %s", rec.Code, rec.Body)
	}
	body = rec.Body.String()
	if accept != scrape.OpenMetrics {
		families = scrape.Decode(t, strings.NewReader(body), rec.Header())
	}
	return families, body
}

var start = time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)

// workload returns a profile of n statements of so many classes, and their times by
// class.
func workload(seed uint64, n, classes int, o digest.Options) (*digest.Profile, map[digest.ID][]scrape.Time) {
	r := rand.New(rand.NewPCG(seed, 1))
	agg := digest.Aggregator{Options: o}
	times := make(map[digest.ID][]scrape.Time)
	for range n {
		class := r.IntN(classes)
		ev := &slowlog.Event{
			Time: start, Query: fmt.Sprintf("SELECT c%d FROM Orders WHERE id = 'v%d'", class, r.IntN(1000)), Schema: "shop", User: "app", Weight: 1,
			QueryTime: time.Duration(math.Exp(24*r.Float64())) / 1000 * 1000, LockTime: time.Millisecond, RowsSent: 2, RowsExamined: 30, Errno: r.IntN(2) * 1205,
		}
		ev.SetHas(slowlog.FieldQueryTime, slowlog.FieldLockTime, slowlog.FieldRowsSent, slowlog.FieldRowsExamined)
		agg.Add(ev)
		var one digest.Aggregator
		one.Options = o
		one.Add(ev)
		for c := range one.Profile().Classes() {
			times[c.ID] = append(times[c.ID], scrape.Time{Duration: ev.QueryTime, Weight: 1})
		}
	}
	return agg.Profile(), times
}

func TestSeriesAreTheProfiles(t *testing.T) {
	o := digest.Options{GroupBy: []digest.Group{digest.BySchema, digest.ByFingerprint}}
	first, times := workload(1, 2000, 4, o)
	second, more := workload(2, 500, 4, o)
	e := New(Options{})
	e.Add(first)
	e.Add(second)
	p, err := digest.Merge(first, second)
	if err != nil {
		t.Fatal(err)
	}
	for _, accept := range []string{scrape.Text, scrape.Protobuf} {
		families, _ := scraped(t, accept, e)
		for c := range p.Classes() {
			id := c.ID.String()
			get := func(name string) float64 { return families.ByID(t, name)[id].GetCounter().GetValue() }
			got := []float64{get("quern_statements_total"), get("quern_statement_errors_total"), get("quern_rows_examined_total"), get("quern_rows_sent_total")}
			want := []float64{c.Count, c.ErrorCount(), c.RowsExamined.Sum(), c.Summary(digest.RowsSent).Sum()}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s %s (-profile +scraped):\n%s", accept, id, diff)
			}
			if lock := get("quern_lock_seconds_total"); math.Abs(lock-c.LockTime.Seconds()) > 1e-9 {
				t.Errorf("lock time %v, want %v", lock, c.LockTime.Seconds())
			}
			m := families.ByID(t, "quern_query_duration_seconds")[id]
			if got := []string{scrape.Label(m, "verb"), scrape.Label(m, "summary"), scrape.Label(m, "schema")}; !cmp.Equal(got, []string{"SELECT", "select orders", "shop"}) {
				t.Errorf("labels %q", got)
			}
			h := m.Histogram
			if h.GetSampleCount() != uint64(c.Count) || h.GetSampleSum() != c.QueryTime.Seconds() {
				t.Errorf("histogram of %d, %v s; want %v, %v", h.GetSampleCount(), h.GetSampleSum(), c.Count, c.QueryTime.Seconds())
			}
			if len(h.Bucket) < len(Bounds) || accept == scrape.Protobuf && (len(h.PositiveSpan) == 0 || h.GetSchema() != Schema) {
				t.Errorf("%s: %d classic buckets, %d spans of schema %d", accept, len(h.Bucket), len(h.PositiveSpan), h.GetSchema())
			}
			scrape.Check(t, h, slices.Concat(times[c.ID], more[c.ID]))
		}
	}
}

func TestClassesBeyondTheLimitAreOne(t *testing.T) {
	e := New(Options{MaxSeries: 3})
	first, _ := workload(1, 1000, 8, digest.Options{})
	second, _ := workload(2, 1000, 8, digest.Options{MaxClasses: 5}) // has an overflow itself
	e.Add(first)
	e.Add(second)
	families, _ := scraped(t, scrape.Protobuf, e)
	counts := families.ByID(t, "quern_statements_total")
	histograms := families.ByID(t, "quern_query_duration_seconds")
	var own digest.Durations
	total, sum := counts[Overflow].GetCounter().GetValue(), histograms[Overflow].GetHistogram().GetSampleSum()
	for _, c := range first.Top(3, digest.ByTotalTime) {
		want := c.Count
		own.Merge(&c.QueryTime)
		if same := second.Class(c.ID); same != nil {
			want += same.Count
			own.Merge(&same.QueryTime)
		}
		if got := counts[c.ID.String()].GetCounter().GetValue(); got != want {
			t.Errorf("%v: got %v statements, want %v", c.ID, got, want)
		}
		total += want
	}
	if len(counts) != 4 || total != 2000 {
		t.Errorf("%d series of %v statements, want 4 of 2000", len(counts), total)
	}
	if rest := first.TotalSeconds() + second.TotalSeconds() - own.Seconds(); math.Abs(sum-rest) > 1e-6*rest {
		t.Errorf("overflow of %v s, want %v", sum, rest)
	}
}

func TestOnlyIdleClassesLoseTheirSeries(t *testing.T) {
	now := start
	e := New(Options{MaxSeries: 2})
	e.now = func() time.Time { return now }
	add := func(queries ...string) {
		var agg digest.Aggregator
		for _, q := range queries {
			agg.Add(&slowlog.Event{Query: q, QueryTime: time.Second, Weight: 1})
		}
		e.Add(agg.Profile())
	}
	counts := func() map[string]float64 {
		families, _ := scraped(t, scrape.Text, e)
		m := make(map[string]float64)
		for _, metric := range families["quern_statements_total"].Metric {
			m[scrape.Label(metric, "summary")] += metric.GetCounter().GetValue()
		}
		return m
	}
	add("select 1 from a", "select 1 from b")
	now = now.Add(59 * time.Minute)
	add("select 1 from a", "select 1 from c")
	if diff := cmp.Diff(map[string]float64{"select a": 2, "select b": 1, "": 1}, counts()); diff != "" {
		t.Errorf("before the hour (-want +got):\n%s", diff)
	}
	now = now.Add(time.Minute)
	add("select 1 from c", "select 1 from d")
	if diff := cmp.Diff(map[string]float64{"select a": 2, "select c": 1, "": 2}, counts()); diff != "" && !cmp.Equal(map[string]float64{"select a": 2, "select d": 1, "": 2}, counts()) {
		t.Errorf("after it (-want +got):\n%s", diff)
	}
}

func TestNothingFallsFromWindowToWindow(t *testing.T) {
	e := New(Options{})
	last := make(map[string]map[float64]int64)
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 9))
		var agg digest.Aggregator
		for range 50 {
			agg.Add(&slowlog.Event{Query: "select 1", QueryTime: time.Duration(1e6 * math.Exp(3*r.Float64())), Weight: 1 / (r.Float64() + .1)})
		}
		e.Add(agg.Profile())
		families, _ := scraped(t, scrape.Protobuf, e)
		for id, m := range families.ByID(t, "quern_query_duration_seconds") {
			buckets := scrape.Native(m.Histogram)
			for _, b := range m.Histogram.Bucket {
				buckets[-b.GetUpperBound()] = int64(b.GetCumulativeCount())
			}
			for bound, n := range last[id] {
				if buckets[bound] < n {
					t.Fatalf("window %d: the bucket %v falls from %d to %d", seed, bound, n, buckets[bound])
				}
			}
			last[id] = buckets
		}
	}
}

func TestTracesAreExemplars(t *testing.T) {
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	c := digest.NewCollector(digest.CollectorOptions{})
	c.Observe(digest.Observation{SQL: "select 1", Duration: 3 * time.Millisecond, End: start, TraceID: trace})
	c.Observe(digest.Observation{SQL: "select 2", Duration: time.Millisecond, End: start, TraceID: "no trace's ID 'secret'"})
	e := New(Options{})
	e.Add(c.Flush())
	families, _ := scraped(t, scrape.Protobuf, e)
	n := 0
	for _, m := range families["quern_query_duration_seconds"].Metric {
		for _, b := range m.Histogram.Bucket {
			if x := b.Exemplar; x != nil {
				n++
				if got := x.GetLabel()[0]; got.GetName() != "trace_id" || got.GetValue() != trace || x.GetValue() != .003 || b.GetUpperBound() != .005 {
					t.Errorf("exemplar %v in the bucket up to %v", x, b.GetUpperBound())
				}
			}
		}
		n += len(m.Histogram.Exemplars)
	}
	if n != 2 {
		t.Errorf("%d exemplars, want one in the classic and one in the native histogram", n)
	}
	if _, body := scraped(t, scrape.OpenMetrics, e); !strings.Contains(body, `# {trace_id="`+trace+`"}`) || strings.Contains(body, "secret") {
		t.Errorf("OpenMetrics: %s", body)
	}
}

func TestLabelsAreTextOfBoundedLength(t *testing.T) {
	e := New(Options{})
	agg := digest.Aggregator{Options: digest.Options{GroupBy: []digest.Group{digest.BySchema, digest.ByFingerprint}}}
	agg.Add(&slowlog.Event{Query: "select 1 from `a\xff`", Schema: strings.Repeat("é", 200) + "\xff\n\"", QueryTime: time.Second, Weight: 1})
	e.Add(agg.Profile())
	families, _ := scraped(t, scrape.Text, e)
	for _, m := range families["quern_statements_total"].Metric {
		if s := scrape.Label(m, "schema"); len(s) > classes.MaxName || strings.Trim(s, "é") != "" {
			t.Errorf("schema %q", s)
		}
	}
}

func TestStatsAreTheCollectors(t *testing.T) {
	c := digest.NewCollector(digest.CollectorOptions{MaxClasses: 2})
	for i := range 5 {
		c.Observe(digest.Observation{SQL: fmt.Sprintf("select c%d", i)})
	}
	families, _ := scraped(t, scrape.Text, Stats(c))
	got := make(map[string]float64)
	for name, f := range families {
		got[name] = f.Metric[0].GetCounter().GetValue() + f.Metric[0].GetGauge().GetValue()
	}
	st := c.Stats()
	want := map[string]float64{
		"quern_collector_observed_total": 5, "quern_collector_overflowed_total": 3, "quern_collector_late_total": 0,
		"quern_collector_windows": 1, "quern_collector_classes": 2, "quern_collector_bytes": float64(st.Bytes),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
