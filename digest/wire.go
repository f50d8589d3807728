package digest

import (
	"encoding/binary"
	"math"
)

// The binary form of everything is made of these: numbers as varints, strings
// and lists behind their length.

func appendUint(b []byte, n uint64) []byte { return binary.AppendUvarint(b, n) }

func appendInt(b []byte, n int64) []byte { return binary.AppendVarint(b, n) }

func appendString(b []byte, s string) []byte {
	return append(appendUint(b, uint64(len(s))), s...)
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// wireReader reads what the functions above append. After the first failure all
// it reads is zero, and failed is set.
type wireReader struct {
	rest   []byte
	failed bool
}

func (r *wireReader) fail() { r.rest, r.failed = nil, true }

func (r *wireReader) uint() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *wireReader) int() int64 {
	n, size := binary.Varint(r.rest)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// value reads a number that is no larger than the largest int64.
func (r *wireReader) value() int64 {
	n := r.uint()
	if n > math.MaxInt64 {
		r.fail()
		return 0
	}
	return int64(n)
}

// atMost reads a number that is no larger than limit.
func (r *wireReader) atMost(limit uint64) uint64 {
	n := r.uint()
	if n > limit {
		r.fail()
		return 0
	}
	return n
}

// count reads a number of events.
func (r *wireReader) count() uint64 { return r.atMost(maxCount + 1<<59) }

// length reads the length of a list whose elements take at least size bytes
// each, so that no more is allocated than the input is long.
func (r *wireReader) length(size int) int {
	return int(r.atMost(uint64(len(r.rest) / size)))
}

func (r *wireReader) bool() bool { return r.atMost(1) == 1 }

func (r *wireReader) bytes(n int) []byte {
	if n > len(r.rest) {
		r.fail()
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

// uint64 reads eight bytes, as hashes are written, which fill them.
func (r *wireReader) uint64() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// string returns a copy.
func (r *wireReader) string() string { return string(r.bytes(r.length(1))) }
