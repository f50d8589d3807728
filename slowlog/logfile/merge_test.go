package logfile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quern-dev/quern/slowlog"
)

var day = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)

// record is a record of the given second of the day.
func record(second int, query string) string {
	return fmt.Sprintf("# Time: %s\n# User@Host: a[a] @ h []  Id: 1\n# Query_time: 0.5  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 1\n%s;\n",
		day.Add(time.Duration(second)*time.Second).Format("2006-01-02T15:04:05.000000Z"), query)
}

func queries(t *testing.T, s slowlog.Source) (all []string) {
	t.Helper()
	for ev, err := range s.All() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.Clone(ev.Query)) // the source may reuse its event
	}
	return all
}

func TestMergeOrdersEventsByTime(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	logs := make([]strings.Builder, 4)
	var want []string
	for second := range 500 {
		q := fmt.Sprintf("SELECT %d", second)
		want = append(want, q)
		logs[rnd.IntN(len(logs)-1)].WriteString(record(second, q)) // one stays empty
	}
	var sources []slowlog.Source
	for i := range logs {
		r := slowlog.NewReader(strings.NewReader(logs[i].String()))
		r.ReuseEvent = i%2 == 0
		sources = append(sources, r)
	}
	m := Merge(sources...)
	if diff := cmp.Diff(want, queries(t, m)); diff != "" {
		t.Errorf("statements (-in order +merged):\n%s", diff)
	}
	if n := m.Stats().Events; n != 500 {
		t.Errorf("stats of %d events, want 500", n)
	}
}

func TestMergeKeepsTheOrderWithinASource(t *testing.T) {
	a := record(10, "a10") + record(5, "a5") + record(20, "a20")
	b := record(7, "b7") + record(12, "b12") + "# Query_time: 1\nnone;\n" + record(30, "b30")
	got := queries(t, Merge(slowlog.NewReader(strings.NewReader(a)), slowlog.NewReader(strings.NewReader(b))))
	if diff := cmp.Diff([]string{"b7", "a10", "a5", "b12", "none", "a20", "b30"}, got); diff != "" {
		t.Errorf("statements (-want +got):\n%s", diff)
	}
}

func TestMergeGoesOnBehindAnError(t *testing.T) {
	broken := errors.New("broken disk")
	a := slowlog.NewReader(io.MultiReader(strings.NewReader(record(1, "a1")+record(3, "a3")), iotest.ErrReader(broken)))
	b := slowlog.NewReader(strings.NewReader(record(2, "b2") + record(4, "b4")))
	var got []string
	for ev, err := range Merge(a, b).All() {
		if errors.Is(err, broken) {
			got = append(got, "error")
		} else {
			got = append(got, ev.Query)
		}
	}
	// a3 may have more behind it that the disk keeps.
	if diff := cmp.Diff([]string{"a1", "error", "b2", "b4"}, got); diff != "" {
		t.Errorf("statements (-want +got):\n%s", diff)
	}
}

func TestOpenRotatedReadsAServersFilesInOrder(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		data := []byte(text)
		if strings.HasSuffix(name, ".gz") {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			z.Write(data)
			z.Close()
			data = b.Bytes()
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	names := []string{
		write("slow.log", record(30, "c1")+record(31, "c2")),
		write("slow.log.1", strings.TrimSuffix(record(20, "b1"), "\n")),
		write("slow.log.2.gz", strings.Replace(record(10, "a1"), "\na1;", "\nuse shop;\na1;", 1)+record(11, "a2")),
		write("slow.log.3", ""),
	}
	want := []string{"a1", "a2", "b1", "c1", "c2"}
	for range 2 {
		f, err := OpenRotated(names...)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for ev, err := range slowlog.NewReader(f).All() {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Schema != "shop" {
				t.Errorf("%s: schema %q, want that of the first file's use line", ev.Query, ev.Schema)
			}
			got = append(got, ev.Query)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("statements (-want +got):\n%s", diff)
		}
		if read, size := f.Progress(); read != size {
			t.Errorf("read %d of %d bytes", read, size)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		slices.Reverse(names)
	}
	if _, err := OpenRotated(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that does not exist: %v", err)
	}
	var format *FormatError
	if _, err := OpenRotated(write("page", "<!doctype html>")); !errors.As(err, &format) {
		t.Errorf("a page: %v", err)
	}
}
