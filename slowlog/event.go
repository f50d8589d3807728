package slowlog

import (
	"strings"
	"time"
)

// An Event is one record of a slow log: a statement, or an administrator
// command, and what it cost the server.
//
// What everybody asks for has a field; every other value of the record's header
// is in Metrics, under the name that the log gives it. A field that the log did
// not give is zero: Has tells the two apart.
type Event struct {
	// Time is when the server wrote the record, which is when the statement had
	// ended, as far as TimeSource says. It is zero when the log does not tell.
	Time       time.Time
	TimeSource TimeSource

	User     string // name that the client logged in with
	Account  string // name of the account that the server matched it to
	Host     string // client's host name, empty where the server did not resolve it
	IP       string // client's address, empty for a socket
	ThreadID uint64 // connection id

	// Schema is the default schema of the statement: the record's own, or else
	// (SchemaInherited) the one of the log's last "use" line, by whatever
	// connection. A server writes "use" only when the schema is another than the
	// one it wrote last, and nothing for a connection that has none.
	Schema          string
	SchemaInherited bool

	// Query is the statement as the client sent it, without the semicolon that
	// the server adds. It is empty for an administrator command.
	Query string
	// Command is the name of an administrator command ("Ping", "Quit", "Close
	// stmt"), or empty for a statement.
	Command string
	// Throttled is the number of statements that the record stands for when it
	// is MySQL's summary of statements suppressed by
	// log_throttle_queries_not_using_indexes; QueryTime is then their sum and
	// Query the server's sentence.
	Throttled uint64

	QueryTime     time.Duration
	LockTime      time.Duration
	RowsSent      uint64
	RowsExamined  uint64
	RowsAffected  uint64
	BytesSent     uint64
	Errno         int    // error number that the statement ended with, 0 for success
	Killed        int    // error number that it was killed with, 0 if it was not
	StoredRoutine string // schema.name of the routine that ran the statement

	// Weight is how many statements this record stands for: the rate limit that
	// was in force, or 1.
	Weight float64
	// SessionSampled says that the rate limit picked sessions, not statements:
	// records of one session are then kept or left out together.
	SessionSampled bool

	// Metrics are the values that have no field above, in the order of the log,
	// and the values that no server can mean (Metric.Suspect), whatever their
	// name.
	Metrics []Metric
	// Plan is the plan as the log has it (MariaDB's "# explain:" lines without
	// their mark, TiDB's Plan value), or empty.
	Plan string
	// Warnings are MariaDB's warning lines without their mark ("Warning 1062
	// Duplicate entry ..."), one a line, or empty.
	Warnings string

	Offset int64 // of the record's first byte in the input
	Line   int64 // of the record's first line, from 1

	// Truncated says that the statement is not whole: the log ended, another
	// record began or Reader.MaxStatement was reached before its end.
	Truncated bool

	has fieldSet
}

// Start returns when the statement began: Time less QueryTime. It is zero when
// Time is.
func (e *Event) Start() time.Time {
	if e.Time.IsZero() {
		return e.Time
	}
	return e.Time.Add(-e.QueryTime)
}

// Has reports whether the record gave a credible value for the field.
func (e *Event) Has(f Field) bool { return e.has&(1<<f) != 0 }

// SetHas marks fields as given. Those who build events by other means than a
// Reader use it so that a zero is a zero.
func (e *Event) SetHas(fs ...Field) {
	for _, f := range fs {
		e.has |= 1 << f
	}
}

// Metric returns the value of the key, if the record has one.
func (e *Event) Metric(k Key) (m Metric, ok bool) {
	for i := range e.Metrics {
		if e.Metrics[i].Key == k && k != KeyUnknown {
			return e.Metrics[i], true
		}
	}
	return Metric{}, false
}

// MetricNamed returns the value that the log calls name, in any case of letters.
func (e *Event) MetricNamed(name string) (m Metric, ok bool) {
	for i := range e.Metrics {
		if strings.EqualFold(e.Metrics[i].Name, name) {
			return e.Metrics[i], true
		}
	}
	return Metric{}, false
}

// Clone returns a copy that shares no memory with e. Those who set
// Reader.ReuseEvent use it to keep an event.
func (e *Event) Clone() *Event {
	c := *e
	for _, s := range []*string{&c.User, &c.Account, &c.Host, &c.IP, &c.Schema, &c.Query, &c.Command, &c.StoredRoutine, &c.Plan, &c.Warnings} {
		*s = strings.Clone(*s)
	}
	if e.Metrics != nil {
		c.Metrics = make([]Metric, len(e.Metrics))
		for i, m := range e.Metrics {
			m.Text = strings.Clone(m.Text)
			c.Metrics[i] = m
		}
	}
	return &c
}

// A TimeSource says where an event's Time comes from.
type TimeSource uint8

const (
	TimeUnknown   TimeSource = iota // the log does not tell
	TimeHeader                      // the record's own "# Time" line
	TimeTimestamp                   // the record's "SET timestamp", whole seconds in most logs and, since MySQL 8.0.14, the statement's start
	TimeCarried                     // the last "# Time" line before the record
)

func (s TimeSource) String() string {
	return [...]string{"unknown", "header", "timestamp", "carried"}[s]
}

// A Field is a field of Event that a record may lack.
type Field uint8

const (
	FieldUser Field = iota
	FieldThreadID
	FieldSchema
	FieldQueryTime
	FieldLockTime
	FieldRowsSent
	FieldRowsExamined
	FieldRowsAffected
	FieldBytesSent
	FieldErrno
	FieldKilled
)

// A fieldSet is a set of Fields, bit 1<<f for f.
type fieldSet uint16

// A Metric is one value of a record's header.
type Metric struct {
	Key     Key    // which it is, KeyUnknown for a name that this package does not know
	Suspect bool   // the value is none that a server can mean; only Text holds it
	Name    string // as the log writes it; QC_hit and QC_Hit have one Key
	Text    string // value as the log writes it
	num     int64  // 0 for a text and what is suspect
}

// Kind returns the type of the metric's value: that of its key, or KindText.
func (m *Metric) Kind() Kind {
	if m.Suspect {
		return KindText
	}
	return m.Key.Kind()
}

// Count returns the value of a KindCount or KindBytes metric, else 0.
func (m *Metric) Count() uint64 {
	if k := m.Kind(); k == KindCount || k == KindBytes {
		return uint64(m.num)
	}
	return 0
}

// Duration returns the value of a KindDuration metric, else 0.
func (m *Metric) Duration() time.Duration {
	if m.Kind() == KindDuration {
		return time.Duration(m.num)
	}
	return 0
}

// Bool returns the value of a KindBool metric, else false.
func (m *Metric) Bool() bool { return m.Kind() == KindBool && m.num != 0 }

// Time returns the value of a KindTime metric, else the zero time.
func (m *Metric) Time() time.Time {
	if m.Kind() == KindTime {
		return time.Unix(0, m.num).UTC()
	}
	return time.Time{}
}

// Number returns the value as an integer: a count, bytes, nanoseconds, or 0 and
// 1 for a boolean; 0 for text.
func (m *Metric) Number() int64 { return m.num }
