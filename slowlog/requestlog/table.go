package requestlog

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"strings"
	"time"
)

// A Table reads requests that the application logs into a MySQL table, one table a
// day in most places: requests_20261130. Columns are recognised by their names as
// the fields of a log are.
//
// It reads in a READ ONLY transaction, in chunks along the primary key, so that
// neither the table nor the server's undo log has to be held: rows that come
// while it reads may be seen or not. A table without a primary key is read by one
// statement, whose rows are streamed.
type Table struct {
	DB   *sql.DB
	Name string // "table" in the connection's schema, or "schema.table"

	// From and Until bound the time of the requests, if they are not zero:
	// From <= time < Until. They need a column that is recognised as the time, and
	// want an index on it.
	From, Until time.Time

	Mapping Mapping
	Routes  *Routes // nil means a new one without rules
	Weight  float64 // of rows that do not say theirs; 0 means 1

	// Location is the zone of DATETIME values; nil means UTC.
	Location *time.Location

	// ReuseRequest makes All yield the same Request each time.
	ReuseRequest bool

	// OnDamage, if not nil, is called for each row that is not about a request;
	// Line is the row's number in the order of reading.
	OnDamage func(Damage)

	scheme scheme
	rec    record
	reused Request
	stats  Stats

	schema, table string
	key           []string // columns of the primary key
	keyAt         []int    // their positions among columns
	columns       []*field
	timeColumn    string
}

// chunkRows is the number of rows of one statement.
const chunkRows = 10_000

// Stats returns what has been counted so far; Bytes are those of the values.
func (t *Table) Stats() Stats { return t.stats }

// Recognized returns what was taken for what up to now.
func (t *Table) Recognized() Mapping { return t.scheme.recognized() }

// All iterates over the rows. It ends after the first error, which is one of the
// database or of the context.
func (t *Table) All(ctx context.Context) iter.Seq2[*Request, error] {
	return func(yield func(*Request, error) bool) {
		if err := t.read(ctx, func(r *Request) bool { return yield(r, nil) }); err != nil {
			yield(nil, fmt.Errorf("requestlog: table %s: %w", t.Name, err))
		}
	}
}

func (t *Table) read(ctx context.Context, yield func(*Request) bool) error {
	tx, err := t.DB.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := t.open(ctx, tx); err != nil {
		return err
	}
	var last []any // the key of the last row
	for {
		query, args := t.chunk(last)
		n, more := 0, true
		last, n, more, err = t.rows(ctx, tx, query, args, yield)
		if err != nil || !more || len(t.key) == 0 || n < chunkRows {
			return err
		}
	}
}

// open learns the table's columns and its primary key.
func (t *Table) open(ctx context.Context, tx *sql.Tx) error {
	t.scheme, t.rec, t.stats = scheme{}, record{}, Stats{}
	t.scheme.init(t.Mapping)
	t.rec.clock.loc = t.Location
	if t.Routes == nil {
		t.Routes = new(Routes)
	}
	t.table = t.Name
	if schema, table, ok := strings.Cut(t.Name, "."); ok {
		t.schema, t.table = schema, table
	}
	rows, err := tx.QueryContext(ctx, "SELECT * FROM "+t.quoted()+" LIMIT 0")
	if err != nil {
		return err
	}
	names, err := rows.Columns()
	rows.Close()
	if err != nil {
		return err
	}
	t.columns, t.timeColumn = nil, ""
	for i, name := range names {
		f := t.scheme.column(name, i+1)
		t.columns = append(t.columns, f)
		if f.target == tTime && t.timeColumn == "" {
			t.timeColumn = name
		}
	}
	if t.timeColumn == "" && !(t.From.IsZero() && t.Until.IsZero()) {
		return fmt.Errorf("no column is known as the time; map one with time=COLUMN")
	}

	key, err := tx.QueryContext(ctx, `SELECT COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE
		WHERE TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND TABLE_NAME = ? AND CONSTRAINT_NAME = 'PRIMARY'
		ORDER BY ORDINAL_POSITION`, t.schema, t.table)
	if err != nil {
		return err
	}
	defer key.Close()
	t.key, t.keyAt = nil, nil
	for key.Next() {
		var name string
		if err := key.Scan(&name); err != nil {
			return err
		}
		for i := range names {
			if names[i] == name {
				t.key, t.keyAt = append(t.key, name), append(t.keyAt, i)
			}
		}
	}
	return key.Err()
}

func (t *Table) quoted() string {
	if t.schema != "" {
		return quoteName(t.schema) + "." + quoteName(t.table)
	}
	return quoteName(t.table)
}

func quoteName(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }

// chunk returns the statement that reads on behind the row with the given key.
func (t *Table) chunk(last []any) (string, []any) {
	var where []string
	var args []any
	if !t.From.IsZero() {
		where, args = append(where, quoteName(t.timeColumn)+" >= ?"), append(args, t.stamp(t.From))
	}
	if !t.Until.IsZero() {
		where, args = append(where, quoteName(t.timeColumn)+" < ?"), append(args, t.stamp(t.Until))
	}
	if len(last) > 0 {
		// (a, b) > (x, y), in the form that every version reads by the index.
		where, args = append(where, quoteName(t.key[0])+" >= ?"), append(args, last[0])
		var or []string
		for i := range t.key {
			var and []string
			for j := range i {
				and, args = append(and, quoteName(t.key[j])+" = ?"), append(args, last[j])
			}
			and, args = append(and, quoteName(t.key[i])+" > ?"), append(args, last[i])
			or = append(or, strings.Join(and, " AND "))
		}
		where = append(where, "("+strings.Join(or, " OR ")+")")
	}
	query := "SELECT * FROM " + t.quoted()
	if len(where) > 0 {
		query += " WHERE " + strings.Join(where, " AND ")
	}
	if len(t.key) > 0 {
		order := make([]string, len(t.key))
		for i := range t.key {
			order[i] = quoteName(t.key[i])
		}
		query += fmt.Sprintf(" ORDER BY %s LIMIT %d", strings.Join(order, ", "), chunkRows)
	}
	return query, args
}

func (t *Table) stamp(at time.Time) string {
	if t.Location != nil {
		at = at.In(t.Location)
	} else {
		at = at.UTC()
	}
	return at.Format("2006-01-02 15:04:05.999999")
}

// rows yields the rows of one statement. It returns the last row's key, the number
// of rows, and whether the caller wants more.
func (t *Table) rows(ctx context.Context, tx *sql.Tx, query string, args []any, yield func(*Request) bool) (last []any, n int, more bool, err error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, 0, false, err
	}
	defer rows.Close()
	values := make([]sql.RawBytes, len(t.columns))
	key := make([]any, len(t.columns)) // at the positions of the key's columns
	dest := make([]any, len(t.columns))
	for i := range dest {
		dest[i] = &values[i]
	}
	for _, i := range t.keyAt {
		dest[i] = &key[i]
	}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return nil, n, false, err
		}
		n++
		for _, i := range t.keyAt {
			values[i] = keyText(key[i])
		}
		if req := t.row(values); req != nil && !yield(req) {
			return nil, n, false, nil
		}
	}
	for _, i := range t.keyAt {
		last = append(last, key[i])
	}
	return last, n, true, rows.Err()
}

// keyText writes a value of the key as the other columns have theirs.
func keyText(v any) sql.RawBytes {
	switch v := v.(type) {
	case []byte:
		return v
	case time.Time:
		return v.AppendFormat(nil, time.RFC3339Nano)
	case nil:
		return nil
	}
	return fmt.Append(nil, v)
}

// row makes a request of a row, nil if it is none.
func (t *Table) row(values []sql.RawBytes) *Request {
	t.stats.Lines++
	req := &t.reused
	if !t.ReuseRequest {
		req = new(Request)
	}
	weight := 1.0
	if t.Weight > 0 {
		weight = t.Weight
	}
	t.rec.reset(req, weight)
	for i, v := range values {
		if v != nil {
			t.stats.Bytes += int64(len(v))
			t.rec.set(t.columns[i], string(v))
		}
	}
	if !t.rec.finish() {
		t.stats.Skipped++
		if t.OnDamage != nil {
			t.OnDamage(Damage{Line: t.stats.Lines, Reason: "not about a request: no page, URL, status or wall time in it"})
		}
		return nil
	}
	if req.Page == "" && req.URL != "" {
		req.Page = t.Routes.Page(req.Method, req.URL)
	}
	req.Line = t.stats.Lines
	t.stats.Requests++
	if req.Flags&(NegativeTime|AbsurdTime) != 0 {
		t.stats.Flagged++
	}
	return req
}
