package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/quern-dev/quern/digest/goal"
	"github.com/quern-dev/quern/digest/report"
	"github.com/quern-dev/quern/internal/loggen"
	"github.com/quern-dev/quern/slowlog"
	"github.com/quern-dev/quern/slowlog/requestlog"
)

// shopGoals is the report on a made-up shop's day.
func shopGoals(t *testing.T, goals string, o loggen.RequestOptions) *report.Goals {
	t.Helper()
	var log, slow bytes.Buffer
	if err := loggen.ShopRequests(&log, &slow, o); err != nil {
		t.Fatal(err)
	}
	parsed, err := goal.Parse(goals)
	if err != nil {
		t.Fatal(err)
	}
	an := goal.NewAnalysis(parsed)
	an.SegmentBy, an.Interval = []string{"kind"}, 15*time.Minute
	for req, err := range requestlog.NewReader(&log).All() {
		if err != nil {
			t.Fatal(err)
		}
		an.Add(req)
	}
	for ev, err := range slowlog.NewReader(&slow).All() {
		if err != nil {
			t.Fatal(err)
		}
		an.AddQuery(ev)
	}
	return &report.Goals{Verdicts: an.Verdicts(), Stats: an.Stats(), Notes: []string{"requests.ltsv: what was taken for what"}}
}

func goalsText(t *testing.T, g *report.Goals, width int) string {
	t.Helper()
	var b bytes.Buffer
	if err := g.WriteText(&b, report.TextOptions{Width: width}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var sampledShop = loggen.RequestOptions{Seed: 2, Requests: 9000, Sample: 3, JobAt: 21 * time.Hour, JobLength: time.Hour}

func TestGoalsAreAsInTheGoldenFiles(t *testing.T) {
	g := shopGoals(t, "search:p95<1s,p99<3s; cart:p95<500ms; *{kind=person}:p99<1m; none:p95<1s", sampledShop)
	golden(t, "goals-80.txt", []byte(goalsText(t, g, 0)))
	g.Limit = 2
	g.Verdicts = g.Verdicts[2:3]
	for i := range g.Verdicts {
		g.Verdicts[i].Series = g.Verdicts[i].Series[78:80]
	}
	var b bytes.Buffer
	if err := g.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "goals.json", b.Bytes())
}

func TestNoLineOfGoalsIsWiderThanAskedFor(t *testing.T) {
	g := shopGoals(t, "search{kind=bot}:p95<1s,p99<3s; *:p99<1s", sampledShop)
	g.Notes = append(g.Notes, strings.Repeat("long ", 100), strings.Repeat("x", 300))
	g.Verdicts[0].Goal.Page = strings.Repeat("漢字", 60)
	g.Verdicts[0].Pages[0].Name = strings.Repeat("/very", 60)
	g.Verdicts[0].Breakdown.Parts[0].Name = strings.Repeat("component", 20)
	g.Verdicts[2].Queries.Classes[0].Fingerprint = "select " + strings.Repeat("y", 500)
	for _, width := range []int{80, 100, 200} {
		for line := range strings.SplitSeq(goalsText(t, g, width), "\n") {
			n := 0
			for _, r := range line {
				if n++; r >= 0x2e80 && r <= 0xa4cf {
					n++
				}
			}
			if n > width {
				t.Errorf("%d columns of %d: %s", n, width, line)
			}
		}
	}
}

func TestNothingInGoalsThatATerminalObeysComesOut(t *testing.T) {
	const evil = "\x1b[2J\u202e\r\n\x00\x9b"
	g := shopGoals(t, "*:p99<1s", sampledShop)
	v := &g.Verdicts[0]
	v.Goal.Page = evil
	v.Pages[0].Name = evil
	v.Pages[0].Breakdown.Parts[0].Name = evil
	v.Breakdown.Parts[0].Name = evil
	v.All.Parts[0].Name = evil
	v.Segments = map[string][]goal.Group{evil: v.Pages}
	v.Hiccups = append(v.Hiccups, goal.Hiccup{Component: evil, Page: evil, Fingerprint: evil})
	v.Queries.Classes[0].Fingerprint = evil
	v.Samples[0].ID, v.Samples[0].URL, v.Samples[0].Method = evil, evil, evil
	g.Notes = []string{evil}
	text := goalsText(t, g, 80)
	var b bytes.Buffer
	if err := g.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	for name, out := range map[string]string{"text": text, "JSON": b.String()} {
		if i := strings.IndexAny(out, "\x1b\u202e\r\x00\u009b"); i >= 0 {
			t.Errorf("%s holds %q", name, out[max(0, i-20):i+5])
		}
		if !utf8.ValidString(out) {
			t.Errorf("%s holds what is no UTF-8", name)
		}
	}
	var decoded any
	if err := json.Unmarshal(b.Bytes(), &decoded); err != nil {
		t.Error(err)
	}
}

func TestGoalsOfNothingAreWritten(t *testing.T) {
	goals, err := goal.Parse("search:p95<1s")
	if err != nil {
		t.Fatal(err)
	}
	g := &report.Goals{Verdicts: goal.NewAnalysis(goals).Verdicts()}
	if text := goalsText(t, g, 80); !strings.Contains(text, "No request of this kind was logged.") {
		t.Errorf("text of nothing: %s", text)
	}
	var b bytes.Buffer
	if err := g.WriteJSON(&b); err != nil || !json.Valid(b.Bytes()) {
		t.Errorf("JSON of nothing: %v, %s", err, b.String())
	}
}
