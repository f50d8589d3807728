package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/internal/loggen"
)

// output is what a run left behind.
type output struct {
	Status         int
	Stdout, Stderr string
}

// topqueries runs the program with its streams in files.
func topqueries(t *testing.T, ctx context.Context, stdin io.Reader, args ...string) output {
	t.Helper()
	dir := t.TempDir()
	stdout, err := os.Create(filepath.Join(dir, "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	stderr, err := os.Create(filepath.Join(dir, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	o := output{Status: run(ctx, args, stdin, stdout, stderr)}
	for name, s := range map[string]*string{"stdout": &o.Stdout, "stderr": &o.Stderr} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		*s = string(b)
	}
	return o
}

// result is the part of the JSON form that the tests look at.
type result struct {
	Quern        int
	Events       uint64
	Weight       float64
	Skipped      uint64
	Classes      int
	WeightedTime float64 `json:"weighted_time"`
	From, To     *time.Time
	Interrupted  bool
	Sources      []struct{ Name string }
	Queries      []struct {
		Rank        int
		ID          string
		Fingerprint string
		Key         []string
		Count       float64
		Sample      string
	}
}

func parseResult(t *testing.T, o output) (r result) {
	t.Helper()
	if err := json.Unmarshal([]byte(o.Stdout), &r); err != nil {
		t.Fatalf("status %d, stderr %q: %v", o.Status, o.Stderr, err)
	}
	return r
}

// writeFile writes a file of a test.
func writeFile(t *testing.T, name string, content []byte) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, content, 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

// percona returns a log of n events.
func percona(t *testing.T, n int, seed uint64) ([]byte, *loggen.Truth) {
	t.Helper()
	var b bytes.Buffer
	truth, err := loggen.Generate(&b, loggen.Options{Events: n, Seed: seed, Classes: 50})
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), truth
}

func TestWithoutFilesTheSampleIsRead(t *testing.T) {
	o := topqueries(t, t.Context(), nil)
	if o.Status != 0 || o.Stderr != "" {
		t.Errorf("status %d, stderr %q", o.Status, o.Stderr)
	}
	for _, want := range []string{"embedded sample", "p95", "Query classes by total time: the first 10 of "} {
		if !strings.Contains(o.Stdout, want) {
			t.Errorf("no %q in the report", want)
		}
	}
	if strings.ContainsAny(o.Stdout, "\x1b\r") {
		t.Error("escape sequences in what is no terminal")
	}
}

func TestTheSampleIsWhatItsGeneratorWrites(t *testing.T) {
	var want bytes.Buffer
	truth, err := loggen.ShopDay(&want, loggen.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(sample))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("the embedded sample is out of date: run go generate")
	}
	r := parseResult(t, topqueries(t, t.Context(), nil, "-format", "json"))
	if r.Events != truth.Total.Count || r.Weight != float64(truth.Total.Weight) {
		t.Errorf("%d events of weight %v, want %d and %d", r.Events, r.Weight, truth.Total.Count, truth.Total.Weight)
	}
	if d := r.WeightedTime - truth.Total.WeightedTime.Seconds(); d > 1e-6 || d < -1e-6 {
		t.Errorf("weighted time %v, want %v", r.WeightedTime, truth.Total.WeightedTime.Seconds())
	}
}

func TestSeveralFilesOfAnyCompressionMakeOneProfile(t *testing.T) {
	var logs [4][]byte
	var events uint64
	var total time.Duration
	for i := range logs {
		var truth *loggen.Truth
		logs[i], truth = percona(t, 200+i, uint64(i))
		events += truth.Total.Count
		total += truth.Total.WeightedTime
	}
	var zipped, packed bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write(logs[1])
	z.Close()
	p, err := zstd.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	p.Write(logs[2])
	p.Close()
	r := parseResult(t, topqueries(t, t.Context(), bytes.NewReader(logs[3]), "-format", "json",
		writeFile(t, "plain", logs[0]), writeFile(t, "a", zipped.Bytes()), writeFile(t, "b", packed.Bytes()), "-"))
	if r.Events != events {
		t.Errorf("%d events, want %d", r.Events, events)
	}
	if d := r.WeightedTime - total.Seconds(); d > 1e-6 || d < -1e-6 {
		t.Errorf("weighted time %v, want %v", r.WeightedTime, total.Seconds())
	}
	if len(r.Sources) != 4 || r.Sources[3].Name != "standard input" {
		t.Errorf("sources %v", r.Sources)
	}
}

func TestWorkersChangeNothing(t *testing.T) {
	log, _ := percona(t, 3000, 1)
	name := writeFile(t, "slow.log", log)
	one := topqueries(t, t.Context(), nil, "-format", "json", "-workers", "1", "-n", "0", name)
	four := topqueries(t, t.Context(), nil, "-format", "json", "-workers", "4", "-n", "0", name)
	if diff := cmp.Diff(one, four); diff != "" {
		t.Errorf("one worker and four (-one +four):\n%s", diff)
	}
}

func TestExitStatus(t *testing.T) {
	log, truth := percona(t, 20, 1)
	good := writeFile(t, "good.log", log)
	banner := log[:bytes.Index(log, []byte("# Time"))]
	var z bytes.Buffer
	zw := gzip.NewWriter(&z)
	zw.Write(log)
	zw.Close()
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		stderr string // what it must hold
		events uint64 // of the report that is made all the same
	}{
		{"a log", []string{good}, 0, "", truth.Total.Count},
		{"help", []string{"-h"}, 0, "usage: topqueries", 0},
		{"unknown flag", []string{"-frobnicate"}, 2, "frobnicate", 0},
		{"unknown order", []string{"-by", "beauty", good}, 2, `no order "beauty"`, 0},
		{"unknown group", []string{"-group", "colour", good}, 2, "colour", 0},
		{"unknown format", []string{"-format", "xml", good}, 2, "xml", 0},
		{"bad time", []string{"-since", "yesterday", good}, 2, "yesterday", 0},
		{"bad number", []string{"-n", "-1", good}, 2, "-n", 0},
		{"no worker", []string{"-workers", "0", good}, 2, "-workers", 0},
		{"negative rate", []string{"-rate", "-2", good}, 2, "-rate", 0},
		{"rate that is no number", []string{"-rate", "NaN", good}, 2, "-rate", 0},
		{"rate of less than one", []string{"-rate", "0.5", good}, 2, "-rate", 0},
		{"rate that no weight holds", []string{"-rate", "1e9", good}, 2, "-rate", 0},
		{"always-log that is no number", []string{"-always-log", "NaN", good}, 2, "-always-log", 0},
		{"empty name", []string{""}, 1, "no such file", 0},
		{"no file", []string{filepath.Join(t.TempDir(), "nowhere.log")}, 1, "nowhere.log", 0},
		{"directory", []string{t.TempDir()}, 1, "is a directory", 0},
		{"empty file", []string{writeFile(t, "empty", nil)}, 1, "no event: the file is empty", 0},
		{"banner alone", []string{writeFile(t, "banner", banner)}, 1, "heading that a server writes", 0},
		{"prose", []string{writeFile(t, "prose", []byte("It was a dark and stormy night;\nthe rain fell.\n"))}, 1, "1 × text without a header", 0},
		{"binary log", []string{writeFile(t, "binlog", []byte("\xfebin\x00\x01\x02\x03"))}, 1, "binary log", 0},
		{"a good file beside a bad one", []string{writeFile(t, "empty", nil), good}, 1, "the file is empty", truth.Total.Count},
		{"cut gzip", []string{writeFile(t, "cut.gz", z.Bytes()[:z.Len()-20])}, 1, "unexpected EOF", truth.Total.Count},
		{"all filtered", []string{"-since", "2200-01-01", good}, 0, "", 0},
		{"no profile to compare with", []string{"-diff", filepath.Join(t.TempDir(), "nowhere"), good}, 1, "nowhere", 0},
		{"a log in place of a profile", []string{"-diff", good, good}, 1, "not a binary form", 0},
		{"output that cannot be", []string{"-o", filepath.Join(t.TempDir(), "no", "dir"), good}, 1, "no such file", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := topqueries(t, t.Context(), nil, append([]string{"-format", "json"}, tt.args...)...)
			if tt.name == "unknown format" {
				o = topqueries(t, t.Context(), nil, tt.args...)
			}
			if o.Status != tt.status || !strings.Contains(o.Stderr, tt.stderr) || tt.stderr == "" && o.Stderr != "" {
				t.Errorf("status %d, stderr %q, want %d and %q", o.Status, o.Stderr, tt.status, tt.stderr)
			}
			var r result
			if o.Stdout != "" {
				r = parseResult(t, o)
			}
			if r.Events != tt.events && tt.name != "cut gzip" || tt.events > 0 && r.Events == 0 {
				t.Errorf("a report of %d events, want %d", r.Events, tt.events)
			}
		})
	}
}

// An endless log never ends, and waits for ever behind its first bytes.
type endless struct{ head io.Reader }

func (e endless) Read(p []byte) (int, error) {
	if n, err := e.head.Read(p); err == nil {
		return n, nil
	}
	select {}
}

func TestAnInterruptReportsWhatHasBeenRead(t *testing.T) {
	log, truth := percona(t, 500, 1)
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	go func() {
		out.Write(log)
		cancel() // all of the log was taken
	}()
	o := topqueries(t, ctx, endless{in}, "-format", "json", "-")
	r := parseResult(t, o)
	// the log's end is not known to be one: its last record may be left out
	if r.Events == 0 || r.Events > truth.Total.Count || !r.Interrupted {
		t.Errorf("%d events of %d, interrupted %v", r.Events, truth.Total.Count, r.Interrupted)
	}
	if o.Status != 0 || !strings.Contains(o.Stderr, "interrupted") {
		t.Errorf("status %d, stderr %q", o.Status, o.Stderr)
	}

	done, cancel := context.WithCancel(t.Context())
	cancel()
	o = topqueries(t, done, nil, writeFile(t, "slow.log", log))
	if o.Status != 1 || o.Stdout != "" || !strings.Contains(o.Stderr, "interrupted before the first event") {
		t.Errorf("interrupted at once: status %d, stderr %q", o.Status, o.Stderr)
	}
}

func TestAnInterruptEndsTheWaitForANamedPipe(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /dev/fd")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	log, _ := percona(t, 500, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		w.Write(log[:len(log)&^(64<<10-1)]) // then nothing more comes, and no end
		time.Sleep(100 * time.Millisecond)
		cancel()
	}()
	o := topqueries(t, ctx, nil, "-format", "json", fmt.Sprintf("/dev/fd/%d", r.Fd()))
	if r := parseResult(t, o); r.Events == 0 || !r.Interrupted || o.Status != 0 {
		t.Errorf("%d events, interrupted %v, status %d, stderr %q", r.Events, r.Interrupted, o.Status, o.Stderr)
	}
}

func TestEachEventIsJudgedByItsOwnTime(t *testing.T) {
	record := func(hour int) string {
		return fmt.Sprintf("# Time: 2026-01-01T%02d:30:00.000000Z\n# User@Host: a[a] @ h []  Id: 7\n# Query_time: 1  Lock_time: 0 Rows_sent: 1  Rows_examined: 1\nSET timestamp=%d;\nSELECT %d FROM h%d;\n",
			hour, 1767225600+hour*3600+1800, hour, hour)
	}
	log := record(5) + record(1) + record(4) + record(2) // by two servers, as it were
	name := writeFile(t, "slow.log", []byte(log))
	r := parseResult(t, topqueries(t, t.Context(), nil, "-format", "json", "-since", "2026-01-01 02:00", "-until", "2026-01-01T05:30:00Z", name))
	if r.Events != 2 || r.From.Hour() != 2 || r.To.Hour() != 4 {
		t.Errorf("%d events from %v to %v, want those of 02:30 and 04:30", r.Events, r.From, r.To)
	}
}

func TestFlagsReachTheReport(t *testing.T) {
	log, truth := percona(t, 400, 3)
	name := writeFile(t, "slow.log", log)
	get := func(args ...string) result {
		t.Helper()
		return parseResult(t, topqueries(t, t.Context(), nil, append(append([]string{"-format", "json"}, args...), name)...))
	}
	if r := get("-n", "3", "-by", "count"); len(r.Queries) != 3 || r.Queries[0].Count < r.Queries[1].Count || r.Queries[1].Count < r.Queries[2].Count {
		t.Errorf("-n 3 -by count: %v", r.Queries)
	}
	if r := get("-group", "schema,user", "-n", "0"); len(r.Queries) == 0 || len(r.Queries[0].Key) != 2 {
		t.Errorf("-group schema,user: %v", r.Queries)
	}
	if r := get("-rate", "10", "-always-log", "0.05"); r.Weight <= float64(truth.Total.Count) || r.Weight >= float64(10*truth.Total.Count) {
		t.Errorf("-rate 10 -always-log 0.05: weight %v of %d events", r.Weight, r.Events)
	}
	for _, q := range get("-no-literals", "-n", "0").Queries {
		if strings.ContainsAny(q.Sample, `'"`) {
			t.Errorf("-no-literals: literal in sample %q", q.Sample)
		}
	}
	saved := filepath.Join(t.TempDir(), "saved")
	get("-save", saved)
	if o := topqueries(t, t.Context(), nil, "-diff", saved, name); o.Status != 0 || !strings.HasPrefix(o.Stdout, "What changed\n") || !strings.Contains(o.Stdout, "nothing changed") {
		t.Errorf("-diff with itself: status %d, stderr %q, %.100q", o.Status, o.Stderr, o.Stdout)
	}
	if o := topqueries(t, t.Context(), nil, "-diff", saved, "-group", "user", name); o.Status != 1 || !strings.Contains(o.Stderr, "group") {
		t.Errorf("-diff with another grouping: status %d, stderr %q", o.Status, o.Stderr)
	}
	var p digest.Profile
	if b, err := os.ReadFile(saved); err != nil {
		t.Errorf("-save: %v", err)
	} else if err := p.UnmarshalBinary(b); err != nil || p.Events != truth.Total.Count {
		t.Errorf("-save: %v, profile of %d events", err, p.Events)
	}
	// flags may follow names
	if o := topqueries(t, t.Context(), nil, name, "-format", "html"); o.Status != 0 || !strings.HasPrefix(o.Stdout, "<!DOCTYPE html>") || !strings.Contains(o.Stdout, "<svg") {
		t.Errorf("-format html: status %d, stderr %q", o.Status, o.Stderr)
	}
	file := filepath.Join(t.TempDir(), "report.txt")
	if o := topqueries(t, t.Context(), nil, "-o", file, name); o.Stdout != "" || o.Status != 0 {
		t.Errorf("-o: status %d, stdout %q", o.Status, o.Stdout)
	}
	if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), "Query classes by total time") {
		t.Errorf("-o: %v, file %q", err, b)
	}
}

func TestOtherLogsAreRecognised(t *testing.T) {
	for name, log := range map[string]string{
		"general log": "/usr/sbin/mysqld, Version: 8.0.36 (MySQL Community Server - GPL). started with:\nTcp port: 3306  Unix socket: /tmp/s\n" +
			"Time                 Id Command    Argument\n2026-01-01T00:00:00.000000Z\t    8 Query\tSELECT 1 FROM a\n2026-01-01T00:00:01.000000Z\t    8 Query\tSELECT 2 FROM a\n",
		"table": "start_time\tuser_host\tquery_time\tlock_time\trows_sent\trows_examined\tdb\tlast_insert_id\tinsert_id\tserver_id\tsql_text\tthread_id\n" +
			"2026-01-01 00:00:00.000000\ta[a] @ h []\t00:00:01.000000\t00:00:00.000000\t1\t1\ts\t0\t0\t1\tSELECT 1 FROM a\t8\n" +
			"2026-01-01 00:00:01.000000\ta[a] @ h []\t00:00:01.000000\t00:00:00.000000\t1\t1\ts\t0\t0\t1\tSELECT 2 FROM a\t8\n",
	} {
		o := topqueries(t, t.Context(), nil, "-format", "json", writeFile(t, "log", []byte(log)))
		if r := parseResult(t, o); r.Events != 2 || r.Classes != 1 || r.Queries[0].Fingerprint != "select ? from a" {
			t.Errorf("%s: %d events, %v", name, r.Events, r.Queries)
		}
	}
}

func TestNumbersInNamesAreFoldedWhenAsked(t *testing.T) {
	var log strings.Builder
	for _, sql := range []string{"SELECT a FROM log_2024", "SELECT a FROM log_2025"} {
		fmt.Fprintf(&log, "# User@Host: a[a] @ h []\n# Query_time: 1  Lock_time: 0 Rows_sent: 1  Rows_examined: 1\nSET timestamp=1767225600;\n%s;\n", sql)
	}
	name := writeFile(t, "slow.log", []byte(log.String()))
	for want, args := range map[int][]string{1: {"-fold-numbers", name}, 2: {name}} {
		if r := parseResult(t, topqueries(t, t.Context(), nil, append([]string{"-format", "json"}, args...)...)); r.Classes != want {
			t.Errorf("%d classes, want %d", r.Classes, want)
		}
	}
}

func TestTheBarTellsRateAndRemainingTime(t *testing.T) {
	for _, tt := range []struct {
		read, total int64
		want        string
	}{
		{50e6, 200e6, " 25% [=====               ] 25 MB/s, 6s left"},
		{200e6, 200e6, "100% [====================] 100 MB/s, 0s left"},
		{300e6, 200e6, "100% [====================] 150 MB/s, 0s left"}, // the file grew
		{50e6, 0, "50.0 MB read, 25 MB/s"},
	} {
		if got := bar(tt.read, tt.total, 2*time.Second, 60); got != tt.want {
			t.Errorf("bar(%d, %d) = %q, want %q", tt.read, tt.total, got, tt.want)
		}
	}
}

func TestItNeedsNeitherParserNorDriver(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.Lines(string(out)) {
		if dep = strings.TrimSpace(dep); strings.Contains(dep, "tidb") || strings.Contains(dep, "go-sql-driver") {
			t.Errorf("imports %s", dep)
		}
	}
}
