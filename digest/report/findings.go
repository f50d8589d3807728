package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/digest/finding"
)

// caseLimit is how many cases of a finding are shown.
const caseLimit = 6

// upTo says what mending can win at most.
func upTo(gain float64) string {
	switch {
	case gain <= 0:
		return "no load of its own"
	case gain < .0005:
		return "less than 0.1% of the load"
	}
	return "up to " + percent(gain) + " of the load"
}

// subject names what a case is about.
func subject(c *finding.Case) string {
	if c.Class == nil {
		return ""
	}
	return printable(name(c.Class))
}

// rankOf returns the place of a class among those shown, or 0.
func rankOf(c *digest.Class, shown []*digest.Class) int {
	for i, s := range shown {
		if s == c {
			return i + 1
		}
	}
	return 0
}

// checked says what was looked for and not found, and for what the log does not
// hold enough.
func checked(e *finding.Examination) (fine, missing []string) {
	for _, c := range e.Fine() {
		fine = append(fine, c.Title+" ("+c.Limit+")")
	}
	for _, c := range e.Checks {
		if c.Missing != "" {
			missing = append(missing, c.Title+" (the log lacks "+c.Missing+")")
		}
	}
	return fine, missing
}

func (t *text) findings(shown []*digest.Class) {
	e := t.report.Findings
	t.line()
	t.line(t.in(bold, "Findings"))
	for i := range e.Findings {
		f := &e.Findings[i]
		t.line()
		head := fmt.Sprintf("%2d  %s", i+1, f.Title)
		tail := f.Remedy.String() + ", " + upTo(f.Gain)
		if gap := t.width - columns(head) - columns(tail); gap >= 2 {
			t.line(t.in(bold, head), strings.Repeat(" ", gap), t.in(accent, tail))
		} else {
			t.line(t.in(bold, head))
			t.line("    ", t.in(accent, tail))
		}
		for _, l := range wrap(f.Why+" "+f.Try, t.width-4) {
			t.line("    ", l)
		}
		for j := range f.Cases {
			if j == caseLimit {
				t.line("    ", t.in(dim, plural(float64(len(f.Cases)-j), "more", "more")))
				break
			}
			c := &f.Cases[j]
			of := ""
			if s := subject(c); s != "" {
				rank := "–"
				if r := rankOf(c.Class, shown); r > 0 {
					rank = strconv.Itoa(r)
				}
				of = clip(rank+" "+s, t.width-14) + ": "
			}
			label := right(percent(c.Gain), 10) + "  "
			for _, l := range wrap(of+printable(c.Evidence), t.width-12) {
				t.line(t.in(dim, label), l)
				label = strings.Repeat(" ", 12)
			}
		}
	}
	if len(e.Findings) == 0 {
		t.line("none")
	}
	fine, missing := checked(e)
	t.line()
	if len(fine) > 0 {
		t.say(plain, "Fine", strings.Join(fine, "; "))
	}
	if len(missing) > 0 {
		t.say(plain, "Not known", strings.Join(missing, "; "))
	}
}

// What the page shows of findings.
type findingsView struct {
	Findings      []findingView
	Fine, Missing []string
}

type findingView struct {
	Title, Why, Try, Remedy, Gain string

	Cases []caseView
	More  int
}

type caseView struct {
	Rank                    int
	Subject, Evidence, Gain string
	Width                   string
}

func (r *Report) findingsView(shown []*digest.Class) *findingsView {
	v := &findingsView{}
	for _, f := range r.Findings.Findings {
		fv := findingView{Title: f.Title, Why: f.Why, Try: f.Try, Remedy: f.Remedy.String(), Gain: upTo(f.Gain)}
		for i := range f.Cases {
			if i == caseLimit {
				fv.More = len(f.Cases) - i
				break
			}
			c := &f.Cases[i]
			fv.Cases = append(fv.Cases, caseView{rankOf(c.Class, shown), subject(c), printable(c.Evidence), percent(c.Gain), width(c.Gain)})
		}
		v.Findings = append(v.Findings, fv)
	}
	v.Fine, v.Missing = checked(r.Findings)
	return v
}

// jsonFinding is a finding as JSON. Gains are parts of the whole load, from 0 to 1.
type jsonFinding struct {
	Code   string     `json:"code"`
	Title  string     `json:"title"`
	Why    string     `json:"why"`
	Try    string     `json:"try"`
	Remedy string     `json:"remedy"`
	Gain   float64    `json:"gain"`
	Cases  []jsonCase `json:"cases"`
}

type jsonCase struct {
	ID       *digest.ID `json:"id"` // null where it is about the whole
	Evidence string     `json:"evidence"`
	Gain     float64    `json:"gain"`
}

type jsonCheck struct {
	Code    string `json:"code"`
	Title   string `json:"title"`
	Limit   string `json:"limit"`
	Found   int    `json:"found"`
	Missing string `json:"missing"` // what the log lacks for the check
}

func jsonFindings(e *finding.Examination) (findings []jsonFinding, checks []jsonCheck) {
	if e == nil {
		return nil, nil
	}
	for _, f := range e.Findings {
		j := jsonFinding{f.Code, f.Title, f.Why, f.Try, f.Remedy.String(), f.Gain, nil}
		for _, c := range f.Cases {
			jc := jsonCase{Evidence: c.Evidence, Gain: c.Gain}
			if c.Class != nil {
				jc.ID = &c.Class.ID
			}
			j.Cases = append(j.Cases, jc)
		}
		findings = append(findings, j)
	}
	for _, c := range e.Checks {
		checks = append(checks, jsonCheck(c))
	}
	return findings, checks
}
