package digest

import (
	"math/rand/v2"
	"testing"
)

func BenchmarkAggregatorAdd(b *testing.B) {
	var a Aggregator
	evs := randomEvents(rand.New(rand.NewPCG(14, 14)), 1000)
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		a.Add(evs[i%len(evs)])
		i++
	}
}
