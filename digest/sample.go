package digest

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quern-dev/quern/internal/lexer"
)

// A Sample is one event of a class, with the statement's text.
type Sample struct {
	Query        string // as the rule of the aggregator has it: whole, cut, or without its literals
	Truncated    bool   // Query is not the whole statement
	Redacted     bool   // Query has ? in place of its literals
	Schema       string
	User, Host   string
	Time         time.Time // when it was logged, the zero time if not known
	QueryTime    time.Duration
	RowsSent     int64
	RowsExamined int64
	ThreadID     uint64
	TraceID      string // of the trace that the statement belongs to: as observed, or from its traceparent tag
	Offset, Line int64  // where the log has it

	perconaID string
	draw      draw
}

// A draw decides which events are samples. It is made of hashes, so that of the
// same events the same are kept, whatever the order in which they are met.
type draw struct {
	lot  uint64 // of when and by whom the statement ran
	text uint64 // of the statement
}

func (d draw) compare(o draw) int {
	return cmp.Or(cmp.Compare(d.lot, o.lot), cmp.Compare(d.text, o.text))
}

// PerconaID returns the ID that pt-query-digest gives to the statement: 32
// hexadecimal digits, the last 16 of which PMM uses.
func (s *Sample) PerconaID() string {
	if s.perconaID != "" {
		return s.perconaID
	}
	return PerconaID(s.Query)
}

// A TextMode says what of a statement's text a sample keeps.
type TextMode uint8

const (
	TextVerbatim TextMode = iota // as it is
	TextRedacted                 // with ? in place of its literals, without comments
	TextNone                     // nothing: there are no samples
)

func (m TextMode) String() string {
	return [...]string{"verbatim", "redacted", "none"}[m]
}

// rule is what an aggregator keeps of the events.
type rule struct {
	samples int // drawn by lot, beside the slowest
	text    TextMode
	maxText int
	printer *Fingerprinter
	names   *names
	scratch []byte

	backlogs int // of how many classes
}

// samples are the slowest event and those of the lowest lots.
type samples struct {
	slowest *Sample
	lowest  []*Sample // by rising lot

	// An event that is faster and has a higher lot was no sample once, and is none
	// since. It saves the look at the samples, which are elsewhere.
	faster    time.Duration
	higherLot uint64
}

// lot returns the number that the event draws.
func (f *facts) lot() uint64 {
	h := mix(uint64(f.time), uint64(f.queryTime)+0x9e3779b97f4a7c15)
	return mix(h^f.threadID, uint64(len(f.query))+0xbf58476d1ce4e5b9)
}

// mix is a step of the hash wyhash, whose strength is plenty for drawing lots.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0xa0761d6478bd642f, b^0xe7037ed1a0b428db)
	return hi ^ lo
}

// textHash returns the hash of the statement, or of as much of it as is kept:
// literals could be guessed from the hash of what holds them.
func (f *facts) textHash(r *rule) uint64 {
	if r.text != TextRedacted {
		return hashText(f.query)
	}
	r.scratch = r.printer.AppendRedacted(r.scratch[:0], f.query)
	return hashText(r.scratch)
}

// findTrace sets the trace, if it is not known yet, to the one that a comment of
// the statement tells as sqlcommenter does.
func (f *facts) findTrace(r *rule) {
	if f.traceID == "" && strings.Contains(f.query, "traceparent") {
		if parent := r.printer.Tags(f.query).Get("traceparent"); parent != "" {
			f.traceID = parent[len("00-"):][:32]
		}
	}
}

// hashText hashes a text by eight bytes: statements may be long.
func hashText[T string | []byte](s T) uint64 {
	h := uint64(len(s))
	for ; len(s) >= 8; s = s[8:] {
		h = mix(h, lexer.Load8(s))
	}
	var last uint64
	for i := range len(s) {
		last = last<<8 | uint64(s[i])
	}
	return mix(h, last)
}

func (s *samples) add(f *facts, r *rule) {
	if r.text == TextNone || f.query == "" {
		return
	}
	d := draw{lot: f.lot()}
	// Most events are told off by their time and their lot.
	if f.queryTime < int64(s.faster) && d.lot > s.higherLot {
		return
	}
	slowest := s.slowest == nil || f.queryTime > int64(s.slowest.QueryTime) ||
		f.queryTime == int64(s.slowest.QueryTime) && d.lot <= s.slowest.draw.lot
	lowest := len(s.lowest) < r.samples || r.samples > 0 && d.lot <= s.lowest[len(s.lowest)-1].draw.lot
	if !slowest && !lowest {
		s.faster, s.higherLot = s.slowest.QueryTime, 0
		if n := len(s.lowest); n > 0 {
			s.higherLot = s.lowest[n-1].draw.lot
		}
		return
	}
	d.text = f.textHash(r)
	f.findTrace(r)
	o := f.origin(d)
	slowest = slowest && (s.slowest == nil || o.slower(s.slowest))
	at, found := s.search(d)
	lowest = found && o.compareOrigin(s.lowest[at]) < 0 || !found && at < r.samples
	if !slowest && !lowest {
		return
	}
	kept := f.sample(r)
	if slowest {
		s.slowest = kept
	}
	switch {
	case lowest && found:
		s.lowest[at] = kept
	case lowest:
		s.lowest = slices.Insert(s.lowest, at, kept)
		s.trim(r.samples)
	}
}

// search returns where d is, or would be, in s.lowest.
func (s *samples) search(d draw) (at int, found bool) {
	return slices.BinarySearchFunc(s.lowest, d, func(s *Sample, d draw) int { return s.draw.compare(d) })
}

// slower reports whether s comes before o, the slowest first.
func (s *Sample) slower(o *Sample) bool {
	if s.QueryTime != o.QueryTime {
		return s.QueryTime > o.QueryTime
	}
	if c := s.draw.compare(o.draw); c != 0 {
		return c < 0
	}
	return s.compareOrigin(o) < 0
}

// compareOrigin says which of two samples of one draw is kept. Where times are
// whole seconds and no connection is logged, many events draw alike.
func (s *Sample) compareOrigin(o *Sample) int {
	if s.Offset != o.Offset {
		return cmp.Compare(s.Offset, o.Offset)
	}
	return cmp.Or(
		cmp.Compare(s.Line, o.Line),
		cmp.Compare(s.Schema, o.Schema),
		cmp.Compare(s.User, o.User),
		cmp.Compare(s.Host, o.Host),
		cmp.Compare(s.RowsSent, o.RowsSent),
		cmp.Compare(s.RowsExamined, o.RowsExamined),
		cmp.Compare(s.TraceID, o.TraceID),
	)
}

func (s *samples) trim(n int) {
	if len(s.lowest) > n {
		clear(s.lowest[n:])
		s.lowest = s.lowest[:n]
	}
}

func (s *samples) merge(o *samples, n int) {
	if o.slowest != nil && (s.slowest == nil || o.slowest.slower(s.slowest)) {
		s.slowest = o.slowest
	}
	for _, l := range o.lowest {
		switch at, found := s.search(l.draw); {
		case found && l.compareOrigin(s.lowest[at]) < 0:
			s.lowest[at] = l
		case !found && at < n:
			s.lowest = slices.Insert(s.lowest, at, l)
		}
	}
	s.trim(n)
}

func (s *samples) list() []*Sample {
	if s.slowest == nil {
		return nil
	}
	list := []*Sample{s.slowest}
	for _, l := range s.lowest {
		if l.draw != s.slowest.draw {
			list = append(list, l)
		}
	}
	return list
}

// sample returns the event as a sample that shares no memory with it, nil if
// none is to be kept.
func (f *facts) sample(r *rule) *Sample {
	if r.text == TextNone || f.query == "" {
		return nil
	}
	f.findTrace(r)
	o := f.origin(draw{f.lot(), f.textHash(r)})
	s := &o
	s.Schema = r.names.keep(f.schema)
	s.User = r.names.keep(f.user)
	s.Host = r.names.keep(f.host)
	s.TraceID = string([]byte(f.traceID))
	s.setQuery(f.query, r)
	return s
}

// origin returns all of the event's sample but its text, in the memory of f.
func (f *facts) origin(d draw) Sample {
	s := Sample{
		Truncated: f.truncated,
		Schema:    f.schema,
		User:      f.user,
		Host:      f.host,
		Time:      timeOf(f.time),
		QueryTime: time.Duration(f.queryTime),
		ThreadID:  f.threadID,
		TraceID:   f.traceID,
		Offset:    f.offset,
		Line:      f.line,
		draw:      d,

		RowsExamined: f.rowsExamined,
	}
	if f.rowsSent <= math.MaxInt64 {
		s.RowsSent = int64(f.rowsSent)
	}
	return s
}

// setQuery keeps what the rule allows of the statement. The ID of a statement
// that is not kept whole is kept instead.
func (s *Sample) setQuery(query string, r *rule) {
	kept := query
	if r.text == TextRedacted {
		kept = r.printer.Statement(query).Redacted
		s.Redacted = true
	}
	if len(kept) > r.maxText {
		end := r.maxText
		for end > 0 && !utf8.RuneStart(kept[end]) {
			end--
		}
		kept = kept[:end]
		s.Truncated = true
	}
	s.Query = string([]byte(kept))
	if len(kept) != len(query) || s.Redacted {
		s.perconaID = PerconaID(query)
	}
}
