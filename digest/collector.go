package digest

import (
	"cmp"
	"hash/maphash"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quern-dev/quern/slowlog"
)

// An Observation is a statement that ran, as those know it who sent it: a wrapper
// of database/sql, or a span of OpenTelemetry. All but SQL may be left zero. A
// Collector keeps nothing of it but copies.
type Observation struct {
	SQL      string        // the statement (db.query.text)
	Schema   string        // the default schema (db.namespace)
	Duration time.Duration // how long it took; 0 is a time like others
	End      time.Time     // when it ended, now if it is zero

	User, Host string

	Errno  int  // the server's number of the error that it ended with
	Failed bool // it ended with an error, whose number need not be known

	RowsSent, RowsAffected int64
	// RowsKnown says that a 0 in RowsSent or RowsAffected is a number of rows.
	// Without it a 0 means that the number is not known, and has no part in means.
	RowsKnown bool

	TraceID string  // of the trace that it belongs to; samples keep it
	Weight  float64 // how many statements it stands for, 1 if it is zero
}

// UnknownError is the Number of errors of which no number is known.
const UnknownError = -1

// WindowTime says which time decides to which window an observation belongs.
type WindowTime uint8

const (
	ByEventTime WindowTime = iota // when the statement ended
	ByArrival                     // when it was observed
)

// CollectorOptions say what a Collector makes of observations. The zero value
// keeps 5,000 classes and 64 MiB at most, no literals, and one window.
type CollectorOptions struct {
	Fingerprint FingerprintOptions
	GroupBy     []Group   // ByFingerprint if it is empty
	Histograms  []Measure // as in Options
	Samples     int       // as in Options
	MaxText     int       // as in Options
	// Literals makes samples keep statements as they are. Without it nothing of a
	// literal or a comment is kept: samples have ? in place of literals, and of
	// comments no more than a trace's ID. Names, those of users and hosts among
	// them, are no literals.
	Literals bool

	// MaxClasses and MaxBytes bound each window: once it has so many classes, or
	// its classes take about so many bytes, the statements of further ones go to
	// the window's overflow. 5,000 and 64 MiB if they are 0.
	MaxClasses int
	MaxBytes   int64

	// Window is the length of windows, which begin at its multiples. If it is 0
	// there is one window, which ends with Flush.
	Window time.Duration
	// Keep is how many windows are open to late events, the current one
	// included: 2 if it is 0.
	Keep int
	By   WindowTime
}

// A Collector adds up observations from any number of goroutines, window by
// window. It has no goroutine of its own: its host calls Rotate, or Flush, from
// time to time. Its memory is bounded by CollectorOptions for each of at most
// Keep+1 windows, if the host calls Rotate.
//
// Observe waits for nothing but the moment that another goroutine takes to add
// to one of the same few classes, and loses nothing: what finds no class of its
// own is in the overflow, and what comes too late for its window in the oldest
// one that is open.
type Collector struct {
	opt     CollectorOptions
	options Options // of the aggregators
	seed    maphash.Seed
	shards  int       // a power of two
	workers sync.Pool // of *worker

	observed   atomic.Uint64
	late       atomic.Uint64
	overflowed atomic.Uint64 // in windows that are closed

	// keys of the largest classes of the window closed last
	reserved atomic.Pointer[map[string]struct{}]

	windows atomic.Pointer[[]*window] // that are open, by rising start; replaced, never changed

	mu    sync.Mutex // held to replace windows
	floor int64      // windows that begin before are closed for good
}

// worker is what an Observe needs for itself.
type worker struct {
	a  Aggregator // classifies, and has the facts
	ev slowlog.Event
}

// A window collects the events of a time.
type window struct {
	start  int64 // in nanoseconds since 1970
	seats  seats
	shards []shard
}

type shard struct {
	mu     sync.Mutex
	closed bool // the window was taken away
	a      Aggregator
}

// NewCollector returns a Collector, whose first window begins now.
func NewCollector(o CollectorOptions) *Collector {
	if o.MaxClasses <= 0 {
		o.MaxClasses = 5000
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 64 << 20
	}
	if o.Keep <= 0 {
		o.Keep = 2
	}
	c := &Collector{
		opt: o,
		options: Options{
			Fingerprint: o.Fingerprint,
			GroupBy:     o.GroupBy,
			Histograms:  o.Histograms,
			Samples:     o.Samples,
			MaxText:     o.MaxText,
			Text:        TextRedacted,
		},
		seed:   maphash.MakeSeed(),
		shards: 1 << bits.Len(uint(min(4*runtime.GOMAXPROCS(0), 64)-1)),
	}
	if o.Literals {
		c.options.Text = TextVerbatim
	}
	c.workers.New = func() any {
		w := &worker{a: Aggregator{Options: c.options, remember: observerStatements}}
		w.a.init()
		return w
	}
	windows := []*window{}
	if o.Window <= 0 {
		windows = append(windows, c.newWindow(time.Now().UnixNano()))
	}
	c.windows.Store(&windows)
	return c
}

func (c *Collector) newWindow(start int64) *window {
	w := &window{start: start, shards: make([]shard, c.shards)}
	w.seats.maxClasses = int64(c.opt.MaxClasses)
	w.seats.maxBytes = c.opt.MaxBytes
	w.seats.reserved.Store(c.reserved.Load())
	for i := range w.shards {
		w.shards[i].a.Options = c.options
		w.shards[i].a.seats = &w.seats
	}
	return w
}

// Observe adds an observation.
func (c *Collector) Observe(o Observation) {
	w := c.workers.Get().(*worker)
	w.ev = slowlog.Event{
		Time:         o.End,
		Query:        o.SQL,
		Schema:       o.Schema,
		User:         o.User,
		Host:         o.Host,
		QueryTime:    o.Duration,
		RowsSent:     uint64(max(o.RowsSent, 0)),
		RowsAffected: uint64(max(o.RowsAffected, 0)),
		Errno:        o.Errno,
		Weight:       o.Weight,
	}
	w.ev.SetHas(slowlog.FieldQueryTime)
	if o.RowsKnown {
		w.ev.SetHas(slowlog.FieldRowsSent, slowlog.FieldRowsAffected)
	}
	if o.Failed && o.Errno == 0 {
		w.ev.Errno = UnknownError
	}
	c.add(w, &w.ev, o.TraceID)
	w.ev = slowlog.Event{} // do not pin the statement
	c.workers.Put(w)
}

// Add adds an event, such as one of a slow log that is followed. It keeps nothing
// of ev.
func (c *Collector) Add(ev *slowlog.Event) {
	w := c.workers.Get().(*worker)
	c.add(w, ev, "")
	c.workers.Put(w)
}

func (c *Collector) add(w *worker, ev *slowlog.Event, traceID string) {
	w.a.classify(ev)
	key := w.a.wholeKey()
	f := &w.a.facts
	f.set(ev, &w.a.hists)
	f.traceID = traceID
	now := time.Now().UnixNano()
	if f.time == noTime {
		f.time = now
	}
	c.observed.Add(1)
	at := int(maphash.Bytes(c.seed, key)) & (c.shards - 1)
	for {
		win, late := c.window(f.time, now)
		if win.shards[at].add(key, f, ev) {
			if late {
				c.late.Add(1)
			}
			break
		}
	}
	*f = facts{values: f.values[:0]} // do not pin the statement
}

// add reports whether the window is still open: if not, it adds nothing.
func (s *shard) add(key []byte, f *facts, ev *slowlog.Event) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.a.init()
	s.a.add(key, f, ev)
	return true
}

// window returns the window to which an event belongs, opened if it is not, or
// the oldest one if the event's own is closed.
func (c *Collector) window(at, now int64) (w *window, late bool) {
	windows := *c.windows.Load()
	if c.opt.Window <= 0 {
		return windows[0], false
	}
	if c.opt.By == ByArrival || at > now {
		at = now // a clock that is ahead must not hold a window open
	}
	start := c.startOf(at)
	for i := len(windows) - 1; i >= 0 && windows[i].start >= start; i-- {
		if windows[i].start == start {
			return windows[i], false
		}
	}
	return c.open(start)
}

func (c *Collector) startOf(ns int64) int64 {
	length := int64(c.opt.Window)
	return ns - ((ns%length)+length)%length
}

// open is window for one that was not open a moment ago. If the host rotates so
// seldom that too many are open, the window before stands in for it.
func (c *Collector) open(start int64) (w *window, late bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	windows := *c.windows.Load()
	if start < c.floor {
		if len(windows) > 0 {
			return windows[0], true
		}
		start, late = c.floor, true
	}
	at, found := slices.BinarySearchFunc(windows, start, func(w *window, start int64) int { return cmp.Compare(w.start, start) })
	if found {
		return windows[at], late
	}
	if len(windows) > c.opt.Keep {
		return windows[max(at-1, 0)], late
	}
	w = c.newWindow(start)
	windows = slices.Insert(slices.Clone(windows), at, w)
	c.windows.Store(&windows)
	return w, late
}

// A Window is the profile of what ended, or was observed, from Start until End.
// It has late events of the windows before, too, and if Rotate was not called in
// time those of the windows behind: Profile.From and To tell.
type Window struct {
	Start, End time.Time // in UTC
	*Profile
}

// Rotate closes the windows that are over by now, but for the newest Keep-1 of
// them, and returns those that hold something, the oldest first. The host calls
// it once a window or more often. Without CollectorOptions.Window it closes the
// one window that there is.
func (c *Collector) Rotate(now time.Time) []Window {
	var closed []*window
	c.mu.Lock()
	if c.opt.Window > 0 {
		c.floor = max(c.floor, c.startOf(now.UnixNano())-int64(c.opt.Keep-1)*int64(c.opt.Window))
		closed = c.take(func(w *window) bool { return w.start < c.floor })
	} else {
		closed = c.take(func(*window) bool { return true })
	}
	c.mu.Unlock()
	var profiles []Window
	for _, w := range closed {
		p := c.close(w)
		if p.Events == 0 {
			continue
		}
		end := now
		if c.opt.Window > 0 {
			end = time.Unix(0, w.start).Add(c.opt.Window)
		}
		profiles = append(profiles, Window{time.Unix(0, w.start).UTC(), end.UTC(), p})
	}
	return profiles
}

// Flush closes all windows, and returns what they hold as one profile. The
// Collector goes on empty: what is observed later is in later profiles only.
func (c *Collector) Flush() *Profile {
	c.mu.Lock()
	closed := c.take(func(*window) bool { return true })
	c.mu.Unlock()
	all := Aggregator{Options: c.options}
	for _, w := range closed {
		all.mustMerge(c.close(w))
	}
	return all.Profile()
}

// take removes windows from those that are open. c.mu is held.
func (c *Collector) take(over func(w *window) bool) (taken []*window) {
	open := []*window{}
	for _, w := range *c.windows.Load() {
		if over(w) {
			taken = append(taken, w)
		} else {
			open = append(open, w)
		}
	}
	if c.opt.Window <= 0 {
		open = append(open, c.newWindow(time.Now().UnixNano()))
	}
	c.windows.Store(&open)
	return taken
}

// close returns what a window holds that is no longer open to new observers, and
// gives its largest classes a seat in those that are.
func (c *Collector) close(w *window) *Profile {
	all := Aggregator{Options: c.options}
	for i := range w.shards {
		s := &w.shards[i]
		s.mu.Lock() // until one who found the window before is done
		s.closed = true
		s.mu.Unlock()
		all.mustMerge(s.a.Profile())
	}
	c.overflowed.Add(w.seats.overflowed.Load())
	p := all.Profile()
	reserved := make(map[string]struct{})
	for _, class := range p.Top(c.opt.MaxClasses/2, ByTotalTime) {
		reserved[class.key] = struct{}{}
	}
	c.reserved.Store(&reserved)
	for _, w := range *c.windows.Load() {
		w.seats.reserved.Store(&reserved)
	}
	return p
}

// mustMerge merges a profile that was made with the same options.
func (a *Aggregator) mustMerge(p *Profile) {
	if err := a.MergeProfile(p); err != nil {
		panic(err)
	}
}

// CollectorStats are what a Collector did since it was made (the first three) and
// what it holds now.
type CollectorStats struct {
	Observed   uint64 // observations
	Overflowed uint64 // of them, those that found no class of their own
	Late       uint64 // of them, those whose window was closed

	Windows int   // that are open
	Classes int   // in them, without their overflows
	Bytes   int64 // that the classes take, about
}

// Stats returns what the collector did and what it holds.
func (c *Collector) Stats() CollectorStats {
	s := CollectorStats{Observed: c.observed.Load(), Overflowed: c.overflowed.Load(), Late: c.late.Load()}
	for _, w := range *c.windows.Load() {
		s.Windows++
		s.Overflowed += w.seats.overflowed.Load()
		s.Classes += int(w.seats.taken.Load())
		s.Bytes += w.seats.bytes.Load()
	}
	return s
}

// seats are the room that the shards of a window have in common.
type seats struct {
	maxClasses, maxBytes int64
	reserved             atomic.Pointer[map[string]struct{}] // keys that first comers leave room for

	taken      atomic.Int64 // by classes
	open       atomic.Int64 // by classes without a reservation
	bytes      atomic.Int64
	overflowed atomic.Uint64 // events that found no seat
}

// take takes a seat for a new class if there is one.
func (s *seats) take(key []byte) bool {
	if s.bytes.Load() >= s.maxBytes || s.taken.Load() >= s.maxClasses {
		return false
	}
	var reserved map[string]struct{}
	if r := s.reserved.Load(); r != nil {
		reserved = *r
	}
	if _, ok := reserved[string(key)]; !ok {
		if s.open.Add(1) > s.maxClasses-int64(len(reserved)) {
			s.open.Add(-1)
			return false
		}
	}
	if s.taken.Add(1) > s.maxClasses {
		s.taken.Add(-1)
		return false
	}
	return true
}

// weigh notes how many bytes a class takes by now.
func (s *seats) weigh(c *Class) {
	size := c.size()
	s.bytes.Add(int64(size) - int64(c.weighed))
	c.weighed = int32(size)
}
