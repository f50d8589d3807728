package slowlog

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the files under testdata")

// summary says in one line what a log holds.
func summary(t testing.TB, data []byte) string {
	events, damage, stats := readAll(t, data)
	var weight float64
	var total time.Duration
	errors := 0
	schemas, users := map[string]bool{}, map[string]bool{}
	for _, ev := range events {
		weight += ev.Weight
		total += ev.QueryTime
		if ev.Schema != "" {
			schemas[ev.Schema] = true
		}
		if ev.User != "" {
			users[ev.User] = true
		}
		if ev.Errno != 0 {
			errors++
		}
	}
	list := func(m map[string]bool) string {
		s := strings.ReplaceAll(strings.Join(slices.Sorted(maps.Keys(m)), ","), "\t", " ")
		if len(s) > 60 {
			s = fmt.Sprintf("%s... %d", s[:50], len(m))
		}
		return s
	}
	return fmt.Sprintf("%d\t%g\t%g\t%s\t%s\t%d\t%d\t%d", len(events), weight, total.Seconds(), list(schemas), list(users), errors, len(damage), stats.Truncated)
}

// TestSamples holds what the Reader makes of each sample log against
// testdata/samples.tsv. What the logs hold was counted by hand or by their
// makers' own list; the columns pt_events and pt_time say what pt-query-digest
// 3.2.1 makes of them, and the last one why it differs.
func TestSamples(t *testing.T) {
	const tsv = "testdata/samples.tsv"
	text, err := os.ReadFile(tsv)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimRight(string(text), "\n"), "\n")
	logs := samples(t)
	missing := 0
	for i, line := range lines[1:] {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		name, want, pt, note := f[0], strings.Join(f[1:9], "\t"), f[9:11], f[11]
		data, ok := logs["../../shared/"+name]
		if !ok {
			missing++
			continue
		}
		got := summary(t, data)
		if *update {
			lines[1+i] = strings.Join([]string{name, got, pt[0], pt[1], note}, "\t") + "\n"
			continue
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, lines[0], diff)
		}
		time, _ := strconv.ParseFloat(f[3], 64)
		ptTime, _ := strconv.ParseFloat(pt[1], 64)
		if agree := f[1] == pt[0] && math.Abs(time-ptTime) < 1e-6*max(1, time); agree != (note == "") {
			t.Errorf("%s: agrees with pt-query-digest: %v, but noted: %q", name, agree, note)
		}
	}
	if missing == len(lines)-1 {
		t.Skip("no samples at ../../shared: logs of public repositories and of real servers to try the Reader on")
	}
	if *update {
		if err := os.WriteFile(tsv, []byte(strings.Join(lines, "")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReaderSkipsMoreBlanksThanInTheRecordBefore(t *testing.T) {
	log := "# Query_time: 1.5  Lock_time: 0.5  Rows_sent: 1\nSELECT 1;\n# Query_time:   2.5  Lock_time:  0.25  Rows_sent:    2\nSELECT 2;\n"
	events, _, _ := readAll(t, []byte(log))
	if len(events) != 2 || events[1].QueryTime != 2500*ms || events[1].LockTime != 250*ms || events[1].RowsSent != 2 {
		t.Errorf("events %+v", events)
	}
}

// TestPrefixesLoseAtMostTheLastRecord cuts each small sample at every byte.
func TestPrefixesLoseAtMostTheLastRecord(t *testing.T) {
	for name, data := range samples(t) {
		if len(data) > 1000 {
			continue
		}
		whole, _, _ := readAll(t, data)
		for n := range data {
			got, _, _ := readAll(t, data[:n])
			// The events behind which the next one's header is whole: only that tells,
			// to the last byte, where a record ends.
			want := 0
			for want+1 < len(whole) && wholeHeader(data[:n], whole[want+1].Offset) {
				want++
			}
			if len(got) < want {
				t.Fatalf("%s, first %d bytes: %d events, want at least %d", name, n, len(got), want)
			}
			if diff := diffEvents(whole[:want], got[:want]); diff != "" {
				t.Fatalf("%s, first %d bytes (-whole +prefix):\n%s", name, n, diff)
			}
		}
	}
}

// wholeHeader reports whether a line with a Query_time ends behind data[at].
func wholeHeader(data []byte, at int64) bool {
	if at >= int64(len(data)) {
		return false
	}
	i := bytes.Index(data[at:], []byte("Query_time:"))
	return i >= 0 && bytes.IndexByte(data[at+int64(i):], '\n') >= 0
}
