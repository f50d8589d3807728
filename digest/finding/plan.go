package finding

import (
	"slices"
	"strings"

	"github.com/quern-dev/quern/digest"
)

// A Plan is what is known of how a server runs the statements of a class.
// Package explain makes it; this one asks no server.
type Plan struct {
	Class digest.ID
	// Looked are the kinds of problems that were looked for, and Problems those
	// that were found.
	Looked   []PlanCheck
	Problems []PlanProblem
	// Missing says why there is no plan, empty if there is one.
	Missing string
}

// A PlanCheck is a kind of problem.
type PlanCheck struct {
	Code   string // stable name, such as "plan/full-scan"
	Title  string
	Why    string // it matters
	Fine   string // what is well where there is no such problem
	Limit  string // from where on it is a finding
	Remedy Remedy
}

// A PlanProblem is a problem of one plan.
type PlanProblem struct {
	Code     string // of the kind that was looked for
	Evidence string // table, access, rows
	Try      string // what to do
}

// Plans are the plans that were looked at.
type Plans struct {
	Classes int      `json:"classes"` // that have one
	Load    float64  `json:"load"`    // their part of the whole load, from 0 to 1
	Missing []NoPlan `json:"missing"` // the classes without one, as they were given
}

// NoPlan is a class that a plan was asked of in vain.
type NoPlan struct {
	Class digest.ID `json:"id"`
	Why   string    `json:"why"`
}

// addPlans adds what plans say of the heavy classes: a check for each kind of
// problem that was looked for in one of them at least.
func (r *Examination) addPlans(e *examiner, plans []Plan) {
	var kinds []PlanCheck
	cases := make(map[string][]Case)
	for _, p := range plans {
		if p.Missing != "" {
			r.Plans.Missing = append(r.Plans.Missing, NoPlan{p.Class, p.Missing})
			continue
		}
		i := slices.IndexFunc(e.heavy, func(s *subject) bool { return s.ID == p.Class })
		if i < 0 {
			continue
		}
		s := e.heavy[i]
		r.Plans.Classes++
		r.Plans.Load += s.load
		for _, k := range p.Looked {
			if !slices.ContainsFunc(kinds, func(o PlanCheck) bool { return o.Code == k.Code }) {
				kinds = append(kinds, k)
			}
			if evidence, try := p.of(k.Code); evidence != "" {
				cases[k.Code] = append(cases[k.Code], Case{Class: s.Class, Evidence: evidence + "; " + s.reads(), Try: try, Gain: s.load})
			}
		}
	}
	for _, k := range kinds {
		f := Finding{Code: k.Code, Title: k.Title, Why: k.Why, Cases: cases[k.Code]}
		f.Actions = []Action{{k.Remedy, sameTry(f.Cases)}}
		r.add(f, Check{Code: k.Code, Title: k.Title, Fine: k.Fine, Limit: k.Limit})
	}
}

// of joins what the plan says of the kind of problem: a statement can have it at
// several tables.
func (p *Plan) of(code string) (evidence, try string) {
	var evidences, tries []string
	for _, problem := range p.Problems {
		if problem.Code != code {
			continue
		}
		evidences = append(evidences, problem.Evidence)
		if !slices.Contains(tries, problem.Try) {
			tries = append(tries, problem.Try)
		}
	}
	return strings.Join(evidences, "; "), strings.Join(tries, " ")
}

// sameTry takes out of the cases what to try, if that is the same in all.
func sameTry(cases []Case) string {
	if len(cases) == 0 || slices.ContainsFunc(cases, func(c Case) bool { return c.Try != cases[0].Try }) {
		return ""
	}
	try := cases[0].Try
	for i := range cases {
		cases[i].Try = ""
	}
	return try
}
