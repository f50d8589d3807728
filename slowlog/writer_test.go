package slowlog

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"os/exec"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// written returns the events as a log.
func written(t testing.TB, events []*Event) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out)
	for _, ev := range events {
		if err := w.Write(ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

var placeless = cmpopts.IgnoreFields(Event{}, "Offset", "Line")

func TestWrittenEventsReadTheSame(t *testing.T) {
	logs := samples(t)
	for _, name := range slices.Sorted(maps.Keys(logs)) {
		want, _, _ := readAll(t, logs[name])
		log := written(t, want)
		got, damage, _ := readAll(t, log)
		for i := range min(len(want), len(got)) {
			w, g := want[i], got[i]
			if !w.Has(FieldQueryTime) && !slices.ContainsFunc(w.Metrics, func(m Metric) bool { return m.Suspect }) {
				w.SetHas(FieldQueryTime)
			}
			// A record that had its schema by another line than "use", between this
			// one and the one that it inherits its schema from.
			if w.SchemaInherited && g.Has(FieldSchema) {
				w.SetHas(FieldSchema)
				w.SchemaInherited = false
			}
		}
		if diff := gocmp.Diff(want, got, eventOpts, placeless); diff != "" {
			t.Errorf("%s (-read +written):\n%.3000s", name, diff)
		}
		if len(damage) > 0 {
			t.Errorf("%s: damage %v", name, damage)
		}
	}
}

func TestWriterKeepsWeights(t *testing.T) {
	events := []*Event{
		event(Event{Query: "SELECT 1", Weight: 10, QueryTime: ms}, FieldQueryTime),
		event(Event{Query: "SELECT 2", Weight: 99.6, SessionSampled: true, QueryTime: ms}, FieldQueryTime),
		event(Event{Query: "SELECT 3", QueryTime: ms}, FieldQueryTime),
	}
	var got []float64
	back, _, _ := readAll(t, written(t, events))
	for _, ev := range back {
		got = append(got, ev.Weight)
	}
	if diff := gocmp.Diff([]float64{10, 100, 1}, got); diff != "" {
		t.Errorf("weights (-want +got):\n%s", diff)
	}
	if back[0].SessionSampled || !back[1].SessionSampled {
		t.Errorf("session sampled: %v, %v", back[0].SessionSampled, back[1].SessionSampled)
	}
}

// TestNamesForgeNoRecords gives the Writer events whose every text holds a
// record: it must come back as text.
func TestNamesForgeNoRecords(t *testing.T) {
	const evil = "x\n# Time: 2020-01-01T00:00:00Z\r\n# User@Host: x[x] @ h []\n# Query_time: 9.0\nSELECT 666;\n"
	ev := event(Event{
		Time: utc("2026-11-30T12:00:00"), TimeSource: TimeHeader, User: evil, Account: evil, Host: evil, IP: evil, Schema: evil, StoredRoutine: evil,
		Query: "SELECT '" + evil + "'", QueryTime: ms,
	}, FieldUser, FieldSchema, FieldQueryTime)
	command := event(Event{Time: ev.Time, TimeSource: TimeHeader, Command: evil, QueryTime: ms}, FieldQueryTime)
	got, _, _ := readAll(t, written(t, []*Event{ev, command, ev}))
	if len(got) != 3 {
		t.Fatalf("%d events of 3", len(got))
	}
	for i, g := range got {
		if g.QueryTime != ms || i != 1 && g.Query != ev.Query {
			t.Errorf("event %d: %v of %v", i, g.QueryTime, g.Query)
		}
	}
}

func TestRedactedLogsHoldNoLiteral(t *testing.T) {
	const secret = "4711-geheim"
	ev := event(Event{
		Query: "SELECT '" + secret + "'", Schema: "shop", QueryTime: ms, User: "app", Account: "app", Errno: 1062,
		Plan: "tidb_decode_plan('" + secret + "')", Warnings: "Warning 1062 Duplicate entry '" + secret + "' for key 'k'\nNote 4094 At line 5",
		Metrics: []Metric{{Name: "Prev_stmt", Text: secret}, {Suspect: true, Name: "Rows_sent", Text: secret}, count(KeyFullScan, "Yes", 1)},
	}, FieldQueryTime, FieldUser, FieldSchema, FieldErrno)
	var out bytes.Buffer
	w := NewWriter(&out)
	w.Redact = func(string) string { return "select ?" }
	if err := w.Write(ev); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(out.Bytes(), []byte(secret)) {
		t.Errorf("the log holds a literal:\n%s", out.String())
	}
	got, _, _ := readAll(t, out.Bytes())
	want := event(Event{
		Query: "select ?", Schema: "shop", QueryTime: ms, User: "app", Account: "app", Errno: 1062,
		Warnings: "Warning 1062\nNote 4094", Metrics: []Metric{count(KeyFullScan, "Yes", 1)},
	}, FieldQueryTime, FieldUser, FieldSchema, FieldErrno)
	if diff := gocmp.Diff([]*Event{want}, got, eventOpts, placeless); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
}

// TestPtQueryDigestReadsWrittenLogs asks pt-query-digest for the number of
// statements and the time of logs before and after writing.
func TestPtQueryDigestReadsWrittenLogs(t *testing.T) {
	pt, err := exec.LookPath("pt-query-digest")
	if err != nil {
		t.Skip("pt-query-digest is not installed: it is the other reader of what the Writer writes")
	}
	logs := samples(t)
	digest := func(log []byte) (n int, seconds float64) {
		cmd := exec.Command(pt, "--no-version-check", "--type", "slowlog", "--limit", "100%", "--output", "json")
		cmd.Stdin = bytes.NewReader(log)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		out = out[max(0, bytes.IndexByte(out, '{')):] // "Reading from STDIN ..."
		var report struct {
			Classes []struct {
				N       int `json:"query_count"`
				Metrics struct {
					Time struct{ Sum json.Number } `json:"Query_time"`
				}
			}
		}
		if err := json.Unmarshal(out, &report); err != nil {
			t.Fatal(err)
		}
		for _, c := range report.Classes {
			f, _ := c.Metrics.Time.Sum.Float64()
			n += c.N
			seconds += f
		}
		return n, seconds
	}
	// Of each server one log that pt-query-digest reads as this package does.
	for _, name := range []string{
		"public/slow/elastic__beats__percona-ubuntu-5.7.19.log", "public/slow/debeando__zenit__slow.log",
		"public/slow/KristelDi__test__mysql-slow.log", "public/slow/pingcap__diag__tidb_slow_query.log", "servers/slow/mysql-9.7/over-50ms.log",
		"servers/slow/mariadb-10.11/query-time-50ms.log", "public/slow/VTRyo__isucon14__slow.log",
	} {
		log, ok := logs["../../shared/samples/"+name]
		if !ok {
			continue
		}
		events, _, _ := readAll(t, log)
		n, seconds := digest(log)
		gotN, gotSeconds := digest(written(t, events))
		if gotN != n || math.Abs(gotSeconds-seconds) > 1e-5 {
			t.Errorf("%s: pt-query-digest finds %d statements of %v s, in the original %d of %v s", name, gotN, gotSeconds, n, seconds)
		}
	}
}

func TestWrittenHeaderOfTwoQueryTimesIsOneHeader(t *testing.T) {
	log := "# User@Host: a[a] @ h []\n# Query_time:# Query_time:\nSELECT 1;\n"
	events, _, _ := readAll(t, []byte(log))
	var b bytes.Buffer
	w := NewWriter(&b)
	for _, ev := range events {
		if err := w.Write(ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	again, damage, _ := readAll(t, b.Bytes())
	if len(events) != 1 || len(again) != 1 || len(damage) != 0 || again[0].Query != "SELECT 1" {
		t.Errorf("%d events were read, %d written and read again, %d damaged places:\n%s", len(events), len(again), len(damage), b.Bytes())
	}
}

// A statement of one or two lines that look like a server's comes back whatever
// the record says of time and schema, a record as it is behind it. One line comes
// back as it was, unless it is a command's; lines that look like more than a
// comment may have a blank before them.
func TestStatementsOfLookAlikeLinesComeBack(t *testing.T) {
	lines := []string{
		"", " ", "\r", "\x00", ";", "#", "# x", "# Time: 2026-11-30T11:26:27Z", "# Time: 261130 11:26:27", "# Time: x", "# User@Host: a[a] @ h []", "# User@Host: a",
		"# Query_time: 1", "# Query_time: 1  Lock_time: 0 Rows_sent: 0  Rows_examined: 0", "# Schema: x", "# X: 1", "# explain: x", "# Warning 1", "# administrator command: Quit",
		"use x", "use `x`", "USE x", "SET timestamp=1", "SET insert_id=0", "SET timestamp=x", "/usr/sbin/mysqld, Version: 8.0. started with:", "mysqld, Version: 8.0. started with:",
		"Tcp port: 0", "Time Id Command Argument", "  Tmp_tables: 1", "-- x", "/* x */", "select 1", "2026-11-30T00:00:00Z 7 # Time: 2026-11-30T11:26:27Z", "select 1# Time: 2026-11-30T11:26:27Z",
	}
	queries := slices.Clone(lines)
	for _, a := range lines {
		for _, b := range lines {
			queries = append(queries, a+"\n"+b, a+";\n"+b, a+"\r\n"+b)
		}
	}
	unindented := strings.NewReplacer("\n #", "\n#", "\n /", "\n/", "\n m", "\nm", "\n 2", "\n2")
	for _, kind := range []Event{
		{},
		{Schema: "s"},
		{TimeSource: TimeHeader, Schema: "s"},
		{TimeSource: TimeHeader},
		{TimeSource: TimeTimestamp},
		{TimeSource: TimeCarried, Schema: "s"}, // of the first record, which has a SET line
	} {
		var events []*Event
		for i, q := range append(queries, "select 2") {
			for _, q := range []string{q, "select 3"} {
				ev := kind
				if ev.Query = q; kind.TimeSource != TimeUnknown {
					ev.Time = utc("2026-11-30T12:00:00")
				}
				if kind.Schema != "" && q == "select 3" {
					ev.Schema = "t" // a use line stands before the next
				}
				if kind.TimeSource == TimeCarried && i == 0 {
					ev.TimeSource = TimeHeader
				}
				events = append(events, event(ev, FieldQueryTime))
			}
		}
		log := written(t, events)
		got, damage, _ := readAll(t, log)
		if len(damage) > 0 {
			t.Errorf("%v: damage %q", kind, damage[0].Text)
		}
		for i, ev := range got[:min(len(got), len(events))] {
			want := events[i].Query
			same := ev.Query == want
			if strings.Contains(want, "\n") || want == "# administrator command: Quit" {
				same = unindented.Replace("\n"+ev.Query) == unindented.Replace("\n"+want)
			}
			if !same || ev.Truncated || ev.Schema != events[i].Schema || !ev.Time.Equal(events[i].Time) {
				t.Fatalf("%v: %q came back as %q, schema %q, time %v", kind, want, ev.Query, ev.Schema, ev.Time)
			}
		}
		if len(got) != len(events) {
			t.Errorf("%v: %d events came back of %d", kind, len(got), len(events))
		}
	}
}

// What the fingerprint begins with is told apart from the server's lines, too.
func TestRedactedStatementsAreNoServersLines(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	w.Redact = func(q string) string { return strings.TrimPrefix(q, "/* c */ ") }
	var want []string
	for _, q := range []string{"use shop", "SET insert_id=0", "# Time: 2026-11-30T11:26:27Z", "select 1"} {
		if err := w.Write(event(Event{Query: "/* c */ " + q}, FieldQueryTime)); err != nil {
			t.Fatal(err)
		}
		want = append(want, q)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	var got []string
	events, _, _ := readAll(t, out.Bytes())
	for _, ev := range events {
		got = append(got, ev.Schema+ev.Query)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("statements (-want +got):\n%s", diff)
	}
}
