package digest

import (
	"strings"

	"github.com/quern-dev/quern/slowlog"
)

// A Measure is something that a server measures of a statement: one of the
// fields of slowlog.Event below, or a slowlog.Key whose values are numbers
// (MeasureOf). Time spans are in nanoseconds; a boolean counts 1 or 0, so that
// its mean is the share of the statements for which it was true.
type Measure uint16

// The measures with a field in slowlog.Event.
const (
	QueryTime Measure = iota
	LockTime
	RowsSent
	RowsExamined
	RowsAffected
	BytesSent

	firstKeyMeasure
	numMeasures = firstKeyMeasure + Measure(slowlog.NumKeys)
)

// fieldMeasures are the names and kinds of the measures that are no keys.
var fieldMeasures = [firstKeyMeasure]struct {
	name string
	kind slowlog.Kind
}{
	QueryTime:    {"Query_time", slowlog.KindDuration},
	LockTime:     {"Lock_time", slowlog.KindDuration},
	RowsSent:     {"Rows_sent", slowlog.KindCount},
	RowsExamined: {"Rows_examined", slowlog.KindCount},
	RowsAffected: {"Rows_affected", slowlog.KindCount},
	BytesSent:    {"Bytes_sent", slowlog.KindBytes},
}

// MeasureOf returns the measure of the key's values.
func MeasureOf(k slowlog.Key) Measure { return firstKeyMeasure + Measure(k) }

// String returns the name that logs use, such as "Rows_examined".
func (m Measure) String() string {
	if m < firstKeyMeasure {
		return fieldMeasures[m].name
	}
	return slowlog.Key(m - firstKeyMeasure).String()
}

// Kind returns the type of the measure's values.
func (m Measure) Kind() slowlog.Kind {
	if m < firstKeyMeasure {
		return fieldMeasures[m].kind
	}
	return slowlog.Key(m - firstKeyMeasure).Kind()
}

// ParseMeasure returns the measure that logs call name, in any case of letters.
func ParseMeasure(name string) (Measure, bool) {
	for m := range firstKeyMeasure {
		if strings.EqualFold(name, fieldMeasures[m].name) {
			return m, true
		}
	}
	if k := slowlog.ParseKey(name); numericKeys[k] {
		return MeasureOf(k), true
	}
	return 0, false
}

// inEveryClass reports whether the measure has a field, and a histogram, in
// every Class.
func (m Measure) inEveryClass() bool {
	return m == QueryTime || m == LockTime || m == RowsExamined
}

// numericKeys tells the keys whose values are summed up: instants and texts are
// not, nor is the rate limit, which says how the log was sampled.
var numericKeys = func() (t [slowlog.NumKeys]bool) {
	for k := range slowlog.NumKeys {
		switch k.Kind() {
		case slowlog.KindCount, slowlog.KindBytes, slowlog.KindDuration, slowlog.KindBool:
			t[k] = k != slowlog.KeyLogSlowRateLimit
		}
	}
	return t
}()
