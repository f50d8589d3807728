package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/quern-dev/quern/digest"
)

// The parts of the page. It is one file that asks for nothing: no fonts, no
// pictures, no scripts from elsewhere, which its own policy forbids.
var (
	//go:embed page.tmpl
	pageTemplate string
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string

	page = template.Must(template.New("page").Parse(pageTemplate))
)

// WriteHTML writes the report as one HTML file that needs no other.
func (r *Report) WriteHTML(w io.Writer) error {
	v := &profileView{
		Logs:  r.sources(),
		Notes: r.notes(),
		Tiles: r.tiles(),
		Order: orderName(r.By),
		Of:    r.ofLogged(),
	}
	p := r.Profile
	if len(p.Timeline()) > 1 {
		v.Timeline = timelineSVG(p.Timeline(), dayAxis{p.From(), p.To(), wideWidth}, "wa")
	}
	times := r.timeAxis()
	v.Axes = map[string]template.HTML{
		"ha": times.draw(),
		"ta": dayAxis{p.From(), p.To(), drawingWidth}.draw(),
		"wa": dayAxis{p.From(), p.To(), wideWidth}.draw(),
	}
	v.Warnings = r.rankingWarnings(r.By)
	shown := r.top()
	if r.Diff != nil {
		v.Diff = r.diffView(shown)
	}
	if r.Findings != nil {
		v.Findings = r.findingsView(shown)
	}
	v.Overall = viewSections(r.Overall, overallBytes)
	for i, c := range shown {
		v.Classes = append(v.Classes, r.classView(i+1, c, times))
	}
	if len(shown) > fullRanks {
		v.Short = fmt.Sprintf("Of the classes behind the first %d the page shows the main measures and the beginning of the statement.", fullRanks)
	}
	v.Rest = r.restView(shown)
	slowest := r.slowest()
	for _, c := range slowest {
		v.Slowest = append(v.Slowest, viewSlow(c, slowest[0], shown))
	}
	if len(slowest) > 0 {
		v.SlowestWarnings = r.rankingWarnings(digest.ByQuantile(slowestQuantile))
	}
	return writePage(w, "Query profile", pageViews{Profile: v})
}

// pageViews is what a page shows: one of these.
type pageViews struct {
	Profile *profileView
	Goals   *goalsView
}

// writePage writes a page.
func writePage(w io.Writer, title string, views pageViews) error {
	sum := sha256.Sum256([]byte(pageScript))
	var buf bytes.Buffer
	err := page.Execute(&buf, struct {
		Title   string
		Policy  string
		Style   template.CSS
		Script  template.JS
		Columns [8]string
		pageViews
	}{
		Title: title,
		Policy: "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-" +
			base64.StdEncoding.EncodeToString(sum[:]) + "'",
		Style:     template.CSS(pageStyle),
		Script:    template.JS(pageScript),
		Columns:   measureColumns,
		pageViews: views,
	})
	if err != nil {
		return fmt.Errorf("report: HTML: %w", err)
	}
	_, err = w.Write(buf.Bytes())
	return err
}

// What the template shows of a profile. Texts are printable; the template
// escapes them.
type profileView struct {
	Logs            string
	Diff            *diffView
	Findings        *findingsView
	Overall         []Section
	Tiles           []tile
	Notes           []note
	Timeline        template.HTML
	Axes            map[string]template.HTML // by the id that drawings refer to
	Order           string
	Of              string
	Warnings        []string
	Classes         []*classView
	Rest            *restView
	Short           string // what is left out of later classes
	Slowest         []slowView
	SlowestWarnings []string
}

type diffView struct {
	Notes   []note
	Changes []changeView
	Same    string
}

type changeView struct {
	What, LoadBefore, LoadAfter, Change, RateBefore, RateAfter, Latency, Name, ID string

	Worse bool
	Rank  int
}

func (r *Report) diffView(shown []*digest.Class) *diffView {
	rows, same := r.changes(shown)
	v := &diffView{Notes: r.diffNotes(), Same: sameText(rows, same)}
	for _, c := range rows {
		v.Changes = append(v.Changes, changeView{c.what, c.loadBefore, c.loadAfter, c.change, c.rateBefore, c.rateAfter, c.latency, c.name, c.id, c.worse, c.rank})
	}
	return v
}

type tile struct{ Value, Name string }

type classView struct {
	Rank     int
	Name     string
	ID       string
	Short    string
	Share    string
	Width    string // of the load bar, in percent
	Cells    [statCount]string
	About    string
	Times    template.HTML
	Timeline template.HTML
	Measures []measureView
	Zero     string
	Facts    []note
	Sample   template.HTML
	SampleOf string
	Sections []Section
}

type measureView struct {
	Name  string
	Cells [8]string
}

type restView struct{ Name, Share, Width, Count, Total, Avg string }

type slowView struct {
	Rank                    int
	Name, P95, Width, Count string
}

// notes says what to know of the profile.
func (r *Report) notes() []note {
	var notes []note
	if r.Interrupted {
		notes = append(notes, note{"Interrupted", interruptedText, true})
	}
	notes = append(notes, note{Name: "Events", Text: r.events()})
	if f := r.filtered(); f != "" {
		notes = append(notes, note{Name: "Left out", Text: f})
	}
	return append(notes,
		note{Name: "Time", Text: r.when()},
		note{Name: "Threshold", Text: r.threshold()},
		note{Name: "Skipped", Text: strings.Join(r.skipped(), "; ")})
}

func (r *Report) tiles() []tile {
	p := r.Profile
	if p.QueryTime.Observed() == 0 {
		return nil
	}
	tiles := []tile{
		{duration(p.TotalSeconds() * 1e9), "query time"},
		{count(p.Count), "statements"},
		{whole(float64(p.Len())), "classes"},
	}
	if d := r.span(); d > 0 {
		tiles = append(tiles, tile{rate(p.Count / d.Seconds()), "statements/s"},
			tile{rate(p.TotalSeconds() / d.Seconds()), "running at once"})
	}
	return append(tiles, tile{quantile(&p.QueryTime, .95), "p95"}, tile{duration(float64(p.QueryTime.Max())), "slowest"})
}

func (r *Report) classView(rank int, c *digest.Class, times timeAxis) *classView {
	p := r.Profile
	q := &c.QueryTime
	share := p.Share(c)
	v := &classView{
		Rank:  rank,
		Name:  printable(name(c)),
		ID:    c.ID.String(),
		Short: c.ID.Short(),
		Share: percent(share),
		Width: width(share),
		About: r.about(c),
	}
	v.Cells = stats(c)
	if q.Observed() > 0 {
		v.Times = histogramSVG(q, times)
	}
	if r.span() > 0 && !c.FirstSeen().IsZero() {
		v.Timeline = timelineSVG(c.Timeline(), dayAxis{p.From(), p.To(), drawingWidth}, "ta")
	}
	rows, zero, flags := measureRows(c)
	for _, row := range rows {
		if rank <= fullRanks || row.measure <= digest.BytesSent {
			v.Measures = append(v.Measures, measureView{row.name, row.cells})
		}
	}
	if rank <= fullRanks {
		v.Zero = strings.Join(zero, ", ")
	}
	if len(flags) > 0 {
		v.Facts = append(v.Facts, note{Name: "Flags", Text: strings.Join(flags, ", ")})
	}
	v.Facts = append(v.Facts, r.factsOf(c)...)
	if s := c.Sample(); s != nil {
		v.SampleOf = sampleOf(s)
		text, cut := cutText(s.Query, sampleBytes(rank))
		v.Sample = highlight(text)
		if cut || s.Truncated {
			v.SampleOf += " (cut)"
		}
	} else if c.Fingerprint != "" {
		text, _ := cutText(c.Fingerprint, sampleBytes(rank))
		v.Sample = highlight(text)
	}
	v.Sections = viewSections(r.Sections[c.ID], sectionBytes)
	return v
}

// timeAxis is one for all classes, so that they compare.
func (r *Report) timeAxis() timeAxis {
	low, high := r.Profile.QueryTime.Min(), r.Profile.QueryTime.Max()
	for c := range r.Profile.Classes() { // commands are not in the profile's query time
		low, high = min(low, c.QueryTime.Min()), max(high, c.QueryTime.Max())
	}
	return newTimeAxis(low, high)
}

// fullRanks is how many classes are shown with all that is known of them. Later
// ones are shown in short, so that a page of a thousand can be sent by mail.
const fullRanks = 100

// sampleBytes is how much of a statement the page shows.
func sampleBytes(rank int) int {
	if rank <= fullRanks {
		return 6000
	}
	return 600
}

func viewSections(sections []Section, limit int) (list []Section) {
	for _, s := range sections {
		list = append(list, Section{phrase(s.Title), strings.Join(sectionLines(s.Text, limit), "\n")})
	}
	return list
}

// cutText returns at most n bytes of s, no character in pieces.
func cutText(s string, n int) (text string, cut bool) {
	if len(s) <= n {
		return s, false
	}
	return strings.ToValidUTF8(s[:n], ""), true
}

func (r *Report) restView(shown []*digest.Class) *restView {
	name, n, seconds := r.rest(shown)
	if name == "" {
		return nil
	}
	share := seconds / max(r.Profile.TotalSeconds(), 1e-12)
	return &restView{name, percent(share), width(share), count(n), duration(seconds * 1e9), duration(seconds * 1e9 / max(n, 1))}
}

func viewSlow(c, slowest *digest.Class, shown []*digest.Class) slowView {
	p95 := float64(c.QueryTime.Quantile(slowestQuantile))
	return slowView{
		Rank:  slices.Index(shown, c) + 1,
		Name:  printable(name(c)),
		P95:   duration(p95),
		Width: width(p95 / max(float64(slowest.QueryTime.Quantile(slowestQuantile)), 1)),
		Count: count(c.Count),
	}
}

// width formats a part of one as the percentage of a bar's width.
func width(part float64) string { return strconv.FormatFloat(part*100, 'f', 1, 64) }
