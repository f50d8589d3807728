package slowlog_test

import (
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
