package indexadvisor

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
)

// The number of pairs that a join makes of skewed columns is far from what
// the number of values says; it is what the common values make, most of all.
func TestPairsOfAJoinAreCountedByTheCommonValues(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	skewed := func(int) any { return int64(math.Pow(5000, rnd.Float64())) }
	even := func(int) any { return int64(rnd.IntN(400)) }
	gaps := func(i int) any {
		if i%4 > 0 {
			return nil
		}
		return int64(math.Pow(5000, rnd.Float64()))
	}
	few := func(i int) any { return int64(i % 40) }
	apart := func(i int) any { return int64(10_000 + i%30) }
	far := func(int) any { return int64(1000 + rnd.IntN(400)) }
	wide := func(int) any { return int64(rnd.IntN(20_000)) }
	const n = 5000
	for _, c := range []struct {
		name string
		a, b func(int) any
	}{
		{"both skewed", skewed, skewed}, {"one skewed", skewed, even}, {"both even", even, even}, {"NULL joins nothing", gaps, skewed}, {"no value in common", few, apart}, {"few values", few, skewed},
		{"ranges apart", even, far}, {"one range is a part of the other", even, wide}, {"ranges overlap", far, wide},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMemory(t)
			a := m.add("CREATE TABLE a (f INT)", n, func(i int) []any { return []any{c.a(i)} })
			b := m.add("CREATE TABLE b (f INT)", n, func(i int) []any { return []any{c.b(i)} })
			count := map[any]float64{}
			for _, r := range m.Data["s.a"] {
				count[r[0]]++
			}
			pairs := 0.0
			for _, r := range m.Data["s.b"] {
				if r[0] != nil {
					pairs += count[r[0]]
				}
			}
			da, err := m.Distinct(context.Background(), a, []Part{{Name: "f"}})
			if err != nil {
				t.Fatal(err)
			}
			db, err := m.Distinct(context.Background(), b, []Part{{Name: "f"}})
			if err != nil {
				t.Fatal(err)
			}
			for _, got := range []float64{da.joined(db) * n * n, db.joined(da) * n * n} {
				if math.Abs(got-pairs) > 0.25*pairs {
					t.Errorf("%.0f pairs estimated, %.0f there are", got, pairs)
				}
			}
		})
	}
}
