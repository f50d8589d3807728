package digest

import (
	"math/bits"

	"github.com/quern-dev/quern/internal/fixed"
)

// A backlog keeps the measures of a class's last events, a row for each, until
// there are so many that adding them up pays: what an event adds to lies in so
// many places that to fetch them takes longer than to add. All sums are exact, so
// that the order does not matter.
type backlog struct {
	measures []Measure // of a row, behind those that are in every class
	rows     []int64
}

const (
	backlogRows = 16
	// backlogHead is the number of values before those of backlog.measures: query
	// time, lock time, rows examined, and when.
	backlogHead = 4
	// backlogEvery is how often a class without a backlog is given one.
	backlogEvery = 8
	// maxBacklogs bounds the memory of backlogs, for it is the frequent classes
	// that need them.
	maxBacklogs = 1 << 10
)

func newBacklog(d *detail) *backlog {
	b := &backlog{
		measures: make([]Measure, len(d.measures)),
		rows:     make([]int64, 0, backlogRows*(backlogHead+len(d.measures))),
	}
	for i := range d.measures {
		b.measures[i] = d.measures[i].measure
	}
	return b
}

// add adds a row. It reports whether the event has one: the measures that the
// events before it have, in their order, nothing suspect, and a weight of 1.
func (b *backlog) add(f *facts) bool {
	if f.weight != fixed.One || !f.hasQueryTime || !f.hasLockTime || !f.hasRowsExamined || f.suspects > 0 {
		return false
	}
	n := len(b.rows)
	row := b.rows[n : n+backlogHead+len(b.measures)]
	row[0], row[1], row[2], row[3] = f.queryTime, f.lockTime, f.rowsExamined, f.time
	row = row[backlogHead:]
	measures := b.measures[:len(row)]
	at, ok := 0, true
	put := func(m Measure, v uint64) {
		if ok = ok && at < len(row) && measures[at] == m && int64(v) >= 0; ok {
			row[at] = int64(v)
			at++
		}
	}
	if f.hasRowsSent {
		put(RowsSent, f.rowsSent)
	}
	if f.hasRowsAffected {
		put(RowsAffected, f.rowsAffected)
	}
	if f.hasBytesSent {
		put(BytesSent, f.bytesSent)
	}
	if !ok {
		return false
	}
	for i := range f.metrics {
		m := &f.metrics[i]
		v := m.Number()
		if at < len(row) && measures[at] == MeasureOf(m.Key) && v >= 0 && !m.Suspect {
			row[at] = v
			at++
		} else if m.Suspect || numericKeys[m.Key] {
			return false
		}
	}
	if at < len(row) {
		return false
	}
	b.rows = b.rows[:n+backlogHead+len(b.measures)]
	return true
}

func (b *backlog) full() bool { return len(b.rows) == cap(b.rows) }

// settle adds the class's backlog to it.
func (c *Class) settle() {
	b := c.backlog
	if len(b.rows) == 0 {
		return
	}
	width := backlogHead + len(b.measures)
	c.QueryTime.h.addColumn(b.rows, width)
	c.LockTime.h.addColumn(b.rows[1:], width)
	c.RowsExamined.addColumn(b.rows[2:], width)
	d := c.detail
	for i := 0; i < len(b.rows); i += width {
		d.timeline.add(b.rows[i+3], b.rows[i], fixed.One, classIntervals)
	}
	for i := range b.measures {
		if m := &d.measures[i]; m.hist {
			m.h.addColumn(b.rows[backlogHead+i:], width)
		} else {
			m.h.Summary.addColumn(b.rows[backlogHead+i:], width)
		}
	}
	b.rows = b.rows[:0]
}

// share makes the class ready to be shared: whole, with no backlog.
func (c *Class) share() {
	if c.backlog != nil {
		c.settle()
		c.backlog = nil
	}
}

// addColumn adds every width-th of the values, each of weight 1.
func (h *Histogram) addColumn(values []int64, width int) {
	if h.buckets == nil {
		for i := 0; i < len(values); i += width {
			h.add(values[i], fixed.One)
		}
		return
	}
	for i := 0; i < len(values); i += width {
		h.buckets.add(bucketOf(values[i]), fixed.One)
	}
	h.Summary.addColumn(values, width)
}

// addColumn adds every width-th of the values, each of weight 1, to what is not
// empty.
func (s *Summary) addColumn(values []int64, width int) {
	low, high := values[0], values[0]
	n := uint64(0)
	for i := 0; i < len(values); i += width {
		low, high = min(low, values[i]), max(high, values[i])
		n++
	}
	var sum fixed.U128
	var squares fixed.U192
	if high < 1<<29 { // and the rows are not more than 64: nothing is carried
		var s, q uint64
		for i := 0; i < len(values); i += width {
			v := uint64(values[i])
			s += v
			q += v * v
		}
		sum[0], squares[0] = s, q
	} else {
		for i := 0; i < len(values); i += width {
			v := uint64(values[i])
			hi, lo := bits.Mul64(v, v)
			sum.Add(fixed.U128{v})
			squares.Add(fixed.U192{lo, hi})
		}
	}
	if s.moments == nil && (low != s.min || high != s.max || low != high || !s.weightsAreOne()) {
		m := s.sums()
		s.moments = &m
	}
	if m := s.moments; m != nil {
		m.sum.Add(sum.ShiftLeft(fixed.Bits))
		m.squares.Add(squares.ShiftLeft(fixed.Bits))
		m.weights.AddMul(n<<fixed.Bits, fixed.One)
	}
	s.n += n
	s.weight = addSaturated(s.weight, n<<fixed.Bits)
	s.min = min(s.min, low)
	s.max = max(s.max, high)
}
