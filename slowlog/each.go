package slowlog

import (
	"bytes"
	"io"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Each reads all events that are left and calls fn with each, from n goroutines
// at once: calls with one worker number, from 0 to n-1, come one after another.
// The events are those that Read would return, and every event goes to one
// worker, but their order is lost; fn must not keep the event behind its return.
// OnDamage is called in order. Each returns the first error of fn, which stops
// the reading, or of the input.
//
// The input is cut into pieces that are read at the same time as if each stood
// alone, and then, in order, given what the one before knew: the time and the
// schema in force, where its last record ended. A piece that was cut at a line
// which proves to be no header, because it stands in a literal, is read again.
func (r *Reader) Each(n int, fn func(worker int, ev *Event) error) error {
	if n > 1 {
		return r.each(n, pieceSize, fn)
	}
	reuse := r.ReuseEvent
	r.ReuseEvent = true
	defer func() { r.ReuseEvent = reuse }()
	for ev, err := range r.All() {
		if err == nil {
			err = fn(0, ev)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) each(n, size int, fn func(worker int, ev *Event) error) error {
	first := make(chan handover, 1)
	first <- handover{at: r.dec.base, line: r.dec.line, state: r.dec.state}
	e := &each{reader: r, size: size, fn: fn, free: make(chan []byte, n+2), prev: first, base: r.dec.base}
	e.carry = append(e.carry, r.buf[r.start:r.end]...)
	r.start, r.end = 0, 0
	e.know(r.dec.state)
	var workers sync.WaitGroup
	for w := range max(n, 1) {
		workers.Go(func() { e.work(w) })
	}
	workers.Wait()
	h := <-e.prev
	r.dec.base, r.dec.line, r.dec.state = h.at, h.line, h.state
	if err := e.err.Load(); err != nil {
		return *err
	}
	return r.err
}

type each struct {
	reader *Reader
	size   int // of a piece, in bytes
	fn     func(int, *Event) error
	free   chan []byte // buffers to use again
	known  atomic.Pointer[state]
	err    atomic.Pointer[error]
	stats  sync.Mutex // guards reader.dec.stats

	cutting sync.Mutex      // guards the input and what follows
	carry   []byte          // read, and in no piece yet
	base    int64           // offset of carry
	prev    <-chan handover // of the last piece
}

// A piece is a part of the input that begins where a record does, to the eye.
type piece struct {
	buf   []byte // what is read, and a look at what follows
	limit int    // what starts before buf[limit] is the piece's
	base  int64  // offset of buf[0] in the input
	final bool   // nothing follows buf
	prev  <-chan handover
	next  chan<- handover
}

// A handover is what a piece tells the next one.
type handover struct {
	at    int64  // offset behind its last record
	line  int64  // and the line
	state state  // there
	tail  []byte // what it left of its own bytes, which start at offset at
}

// pieceSize keeps a piece and its events within a processor's cache, and makes
// what each piece learns anew, and its handover, rare.
const pieceSize = 256 << 10

// cut cuts the next piece from the input. It returns nil behind the last.
func (e *each) cut() *piece {
	e.cutting.Lock()
	defer e.cutting.Unlock()
	r := e.reader
	if r.eof && len(e.carry) == 0 || r.err != nil || e.err.Load() != nil {
		return nil
	}
	buf := append(e.buffer(len(e.carry)), e.carry...)
	limit := 0
	// Where no record begins in all of buf, look again only when it has grown by
	// a part of its size, so that a long record takes linear time.
	for look := e.size; limit == 0 && !r.eof && r.err == nil; {
		buf = r.readInto(buf, e.size)
		if len(buf) >= look {
			look = len(buf) + len(buf)/4
			limit = cutPoint(buf)
			if limit == 0 && len(buf) > r.dec.maxStatement()+2*maxForgedBytes {
				limit = len(buf)
			}
		}
	}
	if limit == 0 {
		limit = len(buf)
	}
	next := make(chan handover, 1)
	p := &piece{buf: buf, limit: limit, base: e.base, final: r.eof && limit == len(buf), prev: e.prev, next: next}
	e.carry = append(e.carry[:0], buf[limit:]...)
	e.base += int64(limit)
	e.prev = next
	return p
}

func (e *each) buffer(least int) []byte {
	select {
	case b := <-e.free:
		if cap(b) >= least {
			return b[:0]
		}
	default:
	}
	return make([]byte, 0, max(least, e.size+e.size/4))
}

// readInto appends input to buf.
func (r *Reader) readInto(buf []byte, size int) []byte {
	if cap(buf)-len(buf) < size/8+1 {
		buf = append(make([]byte, 0, 2*cap(buf)+size), buf...)
	}
	n, err := readSome(r.src, buf[len(buf):cap(buf)])
	if err == io.EOF {
		r.eof, err = true, nil
	}
	r.err = err
	return buf[:len(buf)+n]
}

// cutPoint finds a line late in buf that is the first of a header, to the eye,
// with some of what follows it, or 0. What follows is copied to the next piece.
func cutPoint(buf []byte) int {
	b := buf[:len(buf)-min(len(buf)/16, 4<<10)]
	if i := bytes.LastIndex(b, []byte("\n"+timePrefix)); i > len(b)/2 {
		return i + 1
	}
	for len(b) > len(buf)/2 {
		i := bytes.LastIndex(b, []byte("\n"+userPrefix))
		if i <= 0 {
			break
		}
		line := bytes.LastIndexByte(b[:i], '\n') + 1
		if !bytes.HasPrefix(b[line:], []byte("#")) {
			return i + 1
		}
		b = b[:line]
	}
	return 0
}

// know notes the state that a piece read ahead may take for granted.
func (e *each) know(s state) { e.known.Store(&state{stamps: s.stamps}) }

// work reads pieces.
func (e *each) work(worker int) {
	var b batch
	b.dec.opt, b.dec.reuse = e.reader.Options, true
	b.dec.clock.loc = b.dec.location()
	for p := e.cut(); p != nil; p = e.cut() {
		assumed := *e.known.Load()
		b.read(p.buf, p.limit, p.base, 1, assumed, p.final)
		h := <-p.prev
		if h.at == p.base && h.state.stamps == assumed.stamps && !h.state.cut && !h.state.inLine {
			b.adopt(h)
		} else {
			buf, limit := p.buf, p.limit
			if skip := h.at - p.base; skip >= 0 {
				skip = min(skip, int64(len(buf)))
				buf, limit = buf[skip:], max(0, limit-int(skip))
			} else {
				buf = append(h.tail, buf...)
				limit += len(h.tail)
			}
			b.read(buf, limit, h.at, h.line, h.state, p.final)
		}
		out := b.handover()
		e.know(out.state)
		if f := e.reader.OnDamage; f != nil && e.err.Load() == nil {
			for _, d := range b.damage {
				f(d)
			}
		}
		e.stats.Lock()
		e.reader.dec.stats.Add(&b.dec.stats)
		e.stats.Unlock()
		p.next <- out
		for i := range b.events {
			if e.err.Load() != nil {
				break
			}
			if err := e.fn(worker, &b.events[i]); err != nil {
				first := err // err itself would be on the heap for every event
				e.err.CompareAndSwap(nil, &first)
			}
		}
		select {
		case e.free <- p.buf:
		default:
		}
	}
}

// A batch is a piece's events.
type batch struct {
	dec      decoder
	events   []Event
	metrics  []Metric // of all events
	inherits int      // the first events, whose schema the piece before knows
	damage   []Damage
	left     []byte // bytes of the piece that no record took
}

// read reads what starts before buf[limit], which has offset base and stands on
// the given line.
func (b *batch) read(buf []byte, limit int, base, line int64, s state, final bool) {
	d := &b.dec
	d.base, d.line, d.state, d.stats, d.schemaSeen, d.damageEnd = base, line, s, Stats{}, false, -1
	d.scratch = d.scratch[:0]
	d.expected.forget()
	b.events, b.damage, b.inherits = b.events[:0], b.damage[:0], -1
	d.onDamage = func(dm Damage) { b.damage = append(b.damage, dm) }
	metrics := b.metrics[:0]
	p := 0
	for p < limit {
		if len(b.events) == cap(b.events) {
			b.events = append(b.events, Event{})[:len(b.events)]
		}
		d.ev = &b.events[:len(b.events)+1][len(b.events)]
		d.ev.Metrics = metrics[len(metrics):]
		s := unsafe.String(unsafe.SliceData(buf[p:]), len(buf)-p)
		n, v := d.next(s, final)
		if v == needMore || v == skipped && n == 0 {
			break
		}
		if v == haveEvent {
			if m := d.ev.Metrics; len(metrics)+len(m) <= cap(metrics) {
				metrics = metrics[:len(metrics)+len(m)]
			} else { // the event's own; make room for the next time
				metrics = make([]Metric, 0, 2*cap(metrics)+64*len(m))
			}
			if b.inherits < 0 && d.schemaSeen {
				b.inherits = len(b.events)
			}
			b.events = b.events[:len(b.events)+1]
		}
		d.advance(s, n)
		p += n
	}
	if b.inherits < 0 {
		b.inherits = len(b.events)
	}
	b.metrics = metrics[:0]
	b.left = buf[min(p, limit):limit]
}

// adopt tells a batch that was read ahead what the piece before knew.
func (b *batch) adopt(h handover) {
	d := &b.dec
	d.line += h.line - 1
	for i := range b.damage {
		b.damage[i].Line += h.line - 1
	}
	for i := range b.events {
		ev := &b.events[i]
		ev.Line += h.line - 1
		if ev.TimeSource == TimeUnknown && !h.state.time.IsZero() {
			ev.Time, ev.TimeSource = h.state.time, TimeCarried
		}
		if i < b.inherits && !ev.Has(FieldSchema) {
			ev.Schema, ev.SchemaInherited = h.state.schema, h.state.schema != ""
		}
	}
	if d.state.time.IsZero() {
		d.state.time = h.state.time
	}
	if !d.schemaSeen {
		d.state.schema = h.state.schema
	}
}

func (b *batch) handover() handover {
	return handover{at: b.dec.base, line: b.dec.line, state: b.dec.state, tail: append([]byte(nil), b.left...)}
}
