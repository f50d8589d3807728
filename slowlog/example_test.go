package slowlog_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/quern-dev/quern/slowlog"
)

const log = `# Time: 2026-11-30T12:00:00.250000Z
# User@Host: app[app] @ web1 [10.0.0.5]  Id:    42
# Query_time: 1.250000  Lock_time: 0.000004 Rows_sent: 1  Rows_examined: 90000
use shop;
SET timestamp=1796040000;
SELECT * FROM orders WHERE note = 'urgent';
# Time: 2026-11-30T12:00:01.000000Z
# User@Host: app[app] @ web1 [10.0.0.5]  Id:    42
# Query_time: 0.000310  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1
SET timestamp=1796040001;
SELECT 1;
`

func ExampleReader() {
	r := slowlog.NewReader(strings.NewReader(log))
	for ev, err := range r.All() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(ev.Start().Format("15:04:05.000"), ev.QueryTime, ev.RowsExamined, ev.Schema, ev.Query)
	}
	fmt.Println(r.Stats().Events, "events")
	// Output:
	// 11:59:59.000 1.25s 90000 shop SELECT * FROM orders WHERE note = 'urgent'
	// 12:00:00.999 310µs 1 shop SELECT 1
	// 2 events
}

func ExampleReader_Each() {
	const workers = 2
	var examined [workers]uint64
	r := slowlog.NewReader(strings.NewReader(log))
	err := r.Each(workers, func(worker int, ev *slowlog.Event) error {
		examined[worker] += ev.RowsExamined
		return nil
	})
	fmt.Println(examined[0]+examined[1], err)
	// Output: 90001 <nil>
}

func ExampleWriter() {
	w := slowlog.NewWriter(os.Stdout)
	w.Redact = func(query string) string { return strings.ReplaceAll(query, "'urgent'", "?") }
	for ev, err := range slowlog.NewReader(strings.NewReader(log)).All() {
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := w.Write(ev); err != nil {
			fmt.Println(err)
			return
		}
		break
	}
	if err := w.Flush(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// # Time: 2026-11-30T12:00:00.250000Z
	// # User@Host: app[app] @ web1 [10.0.0.5]  Id: 42
	// # Query_time: 1.250000  Lock_time: 0.000004  Rows_sent: 1  Rows_examined: 90000
	// use shop;
	// SET timestamp=1796040000;
	// SELECT * FROM orders WHERE note = ?;
}

func ExampleGeneralReader() {
	const general = "2026-11-30T11:28:16.760644Z\t  226 Connect\tapp@web1 on shop using TCP/IP\n" +
		"2026-11-30T11:28:16.763108Z\t  226 Query\tSELECT 1\n"
	for ev, err := range slowlog.NewGeneralReader(strings.NewReader(general)).All() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d %s %q %q %v\n", ev.ThreadID, ev.Schema, ev.Command, ev.Query, ev.Has(slowlog.FieldQueryTime))
	}
	// Output:
	// 226 shop "Connect" "" false
	// 226 shop "" "SELECT 1" false
}

// What cannot be read is skipped, and told.
func ExampleReader_damage() {
	r := slowlog.NewReader(strings.NewReader("# User@Host: app[app] @ web1 []\nSELECT 0;\n" + log))
	r.OnDamage = func(d slowlog.Damage) { fmt.Printf("%s, line %d: %q\n", d.Reason, d.Line, d.Text) }
	for _, err := range r.All() {
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	st := r.Stats()
	fmt.Println(st.Events, "events,", st.Skipped(), "place skipped")
	// Output:
	// header without Query_time, line 1: "# User@Host: app[app] @ web1 []\nSELECT 0;\n"
	// 2 events, 1 place skipped
}

// A rate limit that a log does not tell, as MariaDB's does not: of the
// statements, log_slow_rate_limit logged one in 100.
func ExampleOptions() {
	r := slowlog.NewReader(strings.NewReader(log))
	r.Rate = 100
	ev, err := r.Read()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("stands for", ev.Weight, "statements")
	// Output: stands for 100 statements
}

// Values of a record that have no field of their own.
func ExampleEvent_Metric() {
	const percona = `# User@Host: app[app] @ web1 []  Id: 42
# Query_time: 1.250000  Lock_time: 0.000004  Rows_sent: 1  Rows_examined: 90000
# Full_scan: Yes  Tmp_tables: 2  InnoDB_IO_r_wait: 0.731000
SELECT * FROM orders;
`
	ev, err := slowlog.NewReader(strings.NewReader(percona)).Read()
	if err != nil {
		fmt.Println(err)
		return
	}
	if m, ok := ev.Metric(slowlog.KeyInnoDBIORWait); ok {
		fmt.Println("waited for the disk for", m.Duration())
	}
	for _, m := range ev.Metrics {
		fmt.Println(m.Name, m.Text)
	}
	// Output:
	// waited for the disk for 731ms
	// Full_scan Yes
	// Tmp_tables 2
	// InnoDB_IO_r_wait 0.731000
}

// A program that is started again reads on where it stood.
func ExampleReader_Resume() {
	r := slowlog.NewReader(strings.NewReader(log))
	if _, err := r.Read(); err != nil {
		fmt.Println(err)
		return
	}
	stored, err := json.Marshal(r.State())
	if err != nil {
		fmt.Println(err)
		return
	}

	var st slowlog.State
	if err := json.Unmarshal(stored, &st); err != nil {
		fmt.Println(err)
		return
	}
	r = slowlog.NewReader(strings.NewReader(log[st.Offset:]))
	r.Resume(st)
	ev, err := r.Read()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ev.Schema, ev.Query, "on line", ev.Line)
	// Output: shop SELECT 1 on line 7
}

// The table mysql.slow_log as "mysql -B" prints it.
func ExampleTableReader() {
	const table = "start_time\tuser_host\tquery_time\tlock_time\trows_sent\trows_examined\tdb\tlast_insert_id\tinsert_id\tserver_id\tsql_text\tthread_id\n" +
		"2026-11-30 12:00:00.250000\tapp[app] @ web1 [10.0.0.5]\t00:00:01.250000\t00:00:00.000004\t1\t90000\tshop\t0\t0\t1\tSELECT * FROM orders\t42\n"
	for ev, err := range slowlog.NewTableReader(strings.NewReader(table), slowlog.TableTSV).All() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(ev.Time.Format("15:04:05.000"), ev.QueryTime, ev.RowsExamined, ev.Schema, ev.Query)
	}
	// Output: 12:00:00.250 1.25s 90000 shop SELECT * FROM orders
}

// The table mysql.slow_log from its server.
func ExampleNewRowsReader() {
	var db *sql.DB

	_ = func(ctx context.Context) error {
		rows, err := db.QueryContext(ctx, "SELECT * FROM mysql.slow_log")
		if err != nil {
			return err
		}
		defer rows.Close()
		for ev, err := range slowlog.NewRowsReader(rows).All() {
			if err != nil {
				return err
			}
			fmt.Println(ev.Time, ev.QueryTime, ev.Query)
		}
		return nil
	}
}

// Statements of no log: one a line.
func ExampleLineReader() {
	for ev, err := range slowlog.NewLineReader(strings.NewReader("SELECT 1;\nDELETE FROM t WHERE id = 7\n")).All() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(ev.Query)
	}
	// Output:
	// SELECT 1
	// DELETE FROM t WHERE id = 7
}
