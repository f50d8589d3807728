package logfile

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quern-dev/quern/internal/testservers"
)

// TestFollowAServerThroughRotations follows the slow log of a server with
// several clients while it is renamed and flushed, and copied and truncated, and
// the follower restarted: each statement comes once.
func TestFollowAServerThroughRotations(t *testing.T) {
	for _, flavor := range []testservers.Flavor{testservers.FlavorMySQL, testservers.FlavorMariaDB} {
		t.Run(string(flavor), func(t *testing.T) {
			srv := testservers.Start(t, flavor)
			db := srv.DB(t, "")
			exec := func(stmt string) {
				t.Helper()
				if _, err := db.Exec(stmt); err != nil {
					t.Fatal(err)
				}
			}
			// A path of the server's own directory, which it may write to.
			path := filepath.Join(filepath.Dir(srv.SlowLogPath), "followed.log")
			exec("SET GLOBAL slow_query_log_file = '" + path + "'")
			exec("SET GLOBAL long_query_time = 0")
			exec("SET GLOBAL slow_query_log = 1")
			const clients, each = 3, 60
			var clientsDone sync.WaitGroup
			for c := range clients {
				clientsDone.Go(func() {
					db := srv.DB(t, "")
					db.SetMaxOpenConns(1)
					for i := range each {
						if _, err := db.Exec(fmt.Sprintf("DO %d /* sent %d %d\n# Time: 2020-01-01T00:00:00Z\n */", i, c, i)); err != nil {
							t.Error(err)
						}
						time.Sleep(10 * time.Millisecond)
					}
				})
			}

			var got []string
			checkpoint := []byte("{}")
			read := func(until func() bool) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var c Checkpoint
				if err := json.Unmarshal(checkpoint, &c); err != nil {
					t.Fatal(err)
				}
				f := Follow(ctx, path)
				defer f.Close()
				f.Poll, f.Idle = 5*time.Millisecond, 100*time.Millisecond
				f.Resume(c)
				for ev, err := range f.All() {
					if err != nil {
						t.Fatal(err)
					}
					if _, id, ok := strings.Cut(ev.Query, "/* sent "); ok {
						id, _, _ = strings.Cut(id, "\n")
						got = append(got, id)
					}
					if until() {
						break
					}
				}
				var err error
				if checkpoint, err = json.Marshal(f.Checkpoint()); err != nil {
					t.Fatal(err)
				}
			}
			rotated := make(chan bool)
			go func() {
				defer close(rotated)
				for i := range 4 {
					time.Sleep(150 * time.Millisecond)
					if err := os.Rename(path, fmt.Sprintf("%s.%d", path, 4-i)); err != nil {
						t.Error(err)
						return
					}
					time.Sleep(30 * time.Millisecond)
					if _, err := db.Exec("FLUSH SLOW LOGS"); err != nil {
						t.Error(err)
						return
					}
				}
			}()
			for n := 20; n <= 100; n += 20 { // a restart each time
				read(func() bool { return len(got) >= n })
			}
			clientsDone.Wait()
			<-rotated
			// Nobody writes now: a copy and truncation that loses nothing.
			exec("SET GLOBAL slow_query_log = 0")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path+".0", data, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path, 0); err != nil {
				t.Fatal(err)
			}
			exec("SET GLOBAL slow_query_log = 1")
			if _, err := srv.DB(t, "").Exec("DO 1 /* sent last 0\n */"); err != nil { // a session that logs all
				t.Fatal(err)
			}
			deadline := time.Now().Add(20 * time.Second)
			read(func() bool { return slices.Contains(got, "last 0") || time.Now().After(deadline) })

			want := []string{"last 0"}
			for c := range clients {
				for i := range each {
					want = append(want, fmt.Sprintf("%d %d", c, i))
				}
			}
			slices.Sort(want)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("statements (-sent +read):\n%s", diff)
			}
		})
	}
}
