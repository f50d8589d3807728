// Package promexport shows the profiles of a digest.Collector's windows to
// Prometheus.
//
//	exporter := promexport.New(promexport.Options{})
//	prometheus.MustRegister(exporter, promexport.Stats(collector))
//	…
//	for _, w := range collector.Rotate(now) {
//		exporter.Add(w.Profile)
//	}
//
// The metrics are counters and a histogram that only rise, each of one query class
// and schema:
//
//	quern_query_duration_seconds    classic and native histogram of the query times
//	quern_statements_total          statements, by the weights of sampled logs
//	quern_statement_errors_total    of them, those that ended with an error
//	quern_lock_seconds_total        lock times
//	quern_rows_examined_total
//	quern_rows_sent_total
//
// with the labels
//
//	id       the class's ID
//	verb     such as SELECT
//	summary  OpenTelemetry's db.query.summary: verb and tables
//	schema   the default schema, where the profiles are grouped by it
//
// No label has anything of a literal, a comment, a user or a host. Administrator
// commands are in none of the metrics.
//
// # Bounds
//
// At most Options.MaxSeries classes are told apart; all others are the one class
// with the id "overflow". A class keeps its series; once all are taken, a new class
// gets that of the class that has been without statements the longest, if it has
// been for an hour. So what the series rise by in a time adds up to all statements
// of that time, always.
//
// # Exactness
//
// Counts and sums are the profile's, as float64. In the histograms each query time
// counts as one within 1 % of it, and the count of a bound that is a power of ten is
// that of the times below it, without error; see package expo.
package promexport

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/examples/apm/internal/classes"
)

// Overflow is the id of the classes that have no series of their own.
const Overflow = "overflow"

// idleFor is how long a class is without statements before it loses its series to
// another.
const idleFor = time.Hour

// Bounds are the bounds of the classic histogram: 1, 2 and 5 in each power of ten.
var Bounds = []time.Duration{
	100 * time.Microsecond, 200 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond,
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second,
	10 * time.Second, 20 * time.Second, 50 * time.Second,
	100 * time.Second,
}

// Schema is the scale of the native histogram: 16 buckets from a power of two to
// the next.
const Schema = 4

// Options are what an Exporter needs to know.
type Options struct {
	// MaxSeries is how many classes are told apart, 100 if it is 0.
	MaxSeries int
}

// An Exporter adds profiles up and is a prometheus.Collector of what they come to.
// It is safe for concurrent use. For each class it takes as much memory as a
// digest.Histogram, at most 30 KB.
type Exporter struct {
	opt Options
	now func() time.Time

	mu       sync.Mutex
	classes  map[digest.ID]*series
	overflow *series
}

// New returns an Exporter of nothing yet.
func New(o Options) *Exporter {
	if o.MaxSeries <= 0 {
		o.MaxSeries = 100
	}
	e := &Exporter{opt: o, now: time.Now, classes: make(map[digest.ID]*series)}
	e.overflow = &series{labels: []string{Overflow, "", "", ""}, created: e.now()}
	return e
}

// Add adds the profile of a window. It keeps nothing of p.
func (e *Exporter) Add(p *digest.Profile) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	names := classes.NewNamer(p)
	for _, c := range p.Top(0, digest.ByTotalTime) {
		if c.Kind != digest.Statements {
			continue
		}
		s := e.classes[c.ID]
		if s == nil && e.room(now) {
			s = &series{labels: labels(names, c), created: now}
			e.classes[c.ID] = s
		}
		if s == nil {
			e.overflow.add(c, now)
		} else {
			s.add(c, now)
		}
	}
	if c := p.Overflow(); c != nil {
		e.overflow.add(c, now)
	}
}

// room reports whether a new class may have a series, and makes room for it.
func (e *Exporter) room(now time.Time) bool {
	if len(e.classes) < e.opt.MaxSeries {
		return true
	}
	var idlest digest.ID
	var oldest *series
	for id, s := range e.classes {
		if oldest == nil || s.seen.Before(oldest.seen) {
			idlest, oldest = id, s
		}
	}
	if now.Sub(oldest.seen) < idleFor {
		return false
	}
	delete(e.classes, idlest)
	return true
}

func labels(names *classes.Namer, c *digest.Class) []string {
	l := []string{c.ID.String(), c.Verb, names.Summary(c), names.Schema(c)}
	for i, v := range l {
		l[i] = classes.Name(v)
	}
	return l
}

// Stats returns a prometheus.Collector of what a digest.Collector did and holds:
// quern_collector_observed_total, _overflowed_total, _late_total, _windows,
// _classes and _bytes; see digest.CollectorStats.
func Stats(c *digest.Collector) prometheus.Collector { return stats{c} }

type stats struct{ c *digest.Collector }

var statDescs = [...]*prometheus.Desc{
	prometheus.NewDesc("quern_collector_observed_total", "Observations.", nil, nil),
	prometheus.NewDesc("quern_collector_overflowed_total", "Observations that found no class of their own.", nil, nil),
	prometheus.NewDesc("quern_collector_late_total", "Observations whose window was closed.", nil, nil),
	prometheus.NewDesc("quern_collector_windows", "Windows that are open.", nil, nil),
	prometheus.NewDesc("quern_collector_classes", "Classes in the open windows.", nil, nil),
	prometheus.NewDesc("quern_collector_bytes", "Bytes that the classes take, about.", nil, nil),
}

func (s stats) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range statDescs {
		ch <- d
	}
}

func (s stats) Collect(ch chan<- prometheus.Metric) {
	st := s.c.Stats()
	for i, v := range [...]float64{float64(st.Observed), float64(st.Overflowed), float64(st.Late), float64(st.Windows), float64(st.Classes), float64(st.Bytes)} {
		kind := prometheus.CounterValue
		if i > 2 {
			kind = prometheus.GaugeValue
		}
		ch <- prometheus.MustNewConstMetric(statDescs[i], kind, v)
	}
}
