// Package sqlobserve opens databases whose statements are observed: a program that
// uses database/sql profiles its own workload without a slow log.
//
//	collector := digest.NewCollector(digest.CollectorOptions{})
//	db, err := sqlobserve.Open(cfg, collector.Observe)
//
// It wraps the driver with github.com/XSAM/otelsql, whose spans package spans turns
// into observations. Spans of otelsql that a program has already for its traces need
// no second wrapper: Options are what they need for spans.NewProcessor to count each
// statement once.
//
// A statement's time is that of the call: from its start until the server answers
// with the first of its rows, the way to the server and back included. The text is
// that of the program, with placeholders where it has them, and belongs to the same
// class as the one that a slow log shows with the arguments in it. What the driver
// adds of its own, such as the preparation of a statement, counts as no statement.
package sqlobserve

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"strconv"

	"github.com/XSAM/otelsql"
	"github.com/go-sql-driver/mysql"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/examples/apm/spans"
)

// Open returns a pool of connections like that of sql.Open("mysql", …), whose
// statements observe is called with, on the goroutine that runs them. An observation
// has the trace of the call's context, if that has one.
func Open(cfg *mysql.Config, observe func(digest.Observation)) (*sql.DB, error) {
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSampler(sdktrace.AlwaysSample()), // of what the program's traces leave out, too
		sdktrace.WithSpanProcessor(processor{spans.NewProcessor(observe), observe}),
	)
	return otelsql.OpenDB(connector, append(Options(cfg),
		otelsql.WithTracerProvider(provider),
		otelsql.WithMeterProvider(noop.NewMeterProvider()))...), nil
}

// Options make the spans of otelsql tell what an observation has, and no others have
// the text of a statement that runs.
func Options(cfg *mysql.Config) []otelsql.Option {
	return []otelsql.Option{
		otelsql.WithAttributes(
			attribute.String("db.system.name", "mysql"),
			attribute.String("db.namespace", cfg.DBName),
			attribute.String("db.user", cfg.User),
		),
		otelsql.WithSpanOptions(otelsql.SpanOptions{OmitConnPrepare: true, DisableErrSkip: true}),
		otelsql.WithSpanErrorAttributesGetter(errorAttributes),
	}
}

// errorAttributes tells a server's error by its number. What the driver refuses to
// do one way, to be asked another, is marked as no statement.
func errorAttributes(err error) []attribute.KeyValue {
	var e *mysql.MySQLError
	switch {
	case errors.Is(err, driver.ErrSkip):
		return []attribute.KeyValue{attribute.String("error.type", "database/sql/driver.ErrSkip")}
	case errors.As(err, &e):
		return []attribute.KeyValue{attribute.String("db.response.status_code", strconv.Itoa(int(e.Number)))}
	}
	return nil
}

// A processor observes spans of which nobody else hears.
type processor struct {
	sdktrace.SpanProcessor
	observe func(digest.Observation)
}

func (p processor) OnEnd(s sdktrace.ReadOnlySpan) {
	o, ok := spans.Observation(s)
	if !ok {
		return
	}
	if !s.Parent().IsValid() {
		o.TraceID = "" // a trace of this span alone, which is nowhere to be found
	}
	p.observe(o)
}
