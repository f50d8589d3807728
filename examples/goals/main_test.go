package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/quern-dev/quern/internal/loggen"
	"github.com/quern-dev/quern/internal/testservers"
)

var update = flag.Bool("update", false, "write the golden file")

// goals runs the program.
func goals(t *testing.T, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(context.Background(), args, strings.NewReader(stdin), &out, &errs)
	return status, out.String(), errs.String()
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheSampleIsReportedAsInTheGoldenFile(t *testing.T) {
	status, out, errs := goals(t, "")
	if status != 0 || errs != "" {
		t.Fatalf("status %d, %s", status, errs)
	}
	const golden = "testdata/sample.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(out), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(out, "\n")); diff != "" {
		t.Errorf("%s differs (-want +got); go test -update writes it:\n%s", golden, diff)
	}
	for line := range strings.SplitSeq(out, "\n") {
		if utf8.RuneCountInString(line) > 80 {
			t.Errorf("more than 80 columns: %s", line)
		}
	}
	// What was planted.
	for _, fact := range []string{"sphinx", "N+1", "insert into sales_report", "21:00 to 22:00", "mysql rose by"} {
		if !strings.Contains(out, fact) {
			t.Errorf("the report lacks %q", fact)
		}
	}
}

// output is the part of the JSON that the tests look at.
type output struct {
	Quern    int
	Requests int
	Queries  int
	From     time.Time
	Goals    []struct {
		Goal     string
		State    string
		Interval float64
		Missing  struct{ Requests float64 }
		Pages    []struct{ Name string }
		Queries  *struct {
			Joined  float64
			Classes []struct {
				Fingerprint string
				Repeated    bool
			}
		}
		Breakdown struct{ Parts []struct{ Name string } }
	}
}

func decode(t *testing.T, text string) (o output) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return o
}

func TestFlagsReachTheReaders(t *testing.T) {
	log := write(t, "requests.log", "at:2026-11-30T10:00:00Z\twhat:search\trt:1500\tdb:900\nat:2026-11-30T10:00:01Z\twhat:search\trt:20\tdb:10\n")
	status, out, errs := goals(t, "", "-format", "json", "-goal", "search:p50<1s", "-interval", "1m",
		"-map", "wall=rt:ms,wait.mysql=db:ms,page=what,time=at", log)
	if status != 0 {
		t.Fatalf("status %d, %s", status, errs)
	}
	o := decode(t, out)
	g := o.Goals[0]
	if o.Requests != 2 || g.Goal != "search:p50<1s" || g.State != "met" || g.Interval != 60 || g.Missing.Requests != 1 || g.Breakdown.Parts[0].Name != "mysql" {
		t.Errorf("%+v", o)
	}

	access := write(t, "access.log", `192.0.2.1 [30/Nov/2026:10:00:00 +0000] "GET /find/shoes HTTP/1.1" 200 2.5`+"\n")
	status, out, errs = goals(t, "", "-format", "json", "-template", `$remote_addr [$time_local] "$request" $status $request_time`,
		"-routes", "search=/find/**", "-weight", "4", access)
	if status != 0 {
		t.Fatalf("status %d, %s", status, errs)
	}
	if g := decode(t, out).Goals[0]; g.Goal != "*:p95<1s" || g.Pages[0].Name != "search" || g.Missing.Requests != 4 {
		t.Errorf("%+v", g)
	}

	var zipped bytes.Buffer
	z, err := zstd.NewWriter(&zipped)
	if err != nil {
		t.Fatal(err)
	}
	z.Write([]byte(`{"page":"a","wall":3}`))
	z.Close()
	status, out, errs = goals(t, "", "-format", "json", write(t, "requests.zst", zipped.String()))
	if status != 0 || decode(t, out).Goals[0].Missing.Requests != 1 {
		t.Errorf("a zstd file of JSON: status %d, %s%s", status, out, errs)
	}

	status, out, errs = goals(t, "1\t7.5\n", "-format", "json", "-log", "tsv", "-columns", "id,wtime", "-")
	if status != 0 || decode(t, out).Goals[0].Missing.Requests != 1 {
		t.Errorf("standard input: status %d, %s%s", status, out, errs)
	}
}

func TestTheSampleIsAPageToo(t *testing.T) {
	status, out, errs := goals(t, "", "-format", "html")
	if status != 0 || errs != "" || !strings.HasPrefix(out, "<!DOCTYPE html>") || !strings.Contains(out, "sphinx") || !strings.Contains(out, "<svg") {
		t.Errorf("status %d, %s, a page of %d bytes", status, errs, len(out))
	}
}

func TestASlowLogOfOnesOwnIsJoined(t *testing.T) {
	var log, slow bytes.Buffer
	if err := loggen.ShopRequests(&log, &slow, loggen.RequestOptions{Seed: 4, Requests: 500}); err != nil {
		t.Fatal(err)
	}
	status, out, errs := goals(t, "", "-format", "json", "-goal", "cart:p95<50ms", "-queries", write(t, "slow.log", slow.String()), write(t, "requests.log", log.String()))
	if status != 0 {
		t.Fatalf("status %d, %s", status, errs)
	}
	q := decode(t, out).Goals[0].Queries
	if q == nil || q.Joined == 0 || q.Classes[0].Fingerprint != loggen.ShopQueryClasses[6] || !q.Classes[0].Repeated {
		t.Errorf("queries %+v", q)
	}
}

func TestExitStatusAndDiagnostics(t *testing.T) {
	empty := write(t, "empty", "")
	prose := write(t, "prose", "Lorem ipsum\ndolor sit amet\n")
	good := write(t, "good", "page:a\twall:1\n")
	for _, c := range []struct {
		args   []string
		status int
		err    string
		out    bool
	}{
		{[]string{"-goal", "search"}, 2, "want a page and a colon", false},
		{[]string{"-map", "wall"}, 2, "want target=field", false},
		{[]string{"-format", "xml"}, 2, "want text, json or html", false},
		{[]string{"-mysql", "user@/db"}, 2, "go together", false},
		{[]string{"-n", "0"}, 2, "below 1", false},
		{[]string{"-nonsense"}, 2, "not defined", false},
		{[]string{"-h"}, 0, "usage: goals", false},
		{[]string{empty}, 1, "no request", false},
		{[]string{prose}, 1, "format not recognised", false},
		{[]string{"no-such-file"}, 1, "no such file", false},
		{[]string{good, "no-such-file"}, 1, "no such file", true},
		{[]string{"-queries", prose, good}, 1, "no slow log event", true},
		{[]string{"-mysql", "nonsense", "-table", "t"}, 1, "-mysql", false},
		{[]string{good}, 0, "", true},
	} {
		status, out, errs := goals(t, "", c.args...)
		if status != c.status || !strings.Contains(errs, c.err) || (out != "") != c.out {
			t.Errorf("%v: status %d, diagnostics %q, report %v; want status %d, %q, report %v", c.args, status, errs, out != "", c.status, c.err, c.out)
		}
	}
}

func TestATableIsRead(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		for _, q := range []string{
			"CREATE TABLE requests_20261130 (nr INT PRIMARY KEY AUTO_INCREMENT, time DATETIME, page VARCHAR(20), wtime DOUBLE, mysql_time DOUBLE)",
			"INSERT INTO requests_20261130 (time, page, wtime, mysql_time) VALUES ('2026-11-30 10:00:00', 'search', 2.5, 2), ('2026-11-30 10:00:01', 'search', 0.5, 0.1)",
		} {
			if _, err := db.Exec(q); err != nil {
				t.Fatal(err)
			}
		}
		status, out, errs := goals(t, "", "-format", "json", "-mysql", srv.DSN(schema), "-table", "requests_20261130")
		if status != 0 {
			t.Fatalf("status %d, %s", status, errs)
		}
		o := decode(t, out)
		if o.Requests != 2 || o.Goals[0].Missing.Requests != 1 || !o.From.Equal(time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)) {
			t.Errorf("%+v", o)
		}
		if status, _, errs := goals(t, "", "-mysql", srv.DSN(schema), "-table", "none"); status != 1 || !strings.Contains(errs, "none") {
			t.Errorf("status %d, %q of a table that is not there", status, errs)
		}
	})
}

func TestAnInterruptEndsTheWaitForStandardInput(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	in, out := io.Pipe()
	defer out.Close()
	var stdout, stderr bytes.Buffer
	done := make(chan int)
	go func() { done <- run(ctx, []string{"-goal", "*:p95<1s", "-"}, in, &stdout, &stderr) }()
	for range 100 { // enough for the format to be recognised
		io.WriteString(out, strings.Repeat("time:2026-11-30T10:00:00Z\tpage:a\twall_ms:5\n", 100))
	}
	interrupt()
	if status := <-done; status != 1 || !strings.Contains(stderr.String(), "interrupted after ") {
		t.Errorf("status %d, %q, want 1 and that it was interrupted", status, stderr.String())
	}
}
