package goal

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/quern-dev/quern/internal/loggen"
	"github.com/quern-dev/quern/slowlog"
	"github.com/quern-dev/quern/slowlog/requestlog"
)

// shopLogs returns a generated shop's requests and events.
func shopLogs(t testing.TB, o loggen.RequestOptions) ([]*requestlog.Request, []*slowlog.Event) {
	t.Helper()
	var log, slow bytes.Buffer
	if err := loggen.ShopRequests(&log, &slow, o); err != nil {
		t.Fatal(err)
	}
	var reqs []*requestlog.Request
	for req, err := range requestlog.NewReader(&log).All() {
		if err != nil {
			t.Fatal(err)
		}
		reqs = append(reqs, req)
	}
	var events []*slowlog.Event
	for ev, err := range slowlog.NewReader(&slow).All() {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, ev)
	}
	return reqs, events
}

// feed gives requests and events to an analysis in one of three orders.
func feed(an *Analysis, reqs []*requestlog.Request, events []*slowlog.Event, order string) {
	switch order {
	case "requests first":
		for _, r := range reqs {
			an.Add(r)
		}
		for _, ev := range events {
			an.AddQuery(ev)
		}
	case "queries first":
		for _, ev := range events {
			an.AddQuery(ev)
		}
		for _, r := range reqs {
			an.Add(r)
		}
	case "by time":
		for len(reqs) > 0 || len(events) > 0 {
			if len(events) == 0 || len(reqs) > 0 && reqs[0].Time.Before(events[0].Time) {
				an.Add(reqs[0])
				reqs = reqs[1:]
			} else {
				an.AddQuery(events[0])
				events = events[1:]
			}
		}
	}
}

var orders = []string{"requests first", "queries first", "by time"}

func TestQueriesJoinInEveryOrder(t *testing.T) {
	reqs, events := shopLogs(t, loggen.RequestOptions{Seed: 5, Requests: 3000, JobAt: 2 * time.Hour, JobLength: time.Hour})
	var first []Verdict
	for _, order := range orders {
		an := NewAnalysis(mustParse(t, "cart:p90<300ms; *:p99<1s"))
		feed(an, reqs, events, order)
		v := an.Verdicts()
		q := v[0].Queries
		if q.Joined != v[0].Missing.Requests || q.Joined == 0 || q.Weak != 0 {
			t.Errorf("%s: %v of %v requests joined, %v weakly", order, q.Joined, v[0].Missing.Requests, q.Weak)
		}
		if first == nil {
			first = v
		} else if diff := gocmp.Diff(first, v); diff != "" {
			t.Errorf("%s: %s", order, diff)
		}
	}
}

func TestJoinIsBoundedAndSaysWhatItLeftOut(t *testing.T) {
	reqs, events := shopLogs(t, loggen.RequestOptions{Seed: 6, Requests: 10_000})
	const goal = "cart:p90<100ms"
	whole := NewAnalysis(mustParse(t, goal))
	feed(whole, reqs, events, orders[0])
	truth := whole.Verdicts()[0].Queries
	for _, order := range orders {
		an := NewAnalysis(mustParse(t, goal))
		an.Join.MaxHeld = 600
		feed(an, reqs, events, order)
		q := an.Verdicts()[0].Queries
		if an.join.held > 600 || len(an.join.entries) > 600 {
			t.Errorf("%s: %d held in %d entries, want at most 600", order, an.join.held, len(an.join.entries))
		}
		if order == "by time" { // each request's queries come just before it
			if q.NotFollowed > truth.Requests/2 {
				t.Errorf("%s: %v of %v requests not followed", order, q.NotFollowed, truth.Requests)
			}
		} else if q.NotFollowed == 0 || q.Joined == 0 {
			t.Errorf("%s: %v joined, %v not followed, want some of both", order, q.Joined, q.NotFollowed)
		}
		if q.Requests != truth.Requests || q.Joined+q.NotFollowed != truth.Requests {
			t.Errorf("%s: %v joined and %v not followed of %v, want all of %v", order, q.Joined, q.NotFollowed, q.Requests, truth.Requests)
		}
		if q.Joined > 20 && (q.PerRequest < truth.PerRequest*.6 || q.PerRequest > truth.PerRequest*1.6) {
			t.Errorf("%s: %v queries per request in the sample, %v in all", order, q.PerRequest, truth.PerRequest)
		}
	}
}

func TestWithoutIDsConnectionAndTimeJoin(t *testing.T) {
	o := loggen.RequestOptions{Seed: 7, Requests: 3000}
	reqs, events := shopLogs(t, o)
	with := NewAnalysis(mustParse(t, "cart:p90<200ms"))
	feed(with, reqs, events, orders[0])
	o.NoIDs = true
	reqs, events = shopLogs(t, o)
	truth := with.Verdicts()[0].Queries
	for _, order := range orders {
		an := NewAnalysis(mustParse(t, "cart:p90<200ms"))
		feed(an, reqs, events, order)
		q := an.Verdicts()[0].Queries
		if q.Joined != truth.Joined || q.Weak != q.Joined || q.Tagged != 0 {
			t.Errorf("%s: %v joined, %v weakly, %v tagged; want %v joined, all weakly", order, q.Joined, q.Weak, q.Tagged, truth.Joined)
		}
		if diff := gocmp.Diff(truth.Classes, q.Classes); diff != "" {
			t.Errorf("%s: %s", order, diff)
		}
	}
}

func TestRequestsThatNoQueryCanFindAreCounted(t *testing.T) {
	an := NewAnalysis(mustParse(t, "p:p95<1s"))
	an.Add(request("p", 2*time.Second))
	lone := request("p", 2*time.Second)
	lone.ID = "r1"
	an.Add(lone)
	an.AddQuery(&slowlog.Event{Query: "SELECT 1 /* request_id=r2 */", QueryTime: time.Second})
	q := an.Verdicts()[0].Queries
	if q.Requests != 2 || q.NoKey != 1 || q.Joined != 0 || q.Logged != 1 || q.Tagged != 1 {
		t.Errorf("%+v, want two requests, one without a key, none joined", *q)
	}
}

func TestTagsThatCarryARequest(t *testing.T) {
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	for _, sql := range []string{
		"SELECT 1 /* request_id='r1' */", "/* req_id:r1 */ SELECT 1", "SELECT 1 /*rid=r1,page=x*/",
		"SELECT 1 /*traceparent='00-" + trace + "-00f067aa0ba902b7-01'*/", "SELECT 1 /* trace_id=" + trace + " */",
		"SELECT 1 /* request_id='other',trace_id='" + trace + "' */",
	} {
		an := NewAnalysis(mustParse(t, "p:p95<1s"))
		r := request("p", 2*time.Second, requestlog.Wait{Component: "mysql", Time: 900 * ms})
		r.ID, r.TraceID = "r1", trace
		an.Add(r)
		an.AddQuery(&slowlog.Event{Query: sql, QueryTime: 600 * ms, Weight: 1})
		q := an.Verdicts()[0].Queries
		if q.Joined != 1 || q.Time != 600*ms || q.Wait != 900*ms || q.Unexplained != 300*ms {
			t.Errorf("%s: joined %v, %v of a wait of %v", sql, q.Joined, q.Time, q.Wait)
		}
	}
}

func TestWeightsOfBothLogsMultiply(t *testing.T) {
	an := NewAnalysis(mustParse(t, "p:p95<1s"))
	r := request("p", 2*time.Second)
	r.ID, r.Weight = "r1", 10
	an.Add(r)
	an.AddQuery(&slowlog.Event{Query: "SELECT 1 /* request_id=r1 */", QueryTime: 100 * ms, Weight: 3})
	q := an.Verdicts()[0].Queries
	if q.Joined != 10 || q.PerRequest != 3 || q.Time != 3*time.Second {
		t.Errorf("%v joined with %v queries each of %v in all; want 10, 3, 3s", q.Joined, q.PerRequest, q.Time)
	}
}

func TestManyQueriesOfOneConnectionFindTheirOwnRequest(t *testing.T) {
	start := time.Date(2026, 11, 30, 10, 0, 59, 0, time.UTC)
	var reqs []*requestlog.Request
	var events []*slowlog.Event
	for i := range 40 { // back to back, across a minute
		end := start.Add(time.Duration(i+1)*100*ms + time.Millisecond)
		r := request("p", 100*ms)
		r.Time, r.ConnectionID = end, 9
		reqs = append(reqs, r)
		for k := range i % 3 {
			events = append(events, &slowlog.Event{Query: fmt.Sprintf("SELECT %d FROM t%d", k, i%3), ThreadID: 9,
				Time: end.Add(time.Duration(k-3) * 20 * ms), TimeSource: slowlog.TimeHeader, QueryTime: 10 * ms, Weight: 1})
		}
	}
	for _, order := range orders {
		an := NewAnalysis(mustParse(t, "p:p95<50ms"))
		feed(an, reqs, events, order)
		q := an.Verdicts()[0].Queries
		slices.SortFunc(q.Classes, func(a, b QueryClass) int { return cmp.Compare(a.Fingerprint, b.Fingerprint) })
		got := fmt.Sprint(q.Joined, q.Weak, len(q.Classes))
		for _, c := range q.Classes {
			got += fmt.Sprint(" ", c.Fingerprint, " ", c.Requests, "x", c.PerRequest)
		}
		if want := "26 26 2 select ? from t1 13x1 select ? from t2 13x2"; got != want {
			t.Errorf("%s: %s, want %s", order, got, want)
		}
	}
}

func TestALongStatementOfNoRequestMayComeFirst(t *testing.T) {
	an, other := NewAnalysis(mustParse(t, "p:p95<1s")), NewAnalysis(mustParse(t, "p:p95<1s"))
	start := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	other.AddQuery(&slowlog.Event{Query: "OPTIMIZE TABLE t", ThreadID: 3, Time: start.Add(5 * time.Minute), QueryTime: 5 * time.Minute, Weight: 1})
	if err := an.Merge(other); err != nil {
		t.Fatal(err)
	}
	for minute := range 60 {
		for range 30 {
			r := request("p", 10*ms)
			r.Time = start.Add(time.Duration(minute) * time.Minute)
			if minute < 5 {
				r.Wall = 2 * time.Second
			}
			an.Add(r)
		}
	}
	h := an.Verdicts()[0].Hiccups
	if len(h) != 1 || h[0].Fingerprint != "optimize table t" || h[0].Component != Lost || h[0].Rise != 1990*ms {
		t.Errorf("hiccups %+v, want one with the statement that ran meanwhile", h)
	}
}

func TestMemoryOfTheJoinIsBounded(t *testing.T) {
	an := NewAnalysis(mustParse(t, "p:p95<1s"))
	an.Join.MaxHeld = 1000
	for i := range 50_000 {
		an.AddQuery(&slowlog.Event{Query: fmt.Sprintf("SELECT %d /* request_id=r%d */", i, i), Weight: 1, QueryTime: ms})
		if i%3 == 0 { // asked for no more
			r := request("p", ms)
			r.ID = fmt.Sprintf("r%d", i)
			an.Add(r)
		}
		if i%3 == 1 {
			r := request("p", 2*time.Second)
			r.ID = fmt.Sprintf("r%d", i+2)
			an.Add(r)
		}
		if j := &an.join; j.held > 1000 || len(j.entries) > 1000 || len(j.classes) > 1 || len(j.heaps[loose])+len(j.heaps[spare])+len(j.heaps[bound]) > 3*(2*1000+1024+1) {
			t.Fatalf("after %d queries %d held, %d entries, %d classes", i+1, j.held, len(j.entries), len(j.classes))
		}
	}
	if q := an.Verdicts()[0].Queries; q.NotFollowed == 0 || q.Joined == 0 || q.Joined+q.NotFollowed > q.Requests {
		t.Errorf("%+v", *q)
	}
}
