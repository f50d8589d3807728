package report

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quern-dev/quern/digest/goal"
)

// Goals shows what an analysis of requests found of their goals. It changes nothing
// that it refers to.
type Goals struct {
	Verdicts []goal.Verdict
	Stats    goal.Stats

	// Notes say what the logs are and what was taken for what, one line each.
	Notes []string

	// Limit is how many pages, hiccups and query classes are shown of each goal; 0
	// means 5.
	Limit int
}

// WriteText writes the report as text. Of the options it heeds Width.
func (g *Goals) WriteText(w io.Writer, o TextOptions) error {
	t := &goalsText{limit: g.Limit, width: min(max(o.Width, 80), 200)}
	if t.limit <= 0 {
		t.limit = 5
	}
	for _, n := range g.Notes {
		t.paragraph(n)
	}
	t.paragraph(requestsLine(g.Stats))
	t.line("")
	t.overview(g.Verdicts)
	shown := make(map[string]goal.Goal) // the first goal of its kind has shown all that does not depend on the limit
	for i := range g.Verdicts {
		v := &g.Verdicts[i]
		first, again := shown[v.Goal.Name()]
		t.verdict(v, again && v.Missing.Observed == 0, first)
		if !again {
			shown[v.Goal.Name()] = v.Goal
		}
	}
	_, err := w.Write(t.buf.Bytes())
	return err
}

// requestsLine says what was analysed and what was left out.
func requestsLine(s goal.Stats) string {
	line := plural(float64(s.Requests), "request", "requests")
	if !s.From.IsZero() {
		line += ", " + timeRange(s.From, s.To)
	}
	if s.Queries > 0 {
		line += "; " + plural(float64(s.Queries), "statement", "statements") + " of the slow log"
	}
	for _, left := range []struct {
		n    uint64
		what string
	}{{s.NoGoal, "match no goal"}, {s.NoWall, "do not say how long they took"}, {s.Absurd, "have a time that is negative or above a day"}} {
		if left.n > 0 {
			line += fmt.Sprintf("; %s %s", whole(float64(left.n)), left.what)
		}
	}
	return line
}

type goalsText struct {
	buf   bytes.Buffer
	width int
	limit int
}

// line writes a line, cut to the width.
func (t *goalsText) line(s string) {
	t.buf.WriteString(clip(strings.TrimRight(s, " "), t.width))
	t.buf.WriteByte('\n')
}

func (t *goalsText) paragraph(s string) {
	for _, l := range wrap(printable(s), t.width) {
		t.line(l)
	}
}

// heading writes a title that runs out in a rule.
func (t *goalsText) heading(s string) {
	s = clip(printable(s), t.width-4)
	t.line("")
	t.line(s + " " + strings.Repeat("─", max(t.width-columns(s)-1, 0)))
}

// row writes cells: the first one fills what the others, right-aligned in their
// widths, leave.
func (t *goalsText) row(first string, widths []int, cells ...string) {
	rest := 0
	for _, w := range widths {
		rest += w
	}
	s := pad(clip(printable(first), t.width-rest-1), t.width-rest)
	for i, c := range cells {
		s += right(c, widths[i])
	}
	t.line(s)
}

var overviewWidths = []int{9, 9, 10, 15, 6}

func (t *goalsText) overview(verdicts []goal.Verdict) {
	t.row("Goal", overviewWidths, "", "attained", "requests", "missing", "Apdex")
	for i := range verdicts {
		v := &verdicts[i]
		state := v.State.String()
		if v.Observed == 0 {
			t.row(v.Goal.String(), overviewWidths, state, "", "0", "", "")
			continue
		}
		t.row(v.Goal.String(), overviewWidths, state, duration(float64(v.Attained.Value)), whole(v.Requests),
			whole(v.Missing.Requests)+" "+right(percent(v.Missing.Share), 6), fmt.Sprintf("%.2f", v.Apdex))
	}
}

func (t *goalsText) verdict(v *goal.Verdict, brief bool, first goal.Goal) {
	t.heading(v.Goal.String() + ": " + v.State.String())
	if v.Observed == 0 {
		t.line(verdictText(v))
		return
	}
	t.paragraph(verdictText(v))
	if v.Missing.Observed == 0 {
		if brief {
			t.line("All requests: see " + printable(first.String()) + ".")
		} else {
			t.paragraph("All requests: " + v.All.String())
		}
		return
	}
	t.parts(v)
	t.groups("Pages", v.Pages)
	for _, attr := range slices.Sorted(maps.Keys(v.Segments)) {
		t.groups("By "+attr, v.Segments[attr])
	}
	t.samples(v)
	t.series(v)
	t.queries(v)
}

// verdictText says in a sentence how the requests stand to the goal.
func verdictText(v *goal.Verdict) string {
	percentile := fmt.Sprintf("p%g", v.Goal.Percentile)
	switch {
	case v.Observed == 0:
		return "No request of this kind was logged."
	case v.Attained.Low == v.Attained.High:
		return fmt.Sprintf("%s is %s. Of %s requests %s miss, %s of them; %s may.", percentile, duration(float64(v.Attained.Value)),
			whole(v.Requests), whole(v.Missing.Requests), percent(v.Missing.Share), percent(1-v.Goal.Percentile/100))
	}
	return fmt.Sprintf("%s is %s (%s to %s). Of %s requests, estimated from %s logged, %s miss: %s of them (%s to %s); %s may.",
		percentile, duration(float64(v.Attained.Value)), duration(float64(v.Attained.Low)), duration(float64(v.Attained.High)),
		whole(v.Requests), whole(float64(v.Observed)), whole(v.Missing.Requests), percent(v.Missing.Share),
		percent(v.Missing.Low), percent(v.Missing.High), percent(1-v.Goal.Percentile/100))
}

// samples shows some missing requests, so that one can be repeated.
func (t *goalsText) samples(v *goal.Verdict) {
	t.line("")
	for i, r := range v.Samples {
		if i == min(t.limit, 3) {
			break
		}
		label := ""
		if i == 0 {
			label = "For example"
		}
		at := ""
		if !r.Time.IsZero() {
			at = r.Time.Format("Jan 2 15:04:05")
		}
		what := r.URL
		if what == "" {
			what = r.Page
		}
		if r.Method != "" {
			what = r.Method + " " + what
		}
		id := printable(r.ID)
		if id != "" {
			id = "  " + clip(id, 32)
		}
		t.line(pad(label, 13) + pad(at, 16) + right(duration(float64(r.Wall)), 7) + "  " + clip(printable(what), t.width-38-columns(id)) + id)
	}
}

var partWidths = []int{9, 9, 8, 9, 9, 9, 7, 7}

// parts shows the breakdown of the missing requests, beside it that of all, and what
// could be won.
func (t *goalsText) parts(v *goal.Verdict) {
	t.line("")
	t.row("", partWidths, "missing", "requests", "", "all", "", "would", "meet", "at")
	t.row("Time in", partWidths, "share", "mean", "calls", "share", "mean", "none", "1/10", "1/2")
	gains := make(map[string]goal.Potential)
	for _, p := range v.Potential {
		gains[p.Component] = p
	}
	for _, p := range v.Breakdown.Parts {
		calls := ""
		if p.Calls > 0 {
			calls = count(p.Calls)
		}
		g := gains[p.Name]
		all := partOf(&v.All, p.Name)
		t.row(p.Name, partWidths, percent(p.Share), duration(float64(p.PerRequest)), calls, percent(all.Share), duration(float64(all.PerRequest)),
			mark(v.State, g.Gone), mark(v.State, g.Tenth), mark(v.State, g.Half))
	}
	if o := overlapText(&v.Breakdown); o != "" {
		t.paragraph(o)
	}
	t.line(potentialText(v))
}

// overlapText says how far waits overlap, if they do.
func overlapText(b *goal.Breakdown) string {
	if b.Overlap <= 0 {
		return ""
	}
	return fmt.Sprintf("In %s of these requests waits overlap, by %s of the time: the shares add up to more than the whole.",
		whole(b.OverlapRequests), percent(float64(b.Overlap)/float64(max(b.Wall, 1))))
}

// potentialText says how to read what could be won.
func potentialText(v *goal.Verdict) string {
	switch {
	case v.State == goal.Met:
		return "Would meet: share of the missing requests."
	case slices.ContainsFunc(v.Potential, func(p goal.Potential) bool { return p.Gone.Meets || p.Tenth.Meets || p.Half.Meets }):
		return "Would meet: share of the missing requests; * the goal would be met."
	}
	return "Would meet: share of the missing requests. No component alone meets the goal."
}

// mark shows a gain, with a star where it mends a goal that is not met.
func mark(s goal.State, g goal.Gain) string {
	if g.Meets && s != goal.Met {
		return percent(g.Share) + "*"
	}
	return percent(g.Share) + " "
}

func partOf(b *goal.Breakdown, name string) goal.Part {
	for _, p := range b.Parts {
		if p.Name == name {
			return p
		}
	}
	return goal.Part{}
}

var groupWidths = []int{10, 16, 10}

func (t *goalsText) groups(title string, groups []goal.Group) {
	t.line("")
	t.row(title, append(slices.Clone(groupWidths), 26), "requests", "missing", "attained", "most time")
	for i := range groups {
		g := &groups[i]
		if i == t.limit {
			t.line(fmt.Sprintf("and %s more", whole(float64(len(groups)-i))))
			break
		}
		b := &g.Breakdown
		if g.Missing.Observed == 0 {
			b = &g.All
		}
		most := ""
		if len(b.Parts) > 0 {
			most = printable(b.Parts[0].Name) + " " + percent(b.Parts[0].Share)
		}
		t.row(g.Name, append(slices.Clone(groupWidths), 26), whole(g.Requests), whole(g.Missing.Requests)+" "+right(percent(g.Missing.Share), 6),
			duration(float64(g.Attained)), clip(most, 25))
	}
}

// series draws the share of missing requests over time and names the hiccups.
func (t *goalsText) series(v *goal.Verdict) {
	if len(v.Series) < 2 {
		return
	}
	from := v.Series[0].Start
	to := v.Series[len(v.Series)-1].Start.Add(v.Interval)
	values := resampleShare(v.Series, from, to, min(t.width, 96))
	t.line("")
	t.line(fmt.Sprintf("Share that misses, %s, up to %s", timeRange(from, to), percent(slices.Max(values))))
	t.line(sparkline(values))
	for i, h := range v.Hiccups {
		if i == t.limit {
			t.line(fmt.Sprintf("and %s more", whole(float64(len(v.Hiccups)-i))))
			break
		}
		t.paragraph(hiccupText(&h))
		if h.Fingerprint != "" {
			t.paragraph(fmt.Sprintf("  meanwhile ran, for %s and for no request: %s", duration(float64(h.StatementTime)), h.Fingerprint))
		}
	}
}

// hiccupText says in a sentence when and where more requests missed the goal.
func hiccupText(h *goal.Hiccup) string {
	s := fmt.Sprintf("%s to %s: %s of %s requests miss, usually %s", h.From.Format("Jan 2 15:04"), h.To.Format("15:04"),
		percent(h.Missing.Share), whole(h.Requests), percent(h.Usual))
	if h.Component != "" {
		s += fmt.Sprintf("; %s rose by %s a request", h.Component, duration(float64(h.Rise)))
	}
	if h.Page != "" {
		s += ", most on " + h.Page
	}
	switch h.Every {
	case time.Hour:
		s += "; comes back every hour"
	case 24 * time.Hour:
		s += "; comes back every day"
	}
	return s
}

// resampleShare returns the share of missing requests in n equal parts of the time.
func resampleShare(points []goal.Point, from, to time.Time, n int) []float64 {
	requests, missing := make([]float64, n), make([]float64, n)
	for i := range points {
		at := min(n-1, int(float64(points[i].Start.Sub(from))/float64(to.Sub(from))*float64(n)))
		requests[at] += points[i].Requests
		missing[at] += points[i].Missing.Requests
	}
	for i := range missing {
		if requests[i] > 0 {
			missing[i] /= requests[i]
		}
	}
	return missing
}

var queryWidths = []int{8, 9, 10, 9}

// queries shows the query classes behind the missing requests.
func (t *goalsText) queries(v *goal.Verdict) {
	q := v.Queries
	if q == nil {
		return
	}
	t.line("")
	for _, s := range queriesText(q) {
		t.paragraph(s)
	}
	if q.Joined == 0 {
		return
	}
	t.row("Query class", queryWidths, "of wall", "time", "a request", "requests")
	for i, c := range q.Classes {
		if i == t.limit {
			t.line(fmt.Sprintf("and %s more", whole(float64(len(q.Classes)-i))))
			break
		}
		t.row(c.ID.Short(), queryWidths, percent(c.WallShare), duration(float64(c.Time)), count(c.PerRequest), count(c.Requests))
		fingerprint := c.Fingerprint
		if fingerprint == "" {
			fingerprint = "(not kept)"
		}
		for _, l := range wrap("  "+printable(fingerprint), t.width) {
			t.line(l)
		}
		if c.Repeated {
			t.line("  repeated: up to " + count(c.Most) + " times in one request (N+1)")
		}
	}
}

// queriesText says in sentences how far the slow log explains the missing requests.
func queriesText(q *goal.Queries) []string {
	s := fmt.Sprintf("Queries of the missing requests: %s of %s found theirs in the slow log", whole(q.Joined), whole(q.Requests))
	if q.Weak > 0 {
		s += fmt.Sprintf(", %s by connection and time alone", whole(q.Weak))
	}
	if q.NoKey > 0 {
		s += fmt.Sprintf("; %s have neither id nor connection", whole(q.NoKey))
	}
	if q.NotFollowed > 0 {
		s += fmt.Sprintf("; %s were not followed, to bound the memory", whole(q.NotFollowed))
	}
	list := []string{s + "."}
	if q.Joined == 0 {
		return list
	}
	s = fmt.Sprintf("%s queries a request, %s of its time", count(q.PerRequest), percent(float64(q.Time)/float64(max(q.Wall, 1))))
	if q.Wait > 0 {
		s += fmt.Sprintf("; of its own database wait %s is in no logged query", percent(float64(q.Unexplained)/float64(q.Wait)))
	}
	return append(list, s+".")
}
