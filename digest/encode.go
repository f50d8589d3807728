package digest

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/quern-dev/quern/internal/fixed"
)

// The binary form of a profile or of a histogram is a frame:
//
//	4 bytes   "QRN" and P for a profile, H for a histogram
//	1 byte    version of the content
//	8 bytes   length of the content, little endian
//	content
//	4 bytes   CRC-32C of all before, little endian
//
// It is canonical: equal profiles have equal bytes.
const (
	frameHead    = 4 + 1 + 8
	frameTail    = 4
	frameVersion = 1

	profileMagic   = "QRNP"
	histogramMagic = "QRNH"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A FormatError says why bytes are not the binary form of a profile or of a
// histogram.
type FormatError struct{ Reason string }

func (e *FormatError) Error() string { return "digest: not a binary form: " + e.Reason }

// openFrame begins a frame, to which the content is appended.
func openFrame(b []byte, magic string) []byte {
	b = append(b, magic...)
	b = append(b, frameVersion)
	return append(b, make([]byte, 8)...)
}

// closeFrame ends the frame that began at start.
func closeFrame(b []byte, start int) []byte {
	frame := b[start:]
	binary.LittleEndian.PutUint64(frame[5:], uint64(len(frame)-frameHead))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(frame, castagnoli))
}

// readFrame returns the content of a frame that is all of b.
func readFrame(b []byte, magic string) (*wireReader, error) {
	if len(b) < frameHead+frameTail {
		return nil, &FormatError{fmt.Sprintf("%d bytes are too few", len(b))}
	}
	if string(b[:4]) != magic {
		return nil, &FormatError{fmt.Sprintf("it begins with %q instead of %q", b[:4], magic)}
	}
	if b[4] != frameVersion {
		return nil, &FormatError{fmt.Sprintf("version %d is not known, only %d", b[4], frameVersion)}
	}
	if length, have := binary.LittleEndian.Uint64(b[5:]), uint64(len(b)-frameHead-frameTail); length != have {
		return nil, &FormatError{fmt.Sprintf("the content has %d bytes instead of %d", have, length)}
	}
	end := len(b) - frameTail
	if crc32.Checksum(b[:end], castagnoli) != binary.LittleEndian.Uint32(b[end:]) {
		return nil, &FormatError{"the checksum is wrong"}
	}
	return &wireReader{rest: b[frameHead:end]}, nil
}

// done returns an error unless all was read and nothing was wrong with it.
func (r *wireReader) done() error {
	if r.failed || len(r.rest) > 0 {
		return &FormatError{"the content is malformed"}
	}
	return nil
}

// AppendBinary appends the binary form of h to b: versioned, checksummed, and
// equal for equal histograms. The error is nil.
func (h *Histogram) AppendBinary(b []byte) ([]byte, error) {
	start := len(b)
	return closeFrame(appendHistogram(openFrame(b, histogramMagic), h), start), nil
}

// MarshalBinary returns the binary form; see AppendBinary.
func (h *Histogram) MarshalBinary() ([]byte, error) { return h.AppendBinary(nil) }

// UnmarshalBinary sets h to what the binary form says. The error is a
// *FormatError, and h unchanged, if data is not one, whole and unharmed.
func (h *Histogram) UnmarshalBinary(data []byte) error {
	r, err := readFrame(data, histogramMagic)
	if err != nil {
		return err
	}
	got := r.histogram()
	if err := r.done(); err != nil {
		return err
	}
	*h = got
	return nil
}

// AppendBinary appends the binary form of p to b: versioned, checksummed, and
// equal for equal profiles. The error is nil.
func (p *Profile) AppendBinary(b []byte) ([]byte, error) {
	start := len(b)
	b = openFrame(b, profileMagic)
	w := profileWriter{numbers: make(map[Measure]uint64), drawn: p.settings.samples > 0}
	b = w.appendSettings(b, &p.settings)
	b = w.appendMeasureNames(b, p)
	b = appendTotals(b, &p.totals)
	b = appendUint(b, uint64(len(p.classes)))
	for _, c := range p.classes {
		b = w.appendClass(b, c)
	}
	b = appendBool(b, p.overflow != nil)
	if p.overflow != nil {
		b = w.appendClass(b, p.overflow)
	}
	return closeFrame(b, start), nil
}

// MarshalBinary returns the binary form; see AppendBinary.
func (p *Profile) MarshalBinary() ([]byte, error) { return p.AppendBinary(nil) }

// UnmarshalBinary sets p, which is new, to what the binary form says. The error
// is a *FormatError, and p unchanged, if data is not one, whole and unharmed.
// The profile keeps nothing of data.
func (p *Profile) UnmarshalBinary(data []byte) error {
	wr, err := readFrame(data, profileMagic)
	if err != nil {
		return err
	}
	r := profileReader{wireReader: wr}
	var got Profile
	got.settings = r.settings()
	r.measureNames()
	totals := r.totals()
	got.setTotals(&totals)
	for range r.length(minClassSize) {
		c := r.class(&got.settings)
		if n := len(got.classes); r.failed || n > 0 && compareClasses(got.classes[n-1], c) >= 0 {
			r.fail()
			break
		}
		got.classes = append(got.classes, c)
	}
	if r.bool() {
		got.overflow = r.class(&got.settings)
	}
	if err := r.done(); err != nil {
		return err
	}
	*p = got
	return nil
}

// profileWriter writes measures by their place in the list of the names of
// those that the profile has: their numbers may change from release to release.
type profileWriter struct {
	numbers map[Measure]uint64
	drawn   bool // samples are drawn by lot
}

type profileReader struct {
	*wireReader
	measures []Measure
}

func (w *profileWriter) appendMeasureNames(b []byte, p *Profile) []byte {
	have := slices.Clone(p.settings.hists)
	add := func(c *Class) {
		for _, m := range c.details().measures {
			have = append(have, m.measure)
		}
	}
	for _, c := range p.classes {
		add(c)
		slices.Sort(have)
		have = slices.Compact(have)
	}
	if p.overflow != nil {
		add(p.overflow)
	}
	slices.SortFunc(have, func(a, b Measure) int { return strings.Compare(a.String(), b.String()) })
	have = slices.Compact(have)
	b = appendUint(b, uint64(len(have)))
	for i, m := range have {
		b = appendString(b, m.String())
		w.numbers[m] = uint64(i)
	}
	return b
}

func (r *profileReader) measureNames() {
	for range r.length(2) {
		m, ok := ParseMeasure(r.string())
		if !ok {
			r.fail()
		}
		r.measures = append(r.measures, m)
	}
}

func (r *profileReader) measure() Measure {
	if n := r.uint(); n < uint64(len(r.measures)) {
		return r.measures[n]
	}
	r.fail()
	return 0
}

func (w *profileWriter) appendSettings(b []byte, s *settings) []byte {
	b = appendString(b, s.fingerprint)
	b = appendString(b, s.groups)
	b = appendUint(b, uint64(len(s.hists)))
	for _, m := range s.hists {
		b = appendString(b, m.String())
	}
	b = appendUint(b, uint64(s.samples))
	b = appendUint(b, uint64(s.text))
	return appendUint(b, uint64(s.maxText))
}

func (r *profileReader) settings() (s settings) {
	s.fingerprint = r.string()
	s.groups = r.string()
	for range r.length(2) {
		m, ok := ParseMeasure(r.string())
		if !ok {
			r.fail()
		}
		s.hists = append(s.hists, m)
	}
	slices.Sort(s.hists)
	s.samples = int(r.atMost(1 << 30))
	s.text = TextMode(r.atMost(uint64(TextNone)))
	s.maxText = int(r.atMost(1 << 40))
	return s
}

func appendTotals(b []byte, t *totals) []byte {
	b = appendUint(b, t.events)
	b = appendWeight(b, t.weight)
	b = appendBool(b, t.weighted)
	b = appendUint(b, t.skipped)
	b = appendUint(b, t.filtered)
	b = appendSummary(b, &t.time)
	b = appendUint(b, t.logged)
	b = appendHistogram(b, &t.statements.h)
	b = appendBool(b, t.fraction)
	b = appendBool(b, t.sessionSampled)
	b = appendInt(b, t.first)
	b = appendInt(b, t.last)
	return appendTimeline(b, &t.timeline)
}

func (r *wireReader) totals() (t totals) {
	t.events = r.count()
	t.weight = r.weight()
	t.weighted = r.bool()
	t.skipped = r.count()
	t.filtered = r.count()
	t.time = r.summary()
	t.logged = r.uint()
	t.statements.h = r.histogram()
	t.fraction = r.bool()
	t.sessionSampled = r.bool()
	t.first = r.int()
	t.last = r.int()
	t.timeline = r.timeline(profileIntervals)
	return t
}

// minClassSize is less than any class takes.
const minClassSize = 32

func (w *profileWriter) appendClass(b []byte, c *Class) []byte {
	b = append(b, c.ID[:]...)
	b = appendString(b, c.key)
	b = append(b, byte(c.Kind))
	b = appendBool(b, c.composite)
	if c.composite {
		b = appendString(b, c.Fingerprint)
	}
	b = appendString(b, c.Verb)
	b = appendUint(b, uint64(len(c.Tables)))
	for _, t := range c.Tables {
		b = appendString(b, t)
	}
	b = appendUint(b, c.Observed)
	b = appendWeight(b, c.weight)
	b = appendInt(b, c.first)
	b = appendInt(b, c.last)
	b = appendHistogram(b, &c.QueryTime.h)
	b = appendHistogram(b, &c.LockTime.h)
	b = appendHistogram(b, &c.RowsExamined)
	return w.appendDetail(b, c.details())
}

func (r *profileReader) class(s *settings) *Class {
	c := new(Class)
	copy(c.ID[:], r.bytes(len(c.ID)))
	c.key = r.string()
	c.Kind = Kind(r.atMost(uint64(Overflow)))
	if c.Kind != Overflow && (c.key == "" || Kind(c.key[0]) != c.Kind) {
		r.fail()
		return c
	}
	if c.composite = r.bool(); c.composite {
		c.Fingerprint = r.string()
	} else if c.Kind != Overflow {
		c.Fingerprint = c.key[1:]
	}
	c.Verb = r.string()
	for range r.length(1) {
		c.Tables = append(c.Tables, r.string())
	}
	c.Observed = r.count()
	c.weight = r.weight()
	c.Count = fixed.Float(c.weight)
	c.first = r.int()
	c.last = r.int()
	c.QueryTime.h = r.histogram()
	c.LockTime.h = r.histogram()
	c.RowsExamined = r.histogram()
	c.detail = r.detail(s)
	if c.Observed == 1 && !r.failed {
		c.compact()
	}
	return c
}

func (w *profileWriter) appendDetail(b []byte, d *detail) []byte {
	measures := slices.Clone(d.measures)
	slices.SortFunc(measures, func(a, b measureSummary) int {
		return cmp.Compare(w.numbers[a.measure], w.numbers[b.measure])
	})
	b = appendUint(b, uint64(len(measures)))
	for i := range measures {
		m := &measures[i]
		b = appendUint(b, w.numbers[m.measure])
		if m.hist {
			b = appendHistogram(b, &m.h)
		} else {
			b = appendSummary(b, &m.h.Summary)
		}
	}
	for _, c := range []*counter{&d.users, &d.hosts, &d.schemas, &d.routines} {
		b = appendCounter(b, c)
	}
	b = appendWeight(b, d.errors.total)
	errs := slices.SortedFunc(slices.Values(d.errors.entries), func(a, b errorEntry) int { return cmp.Compare(a.number, b.number) })
	b = appendUint(b, uint64(len(errs)))
	for _, e := range errs {
		b = appendInt(b, int64(e.number))
		b = appendUint(b, e.n)
		b = appendWeight(b, e.weight)
	}
	b = appendUint(b, d.suspects)
	b = appendUint(b, d.suppressed)
	b = appendBool(b, d.sessionSampled)
	b = appendTimeline(b, &d.timeline)
	// the slowest sample, then the drawn ones, each once
	list := d.samples.list()
	b = appendUint(b, uint64(len(list)))
	for _, s := range list {
		b = appendSample(b, s)
		_, drawn := d.samples.search(s.draw)
		b = appendBool(b, drawn && w.drawn)
	}
	return b
}

func (r *profileReader) detail(s *settings) *detail {
	d := new(detail)
	for range r.length(3) {
		m := measureSummary{measure: r.measure()}
		if m.hist = slices.Contains(s.hists, m.measure); m.hist {
			m.h = r.histogram()
		} else {
			m.h.Summary = r.summary()
		}
		d.measures = append(d.measures, m)
	}
	for _, c := range []*counter{&d.users, &d.hosts, &d.schemas, &d.routines} {
		*c = r.counter()
	}
	d.errors.total = r.weight()
	for range r.length(3) {
		d.errors.entries = append(d.errors.entries, errorEntry{int32(r.int()), r.count(), r.weight()})
	}
	d.suspects = r.count()
	d.suppressed = r.count()
	d.sessionSampled = r.bool()
	d.timeline = r.timeline(classIntervals)
	for i := range r.length(16) {
		sample := r.sample()
		if i == 0 {
			d.samples.slowest = sample
		}
		if drawn := r.bool(); drawn {
			d.samples.lowest = append(d.samples.lowest, sample)
		}
	}
	slices.SortFunc(d.samples.lowest, func(a, b *Sample) int { return a.draw.compare(b.draw) })
	return d
}
