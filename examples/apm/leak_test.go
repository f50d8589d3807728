package main

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/examples/apm/internal/scrape"
	"github.com/quern-dev/quern/examples/apm/otlpexport"
	"github.com/quern-dev/quern/examples/apm/promexport"
	"github.com/quern-dev/quern/examples/apm/spans"
	"github.com/quern-dev/quern/internal/secrets"
	"github.com/quern-dev/quern/slowlog"
)

// noLeak fails if one of the texts holds a secret, or there is none to hold one.
func noLeak(t *testing.T, p *secrets.Planter, texts map[string]string) {
	t.Helper()
	for name, text := range texts {
		if text == "" {
			t.Errorf("%s: there is none", name)
		}
		if part, around := p.Leak([]byte(text)); part != "" {
			t.Errorf("%s holds %q in …%q…", name, part, around)
		}
	}
}

// Secrets are planted in literals, comments, users, hosts, errors, plans and broken
// records of a log. The agent exports none.
func TestNoLiteralLeavesTheAgent(t *testing.T) {
	for seed := range uint64(3) {
		p := secrets.New(seed)
		p.Users = true
		log := p.Log(200)
		n := 0.
		r := slowlog.NewReader(strings.NewReader(string(log)))
		for ev, err := range r.All() {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Command == "" && ev.Throttled == 0 {
				n++
			}
		}
		dir := t.TempDir()
		path, otlp, checkpoint := filepath.Join(dir, "slow.log"), filepath.Join(dir, "otlp.jsonl"), filepath.Join(dir, "checkpoint")
		writeFile(t, path, append(log, "# Time: 2026-11-30T11:00:00Z\n# Query_time: 1\nSELECT 1;\n"...))
		a := start(t, "-otlp", otlp, "-checkpoint", checkpoint, path)
		a.scrape(scrape.Text, n)
		texts := make(map[string]string)
		for _, accept := range []string{scrape.Text, scrape.Protobuf, scrape.OpenMetrics} {
			_, texts[accept] = a.get("metrics", accept)
		}
		_, texts["the page"] = a.get("", "text/html")
		if status := a.stop(); status != 0 {
			t.Fatalf("status %d: %s", status, a.log)
		}
		for name, file := range map[string]string{"OTLP": otlp, "the checkpoint": checkpoint} {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			texts[name] = string(data)
		}
		texts["standard error"] = a.log.String()
		noLeak(t, p, texts)

		asked := start(t, "-literals", path)
		asked.scrape(scrape.Text, n)
		_, page := asked.get("", "text/html")
		if part, _ := p.Leak([]byte(page)); part == "" {
			t.Error("-literals shows no literal")
		}
		_, metrics := asked.get("metrics", scrape.Text)
		noLeak(t, p, map[string]string{"metrics with -literals": metrics})
		asked.stop()
	}
}

// The text of a span's error is often the server's, with the value that it is about.
func TestNoLiteralLeavesBySpans(t *testing.T) {
	p := secrets.New(9)
	c := digest.NewCollector(digest.CollectorOptions{})
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans.NewProcessor(c.Observe))).Tracer("test")
	for range 300 {
		_, span := tracer.Start(context.Background(), "query")
		secret := p.Statement()
		span.SetAttributes(attribute.String("db.query.text", p.Statement()), attribute.String("db.user", secret), attribute.String("db.query.parameter.0", secret))
		span.RecordError(errors.New(secret))
		span.SetStatus(codes.Error, secret)
		span.End()
	}
	profile := c.Flush()
	prom := promexport.New(promexport.Options{MaxSeries: 1000})
	prom.Add(profile)
	registry := prometheus.NewRegistry()
	registry.MustRegister(prom)
	rec := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	var otlp strings.Builder
	now := time.Now()
	if err := otlpexport.WriteLine(&otlp, otlpexport.Metrics(profile, now, now, otlpexport.Options{MaxClasses: 1000})); err != nil {
		t.Fatal(err)
	}
	noLeak(t, p, map[string]string{"Prometheus": rec.Body.String(), "OTLP": otlp.String()})
}
