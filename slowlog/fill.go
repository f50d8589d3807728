package slowlog

import (
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
	*e = Event{
		Metrics: e.Metrics[:0],
		Offset:  d.base + int64(start),
		Line:    d.line + int64(strings.Count(s[:start], "\n")),
		Weight:  1,
	}
	d.limited = false
	b := &d.body
	rec := s[start:min(b.end, b.start+d.maxStatement())]
	if !d.reuse {
		rec = strings.Clone(rec)
	}
	head, text := rec[:h.end-start], rec[b.start-start:]
	if h.flat {
		for part := range strings.SplitSeq(rec[2:b.start-start], " # ") {
			d.headerLine(strings.TrimRight(part, " "))
		}
	} else {
		d.header(head)
	}

	// The statement.
	if b.end-b.start > d.maxStatement() {
		e.Truncated = true
	} else {
		t := strings.TrimRight(text, "\n\r \t")
		if q, ok := strings.CutSuffix(t, ";"); ok {
			text = q
		} else {
			e.Truncated = true
			text = cutTail(t)
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
	if e.Truncated {
		d.stats.Truncated++
	}

	// Its schema.
	if b.hasUse {
		use := unquoteName(strings.TrimRight(b.use, " "))
		if use != d.state.schema {
			d.state.schema = strings.Clone(use)
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
	if e.TimeSource != TimeHeader {
		if t, ok := setTimestamp(b.set); ok {
			e.Time, e.TimeSource = t.In(d.location()), TimeTimestamp
		} else if !d.state.time.IsZero() {
			e.Time, e.TimeSource = d.state.time, TimeCarried
		}
	}
	if b.set != "" {
		d.state.stamps = true
	}

	d.weigh(e)
	d.stats.Events++
	if d.stats.Events == 1 {
		d.stats.WholeSeconds = true
	}
	if e.QueryTime%time.Second != 0 {
		d.stats.WholeSeconds = false
	}
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

// header reads a record's header lines.
func (d *decoder) header(h string) {
	// Values are nearly always those of the record before, in the same order:
	// shape knows the bytes that lead to each, so that no name is looked up.
	step := 0
	for p := 0; p < len(h); {
		if step < len(d.shape) {
			if st := &d.shape[step]; strings.HasPrefix(h[p:], st.lead) {
				step++
				p = d.value(h, p+len(st.lead), st.key, st.name)
				continue
			}
		}
		from := p
		if h[p] == '\n' {
			p++
		}
		if p == 0 || h[p-1] == '\n' {
			end, next, _ := cutLine(h, p, true)
			line := h[p:end]
			if line == "" || line == "\r" {
				p = next
				continue
			}
			if line[0] == '#' {
				line = strings.TrimLeft(line[1:], " \t")
			}
			if isSpecial(line) {
				d.headerLine(line)
				p = next
				// The values begin on a line of their own: keep its start in their lead.
				continue
			}
		}
		for p < len(h) && (h[p] == '#' || h[p] == ' ' || h[p] == '\t' || h[p] == '\r') {
			p++
		}
		name, at, ok := cutKey(h, p)
		if !ok {
			end, next, _ := cutLine(h, p, true)
			if end > p {
				d.unknownLine(h[p:end])
			}
			p = next
			continue
		}
		key := lookupKey(name)
		if key != KeyUnknown && key < NumKeys && name == keyInfos[key].name {
			name = keyInfos[key].name
		} else {
			name = strings.Clone(name)
		}
		if step < maxShape {
			d.shape = append(d.shape[:step], shapeStep{strings.Clone(h[from:at]), key, name})
			step++
		}
		p = d.value(h, at, key, name)
	}
}

// A shape is what leads to each value of a header, in order.
type shape []shapeStep

type shapeStep struct {
	lead string // from the end of the value before: "  Lock_time: "
	key  Key
	name string
}

const maxShape = 64

// isSpecial recognises, without its "# ", a header line that is no list of values.
func isSpecial(line string) bool {
	if line == "" {
		return true
	}
	switch line[0] {
	case 'T':
		return strings.HasPrefix(line, "Time: ")
	case 'U':
		return strings.HasPrefix(line, "User@Host:")
	case 'e':
		return strings.HasPrefix(line, "explain: ")
	case 'W':
		return line == "Warnings" || strings.HasPrefix(line, "Warning ")
	case 'N':
		return strings.HasPrefix(line, "No InnoDB statistics") || strings.HasPrefix(line, "Note ")
	case 'E':
		return strings.HasPrefix(line, "Error ")
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
		if i := strings.Index(rest, "# User@Host:"); i >= 0 {
			d.headerLine(rest[i+2:])
			rest = rest[:i]
		}
		t, ok := parseTime(strings.TrimSpace(rest), d.location())
		if !ok {
			d.stats.BadTimes++
			return
		}
		e.Time, e.TimeSource = t.In(d.location()), TimeHeader
		d.state.time = e.Time
	case strings.HasPrefix(line, "User@Host:"):
		d.user(line[len("User@Host:"):])
	case strings.HasPrefix(line, "explain: "):
		e.Plan = d.appendLine(e.Plan, line[len("explain: "):])
	case line == "Warnings", strings.HasPrefix(line, "No InnoDB statistics"):
	case strings.HasPrefix(line, "Warning "), strings.HasPrefix(line, "Note "), strings.HasPrefix(line, "Error "):
		e.Warnings = d.appendLine(e.Warnings, line)
	default:
		d.header("# " + line)
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

func (d *decoder) unknownLine(line string) {
	if t := strings.TrimRight(line, " #\r"); t != "" {
		d.stats.UnknownLines++
	}
}

// user reads "app[app] @ web1 [10.0.0.5]  Id:    42". Names may hold what
// separates them, so the line is read from its end, which clients have no say in.
func (d *decoder) user(s string) {
	e := d.ev
	s = strings.Trim(s, " \r")
	e.SetHas(FieldUser)
	for _, key := range []string{"Id:", "thread_id:"} { // the second is Amazon's
		if i := strings.LastIndex(s, key); i > 0 && s[i-1] == ' ' {
			if n, ok := parseCount(strings.TrimSpace(s[i+len(key):])); ok {
				e.ThreadID = uint64(n)
				e.SetHas(FieldThreadID)
				s = strings.TrimRight(s[:i], " ")
			}
		}
	}
	at := strings.LastIndex(s, "@ ")
	if at < 0 {
		at = len(s)
	}
	names, host := strings.TrimRight(s[:at], " "), ""
	if at < len(s) {
		host = s[at+2:]
	}
	if i := strings.LastIndexByte(host, '['); i >= 0 {
		e.IP = strings.TrimSuffix(host[i+1:], "]")
		host = host[:i]
	}
	e.Host = strings.TrimSpace(host)

	// "name[name]": the account's name and the client's, most often the same.
	if body, ok := strings.CutSuffix(names, "]"); ok {
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
	e := d.ev
	// Numbers first: they are what most values are, and end at a blank.
	end := p
	for end < len(h) && h[end] > ' ' {
		end++
	}
	v := h[p:end]
	switch key {
	case keyFieldQueryTime:
		t, ok := parseSeconds(v)
		e.QueryTime = t
		d.given(FieldQueryTime, ok, name, v)
	case keyFieldLockTime:
		t, ok := parseSeconds(v)
		e.LockTime = t
		d.given(FieldLockTime, ok, name, v)
	case keyFieldRowsSent:
		d.count(&e.RowsSent, FieldRowsSent, name, v)
	case keyFieldRowsExamined:
		d.count(&e.RowsExamined, FieldRowsExamined, name, v)
	case keyFieldRowsAffected:
		d.count(&e.RowsAffected, FieldRowsAffected, name, v)
	case keyFieldBytesSent:
		d.count(&e.BytesSent, FieldBytesSent, name, v)
	case keyFieldThreadId, keyFieldId, keyFieldConnID:
		d.count(&e.ThreadID, FieldThreadID, name, v)
	case keyFieldLastErrno, keyFieldErrno:
		n, ok := parseCount(v)
		e.Errno = int(n)
		d.given(FieldErrno, ok, name, v)
	case keyFieldKilled:
		n, ok := parseCount(v)
		e.Killed = int(n)
		d.given(FieldKilled, ok, name, v)
	case keyFieldSchema, keyFieldDB:
		e.Schema, end = schemaValue(h, p)
		e.SetHas(FieldSchema)
	case keyFieldStoredRoutine:
		e.StoredRoutine, end = restOfLine(h, p)
	case keyFieldPlan:
		e.Plan, end = restOfLine(h, p)
	case KeyUnknown:
		v, end = textValue(h, p)
		e.Metrics = append(e.Metrics, Metric{Name: name, Text: v})
		d.stats.UnknownKeys++
	default:
		m := Metric{Key: key, Name: name, Text: v}
		ok := true
		switch info := &keyInfos[key]; info.kind {
		case KindCount, KindBytes:
			m.num, ok = parseCount(v)
		case KindDuration:
			var t time.Duration
			if info.millis {
				t, ok = parseMillis(v)
			} else {
				t, ok = parseSeconds(v)
			}
			m.num = int64(t)
		case KindBool:
			m.num, ok = parseBool(v)
		case KindTime:
			var t time.Time
			if t, ok = parseTime(v, d.location()); ok {
				m.num = t.UnixNano()
			}
		case KindText:
			m.Text, end = textValue(h, p)
		}
		if !ok {
			m.Suspect = true
			d.stats.Suspect++
		}
		if key == KeyLogSlowRateLimit {
			d.limited = true
		}
		e.Metrics = append(e.Metrics, m)
	}
	return end
}

// given notes that a field has a value or, if not ok, keeps the value as suspect.
func (d *decoder) given(f Field, ok bool, name, text string) {
	if ok {
		d.ev.SetHas(f)
		return
	}
	d.stats.Suspect++
	d.ev.Metrics = append(d.ev.Metrics, Metric{Suspect: true, Name: name, Text: text})
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
	stop, _, _ := cutLine(h, p, true)
	for i := p; i < stop; i++ {
		if i == p || h[i-1] == ' ' {
			if name, _, ok := cutKey(h[:stop], i); ok && i+len(name)+1 <= stop && (i+len(name)+1 == stop || h[i+len(name)+1] == ' ') && h[i] < 'a' {
				stop = i
				break
			}
		}
	}
	return strings.TrimRight(h[p:stop], " "), stop - trailing(h[p:stop])
}

// trailing counts the blanks at the end of s.
func trailing(s string) int { return len(s) - len(strings.TrimRight(s, " ")) }

// schemaValue reads the name behind "Schema:". A name may hold anything, also
// blanks and what looks like values: servers write one of two keys behind it,
// whose last is theirs.
func schemaValue(h string, p int) (v string, end int) {
	stop, _, _ := cutLine(h, p, true)
	line := h[p:stop]
	for _, after := range []string{"Last_errno: ", "QC_hit: "} {
		if i := strings.LastIndex(line, after); i == 0 || i > 0 && line[i-1] == ' ' {
			v = strings.TrimRight(line[:i], " ")
			return v, p + len(v)
		}
	}
	return textValue(h, p)
}
