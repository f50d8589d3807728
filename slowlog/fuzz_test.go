package slowlog

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	gocmp "github.com/google/go-cmp/cmp"
)

// addSeeds adds the small samples and what a fuzzer would take long to find.
func addSeeds(f *testing.F) {
	logs := samples(f)
	for _, name := range slices.Sorted(maps.Keys(logs)) {
		if data := logs[name]; len(data) < 4000 {
			f.Add(data, uint16(300))
		}
	}
	const head = "# Time: 2026-11-30T11:26:27.000001Z\n# User@Host: a[a] @ h []  Id: 1\n# Query_time: 1.000000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\n"
	for _, s := range []string{
		head + "use `a b`;\nSET timestamp=1796037987;\nSELECT 'x\n" + head + "';\n" + head + "# administrator command: Quit;\n",
		head + "SELECT /* open\n" + head + head + "'x*/ 1;\n",
		head + "SELECT 'open;\n" + head + "SELECT \"open;\n" + head + "/usr/sbin/mysqld, Version: 8.0. started with:\nTcp port: 1\nTime Id Command Argument\n",
		"x# Time: 2026-11-30T11:26:27Z\n# User@Host: a\n\n\r\n# Query_time: 1\r\n\x00\xff;\r\n#\n# explain: a\n",
		"# Time: 190227 9:46:00 # User@Host: a[a] @ h [] Id: 4 # Query_time: 0.1 use x; SET timestamp=1551260760; SELECT 1;\n",
	} {
		f.Add([]byte(s), uint16(60))
	}
}

// FuzzReader holds that whatever the bytes, each is read or reported once, in
// order, and that a Reader which reuses its events and gets them byte by byte
// and several goroutines find the same.
func FuzzReader(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte, size uint16) {
		if len(data) > 20_000 {
			return
		}
		checkEveryWay(t, data, 1+int(size)%2000)
	})
}

func FuzzWriter(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte, _ uint16) {
		if len(data) <= 20_000 {
			checkWritten(t, data)
		}
	})
}

// checkWritten writes the events of a log and reads them again: no more events,
// no fewer, and the same statements, names and times.
func checkWritten(t *testing.T, data []byte) {
	t.Helper()
	events, _, _ := readAll(t, data)
	// A statement that is not whole may take what follows it along, and one with a
	// literal that holds lines like a header or a banner may be two.
	like := func(q string) bool { return strings.Contains(q, "\n#") || strings.Contains(q, "started with:") }
	events = slices.DeleteFunc(events, func(ev *Event) bool {
		return ev.Truncated || isOpen(ev.Query) || like(ev.Query) && strings.ContainsAny(ev.Query, "'\"`*")
	})
	log := written(t, events)
	back, damage, _ := readAll(t, log)
	if len(back) != len(events) || len(damage) > 0 {
		t.Fatalf("%d events came back of %d, %d damaged places:\n%s", len(back), len(events), len(damage), log)
	}
	for i, ev := range back {
		w := events[i]
		same := ev.Query == w.Query
		if like("\n" + w.Query) { // its lines may be indented
			same = strings.ReplaceAll(ev.Query, " ", "") == strings.ReplaceAll(w.Query, " ", "")
		}
		if !same || ev.Command != w.Command || ev.QueryTime != w.QueryTime || !ev.Time.Equal(w.Time) || ev.User != w.User || ev.Schema != w.Schema {
			t.Fatalf("event %d (-read +written):\n%s\n%s", i, gocmp.Diff(w, ev, eventOpts), log)
		}
	}
}

// isOpen reports whether a literal or comment of the statement does not close.
func isOpen(q string) bool {
	var b body
	b.lex.Feed([]byte(q + "\n"))
	return !b.lex.Ground()
}

// FuzzSources reads bytes as each of the other formats.
func FuzzSources(f *testing.F) {
	f.Add([]byte("2026-11-30T11:28:16.754910Z\t  226 Connect\tapp@web1 on shop using TCP/IP\n\t\t  226 Query\tSELECT '\n\t\t  9 Query\tx\n'\n261130 11:30:42\t   449 Quit\t\n"))
	f.Add([]byte("2026-11-30 11:28:13\ta[a] @ h []\t00:00:01\t00:00:00\t0\t0\tdb\t0\t0\t1\tSELECT \\n1\t7\n"))
	f.Add([]byte(`"2026-11-30 11:28:13","a[a] @ h []","00:00:01.5","00:00:00",0,0,"",0,0,1,"SELECT \"1\" ""2"" \\",7` + "\n"))
	f.Add([]byte("*************************** 1. row ***************************\n    start_time: 2026-11-30 11:28:13\n      sql_text: SELECT 1\n2\n     thread_id: 7\n1 row in set (0.00 sec)\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 20_000 {
			return
		}
		for name, open := range map[string]func(*bytes.Reader, bool) Source{
			"general": func(r *bytes.Reader, bytewise bool) Source {
				g := NewGeneralReader(r)
				if bytewise {
					g.src = iotest.OneByteReader(r)
				}
				return g
			},
			"lines": func(r *bytes.Reader, bytewise bool) Source {
				l := NewLineReader(r)
				if bytewise {
					l.src = iotest.OneByteReader(r)
				}
				return l
			},
			"tsv": tableOf(TableTSV), "csv": tableOf(TableCSV), "vertical": tableOf(TableVertical),
		} {
			s := open(bytes.NewReader(data), false)
			events := drain(t, s)
			if n := s.Stats().Bytes; n != int64(len(data)) {
				t.Fatalf("%s: read %d bytes of %d", name, n, len(data))
			}
			last := int64(-1)
			for _, ev := range events {
				if ev.Offset <= last || ev.Line != int64(bytes.Count(data[:ev.Offset], []byte("\n")))+1 {
					t.Fatalf("%s: event at offset %d, line %d, behind one at %d", name, ev.Offset, ev.Line, last)
				}
				last = ev.Offset
			}
			again := open(bytes.NewReader(data), true)
			if diff := diffEvents(events, drain(t, again)); diff != "" {
				t.Fatalf("%s, byte by byte (-at once +so):\n%s", name, diff)
			}
			if diff := gocmp.Diff(s.Stats(), again.Stats()); diff != "" {
				t.Fatalf("%s, stats byte by byte (-at once +so):\n%s", name, diff)
			}
		}
	})
}

func tableOf(format TableFormat) func(*bytes.Reader, bool) Source {
	return func(r *bytes.Reader, bytewise bool) Source {
		s := NewTableReader(r, format)
		if bytewise {
			s.src = iotest.OneByteReader(r)
		}
		return s
	}
}
