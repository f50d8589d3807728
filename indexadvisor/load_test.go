package indexadvisor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quern-dev/quern/internal/testservers"
)

// sleepers makes connections that keep threads running until stop is called.
func sleepers(t *testing.T, db *sql.DB, n int) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	for range n {
		go func() {
			db.ExecContext(ctx, "DO SLEEP(60)")
			done <- struct{}{}
		}()
	}
	for i := 0; ; i++ {
		var have int
		if err := db.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO = 'DO SLEEP(60)'").Scan(&have); err != nil {
			t.Fatal(err)
		}
		if have == n {
			break
		}
		if i > 200 {
			t.Fatalf("%d of %d threads sleep", have, n)
		}
		time.Sleep(20 * time.Millisecond)
	}
	ended := false
	return func() {
		if ended {
			return
		}
		ended = true
		cancel()
		// The server does not notice that a sleeper's connection is gone.
		rows, err := db.Query("SELECT ID FROM information_schema.PROCESSLIST WHERE INFO = 'DO SLEEP(60)'")
		if err != nil {
			t.Error(err)
			return
		}
		var ids []int64
		for rows.Next() {
			var id int64
			rows.Scan(&id)
			ids = append(ids, id)
		}
		rows.Close()
		for _, id := range ids {
			db.Exec(fmt.Sprintf("KILL %d", id))
		}
		for range n {
			<-done
		}
	}
}

// Nothing is counted while many threads run: counting waits, and goes on or
// gives up, naming the limit.
func TestCountingWaitsForABusyServer(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		fill(t, db, 2000)
		exec(t, db, "CREATE TABLE t (id INT PRIMARY KEY, a INT, pad VARCHAR(200))", "INSERT INTO t SELECT i, i % 500, REPEAT('x', 200) FROM seq", "ANALYZE TABLE t")
		var name string
		var idle int
		if err := db.QueryRow("SHOW GLOBAL STATUS LIKE 'Threads_running'").Scan(&name, &idle); err != nil {
			t.Fatal(err)
		}
		stop := sleepers(t, db, 6)
		defer stop()
		ctx := context.Background()
		q := Query{Schema: schema, SQL: "SELECT * FROM t WHERE a = 5"}

		refusing := MySQL(db)
		refusing.MaxRunning, refusing.Patience = idle+3, -1
		_, err := New(refusing, Options{}).Advise(ctx, q)
		if !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), "Threads_running is ") || !strings.Contains(err.Error(), fmt.Sprintf("MaxRunning %d", idle+3)) {
			t.Errorf("with %d threads running: %v", idle+6, err)
		}
		all, err := New(refusing, Options{}).AdviseAll(ctx, []Query{q})
		if err != nil || !all.Incomplete {
			t.Errorf("the workload: %+v, %v", all, err)
		} else {
			wantNote(t, all, "Threads_running is ")
		}

		waiting := MySQL(db)
		waiting.MaxRunning, waiting.Patience = idle+3, time.Minute
		time.AfterFunc(300*time.Millisecond, stop)
		a, err := New(waiting, Options{}).Advise(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		if short(a) != "t(a)" || a.Spent.Waited <= 0 {
			t.Errorf("after the threads ended: %s, %+v", short(a), a.Spent)
		}
		var text strings.Builder
		if err := a.WriteText(&text); err != nil || !strings.Contains(text.String(), "for a busy server") {
			t.Errorf("the text does not tell that it waited: %v", err)
		}

		stopAll := sleepers(t, db, 6)
		defer stopAll()
		ended, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		if _, err := New(waiting, Options{}).Advise(ended, q); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while waiting the context ended: %v", err)
		}
		unlimited := MySQL(db)
		unlimited.MaxRunning = -1
		if a, err := New(unlimited, Options{}).Advise(ctx, q); err != nil || a.Spent.Waited != 0 {
			t.Errorf("without a limit: %+v, %v", a, err)
		}
	})
}

// Nothing is counted on a replica that is far behind.
func TestCountingRefusesALaggingReplica(t *testing.T) {
	for _, flavor := range []testservers.Flavor{testservers.FlavorMySQL, testservers.FlavorMariaDB} {
		t.Run(string(flavor), func(t *testing.T) {
			args := []string{"--log-bin=binlog", "--server-id=1"}
			primary := testservers.Start(t, flavor, args...)
			replica := testservers.Start(t, flavor, "--log-bin=binlog", "--server-id=2")
			p, r := primary.DB(t, ""), replica.DB(t, "")
			maria := flavor == testservers.FlavorMariaDB
			if maria {
				exec(t, p, "CREATE USER repl@'127.0.0.1' IDENTIFIED BY 'x'", "GRANT REPLICATION SLAVE ON *.* TO repl@'127.0.0.1'", "RESET MASTER")
				exec(t, r, fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=%d, MASTER_USER='repl', MASTER_PASSWORD='x', MASTER_DELAY=3600", primary.Port), "START SLAVE")
			} else {
				exec(t, p, "CREATE USER repl@'127.0.0.1' IDENTIFIED BY 'x'", "GRANT REPLICATION SLAVE ON *.* TO repl@'127.0.0.1'", "RESET BINARY LOGS AND GTIDS")
				exec(t, r, fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=%d, SOURCE_USER='repl', SOURCE_PASSWORD='x', SOURCE_DELAY=3600, GET_SOURCE_PUBLIC_KEY=1", primary.Port), "START REPLICA")
			}
			exec(t, r, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, a INT)")
			exec(t, p, "CREATE DATABASE e")
			source := MySQL(r)
			source.MaxLag, source.Patience = time.Millisecond, time.Minute
			conn, err := r.Conn(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			for i := 0; ; i++ { // the statement waits on the replica for its hour
				why, err := source.busy(context.Background(), conn, maria)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(why, "behind") {
					break
				}
				if i > 300 {
					t.Fatal("the replica is not seen to be behind")
				}
				time.Sleep(50 * time.Millisecond)
			}
			source.Patience = -1
			q := Query{Schema: "d", SQL: "SELECT * FROM t WHERE a = 5"}
			if _, err := New(source, Options{}).Advise(context.Background(), q); !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), "MaxLag 1ms") {
				t.Errorf("on a replica that is behind: %v", err)
			}
			source.MaxLag = -1
			if _, err := New(source, Options{}).Advise(context.Background(), q); err != nil {
				t.Errorf("without a limit: %v", err)
			}
		})
	}
}

// Where no row, or hardly one, of the sample meets the conditions chosen
// first, the others are counted on the table, if an index leads there; if
// none does, the advice says that it guesses.
func TestDryRoundIsCountedOnTheTable(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		fill(t, db, 1<<17)
		exec(t, db, "CREATE TABLE t (id INT PRIMARY KEY, a INT, c INT, b INT, d INT, pad VARCHAR(100), KEY ka (a))",
			// The values 1 to 12 of a and c: 400 rows each, next to each other, of
			// which all have b = 1, as few others have, and one in ten has d = 1. A
			// sample of one row in 45 finds some of these blocks and not others.
			`INSERT INTO t SELECT i, @v := IF(i % 10000 < 400 AND i >= 10000, i DIV 10000, 1000 + i % 3000), @v,
				IF(@v < 100 OR i % 100 = 0, 1, 2), IF(i % 10 = 0, 1, 2), REPEAT('x', 100) FROM seq`, "ANALYZE TABLE t")
		source := MySQL(db)
		source.ExactRows, source.SampleRows = 1000, 3000
		advise := func(sql string) *Advice {
			t.Helper()
			a, err := New(source, Options{}).Advise(context.Background(), Query{Schema: schema, SQL: sql})
			if err != nil {
				t.Fatal(err)
			}
			if a.Spent.Rows > 1<<17/20 {
				t.Errorf("%s: %d rows were read, more than 5 %%", sql, a.Spent.Rows)
			}
			return a
		}
		counted, guessed := 0, 0
		for v := 1; v <= 12; v++ {
			a := advise(fmt.Sprintf("SELECT * FROM t WHERE a = %d AND b = 1 AND d = 1", v))
			if len(a.Suggestions) == 1 && strings.Contains(a.Suggestions[0].Confidence, fmt.Sprintf("on the table itself the 400 that meet a = %d", v)) {
				counted++
				if got := short(a); got != "+t(a, d)" {
					t.Errorf("with a key on a: %s\n%s", got, strings.Join(a.Notes, "\n"))
				}
				var second []string
				for _, c := range a.Suggestions[0].Rounds[1].Counts {
					second = append(second, fmt.Sprintf("%s: %d, %d to %d", c.Predicate, c.Rows, c.Low, c.High))
				}
				if got := strings.Join(second, "; "); got != "b = 1: 400, 400 to 400; d = 1: 40, 40 to 40" {
					t.Errorf("round 2 counts %s", got)
				}
			}
			b := advise(fmt.Sprintf("SELECT * FROM t WHERE c = %d AND b = 1 AND d = 1", v))
			if strings.Contains(strings.Join(b.Notes, "\n"), "is a guess") {
				guessed++
				if len(b.Suggestions) != 1 || !strings.HasPrefix(b.Suggestions[0].Confidence, "low") {
					t.Errorf("without a key: %+v", b.Suggestions)
				}
			}
		}
		if counted == 0 || guessed != counted {
			t.Errorf("of 12 values %d were counted on the table where an index leads there, and %d guessed where none does", counted, guessed)
		}
	})
}
