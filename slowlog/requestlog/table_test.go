package requestlog

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quern-dev/quern/internal/testservers"
)

func TestTableIsReadWholeInBoundedMemory(t *testing.T) {
	// 15 MB of rows; QUERN_LONG=1 reads a million, 150 MB.
	digits, bound := 5, uint64(8<<20)
	if os.Getenv("QUERN_LONG") == "1" {
		digits, bound = 6, 32<<20
	}
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		exec := func(q string) {
			t.Helper()
			if _, err := db.Exec(q); err != nil {
				t.Fatal(err)
			}
		}
		exec("CREATE TABLE d (i INT PRIMARY KEY)")
		exec("INSERT INTO d VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)")
		exec(`CREATE TABLE requests_20261130 (day INT, nr INT, at DATETIME(3), page VARCHAR(20), wtime DOUBLE, mysql_time DOUBLE,
			mysql_queries INT, note VARCHAR(100), PRIMARY KEY (day, nr), KEY (at))`)
		from, n, number := "d d0", 1, "d0.i"
		for i := 1; i < digits; i++ {
			from += fmt.Sprintf(" JOIN d d%d", i)
			n *= 10
			number += fmt.Sprintf(" + %d * d%d.i", n, i)
		}
		rows := n * 10
		exec(`INSERT INTO requests_20261130 SELECT n DIV 30000, n, '2026-11-30 00:00:00' + INTERVAL n * 86 * 1000 MICROSECOND,
			ELT(1 + n % 3, 'search', 'product', 'cart'), n * 1e-6, n * 5e-7, n % 7, REPEAT('x', 100)
			FROM (SELECT ` + number + ` AS n FROM ` + from + `) s`)

		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		before, peak := m.HeapInuse, uint64(0)
		table := &Table{DB: db, Name: schema + ".requests_20261130", ReuseRequest: true, Mapping: Mapping{{Target: "time", Field: "at"}}}
		count, wall, waits := 0, time.Duration(0), time.Duration(0)
		pages := map[string]int{}
		for req, err := range table.All(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			count++
			wall += req.Wall
			waits += req.Waits[0].Time
			pages[req.Page]++
			if count%10000 == 0 {
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapInuse)
			}
		}
		total := time.Duration(rows) * time.Duration(rows-1) / 2 * time.Microsecond
		if count != rows || wall != total || len(pages) != 3 {
			t.Errorf("%d rows of %v in pages %v; want %d of %v", count, wall, pages, rows, total)
		}
		if want := total / 2; waits < want-time.Duration(rows) || waits > want+time.Duration(rows) {
			t.Errorf("waits of %v, want %v", waits, want)
		}
		if peak > before+bound {
			t.Errorf("the heap grew by %d MB while rows were read", (peak-before)>>20)
		}

		// A range of time, and a reader that stops early.
		table = &Table{DB: db, Name: "requests_20261130", Mapping: Mapping{{Target: "time", Field: "at"}},
			From: at(0, 0, 1), Until: at(0, 0, 1, 86e6)}
		for req, err := range table.All(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			want := &Request{Time: at(0, 0, 1, 32e6), Page: "search", Wall: 12 * time.Microsecond, Waits: []Wait{{"mysql", 6 * time.Microsecond, 5}},
				Weight: 1, Line: 1, Attrs: []Attr{{"day", "0"}, {"nr", "12"}, {"note", strings.Repeat("x", 100)}}}
			if diff := cmp.Diff(want, req); diff != "" {
				t.Error(diff)
			}
			break
		}
		if table.Stats().Requests != 1 {
			t.Errorf("%d rows in a range that holds one", table.Stats().Requests)
		}

		// Without a primary key.
		exec("ALTER TABLE requests_20261130 DROP PRIMARY KEY")
		table = &Table{DB: db, Name: "requests_20261130", ReuseRequest: true}
		count = 0
		for _, err := range table.All(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			count++
		}
		if count != rows {
			t.Errorf("%d rows without a primary key, want %d", count, rows)
		}
		for _, err := range (&Table{DB: db, Name: "no_such_table"}).All(context.Background()) {
			if err == nil {
				t.Error("no error of a table that is not there")
			}
		}
	})
}
