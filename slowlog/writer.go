package slowlog

import (
	"bufio"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quern-dev/quern/internal/lexer"
)

// A Writer writes events as a slow log, in the words that MySQL 8 has for what
// every server logs and Percona Server and MariaDB for the rest, so that a
// Reader and other tools read them.
//
// What a Reader makes of the log are the events as they were written, but for
// their Offset and Line, and these:
//
//   - an event without a QueryTime has one, of 0: a record of a slow log must
//     have one; a suspect one is the first of the metrics;
//   - metrics with the name of another header line, as torn lines give them, are
//     left out;
//   - a Weight that no metric of the event explains becomes a rate limit, and
//     a weight with a fraction a whole one;
//   - a Time that was carried from a record that was not written is the event's
//     own, and so is a schema;
//   - an event without a Time has that of the one before;
//   - line breaks in a name are blanks;
//   - lines of a statement that would read as the server's own, such as
//     "# administrator command: Quit" and the header of a record in comments, have
//     a blank before them. Within literals and longer comments they have none: what
//     a Reader makes of them, and of a statement that is not whole, Reader tells.
type Writer struct {
	// Redact, if not nil, is called with each statement and returns what is to be
	// written, such as its fingerprint. What else may hold a value of a statement
	// is then left out: the texts of warnings behind their number, plans, and
	// metrics that this package does not know.
	Redact func(query string) string

	w       *bufio.Writer
	buf     []byte
	time    time.Time // of the last "# Time" line
	schema  string    // of the last "use" line
	stamped bool      // there has been a SET line
}

// NewWriter returns a Writer to w. It buffers; call Flush in the end.
func NewWriter(w io.Writer) *Writer { return &Writer{w: bufio.NewWriter(w)} }

// Flush writes what is buffered.
func (w *Writer) Flush() error { return w.w.Flush() }

// Write writes one event. It returns the error of the underlying writer, which
// stays.
func (w *Writer) Write(ev *Event) error {
	b := w.buf[:0]
	query := ev.Query
	if w.Redact != nil && ev.Command == "" {
		query = w.Redact(query)
	}
	timed, stamped := w.tells(ev)
	shielded := !stamped && looksLikeLog(query)
	if ev.Schema == "" && !ev.Has(FieldSchema) && w.schema != "" || shielded && w.stamped {
		// A banner ends the force of the last schema, for which servers have no other
		// line, and lets a SET without a timestamp be the server's.
		b = append(b, "/usr/sbin/mysqld, Version: as before. started with:\nTcp port: 0  Unix socket: \nTime                 Id Command    Argument\n"...)
		w.schema, w.stamped = "", false
	}
	if timed {
		b = append(b, timePrefix...)
		b = ev.Time.UTC().AppendFormat(b, "2006-01-02T15:04:05")
		b = appendFraction(b, ev.Time.Nanosecond())
		b = append(b, "Z\n"...)
		w.time = ev.Time
	}
	b = appendUser(b, ev)
	b = w.appendValues(b, ev)
	b = w.appendTexts(b, ev)
	b = w.appendUse(b, ev)
	if stamped {
		b = append(b, "SET timestamp="...)
		b = appendStamp(b, ev)
		b = append(b, ";\n"...)
		w.stamped = true
	} else if shielded {
		b = append(b, "SET insert_id=0;\n"...)
		w.stamped = true
	}
	if ev.Command != "" {
		b = append(b, adminPrefix+" "...)
		b = append(b, oneLine.Replace(ev.Command)...)
	} else {
		b = appendQuery(b, query)
	}
	if ev.Command != "" || !ev.Truncated {
		b = append(b, ';')
	}
	b = append(b, '\n')
	w.buf = b
	_, err := w.w.Write(b)
	return err
}

// tells reports whether the event's time is told by a "# Time" line and by a SET
// line.
func (w *Writer) tells(ev *Event) (timed, stamped bool) {
	switch {
	case ev.Time.IsZero():
		return false, false
	case ev.TimeSource == TimeTimestamp:
		return false, true
	case ev.TimeSource == TimeCarried && ev.Time.Equal(w.time):
		return false, false
	}
	return true, ev.Time.Unix() >= 0 // no server takes a timestamp before 1970
}

// looksLikeLog reports whether the statement begins as a line of the server's own
// does, or with a blank one, which only a SET line before it tells apart.
func looksLikeLog(query string) bool {
	if strings.HasPrefix(query, "#") || strings.HasPrefix(query, "use ") {
		return true
	}
	line, _, several := strings.Cut(query, "\n")
	if !several && len(line) <= maxHeaderLine {
		line += ";"
	}
	line = strings.TrimSuffix(line, "\r")
	_, _, set := setValues(line)
	return set || isStrayHeaderLine(line)
}

// appendStamp writes the time as seconds since 1970, with a fraction where it
// is the only time of the record.
func appendStamp(b []byte, ev *Event) []byte {
	b = strconv.AppendInt(b, ev.Time.Unix(), 10)
	if ev.TimeSource == TimeTimestamp && ev.Time.Nanosecond() != 0 {
		b = appendFraction(b, ev.Time.Nanosecond())
	}
	return b
}

// appendFraction writes ".123456", or nine digits where they are needed.
func appendFraction(b []byte, nsec int) []byte {
	digits := 6
	if nsec%1000 != 0 {
		digits = 9
	} else {
		nsec /= 1000
	}
	b = append(b, '.')
	s := strconv.Itoa(nsec)
	for range digits - len(s) {
		b = append(b, '0')
	}
	return append(b, s...)
}

func appendSeconds(b []byte, d time.Duration) []byte {
	b = strconv.AppendInt(b, int64(d/time.Second), 10)
	return appendFraction(b, int(d%time.Second))
}

// oneLine returns s without line breaks, for a header line. A carriage return
// breaks none by itself: the Reader leaves it in a name too.
var oneLine = strings.NewReplacer("\r\n", " ", "\n", " ")

func appendUser(b []byte, ev *Event) []byte {
	if ev.Has(FieldUser) {
		b = append(b, userPrefix...)
		b = append(b, oneLine.Replace(ev.Account)...)
		b = append(b, '[')
		b = append(b, oneLine.Replace(ev.User)...)
		b = append(b, "] @ "...)
		b = append(b, oneLine.Replace(ev.Host)...)
		b = append(b, " ["...)
		b = append(b, oneLine.Replace(ev.IP)...)
		b = append(b, ']')
		if ev.Has(FieldThreadID) {
			b = append(b, "  Id: "...)
			b = strconv.AppendUint(b, ev.ThreadID, 10)
		}
		return append(b, '\n')
	}
	if ev.Has(FieldThreadID) {
		b = append(b, "# Thread_id: "...)
		b = strconv.AppendUint(b, ev.ThreadID, 10)
		b = append(b, '\n')
	}
	return b
}

// appendValues writes what the record measured.
func (w *Writer) appendValues(b []byte, ev *Event) []byte {
	if ev.Has(FieldSchema) && ev.Schema == "" {
		b = append(b, "# Schema: \n"...)
	}
	b = append(b, queryPrefix...)
	suspect := slices.IndexFunc(ev.Metrics, func(m Metric) bool { return m.Suspect && lookupKey(m.Name) == keyFieldQueryTime })
	if suspect >= 0 && !ev.Has(FieldQueryTime) && w.Redact == nil {
		b = append(b, oneLine.Replace(ev.Metrics[suspect].Text)...)
	} else {
		b = appendSeconds(b, ev.QueryTime)
	}
	for _, v := range []struct {
		field Field
		name  string
		value uint64
	}{
		{FieldLockTime, "  Lock_time: ", 0},
		{FieldRowsSent, "  Rows_sent: ", ev.RowsSent},
		{FieldRowsExamined, "  Rows_examined: ", ev.RowsExamined},
		{FieldRowsAffected, "  Rows_affected: ", ev.RowsAffected},
		{FieldBytesSent, "  Bytes_sent: ", ev.BytesSent},
		{FieldErrno, "  Last_errno: ", uint64(ev.Errno)},
		{FieldKilled, "  Killed: ", uint64(ev.Killed)},
	} {
		if !ev.Has(v.field) {
			continue
		}
		b = append(b, v.name...)
		if v.field == FieldLockTime {
			b = appendSeconds(b, ev.LockTime)
		} else {
			b = strconv.AppendUint(b, v.value, 10)
		}
	}
	b = append(b, '\n')

	// The metrics: several on a line where their values cannot hold a blank.
	const onLine = 6
	n := 0
	for i := range ev.Metrics {
		m := &ev.Metrics[i]
		if i == suspect || isSpecial("# "+m.Name+": ") {
			continue // it would be another line of the header, or of the next record's
		}
		if w.Redact != nil && m.Kind() == KindText && m.Key != KeyLogSlowRateType {
			continue
		}
		alone := m.Kind() == KindText
		if n > 0 && (alone || n == onLine) {
			b = append(b, '\n')
			n = 0
		}
		switch {
		case n > 0:
			b = append(b, "  "...)
		case lookupKey(m.Name) == keyFieldQueryTime: // the second of a damaged header must begin no other
			b = append(b, "#   "...)
		default:
			b = append(b, "# "...)
		}
		b = append(b, m.Name...)
		b = append(b, ": "...)
		b = append(b, oneLine.Replace(m.Text)...)
		if n++; alone {
			b = append(b, '\n')
			n = 0
		}
	}
	if n > 0 {
		b = append(b, '\n')
	}
	if _, ok := ev.Metric(KeyLogSlowRateLimit); !ok && ev.Weight > 1 {
		kind := "query"
		if ev.SessionSampled {
			kind = "session"
		}
		b = append(b, "# Log_slow_rate_type: "...)
		b = append(b, kind...)
		b = append(b, "  Log_slow_rate_limit: "...)
		b = strconv.AppendInt(b, int64(math.Round(ev.Weight)), 10)
		b = append(b, '\n')
	}
	return b
}

// appendTexts writes the routine, the plan and the warnings.
func (w *Writer) appendTexts(b []byte, ev *Event) []byte {
	if ev.StoredRoutine != "" {
		b = append(b, "# Stored_routine: "...)
		b = append(b, oneLine.Replace(ev.StoredRoutine)...)
		b = append(b, '\n')
	}
	if ev.Plan != "" && w.Redact == nil {
		for line := range strings.SplitSeq(ev.Plan, "\n") {
			b = append(b, "# explain: "...)
			b = append(b, line...)
			b = append(b, '\n')
		}
	}
	if ev.Warnings != "" {
		b = append(b, "#\n# Warnings\n"...)
		for line := range strings.SplitSeq(ev.Warnings, "\n") {
			if w.Redact != nil { // "Warning 1062 Duplicate entry ..."
				f := strings.SplitN(line, " ", 3)
				line = strings.Join(f[:min(len(f), 2)], " ")
			}
			b = append(b, "# "...)
			b = append(b, line...)
			b = append(b, '\n')
		}
	}
	return b
}

// appendUse writes the "use" line.
func (w *Writer) appendUse(b []byte, ev *Event) []byte {
	if ev.Schema == "" || !ev.Has(FieldSchema) && ev.Schema == w.schema {
		return b
	}
	w.schema = strings.Clone(oneLine.Replace(ev.Schema))
	b = append(b, "use "...)
	if strings.Trim(w.schema, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$") == "" {
		b = append(b, w.schema...)
	} else {
		b = append(b, '`')
		b = append(b, strings.ReplaceAll(w.schema, "`", "``")...)
		b = append(b, '`')
	}
	return append(b, ";\n"...)
}

// appendQuery writes the statement, with a blank before each line of it outside
// of literals and comments that a Reader would take for one of the server's.
func appendQuery(b []byte, query string) []byte {
	if strings.IndexByte(query, '#') < 0 && !strings.Contains(query, ", Version: ") {
		return append(b, query...)
	}
	text := query + ";\n" + queryPrefix + "0\n" // a header is told by what follows it, too
	_, command := adminCommand(query)
	start, _ := startAt(text, 0, false, true)
	plain, _ := noBanner(text, 0, true) // also of a server without a path, as behind a use line
	if command || start || !plain {
		b = append(b, ' ')
	}
	var lex lexer.Scan
	for i := 0; i < len(query); {
		next, _, _ := nextStart(text, i, true)
		if text[next-1] != '\n' { // a header behind a torn line, by the line that follows
			next += strings.IndexByte(text[next:], '\n') + 1
		}
		next = min(next, len(query))
		lex.Feed(bytesOf(query[i:next]))
		b = append(b, query[i:next]...)
		if next < len(query) && lex.Ground() {
			b = append(b, ' ')
		}
		i = next
	}
	return b
}
