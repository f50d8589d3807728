package explain

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

// A server or a connection that goes away in the middle of an EXPLAIN is an error
// that says so without the statement, and leaves nothing running.
func TestAServerThatGoesAwayInTheMiddleOfAnExplain(t *testing.T) {
	for _, flavor := range []testservers.Flavor{testservers.FlavorMySQL, testservers.FlavorMariaDB} {
		t.Run(string(flavor), func(t *testing.T) {
			srv := testservers.Start(t, flavor)
			db := srv.DB(t, "")
			ex := New(db, Options{Timeout: time.Minute, Allow: []HazardCode{SideEffect}})
			explain := func() error {
				_, err := ex.Explain(context.Background(), "", "SELECT * FROM (SELECT SLEEP(55)) d")
				return err
			}
			if _, err := ex.Explain(context.Background(), "", "SELECT 1"); err != nil {
				t.Fatal(err)
			}
			db.Exec("DO 1")
			before := runtime.NumGoroutine()
			checkBroken(t, "the connection is killed", explain, func() {
				if _, err := db.Exec(fmt.Sprintf("KILL %d", srv.AwaitStatement(t, "INFO LIKE '%SLEEP(55)%'"))); err != nil {
					t.Error(err)
				}
			})
			if _, err := ex.Explain(context.Background(), "", "SELECT 1"); err != nil {
				t.Errorf("after a killed connection: %v", err)
			}
			checkBroken(t, "the server is killed", explain, func() {
				srv.AwaitStatement(t, "INFO LIKE '%SLEEP(55)%'")
				srv.Kill(t)
			})
			var refused *ServerError
			if _, err := ex.Explain(context.Background(), "", "SELECT 1"); !errors.As(err, &refused) {
				t.Errorf("without a server: error %v, want a ServerError", err)
			}
			for range 200 {
				if runtime.NumGoroutine() <= before {
					return
				}
				time.Sleep(25 * time.Millisecond)
			}
			t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		})
	}
}

// checkBroken runs do, breaks what it needs, and checks the error.
func checkBroken(t *testing.T, name string, do func() error, breakIt func()) {
	t.Helper()
	failed := make(chan error, 1)
	go func() { failed <- do() }()
	breakIt()
	err := <-failed
	var broken *ServerError
	if !errors.As(err, &broken) || broken.Doing == "" {
		t.Errorf("%s: error %v, want a ServerError that says what was asked for", name, err)
	}
	if err != nil && strings.Contains(err.Error(), "SLEEP") {
		t.Errorf("%s: the error quotes the statement: %v", name, err)
	}
	t.Logf("%s: %v", name, err)
}
