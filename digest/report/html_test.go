package report_test

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/digest/finding"
	"github.com/quern-dev/quern/digest/goal"
	"github.com/quern-dev/quern/digest/report"
	"github.com/quern-dev/quern/internal/loggen"
	"github.com/quern-dev/quern/slowlog"
)

func page(t testing.TB, r *report.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestHTMLIsAsInTheGoldenFile(t *testing.T) {
	r := shop(t)
	r.Limit = 2
	r.Interrupted = true
	r.Sections = map[digest.ID][]report.Section{r.Profile.Top(1, r.By)[0].ID: {{Title: "Plan", Text: "table  type  rows\nproduct\tALL\t80000\n"}}}
	golden(t, "shop.html", []byte(page(t, r)))
}

// thousand is the profile of a thousand classes with all of Percona Server's
// values, as a busy application has them.
func thousand(t testing.TB) *report.Report {
	t.Helper()
	var log bytes.Buffer
	if _, err := loggen.Generate(&log, loggen.Options{Seed: 1, Events: 50_000, Classes: 1000, Gap: time.Second}); err != nil {
		t.Fatal(err)
	}
	var agg digest.Aggregator
	r := slowlog.NewReader(&log)
	r.ReuseEvent = true
	for ev, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		agg.Add(ev)
	}
	return &report.Report{Profile: agg.Profile(), Sources: []report.Source{{Name: "slow.log", Stats: r.Stats()}}}
}

func TestAPageOfAThousandClassesCanBeMailed(t *testing.T) {
	r := thousand(t)
	got := page(t, r)
	if n := strings.Count(got, "<section "); n < 900 || n < r.Profile.Len() {
		t.Errorf("%d sections of %d classes", n, r.Profile.Len())
	}
	if len(got) >= 3e6 {
		t.Errorf("the page has %d bytes, want less than 3 MB", len(got))
	}
}

func BenchmarkWriteHTMLOfAThousandClasses(b *testing.B) {
	r := thousand(b)
	for b.Loop() {
		if err := r.WriteHTML(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}

func TestHTMLHoldsNothingOfALogUnescaped(t *testing.T) {
	evil := "</script><script>window.owned=1</script><img src=x onerror=window.owned=1>\" ' onload=window.owned=1 x=\u202e\x1b[2J"
	agg := digest.Aggregator{}
	agg.Add(&slowlog.Event{
		Query: "SELECT `" + evil + "`.a, '" + evil + "' /* " + evil + " */ FROM `" + evil + "` -- " + evil, QueryTime: time.Second, Weight: 1,
		User: evil, Host: evil, Schema: evil, StoredRoutine: evil, Time: time.Unix(1767225600, 0),
	})
	agg.Add(&slowlog.Event{Query: "SELECT '" + strings.Repeat("<b>\U000e0041", 200_000), QueryTime: time.Second, Weight: 1})
	agg.Add(&slowlog.Event{Command: evil, Weight: 1})
	r := &report.Report{Profile: agg.Profile(), Sources: []report.Source{{Name: evil}}}
	r.Findings = finding.Examine(r.Profile, finding.DefaultLimits())
	r.Sections = map[digest.ID][]report.Section{}
	for c := range r.Profile.Classes() {
		r.Sections[c.ID] = []report.Section{{Title: evil, Text: evil}}
	}
	got := page(t, r)
	if n := strings.Count(got, "<script"); n != 1 {
		t.Errorf("%d script elements, want the page's own", n)
	}
	for _, tag := range regexp.MustCompile(`<[a-zA-Z/][^>]*`).FindAllString(got[strings.Index(got, "<body>"):strings.LastIndex(got, "<script>")], -1) {
		if strings.Contains(tag, "owned") || strings.HasPrefix(tag, "<img") {
			t.Errorf("an element of the log: %s", tag)
		}
	}
	for i, c := range got {
		if c != '\n' && c != '\t' && (c < ' ' || c == 0x202e || c >= 0xe0000) {
			t.Fatalf("%U at %d: %q", c, i, got[max(i-20, 0):i])
		}
	}
}

func TestHTMLAsksForNothing(t *testing.T) {
	got := page(t, shop(t))
	if m := regexp.MustCompile(`(?i)(src|href|action|url|@import)\s*[=(]\s*["']?(https?:)?//`).FindString(got); m != "" {
		t.Errorf("the page asks for %s", m)
	}
	if !strings.Contains(got, "default-src &#39;none&#39;") {
		t.Error("no policy that forbids to ask")
	}
}

func TestHTMLOfNothingIsWritten(t *testing.T) {
	var agg digest.Aggregator
	if got := page(t, &report.Report{Profile: agg.Profile()}); !strings.Contains(got, "0 in 0 classes") {
		t.Error("no event count")
	}
}

func goalsPage(t *testing.T, g *report.Goals) string {
	t.Helper()
	var b bytes.Buffer
	if err := g.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestHTMLOfGoalsIsAsInTheGoldenFile(t *testing.T) {
	g := shopGoals(t, "search:p95<1s; cart:p95<500ms; nowhere:p99<1s", loggen.RequestOptions{Seed: 1})
	golden(t, "goals.html", []byte(goalsPage(t, g)))
}

func TestHTMLOfGoalsHoldsNothingOfALogUnescaped(t *testing.T) {
	const evil = "</script><script>window.owned=1</script><img src=x onerror=owned=1>\" '\u202e\x1b"
	g := shopGoals(t, "search:p95<1s", loggen.RequestOptions{Seed: 1})
	v := &g.Verdicts[0]
	v.Goal.Page = evil
	v.Pages[0].Name = evil
	v.Breakdown.Parts[0].Name, v.All.Parts[0].Name = evil, evil
	v.Samples[0].ID, v.Samples[0].URL = evil, evil
	v.Hiccups = append(v.Hiccups, goal.Hiccup{Page: evil, Component: evil, Fingerprint: evil})
	if v.Queries == nil || len(v.Queries.Classes) == 0 {
		t.Fatal("no queries")
	}
	v.Queries.Classes[0].Fingerprint = evil
	g.Notes = []string{evil}
	got := goalsPage(t, g)
	if n := strings.Count(got, "<script"); n != 1 {
		t.Errorf("%d script elements, want the page's own", n)
	}
	if strings.Contains(got, "<img") || strings.ContainsAny(got, "\u202e\x1b") {
		t.Error("something of the log is not escaped")
	}
}
