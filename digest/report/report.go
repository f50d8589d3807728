// Package report shows profiles, and how requests stand to their goals, to people
// and to programs: as text for a terminal, as JSON, and as one HTML file.
//
// Statements and names come from a log, and whoever could run a statement could
// write into it. What a terminal would obey is shown, not sent.
package report

import (
	"strings"
	"time"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/digest/finding"
	"github.com/quern-dev/quern/slowlog"
)

// A Report is a profile and what a reader of it should know. It changes nothing
// that it refers to.
type Report struct {
	Profile *digest.Profile
	// By is the order in which the classes are ranked. That of a percentile wants
	// WithMinCount, which puts classes of too few events to have one last.
	By digest.Order
	// Limit is how many classes are shown, all of them if it is not above 0.
	Limit int
	// Sources are the logs that the profile was made of.
	Sources []Source
	// Interrupted says that the logs were not read to their end.
	Interrupted bool
	// Diff, if not nil, is shown first: what changed to Profile from an earlier one.
	Diff *digest.Diff
	// Findings, if not nil, are shown behind the ranking.
	Findings *finding.Examination
	// Overall is what else is known of the whole, such as advice on its indexes.
	Overall []Section
	// Sections are what else is known of a class, to be shown with it.
	Sections map[digest.ID][]Section
}

// A Source is a log, and what its reader says of it.
type Source struct {
	Name  string
	Stats slowlog.Stats
}

// A Section is a text under a title, such as the plan of a class's sample.
type Section struct {
	Title, Text string
}

// top returns the classes to show.
func (r *Report) top() []*digest.Class { return r.Profile.Top(r.Limit, r.By) }

// span returns the time that the profile covers.
func (r *Report) span() time.Duration { return r.Profile.To().Sub(r.Profile.From()) }

// stats adds the sources' stats up.
func (r *Report) stats() (s slowlog.Stats) {
	for i := range r.Sources {
		o := &r.Sources[i].Stats
		s.Bytes += o.Bytes
		s.SkippedBytes += o.SkippedBytes
		for reason, n := range o.Damaged {
			s.Damaged[reason] += n
		}
		s.Truncated += o.Truncated
		s.Forged += o.Forged
		s.Suspect += o.Suspect
		s.BadTimes += o.BadTimes
		s.UnknownLines += o.UnknownLines
	}
	return s
}

// name says in few words which class it is: verb and tables where they are known.
func name(c *digest.Class) string {
	var parts []string
	for _, k := range c.Key() {
		if k != c.Fingerprint || k == "" {
			parts = append(parts, orNone(k))
		}
	}
	switch {
	case c.Kind == digest.Overflow:
		parts = append(parts, "statements of further classes")
	case c.Fingerprint == "":
	case c.Kind != digest.Statements:
		parts = append(parts, c.Fingerprint)
	case c.Verb == "":
		parts = append(parts, c.Fingerprint)
	default:
		parts = append(parts, strings.TrimSpace(c.Verb+" "+strings.Join(c.Tables, ", ")))
	}
	return strings.Join(parts, " / ")
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}

// examinedPerSent returns the rows that were read for each row sent, or false
// where the log does not have both or no row was sent.
func examinedPerSent(c *digest.Class) (float64, bool) {
	sent := c.Summary(digest.RowsSent)
	if sent.Sum() == 0 || c.RowsExamined.Observed() == 0 {
		return 0, false
	}
	return c.RowsExamined.Sum() / sent.Sum(), true
}
