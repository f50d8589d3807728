package promexport

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/examples/apm/expo"
	"github.com/quern-dev/quern/examples/apm/internal/classes"
)

// series is all that was added of one class.
type series struct {
	labels        []string // id, verb, summary, schema
	created, seen time.Time

	classes.Sums
	exemplars []prometheus.Exemplar // of the last window that had some
}

func (s *series) add(c *digest.Class, now time.Time) {
	s.seen = now
	s.Add(c)
	var exemplars []prometheus.Exemplar
	for _, sample := range c.Samples() {
		if _, ok := classes.TraceID(sample); !ok {
			continue
		}
		exemplars = append(exemplars, prometheus.Exemplar{
			Value:     sample.QueryTime.Seconds(),
			Labels:    prometheus.Labels{"trace_id": sample.TraceID},
			Timestamp: sample.Time,
		})
	}
	if exemplars != nil {
		s.exemplars = exemplars
	}
}

var labelNames = []string{"id", "verb", "summary", "schema"}

var (
	durationDesc = prometheus.NewDesc("quern_query_duration_seconds", "Query times of the class.", labelNames, nil)
	counterDescs = [...]*prometheus.Desc{
		prometheus.NewDesc("quern_statements_total", "Statements of the class.", labelNames, nil),
		prometheus.NewDesc("quern_statement_errors_total", "Statements of the class that ended with an error.", labelNames, nil),
		prometheus.NewDesc("quern_lock_seconds_total", "Lock times of the class.", labelNames, nil),
		prometheus.NewDesc("quern_rows_examined_total", "Rows that statements of the class examined.", labelNames, nil),
		prometheus.NewDesc("quern_rows_sent_total", "Rows that statements of the class sent.", labelNames, nil),
	}
)

// Describe implements prometheus.Collector.
func (e *Exporter) Describe(ch chan<- *prometheus.Desc) {
	ch <- durationDesc
	for _, d := range counterDescs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (e *Exporter) Collect(ch chan<- prometheus.Metric) {
	var metrics []prometheus.Metric
	e.mu.Lock()
	for _, s := range e.classes {
		metrics = s.appendMetrics(metrics)
	}
	metrics = e.overflow.appendMetrics(metrics)
	e.mu.Unlock()
	for _, m := range metrics { // the receiver may be slow
		ch <- m
	}
}

func (s *series) appendMetrics(metrics []prometheus.Metric) []prometheus.Metric {
	for i, v := range s.Counters() {
		metrics = append(metrics, prometheus.MustNewConstMetricWithCreatedTimestamp(counterDescs[i], prometheus.CounterValue, v, s.created, s.labels...))
	}
	var h prometheus.Metric = histogram{prometheus.MakeLabelPairs(durationDesc, s.labels), s.histogram()}
	if len(s.exemplars) > 0 {
		if with, err := prometheus.NewMetricWithExemplars(h, s.exemplars...); err == nil {
			h = with
		}
	}
	return append(metrics, h)
}

// A histogram is a classic and a native one, which no constructor of package
// prometheus makes of counts.
type histogram struct {
	labels []*dto.LabelPair
	*dto.Histogram
}

func (h histogram) Desc() *prometheus.Desc { return durationDesc }

func (h histogram) Write(m *dto.Metric) error {
	m.Label, m.Histogram = h.labels, h.Histogram
	return nil
}

func (s *series) histogram() *dto.Histogram {
	counts, total := expo.AtMost(&s.Times, Bounds)
	sum, schema, zero := s.Times.Seconds(), int32(Schema), 0.
	h := &dto.Histogram{
		SampleCount:      &total,
		SampleSum:        &sum,
		CreatedTimestamp: timestamppb.New(s.created),
		Schema:           &schema,
		ZeroThreshold:    &zero,
	}
	for i, n := range counts {
		bound := Bounds[i].Seconds()
		h.Bucket = append(h.Bucket, &dto.Bucket{CumulativeCount: &n, UpperBound: &bound})
	}
	b := expo.Of(&s.Times, Schema)
	h.ZeroCount = &b.Zero
	h.PositiveSpan, h.PositiveDelta = spans(b)
	return h
}

// spans returns the buckets as runs of filled ones and the differences between
// each and the one before. The native histogram numbers a bucket one higher than
// OpenTelemetry.
func spans(b expo.Buckets) (spans []*dto.BucketSpan, deltas []int64) {
	const gap = 2 // empty buckets that cost less than a new span
	last, end := int64(0), 0
	for i, n := range b.Counts {
		if n == 0 {
			continue
		}
		number := b.Offset + i + 1
		switch {
		case spans == nil || number > end+gap:
			offset, length := int32(number-end), uint32(0)
			spans = append(spans, &dto.BucketSpan{Offset: &offset, Length: &length})
		default:
			for ; end < number; end++ {
				*spans[len(spans)-1].Length++
				deltas = append(deltas, -last)
				last = 0
			}
		}
		*spans[len(spans)-1].Length++
		deltas = append(deltas, int64(n)-last)
		last, end = int64(n), number+1
	}
	if spans == nil { // of none: it would read as a classic histogram else
		spans = []*dto.BucketSpan{{Offset: new(int32), Length: new(uint32)}}
	}
	return spans, slices.Clip(deltas)
}
