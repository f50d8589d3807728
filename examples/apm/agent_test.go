package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/examples/apm/internal/scrape"
	"github.com/quern-dev/quern/internal/loggen"
	"github.com/quern-dev/quern/internal/testservers"
	"github.com/quern-dev/quern/slowlog"
)

// A running is an agent that runs.
type running struct {
	t      *testing.T
	url    string
	cancel context.CancelFunc
	status chan int
	log    *diagnostics
}

// diagnostics is what the agent writes to standard error.
type diagnostics struct {
	mu    sync.Mutex
	b     bytes.Buffer
	grown chan struct{}
}

func (d *diagnostics) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.b.Write(p)
	select {
	case d.grown <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (d *diagnostics) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.b.String()
}

var address = regexp.MustCompile(`http://[\d.:]+/`)

// start starts an agent with short windows.
func start(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, cancel: cancel, status: make(chan int, 1), log: &diagnostics{grown: make(chan struct{}, 1)}}
	go func() {
		r.status <- run(ctx, append([]string{"-listen", "127.0.0.1:0", "-window", "50ms"}, args...), r.log)
	}()
	t.Cleanup(cancel)
	for r.url == "" {
		select {
		case <-r.log.grown:
			r.url = address.FindString(r.log.String())
		case status := <-r.status:
			t.Fatalf("status %d: %s", status, r.log)
		}
	}
	return r
}

// get returns what the agent serves.
func (r *running) get(path, accept string) (http.Header, string) {
	r.t.Helper()
	req, err := http.NewRequest("GET", r.url+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		r.t.Fatalf("%s: %s: %v: %s", path, resp.Status, err, body)
	}
	return resp.Header, string(body)
}

// scrape waits until windows with so many statements have been exported, and returns
// the metrics.
func (r *running) scrape(accept string, statements float64) scrape.Families {
	r.t.Helper()
	for range 1200 { // a minute
		header, body := r.get("metrics", accept)
		families := scrape.Decode(r.t, strings.NewReader(body), header)
		n := 0.
		for _, m := range families.ByID(r.t, "quern_statements_total") {
			n += m.GetCounter().GetValue()
		}
		if n >= statements {
			return families
		}
		time.Sleep(50 * time.Millisecond)
	}
	r.t.Fatalf("the statements were not exported; %s", r.log)
	return nil
}

// stop interrupts the agent and returns its exit status.
func (r *running) stop() int {
	r.cancel()
	return <-r.status
}

// A workload is a log, its profile as the agent should make it, and the times of the
// statements by the class.
type workload struct {
	log        []byte
	profile    *digest.Profile
	statements float64
	times      map[digest.ID][]scrape.Time
}

func generate(t *testing.T, o loggen.Options) *workload {
	t.Helper()
	w := &workload{times: make(map[digest.ID][]scrape.Time)}
	o.OnRecord = func(r *loggen.Record) {
		if r.Command != "" {
			return
		}
		one := digest.Aggregator{Options: digest.Options{GroupBy: groups, Text: digest.TextNone}}
		one.Add(&slowlog.Event{Query: string(r.Query), Schema: r.Schema, Weight: 1})
		for c := range one.Profile().Classes() {
			w.times[c.ID] = append(w.times[c.ID], scrape.Time{Duration: r.QueryTime, Weight: r.Weight})
		}
	}
	var b bytes.Buffer
	if _, err := loggen.Generate(&b, o); err != nil {
		t.Fatal(err)
	}
	w.log = b.Bytes()
	agg := digest.Aggregator{Options: digest.Options{GroupBy: groups, Text: digest.TextRedacted}}
	for ev, err := range slowlog.NewReader(&b).All() {
		if err != nil {
			t.Fatal(err)
		}
		agg.Add(ev)
	}
	w.profile = agg.Profile()
	for c := range w.profile.Classes() {
		if c.Kind == digest.Statements {
			w.statements += c.Count
		}
	}
	return w
}

// totals are the numbers of a class that every form of export has.
type totals struct {
	Statements, Errors, Examined, Sent float64
	Seconds, Lock                      float64
}

func totalsOf(c *digest.Class) totals {
	return totals{c.Count, c.ErrorCount(), c.RowsExamined.Sum(), c.Summary(digest.RowsSent).Sum(), c.QueryTime.Seconds(), c.LockTime.Seconds()}
}

// sameTotals compares counts exactly, and sums of seconds as sums of floating-point
// numbers, a window each.
func sameTotals(t *testing.T, what string, want, got totals) {
	t.Helper()
	near := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Seconds" || p.Last().String() == ".Lock" },
		cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) <= 1e-9*math.Abs(x) }))
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Errorf("%s (-profile +exported):\n%s", what, diff)
	}
}

// scrapedTotals returns the numbers of each class as scraped.
func scrapedTotals(t *testing.T, f scrape.Families) map[string]totals {
	t.Helper()
	all := make(map[string]totals)
	value := func(name, id string) float64 { return f.ByID(t, name)[id].GetCounter().GetValue() }
	for id, m := range f.ByID(t, "quern_query_duration_seconds") {
		all[id] = totals{
			value("quern_statements_total", id), value("quern_statement_errors_total", id),
			value("quern_rows_examined_total", id), value("quern_rows_sent_total", id),
			m.Histogram.GetSampleSum(), value("quern_lock_seconds_total", id),
		}
	}
	return all
}

// sentTotals returns the numbers of each class as sent, all windows together, those
// of the overflow under "". It checks that each window is behind the one before.
func sentTotals(t *testing.T, windows []pmetric.Metrics) map[string]totals {
	t.Helper()
	all := make(map[string]totals)
	var last time.Time
	for _, md := range windows {
		var end time.Time
		metrics := md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics()
		for i := range metrics.Len() {
			m := metrics.At(i)
			add := func(id any, v float64) {
				key, _ := id.(string)
				c := all[key]
				*map[string]*float64{
					"quern.query.count": &c.Statements, "quern.query.errors": &c.Errors, "quern.query.rows_examined": &c.Examined,
					"quern.query.rows_returned": &c.Sent, "quern.query.lock_time": &c.Lock, "quern.query.duration": &c.Seconds,
				}[m.Name()] += v
				all[key] = c
			}
			if m.Type() == pmetric.MetricTypeSum {
				for j := range m.Sum().DataPoints().Len() {
					dp := m.Sum().DataPoints().At(j)
					add(dp.Attributes().AsRaw()["quern.query.id"], dp.DoubleValue())
				}
				continue
			}
			for j := range m.ExponentialHistogram().DataPoints().Len() {
				dp := m.ExponentialHistogram().DataPoints().At(j)
				if from := dp.StartTimestamp().AsTime(); from.Before(last) || dp.Timestamp().AsTime().Before(from) {
					t.Errorf("a window from %v to %v behind one to %v", from, dp.Timestamp().AsTime(), last)
				}
				end = dp.Timestamp().AsTime()
				add(dp.Attributes().AsRaw()["quern.query.id"], dp.Sum())
			}
		}
		last = end
	}
	return all
}

// readOTLP returns the requests that a file holds.
func readOTLP(t *testing.T, path string) (windows []pmetric.Metrics) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		md, err := new(pmetric.JSONUnmarshaler).UnmarshalMetrics(lines.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		windows = append(windows, md)
	}
	return windows
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsExportedIsTheProfile(t *testing.T) {
	for _, o := range []loggen.Options{
		{Seed: 1, Events: 3000, Classes: 20, Dialect: loggen.MySQL80Extra, Hostile: true},
		{Seed: 2, Events: 3000, Classes: 20, Dialect: loggen.Percona80, RateLimit: 7},
		{Seed: 3, Events: 3000, Classes: 20, Dialect: loggen.MariaDBFull},
	} {
		t.Run(fmt.Sprint(o.Dialect), func(t *testing.T) {
			w := generate(t, o)
			dir := t.TempDir()
			log, otlp := filepath.Join(dir, "slow.log"), filepath.Join(dir, "otlp.jsonl")
			r := start(t, "-otlp", otlp, log)
			for part := range 4 { // it grows while it is followed
				writeFile(t, log, w.log[part*len(w.log)/4:(part+1)*len(w.log)/4])
			}
			for _, accept := range []string{scrape.Protobuf, scrape.Text} {
				f := r.scrape(accept, w.statements)
				got := scrapedTotals(t, f)
				classes := 0
				for c := range w.profile.Classes() {
					if c.Kind != digest.Statements {
						continue
					}
					classes++
					sameTotals(t, c.Name(), totalsOf(c), got[c.ID.String()])
					m := f.ByID(t, "quern_query_duration_seconds")[c.ID.String()]
					scrape.Check(t, m.Histogram, w.times[c.ID])
					if schema := scrape.Label(m, "schema"); schema != c.Key()[0] {
						t.Errorf("schema %q, want %q", schema, c.Key()[0])
					}
				}
				if len(got) != classes+1 || got["overflow"] != (totals{}) {
					t.Errorf("%d classes, want %d and an empty overflow", len(got), classes)
				}
				if n := f["quern_collector_observed_total"].Metric[0].GetCounter().GetValue(); n != float64(w.profile.Events) {
					t.Errorf("%v events were observed, want %d", n, w.profile.Events)
				}
			}
			if status := r.stop(); status != 0 {
				t.Fatalf("status %d: %s", status, r.log)
			}
			sent := sentTotals(t, readOTLP(t, otlp))
			for c := range w.profile.Classes() {
				if c.Kind == digest.Statements {
					sameTotals(t, "OTLP: "+c.Name(), totalsOf(c), sent[c.ID.String()])
				}
			}
		})
	}
}

func TestClassesBeyondTheLimitAreInTheOverflow(t *testing.T) {
	w := generate(t, loggen.Options{Seed: 5, Events: 2000, Classes: 40})
	dir := t.TempDir()
	log, otlp := filepath.Join(dir, "slow.log"), filepath.Join(dir, "otlp.jsonl")
	writeFile(t, log, w.log)
	r := start(t, "-n", "5", "-otlp", otlp, log)
	got := scrapedTotals(t, r.scrape(scrape.Protobuf, w.statements))
	r.stop()
	if len(got) != 6 {
		t.Errorf("%d series, want 6", len(got))
	}
	var want totals
	for c := range w.profile.Classes() {
		if c.Kind == digest.Statements {
			want = want.plus(totalsOf(c))
		}
	}
	for what, classes := range map[string]map[string]totals{"Prometheus": got, "OTLP": sentTotals(t, readOTLP(t, otlp))} {
		var all totals
		for _, c := range classes {
			all = all.plus(c)
		}
		sameTotals(t, what, want, all)
	}
}

func (t totals) plus(o totals) totals {
	return totals{t.Statements + o.Statements, t.Errors + o.Errors, t.Examined + o.Examined, t.Sent + o.Sent, t.Seconds + o.Seconds, t.Lock + o.Lock}
}

func TestAnAgentGoesOnAtItsCheckpoint(t *testing.T) {
	w := generate(t, loggen.Options{Seed: 6, Events: 1500, Classes: 10})
	dir := t.TempDir()
	log, otlp, checkpoint := filepath.Join(dir, "slow.log"), filepath.Join(dir, "otlp.jsonl"), filepath.Join(dir, "checkpoint")
	for part := range 3 {
		writeFile(t, log, w.log[part*len(w.log)/3:(part+1)*len(w.log)/3])
		if part == 2 { // rotated in between
			if err := os.Rename(log, log+".1"); err != nil {
				t.Fatal(err)
			}
			writeFile(t, log, nil)
		}
		r := start(t, "-otlp", otlp, "-checkpoint", checkpoint, log)
		want := 1.
		if part == 2 {
			want = w.statements
			for _, c := range sentTotals(t, readOTLP(t, otlp)) {
				want -= c.Statements
			}
		}
		r.scrape(scrape.Text, want)
		if status := r.stop(); status != 0 {
			t.Fatalf("status %d: %s", status, r.log)
		}
	}
	sent := sentTotals(t, readOTLP(t, otlp))
	for c := range w.profile.Classes() {
		if c.Kind == digest.Statements {
			sameTotals(t, c.Name(), totalsOf(c), sent[c.ID.String()])
		}
	}
}

func TestAnEndpointThatIsDownGetsTheWindowsLater(t *testing.T) {
	w := generate(t, loggen.Options{Seed: 7, Events: 500, Classes: 10})
	var (
		up      atomic.Bool
		refused atomic.Int64
		mu      sync.Mutex
		windows []pmetric.Metrics
	)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		if !up.Load() {
			refused.Add(1)
			http.Error(rw, "down", http.StatusServiceUnavailable)
			return
		}
		body, _ := io.ReadAll(req.Body)
		r := pmetricotlp.NewExportRequest()
		if err := r.UnmarshalProto(body); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		windows = append(windows, r.Metrics())
	}))
	defer server.Close()
	dir := t.TempDir()
	log, checkpoint := filepath.Join(dir, "slow.log"), filepath.Join(dir, "checkpoint")
	writeFile(t, log, w.log)
	r := start(t, "-otlp", server.URL+"/v1/metrics", "-checkpoint", checkpoint, log)
	r.scrape(scrape.Text, w.statements)
	for refused.Load() < 3 {
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := os.Stat(checkpoint); !os.IsNotExist(err) {
		t.Errorf("a checkpoint was stored before the metrics were sent: %v", err)
	}
	up.Store(true)
	if status := r.stop(); status != 0 {
		t.Fatalf("status %d: %s", status, r.log)
	}
	sent := sentTotals(t, windows)
	for c := range w.profile.Classes() {
		if c.Kind == digest.Statements {
			sameTotals(t, c.Name(), totalsOf(c), sent[c.ID.String()])
		}
	}
	if n := strings.Count(r.log.String(), "503"); n != 1 || !strings.Contains(r.log.String(), "works again") {
		t.Errorf("the failure is said %d times: %s", n, r.log)
	}
	if data, err := os.ReadFile(checkpoint); err != nil || !json.Valid(data) {
		t.Errorf("checkpoint %q, %v", data, err)
	}
}

func TestAnEndpointThatStaysDownIsAFailure(t *testing.T) {
	w := generate(t, loggen.Options{Seed: 8, Events: 50})
	log := filepath.Join(t.TempDir(), "slow.log")
	writeFile(t, log, w.log)
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	r := start(t, "-otlp", server.URL, log)
	r.scrape(scrape.Text, w.statements)
	if status := r.stop(); status != 1 || !strings.Contains(r.log.String(), "404") {
		t.Errorf("status %d: %s", status, r.log)
	}
}

func TestProcessesAndMadeUpSpansAreShown(t *testing.T) {
	page := func(r *running, want string) {
		t.Helper()
		for range 600 {
			if _, body := r.get("", "text/html"); strings.Contains(body, want) {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Errorf("the page does not show %q; %s", want, r.log)
	}
	page(start(t), "select o.id, o.total from orders o where o.customer = ? order by o.created desc limit ?")
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		r := start(t, "-processlist", srv.DSN(""), "-interval", "20ms")
		db := srv.DB(t, "")
		for range 3 {
			if _, err := db.Exec("SELECT SLEEP(0.2), 'secret'"); err != nil {
				t.Fatal(err)
			}
		}
		page(r, "select sleep(?), ?")
	})
}

func TestDiagnosticsAndExitStatus(t *testing.T) {
	dir := t.TempDir()
	notJSON := filepath.Join(dir, "not-json")
	writeFile(t, notJSON, []byte("no checkpoint"))
	busy := httptest.NewServer(nil)
	defer busy.Close()
	for _, c := range []struct {
		args   []string
		status int
		err    string
	}{
		{[]string{"-h"}, 0, "usage: apm"},
		{[]string{"-nonsense"}, 2, "not defined"},
		{[]string{"-window", "0s"}, 2, "-window"},
		{[]string{"-interval", "-1s"}, 2, "-interval"},
		{[]string{"-n", "0"}, 2, "below 1"},
		{[]string{"-checkpoint", "x"}, 2, "slow logs"},
		{[]string{"-from-end"}, 2, "slow logs"},
		{[]string{"-otlp", "http:///v1/metrics"}, 2, "-otlp"},
		{[]string{"-processlist", "root:hunter2@nowhere"}, 2, "-processlist"},
		{[]string{"-checkpoint", notJSON, "slow.log"}, 1, "is no checkpoint"},
		{[]string{"-listen", busy.Listener.Addr().String()}, 1, "in use"},
		{[]string{"-listen", "127.0.0.1:0", "-otlp", filepath.Join(dir, "no", "such", "directory")}, 1, "no such file"},
	} {
		var log diagnostics
		log.grown = make(chan struct{}, 1)
		if status := run(context.Background(), c.args, &log); status != c.status || !strings.Contains(log.String(), c.err) || strings.Contains(log.String(), "hunter2") {
			t.Errorf("%v: status %d, %q; want %d, %q", c.args, status, log.String(), c.status, c.err)
		}
	}
}

func TestLogsThatAreNotThereAreNamed(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "slow.log")
	r := start(t, missing)
	for !strings.Contains(r.log.String(), missing+" is not there yet") {
		<-r.log.grown
	}
	if status := r.stop(); status != 0 {
		t.Errorf("status %d: %s", status, r.log)
	}
}
