package slowlog

import (
	"bytes"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"testing/iotest"

	gocmp "github.com/google/go-cmp/cmp"
)

// fragments are what hostile and damaged logs are made of.
var fragments = []string{
	"# Time: 2026-11-30T11:26:27.000001Z\n", "# Time: 261130 11:26:27\n", "# Time: nonsense\n", "# Time: 2026-11-30T11:26:27Z", "# Ti",
	"# User@Host: a[a] @ h []  Id: 1\n", "# User@Host: b[x[y]] @ h [1.2.3.4]\n", "# User@Host:", "# User@Host: c[c] @ ",
	"# Query_time: 1.000000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\n", "# Query_time: 2\n", "# Query_time:", "# Query_time: nan  Rows_sent: -1  Foo: bar baz\n",
	"# Thread_id: 1  Schema: s t  QC_hit: No\n", "# Schema: x  Last_errno: 0  Killed: 0\n", "  Tmp_tables: 1  Tmp_disk_tables: 0\n", "# Bytes_received: 25 Bytes_sent: 3\n",
	"# Query_time: 1.5  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 1 Thread_id: 1 Errno: 0 Killed: 0 Bytes_received: 13 Bytes_sent: 9\n",
	"#\n# explain: id\ttable\n# explain: 1\tt\n", "# Warnings\n# Warning 1 x\n", "# Stored_routine: a.b\n", "# Log_slow_rate_type: query  Log_slow_rate_limit: 7\n",
	"use db;\n", "use `a``b`;\n", "SET timestamp=1796037987;\n", "SET insert_id=7;\n", "SET last_insert_id=7,timestamp=1796037987.5;\n",
	"SELECT 1;\n", "SELECT 2", "SELECT 'a", "'", "' AS x;\n", "\"", "`", "/*", "*/", "-- c\n", "# c\n", ";\n", ";", "\n", "\r\n", "\\", "\\'", " ", "x", "\x00", "\xff",
	"# administrator command: Quit;\n", "# administrator command: Ping", "throttle:  5 'index not used' warning(s) suppressed.;\n",
	"/usr/sbin/mysqld, Version: 8.0 (x). started with:\n", "Tcp port: 1  Unix socket: x\n", "Time                 Id Command    Argument\n",
	"mysqld, Version: 8.0 (x). started with:\nTcp port: 1  Unix socket: x\nTime Id Command Argument\n",
	"2019-04-18T08:55:36.001Z   465aa33d   # Time: 190418 12:29:49\n",
	"# Time: 190227 9:46:00 # User@Host: a[a] @ h [] Id: 4 # Query_time: 0.1 Lock_time: 0 use x; SET timestamp=1551260760; SELECT 1;\n",
}

// heads are whole headers, so that a mix has records.
var heads = []string{
	fragments[0] + fragments[5] + fragments[9] + fragments[24], fragments[5] + fragments[9] + fragments[22] + fragments[24], fragments[1] + fragments[6] + fragments[13] + fragments[9],
	fragments[0] + fragments[5] + fragments[17] + fragments[24],
}

// TestMixesReadTheSameEveryWay reads random mixes of what logs are made of, at
// once, byte by byte and by several goroutines: the same events, each byte
// accounted for, and written and read again. QUERN_LONG=1 tries a hundred times as many.
func TestMixesReadTheSameEveryWay(t *testing.T) {
	n := 100
	if os.Getenv("QUERN_LONG") == "1" {
		n *= 100
	}
	for seed := range n {
		rnd := rand.New(rand.NewPCG(uint64(seed), 7))
		var log []byte
		for range 1 + rnd.IntN(40) {
			switch rnd.IntN(3) {
			case 0:
				log = append(log, heads[rnd.IntN(len(heads))]...)
				log = append(log, fragments[24+rnd.IntN(8)]...)
			default:
				log = append(log, fragments[rnd.IntN(len(fragments))]...)
			}
		}
		if !t.Run(strconv.Itoa(seed), func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("log:\n%s", strconv.Quote(string(log)))
				}
			}()
			checkEveryWay(t, log, 1+rnd.IntN(400))
			checkWritten(t, log)
		}) {
			return
		}
	}
}

// checkEveryWay reads a log in every way.
func checkEveryWay(t *testing.T, data []byte, size int) {
	t.Helper()
	events, damage, stats := readAll(t, data)
	last := int64(-1)
	for _, ev := range events {
		if ev.Offset <= last || ev.Offset >= int64(len(data)) || ev.Line != int64(bytes.Count(data[:ev.Offset], []byte("\n")))+1 {
			t.Fatalf("event at offset %d, line %d, behind one at %d, of %d bytes", ev.Offset, ev.Line, last, len(data))
		}
		last = ev.Offset
		if ev.Query != "" && !bytes.Contains(data[ev.Offset:], []byte(ev.Query)) {
			t.Fatalf("statement %q does not stand behind offset %d", ev.Query, ev.Offset)
		}
	}
	if stats.Bytes != int64(len(data)) || stats.Events != int64(len(events)) || stats.Skipped() != int64(len(damage)) {
		t.Fatalf("stats %+v of %d bytes, %d events, %d damaged places", stats, len(data), len(events), len(damage))
	}
	r := NewReader(iotest.OneByteReader(bytes.NewReader(data)))
	r.ReuseEvent = true
	var bytewise []*Event
	for ev, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		bytewise = append(bytewise, ev.Clone())
	}
	if diff := diffEvents(events, bytewise); diff != "" {
		t.Fatalf("byte by byte, reused (-at once +so):\n%s", diff)
	}
	if diff := gocmp.Diff(stats, r.Stats()); diff != "" {
		t.Fatalf("stats byte by byte (-at once +so):\n%s", diff)
	}
	checkEach(t, data, 2, size)
}
