package slowlog

import (
	"slices"
	"strings"
	"time"
	"unsafe"
)

// defaultAlwaysLog is the default of slow_query_log_always_write_time.
const defaultAlwaysLog = 10 * time.Second

// fill reads the record at s[start:], whose header and body are found, into
// d.ev. Unless the event is to be reused, its strings share one copy of the
// record.
func (d *decoder) fill(s string, start int, h header) {
	e := d.ev
	b := &d.body
	rec := s[start:min(b.end, b.start+d.maxStatement())]
	if !d.reuse {
		rec = strings.Clone(rec)
	}
	text := rec[b.start-start:]
	if h.flat {
		for part := range strings.SplitSeq(rec[2:b.start-start], " # ") {
			d.headerLine(trimBlanks(part))
		}
	} else {
		d.header(rec, start)
	}

	// The statement.
	if b.end-b.start > d.maxStatement() {
		e.Truncated = true
	} else {
		var closed bool
		if text, closed = trimStatement(text); !closed {
			e.Truncated = true
			text = cutTail(text)
		}
	}
	if name, ok := adminCommand(text); ok {
		e.Command = name
		e.Truncated = false
	} else {
		e.Query = text
		if e.User == "" && e.Account == "" && strings.HasPrefix(text, "throttle:") {
			e.Throttled = throttled(text)
			d.stats.Throttled += int64(e.Throttled)
		}
	}

	// Its schema.
	if b.hasUse {
		use := unquoteName(trimBlanks(b.use))
		if use != d.state.schema {
			d.state.schema = d.schemas.keep(use)
		}
		d.schemaSeen = true
		if !e.Has(FieldSchema) {
			e.Schema = d.state.schema
			e.SetHas(FieldSchema)
		}
	}
	if !e.Has(FieldSchema) {
		e.Schema, e.SchemaInherited = d.state.schema, d.state.schema != ""
	}

	// Its time.
	if e.TimeSource == TimeHeader {
		d.state.time = e.Time
	} else {
		if t, ok := setTimestamp(b.set); ok {
			e.Time, e.TimeSource = t.In(d.location()), TimeTimestamp
		} else if !d.state.time.IsZero() {
			e.Time, e.TimeSource = d.state.time, TimeCarried
		}
	}
	if b.set != "" {
		d.state.stamps = true
	}

	d.stats.UnknownKeys += d.unknownKeys
	d.tally(e)
}

// weigh sets the weight from the rate limit in force.
func (d *decoder) weigh(e *Event) {
	rate, always := d.opt.Rate, d.opt.AlwaysLog
	if d.limited {
		if m, ok := e.Metric(KeyLogSlowRateLimit); ok && m.num > 1 {
			rate = float64(m.num)
			if always == 0 {
				always = defaultAlwaysLog
			}
			if m, ok := e.Metric(KeyLogSlowRateType); ok && m.Text == "session" {
				e.SessionSampled = true
			}
		}
	}
	if rate > 1 && !(always > 0 && e.QueryTime >= always) {
		e.Weight = rate
	}
	if rate > 1 {
		d.stats.Sampled = true
	}
}

func (d *decoder) location() *time.Location {
	if d.opt.Location != nil {
		return d.opt.Location
	}
	return time.UTC
}

// adminCommand reads "# administrator command: Ping". A statement may follow
// such a line, which is then a comment of it.
func adminCommand(text string) (name string, ok bool) {
	if len(text) < len(adminPrefix) || text[0] != '#' {
		return "", false
	}
	name, ok = strings.CutPrefix(text, adminPrefix)
	if !ok || strings.Contains(name, "\n") {
		return "", false
	}
	return strings.TrimSpace(name), true
}

// throttled reads "throttle:         58 'index not used' warning(s) suppressed.".
func throttled(text string) uint64 {
	f := strings.TrimLeft(text[len("throttle:"):], " ")
	n, rest, _ := strings.Cut(f, " ")
	if k, ok := parseCount(n); ok && strings.HasPrefix(rest, "'index not used'") {
		return uint64(k)
	}
	return 0
}

// cutTail takes comment lines off a text that has no semicolon of the server
// behind them, but one before them: other programs write plans there.
func cutTail(text string) string {
	t := text
	for {
		i := strings.LastIndexByte(t, '\n')
		if i < 0 || t[i+1:] != "" && t[i+1] != '#' {
			break
		}
		t = strings.TrimRight(t[:i], " \r")
	}
	if q, ok := strings.CutSuffix(t, ";"); ok && len(t) < len(text) {
		return q
	}
	return text
}

// unquoteName takes the backticks off a name.
func unquoteName(s string) string {
	if len(s) >= 2 && s[0] == '`' && s[len(s)-1] == '`' {
		s = s[1 : len(s)-1]
		if strings.Contains(s, "``") {
			s = strings.ReplaceAll(s, "``", "`")
		}
	}
	return s
}

// setTimestamp reads the time out of a SET line's values.
func setTimestamp(set string) (time.Time, bool) {
	i := strings.Index(set, "timestamp=")
	if i < 0 {
		return time.Time{}, false
	}
	whole, frac, _ := strings.Cut(set[i+len("timestamp="):], ".")
	sec, ok := parseCount(whole)
	if !ok || sec > 1<<40 {
		return time.Time{}, false
	}
	var nsec int
	if frac != "" {
		if n, ok := digits(frac); ok && len(frac) <= 9 {
			nsec = n * int(pow10[9-len(frac)])
		}
	}
	return time.Unix(sec, int64(nsec)), true
}

// header reads the lines of d.lines, which are of a window whose byte at is the
// first of rec.
func (d *decoder) header(rec string, at int) {
	step := 0
	for _, l := range d.lines {
		line := rec[l.start-at : l.end-at]
		if line == "" {
			continue
		}
		if line[0] == '#' && isSpecial(line) {
			d.headerLine(line[min(len(line), 2):])
		} else {
			step = d.values(line, step, true)
		}
		if d.reuse {
			d.expect(line)
		}
	}
}

// values reads a line of values, of which the first is expected to be the given
// step of the shape. It returns the step behind the last. If learn, it adds to the
// shape what leads to a value and is not in it.
func (d *decoder) values(line string, step int, learn bool) int {
	// Values are nearly always those of the records before, in the same order:
	// shape knows the bytes that lead to each, so that no name is looked up.
	d.path, d.offPath = d.path[:0], false
	for p := 0; p < len(line); {
		if step >= len(d.shape) || !strings.HasPrefix(line[p:], d.shape[step].lead) {
			step = d.shape.find(line[p:], step)
		}
		if step < len(d.shape) {
			st := &d.shape[step]
			d.path = append(d.path, uint8(step))
			step++
			p += len(st.lead)
			for p < len(line) && line[p] == ' ' { // more of them than the last time
				p++
			}
			p = d.value(line, p, st.key, st.name)
			continue
		}
		from := p
		for p < len(line) && (line[p] == '#' || line[p] == ' ' || line[p] == '\t') {
			p++
		}
		name, at, ok := cutKey(line, p)
		if !ok {
			if p < len(line) {
				d.stats.UnknownLines++
			}
			d.offPath = true
			break
		}
		key := lookupKey(name)
		if key != KeyUnknown && name == keyInfos[key].name {
			name = keyInfos[key].name
		} else {
			name = strings.Clone(name)
		}
		if learn && len(d.shape) < maxShape {
			d.path = append(d.path, uint8(len(d.shape)))
			d.shape = append(d.shape, newShapeStep(strings.Clone(line[from:at]), key, name))
			step = len(d.shape)
		} else {
			d.offPath = true
		}
		p = d.value(line, at, key, name)
	}
	return step
}

// A shape is what leads to each value of a header, in the order in which they
// were first met.
type shape []shapeStep

// find returns the index of the step that the text begins with, len(sh) if there
// is none. It is most often soon behind the one that was expected.
func (sh shape) find(text string, expected int) int {
	for i := expected + 1; i < len(sh); i++ {
		if strings.HasPrefix(text, sh[i].lead) {
			return i
		}
	}
	for i := range min(expected, len(sh)) {
		if strings.HasPrefix(text, sh[i].lead) {
			return i
		}
	}
	return len(sh)
}

type shapeStep struct {
	lead   string // from the end of the value before: "  Lock_time: "
	key    Key
	kind   Kind // of the values
	millis bool
	name   string

	// For scan: the lead's bytes and which of them count. To compare all words,
	// whatever the lead's length, takes a third of what a comparison of strings
	// takes, and has no branch that a processor must guess.
	words, masks [leadWords]uint64
	form         shortForm
}

// leadWords times eight bytes hold nearly every lead.
const leadWords = 4

// A shortForm is how values are that scan knows.
type shortForm uint8

const (
	otherForm    shortForm = iota
	shortCount             // 1234567
	shortSeconds           // 1.234567
	yesOrNo                // Yes
)

func newShapeStep(lead string, key Key, name string) shapeStep {
	info := &keyInfos[key]
	st := shapeStep{lead: lead, key: key, kind: info.kind, millis: info.millis, name: name}
	for i := 0; i < len(lead) && i < leadWords*8; i++ {
		st.words[i/8] |= uint64(lead[i]) << (i % 8 * 8)
		st.masks[i/8] |= 0xff << (i % 8 * 8)
	}
	switch {
	case key == KeyLogSlowRateLimit: // says more than its value
	case st.kind == KindCount, st.kind == KindBytes:
		st.form = shortCount
	case st.kind == KindDuration && !st.millis:
		st.form = shortSeconds
	case st.kind == KindBool:
		st.form = yesOrNo
	}
	return st
}

const maxShape = 128

// isSpecial recognises a header line that is no list of values.
func isSpecial(line string) bool {
	if len(line) < 3 || line[1] != ' ' {
		return line == "#"
	}
	switch line[2] {
	case 'T':
		return strings.HasPrefix(line, timePrefix)
	case 'U':
		return strings.HasPrefix(line, "# User@Host:")
	case 'e':
		return strings.HasPrefix(line, "# explain: ")
	case 'W':
		return line == "# Warnings" || strings.HasPrefix(line, "# Warning ")
	case 'N':
		return strings.HasPrefix(line, "# No InnoDB statistics") || strings.HasPrefix(line, "# Note ")
	case 'E':
		return strings.HasPrefix(line, "# Error ")
	}
	return false
}

// headerLine reads one header line without its "# ".
func (d *decoder) headerLine(line string) {
	e := d.ev
	if line == "" {
		return
	}
	switch rest, _ := strings.CutPrefix(line, "Time: "); {
	case len(rest) < len(line):
		if i := strings.IndexByte(rest, '#'); i >= 0 && strings.HasPrefix(rest[i:], "# User@Host:") {
			d.headerLine(rest[i+2:])
			rest = rest[:i]
		}
		t, ok := d.clock.parse(trim(rest))
		if !ok {
			d.stats.BadTimes++
			return
		}
		e.Time, e.TimeSource = t.In(d.location()), TimeHeader
	case strings.HasPrefix(line, "User@Host:"):
		d.user(line[len("User@Host:"):])
	case strings.HasPrefix(line, "explain: "):
		e.Plan = d.appendLine(e.Plan, line[len("explain: "):])
	case line == "Warnings", strings.HasPrefix(line, "No InnoDB statistics"):
	case isMessage(line):
		e.Warnings = d.appendLine(e.Warnings, line)
	default:
		d.values(line, maxShape, false)
	}
}

// appendLine adds a line to text, which is empty or the end of d.scratch.
func (d *decoder) appendLine(text, line string) string {
	if !d.reuse {
		if text == "" {
			return line
		}
		return text + "\n" + line
	}
	start := len(d.scratch) - len(text)
	if text != "" {
		d.scratch = append(d.scratch, '\n')
	}
	d.scratch = append(d.scratch, line...)
	return unsafe.String(unsafe.SliceData(d.scratch[start:]), len(d.scratch)-start)
}

// user reads "app[app] @ web1 [10.0.0.5]  Id:    42". Names may hold what
// separates them, so the line is read from its end, which clients have no say in.
func (d *decoder) user(s string) {
	e := d.ev
	s = trim(s)
	e.SetHas(FieldUser)
	t := s
	for len(t) > 0 && t[len(t)-1]-'0' < 10 {
		t = t[:len(t)-1]
	}
	if len(t) < len(s) {
		label := trim(t)
		for _, key := range []string{" Id:", " thread_id:"} { // the second is Amazon's
			if names, ok := strings.CutSuffix(label, key); ok {
				d.count(&e.ThreadID, FieldThreadID, key[1:len(key)-1], s[len(t):])
				s = trimBlanks(names)
			}
		}
	}
	names, host := s, ""
	for i := len(s) - 2; i >= 0; i-- {
		if s[i] == '@' && s[i+1] == ' ' {
			names, host = trimBlanks(s[:i]), s[i+2:]
			break
		}
	}
	if i := strings.LastIndexByte(host, '['); i >= 0 {
		e.IP = strings.TrimSuffix(host[i+1:], "]")
		host = host[:i]
	}
	e.Host = trim(host)

	// "name[name]": the account's name and the client's, most often the same.
	if n := len(names) - 1; n >= 0 && names[n] == ']' {
		body := names[:n]
		if n := len(body) / 2; len(body)%2 == 1 && body[n] == '[' && body[:n] == body[n+1:] {
			e.Account, e.User = body[:n], body[:n]
			return
		}
		if i := strings.IndexByte(body, '['); i >= 0 {
			e.Account, e.User = body[:i], body[i+1:]
			if e.User == "" {
				e.User = e.Account
			}
			return
		}
	}
	e.Account, e.User = names, names
}

// trimBlanks takes the blanks off the end.
func trimBlanks(s string) string {
	for len(s) > 0 && s[len(s)-1] == ' ' {
		s = s[:len(s)-1]
	}
	return s
}

// trim takes blanks and carriage returns off both ends; strings.Trim of two
// characters is slow.
func trim(s string) string {
	for len(s) > 0 && s[0] == ' ' {
		s = s[1:]
	}
	for len(s) > 0 && (s[len(s)-1] == ' ' || s[len(s)-1] == '\r') {
		s = s[:len(s)-1]
	}
	return s
}

// cutKey reads "Name:" at s[p:] and the blank behind it.
func cutKey(s string, p int) (name string, next int, ok bool) {
	i := p
	for i < len(s) && (s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z' || s[i] == '_' || i > p && s[i] >= '0' && s[i] <= '9') {
		i++
	}
	if i == p || i >= len(s) || s[i] != ':' {
		return "", 0, false
	}
	name = s[p:i]
	i++
	for i < len(s) && s[i] == ' ' {
		i++
	}
	return name, i, true
}

// value reads the value of key at h[p:] into d.ev and returns where it ends.
func (d *decoder) value(h string, p int, key Key, name string) int {
	info := &keyInfos[key]
	if info.kind == KindText {
		return d.text(h, p, key, name)
	}
	n, end := d.plain(h, p, info.kind, info.millis)
	if end == p {
		end = wordEnd(h, p)
		t, ok := time.Duration(0), false
		if info.kind == KindDuration {
			t, ok = parseSecondsFloat(h[p:end])
		}
		if !ok {
			d.suspect(key, name, h[p:end])
			return end
		}
		if n = int64(t); info.millis {
			n /= 1000
		}
	}
	d.set(key, name, n, h[p:end])
	return end
}

// plain reads the value at h[p:], of a kind other than text, and returns where it
// ends: p if it is none that servers write nearly always.
func (d *decoder) plain(h string, p int, kind Kind, millis bool) (n int64, end int) {
	end = p
	switch kind {
	case KindCount, KindBytes:
		n, end = scanCount(h, p)
	case KindDuration:
		var t time.Duration
		if t, end = scanSeconds(h, p); millis {
			t /= 1000
		}
		n = int64(t)
	case KindBool:
		e := wordEnd(h, p)
		if b, ok := parseBool(h[p:e]); ok {
			return b, e
		}
	case KindTime:
		e := wordEnd(h, p)
		if t, ok := d.clock.parse(h[p:e]); ok {
			return t.UnixNano(), e
		}
	}
	if end < len(h) && h[end] > ' ' {
		return 0, p
	}
	return n, end
}

// text reads the value of key at h[p:], which is a text.
func (d *decoder) text(h string, p int, key Key, name string) (end int) {
	var v string
	switch key {
	case keyFieldSchema, keyFieldDB:
		v, end = schemaValue(h, p)
	case keyFieldStoredRoutine, keyFieldPlan:
		v, end = restOfLine(h, p)
	default:
		v, end = textValue(h, p)
		if key == KeyUnknown {
			d.stats.UnknownKeys++
		}
	}
	d.set(key, name, 0, v)
	return end
}

// set gives the event the value of key.
func (d *decoder) set(key Key, name string, n int64, text string) {
	if key < NumKeys {
		d.addMetric(key, name, n, text)
	} else {
		d.setField(key, n, text)
	}
}

func (d *decoder) setField(key Key, n int64, text string) {
	e := d.ev
	switch key {
	case keyFieldQueryTime:
		e.QueryTime = time.Duration(n)
		e.has |= 1 << FieldQueryTime
	case keyFieldLockTime:
		e.LockTime = time.Duration(n)
		e.has |= 1 << FieldLockTime
	case keyFieldRowsSent:
		e.RowsSent = uint64(n)
		e.has |= 1 << FieldRowsSent
	case keyFieldRowsExamined:
		e.RowsExamined = uint64(n)
		e.has |= 1 << FieldRowsExamined
	case keyFieldRowsAffected:
		e.RowsAffected = uint64(n)
		e.has |= 1 << FieldRowsAffected
	case keyFieldBytesSent:
		e.BytesSent = uint64(n)
		e.has |= 1 << FieldBytesSent
	case keyFieldThreadId, keyFieldId, keyFieldConnID:
		e.ThreadID = uint64(n)
		e.has |= 1 << FieldThreadID
	case keyFieldLastErrno, keyFieldErrno:
		e.Errno = int(n)
		e.has |= 1 << FieldErrno
	case keyFieldKilled:
		e.Killed = int(n)
		e.has |= 1 << FieldKilled
	case keyFieldSchema, keyFieldDB:
		e.Schema = text
		e.has |= 1 << FieldSchema
	case keyFieldStoredRoutine:
		e.StoredRoutine = text
	case keyFieldPlan:
		e.Plan = text
	}
}

func (d *decoder) addMetric(key Key, name string, n int64, text string) {
	ms := d.ev.Metrics
	if len(ms) == cap(ms) {
		ms = slices.Grow(ms, 8)
	}
	ms = ms[:len(ms)+1]
	ms[len(ms)-1].give(key, name, n, text)
	d.ev.Metrics = ms
	if key == KeyLogSlowRateLimit {
		d.limited = true
	}
}

// give makes m, of which nothing stays, a value of the key.
func (m *Metric) give(key Key, name string, n int64, text string) {
	m.Key, m.Suspect, m.num = key, false, n
	setString(&m.Name, name)
	m.Text = text
}

// setString makes *p the string s. It does not store what is there already: while
// the garbage collector marks, to store a pointer takes many times as long as to
// compare it.
func setString(p *string, s string) {
	if unsafe.StringData(*p) != unsafe.StringData(s) || len(*p) != len(s) {
		*p = s
	}
}

// wordEnd returns where the value without blanks at h[p:] ends.
func wordEnd(h string, p int) int {
	for p < len(h) && h[p] > ' ' {
		p++
	}
	return p
}

// given notes that a field has a value or, if not ok, keeps the value as suspect.
func (d *decoder) given(f Field, ok bool, name, text string) {
	if ok {
		d.ev.SetHas(f)
		return
	}
	d.suspect(KeyUnknown, name, text)
}

// suspect keeps a value that no server can mean.
func (d *decoder) suspect(key Key, name, text string) {
	if key >= NumKeys {
		key = KeyUnknown
	}
	d.stats.Suspect++
	d.ev.Metrics = append(d.ev.Metrics, Metric{Key: key, Suspect: true, Name: name, Text: text})
}

func (d *decoder) count(to *uint64, f Field, name, text string) {
	n, ok := parseCount(text)
	if ok {
		*to = uint64(n)
	}
	d.given(f, ok, name, text)
}

// restOfLine reads a value that only the end of the line ends.
func restOfLine(h string, p int) (v string, end int) {
	end, _, _ = cutLine(h, p, true)
	return h[p:end], end
}

// textValue reads a value that may hold blanks: it ends at the line's end or
// before another "Name: ".
func textValue(h string, p int) (v string, end int) {
	if end = wordEnd(h, p); end == len(h) {
		return h[p:], end // it has no blanks
	}
	stop, _, _ := cutLine(h, p, true)
	for i := p; i < stop; i++ {
		if i == p || h[i-1] == ' ' {
			if name, _, ok := cutKey(h[:stop], i); ok && i+len(name)+1 <= stop && (i+len(name)+1 == stop || h[i+len(name)+1] == ' ') && h[i] < 'a' {
				stop = i
				break
			}
		}
	}
	v = trimBlanks(h[p:stop])
	return v, p + len(v)
}

// schemaValue reads the name behind "Schema:". A name may hold anything, also
// blanks and what looks like values: servers write one of two keys behind it,
// whose last is theirs.
func schemaValue(h string, p int) (v string, end int) {
	line := h[p:]
	for i := len(line) - 1; i >= 0; i-- {
		if line[i] != ':' {
			continue
		}
		for _, key := range []string{"Last_errno", "QC_hit"} {
			if k := i - len(key); k >= 0 && line[k:i] == key && (k == 0 || line[k-1] == ' ') {
				for k > 0 && line[k-1] == ' ' {
					k--
				}
				return line[:k], p + k
			}
		}
	}
	return textValue(h, p)
}
