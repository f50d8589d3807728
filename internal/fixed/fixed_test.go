package fixed

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestWideIntegersAgreeWithMathBig(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	// Numbers of every size, so that carries come.
	number := func() uint64 { return r.Uint64() >> r.IntN(64) }
	for range 1000 {
		var x U128
		var y U192
		wantX, wantY := new(big.Int), new(big.Int)
		for range 3 {
			a, b, c := number()>>2, number(), number()>>2
			x.AddMul(a, b)
			y.AddMul(a, b, c)
			ab := new(big.Int).Mul(new(big.Int).SetUint64(a), new(big.Int).SetUint64(b))
			wantX.Add(wantX, ab)
			wantY.Add(wantY, new(big.Int).Mul(ab, new(big.Int).SetUint64(c)))
		}
		if x.Big().Cmp(wantX) != 0 || y.Big().Cmp(wantY) != 0 {
			t.Fatalf("sums %v and %v, want %v and %v", x.Big(), y.Big(), wantX, wantY)
		}
		f, _ := new(big.Float).SetInt(wantX).Float64()
		if math.Abs(x.Float64()-f) > f*1e-15 {
			t.Fatalf("%v as a float64 is %v, want %v", wantX, x.Float64(), f)
		}
		n := uint(r.IntN(65))
		if got, want := x.ShiftRight(n).Big(), new(big.Int).Rsh(wantX, n); got.Cmp(want) != 0 {
			t.Fatalf("%v >> %d is %v, want %v", wantX, n, got, want)
		}
		ones := new(big.Int).Add(wantX, big.NewInt(One/2))
		ones.Rsh(ones, Bits)
		if want := int64(math.MaxInt64); !ones.IsInt64() && x.RoundedInt64() != want || ones.IsInt64() && x.RoundedInt64() != ones.Int64() {
			t.Fatalf("%v units are %d, want %v", wantX, x.RoundedInt64(), ones)
		}
	}
}

func TestWeightsInUnits(t *testing.T) {
	for w, want := range map[float64]uint64{
		1: One, 0: 0, -1: 0, .5: One / 2, 1e-30: 1, 10: 10 * One, MaxWeight: MaxWeight * One, 1e300: MaxWeight * One, math.Inf(1): MaxWeight * One,
	} {
		if got := Weight(w); got != want {
			t.Errorf("Weight(%v) = %d, want %d", w, got, want)
		}
	}
	if got := Weight(math.NaN()); got != 0 {
		t.Errorf("Weight(NaN) = %d, want 0", got)
	}
}
