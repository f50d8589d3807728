package indexadvisor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/quern-dev/quern/internal/testservers"
)

// serverState is all that somebody could leave behind on a server: objects,
// accounts, settings, running statements.
func serverState(t *testing.T, db *sql.DB) []string {
	t.Helper()
	var out []string
	for _, query := range []string{
		"SELECT SCHEMA_NAME FROM information_schema.SCHEMATA",
		"SELECT CONCAT_WS('.', TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE) FROM information_schema.TABLES WHERE TABLE_SCHEMA NOT IN ('performance_schema', 'information_schema')",
		"SELECT CONCAT_WS('.', TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA LIKE 'quern%'",
		"SELECT CONCAT_WS('.', TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA LIKE 'quern%'",
		"SELECT CONCAT_WS('.', ROUTINE_SCHEMA, ROUTINE_NAME) FROM information_schema.ROUTINES",
		"SELECT CONCAT_WS('.', TRIGGER_SCHEMA, TRIGGER_NAME) FROM information_schema.TRIGGERS",
		"SELECT CONCAT_WS('.', EVENT_SCHEMA, EVENT_NAME) FROM information_schema.EVENTS",
		"SELECT CONCAT_WS('@', User, Host) FROM mysql.user",
		"SELECT CONCAT('running: ', LEFT(INFO, 60)) FROM information_schema.PROCESSLIST WHERE INFO IS NOT NULL AND ID <> CONNECTION_ID() AND COMMAND NOT IN ('Daemon')",
	} {
		rows, err := db.Query(query)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		for rows.Next() {
			var s string
			if err := rows.Scan(&s); err != nil {
				t.Fatal(err)
			}
			out = append(out, s)
		}
		rows.Close()
	}
	rows, err := db.Query("SHOW GLOBAL VARIABLES")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(name, "gtid") && !strings.HasPrefix(name, "innodb_buffer_pool") {
			out = append(out, name+" = "+value)
		}
	}
	slices.Sort(out)
	return out
}

// vanishing drops a table once it has been described.
type vanishing struct {
	*Database
	drop func()
}

func (v vanishing) Table(ctx context.Context, schema, name string) (*Table, error) {
	defer v.drop()
	return v.Database.Table(ctx, schema, name)
}

// Whatever happens while rows are counted, the answer is clear and the server
// is as it was.
func TestWhateverHappensNothingIsLeftBehind(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		fill(t, db, 1<<15)
		exec(t, db, "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(200), b INT)", "INSERT INTO t SELECT i, REPEAT('ab', 50), i % 500 FROM seq",
			"CREATE TABLE soon (id INT PRIMARY KEY, a INT)", "INSERT INTO soon SELECT i, i % 500 FROM seq WHERE i < 3000",
			"CREATE TABLE gone (a INT)", "CREATE VIEW broken AS SELECT a FROM gone", "DROP TABLE gone", "CREATE VIEW secret AS SELECT b FROM t",
			"ANALYZE TABLE t, soon")
		for _, host := range []string{"localhost", "127.0.0.1"} {
			exec(t, db, "CREATE USER 'partial'@'"+host+"' IDENTIFIED BY 'x'", "GRANT SELECT (id, b) ON "+schema+".t TO 'partial'@'"+host+"'", "GRANT SELECT ON "+schema+".secret TO 'partial'@'"+host+"'")
		}
		t.Cleanup(func() { exec(t, db, "DROP USER 'partial'@'localhost', 'partial'@'127.0.0.1'") })
		config := srv.Config("")
		config.User, config.Passwd = "partial", "x"
		partial, err := sql.Open("mysql", config.FormatDSN())
		if err != nil {
			t.Fatal(err)
		}
		defer partial.Close()
		slow := "SELECT * FROM t WHERE a > 'a'"
		for i := range 50 {
			slow += fmt.Sprintf(" AND SHA2(SHA2(SHA2(a,512),512),512) <> 'x%d'", i)
		}
		// kill ends the counting statement, or its connection, from outside.
		kill := func(what string) func() {
			return func() {
				for range 500 {
					var id int64
					if db.QueryRow("SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE '%COUNT(*)%SHA2(SHA2%' AND ID <> CONNECTION_ID()").Scan(&id) == nil {
						db.Exec(fmt.Sprintf("KILL %s %d", what, id))
						return
					}
					time.Sleep(5 * time.Millisecond)
				}
			}
		}
		limited := MySQL(db)
		limited.Timeout = 50 * time.Millisecond
		for _, c := range []struct {
			name   string
			source Source
			sql    string
			during func()
			limit  time.Duration
			note   string
			err    error  // that it wraps
			text   string // of an error
		}{
			{name: "the statement is killed", source: MySQL(db), sql: slow, during: kill("QUERY"), err: ErrNotCounted},
			{name: "the connection is killed", source: MySQL(db), sql: slow, during: kill("CONNECTION"), err: ErrNotCounted},
			{name: "the server's time limit", source: limited, sql: slow, err: ErrNotCounted},
			{name: "the context ends", source: MySQL(db), sql: slow, limit: 200 * time.Millisecond, err: context.DeadlineExceeded},
			{name: "the table vanishes", source: vanishing{MySQL(db), func() { db.Exec("RENAME TABLE soon TO later") }}, sql: "SELECT * FROM soon WHERE a = 5", err: ErrNotCounted},
			{name: "no such table", source: MySQL(db), sql: "SELECT * FROM gone WHERE a = 5", err: ErrNoTable},
			{name: "no such schema", source: MySQL(db), sql: "SELECT * FROM nowhere.t WHERE a = 5", err: ErrNoTable},
			{name: "a view over no table", source: MySQL(db), sql: "SELECT * FROM broken WHERE a = 5", err: ErrNoTable},
			{name: "no right to one column", source: MySQL(partial), sql: "SELECT id FROM t WHERE a = 'x'", note: "has a column a"},
			{name: "the rights that are needed", source: MySQL(partial), sql: "SELECT id FROM t WHERE b = 7", note: ""},
			{name: "no right to see a view's definition", source: MySQL(partial), sql: "SELECT * FROM secret WHERE b = 7", text: "may not see the definition of the view"},
		} {
			t.Run(c.name, func(t *testing.T) {
				before := serverState(t, db)
				ctx := context.Background()
				if c.limit > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.limit)
					defer cancel()
				}
				done := make(chan struct{})
				go func() {
					defer close(done)
					if c.during != nil {
						c.during()
					}
				}()
				a, err := New(c.source, Options{}).Advise(ctx, Query{Schema: schema, SQL: c.sql})
				<-done
				switch {
				case c.err != nil || c.text != "":
					if c.err != nil && !errors.Is(err, c.err) || err == nil || !strings.Contains(err.Error(), c.text) {
						t.Errorf("error %v, want %v %s", err, c.err, c.text)
					}
					if errors.Is(err, ErrNotCounted) {
						if !a.Incomplete || len(a.Suggestions) > 0 {
							t.Errorf("advice without counts: incomplete %v, %s", a.Incomplete, short(a))
						}
						wantNote(t, a, "could not be counted")
					}
				case err != nil:
					t.Error(err)
				case c.note != "":
					if len(a.Suggestions) > 0 {
						t.Errorf("got %s", short(a))
					}
					wantNote(t, a, c.note)
				case short(a) != "t(b)":
					t.Errorf("got %q\n%s", short(a), strings.Join(a.Notes, "\n"))
				}
				db.Exec("RENAME TABLE later TO soon")
				after := serverState(t, db)
				for i := 0; slices.ContainsFunc(after, func(s string) bool { return strings.HasPrefix(s, "running: ") }) && i < 100; i++ {
					time.Sleep(50 * time.Millisecond) // a killed statement ends soon
					after = serverState(t, db)
				}
				if d := cmp.Diff(before, after); d != "" {
					t.Errorf("the server is not as it was: %s", d)
				}
			})
		}
	})
}

// Whenever the context ends, the error says that it did, and not what became of
// the connection.
func TestContextEndsAtAnyMoment(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		fill(t, db, 1<<12)
		exec(t, db, "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT)", "INSERT INTO t SELECT i, i % 500, i % 7 FROM seq", "ANALYZE TABLE t")
		testservers.EndContexts(t, 60*time.Millisecond, func(ctx context.Context) error {
			a, err := New(MySQL(db), Options{}).Advise(ctx, Query{Schema: schema, SQL: "SELECT * FROM t WHERE a = 5 AND b = 3"})
			if err == nil && !a.Incomplete && short(a) == "" {
				return errors.New("no advice and no word of the time")
			}
			return err
		})
	})
}
