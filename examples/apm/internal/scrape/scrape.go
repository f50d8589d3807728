// Package scrape reads what a scraper of Prometheus reads, for tests.
package scrape

import (
	"io"
	"math"
	"net/http"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// The forms that a scraper asks for.
const (
	Text        = "text/plain; version=0.0.4"
	Protobuf    = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
	OpenMetrics = "application/openmetrics-text; version=1.0.0"
)

// Families are the metrics of an answer, by their name.
type Families map[string]*dto.MetricFamily

// Decode reads an answer in text or protobuf.
func Decode(t testing.TB, body io.Reader, header http.Header) Families {
	t.Helper()
	families := make(Families)
	dec := expfmt.NewDecoder(body, expfmt.ResponseFormat(header))
	for {
		f := new(dto.MetricFamily)
		switch err := dec.Decode(f); err {
		case nil:
			families[f.GetName()] = f
		case io.EOF:
			return families
		default:
			t.Fatal(err)
		}
	}
}

// ByID returns the metrics of a family by their label id.
func (f Families) ByID(t testing.TB, name string) map[string]*dto.Metric {
	t.Helper()
	if f[name] == nil {
		t.Fatalf("there is no %s", name)
	}
	metrics := make(map[string]*dto.Metric)
	for _, m := range f[name].Metric {
		metrics[Label(m, "id")] = m
	}
	return metrics
}

// Label returns the value of a label, "" if there is none.
func Label(m *dto.Metric, name string) string {
	for _, l := range m.Label {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// Native returns the buckets of a native histogram by their upper bound.
func Native(h *dto.Histogram) map[float64]int64 {
	buckets := make(map[float64]int64)
	i, n, deltas := int32(0), int64(0), h.PositiveDelta
	for _, s := range h.PositiveSpan {
		i += s.GetOffset()
		for range s.GetLength() {
			n, deltas = n+deltas[0], deltas[1:]
			buckets[math.Exp2(math.Ldexp(float64(i), -int(h.GetSchema())))] += n
			i++
		}
	}
	return buckets
}
