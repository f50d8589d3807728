package slowlog

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

func utc(s string) time.Time {
	t, err := time.Parse("2006-01-02T15:04:05.999999999", s)
	if err != nil {
		panic(err)
	}
	return t
}

func event(e Event, has ...Field) *Event {
	if e.Weight == 0 {
		e.Weight = 1
	}
	e.SetHas(has...)
	return &e
}

func count(k Key, text string, n int64) Metric {
	return Metric{Key: k, Name: k.String(), Text: text, num: n}
}

// The fields that every header but the oldest gives.
var plain = []Field{FieldUser, FieldQueryTime, FieldLockTime, FieldRowsSent, FieldRowsExamined}

func with(fs []Field, more ...Field) []Field { return append(append([]Field{}, fs...), more...) }

const ms = time.Millisecond

func TestReaderDialects(t *testing.T) {
	for _, tt := range []struct {
		name, log string
		want      []*Event
	}{{
		name: "MySQL 5.0, whole seconds, no SET timestamp",
		log: `/usr/sbin/mysqld, Version: 5.0.38-log (Source). started with:
Tcp port: 3306  Unix socket: /tmp/mysql.sock
Time                 Id Command    Argument
# Time: 071015  1:43:52
# User@Host: root[root] @ localhost []
# Query_time: 2  Lock_time: 0  Rows_sent: 1  Rows_examined: 3
use test;
select sleep(2) from n;
# User@Host: root[root] @ localhost []
# Query_time: 3  Lock_time: 0  Rows_sent: 1  Rows_examined: 3
select sleep(3) from n;
`,
		want: []*Event{
			event(Event{Time: utc("2007-10-15T01:43:52"), TimeSource: TimeHeader, User: "root", Account: "root", Host: "localhost", Schema: "test",
				QueryTime: 2000 * ms, RowsSent: 1, RowsExamined: 3, Query: "select sleep(2) from n", Offset: 151, Line: 4}, with(plain, FieldSchema)...),
			event(Event{Time: utc("2007-10-15T01:43:52"), TimeSource: TimeCarried, User: "root", Account: "root", Host: "localhost", Schema: "test", SchemaInherited: true,
				QueryTime: 3000 * ms, RowsSent: 1, RowsExamined: 3, Query: "select sleep(3) from n", Offset: 310, Line: 9}, plain...),
		},
	}, {
		name: "MySQL 8, log_slow_extra",
		log: `# Time: 2026-11-30T11:26:27.573887+01:00
# User@Host: app[app] @ web1 [10.0.0.5]  Id:    51
# Query_time: 0.003019  Lock_time: 0.000013 Rows_sent: 1  Rows_examined: 7 Thread_id: 51 Errno: 1062 Killed: 0 Bytes_received: 15 Bytes_sent: 68 Read_first: 0 Read_key: 22 Start: 2026-11-30T10:26:27.570868Z End: 2026-11-30T10:26:27.573887Z
use my shop;
SET timestamp=1796034387;
INSERT t ();
`,
		want: []*Event{
			event(Event{Time: utc("2026-11-30T10:26:27.573887"), TimeSource: TimeHeader, User: "app", Account: "app", Host: "web1", IP: "10.0.0.5", ThreadID: 51, Schema: "my shop",
				QueryTime: 3019 * time.Microsecond, LockTime: 13 * time.Microsecond, RowsSent: 1, RowsExamined: 7, BytesSent: 68, Errno: 1062, Query: "INSERT t ()",
				Metrics: []Metric{
					count(KeyBytesReceived, "15", 15), count(KeyReadFirst, "0", 0), count(KeyReadKey, "22", 22),
					count(KeyStart, "2026-11-30T10:26:27.570868Z", utc("2026-11-30T10:26:27.570868").UnixNano()),
					count(KeyEnd, "2026-11-30T10:26:27.573887Z", utc("2026-11-30T10:26:27.573887").UnixNano()),
				}, Line: 1}, with(plain, FieldThreadID, FieldSchema, FieldErrno, FieldKilled, FieldBytesSent)...),
		},
	}, {
		name: "Percona Server 8.0, full verbosity, a line without its #, rate limit",
		log: `# Time: 2024-05-10T17:52:26.336958Z
# User@Host: app[app] @ localhost []  Id:    13
# Schema: shop  Last_errno: 0  Killed: 0
# Query_time: 0.000218  Lock_time: 0.000004  Rows_sent: 0  Rows_examined: 5  Rows_affected: 2  Bytes_sent: 56
  Tmp_tables: 1  Tmp_disk_tables: 0  Tmp_table_sizes: 0
# InnoDB_trx_id: 1A88583F
# Full_scan: Yes  Full_join: No
#   InnoDB_IO_r_ops: 3  InnoDB_IO_r_bytes: 4096  InnoDB_IO_r_wait: 0.000100
# Log_slow_rate_type: session  Log_slow_rate_limit: 100
SET timestamp=1715363546;
update t set a = 1;
`,
		want: []*Event{
			event(Event{Time: utc("2024-05-10T17:52:26.336958"), TimeSource: TimeHeader, User: "app", Account: "app", Host: "localhost", ThreadID: 13, Schema: "shop",
				QueryTime: 218 * time.Microsecond, LockTime: 4 * time.Microsecond, RowsExamined: 5, RowsAffected: 2, BytesSent: 56, Query: "update t set a = 1",
				Weight: 100, SessionSampled: true,
				Metrics: []Metric{
					count(KeyTmpTables, "1", 1), count(KeyTmpDiskTables, "0", 0), count(KeyTmpTableSizes, "0", 0),
					count(KeyInnoDBTrxId, "1A88583F", 0), count(KeyFullScan, "Yes", 1), count(KeyFullJoin, "No", 0),
					count(KeyInnoDBIOROps, "3", 3), count(KeyInnoDBIORBytes, "4096", 4096), count(KeyInnoDBIORWait, "0.000100", 100_000),
					count(KeyLogSlowRateType, "session", 0), count(KeyLogSlowRateLimit, "100", 100),
				}, Line: 1}, with(plain, FieldThreadID, FieldSchema, FieldErrno, FieldKilled, FieldRowsAffected, FieldBytesSent)...),
		},
	}, {
		name: "MariaDB, full verbosity: plan, warnings, routine",
		log: `# Time: 261130 11:29:16
# User@Host: app[app] @ localhost []
# Thread_id: 141  Schema: shop  QC_hit: No
# Query_time: 0.000303  Lock_time: 0.000173  Rows_sent: 1  Rows_examined: 1
# Rows_affected: 0  Bytes_sent: 0
# Stored_routine: shop.report
# Pages_accessed: 2  Pages_read_time: 1.5000
#
# explain: id	select_type	table
# explain: 1	SIMPLE	customers
#
# Warnings
# Warning 1062 Duplicate entry '1' for key 'PRIMARY'
# Note 4094 At line 5 in shop.report
use ` + "`my``shop`" + `;
SET timestamp=1796038156.25;
SELECT 1;
`,
		want: []*Event{
			event(Event{Time: utc("2026-11-30T11:29:16"), TimeSource: TimeHeader, User: "app", Account: "app", Host: "localhost", ThreadID: 141, Schema: "shop",
				QueryTime: 303 * time.Microsecond, LockTime: 173 * time.Microsecond, RowsSent: 1, RowsExamined: 1, StoredRoutine: "shop.report", Query: "SELECT 1",
				Metrics:  []Metric{count(KeyQCHit, "No", 0), count(KeyPagesAccessed, "2", 2), count(KeyPagesReadTime, "1.5000", 1_500_000)},
				Plan:     "id\tselect_type\ttable\n1\tSIMPLE\tcustomers",
				Warnings: "Warning 1062 Duplicate entry '1' for key 'PRIMARY'\nNote 4094 At line 5 in shop.report",
				Line:     1}, with(plain, FieldThreadID, FieldSchema, FieldRowsAffected, FieldBytesSent)...),
		},
	}, {
		name: "MariaDB within a second: the time is the record's own timestamp",
		log: `# Time: 261130 11:29:16
# User@Host: app[app] @ localhost []
# Query_time: 1  Lock_time: 0  Rows_sent: 1  Rows_examined: 1
SET timestamp=1796038156;
SELECT 1;
# User@Host: app[app] @ localhost []
# Query_time: 1  Lock_time: 0  Rows_sent: 1  Rows_examined: 1
SET timestamp=1796038156;
SELECT 2;
`,
		want: []*Event{
			event(Event{Time: utc("2026-11-30T11:29:16"), TimeSource: TimeHeader, User: "app", Account: "app", Host: "localhost", QueryTime: 1000 * ms, RowsSent: 1, RowsExamined: 1, Query: "SELECT 1", Line: 1}, plain...),
			event(Event{Time: utc("2026-11-30T11:29:16"), TimeSource: TimeTimestamp, User: "app", Account: "app", Host: "localhost", QueryTime: 1000 * ms, RowsSent: 1, RowsExamined: 1, Query: "SELECT 2", Offset: 159, Line: 6}, plain...),
		},
	}, {
		name: "TiDB",
		log: `# Time: 2021-09-08T14:39:54.506967433+08:00
# Txn_start_ts: 4275
# User@Host: root[root] @ 172.16.0.1 [172.16.0.1]
# Conn_ID: 40507
# Query_time: 25.571605962
# Prewrite_time: 25.5 Backoff_types: [tikvRPC regionMiss] Write_keys: 624
# DB: rtdb
# Succ: false
# Plan: tidb_decode_plan('abc Key: x')
select 1 from t;
`,
		want: []*Event{
			event(Event{Time: utc("2021-09-08T06:39:54.506967433"), TimeSource: TimeHeader, User: "root", Account: "root", Host: "172.16.0.1", IP: "172.16.0.1", ThreadID: 40507, Schema: "rtdb",
				QueryTime: 25_571_605_962, Query: "select 1 from t", Plan: "tidb_decode_plan('abc Key: x')",
				Metrics: []Metric{
					count(KeyTxnStartTs, "4275", 0), count(KeyPrewriteTime, "25.5", 25_500_000_000), {Name: "Backoff_types", Text: "[tikvRPC regionMiss]"},
					count(KeyWriteKeys, "624", 624), count(KeySucc, "false", 0),
				}, Line: 1}, FieldUser, FieldThreadID, FieldQueryTime, FieldSchema),
		},
	}, {
		name: "one line a record, as log shippers make of it",
		log: `# Time: 190418 8:55:34 # User@Host: root[root] @ [172.30.0.229] Id: 19348 # Query_time: 3.000551 Lock_time: 0.000000 Rows_sent: 1 Rows_examined: 0 SET timestamp=1555577734; select sleep(3);
`,
		want: []*Event{
			event(Event{Time: utc("2019-04-18T08:55:34"), TimeSource: TimeHeader, User: "root", Account: "root", IP: "172.30.0.229", ThreadID: 19348,
				QueryTime: 3_000_551 * time.Microsecond, RowsSent: 1, Query: "select sleep(3)", Line: 1}, with(plain, FieldThreadID)...),
		},
	}} {
		t.Run(tt.name, func(t *testing.T) {
			got, damage, _ := readAll(t, []byte(tt.log))
			if diff := gocmp.Diff(tt.want, got, eventOpts); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if len(damage) > 0 {
				t.Errorf("damage: %v", damage)
			}
		})
	}
}

func TestReaderKeepsWhatAClientTurnsUp(t *testing.T) {
	// The statement texts of a log, one entry a record.
	const head = "# Time: 2026-11-30T11:26:27.000001Z\n# User@Host: a[a] @ h []  Id: 1\n# Query_time: 1.000000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\nSET timestamp=1796037987;\n"
	const fake = "# Time: 2020-01-01T00:00:00.000000Z\n# User@Host: x[x] @ localhost []  Id:     1\n# Query_time: 9.000000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\nSET timestamp=1577836800;\n"
	for _, tt := range []struct {
		name       string
		statements []string // as sent
		want       []string // where it differs
	}{
		{name: "a header in a literal", statements: []string{"SELECT 'x\n" + fake + "SELECT 42;\n' AS y", "SELECT 2"}},
		{name: "a header in a literal of its own line", statements: []string{"INSERT INTO t VALUES ('\n" + fake + "')", "SELECT 2"}},
		{name: "a header in a comment", statements: []string{"/* seen:\n" + fake + "select 1;\n*/ SELECT 1", "SELECT 2"}},
		{name: "a header in a quoted name", statements: []string{"SELECT 1 AS `a;\n" + fake + "x`", "SELECT 2"}},
		{name: "two headers in one literal", statements: []string{"SELECT 'x;\n" + fake + "a;\n" + fake + "b;\n'", "SELECT 2"}},
		{name: "a header in the last record", statements: []string{"SELECT 1", "SELECT 'x\n" + fake + "SELECT 42;\n' AS y"}},
		{name: "a banner in a literal", statements: []string{"SELECT '\n/usr/sbin/mysqld, Version: 8.0. started with:\nTcp port: 1\nTime Id Command Argument\n'", "SELECT 2"}},
		{name: "an administrator command in a literal", statements: []string{"SELECT '\n# administrator command: Ping;\n'", "SELECT 2"}},
		{name: "a literal that does not close", statements: []string{"SELECT 'abc", "SELECT 2", "SELECT 3"}},
		{name: "a literal that does not close before one with a prefix", statements: []string{"SELECT 'abc", "SELECT x'4f", "SELECT 3"}},
		{name: "a literal that does not close before an apostrophe", statements: []string{"SELECT 'abc", "SELECT 2 # it's two\nFROM t", "SELECT 3"}},
		{name: "two literals that do not close", statements: []string{"SELECT a = \"abc", "SELECT b = \"def", "SELECT 3"}},
		{name: "a comment that does not close", statements: []string{"SELECT 1 /* abc", "SELECT /* x */ 2", "SELECT 3"}},
		{name: "the server's own words", statements: []string{"SET timestamp=5", "SET insert_id = 7", "use x", "USE `x`", "SELECT 1"}},
		{name: "a first line of comment", statements: []string{"# a comment: of mine\nSELECT 1", "# Query_time: 99  Rows_sent: 5\nSELECT 2", "-- x\nSELECT 3"}},
		{name: "header-like lines in a routine", statements: []string{"CREATE PROCEDURE p() BEGIN\nSELECT 1;\n# Note: this\nSELECT 2;\nEND", "SELECT 3"}},
		{name: "SET at the start of a later line", statements: []string{"UPDATE t\nSET timestamp=NOW()", "SELECT 1"}},
		{name: "Time at the start of a line", statements: []string{"SELECT 'x\nTime flies like an arrow'", "SELECT 1"}},
		{name: "blank lines", statements: []string{"\n\nSELECT 1\n\n", "SELECT\n\n2"}},
		{name: "semicolons", statements: []string{"SELECT 1;", "SELECT ';'", ";"}},
		{name: "comments to the end of the line", statements: []string{"SELECT 3 # to the end", "SELECT 4 -- it's", "SELECT 5"}},
		{name: "bytes", statements: []string{"SELECT '\x00\xff\xfe\r\n\x1a'", "SELECT '\xe6\x97'"}},
		{name: "nothing", statements: []string{"", "SELECT 1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log strings.Builder
			for _, q := range tt.statements {
				log.WriteString(head + q + ";\n")
			}
			var got []string
			events, damage, _ := readAll(t, []byte(log.String()))
			for _, ev := range events {
				got = append(got, ev.Query)
				if ev.QueryTime != time.Second || ev.User != "a" {
					t.Errorf("event of %v, user %q: no record of the log", ev.QueryTime, ev.User)
				}
			}
			if diff := gocmp.Diff(tt.statements, got); diff != "" {
				t.Errorf("statements (-sent +read):\n%s", diff)
			}
			if len(damage) > 0 {
				t.Errorf("damage: %v", damage)
			}
		})
	}
}

func TestReaderLetsBytesReceivedDecide(t *testing.T) {
	// A literal that stays open: without a count it would end at the header in it.
	q := "SELECT 'x;\n# Time: 2020-01-01T00:00:00.000000Z\n# User@Host: x[x] @ localhost []\n# Query_time: 9.000000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\nSET timestamp=1577836800;\nSELECT 42"
	log := "# Time: 2026-11-30T11:26:27.000001Z\n# User@Host: a[a] @ h []  Id: 1\n# Query_time: 1.000000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1 Thread_id: 1 Errno: 0 Killed: 0 Bytes_received: "
	for name, counted := range map[string]string{
		"counted":                       "195",
		"counted with query attributes": "197",
	} {
		events, _, _ := readAll(t, []byte(log+counted+" Bytes_sent: 9\nSET timestamp=1796037987;\n"+q+";\n"+log+"13 Bytes_sent: 9\nSET timestamp=1796037987;\nSELECT 2;\n"))
		if len(q) != 190 || len(events) != 2 || events[0].Query != q {
			t.Errorf("%s: %d events of a %d-byte statement, first %q", name, len(events), len(q), events[0].Query)
		}
	}
}

func TestReaderUsers(t *testing.T) {
	for _, tt := range []struct{ line, user, account, host, ip string }{
		{"app[app] @ web1 [10.0.0.5]  Id:    42", "app", "app", "web1", "10.0.0.5"},
		{"[] @ localhost []  Id:     8", "", "", "localhost", ""},
		{"[nobody] @ localhost []  Id:     8", "nobody", "", "localhost", ""},
		{"[SQL_SLAVE] @  []", "SQL_SLAVE", "", "", ""},
		{"my app[my app] @ web1 [10.0.0.5]  Id: 7", "my app", "my app", "web1", "10.0.0.5"},
		{"bob[x[y]] @  [2001:db8::1]  Id:     9", "x[y]", "bob", "", "2001:db8::1"},
		{"app@corp[app] @ web-1.example.org [10.0.0.5]", "app", "app@corp", "web-1.example.org", "10.0.0.5"},
		{"skip-grants user[root] @ localhost []", "root", "skip-grants user", "localhost", ""},
		{"a[b] @ [10.0.0.5]", "b", "a", "", "10.0.0.5"},
		{"1001[1001] @ h []", "1001", "1001", "h", ""},
		{"r[r] @ x []  Id: 1[r[r] @ x []  Id: 1] @ localhost []  Id:    50", "r[r] @ x []  Id: 1", "r[r] @ x []  Id: 1", "localhost", ""},
		{"o'brien[o'brien] @ localhost [127.0.0.1]  Id: 3", "o'brien", "o'brien", "localhost", "127.0.0.1"},
		{"user @ 192.168.1.100 []", "user", "user", "192.168.1.100", ""},
	} {
		d := decoder{ev: new(Event)}
		d.user(" " + tt.line)
		got := [4]string{d.ev.User, d.ev.Account, d.ev.Host, d.ev.IP}
		if want := [4]string{tt.user, tt.account, tt.host, tt.ip}; got != want {
			t.Errorf("%s\n got %q\nwant %q", tt.line, got, want)
		}
	}
}

func TestReaderSchemas(t *testing.T) {
	const head = "# User@Host: a[a] @ h []\n"
	const rest = "# Query_time: 1.0  Lock_time: 0.0  Rows_sent: 0  Rows_examined: 0\n"
	log := head + "# Thread_id: 1  Schema: my db:x y  QC_hit: No\n" + rest + "SET timestamp=1;\nS0;\n" +
		head + "# Schema:   Last_errno: 5  Killed: 0\n" + rest + "SET timestamp=1;\nS1;\n" +
		head + "# Schema: x  Last_errno: 9  Last_errno: 0  Killed: 3\n" + rest + "SET timestamp=1;\nS2;\n" +
		head + rest + "use b;c;\nSET timestamp=1;\nS3;\n" +
		head + rest + "SET timestamp=1;\nS4;\n" +
		"/usr/sbin/mariadbd, Version: 11.4.2-MariaDB-log (x). started with:\nTcp port: 3306  Unix socket: /s\nTime\t\t    Id Command\tArgument\n" +
		head + rest + "SET timestamp=1;\nS5;\n"
	type got struct {
		Schema    string
		Inherited bool
		Errno     int
		Killed    int
	}
	want := []got{{"my db:x y", false, 0, 0}, {"", false, 5, 0}, {"x  Last_errno: 9", false, 0, 3}, {"b;c", false, 0, 0}, {"b;c", true, 0, 0}, {"", false, 0, 0}}
	var all []got
	events, _, stats := readAll(t, []byte(log))
	for _, ev := range events {
		all = append(all, got{ev.Schema, ev.SchemaInherited, ev.Errno, ev.Killed})
	}
	if diff := gocmp.Diff(want, all); diff != "" {
		t.Errorf("schemas (-want +got):\n%s", diff)
	}
	if stats.Banners != 1 || stats.Server != "11.4.2-MariaDB-log (x)" {
		t.Errorf("%d banners, server %q", stats.Banners, stats.Server)
	}
}

func TestReaderFlagsValuesThatNoServerCanMean(t *testing.T) {
	log := `# Query_time: 18446744073708.796870.000036  Lock_time: nan  Rows_sent: 1  Rows_examined: 18446744073709551615
# Full_scan: Maybe  Merge_passes: -1  Tmp_tables: 2
SELECT 1;
`
	events, _, stats := readAll(t, []byte(log))
	if len(events) != 1 {
		t.Fatalf("%d events, want 1", len(events))
	}
	ev := events[0]
	var suspects []string
	for _, m := range ev.Metrics {
		if m.Suspect {
			suspects = append(suspects, m.Name+"="+m.Text)
		}
	}
	want := []string{"Query_time=18446744073708.796870.000036", "Lock_time=nan", "Rows_examined=18446744073709551615", "Full_scan=Maybe", "Merge_passes=-1"}
	if diff := gocmp.Diff(want, suspects); diff != "" {
		t.Errorf("suspects (-want +got):\n%s", diff)
	}
	if ev.Has(FieldQueryTime) || ev.Has(FieldLockTime) || ev.Has(FieldRowsExamined) || !ev.Has(FieldRowsSent) || stats.Suspect != 5 {
		t.Errorf("has %b, %d suspect", ev.has, stats.Suspect)
	}
}

func TestReaderWeighs(t *testing.T) {
	rec := func(qt, rate string) string {
		return "# User@Host: a[a] @ h []\n# Query_time: " + qt + "  Lock_time: 0.0  Rows_sent: 0  Rows_examined: 0\n" + rate + "SET timestamp=1;\nSELECT 1;\n"
	}
	const by100 = "# Log_slow_rate_type: query  Log_slow_rate_limit: 100\n"
	log := rec("0.1", by100) + rec("12", by100) + rec("0.1", "") + rec("12", "")
	for _, tt := range []struct {
		opt  Options
		want []float64
	}{
		{Options{}, []float64{100, 1, 1, 1}},
		{Options{AlwaysLog: -1}, []float64{100, 100, 1, 1}},
		{Options{AlwaysLog: 50 * ms}, []float64{1, 1, 1, 1}},
		{Options{Rate: 7}, []float64{100, 1, 7, 7}},
		{Options{Rate: 7, AlwaysLog: time.Second}, []float64{100, 1, 7, 1}},
	} {
		r := NewReader(strings.NewReader(log))
		r.Options = tt.opt
		var got []float64
		for ev, err := range r.All() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, ev.Weight)
		}
		if diff := gocmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%+v: weights (-want +got):\n%s", tt.opt, diff)
		}
	}
}

func TestReaderSkipsDamage(t *testing.T) {
	log := `Rows_sent: 1
SELECT cut;
# User@Host: a[a] @ h []
# Query_time: 1.0  Lock_time: 0.0  Rows_sent: 0  Rows_examined: 0
SET timestamp=1;
S0;
# Time: 2026-11-30T11:26:27Z
# User@Host: a[a] @ h []
SELECT without_time;
# User@Host: a[a] @ h []
# Query_time: 1.0  Lock_time: 0.0  Rows_sent: 0  Rows_examined: 0
SET timestamp=1;
# User@Host: a[a] @ h []
# Query_time: 2.0  Lock_time: 0.0  Rows_sent: 0  Rows_examined: 0
SET timestamp=1;
SELECT torn# Time: 2026-11-30T11:26:28Z
# User@Host: a[a] @ h []
# Query_time: 3.0  Lock_time: 0.0  Rows_sent: 0  Rows_examined: 0
SET timestamp=1;
S3`
	events, damage, stats := readAll(t, []byte(log))
	var got []string
	for _, ev := range events {
		got = append(got, ev.Query)
	}
	if diff := gocmp.Diff([]string{"S0", "SELECT torn", "S3"}, got); diff != "" {
		t.Errorf("statements (-want +got):\n%s", diff)
	}
	for i := range damage {
		damage[i].Text = nil
	}
	want := []Damage{{Reason: NoHeader, Line: 1}, {Reason: NoQueryTime, Offset: 137, Line: 7}, {Reason: NoStatement, Offset: 212, Line: 10}}
	if diff := gocmp.Diff(want, damage); diff != "" {
		t.Errorf("damage (-want +got):\n%s", diff)
	}
	if !events[1].Truncated || !events[2].Truncated || events[0].Truncated || stats.Skipped() != 3 {
		t.Errorf("truncated %v %v %v, skipped %d", events[0].Truncated, events[1].Truncated, events[2].Truncated, stats.Skipped())
	}
}

func TestReaderUndoesCRLF(t *testing.T) {
	log := "# Time: 071015 21:43:52\n# User@Host: a[a] @ h []\n# Query_time: 1  Lock_time: 0  Rows_sent: 1  Rows_examined: 1\nuse db;\nSET timestamp=1;\nSELECT 1;\n"
	unix, _, _ := readAll(t, []byte(log))
	dos, _, _ := readAll(t, []byte(strings.ReplaceAll(log, "\n", "\r\n")))
	if diff := gocmp.Diff(unix, dos, eventOpts); diff != "" {
		t.Errorf("events (-LF +CRLF):\n%s", diff)
	}
}

func TestReaderInputErrors(t *testing.T) {
	const rec = "# Query_time: 1\nSELECT 1;\n"
	broken := errors.New("broken disk")
	r := NewReader(io.MultiReader(strings.NewReader(rec+rec), iotest.ErrReader(broken)))
	n := 0
	var last error
	for ev, err := range r.All() {
		if last = err; err == nil && ev.Query == "SELECT 1" {
			n++
		}
	}
	if n != 1 || last != broken {
		t.Errorf("%d whole records and error %v, want 1 and %v", n, last, broken)
	}
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"one byte": iotest.OneByteReader, "half": iotest.HalfReader, "data with EOF": iotest.DataErrReader,
	} {
		r := NewReader(wrap(strings.NewReader(rec + rec + rec)))
		n := 0
		for range r.All() {
			n++
		}
		if n != 3 {
			t.Errorf("%s: %d events, want 3", name, n)
		}
	}
}

func TestReaderBoundsStatements(t *testing.T) {
	const rec = "# Query_time: 1\nSET timestamp=1;\n"
	long := "SELECT '" + strings.Repeat("x\n# Time: 2020-01-01T00:00:00Z\n", 1000) + "'"
	log := rec + "S0;\n" + rec + long + ";\n" + rec + "S2;\n"
	for _, size := range []int{0, 100} {
		r := NewReader(strings.NewReader(log))
		r.MaxStatement = 10_000
		var got []int
		collect := func(_ int, ev *Event) error {
			got = append(got, len(ev.Query))
			if (len(ev.Query) > 5) != ev.Truncated {
				t.Errorf("%d bytes, truncated: %v", len(ev.Query), ev.Truncated)
			}
			return nil
		}
		if size == 0 {
			for ev, err := range r.All() {
				if err != nil {
					t.Fatal(err)
				}
				collect(0, ev)
			}
		} else if err := r.each(1, size, collect); err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff([]int{2, 10_000, 2}, got); diff != "" {
			t.Errorf("pieces of %d: lengths (-want +got):\n%s", size, diff)
		}
	}
}

func TestReusedEventsAreThoseOfTheirOwn(t *testing.T) {
	for name, data := range samples(t) {
		events, _, _ := readAll(t, data)
		r := NewReader(strings.NewReader(string(data)))
		r.ReuseEvent = true
		i := 0
		for ev, err := range r.All() {
			if err != nil {
				t.Fatal(err)
			}
			if !sameEvent(events[i], ev) {
				t.Fatalf("%s, event %d (-own +reused):\n%s", name, i, gocmp.Diff(events[i], ev, eventOpts))
			}
			i++
		}
	}
}

func TestReadReusingAllocatesNothing(t *testing.T) {
	rec := "# Time: 2024-05-10T17:52:26.336958Z\n# User@Host: app[app] @ localhost []  Id:    13\n# Schema: shop  Last_errno: 0  Killed: 0\n# Query_time: 0.000218  Lock_time: 0.000004  Rows_sent: 0  Rows_examined: 5\n# Full_scan: Yes  Full_join: No\nSET timestamp=1715363546;\nSELECT a FROM t\n WHERE b = 'c';\n"
	r := NewReader(strings.NewReader(strings.Repeat(rec, 3000)))
	r.ReuseEvent = true
	for range 100 {
		r.Read()
	}
	if n := testing.AllocsPerRun(2000, func() { r.Read() }); n > 0.1 {
		t.Errorf("%v allocations an event", n)
	}
	const events = 3000
	log := strings.Repeat(rec, events)
	n := testing.AllocsPerRun(1, func() {
		if err := NewReader(strings.NewReader(log)).each(2, 64<<10, func(int, *Event) error { return nil }); err != nil {
			t.Error(err)
		}
	})
	if n > events/10 {
		t.Errorf("Each: %v allocations for %d events", n, events)
	}
}

func TestEventClone(t *testing.T) {
	data := []byte("# User@Host: a[a] @ h []\n# Query_time: 1  Foo: bar\nSET timestamp=1;\nSELECT 1;\n# User@Host: b[b] @ i []\n# Query_time: 2  Bar: foo\nSET timestamp=2;\nSELECT 2;\n")
	r := NewReader(strings.NewReader(string(data)))
	r.ReuseEvent = true
	ev, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	c := ev.Clone()
	if _, err := r.Read(); err != nil {
		t.Fatal(err)
	}
	for i := range r.buf {
		r.buf[i] = '!'
	}
	want, _, _ := readAll(t, data)
	if diff := gocmp.Diff(want[0], c, eventOpts); diff != "" {
		t.Errorf("clone (-want +got):\n%s", diff)
	}
}

func TestReaderTellsAStatementFromTheServersWordsAtARestart(t *testing.T) {
	const head = "# User@Host: a[a] @ h []\n# Query_time: 1.0  Lock_time: 0.0  Rows_sent: 0  Rows_examined: 0\n"
	const banner = "/usr/sbin/mysqld, Version: 8.0 (x). started with:\nTcp port: 1  Unix socket: x\nTime                 Id Command    Argument\n"
	for _, q := range []string{"use db", "SET insert_id=7"} {
		events, damage, stats := readAll(t, []byte(head+q+";\n"+banner+head+"SELECT 2;\n"))
		if len(events) != 2 || events[0].Query != q || len(damage) > 0 || stats.Banners != 1 {
			t.Errorf("%s: %d events, first %q, damage %v, %d banners", q, len(events), events[0].Query, damage, stats.Banners)
		}
	}
}

// A server that went down behind a header wrote no statement: the banner of the
// next one is none.
func TestABannerIsNoStatement(t *testing.T) {
	const (
		header = "# Time: 2025-03-01T10:00:00.000001Z\n# User@Host: app[app] @ web1 [10.0.0.1]  Id: 5\n# Query_time: 0.5  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\n"
		banner = "/usr/sbin/mysqld, Version: 8.0.36 (MySQL Community Server). started with:\nTcp port: 3306  Unix socket: /tmp/s\nTime                 Id Command    Argument\n"
		stamp  = "SET timestamp=1740823200;\n"
	)
	for _, tc := range []struct {
		log  string
		want []string
		lost int64
	}{
		{header + banner, nil, 1},
		{header + stamp + banner + header + stamp + "select 1;\n", []string{"select 1"}, 1},
		{header + stamp + banner + banner + header + stamp + "select 1;\n", []string{"select 1"}, 1},
		{header + stamp + strings.TrimSuffix(banner, "\n") + ";\n" + header + stamp + "select 1;\n", []string{strings.TrimSuffix(banner, "\n"), "select 1"}, 0},
	} {
		r := NewReader(strings.NewReader(tc.log))
		var got []string
		for ev, err := range r.All() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, ev.Query)
		}
		stats := r.Stats()
		if diff := gocmp.Diff(tc.want, got); diff != "" || stats.Damaged[NoStatement] != tc.lost {
			t.Errorf("%q: %d without a statement, want %d (-want +got):\n%s", tc.log, stats.Damaged[NoStatement], tc.lost, diff)
		}
	}
}
