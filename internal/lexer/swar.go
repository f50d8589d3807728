package lexer

import (
	"encoding/binary"
	"math/bits"
)

// Eight bytes at once: names and strings are mostly short, and to look at them
// byte by byte costs a loop whose end a processor cannot guess. In what
// follows, the highest bit of each byte of a uint64 answers a question about
// that byte; the sums never carry into the next byte, because they are made of
// seven bits each.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
	lows  = 0x7f * ones
	fold  = 0x20 * ones // makes letters small
)

// Load8 reads eight bytes, the first into the lowest; the compiler makes it one
// instruction.
func Load8[T string | []byte](s T) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// first returns the index of the first byte whose highest bit is set, 8 if
// there is none.
func first(x uint64) int { return bits.TrailingZeros64(x) / 8 }

// within answers which bytes of x, of seven bits each, lie from lo to hi.
func within(x uint64, lo, hi byte) uint64 {
	return (x + uint64(0x80-lo)*ones) &^ (x + uint64(0x7f-hi)*ones)
}

// equal answers which bytes of x, of seven bits each, are c.
func equal(x uint64, c byte) uint64 { return ^((x ^ uint64(c)*ones) + lows) }

// noName answers which bytes cannot stand in a bare name.
func noName(x uint64) uint64 {
	low := x & lows
	return ^(x | within(low|fold, 'a', 'z') | within(low, '0', '9') | equal(low, '_') | equal(low, '$')) & highs
}

// Digits returns how many of the eight bytes in x, from the lowest on, are digits.
func Digits(x uint64) int {
	x ^= '0' * ones
	return first((x | (x + 0x76*ones)) & highs) // right up to the first byte above 9
}

// DigitsEnd returns where the digits at s[i:] end.
func DigitsEnd(s string, i int) int {
	for len(s)-i >= 8 {
		if k := Digits(Load8(s[i:])); k < 8 {
			return i + k
		}
		i += 8
	}
	for i < len(s) && s[i]-'0' < 10 {
		i++
	}
	return i
}

// find answers which bytes of x are c; the answer is right up to the first.
func find(x uint64, c byte) uint64 {
	x ^= uint64(c) * ones
	return (x - ones) &^ x & highs
}

// AppendLower appends src[i:j] to dst with its ASCII letters in lower case. It
// may write anything into the rest of dst's capacity.
func AppendLower(dst []byte, src string, i, j int) []byte {
	n := len(dst)
	if j-i <= 16 && len(src)-i >= 16 && cap(dst)-n >= 16 {
		// Two loads and two stores do it, with something left over.
		from, to := src[i:i+16], dst[n:n+16]
		binary.LittleEndian.PutUint64(to, lower(Load8(from)))
		binary.LittleEndian.PutUint64(to[8:], lower(Load8(from[8:])))
		return dst[:n+j-i]
	}
	dst = append(dst, src[i:j]...)
	for k, c := range dst[n:] {
		if 'A' <= c && c <= 'Z' {
			dst[n+k] = c | 0x20
		}
	}
	return dst
}

// lower returns x with its ASCII letters in lower case.
func lower(x uint64) uint64 {
	return x | (within(x&lows, 'A', 'Z')&^x&highs)>>2
}
