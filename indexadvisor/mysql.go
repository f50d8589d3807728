package indexadvisor

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quern-dev/quern/explain"
	"github.com/quern-dev/quern/internal/stopped"
)

// Database is a Source over a MySQL, Percona Server or MariaDB server, and
// safe on one that serves users: every statement runs on a connection of its
// own in read-only mode with a time limit and is killed when the context
// ends; the connection is closed afterwards, not pooled. Big tables are
// sampled, not read, and nothing is counted while the server is busy.
type Database struct {
	// Timeout limits each statement; 0 means 5 seconds.
	Timeout time.Duration
	// ExactRows is the size of a table, in rows, up to which all rows are
	// counted; 0 means 200,000.
	ExactRows int64
	// SampleRows is how many rows of a bigger table are counted at most; 0
	// means 40,000. It is never more than 3 % of the table. To count different
	// values, a quarter of that is read.
	SampleRows int64
	// MaxRunning is how many threads may run on the server (Threads_running,
	// the one that counts included) for rows to be counted; 0 means 25, and a
	// negative number any.
	MaxRunning int
	// MaxLag is how far the server may be behind as a replica; 0 means 10
	// seconds, and a negative time any. To see it, an account needs the
	// privilege REPLICATION CLIENT (MariaDB: REPLICA MONITOR); without, and
	// where replication does not run, the lag is taken for none.
	MaxLag time.Duration
	// Patience is how long each count waits for the load to fall below the
	// limits before it fails with ErrBusy; 0 means 10 seconds, and a negative
	// time not at all.
	Patience time.Duration

	db *sql.DB
}

// MySQL returns a Source over db, which must be a MySQL, Percona Server or
// MariaDB server. The account needs SELECT on the tables that queries read.
func MySQL(db *sql.DB) *Database { return &Database{db: db} }

func (d *Database) timeout() time.Duration {
	if d.Timeout <= 0 {
		return 5 * time.Second
	}
	return d.Timeout
}

// session runs f on a connection of its own.
func (d *Database) session(ctx context.Context, f func(conn *sql.Conn, maria bool) error) (err error) {
	defer func() { err = stopped.Error(ctx, err) }()
	conn, err := d.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() {
		// The session's settings must not reach anybody else.
		conn.Raw(func(any) error { return driver.ErrBadConn })
		conn.Close()
	}()
	var id int64
	var version string
	if err := conn.QueryRowContext(ctx, "SELECT CONNECTION_ID(), VERSION()").Scan(&id, &version); err != nil {
		return err
	}
	limit := fmt.Sprintf("SET SESSION max_execution_time = %d", d.timeout().Milliseconds())
	maria := strings.Contains(version, "MariaDB")
	if maria {
		limit = fmt.Sprintf("SET SESSION max_statement_time = %.3f", d.timeout().Seconds())
	}
	for _, s := range []string{"SET SESSION TRANSACTION READ ONLY", limit, "SET SESSION lock_wait_timeout = 2"} {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	// Where the server caches statistics, ask for fresh ones.
	conn.ExecContext(ctx, "SET SESSION information_schema_stats_expiry = 0")
	killed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(killed)
		// The driver only drops the connection; the server would go on.
		kill, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		d.db.ExecContext(kill, "KILL QUERY "+strconv.FormatInt(id, 10))
	})
	defer func() {
		if !stop() {
			<-killed
		}
	}()
	return f(conn, maria)
}

// Server asks the server what it is.
func (d *Database) Server(ctx context.Context) (Server, error) {
	var s Server
	err := d.session(ctx, func(c *sql.Conn, _ bool) error {
		var version, mode string
		if err := c.QueryRowContext(ctx, "SELECT VERSION(), @@innodb_page_size, @@collation_connection, @@sql_mode").
			Scan(&version, &s.PageSize, &s.Collation, &mode); err != nil {
			return err
		}
		var name string
		var seconds int64
		if err := c.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Uptime'").Scan(&name, &seconds); err != nil {
			return err
		}
		s.Uptime = time.Duration(seconds) * time.Second
		is := explain.ParseServer(version, "")
		s.MariaDB = is.Product == explain.MariaDB
		s.Major, s.Minor, s.Patch = is.Version[0], is.Version[1], is.Version[2]
		s.ANSIQuotes = strings.Contains(mode, "ANSI_QUOTES")
		s.PipesAsConcat = strings.Contains(mode, "PIPES_AS_CONCAT")
		s.NoBackslashEscapes = strings.Contains(mode, "NO_BACKSLASH_ESCAPES")
		return nil
	})
	return s, err
}

// Table reads a table's description from information_schema, and from its first rows
// how long the values of strings are.
func (d *Database) Table(ctx context.Context, schema, name string) (*Table, error) {
	var t *Table
	err := d.session(ctx, func(c *sql.Conn, _ bool) (err error) {
		t, err = readTable(ctx, c, schema, name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("indexadvisor: table %s.%s: %w", schema, name, err)
	}
	return t, nil
}

func readTable(ctx context.Context, c *sql.Conn, schema, name string) (*Table, error) {
	t := &Table{}
	var kind string
	var engine, format sql.NullString
	var rows, data sql.Null[uint64]
	err := c.QueryRowContext(ctx, `SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, ENGINE, ROW_FORMAT, TABLE_ROWS, DATA_LENGTH
		FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?`, schema, name).
		Scan(&t.Schema, &t.Name, &kind, &engine, &format, &rows, &data)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, ErrNoTable
	case err != nil:
		return nil, err
	}
	t.Engine, t.RowFormat, t.Rows, t.DataBytes = engine.String, format.String, int64(rows.V), int64(data.V)
	if strings.Contains(kind, "VIEW") {
		if err := c.QueryRowContext(ctx, "SELECT VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?", schema, name).
			Scan(&t.View); err != nil {
			return nil, err
		}
		if t.View == "" {
			return nil, errors.New("the account may not see the definition of the view")
		}
	}
	for _, read := range []func(context.Context, *sql.Conn, *Table) error{readColumns, readIndexes, readReferences, readPartitions} {
		if err := read(ctx, c, t); err != nil {
			return nil, err
		}
	}
	readLengths(ctx, c, t)
	readSizes(ctx, c, t)
	return t, nil
}

// records runs a query and hands each row to f as text by column name, so
// that columns which some servers lack do no harm.
func records(ctx context.Context, c *sql.Conn, f func(map[string]sql.NullString), query string, args ...any) error {
	rows, err := c.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	vals := make([]sql.NullString, len(names))
	ptrs := make([]any, len(names))
	for i := range vals {
		ptrs[i] = &vals[i]
	}
	for rows.Next() {
		if err := rows.Scan(ptrs...); err != nil {
			return err
		}
		m := map[string]sql.NullString{}
		for i, n := range names {
			m[strings.ToUpper(n)] = vals[i]
		}
		f(m)
	}
	return rows.Err()
}

func atoi(s sql.NullString) int64 {
	n, _ := strconv.ParseInt(s.String, 10, 64)
	return n
}

func readColumns(ctx context.Context, c *sql.Conn, t *Table) error {
	return records(ctx, c, func(m map[string]sql.NullString) {
		extra := strings.ToUpper(m["EXTRA"].String)
		col := Column{
			Name: m["COLUMN_NAME"].String, Type: strings.ToLower(m["DATA_TYPE"].String), Full: m["COLUMN_TYPE"].String,
			Charset: m["CHARACTER_SET_NAME"].String, Collation: m["COLLATION_NAME"].String,
			Chars:     atoi(m["CHARACTER_MAXIMUM_LENGTH"]),
			Precision: max(atoi(m["NUMERIC_PRECISION"]), atoi(m["DATETIME_PRECISION"])),
			Nullable:  m["IS_NULLABLE"].String == "YES",
			Unsigned:  strings.Contains(m["COLUMN_TYPE"].String, "unsigned"),
			Generated: strings.ReplaceAll(m["GENERATION_EXPRESSION"].String, `\'`, "'"),
			Invisible: strings.Contains(extra, "INVISIBLE"),
		}
		col.Virtual = col.Generated != "" && strings.Contains(extra, "VIRTUAL")
		t.Columns = append(t.Columns, col)
	}, "SELECT * FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION", t.Schema, t.Name)
}

func readIndexes(ctx context.Context, c *sql.Conn, t *Table) error {
	if t.View != "" {
		return nil
	}
	return records(ctx, c, func(m map[string]sql.NullString) {
		name := m["KEY_NAME"].String
		i := slices.IndexFunc(t.Indexes, func(ix Index) bool { return ix.Name == name })
		if i < 0 {
			i = len(t.Indexes)
			t.Indexes = append(t.Indexes, Index{
				Name: name, Unique: m["NON_UNIQUE"].String == "0", Kind: m["INDEX_TYPE"].String, Reads: -1,
				Hidden: m["VISIBLE"].String == "NO" || m["IGNORED"].String == "YES",
			})
		}
		ix := &t.Indexes[i]
		ix.Parts = append(ix.Parts, Part{
			Name: m["COLUMN_NAME"].String, Length: int(atoi(m["SUB_PART"])), Desc: m["COLLATION"].String == "D",
			Expr: strings.ReplaceAll(m["EXPRESSION"].String, `\'`, "'"),
		})
		if ix.Kind != "BTREE" {
			ix.Parts[len(ix.Parts)-1].Length = 0 // SPATIAL says 32
		}
		ix.Cardinality = append(ix.Cardinality, atoi(m["CARDINALITY"]))
	}, "SHOW INDEX FROM "+quoteTable(t.Schema, t.Name))
}

func readReferences(ctx context.Context, c *sql.Conn, t *Table) error {
	if t.View != "" {
		return nil
	}
	return records(ctx, c, func(m map[string]sql.NullString) {
		own := strings.EqualFold(m["TABLE_SCHEMA"].String, t.Schema) && strings.EqualFold(m["TABLE_NAME"].String, t.Name)
		add := func(parent bool, column string) {
			name := m["CONSTRAINT_SCHEMA"].String + "." + m["TABLE_NAME"].String + "." + m["CONSTRAINT_NAME"].String
			i := slices.IndexFunc(t.References, func(r Reference) bool { return r.Name == name && r.Parent == parent })
			if i < 0 {
				i = len(t.References)
				t.References = append(t.References, Reference{Name: name, Parent: parent})
			}
			t.References[i].Columns = append(t.References[i].Columns, column)
		}
		if own {
			add(false, m["COLUMN_NAME"].String)
		}
		if strings.EqualFold(m["REFERENCED_TABLE_SCHEMA"].String, t.Schema) && strings.EqualFold(m["REFERENCED_TABLE_NAME"].String, t.Name) {
			add(true, m["REFERENCED_COLUMN_NAME"].String)
		}
	}, `SELECT * FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_NAME IS NOT NULL
		AND (TABLE_SCHEMA = ? AND TABLE_NAME = ? OR REFERENCED_TABLE_SCHEMA = ? AND REFERENCED_TABLE_NAME = ?)
		ORDER BY CONSTRAINT_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION`, t.Schema, t.Name, t.Schema, t.Name)
}

func readPartitions(ctx context.Context, c *sql.Conn, t *Table) error {
	return records(ctx, c, func(m map[string]sql.NullString) {
		for _, e := range []string{m["PARTITION_EXPRESSION"].String, m["SUBPARTITION_EXPRESSION"].String} {
			words := strings.FieldsFunc(strings.ToLower(e), func(r rune) bool { return strings.ContainsRune("`(),+-*/ ", r) })
			for _, col := range t.Columns {
				if slices.Contains(words, strings.ToLower(col.Name)) {
					t.Partitioning = appendNew(t.Partitioning, col.Name)
				}
			}
		}
	}, "SELECT * FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND PARTITION_NAME IS NOT NULL", t.Schema, t.Name)
}

// lengthRows is how many rows tell how long the values of a column are.
const lengthRows = 200

// readLengths fills in the average lengths of strings, by the first rows that the
// server finds, as far as the account may see them.
func readLengths(ctx context.Context, c *sql.Conn, t *Table) {
	var names, lengths []string
	var bytes []any
	for i := range t.Columns {
		if col := &t.Columns[i]; t.View == "" && (col.Type == "varchar" || col.Type == "varbinary") && !col.Virtual {
			names = append(names, quote(col.Name))
			lengths = append(lengths, "COALESCE(AVG(LENGTH("+quote(col.Name)+")), 0)")
			bytes = append(bytes, &col.Bytes)
		}
	}
	if len(names) == 0 {
		return
	}
	c.QueryRowContext(ctx, fmt.Sprintf("SELECT %s FROM (SELECT %s FROM %s LIMIT %d) s",
		strings.Join(lengths, ", "), strings.Join(names, ", "), quoteTable(t.Schema, t.Name), lengthRows)).Scan(bytes...)
}

// readSizes fills in what the account may not be allowed to see: sizes and
// use of indexes.
func readSizes(ctx context.Context, c *sql.Conn, t *Table) {
	each := func(f func(ix *Index, n int64)) func(map[string]sql.NullString) {
		return func(m map[string]sql.NullString) {
			for i := range t.Indexes {
				if t.Indexes[i].Name == m["NAME"].String {
					f(&t.Indexes[i], atoi(m["N"]))
				}
			}
		}
	}
	partitions := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(t.Name) + "#p#%"
	records(ctx, c, each(func(ix *Index, n int64) { ix.Bytes = n }), `SELECT index_name AS name, CAST(SUM(stat_value) * @@innodb_page_size AS UNSIGNED) AS n
		FROM mysql.innodb_index_stats WHERE database_name = ? AND (table_name = ? OR LOWER(table_name) LIKE LOWER(?)) AND stat_name = 'size' GROUP BY index_name`,
		t.Schema, t.Name, partitions)
	records(ctx, c, each(func(ix *Index, n int64) { ix.Reads = n }), `SELECT INDEX_NAME AS name, COUNT_READ AS n
		FROM performance_schema.table_io_waits_summary_by_index_usage WHERE OBJECT_SCHEMA = ? AND OBJECT_NAME = ? AND INDEX_NAME IS NOT NULL`,
		t.Schema, t.Name)
	// MariaDB and Percona Server can count without performance_schema. An
	// index that was not used has no row there.
	records(ctx, c, func(map[string]sql.NullString) {
		for i := range t.Indexes {
			t.Indexes[i].Reads = max(0, t.Indexes[i].Reads)
		}
	}, "SELECT 1 FROM DUAL WHERE @@userstat = 1")
	records(ctx, c, each(func(ix *Index, n int64) { ix.Reads = max(ix.Reads, n) }), `SELECT INDEX_NAME AS name, ROWS_READ AS n
		FROM information_schema.INDEX_STATISTICS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?`, t.Schema, t.Name)
}
