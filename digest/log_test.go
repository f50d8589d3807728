package digest

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quern-dev/quern/internal/loggen"
	"github.com/quern-dev/quern/slowlog"
)

// generated returns a log and the truth about it.
func generated(t testing.TB, o loggen.Options) ([]byte, *loggen.Truth) {
	t.Helper()
	var b bytes.Buffer
	truth, err := loggen.Generate(&b, o)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), truth
}

// readAll adds a log to the aggregator, as a reader that reuses its event reads it.
func readAll(t testing.TB, a *Aggregator, log []byte) {
	t.Helper()
	r := slowlog.NewReader(bytes.NewReader(log))
	r.ReuseEvent = true
	for ev, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		a.Add(ev)
	}
}

// tallyOf returns a class, or what several of them add up to, as loggen counts.
func tallyOf(t testing.TB, cs ...*Class) loggen.Tally {
	t.Helper()
	sum := newClass(Statements, "")
	for _, c := range cs {
		sum.merge(c, &rule{})
	}
	return loggen.Tally{
		Count:        sum.Observed,
		Weight:       uint64(sum.Count),
		WeightedTime: sum.QueryTime.Sum(),
		Min:          sum.QueryTime.Min(),
		Max:          sum.QueryTime.Max(),
		First:        sum.FirstSeen(),
		Last:         sum.LastSeen(),
		Lock:         sum.LockTime.Sum(),
		RowsExamined: uint64(sum.RowsExamined.Sum()),
		RowsSent:     uint64(sum.Summary(RowsSent).Sum()),
		Errors:       uint64(sum.ErrorCount()),
	}
}

func TestProfileOfGeneratedLogsIsTheTruth(t *testing.T) {
	for _, dialect := range loggen.Dialects() {
		for _, rate := range []uint64{1, 100} {
			if rate > 1 && dialect != loggen.Percona80 {
				continue // no other log says its rate
			}
			t.Run(fmt.Sprintf("%v/%d", dialect, rate), func(t *testing.T) {
				log, truth := generated(t, loggen.Options{Dialect: dialect, Seed: 7, Events: 5000, Classes: 60, RateLimit: rate})
				var a Aggregator
				readAll(t, &a, log)
				p := a.Profile()
				byTable := map[string][]*Class{}
				for c := range p.Classes() {
					if c.Kind == Commands {
						byTable[c.Fingerprint] = append(byTable[c.Fingerprint], c)
					} else {
						byTable[c.Tables[0]] = append(byTable[c.Tables[0]], c)
					}
				}
				want := map[string]loggen.Tally{}
				verbs := map[string]string{}
				for _, c := range truth.Classes {
					if c.Count > 0 {
						want[c.Table] = c.Tally
						verbs[c.Table] = c.Verb
					}
				}
				for name, tally := range truth.Commands {
					want[commandPrefix+name] = tally
				}
				got := map[string]loggen.Tally{}
				for table, cs := range byTable {
					if len(cs) != 1 {
						t.Errorf("%s has %d classes, want 1", table, len(cs))
					}
					if verb, ok := verbs[table]; ok && cs[0].Verb != verb {
						t.Errorf("%s: got verb %q, want %q", table, cs[0].Verb, verb)
					}
					got[table] = tallyOf(t, cs...)
				}
				for _, m := range []map[string]loggen.Tally{want, got} {
					for k, tally := range m {
						tally.Time = 0 // unweighted
						if rate > 1 {  // loggen counts these once for a record
							tally.Lock, tally.RowsSent, tally.RowsExamined, tally.Errors = 0, 0, 0, 0
						}
						if dialect == loggen.MySQL50 || dialect == loggen.MySQL55 {
							tally.First, tally.Last = tally.First.Truncate(time.Second), tally.Last.Truncate(time.Second)
						}
						m[k] = tally
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if p.Events != truth.Total.Count || p.Count != float64(truth.Total.Weight) || p.TotalTime() != truth.Total.WeightedTime {
					t.Errorf("got %d events, count %v, time %v; want %d, %d, %v", p.Events, p.Count, p.TotalTime(), truth.Total.Count, truth.Total.Weight, truth.Total.WeightedTime)
				}
				checkTotals(t, p)
			})
		}
	}
}

func TestMetricsOfPerconaServer(t *testing.T) {
	log, truth := generated(t, loggen.Options{Dialect: loggen.Percona80, Events: 3000, Classes: 20})
	a := Aggregator{Options: Options{Histograms: []Measure{RowsSent, MeasureOf(slowlog.KeyInnoDBIORWait)}}}
	readAll(t, &a, log)
	p := a.Profile()
	// The same from the events, one by one.
	want := map[Measure]*Histogram{}
	for ev, err := range slowlog.NewReader(bytes.NewReader(log)).All() {
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range ev.Metrics {
			if numericKeys[m.Key] && ev.Command == "" {
				id := MeasureOf(m.Key)
				if want[id] == nil {
					want[id] = new(Histogram)
				}
				want[id].Add(m.Number())
			}
		}
	}
	if len(want) < 12 {
		t.Fatalf("the log has %d metrics, want those of Percona Server", len(want))
	}
	for m, h := range want {
		var got Histogram
		for c := range p.Classes() {
			if c.Kind != Statements {
				continue
			}
			if ch := c.Histogram(m); (ch.Observed() > 0) != (m == MeasureOf(slowlog.KeyInnoDBIORWait)) {
				t.Fatalf("%v: histogram %v", m, ch)
			} else if ch.Observed() > 0 {
				got.Merge(ch)
			} else {
				got.Summary.merge(c.Summary(m))
			}
		}
		if m != MeasureOf(slowlog.KeyInnoDBIORWait) {
			h = &Histogram{Summary: h.Summary}
		}
		if diff := cmp.Diff(logicalOfSummary(h), logicalOfSummary(&got), allowDigest); diff != "" {
			t.Errorf("%v (-want +got):\n%s", m, diff)
		}
	}
	scans := MeasureOf(slowlog.KeyFullScan)
	for c := range p.Classes() {
		if share := c.Summary(scans).Mean(); share < 0 || share > 1 {
			t.Errorf("%s: share of full scans is %v", c.Name(), share)
		}
	}
	if truth.Total.Count != p.Events {
		t.Errorf("got %d events, want %d", p.Events, truth.Total.Count)
	}
}

// logicalOfSummary is logicalOf where there may be no buckets.
func logicalOfSummary(h *Histogram) logical {
	if h.buckets == nil && h.min != h.max {
		return logical{N: h.n, Weight: h.weight, Min: h.min, Max: h.max, Moments: h.sums()}
	}
	return logicalOf(h)
}

func TestWorkersOfALogMergeToOne(t *testing.T) {
	log, _ := generated(t, loggen.Options{Dialect: loggen.MariaDBFull, Events: 4000, Hostile: true})
	var one Aggregator
	readAll(t, &one, log)
	shards := make([]Aggregator, 3)
	r := slowlog.NewReader(bytes.NewReader(log))
	if err := r.Each(len(shards), func(worker int, ev *slowlog.Event) error { shards[worker].Add(ev); return nil }); err != nil {
		t.Fatal(err)
	}
	for i := range shards[1:] {
		if err := shards[0].Merge(&shards[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(marshal(t, one.Profile()), marshal(t, shards[0].Profile())) {
		t.Errorf("three workers find another profile than one (-one +three):\n%s", diffProfiles(one.Profile(), shards[0].Profile()))
	}
}

func TestReadingAndAddingDoesNotAllocate(t *testing.T) {
	log, _ := generated(t, loggen.Options{Dialect: loggen.Percona80, Events: 2000, Classes: 20})
	var evs []*slowlog.Event
	for ev, err := range slowlog.NewReader(bytes.NewReader(log)).All() {
		if err != nil {
			t.Fatal(err)
		}
		evs = append(evs, ev)
	}
	a := Aggregator{Options: Options{Histograms: []Measure{RowsSent}}}
	for range 2 {
		for _, ev := range evs {
			a.Add(ev)
		}
	}
	i := 0
	if n := testing.AllocsPerRun(2*len(evs), func() { a.Add(evs[i%len(evs)]); i++ }); n != 0 {
		t.Errorf("Add allocates %v times", n)
	}
}

// Split halves of real logs, event by event: all verdicts are false. The files are
// samples that may not be there.
func TestDiffOfSplitHalvesOfRealLogs(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*/*.log", "*/*.txt", "*/*/*.log", "*/*/*/*.log"} {
		found, err := filepath.Glob("../../shared/samples/" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Skip("no sample logs are at hand")
	}
	judged, alarms := 0, 0
	for _, file := range files {
		log, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var evs []*slowlog.Event
		for ev, err := range slowlog.NewReader(bytes.NewReader(log)).All() {
			if err != nil {
				t.Fatal(err)
			}
			evs = append(evs, ev)
		}
		r := rand.New(rand.NewPCG(1, 1))
		for range 5 {
			var halves [2]Aggregator
			for _, ev := range evs {
				halves[r.IntN(2)].Add(ev)
			}
			d := compare(t, halves[0].Profile(), halves[1].Profile())
			for _, c := range d.Changes {
				for _, test := range []struct {
					p float64
					v Verdict
				}{{c.LatencyP, c.Latency}, {c.LoadP, c.Load}} {
					if test.p < 1 {
						judged++
					}
					if test.v != Same {
						alarms++
						t.Logf("%s, %d events: p %.4f", filepath.Base(file), len(evs), test.p)
					}
				}
			}
		}
	}
	t.Logf("%d false verdicts of %d on %d logs", alarms, judged, len(files))
	if float64(alarms) > .02*float64(judged) {
		t.Errorf("%d false verdicts of %d, want at most 2 %%", alarms, judged)
	}
}

func TestQuantilesOfGeneratedLogsAreWithinOnePercent(t *testing.T) {
	log, _ := generated(t, loggen.Options{Dialect: loggen.MySQL80, Events: 20_000, Classes: 5})
	var a Aggregator
	readAll(t, &a, log)
	times := map[string][]time.Duration{}
	for ev, err := range slowlog.NewReader(bytes.NewReader(log)).All() {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Command == "" {
			fp := Fingerprint(ev.Query)
			times[fp] = append(times[fp], ev.QueryTime)
		}
	}
	for c := range a.Profile().Classes() {
		exact := times[c.Fingerprint]
		slices.Sort(exact)
		for _, q := range []float64{.5, .9, .95, .99, .999} {
			if len(exact) == 0 {
				continue
			}
			want := exact[int(math.Ceil(q*float64(len(exact))))-1]
			if got := c.QueryTime.Quantile(q); math.Abs(float64(got-want)) > .01*float64(want) {
				t.Errorf("%s: q%v is %v, want %v", c.Name(), q, got, want)
			}
		}
	}
}

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

func BenchmarkReadAndAdd(b *testing.B) {
	log, truth := generated(b, loggen.Options{Dialect: loggen.Percona80, Events: 20_000})
	b.SetBytes(int64(len(log)))
	for b.Loop() {
		var a Aggregator
		readAll(b, &a, log)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(truth.Total.Count), "ns/event")
}

// The memory benchmarks report the heap that a profile holds, without garbage.
func BenchmarkMemory(b *testing.B) {
	for _, m := range []struct{ classes, events int }{{100_000, 1}, {5000, 1000}} {
		b.Run(fmt.Sprintf("%d_classes_of_%d_events", m.classes, m.events), func(b *testing.B) {
			log, _ := generated(b, loggen.Options{Dialect: loggen.Percona80, Events: 1000})
			var evs []*slowlog.Event
			for ev, err := range slowlog.NewReader(bytes.NewReader(log)).All() {
				if err != nil {
					b.Fatal(err)
				}
				if ev.Command == "" {
					evs = append(evs, ev)
				}
			}
			for b.Loop() {
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				var a Aggregator
				for class := range m.classes {
					for i := range m.events {
						ev := *evs[(class+i)%len(evs)]
						ev.Query = fmt.Sprintf("%s and column%d = %d", evs[class%len(evs)].Query, class, i)
						a.Add(&ev)
					}
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
				b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB")
				b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(m.classes), "B/class")
				runtime.KeepAlive(&a)
			}
		})
	}
}
