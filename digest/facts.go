package digest

import (
	"math"
	"time"

	"github.com/quern-dev/quern/internal/fixed"
	"github.com/quern-dev/quern/slowlog"
)

// facts are what the aggregation takes from an event. Their strings may belong
// to the reader's buffer: who keeps one clones it.
type facts struct {
	weight   uint64 // in units
	time     int64  // nanoseconds since 1970, noTime if not known
	suspects uint64

	// The measures that are in every class, and whether they are given.
	queryTime, lockTime, rowsExamined          int64
	hasQueryTime, hasLockTime, hasRowsExamined bool
	// The other measures: fields, and what is in the event's metrics. values has
	// both, as measures makes it.
	rowsSent, rowsAffected, bytesSent          uint64
	hasRowsSent, hasRowsAffected, hasBytesSent bool
	metrics                                    []slowlog.Metric
	hists                                      *[numMeasures]bool
	values                                     []value
	measured                                   bool

	// statements that a server's summary says it suppressed
	suppressed uint64

	user, host, schema, routine string
	errno                       int32 // of an error or a kill, 0 if none
	sessionSampled              bool

	query        string
	traceID      string
	threadID     uint64
	offset, line int64
	truncated    bool
}

type value struct {
	measure Measure
	hist    bool // the class keeps a histogram of it
	v       int64
}

const noTime = math.MinInt64

// maxSecond bounds the times that count as known, in seconds before and after
// 1970.
const maxSecond = 1 << 33

// unixNano returns noTime for the zero time, for the first instant of 1970, as
// which a time of 0 reads, and for years that do not fit.
func unixNano(t time.Time) int64 {
	if sec := t.Unix(); t.IsZero() || sec < -maxSecond || sec > maxSecond {
		return noTime
	}
	if ns := t.UnixNano(); ns != 0 {
		return ns
	}
	return noTime
}

func timeOf(ns int64) time.Time {
	if ns == noTime {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// set fills f from the event and keeps the memory of f.values.
func (f *facts) set(ev *slowlog.Event, hists *[numMeasures]bool) {
	*f = facts{
		weight:         fixed.One,
		time:           unixNano(ev.Time),
		queryTime:      int64(max(ev.QueryTime, 0)),
		hasQueryTime:   ev.Has(slowlog.FieldQueryTime) || ev.QueryTime > 0,
		lockTime:       int64(max(ev.LockTime, 0)),
		hasLockTime:    ev.Has(slowlog.FieldLockTime) || ev.LockTime > 0,
		values:         f.values[:0],
		user:           ev.User,
		host:           ev.Host,
		schema:         ev.Schema,
		routine:        ev.StoredRoutine,
		errno:          int32(ev.Errno),
		sessionSampled: ev.SessionSampled,
		query:          ev.Query,
		threadID:       ev.ThreadID,
		offset:         ev.Offset,
		line:           ev.Line,
		truncated:      ev.Truncated,
		suppressed:     ev.Throttled,

		// A field that is not 0 the event has, whether its maker said so or not.
		rowsSent:        ev.RowsSent,
		hasRowsSent:     ev.Has(slowlog.FieldRowsSent) || ev.RowsSent > 0,
		rowsAffected:    ev.RowsAffected,
		hasRowsAffected: ev.Has(slowlog.FieldRowsAffected) || ev.RowsAffected > 0,
		bytesSent:       ev.BytesSent,
		hasBytesSent:    ev.Has(slowlog.FieldBytesSent) || ev.BytesSent > 0,
		metrics:         ev.Metrics,
		hists:           hists,
	}
	if ev.Weight != 1 {
		if w := fixed.Weight(ev.Weight); w > 0 {
			f.weight = w
		}
	}
	if f.host == "" {
		f.host = ev.IP
	}
	if f.errno == 0 {
		f.errno = int32(ev.Killed)
	}
	if ev.RowsExamined > math.MaxInt64 {
		f.suspects++
	} else {
		f.rowsExamined = int64(ev.RowsExamined)
		f.hasRowsExamined = ev.Has(slowlog.FieldRowsExamined) || ev.RowsExamined > 0
	}
}

// measures returns the measures that are not in every class, in the order of the
// event. What cannot be meant it counts as suspect.
func (f *facts) measures() []value {
	if f.measured {
		return f.values
	}
	f.measured = true
	f.field(RowsSent, f.rowsSent, f.hasRowsSent)
	f.field(RowsAffected, f.rowsAffected, f.hasRowsAffected)
	f.field(BytesSent, f.bytesSent, f.hasBytesSent)
	for i := range f.metrics {
		m := &f.metrics[i]
		if m.Suspect {
			f.suspects++
			continue
		}
		if !numericKeys[m.Key] {
			continue
		}
		n := m.Number()
		if n < 0 {
			f.suspects++ // a count above the largest int64
			continue
		}
		id := MeasureOf(m.Key)
		f.values = append(f.values, value{id, f.hists[id], n})
	}
	return f.values
}

func (f *facts) field(m Measure, v uint64, has bool) {
	if v > math.MaxInt64 {
		f.suspects++
	} else if has {
		f.values = append(f.values, value{m, f.hists[m], int64(v)})
	}
}
