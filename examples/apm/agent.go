package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/examples/apm/otlpexport"
	"github.com/quern-dev/quern/examples/apm/processlist"
	"github.com/quern-dev/quern/examples/apm/promexport"
	"github.com/quern-dev/quern/slowlog"
	"github.com/quern-dev/quern/slowlog/logfile"
)

// A class is the statements of one fingerprint in one schema.
var groups = []digest.Group{digest.BySchema, digest.ByFingerprint}

// An agent observes, and exports what it observed at the end of each window.
type agent struct {
	*config
	log       io.Writer
	listener  net.Listener
	collector *digest.Collector
	registry  *prometheus.Registry
	prom      *promexport.Exporter
	page      *page
	sink      *sink // nil without -otlp
	resume    *logfile.Checkpoint
	damaged   prometheus.Counter

	// Held while an event is added and while a window is closed, so that a window
	// has the events up to the checkpoint and no others.
	mu         sync.Mutex
	checkpoint logfile.Checkpoint
	began      time.Time // of the window

	failures map[string]string // last error by what failed, so that each is said once
}

func newAgent(c *config, log io.Writer) (*agent, error) {
	a := &agent{config: c, log: log, failures: make(map[string]string)}
	if c.checkpoint != "" {
		var err error
		if a.resume, err = loadCheckpoint(c.checkpoint); err != nil {
			return nil, err
		}
	}
	a.collector = digest.NewCollector(digest.CollectorOptions{
		GroupBy:  groups,
		Literals: c.literals,
	})
	a.prom = promexport.New(promexport.Options{MaxSeries: c.limit})
	a.page = &page{literals: c.literals}
	a.damaged = prometheus.NewCounter(prometheus.CounterOpts{Name: "quern_damaged_records_total", Help: "Records of the logs that were skipped."})
	a.registry = prometheus.NewRegistry()
	a.registry.MustRegister(a.prom, promexport.Stats(a.collector), a.damaged)
	var err error
	if a.listener, err = net.Listen("tcp", c.listen); err != nil {
		return nil, err
	}
	if c.otlp != "" {
		if a.sink, err = newSink(c); err != nil {
			a.listener.Close()
			return nil, err
		}
	}
	return a, nil
}

// run observes and exports until the context ends.
func (a *agent) run(ctx context.Context) error {
	a.began = time.Now()
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(a.registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	mux.Handle("GET /{$}", a.page)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(a.listener) }()
	fmt.Fprintf(a.log, "apm: http://%s/ and /metrics\n", a.listener.Addr())

	observing, stop := context.WithCancel(ctx)
	defer stop()
	var sources sync.WaitGroup
	start := func(source func(context.Context)) { sources.Go(func() { source(observing) }) }
	if len(a.files) > 0 {
		start(a.follow)
	}
	if a.processlist != nil {
		start(a.watchProcesses)
	}
	if len(a.files) == 0 && a.processlist == nil {
		fmt.Fprintln(a.log, "apm: nothing to watch was given: made-up spans are shown; apm -h tells more")
		start(a.makeUpSpans)
	}

	ticker := time.NewTicker(a.window)
	defer ticker.Stop()
	var failure error
	for failure == nil && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-ticker.C:
			a.closeWindow(ctx)
		case failure = <-served:
		}
	}
	stop()
	sources.Wait()
	// The last window has a little time of its own.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := a.closeWindow(last); err != nil && failure == nil {
		failure = err
	}
	if a.sink != nil {
		failure = errors.Join(failure, a.sink.close())
	}
	server.Close()
	return failure
}

// closeWindow exports what was observed since the last one, and stores how far the
// logs have been read once that is done. Its error was said already.
func (a *agent) closeWindow(ctx context.Context) error {
	a.mu.Lock()
	p := a.collector.Flush()
	checkpoint := a.checkpoint
	start, end := a.began, time.Now()
	a.began = end
	a.mu.Unlock()

	a.prom.Add(p)
	a.page.add(p, start, end)
	if a.sink != nil {
		err := a.sink.export(ctx, p, start, end)
		if err == nil || ctx.Err() == nil {
			a.complain("-otlp", err)
		}
		if rejected := (*otlpexport.RejectedError)(nil); err != nil && !errors.As(err, &rejected) {
			return err // the window comes again, with the next
		}
	}
	if a.config.checkpoint != "" && len(checkpoint.Files) > 0 {
		err := saveCheckpoint(a.config.checkpoint, checkpoint)
		a.complain("-checkpoint", err)
		return err
	}
	return nil
}

// complain says what failed, unless it was said before, and that it works again. It
// is called by closeWindow and the sources.
func (a *agent) complain(what string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := ""
	if err != nil {
		text = err.Error()
	}
	switch {
	case text == a.failures[what]:
	case text == "":
		fmt.Fprintf(a.log, "apm: %s: works again\n", what)
	default:
		fmt.Fprintf(a.log, "apm: %s: %s\n", what, text)
	}
	a.failures[what] = text
}

// follow reads the slow logs.
func (a *agent) follow(ctx context.Context) {
	for _, name := range a.files {
		if _, err := os.Stat(name); errors.Is(err, os.ErrNotExist) {
			fmt.Fprintf(a.log, "apm: %s is not there yet, and waited for\n", name)
		}
	}
	f := logfile.Follow(ctx, a.files...)
	defer f.Close()
	f.ReuseEvent = true
	f.FromEnd = a.fromEnd
	f.OnDamage = func(string, slowlog.Damage) { a.damaged.Inc() }
	if a.resume != nil {
		f.Resume(*a.resume)
	}
	for {
		ev, err := f.Read()
		if ctx.Err() != nil {
			return
		}
		if err != nil { // of one file, said once; Read tries it again
			fmt.Fprintln(a.log, "apm:", err)
			continue
		}
		a.mu.Lock()
		a.collector.Add(ev)
		a.checkpoint = f.Checkpoint()
		a.mu.Unlock()
	}
}

// watchProcesses looks at the processes of a server.
func (a *agent) watchProcesses(ctx context.Context) {
	connector, err := mysql.NewConnector(a.processlist)
	if err != nil {
		a.complain("-processlist", err)
		return
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	p := processlist.New(db, a.collector.Observe)
	defer p.Close()
	tick := time.NewTicker(a.interval)
	defer tick.Stop()
	for {
		err := p.Poll(ctx)
		if ctx.Err() != nil {
			return
		}
		a.complain("-processlist", err)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// loadCheckpoint returns what saveCheckpoint stored, nil if there is no file.
func loadCheckpoint(name string) (*logfile.Checkpoint, error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c := new(logfile.Checkpoint)
	if err := json.Unmarshal(data, c); err != nil {
		return nil, fmt.Errorf("%s is no checkpoint: %w", name, err)
	}
	return c, nil
}

// saveCheckpoint replaces the file, so that it is whole whenever the agent dies.
func saveCheckpoint(name string, c logfile.Checkpoint) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".apm-checkpoint-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // if it was not renamed
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
