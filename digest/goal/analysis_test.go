package goal

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/quern-dev/quern/internal/loggen"
	"github.com/quern-dev/quern/slowlog"
	"github.com/quern-dev/quern/slowlog/requestlog"
)

const ms = time.Millisecond

func mustParse(t testing.TB, text string) []Goal {
	t.Helper()
	goals, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return goals
}

func request(page string, wall time.Duration, waits ...requestlog.Wait) *requestlog.Request {
	return &requestlog.Request{Page: page, Wall: wall, Waits: waits, Weight: 1, Time: time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)}
}

// TestTheArithmeticOfThePost takes the figures of "Goal driven performance
// optimization": of the pages that miss, half the time is in sphinx, a tenth is CPU,
// and 16 % are lost.
func TestTheArithmeticOfThePost(t *testing.T) {
	an := NewAnalysis(mustParse(t, "search:p95<1s"))
	for range 10 {
		r := request("search", 1900*ms, requestlog.Wait{Component: "sphinx", Time: 950 * ms, Calls: 1},
			requestlog.Wait{Component: "mysql", Time: 380 * ms, Calls: 8}, requestlog.Wait{Component: "memcache", Time: 76 * ms, Calls: 20})
		r.CPUUser, r.CPUSystem = 160*ms, 30*ms
		an.Add(r)
	}
	for range 90 {
		an.Add(request("search", 100*ms, requestlog.Wait{Component: "mysql", Time: 90 * ms, Calls: 8}))
	}
	v := an.Verdicts()[0]
	if got, want := v.Breakdown.String(), "sphinx 50.0%, mysql 20.0%, lost 16.0%, cpu 10.0%, memcache 4.0%"; got != want {
		t.Errorf("breakdown of the missing requests %s, want %s", got, want)
	}
	if got, want := v.Missing.String(), "10 (10.00%)"; got != want || v.State != Missed {
		t.Errorf("missing %s, %v; want %s, missed", got, v.State, want)
	}
	if mysql := v.All.Share("mysql"); mysql < .4 {
		t.Errorf("of all requests mysql has %.2f of the time; the missing ones alone tell of sphinx", mysql)
	}
	// Without sphinx a request takes 950 ms; at a tenth of it 1045 ms.
	want := Potential{Component: "sphinx", Share: .5, Gone: Gain{10, 1, true}}
	if diff := cmp.Diff(want, v.Potential[0]); diff != "" {
		t.Error(diff)
	}
	for _, p := range v.Potential[1:] {
		if p.Gone != (Gain{}) {
			t.Errorf("%s holds %.2f of the time and brings back %v", p.Component, p.Share, p.Gone)
		}
	}
	calls := map[string]float64{}
	for _, p := range v.Breakdown.Parts {
		calls[p.Name] = p.Calls
	}
	if diff := cmp.Diff(map[string]float64{"sphinx": 1, "mysql": 8, "memcache": 20, "cpu": 0, "lost": 0}, calls); diff != "" {
		t.Error(diff)
	}
	// 90 satisfied; the 10 take less than four seconds.
	if math.Abs(v.Apdex-.95) > 1e-9 {
		t.Errorf("Apdex %v, want 0.95", v.Apdex)
	}
}

func TestPotentialIsComputedOnRequestsNotOnAverages(t *testing.T) {
	an := NewAnalysis(mustParse(t, "p:p90<1s"))
	// mysql has the greater part of the time, but in one request that it cannot save.
	an.Add(request("p", 60*time.Second, requestlog.Wait{Component: "mysql", Time: 58 * time.Second}))
	for range 9 {
		an.Add(request("p", 1100*ms, requestlog.Wait{Component: "redis", Time: 300 * ms}))
	}
	v := an.Verdicts()[0]
	got := map[string][3]float64{}
	for _, p := range v.Potential {
		got[p.Component] = [3]float64{p.Gone.Requests, p.Tenth.Requests, p.Half.Requests}
	}
	// The lost time of the nine is 800 ms.
	if diff := cmp.Diff(map[string][3]float64{"lost": {9, 9, 9}, "redis": {9, 9, 9}, "mysql": {0, 0, 0}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestARequestOfExactlyTheLimitMisses(t *testing.T) {
	an := NewAnalysis(mustParse(t, "p:p95<1s,p99<3s"))
	for i := range 100 {
		an.Add(request("p", []time.Duration{1: time.Second}[i/99*1]+time.Duration(1-i/99)*999*ms))
	}
	v := an.Verdicts()
	if v[0].Missing.Requests != 1 || v[1].Missing.Requests != 0 || v[0].State != Met || v[1].State != Met {
		t.Errorf("missing %v and %v, want 1 and 0: each limit has its own set", v[0].Missing, v[1].Missing)
	}
}

func TestOverlappingWaitsAreSaidAndBoundThePotential(t *testing.T) {
	an := NewAnalysis(mustParse(t, "p:p50<1s"))
	an.Add(request("p", 2*time.Second, requestlog.Wait{Component: "a", Time: 2 * time.Second}, requestlog.Wait{Component: "b", Time: 1500 * ms}))
	v := an.Verdicts()[0]
	if v.Breakdown.Overlap != 1500*ms || v.Breakdown.OverlapRequests != 1 || v.Breakdown.Share(Lost) != 0 {
		t.Errorf("overlap %v in %v requests, want 1.5s in 1", v.Breakdown.Overlap, v.Breakdown.OverlapRequests)
	}
	if got, want := v.Breakdown.String(), "a 100.0%, b 75.0%, overlap -75.0%"; got != want {
		t.Errorf("breakdown %s, want %s", got, want)
	}
	for _, p := range v.Potential {
		if p.Gone.Requests != 0 {
			t.Errorf("without %s the request would still wait for the other one", p.Component)
		}
	}
}

func TestStates(t *testing.T) {
	for _, c := range []struct {
		fast, slow int
		weight     float64
		want       State
	}{
		{0, 0, 1, Unclear},
		{95, 5, 1, Met}, // 5 % may miss
		{94, 6, 1, Missed},
		{10, 0, 1, Unclear}, // ten requests show no 95th percentile
		{2, 8, 1, Missed},   // unless that many miss
		{960, 40, 10, Unclear},
		{9600, 400, 10, Met},
		{9300, 700, 10, Missed},
	} {
		an := NewAnalysis(mustParse(t, "p:p95<1s"))
		for i := range c.fast + c.slow {
			r := request("p", 10*ms)
			if i >= c.fast {
				r.Wall = 2 * time.Second
			}
			r.Weight = c.weight
			an.Add(r)
		}
		v := an.Verdicts()[0]
		if v.State != c.want {
			t.Errorf("%d fast and %d slow requests of weight %v: %v (missing %v), want %v", c.fast, c.slow, c.weight, v.State, v.Missing, c.want)
		}
		if c.weight == 1 && v.Observed > 0 && (v.Missing.Low != v.Missing.High || v.Attained.Low != v.Attained.High) {
			t.Errorf("an interval %v, %v though every request is logged", v.Missing, v.Attained)
		}
	}
}

func TestUnmeasuredRequestsAreLeftOutAndCounted(t *testing.T) {
	an := NewAnalysis(mustParse(t, "p:p95<1s"))
	an.Add(&requestlog.Request{Page: "p", Flags: requestlog.NoWall, Weight: 1})
	an.Add(&requestlog.Request{Page: "p", Wall: 48 * time.Hour, Weight: 1, Flags: requestlog.AbsurdTime})
	an.Add(request("p", ms, requestlog.Wait{Component: "mysql", Time: math.MaxInt64}))
	an.Add(request("p", ms, requestlog.Wait{Component: "mysql", Time: -1}))
	an.Add(request("q", ms))
	an.Add(request("p", ms))
	if s := an.Stats(); s.Requests != 6 || s.NoWall != 1 || s.Absurd != 3 || s.NoGoal != 1 || an.Verdicts()[0].Observed != 1 {
		t.Errorf("stats %+v, want one without a wall time, three absurd, one without a goal", s)
	}
}

// shop returns the analysis of a generated shop's logs, read as a user reads them.
func shop(t testing.TB, goals string, o loggen.RequestOptions, set func(*Analysis)) *Analysis {
	t.Helper()
	var log, slow bytes.Buffer
	if err := loggen.ShopRequests(&log, &slow, o); err != nil {
		t.Fatal(err)
	}
	an := NewAnalysis(mustParse(t, goals))
	if set != nil {
		set(an)
	}
	r := requestlog.NewReader(&log)
	r.ReuseRequest = true
	for req, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		an.Add(req)
	}
	q := slowlog.NewReader(&slow)
	q.ReuseEvent = true
	for ev, err := range q.All() {
		if err != nil {
			t.Fatal(err)
		}
		an.AddQuery(ev)
	}
	return an
}

func TestPlantedFactsAreFound(t *testing.T) {
	for _, sample := range []int{1, 10} {
		if sample > 1 && testing.Short() {
			continue
		}
		t.Run("one in "+strconv.Itoa(sample), func(t *testing.T) {
			an := shop(t, "search:p95<1s,p99<3s; search{kind=person}:p95<1s; cart:p90<500ms; *:p99<2s", loggen.RequestOptions{
				Seed: 1, Requests: 10_000 * sample, Sample: sample, Length: 6 * time.Hour, JobAt: 20 * time.Minute, JobEvery: time.Hour, JobLength: 5 * time.Minute,
			}, func(an *Analysis) { an.SegmentBy = []string{"kind", "page+kind"} })
			v := an.Verdicts()
			search, person, cart, all := v[0], v[2], v[3], v[4]

			// A slow component for one page and segment.
			if search.State != Missed || search.Breakdown.Parts[0].Name != "sphinx" || search.Potential[0].Component != "sphinx" || !search.Potential[0].Gone.Meets {
				t.Errorf("search: %v, %v, %+v; want it missed for sphinx", search.State, search.Breakdown, search.Potential)
			}
			kinds := search.Segments["kind"]
			if kinds[0].Name != "bot" || kinds[0].Missing.Share < .5 || kinds[1].Missing.Share > .1 {
				t.Errorf("search by kind: %v misses %v, %v misses %v; want the bots", kinds[0].Name, kinds[0].Missing, kinds[1].Name, kinds[1].Missing)
			}
			if person.State != Met {
				t.Errorf("people's searches: %v with %v missing, want the goal met", person.State, person.Missing)
			}

			if top := all.Segments["page+kind"][0]; top.Name != "search bot" || top.Breakdown.Parts[0].Name != "sphinx" {
				t.Errorf("most missing requests are of %s, for %v; want the bots' searches, for sphinx", top.Name, top.Breakdown)
			}
			for _, s := range search.Samples {
				if s.Wall < time.Second || s.Page != "search" || len(s.ID) != 16 || s.URL == "" {
					t.Errorf("sample %+v", *s)
				}
			}
			if len(search.Samples) != maxSamples {
				t.Errorf("%d samples, want %d", len(search.Samples), maxSamples)
			}

			// An hourly job that slows the database.
			if len(cart.Hiccups) < 5 {
				t.Errorf("%d hiccups of the cart, want one an hour", len(cart.Hiccups))
			}
			for _, h := range cart.Hiccups {
				if m := h.From.Minute(); m != 20 || h.Component != "mysql" || h.Page != "cart" || h.Every != time.Hour || h.Fingerprint != loggen.ShopQueryClasses[8] {
					t.Errorf("hiccup %+v, want mysql at 20 past every hour", h)
				}
			}
			if all.Pages[0].Name != "search" && all.Pages[0].Name != "cart" {
				t.Errorf("most missing requests on page %s", all.Pages[0].Name)
			}

			// A page that asks for its lines one by one.
			q := cart.Queries
			top := q.Classes[0]
			if top.Fingerprint != loggen.ShopQueryClasses[6] || !top.Repeated || top.PerRequest < 5 || top.Share < .5 {
				t.Errorf("the cart's first class is %+v, want its lines, repeated", top)
			}
			if q.Joined != cart.Missing.Requests || q.Weak != 0 || q.NotFollowed != 0 {
				t.Errorf("%v of %v missing requests joined, %v weakly", q.Joined, cart.Missing.Requests, q.Weak)
			}
			// Each query takes 0.3 ms of network that the slow log does not see.
			want := time.Duration(q.PerRequest * q.Joined * 300e3)
			if d := q.Unexplained - want; d < -q.Time/1000 || d > q.Time/1000 {
				t.Errorf("unexplained %v, want %v", q.Unexplained, want)
			}
		})
	}
}

func TestSampledFiguresLieWithinTheirIntervals(t *testing.T) {
	seeds, most := 200, 10 // of all trials 95 % are to be inside
	if testing.Short() {
		seeds, most = 40, 4
	}
	goals := mustParse(t, "search:p95<1s; *:p99<1s")
	inside := map[string]int{}
	for seed := range uint64(seeds) {
		truth := make([][]time.Duration, len(goals)) // all wall times
		sampled := NewAnalysis(goals)
		err := loggen.ShopRequests(nil, nil, loggen.RequestOptions{Seed: seed, Requests: 5000, Sample: 10, OnRequest: func(r *loggen.ShopRequest) {
			req := request(r.Page, r.Wall)
			for i, g := range goals {
				if g.Matches(req) {
					truth[i] = append(truth[i], r.Wall)
				}
			}
			if r.Logged {
				req.Weight = 10
				sampled.Add(req)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range sampled.Verdicts() {
			walls := truth[i]
			slices.Sort(walls)
			first, _ := slices.BinarySearch(walls, goals[i].Limit)
			if p := float64(len(walls)-first) / float64(len(walls)); v.Missing.Low <= p && p <= v.Missing.High {
				inside[goals[i].Page+" share"]++
			}
			// Percentiles come out of a histogram whose buckets are 1 % wide.
			d := float64(walls[int(math.Ceil(goals[i].quantile()*float64(len(walls))))-1])
			if float64(v.Attained.Low)*.99 <= d && d <= float64(v.Attained.High)*1.01 {
				inside[goals[i].Page+" percentile"]++
			}
		}
	}
	if len(inside) != 4 {
		t.Errorf("figures inside their intervals: %v", inside)
	}
	for name, n := range inside {
		t.Logf("%s: the truth lies within the interval for %d of %d seeds", name, n, seeds)
		if n < seeds-most {
			t.Errorf("%s: too few", name)
		}
	}
}

func TestMergeIsTheSameAsOneAnalysis(t *testing.T) {
	const goals = "search:p95<1s,p99<3s; *:p99<1s"
	var log, slow bytes.Buffer
	if err := loggen.ShopRequests(&log, &slow, loggen.RequestOptions{Seed: 3, Requests: 3000, Sample: 3}); err != nil {
		t.Fatal(err)
	}
	fresh := func() *Analysis {
		an := NewAnalysis(mustParse(t, goals))
		an.SegmentBy = []string{"kind"}
		return an
	}
	whole, shards := fresh(), []*Analysis{fresh(), fresh(), fresh()}
	random := rand.New(rand.NewPCG(1, 2))
	for req, err := range requestlog.NewReader(&log).All() {
		if err != nil {
			t.Fatal(err)
		}
		whole.Add(req)
		shards[random.IntN(3)].Add(req)
	}
	for ev, err := range slowlog.NewReader(&slow).All() {
		if err != nil {
			t.Fatal(err)
		}
		whole.AddQuery(ev)
		shards[random.IntN(3)].AddQuery(ev)
	}
	for _, i := range []int{2, 0} {
		if err := shards[1].Merge(shards[i]); err != nil {
			t.Fatal(err)
		}
	}
	ignore := cmpopts.IgnoreFields(requestlog.Request{}, "Offset", "Line")
	if diff := cmp.Diff(whole.Verdicts(), shards[1].Verdicts(), ignore); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(whole.Stats(), shards[1].Stats()); diff != "" {
		t.Error(diff)
	}
	if err := whole.Merge(NewAnalysis(mustParse(t, "search:p95<2s"))); err != ErrGoals {
		t.Errorf("error %v of a merge with other goals, want ErrGoals", err)
	}
}

func TestSeriesIsCoarsenedAsItGrows(t *testing.T) {
	an := NewAnalysis(mustParse(t, "*:p95<1s"))
	an.Interval = time.Minute
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for m := range 3 * maxIntervals {
		r := request("p", ms)
		r.Time = start.Add(time.Duration(m) * time.Minute)
		an.Add(r)
	}
	v := an.Verdicts()[0]
	total := 0.0
	for _, p := range v.Series {
		total += p.Requests
	}
	if v.Interval != 4*time.Minute || len(v.Series) > maxIntervals || total != 3*maxIntervals {
		t.Errorf("%d intervals of %v with %v requests, want them of 4m with all", len(v.Series), v.Interval, total)
	}
}

func TestMemoryGrowsWithGroupsNotWithRequests(t *testing.T) {
	an := NewAnalysis(mustParse(t, "*:p95<1s"))
	an.MaxGroups = 50
	r := request("", 100*ms, requestlog.Wait{Component: "mysql", Time: 50 * ms})
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	add := func(n int) {
		for i := range n {
			r.Page = fmt.Sprintf("/page/%d", i)
			r.Wall = time.Duration(i%700) * ms
			an.Add(r)
		}
	}
	add(5000)
	before := heap()
	add(100_000)
	if after := heap(); after > before+1<<20 {
		t.Errorf("the heap grew from %d to %d KB", before>>10, after>>10)
	}
	if v := an.Verdicts()[0]; len(v.Pages) != 51 || v.Requests != 105_000 {
		t.Errorf("%d pages of %v requests, want 50 and the others", len(v.Pages), v.Requests)
	}
}
