package digest

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/quern-dev/quern/internal/fixed"
)

// The buckets are those of a log-linear histogram: below 128 one for each
// integer; above, 64 of equal width from each power of two to the next, except
// that the border that is nearest to a power of ten is moved there, so that what
// lies between two powers of ten is counted exactly.
const (
	pageBits = 6
	pageLen  = 1 << pageBits
	numPages = 63 - pageBits + 1
	// maxSparse is how many filled buckets are kept as a sorted list. Beyond it
	// pages are about as small, and faster.
	maxSparse = 32
)

// decades has for each page the bucket that begins with a power of ten, if one
// does: its number and its lowest value.
var decades = func() (ds [numPages]struct {
	bucket int
	low    int64
}) {
	low := int64(100)
	for range 16 { // up to 10^18
		low *= 10
		shift := bits.Len64(uint64(low)) - pageBits - 1
		width := int64(1) << shift
		ds[shift].bucket = shift<<pageBits + int((low+width/2)>>shift)
		ds[shift].low = low
	}
	return ds
}()

// bucketOf returns the number of the bucket of v, which is not negative.
func bucketOf(v int64) int {
	shift := max(bits.Len64(uint64(v))-pageBits-1, 0)
	i := shift<<pageBits + int(v>>shift)
	switch d := &decades[shift]; {
	case i == d.bucket && v < d.low:
		return i - 1
	case i == d.bucket-1 && v >= d.low:
		return i + 1
	}
	return i
}

// bucketRange returns the smallest and the largest value of bucket i.
func bucketRange(i int) (low, high int64) {
	if i < 2*pageLen {
		return int64(i), int64(i)
	}
	shift := i>>pageBits - 1
	low = int64(pageLen+i&(pageLen-1)) << shift
	high = low + (1<<shift - 1)
	switch d := &decades[shift]; i {
	case d.bucket:
		low = d.low
	case d.bucket - 1:
		high = d.low - 1
	}
	return low, high
}

// bucketMiddle returns a value that is off by at most 1 % of any in the bucket.
func bucketMiddle(i int) int64 {
	low, high := bucketRange(i)
	return low + min((high-low)/2, low/100)
}

// buckets holds the weight in units of each bucket: as a sorted list while few
// are filled, then in pages of one power of two each.
type buckets struct {
	sparse []cell
	first  int // number of pages[0]
	pages  []page
}

type cell struct {
	bucket int
	weight uint64
}

// A page is the buckets from one power of two to the next. A bucket's weight is
// the sum of its counters: whole weights that fit are counted in 8 bits, which
// most buckets never outgrow, then in 32; what is not whole in units.
type page struct {
	small *[pageLen]uint8
	large *largePage
}

type largePage struct {
	whole [pageLen]uint32
	units *[pageLen]uint64
}

func (b *buckets) add(i int, w uint64) {
	if b.pages == nil {
		if b.addSparse(i, w) {
			return
		}
		b.first = b.sparse[0].bucket >> pageBits
		b.pages = make([]page, b.sparse[maxSparse-1].bucket>>pageBits-b.first+1)
		for _, c := range b.sparse {
			b.page(c.bucket>>pageBits).add(c.bucket&(pageLen-1), c.weight)
		}
		b.sparse = nil
	}
	b.page(i>>pageBits).add(i&(pageLen-1), w)
}

// addSparse reports whether the list had the bucket, or had room for it.
func (b *buckets) addSparse(i int, w uint64) bool {
	at, found := slices.BinarySearchFunc(b.sparse, i, func(c cell, i int) int { return c.bucket - i })
	if found {
		b.sparse[at].weight = addSaturated(b.sparse[at].weight, w)
		return true
	}
	if len(b.sparse) == maxSparse {
		return false
	}
	b.sparse = slices.Insert(b.sparse, at, cell{i, w})
	return true
}

// page returns page n, made if it was not there.
func (b *buckets) page(n int) *page {
	if at := n - b.first; uint(at) < uint(len(b.pages)) {
		return &b.pages[at]
	}
	first, last := n, n
	if len(b.pages) > 0 {
		first = min(n, b.first)
		last = max(n, b.first+len(b.pages)-1)
	}
	pages := make([]page, last-first+1)
	copy(pages[max(b.first-first, 0):], b.pages)
	b.first, b.pages = first, pages
	return &b.pages[n-first]
}

func (p *page) add(i int, w uint64) {
	n, whole := w>>fixed.Bits, w&(fixed.One-1) == 0
	if whole && n <= math.MaxUint8 {
		if p.small == nil {
			p.small = new([pageLen]uint8)
		}
		if n += uint64(p.small[i]); n <= math.MaxUint8 {
			p.small[i] = uint8(n)
			return
		}
		p.small[i] = 0 // n has it
	}
	if p.large == nil {
		p.large = new(largePage)
	}
	if sum := uint64(p.large.whole[i]) + n; whole && sum <= math.MaxUint32 {
		p.large.whole[i] = uint32(sum)
		return
	}
	if p.large.units == nil {
		p.large.units = new([pageLen]uint64)
	}
	if whole {
		w = n << fixed.Bits
	}
	p.large.units[i] = addSaturated(p.large.units[i], w)
}

// at returns the weight in units of the page's i-th bucket.
func (p *page) at(i int) uint64 {
	var w uint64
	if p.small != nil {
		w = uint64(p.small[i]) << fixed.Bits
	}
	if l := p.large; l != nil {
		w += uint64(l.whole[i]) << fixed.Bits
		if l.units != nil {
			w = addSaturated(w, l.units[i])
		}
	}
	return w
}

// each yields the filled buckets in rising order with their weight in units.
func (b *buckets) each(yield func(bucket int, weight uint64) bool) {
	for _, c := range b.sparse {
		if !yield(c.bucket, c.weight) {
			return
		}
	}
	for n := range b.pages {
		p := &b.pages[n]
		for i := p.filled(0); i < pageLen; i = p.filled(i + 1) {
			if w := p.at(i); w != 0 && !yield((b.first+n)<<pageBits+i, w) {
				return
			}
		}
	}
}

// filled returns the first bucket from i on that may be filled, pageLen if none
// is. Most pages are empty, or nearly so: it passes eight buckets at once.
func (p *page) filled(i int) int {
	switch {
	case p.large != nil:
		return i
	case p.small == nil:
		return pageLen
	}
	for i < pageLen && p.small[i] == 0 {
		if i%8 == 0 && binary.LittleEndian.Uint64(p.small[i:]) == 0 {
			i += 8
		} else {
			i++
		}
	}
	return i
}

func (b *buckets) clone() *buckets {
	c := &buckets{sparse: slices.Clone(b.sparse), first: b.first, pages: slices.Clone(b.pages)}
	for i := range c.pages {
		p := &c.pages[i]
		p.small = cloneOf(p.small)
		if p.large = cloneOf(p.large); p.large != nil {
			p.large.units = cloneOf(p.large.units)
		}
	}
	return c
}

// size returns about how many bytes h takes beside itself.
func (h *Histogram) size() int {
	n := 0
	if h.moments != nil {
		n += int(unsafe.Sizeof(*h.moments))
	}
	if b := h.buckets; b != nil {
		n += int(unsafe.Sizeof(*b)) + cap(b.sparse)*int(unsafe.Sizeof(cell{})) + cap(b.pages)*int(unsafe.Sizeof(page{}))
		for i := range b.pages {
			if b.pages[i].small != nil {
				n += pageLen
			}
			if l := b.pages[i].large; l != nil {
				n += int(unsafe.Sizeof(*l))
				if l.units != nil {
					n += int(unsafe.Sizeof(*l.units))
				}
			}
		}
	}
	return n
}

func cloneOf[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// addSaturated returns a+b, or the largest number where that is more: the one
// overflow for which the order of additions still does not matter.
func addSaturated(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	return sum | -carry
}

// maxCount is where numbers of events stop that are added up, so that no event
// added to them ends at 0.
const maxCount = 15 << 60

// addCounts returns a+b, or maxCount where that is more.
func addCounts(a, b uint64) uint64 { return min(addSaturated(a, b), maxCount) }
