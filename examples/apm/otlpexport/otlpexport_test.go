package otlpexport

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/examples/apm/expo"
	"github.com/quern-dev/quern/slowlog"
)

var (
	start = time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	end   = start.Add(10 * time.Second)
)

const trace = "4bf92f3577b34da6a3ce929d0e0e4736"

// workload returns a profile of n statements of so many classes, one in ten of which
// has a trace.
func workload(n, classes int, o digest.Options) *digest.Profile {
	r := rand.New(rand.NewPCG(1, 1))
	o.GroupBy = []digest.Group{digest.BySchema, digest.ByFingerprint}
	agg := digest.Aggregator{Options: o}
	for i := range n {
		ev := &slowlog.Event{
			Time: start, Query: fmt.Sprintf("SELECT c%d FROM orders WHERE id = %d", r.IntN(classes), i), Schema: "shop", Weight: 1,
			QueryTime: time.Duration(math.Exp(24*r.Float64())) / 1000 * 1000, LockTime: time.Millisecond, RowsSent: 2, RowsExamined: 30, Errno: i % 2 * 1205,
		}
		if i%10 == 0 {
			ev.Query += " /*traceparent='00-" + trace + "-00f067aa0ba902b7-01'*/"
		}
		agg.Add(ev)
	}
	return agg.Profile()
}

// A decoded is a data point of each metric.
type decoded struct {
	attributes map[string]any
	sums       map[string]float64
	times      pmetric.ExponentialHistogramDataPoint
	timed      bool
}

// decode returns the data points by their class, the overflow under "", and checks
// what all of them have.
func decode(t *testing.T, md pmetric.Metrics) map[string]*decoded {
	t.Helper()
	points := make(map[string]*decoded)
	at := func(attributes map[string]any) *decoded {
		id, _ := attributes["quern.query.id"].(string)
		if points[id] == nil {
			points[id] = &decoded{attributes: attributes, sums: make(map[string]float64)}
		}
		if diff := cmp.Diff(points[id].attributes, attributes); diff != "" {
			t.Errorf("the metrics of a class differ in their attributes:\n%s", diff)
		}
		return points[id]
	}
	metrics := md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics()
	for i := range metrics.Len() {
		m := metrics.At(i)
		if m.Type() == pmetric.MetricTypeSum {
			if s := m.Sum(); !s.IsMonotonic() || s.AggregationTemporality() != pmetric.AggregationTemporalityDelta {
				t.Errorf("%s is no delta of a counter", m.Name())
			}
			for j := range m.Sum().DataPoints().Len() {
				dp := m.Sum().DataPoints().At(j)
				at(dp.Attributes().AsRaw()).sums[m.Name()] = dp.DoubleValue()
			}
			continue
		}
		h := m.ExponentialHistogram()
		if m.Unit() != "s" || h.AggregationTemporality() != pmetric.AggregationTemporalityDelta {
			t.Errorf("%s has the unit %q", m.Name(), m.Unit())
		}
		for j := range h.DataPoints().Len() {
			dp := h.DataPoints().At(j)
			if !dp.StartTimestamp().AsTime().Equal(start) || !dp.Timestamp().AsTime().Equal(end) {
				t.Errorf("from %v to %v", dp.StartTimestamp().AsTime(), dp.Timestamp().AsTime())
			}
			p := at(dp.Attributes().AsRaw())
			p.times, p.timed = dp, true
		}
	}
	return points
}

// checkTimes compares a histogram with the times that it is of.
func checkTimes(t *testing.T, dp pmetric.ExponentialHistogramDataPoint, times *digest.Durations) {
	t.Helper()
	if dp.Count() != uint64(times.Count()) || dp.Sum() != times.Seconds() || dp.Min() != times.Min().Seconds() || dp.Max() != times.Max().Seconds() {
		t.Errorf("count %d, sum %v, from %v to %v; want %v, %v, from %v to %v", dp.Count(), dp.Sum(), dp.Min(), dp.Max(), times.Count(), times.Seconds(), times.Min().Seconds(), times.Max().Seconds())
	}
	counts := dp.Positive().BucketCounts().AsRaw()
	if len(counts) > MaxBuckets {
		t.Errorf("%d buckets", len(counts))
	}
	n := dp.ZeroCount()
	for i, c := range counts {
		n += c
		bound := math.Pow(2, float64(int(dp.Positive().Offset())+i+1)/math.Pow(2, float64(dp.Scale())))
		low, high := times.Histogram().AtMost(int64(.99*bound*1e9)), times.Histogram().AtMost(int64(1.01*bound*1e9))
		if float64(n) < math.Floor(low) || float64(n) > math.Ceil(high) {
			t.Errorf("%d up to %v s, want %v to %v", n, bound, low, high)
		}
	}
	if n != dp.Count() {
		t.Errorf("the buckets hold %d of %d", n, dp.Count())
	}
}

func checkSums(t *testing.T, p *decoded, count, errors, lock, examined, sent float64) {
	t.Helper()
	want := map[string]float64{
		"quern.query.count": count, "quern.query.errors": errors, "quern.query.lock_time": lock,
		"quern.query.rows_examined": examined, "quern.query.rows_returned": sent,
	}
	for name := range want {
		if math.Abs(want[name]-p.sums[name]) > 1e-9*want[name] {
			t.Errorf("%s is %v, want %v", name, p.sums[name], want[name])
		}
	}
	if len(p.sums) != len(want) {
		t.Errorf("there are %v", p.sums)
	}
}

func TestPointsAreTheProfiles(t *testing.T) {
	p := workload(3000, 5, digest.Options{Text: digest.TextRedacted})
	var line bytes.Buffer
	if err := WriteLine(&line, Metrics(p, start, end, Options{System: "mysql"})); err != nil {
		t.Fatal(err)
	}
	if strings.Count(line.String(), "\n") != 1 {
		t.Error("a request is not one line")
	}
	md, err := new(pmetric.JSONUnmarshaler).UnmarshalMetrics(line.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	points := decode(t, md)
	if len(points) != 5 {
		t.Errorf("%d points, want 5", len(points))
	}
	for c := range p.Classes() {
		point := points[c.ID.String()]
		if point == nil {
			t.Fatalf("no point of %v", c.ID)
		}
		want := map[string]any{"quern.query.id": c.ID.String(), "db.query.summary": "select orders", "db.system.name": "mysql", "db.namespace": "shop"}
		if diff := cmp.Diff(want, point.attributes); diff != "" {
			t.Errorf("attributes (-want +got):\n%s", diff)
		}
		checkSums(t, point, c.Count, c.ErrorCount(), c.LockTime.Seconds(), c.RowsExamined.Sum(), c.Summary(digest.RowsSent).Sum())
		checkTimes(t, point.times, &c.QueryTime)
		traced := 0
		for _, s := range c.Samples() {
			if s.TraceID != "" {
				x := point.times.Exemplars().At(traced)
				if id := x.TraceID(); hex.EncodeToString(id[:]) != trace || x.DoubleValue() != s.QueryTime.Seconds() || !x.Timestamp().AsTime().Equal(s.Time) {
					t.Errorf("exemplar %x of %v at %v, want %s of %v at %v", id, x.DoubleValue(), x.Timestamp().AsTime(), trace, s.QueryTime, s.Time)
				}
				traced++
			}
		}
		if n := point.times.Exemplars().Len(); n != traced {
			t.Errorf("%d exemplars, want %d", n, traced)
		}
	}
	if !strings.Contains(line.String(), `"traceId":"`+trace+`"`) {
		t.Error("OTLP's JSON writes the IDs of traces in hexadecimal digits")
	}
}

func TestClassesBeyondTheLimitAreOverflow(t *testing.T) {
	p := workload(3000, 9, digest.Options{MaxClasses: 6})
	points := decode(t, Metrics(p, start, end, Options{System: "mariadb", MaxClasses: 4}))
	if len(points) != 5 {
		t.Fatalf("%d points, want 5", len(points))
	}
	rest := points[""]
	if diff := cmp.Diff(map[string]any{"otel.metric.overflow": true, "db.system.name": "mariadb"}, rest.attributes); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	var times digest.Durations
	over := p.Overflow()
	times.Merge(&over.QueryTime)
	count, failed, lock, examined, sent := over.Count, over.ErrorCount(), over.LockTime.Seconds(), over.RowsExamined.Sum(), over.Summary(digest.RowsSent).Sum()
	for _, c := range p.Top(0, digest.ByTotalTime)[4:] {
		times.Merge(&c.QueryTime)
		count += c.Count
		failed += c.ErrorCount()
		lock += c.LockTime.Seconds()
		examined += c.RowsExamined.Sum()
		sent += c.Summary(digest.RowsSent).Sum()
	}
	checkSums(t, rest, count, failed, lock, examined, sent)
	checkTimes(t, rest.times, &times)
	total := 0.
	for _, point := range points {
		total += point.sums["quern.query.count"]
	}
	if total != p.Count {
		t.Errorf("the points have %v statements, the profile %v", total, p.Count)
	}
}

func TestStatementsWithoutTimesHaveNoHistogram(t *testing.T) {
	var agg digest.Aggregator
	agg.Add(&slowlog.Event{Query: "select 1", Weight: 1}) // as of a general log
	for _, point := range decode(t, Metrics(agg.Profile(), start, end, Options{})) {
		if point.timed || point.sums["quern.query.count"] != 1 {
			t.Errorf("timed %v, %v", point.timed, point.sums)
		}
	}
}

func TestWideDistributionsGetWiderBuckets(t *testing.T) {
	var agg digest.Aggregator
	for d := time.Microsecond; d < time.Hour; d *= 2 {
		agg.Add(&slowlog.Event{Query: "select 1", QueryTime: d, Weight: 1})
	}
	for _, point := range decode(t, Metrics(agg.Profile(), start, end, Options{})) {
		if s := point.times.Scale(); s != 2 { // 32 octaves in 160 buckets
			t.Errorf("scale %d, want 2", s)
		}
	}
	if b := expo.Of(&agg.Profile().QueryTime, 3); len(b.Counts) <= MaxBuckets {
		t.Errorf("%d buckets of scale 3 would do", len(b.Counts))
	}
}

func TestPostSendsWhatAnEndpointReads(t *testing.T) {
	p := workload(100, 2, digest.Options{})
	status, rejected := http.StatusOK, int64(0)
	var got pmetric.Metrics
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		req := pmetricotlp.NewExportRequest()
		if err := req.UnmarshalProto(body); err != nil || r.Method != "POST" || r.URL.Path != "/v1/metrics" || r.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		got = req.Metrics()
		resp := pmetricotlp.NewExportResponse()
		resp.PartialSuccess().SetRejectedDataPoints(rejected)
		resp.PartialSuccess().SetErrorMessage("too old")
		answer, _ := resp.MarshalProto()
		w.WriteHeader(status)
		w.Write(answer)
	}))
	defer server.Close()
	url := server.URL + "/v1/metrics"
	md := Metrics(p, start, end, Options{})
	post := func() error { return Post(context.Background(), http.DefaultClient, url, md) }
	if err := post(); err != nil {
		t.Fatal(err)
	}
	for c := range p.Classes() {
		checkTimes(t, decode(t, got)[c.ID.String()].times, &c.QueryTime)
	}
	rejected = 3
	var e *RejectedError
	if err := post(); !errors.As(err, &e) || e.Points != 3 || !strings.Contains(err.Error(), "too old") {
		t.Errorf("got %v, want a RejectedError of 3 points", err)
	}
	status = http.StatusServiceUnavailable
	if err := post(); err == nil || errors.As(err, &e) || !strings.Contains(err.Error(), "503") {
		t.Errorf("got %v, want the status", err)
	}
	server.Close()
	if err := post(); err == nil || errors.As(err, &e) {
		t.Errorf("got %v of an endpoint that is not there", err)
	}
}
