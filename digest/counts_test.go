package digest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quern-dev/quern/slowlog"
)

func TestAddManyIsAddManyTimes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		var many, one Histogram
		for range r.IntN(5) {
			v, n := r.Int64N(1e6)>>r.IntN(20), r.Uint64N(600)
			many.AddMany(v, n)
			for range n {
				one.Add(v)
			}
		}
		if diff := cmp.Diff(logicalOf(&one), logicalOf(&many), allowDigest); diff != "" {
			t.Fatalf("(-one by one +many):\n%s", diff)
		}
	}
	var h Histogram
	h.AddMany(1, 1<<63)
	h.AddMany(2, 1<<40)
	if h.Observed() != 1<<63+1<<40 {
		t.Errorf("got %d values", h.Observed())
	}
	for range 70 { // doubled until 64 bits are full, and on
		h.Merge(&h)
	}
	h.Add(3)
	b, err := h.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var again Histogram
	if err := again.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	if again.Observed() != maxCount+1 || again.Min() != 1 || again.Max() != 3 || again.Count() < 1<<43 {
		t.Errorf("read %d values from %d to %d, of weight %v", again.Observed(), again.Min(), again.Max(), again.Count())
	}
}

func TestSpreadKeepsCountAndSum(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 200 {
		n, sum := 1+r.Uint64N(1e9), r.Uint64N(1e15)
		if h := spread(n, sum); h.Observed() != n || h.Sum() != float64(sum) || h.Max()-h.Min() > 1 {
			t.Errorf("%d spread over %d: got %d values of sum %v between %d and %d", sum, n, h.Observed(), h.Sum(), h.Min(), h.Max())
		}
	}
}

// Counts of what events tell give the same profile, as far as counts can tell.
func TestCountsAddUpAsTheirEventsDo(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	var evs []*slowlog.Event
	var counted Aggregator
	for class := range 20 {
		sql := fmt.Sprintf("select c%d from t where id = 1", class)
		k := Counts{SQL: sql, Schema: "shop", Sample: sql, Times: new(Histogram), Sums: map[Measure]uint64{}, First: testStart, Last: testStart}
		for range 1 + r.IntN(50) {
			ev := event(sql, time.Duration(r.ExpFloat64()*1e8))
			ev.RowsExamined, ev.RowsSent = r.Uint64N(1000), r.Uint64N(10)
			ev.LockTime = time.Duration(r.IntN(1000))
			ev.User, ev.Host = "", ""
			if r.IntN(10) == 0 {
				ev.Errno = UnknownError
				k.Errors++
			}
			evs = append(evs, ev)
			k.Count++
			k.TotalTime += ev.QueryTime
			k.Times.AddMany(int64(ev.QueryTime)+int64(ev.QueryTime)/50, 1) // buckets are coarse
			k.Sums[RowsExamined] += ev.RowsExamined
			k.Sums[RowsSent] += ev.RowsSent
			k.Sums[LockTime] += uint64(ev.LockTime)
		}
		counted.AddCounts(k)
	}
	counted.AddCounts(Counts{SQL: "select nothing"})
	want, got := profileOf(t, Options{}, evs), counted.Profile()
	checkTotals(t, got)
	if want.Events != got.Events || want.TotalTime() != got.TotalTime() || want.Len() != got.Len() {
		t.Errorf("got %d events, %v, %d classes; want %d, %v, %d", got.Events, got.TotalTime(), got.Len(), want.Events, want.TotalTime(), want.Len())
	}
	for w := range want.Classes() {
		g := got.Class(w.ID)
		if g == nil {
			t.Errorf("no class %q", w.Fingerprint)
			continue
		}
		if diff := cmp.Diff(tallyOf(t, w), tallyOf(t, g), cmp.FilterPath(func(p cmp.Path) bool {
			return p.Last().String() == ".Min" || p.Last().String() == ".Max"
		}, cmp.Ignore())); diff != "" {
			t.Errorf("%s (-events +counts):\n%s", w.Fingerprint, diff)
		}
		wq, gq := w.QueryTime.Quantile(.5), g.QueryTime.Quantile(.5)
		if gq < wq || float64(gq) > 1.04*float64(wq) {
			t.Errorf("%s: median %v, want %v and 2 %%", w.Fingerprint, gq, wq)
		}
		if g.Sample().Query != w.Sample().Query || g.Verb != "SELECT" || len(g.Timeline()) != 1 {
			t.Errorf("%s: sample %q, verb %q, timeline %v", w.Fingerprint, g.Sample().Query, g.Verb, g.Timeline())
		}
	}
}

func TestCountsWithoutStatementAreInTheOverflow(t *testing.T) {
	var a Aggregator
	a.AddCounts(Counts{SQL: "select 1", Count: 2, TotalTime: 2 * time.Second})
	a.AddCounts(Counts{Count: 3, TotalTime: time.Second})
	p := a.Profile()
	checkTotals(t, p)
	if p.Len() != 1 || p.Overflow() == nil || p.Overflow().Count != 3 || p.TotalTime() != 3*time.Second {
		t.Errorf("got %d classes, overflow %v, %v", p.Len(), p.Overflow(), p.TotalTime())
	}
}
