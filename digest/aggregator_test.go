package digest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/quern-dev/quern/slowlog"
)

var testStart = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

// event returns an event as of a log that gives the usual fields.
func event(query string, d time.Duration) *slowlog.Event {
	ev := &slowlog.Event{Time: testStart, Query: query, QueryTime: d, Weight: 1, User: "app", Host: "web1", Schema: "shop"}
	ev.SetHas(slowlog.FieldQueryTime, slowlog.FieldLockTime, slowlog.FieldRowsSent, slowlog.FieldRowsExamined)
	return ev
}

// randomEvents returns n events of all kinds, of which no class has more values
// than it tells apart.
func randomEvents(r *rand.Rand, n int) []*slowlog.Event {
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	var evs []*slowlog.Event
	for range n {
		query := fmt.Sprintf(pick(
			"select * from orders where id = %d",
			"SELECT * FROM Orders WHERE id = %d",
			"select name from customers where city = 'x%d'",
			"update orders set late = 1 where id = %d",
			"insert into log values (%d)",
			"delete from basket where id = %d /* %[1]d */",
		), r.IntN(50))
		ev := event(query, time.Duration(r.ExpFloat64()*1e8))
		ev.Time = testStart.Add(time.Duration(r.Int64N(int64(3 * time.Hour))))
		ev.User = pick("app", "batch", "root", "")
		ev.Host = pick("web1", "web2", "")
		ev.IP = pick("10.0.0.1", "10.0.0.2")
		ev.Schema = pick("shop", "crm")
		ev.StoredRoutine = pick("", "", "", "shop.nightly")
		ev.ThreadID = r.Uint64N(5)
		ev.LockTime = time.Duration(r.IntN(3)) * time.Microsecond
		ev.RowsSent = r.Uint64N(3)
		ev.RowsExamined = r.Uint64N(1000)
		ev.Weight = []float64{1, 1, 1, 100, 1 / .3}[r.IntN(5)]
		ev.SessionSampled = r.IntN(100) == 0
		switch r.IntN(20) {
		case 0:
			ev.Query, ev.Command = "", pick("Ping", "Quit")
		case 1:
			ev.Throttled = 1 + r.Uint64N(50)
		case 2:
			ev.Errno = []int{1062, 1205, 1213}[r.IntN(3)]
		case 3:
			ev.Killed = 1317
		case 4:
			ev.Time = time.Time{}
		case 5:
			ev.RowsExamined = 1 << 63 // no server can mean it
		}
		evs = append(evs, ev)
	}
	return evs
}

func profileOf(t testing.TB, o Options, evs []*slowlog.Event) *Profile {
	t.Helper()
	a := Aggregator{Options: o}
	for _, ev := range evs {
		a.Add(ev)
	}
	return a.Profile()
}

// classView is all that a class says through its methods.
type classView struct {
	ID                              ID
	Kind                            Kind
	Name, Verb                      string
	Key, Tables                     []string
	Count, CountError               float64
	Observed                        uint64
	First, Last                     time.Time
	Histograms                      map[string]logical
	Summaries                       map[string]logical
	Users, Hosts, Schemas, Routines []Value
	Errors                          []ErrorNumber
	ErrorCount                      float64
	Suspects, Suppressed            uint64
	SessionSampled                  bool
	Timeline                        []Interval
	Samples                         []Sample
	PerconaIDs                      []string
}

func viewOf(c *Class) classView {
	v := classView{
		ID: c.ID, Kind: c.Kind, Name: c.Name(), Verb: c.Verb, Key: c.Key(), Tables: c.Tables,
		Count: c.Count, CountError: c.CountError(), Observed: c.Observed, First: c.FirstSeen(), Last: c.LastSeen(),
		Histograms: map[string]logical{}, Summaries: map[string]logical{},
		ErrorCount: c.ErrorCount(), Suspects: c.Suspects(), Suppressed: c.SuppressedStatements(),
		SessionSampled: c.SessionSampled(), Timeline: c.Timeline(), PerconaIDs: c.PerconaIDs(),
	}
	for _, m := range c.Measures() {
		if h := c.Histogram(m); h.Observed() > 0 {
			v.Histograms[m.String()] = logicalOf(h)
		}
		v.Summaries[m.String()] = logicalOf(&Histogram{Summary: *c.Summary(m)})
		delete(v.Summaries, "") // no measure is without a name
	}
	v.Users, _ = c.Users()
	v.Hosts, _ = c.Hosts()
	v.Schemas, _ = c.Schemas()
	v.Routines, _ = c.Routines()
	v.Errors, _ = c.Errors()
	for _, s := range c.Samples() {
		v.Samples = append(v.Samples, *s)
	}
	return v
}

type profileView struct {
	Events, Skipped, Filtered       uint64
	Count, CountError, TotalSeconds float64
	QueryTime                       logical
	From, To                        time.Time
	Threshold                       time.Duration
	Sampled, Session, Whole         bool
	Timeline                        []Interval
	Groups                          string
	Classes                         []classView
	Overflow                        *classView
}

func viewOfProfile(p *Profile) profileView {
	v := profileView{
		Events: p.Events, Skipped: p.Skipped, Filtered: p.Filtered, Count: p.Count, CountError: p.CountError(), TotalSeconds: p.TotalSeconds(),
		QueryTime: logicalOf(p.QueryTime.Histogram()), From: p.From(), To: p.To(), Threshold: p.Threshold(),
		Sampled: p.Sampled(), Session: p.SessionSampled(), Whole: p.WholeSeconds(), Timeline: p.Timeline(), Groups: p.GroupedBy(),
	}
	for c := range p.Classes() {
		v.Classes = append(v.Classes, viewOf(c))
	}
	if o := p.Overflow(); o != nil {
		ov := viewOf(o)
		v.Overflow = &ov
	}
	return v
}

// cmpView lets cmp look into what the views are made of, and takes the float64
// sums for equal only if they are.
var cmpView = cmp.AllowUnexported(cell{}, moments{}, Sample{}, draw{})

func diffProfiles(want, got *Profile) string {
	return cmp.Diff(viewOfProfile(want), viewOfProfile(got), cmpView)
}

func TestZeroAggregatorAddsUp(t *testing.T) {
	var a Aggregator
	for i := range 10 {
		ev := event(fmt.Sprintf("select * from orders where id = %d", i), time.Duration(i+1)*time.Second)
		ev.RowsExamined = 7
		a.Add(ev)
	}
	a.Add(event("select 1 from dual", 4*time.Second))
	p := a.Profile()
	if p.Len() != 2 || p.Events != 11 || p.Count != 11 || p.TotalTime() != 59*time.Second {
		t.Fatalf("got %d classes, %d events, count %v, total time %v; want 2, 11, 11, 59s", p.Len(), p.Events, p.Count, p.TotalTime())
	}
	c := p.Top(1, ByTotalTime)[0]
	if c.Count != 10 || c.QueryTime.Sum() != 55*time.Second || c.RowsExamined.Sum() != 70 || c.QueryTime.Max() != 10*time.Second {
		t.Errorf("got count %v, time %v, rows examined %v, longest %v; want 10, 55s, 70, 10s", c.Count, c.QueryTime.Sum(), c.RowsExamined.Sum(), c.QueryTime.Max())
	}
	if want := "select * from orders where id = ?"; c.Fingerprint != want || c.Name() != want {
		t.Errorf("got fingerprint %q, name %q, want %q", c.Fingerprint, c.Name(), want)
	}
	if got, want := p.Share(c), 55./59; got != want {
		t.Errorf("Share: got %v, want %v", got, want)
	}
	if p.Class(c.ID) != c {
		t.Error("Class does not find the class by its ID")
	}
	if p.Class(ID{1}) != nil {
		t.Error("Class finds a class that is not there")
	}
}

func TestMergedProfilesAreTheProfileOfAll(t *testing.T) {
	composite, err := ParseGroups("user,fingerprint,routine")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{
		{},
		{Histograms: []Measure{RowsSent}, Samples: 5, Text: TextRedacted},
		{GroupBy: composite, Text: TextNone},
		{GroupBy: []Group{ByTables}, Samples: -1, MaxText: 20},
	} {
		t.Run(o.settings().groups, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			for _, n := range []int{0, 1, 2, 10, 300} {
				evs := randomEvents(r, n)
				want := profileOf(t, o, evs)
				if want.Events != uint64(n) {
					t.Fatalf("got %d events, want %d", want.Events, n)
				}
				var parts []*Profile
				for range 1 + r.IntN(5) {
					parts = append(parts, nil)
				}
				shards := make([][]*slowlog.Event, len(parts))
				for _, i := range r.Perm(n) {
					s := r.IntN(len(parts))
					shards[s] = append(shards[s], evs[i])
				}
				for i := range parts {
					parts[i] = profileOf(t, o, shards[i])
				}
				// In one go, and as a tree of random shape.
				got, err := Merge(parts...)
				if err != nil {
					t.Fatal(err)
				}
				if diff := diffProfiles(want, got); diff != "" {
					t.Fatalf("merged at once (-want +got):\n%s", diff)
				}
				for len(parts) > 1 {
					r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
					before := viewOfProfile(parts[0])
					m, err := Merge(parts[0], parts[1])
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(before, viewOfProfile(parts[0]), cmpView); diff != "" {
						t.Fatalf("Merge changed its argument:\n%s", diff)
					}
					parts = append(parts[2:], m)
				}
				if diff := diffProfiles(want, parts[0]); diff != "" {
					t.Fatalf("merged as a tree (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestAggregatorsOfShardsMerge(t *testing.T) {
	evs := randomEvents(rand.New(rand.NewPCG(3, 4)), 500)
	shards := make([]Aggregator, 4)
	for i, ev := range evs {
		shards[i%len(shards)].Add(ev)
	}
	for i := range shards[1:] {
		if err := shards[0].Merge(&shards[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if diff := diffProfiles(profileOf(t, Options{}, evs), shards[0].Profile()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheFirstInstantOf1970IsNoTime(t *testing.T) {
	var a Aggregator
	for _, at := range []time.Time{time.Unix(0, 0), testStart} {
		ev := event("select 1", time.Second)
		ev.Time = at
		a.Add(ev)
	}
	p := a.Profile()
	if c := p.Top(1, ByTotalTime)[0]; !p.From().Equal(testStart) || !c.FirstSeen().Equal(testStart) {
		t.Errorf("the profile begins at %v, its class at %v, want %v", p.From(), c.FirstSeen(), testStart)
	}
	if tl := p.Timeline(); len(tl) != 1 || tl[0].Start.Year() != testStart.Year() {
		t.Errorf("got timeline %v, want one interval about %v", tl, testStart)
	}
}

func TestSamplesOfEventsThatDrawAlikeDoNotDependOnOrder(t *testing.T) {
	var events []*slowlog.Event
	for i := range 12 {
		ev := event("select * from orders where id = 1", time.Second)
		ev.Time = time.Date(2007, 10, 15, 21, 43, 52, 0, time.UTC)
		ev.Offset, ev.Line = int64(i/6*100), int64(i/6*10) // as in the files of a set
		ev.User, ev.Schema = fmt.Sprint("user", i%2), fmt.Sprint("shop", i%3)
		events = append(events, ev)
	}
	profile := func(shards int, events []*slowlog.Event) []byte {
		parts := make([]Aggregator, shards)
		for i, ev := range events {
			parts[i%shards].Add(ev)
		}
		for i := range parts[1:] {
			if err := parts[0].Merge(&parts[i+1]); err != nil {
				t.Fatal(err)
			}
		}
		b, err := parts[0].Profile().MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	want := profile(1, events)
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		r.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		shards := 1 + r.IntN(4)
		if !bytes.Equal(profile(shards, events), want) {
			t.Fatalf("the profile of %d shards differs with the order of the events", shards)
		}
	}
}

func TestProfileDoesNotChangeWhenEventsAreAdded(t *testing.T) {
	evs := randomEvents(rand.New(rand.NewPCG(5, 6)), 400)
	a := Aggregator{Options: Options{MaxClasses: 4}}
	for _, ev := range evs[:200] {
		a.Add(ev)
	}
	p := a.Profile()
	want := viewOfProfile(p)
	for _, ev := range evs[200:] {
		a.Add(ev)
	}
	if err := a.MergeProfile(p); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, viewOfProfile(p), cmpView); diff != "" {
		t.Errorf("the profile changed:\n%s", diff)
	}
	if got, want := a.Profile().Events, uint64(600); got != want {
		t.Errorf("events: got %d, want %d", got, want)
	}
}

func TestEventsInReusedMemoryAreCloned(t *testing.T) {
	for _, n := range []int{1, 2, 100} {
		evs := randomEvents(rand.New(rand.NewPCG(7, uint64(n))), n)
		want := profileOf(t, Options{}, evs)
		var a Aggregator
		buf := make([]byte, 0, 1<<16)
		for _, ev := range evs {
			buf = buf[:0]
			reused := *ev
			for _, s := range []*string{&reused.Query, &reused.User, &reused.Host, &reused.IP, &reused.Schema, &reused.StoredRoutine, &reused.Command} {
				start := len(buf)
				buf = append(buf, *s...)
				*s = aliased(buf[start:])
			}
			a.Add(&reused)
			for i := range buf {
				buf[i] = '#'
			}
		}
		if diff := diffProfiles(want, a.Profile()); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}

func TestCountsAreWeighted(t *testing.T) {
	var a Aggregator
	for range 10 {
		ev := event("select 1", 100*time.Millisecond)
		ev.Weight = 100
		a.Add(ev)
	}
	a.Add(event("select 1", 20*time.Second)) // above the time from which all are logged
	p := a.Profile()
	c := p.Top(1, ByCount)[0]
	if c.Count != 1001 || c.Observed != 11 || c.QueryTime.Sum() != 120*time.Second {
		t.Errorf("got count %v of %d events, total %v; want 1001 of 11, 2m0s", c.Count, c.Observed, c.QueryTime.Sum())
	}
	if got, want := c.QueryTime.Quantile(.99), 100*time.Millisecond; got < want*99/100 || got > want*101/100 {
		t.Errorf("p99: got %v, want %v: the slow one is one of 1001", got, want)
	}
	if !p.Sampled() {
		t.Error("the profile does not say that it is of a sample")
	}
	if c.CountError() == 0 || p.CountError() != c.CountError() {
		t.Errorf("errors of counts: got %v and %v, want the same above 0", c.CountError(), p.CountError())
	}
}

// A general log has no query times, and a rate may be known all the same.
func TestACountWithoutQueryTimesHasAnError(t *testing.T) {
	errorOf := func(o slowlog.Event) float64 {
		var a Aggregator
		for range 50 {
			a.Add(&o)
		}
		p := a.Profile()
		c := p.Top(1, ByCount)[0]
		if p.CountError() != c.CountError() {
			t.Errorf("errors of counts: class %v, profile %v, want the same", c.CountError(), p.CountError())
		}
		return c.CountError()
	}
	timed := slowlog.Event{Query: "SELECT 1", Weight: 100}
	timed.SetHas(slowlog.FieldQueryTime)
	want := errorOf(timed)
	if got := errorOf(slowlog.Event{Query: "SELECT 1", Weight: 100}); math.Abs(got-want) > 1e-9*want || want == 0 {
		t.Errorf("got %v, want %v as with query times", got, want)
	}
	if got := errorOf(slowlog.Event{Query: "SELECT 1", Weight: 1}); got != 0 {
		t.Errorf("of a whole log: %v, want 0", got)
	}
}

func TestAbsentAndSuspectValuesStayOutOfSums(t *testing.T) {
	var a Aggregator
	ev := event("select 1", time.Second)
	ev.RowsExamined = 10
	a.Add(ev)
	absent := &slowlog.Event{Query: "select 2", QueryTime: 2 * time.Second}
	a.Add(absent)
	suspect := event("select 3", 3*time.Second)
	suspect.RowsExamined = 1<<64 - 1
	a.Add(suspect)
	c := a.Profile().Top(1, ByTotalTime)[0]
	if got := c.RowsExamined.Observed(); got != 1 {
		t.Errorf("rows examined are given %d times, want once", got)
	}
	if got := c.RowsExamined.Sum(); got != 10 {
		t.Errorf("rows examined: got %v, want 10", got)
	}
	if got := c.QueryTime.Sum(); got != 6*time.Second {
		t.Errorf("time: got %v, want 6s", got)
	}
	if c.Suspects() != 1 {
		t.Errorf("suspects: got %d, want 1", c.Suspects())
	}
}

func TestWhatIsNoStatementHasItsOwnClass(t *testing.T) {
	var a Aggregator
	a.Add(event("select 1", time.Second))
	ping := event("", time.Millisecond)
	ping.Command = "Ping"
	a.Add(ping)
	throttled := event("throttle: 7 'index not used' warning(s) suppressed.", 40*time.Second)
	throttled.Throttled = 7
	a.Add(throttled)
	p := a.Profile()
	got := map[Kind]string{}
	for c := range p.Classes() {
		got[c.Kind] = c.Fingerprint
	}
	want := map[Kind]string{Statements: "select ?", Commands: "administrator command: Ping", Suppressed: suppressedText}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p.TotalTime() != 41*time.Second+time.Millisecond || p.QueryTime.Sum() != time.Second || p.Threshold() != time.Second {
		t.Errorf("got total time %v, statements' time %v, threshold %v; want 41.001s, 1s, 1s", p.TotalTime(), p.QueryTime.Sum(), p.Threshold())
	}
	if c := p.Top(1, ByTotalTime)[0]; c.SuppressedStatements() != 7 {
		t.Errorf("suppressed: got %d, want 7", c.SuppressedStatements())
	}
}

func TestSamplesAreTheSlowestAndTheDrawn(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	evs := randomEvents(r, 2000)
	p := profileOf(t, Options{Samples: 3}, evs)
	for c := range p.Classes() {
		if c.Kind != Statements {
			continue
		}
		ss := c.Samples()
		if len(ss) != 3 && len(ss) != 4 {
			t.Fatalf("%s: %d samples, want the slowest and 3 drawn", c.Name(), len(ss))
		}
		if ss[0] != c.Sample() || ss[0].QueryTime != c.QueryTime.Max() {
			t.Errorf("%s: the first sample took %v, want the slowest, %v", c.Name(), ss[0].QueryTime, c.QueryTime.Max())
		}
		for _, s := range ss {
			if Fingerprint(s.Query) != c.Fingerprint {
				t.Errorf("sample %q is in class %q", s.Query, c.Fingerprint)
			}
		}
	}
}

func TestDrawnSamplesFavourNobody(t *testing.T) {
	// 1,000 classes of 20 events, one sample drawn: each place must win about 50.
	wins := make([]int, 20)
	r := rand.New(rand.NewPCG(9, 9))
	for range 1000 {
		var a Aggregator
		a.Options.Samples = 1
		for i := range wins {
			ev := event("select 1", time.Duration(r.Int64N(1e9)))
			ev.Line = int64(i)
			a.Add(ev)
		}
		ss := a.Profile().Top(1, ByTotalTime)[0].Samples()
		wins[ss[len(ss)-1].Line]++
	}
	if low, high := slices.Min(wins), slices.Max(wins); low < 25 || high > 85 {
		t.Errorf("places win between %d and %d times, want about 50: %v", low, high, wins)
	}
}

func TestGroupsMakeCompositeKeys(t *testing.T) {
	evs := []*slowlog.Event{event("select 1", 1), event("select 2", 2), event("select 3", 4), event("select a from b", 8)}
	evs[2].Schema = "crm"
	evs[3].StoredRoutine = "shop.nightly"
	for _, tt := range []struct {
		groups []Group
		want   map[string]time.Duration
	}{
		{nil, map[string]time.Duration{"select ?": 7, "select a from b": 8}},
		{[]Group{BySchema}, map[string]time.Duration{"shop": 11, "crm": 4}},
		{[]Group{BySchema, ByFingerprint}, map[string]time.Duration{"shop|select ?": 3, "crm|select ?": 4, "shop|select a from b": 8}},
		{[]Group{ByRoutine}, map[string]time.Duration{"": 7, "shop.nightly": 8}},
		{[]Group{ByTables, ByVerb}, map[string]time.Duration{"|SELECT": 7, "b|SELECT": 8}},
		{[]Group{GroupFunc("parity", func(ev *slowlog.Event) string { return fmt.Sprint(ev.QueryTime%2 == 0) })}, map[string]time.Duration{"false": 1, "true": 14}},
	} {
		p := profileOf(t, Options{GroupBy: tt.groups}, evs)
		got := map[string]time.Duration{}
		for c := range p.Classes() {
			name := strings.Join(c.Key(), "|")
			if c.Key() == nil {
				name = c.Fingerprint
			}
			got[name] = c.QueryTime.Sum()
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", p.GroupedBy(), diff)
		}
	}
}

// Names of one class may differ in case, and whichever comes first must not show.
func TestTablesDoNotDependOnTheFirstEvent(t *testing.T) {
	evs := []*slowlog.Event{event("select * from Orders o, shop.Items", 1), event("SELECT * FROM orders o, `shop`.items", 2)}
	for _, groups := range [][]Group{nil, {ByTables}, {ByTables, ByFingerprint}} {
		want := profileOf(t, Options{GroupBy: groups}, evs)
		got := profileOf(t, Options{GroupBy: groups}, []*slowlog.Event{evs[1], evs[0]})
		if diff := diffProfiles(want, got); diff != "" {
			t.Errorf("(-one order +the other):\n%s", diff)
		}
		c := want.Top(1, ByTotalTime)[0]
		tables := slices.Sorted(slices.Values(c.Tables))
		if diff := cmp.Diff([]string{"orders", "shop.items"}, tables); diff != "" || c.Count != 2 {
			t.Errorf("count %v, tables (-want +got):\n%s", c.Count, diff)
		}
	}
}

func TestGroupByPerconaIDIsAsPtQueryDigestGroups(t *testing.T) {
	evs := []*slowlog.Event{event("select a from t1", 1), event("select a from t2", 2), event("select b from t1", 4)}
	p := profileOf(t, Options{GroupBy: []Group{ByPerconaID}}, evs)
	got := map[string]time.Duration{}
	for c := range p.Classes() {
		got[c.Key()[0]+" "+c.Fingerprint] = c.QueryTime.Sum()
		if diff := cmp.Diff(c.Key(), c.PerconaIDs()); diff != "" {
			t.Errorf("key and Percona IDs (-key +IDs):\n%s", diff)
		}
	}
	want := map[string]time.Duration{
		PerconaID(evs[0].Query) + " select a from t?": 3, // digits in names are literals to it
		PerconaID(evs[2].Query) + " select b from t?": 4,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseGroups(t *testing.T) {
	for _, names := range []string{"fingerprint", "schema", "user", "host", "tables", "verb", "routine", "percona_id", "schema,fingerprint"} {
		groups, err := ParseGroups(names)
		if err != nil {
			t.Errorf("%s: %v", names, err)
		}
		if got := profileOf(t, Options{GroupBy: groups}, nil).GroupedBy(); got != names {
			t.Errorf("got %q, want %q", got, names)
		}
	}
	if _, err := ParseGroups("schema,colour"); err == nil || !strings.Contains(err.Error(), `"colour"`) {
		t.Errorf("got error %v, want one that names colour", err)
	}
}

func TestFilterJudgesEachEventByItself(t *testing.T) {
	at := func(min int) time.Time { return testStart.Add(time.Duration(min) * time.Minute) }
	var evs []*slowlog.Event
	for i, min := range []int{5, 1, 4, 2, 3} { // out of order
		ev := event([]string{"select a from t", "update s.u set a = 1", "delete from v"}[i%3], time.Duration(min)*time.Second)
		ev.Time = at(min)
		ev.User = fmt.Sprint("u", min)
		ev.Schema = fmt.Sprint("s", min)
		evs = append(evs, ev)
	}
	untimed := event("select untimed", 9*time.Second)
	untimed.Time = time.Time{}
	evs = append(evs, untimed)
	for _, tt := range []struct {
		name   string
		filter Filter
		want   time.Duration // sum of the times of those that pass
	}{
		{"none", Filter{}, 24},
		{"since", Filter{Since: at(3)}, 12},
		{"until", Filter{Until: at(3)}, 3},
		{"between", Filter{Since: at(2), Until: at(4)}, 5},
		{"user", Filter{Users: []string{"u1", "u3"}}, 4},
		{"schema", Filter{Schemas: []string{"s2"}}, 2},
		{"at least", Filter{MinTime: 4 * time.Second}, 18},
		{"at most", Filter{MaxTime: 2 * time.Second}, 3},
		{"verb", Filter{Verbs: []string{"SELECT"}}, 16},
		{"table", Filter{Tables: []string{"V"}}, 4},
		{"function", Filter{Func: func(ev *slowlog.Event) bool { return ev.QueryTime == 5*time.Second }}, 5},
	} {
		p := profileOf(t, Options{Filter: tt.filter}, evs)
		if got := p.TotalTime() / time.Second; got != tt.want {
			t.Errorf("%s: got %d s, want %d s", tt.name, got, tt.want)
		}
		if p.Events+p.Filtered != uint64(len(evs)) {
			t.Errorf("%s: %d events and %d filtered are not %d", tt.name, p.Events, p.Filtered, len(evs))
		}
	}
}

func TestOverflowKeepsTotals(t *testing.T) {
	evs := randomEvents(rand.New(rand.NewPCG(10, 10)), 1000)
	all := profileOf(t, Options{}, evs)
	for limit := 1; limit <= all.Len()+1; limit++ {
		p := profileOf(t, Options{MaxClasses: limit}, evs)
		if got, want := p.Len(), min(limit, all.Len()); got != want {
			t.Errorf("limit %d: got %d classes, want %d", limit, got, want)
		}
		if over := p.Overflow() != nil; over != (limit < all.Len()) {
			t.Errorf("limit %d: overflow %v of %d classes", limit, over, all.Len())
		}
		checkTotals(t, p)
		if p.TotalSeconds() != all.TotalSeconds() || p.Count != all.Count {
			t.Errorf("limit %d: got time %v, count %v, want %v, %v", limit, p.TotalSeconds(), p.Count, all.TotalSeconds(), all.Count)
		}
	}
	// and so they do when profiles with an overflow merge under a limit
	a := Aggregator{Options: Options{MaxClasses: 3}}
	for i := range 5 {
		if err := a.MergeProfile(profileOf(t, Options{MaxClasses: 2 + i}, evs[i*200:(i+1)*200])); err != nil {
			t.Fatal(err)
		}
	}
	p := a.Profile()
	checkTotals(t, p)
	if p.TotalSeconds() != all.TotalSeconds() || p.Count != all.Count || p.Len() != 3 {
		t.Errorf("merged: got time %v, count %v, %d classes, want %v, %v, 3", p.TotalSeconds(), p.Count, p.Len(), all.TotalSeconds(), all.Count)
	}
}

// checkTotals compares the totals of a profile with what its classes add up to.
func checkTotals(t *testing.T, p *Profile) {
	t.Helper()
	sum := newClass(Overflow, "")
	r := rule{names: new(names)}
	for c := range p.Classes() {
		sum.merge(c, &r)
	}
	if o := p.Overflow(); o != nil {
		sum.merge(o, &r)
	}
	if sum.Observed != p.Events || sum.Count != p.Count {
		t.Errorf("classes have %d events of count %v, the profile %d of %v", sum.Observed, sum.Count, p.Events, p.Count)
	}
	want := logicalOf(&Histogram{Summary: p.totals.time})
	got := logicalOf(&Histogram{Summary: sum.QueryTime.h.Summary})
	if diff := cmp.Diff(want, got, cmpView); diff != "" {
		t.Errorf("time of the profile and of its classes (-profile +classes):\n%s", diff)
	}
	if !sum.FirstSeen().Equal(p.From()) || !sum.LastSeen().Equal(p.To()) {
		t.Errorf("classes are from %v to %v, the profile from %v to %v", sum.FirstSeen(), sum.LastSeen(), p.From(), p.To())
	}
}

func TestProfilesOfDifferentOptionsDoNotMerge(t *testing.T) {
	base := profileOf(t, Options{}, nil)
	for option, o := range map[string]Options{
		"group":           {GroupBy: []Group{BySchema}},
		"histograms":      {Histograms: []Measure{RowsSent}},
		"samples":         {Samples: 7},
		"text":            {Text: TextNone},
		"maximum of text": {MaxText: 5},
	} {
		_, err := Merge(base, profileOf(t, o, nil))
		if oe := (*OptionsError)(nil); !errors.As(err, &oe) || oe.Option != option {
			t.Errorf("got error %v, want an OptionsError about %s", err, option)
		}
	}
}

func TestValuesBeyondTheLimitAreCounted(t *testing.T) {
	var evs []*slowlog.Event
	for i := range 100 {
		ev := event("select 1", 1)
		ev.User = fmt.Sprintf("user%02d", i%50)
		ev.Errno = 1000 + i
		evs = append(evs, ev)
	}
	whole := profileOf(t, Options{}, evs)
	halves, err := Merge(profileOf(t, Options{}, evs[:50]), profileOf(t, Options{}, evs[50:]))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*Profile{whole, halves} {
		c := p.Top(1, ByTotalTime)[0]
		users, rest := c.Users()
		sum := rest
		for _, u := range users {
			sum += u.Count
		}
		if len(users) != maxValues || sum != 100 {
			t.Errorf("%d users, %v statements with the rest, want %d and 100", len(users), sum, maxValues)
		}
		errs, rest := c.Errors()
		sum = rest
		for _, e := range errs {
			sum += e.Count
		}
		if len(errs) != maxValues || sum != 100 || c.ErrorCount() != 100 {
			t.Errorf("%d error numbers, %v errors with the rest, ErrorCount %v, want %d, 100, 100", len(errs), sum, c.ErrorCount(), maxValues)
		}
	}
}

func TestAddOfKnownClassDoesNotAllocate(t *testing.T) {
	for _, o := range []Options{{}, {GroupBy: []Group{BySchema, ByFingerprint, ByTables}}, {Text: TextRedacted}, {Filter: Filter{Verbs: []string{"SELECT", "UPDATE", "INSERT", "DELETE"}}}} {
		a := Aggregator{Options: o}
		evs := randomEvents(rand.New(rand.NewPCG(14, 14)), 100)
		for range 3 {
			for _, ev := range evs {
				a.Add(ev)
			}
		}
		i := 0
		if n := testing.AllocsPerRun(1000, func() { a.Add(evs[i%len(evs)]); i++ }); n != 0 {
			t.Errorf("%s: Add allocates %v times", a.settings.groups, n)
		}
	}
}

// aliased returns a string that shares b's memory, as a reader that reuses its
// event makes them.
func aliased(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return unsafe.String(&b[0], len(b))
}
