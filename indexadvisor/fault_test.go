package indexadvisor

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/quern-dev/quern/internal/testservers"
)

// A server or a connection that goes away while rows are counted, or copied for
// Verify, is an error, and nothing is left running or lying about.
func TestAServerThatGoesAwayInTheMiddle(t *testing.T) {
	for _, flavor := range []testservers.Flavor{testservers.FlavorMySQL, testservers.FlavorMariaDB} {
		t.Run(string(flavor), func(t *testing.T) {
			srv, other := testservers.Start(t, flavor), testservers.Start(t, flavor)
			schema := srv.Schema(t)
			db, on := srv.DB(t, schema), other.DB(t, "")
			fill(t, db, 4096)
			exec(t, db, "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, pad VARCHAR(200))", "INSERT INTO t SELECT i, i % 500, i % 7, REPEAT('x', 200) FROM seq", "ANALYZE TABLE t")
			ctx := context.Background()
			source := MySQL(db)
			source.Timeout = time.Minute
			source.MaxRunning = -1
			adv := New(source, Options{})
			q := Query{Schema: schema, SQL: "SELECT * FROM t WHERE a = 5 AND b = 3"}
			a, err := adv.Advise(ctx, q)
			if err != nil || len(a.Suggestions) != 1 {
				t.Fatalf("advice %+v, error %v", a, err)
			}
			advise := func() error {
				a, err := adv.Advise(ctx, q)
				if err == nil && len(a.Suggestions) == 0 { // what could not be counted is in the notes
					err = errors.New(strings.Join(a.Notes, "; "))
				}
				return err
			}
			verify := func() error {
				_, err := Verify(ctx, Scratch{From: db, On: on}, q, a.Suggestions[0])
				return err
			}
			// A lock on the table makes whatever reads it wait.
			locker, err := db.Conn(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer locker.Close()
			lock := func(statement string) {
				if _, err := locker.ExecContext(ctx, statement); err != nil {
					t.Fatal(err)
				}
			}
			const waits = "STATE LIKE 'Waiting for table%'"
			before := runtime.NumGoroutine()
			broken := func(name string, do func() error, breakIt func(id int64)) {
				t.Helper()
				failed := make(chan error, 1)
				go func() { failed <- do() }()
				breakIt(srv.AwaitStatement(t, waits))
				select {
				case err := <-failed:
					if err == nil {
						t.Errorf("%s: no error", name)
					}
					t.Logf("%s: %v", name, err)
				case <-time.After(2 * time.Minute):
					t.Fatalf("%s: it waits for ever", name)
				}
			}
			kill := func(id int64) {
				if _, err := db.Exec(fmt.Sprintf("KILL %d", id)); err != nil {
					t.Error(err)
				}
			}
			for name, do := range map[string]func() error{"counting": advise, "verifying": verify} {
				lock("LOCK TABLES t WRITE")
				broken(name+", the connection is killed", do, kill)
				lock("UNLOCK TABLES")
				if err := do(); err != nil {
					t.Errorf("%s, afterwards: %v", name, err)
				}
				if left := scratchSchemas(t, on); len(left) > 0 {
					t.Errorf("%s: left on the scratch server: %s", name, strings.Join(left, " "))
				}
			}
			lock("LOCK TABLES t WRITE")
			broken("verifying, the server is killed", verify, func(int64) { srv.Kill(t) })
			if left := scratchSchemas(t, on); len(left) > 0 {
				t.Errorf("left on the scratch server: %s", strings.Join(left, " "))
			}
			if err := advise(); err == nil {
				t.Error("advice without a server")
			}
			other.Kill(t)
			if err := verify(); err == nil {
				t.Error("verified without servers")
			}
			for range 400 {
				if runtime.NumGoroutine() <= before+2 { // the pools' own come and go
					return
				}
				time.Sleep(25 * time.Millisecond)
			}
			t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		})
	}
}

// The scratch server goes away between two statements of Verify.
func TestAScratchServerThatGoesAwayInTheMiddle(t *testing.T) {
	for _, flavor := range []testservers.Flavor{testservers.FlavorMySQL, testservers.FlavorMariaDB} {
		t.Run(string(flavor), func(t *testing.T) {
			srv, other := testservers.Start(t, flavor), testservers.Start(t, flavor)
			schema := srv.Schema(t)
			db, on := srv.DB(t, schema), other.DB(t, "")
			fill(t, db, 4096)
			exec(t, db, "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT)", "INSERT INTO t SELECT i, i % 500, i % 7 FROM seq", "ANALYZE TABLE t")
			ctx := context.Background()
			q := Query{Schema: schema, SQL: "SELECT * FROM t WHERE a = 5 AND b = 3"}
			a, err := New(MySQL(db), Options{}).Advise(ctx, q)
			if err != nil || len(a.Suggestions) != 1 {
				t.Fatalf("advice %+v, error %v", a, err)
			}
			failed := make(chan error, 1)
			go func() {
				_, err := Verify(ctx, Scratch{From: db, On: on, Timeout: time.Minute}, Query{Schema: schema, SQL: "SELECT COUNT(*) FROM t x JOIN t y ON x.a + 0 < y.b + SLEEP(0.01)"}, a.Suggestions[0])
				failed <- err
			}()
			other.AwaitStatement(t, "INFO LIKE '%SLEEP(0.01)%'")
			other.Kill(t)
			if err := <-failed; err == nil {
				t.Error("no error")
			} else {
				t.Log(err)
			}
			// Nothing of it runs on the server that is read.
			var n int
			if err := db.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND COMMAND = 'Query'").Scan(&n); err != nil || n > 0 {
				t.Errorf("%d statements still run, error %v", n, err)
			}
		})
	}
}
