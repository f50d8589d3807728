// Package finding examines a profile as a consultant would: what costs the most,
// why, what to do about it, and how much that can win at most.
//
// A finding has numbers, or it is none. What was looked for and not found is in
// the result too, so that a reader sees the whole examination.
package finding

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/quern-dev/quern/digest"
)

// A Remedy is what to do about a finding. Remedies have an order: the first one
// that is possible is the best, since a query that does not run costs nothing.
type Remedy uint8

const (
	Measure  Remedy = iota // look first: the profile is blind for it
	Remove                 // get rid of the query, or run it less often
	Cache                  // keep its result
	Tune                   // rewrite it, or index for it
	Hardware               // give it more, or another, machine
)

func (r Remedy) String() string {
	return [...]string{"measure it", "get rid of it", "cache it", "tune it", "more hardware"}[r]
}

// MarshalText writes the remedy in words.
func (r Remedy) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// An Action is a remedy as it applies to a finding.
type Action struct {
	Remedy Remedy `json:"remedy"`
	Try    string `json:"try"` // empty where each case says what to try
}

// A Finding is something to mend, with all the classes that show it.
type Finding struct {
	Code    string   `json:"code"` // stable name, such as "full-scan"
	Title   string   `json:"title"`
	Why     string   `json:"why"`     // it matters
	Actions []Action `json:"actions"` // what to do, in the order of the remedies; at least one
	Cases   []Case   `json:"cases"`   // the largest gain first
	// Gain is the part of the whole load that mending all cases can win at most,
	// from 0 to 1. It is 0 where the finding is about what the log cannot show.
	Gain float64 `json:"gain"`
}

// A Case is one place where a finding shows.
type Case struct {
	Class    *digest.Class // nil where it is about the whole profile
	Evidence string        // with its numbers
	Try      string        // what to do in this case, empty where the finding's actions say it
	Gain     float64       // see Finding.Gain
}

// MarshalJSON writes the case with the ID of its class, null where it has none.
func (c Case) MarshalJSON() ([]byte, error) {
	j := struct {
		ID       *digest.ID `json:"id"`
		Evidence string     `json:"evidence"`
		Try      string     `json:"try,omitempty"`
		Gain     float64    `json:"gain"`
	}{nil, c.Evidence, c.Try, c.Gain}
	if c.Class != nil {
		j.ID = &c.Class.ID
	}
	return json.Marshal(j)
}

// A Check is something that was looked for.
type Check struct {
	Code  string `json:"code"`
	Title string `json:"title"`
	Fine  string `json:"fine,omitempty"` // of plans: what is well if nothing was found
	Limit string `json:"limit"`          // from where on it is a finding
	Found int    `json:"found"`          // number of cases
	// Missing says what the log would have to hold for the check to be made, empty
	// if it was made.
	Missing string `json:"missing"`
}

// An Examination is the result of Examine. As JSON it is an object of its fields,
// with gains and loads as parts of one.
type Examination struct {
	Findings []Finding `json:"findings"` // the largest gain first
	Checks   []Check   `json:"checks"`   // all of them, in the order in which they were made
	Plans    Plans     `json:"plans"`    // those that were looked at
}

// Fine returns the checks that were made and found nothing.
func (e *Examination) Fine() []Check {
	return slices.DeleteFunc(slices.Clone(e.Checks), func(c Check) bool { return c.Found > 0 || c.Missing != "" })
}

// Limits are the numbers from which on something is a finding. DefaultLimits has
// those that suit most; a Limits is not useful without values.
type Limits struct {
	// Load is the part of the whole load below which a class is let alone,
	// whatever it does.
	Load float64
	// Dominant is the part of the load from which on one class dominates.
	Dominant float64
	// Frequent is the part of all statements from which on a class is frequent,
	// and Fast the 95th percentile up to which it is fast.
	Frequent float64
	Fast     time.Duration
	// Rare is the number of statements an hour up to which a class is rare, and
	// Slow the median from which on it is slow.
	Rare float64
	Slow time.Duration
	// Spread is the ratio of the 95th percentile to the median from which on the
	// query times of a class scatter, and SpreadEvents how many events it takes
	// to say so.
	Spread       float64
	SpreadEvents uint64
	// ExaminedPerRow is how many rows may be examined for each that is sent or
	// changed, and Examined the mean of the rows examined from which on it
	// matters that a class reads many.
	ExaminedPerRow, Examined float64
	// Flagged is the part of a class's statements that show what they should not:
	// a full scan, a join without index, a temporary table or a sort on disk.
	Flagged float64
	// Waiting is the part of a class's time that it waits for locks.
	Waiting float64
	// Errors is the part of a class's statements that end with an error.
	Errors float64
	// Pings is the part of all statements and commands that pings may be, and
	// Empty the part that statements may be which ask for no data.
	Pings, Empty float64
	// Repeats is how often a statement may run for each one of the same page, if
	// its 95th percentile is up to Entry: it then reads one entry of a list.
	Repeats float64
	Entry   time.Duration
	// Short is the 95th percentile up to which parsing and planning are a good
	// part of a statement's time.
	Short time.Duration
	// Offset is the number of rows that a LIMIT may skip, and Result how many a
	// statement without a LIMIT may send.
	Offset, Result float64
	// Burst is the part of the time within which all of a class's statements run
	// that come at fixed times, and BurstEvents how many events it takes to say so.
	Burst       float64
	BurstEvents uint64
	// OneClient is the part of the load from which on a single user or host
	// stands out, if that is so many times its part of the statements as
	// ClientRatio says.
	OneClient, ClientRatio float64
	// Threshold is the shortest query time of the log from which on it is blind
	// for what is frequent and fast.
	Threshold time.Duration
}

// DefaultLimits returns the usual limits.
func DefaultLimits() Limits {
	return Limits{
		Load:           .005,
		Dominant:       .3,
		Frequent:       .05,
		Fast:           5 * time.Millisecond,
		Rare:           6,
		Slow:           time.Second,
		Spread:         10,
		SpreadEvents:   20,
		ExaminedPerRow: 100,
		Examined:       1000,
		Flagged:        .05,
		Waiting:        .1,
		Errors:         .01,
		Pings:          .02,
		Empty:          .01,
		Repeats:        2,
		Entry:          10 * time.Millisecond,
		Short:          time.Millisecond,
		Offset:         1000,
		Result:         10_000,
		Burst:          .25,
		BurstEvents:    5,
		OneClient:      .1,
		ClientRatio:    5,
		Threshold:      100 * time.Millisecond,
	}
}

// maxClasses bounds the classes that are looked at: the heaviest ones.
const maxClasses = 10_000

// Examine makes all checks on a profile whose classes are statements, as those
// are that are grouped by their fingerprint. What is wrong with plans of classes
// becomes findings too.
func Examine(p *digest.Profile, limits Limits, plans ...Plan) *Examination {
	e := &examiner{profile: p, Limits: limits, total: p.TotalSeconds(), statements: p.Count}
	for _, c := range p.Top(maxClasses, digest.ByTotalTime) {
		if c.Kind == digest.Commands {
			e.commands = append(e.commands, c)
		}
		if c.Kind != digest.Statements || c.Fingerprint == "" {
			continue
		}
		e.all = append(e.all, c)
		load := p.Share(c)
		heavy := load >= limits.Load
		if heavy || e.part(c) >= limits.Empty {
			s := &subject{Class: c, load: load}
			s.read()
			e.noticed = append(e.noticed, s)
			if heavy {
				e.heavy = append(e.heavy, s)
			}
		}
	}
	result := &Examination{}
	for _, check := range checks {
		f := Finding{Code: check.code, Title: check.title, Why: check.why, Actions: check.actions}
		made := Check{Code: check.code, Title: check.title, Limit: check.limit(&limits)}
		if check.needs != nil {
			made.Missing = check.needs(e)
		}
		if made.Missing == "" {
			f.Cases = check.cases(e)
		}
		result.add(f, made)
	}
	result.addPlans(e, plans)
	slices.SortStableFunc(result.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Gain, a.Gain), cmp.Compare(a.Actions[0].Remedy, b.Actions[0].Remedy), strings.Compare(a.Code, b.Code))
	})
	return result
}

// add adds a check, and the finding that it came to if that has cases.
func (r *Examination) add(f Finding, made Check) {
	made.Found = len(f.Cases)
	r.Checks = append(r.Checks, made)
	if len(f.Cases) == 0 {
		return
	}
	slices.SortStableFunc(f.Cases, func(a, b Case) int { return cmp.Compare(b.Gain, a.Gain) })
	for _, c := range f.Cases {
		f.Gain = min(f.Gain+c.Gain, 1)
	}
	r.Findings = append(r.Findings, f)
}

// examiner is what the checks look at.
type examiner struct {
	Limits
	profile    *digest.Profile
	total      float64 // seconds
	statements float64 // and commands
	commands   []*digest.Class
	all        []*digest.Class // of statements, the heaviest first
	heavy      []*subject      // those that are not let alone
	noticed    []*subject      // and those that are frequent, though they cost little
}

// A subject is a class of statements under examination.
type subject struct {
	*digest.Class
	load float64 // part of the whole
	text         // of its fingerprint and its samples, read of heavy ones
}

// each makes a case of each heavy class that test gives evidence for. gain is the
// part of the class's load that can be won.
func (e *examiner) each(test func(s *subject) (evidence string, gain float64)) []Case {
	return casesOf(e.heavy, test)
}

func casesOf(subjects []*subject, test func(s *subject) (evidence string, gain float64)) (cases []Case) {
	for _, s := range subjects {
		if evidence, gain := test(s); evidence != "" {
			cases = append(cases, Case{Class: s.Class, Evidence: evidence, Gain: s.load * min(max(gain, 0), 1)})
		}
	}
	return cases
}

// part returns the part of all statements and commands that a class has.
func (e *examiner) part(c *digest.Class) float64 { return c.Count / max(e.statements, 1) }
