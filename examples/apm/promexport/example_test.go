package promexport_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/examples/apm/promexport"
)

func Example() {
	collector := digest.NewCollector(digest.CollectorOptions{GroupBy: []digest.Group{digest.BySchema, digest.ByFingerprint}})
	exporter := promexport.New(promexport.Options{})
	registry := prometheus.NewRegistry()
	registry.MustRegister(exporter, promexport.Stats(collector))

	collector.Observe(digest.Observation{SQL: "SELECT name FROM product WHERE id = 4711", Schema: "shop", Duration: 3 * time.Millisecond})
	exporter.Add(collector.Flush()) // the host's ticker

	answer := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(answer.Body.String()) {
		if strings.HasPrefix(line, "quern_statements_total") {
			fmt.Print(line)
		}
	}
	// Output:
	// quern_statements_total{id="overflow",schema="",summary="",verb=""} 0
	// quern_statements_total{id="q1:0032dd6ae9f8731757ce602658309146",schema="shop",summary="select product",verb="SELECT"} 1
}
