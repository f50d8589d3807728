package report

import (
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quern-dev/quern/digest/goal"
)

// WriteHTML writes the report as one HTML file that needs no other.
func (g *Goals) WriteHTML(w io.Writer) error {
	v := &goalsView{Requests: requestsLine(g.Stats)}
	for _, n := range g.Notes {
		v.Notes = append(v.Notes, printable(n))
	}
	limit := g.Limit
	if limit <= 0 {
		limit = 5
	}
	colors := partColors(g.Verdicts)
	for i := range g.Verdicts {
		v.Verdicts = append(v.Verdicts, viewVerdict(&g.Verdicts[i], limit, colors))
	}
	return writePage(w, "Response-time goals", pageViews{Goals: v})
}

// What the template shows of goals.
type goalsView struct {
	Requests string
	Notes    []string
	Verdicts []verdictView
}

type verdictView struct {
	Goal, State, Class, Attained, Requests, Missing, Width, Apdex, Text string

	Bars      []barView // the missing requests' time beside that of all
	Parts     []partView
	Notes     []string
	Heat      template.HTML
	HeatText  string
	Hiccups   []hiccupView
	Groups    []groupsView
	Samples   []sampleView
	Queries   []string
	Classes   []queryView
	MoreQuery int
}

type barView struct {
	Name, Label string
	Parts       []segmentView
}

type segmentView struct {
	Color       int
	Name, Width string
}

type partView struct {
	Color                            int
	Name, Share, Mean, Calls         string
	AllShare, AllMean                string
	None, Tenth, Half                string
	NoneMeets, TenthMeets, HalfMeets bool
}

type groupsView struct {
	Title  string
	Groups []groupView
	More   int
}

type groupView struct{ Name, Requests, Missing, Width, Attained, Most string }

type hiccupView struct{ Text, Statement string }

type sampleView struct{ Time, Wall, What, ID string }

type queryView struct {
	ID, Share, Time, PerRequest, Requests, Repeated string

	SQL template.HTML
}

// colorCount is how many colours there are for components; cpu and lost time have
// their own.
const (
	lostColor = iota
	cpuColor
	firstColor
	colorCount = 8
)

// partColors gives each part of the time a colour, the same for all goals, in the
// order of the time that they take.
func partColors(verdicts []goal.Verdict) map[string]int {
	times := make(map[string]time.Duration)
	for i := range verdicts {
		for _, p := range verdicts[i].All.Parts {
			times[p.Name] += p.Time
		}
	}
	names := slices.SortedFunc(maps.Keys(times), func(a, b string) int {
		if d := times[b] - times[a]; d != 0 {
			return int(min(max(d, -1), 1))
		}
		return strings.Compare(a, b)
	})
	colors := map[string]int{goal.Lost: lostColor, goal.CPU: cpuColor}
	next := firstColor
	for _, name := range names {
		if _, has := colors[name]; !has {
			colors[name] = min(next, colorCount-1)
			next++
		}
	}
	return colors
}

func viewVerdict(v *goal.Verdict, limit int, colors map[string]int) verdictView {
	view := verdictView{
		Goal:     printable(v.Goal.String()),
		State:    v.State.String(),
		Class:    v.State.String(),
		Attained: duration(float64(v.Attained.Value)),
		Requests: whole(v.Requests),
		Missing:  percent(v.Missing.Share),
		Width:    width(v.Missing.Share),
		Apdex:    fmt.Sprintf("%.2f", v.Apdex),
		Text:     verdictText(v),
	}
	if v.Observed == 0 {
		return view
	}
	if v.Missing.Observed > 0 {
		view.Bars = append(view.Bars, viewBar("missing requests", &v.Breakdown, colors))
	}
	view.Bars = append(view.Bars, viewBar("all requests", &v.All, colors))
	view.addParts(v, colors)
	view.addGroups("Pages", v.Pages, limit)
	for _, attr := range slices.Sorted(maps.Keys(v.Segments)) {
		view.addGroups("By "+printable(attr), v.Segments[attr], limit)
	}
	if len(v.Series) > 1 {
		view.Heat, view.HeatText = heatStrip(v)
	}
	for i, h := range v.Hiccups {
		if i == limit {
			break
		}
		hv := hiccupView{Text: printable(hiccupText(&h))}
		if h.Fingerprint != "" {
			hv.Statement = fmt.Sprintf("meanwhile ran, for %s and for no request: %s", duration(float64(h.StatementTime)), printable(h.Fingerprint))
		}
		view.Hiccups = append(view.Hiccups, hv)
	}
	for i, r := range v.Samples {
		if i == limit {
			break
		}
		s := sampleView{Wall: duration(float64(r.Wall)), What: r.URL, ID: printable(r.ID)}
		if !r.Time.IsZero() {
			s.Time = r.Time.Format(timeLayout)
		}
		if s.What == "" {
			s.What = r.Page
		}
		s.What = printable(strings.TrimSpace(r.Method + " " + s.What))
		view.Samples = append(view.Samples, s)
	}
	view.addQueries(v.Queries, limit)
	return view
}

// viewBar is where the time of some requests went, as parts of a bar.
func viewBar(name string, b *goal.Breakdown, colors map[string]int) barView {
	v := barView{Name: name}
	whole := 0.0
	for _, p := range b.Parts {
		whole += max(p.Share, 0) // above 1 where waits overlap
	}
	var label []string
	for _, p := range b.Parts {
		if p.Share <= 0 {
			continue
		}
		v.Parts = append(v.Parts, segmentView{colors[p.Name], printable(p.Name), width(p.Share / whole)})
		label = append(label, printable(p.Name)+" "+percent(p.Share))
	}
	v.Label = name + ": " + strings.Join(label, ", ")
	return v
}

func (view *verdictView) addParts(v *goal.Verdict, colors map[string]int) {
	gains := make(map[string]goal.Potential)
	for _, p := range v.Potential {
		gains[p.Component] = p
	}
	parts := v.Breakdown.Parts
	if v.Missing.Observed == 0 {
		parts = v.All.Parts
	}
	for _, p := range parts {
		all := partOf(&v.All, p.Name)
		pv := partView{Color: colors[p.Name], Name: printable(p.Name), AllShare: percent(all.Share), AllMean: duration(float64(all.PerRequest))}
		if p.Calls > 0 {
			pv.Calls = count(p.Calls)
		}
		if v.Missing.Observed > 0 {
			g := gains[p.Name]
			pv.Share, pv.Mean = percent(p.Share), duration(float64(p.PerRequest))
			pv.None, pv.Tenth, pv.Half = percent(g.Gone.Share), percent(g.Tenth.Share), percent(g.Half.Share)
			missed := v.State != goal.Met
			pv.NoneMeets, pv.TenthMeets, pv.HalfMeets = missed && g.Gone.Meets, missed && g.Tenth.Meets, missed && g.Half.Meets
		}
		view.Parts = append(view.Parts, pv)
	}
	if o := overlapText(&v.Breakdown); o != "" {
		view.Notes = append(view.Notes, o)
	}
	if v.Missing.Observed > 0 {
		view.Notes = append(view.Notes, potentialText(v))
	}
}

func (view *verdictView) addGroups(title string, groups []goal.Group, limit int) {
	if len(groups) == 0 {
		return
	}
	gs := groupsView{Title: title}
	for i := range groups {
		g := &groups[i]
		if i == limit {
			gs.More = len(groups) - i
			break
		}
		b := &g.Breakdown
		if g.Missing.Observed == 0 {
			b = &g.All
		}
		gv := groupView{Name: printable(orNone(g.Name)), Requests: whole(g.Requests), Missing: percent(g.Missing.Share), Width: width(g.Missing.Share), Attained: duration(float64(g.Attained))}
		if len(b.Parts) > 0 {
			gv.Most = printable(b.Parts[0].Name) + " " + percent(b.Parts[0].Share)
		}
		gs.Groups = append(gs.Groups, gv)
	}
	view.Groups = append(view.Groups, gs)
}

func (view *verdictView) addQueries(q *goal.Queries, limit int) {
	if q == nil {
		return
	}
	view.Queries = queriesText(q)
	for i, c := range q.Classes {
		if i == limit {
			view.MoreQuery = len(q.Classes) - i
			break
		}
		qv := queryView{ID: c.ID.Short(), Share: percent(c.WallShare), Time: duration(float64(c.Time)), PerRequest: count(c.PerRequest), Requests: count(c.Requests)}
		if c.Fingerprint != "" {
			text, _ := cutText(c.Fingerprint, 2000)
			qv.SQL = highlight(text)
		}
		if c.Repeated {
			qv.Repeated = "repeated: up to " + count(c.Most) + " times in one request (N+1)"
		}
		view.Classes = append(view.Classes, qv)
	}
}

// heatLevels is how many shades a heat strip has.
const heatLevels = 5

// heatStrip draws the share of the requests that miss the goal over time, a row for
// each day, darker where more miss.
func heatStrip(v *goal.Verdict) (drawing template.HTML, text string) {
	const rowHeight, left = 22, 44
	const day = 24 * time.Hour
	first := v.Series[0].Start.Truncate(day)
	last := v.Series[len(v.Series)-1].Start
	days := int(last.Sub(first)/day) + 1
	// of many days each row has several
	perRow := time.Duration((days + 30) / 31)
	rows := (days + int(perRow) - 1) / int(perRow)
	most := 0.0
	for i := range v.Series {
		most = max(most, v.Series[i].Missing.Share)
	}
	x := func(t time.Time) float64 {
		return left + float64(t.Sub(first)%(perRow*day))/float64(perRow*day)*(wideWidth-left)
	}
	var paths [heatLevels]strings.Builder
	for i := range v.Series {
		p := &v.Series[i]
		if p.Requests <= 0 {
			continue
		}
		level := 0
		if p.Missing.Share > 0 {
			level = min(1+int(p.Missing.Share/most*(heatLevels-1)), heatLevels-1)
		}
		row := int(p.Start.Sub(first) / (perRow * day))
		wide := float64(v.Interval) / float64(perRow*day) * (wideWidth - left)
		fmt.Fprintf(&paths[level], "M%.1f %dh%.1fv%dh-%.1fz", x(p.Start), row*rowHeight, wide+.1, rowHeight-3, wide+.1)
	}
	height := rows*rowHeight + axisHeight
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" role=img aria-label="Share of requests that miss the goal over time">`, wideWidth, height)
	for level := range paths {
		if paths[level].Len() > 0 {
			fmt.Fprintf(&b, `<path class=h%d d="%s"/>`, level, paths[level].String())
		}
	}
	for row := range rows {
		fmt.Fprintf(&b, `<text x=0 y=%d>%s</text>`, row*rowHeight+14, first.Add(time.Duration(row)*perRow*day).Format("Jan 2"))
	}
	if perRow == 1 {
		for hour := 0; hour <= 24; hour += 4 {
			at := round(left + float64(hour)/24*(wideWidth-left))
			label(&b, at, wideWidth, height-4, fmt.Sprintf("%02d:00", hour))
		}
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()), fmt.Sprintf("Share of requests that miss, in intervals of %s; the strongest colour is %s.", span(v.Interval), percent(most))
}
