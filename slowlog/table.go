package slowlog

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"
)

// A TableFormat is a form in which the table mysql.slow_log leaves a server.
type TableFormat uint8

const (
	TableTSV      TableFormat = iota // as "mysql -B" prints it: tabs, \n for a line break
	TableCSV                         // the table's own file slow_log.CSV, or another CSV of its columns
	TableVertical                    // as \G prints it
)

// A TableReader reads the rows of the table mysql.slow_log (log_output=TABLE).
//
// Its times are of type TIME(6) and TIMESTAMP(6), microseconds, in MySQL since
// 5.7 and MariaDB since 5.3; before, they are whole seconds, and shorter
// statements show as 0 (Stats.WholeSeconds). A query time ends at 838:59:59.
//
// start_time is, in spite of its name, when the statement ended in MySQL and when
// it began in MariaDB. MariaDB's table has a column rows_affected, by which it is
// known; an event's Time is the end in both. A time is one of Location.
//
// The values that have no field (last_insert_id, insert_id, server_id) are in
// Metrics. The name of an administrator command stands in the statement's
// column; a text that is no more than such a name is taken for one.
//
// The fields may be set before the first Read.
type TableReader struct {
	Options
	// OnDamage, if not nil, is called with each damaged place, in order.
	OnDamage func(Damage)

	records
	format TableFormat
	rows   *sql.Rows // instead of an input
	cells  []any     // of a row of these

	columns []string // nil until they are known
	fields  []string // of the row that is read
}

// NewTableReader returns a TableReader of r, which holds the table in the given
// format. It buffers its input.
//
// A first row of column names is understood; without one, the columns are those
// that servers' tables have. In TableVertical nothing tells the end of a
// statement from lines that look so, the first of which ends it, and a NUL is a
// blank.
func NewTableReader(r io.Reader, format TableFormat) *TableReader {
	return &TableReader{records: newRecords(r), format: format}
}

// NewRowsReader returns a TableReader of the result of a query such as
//
//	SELECT * FROM mysql.slow_log
//
// The columns are known by their names; some may be missing. The rows are read
// one at a time, as far as the driver does so; closing them is the caller's
// part. An event's Offset is its number, from 0, and its Line that plus 1.
func NewRowsReader(rows *sql.Rows) *TableReader {
	return &TableReader{records: newRecords(nil), rows: rows}
}

// Read returns the next event, or io.EOF behind the last one. Other errors are
// those of the input or the database.
func (r *TableReader) Read() (*Event, error) {
	if r.rows != nil {
		return r.readRow()
	}
	return r.read(r.Options, r.OnDamage, r.next)
}

// All yields the events that are left. An error other than io.EOF is yielded
// with a nil event, as the last.
func (r *TableReader) All() iter.Seq2[*Event, error] { return all(r.Read) }

// serverColumns are the columns in their order in MariaDB's table. MySQL's has
// all but the last; before 5.6 it had no thread_id.
var serverColumns = []string{
	"start_time", "user_host", "query_time", "lock_time", "rows_sent", "rows_examined", "db", "last_insert_id", "insert_id", "server_id", "sql_text", "thread_id", "rows_affected",
}

const minColumns = 11

// next reads a row of a text format.
func (r *TableReader) next(s string, final bool) (n int, v verdict) {
	if s[0] == '\n' || s[0] == '\r' {
		return 1, skipped
	}
	r.fields = r.fields[:0]
	var ok, more bool
	switch r.format {
	case TableTSV:
		n, ok, more = r.tsv(s, final)
	case TableCSV:
		n, ok, more = r.csv(s, final)
	case TableVertical:
		n, ok, more = r.vertical(s, final)
	}
	if more {
		if len(s) <= r.dec.maxStatement()+maxHeaderLine {
			return 0, needMore
		}
		n, ok = len(s), false
	}
	ok = ok && len(r.fields) > 0
	if ok && r.columns == nil {
		if r.fields[0] == "start_time" {
			for _, name := range r.fields {
				r.columns = append(r.columns, strings.ToLower(strings.Clone(name)))
			}
			return n, skipped
		}
		if len(r.fields) >= minColumns && len(r.fields) <= len(serverColumns) {
			r.columns = serverColumns[:len(r.fields)]
		}
	}
	if !ok || len(r.fields) != len(r.columns) {
		r.dec.damage(BadRow, s[:n], 0, s)
		return n, skipped
	}
	r.place(s, 0)
	if !r.fill() {
		r.dec.damage(BadRow, s[:n], 0, s)
		return n, skipped
	}
	return n, haveEvent
}

// tsv takes apart a row of tab-separated values.
func (r *TableReader) tsv(s string, final bool) (n int, ok, more bool) {
	end, n, ok := cutLine(s, 0, final)
	if !ok {
		return 0, false, true
	}
	if n > end+1 { // a carriage return is the statement's
		end++
	}
	for field := range strings.SplitSeq(s[:end], "\t") {
		r.fields = append(r.fields, unescape(field, "0\x00b\bn\nr\rt\tZ\x1a"))
	}
	return n, true, false
}

// unescape undoes backslash escapes; pairs are an escape's letter and what it
// stands for. Other escaped bytes stand for themselves.
func unescape(s, pairs string) string {
	i := strings.IndexByte(s, '\\')
	if i < 0 {
		return s
	}
	b := append(make([]byte, 0, len(s)), s[:i]...)
	for ; i < len(s); i++ {
		c := s[i]
		if c == '\\' && i+1 < len(s) {
			i++
			c = s[i]
			for p := 0; p < len(pairs); p += 2 {
				if pairs[p] == c {
					c = pairs[p+1]
					break
				}
			}
		}
		b = append(b, c)
	}
	return string(b)
}

// csv takes apart a row of comma-separated values. The CSV engine writes \" for
// a quote in a value, others "".
func (r *TableReader) csv(s string, final bool) (n int, ok, more bool) {
	p := 0
	for {
		if p < len(s) && s[p] == '"' {
			p++
			start, doubled := p, false
			for {
				i := strings.IndexAny(s[p:], `"\`)
				if i < 0 || p+i+1 >= len(s) && !(final && s[p+i] == '"') {
					if final {
						return len(s), false, false
					}
					return 0, false, true
				}
				p += i
				if s[p] == '\\' {
					p += 2
				} else if p+1 < len(s) && s[p+1] == '"' {
					p += 2
					doubled = true
				} else {
					break
				}
			}
			field := s[start:p]
			if doubled {
				field = strings.ReplaceAll(field, `""`, `"`)
			}
			r.fields = append(r.fields, unescape(field, "n\nr\rt\t0\x00"))
			p++
		} else {
			start := p
			i := strings.IndexAny(s[p:], ",\n")
			if i < 0 {
				if !final {
					return 0, false, true
				}
				i = len(s) - p
			}
			p += i
			r.fields = append(r.fields, strings.TrimSuffix(s[start:p], "\r"))
		}
		switch {
		case p == len(s):
			return p, true, !final
		case s[p] == ',':
			p++
		case s[p] == '\n':
			return p + 1, true, false
		case s[p] == '\r' && p+1 < len(s) && s[p+1] == '\n':
			return p + 2, true, false
		default: // text behind a quoted value
			_, next, whole := cutLine(s, p, final)
			return next, false, !whole
		}
	}
}

// vertical takes apart a row of lines "name: value" under a line of asterisks.
func (r *TableReader) vertical(s string, final bool) (n int, ok, more bool) {
	end, p, whole := cutLine(s, 0, final)
	if !whole {
		return 0, false, true
	}
	if !isRowMark(s[:end]) {
		return p, false, false
	}
	var columns []string
	text := 0 // where the last column's value starts
	for {
		if p == len(s) && !final {
			return 0, false, true
		}
		end, next, whole := cutLine(s, p, final)
		if !whole {
			return 0, false, true
		}
		line := s[p:end]
		name, value, found := strings.Cut(line, ": ")
		name = strings.TrimLeft(name, " ")
		statement := len(columns) > 0 && columns[len(columns)-1] == "sql_text"
		switch {
		case p == len(s), isRowMark(line) && !(statement && len(columns) < len(r.columns)):
			if r.columns == nil && slices.Contains(columns, "sql_text") { // else it is torn
				r.columns = columns
			}
			return p, slices.Equal(columns, r.columns), false
		case found && slices.Contains(serverColumns, name) && !slices.Contains(columns, name):
			columns = append(columns, strings.Clone(name))
			r.fields = append(r.fields, value)
			text = end - len(value)
		case statement: // goes on
			r.fields[len(r.fields)-1] = s[text:end]
		case line == "" || strings.HasSuffix(line, " rows in set") || strings.Contains(line, " rows in set ("):
			return next, slices.Equal(columns, r.columns) || r.columns == nil && len(columns) >= minColumns, false
		default:
			return next, false, false
		}
		p = next
	}
}

// isRowMark recognises "*** 2. row ***".
func isRowMark(line string) bool {
	rest := strings.TrimLeft(line, "*")
	n, rest, ok := strings.Cut(rest, ". row ")
	return ok && len(line) > len(rest)+10 && strings.Trim(n, " 0123456789") == "" && rest != "" && strings.Trim(rest, "*") == ""
}

// readRow reads a row of a database.
func (r *TableReader) readRow() (*Event, error) {
	d := &r.dec
	d.opt, d.onDamage = r.Options, r.OnDamage
	if r.columns == nil {
		columns, err := r.rows.Columns()
		if err != nil {
			return nil, fmt.Errorf("columns of mysql.slow_log: %w", err)
		}
		for _, name := range columns {
			r.columns = append(r.columns, strings.ToLower(name))
		}
		if !slices.Contains(r.columns, "sql_text") || !slices.Contains(r.columns, "start_time") {
			return nil, errors.New("rows have no columns start_time and sql_text: expected those of mysql.slow_log")
		}
		r.cells = make([]any, len(columns))
	}
	for r.rows.Next() {
		cells := make([]sql.RawBytes, len(r.columns))
		for i := range cells {
			r.cells[i] = &cells[i]
		}
		if err := r.rows.Scan(r.cells...); err != nil {
			return nil, fmt.Errorf("row %d of mysql.slow_log: %w", d.base+1, err)
		}
		r.fields = r.fields[:0]
		for _, c := range cells {
			r.fields = append(r.fields, string(c))
		}
		d.ev = &Event{Weight: 1, Offset: d.base, Line: d.line}
		ok := r.fill()
		if !ok {
			d.damage(BadRow, strings.Join(r.fields, "\t"), 0, "")
		}
		d.base++
		d.line++
		if ok {
			return d.ev, nil
		}
	}
	if err := r.rows.Err(); err != nil {
		return nil, fmt.Errorf("rows of mysql.slow_log: %w", err)
	}
	return nil, io.EOF
}

// fill reads the row's fields into the event.
func (r *TableReader) fill() bool {
	d, e := &r.dec, r.dec.ev
	d.limited = false
	started := false
	for i, name := range r.columns {
		v := strings.Clone(r.fields[i])
		switch name {
		case "start_time":
			t, ok := parseTime(v, d.location())
			if !ok { // as a driver that parses times hands it on
				var err error
				if t, err = time.Parse(time.RFC3339Nano, v); err != nil {
					return false
				}
			}
			e.Time, e.TimeSource = t.In(d.location()), TimeHeader
		case "user_host":
			d.user(v)
		case "query_time":
			t, ok := parseClock(v)
			e.QueryTime = t
			d.given(FieldQueryTime, ok, name, v)
		case "lock_time":
			t, ok := parseClock(v)
			e.LockTime = t
			d.given(FieldLockTime, ok, name, v)
		case "rows_sent":
			d.count(&e.RowsSent, FieldRowsSent, name, v)
		case "rows_examined":
			d.count(&e.RowsExamined, FieldRowsExamined, name, v)
		case "rows_affected":
			d.count(&e.RowsAffected, FieldRowsAffected, name, v)
			started = true
		case "thread_id":
			d.count(&e.ThreadID, FieldThreadID, name, v)
		case "db":
			if v == "NULL" && r.rows == nil {
				v = ""
			}
			e.Schema = v
			e.SetHas(FieldSchema)
		case "sql_text":
			switch {
			case isTableCommand(v):
				e.Command = v
			default:
				e.Query = v
				if strings.HasPrefix(v, "throttle:") && e.User == "" {
					e.Throttled = throttled(v)
					d.stats.Throttled += int64(e.Throttled)
				}
			}
		default:
			e.Metrics = append(e.Metrics, Metric{Name: name, Text: v})
		}
	}
	if started {
		e.Time = e.Time.Add(e.QueryTime)
	}
	if len(e.Query) > d.maxStatement() {
		e.Query, e.Truncated = e.Query[:d.maxStatement()], true
	}
	d.tally(e)
	return true
}

// isTableCommand recognises the name of an administrator command. "Query" and
// "Execute" are none: their statements stand in their place.
func isTableCommand(s string) bool {
	return generalCommands[s] != "" && s != "Query" && s != "Execute"
}

// parseClock reads a TIME such as "00:00:01.250000".
func parseClock(s string) (time.Duration, bool) {
	hours, rest, ok := strings.Cut(s, ":")
	if !ok || len(rest) < 5 || rest[2] != ':' {
		return 0, false
	}
	h, ok := parseCount(hours)
	m, ok1 := parseCount(rest[:2])
	sec, ok2 := parseSeconds(rest[3:])
	if !ok || !ok1 || !ok2 || h > 10_000 || m > 59 || sec >= time.Minute {
		return 0, false
	}
	return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + sec, true
}
