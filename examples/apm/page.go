package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/quern-dev/quern/digest"
)

// A page shows the top queries of the last minute, or of the last window if that is
// longer.
type page struct {
	literals bool

	mu      sync.Mutex
	windows []window // by time
}

type window struct {
	*digest.Profile
	start, end time.Time
}

const (
	shown        = time.Minute
	shownWindows = 60 // at most, where they are short
	shownRows    = 20
)

//go:embed page.tmpl
var pageTemplate string

var pageTmpl = template.Must(template.New("page").Parse(pageTemplate))

func (g *page) add(p *digest.Profile, start, end time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.windows = append(g.windows, window{p, start, end})
	for len(g.windows) > 1 && (len(g.windows) > shownWindows || g.windows[0].start.Before(end.Add(-shown))) {
		g.windows[0] = window{}
		g.windows = g.windows[1:]
	}
}

// row is what the page shows of a class. The template escapes it.
type row struct {
	Share                                             float64 // percent of the load
	Count, Rate, Total, Avg, P95, Max, Errors, Schema string
	Name, Statement                                   string
}

// ServeHTTP writes the page.
func (g *page) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	g.mu.Lock()
	windows := slices.Clone(g.windows)
	g.mu.Unlock()
	view := struct {
		From, To          string
		Statements, Total string
		Rows              []row
	}{}
	if len(windows) > 0 {
		var profiles []*digest.Profile
		for _, w := range windows {
			profiles = append(profiles, w.Profile)
		}
		p, err := digest.Merge(profiles...)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		from, to := windows[0].start, windows[len(windows)-1].end
		view.From, view.To = from.Format(time.TimeOnly), to.Format("15:04:05 MST")
		view.Statements, view.Total = number(p.Count), seconds(p.TotalTime())
		view.Rows = g.rows(p, to.Sub(from))
	}
	var b bytes.Buffer
	if err := pageTmpl.Execute(&b, view); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	w.Header().Set("Cache-Control", "no-store")
	w.Write(b.Bytes())
}

func (g *page) rows(p *digest.Profile, span time.Duration) (rows []row) {
	all := p.Top(0, digest.ByTotalTime)
	for i, c := range all {
		if i == shownRows {
			break
		}
		rows = append(rows, g.row(p, c, span))
	}
	var count float64
	var total time.Duration
	for _, c := range all[min(shownRows, len(all)):] {
		count += c.Count
		total += c.QueryTime.Sum()
	}
	if c := p.Overflow(); c != nil {
		count += c.Count
		total += c.QueryTime.Sum()
	}
	if count > 0 {
		rows = append(rows, row{
			Share: 100 * total.Seconds() / max(p.TotalSeconds(), 1e-9),
			Count: number(count), Rate: number(count / span.Seconds()), Total: seconds(total),
			Name: "all further classes",
		})
	}
	return rows
}

func (g *page) row(p *digest.Profile, c *digest.Class, span time.Duration) row {
	q := &c.QueryTime
	r := row{
		Share:     100 * p.Share(c),
		Count:     number(c.Count),
		Rate:      number(c.Count / max(span.Seconds(), 1e-9)),
		Total:     seconds(q.Sum()),
		Avg:       seconds(q.Mean()),
		P95:       seconds(q.Quantile(.95)),
		Max:       seconds(q.Max()),
		Name:      c.ID.Short(),
		Statement: c.Fingerprint,
		Schema:    printable(c.Key()[0]),
	}
	if n := c.ErrorCount(); n > 0 {
		r.Errors = number(n)
	}
	if s := c.Sample(); g.literals && s != nil {
		r.Statement = s.Query
	}
	const most = 2000
	if len(r.Statement) > most {
		r.Statement = r.Statement[:most] + " …"
	}
	r.Statement = printable(r.Statement)
	return r
}

// printable returns s without what could make it look like another text.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

func number(v float64) string {
	if v >= 100 || v == float64(int64(v)) {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

func seconds(d time.Duration) string {
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.3g s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.3g ms", d.Seconds()*1e3)
	}
	return fmt.Sprintf("%.3g µs", d.Seconds()*1e6)
}
