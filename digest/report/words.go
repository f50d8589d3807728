package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/slowlog"
)

// What all forms of a report say, in the same words. It is printable.

// A note is a text under a name.
type note struct {
	Name, Text string
	Warn       bool // it says what is wrong
}

const interruptedText = "the logs were not read to their end; this is of what had been read"

// when says which time the profile covers.
func (r *Report) when() string {
	s := timeRange(r.Profile.From(), r.Profile.To())
	if d := r.span(); d > 0 {
		s += ", " + span(d)
	}
	return s
}

// filtered says how many events the filter kept out, if any.
func (r *Report) filtered() string {
	if r.Profile.Filtered == 0 {
		return ""
	}
	return plural(float64(r.Profile.Filtered), "event", "events") + " that the filter keeps out"
}

func (r *Report) sources() string {
	var names []string
	for _, s := range r.Sources {
		names = append(names, printable(s.Name))
	}
	switch n := len(names); {
	case n == 0:
		return "a profile"
	case n == 1:
		return names[0] + ", " + size(float64(r.Sources[0].Stats.Bytes))
	case n > 6:
		names = append(names[:5], plural(float64(n-5), "more", "more"))
	}
	return plural(float64(len(r.Sources)), "file", "files") + ", " + size(float64(r.stats().Bytes)) + ": " + strings.Join(names, ", ")
}

func (r *Report) events() string {
	p := r.Profile
	s := whole(float64(p.Events)) + " in " + plural(float64(p.Len()), "class", "classes")
	if !p.Sampled() {
		return s + ", not sampled"
	}
	s += fmt.Sprintf("; sampled, they stand for %s ± %s statements", whole(p.Count), whole(1.96*p.CountError()))
	if p.SessionSampled() {
		s += " (the log samples whole sessions: the error is larger)"
	}
	return s
}

func (r *Report) load() string {
	p := r.Profile
	s := duration(p.TotalSeconds()*1e9) + " of query time"
	if d := r.span(); d > 0 {
		s += fmt.Sprintf(", %s queries/s, concurrency %s", rate(p.Count/d.Seconds()), rate(p.TotalSeconds()/d.Seconds()))
	}
	return s
}

func (r *Report) threshold() string {
	p := r.Profile
	switch {
	case p.QueryTime.Observed() == 0:
		return "not known: no statement has a query time"
	case p.WholeSeconds():
		return "the server's clock counts whole seconds: 0 may be anything below 1s"
	case p.Threshold() == 0:
		return "none"
	}
	return "nothing shorter than " + duration(float64(p.Threshold())) + " was logged: percentiles are of logged statements"
}

// ofLogged says of what the percentiles are.
func (r *Report) ofLogged() string {
	if r.Profile.Threshold() > 0 {
		return "query time of logged statements"
	}
	return "query time"
}

// skipped says what could not be read, a sentence each.
func (r *Report) skipped() []string {
	s := r.stats()
	var list []string
	var damage []string
	for reason, n := range s.Damaged {
		if n > 0 {
			damage = append(damage, fmt.Sprintf("%s × %s", whole(float64(n)), slowlog.Reason(reason)))
		}
	}
	if len(damage) > 0 {
		list = append(list, size(float64(s.SkippedBytes))+": "+strings.Join(damage, ", "))
	}
	if len(r.Sources) == 0 && r.Profile.Skipped > 0 {
		list = append(list, plural(float64(r.Profile.Skipped), "damaged record", "damaged records"))
	}
	for _, c := range []struct {
		n                int64
		singular, plural string
	}{
		{s.Truncated, "statement is not whole", "statements are not whole"},
		{s.Suspect, "value that no server can mean is in no sum", "values that no server can mean are in no sum"},
		{s.BadTimes, "# Time line holds no time", "# Time lines hold no time"},
		{s.UnknownLines, "header line is unknown", "header lines are unknown"},
		{s.Forged, "look-alike of a header was taken for a statement's text", "look-alikes of a header were taken for statements' text"},
	} {
		if c.n > 0 {
			list = append(list, plural(float64(c.n), c.singular, c.plural))
		}
	}
	if list == nil {
		return []string{"nothing"}
	}
	return list
}

// orderName says by what classes are ranked.
func orderName(by digest.Order) string {
	if by.String() == digest.ByTotalTime.String() {
		return "total time"
	}
	return strings.ReplaceAll(by.String(), "_", " ")
}

// percentile returns the percentile of the query time that an order ranks by.
func percentile(by digest.Order) (q float64, ok bool) {
	p, ok := strings.CutPrefix(by.String(), "p")
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseFloat(p, 64)
	return v / 100, err == nil
}

// rankingWarnings says what to know of a ranking by latency.
func (r *Report) rankingWarnings(by digest.Order) (warnings []string) {
	q, ok := percentile(by)
	if !ok {
		return nil
	}
	if n := digest.MinCount(q); n > 1 {
		warnings = append(warnings, fmt.Sprintf("Classes of fewer than %d events come last: they have no %s but their slowest.", n, by))
	}
	if t := r.Profile.Threshold(); t > 0 {
		warnings = append(warnings, fmt.Sprintf("Of logged statements: the log has none shorter than %s. If the server leaves such out, a class that is seldom slow looks slow here.", duration(float64(t))))
	}
	return warnings
}

// slowest is the second way to look at a workload that is ranked by total time:
// the classes that keep their callers waiting longest, whatever the sum.
func (r *Report) slowest() (list []*digest.Class) {
	if r.By.String() != digest.ByTotalTime.String() {
		return nil
	}
	for _, c := range r.Profile.Top(slowestLimit, digest.ByQuantile(slowestQuantile).WithMinCount()) {
		if c.Observed >= digest.MinCount(slowestQuantile) {
			list = append(list, c)
		}
	}
	return list
}

const (
	slowestQuantile = .95
	slowestLimit    = 5
)

// rest adds up what is not among the shown classes. Its name is empty where all
// are.
func (r *Report) rest(shown []*digest.Class) (name string, count, seconds float64) {
	p := r.Profile
	classes := p.Len() - len(shown)
	if classes == 0 && p.Overflow() == nil {
		return "", 0, 0
	}
	count, seconds = p.Count, p.TotalSeconds()
	for _, c := range shown {
		count -= c.Count
		seconds -= c.QueryTime.Seconds()
	}
	name = plural(float64(classes), "other class", "other classes")
	if o := p.Overflow(); o != nil {
		name += fmt.Sprintf(", and %s statements whose class found no room", whole(o.Count))
	}
	return name, max(count, 0), max(seconds, 0)
}

// A measureRow is what is known of a measure: total, min, avg, p50, p95, p99,
// max, stddev, as far as the class has it.
type measureRow struct {
	measure digest.Measure
	name    string
	cells   [8]string
}

var measureColumns = [8]string{"total", "min", "avg", "p50", "p95", "p99", "max", "stddev"}

// measureRows returns the measures of a class, the names of those that are
// always 0, and the flags with the part of the statements that have them.
func measureRows(c *digest.Class) (rows []measureRow, zero, flags []string) {
	for _, m := range c.Measures() {
		s, kind, name := c.Summary(m), m.Kind(), strings.ReplaceAll(m.String(), "_", " ")
		switch {
		case kind == slowlog.KindBool:
			if part := s.Mean(); part > 0 {
				flags = append(flags, name+" "+percent(part))
			}
			continue
		case s.Max() == 0 && m != digest.QueryTime:
			zero = append(zero, name)
			continue
		}
		f := func(v float64) string { return quantity(kind, v) }
		row := measureRow{measure: m, name: name, cells: [8]string{0: f(s.Sum()), 1: f(float64(s.Min())), 2: f(s.Mean()), 6: f(float64(s.Max())), 7: f(s.StdDev())}}
		if h := c.Histogram(m); h.Observed() > 0 {
			for i, q := range []float64{.5, .95, .99} {
				row.cells[3+i] = f(float64(h.Quantile(q)))
			}
		}
		rows = append(rows, row)
	}
	return rows, zero, flags
}

// about says how many statements a class has.
func (r *Report) about(c *digest.Class) string {
	s := plural(c.Count, "statement", "statements") + ", " + percent(c.Count/max(r.Profile.Count, 1)) + " of all"
	if float64(c.Observed) != c.Count {
		s += fmt.Sprintf(" (%s logged, ± %s)", whole(float64(c.Observed)), whole(1.96*c.CountError()))
	}
	if d := r.span(); d > 0 {
		s += fmt.Sprintf(", %s/s, concurrency %s", rate(c.Count/d.Seconds()), rate(c.QueryTime.Seconds()/d.Seconds()))
	}
	return s
}

// factsOf says who ran the statements of a class and how they ended.
func (r *Report) factsOf(c *digest.Class) (facts []note) {
	add := func(name, text string, warn bool) {
		if text != "" {
			facts = append(facts, note{name, text, warn})
		}
	}
	if ratio, ok := examinedPerSent(c); ok {
		add("Examined", count(ratio)+" rows for each row sent", false)
	}
	if !c.FirstSeen().IsZero() {
		add("Seen", timeRange(c.FirstSeen(), c.LastSeen()), false)
	}
	add("Users", shares(c.Users()), false)
	add("Hosts", shares(c.Hosts()), false)
	add("Schemas", shares(c.Schemas()), false)
	add("Routines", shares(c.Routines()), false)
	if n := c.ErrorCount(); n > 0 {
		numbers, rest := c.Errors()
		var list []string
		for _, e := range numbers {
			list = append(list, fmt.Sprintf("%d × %s", e.Number, whole(e.Count)))
		}
		if rest > 0 {
			list = append(list, "others × "+whole(rest))
		}
		add("Errors", percent(n/max(c.Count, 1))+" of statements: "+strings.Join(list, ", "), true)
	}
	if n := c.Suspects(); n > 0 {
		add("Suspect", plural(float64(n), "value that no server can mean is", "values that no server can mean are")+" in no sum", false)
	}
	if n := c.SuppressedStatements(); n > 0 {
		add("Suppressed", plural(float64(n), "statement was", "statements were")+" kept out of the log", true)
	}
	add("Percona", strings.Join(c.PerconaIDs(), " "), false)
	return facts
}

// shares lists values with their part of the whole, none if there is only the
// empty one.
func shares(values []digest.Value, rest float64) string {
	const limit = 5
	total := rest
	for _, v := range values {
		total += v.Count
	}
	if total <= 0 || len(values) == 1 && values[0].Name == "" {
		return ""
	}
	var list []string
	for i, v := range values {
		if i < limit {
			list = append(list, printable(orNone(v.Name))+" "+percent(v.Count/total))
		} else {
			rest += v.Count
		}
	}
	if rest > 0 {
		list = append(list, "others "+percent(rest/total))
	}
	return strings.Join(list, ", ")
}

// sampleOf says when and by whom a sample was run.
func sampleOf(s *digest.Sample) string {
	about := []string{duration(float64(s.QueryTime))}
	if !s.Time.IsZero() {
		about = append(about, s.Time.Format(timeLayout))
	}
	if who := strings.Trim(s.User+"@"+s.Host, "@"); who != "" {
		about = append(about, printable(who))
	}
	if s.Schema != "" {
		about = append(about, "schema "+printable(s.Schema))
	}
	if s.ThreadID > 0 {
		about = append(about, "connection "+strconv.FormatUint(s.ThreadID, 10))
	}
	if s.Line > 0 {
		about = append(about, "line "+strconv.FormatInt(s.Line, 10))
	}
	if s.TraceID != "" {
		about = append(about, "trace "+printable(s.TraceID))
	}
	return strings.Join(about, ", ")
}
