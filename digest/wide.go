package digest

import (
	"math"
	"math/big"
	"math/bits"
)

// u128 and u192 are unsigned integers, the lowest word first. A u128 has room for
// the sum of millions of the largest values at the largest weight, and of any
// number that a server can log; a u192 for their squares.
type (
	u128 [2]uint64
	u192 [3]uint64
)

func (x *u128) add(y u128) {
	var c uint64
	x[0], c = bits.Add64(x[0], y[0], 0)
	x[1] += y[1] + c
}

// addMul adds a b.
func (x *u128) addMul(a, b uint64) {
	hi, lo := bits.Mul64(a, b)
	x.add(u128{lo, hi})
}

func (x u128) float64() float64 { return math.Ldexp(float64(x[1]), 64) + float64(x[0]) }

func (x u128) big() *big.Int { return u192{x[0], x[1]}.big() }

// roundedInt64 returns the nearest integer to x units, or the largest one.
func (x u128) roundedInt64() int64 {
	x.add(u128{weightOne / 2})
	if x[1]>>(weightBits-1) != 0 {
		return math.MaxInt64
	}
	return int64(x[1]<<(64-weightBits) | x[0]>>weightBits)
}

func (x u128) shiftRight(n uint) u128 { return u128{x[0]>>n | x[1]<<(64-n), x[1] >> n} }

func (x u128) shiftLeft(n uint) u128 { return u128{x[0] << n, x[1]<<n | x[0]>>(64-n)} }

func (x *u192) add(y u192) {
	var c uint64
	x[0], c = bits.Add64(x[0], y[0], 0)
	x[1], c = bits.Add64(x[1], y[1], c)
	x[2] += y[2] + c
}

// addMul adds a b c, which must stay below 1<<192.
func (x *u192) addMul(a, b, c uint64) {
	hi, lo := bits.Mul64(a, b)
	hi1, lo1 := bits.Mul64(lo, c)
	hi2, lo2 := bits.Mul64(hi, c)
	mid, carry := bits.Add64(hi1, lo2, 0)
	x.add(u192{lo1, mid, hi2 + carry})
}

func (x u192) float64() float64 {
	return math.Ldexp(float64(x[2]), 128) + u128{x[0], x[1]}.float64()
}

func (x u192) big() *big.Int {
	n := new(big.Int)
	for i := len(x) - 1; i >= 0; i-- {
		n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(x[i]))
	}
	return n
}

func (x u192) shiftRight(n uint) u192 {
	return u192{x[0]>>n | x[1]<<(64-n), x[1]>>n | x[2]<<(64-n), x[2] >> n}
}

func (x u192) shiftLeft(n uint) u192 {
	return u192{x[0] << n, x[1]<<n | x[0]>>(64-n), x[2]<<n | x[1]>>(64-n)}
}
