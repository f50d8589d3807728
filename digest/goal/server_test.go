package goal

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/quern-dev/quern/internal/testservers"
	"github.com/quern-dev/quern/slowlog"
	"github.com/quern-dev/quern/slowlog/requestlog"
)

// TestQueriesOfARealServerFindTheirRequests plays an application whose requests query
// a server, with their ids in comments and without, and joins what the server logs.
func TestQueriesOfARealServerFindTheirRequests(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		if srv.SlowLogPath == "" {
			t.Skip("the slow log of a server given by a DSN cannot be read")
		}
		ctx := context.Background()
		schema := srv.Schema(t)
		admin := srv.DB(t, schema)
		for _, q := range []string{
			"CREATE TABLE line (id INT PRIMARY KEY, price INT)", "INSERT INTO line VALUES (1, 1), (2, 2), (3, 3)",
			"SET GLOBAL slow_query_log_file = '" + srv.SlowLogPath + "'", "SET GLOBAL long_query_time = 0", "SET GLOBAL slow_query_log = ON",
		} {
			if _, err := admin.ExecContext(ctx, q); err != nil {
				t.Fatal(err)
			}
		}
		defer admin.ExecContext(ctx, "SET GLOBAL slow_query_log = OFF")
		app := srv.DB(t, schema) // its sessions begin with the new long_query_time

		var reqs []*requestlog.Request
		for i := range 12 {
			func() {
				conn, err := app.Conn(ctx)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				req := &requestlog.Request{Page: "cart", Weight: 1, ID: fmt.Sprintf("req-%d", i)}
				if err := conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&req.ConnectionID); err != nil {
					t.Fatal(err)
				}
				comment := [...]string{fmt.Sprintf(" /* request_id='req-%d' */", i), fmt.Sprintf(" -- req_id:req-%d", i), ""}[i%3]
				if comment == "" {
					// MariaDB logs whole seconds: one such request in each.
					req.ID = ""
					now := time.Now()
					time.Sleep(now.Truncate(time.Second).Add(1100 * time.Millisecond).Sub(now))
				}
				begin := time.Now()
				var wait time.Duration
				query := func(sql string) {
					start := time.Now()
					rows, err := conn.QueryContext(ctx, sql+comment)
					if err != nil {
						t.Fatal(err)
					}
					for rows.Next() {
					}
					if err := rows.Close(); err != nil {
						t.Fatal(err)
					}
					wait += time.Since(start)
				}
				for id := range 6 {
					query(fmt.Sprintf("SELECT price FROM line WHERE id = %d", id))
				}
				query("SELECT SLEEP(0.05)")
				req.Wall, req.Time = time.Since(begin), time.Now()
				req.Waits = []requestlog.Wait{{Component: "mysql", Time: wait, Calls: 7}}
				reqs = append(reqs, req)
			}()
			time.Sleep(30 * time.Millisecond) // between the requests of a connection
		}
		if _, err := admin.ExecContext(ctx, "SET GLOBAL slow_query_log = OFF"); err != nil {
			t.Fatal(err)
		}

		for _, first := range []string{"requests", "queries"} {
			an := NewAnalysis(mustParse(t, "cart:p50<50ms"))
			addRequests := func() {
				for _, r := range reqs {
					an.Add(r)
				}
			}
			if first == "requests" {
				addRequests()
			}
			f, err := os.Open(srv.SlowLogPath)
			if err != nil {
				t.Fatal(err)
			}
			for ev, err := range slowlog.NewReader(f).All() {
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(ev.Query, "line WHERE") || strings.Contains(ev.Query, "SLEEP") {
					an.AddQuery(ev)
				}
			}
			f.Close()
			if first == "queries" {
				addRequests()
			}
			q := an.Verdicts()[0].Queries
			if q == nil || q.Joined != 12 || q.Weak != 4 || q.PerRequest != 7 {
				t.Errorf("%s first: %+v; want 12 joined with 7 queries each, 4 of them by connection and time", first, q)
				continue
			}
			// A server may look at its clock after the client has got its answer.
			if q.Time < 600*time.Millisecond || q.Wait < 600*time.Millisecond || q.Unexplained < q.Wait-q.Time {
				t.Errorf("%s first: %v in queries, %v waited, %v of it unexplained", first, q.Time, q.Wait, q.Unexplained)
			}
			if c := q.Classes[0]; c.Fingerprint != "select sleep(?)" || c.PerRequest != 1 || c.Requests != 12 {
				t.Errorf("%s first: first class %+v", first, c)
			}
			if c := q.Classes[1]; c.Fingerprint != "select price from line where id = ?" || c.PerRequest != 6 || !c.Repeated {
				t.Errorf("%s first: second class %+v", first, c)
			}
		}
	})
}
