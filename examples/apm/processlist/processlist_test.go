package processlist

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/internal/testservers"
)

func Example() {
	db, err := sql.Open("mysql", "monitor:secret@tcp(db1:3306)/")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	collector := digest.NewCollector(digest.CollectorOptions{})
	p := New(db, collector.Observe)
	defer p.Close()
	for range time.Tick(100 * time.Millisecond) {
		if err := p.Poll(context.Background()); err != nil {
			log.Print(err) // the next Poll connects anew
		}
		// … and once a minute:
		for _, c := range collector.Flush().Top(10, digest.ByTotalTime) {
			fmt.Println(c.Count, c.QueryTime.Sum(), c.Fingerprint)
		}
	}
}

// A look is what a list shows at a time, of connections by their ids.
type look struct {
	at   time.Duration
	list map[int64]process
}

var begin = time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)

// observe returns the times that are observed of the statements, by their text.
func observe(looks ...look) map[string][]time.Duration {
	got := make(map[string][]time.Duration)
	p := New(nil, func(o digest.Observation) { got[o.SQL] = append(got[o.SQL], o.Duration) })
	for _, l := range looks {
		p.compare(l.list, begin.Add(l.at))
	}
	return got
}

func TestTimesAreEstimatedFromLooks(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	one := func(text string, number int64, elapsed time.Duration) map[int64]process {
		return map[int64]process{7: {text: text, number: number, elapsed: elapsed}}
	}
	for _, c := range []struct {
		name  string
		looks []look
		want  map[string][]time.Duration
	}{
		{"MySQL: began and ended in the middle", []look{{0, nil}, {s, one("a", 0, 0)}, {2 * s, one("a", 0, s)}, {3 * s, nil}},
			map[string][]time.Duration{"a": {2 * s}}},
		{"MySQL: seen once", []look{{0, nil}, {100 * ms, one("a", 0, 0)}, {200 * ms, nil}},
			map[string][]time.Duration{"a": {100 * ms}}},
		{"MySQL: ran at the first look", []look{{0, one("a", 0, 5*s)}, {s, nil}},
			map[string][]time.Duration{"a": {5500 * ms}}},
		{"MySQL: another statement", []look{{0, nil}, {s, one("a", 0, 0)}, {2 * s, one("b", 0, 0)}, {3 * s, nil}},
			map[string][]time.Duration{"a": {s}, "b": {s}}},
		{"MySQL: the same text again", []look{{0, nil}, {s, one("a", 0, 0)}, {3 * s, one("a", 0, 2*s)}, {4 * s, one("a", 0, 0)}, {5 * s, nil}},
			map[string][]time.Duration{"a": {3 * s, s}}},
		{"MariaDB: began when the server says", []look{{0, nil}, {s, one("a", 11, 100*ms)}, {2 * s, one("a", 11, 1100*ms)}, {3 * s, nil}},
			map[string][]time.Duration{"a": {1600 * ms}}},
		{"MariaDB: the same text again", []look{{0, nil}, {s, one("a", 11, 200*ms)}, {2 * s, one("a", 12, 300*ms)}, {3 * s, nil}},
			map[string][]time.Duration{"a": {700 * ms, 800 * ms}}},
		{"MariaDB: a statement within a procedure", []look{{0, one("a", 11, 5*s)}, {s, one("b", 11, 6*s)}, {2 * s, nil}},
			map[string][]time.Duration{"a": {5500 * ms}, "b": {1500 * ms}}},
		{"not ended", []look{{0, nil}, {s, one("a", 0, 0)}}, map[string][]time.Duration{}},
	} {
		if diff := cmp.Diff(c.want, observe(c.looks...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// What a statement took lies between what it sleeps and what its client waits.
func TestStatementsOfAServerAreObserved(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		var list []digest.Observation
		p := New(srv.DB(t, ""), func(o digest.Observation) { list = append(list, o) })
		defer p.Close()
		ctx := context.Background()
		const interval = 50 * time.Millisecond
		poll := func() {
			t.Helper()
			if err := p.Poll(ctx); err != nil {
				t.Fatal(err)
			}
		}
		poll()
		type ran struct{ begin, end time.Time }
		run := func(sql string) chan ran {
			done := make(chan ran, 1)
			conn, err := db.Conn(ctx)
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				defer conn.Close()
				r := ran{begin: time.Now()}
				conn.ExecContext(ctx, sql)
				r.end = time.Now()
				done <- r
			}()
			return done
		}
		for sql, atLeast := range map[string]time.Duration{"SELECT SLEEP(1.5) /* first */": 1500 * time.Millisecond, "SELECT SLEEP(0.7) + 'x'": 700 * time.Millisecond} {
			list = nil
			done := run(sql)
			var r ran
			for waiting := true; waiting; {
				select {
				case r = <-done:
					waiting = false
				case <-time.After(interval):
				}
				poll()
			}
			poll()
			var mine []digest.Observation
			for _, o := range list {
				if strings.Contains(o.SQL, "PROCESSLIST") {
					t.Errorf("the poller saw itself: %+v", o)
				}
				if o.SQL == sql {
					mine = append(mine, o)
				}
			}
			if len(mine) != 1 {
				t.Fatalf("%s: observed %+v", sql, list)
			}
			o, took, bound := mine[0], r.end.Sub(r.begin), p.Stats().Longest
			if o.Duration < atLeast-bound || o.Duration > took+bound {
				t.Errorf("%s: %v observed of %v to %v, looks were up to %v apart", sql, o.Duration, atLeast, took, bound)
			}
			if o.Schema != schema || o.User != srv.Config("").User {
				t.Errorf("observed %+v", o)
			}
		}
		st := p.Stats()
		if st.Observed < 2 || st.Running != 0 || st.Polls < 3 || st.Longest < interval/2 {
			t.Errorf("%+v", st)
		}
	})
}

func TestALostConnectionIsAnErrorOnce(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		db := srv.DB(t, "")
		p := New(srv.DB(t, ""), func(digest.Observation) {})
		defer p.Close()
		ctx := context.Background()
		if err := p.Poll(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(fmt.Sprintf("KILL %d", p.own)); err != nil {
			t.Fatal(err)
		}
		if err := p.Poll(ctx); err == nil || !strings.HasPrefix(err.Error(), "processlist: ") {
			t.Errorf("got %v of a connection that was killed", err)
		}
		if err := p.Poll(ctx); err != nil {
			t.Errorf("got %v with a new connection", err)
		}
		if n := p.Stats().Polls; n != 2 {
			t.Errorf("%d looks, want 2", n)
		}
	})
}
