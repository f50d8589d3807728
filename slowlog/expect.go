package slowlog

import (
	"bytes"
	"slices"
	"strings"
	"unsafe"

	"github.com/quern-dev/quern/internal/lexer"
)

// expected is what the headers of a log have looked like, line by line. Nearly
// every line of a header has the names that a line of the header before had, in
// the same order, and often the same values, too:
//
//	# Query_time: 0.000237  Lock_time: 0.000004 Rows_sent: 1  Rows_examined: 1
//	# Filesort: No  Filesort_on_disk: No  Merge_passes: 0
//
// To compare what stands between the values, or all of the line, takes a fraction
// of what it takes to find out what a line is, where it ends and what is in it. A
// line that is not as expected is read like any other, and so are those behind it
// in the header.
type expected struct {
	lines []expectedLine // in the order in which headers have them
	at    int            // in lines, behind the last that the present header has
	text  []byte         // of repeated lines; events refer to it
}

type expectedLine struct {
	kind  lineKind
	width int // of the time of a timeLine

	// Of a line of values: what leads to each value, and the same as numbers of
	// the shape's steps.
	steps   []shapeStep
	path    []uint8
	query   bool  // the first value is Query_time
	schema  bool  // one is the schema, whose end hangs on all of the line
	unknown int64 // values of names that this package does not know

	// The line as some record had it, if that is expected of the next, too.
	text    string
	metrics []Metric
	missed  bool // by the last record
	credit  int8 // falls with each miss, to 0 where the text is not worth a look
}

type lineKind uint8

const (
	valuesLine lineKind = iota
	timeLine
	userLine
)

const (
	maxExpected     = 64
	maxExpectedText = 64 << 10
	maxRepeated     = 200 // bytes of a line
	maxCredit       = 64
)

// forget forgets the lines' texts. No event refers to them any more.
func (x *expected) forget() {
	x.text = x.text[:0]
	for i := range x.lines {
		x.lines[i].text = ""
	}
}

// readExpected reads into d.ev the header lines from s[i:] on that are as
// expected, and returns where the first other one starts.
func (d *decoder) readExpected(s string, i int, h *header) (next int) {
	start := i
	x := &d.expected
	for n := 0; n < len(x.lines) && i < len(s) && s[i] == '#'; n++ {
		l := &x.lines[n]
		switch l.kind {
		case timeLine:
			next = d.expectedTime(l, s, i, h)
		case userLine:
			next = d.expectedUser(s, i, h)
		default:
			next = d.expectedValues(l, s, i, h)
		}
		if next < 0 { // begin anew: the event has values that the line does not have
			*h = header{}
			d.begin(s, start)
			return start
		}
		if next-start > maxHeader {
			break
		}
		if next > 0 {
			i, x.at = next, n+1
		}
	}
	return i
}

// expectedTime reads the line at s[i:] if it is a "# Time" line, and returns where
// the next one starts, or 0. The other functions of this kind do the same: what
// they read of a line that is not as expected, another reading finds again.
func (d *decoder) expectedTime(l *expectedLine, s string, i int, h *header) (next int) {
	p := i + len(timePrefix)
	end := p + l.width
	if next = behindLine(s, end); next == 0 || s[i:p] != timePrefix || h.timed || h.user && h.queryTime {
		return 0
	}
	t, ok := d.clock.parse(s[p:end])
	if !ok {
		return 0
	}
	d.ev.Time, d.ev.TimeSource = t.In(d.location()), TimeHeader
	h.timed = true
	return next
}

// A client is what a "# User@Host" line tells of one, beside the number of its
// connection. Most records of a log are of a few clients.
type client struct{ line, user, account, host, ip string }

// clients are known by their line up to the number, which for a few hundred of
// them takes a third of what it takes in a map. Those that find no place are not
// kept, and their lines read each time.
type clients []client

const (
	clientBits   = 10
	clientPlaces = 4 // where one may be
)

// find returns the client of the line, or the place to keep it in, whose line is
// empty, or nil if there is none. Lines mostly differ in their first and last bytes.
func (c *clients) find(line string) *client {
	n := len(line)
	if n < 24 || n > maxRepeated {
		return nil
	}
	if *c == nil {
		*c = make(clients, 1<<clientBits)
	}
	h := (lexer.Load8(line)*31+lexer.Load8(line[n-16:]))*31 + lexer.Load8(line[n-24:])
	h = h * 0x9e3779b97f4a7c15 >> (64 - clientBits) // by the golden ratio, as Knuth has it
	for k := range uint64(clientPlaces) {
		if p := &(*c)[(h+k)%(1<<clientBits)]; p.line == line || p.line == "" {
			return p
		}
	}
	return nil
}

func (d *decoder) expectedUser(s string, i int, h *header) (next int) {
	if h.user || !strings.HasPrefix(s[i:], userPrefix) {
		return 0
	}
	i += len(userPrefix)
	end, next, ok := cutLine(s, i, false)
	if !ok {
		return 0
	}
	id := end // of the connection's number
	for id > i && s[id-1]-'0' < 10 {
		id--
	}
	e := d.ev
	var c *client
	if id < end && end-id < 19 {
		c = d.clients.find(s[i:id])
	}
	if c != nil && c.line != "" {
		e.User, e.Account, e.Host, e.IP = c.user, c.account, c.host, c.ip
		n, _ := scanCount(s[:end], id)
		e.ThreadID = uint64(n)
		e.SetHas(FieldUser, FieldThreadID)
		h.user = true
		return next
	}
	line := s[i:end]
	if strings.IndexByte(line, '@') < 0 {
		return 0
	}
	if c != nil {
		line = strings.Clone(line)
	}
	suspect, metrics := d.stats.Suspect, len(e.Metrics)
	if d.user(line); d.stats.Suspect > suspect {
		d.stats.Suspect, e.Metrics = suspect, e.Metrics[:metrics]
		return 0
	}
	if c != nil && e.Has(FieldThreadID) {
		*c = client{line[:id-i], e.User, e.Account, e.Host, e.IP}
	}
	h.user = true
	return next
}

// expectedValues is expectedTime for a line of values. It returns -1 where it has
// given the event a schema that the line does not have.
func (d *decoder) expectedValues(l *expectedLine, s string, i int, h *header) (next int) {
	e := d.ev
	if end := i + len(l.text); end > i && end <= len(s) && s[i:end] == l.text {
		if next := behindLine(s, end); next > 0 {
			l.missed, l.credit = false, min(l.credit+1, maxCredit)
			from := len(e.Metrics)
			e.Metrics = slices.Grow(e.Metrics, len(l.metrics))[:from+len(l.metrics)]
			for n := range l.metrics {
				m, k := &e.Metrics[from+n], &l.metrics[n] // mostly equal
				m.Key, m.Suspect, m.num = k.Key, false, k.num
				setString(&m.Name, k.Name)
				setString(&m.Text, k.Text)
			}
			d.unknownKeys += l.unknown
			return next
		}
	}
	if l.query && h.queryTime {
		return 0
	}
	from := len(e.Metrics)
	end := d.readSteps(l.steps, s, i)
	if next = behindLine(s, end); end == 0 || next == 0 {
		e.Metrics = e.Metrics[:from]
		if l.schema && e.Has(FieldSchema) {
			return -1
		}
		return 0
	}
	if l.query {
		h.queryTime, h.query = true, i
	}
	d.unknownKeys += l.unknown
	if l.credit > 0 {
		if l.text == "" || l.missed {
			d.repeat(l, s[i:end], from)
		}
		l.missed = true
		l.credit--
	}
	return next
}

// readSteps reads the values that the steps lead to from s[p:] and returns where
// the last one ends, 0 if s has not exactly the steps or a value is not plain. Then
// the event has the values of fields up to there, and no metrics.
func (d *decoder) readSteps(steps []shapeStep, s string, p int) (end int) {
	e := d.ev
	from := len(e.Metrics)
	e.Metrics = slices.Grow(e.Metrics, len(steps))
	metrics := e.Metrics[from : from+len(steps)]
	at := 0
	rest := s[p:]
	for i := range steps {
		st := &steps[i]
		n, text, behind := st.scan(rest)
		if text == "" {
			if n, text, behind = d.stepValue(st, rest); text == "" {
				return 0
			}
		}
		rest = behind
		if st.key < NumKeys {
			metrics[at].give(st.key, st.name, n, text)
			at++
		} else {
			d.setField(st.key, n, text)
		}
	}
	e.Metrics = e.Metrics[:from+at]
	return len(s) - len(rest)
}

// scan reads the step's lead and a short number behind it at the start of s, as
// most values are. text is empty if it does not know. As it calls nothing, all that
// it works with stays in registers.
func (st *shapeStep) scan(s string) (n int64, text, behind string) {
	lead := len(st.lead)
	if len(s) < leadWords*8+16+1 || lead > leadWords*8 {
		return 0, "", ""
	}
	if (lexer.Load8(s)^st.words[0])&st.masks[0]|
		(lexer.Load8(s[8:])^st.words[1])&st.masks[1]|
		(lexer.Load8(s[16:])^st.words[2])&st.masks[2]|
		(lexer.Load8(s[24:])^st.words[3])&st.masks[3] != 0 {
		return 0, "", ""
	}
	s = s[lead:]
	switch st.form {
	case shortCount:
		if n, k := leadingDigits(lexer.Load8(s)); k < 8 && s[k] <= ' ' {
			return n, s[:k], s[k:]
		}
	case shortSeconds:
		if sec := s[0] - '0'; sec < 10 && s[1] == '.' {
			if us, k := leadingDigits(lexer.Load8(s[2:])); k == 6 && s[8] <= ' ' {
				return int64(sec)*1e9 + us*1000, s[:8], s[8:]
			}
		}
	case yesOrNo:
		if s[:2] == "No" && s[2] <= ' ' {
			return 0, s[:2], s[2:]
		}
		if s[:3] == "Yes" && s[3] <= ' ' {
			return 1, s[:3], s[3:]
		}
	}
	return 0, "", ""
}

// stepValue is scan for all kinds of values.
func (d *decoder) stepValue(st *shapeStep, s string) (n int64, text, behind string) {
	if !strings.HasPrefix(s, st.lead) {
		return 0, "", ""
	}
	from, end := len(st.lead), 0
	if st.kind != KindText {
		n, end = d.plain(s, from, st.kind, st.millis)
	} else if end = wordEnd(s, from); s[end-1] == ':' {
		return 0, "", "" // may be the next name
	}
	d.limited = d.limited || st.key == KeyLogSlowRateLimit
	return n, s[from:end], s[end:]
}

// repeat expects the line, whose metrics are the event's last ones, of the next
// record, too.
func (d *decoder) repeat(l *expectedLine, line string, from int) {
	if len(line) > maxRepeated {
		l.credit = 1
		return
	}
	n := len(d.expected.text)
	d.expected.text = append(d.expected.text, line...)
	l.text = unsafe.String(unsafe.SliceData(d.expected.text[n:]), len(line))
	d.ev.Metrics = d.ev.Metrics[:from]
	d.readSteps(l.steps, l.text, 0) // the same, with the texts where they stay
	l.metrics = append(l.metrics[:0], d.ev.Metrics[from:]...)
}

// behindLine returns where the line behind the line end at s[i:] starts, or 0 if
// there is no line end.
func behindLine(s string, i int) int {
	switch {
	case i < len(s) && s[i] == '\n':
		return i + 1
	case i+1 < len(s) && s[i] == '\r' && s[i+1] == '\n':
		return i + 2
	}
	return 0
}

// expect adds a line, which was just read into d.ev, to what is expected behind
// the header's lines before it.
func (d *decoder) expect(line string) {
	x := &d.expected
	var l expectedLine
	switch {
	case line[0] != '#':
		return
	case !isSpecial(line):
		if d.offPath || !d.predictable() {
			return
		}
		l.path = d.path
	case strings.HasPrefix(line, userPrefix):
		l.kind = userLine
	case strings.HasPrefix(line, timePrefix) && len(line) < maxTimeLine:
		l.kind, l.width = timeLine, len(line)-len(timePrefix)
	default:
		return
	}
	for n := x.at; n < len(x.lines); n++ {
		if m := &x.lines[n]; m.kind == l.kind && bytes.Equal(m.path, l.path) {
			m.width = l.width
			x.at = n + 1
			return
		}
	}
	if len(x.lines) == maxExpected {
		return
	}
	if l.kind == valuesLine {
		l.path = bytes.Clone(l.path)
		l.query = strings.HasPrefix(line, "# Query_time:")
		l.credit = 8
		for _, n := range l.path {
			st := d.shape[n]
			l.steps = append(l.steps, st)
			if st.key == KeyUnknown {
				l.unknown++
			}
			l.schema = l.schema || st.key == keyFieldSchema
			if st.key >= NumKeys || st.key == KeyLogSlowRateLimit {
				l.credit = 0 // its metrics are not all of it
			}
		}
	}
	x.lines = slices.Insert(x.lines, x.at, l)
	x.at++
}

// predictable reports whether the path that the last line took can be followed by
// readSteps: one that does not hang on what stands behind a value.
func (d *decoder) predictable() bool {
	schema := false
	for i, n := range d.path {
		st := &d.shape[n]
		switch {
		case st.key == keyFieldStoredRoutine, st.key == keyFieldPlan: // to the end of the line
			return false
		case st.key == keyFieldSchema, strings.Contains(st.lead, "Schema: "):
			// See schemaValue and brokenSchema.
			if st.key != keyFieldSchema || i+1 == len(d.path) || !hasSchemaEnd(d.shape[d.path[i+1]].lead) {
				return false
			}
			schema = true
		case st.key == keyFieldDB && i+1 < len(d.path):
			return false
		case schema && st.kind == KindText:
			return false
		}
	}
	return len(d.path) > 0 && len(d.path) <= maxShape
}

// names gives out one copy of each of the schemas that "use" lines name over and
// over.
type names map[string]string

const maxNamesKept = 1 << 10

func (n *names) keep(s string) string {
	if k, ok := (*n)[s]; ok {
		return k
	}
	if *n == nil || len(*n) >= maxNamesKept {
		*n = make(names)
	}
	k := strings.Clone(s)
	(*n)[k] = k
	return k
}
