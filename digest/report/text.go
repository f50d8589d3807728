package report

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/quern-dev/quern/digest"
)

// TextOptions say where a text will be read.
type TextOptions struct {
	Width int  // columns, 80 if it is 0; at least 80 and at most 200 are used
	Color bool // with colours and weights, by the escape sequences of ECMA-48
}

// WriteText writes the report as text.
func (r *Report) WriteText(w io.Writer, o TextOptions) error {
	if o.Width == 0 {
		o.Width = 80
	}
	t := &text{report: r, width: min(max(o.Width, 80), 200), color: o.Color}
	shown := r.top()
	if r.Diff != nil {
		t.changes(shown)
	}
	t.header()
	t.table(shown)
	t.slowest(shown)
	if r.Findings != nil {
		t.findings(shown)
	}
	t.sections(r.Overall, overallBytes)
	for i, c := range shown {
		t.class(i+1, c)
	}
	_, err := w.Write(t.buf.Bytes())
	return err
}

// text is a text being written.
type text struct {
	report *Report
	buf    bytes.Buffer
	width  int
	color  bool
}

// A style is the parameter of a "select graphic rendition" sequence.
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	warn   style = "33"
	accent style = "36"
)

// in returns s in a style. s is laid out before: styles take no columns.
func (t *text) in(s style, text string) string {
	if !t.color || s == plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

func (t *text) line(parts ...string) {
	t.buf.WriteString(strings.TrimRight(strings.Join(parts, ""), " "))
	t.buf.WriteByte('\n')
}

// pad returns s with spaces behind up to the columns.
func pad(s string, width int) string { return s + strings.Repeat(" ", max(width-columns(s), 0)) }

// right returns s with spaces before up to the columns.
func right(s string, width int) string { return strings.Repeat(" ", max(width-columns(s), 0)) + s }

// labelWidth is the width of the labels of what is said in lines.
const labelWidth = 12

// say writes a labelled text, wrapped.
func (t *text) say(s style, label, text string) {
	label = pad(label, labelWidth)
	for _, l := range wrap(text, t.width-labelWidth) {
		t.line(t.in(dim, label), t.in(s, l))
		label = strings.Repeat(" ", labelWidth)
	}
}

// header says what the profile is of.
func (t *text) header() {
	p := t.report.Profile
	if t.report.Interrupted {
		t.say(warn, "Interrupted", interruptedText)
	}
	t.say(bold, "Logs", t.report.sources())
	t.say(plain, "Events", t.report.events())
	if f := t.report.filtered(); f != "" {
		t.say(plain, "Left out", f)
	}
	t.say(plain, "Time", t.report.when())
	t.say(plain, "Load", t.report.load())
	if intervals := p.Timeline(); len(intervals) > 1 {
		width := min(t.width-labelWidth, 96)
		t.line(t.in(dim, pad("", labelWidth)), t.in(accent, sparkline(resample(intervals, p.From(), p.To(), width))))
	}
	t.say(plain, "Threshold", t.report.threshold())
	for i, s := range t.report.skipped() {
		label := ""
		if i == 0 {
			label = "Skipped"
		}
		t.say(plain, label, s)
	}
}

// The columns of the table. At 118 columns and more a class takes one line.
const (
	rankWidth  = 4
	barWidth   = 9
	shareWidth = 7
	statWidth  = 7
	statCount  = 8
	tableWidth = rankWidth + barWidth + shareWidth + statCount*statWidth + 1
	oneLine    = tableWidth + 42
)

// row writes a line of the table: rank, load bar and share, then the stats.
func (t *text) row(s style, rank, load, share string, stats [statCount]string, name string) {
	var b strings.Builder
	for _, v := range stats[:statCount-1] {
		b.WriteString(right(v, statWidth))
	}
	b.WriteString(right(stats[statCount-1], statWidth+1))
	t.line(t.in(s, pad(right(rank, rankWidth-1), rankWidth)), t.in(accent, pad(load, barWidth)), t.in(s, right(share, shareWidth)+b.String()), name)
}

func (t *text) table(shown []*digest.Class) {
	t.line()
	title := "Query classes by " + orderName(t.report.By)
	if n := t.report.Profile.Len(); len(shown) < n {
		title += fmt.Sprintf(": the first %d of %s", len(shown), whole(float64(n)))
	}
	t.line(t.in(bold, title))
	t.warnings(t.report.By)
	t.line()
	of := t.report.ofLogged()
	rule := statWidth*6 - 1 - columns(of) - 2
	t.line(t.in(dim, strings.Repeat(" ", rankWidth+barWidth+shareWidth+statWidth+1)+
		strings.Repeat("─", rule/2)+" "+of+" "+strings.Repeat("─", rule-rule/2)))
	heading := ""
	if t.width >= oneLine {
		heading = t.in(dim, "  statement")
	}
	t.row(dim, "#", "load", "", [...]string{"count", "total", "avg", "p50", "p95", "p99", "max", "ex/sent"}, heading)
	for i, c := range shown {
		share := t.report.Profile.Share(c)
		t.classRow(strconv.Itoa(i+1), share, stats(c), name(c), c.ID.Short())
	}
	if name, n, seconds := t.report.rest(shown); name != "" {
		share := seconds / max(t.report.Profile.TotalSeconds(), 1e-12)
		t.classRow("", share, [statCount]string{count(n), duration(seconds * 1e9), duration(seconds * 1e9 / max(n, 1))}, name, "")
	}
	t.line(t.in(dim, "ex/sent: rows examined for each row sent"))
}

// classRow writes a class's row, in two lines where one is too short.
func (t *text) classRow(rank string, share float64, stats [statCount]string, name, id string) {
	if t.width >= oneLine {
		room := t.width - tableWidth - 2
		if id != "" && room > 60 {
			room -= len(id) + 2
			name = pad(clip(printable(name), room), room+2) + t.in(dim, id)
		} else {
			name = clip(printable(name), room)
		}
		t.row(plain, rank, bar(share, barWidth-1), percent(share), stats, "  "+name)
		return
	}
	t.row(plain, rank, bar(share, barWidth-1), percent(share), stats, "")
	room := t.width - rankWidth - len(id) - 2
	t.line(strings.Repeat(" ", rankWidth), t.in(bold, pad(clip(printable(name), room), room+2)), t.in(dim, id))
}

func stats(c *digest.Class) [statCount]string {
	q := &c.QueryTime
	ratio := "–"
	if r, ok := examinedPerSent(c); ok {
		ratio = count(r)
	}
	return [...]string{
		count(c.Count), duration(q.Seconds() * 1e9), duration(float64(q.Mean())),
		quantile(q, .5), quantile(q, .95), quantile(q, .99), duration(float64(q.Max())), ratio,
	}
}

func quantile(d *digest.Durations, q float64) string { return duration(float64(d.Quantile(q))) }

func (t *text) warnings(by digest.Order) {
	for _, w := range t.report.rankingWarnings(by) {
		for _, l := range wrap(w, t.width) {
			t.line(t.in(warn, l))
		}
	}
}

// slowest shows the second ranking.
func (t *text) slowest(shown []*digest.Class) {
	const q = slowestQuantile
	list := t.report.slowest()
	if len(list) == 0 {
		return
	}
	t.line()
	t.line(t.in(bold, "Query classes by p95"))
	t.warnings(digest.ByQuantile(q))
	t.line()
	t.line(t.in(dim, right("#", rankWidth-1)+strings.Repeat(" ", barWidth+1)+right("p95", statWidth)+right("count", statWidth)))
	longest := float64(list[0].QueryTime.Quantile(q))
	for _, c := range list {
		rank := "–"
		for i, s := range shown {
			if s == c {
				rank = strconv.Itoa(i + 1)
			}
		}
		room := t.width - rankWidth - barWidth - 2*statWidth - 2 - len(c.ID.Short()) - 2
		p95 := float64(c.QueryTime.Quantile(q))
		t.line(pad(right(rank, rankWidth-1), rankWidth), t.in(accent, pad(bar(p95/max(longest, 1), barWidth-1), barWidth)),
			right(duration(p95), statWidth), right(count(c.Count), statWidth), "  ",
			pad(clip(printable(name(c)), room), room+2), t.in(dim, c.ID.Short()))
	}
}

// class writes all that is known of a class.
func (t *text) class(rank int, c *digest.Class) {
	p := t.report.Profile
	head := fmt.Sprintf("── %d ── ", rank)
	tail := fmt.Sprintf(" %s of load ──", percent(p.Share(c)))
	title := clip(printable(name(c)), t.width-columns(head)-columns(tail)-3)
	fill := strings.Repeat("─", max(t.width-columns(head)-columns(title)-columns(tail)-1, 1))
	t.line()
	t.line(t.in(accent, head), t.in(bold, title), t.in(accent, " "+fill+tail))
	t.line()
	t.attributes(c)
	t.line()
	t.distribution(c)
	t.line()
	t.facts(c)
	t.sample(c)
	t.sections(t.report.Sections[c.ID], sectionBytes)
}

func (t *text) sections(list []Section, limit int) {
	for _, s := range list {
		t.line()
		t.line(t.in(bold, phrase(s.Title)))
		for _, l := range sectionLines(s.Text, limit) {
			for _, l := range wrap(l, t.width-2) {
				t.line("  ", l)
			}
		}
	}
}

// attributes is the table of a class's measures.
func (t *text) attributes(c *digest.Class) {
	const width = 22
	cells := func(s style, name string, cells [8]string) {
		var b strings.Builder
		for _, v := range cells {
			b.WriteString(right(v, statWidth))
		}
		t.line(t.in(dim, pad(clip(name, width), width)), t.in(s, b.String()))
	}
	rows, zero, flags := measureRows(c)
	cells(dim, "", measureColumns)
	for i, row := range rows {
		style := plain
		if i == 0 {
			style = bold
		}
		cells(style, row.name, row.cells)
	}
	if len(flags) > 0 {
		t.say(plain, "Flags", strings.Join(flags, ", "))
	}
	if len(zero) > 0 {
		t.say(plain, "Always 0", strings.Join(zero, ", "))
	}
}

// distribution draws the query times by powers of ten, on the scale of the whole
// profile, so that classes compare.
func (t *text) distribution(c *digest.Class) {
	all, q := &t.report.Profile.QueryTime, &c.QueryTime
	if q.Observed() == 0 {
		return
	}
	low, high := min(all.Min(), q.Min()), max(all.Max(), q.Max())
	ds := decades(q.Histogram(), int64(low), int64(high))
	most := 0.0
	for _, d := range ds {
		most = max(most, d.count)
	}
	room := min(t.width-labelWidth-20, 100)
	t.line(t.in(dim, "Query time"))
	for _, d := range ds {
		figures := ""
		if d.count > 0 {
			figures = right(percent(d.count/q.Count()), 7) + right(count(d.count), 8)
		}
		t.line(t.in(dim, right(d.label(), 5)+" –"+right(duration(float64(d.next())), 6)+" "), t.in(accent, pad(bar(d.count/most, room), room)), figures)
	}
}

// facts says who ran the statements, when, and how they ended.
func (t *text) facts(c *digest.Class) {
	p := t.report.Profile
	t.say(plain, "Count", t.report.about(c))
	for _, f := range t.report.factsOf(c) {
		style := plain
		if f.Warn {
			style = warn
		}
		t.say(style, f.Name, f.Text)
		if f.Name == "Seen" && t.report.span() > 0 {
			width := min(t.width-labelWidth, 96)
			t.line(pad("", labelWidth), t.in(accent, sparkline(resample(c.Timeline(), p.From(), p.To(), width))))
		}
	}
	t.say(plain, "ID", c.ID.String())
}

// sampleLines is how many lines of a statement are shown.
const sampleLines = 15

func (t *text) sample(c *digest.Class) {
	s := c.Sample()
	t.line()
	if s == nil {
		if c.Fingerprint != "" {
			t.statement(c.Fingerprint, false)
		}
		return
	}
	t.say(dim, "Slowest", sampleOf(s))
	t.statement(s.Query, s.Truncated)
}

func (t *text) statement(sql string, truncated bool) {
	var lines []string
	for _, l := range textLines(sql) {
		lines = append(lines, wrap(l, t.width-4)...)
	}
	more := ""
	if len(lines) > sampleLines {
		more = fmt.Sprintf("… %s more", plural(float64(len(lines)-sampleLines), "line", "lines"))
		lines = lines[:sampleLines]
	}
	if truncated {
		more = strings.TrimSpace(more + " (the statement is not whole)")
	}
	for _, l := range lines {
		t.line("    ", l)
	}
	if more != "" {
		t.line("    ", t.in(dim, more))
	}
}
