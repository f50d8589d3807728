package slowlog

import (
	"io"
	"iter"
	"strings"
	"time"
)

// A Source gives events: a Reader, or the reader of another sort of log.
type Source interface {
	Read() (*Event, error)
	All() iter.Seq2[*Event, error]
	Stats() Stats
}

// records is what the readers of the other text formats have in common.
type records struct {
	input
	dec decoder // for its place, its stats and how it reads a user
}

func newRecords(r io.Reader) records {
	return records{input: input{src: r}, dec: decoder{line: 1, damageEnd: -1}}
}

// read returns the next event that next finds at the start of the window. Of a
// window that ends too early to tell, next returns needMore.
func (r *records) read(opt Options, onDamage func(Damage), next func(s string, final bool) (n int, v verdict)) (*Event, error) {
	r.dec.opt, r.dec.onDamage = opt, onDamage
	for {
		if r.start == r.end && r.eof {
			r.eof = false
			return nil, io.EOF
		}
		if r.start < r.end {
			r.dec.ev = &Event{Weight: 1}
			s := r.window()
			n, v := next(s, r.eof)
			if v != needMore {
				r.dec.advance(s, n)
				r.start += n
				if v == haveEvent {
					return r.dec.ev, nil
				}
				continue
			}
		}
		if err := r.err; err != nil {
			r.err = nil
			return nil, err
		}
		r.more()
	}
}

// place notes where the event at s[at:] stands.
func (r *records) place(s string, at int) {
	r.dec.ev.Offset = r.dec.base + int64(at)
	r.dec.ev.Line = r.dec.line + int64(strings.Count(s[:at], "\n"))
}

// Stats returns what has been read so far.
func (r *records) Stats() Stats { return r.dec.stats }

// tally weighs the event that is read and counts it.
func (d *decoder) tally(e *Event) {
	d.weigh(e)
	d.stats.Events++
	if d.stats.Events == 1 {
		d.stats.WholeSeconds = true
	}
	if e.QueryTime%time.Second != 0 {
		d.stats.WholeSeconds = false
	}
	if e.Truncated {
		d.stats.Truncated++
	}
}

// A LineReader reads statements of which each stands on a line of its own. Its
// events have a Query and nothing else. The fields may be set before the first
// Read.
type LineReader struct {
	Options

	records
}

// NewLineReader returns a LineReader of r. It buffers its input.
func NewLineReader(r io.Reader) *LineReader { return &LineReader{records: newRecords(r)} }

// Read returns the statement of the next line that is not blank, without the
// semicolon that may end it, or io.EOF behind the last one. A line longer than
// MaxStatement is cut.
func (r *LineReader) Read() (*Event, error) { return r.read(r.Options, nil, r.next) }

// All yields the events that are left. An error other than io.EOF is yielded
// with a nil event, as the last.
func (r *LineReader) All() iter.Seq2[*Event, error] { return all(r.Read) }

func (r *LineReader) next(s string, final bool) (int, verdict) {
	e := r.dec.ev
	limit := r.dec.maxStatement()
	if r.dec.state.cut { // within a line that was cut
		_, next, ok := cutLine(s, 0, final)
		if !ok {
			return len(s), skipped
		}
		r.dec.state.cut = false
		return next, skipped
	}
	end, next, ok := cutLine(s, 0, final)
	if !ok {
		if len(s) <= limit {
			return 0, needMore
		}
		end, next = limit, limit
		r.dec.state.cut, e.Truncated = true, true
	}
	q := strings.TrimRight(strings.TrimSuffix(strings.Trim(s[:end], " \t"), ";"), " \t")
	if q == "" {
		return next, skipped
	}
	if len(q) > limit {
		q, e.Truncated = q[:limit], true
	}
	r.place(s, 0)
	e.Query = strings.Clone(q)
	r.dec.tally(e)
	r.dec.stats.WholeSeconds = false // there are no times
	return next, haveEvent
}
