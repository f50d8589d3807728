package digest

import (
	"encoding/binary"
	"time"
)

// appendSingle appends what a class of one event keeps of it beside its public
// fields; sample is nil where there is none.
func (f *facts) appendSingle(b []byte, sample *Sample) []byte {
	values := f.measures()
	b = appendString(b, f.user)
	b = appendString(b, f.host)
	b = appendString(b, f.schema)
	b = appendString(b, f.routine)
	b = appendInt(b, int64(f.errno))
	b = appendUint(b, f.suspects)
	b = appendUint(b, f.suppressed)
	b = appendBool(b, f.sessionSampled)
	b = appendUint(b, uint64(len(values)))
	for _, v := range values {
		b = appendUint(b, uint64(v.measure))
		b = appendBool(b, v.hist)
		b = appendUint(b, uint64(v.v))
	}
	b = appendBool(b, sample != nil)
	if sample != nil {
		b = sample.appendText(b)
	}
	return b
}

// compact turns the detail of a class of one event back into the event.
func (c *Class) compact() {
	d := c.detail
	f := facts{suspects: d.suspects, suppressed: d.suppressed, sessionSampled: d.sessionSampled, measured: true}
	for value, counter := range map[*string]*counter{&f.user: &d.users, &f.host: &d.hosts, &f.schema: &d.schemas, &f.routine: &d.routines} {
		if len(counter.entries) > 0 {
			*value = counter.entries[0].name
		}
	}
	if len(d.errors.entries) > 0 {
		f.errno = d.errors.entries[0].number
	}
	for i := range d.measures {
		m := &d.measures[i]
		f.values = append(f.values, value{m.measure, m.hist, m.h.min})
	}
	c.single = f.appendSingle(nil, d.samples.slowest)
	c.detail = nil
}

// appendText appends what of the sample is not in the other values of its event.
func (s *Sample) appendText(b []byte) []byte {
	b = appendString(b, s.Query)
	b = appendBool(b, s.Truncated)
	b = appendBool(b, s.Redacted)
	b = appendUint(b, s.ThreadID)
	b = appendString(b, s.TraceID)
	b = appendInt(b, s.Offset)
	b = appendInt(b, s.Line)
	b = appendString(b, s.perconaID)
	b = binary.LittleEndian.AppendUint64(b, s.draw.lot)
	return binary.LittleEndian.AppendUint64(b, s.draw.text)
}

func (s *Sample) readText(r *wireReader) {
	s.Query = r.string()
	s.Truncated = r.bool()
	s.Redacted = r.bool()
	s.ThreadID = r.uint()
	s.TraceID = r.string()
	s.Offset = r.int()
	s.Line = r.int()
	s.perconaID = r.string()
	s.draw.lot = r.uint64()
	s.draw.text = r.uint64()
}

// decodeSingle returns the detail of a class of one event.
func (c *Class) decodeSingle() *detail {
	r := wireReader{rest: c.single}
	f := facts{weight: c.weight, time: c.first, queryTime: c.QueryTime.h.min, measured: true}
	f.user = r.string()
	f.host = r.string()
	f.schema = r.string()
	f.routine = r.string()
	f.errno = int32(r.int())
	f.suspects = r.uint()
	f.suppressed = r.uint()
	f.sessionSampled = r.bool()
	s := &Sample{
		Schema:       f.schema,
		User:         f.user,
		Host:         f.host,
		Time:         timeOf(f.time),
		QueryTime:    time.Duration(f.queryTime),
		RowsExamined: c.RowsExamined.min,
	}
	f.values = make([]value, r.length(3))
	for i := range f.values {
		v := &f.values[i]
		v.measure = Measure(r.uint())
		v.hist = r.bool()
		v.v = r.value()
		if v.measure == RowsSent {
			s.RowsSent = v.v
		}
	}
	d := detail{measures: make([]measureSummary, 0, len(f.values))}
	d.addFacts(&f, nil)
	if r.bool() {
		s.readText(&r)
		d.samples = samples{slowest: s, lowest: []*Sample{s}}
	}
	return &d
}
