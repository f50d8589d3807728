package digest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func observation(query string, d time.Duration) Observation {
	return Observation{SQL: query, Schema: "shop", Duration: d, End: testStart}
}

func TestCollectorFindsWhatAnAggregatorFinds(t *testing.T) {
	evs := randomEvents(rand.New(rand.NewPCG(1, 1)), 2000)
	for _, ev := range evs {
		if ev.Time.IsZero() {
			ev.Time = testStart // a collector takes the time of the observation
		}
	}
	for _, groups := range [][]Group{nil, {BySchema, ByTables}} {
		c := NewCollector(CollectorOptions{GroupBy: groups, Histograms: []Measure{RowsSent}})
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for j := i; j < len(evs); j += 4 {
					c.Add(evs[j])
				}
			})
		}
		wg.Wait()
		want := profileOf(t, Options{GroupBy: groups, Histograms: []Measure{RowsSent}, Text: TextRedacted}, evs)
		if diff := diffProfiles(want, c.Flush()); diff != "" {
			t.Errorf("(-aggregator +collector):\n%s", diff)
		}
		if p := c.Flush(); p.Events != 0 || p.Len() != 0 {
			t.Errorf("after Flush there are %d events left", p.Events)
		}
	}
}

func TestObservationIsWhatTheProfileSays(t *testing.T) {
	c := NewCollector(CollectorOptions{Literals: true, Samples: 3})
	c.Observe(Observation{SQL: "select 1", Schema: "shop", Duration: time.Second, End: testStart, User: "app", Host: "web1", RowsSent: 3, TraceID: "4bf92f", Weight: 10})
	c.Observe(Observation{SQL: "select 2", Duration: 3 * time.Second, End: testStart.Add(time.Second), Failed: true})
	c.Observe(Observation{SQL: "select 3", Duration: 2 * time.Second, End: testStart, Errno: 1205, Failed: true})
	class := c.Flush().Top(1, ByTotalTime)[0]
	errs, _ := class.Errors()
	if diff := cmp.Diff([]ErrorNumber{{UnknownError, 1, 1}, {1205, 1, 1}}, errs); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if class.Count != 12 || class.QueryTime.Sum() != 15*time.Second || class.Summary(RowsSent).Sum() != 30 {
		t.Errorf("got count %v, time %v, rows sent %v, want 12, 15s, 30", class.Count, class.QueryTime.Sum(), class.Summary(RowsSent).Sum())
	}
	if s := class.Sample(); s.Query != "select 2" || s.TraceID != "" || !s.Time.Equal(testStart.Add(time.Second)) {
		t.Errorf("got sample %+v", s)
	}
	traces := map[string]bool{}
	for _, s := range class.Samples() {
		traces[s.TraceID] = true
	}
	if !traces["4bf92f"] {
		t.Errorf("got the traces %v, want 4bf92f among them", traces)
	}
}

func TestRowsThatAreNotKnownAreInNoMean(t *testing.T) {
	c := NewCollector(CollectorOptions{})
	c.Observe(Observation{SQL: "select 1", RowsSent: 4})                  // known, as it is not 0
	c.Observe(Observation{SQL: "select 1"})                               // not known
	c.Observe(Observation{SQL: "select 1", RowsSent: 0, RowsKnown: true}) // none
	class := c.Flush().Top(1, ByCount)[0]
	for m, want := range map[Measure]float64{RowsSent: 2, RowsAffected: 1} {
		if got := float64(class.Summary(m).Observed()); got != want {
			t.Errorf("%v of %v statements are in the mean of %v, want %v", got, class.Count, m, want)
		}
	}
	if got := class.Summary(RowsSent).Mean(); got != 2 {
		t.Errorf("a mean of %v rows sent, want 2", got)
	}
}

// However many classes are offered, by however many goroutines, while windows
// are closed under them: every observation is in one of the profiles, once.
func TestCollectorLosesNothing(t *testing.T) {
	for _, o := range []CollectorOptions{
		{},
		{MaxClasses: 7},
		{MaxBytes: 1},
		{MaxBytes: 30_000, MaxClasses: 1000},
		{MaxClasses: 20, Window: time.Second, Keep: 1},
		{MaxClasses: 20, Window: time.Millisecond, Keep: 3, By: ByArrival},
	} {
		t.Run(fmt.Sprintf("%d classes %d bytes %v", o.MaxClasses, o.MaxBytes, o.Window), func(t *testing.T) {
			c := NewCollector(o)
			const goroutines, each = 16, 200
			var wg sync.WaitGroup
			done := make(chan struct{})
			var profiles []*Profile
			var closer sync.WaitGroup
			closer.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-done:
						return
					default:
					}
					for _, w := range c.Rotate(testStart.Add(time.Duration(i) * time.Second / 10)) {
						profiles = append(profiles, w.Profile)
					}
					if i%7 == 0 {
						profiles = append(profiles, c.Flush())
					}
					runtime.Gosched()
				}
			})
			for g := range goroutines {
				wg.Go(func() {
					r := rand.New(rand.NewPCG(uint64(g), 1))
					for i := range each {
						c.Observe(Observation{
							SQL:      fmt.Sprintf("select c%d from t", r.IntN(60)),
							Duration: time.Duration(g*each + i),
							End:      testStart.Add(time.Duration(r.Int64N(int64(time.Minute)))),
							Weight:   float64(1 + r.IntN(3)),
						})
					}
				})
			}
			wg.Wait()
			close(done)
			closer.Wait()
			stats := c.Stats()
			profiles = append(profiles, c.Flush())
			var events, overflowed uint64
			for _, p := range profiles {
				checkTotals(t, p)
				if limit := o.MaxClasses; limit > 0 && p.Len() > limit && o.Window == 0 {
					t.Errorf("%d classes, want at most %d", p.Len(), limit)
				}
				events += p.Events
				if over := p.Overflow(); over != nil {
					overflowed += over.Observed
				}
			}
			const n = goroutines * each
			if events != n || stats.Observed != n {
				t.Errorf("got %d events, %d observed, want %d", events, stats.Observed, n)
			}
			if overflowed != stats.Overflowed {
				t.Errorf("%d events overflowed, Stats say %d", overflowed, stats.Overflowed)
			}
			if s := c.Stats(); s.Classes != 0 || s.Bytes != 0 {
				t.Errorf("an empty collector has %d classes of %d bytes", s.Classes, s.Bytes)
			}
		})
	}
}

func TestWindowsByEventTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCollector(CollectorOptions{Window: time.Minute})
		// The clock stands at the beginning of a minute.
		start := time.Now().UTC()
		at := func(min int) time.Time { return start.Add(time.Duration(min) * time.Minute) }
		observe := func(end time.Time) { c.Observe(Observation{SQL: "select 1", Duration: 1, End: end}) }
		events := func(ws []Window) map[string]uint64 {
			m := map[string]uint64{}
			for _, w := range ws {
				if w.End.Sub(w.Start) != time.Minute {
					t.Errorf("the window from %v ends at %v", w.Start, w.End)
				}
				m[w.Start.Sub(start).String()] = w.Events
			}
			return m
		}
		check := func(now time.Time, want map[string]uint64) {
			t.Helper()
			if diff := cmp.Diff(want, events(c.Rotate(now))); diff != "" {
				t.Errorf("at %v (-want +got):\n%s", now.Sub(start), diff)
			}
		}
		observe(start)
		observe(time.Time{}) // now
		time.Sleep(50 * time.Second)
		observe(at(5)) // ahead of the clock: now
		check(time.Now(), map[string]uint64{})
		time.Sleep(20 * time.Second) // into the second minute
		observe(at(1))
		observe(start.Add(59 * time.Second)) // late, but its window is open
		check(time.Now(), map[string]uint64{})
		time.Sleep(time.Minute)
		check(time.Now(), map[string]uint64{"0s": 4})
		observe(start) // too late: to the oldest window that is open
		if got := c.Stats().Late; got != 1 {
			t.Errorf("late: got %d, want 1", got)
		}
		time.Sleep(10 * time.Minute)
		check(time.Now(), map[string]uint64{"1m0s": 2})
		observe(start) // too late, and none is open
		time.Sleep(10 * time.Minute)
		check(time.Now(), map[string]uint64{"11m0s": 1})
		check(time.Now(), map[string]uint64{})
		if s := c.Stats(); s.Late != 2 || s.Observed != 7 || s.Windows != 0 {
			t.Errorf("got %+v, want 2 of 7 late, and no window", s)
		}
	})
}

func TestWindowsByArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCollector(CollectorOptions{Window: time.Minute, Keep: 1, By: ByArrival})
		start := time.Now().UTC()
		for i := range 3 {
			c.Observe(Observation{SQL: "select 1", Duration: 1, End: start.Add(-time.Hour)})
			time.Sleep(time.Minute)
			ws := c.Rotate(time.Now())
			if len(ws) != 1 || ws[0].Events != 1 || !ws[0].Start.Equal(start.Add(time.Duration(i)*time.Minute)) {
				t.Fatalf("window %d: got %v", i, ws)
			}
		}
		if got := c.Stats().Late; got != 0 {
			t.Errorf("late: got %d, want 0", got)
		}
	})
}

// A host that forgets to rotate must not make the collector grow.
func TestOpenWindowsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCollector(CollectorOptions{Window: time.Second, Keep: 3})
		for range 1000 {
			c.Observe(Observation{SQL: "select 1", Duration: 1})
			time.Sleep(time.Second)
		}
		if got := c.Stats().Windows; got > 4 {
			t.Errorf("%d windows are open, want at most 4", got)
		}
		if got := c.Flush().Events; got != 1000 {
			t.Errorf("got %d events, want 1000", got)
		}
	})
}

func TestLargestClassesOfTheLastWindowHaveASeat(t *testing.T) {
	c := NewCollector(CollectorOptions{MaxClasses: 10})
	large := func() {
		for i := range 5 {
			c.Observe(observation(fmt.Sprintf("select large%d", i), time.Hour))
		}
	}
	large()
	c.Flush()
	for i := range 100 {
		c.Observe(observation(fmt.Sprintf("select small%d", i), time.Second))
	}
	large() // late comers
	p := c.Flush()
	if p.Len() != 10 {
		t.Errorf("%d classes, want 10", p.Len())
	}
	for _, class := range p.Top(5, ByTotalTime) {
		if !strings.HasPrefix(class.Fingerprint, "select large") {
			t.Errorf("%q is among the largest", class.Fingerprint)
		}
	}
	if over := p.Overflow(); over == nil || over.Observed != 95 || over.QueryTime.Sum() != 95*time.Second {
		t.Errorf("overflow: got %+v, want 95 events of 95s", over)
	}
}

func TestWindowAdmitsTheLargestOfTheLastOneThenTheFirstToCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCollector(CollectorOptions{MaxClasses: 10, Window: time.Minute, Keep: 1})
		observe := func(name string, n int, d time.Duration) {
			for i := range n {
				c.Observe(Observation{SQL: fmt.Sprintf("select %s%d", name, i), Duration: d})
			}
		}
		rotate := func() *Profile {
			time.Sleep(time.Minute)
			ws := c.Rotate(time.Now())
			if len(ws) != 1 {
				t.Fatalf("%d windows, want 1", len(ws))
			}
			checkTotals(t, ws[0].Profile)
			return ws[0].Profile
		}
		classes := func(p *Profile) map[string]bool {
			m := map[string]bool{}
			for c := range p.Classes() {
				m[c.Fingerprint] = true
			}
			return m
		}
		want := func(names ...string) map[string]bool {
			m := map[string]bool{}
			for _, name := range names {
				for i := range 5 {
					m[fmt.Sprintf("select %s%d", name, i)] = true
				}
			}
			return m
		}
		observe("slow", 5, time.Hour)
		observe("quick", 5, time.Second)
		rotate()
		observe("new", 50, time.Second)
		observe("slow", 5, time.Hour) // late comers
		if diff := cmp.Diff(want("slow", "new"), classes(rotate())); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		observe("next", 5, time.Minute) // without the slow ones, whose seats stay free
		observe("more", 50, time.Second)
		if diff := cmp.Diff(want("next"), classes(rotate())); diff != "" {
			t.Errorf("without those of before (-want +got):\n%s", diff)
		}
		observe("new", 50, time.Second)
		observe("slow", 5, time.Hour)
		observe("next", 5, time.Minute)
		if diff := cmp.Diff(want("next", "new"), classes(rotate())); diff != "" {
			t.Errorf("with those of the last window alone (-want +got):\n%s", diff)
		}
	})
}

func TestBytesOfClassesAreBounded(t *testing.T) {
	const limit = 1 << 20
	c := NewCollector(CollectorOptions{MaxClasses: 1 << 20, MaxBytes: limit})
	for i := range 20_000 {
		c.Observe(observation(fmt.Sprintf("select c%d from t where %s", i, strings.Repeat("a and ", 50)), time.Second))
	}
	s := c.Stats()
	if s.Bytes > limit*11/10 || s.Bytes < limit*9/10 {
		t.Errorf("the classes take %d bytes, want about %d", s.Bytes, limit)
	}
	if s.Classes < 100 || s.Overflowed != uint64(20_000-s.Classes) {
		t.Errorf("%d classes, %d of 20000 events in the overflow", s.Classes, s.Overflowed)
	}
}

// The estimate of a class's size must not be far from what it takes.
func TestSizeOfClassesIsWhatTheyTake(t *testing.T) {
	heap := func() float64 {
		var m runtime.MemStats
		for range 3 { // pools give up what they hold after two
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	for _, n := range []int{1, 3, 100} {
		classes := 20_000 / n
		r := rand.New(rand.NewPCG(2, 2))
		before := heap()
		c := NewCollector(CollectorOptions{MaxClasses: classes, MaxBytes: 1 << 40})
		for i := range classes {
			for range n {
				c.Observe(Observation{SQL: fmt.Sprintf("select column%d from a_table where id = %d", i, r.IntN(1e6)), Duration: time.Duration(r.ExpFloat64() * 1e8), End: testStart.Add(time.Duration(r.Int64N(1e12)))})
			}
		}
		took := heap() - before
		if size := float64(c.Stats().Bytes); took > 1.6*size || took < .6*size {
			t.Errorf("%d events a class: the classes take %.0f bytes, Stats say %.0f", n, took, size)
		}
		runtime.KeepAlive(c)
	}
}

func TestCollectorKeepsNoLiteral(t *testing.T) {
	const secret = "s3cr3tval"
	c := NewCollector(CollectorOptions{})
	for _, sql := range []string{
		"select * from users where password = '%s'",
		"select * from users /* %s */ where id = 1",
		"select * from users where id = 1 -- %s",
		"select 1 # %s",
		"select '%s",
		"select \"%s",
		"select 1 /* %s",
		"insert into t values (1, '%[1]s'), (2, '%[1]s')",
		"/* %s */ select 1",
		"set password = '%s'",
		"create user a identified by '%s'",
		"select 0x%x, x'%[1]x', 'a''%[1]s', _utf8'%[1]s', N'%[1]s'",
		"select /*+ MAX_EXECUTION_TIME(1000) */ '%s'",
	} {
		for range 3 {
			c.Observe(observation(fmt.Sprintf(sql, secret), time.Second))
		}
	}
	p := c.Flush()
	for what, b := range map[string][]byte{"binary form": marshal(t, p), "JSON": writeJSON(t, p, 0, ByTotalTime)} {
		for _, s := range []string{secret, fmt.Sprintf("%x", secret)} {
			if i := bytes.Index(bytes.ToLower(b), []byte(s)); i >= 0 {
				t.Errorf("the %s has a literal: …%q…", what, b[max(i-60, 0):min(i+40, len(b))])
			}
		}
	}
}

func TestObserveOfKnownClassDoesNotAllocate(t *testing.T) {
	if underRace {
		t.Skip("allocations are counted without the race detector")
	}
	c := NewCollector(CollectorOptions{})
	os := make([]Observation, 50)
	r := rand.New(rand.NewPCG(3, 3))
	for i := range os {
		os[i] = observation(fmt.Sprintf("select name from orders where id = %d", i), time.Duration(r.Int64N(1e9)))
	}
	for range 3 {
		for _, o := range os {
			c.Observe(o)
		}
	}
	i := 0
	if n := testing.AllocsPerRun(1000, func() { c.Observe(os[i%len(os)]); i++ }); n != 0 {
		t.Errorf("Observe allocates %v times", n)
	}
}

// However many classes are offered, what a collector holds stays what it was when
// the cap was reached. QUERN_LONG=1 offers a million.
func TestMemoryIsFlatUnderMoreClassesThanFit(t *testing.T) {
	if underRace {
		t.Skip("memory is measured without the race detector")
	}
	offered := 40_000
	if os.Getenv("QUERN_LONG") == "1" {
		offered = 1_000_000
	}
	for name, o := range map[string]CollectorOptions{
		"fingerprint":   {},
		"schema,tables": {GroupBy: []Group{BySchema, ByTables}},
		"windows":       {Window: time.Second, Keep: 3},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewCollector(o)
			var events, warm uint64
			for i := range offered {
				end := testStart.Add(time.Duration(i) * time.Millisecond / 10)
				c.Observe(Observation{SQL: fmt.Sprintf("select column%d from t%d where a = %d", i, i, i), Duration: time.Millisecond, End: end})
				if o.Window > 0 && i%1000 == 0 {
					for _, w := range c.Rotate(end) {
						events += w.Events
					}
				}
				if i == offered/2 {
					warm = heapInUse()
				}
			}
			late := heapInUse()
			t.Logf("%.1f MB at the half of %d classes, %.1f MB at the end: %+v", float64(warm)/1e6, offered, float64(late)/1e6, c.Stats())
			if late > warm+warm/4+2<<20 {
				t.Errorf("the heap grows from %d to %d bytes", warm, late)
			}
			if events += c.Flush().Events; events != uint64(offered) {
				t.Errorf("%d events, want %d", events, offered)
			}
		})
	}
}

func heapInUse() uint64 {
	var m runtime.MemStats
	// Twice, for what sync.Pool holds: the statements that observers remember are
	// up to maxKnown bytes for each processor, and how many is a matter of chance.
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// statement168 has 168 bytes, as many as the statements of the performance budget.
var statement168 = "SELECT o.id, o.total, c.name FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.status = 'open' AND o.created > '2026-01-01 00:00:00' ORDER BY o.id LIMIT 20"

// BenchmarkObserve observes statements of known classes from as many goroutines as
// its name says. Beside the time that passes it reports that of all processors, and
// how long goroutines waited for one another.
func BenchmarkObserve(b *testing.B) {
	if len(statement168) != 168 {
		b.Fatalf("the statement has %d bytes", len(statement168))
	}
	for _, classes := range []int{1, 400} {
		for _, goroutines := range []int{1, 2, 16} {
			b.Run(fmt.Sprintf("%d_classes/%d_goroutines", classes, goroutines), func(b *testing.B) {
				c := NewCollector(CollectorOptions{})
				sqls := make([]string, classes)
				for i := range sqls {
					sqls[i] = strings.Replace(statement168, "name", fmt.Sprintf("n%03d", i), 1)
				}
				durations := drawn(rand.New(rand.NewPCG(1, 1)), distributions[5].draw, 4096)
				observe := func(i int) {
					c.Observe(Observation{SQL: sqls[i%classes], Schema: "shop", Duration: time.Duration(durations[i%len(durations)])})
				}
				for i := range 100 * classes {
					observe(i)
				}
				b.ReportAllocs()
				b.ResetTimer()
				cpu, waited := processorTime(b), mutexWait()
				var wg sync.WaitGroup
				for g := range goroutines {
					wg.Go(func() {
						for i := g; i < b.N; i += goroutines {
							observe(i)
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64(processorTime(b)-cpu)/float64(b.N), "cpu-ns/op")
				b.ReportMetric(float64(mutexWait()-waited)/float64(b.N), "wait-ns/op")
			})
		}
	}
}

// mutexWait returns how long all goroutines together have waited for mutexes.
func mutexWait() time.Duration {
	s := []metrics.Sample{{Name: "/sync/mutex/wait/total:seconds"}}
	metrics.Read(s)
	return time.Duration(s[0].Value.Float64() * 1e9)
}

// BenchmarkCollectorOverflow offers a million fingerprints to a cap of 5,000, and
// reports the heap when a tenth, the half and all of them have come.
func BenchmarkCollectorOverflow(b *testing.B) {
	for b.Loop() {
		c := NewCollector(CollectorOptions{})
		for i := range 1_000_000 {
			if i == 100_000 || i == 500_000 {
				b.ReportMetric(float64(heapInUse())/1e6, fmt.Sprintf("MB-at-%dk", i/1000))
			}
			c.Observe(observation(fmt.Sprintf("select column%d from t where a = %d", i, i), time.Millisecond))
		}
		b.ReportMetric(float64(heapInUse())/1e6, "MB-at-1000k")
		if p := c.Flush(); p.Len() != 5000 || p.Events != 1_000_000 {
			b.Fatalf("%d classes, %d events", p.Len(), p.Events)
		}
	}
}
