package report

import (
	"fmt"
	"slices"
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

// phrase returns a text of a finding for people. What a server says of a plan can
// quote a statement of any length.
func phrase(s string) string { return printable(short(s, lineBytes)) }

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

// checked says what was looked for and not found, in the log and in plans, and for
// what the log does not hold enough. Limits are those of the plans' checks.
func checked(e *finding.Examination) (fine, plans []string, limits string, missing []string) {
	var of []string
	for _, c := range e.Fine() {
		if c.Fine == "" {
			fine = append(fine, c.Title+" ("+c.Limit+")")
			continue
		}
		plans = append(plans, phrase(c.Fine))
		if l := phrase(c.Limit); !slices.Contains(of, l) {
			of = append(of, l)
		}
	}
	for _, c := range e.Checks {
		if c.Missing != "" {
			missing = append(missing, c.Title+" (the log lacks "+c.Missing+")")
		}
	}
	return fine, plans, strings.Join(of, ", "), missing
}

func (t *text) findings(shown []*digest.Class) {
	e := t.report.Findings
	t.line()
	t.line(t.in(bold, "Findings"))
	for i := range e.Findings {
		f := &e.Findings[i]
		t.line()
		head := clip(fmt.Sprintf("%2d  %s", i+1, phrase(f.Title)), t.width)
		tail := upTo(f.Gain)
		if gap := t.width - columns(head) - columns(tail); gap >= 2 {
			t.line(t.in(bold, head), strings.Repeat(" ", gap), t.in(accent, tail))
		} else {
			t.line(t.in(bold, head))
			t.line("    ", t.in(accent, tail))
		}
		for _, l := range wrap(phrase(f.Why), t.width-4) {
			t.line("    ", l)
		}
		for _, a := range f.Actions {
			t.action(a)
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
			lines := wrap(of+phrase(c.Evidence), t.width-12)
			if c.Try != "" {
				lines = append(lines, wrap(phrase(c.Try), t.width-12)...)
			}
			for _, l := range lines {
				t.line(t.in(dim, label), l)
				label = strings.Repeat(" ", 12)
			}
		}
	}
	if len(e.Findings) == 0 {
		t.line("none")
	}
	fine, plans, limits, missing := checked(e)
	t.line()
	if len(fine) > 0 {
		t.say(plain, "Fine", strings.Join(fine, "; "))
	}
	if p := planned(e); p != "" {
		t.say(plain, "Plans", p)
	}
	if len(plans) > 0 {
		t.say(plain, "Fine there", strings.Join(plans, "; ")+" ("+limits+")")
	}
	if len(missing) > 0 {
		t.say(plain, "Not known", strings.Join(missing, "; "))
	}
}

// remedyWidth is the width of the longest remedy.
const remedyWidth = len("get rid of it")

// action writes a remedy and what it means here.
func (t *text) action(a finding.Action) {
	label := pad(a.Remedy.String(), remedyWidth) + "  "
	for _, l := range wrap(phrase(actionText(a)), t.width-4-len(label)) {
		t.line("    ", t.in(accent, label), l)
		label = strings.Repeat(" ", len(label))
	}
}

// actionText says what to try.
func actionText(a finding.Action) string {
	if a.Try == "" {
		return "As each of them says."
	}
	return a.Try
}

// planned says which plans were looked at, if any were asked for.
func planned(e *finding.Examination) string {
	p := &e.Plans
	if p.Classes == 0 && len(p.Missing) == 0 {
		return ""
	}
	s := "of " + plural(float64(p.Classes), "class", "classes") + ", " + percent(p.Load) + " of the load"
	for i, m := range p.Missing {
		if i == caseLimit {
			return s + fmt.Sprintf("; and %d more without one", len(p.Missing)-i)
		}
		s += "; none of " + m.Class.Short() + ": " + clip(phrase(m.Why), 200)
	}
	return s
}

// What the page shows of findings.
type findingsView struct {
	Findings      []findingView
	Fine, Missing []string
	Plans         string // which ones were looked at
	PlansFine     []string
	PlansLimits   string
}

type findingView struct {
	Title, Why, Gain string

	Actions []note
	Cases   []caseView
	More    int
}

type caseView struct {
	Rank                         int
	Subject, Evidence, Try, Gain string
	Width                        string
}

func (r *Report) findingsView(shown []*digest.Class) *findingsView {
	v := &findingsView{Plans: planned(r.Findings)}
	for _, f := range r.Findings.Findings {
		fv := findingView{Title: phrase(f.Title), Why: phrase(f.Why), Gain: upTo(f.Gain)}
		for _, a := range f.Actions {
			fv.Actions = append(fv.Actions, note{Name: a.Remedy.String(), Text: phrase(actionText(a))})
		}
		for i := range f.Cases {
			if i == caseLimit {
				fv.More = len(f.Cases) - i
				break
			}
			c := &f.Cases[i]
			fv.Cases = append(fv.Cases, caseView{rankOf(c.Class, shown), subject(c), phrase(c.Evidence), phrase(c.Try), percent(c.Gain), width(c.Gain)})
		}
		v.Findings = append(v.Findings, fv)
	}
	v.Fine, v.PlansFine, v.PlansLimits, v.Missing = checked(r.Findings)
	return v
}
