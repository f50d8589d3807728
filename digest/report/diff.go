package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/quern-dev/quern/digest"
)

// leastNewLoad is the part of the whole load that a class must have had, or have
// now, to be shown as gone or new.
const leastNewLoad = .001

// changeRow is what a report says of a change.
type changeRow struct {
	what                  string // in words, the most important first
	worse                 bool
	loadBefore, loadAfter string // statements running at once
	change                string // of the load, signed
	rateBefore, rateAfter string // statements a second
	latency               string // ratio of the mean query times
	name, id              string
	rank                  int // among the classes shown, 0 if it is not
}

// changes returns what changed by more than chance, the largest change of load
// first, and how many classes did not.
func (r *Report) changes(shown []*digest.Class) (rows []changeRow, same int) {
	before, after := loads(r.Diff)
	for i := range r.Diff.Changes {
		c := &r.Diff.Changes[i]
		row := changeRow{name: printable(name(c.Class())), id: c.ID.Short()}
		var what []string
		switch {
		case c.New() && c.LoadAfter >= leastNewLoad*after:
			what = []string{"new"}
			row.worse = true
		case c.Gone() && c.LoadBefore >= leastNewLoad*before:
			what = []string{"gone"}
		case c.New() || c.Gone():
		default:
			if c.Latency != digest.Same {
				what = append(what, map[digest.Verdict]string{digest.More: "slower", digest.Less: "faster"}[c.Latency])
			}
			if c.Load != digest.Same {
				what = append(what, map[digest.Verdict]string{digest.More: "more load", digest.Less: "less load"}[c.Load])
			}
			row.worse = c.Latency == digest.More || c.Load == digest.More && c.Latency == digest.Same
		}
		if what == nil {
			same++
			continue
		}
		row.what = strings.Join(what, ", ")
		row.loadBefore, row.loadAfter = rate(c.LoadBefore), rate(c.LoadAfter)
		row.rateBefore, row.rateAfter = rate(c.RateBefore), rate(c.RateAfter)
		row.change = signed(c.LoadBefore, c.LoadAfter)
		if c.Ratio > 0 {
			row.latency = "×" + digits(c.Ratio)
		}
		for j, s := range shown {
			if s.ID == c.ID {
				row.rank = j + 1
			}
		}
		rows = append(rows, row)
	}
	return rows, same
}

// loads adds up the loads of all classes.
func loads(d *digest.Diff) (before, after float64) {
	for i := range d.Changes {
		before += d.Changes[i].LoadBefore
		after += d.Changes[i].LoadAfter
	}
	return before, after
}

// signed formats the change from one number to another in percent.
func signed(before, after float64) string {
	switch {
	case before == 0 && after == 0:
		return "0%"
	case before == 0:
		return "new"
	case after >= 10*before:
		return "×" + digits(after/before)
	}
	if s := fmt.Sprintf("%+.0f%%", (after-before)/before*100); s != "-0%" && s != "+0%" {
		return s
	}
	return "±0%"
}

// diffNotes says what is compared with what.
func (r *Report) diffNotes() []note {
	d := r.Diff
	before, after := loads(d)
	rates := func(p *digest.Profile) float64 {
		if s := p.To().Sub(p.From()).Seconds(); s > 0 {
			return p.Count / s
		}
		return math.NaN()
	}
	of := func(p *digest.Profile) string {
		return plural(float64(p.Events), "event", "events") + ", " + timeRange(p.From(), p.To())
	}
	notes := []note{
		{Name: "Before", Text: of(d.Before)},
		{Name: "After", Text: of(d.After)},
		{Name: "Load", Text: fmt.Sprintf("%s → %s running at once (%s)", rate(before), rate(after), signed(before, after))},
	}
	if b, a := rates(d.Before), rates(d.After); !math.IsNaN(b) && !math.IsNaN(a) {
		notes = append(notes, note{Name: "Rate", Text: fmt.Sprintf("%s → %s statements/s (%s)", rate(b), rate(a), signed(b, a))})
	} else {
		notes[2].Text = fmt.Sprintf("%s → %s of query time (%s); the logs do not tell in what time", duration(before*1e9), duration(after*1e9), signed(before, after))
	}
	if d.Threshold > 0 {
		notes = append(notes, note{Name: "Threshold", Text: "latencies are compared from " + duration(float64(d.Threshold)) + " on: one of the logs holds none shorter"})
	}
	return notes
}

// sameText says how many classes are not shown for lack of a change.
func sameText(rows []changeRow, same int) string {
	s := plural(float64(same), "class", "classes") + " changed by no more than chance, or by less than a tenth"
	if len(rows) == 0 {
		s += ": nothing changed"
	}
	return s
}

// changes writes what changed.
func (t *text) changes(shown []*digest.Class) {
	t.line(t.in(bold, "What changed"))
	t.line()
	for _, n := range t.report.diffNotes() {
		t.say(plain, n.Name, n.Text)
	}
	t.line()
	rows, same := t.report.changes(shown)
	const whatWidth = 19
	columns := func(s style, what, before, after, change, latency, rateBefore, rateAfter string) string {
		return t.in(s, pad(what, whatWidth)) + right(before, 8) + " → " + pad(after, 8) + right(change, 7) + right(latency, 9) + right(rateBefore, 10) + " → " + pad(rateAfter, 8)
	}
	if len(rows) > 0 {
		t.line(t.in(dim, columns(plain, "", "load", "after", "", "latency", "rate", "after")))
	}
	for _, row := range rows {
		style := accent
		if row.worse {
			style = warn
		}
		line := columns(style, row.what, row.loadBefore, row.loadAfter, row.change, row.latency, row.rateBefore, row.rateAfter)
		if t.width >= oneLine {
			t.line(line, " ", clip(row.name, t.width-77))
			continue
		}
		t.line(line)
		room := t.width - len(row.id) - 4
		t.line("  ", t.in(bold, pad(clip(row.name, room), room+2)), t.in(dim, row.id))
	}
	if len(rows) > 0 {
		t.line(t.in(dim, "load: statements running at once; latency: mean query time, after / before;"))
		t.line(t.in(dim, "rate: statements a second"))
	}
	t.line(sameText(rows, same))
	t.line()
}

// jsonChange is a change as JSON: loads and rates are per second of time, 0 ratios
// not known, verdicts "more", "less" or "same".
type jsonChange struct {
	ID          digest.ID `json:"id"`
	Fingerprint string    `json:"fingerprint"`
	New         bool      `json:"new"`
	Gone        bool      `json:"gone"`
	LoadBefore  float64   `json:"load_before"`
	LoadAfter   float64   `json:"load_after"`
	RateBefore  float64   `json:"rate_before"`
	RateAfter   float64   `json:"rate_after"`
	Load        string    `json:"load"`
	LoadP       float64   `json:"load_p"`
	Ratio       float64   `json:"latency_ratio"`
	MedianRatio float64   `json:"latency_median_ratio"`
	Latency     string    `json:"latency"`
	LatencyP    float64   `json:"latency_p"`
}

// jsonChanges returns all changes, those by chance too.
func jsonChanges(d *digest.Diff) (list []jsonChange) {
	if d == nil {
		return nil
	}
	for i := range d.Changes {
		c := &d.Changes[i]
		list = append(list, jsonChange{c.ID, c.Class().Fingerprint, c.New(), c.Gone(), c.LoadBefore, c.LoadAfter, c.RateBefore, c.RateAfter,
			c.Load.String(), c.LoadP, c.Ratio, c.MedianRatio, c.Latency.String(), c.LatencyP})
	}
	return list
}
