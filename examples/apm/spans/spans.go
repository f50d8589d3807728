// Package spans turns the spans of database calls into observations.
//
//	collector := digest.NewCollector(digest.CollectorOptions{})
//	provider := sdktrace.NewTracerProvider(
//		sdktrace.WithSpanProcessor(spans.NewProcessor(collector.Observe)),
//		…)
//
// A span counts if it has the text of a statement, db.query.text or, as it was
// called before, db.statement, and if its system is not said to be another than
// MySQL or MariaDB. A text of which an instrumentation has removed the literals
// belongs to the same class as one with them.
//
// A processor sees the spans that are recorded. Where a sampler keeps a part of the
// traces, and writes the threshold of its choice into the trace state as
// OpenTelemetry's consistent sampling does (ot=th:…), a span stands for as many as
// were left out for it. Without that it stands for itself alone.
//
// Where a call has spans of several instrumentations with the text in each, say of
// an object-relational mapper and of the driver below it, the call counts as often.
package spans

import (
	"context"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/quern-dev/quern/digest"
)

// Observation returns the statement that the span is of. It is not ok if it is of
// none.
//
// Of an error it tells the server's number, if the span has it as
// db.response.status_code, and nothing of its text.
func Observation(s sdktrace.ReadOnlySpan) (o digest.Observation, ok bool) {
	o = digest.Observation{
		Duration: s.EndTime().Sub(s.StartTime()),
		End:      s.EndTime(),
		Failed:   s.Status().Code == codes.Error,
		Weight:   weight(s.SpanContext().TraceState()),
	}
	if s.SpanContext().HasTraceID() {
		o.TraceID = s.SpanContext().TraceID().String()
	}
	var text, statement, namespace, name string
	for _, a := range s.Attributes() {
		value := a.Value.String()
		switch a.Key {
		case "db.query.text":
			text = value
		case "db.statement":
			statement = value
		case "db.namespace":
			namespace = value
		case "db.name":
			name = value
		case "db.user":
			o.User = value
		case "db.response.status_code":
			o.Errno, _ = strconv.Atoi(value)
		case "db.response.returned_rows":
			o.RowsSent, _ = strconv.ParseInt(value, 10, 64)
		case "db.system.name", "db.system":
			switch value {
			case "mysql", "mariadb", "other_sql", "":
			default:
				return o, false
			}
		case "error.type":
			if value == skipped {
				return o, false
			}
			o.Failed = true
		}
	}
	o.SQL, o.Schema = first(text, statement), first(namespace, name)
	return o, o.SQL != ""
}

// skipped is the error.type of a call that was made again another way.
const skipped = "database/sql/driver.ErrSkip"

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// weight returns how many spans one stands for: 2^56 / (2^56 - T), where th:T are
// the leading hexadecimal digits of the 14 of the threshold, and 1 without it.
func weight(state trace.TraceState) float64 {
	for member := range strings.SplitSeq(state.Get("ot"), ";") {
		digits, ok := strings.CutPrefix(member, "th:")
		if !ok || digits == "" || len(digits) > 14 {
			continue
		}
		const all = 1 << 56
		if t, err := strconv.ParseUint(digits, 16, 64); err == nil {
			return all / float64(all-t<<(4*(14-len(digits))))
		}
	}
	return 1
}

// NewProcessor returns a processor that hands each ended span of a statement to
// observe, such as the Observe of a digest.Collector, on the goroutine that ends it.
func NewProcessor(observe func(digest.Observation)) sdktrace.SpanProcessor {
	return processor{observe}
}

type processor struct{ observe func(digest.Observation) }

func (p processor) OnEnd(s sdktrace.ReadOnlySpan) {
	if o, ok := Observation(s); ok {
		p.observe(o)
	}
}

func (processor) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (processor) Shutdown(context.Context) error                  { return nil }
func (processor) ForceFlush(context.Context) error                { return nil }
