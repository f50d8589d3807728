package slowlog_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"github.com/quern-dev/quern/internal/testservers"
	"github.com/quern-dev/quern/slowlog"
)

// An entry is what the log must hold of one statement or command. A number of -1
// is one that the test does not know.
type entry struct {
	Query, Command        string
	Schema                string
	User, Host, IP        string
	Rows, Affected, Errno int64
	SleptLongEnough       bool
}

// A lab is a server whose slow log is under test.
type lab struct {
	t       *testing.T
	srv     *testservers.Server
	control *sql.Conn // logs nothing
	log     string    // file that the server writes now
	clients []*client

	strangers string // user whose connections may be in the log besides the clients'
}

// newLab makes schemas and accounts on the server.
func newLab(t *testing.T, srv *testservers.Server) *lab {
	t.Helper()
	l := &lab{t: t, srv: srv, control: connection(t, srv)}
	l.exec(
		"SET GLOBAL slow_query_log = OFF",
		"SET GLOBAL long_query_time = 0",
		"SET SESSION long_query_time = 3600",
		"CREATE DATABASE IF NOT EXISTS shop",
		"CREATE DATABASE IF NOT EXISTS `other data`",
		"CREATE USER IF NOT EXISTS app IDENTIFIED BY 'secret'",
		"CREATE USER IF NOT EXISTS 'o''brien [x]'@localhost IDENTIFIED BY 'secret'",
		"GRANT ALL ON *.* TO app, 'o''brien [x]'@localhost",
	)
	for _, schema := range []string{"shop", "`other data`"} {
		l.exec(
			"USE "+schema,
			"DROP TABLE IF EXISTS item, note",
			"DROP FUNCTION IF EXISTS f",
			"DROP PROCEDURE IF EXISTS p",
			"CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(100), qty INT)",
			"CREATE TABLE note (id INT AUTO_INCREMENT PRIMARY KEY, body LONGTEXT)",
			"INSERT INTO item VALUES (1,'a',1),(2,'b',2),(3,'c',3),(4,'d',4),(5,'e',5),(6,'f',6),(7,'g',7),(8,'h',8),(9,'i',9),(10,'j',10)",
			"CREATE FUNCTION f(a INT) RETURNS INT DETERMINISTIC READS SQL DATA RETURN (SELECT qty FROM item WHERE id = a)",
			"CREATE PROCEDURE p(n INT) BEGIN SELECT id FROM item LIMIT n; UPDATE item SET qty = qty WHERE id = n; END",
		)
	}
	return l
}

func (l *lab) exec(stmts ...string) {
	l.t.Helper()
	for _, s := range stmts {
		if _, err := l.control.ExecContext(l.t.Context(), s); err != nil {
			l.t.Fatalf("%v: %s", err, s)
		}
	}
}

// begin makes the server write to a new file with the given global settings.
func (l *lab) begin(settings ...string) {
	l.t.Helper()
	for _, s := range settings {
		l.exec("SET GLOBAL " + s)
	}
	f, err := os.CreateTemp(l.srv.Dir, "slow-*.log")
	if err != nil {
		l.t.Fatal(err)
	}
	f.Close()
	l.log = f.Name()
	l.clients = nil
	l.exec("SET GLOBAL slow_query_log_file = '"+l.log+"'", "SET GLOBAL slow_query_log = ON")
}

// end closes the clients and returns the log.
func (l *lab) end() []byte {
	l.t.Helper()
	l.closeClients()
	l.exec("SET GLOBAL slow_query_log = OFF")
	b, err := os.ReadFile(l.log)
	if err != nil {
		l.t.Fatal(err)
	}
	return b
}

// closeClients waits until the server has seen the clients go.
func (l *lab) closeClients() {
	l.t.Helper()
	for _, c := range l.clients {
		c.close()
	}
	// A connection is counted until its last command is in the log.
	for l.connections() > 1 {
		time.Sleep(5 * time.Millisecond)
	}
}

func (l *lab) connections() (n int) {
	l.t.Helper()
	var name string
	if err := l.control.QueryRowContext(l.t.Context(), "SHOW GLOBAL STATUS LIKE 'Threads_connected'").Scan(&name, &n); err != nil {
		l.t.Fatal(err)
	}
	return n
}

// A client is a connection that keeps account of what it sends.
type client struct {
	lab     *lab
	db      *sql.DB
	conn    *sql.Conn
	id      uint64
	like    entry // schema, user and address of its entries
	entries []entry
}

// connect opens a connection over the socket, or over TCP.
func (l *lab) connect(user, schema string, tcp bool) *client {
	l.t.Helper()
	c := &client{lab: l, like: entry{Schema: schema, User: user, Host: "localhost"}}
	cfg := l.srv.Config(schema)
	cfg.User = user
	if user != "root" {
		cfg.Passwd = "secret"
	}
	cfg.MultiStatements = true
	if tcp {
		cfg.Net, cfg.Addr = "tcp", fmt.Sprintf("127.0.0.1:%d", l.srv.Port)
		c.like.IP = "127.0.0.1"
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		l.t.Fatal(err)
	}
	c.db = sql.OpenDB(connector)
	if c.conn, err = c.db.Conn(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
	if err := c.conn.QueryRowContext(l.t.Context(), "SELECT CONNECTION_ID()").Scan(&c.id); err != nil {
		l.t.Fatal(err)
	}
	c.expect("SELECT CONNECTION_ID()", 1, -1, 0)
	l.clients = append(l.clients, c)
	return c
}

func (c *client) close() {
	if c.conn.Close() != nil {
		return // closed before
	}
	c.db.Close()
	if c.lab.srv.Flavor == testservers.FlavorMySQL {
		c.expect("#Quit", -1, -1, -1)
	}
}

func (c *client) expect(text string, rows, affected, errno int64) {
	e := c.like
	e.Query, e.Rows, e.Affected, e.Errno, e.SleptLongEnough = text, rows, affected, errno, true
	if command, ok := strings.CutPrefix(text, "#"); ok {
		e.Query, e.Command, e.Rows, e.Affected, e.Errno = "", command, -1, -1, -1
	}
	c.entries = append(c.entries, e)
}

// run sends a statement. Rows and affected rows are as the client saw them.
func (c *client) run(s step) {
	rows, affected, err := c.send(s)
	var errno int64
	if e := (*mysql.MySQLError)(nil); errors.As(err, &e) {
		errno = int64(e.Number)
	} else if err != nil {
		c.lab.t.Errorf("%v: %.200q", err, s.sql)
	}
	logged, ok := s.logged[c.lab.srv.Flavor]
	if !ok {
		if logged, ok = s.logged[""]; !ok {
			logged = []string{s.sql}
		}
	}
	for _, text := range logged {
		if len(logged) > 1 && len(s.args) == 0 { // several statements
			rows, affected, errno = -1, -1, -1
		}
		c.expect(text, rows, affected, errno)
	}
}

func (c *client) send(s step) (rows, affected int64, err error) {
	ctx := c.lab.t.Context()
	switch verb, _, _ := strings.Cut(s.sql, " "); verb {
	case "INSERT", "UPDATE", "DELETE", "LOAD":
		res, err := c.conn.ExecContext(ctx, s.sql, s.args...)
		if err != nil {
			return 0, -1, err
		}
		affected, err = res.RowsAffected()
		return 0, affected, err
	}
	r, err := c.conn.QueryContext(ctx, s.sql, s.args...)
	if err != nil {
		return -1, -1, err
	}
	defer r.Close()
	for {
		for r.Next() {
			rows++
		}
		if !r.NextResultSet() {
			return rows, -1, r.Err()
		}
	}
}

// check compares the log with what the clients sent, and returns its events.
func (l *lab) check(log []byte, r *slowlog.Reader) []*slowlog.Event {
	l.t.Helper()
	type connectionOf struct {
		user string
		id   uint64
	}
	got := map[connectionOf][]entry{}
	var events []*slowlog.Event
	for ev, err := range r.All() {
		if err != nil {
			l.t.Fatal(err)
		}
		events = append(events, ev)
		e := entry{Query: ev.Query, Command: ev.Command, Schema: ev.Schema, User: ev.User, Host: ev.Host, IP: ev.IP, Rows: -1, Affected: -1, Errno: -1, SleptLongEnough: true}
		if ev.Has(slowlog.FieldRowsSent) {
			e.Rows = int64(ev.RowsSent)
		}
		if ev.Has(slowlog.FieldRowsAffected) {
			e.Affected = int64(ev.RowsAffected)
		}
		if ev.Has(slowlog.FieldErrno) {
			e.Errno = int64(ev.Errno)
		}
		if strings.HasPrefix(ev.Query, "SELECT SLEEP(0.05)") {
			e.SleptLongEnough = ev.QueryTime >= 50*time.Millisecond
		}
		of := connectionOf{ev.User, ev.ThreadID}
		got[of] = append(got[of], e)
	}
	for _, c := range l.clients {
		of := connectionOf{c.like.User, c.id}
		g := got[of]
		delete(got, of)
		// MySQL logs what takes longer than long_query_time, so not a command that
		// was done within the same microsecond.
		i := 0
		c.entries = slices.DeleteFunc(c.entries, func(w entry) bool {
			if w.Command != "" && (i >= len(g) || g[i].Command != w.Command) {
				return true
			}
			i++
			return false
		})
		for i := range min(len(g), len(c.entries)) {
			w := &c.entries[i]
			// what the client or the log does not know
			if w.Rows < 0 || g[i].Rows < 0 {
				w.Rows, g[i].Rows = -1, -1
			}
			if w.Affected < 0 || g[i].Affected < 0 {
				w.Affected, g[i].Affected = -1, -1
			}
			if w.Errno < 0 || g[i].Errno < 0 {
				w.Errno, g[i].Errno = -1, -1
			}
			if w.Schema == "" { // of a connection without one, the log tells the last one's
				g[i].Schema = ""
			}
		}
		if diff := cmp.Diff(c.entries, g); diff != "" {
			l.t.Errorf("connection %d of %q, -sent +read:\n%.6000s", c.id, c.like.User, diff)
		}
	}
	for of, g := range got {
		if of.user != l.strangers {
			l.t.Errorf("connection %d of %q is none of the clients, but has %d events: %.500s", of.id, of.user, len(g), fmt.Sprintf("%+v", g))
		}
	}
	if st := r.Stats(); st.Skipped() > 0 || st.BadTimes > 0 || st.UnknownLines > 0 || st.UnknownKeys > 0 || st.Bytes != int64(len(log)) {
		l.t.Errorf("not all of a real log was understood: %+v", st)
	}
	if l.t.Failed() {
		keep := filepath.Join(os.TempDir(), "slowlog-"+strings.ReplaceAll(l.t.Name(), "/", "-")+".log")
		if err := os.WriteFile(keep, log, 0o600); err == nil {
			l.t.Logf("the log is kept as %s", keep)
		}
	}
	return events
}

var verbosities = map[testservers.Flavor][][]string{
	testservers.FlavorMySQL: {
		{"log_slow_extra = OFF"},
		{"log_slow_extra = ON"},
	},
	testservers.FlavorMariaDB: {
		{"log_slow_verbosity = ''"},
		{"log_slow_verbosity = 'query_plan'"},
		{"log_slow_verbosity = 'innodb'"},
		{"log_slow_verbosity = 'explain'"},
		{"log_slow_verbosity = 'query_plan,innodb,explain'"},
		{"log_slow_verbosity = 'full'"},
	},
}

// TestServerLogHoldsWhatWasSent runs one workload under each verbosity of each
// server and finds every statement in the log, and nothing else.
func TestServerLogHoldsWhatWasSent(t *testing.T) {
	mysql.RegisterReaderHandler("rows", func() io.Reader { return strings.NewReader("from a file\nsecond\n# Time: 200101  0:00:00\n") })
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		l := newLab(t, srv)
		for i, settings := range verbosities[srv.Flavor] {
			t.Run(strings.Join(settings, ","), func(t *testing.T) {
				l := &lab{t: t, srv: srv, control: l.control}
				l.begin(settings...)
				start := time.Now()
				runWorkload(l, uint64(i))
				log := l.end()
				events := l.check(log, slowlog.NewReader(bytes.NewReader(log)))
				checkTimes(t, events, start, time.Now())
			})
		}
	}, "--local-infile=ON")
}

// runWorkload runs every statement: some clients in turn, then all at once.
func runWorkload(l *lab, seed uint64) {
	root := l.connect("root", "shop", false)
	for _, s := range slices.Concat(ordinary(), inOrder(), failing(), otherModes(), hostile()) {
		root.run(s)
	}
	nowhere := l.connect("app", "", true)
	nowhere.run(step{sql: "SELECT 'no schema'"})
	nowhere.run(step{sql: "SELECT * FROM item"})

	var wg sync.WaitGroup
	for i := range 4 {
		c := l.connect([]string{"app", "root", "o'brien [x]", "app"}[i], []string{"shop", "other data"}[i%2], i == 3)
		list := slices.Concat(ordinary(), hostile())
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		r.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
		wg.Go(func() {
			for _, s := range list[:40] {
				c.run(s)
			}
		})
	}
	wg.Wait()
}

// checkTimes compares the events' times with the time in which they must have
// been written; logs hold whole seconds at worst. A client that sets its own
// timestamp deceives MariaDB, which writes that as "# Time".
func checkTimes(t *testing.T, events []*slowlog.Event, start, end time.Time) {
	t.Helper()
	for _, ev := range events {
		if ev.Time.Unix() == 1700000000 {
			continue
		}
		if ev.Time.Before(start.Truncate(time.Second)) || ev.Time.After(end) {
			t.Errorf("line %d: time %v is not within %v and %v", ev.Line, ev.Time, start, end)
			return
		}
	}
}

// A log that goes through a rotation and a restart reads as one. The server's
// local time has a zone, which MariaDB does not write.
func TestServerLogThroughRotationAndRestart(t *testing.T) {
	for _, flavor := range []testservers.Flavor{testservers.FlavorMySQL, testservers.FlavorMariaDB} {
		t.Run(string(flavor), func(t *testing.T) {
			t.Setenv("TZ", "IST-5:30")
			args := []string{"--slow-query-log=ON", "--long-query-time=0", "--local-infile=ON"}
			if flavor == testservers.FlavorMySQL {
				args = append(args, "--log-timestamps=SYSTEM")
			}
			start := time.Now()
			srv := testservers.Start(t, flavor, args...)
			l := newLab(t, srv)
			l.strangers = "root" // those who start and stop the server
			l.exec("SET GLOBAL slow_query_log = ON")
			work := func(user string) {
				c := l.connect(user, "shop", false)
				for _, s := range ordinary() {
					c.run(s)
				}
			}
			work("app")
			moved := srv.SlowLogPath + ".1"
			if err := os.Rename(srv.SlowLogPath, moved); err != nil {
				t.Fatal(err)
			}
			work("app")
			l.exec("FLUSH SLOW LOGS")
			work("app")
			l.closeClients()
			l.control.Close()
			srv.Restart(t)
			l.control = connection(t, srv)
			work("o'brien [x]") // connection ids begin anew
			l.closeClients()

			var log []byte
			for _, path := range []string{moved, srv.SlowLogPath} {
				b, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				log = append(log, b...)
			}
			r := slowlog.NewReader(bytes.NewReader(log))
			r.Location = time.FixedZone("IST", 5*3600+30*60)
			events := l.check(log, r)
			checkTimes(t, events, start, time.Now())
			if got := r.Stats().Banners; got != 4 {
				t.Errorf("%d banners, 4 expected: of the start, the log turned on again, the rotation and the restart", got)
			}
		})
	}
}

func connection(t *testing.T, srv *testservers.Server) *sql.Conn {
	t.Helper()
	conn, err := srv.DB(t, "").Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}
