package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/quern-dev/quern/examples/apm/spans"
)

// The statements of the made-up shop, and what most of them take.
var demo = []struct {
	sql    string
	median time.Duration
}{
	{"SELECT id, name, price FROM product WHERE id = %d", 2 * time.Millisecond},
	{"SELECT p.id, p.name FROM product p JOIN product_text t ON t.product = p.id WHERE t.words LIKE '%%chair %d%%' LIMIT 20", 150 * time.Millisecond},
	{"SELECT o.id, o.total FROM orders o WHERE o.customer = %d ORDER BY o.created DESC LIMIT 10", 12 * time.Millisecond},
	{"INSERT INTO cart (session, product, amount) VALUES ('s%d', 4711, 1)", 3 * time.Millisecond},
	{"UPDATE session SET seen = NOW() WHERE id = 's%d'", time.Millisecond},
}

// makeUpSpans ends spans of a shop's statements as an instrumented program does.
func (a *agent) makeUpSpans(ctx context.Context) {
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans.NewProcessor(a.collector.Observe)))
	tracer := provider.Tracer("demo")
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			q := demo[rand.IntN(len(demo))]
			took := time.Duration(float64(q.median) * math.Exp(rand.NormFloat64()))
			_, span := tracer.Start(context.Background(), "query", trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(now.Add(-took)), trace.WithAttributes(
				attribute.String("db.system.name", "mysql"),
				attribute.String("db.namespace", "shop"),
				attribute.String("db.query.text", fmt.Sprintf(q.sql, rand.IntN(1e6))),
			))
			if rand.IntN(50) == 0 {
				span.SetStatus(codes.Error, "")
			}
			span.End(trace.WithTimestamp(now))
		}
	}
}
