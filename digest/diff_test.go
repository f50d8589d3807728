package digest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quern-dev/quern/slowlog"
)

// workload makes an hour of statements of some classes: the busiest has 1,000
// calls, the k-th 1,000/k, the query times are log-normal.
type workload struct {
	classes int
	sigma   float64
	rate    float64                                        // calls for each one of before
	change  func(class int, d time.Duration) time.Duration // of the query time
	weight  float64                                        // one in so many is logged
	length  time.Duration
}

func (w workload) events(r *rand.Rand) []*slowlog.Event {
	var evs []*slowlog.Event
	for class := range w.classes {
		median := 1e6 * math.Exp2(float64(class%10))
		calls := 1000 / float64(class+1) * w.rate * w.length.Hours()
		for range int(calls) {
			if r.Float64() >= 1/w.weight {
				continue
			}
			d := time.Duration(median * math.Exp(w.sigma*r.NormFloat64()))
			if w.change != nil {
				d = w.change(class, d)
			}
			ev := event(fmt.Sprintf("select c%d from t%d where id = %d", class, class, r.IntN(1000)), d)
			ev.Time = testStart.Add(time.Duration(r.Int64N(int64(w.length))))
			ev.Weight = w.weight
			evs = append(evs, ev)
		}
	}
	return evs
}

var plain = workload{classes: 50, sigma: 1, rate: 1, weight: 1, length: time.Hour}

func compare(t *testing.T, before, after *Profile) *Diff {
	t.Helper()
	d, err := Compare(before, after)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// verdicts returns the classes of which the diff says that they changed.
func verdicts(d *Diff) (latency, load map[string]Verdict) {
	latency, load = map[string]Verdict{}, map[string]Verdict{}
	for _, c := range d.Changes {
		if c.Latency != Same {
			latency[c.Class().Fingerprint] = c.Latency
		}
		if c.Load != Same {
			load[c.Class().Fingerprint] = c.Load
		}
	}
	return latency, load
}

func TestDiffFindsPlantedSlowdown(t *testing.T) {
	runs := 40
	if underRace {
		runs = 8
	}
	for _, tt := range []struct {
		sigma float64
		least int // of 40 runs: the wider the times scatter, the less there is to find
	}{{.5, 40}, {.75, 36}, {1, 24}} {
		w := plain
		w.sigma = tt.sigma
		slow := w
		slow.change = func(class int, d time.Duration) time.Duration {
			if class == 0 {
				d = d * 12 / 10
			}
			return d
		}
		found := 0
		for run := range runs {
			r := rand.New(rand.NewPCG(1, uint64(run)))
			d := compare(t, profileOf(t, Options{}, w.events(r)), profileOf(t, Options{}, slow.events(r)))
			latency, _ := verdicts(d)
			if latency["select c0 from t0 where id = ?"] == More {
				found++
			}
		}
		t.Logf("sigma %.2f: found in %d of %d runs", tt.sigma, found, runs)
		if least := tt.least * runs / 40; found < least {
			t.Errorf("sigma %.2f: a class of 1,000 calls that is 20 %% slower is found in %d of %d runs, want at least %d", tt.sigma, found, runs, least)
		}
	}
}

func TestDiffOfTheSameWorkloadFindsNothing(t *testing.T) {
	runs := 60
	if underRace {
		runs = 10
	}
	for _, tt := range []struct {
		name          string
		before, after workload
	}{
		{"same", plain, plain},
		{"sampled", plain, workload{classes: 50, sigma: 1, rate: 1, weight: 10, length: time.Hour}},
		{"half as long", plain, workload{classes: 50, sigma: 1, rate: 1, weight: 1, length: 30 * time.Minute}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			alarms, judged, wrong := 0, 0, 0
			for run := range runs {
				r := rand.New(rand.NewPCG(2, uint64(run)))
				d := compare(t, profileOf(t, Options{}, tt.before.events(r)), profileOf(t, Options{}, tt.after.events(r)))
				latency, load := verdicts(d)
				if len(latency)+len(load) > 0 {
					alarms++
				}
				for _, c := range d.Changes {
					for _, p := range []float64{c.LatencyP, c.LoadP} {
						if p < 1 {
							judged++
						}
						if p < .05 {
							wrong++
						}
					}
				}
			}
			t.Logf("false alarms in %d of %d comparisons of 50 classes; %.1f %% of p-values below 0.05", alarms, runs, 100*float64(wrong)/float64(judged))
			// Two families of tests at 1 in 20 each, and three standard deviations.
			if limit := runs/10 + 3*int(math.Sqrt(float64(runs)/10)); alarms > limit {
				t.Errorf("false alarms in %d of %d comparisons, want at most %d", alarms, runs, limit)
			}
			if share := float64(wrong) / float64(judged); share > .065 {
				t.Errorf("%.1f %% of the p-values are below 0.05", 100*share)
			}
		})
	}
}

func TestDiffFindsNewGoneAndBusierClasses(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	before, after := plain.events(r), plain.events(r)
	busier := plain
	busier.classes, busier.rate = 2, .5
	after = append(after, busier.events(r)...)
	only := func(name string) (evs []*slowlog.Event) {
		for i := range 200 {
			ev := event("select "+name, time.Second)
			ev.Time = testStart.Add(time.Duration(i) * 17 * time.Second)
			evs = append(evs, ev)
		}
		return evs
	}
	d := compare(t, profileOf(t, Options{}, append(before, only("gone")...)), profileOf(t, Options{}, append(after, only("fresh")...)))
	_, load := verdicts(d)
	want := map[string]Verdict{"select gone": Less, "select fresh": More, "select c0 from t0 where id = ?": More}
	for name, v := range want {
		if load[name] != v {
			t.Errorf("load of %q: got %v, want %v", name, load[name], v)
		}
	}
	for _, c := range d.Changes {
		name := c.Class().Fingerprint
		if c.New() != (name == "select fresh") || c.Gone() != (name == "select gone") {
			t.Errorf("%q: new %v, gone %v", name, c.New(), c.Gone())
		}
	}
	for i, c := range d.Changes[1:] {
		if prev := d.Changes[i]; math.Abs(prev.LoadAfter-prev.LoadBefore) < math.Abs(c.LoadAfter-c.LoadBefore) {
			t.Errorf("change %d is smaller than the next", i)
		}
	}
}

func TestDiffNormalisesForLengthAndSampling(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	w := workload{classes: 1, sigma: .1, rate: 20, weight: 1, length: time.Hour}
	before := profileOf(t, Options{}, w.events(r))
	w.length, w.weight = 3*time.Hour, 10
	after := profileOf(t, Options{}, w.events(r))
	c := compare(t, before, after).Changes[0]
	for what, ratio := range map[string]float64{"load": c.LoadAfter / c.LoadBefore, "rate": c.RateAfter / c.RateBefore, "time": c.Ratio, "median": c.MedianRatio} {
		if math.Abs(ratio-1) > .05 {
			t.Errorf("%s changed by the factor %.3f, want 1", what, ratio)
		}
	}
	if want := 20_000. / 3600; math.Abs(c.RateBefore-want) > .01*want {
		t.Errorf("rate: got %v a second, want %v", c.RateBefore, want)
	}
}

// A log that leaves out what is fast has slower statements in it. Compared above
// its threshold, the workload is the same.
func TestDiffComparesAboveTheThreshold(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	before := profileOf(t, Options{}, plain.events(r))
	after := profileOf(t, Options{Filter: Filter{MinTime: 20 * time.Millisecond}}, plain.events(r))
	d := compare(t, before, after)
	if d.Threshold < 20*time.Millisecond {
		t.Errorf("threshold: got %v, want at least 20ms", d.Threshold)
	}
	if latency, _ := verdicts(d); len(latency) > 0 {
		t.Errorf("classes that did not change: %v", latency)
	}
}

func TestDiffOfUntimedLogsHasNoLoadVerdict(t *testing.T) {
	var evs []*slowlog.Event
	for range 500 {
		evs = append(evs, &slowlog.Event{Query: "select 1", QueryTime: time.Second, Weight: 1})
	}
	d := compare(t, profileOf(t, Options{}, evs[:50]), profileOf(t, Options{}, evs))
	c := d.Changes[0]
	if c.LoadP != 1 || c.Load != Same || c.LoadBefore != 50 || c.LoadAfter != 500 {
		t.Errorf("got p %v, verdict %v, load %v to %v; want 1, same, 50 to 500", c.LoadP, c.Load, c.LoadBefore, c.LoadAfter)
	}
}

func TestDiffOfDifferentGroupsIsAnError(t *testing.T) {
	_, err := Compare(profileOf(t, Options{}, nil), profileOf(t, Options{GroupBy: []Group{BySchema}}, nil))
	if oe := (*OptionsError)(nil); !errors.As(err, &oe) {
		t.Errorf("got error %v, want an OptionsError", err)
	}
}

// The normal approximation must agree with the exact distribution, which is
// counted out here: all ways to choose which of the pooled values are the first
// sample's.
func TestRankSumAgreesWithTheExactDistribution(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for range 200 {
		n, m := 5+r.IntN(3), 5+r.IntN(3)
		pool := make([]float64, n+m)
		for i := range pool {
			pool[i] = float64(r.IntN(30)) // some ties
		}
		ranked := func(first uint) (ps []pair) {
			for i, v := range pool {
				p := pair{value: v}
				p.weight[1-first>>i&1] = 1
				ps = append(ps, p)
			}
			sortPairs(ps)
			return ps
		}
		size := [2]float64{float64(n), float64(m)}
		got, _ := rankSum(ranked(1<<n-1), size)
		// the exact p: how many choices are at least as extreme
		extreme, all := 0, 0
		for first := range uint(1) << (n + m) {
			if popCount(first) != n {
				continue
			}
			all++
			if p, _ := rankSum(ranked(first), size); p <= got+1e-9 {
				extreme++
			}
		}
		exact := float64(extreme) / float64(all)
		if math.Abs(got-exact) > .25*exact+.02 {
			t.Errorf("samples of %d and %d: p is %.4f, exactly %.4f", n, m, got, exact)
		}
	}
}

func popCount(n uint) (c int) {
	for ; n > 0; n &= n - 1 {
		c++
	}
	return c
}

func TestRankSumOfScaledWeightsIsTheSame(t *testing.T) {
	ps := []pair{{1, [2]float64{2, 1}}, {2, [2]float64{3, 4}}, {3, [2]float64{1, 5}}}
	p, v := rankSum(ps, [2]float64{6, 10})
	for i := range ps {
		ps[i].weight[0] *= 100
		ps[i].weight[1] *= 7
	}
	p2, v2 := rankSum(ps, [2]float64{6, 10})
	if math.Abs(p-p2) > 1e-12 || v != v2 || v != More {
		t.Errorf("got %v %v, scaled %v %v", p, v, p2, v2)
	}
}

func TestVerdictNamesAreDistinct(t *testing.T) {
	if diff := cmp.Diff([]string{"less", "same", "more"}, []string{Less.String(), Same.String(), More.String()}); diff != "" {
		t.Error(diff)
	}
}
