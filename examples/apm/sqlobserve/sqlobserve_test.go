package sqlobserve_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/examples/apm/sqlobserve"
	"github.com/quern-dev/quern/internal/testservers"
)

func Example() {
	collector := digest.NewCollector(digest.CollectorOptions{})
	cfg, err := mysql.ParseDSN("app:secret@tcp(db1:3306)/shop")
	if err != nil {
		log.Fatal(err)
	}
	db, err := sqlobserve.Open(cfg, collector.Observe)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	// … the program uses db, and once a minute:
	for _, c := range collector.Flush().Top(10, digest.ByTotalTime) {
		fmt.Println(c.Count, c.QueryTime.Sum(), c.Fingerprint)
	}
}

// observer keeps what it is called with.
type observer struct {
	mu   sync.Mutex
	list []digest.Observation
}

func (o *observer) observe(ob digest.Observation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = append(o.list, ob)
}

// take returns what was observed since the last take.
func (o *observer) take() []digest.Observation {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := o.list
	o.list = nil
	return list
}

func TestEachStatementIsObservedOnce(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		var o observer
		db, err := sqlobserve.Open(srv.Config(schema), o.observe)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		ctx := context.Background()
		exec := func(sql string, args ...any) {
			t.Helper()
			if _, err := db.ExecContext(ctx, sql, args...); err != nil {
				t.Fatal(err)
			}
		}
		query := func(q func() (*sql.Rows, error)) {
			t.Helper()
			rows, err := q()
			if err != nil {
				t.Fatal(err)
			}
			for rows.Next() {
			}
			if err := errors.Join(rows.Err(), rows.Close()); err != nil {
				t.Fatal(err)
			}
		}
		exec("CREATE TABLE t (id INT PRIMARY KEY)")
		exec("INSERT INTO t VALUES (1), (2)")
		exec("INSERT INTO t VALUES (?)", 3) // the driver prepares it
		query(func() (*sql.Rows, error) { return db.QueryContext(ctx, "SELECT id FROM t WHERE id > 1") })
		query(func() (*sql.Rows, error) { return db.QueryContext(ctx, "SELECT id FROM t WHERE id = ?", 1) })
		stmt, err := db.PrepareContext(ctx, "SELECT id FROM t WHERE id < ?")
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			query(func() (*sql.Rows, error) { return stmt.QueryContext(ctx, i) })
		}
		stmt.Close()
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM t WHERE id = 3"); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		_, err = db.ExecContext(ctx, "INSERT INTO t VALUES (1)")
		var duplicate *mysql.MySQLError
		if !errors.As(err, &duplicate) || duplicate.Number != 1062 {
			t.Fatalf("got %v, want error 1062 as the driver has it", err)
		}

		count := make(map[string]int)
		for _, ob := range o.take() {
			count[ob.SQL]++
			wantErrno := 0
			if ob.SQL == "INSERT INTO t VALUES (1)" {
				wantErrno = 1062
			}
			if ob.Schema != schema || ob.User != srv.Config("").User || ob.Duration <= 0 || ob.Errno != wantErrno || ob.Failed != (wantErrno != 0) || ob.TraceID != "" {
				t.Errorf("observed %+v", ob)
			}
		}
		want := map[string]int{
			"CREATE TABLE t (id INT PRIMARY KEY)": 1, "INSERT INTO t VALUES (1), (2)": 1, "INSERT INTO t VALUES (?)": 1,
			"SELECT id FROM t WHERE id > 1": 1, "SELECT id FROM t WHERE id = ?": 1, "SELECT id FROM t WHERE id < ?": 3,
			"DELETE FROM t WHERE id = 3": 1, "INSERT INTO t VALUES (1)": 1,
		}
		if diff := cmp.Diff(want, count); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestTimeAndTraceAreTheCalls(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		var o observer
		db, err := sqlobserve.Open(srv.Config(""), o.observe)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1, 15: 2}, SpanID: trace.SpanID{3}}) // of a trace that is not sampled
		before := time.Now()
		if _, err := db.ExecContext(trace.ContextWithSpanContext(context.Background(), span), "DO SLEEP(0.2)"); err != nil {
			t.Fatal(err)
		}
		took := time.Since(before)
		list := o.take()
		if len(list) != 1 {
			t.Fatalf("observed %+v", list)
		}
		if ob := list[0]; ob.Duration < 200*time.Millisecond || ob.Duration > took || ob.End.Before(before) || ob.TraceID != span.TraceID().String() {
			t.Errorf("observed %+v of a call of %v", ob, took)
		}
	})
}
