package digest

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/quern-dev/quern/internal/fixed"
)

// A Kind says what the events of a Class are.
type Kind uint8

const (
	// Statements are of one fingerprint, or of one key of another grouping.
	Statements Kind = iota
	// Commands are administrator commands of one name, such as Ping.
	Commands
	// Suppressed are a server's summaries of the statements that
	// log_throttle_queries_not_using_indexes kept out of its log. Their query
	// time is no statement's: it is the sum of those of many.
	Suppressed
	// Overflow is the rest: the statements whose class found no room. What it
	// counts, it counts exactly.
	Overflow
)

func (k Kind) String() string {
	return [...]string{"statements", "commands", "suppressed", "overflow"}[k]
}

// A Class is the statements that have one fingerprint, or one key of another
// grouping, and what is known of them all. It belongs to its Profile: do not
// change it.
type Class struct {
	ID   ID
	Kind Kind

	composite bool  // grouped by several things: key has the values of all
	weighed   int32 // what seats.weigh found

	// Fingerprint of the statements; that of Commands is "administrator
	// command: " and the command's name. It is empty where the grouping does
	// not tell it.
	Fingerprint string
	// Verb is the statement's verb, such as SELECT, and Tables are those that it
	// names, as far as the grouping tells them. Tables are spelled as in the
	// fingerprint, in lower case: statements of one class may spell them
	// otherwise, as the samples do.
	Verb   string
	Tables []string

	// Count is the sum of the weights: how many statements the events stand for.
	Count float64
	// Observed is the number of events.
	Observed uint64

	// The measures that have a histogram in every class; Summary and Histogram
	// give the others. A value that an event does not have is not in them.
	QueryTime    Durations
	LockTime     Durations
	RowsExamined Histogram

	key         string // what the class is found by: the kind, then the fingerprint or what composite says
	generation  uint32 // of the aggregator when the class was made; see Aggregator.Profile
	weight      uint64 // Count in units
	first, last int64  // nanoseconds since 1970, noTime if not known

	// Most classes of a log with many of them are of one event. Such a class
	// keeps the event (facts.appendSingle) and makes the detail when asked.
	single []byte
	detail *detail

	backlog *backlog // measures still to be added up, nil in a Profile
}

// newClass returns an empty class.
func newClass(kind Kind, key string) *Class {
	return &Class{Kind: kind, key: key, first: noTime, last: noTime}
}

// Name returns what to call the class: its fingerprint or, where it has none,
// the values of its key.
func (c *Class) Name() string {
	switch {
	case c.Fingerprint != "":
		return c.Fingerprint
	case c.Kind == Overflow:
		return "(other classes)"
	}
	return strings.Join(c.Key(), ", ")
}

// Key returns a value for each part of the grouping, in its order. It is nil
// where statements are grouped by their fingerprint alone.
func (c *Class) Key() []string {
	if !c.composite {
		return nil
	}
	var key []string
	for r := (wireReader{rest: []byte(c.key[1:])}); len(r.rest) > 0; {
		key = append(key, r.string())
	}
	return key
}

// CountError returns the standard error of Count; see Summary.CountError.
func (c *Class) CountError() float64 {
	return countError(&c.QueryTime.h.Summary, c.Count, c.Observed)
}

// countError is the standard error of a count, by the events among them whose
// weights are known one by one: those that give a query time. Where none does, the
// weights count as equal.
func countError(timed *Summary, count float64, observed uint64) float64 {
	switch {
	case timed.n > 0:
		return timed.CountError() * count / timed.Count()
	case observed > 0:
		return math.Sqrt(count * max(0, count/float64(observed)-1))
	}
	return 0
}

// FirstSeen returns when the first of the events was logged, in UTC; the zero
// time if the log does not tell.
func (c *Class) FirstSeen() time.Time { return timeOf(c.first) }

// LastSeen returns when the last of the events was logged, in UTC; the zero
// time if the log does not tell.
func (c *Class) LastSeen() time.Time { return timeOf(c.last) }

// Summary returns the summary of a measure. It is empty if no event has it.
func (c *Class) Summary(m Measure) *Summary {
	switch m {
	case QueryTime:
		return &c.QueryTime.h.Summary
	case LockTime:
		return &c.LockTime.h.Summary
	case RowsExamined:
		return &c.RowsExamined.Summary
	}
	for i, d := 0, c.details(); i < len(d.measures); i++ {
		if d.measures[i].measure == m {
			return &d.measures[i].h.Summary
		}
	}
	return new(Summary)
}

// Histogram returns the histogram of a measure: QueryTime, LockTime,
// RowsExamined or one of Options.Histograms. It is empty of another one, and if no
// event has it.
func (c *Class) Histogram(m Measure) *Histogram {
	switch m {
	case QueryTime:
		return &c.QueryTime.h
	case LockTime:
		return &c.LockTime.h
	case RowsExamined:
		return &c.RowsExamined
	}
	for i, d := 0, c.details(); i < len(d.measures); i++ {
		if dm := &d.measures[i]; dm.measure == m && dm.hist {
			return &dm.h
		}
	}
	return new(Histogram)
}

// Measures returns the measures that at least one event has, in rising order.
func (c *Class) Measures() []Measure {
	var ms []Measure
	for _, m := range []Measure{QueryTime, LockTime, RowsExamined} {
		if c.Summary(m).n > 0 {
			ms = append(ms, m)
		}
	}
	for _, dm := range c.details().measures {
		ms = append(ms, dm.measure)
	}
	slices.Sort(ms)
	return ms
}

// Users returns the users by falling count, and the count of those that found no
// room.
func (c *Class) Users() (users []Value, rest float64) { return c.details().users.list() }

// Hosts returns the hosts, or the addresses where a host has no name, by
// falling count, and the count of those that found no room.
func (c *Class) Hosts() (hosts []Value, rest float64) { return c.details().hosts.list() }

// Schemas returns the default schemas by falling count, and the count of those
// that found no room.
func (c *Class) Schemas() (schemas []Value, rest float64) { return c.details().schemas.list() }

// Routines returns the stored routines that ran the statement by falling count,
// and the count of those that found no room.
func (c *Class) Routines() (routines []Value, rest float64) { return c.details().routines.list() }

// Errors returns the numbers of the errors that statements ended with, by
// falling count, and the count of the errors whose number found no room. A
// statement that was killed counts once.
func (c *Class) Errors() (errors []ErrorNumber, rest float64) { return c.details().errors.list() }

// ErrorCount returns how many statements ended with an error or were killed.
func (c *Class) ErrorCount() float64 { return fixed.Float(c.details().errors.total) }

// Suspects returns how many values the events had that no server can mean. They
// are in no sum.
func (c *Class) Suspects() uint64 { return c.details().suspects }

// SuppressedStatements returns how many statements the events of a Suppressed
// class say were kept out of the log.
func (c *Class) SuppressedStatements() uint64 { return c.details().suppressed }

// SessionSampled reports whether some of the events were sampled by session: the
// error of Count is then larger than CountError says.
func (c *Class) SessionSampled() bool { return c.details().sessionSampled }

// Timeline returns when the statements ran.
func (c *Class) Timeline() []Interval { return c.details().timeline.list() }

// Sample returns the slowest of the events whose text is kept, nil if none is.
func (c *Class) Sample() *Sample { return c.details().samples.slowest }

// Samples returns the events whose text is kept, the slowest first, then
// those that were drawn by lot.
func (c *Class) Samples() []*Sample { return c.details().samples.list() }

// PerconaIDs returns the IDs that pt-query-digest gives to the samples' texts, in
// rising order: 32 hexadecimal digits, the last 16 of which PMM uses. Statements
// of one class may have several; those of the samples are not all of them.
func (c *Class) PerconaIDs() []string {
	var ids []string
	if c.Kind == Statements {
		for _, s := range c.Samples() {
			ids = append(ids, s.PerconaID())
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// details returns the detail, made of the single event if there is but one.
func (c *Class) details() *detail {
	switch {
	case c.detail != nil:
		return c.detail
	case c.single == nil:
		return new(detail)
	}
	return c.decodeSingle()
}

// add adds an event.
func (c *Class) add(f *facts, r *rule) {
	if c.Observed > 0 && c.detail == nil {
		c.detail, c.single = c.details(), nil // of the fields as they are so far
		c.detail.samples.trim(r.samples)
	}
	c.Observed++
	c.weight = addSaturated(c.weight, f.weight)
	c.Count = fixed.Float(c.weight)
	c.seen(f.time, f.time)
	if c.backlog != nil && c.backlog.add(f) {
		if c.backlog.full() {
			c.settle()
		}
	} else {
		c.addMeasures(f)
	}
	if c.Observed == 1 {
		r.scratch = f.appendSingle(r.scratch[:0], f.sample(r))
		c.single = bytes.Clone(r.scratch)
		return
	}
	c.detail.addValues(f, r.names)
	c.detail.samples.add(f, r)
	if c.backlog == nil && c.Observed%backlogEvery == 0 && r.backlogs < maxBacklogs {
		c.backlog = newBacklog(c.detail)
		r.backlogs++
	}
}

func (c *Class) addMeasures(f *facts) {
	if f.hasQueryTime {
		c.QueryTime.h.add(f.queryTime, f.weight)
	}
	if f.hasLockTime {
		c.LockTime.h.add(f.lockTime, f.weight)
	}
	if f.hasRowsExamined {
		c.RowsExamined.add(f.rowsExamined, f.weight)
	}
	if c.detail != nil {
		c.detail.addMeasures(f)
	}
}

func (c *Class) seen(first, last int64) {
	if first != noTime && (c.first == noTime || first < c.first) {
		c.first = first
	}
	c.last = max(c.last, last)
}

// merge adds the events of o.
func (c *Class) merge(o *Class, r *rule) {
	if o.Observed == 0 {
		return
	}
	od := o.details()
	if c.Observed == 0 {
		c.detail = new(detail)
	} else {
		c.detail = c.details()
	}
	c.single = nil
	c.Observed = addCounts(c.Observed, o.Observed)
	c.weight = addSaturated(c.weight, o.weight)
	c.Count = fixed.Float(c.weight)
	c.seen(o.first, o.last)
	c.QueryTime.Merge(&o.QueryTime)
	c.LockTime.Merge(&o.LockTime)
	c.RowsExamined.Merge(&o.RowsExamined)
	c.detail.merge(od, r)
}

// clone returns a copy that shares nothing that add or merge changes.
func (c *Class) clone() *Class {
	n := *c
	n.backlog = nil
	n.QueryTime.h = c.QueryTime.h.clone()
	n.LockTime.h = c.LockTime.h.clone()
	n.RowsExamined = c.RowsExamined.clone()
	if c.detail != nil {
		n.detail = c.detail.clone()
	}
	return &n
}

// size returns about how many bytes the class takes.
func (c *Class) size() int {
	n := int(unsafe.Sizeof(*c)) + 48 + len(c.key) + len(c.single) // 48 for its place in a map
	if c.composite {
		n += len(c.Fingerprint)
	}
	if c.backlog != nil {
		n += cap(c.backlog.rows) * 8
	}
	n += c.QueryTime.h.size() + c.LockTime.h.size() + c.RowsExamined.size()
	d := c.detail
	if d == nil {
		return n
	}
	n += int(unsafe.Sizeof(*d)) + cap(d.measures)*int(unsafe.Sizeof(measureSummary{}))
	for i := range d.measures {
		n += d.measures[i].h.size()
	}
	for _, v := range []*counter{&d.users, &d.hosts, &d.schemas, &d.routines} {
		n += cap(v.entries) * int(unsafe.Sizeof(counterEntry{}))
	}
	n += cap(d.errors.entries) * int(unsafe.Sizeof(errorEntry{}))
	n += cap(d.timeline.cells) * int(unsafe.Sizeof(timeCell{}))
	for _, s := range d.samples.list() {
		n += int(unsafe.Sizeof(*s)) + len(s.Query) + len(s.TraceID)
	}
	return n
}
