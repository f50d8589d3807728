package slowlog

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/quern-dev/quern/internal/testservers"
)

// drain reads all of a source.
func drain(t testing.TB, s Source) []*Event {
	t.Helper()
	var events []*Event
	for ev, err := range s.All() {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, ev)
	}
	return events
}

// serverSample reads a file made by the servers, or ends the test.
func serverSample(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../shared/samples/servers/slow", name))
	if err != nil {
		t.Skip("no samples at ../../shared: logs that real servers wrote")
	}
	return data
}

func TestTablesOfServersReadTheSameInEveryFormat(t *testing.T) {
	for _, server := range []struct {
		name      string
		rows      int
		rowValues []Field
	}{
		{"mysql-9.7", 452, []Field{FieldSchema, FieldThreadID}},
		{"mariadb-10.11", 415, []Field{FieldSchema, FieldThreadID, FieldRowsAffected}},
	} {
		read := func(file string, format TableFormat) []*Event {
			data := serverSample(t, server.name+"/"+file)
			r := NewTableReader(iotest.HalfReader(bytes.NewReader(data)), format)
			r.OnDamage = func(d Damage) { t.Errorf("%s/%s: %v: %.200q", server.name, file, d, d.Text) }
			return drain(t, r)
		}
		tsv := read("table.tsv", TableTSV)
		csv := read("table.csv", TableCSV)
		vertical := read("table-vertical.txt", TableVertical)
		if len(tsv) != server.rows || len(vertical) != 120 {
			t.Errorf("%s: %d rows of TSV, want %d; %d of vertical, want 120", server.name, len(tsv), server.rows, len(vertical))
		}
		if diff := gocmp.Diff(tsv, csv, eventOpts, placeless); diff != "" {
			t.Errorf("%s (-tsv +csv):\n%s", server.name, diff)
		}
		for _, ev := range tsv[:120] { // where the client prints a NUL as a blank
			ev.Query = strings.ReplaceAll(ev.Query, "\x00", " ")
		}
		if diff := gocmp.Diff(tsv[:120], vertical, eventOpts, placeless); diff != "" {
			t.Errorf("%s (-tsv +vertical):\n%s", server.name, diff)
		}
		for _, ev := range tsv {
			for _, f := range append(server.rowValues, FieldUser, FieldQueryTime, FieldLockTime, FieldRowsSent, FieldRowsExamined) {
				if !ev.Has(f) {
					t.Fatalf("%s: field %d is missing: %+v", server.name, f, ev)
				}
			}
		}
	}
}

func TestTableRows(t *testing.T) {
	want := []*Event{
		event(Event{Time: utc("2026-11-30T11:28:12.5"), TimeSource: TimeHeader, User: "app", Account: "app", Host: "web1", IP: "10.0.0.5", ThreadID: 7, Schema: "shop",
			QueryTime: 1500 * ms, LockTime: 3 * time.Microsecond, RowsSent: 1, RowsExamined: 2, Query: "SELECT 'a\tb\nc\\d \"e\"'",
			Metrics: []Metric{{Name: "last_insert_id", Text: "0"}, {Name: "insert_id", Text: "0"}, {Name: "server_id", Text: "1"}}},
			with(plain, FieldThreadID, FieldSchema)...),
		event(Event{Time: utc("2026-11-30T11:28:13"), TimeSource: TimeHeader, QueryTime: 30 * time.Hour, Command: "Quit", ThreadID: 7,
			Metrics: []Metric{{Name: "last_insert_id", Text: "0"}, {Name: "insert_id", Text: "0"}, {Name: "server_id", Text: "1"}}},
			with(plain, FieldThreadID, FieldSchema)...),
	}
	for _, tt := range []struct {
		name   string
		format TableFormat
		text   string
	}{
		{"TSV", TableTSV, "start_time\tuser_host\tquery_time\tlock_time\trows_sent\trows_examined\tdb\tlast_insert_id\tinsert_id\tserver_id\tsql_text\tthread_id\n" +
			`2026-11-30 11:28:12.500000	app[app] @ web1 [10.0.0.5]	00:00:01.500000	00:00:00.000003	1	2	shop	0	0	1	SELECT 'a\tb\nc\\d "e"'	7` + "\n" +
			"2026-11-30 11:28:13\t[] @  []\t30:00:00\t00:00:00\t0\t0\tNULL\t0\t0\t1\tQuit\t7\n"},
		{"CSV of the engine", TableCSV,
			`"2026-11-30 11:28:12.500000","app[app] @ web1 [10.0.0.5]","00:00:01.500000","00:00:00.000003",1,2,"shop",0,0,1,"SELECT 'a	b\nc\\d \"e\"'",7` + "\n" +
				`"2026-11-30 11:28:13","[] @  []","30:00:00","00:00:00",0,0,"",0,0,1,"Quit",7` + "\n"},
		{"CSV of others", TableCSV, "start_time,user_host,query_time,lock_time,rows_sent,rows_examined,db,last_insert_id,insert_id,server_id,sql_text,thread_id\r\n" +
			`2026-11-30 11:28:12.500000,app[app] @ web1 [10.0.0.5],00:00:01.500000,00:00:00.000003,1,2,shop,0,0,1,"SELECT 'a	b` + "\n" + `c\\d ""e""'",7` + "\r\n" +
			`2026-11-30 11:28:13,[] @  [],30:00:00,00:00:00,0,0,,0,0,1,Quit,7`},
		{"vertical", TableVertical, `*************************** 1. row ***************************
    start_time: 2026-11-30 11:28:12.500000
     user_host: app[app] @ web1 [10.0.0.5]
    query_time: 00:00:01.500000
     lock_time: 00:00:00.000003
     rows_sent: 1
 rows_examined: 2
            db: shop
last_insert_id: 0
     insert_id: 0
     server_id: 1
      sql_text: SELECT 'a	b
c\d "e"'
     thread_id: 7
*************************** 2. row ***************************
    start_time: 2026-11-30 11:28:13
     user_host: [] @  []
    query_time: 30:00:00
     lock_time: 00:00:00
     rows_sent: 0
 rows_examined: 0
            db: NULL
last_insert_id: 0
     insert_id: 0
     server_id: 1
      sql_text: Quit
     thread_id: 7
2 rows in set (0.00 sec)
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, in := range map[string]*TableReader{
				"at once":   NewTableReader(strings.NewReader(tt.text), tt.format),
				"in pieces": NewTableReader(iotest.OneByteReader(strings.NewReader(tt.text)), tt.format),
			} {
				in.OnDamage = func(d Damage) { t.Errorf("%s: %v: %q", name, d, d.Text) }
				if diff := gocmp.Diff(want, drain(t, in), eventOpts, placeless); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

func TestATornVerticalRowCostsItself(t *testing.T) {
	const mark, row = "*************************** 1. row ***************************\n", "start_time: 2026-11-30 11:28:13\nquery_time: 00:00:01\nsql_text: SELECT 1\n"
	for name, text := range map[string]string{
		"whole":        mark + row + mark + row,
		"torn first":   mark + "start_time: 2026-11-30 11:28:13\n" + mark + row + mark + row,
		"empty first":  mark + mark + row + mark + row,
		"torn between": mark + row + mark + "start_time: 2026-11-30 11:28:13\n" + mark + row,
	} {
		r := NewTableReader(strings.NewReader(text), TableVertical)
		if n := len(drain(t, r)); n != 2 {
			st := r.Stats()
			t.Errorf("%s: %d events and %d damaged places, want 2 events", name, n, st.Skipped())
		}
	}
}

func TestTableRowsThatDoNotFitAreSkipped(t *testing.T) {
	good := "2026-11-30 11:28:13\ta[a] @ h []\t00:00:01\t00:00:00\t0\t0\tdb\t0\t0\t1\tSELECT 1\t7\n"
	text := good + "torn\trow\n" + good + strings.Replace(good, "2026-", "x026-", 1) + good
	r := NewTableReader(strings.NewReader(text), TableTSV)
	var damage []Damage
	r.OnDamage = func(d Damage) { d.Text = nil; damage = append(damage, d) }
	if n := len(drain(t, r)); n != 3 {
		t.Errorf("%d events, want 3", n)
	}
	want := []Damage{{Reason: BadRow, Offset: int64(len(good)), Line: 2}, {Reason: BadRow, Offset: int64(2*len(good)) + 9, Line: 4}}
	if diff := gocmp.Diff(want, damage); diff != "" {
		t.Errorf("damage (-want +got):\n%s", diff)
	}
}

func TestTableOfServer(t *testing.T) {
	for _, flavor := range []testservers.Flavor{testservers.FlavorMySQL, testservers.FlavorMariaDB} {
		t.Run(string(flavor), func(t *testing.T) {
			srv := testservers.Start(t, flavor)
			schema := srv.Schema(t)
			db := srv.DB(t, schema)
			db.SetMaxOpenConns(1)
			exec := func(stmts ...string) {
				t.Helper()
				for _, s := range stmts {
					if _, err := db.Exec(s); err != nil {
						t.Fatal(err)
					}
				}
			}
			exec("SET time_zone = '+00:00'", "SET GLOBAL log_output = 'TABLE'", "SET GLOBAL long_query_time = 0", "SET SESSION long_query_time = 0", "SET GLOBAL slow_query_log = 1")
			if flavor == testservers.FlavorMariaDB {
				exec("SET SESSION slow_query_log = 1")
			}
			sent := []string{"SELECT /* one */ SLEEP(0.05)", "SELECT 'tab\t line\n back\\\\slash', \"q\"", "SELECT 1 -- \x01 \u00fc", "SELECT /* four */ SLEEP(0.1)"}
			before := time.Now()
			exec(sent...)
			exec("SET GLOBAL slow_query_log = 0")
			after := time.Now() // behind one more answer: a server logs a statement when its client has the reply
			rows, err := db.Query("SELECT * FROM mysql.slow_log ORDER BY start_time")
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			var got []string
			for _, ev := range drain(t, NewRowsReader(rows)) {
				if !slices.Contains(sent, ev.Query) {
					continue
				}
				got = append(got, ev.Query)
				if ev.Schema != schema || ev.User != "root" || ev.ThreadID == 0 {
					t.Errorf("schema %q, user %q, thread %d", ev.Schema, ev.User, ev.ThreadID)
				}
				if ev.Start().Before(before.Add(-ms)) || ev.Time.After(after.Add(ms)) {
					t.Errorf("%s: from %v to %v, but sent between %v and %v", ev.Query, ev.Start(), ev.Time, before.UTC(), after.UTC())
				}
				if strings.Contains(ev.Query, "SLEEP") && ev.QueryTime < 50*ms {
					t.Errorf("%s took %v", ev.Query, ev.QueryTime)
				}
			}
			if diff := gocmp.Diff(sent, got); diff != "" {
				t.Errorf("statements (-sent +logged):\n%s", diff)
			}
		})
	}
}

func TestGeneralLogFormats(t *testing.T) {
	at := func(s string) time.Time { return utc(s) }
	for _, tt := range []struct {
		name, log string
		want      []*Event
	}{{
		name: "MySQL 5.7 and later",
		log: `/usr/sbin/mysqld, Version: 9.7.4 (Debian). started with:
Tcp port: 39381  Unix socket: /run/mysql/mysqld.sock
Time                 Id Command    Argument
2026-11-30T11:28:16.754910Z	  226 Connect	app@web1 on shop using TCP/IP
2026-11-30T11:28:16.760644Z	  226 Query	SELECT 1,
  2
FROM t
2026-11-30T13:28:16.760645+02:00	  226 Init DB	crm
2026-11-30T11:28:17.000000Z	  226 Execute	SELECT 3
2026-11-30T11:28:18.000000Z	  226 Quit	
`,
		want: []*Event{
			event(Event{Time: at("2026-11-30T11:28:16.75491"), User: "app", Account: "app", Host: "web1", Schema: "shop", SchemaInherited: true, ThreadID: 226, Command: "Connect", TimeSource: TimeHeader}, FieldUser, FieldThreadID),
			event(Event{Time: at("2026-11-30T11:28:16.760644"), User: "app", Account: "app", Host: "web1", Schema: "shop", SchemaInherited: true, ThreadID: 226, Query: "SELECT 1,\n  2\nFROM t", TimeSource: TimeHeader}, FieldUser, FieldThreadID),
			event(Event{Time: at("2026-11-30T11:28:16.760645"), User: "app", Account: "app", Host: "web1", Schema: "crm", SchemaInherited: true, ThreadID: 226, Command: "Init DB", TimeSource: TimeHeader}, FieldUser, FieldThreadID),
			event(Event{Time: at("2026-11-30T11:28:17"), User: "app", Account: "app", Host: "web1", Schema: "crm", SchemaInherited: true, ThreadID: 226, Query: "SELECT 3", TimeSource: TimeHeader}, FieldUser, FieldThreadID),
			event(Event{Time: at("2026-11-30T11:28:18"), User: "app", Account: "app", Host: "web1", Schema: "crm", SchemaInherited: true, ThreadID: 226, Command: "Quit", TimeSource: TimeHeader}, FieldUser, FieldThreadID),
		},
	}, {
		name: "MariaDB: the time once a second",
		log:  "261130 11:30:42\t   449 Connect\tAccess denied for user 'x'@'h' (using password: YES)\n\t\t   450 Query\tuse `a b`\n\t\t   450 Query\tSELECT 1\n",
		want: []*Event{
			event(Event{Time: at("2026-11-30T11:30:42"), ThreadID: 449, Command: "Connect", Errno: 1045, TimeSource: TimeHeader}, FieldThreadID, FieldErrno),
			event(Event{Time: at("2026-11-30T11:30:42"), ThreadID: 450, Query: "use `a b`", TimeSource: TimeCarried}, FieldThreadID),
			event(Event{Time: at("2026-11-30T11:30:42"), ThreadID: 450, Query: "SELECT 1", Schema: "a b", SchemaInherited: true, TimeSource: TimeCarried}, FieldThreadID),
		},
	}, {
		name: "MySQL 5.0: blanks behind the command",
		log:  "071015  1:43:52\t      3 Connect     root@localhost as anonymous on test\n\t\t      3 Query       select 1\n\t\t      3 Quit       \n",
		want: []*Event{
			event(Event{Time: at("2007-10-15T01:43:52"), User: "root", Account: "root", Host: "localhost", Schema: "test", SchemaInherited: true, ThreadID: 3, Command: "Connect", TimeSource: TimeHeader}, FieldUser, FieldThreadID),
			event(Event{Time: at("2007-10-15T01:43:52"), User: "root", Account: "root", Host: "localhost", Schema: "test", SchemaInherited: true, ThreadID: 3, Query: "select 1", TimeSource: TimeCarried}, FieldUser, FieldThreadID),
			event(Event{Time: at("2007-10-15T01:43:52"), User: "root", Account: "root", Host: "localhost", Schema: "test", SchemaInherited: true, ThreadID: 3, Command: "Quit", TimeSource: TimeCarried}, FieldUser, FieldThreadID),
		},
	}} {
		t.Run(tt.name, func(t *testing.T) {
			for name, r := range map[string]*GeneralReader{
				"at once":   NewGeneralReader(strings.NewReader(tt.log)),
				"in pieces": NewGeneralReader(iotest.OneByteReader(strings.NewReader(tt.log))),
			} {
				r.OnDamage = func(d Damage) { t.Errorf("%s: %v: %q", name, d, d.Text) }
				if diff := gocmp.Diff(tt.want, drain(t, r), eventOpts, placeless); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

func TestGeneralLogKeepsWhatAClientTurnsUp(t *testing.T) {
	const fake = "2020-01-01T00:00:00.000000Z\t  9 Query\tSELECT 666\n"
	for name, statements := range map[string][]string{
		"an entry in a literal":        {"SELECT 'x\n" + fake + "' AS y", "SELECT 2"},
		"an entry in a comment":        {"/* x\n" + fake + "*/ SELECT 1", "SELECT 2"},
		"two entries in a quoted name": {"SELECT 1 AS `x\n" + fake + fake + "`", "SELECT 2"},
		"in the last statement":        {"SELECT 1", "SELECT 'x\n" + fake + "' AS y"},
		"a literal that stays open":    {"SELECT 'x", "SELECT 2", "SELECT 'y'"},
		"a comment that stays open":    {"SELECT 1 /* x", "SELECT 2 /* y */", "SELECT 3"},
		"lines of all kinds":           {"\n\nSELECT\n\t1 x\n\t\t 12 apples\n/usr/bin/x\n", "SELECT 2\r\n"},
		"bytes":                        {"SELECT '\x00\xff\r\n\x1a'", "\xe6\x97"},
		"nothing":                      {"", "SELECT 1"},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			for i, q := range statements {
				fmt.Fprintf(&log, "2026-11-30T11:28:16.76064%dZ\t  226 Query\t%s\n", i, q)
			}
			r := NewGeneralReader(iotest.HalfReader(strings.NewReader(log.String())))
			r.OnDamage = func(d Damage) { t.Errorf("%v: %q", d, d.Text) }
			var got, want []string
			for _, ev := range drain(t, r) {
				got = append(got, ev.Query)
			}
			for _, q := range statements { // a line end of the statement's own and the log's look alike
				want = append(want, strings.TrimSuffix(q, "\r"))
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("statements (-sent +read):\n%s", diff)
			}
		})
	}
}

// TestGeneralLogsOfServers counts the entries by their first lines, of which the
// workload's statements hold none.
func TestGeneralLogsOfServers(t *testing.T) {
	for server, want := range map[string]map[string]int{
		"mysql-9.7":     {"Query": 451, "Execute": 32, "Prepare": 39, "Close stmt": 20, "Connect": 19, "Quit": 15, "Init DB": 1, "Long Data": 1, "Statistics": 1},
		"mariadb-10.11": {"Query": 456, "Execute": 33, "Prepare": 22, "Close stmt": 20, "Connect": 19, "Quit": 15, "Init DB": 5, "Long Data": 1, "Statistics": 1},
	} {
		data := serverSample(t, server+"/general.log")
		r := NewGeneralReader(bytes.NewReader(data))
		r.OnDamage = func(d Damage) { t.Errorf("%s: %v: %.100q", server, d, d.Text) }
		got := map[string]int{}
		for _, ev := range drain(t, r) {
			if ev.Command != "" {
				got[ev.Command]++
			} else {
				got["statements"]++
			}
		}
		want["statements"] = want["Query"] + want["Execute"]
		delete(want, "Query")
		delete(want, "Execute")
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", server, diff)
		}
	}
}

func TestLinesAreStatements(t *testing.T) {
	text := "SELECT 1;\n\n  SELECT 'a;b' ;\r\n" + strings.Repeat("x", 100) + "\nlast"
	want := []*Event{
		event(Event{Query: "SELECT 1"}), event(Event{Query: "SELECT 'a;b'", Offset: 11, Line: 3}),
		event(Event{Query: strings.Repeat("x", 20), Truncated: true, Offset: 29, Line: 4}), event(Event{Query: "last", Offset: 130, Line: 5}),
	}
	want[0].Line = 1
	for name, r := range map[string]*LineReader{"at once": NewLineReader(strings.NewReader(text)), "in pieces": NewLineReader(iotest.OneByteReader(strings.NewReader(text)))} {
		r.MaxStatement = 20
		if diff := gocmp.Diff(want, drain(t, r), eventOpts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
