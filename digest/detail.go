package digest

import (
	"cmp"
	"slices"

	"github.com/quern-dev/quern/internal/fixed"
)

// detail is what a class keeps beside its public fields.
type detail struct {
	measures       []measureSummary // in the order in which events have them
	users, hosts   counter
	schemas        counter
	routines       counter
	errors         errorCounter
	suspects       uint64
	suppressed     uint64
	sessionSampled bool
	timeline       timeline
	samples        samples
}

type measureSummary struct {
	measure Measure
	hist    bool
	h       Histogram // its Summary alone unless hist
}

// addFacts adds all of an event but the sample.
func (d *detail) addFacts(f *facts, names *names) {
	d.addMeasures(f)
	d.addValues(f, names)
}

// addMeasures adds what a backlog also keeps.
func (d *detail) addMeasures(f *facts) {
	next := 0 // events of a class have the same measures in the same order
	values := f.measures()
	for i := range values {
		v := &values[i]
		if next >= len(d.measures) || d.measures[next].measure != v.measure {
			next = d.find(v.measure, v.hist)
		}
		if m := &d.measures[next]; m.hist {
			m.h.add(v.v, f.weight)
		} else {
			m.h.Summary.add(v.v, f.weight)
		}
		next++
	}
	d.timeline.add(f.time, f.queryTime, f.weight, classIntervals)
}

// addValues adds what is neither a measure nor the sample.
func (d *detail) addValues(f *facts, names *names) {
	d.users.add(f.user, f.weight, names)
	d.hosts.add(f.host, f.weight, names)
	d.schemas.add(f.schema, f.weight, names)
	d.routines.add(f.routine, f.weight, names)
	if f.errno != 0 {
		d.errors.add(errorEntry{number: f.errno, n: 1, weight: f.weight})
	}
	d.suspects += f.suspects
	d.suppressed += f.suppressed
	d.sessionSampled = d.sessionSampled || f.sessionSampled
}

// find returns the index of the measure's summary, made if it was not there.
func (d *detail) find(m Measure, hist bool) int {
	for i := range d.measures {
		if d.measures[i].measure == m {
			return i
		}
	}
	d.measures = append(d.measures, measureSummary{measure: m, hist: hist})
	return len(d.measures) - 1
}

func (d *detail) merge(o *detail, r *rule) {
	for i := range o.measures {
		om := &o.measures[i]
		m := &d.measures[d.find(om.measure, om.hist)]
		if om.hist {
			m.h.Merge(&om.h)
		} else {
			m.h.Summary.merge(&om.h.Summary)
		}
	}
	d.users.merge(&o.users)
	d.hosts.merge(&o.hosts)
	d.schemas.merge(&o.schemas)
	d.routines.merge(&o.routines)
	d.errors.merge(&o.errors)
	d.suspects = addCounts(d.suspects, o.suspects)
	d.suppressed = addCounts(d.suppressed, o.suppressed)
	d.sessionSampled = d.sessionSampled || o.sessionSampled
	d.timeline.merge(&o.timeline, classIntervals)
	d.samples.merge(&o.samples, r.samples)
}

func (d *detail) clone() *detail {
	n := *d
	n.measures = slices.Clone(d.measures)
	for i := range n.measures {
		n.measures[i].h = n.measures[i].h.clone()
	}
	for _, c := range []*counter{&n.users, &n.hosts, &n.schemas, &n.routines} {
		c.entries = slices.Clone(c.entries)
	}
	n.errors.entries = slices.Clone(d.errors.entries)
	n.timeline.cells = slices.Clone(d.timeline.cells)
	n.samples.lowest = slices.Clone(d.samples.lowest)
	return &n
}

// A Value is one of the values that the statements of a class have, such as a
// user, and how many statements have it.
type Value struct {
	Name  string
	Count float64
}

// maxValues is how many distinct users, hosts, schemas, routines or error numbers
// a class tells apart.
const maxValues = 32

// counter counts the statements by a value.
type counter struct {
	entries []counterEntry
	last    int    // index of the entry last added to
	rest    uint64 // weight of the values that found no room
}

type counterEntry struct {
	name   string
	weight uint64
}

func (c *counter) add(name string, w uint64, names *names) {
	if name == "" {
		return
	}
	if c.last < len(c.entries) {
		if e := &c.entries[c.last]; e.name == name {
			e.weight = addSaturated(e.weight, w)
			return
		}
	}
	for i := range c.entries {
		if e := &c.entries[i]; e.name == name {
			e.weight = addSaturated(e.weight, w)
			c.last = i
			return
		}
	}
	if len(c.entries) == maxValues {
		c.rest = addSaturated(c.rest, w)
		return
	}
	c.last = len(c.entries)
	c.entries = append(c.entries, counterEntry{names.keep(name), w})
}

// merge keeps the heaviest values where there are too many.
func (c *counter) merge(o *counter) {
	c.rest = addSaturated(c.rest, o.rest)
next:
	for _, e := range o.entries {
		for i := range c.entries {
			if c.entries[i].name == e.name {
				c.entries[i].weight = addSaturated(c.entries[i].weight, e.weight)
				continue next
			}
		}
		c.entries = append(c.entries, e)
	}
	if len(c.entries) > maxValues {
		c.sort()
		for _, e := range c.entries[maxValues:] {
			c.rest = addSaturated(c.rest, e.weight)
		}
		c.entries = slices.Clip(c.entries[:maxValues:maxValues])
	}
	c.last = 0
}

func (c *counter) sort() {
	slices.SortFunc(c.entries, func(a, b counterEntry) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.name, b.name))
	})
}

func (c *counter) list() (values []Value, rest float64) {
	sorted := counter{entries: slices.Clone(c.entries)}
	sorted.sort()
	for _, e := range sorted.entries {
		values = append(values, Value{e.name, fixed.Float(e.weight)})
	}
	return values, fixed.Float(c.rest)
}

// An ErrorNumber is a server's error number and how many statements ended with
// it.
type ErrorNumber struct {
	Number   int
	Count    float64
	Observed uint64
}

type errorCounter struct {
	entries []errorEntry
	total   uint64 // weight of all errors
}

type errorEntry struct {
	number int32
	n      uint64
	weight uint64
}

func (c *errorCounter) add(e errorEntry) {
	c.total = addSaturated(c.total, e.weight)
	for i := range c.entries {
		if c.entries[i].number == e.number {
			c.entries[i].n = addCounts(c.entries[i].n, e.n)
			c.entries[i].weight = addSaturated(c.entries[i].weight, e.weight)
			return
		}
	}
	if len(c.entries) < maxValues {
		c.entries = append(c.entries, e)
	}
}

func (c *errorCounter) merge(o *errorCounter) {
	rest := o.total
	for _, e := range o.entries {
		rest -= min(rest, e.weight)
		c.add(e)
	}
	c.total = addSaturated(c.total, rest)
}

func (c *errorCounter) list() (errors []ErrorNumber, rest float64) {
	sorted := slices.Clone(c.entries)
	slices.SortFunc(sorted, func(a, b errorEntry) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.number, b.number))
	})
	left := c.total
	for _, e := range sorted {
		errors = append(errors, ErrorNumber{int(e.number), fixed.Float(e.weight), e.n})
		left -= min(left, e.weight)
	}
	return errors, fixed.Float(left)
}

// names gives out one copy of each of the strings that many classes keep.
type names struct{ known map[string]string }

// maxNames bounds names: beyond it each class has its own copy.
const maxNames = 1 << 14

// keep returns a copy of s. Without names, s itself.
func (n *names) keep(s string) string {
	if n == nil || s == "" {
		return s
	}
	if k, ok := n.known[s]; ok {
		return k
	}
	k := string([]byte(s))
	if len(n.known) < maxNames {
		if n.known == nil {
			n.known = make(map[string]string)
		}
		n.known[k] = k
	}
	return k
}
