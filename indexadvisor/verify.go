package indexadvisor

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quern-dev/quern/internal/stopped"
)

// ErrSameServer says that the scratch server is the one the data is from.
var ErrSameServer = errors.New("indexadvisor: the scratch server is the server itself")

// Scratch is where Verify works.
type Scratch struct {
	// From is where the data is. It is only read, as Database does it.
	From *sql.DB
	// On is another server, of the same kind, on which a schema is made and
	// dropped again. The account needs all privileges on schemas named
	// quern_verify_….
	On *sql.DB
	// Rows is how many rows of a table are copied at most; 0 means 50,000.
	Rows int64
	// Timeout limits each statement on the scratch server; 0 means a minute.
	Timeout time.Duration
}

// Verification compares a query before and after an index was made.
type Verification struct {
	Before Measure `json:"before"`
	After  Measure `json:"after"`
	// Forced is with the index made, the table's others hidden, and look-ups
	// preferred: it tells an index that is not chosen from one that is of no
	// use.
	Forced     Measure           `json:"forced"`
	SameResult bool              `json:"same_result"` // all three gave the same rows (in any order)
	Copied     map[string]Copied `json:"copied"`      // by schema.table
	Verdict    string            `json:"verdict"`
	Notes      []string          `json:"notes,omitempty"`
}

// Copied says how much of a table was copied.
type Copied struct {
	Rows int64 `json:"rows"`
	Of   int64 `json:"of"` // the server's estimate of the whole
}

// Measure is what a server did for one run of a query.
type Measure struct {
	Keys    []string      `json:"keys"`    // index used for each table, in the plan's order; "" for none
	Read    int64         `json:"read"`    // rows and index entries handed to the server (Handler_read_*)
	Entries int64         `json:"entries"` // the same with index condition pushdown off: every entry that was looked at
	Sorted  int64         `json:"sorted"`  // Sort_rows
	Rows    int64         `json:"rows"`    // rows of the result
	Time    time.Duration `json:"time"`    // nanoseconds
	result  [16]byte
}

// Verify copies a sample of the query's tables, and its views, into schemas of
// its own on the scratch server, runs the query, makes the suggested index,
// and runs it again. Schemas that the statement names are replaced by those.
// Statements that write are run and rolled back. The schemas are dropped in
// the end, whatever happens; those that an earlier, killed Verify left more
// than a day ago are dropped as well.
//
// The error wraps ErrSameServer where both are one server, told by its
// identity and not by the DSN.
func Verify(ctx context.Context, sc Scratch, q Query, s Suggestion) (v *Verification, err error) {
	if s.Kind == Drop {
		return nil, errors.New("indexadvisor: only an index to make can be verified")
	}
	if sc.Rows <= 0 {
		sc.Rows = 50_000
	}
	if sc.Timeout <= 0 {
		sc.Timeout = time.Minute
	}
	defer func() { err = stopped.Error(ctx, err) }()
	if err := different(ctx, sc); err != nil {
		return nil, err
	}
	source := MySQL(sc.From)
	adv := New(source, Options{})
	r := adv.run()
	if err := r.start(ctx); err != nil {
		return nil, err
	}
	for _, p := range s.Columns {
		if p.Name != "" && p.Expr != "" {
			return nil, fmt.Errorf("indexadvisor: the index is on the new column %s, which the server uses only where the statement names it: make the column, name it in the statement, and verify that", p.Name)
		}
	}
	a, err := r.analyse(ctx, q.Schema, q.SQL)
	if err != nil {
		return nil, err
	}
	stmt, err := r.parse(q.SQL)
	if err != nil {
		return nil, err
	}
	if _, err := schemasOf(stmt); err != nil {
		return nil, err
	}
	t := &trial{Scratch: sc, source: source, server: r.server, query: q, out: &Verification{Copied: map[string]Copied{}}}
	for _, tab := range r.tables {
		t.tables = append(t.tables, tab)
	}
	slices.SortFunc(t.tables, func(a, b *Table) int { return strings.Compare(a.Schema+"\x00"+a.Name, b.Schema+"\x00"+b.Name) })
	if err := t.open(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if e := t.close(ctx); e != nil && err == nil {
			err = e
		}
	}()
	if err := t.copy(ctx, a); err != nil {
		return nil, err
	}
	return t.out, t.compare(ctx, s)
}

// different makes sure that the two servers are not one.
func different(ctx context.Context, sc Scratch) error {
	var ids [2]string
	for i, db := range []*sql.DB{sc.From, sc.On} {
		var version, host, dir string
		var port, id int64
		if err := db.QueryRowContext(ctx, "SELECT VERSION(), @@hostname, @@port, @@server_id, @@datadir").Scan(&version, &host, &port, &id, &dir); err != nil {
			return fmt.Errorf("indexadvisor: asking a server for its identity: %w", err)
		}
		ids[i] = fmt.Sprint(version, "|", host, "|", port, "|", id, "|", dir)
		var uuid string
		if db.QueryRowContext(ctx, "SELECT @@server_uuid").Scan(&uuid) == nil { // MariaDB has none
			ids[i] += "|" + uuid
		}
	}
	if ids[0] == ids[1] {
		return ErrSameServer
	}
	return nil
}

type trial struct {
	Scratch
	source *Database
	server Server
	query  Query
	tables []*Table // that the statement reads and writes, views among them
	conn   *sql.Conn
	prefix string            // of the names of its schemas
	as     map[string]string // schema in lower case: its place on the scratch server
	sql    string            // the statement with those names
	out    *Verification
}

const scratchPrefix = "quern_verify_"

// open connects to the scratch server.
func (t *trial) open(ctx context.Context) (err error) {
	if t.conn, err = t.On.Conn(ctx); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			t.conn.Close()
		}
	}()
	t.sweep(ctx)
	var random [4]byte
	rand.Read(random[:])
	t.prefix = fmt.Sprintf("%s%d_%s", scratchPrefix, time.Now().Unix(), hex.EncodeToString(random[:]))
	var version string
	if err := t.conn.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
		return err
	}
	if strings.Contains(version, "MariaDB") != t.server.MariaDB {
		return errors.New("indexadvisor: the scratch server is of another kind than the one the data is from")
	}
	limit := fmt.Sprintf("SET SESSION max_execution_time = %d", t.Timeout.Milliseconds())
	if t.server.MariaDB {
		limit = fmt.Sprintf("SET SESSION max_statement_time = %.3f", t.Timeout.Seconds())
	}
	return t.exec(ctx, limit,
		"SET SESSION foreign_key_checks = 0", "SET SESSION unique_checks = 0", "SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_AUTO_VALUE_ON_ZERO')")
}

// sweep drops what killed runs left behind.
func (t *trial) sweep(ctx context.Context) {
	rows, err := t.conn.QueryContext(ctx, `SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE 'quern\_verify\_%'`)
	if err != nil {
		return
	}
	var old []string
	for rows.Next() {
		var name string
		if rows.Scan(&name) != nil {
			break
		}
		stamp, _, _ := strings.Cut(strings.TrimPrefix(name, scratchPrefix), "_")
		if sec, err := strconv.ParseInt(stamp, 10, 64); err == nil && time.Since(time.Unix(sec, 0)) > 24*time.Hour {
			old = append(old, name)
		}
	}
	rows.Close()
	for _, name := range old {
		t.exec(ctx, "DROP DATABASE "+quote(name))
	}
}

// close drops the scratch schemas, also when the context has ended.
func (t *trial) close(ctx context.Context) error {
	t.conn.Raw(func(any) error { return driver.ErrBadConn }) // its session settings go with it
	t.conn.Close()
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	var failed error
	for i := range len(t.as) + 1 { // one may have been made without an answer
		name := fmt.Sprintf("%s_%d", t.prefix, i+1)
		if _, err := t.On.ExecContext(clean, "DROP DATABASE IF EXISTS "+quote(name)); err != nil {
			failed = errors.Join(failed, fmt.Errorf("indexadvisor: the schema %s could not be dropped from the scratch server: %w", name, err))
		}
	}
	return failed
}

func (t *trial) exec(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if _, err := t.conn.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("indexadvisor: on the scratch server: %w", err)
		}
	}
	return nil
}

// copy makes and fills the statement's tables: small ones whole, the first
// big one by a sample, and other big ones by the keys that the rows copied
// before join to.
func (t *trial) copy(ctx context.Context, a *analysis) error {
	if err := t.places(ctx); err != nil {
		return err
	}
	var done []*Table
	for _, b := range a.blocks {
		for _, x := range b.accesses {
			if x.table == nil || slices.Contains(done, x.table) {
				continue
			}
			if err := t.create(ctx, x.table); err != nil {
				return err
			}
			keys := ""
			if x.table.Rows > t.Rows {
				keys = t.joinKeys(ctx, b, x, done)
			}
			if err := t.fill(ctx, x.table, keys); err != nil {
				return err
			}
			done = append(done, x.table)
		}
	}
	if len(done) == 0 {
		return errors.New("indexadvisor: the statement reads no table that can be copied")
	}
	for _, w := range a.writes {
		if !slices.Contains(done, w.table) { // INSERT … SELECT into another table
			if err := t.create(ctx, w.table); err != nil {
				return err
			}
			done = append(done, w.table)
		}
	}
	if err := t.views(ctx); err != nil {
		return err
	}
	t.sql = rename(t.query.SQL, t.server.lexer(), t.as)
	if home := t.as[strings.ToLower(t.query.Schema)]; home != "" {
		return t.exec(ctx, "USE "+quote(home))
	}
	return nil
}

// create makes an empty copy of a table: no foreign keys, no place of its own
// on disk.
func (t *trial) create(ctx context.Context, tab *Table) error {
	var name, ddl string
	err := t.source.session(ctx, func(c *sql.Conn, _ bool) error {
		return c.QueryRowContext(ctx, "SHOW CREATE TABLE "+quoteTable(tab.Schema, tab.Name)).Scan(&name, &ddl)
	})
	if err != nil {
		return err
	}
	return t.exec(ctx, "USE "+quote(t.as[strings.ToLower(tab.Schema)]), scratchDDL(ddl))
}

// scratchDDL takes what must not be copied off a CREATE TABLE as the server
// prints it, one definition a line.
func scratchDDL(ddl string) string {
	var out []string
	for line := range strings.SplitSeq(ddl, "\n") {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "CONSTRAINT ") && strings.Contains(trimmed, " FOREIGN KEY (") {
			continue
		}
		if strings.HasPrefix(trimmed, ")") {
			if n := len(out); n > 0 {
				out[n-1] = strings.TrimSuffix(out[n-1], ",")
			}
			words := strings.Fields(line)
			words = slices.DeleteFunc(words, func(w string) bool {
				w = strings.ToUpper(w)
				return strings.HasPrefix(w, "AUTO_INCREMENT=") || strings.HasPrefix(w, "ENCRYPTION=") || strings.HasPrefix(w, "`ENCRYPTED`=")
			})
			line = strings.Join(words, " ")
			if before, after, ok := strings.Cut(line, " DATA DIRECTORY='"); ok {
				_, after, _ = strings.Cut(after, "'")
				line = before + after
			}
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// joinKeys is a condition that finds the rows which join to those copied.
func (t *trial) joinKeys(ctx context.Context, b *block, x *access, done []*Table) string {
	for _, e := range b.edges {
		own, oc, other, tc := e.a, e.ac, e.b, e.bc
		if e.b == x {
			own, oc, other, tc = e.b, e.bc, e.a, e.ac
		}
		if own != x || other.table == nil || !slices.Contains(done, other.table) || tc == nil {
			continue
		}
		if !slices.ContainsFunc(x.table.Indexes, func(ix Index) bool { return ix.Kind == "BTREE" && strings.EqualFold(ix.Parts[0].Name, oc.Name) }) {
			continue
		}
		rows, err := t.conn.QueryContext(ctx, fmt.Sprintf("SELECT DISTINCT QUOTE(%s) FROM %s LIMIT 5000", quote(tc.Name), t.place(other.table.Schema, other.table.Name)))
		if err != nil {
			return ""
		}
		var list []string
		for rows.Next() {
			var s string
			if rows.Scan(&s) == nil && s != "NULL" {
				list = append(list, s)
			}
		}
		rows.Close()
		if len(list) > 0 {
			return quote(oc.Name) + " IN (" + strings.Join(list, ", ") + ")"
		}
	}
	return ""
}

// fill copies rows: those that meet the condition where, or a sample.
func (t *trial) fill(ctx context.Context, tab *Table, where string) error {
	var names, marks []string
	var binary []bool
	for i := range tab.Columns {
		c := &tab.Columns[i]
		if c.Generated == "" {
			names = append(names, quote(c.Name))
			marks = append(marks, "?")
			binary = append(binary, c.binary() || c.Type == "bit" || !c.indexable() && c.Type != "json")
		}
	}
	list := strings.Join(names, ", ")
	d := *t.source
	d.ExactRows, d.SampleRows, d.Timeout = t.Rows, t.Rows, max(t.Timeout, d.timeout())
	copied := int64(0)
	err := d.session(ctx, func(c *sql.Conn, maria bool) error {
		statements := []string{"SELECT " + list + " FROM " + quoteTable(tab.Schema, tab.Name) + " LIMIT " + fmt.Sprint(2*t.Rows)}
		s, err := d.sample(ctx, c, maria, CountRequest{Table: tab})
		switch {
		case err != nil:
			return err
		case s != nil && where != "":
			statements = []string{"SELECT " + list + " FROM " + s.table + " WHERE " + where + " LIMIT " + fmt.Sprint(t.Rows)}
		case s != nil:
			statements = nil
			for from := 0; from < len(s.places); from += placesPerStatement {
				statements = append(statements, "SELECT "+list+" FROM ("+s.union(from, min(from+placesPerStatement, len(s.places)), list)+") s")
			}
			t.out.Notes = append(t.out.Notes, fmt.Sprintf("%s.%s: a sample was copied, so that rare values may be missing", tab.Schema, tab.Name))
		}
		insert := "INSERT IGNORE INTO " + t.place(tab.Schema, tab.Name) + " (" + list + ") VALUES "
		one := "(" + strings.Join(marks, ", ") + ")"
		const batch = 100
		var args []any
		flush := func() error {
			n := len(args) / len(names)
			if n == 0 {
				return nil
			}
			_, err := t.conn.ExecContext(ctx, insert+strings.TrimSuffix(strings.Repeat(one+", ", n), ", "), args...)
			args, copied = args[:0], copied+int64(n)
			return err
		}
		if err := t.exec(ctx, "START TRANSACTION"); err != nil {
			return err
		}
		for _, statement := range statements {
			if err := each(ctx, c, statement, len(names), func(vals []sql.RawBytes) error {
				for i, v := range vals {
					switch {
					case v == nil:
						args = append(args, nil)
					case binary[i]:
						args = append(args, slices.Clone([]byte(v)))
					default: // a string has the connection's character set, bytes have none
						args = append(args, string(v))
					}
				}
				if len(args) >= batch*len(names) || len(args) > 60_000-len(names) {
					return flush()
				}
				return nil
			}); err != nil {
				return err
			}
		}
		if err := flush(); err != nil {
			return err
		}
		return t.exec(ctx, "COMMIT")
	})
	if err != nil {
		return fmt.Errorf("indexadvisor: copying %s.%s: %w", tab.Schema, tab.Name, err)
	}
	t.out.Copied[tab.Schema+"."+tab.Name] = Copied{copied, max(tab.Rows, copied)}
	return t.analyze(ctx, tab.Schema, tab.Name)
}

// each hands every row of a query to f.
func each(ctx context.Context, c *sql.Conn, query string, columns int, f func([]sql.RawBytes) error) error {
	rows, err := c.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	vals := make([]sql.RawBytes, columns)
	ptrs := make([]any, columns)
	for i := range vals {
		ptrs[i] = &vals[i]
	}
	for rows.Next() {
		if err := rows.Scan(ptrs...); err != nil {
			return err
		}
		if err := f(vals); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (t *trial) analyze(ctx context.Context, schema, table string) error {
	rows, err := t.conn.QueryContext(ctx, "ANALYZE TABLE "+t.place(schema, table))
	if err != nil {
		return err
	}
	for rows.Next() {
	}
	return errors.Join(rows.Err(), rows.Close())
}
