package slowlog

import (
	"io"
	"iter"
	"math"
	"slices"
)

// A Reader reads the events of a slow log, of whatever dialect. The fields may
// be set before the first Read.
//
// A Reader takes what it is given apart so that nothing readable is lost: lines
// that belong to no record, headers without a Query_time or a statement are
// skipped, counted in Stats and handed to OnDamage. Only the input's own errors
// end it.
//
// Statements may hold lines that look like the log's own. Such a line is taken
// for the start of a record only in the order in which servers write headers,
// and not where it stands within a literal or comment that closes later (within
// 16 header lines and 1 MiB; a literal that does not close is a broken
// statement, not the rest of the log). Where MySQL's log_slow_extra gives the
// bytes that the client sent, they decide. What nothing decides reads as a
// record: "#" comment lines in the form of a whole header that follow no
// semicolon, and a whole record in a name or in the text of a warning; that costs
// the record that it stands in, and no other. Stats.Ambiguous counts the cases,
// Stats.Forged those taken for text.
type Reader struct {
	Options
	// ReuseEvent makes Read return the same Event each time, whose strings and
	// slices the next Read overwrites; use Event.Clone to keep one. It saves the
	// allocations of an event.
	ReuseEvent bool
	// OnDamage, if not nil, is called with each damaged place, in order.
	OnDamage func(Damage)

	input
	dec decoder
	ev  Event // if ReuseEvent
}

// NewReader returns a Reader of the log r. It buffers its input.
func NewReader(r io.Reader) *Reader {
	return &Reader{input: input{src: r}, dec: decoder{line: 1, damageEnd: -1}}
}

// Read returns the next event, or io.EOF behind the last one. Other errors are
// those of the input. A Read after either tries the input again and goes on
// where it stood, so that an input may have nothing for now and more later: with
// io.EOF it says that what it gave ends with a whole record, with another error
// that it may end anywhere.
func (r *Reader) Read() (*Event, error) { return r.ReadBefore(math.MaxInt64) }

// ReadBefore is Read for a part of an input: it returns io.EOF in place of a
// record that begins at the offset end or behind it. State is then that in which
// the next part is to be read, by a Reader that Resumes there. The input goes on
// behind end, since what follows a record tells where it ends.
func (r *Reader) ReadBefore(end int64) (*Event, error) {
	r.dec.opt, r.dec.onDamage, r.dec.reuse = r.Options, r.OnDamage, r.ReuseEvent
	r.dec.ev = &r.ev
	r.dec.clock.loc = r.dec.location()
	r.dec.scratch = r.dec.scratch[:0]
	if len(r.dec.expected.text) > maxExpectedText {
		r.dec.expected.forget()
	}
	for {
		if r.start == r.end && r.eof {
			r.eof = false
			return nil, io.EOF
		}
		if r.reaches(end) {
			return nil, io.EOF
		}
		s := r.window()
		n, v := r.dec.next(s, r.eof)
		if v == haveEvent {
			ev := r.take()
			r.dec.advance(s, n)
			r.start += n
			return ev, nil
		}
		if v == skipped && n > 0 {
			r.dec.advance(s, n)
			r.start += n
			continue
		}
		if err := r.err; err != nil {
			r.err = nil
			return nil, err
		}
		r.more()
	}
}

// reaches reports whether what comes begins at the offset end or behind it. The
// blanks before that it moves over.
func (r *Reader) reaches(end int64) bool {
	s := r.window()
	if end-r.dec.base > int64(len(s)) {
		return false // nothing of the window does
	}
	if st := &r.dec.state; !st.cut && !st.inLine {
		if n := blanks(s); r.dec.base+int64(n) >= end {
			r.dec.passBlanks(n)
			r.dec.advance(s, n)
			r.start += n
		}
	}
	return r.dec.base >= end
}

// take hands the decoded event out.
func (r *Reader) take() *Event {
	if r.ReuseEvent {
		return &r.ev
	}
	e := r.ev
	e.Metrics = slices.Clone(e.Metrics)
	return &e
}

// All yields the events that are left. An error other than io.EOF is yielded
// with a nil event, as the last.
func (r *Reader) All() iter.Seq2[*Event, error] {
	return all(r.Read)
}

// Stats returns what has been read so far.
func (r *Reader) Stats() Stats { return r.dec.stats }
