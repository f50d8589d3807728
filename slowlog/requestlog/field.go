package requestlog

import (
	"bytes"
	"strings"
	"time"
)

// A field is a name that the log uses, with what it means. The lines of a log
// mostly have the same fields in the same order, so each field remembers the one
// that followed it: finding the next costs one comparison.
type field struct {
	name   string // of a nested field the whole path, joined with dots
	key    string // as the log writes it: the last part of name
	parent *field
	kids   map[string]*field
	next   *field

	meaning
	seen bool // holds values that were taken for what meaning says
}

// maxFields bounds the names that a Reader remembers; a log whose names are
// data would fill the memory otherwise. Further names are plain attributes.
const maxFields = 4096

// A scheme is what a Reader knows about the fields of its log.
type scheme struct {
	root    field
	fields  []*field
	mapping Mapping
	mapped  [len(targetNames)]bool
	hostIP  bool // LTSV calls the client's address host

	// signs of programs whose units are known
	rails, envoy, iis, jmeter bool
}

func (s *scheme) init(m Mapping) {
	s.mapping = m
	for _, r := range m {
		t, _ := targetOf(r.Target)
		s.mapped[t] = true
	}
}

// find returns the field called key inside parent, given the field before it.
func (s *scheme) find(prev, parent *field, key string) *field {
	if n := prev.next; n != nil && n.parent == parent && n.key == key {
		return n
	}
	f := parent.kids[key]
	if f == nil {
		f = s.add(parent, key)
	}
	prev.next = f
	return f
}

func (s *scheme) add(parent *field, key string) *field {
	name := key
	if parent != &s.root {
		name = parent.name + "." + key
	}
	if len(s.fields) >= maxFields {
		return &field{name: name, key: key, parent: parent, meaning: meaning{target: tAttr}}
	}
	f := &field{name: strings.Clone(name), key: strings.Clone(key), parent: parent}
	f.meaning = s.meaningOf(f.name)
	if parent.kids == nil {
		parent.kids = make(map[string]*field)
	}
	parent.kids[f.key] = f
	s.fields = append(s.fields, f)
	return f
}

// column returns the field of a column; an empty name is its number.
func (s *scheme) column(name string, number int) *field {
	if name == "" {
		name = formatInt(int64(number))
	}
	if f := s.root.kids[name]; f != nil {
		return f
	}
	return s.add(&s.root, name)
}

func (s *scheme) meaningOf(name string) meaning {
	for _, r := range s.mapping {
		if r.Field == name {
			t, component := targetOf(r.Target)
			return meaning{target: t, component: component, unit: r.Unit, rank: 255}
		}
	}
	if s.hostIP && name == "host" {
		return meaning{target: tIP, rank: 1}
	}
	m := recognize(name)
	if s.mapped[m.target] && m.target != tWait && m.target != tCalls {
		return meaning{target: tAttr}
	}
	if m.guess && m.unit == 0 {
		if u := s.signUnit(name); u != 0 {
			m.unit, m.guess = u, false
		}
	}
	return m
}

// signs looks in the first bytes of a log for names that give a program away.
func (s *scheme) signs(head []byte) {
	has := func(names ...string) bool {
		for _, name := range names {
			if !bytes.Contains(head, []byte(name)) {
				return false
			}
		}
		return true
	}
	s.rails = has("controller", "action")
	s.envoy = has("response_flags")
	s.jmeter = has("allThreads", "elapsed")
	s.iis = has("#Software: Microsoft")
}

func (s *scheme) signUnit(name string) time.Duration {
	switch {
	case s.rails, s.envoy && name == "duration", s.jmeter && name == "elapsed", s.iis && name == "time-taken":
		return time.Millisecond
	}
	return 0
}

// recognized lists the fields that were put to use, in the order they appeared.
func (s *scheme) recognized() Mapping {
	var m Mapping
	for _, f := range s.fields {
		if !f.seen || f.target == tAttr || f.target == tMessage {
			continue
		}
		r := Rule{Target: targetNames[f.target], Field: f.name, Guessed: f.guess}
		switch f.target {
		case tWait, tCalls:
			r.Target += "." + f.component
		case tUpstream:
			r.Target = "wait." + f.component
		}
		switch f.target {
		case tWall, tWait, tUpstream, tCPU, tCPUUser, tCPUSystem:
			r.Unit = f.unit
			if r.Unit == 0 {
				r.Unit = time.Second
			}
		case tTime, tEnd:
			r.Unit = f.unit
		}
		m = append(m, r)
	}
	return m
}

// A record is a Request in the making.
type record struct {
	*Request
	clock clock

	won      [len(targetNames)]*field // that gave the target its value
	wall     *field
	wallText string
	timeText [2]string // of Time and of end
	status   string
	bytes    string
	upstream *field
	end      time.Time
	date     string
	action   string
	pages    map[string]string // controller#action, kept once
	pageKey  []byte
}

func (c *record) reset(req *Request, weight float64) {
	req.reset()
	req.Weight = weight
	c.Request = req
	c.won = [len(targetNames)]*field{}
	c.wall, c.upstream, c.wallText = nil, nil, ""
	c.end = time.Time{}
	c.date, c.action = "", ""
}

func (c *record) attr(f *field, value string) {
	c.Attrs = append(c.Attrs, Attr{f.name, value})
}

// bad keeps a value that could not be read.
func (c *record) bad(f *field, value string) {
	c.Flags |= BadValue
	c.attr(f, value)
}

// best says whether f is the field to take its target from: the highest in rank, of
// equal ones the first. The value of the other one, value or current, becomes an
// attribute.
func (c *record) best(f *field, value, current string) bool {
	if w := c.won[f.target]; w != nil {
		if f.rank <= w.rank {
			c.attr(f, value)
			return false
		}
		c.attr(w, current)
	}
	c.won[f.target] = f
	return true
}

// set puts a field's value in its place. An absent value ("", "-") is no value.
func (c *record) set(f *field, value string) {
	if len(value) <= 1 && (value == "" || value == "-") {
		return
	}
	switch f.target {
	case tAttr:
		c.attr(f, value)
		return
	case tMethod:
		if !c.best(f, value, c.Method) {
			return
		}
		c.Method = value
	case tURL:
		if !c.best(f, value, c.URL) {
			return
		}
		c.URL = value
	case tStatus:
		n, ok := parseCount(value)
		if !ok || n > 999 {
			c.bad(f, value)
			return
		}
		if !c.best(f, value, c.status) {
			return
		}
		c.Status, c.status = int(n), value
	case tWall:
		c.setWall(f, value)
		return
	case tTime, tEnd:
		t, ok := c.clock.parse(value, f.unit)
		if !ok {
			c.bad(f, value)
			return
		}
		to, text := &c.Time, &c.timeText[0]
		if f.target == tEnd {
			to, text = &c.end, &c.timeText[1]
		}
		if !c.best(f, value, *text) {
			return
		}
		*to, *text = t, value
	case tUser:
		if !c.best(f, value, c.User) {
			return
		}
		c.User = value
	case tIP:
		if !c.best(f, value, c.IP) {
			return
		}
		c.IP = stripPort(value)
	case tBytes:
		n, ok := parseCount(value)
		if !ok {
			c.bad(f, value)
			return
		}
		if !c.best(f, value, c.bytes) {
			return
		}
		c.Bytes, c.bytes = n, value
	case tID:
		if !c.best(f, value, c.ID) {
			return
		}
		c.ID = value
	case tTrace:
		if id := traceID(value); c.best(f, value, c.TraceID) {
			c.TraceID = id
		} else {
			return
		}
	case tPage:
		if !c.best(f, value, c.Page) {
			return
		}
		c.Page = value
	case tRequest:
		method, url := splitRequest(value)
		if url == "" { // what a scanner sent, or nothing
			c.attr(f, value)
			return
		}
		c.Method, c.URL = method, url
	default:
		c.setRare(f, value)
		return
	}
	f.seen = true
}

func (c *record) setRare(f *field, value string) {
	switch f.target {
	case tQuery:
		if c.URL == "" {
			c.attr(f, value)
			return
		}
		c.URL += "?" + value
	case tDate:
		c.date = value
	case tClock:
		t, ok := c.clock.parse(c.date+" "+value, 0)
		if !ok {
			c.bad(f, value)
			return
		}
		c.Time = t
	case tController:
		c.Page = value
		c.attr(f, value)
	case tAction:
		c.action = value
		c.attr(f, value)
	case tConnection:
		n, ok := parseCount(value)
		if !ok {
			c.bad(f, value)
			return
		}
		c.ConnectionID = uint64(n)
	case tWeight:
		w, n, ok := parseDecimal(value, 1e9)
		if !ok || n != len(value) || w <= 0 {
			c.bad(f, value)
			return
		}
		c.Weight = float64(w) / 1e9
		if c.Weight < 1 { // a sampling rate as a fraction
			c.Weight = 1 / c.Weight
		}
	case tCPU, tCPUUser, tCPUSystem:
		d, ok := c.duration(f, value)
		if !ok {
			return
		}
		if f.target == tCPUSystem {
			c.CPUSystem += d
		} else {
			c.CPUUser += d
		}
	case tUpstream:
		c.upstream = f
		c.setWait(f, value)
		return
	case tWait:
		c.setWait(f, value)
		return
	case tCalls:
		n, ok := parseCount(value)
		if !ok {
			c.bad(f, value)
			return
		}
		c.wait(f.component).Calls = n
	case tMessage:
		if !c.message(f, value) {
			c.attr(f, value)
			return
		}
	}
	f.seen = true
}

func (c *record) setWall(f *field, value string) {
	const mapped = 255 // of several parts, by a Mapping
	if c.wall != nil && f.rank <= c.wall.rank && f.rank != mapped {
		c.attr(f, value)
		return
	}
	d, ok := c.duration(f, value)
	if !ok {
		return
	}
	f.seen = true
	if c.wall != nil && c.wall.rank == mapped {
		c.Wall += d
		return
	}
	if c.wall != nil {
		c.attr(c.wall, c.wallText)
	}
	c.Wall, c.wall, c.wallText = d, f, value
}

// duration reads a duration in the field's unit and flags what is odd about it.
func (c *record) duration(f *field, value string) (time.Duration, bool) {
	unit := f.unit
	if unit == 0 {
		unit = time.Second
		if f.guess {
			unit = f.conclude(value)
		}
	}
	d, ok := parseDuration(value, unit)
	if !ok {
		c.bad(f, value)
		return 0, false
	}
	if d < 0 {
		c.Flags |= NegativeTime
		c.attr(f, value)
		return 0, false
	}
	if d > MaxDuration {
		c.Flags |= AbsurdTime
	}
	return d, true
}

// conclude settles a guessed unit by the first value that is not zero.
func (f *field) conclude(value string) time.Duration {
	if strings.IndexByte(value, '.') >= 0 {
		f.unit = time.Second
		return time.Second
	}
	if n, ok := parseCount(value); ok && n != 0 {
		f.unit = time.Millisecond
	}
	return time.Millisecond
}

// setWait reads the time of a component. nginx writes one time for each server it
// tried, "0.010, 0.200 : 0.1": their sum is the wait, their number the calls.
func (c *record) setWait(f *field, value string) {
	if value[len(value)-1] != '-' && strings.IndexByte(value, ' ') < 0 {
		if d, ok := c.duration(f, value); ok {
			c.wait(f.component).Time += d
			f.seen = true
		}
		return
	}
	var sum time.Duration
	tries := int64(0)
	for rest := value; rest != ""; {
		part := rest
		if i := strings.IndexAny(rest, ",:"); i >= 0 {
			part, rest = rest[:i], rest[i+1:]
		} else {
			rest = ""
		}
		part = strings.TrimSpace(part)
		tries++
		if part == "-" || part == "" {
			continue
		}
		d, ok := c.duration(f, part)
		if !ok {
			return
		}
		sum += d
	}
	w := c.wait(f.component)
	w.Time += sum
	w.Calls += tries
	f.seen = true
}

// message reads a text of the form "GET /path (200) 1.5ms".
func (c *record) message(f *field, value string) bool {
	method, rest, ok := strings.Cut(value, " ")
	if !ok || !isMethod(method) || strings.ToUpper(method) != method {
		return false
	}
	url, rest, ok := strings.Cut(rest, " (")
	if !ok {
		return false
	}
	status, took, ok := strings.Cut(rest, ") ")
	if !ok {
		return false
	}
	n, ok := parseCount(status)
	if !ok {
		return false
	}
	d, ok := parseDuration(took, time.Second)
	if !ok || d < 0 {
		return false
	}
	c.Method, c.URL, c.Status = method, url, int(n)
	c.Wall, c.wall, c.wallText = d, f, took
	return true
}

// finish settles what several fields say together. It reports false for a record
// that is not about a request.
func (c *record) finish() bool {
	if c.wall == nil && c.upstream != nil && len(c.Waits) > 0 {
		// The upstream's time is all that this log measures.
		for i := range c.Waits {
			if c.Waits[i].Component == c.upstream.component {
				c.Wall, c.wall = c.Waits[i].Time, c.upstream
				c.Waits = append(c.Waits[:i], c.Waits[i+1:]...)
				break
			}
		}
	}
	if !c.end.IsZero() {
		if c.wall == nil && !c.Time.IsZero() {
			if d := c.end.Sub(c.Time); d >= 0 {
				c.Wall, c.wall = d, &endField
			} else {
				c.Flags |= NegativeTime
			}
		}
		if c.Time.IsZero() {
			c.Time = c.end
		}
	}
	if c.action != "" && c.Page != "" {
		c.Page = c.joinPage()
	}
	if c.wall == nil {
		c.Flags |= NoWall
	}
	if c.Time.IsZero() {
		c.Flags |= NoTime
	} else if u := c.Time.Unix(); u < 631152000 || u >= 4102444800 { // 1990, 2100
		c.Flags |= AbsurdTime
	}
	return c.wall != nil || c.URL != "" || c.Status != 0 || c.Page != ""
}

var endField = field{name: "end"}

// joinPage returns controller#action, keeping one string of each.
func (c *record) joinPage() string {
	c.pageKey = append(append(append(c.pageKey[:0], c.Page...), '#'), c.action...)
	if p, ok := c.pages[string(c.pageKey)]; ok {
		return p
	}
	p := string(c.pageKey)
	if c.pages == nil {
		c.pages = make(map[string]string)
	}
	if len(c.pages) < maxFields {
		c.pages[p] = p
	}
	return p
}

// splitRequest cuts a request line. The URL may hold blanks: some servers log what
// they were sent.
func splitRequest(line string) (method, url string) {
	method, url, ok := strings.Cut(line, " ")
	if !ok || !isMethod(method) {
		return "", ""
	}
	if i := strings.LastIndex(url, " HTTP/"); i >= 0 {
		url = url[:i]
	}
	return method, url
}

// isMethod says whether s may be a method: letters, with - and _ inside.
func isMethod(s string) bool {
	if s == "" || len(s) > 20 {
		return false
	}
	for i := range len(s) {
		if c := s[i] | 0x20; (c < 'a' || c > 'z') && (i == 0 || s[i] != '-' && s[i] != '_') {
			return false
		}
	}
	return true
}

// traceID takes the trace's id out of a W3C traceparent and of an X-Amzn-Trace-Id.
func traceID(value string) string {
	if len(value) == 55 && value[2] == '-' && value[35] == '-' {
		return value[3:35]
	}
	if id, ok := strings.CutPrefix(value, "Root="); ok {
		id, _, _ = strings.Cut(id, ";")
		return id
	}
	return value
}
