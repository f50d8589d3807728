package perfschema

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/internal/testservers"
	"github.com/quern-dev/quern/slowlog"
)

// counting are the arguments of servers that count digests and log all statements.
var counting = []string{"--performance-schema=ON", "--slow-query-log=ON", "--long-query-time=0", "--log-output=FILE"}

func quantile(values []uint64, q float64) uint64 {
	slices.Sort(values)
	return values[max(0, int(math.Ceil(q*float64(len(values))-1e-9))-1)]
}

// workload is what one connection runs: slow statements, so that what the server
// does around them takes little of their time, errors, and lists.
func workload(part int) []string {
	var s []string
	for i := range 15 {
		s = append(s, fmt.Sprintf("SELECT SLEEP(0.%03d) FROM t WHERE id = %d", 60+10*i+part, i+1))
	}
	for i := range 10 {
		s = append(s,
			fmt.Sprintf("SELECT id, note FROM t WHERE id IN (%d, %d, 30) ORDER BY note", i, i+5),
			fmt.Sprintf("INSERT INTO w (part, note) VALUES (%d, 'n%d'), (%d, 'm')", part, i, part),
			fmt.Sprintf("SELECT COUNT(*) FROM t WHERE note LIKE '%%%d%%'", i))
	}
	for i := range 5 {
		s = append(s, fmt.Sprintf("SELECT missing_function(%d)", i))
	}
	return s
}

// prepare makes the tables of the workload.
func prepare(t *testing.T, srv *testservers.Server) *sql.DB {
	t.Helper()
	db := srv.DB(t, srv.Schema(t))
	run(t, db, "CREATE TABLE t (id INT PRIMARY KEY, note VARCHAR(20))", "CREATE TABLE w (part INT, note VARCHAR(20))")
	for i := range 50 {
		run(t, db, fmt.Sprintf("INSERT INTO t VALUES (%d, 'note %d')", i, i%7))
	}
	return db
}

func run(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func poll(t *testing.T, p *Poller) (*digest.Profile, Stats) {
	t.Helper()
	var agg digest.Aggregator
	stats, err := p.Poll(context.Background(), &agg)
	if err != nil {
		t.Fatal(err)
	}
	return agg.Profile(), stats
}

func classOf(p *digest.Profile, statement string) *digest.Class {
	var f digest.Fingerprinter
	return p.Class(f.Statement(statement).ID)
}

// logged is the profile of what was appended to the log.
func logged(t *testing.T, path string, offset int64) *digest.Profile {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var agg digest.Aggregator
	for ev, err := range slowlog.NewReader(io.NewSectionReader(f, offset, math.MaxInt64-offset)).All() {
		if err != nil {
			t.Fatal(err)
		}
		agg.Add(ev)
	}
	return agg.Profile()
}

func TestServerCountsWhatItLogs(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		db := prepare(t, srv)
		p := New(db)
		if _, err := p.Poll(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(srv.SlowLogPath)
		if err != nil {
			t.Fatal(err)
		}
		// One statement after the other: servers add up without locks, and may lose
		// one where several end at the same time.
		for part := range 2 {
			for _, s := range workload(part) {
				if _, err := db.Exec(s); err != nil && !strings.Contains(s, "missing_function") {
					t.Errorf("%s: %v", s, err)
				}
			}
		}
		got, stats := poll(t, p)
		if stats.Reset || stats.Evicted != 0 || stats.Overflowed != 0 || stats.Histograms != (srv.Flavor == testservers.FlavorMySQL) {
			t.Errorf("stats %+v", stats)
		}
		want := logged(t, srv.SlowLogPath, info.Size())
		seen := make(map[digest.ID]bool)
		for _, s := range workload(0) {
			w, g := classOf(want, s), classOf(got, s)
			if w == nil || g == nil {
				t.Fatalf("%s: class of the log %v, of the server %v", s, w, g)
			}
			if !seen[w.ID] {
				seen[w.ID] = true
				compareClasses(t, w, g, stats.Histograms)
			}
		}
		if len(seen) != 5 {
			t.Errorf("the workload has %d classes, not 5", len(seen))
		}
		if again, stats := poll(t, p); stats.Reset || classOf(again, workload(0)[0]) != nil {
			t.Errorf("what was counted is counted again: %+v", stats)
		}
	}, counting...)
}

// compareClasses compares a class as it was logged with what the server counted.
func compareClasses(t *testing.T, w, g *digest.Class, histograms bool) {
	t.Helper()
	t.Logf("%-60.60s %4.0f statements, time logged %v, counted %v (%+.2f %%)", w.Fingerprint, w.Count,
		w.QueryTime.Sum(), g.QueryTime.Sum(), 100*(g.QueryTime.Seconds()/w.QueryTime.Seconds()-1))
	if g.Count != w.Count || g.Observed != w.Observed {
		t.Errorf("%s: %v statements, the log has %v", w.Fingerprint, g.Count, w.Count)
	}
	for _, m := range []digest.Measure{digest.RowsSent, digest.RowsExamined} {
		if gs, ws := g.Summary(m).Sum(), w.Summary(m).Sum(); gs != ws {
			t.Errorf("%s: %v is %v, in the log %v", w.Fingerprint, m, gs, ws)
		}
	}
	if strings.Contains(w.Fingerprint, "missing_function") != (g.ErrorCount() == w.Count) {
		t.Errorf("%s: %v errors", w.Fingerprint, g.ErrorCount())
	}
	if !strings.Contains(w.Fingerprint, "sleep") {
		return // so short that what a log leaves out weighs
	}
	if off := g.QueryTime.Seconds()/w.QueryTime.Seconds() - 1; math.Abs(off) > .01 {
		t.Errorf("%s: time is off by %.2f %%", w.Fingerprint, 100*off)
	}
	if math.Abs(g.QueryTime.Max().Seconds()/w.QueryTime.Max().Seconds()-1) > .044 {
		t.Errorf("%s: the longest took %v, in the log %v", w.Fingerprint, g.QueryTime.Max(), w.QueryTime.Max())
	}
	if !histograms {
		return
	}
	// What is stated of quantiles, the log's own precision, and the 1 % of time.
	for _, q := range []float64{.1, .5, .9, .95, .99} {
		gq, wq := g.QueryTime.Quantile(q), w.QueryTime.Quantile(q)
		if off := gq.Seconds()/wq.Seconds() - 1; math.Abs(off) > .034+.01+.01 {
			t.Errorf("%s: the %v-quantile is %v, in the log %v: off by %.2f %%", w.Fingerprint, q, gq, wq, 100*off)
		}
	}
}

// The server's own quantiles are upper ends of buckets.
func TestQuantilesAgreeWithThoseOfTheServer(t *testing.T) {
	srv := testservers.MySQL(t, counting...)
	db := prepare(t, srv)
	run(t, db, "TRUNCATE performance_schema.events_statements_summary_by_digest")
	for i := range 40 {
		run(t, db, fmt.Sprintf("SELECT SLEEP(%g) FROM t WHERE id = 1", .0005*float64(i)))
	}
	got, _ := poll(t, New(db))
	c := classOf(got, "SELECT SLEEP(1) FROM t WHERE id = 1")
	if c == nil || c.Count != 40 {
		t.Fatalf("no class of 40 statements, but %v", c)
	}
	for q, column := range map[float64]string{.95: "QUANTILE_95", .99: "QUANTILE_99", .999: "QUANTILE_999"} {
		var upper uint64
		if err := db.QueryRow("SELECT " + column + " FROM performance_schema." + summaryTable + " WHERE DIGEST_TEXT LIKE 'SELECT `sleep` (?) FROM%'").Scan(&upper); err != nil {
			t.Fatal(err)
		}
		ours, theirs := c.QueryTime.Quantile(q).Seconds(), duration(upper).Seconds()
		if ours > theirs*1.01 || ours < theirs/1.06 {
			t.Errorf("%s is %v, and the %v-quantile %v", column, theirs, q, ours)
		}
	}
}

func TestTableEmptiedBetweenPolls(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		db := prepare(t, srv)
		p := New(db)
		const a, b = "SELECT id FROM t WHERE id = 1", "SELECT note FROM t WHERE id = 1"
		for range 5 {
			run(t, db, a)
		}
		if got, _ := poll(t, p); classOf(got, a).Count != 5 {
			t.Errorf("at first %v statements, not 5", classOf(got, a).Count)
		}
		run(t, db, a, "TRUNCATE performance_schema.events_statements_summary_by_digest", a, a, a, b, b)
		got, stats := poll(t, p)
		if !stats.Reset || stats.Evicted != 0 {
			t.Errorf("stats %+v", stats)
		}
		if ca, cb := classOf(got, a), classOf(got, b); ca == nil || cb == nil || ca.Count != 3 || cb.Count != 2 {
			t.Errorf("after it %v and %v, not 3 and 2", ca, cb)
		}
		run(t, db, b)
		if got, stats := poll(t, p); stats.Reset || classOf(got, b).Count != 1 || classOf(got, a) != nil {
			t.Errorf("then %+v", stats)
		}
	}, counting...)
}

func TestMoreDigestsThanTheServerKeeps(t *testing.T) {
	for _, flavor := range []testservers.Flavor{testservers.FlavorMySQL, testservers.FlavorMariaDB} {
		t.Run(string(flavor), func(t *testing.T) {
			srv := testservers.Start(t, flavor, "--performance-schema=ON", "--performance-schema-digests-size=20")
			db := prepare(t, srv)
			p := New(db)
			if _, err := p.Poll(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
			for i := range 60 {
				run(t, db, fmt.Sprintf("SELECT id AS c%d FROM t WHERE id = 1", i))
			}
			got, stats := poll(t, p)
			over := got.Overflow()
			if stats.Digests > 20 || stats.Reset || stats.Overflowed < 40 || over == nil || over.Observed != stats.Overflowed {
				t.Fatalf("stats %+v, overflow %v", stats, over)
			}
			in := over.Observed
			for c := range got.Classes() {
				in += c.Observed
			}
			if in != got.Events || in < 60 {
				t.Errorf("%d events in classes and overflow, %d in all, at least 60 expected", in, got.Events)
			}

			srv.Restart(t)
			db = srv.DB(t, "") // the connections of the other one broke
			p.db = db
			run(t, db, "SELECT 'after the restart'")
			if got, stats := poll(t, p); !stats.Reset || classOf(got, "SELECT 'x'") == nil {
				t.Errorf("after a restart %+v", stats)
			}
		})
	}
}

// Executions of a prepared statement are counted as they are logged, whether it was
// prepared by the binary protocol or by a PREPARE statement.
func TestPreparedStatementsAreCountedAsTheyAreLogged(t *testing.T) {
	srv := testservers.MySQL(t, counting...)
	db := prepare(t, srv)
	p := New(db)
	poll(t, p)
	info, err := os.Stat(srv.SlowLogPath)
	if err != nil {
		t.Fatal(err)
	}
	const statement = "SELECT id FROM t WHERE id = ?"
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	prepared, err := conn.PrepareContext(t.Context(), statement)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 7 {
		var id int
		if err := prepared.QueryRow(i).Scan(&id); err != nil || id != i {
			t.Fatalf("%d: got %d, %v", i, id, err)
		}
	}
	if err := prepared.Close(); err != nil {
		t.Fatal(err)
	}
	words := []string{"PREPARE s FROM 'SELECT 7, 8, 9'", "EXECUTE s", "DEALLOCATE PREPARE s"}
	for _, s := range words {
		if _, err := conn.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	got, _ := poll(t, p)
	want := logged(t, srv.SlowLogPath, info.Size())
	w, g := classOf(want, statement), classOf(got, statement)
	if w == nil || g == nil || w.Count != 7 || g.Count != 7 {
		t.Fatalf("class of the log %v, of the server %v, want 7 executions", w, g)
	}
	if ws, gs := w.Summary(digest.RowsSent).Sum(), g.Summary(digest.RowsSent).Sum(); ws != 7 || gs != 7 {
		t.Errorf("rows sent: the log has %v, the server %v, want 7", ws, gs)
	}
	const inWords = "SELECT 7, 8, 9"
	if w, g := classOf(want, inWords), classOf(got, inWords); w == nil || g == nil || w.Count != 1 || g.Count != 1 {
		t.Errorf("%s: class of the log %v, of the server %v, want 1 execution", inWords, w, g)
	}
	// The server has one digest for both ways to prepare and to close.
	command := func(p *digest.Profile, name string) float64 {
		for c := range p.Classes() {
			if c.Kind == digest.Commands && c.Name() == "administrator command: "+name {
				return c.Count
			}
		}
		return 0
	}
	for name, word := range map[string]string{"Prepare": "PREPARE s FROM ...", "Close stmt": words[2]} { // as it is logged
		g, byProtocol, byWord := command(got, name), command(want, name), classOf(want, word)
		if byWord == nil || byProtocol != 1 || byWord.Count != 1 || g != byProtocol+byWord.Count {
			t.Errorf("%s: the server counted %v, the log has %v of the protocol and %v, want 2, 1 and 1", name, g, byProtocol, byWord)
		}
	}
}

// MySQL cuts its samples off; the digest still tells which class they are of.
func TestJoinOfLongStatements(t *testing.T) {
	srv := testservers.MySQL(t, counting...)
	db := prepare(t, srv)
	p := New(db)
	// Neither the beginning of the statement nor the digest's text has its class.
	statement := "SELECT '" + strings.Repeat("x", 2000) + "', CONCAT('a', 'b', 'c'), CONCAT('a', 'b', 'c', 'd') FROM t WHERE id = 1"
	if _, err := p.Poll(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(srv.SlowLogPath)
	if err != nil {
		t.Fatal(err)
	}
	run(t, db, statement)
	if got, _ := poll(t, p); classOf(got, statement) != nil {
		t.Error("the class is known without Join: the test shows nothing")
	}
	log := logged(t, srv.SlowLogPath, info.Size())
	joined, err := p.Join(context.Background(), log)
	if err != nil || joined == 0 {
		t.Fatalf("%d classes joined, error %v", joined, err)
	}
	run(t, db, statement, statement)
	if got, _ := poll(t, p); classOf(got, statement) == nil || classOf(got, statement).Count != 2 {
		t.Errorf("got %v, want a class of 2 statements", classOf(got, statement))
	}
	if again, err := p.Join(context.Background(), log); again != 0 || err != nil {
		t.Errorf("asked again: %d classes, %v", again, err)
	}
	// What the server cannot parse is no error.
	var agg digest.Aggregator
	for ev := range slowlog.NewReader(bytes.NewReader([]byte("# Time: 2026-01-01T00:00:00Z\n# User@Host: a[a] @ b []\n# Query_time: 1 Lock_time: 0 Rows_sent: 0 Rows_examined: 0\nSELECT FROM WHERE;\n"))).All() {
		agg.Add(ev)
	}
	if n, err := p.Join(context.Background(), agg.Profile()); n != 0 || err != nil {
		t.Errorf("no statement: %d classes, %v", n, err)
	}
}

func TestJoinOnMariaDB(t *testing.T) {
	srv := testservers.MariaDB(t, counting...)
	var agg digest.Aggregator
	if _, err := New(srv.DB(t, "")).Join(context.Background(), agg.Profile()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}

func TestErrorsTellWhatIsMissing(t *testing.T) {
	expect := func(t *testing.T, db *sql.DB, want error, text string) {
		t.Helper()
		var agg digest.Aggregator
		_, err := New(db).Poll(context.Background(), &agg)
		if !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want %v that tells of %s", err, want, text)
		}
		if n := agg.Profile().Events; n != 0 {
			t.Errorf("%d events were added", n)
		}
	}
	t.Run("off", func(t *testing.T) {
		expect(t, testservers.MariaDB(t, "--performance-schema=OFF").DB(t, ""), ErrOff, "performance_schema is OFF")
	})
	t.Run("no consumer", func(t *testing.T) {
		testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
			db := srv.DB(t, "")
			const set = "UPDATE performance_schema.setup_consumers SET ENABLED = '%s' WHERE NAME = 'statements_digest'"
			run(t, db, fmt.Sprintf(set, "NO"))
			defer run(t, db, fmt.Sprintf(set, "YES"))
			expect(t, db, ErrOff, "statements_digest")
		}, counting...)
	})
	t.Run("no privilege", func(t *testing.T) {
		testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
			root := srv.DB(t, "")
			run(t, root, "CREATE USER reader@localhost")
			defer run(t, root, "DROP USER reader@localhost")
			config := srv.Config("")
			config.User = "reader"
			db, err := sql.Open("mysql", config.FormatDSN())
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			expect(t, db, ErrDenied, summaryTable)
			run(t, root, "GRANT SELECT ON performance_schema.events_statements_summary_by_digest TO reader@localhost")
			if srv.Flavor == testservers.FlavorMySQL {
				expect(t, db, ErrDenied, histogramTable)
				run(t, root, "GRANT SELECT ON performance_schema.events_statements_histogram_by_digest TO reader@localhost")
			}
			if got, _ := poll(t, New(db)); got.Events == 0 {
				t.Error("with the privileges that it needs it counts nothing")
			}
		}, counting...)
	})
}

// Times do not depend on the time zone of the session.
func TestTimesAreThoseOfTheServer(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		config := srv.Config("")
		config.Params = map[string]string{"time_zone": "'+05:45'"}
		db, err := sql.Open("mysql", config.FormatDSN())
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		p := New(db)
		poll(t, p)
		begin := time.Now()
		run(t, db, "SELECT 'now', 'and here'")
		got, _ := poll(t, p)
		end := time.Now()
		c := classOf(got, "SELECT 'now', 'and here'")
		if c == nil {
			t.Fatal("no class")
		}
		// MariaDB tells whole seconds.
		if c.FirstSeen().Before(begin.Add(-time.Second)) || c.LastSeen().After(end) || c.LastSeen().Before(c.FirstSeen()) {
			t.Errorf("seen from %v to %v, ran between %v and %v", c.FirstSeen(), c.LastSeen(), begin, end)
		}
	}, counting...)
}

// Whenever the context ends, the error says that it did, and not what became of
// the connection.
func TestContextEndsAtAnyMoment(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		db := prepare(t, srv)
		testservers.EndContexts(t, 30*time.Millisecond, func(ctx context.Context) error {
			_, err := New(db).Poll(ctx, nil)
			return err
		})
	}, counting...)
}
