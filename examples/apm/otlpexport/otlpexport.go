// Package otlpexport turns profiles into metrics of the OpenTelemetry protocol, and
// sends them as OTLP over HTTP or writes them as OTLP's JSON, one request a line.
//
//	md := otlpexport.Metrics(window.Profile, window.Start, window.End, otlpexport.Options{System: "mysql"})
//	err := otlpexport.Post(ctx, http.DefaultClient, "http://127.0.0.1:4318/v1/metrics", md)
//
// The metrics are of the window alone (delta temporality), a data point for each
// query class and schema:
//
//	quern.query.duration       exponential histogram of the query times in seconds,
//	                           with the traces of the class's samples as exemplars
//	quern.query.count          statements, by the weights of sampled logs
//	quern.query.errors         of them, those that ended with an error
//	quern.query.lock_time      lock times, in seconds
//	quern.query.rows_examined
//	quern.query.rows_returned
//
// with the attributes
//
//	quern.query.id      the class's ID
//	db.query.summary    verb and tables
//	db.system.name      Options.System
//	db.namespace        the default schema, where the profile is grouped by it
//
// All classes beyond Options.MaxClasses, and the profile's own overflow, are one
// data point with the attribute otel.metric.overflow, so that the points add up to
// all statements. No attribute has anything of a literal, a comment, a user or a
// host. Administrator commands are in no point.
//
// # Exactness
//
// Sums, minima and maxima are the profile's. In the histogram each query time counts
// as one within 1 % of it; it has the scale 4, or that at which 160 buckets do. See
// package expo.
package otlpexport

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/examples/apm/expo"
	"github.com/quern-dev/quern/examples/apm/internal/classes"
)

// Scale is that of the histograms, unless they would have more than MaxBuckets,
// the limit that OpenTelemetry's own SDKs have.
const (
	Scale      = 4
	MaxBuckets = 160
)

// Options say what the metrics are of.
type Options struct {
	// System is db.system.name: mysql or mariadb. It is left out if it is empty.
	System string
	// Service is the service.name of the resource, "quern" if it is empty.
	Service string
	// MaxClasses is how many classes have a data point of their own, those of the
	// largest total time: 100 if it is 0.
	MaxClasses int
}

// Metrics returns what the profile, which is of the time from start until end,
// says.
func Metrics(p *digest.Profile, start, end time.Time, o Options) pmetric.Metrics {
	if o.MaxClasses <= 0 {
		o.MaxClasses = 100
	}
	if o.Service == "" {
		o.Service = "quern"
	}
	md := pmetric.NewMetrics()
	rm := md.ResourceMetrics().AppendEmpty()
	rm.Resource().Attributes().PutStr("service.name", o.Service)
	sm := rm.ScopeMetrics().AppendEmpty()
	sm.Scope().SetName("github.com/quern-dev/quern")

	w := newWriter(sm.Metrics(), start, end)
	names := classes.NewNamer(p)
	var rest point
	n := 0
	for _, c := range p.Top(0, digest.ByTotalTime) {
		if c.Kind != digest.Statements {
			continue
		}
		if n++; n > o.MaxClasses {
			rest.Add(c)
			continue
		}
		var own point
		own.Add(c)
		own.samples = c.Samples()
		w.write(&own, func(a pcommon.Map) {
			a.PutStr("quern.query.id", c.ID.String())
			putName(a, "db.query.summary", names.Summary(c))
			putName(a, "db.system.name", o.System)
			putName(a, "db.namespace", names.Schema(c))
		})
	}
	if c := p.Overflow(); c != nil {
		rest.Add(c)
	}
	if rest.Count > 0 {
		w.write(&rest, func(a pcommon.Map) {
			a.PutBool("otel.metric.overflow", true)
			putName(a, "db.system.name", o.System)
		})
	}
	return md
}

func putName(a pcommon.Map, key, name string) {
	if name != "" {
		a.PutStr(key, classes.Name(name))
	}
}

// A point is what the data points say of one class, or of several.
type point struct {
	classes.Sums
	samples []*digest.Sample
}

// A writer has the data points of each metric.
type writer struct {
	start, end pcommon.Timestamp
	durations  pmetric.ExponentialHistogramDataPointSlice
	sums       []pmetric.NumberDataPointSlice
}

func newWriter(metrics pmetric.MetricSlice, start, end time.Time) *writer {
	w := &writer{start: pcommon.NewTimestampFromTime(start), end: pcommon.NewTimestampFromTime(end)}
	m := metrics.AppendEmpty()
	m.SetName("quern.query.duration")
	m.SetUnit("s")
	m.SetDescription("Query times.")
	h := m.SetEmptyExponentialHistogram()
	h.SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
	w.durations = h.DataPoints()
	for _, sum := range [...]struct{ name, unit, description string }{
		{"quern.query.count", "{statement}", "Statements."},
		{"quern.query.errors", "{statement}", "Statements that ended with an error."},
		{"quern.query.lock_time", "s", "Lock times."},
		{"quern.query.rows_examined", "{row}", "Rows that were examined."},
		{"quern.query.rows_returned", "{row}", "Rows that were sent."},
	} {
		m := metrics.AppendEmpty()
		m.SetName(sum.name)
		m.SetUnit(sum.unit)
		m.SetDescription(sum.description)
		s := m.SetEmptySum()
		s.SetIsMonotonic(true)
		s.SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
		w.sums = append(w.sums, s.DataPoints())
	}
	return w
}

func (w *writer) write(p *point, attributes func(pcommon.Map)) {
	for i, v := range p.Counters() {
		dp := w.sums[i].AppendEmpty()
		dp.SetStartTimestamp(w.start)
		dp.SetTimestamp(w.end)
		dp.SetDoubleValue(v)
		attributes(dp.Attributes())
	}
	if p.Times.Observed() == 0 {
		return // as of a general log, which has no times
	}
	dp := w.durations.AppendEmpty()
	dp.SetStartTimestamp(w.start)
	dp.SetTimestamp(w.end)
	attributes(dp.Attributes())
	b := expo.Of(&p.Times, Scale).Fit(MaxBuckets)
	dp.SetScale(int32(b.Scale))
	dp.SetCount(b.Count())
	dp.SetZeroCount(b.Zero)
	dp.SetSum(p.Times.Seconds())
	dp.SetMin(p.Times.Min().Seconds())
	dp.SetMax(p.Times.Max().Seconds())
	dp.Positive().SetOffset(int32(b.Offset))
	dp.Positive().BucketCounts().FromRaw(b.Counts)
	for _, s := range p.samples {
		id, ok := classes.TraceID(s)
		if !ok {
			continue
		}
		e := dp.Exemplars().AppendEmpty()
		e.SetTraceID(id)
		e.SetDoubleValue(s.QueryTime.Seconds())
		if !s.Time.IsZero() {
			e.SetTimestamp(pcommon.NewTimestampFromTime(s.Time))
		}
	}
}

// WriteLine writes the metrics as one line of JSON, as the Collector's file exporter
// does.
func WriteLine(w io.Writer, md pmetric.Metrics) error {
	line, err := new(pmetric.JSONMarshaler).MarshalMetrics(md)
	if err != nil {
		return fmt.Errorf("OTLP: %w", err)
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// Post sends the metrics to an endpoint of OTLP over HTTP, whose path is usually
// /v1/metrics. An error says what the endpoint answered, also where that is that it
// took only some of the metrics.
func Post(ctx context.Context, client *http.Client, url string, md pmetric.Metrics) error {
	body, err := pmetricotlp.NewExportRequestFromMetrics(md).MarshalProto()
	if err != nil {
		return fmt.Errorf("OTLP: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("OTLP: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("OTLP: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("OTLP: %s: %w", url, err)
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("OTLP: %s answers %s", url, resp.Status)
	}
	r := pmetricotlp.NewExportResponse()
	if r.UnmarshalProto(answer) == nil && r.PartialSuccess().RejectedDataPoints() > 0 {
		return &RejectedError{URL: url, Points: r.PartialSuccess().RejectedDataPoints(), Message: r.PartialSuccess().ErrorMessage()}
	}
	return nil
}

// A RejectedError says that an endpoint took a request, but not all of its data
// points. To send them again is of no use.
type RejectedError struct {
	URL     string
	Points  int64
	Message string // the endpoint's
}

func (e *RejectedError) Error() string {
	return fmt.Sprintf("OTLP: %s rejects %d data points: %s", e.URL, e.Points, e.Message)
}
