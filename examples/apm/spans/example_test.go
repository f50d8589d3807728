package spans_test

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/examples/apm/spans"
)

func Example() {
	collector := digest.NewCollector(digest.CollectorOptions{})
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans.NewProcessor(collector.Observe)))
	for i := range 3 { // as an instrumentation does
		_, span := provider.Tracer("shop").Start(context.Background(), "SELECT product")
		span.SetAttributes(
			attribute.String("db.system.name", "mysql"),
			attribute.String("db.query.text", fmt.Sprintf("SELECT name FROM product WHERE id = %d", i)))
		span.End()
	}
	for _, c := range collector.Flush().Top(10, digest.ByTotalTime) {
		fmt.Println(c.Count, c.Fingerprint)
	}
	// Output:
	// 3 select name from product where id = ?
}
