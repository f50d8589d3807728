package spans

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/quern-dev/quern/digest"
)

var (
	begin   = time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	traceID = trace.TraceID{1, 2, 3, 15: 16}
)

// observed returns the observations of a span with the attributes, in a trace of the
// state.
func observed(state string, end func(trace.Span), attributes ...attribute.KeyValue) (list []digest.Observation) {
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.AlwaysSample())),
		sdktrace.WithSpanProcessor(NewProcessor(func(o digest.Observation) { list = append(list, o) })))
	ts, err := trace.ParseTraceState(state)
	if err != nil {
		panic(err)
	}
	ctx := trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: traceID, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled, TraceState: ts,
	}))
	_, span := provider.Tracer("test").Start(ctx, "query", trace.WithTimestamp(begin), trace.WithAttributes(attributes...))
	if end != nil {
		end(span)
	}
	span.End(trace.WithTimestamp(begin.Add(250 * time.Millisecond)))
	return list
}

func TestSpansOfStatementsAreObserved(t *testing.T) {
	const sql = "SELECT 1 FROM t WHERE a = 'x'"
	s := attribute.String
	whole := digest.Observation{SQL: sql, Duration: 250 * time.Millisecond, End: begin.Add(250 * time.Millisecond), TraceID: traceID.String(), Weight: 1}
	with := func(change func(*digest.Observation)) []digest.Observation {
		o := whole
		change(&o)
		return []digest.Observation{o}
	}
	failed := func(span trace.Span) {
		span.RecordError(errors.New("Duplicate entry 'secret'"))
		span.SetStatus(codes.Error, "Duplicate entry 'secret'")
	}
	for _, c := range []struct {
		name       string
		state      string
		end        func(trace.Span)
		attributes []attribute.KeyValue
		want       []digest.Observation
	}{
		{"stable names", "", nil, []attribute.KeyValue{s("db.system.name", "mysql"), s("db.query.text", sql), s("db.namespace", "shop"), s("db.user", "app"), attribute.Int("db.response.returned_rows", 7)},
			with(func(o *digest.Observation) { o.Schema, o.User, o.RowsSent = "shop", "app", 7 })},
		{"old names", "", nil, []attribute.KeyValue{s("db.system", "mariadb"), s("db.statement", sql), s("db.name", "shop")},
			with(func(o *digest.Observation) { o.Schema = "shop" })},
		{"both, in transition", "", nil, []attribute.KeyValue{s("db.statement", "old"), s("db.query.text", sql), s("db.name", "old")},
			with(func(o *digest.Observation) { o.Schema = "old" })},
		{"an error of a known number", "", failed, []attribute.KeyValue{s("db.query.text", sql), s("db.response.status_code", "1062")},
			with(func(o *digest.Observation) { o.Failed, o.Errno = true, 1062 })},
		{"an error of an unknown number", "", failed, []attribute.KeyValue{s("db.query.text", sql), s("db.response.status_code", "23000x")},
			with(func(o *digest.Observation) { o.Failed = true })},
		{"an error by its type", "", nil, []attribute.KeyValue{s("db.query.text", sql), s("error.type", "timeout")},
			with(func(o *digest.Observation) { o.Failed = true })},
		{"a half of the traces", "ot=p:8;th:8", nil, []attribute.KeyValue{s("db.query.text", sql)},
			with(func(o *digest.Observation) { o.Weight = 2 })},
		{"a hundredth of the traces", "ot=th:fd70a3d70a3d71", nil, []attribute.KeyValue{s("db.query.text", sql)},
			with(func(o *digest.Observation) { o.Weight = 100 })},
		{"all of the traces", "ot=th:0", nil, []attribute.KeyValue{s("db.query.text", sql)}, with(func(*digest.Observation) {})},
		{"a wrong threshold", "ot=th:xyz", nil, []attribute.KeyValue{s("db.query.text", sql)}, with(func(*digest.Observation) {})},
		{"another system", "", nil, []attribute.KeyValue{s("db.system.name", "postgresql"), s("db.query.text", sql)}, nil},
		{"no statement", "", nil, []attribute.KeyValue{s("http.route", "/")}, nil},
		{"a call that the driver skipped", "", nil, []attribute.KeyValue{s("db.query.text", sql), s("error.type", skipped)}, nil},
	} {
		got := observed(c.state, c.end, c.attributes...)
		for i := range got {
			if w := got[i].Weight; w > 99.9999999 && w < 100.0000001 {
				got[i].Weight = 100
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
