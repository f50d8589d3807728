package perfschema

import (
	"cmp"
	"database/sql"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/quern-dev/quern/digest"
)

// key names a row. Both are NULL in the row of the statements that found no row
// of their own.
type key struct{ schema, digest sql.NullString }

func (k key) overflow() bool { return !k.digest.Valid }

func (k key) compare(o key) int {
	return cmp.Or(strings.Compare(k.digest.String, o.digest.String), strings.Compare(k.schema.String, o.schema.String))
}

// row is what the server counted of a digest. Times are in picoseconds.
type row struct {
	text          string
	count, errors uint64
	time          uint64 // a sum, which starts again from 0 after 213 days
	min, max      uint64
	sums          [len(fields)]uint64
	known         [len(fields)]bool // the server has such a column
	first, last   time.Time

	sample     string
	sampleTime uint64
	sampleSeen time.Time

	buckets []bucket // by rising number, nil if there is no histogram
}

// bucket is a part of the server's histogram.
type bucket struct {
	number    uint32
	low, high uint64
	count     uint64
	given     uint64 // of them, those that some Poll gave out
}

// beganAfter reports whether the row was made anew since it was before. Only
// MySQL says to a microsecond when it was; MariaDB's is told by its counters too.
func (r *row) beganAfter(before *row) bool {
	if !r.first.Equal(before.first) || r.count < before.count || r.errors < before.errors || r.min > before.min || r.max < before.max {
		return true
	}
	for i, sum := range r.sums {
		if sum < before.sums[i] {
			return true
		}
	}
	return r.time < before.time && before.time < 1<<63
}

// times returns n values from the row's histogram that no Poll gave out yet.
//
// The server's tables are read one after the other while statements run: the
// histogram may hold some values more than were counted, which remain for the
// next Poll, or fewer if the tables were emptied in between. Values are then taken
// from all buckets in proportion.
func (r *row) times(before *row, n uint64) *digest.Histogram {
	var pending uint64
	for i := range r.buckets {
		b := &r.buckets[i]
		if at, ok := before.search(b.number); ok {
			b.given = min(before.buckets[at].given, b.count)
		}
		pending += b.count - b.given
	}
	h := new(digest.Histogram)
	if pending == 0 {
		return h
	}
	var sum, taken uint64
	for i := range r.buckets {
		b := &r.buckets[i]
		sum += b.count - b.given
		upTo := proportion(sum, n, pending)
		take := upTo - taken
		taken = upTo
		b.given = min(b.given+take, b.count)
		if take > 0 {
			h.AddMany(int64(duration(r.middle(b))), take)
		}
	}
	return h
}

func (r *row) search(number uint32) (at int, ok bool) {
	return slices.BinarySearchFunc(r.buckets, number, func(b bucket, n uint32) int { return cmp.Compare(b.number, n) })
}

// proportion returns a * b / c, rounded down, of an a that is at most c.
func proportion(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	q, _ := bits.Div64(hi, lo, c)
	return q
}

// middle returns what a value of the bucket counts as.
func (r *row) middle(b *bucket) uint64 {
	low, high := max(b.low, r.min), min(b.high, r.max)
	if low > high { // the bucket was read after the row
		low, high = b.low, b.high
	}
	if b.low == 0 {
		return low/2 + high/2
	}
	middle := uint64(math.Sqrt(float64(b.low)) * math.Sqrt(float64(b.high)))
	return min(max(middle, low), high)
}

// extremes returns n values that add up to total, among them the shortest and the
// longest if they are of this interval for certain: as the row is new, or they
// were not so short or long before.
func (r *row) extremes(before *row, n uint64, total time.Duration) *digest.Histogram {
	h := new(digest.Histogram)
	rest := uint64(total)
	add := func(v, times uint64) {
		h.AddMany(int64(v), times)
		rest -= min(v*times, rest)
		n -= times
	}
	if v := uint64(duration(r.max)); n > 0 && (before.count == 0 || r.max > before.max) {
		add(v, 1)
	}
	if v := uint64(duration(r.min)); n > 0 && (before.count == 0 || r.min < before.min) {
		add(v, 1)
	}
	if n > 0 {
		each := rest / n
		over := rest % n
		add(each, n-over)
		add(each+1, over)
	}
	return h
}

// preparedCommands are the administrator commands of what is done with prepared
// statements, empty for an execution.
var preparedCommands = map[string]string{"PREPARE": "Prepare", "EXECUTE": "", "DEALLOCATE": "Close stmt"}

// prepared tells what was done with a prepared statement: MySQL writes that before
// the text of the statement's digest. It returns the administrator command, empty
// for an execution and for what is no such thing, and the text without it.
func (r *row) prepared() (command, text string) {
	word, rest, _ := strings.Cut(r.text, " ")
	command, ok := preparedCommands[word]
	if !ok || strings.HasPrefix(rest, "`") || strings.HasPrefix(rest, "PREPARE ") || strings.HasPrefix(rest, "IMMEDIATE ") {
		return "", r.text // PREPARE name FROM … as it is
	}
	if first, _, _ := strings.Cut(strings.TrimSpace(r.sample), " "); strings.EqualFold(first, word) {
		return "", r.text
	}
	return command, rest
}
