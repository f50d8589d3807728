// Package fixed has weights as fixed-point numbers, and the wide integers for their
// sums: adding up gives the same number in whatever order.
package fixed

import (
	"math"
	"math/big"
	"math/bits"
)

// A weight is kept in units of 1/One.
const (
	Bits = 20
	One  = 1 << Bits

	// MaxWeight is the largest weight that one value can have; larger ones count as
	// this.
	MaxWeight = 1 << 20
)

// Weight returns w in units, at least one for a positive weight, and 0 for what is
// no weight: 0, less, or not a number.
func Weight(w float64) uint64 {
	switch {
	case w == 1:
		return One
	case !(w > 0):
		return 0
	case w >= MaxWeight:
		return MaxWeight * One
	}
	return max(1, uint64(math.Round(w*One)))
}

// Float returns the number that units are.
func Float(units uint64) float64 { return float64(units) / One }

// U128 and U192 are unsigned integers, the lowest word first. A U128 has room for
// the sum of millions of the largest values at the largest weight, and of any
// number that a server can log; a U192 for their squares.
type (
	U128 [2]uint64
	U192 [3]uint64
)

// Add adds y.
func (x *U128) Add(y U128) {
	var c uint64
	x[0], c = bits.Add64(x[0], y[0], 0)
	x[1] += y[1] + c
}

// AddMul adds a b.
func (x *U128) AddMul(a, b uint64) {
	hi, lo := bits.Mul64(a, b)
	x.Add(U128{lo, hi})
}

// Float64 returns about x.
func (x U128) Float64() float64 { return math.Ldexp(float64(x[1]), 64) + float64(x[0]) }

// Big returns x.
func (x U128) Big() *big.Int { return U192{x[0], x[1]}.Big() }

// RoundedInt64 returns the nearest integer to what x units are, or the largest one.
func (x U128) RoundedInt64() int64 {
	x.Add(U128{One / 2})
	if x[1]>>(Bits-1) != 0 {
		return math.MaxInt64
	}
	return int64(x[1]<<(64-Bits) | x[0]>>Bits)
}

// ShiftRight returns x shifted right by n bits, of 64 at most.
func (x U128) ShiftRight(n uint) U128 { return U128{x[0]>>n | x[1]<<(64-n), x[1] >> n} }

// ShiftLeft returns x shifted left by n bits, of 64 at most.
func (x U128) ShiftLeft(n uint) U128 { return U128{x[0] << n, x[1]<<n | x[0]>>(64-n)} }

// Add adds y.
func (x *U192) Add(y U192) {
	var c uint64
	x[0], c = bits.Add64(x[0], y[0], 0)
	x[1], c = bits.Add64(x[1], y[1], c)
	x[2] += y[2] + c
}

// AddMul adds a b c, which must stay below 1<<192.
func (x *U192) AddMul(a, b, c uint64) {
	hi, lo := bits.Mul64(a, b)
	hi1, lo1 := bits.Mul64(lo, c)
	hi2, lo2 := bits.Mul64(hi, c)
	mid, carry := bits.Add64(hi1, lo2, 0)
	x.Add(U192{lo1, mid, hi2 + carry})
}

// Float64 returns about x.
func (x U192) Float64() float64 {
	return math.Ldexp(float64(x[2]), 128) + U128{x[0], x[1]}.Float64()
}

// Big returns x.
func (x U192) Big() *big.Int {
	n := new(big.Int)
	for i := len(x) - 1; i >= 0; i-- {
		n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(x[i]))
	}
	return n
}

// ShiftRight returns x shifted right by n bits, of 64 at most.
func (x U192) ShiftRight(n uint) U192 {
	return U192{x[0]>>n | x[1]<<(64-n), x[1]>>n | x[2]<<(64-n), x[2] >> n}
}

// ShiftLeft returns x shifted left by n bits, of 64 at most.
func (x U192) ShiftLeft(n uint) U192 {
	return U192{x[0] << n, x[1]<<n | x[0]>>(64-n), x[2]<<n | x[1]>>(64-n)}
}
