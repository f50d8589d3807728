package digest

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"github.com/quern-dev/quern/internal/fixed"
)

// appendWeight appends a weight in units. Whole weights, which are most, are
// short: their whole part comes lowest.
func appendWeight(b []byte, w uint64) []byte {
	return appendUint(b, bits.RotateLeft64(w, -fixed.Bits))
}

func (r *wireReader) weight() uint64 { return bits.RotateLeft64(r.uint(), fixed.Bits) }

func appendWords(b []byte, words ...uint64) []byte {
	for _, n := range words {
		b = appendUint(b, n)
	}
	return b
}

func (r *wireReader) u128() fixed.U128 { return fixed.U128{r.uint(), r.uint()} }

func (r *wireReader) u192() fixed.U192 { return fixed.U192{r.uint(), r.uint(), r.uint()} }

// How a summary is written.
const (
	summaryUnweighted = 1 << iota // all weights are 1, and left out
	summaryMoments                // there are moments
)

func appendSummary(b []byte, s *Summary) []byte {
	b = appendUint(b, s.n)
	if s.n == 0 {
		return b
	}
	m := s.sums()
	flags := byte(0)
	var ones fixed.U128
	ones.AddMul(s.weight, fixed.One)
	if s.weightsAreOne() && m.weights == ones {
		// the sum and the sum of squares of n weights are both n only if all are 1
		flags |= summaryUnweighted
	}
	if s.moments != nil {
		flags |= summaryMoments
	}
	b = append(b, flags)
	b = appendUint(b, uint64(s.min))
	b = appendUint(b, uint64(s.max-s.min))
	if flags&summaryUnweighted == 0 {
		b = appendWeight(b, s.weight)
	}
	if flags&summaryMoments != 0 {
		if flags&summaryUnweighted != 0 {
			sum, squares := m.sum.ShiftRight(fixed.Bits), m.squares.ShiftRight(fixed.Bits)
			b = appendWords(b, sum[:]...)
			b = appendWords(b, squares[:]...)
		} else {
			b = appendWords(b, m.sum[:]...)
			b = appendWords(b, m.squares[:]...)
			b = appendWords(b, m.weights[:]...)
		}
	}
	return b
}

func (r *wireReader) summary() (s Summary) {
	if s.n = r.count(); s.n == 0 {
		return s
	}
	flags := r.atMost(summaryUnweighted | summaryMoments)
	s.min = r.value()
	s.max = r.value()
	if s.max += s.min; s.max < s.min {
		r.fail()
	}
	if flags&summaryUnweighted == 0 {
		s.weight = r.weight()
	} else if s.weight = s.n << fixed.Bits; s.n > maxUnweighted {
		r.fail()
	}
	switch flags {
	case summaryMoments | summaryUnweighted:
		s.moments = &moments{sum: r.u128().ShiftLeft(fixed.Bits), squares: r.u192().ShiftLeft(fixed.Bits)}
		s.moments.weights.AddMul(s.weight, fixed.One)
	case summaryMoments:
		s.moments = &moments{sum: r.u128(), squares: r.u192(), weights: r.u128()}
	}
	if plain := s.n == 1 || flags&summaryUnweighted != 0; s.weight == 0 || s.moments == nil && (s.min != s.max || !plain) {
		r.fail()
	}
	return s
}

func appendHistogram(b []byte, h *Histogram) []byte {
	b = appendSummary(b, &h.Summary)
	if h.buckets == nil {
		return b
	}
	n := 0
	for range h.cells() {
		n++
	}
	b = appendUint(b, uint64(n))
	last := 0
	for i, w := range h.cells() {
		b = appendUint(b, uint64(i-last))
		b = appendWeight(b, w)
		last = i
	}
	return b
}

func (r *wireReader) histogram() (h Histogram) {
	h.Summary = r.summary()
	if h.min == h.max {
		return h
	}
	h.buckets = new(buckets)
	at := uint64(0)
	for range r.length(2) {
		at += r.uint()
		w := r.weight()
		if at >= numPages*pageLen || w == 0 {
			r.fail()
			break
		}
		h.buckets.add(int(at), w)
	}
	return h
}

func appendCounter(b []byte, c *counter) []byte {
	b = appendWeight(b, c.rest)
	b = appendUint(b, uint64(len(c.entries)))
	for _, e := range slices.SortedFunc(slices.Values(c.entries), func(a, b counterEntry) int { return cmp.Compare(a.name, b.name) }) {
		b = appendString(b, e.name)
		b = appendWeight(b, e.weight)
	}
	return b
}

func (r *wireReader) counter() (c counter) {
	c.rest = r.weight()
	for range r.length(2) {
		c.entries = append(c.entries, counterEntry{r.string(), r.weight()})
	}
	return c
}

func appendTimeline(b []byte, t *timeline) []byte {
	b = appendUint(b, uint64(len(t.cells)))
	if len(t.cells) == 0 {
		return b
	}
	b = appendUint(b, uint64(t.shift))
	b = appendInt(b, t.first)
	for i := range t.cells {
		c := &t.cells[i]
		b = appendWeight(b, c.weight)
		if c.weight != 0 {
			b = appendWords(b, c.time[:]...)
		}
	}
	return b
}

func (r *wireReader) timeline(limit int) (t timeline) {
	n := r.length(1)
	if n == 0 {
		return t
	}
	t.shift = uint(r.atMost(36))
	t.first = r.int()
	if n > limit || t.first < -maxSecond>>t.shift || t.first > maxSecond>>t.shift {
		r.fail()
		return timeline{}
	}
	t.cells = make([]timeCell, n)
	for i := range t.cells {
		if t.cells[i].weight = r.weight(); t.cells[i].weight != 0 {
			t.cells[i].time = r.u128()
		}
	}
	return t
}

func appendSample(b []byte, s *Sample) []byte {
	b = s.appendText(b)
	b = appendString(b, s.Schema)
	b = appendString(b, s.User)
	b = appendString(b, s.Host)
	b = appendInt(b, unixNano(s.Time))
	b = appendUint(b, uint64(s.QueryTime))
	b = appendUint(b, uint64(s.RowsSent))
	return appendUint(b, uint64(s.RowsExamined))
}

func (r *wireReader) sample() *Sample {
	s := new(Sample)
	s.readText(r)
	s.Schema = r.string()
	s.User = r.string()
	s.Host = r.string()
	s.Time = timeOf(r.int())
	s.QueryTime = time.Duration(r.value())
	s.RowsSent = r.value()
	s.RowsExamined = r.value()
	return s
}
