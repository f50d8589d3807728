package digest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/quern-dev/quern/slowlog"
)

// Options say what an Aggregator makes of events. The zero value is for a log of
// which nothing else is known.
type Options struct {
	// Fingerprint says how to read statements.
	Fingerprint FingerprintOptions
	// GroupBy is what statements are grouped by; ByFingerprint if it is empty.
	GroupBy []Group
	// Filter says which events count.
	Filter Filter

	// Histograms are the measures that get a histogram beside QueryTime,
	// LockTime and RowsExamined, which have one always.
	Histograms []Measure

	// Samples is how many events of a class are drawn by lot, to keep their text
	// beside that of the slowest: 2 if it is 0, none if it is negative.
	Samples int
	// Text says what of a sample's text is kept.
	Text TextMode
	// MaxText is the number of bytes to which a sample's text is cut, 8 KiB if
	// it is 0.
	MaxText int

	// MaxClasses is how many classes there are at most, without limit if it is
	// 0. The statements of more go to Profile.Overflow.
	MaxClasses int
}

// settings are the options that must agree for profiles to merge: those on which
// depends what a class is and what it holds.
type settings struct {
	fingerprint string // version of the fingerprints and what shapes them
	groups      string
	hists       []Measure
	samples     int
	text        TextMode
	maxText     int
}

func (o *Options) settings() settings {
	s := settings{
		fingerprint: idVersion + o.Fingerprint.form(),
		hists:       slices.Compact(slices.Sorted(slices.Values(o.Histograms))),
		samples:     o.Samples,
		text:        o.Text,
		maxText:     o.MaxText,
	}
	s.hists = slices.DeleteFunc(s.hists, Measure.inEveryClass)
	var names []string
	for _, g := range o.GroupBy {
		names = append(names, g.String())
	}
	s.groups = strings.Join(names, ",")
	if s.groups == "" {
		s.groups = ByFingerprint.String()
	}
	if s.samples == 0 {
		s.samples = 2
	}
	s.samples = max(s.samples, 0)
	if s.maxText <= 0 {
		s.maxText = 8 << 10
	}
	return s
}

// An Aggregator adds events up to a Profile. The zero value works. It is not for
// concurrent use: give each goroutine its own and merge them.
//
// Its memory grows with the number of classes, not with that of events.
type Aggregator struct {
	Options Options // not to be changed after the first call of a method

	ready      bool
	settings   settings
	plain      bool // grouped by fingerprint alone
	hists      [numMeasures]bool
	rule       rule
	names      names
	printer    printer
	statements map[string]*statement // by fingerprint, where group or filter ask for them
	remember   int                   // how many of them; maxStatements if 0

	facts facts
	key   []byte // of the last event, as far as classify makes it
	known *known // of the statement that key is of, or nil
	text  []byte

	totals     totals
	classes    map[string]*Class
	overflow   *Class
	seats      *seats // where several aggregators share a limit, else nil
	generation uint32 // of the classes that no Profile shares; never 0
}

// statement is what group and filter ask of a fingerprint.
type statement struct {
	verb   string
	tables []string
	// for groups other than by fingerprint alone
	sorted    []string // tables
	tableList string   // sorted, with commas between them
}

// maxStatements bounds Aggregator.statements, observerStatements those of each of
// a Collector's observers, which are as many as there are processors.
const (
	maxStatements      = 1 << 16
	observerStatements = 1 << 12
)

func (a *Aggregator) init() {
	if a.ready {
		return
	}
	a.ready = true
	a.start(a.Options.settings())
	for i := range a.Options.GroupBy {
		a.plain = a.plain && a.Options.GroupBy[i].isFingerprint()
	}
	a.printer.Options = a.Options.Fingerprint
}

func (a *Aggregator) start(s settings) {
	a.settings = s
	a.plain = s.groups == ByFingerprint.String()
	a.hists[QueryTime], a.hists[LockTime], a.hists[RowsExamined] = true, true, true
	for _, m := range s.hists {
		a.hists[m] = true
	}
	a.rule = rule{samples: s.samples, text: s.text, maxText: s.maxText, printer: &a.printer.Fingerprinter, names: &a.names}
	a.classes = make(map[string]*Class)
	a.generation = 1
}

// Add adds an event that passes the filter. It keeps nothing of ev, and
// allocates only for what it has not met before.
func (a *Aggregator) Add(ev *slowlog.Event) {
	a.init()
	if !a.Options.Filter.pass(ev) || !a.classify(ev) {
		a.totals.filtered++
		return
	}
	a.facts.set(ev, &a.hists)
	c := a.remembered()
	if c == nil {
		c = a.class(a.wholeKey(), ev)
		if a.known != nil && c.Kind != Overflow {
			a.known.class = c
		}
	}
	a.addTo(c, &a.facts, Kind(a.key[0]))
}

// remembered returns the class in which classify's last statement was before,
// nil if it is not known or a Profile shares it.
func (a *Aggregator) remembered() *Class {
	if a.known == nil || a.known.class == nil || a.known.class.generation != a.generation {
		return nil
	}
	return a.known.class
}

// add adds the facts of an event to the class of the key.
func (a *Aggregator) add(key []byte, f *facts, ev *slowlog.Event) {
	a.addTo(a.class(key, ev), f, Kind(key[0]))
}

func (a *Aggregator) addTo(c *Class, f *facts, kind Kind) {
	a.totals.add(f, kind)
	c.add(f, &a.rule)
	if a.seats != nil && c.Observed&(c.Observed-1) == 0 {
		a.seats.weigh(c) // now and then, as it grows
	}
}

// classify makes the key of the event's class: its Kind and the values of its
// groups. It reports whether the event passes the filter of statements. Of a
// statement that is known, whose class is mostly found without, wholeKey makes the
// rest of the key.
func (a *Aggregator) classify(ev *slowlog.Event) bool {
	kind := Statements
	switch {
	case ev.Throttled > 0:
		kind = Suppressed
	case ev.Command != "":
		kind = Commands
	}
	a.key, a.known = append(a.key[:0], byte(kind)), nil
	byStatement := a.Options.Filter.ofStatement()
	if a.plain && !byStatement {
		if kind != Statements {
			a.key = a.appendFingerprint(a.key, ev, kind)
		} else if a.known = a.printer.look(ev.Query); a.known == nil {
			a.key = a.printer.Fingerprinter.Append(a.key, ev.Query)
		}
		return true
	}
	a.text = a.appendFingerprint(a.text[:0], ev, kind)
	if byStatement && !a.Options.Filter.passStatement(a.statement(a.text)) {
		return false
	}
	if a.plain {
		a.key = append(a.key, a.text...)
		return true
	}
	for i := range a.Options.GroupBy {
		switch g := &a.Options.GroupBy[i]; {
		case g.ofEvent != nil:
			a.key = appendString(a.key, g.ofEvent(ev))
		case g.ofStatement != nil:
			a.key = appendString(a.key, g.ofStatement(a.statement(a.text)))
		case g.percona:
			a.key = appendString(a.key, a.perconaID(ev, kind))
		default:
			a.key = appendUint(a.key, uint64(len(a.text)))
			a.key = append(a.key, a.text...)
		}
	}
	return true
}

// wholeKey returns the key of the event that classify was given last.
func (a *Aggregator) wholeKey() []byte {
	if a.known != nil {
		a.key = append(a.key[:1], a.known.fingerprint...)
	}
	return a.key
}

// The fingerprints of what is no statement.
const (
	commandPrefix  = "administrator command: "
	suppressedText = "statements suppressed by log_throttle_queries_not_using_indexes"
)

func (a *Aggregator) appendFingerprint(b []byte, ev *slowlog.Event, kind Kind) []byte {
	switch kind {
	case Suppressed:
		return append(b, suppressedText...)
	case Commands:
		return append(append(b, commandPrefix...), ev.Command...)
	}
	return a.printer.Append(b, ev.Query)
}

// perconaID returns the Percona ID of a statement, or of a command's name.
func (a *Aggregator) perconaID(ev *slowlog.Event, kind Kind) string {
	if kind == Commands {
		return a.printer.PerconaID(commandPrefix + ev.Command)
	}
	return a.printer.PerconaID(ev.Query)
}

// perconaStyle returns the style of the fingerprints that perconaID is made of.
func (a *Aggregator) perconaStyle() FingerprintOptions {
	if a.Options.Fingerprint.Style == StylePerconaKeepNumbers {
		return a.Options.Fingerprint
	}
	return FingerprintOptions{Style: StylePercona}
}

// statement returns what a fingerprint tells, from memory if it was asked before.
func (a *Aggregator) statement(fingerprint []byte) *statement {
	if st := a.statements[string(fingerprint)]; st != nil {
		return st
	}
	st := a.read(fingerprint)
	if a.statements == nil || len(a.statements) >= cmp.Or(a.remember, maxStatements) {
		a.statements = make(map[string]*statement)
	}
	a.statements[string(fingerprint)] = st
	return st
}

// read returns what a fingerprint tells. What only the text of a statement tells,
// such as the case of names, need not be the same in all that have it.
func (a *Aggregator) read(fingerprint []byte) *statement {
	st := new(statement)
	if text := string(fingerprint); text != suppressedText {
		st.verb, st.tables = a.printer.analyze(text)
	}
	if !a.plain {
		st.sorted = slices.Compact(slices.Sorted(slices.Values(st.tables)))
		st.tableList = strings.Join(st.sorted, ",")
	}
	return st
}

// class returns the class of the key, ready to be changed. It makes it, of what
// the event tells, if it is not there and there is room for it.
func (a *Aggregator) class(key []byte, ev *slowlog.Event) *Class {
	if c := a.classes[string(key)]; c != nil {
		return a.own(c)
	}
	if a.full() {
		return a.rest()
	}
	if a.seats != nil && !a.seats.take(key) {
		a.seats.overflowed.Add(1)
		return a.rest()
	}
	c := newClass(Kind(key[0]), string(key))
	c.generation = a.generation
	a.classes[c.key] = c
	a.describe(c, ev)
	return c
}

func (a *Aggregator) full() bool {
	return a.Options.MaxClasses > 0 && len(a.classes) >= a.Options.MaxClasses
}

// own returns c, or the copy that takes its place where a Profile shares c.
func (a *Aggregator) own(c *Class) *Class {
	if c.generation != a.generation {
		c = c.clone()
		c.generation = a.generation
		if c.Kind == Overflow {
			a.overflow = c
		} else {
			a.classes[c.key] = c
		}
	}
	return c
}

// rest returns the class of the statements whose class found no room.
func (a *Aggregator) rest() *Class {
	if a.overflow == nil {
		a.overflow = newClass(Overflow, "")
		a.overflow.generation = a.generation
	}
	return a.own(a.overflow)
}

// describe sets what the first event of a class tells of all of them.
func (a *Aggregator) describe(c *Class, ev *slowlog.Event) {
	body := c.key[1:]
	c.ID = a.printer.ID([]byte(body))
	if c.Kind != Statements {
		c.ID = a.printer.ID([]byte(c.key)) // with the kind before it
	}
	byFingerprint := a.plain
	if a.plain {
		c.Fingerprint = body
	} else {
		c.composite = true
		for i, v := range c.Key() {
			if a.Options.GroupBy[i].isFingerprint() {
				c.Fingerprint, byFingerprint = v, true
			}
		}
	}
	a.text = a.appendFingerprint(a.text[:0], ev, c.Kind)
	st := a.read(a.text)
	if byFingerprint {
		c.Verb, c.Tables = a.names.keep(st.verb), a.keepAll(st.tables)
	}
	for i := range a.Options.GroupBy {
		switch g := &a.Options.GroupBy[i]; {
		case g.percona && c.Fingerprint == "" && c.Kind == Statements:
			f := Fingerprinter{Options: a.perconaStyle()}
			c.Fingerprint = string(f.Append(nil, ev.Query))
		case g.name == ByVerb.name && g.ofStatement != nil:
			c.Verb = a.names.keep(st.verb)
		case g.name == ByTables.name && g.ofStatement != nil && !byFingerprint:
			c.Tables = a.keepAll(st.sorted)
		}
	}
}

func (a *Aggregator) keepAll(ss []string) []string {
	if len(ss) == 0 {
		return nil
	}
	kept := make([]string, 0, len(ss))
	for _, s := range ss {
		kept = append(kept, a.names.keep(s))
	}
	return kept
}

// AddSkipped notes that n damaged records of the log were skipped: those of the
// reader's Stats, for Add never sees them.
func (a *Aggregator) AddSkipped(n uint64) { a.totals.skipped += n }

// Profile returns what was added so far. Events that are added later do not
// change it: it shares the aggregator's memory until then.
func (a *Aggregator) Profile() *Profile {
	a.init()
	p := &Profile{settings: a.settings, overflow: a.overflow}
	p.setTotals(&a.totals)
	p.classes = make([]*Class, 0, len(a.classes))
	if a.overflow != nil {
		a.overflow.share()
	}
	for _, c := range a.classes {
		c.share()
		p.classes = append(p.classes, c)
	}
	a.rule.backlogs = 0
	slices.SortFunc(p.classes, compareClasses)
	a.generation++
	return p
}

// Merge adds all that was added to o, which stays as it is. The result is the
// same as if the events had been added to a, as long as neither has an overflow
// and no class more users, hosts, schemas or routines than it tells apart. The
// error is an *OptionsError, and a unchanged, if the options of the two do not
// agree; filters may differ.
func (a *Aggregator) Merge(o *Aggregator) error { return a.MergeProfile(o.Profile()) }

// MergeProfile is Merge with a Profile, such as one of another host.
func (a *Aggregator) MergeProfile(p *Profile) error {
	a.init()
	if err := a.settings.agree(&p.settings); err != nil {
		return err
	}
	a.totals.merge(&p.totals)
	for _, c := range p.classes {
		if have := a.classes[c.key]; have != nil {
			a.own(have).merge(c, &a.rule)
		} else if a.full() {
			a.rest().merge(c, &a.rule)
		} else {
			shared := *c
			shared.generation = 0
			a.classes[c.key] = &shared
		}
	}
	if p.overflow != nil {
		a.rest().merge(p.overflow, &a.rule)
	}
	return nil
}
