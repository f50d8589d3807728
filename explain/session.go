package explain

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// session is a connection of its own: it is changed, used once and closed.
type session struct {
	db      *sql.DB
	conn    *sql.Conn
	server  Server
	id      int64
	timeout time.Duration
	empty   []string      // tables that hold no rows
	stop    func() bool   // takes the watch off the context
	killed  chan struct{} // closed when a started kill has ended
}

// ServerError is an error that the server gave. Its text holds the server's
// message only where that cannot quote the statement; Unwrap gives all of it.
type ServerError struct {
	Doing  string // what was asked for, as "EXPLAIN"
	Server Server
	Number int // of MySQL's errors; 0 if it is not known
	Err    error
}

// quiet are the errors whose messages name tables, columns and accounts at most.
var quiet = map[int]bool{
	1044: true, 1045: true, 1046: true, 1049: true, 1054: true, 1142: true, 1143: true, 1146: true, 1205: true,
	1227: true, 1235: true, 1290: true, 1305: true, 1317: true, 1345: true, 1356: true, 1370: true, 1792: true,
	1969: true, 3024: true, 3999: true,
}

func (e *ServerError) Error() string {
	text := "explain: " + e.Doing
	if e.Server.Known() {
		text += " on " + e.Server.String()
	}
	switch {
	case e.Number == 0 || quiet[e.Number]:
		text += ": " + e.Err.Error()
	default:
		text += fmt.Sprintf(": error %d", e.Number)
	}
	if e.Number == 1146 {
		text += " (a temporary table exists in its own session alone)"
	}
	return text
}

func (e *ServerError) Unwrap() error { return e.Err }

// Drivers of MySQL print "Error 1064 (42000): …".
var errorNumber = regexp.MustCompile(`^Error (\d+)`)

func (s *session) failed(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("explain: %s on %s was stopped: %w", doing, s.server, context.Cause(ctx))
	}
	e := &ServerError{Doing: doing, Server: s.server, Err: err}
	if m := errorNumber.FindStringSubmatch(err.Error()); m != nil {
		e.Number, _ = strconv.Atoi(m[1])
	}
	return e
}

// openSession takes a connection and sets its limits. From here on the end of
// the context kills what the connection runs on the server.
func openSession(ctx context.Context, db *sql.DB, timeout time.Duration, mode Mode, schema string) (*session, error) {
	s := &session{db: db, timeout: timeout, killed: make(chan struct{})}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, &ServerError{Doing: "connecting", Err: err}
	}
	s.conn = conn
	s.stop = func() bool { return true }
	var version, comment string
	err = conn.QueryRowContext(ctx, "SELECT CONNECTION_ID(), VERSION(), @@version_comment").Scan(&s.id, &version, &comment)
	if err != nil {
		defer s.close()
		return nil, s.failed(ctx, "asking for the version", err)
	}
	s.server = ParseServer(version, comment)
	s.stop = context.AfterFunc(ctx, s.kill)
	if s.server.Product == MySQL && !s.server.AtLeast(MySQL, 5, 6, 3) {
		defer s.close()
		return nil, fmt.Errorf("explain: %s is too old: its EXPLAIN runs every derived table", s.server)
	}
	for _, stmt := range s.limits(mode) {
		if _, err := conn.ExecContext(ctx, stmt); err != nil && s.server.Product != TiDB {
			defer s.close()
			return nil, s.failed(ctx, "setting the limits", err)
		}
	}
	if schema != "" {
		if _, err := conn.ExecContext(ctx, "USE "+quoteName(schema)); err != nil {
			defer s.close()
			return nil, s.failed(ctx, "USE of the schema", err)
		}
	}
	return s, nil
}

// limits are the statements that make the session safe: the statement is read in
// one known way, and nothing waits or runs for long.
func (s *session) limits(m Mode) []string {
	var mode []string
	if m.ANSIQuotes {
		mode = append(mode, "ANSI_QUOTES")
	}
	if m.NoBackslashEscapes {
		mode = append(mode, "NO_BACKSLASH_ESCAPES")
	}
	if m.PipesAsConcat {
		mode = append(mode, "PIPES_AS_CONCAT")
	}
	seconds := max(1, int((s.timeout+time.Second-1)/time.Second))
	set := fmt.Sprintf("SET SESSION autocommit=1, sql_mode='%s', lock_wait_timeout=%d, innodb_lock_wait_timeout=1",
		strings.Join(mode, ","), seconds)
	switch {
	case s.server.AtLeast(MySQL, 5, 7, 8):
		set += fmt.Sprintf(", max_execution_time=%d", max(1, s.timeout.Milliseconds()))
	case s.server.AtLeast(MariaDB, 10, 1):
		set += fmt.Sprintf(", max_statement_time=%.3f", max(0.001, s.timeout.Seconds()))
	case s.server.Product == TiDB:
		set = fmt.Sprintf("SET SESSION sql_mode='%s', max_execution_time=%d", strings.Join(mode, ","), max(1, s.timeout.Milliseconds()))
	}
	out := []string{"SET NAMES utf8mb4", set, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"}
	if s.server.AtLeast(MySQL, 8, 3) {
		out = append(out, "SET SESSION explain_json_format_version=1")
	}
	if s.server.AtLeast(MySQL, 8, 0, 3) {
		// Whether a table is empty is asked of the table, not of a day-old copy.
		out = append(out, "SET SESSION information_schema_stats_expiry=0")
	}
	if s.server.AtLeast(TiDB, 7, 3) {
		out = append(out, "SET SESSION tidb_opt_enable_non_eval_scalar_subquery=ON")
	}
	return out
}

// kill ends what the connection runs. The driver closes its end when the
// context ends; the server would go on until it has something to send.
func (s *session) kill() {
	defer close(s.killed)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return // the server is out of reach; its own limit holds
	}
	defer discard(conn)
	conn.ExecContext(ctx, fmt.Sprintf("KILL QUERY %d", s.id))
}

// close ends the transaction and the connection, and waits for a kill under way.
func (s *session) close() {
	discard(s.conn)
	if !s.stop() {
		<-s.killed
	}
}

// discard closes the connection instead of giving it back to the pool: its
// settings are not those that others expect. The server rolls back.
func discard(conn *sql.Conn) {
	conn.Raw(func(any) error { return driver.ErrBadConn })
	conn.Close()
}

// set makes a session setting "name=value" of a rewrite.
func (s *session) set(ctx context.Context, setting string) error {
	name, value, _ := strings.Cut(setting, "=")
	if _, err := strconv.Atoi(value); err != nil {
		value = "'" + value + "'"
	}
	_, err := s.conn.ExecContext(ctx, "SET SESSION "+name+"="+value)
	return err
}

// query sends one statement. It is prepared first, since no server takes more
// than one statement in a prepared text, whatever the connection allows.
func (s *session) query(ctx context.Context, sql string) (*Plan, error) {
	stmt, err := s.conn.PrepareContext(ctx, sql)
	if err != nil {
		return nil, err
	}
	defer stmt.Close()
	rows, err := stmt.QueryContext(ctx)
	if err != nil {
		return nil, err
	}
	columns, values, err := readRows(rows)
	if err != nil {
		return nil, err
	}
	return ParseRows(columns, values)
}

func readRows(rows *sql.Rows) (columns []string, values [][]sql.NullString, err error) {
	defer rows.Close()
	columns, err = rows.Columns()
	if err != nil {
		return nil, nil, err
	}
	for rows.Next() {
		row := make([]sql.NullString, len(columns))
		dest := make([]any, len(columns))
		for i := range row {
			dest[i] = &row[i]
		}
		if err := rows.Scan(dest...); err != nil {
			return nil, nil, err
		}
		values = append(values, row)
	}
	return columns, values, rows.Err()
}

// warnings reads SHOW WARNINGS but for the note 1003, which can hold values of
// rows.
func (s *session) warnings(ctx context.Context) ([]Warning, error) {
	rows, err := s.conn.QueryContext(ctx, "SHOW WARNINGS")
	if err != nil {
		return nil, err
	}
	_, values, err := readRows(rows)
	var out []Warning
	for _, v := range values {
		if len(v) < 3 {
			continue
		}
		code, _ := strconv.Atoi(v[1].String)
		if code != 1003 {
			out = append(out, Warning{Level: v[0].String, Code: code, Message: v[2].String})
		}
	}
	return out, err
}

func quoteName(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// errorCode returns the server's number of an error, 0 if it has none.
func errorCode(err error) int {
	var e *ServerError
	if errors.As(err, &e) {
		return e.Number
	}
	if m := errorNumber.FindStringSubmatch(err.Error()); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 0
}
