package slowlog

import (
	"strings"
	"time"

	"github.com/quern-dev/quern/internal/lexer"
)

// A decoder finds the records in a window of the input and reads them. It does
// no input of its own: a Reader moves the window, and several decoders may work
// on windows of one input at the same time.
//
// A record is, as servers write it,
//
//	# Time: 2026-11-30T12:00:00.123456Z
//	# User@Host: app[app] @ web1 [10.0.0.5]  Id:    42
//	# Query_time: 0.000237  Lock_time: 0.000004 Rows_sent: 1  Rows_examined: 1
//	use shop;
//	SET timestamp=1796040000;
//	SELECT ...;
//
// where the first line, "use" and "SET" may be missing, other header lines may
// come, and the statement may span lines that look like any of these.
type decoder struct {
	opt   Options
	state state
	stats Stats

	// base and line are the offset and the line number of the window's first
	// byte.
	base, line int64

	onDamage  func(Damage)
	damageEnd int64 // offset behind the last damage, to join pieces of one

	ev      *Event // to fill
	reuse   bool   // the caller uses ev before it moves the window
	shape   shape
	scratch []byte // plans and warnings of reused events
	clock   clock
	schemas names
	lines   []span // of the header, those that readExpected left
	body    body

	expected expected
	clients  clients
	path     []uint8 // steps of the shape that the last line of values took
	offPath  bool    // not all of that line was such a step

	query       int   // where the record's line of Query_time is, or -1
	limited     bool  // the record has a rate limit
	unknownKeys int64 // values that readExpected read of unknown keys
	schemaSeen  bool  // state.schema comes from this decoder's input
}

// Options are the settings that change what a decoder makes of the bytes.
type Options struct {
	// Location is the zone of times that the log writes without one, and of the
	// events' times; nil is UTC.
	Location *time.Location
	// NoBackslashEscapes says that the log's statements were run under that
	// sql_mode, where a backslash is an ordinary character of a literal.
	NoBackslashEscapes bool
	// Rate is the rate limit that was in force where the log does not say it, as
	// MariaDB's does not: each record stands for Rate statements. 0 is 1.
	Rate float64
	// AlwaysLog is the query time from which on the server logged each statement
	// whatever the rate limit, so that its weight is 1. 0 is 10 s, the default of
	// slow_query_log_always_write_time, for records that carry Percona Server's
	// rate limit, and no such time for others; below 0 is no such time.
	AlwaysLog time.Duration
	// MaxStatement bounds the bytes of a record that are kept; what is beyond is
	// skipped and the event marked Truncated. 0 is 64 MiB.
	MaxStatement int
}

// state is what one record hands on to the next.
type state struct {
	time   time.Time  // of the last "# Time" line
	schema string     // of the last "use" line
	stamps bool       // the server writes SET timestamp before each statement
	cut    bool       // the last record was longer than MaxStatement: its rest comes
	rest   lexer.Scan // if cut, over what has come of its statement
	closed bool       // if cut, a semicolon ends the last line of that
	inLine bool       // the rest of a damaged line comes
}

// A verdict says what next made of the start of a window.
type verdict uint8

const (
	needMore verdict = iota // the window ends too early to tell
	haveEvent
	skipped // no event: a banner, blank lines, damage
)

// next reads what stands at the start of window s: an event into d.ev, or
// something to skip. It returns the bytes that this takes. The strings of d.ev
// are parts of s. If final, nothing follows the window.
func (d *decoder) next(s string, final bool) (n int, v verdict) {
	if d.state.cut {
		return d.skipRest(s, final)
	}
	if d.state.inLine {
		return d.skipLine(s, 0, final)
	}
	i := blanks(s)
	d.passBlanks(i)
	if i == len(s) {
		return i, skipped
	}
	switch {
	case s[i] != '#':
		if n, ok, more := bannerAt(s, i, final); more {
			return 0, needMore
		} else if ok {
			d.banner(s[i:n])
			return n, skipped
		}
		if isGluedHeader(s, i) {
			// An agent's time stamp and request id before the first line.
			i += strings.Index(s[i:], timePrefix)
		} else {
			return d.garbage(s, i, final)
		}
	case strings.HasPrefix(s[i:], adminPrefix):
		// The log was cut within a record; the command is whole.
		_, next, ok := cutLine(s, i, final)
		if !ok && len(s)-i < maxHeaderLine {
			return 0, needMore
		}
		if !ok || next-i > maxHeaderLine {
			return d.skipLine(s, i, final)
		}
		d.body = body{start: i, end: next}
		d.begin(s, i)
		d.fill(s, i, header{end: i})
		return next, haveEvent
	}
	start := i
	d.begin(s, start)
	h, more := d.scanHeader(s, start, final)
	switch {
	case more:
		return 0, needMore
	case h.long && h.end == start:
		return d.skipLine(s, start, final)
	case h.long:
		d.damage(NoHeader, s[start:h.end], start, s)
		return h.end, skipped
	}
	d.query = h.query
	end, more := d.body.find(s, h, d, final)
	if more {
		if d.body.start == 0 || end-d.body.start <= d.maxStatement() {
			return 0, needMore
		}
		d.body.end, d.body.cut = end, true
	}
	switch {
	case !h.queryTime:
		d.damage(NoQueryTime, s[start:end], start, s)
		return end, skipped
	case d.body.start == d.body.end:
		d.damage(NoStatement, s[start:end], start, s)
		return end, skipped
	}
	d.fill(s[:end], start, h)
	if d.body.cut {
		d.state.cut, d.state.rest = true, d.body.lex
		d.rest(s[d.body.start:end])
	}
	return end, haveEvent
}

// begin makes d.ev the event of the record at s[start:], of which nothing is read.
func (d *decoder) begin(s string, start int) {
	e := d.ev
	metrics := e.Metrics[:0]
	*e = Event{} // in place; a literal with values would be made elsewhere and copied
	e.Metrics = metrics
	e.Offset = d.base + int64(start)
	e.Line = d.line + int64(strings.Count(s[:start], "\n"))
	e.Weight = 1
	d.lines = d.lines[:0]
	d.limited, d.unknownKeys = false, 0
	d.expected.at = 0
}

// passBlanks notes that the window starts with n blanks: they do not part damage.
func (d *decoder) passBlanks(n int) {
	if d.base == d.damageEnd {
		d.damageEnd += int64(n)
	}
}

func (d *decoder) maxStatement() int {
	if d.opt.MaxStatement > 0 {
		return d.opt.MaxStatement
	}
	return 64 << 20
}

// skipRest skips the rest of a record that was longer than MaxStatement.
func (d *decoder) skipRest(s string, final bool) (n int, v verdict) {
	b := body{lex: d.state.rest}
	d.query = -1
	end, more := 0, len(s) == 0 && !final
	is := false
	if !more && len(s) > 0 {
		is, more = startAt(s, 0, d.state.closed, final)
	}
	if is {
		end, more = b.stop(s, 0, 0, d.state.closed, d, final)
	} else if !more {
		end, more = b.findEnd(s, 0, d, final)
	}
	if more {
		if end == 0 {
			return 0, needMore
		}
		d.rest(s[:end])
		return end, skipped
	}
	d.state.cut = false
	if end == 0 && len(s) > 0 {
		return d.next(s, final)
	}
	return end, skipped
}

// rest notes that text is a part of a statement that goes on.
func (d *decoder) rest(text string) {
	d.state.rest.Feed(bytesOf(text))
	text = strings.TrimRight(text, "\r\n")
	d.state.closed = strings.HasSuffix(text, ";")
}

// blanks returns how many blanks s starts with.
func blanks(s string) (n int) {
	for n < len(s) && isBlank(s[n]) {
		n++
	}
	return n
}

func isBlank(c byte) bool { return c == '\n' || c == '\r' || c == ' ' || c == '\t' }

// garbage skips bytes that belong to no record, up to where one may begin.
func (d *decoder) garbage(s string, i int, final bool) (int, verdict) {
	for p := i; ; {
		_, next, ok := cutLine(s, p, final)
		if !ok {
			if p > i {
				break
			}
			if len(s)-i < maxHeaderLine {
				return 0, needMore
			}
			return d.skipLine(s, i, final)
		}
		p = next
		if p < len(s) && !isBlank(s[p]) {
			if s[p] != '#' {
				if _, ok, _ := bannerAt(s, p, true); !ok && !isGluedHeader(s, p) {
					continue
				}
			}
		}
		d.damage(NoHeader, s[i:p], i, s)
		return p, skipped
	}
	p := strings.LastIndexByte(s, '\n') + 1
	d.damage(NoHeader, s[i:p], i, s)
	return p, skipped
}

// skipLine skips the line at s[i:], or what the window has of it, as damage.
func (d *decoder) skipLine(s string, i int, final bool) (int, verdict) {
	_, next, ok := cutLine(s, i, final)
	d.state.inLine = !ok
	if !ok {
		next = len(s)
	}
	d.damage(NoHeader, s[i:next], i, s)
	return next, skipped
}

// What is longer is no header, or no line of one that has to be seen whole.
const (
	maxHeaderLine = 64 << 10
	maxHeader     = 2 << 20
)

// damage counts and reports text, which stands at s[at:].
func (d *decoder) damage(r Reason, text string, at int, s string) {
	off := d.base + int64(at)
	joined := off == d.damageEnd && r == NoHeader
	d.damageEnd = off + int64(len(text))
	d.stats.SkippedBytes += int64(len(text))
	if joined {
		return
	}
	d.stats.Damaged[r]++
	if d.onDamage != nil {
		d.onDamage(Damage{
			Reason: r,
			Offset: off,
			Line:   d.line + int64(strings.Count(s[:at], "\n")),
			Text:   []byte(text[:min(len(text), 64<<10)]),
		})
	}
}

// advance moves the window's start by n bytes of s.
func (d *decoder) advance(s string, n int) {
	lines := int64(strings.Count(s[:n], "\n"))
	d.base += int64(n)
	d.line += lines
	d.stats.Bytes += int64(n)
	d.stats.Lines += lines
}

// cutLine returns the line that starts at s[i] without its line end, and where
// the next one starts. It is not ok when the line may go on behind s.
func cutLine(s string, i int, final bool) (end, next int, ok bool) {
	if j := strings.IndexByte(s[i:], '\n'); j >= 0 {
		end, next = i+j, i+j+1
	} else if final {
		end, next = len(s), len(s)
	} else {
		return 0, 0, false
	}
	if end > i && s[end-1] == '\r' {
		end--
	}
	return end, next, true
}

// A header is the extent of a record's header lines.
type header struct {
	end       int  // where the first line behind them starts
	queryTime bool // one of them has a Query_time
	query     int  // where that line starts
	timed     bool // one of them is a "# Time" line
	user      bool // one of them is a "# User@Host" line
	flat      bool // the whole record stands on one line
	long      bool // too long for a header: the lines up to end are none
}

const (
	timePrefix  = "# Time: "
	userPrefix  = "# User@Host: "
	queryPrefix = "# Query_time: "
	adminPrefix = "# administrator command:"

	// A "# Time" line as long as this has more than a time.
	maxTimeLine = len(timePrefix) + 40
)

// A span is the extent of a line without its line end.
type span struct {
	start, end int
}

// scanHeader finds the header lines that start at s[i]. It reads those that are as
// expected, and keeps the others in d.lines. A line that could only be the first
// of another header ends them.
func (d *decoder) scanHeader(s string, i int, final bool) (h header, more bool) {
	start := i
	if d.reuse {
		i = d.readExpected(s, i, &h)
	}
	for i < len(s) {
		if c := s[i]; c > ' ' && c != '#' {
			h.end = i // no need to look at the line, which is often a long one
			return h, false
		}
		end, next, ok := cutLine(s, i, final)
		if ok && next-start > maxHeader || !ok && len(s)-start > maxHeader {
			h.long, h.end = true, i
			return h, false
		}
		if !ok {
			return h, true
		}
		line := s[i:end]
		if len(line) < 3 || line[0] != '#' || line[1] != ' ' {
			if line != "" && line[0] != '#' && !isStrayHeaderLine(line) {
				h.end = i
				return h, false
			}
			d.lines = append(d.lines, span{start: i, end: end})
			i = next
			continue
		}
		// One byte tells most lines apart.
		switch line[2] {
		case 'S':
			if end, next, more = brokenSchema(s, i, end, next, final); more {
				return h, true
			}
		case 'T':
			if !strings.HasPrefix(line, timePrefix) {
				if end, next, more = brokenSchema(s, i, end, next, final); more {
					return h, true
				}
				break
			}
			if h.timed || h.user && h.queryTime {
				h.end = i
				return h, false
			}
			h.timed = true
			if len(line) < maxTimeLine {
				break
			}
			if isFlat(line) {
				d.begin(s, start) // fill reads all lines, those that were expected, too
				h.user, h.queryTime, h.query, h.flat = true, true, i, true
				h.end = next
				return h, false
			}
			h.user = h.user || strings.Contains(line, userPrefix)
		case 'U':
			if !strings.HasPrefix(line, "# User@Host:") {
				break
			}
			if h.user {
				h.end = i
				return h, false
			}
			h.user = true
			if strings.IndexByte(line[len("# User@Host:"):], '@') < 0 {
				if end, next, more = brokenUser(s, i, end, next, final); more {
					return h, true
				}
			}
		case 'W', 'N', 'E':
			if isMessage(line[2:]) {
				if end, next, more = brokenMessage(s, i, end, next, final); more {
					return h, true
				}
			}
		case 'Q':
			if !strings.HasPrefix(line, "# Query_time:") {
				break
			}
			if h.queryTime {
				h.end = i
				return h, false
			}
			h.queryTime, h.query = true, i
		case 'a':
			if strings.HasPrefix(line, adminPrefix) {
				h.end = i
				return h, false
			}
		}
		d.lines = append(d.lines, span{start: i, end: end})
		i = next
	}
	if !final {
		return h, true
	}
	h.end = i
	return h, false
}

// isStrayHeaderLine recognises a header line without its "#", as Percona Server
// 8.0 wrote the one of Tmp_tables, and blanks.
func isStrayHeaderLine(line string) bool {
	t := strings.TrimLeft(line, " \t")
	return t == "" || len(t) < len(line) && (strings.HasPrefix(t, "Tmp_tables: ") || strings.HasPrefix(t, "Tmp_disk_tables: "))
}

// isFlat recognises a record that some log shipper wrote on one line, which begins
// with a "# Time".
func isFlat(line string) bool {
	return len(line) >= maxTimeLine && strings.Contains(line, " "+userPrefix) && strings.Contains(line, " "+queryPrefix)
}

// bytesReceived finds MySQL's count of the bytes that the client sent, which is
// the statement and the protocol's five, in the line at s[i:]; 0 if it is not
// there.
func bytesReceived(s string, i int) int {
	end, _, _ := cutLine(s, i, true)
	_, v, ok := strings.Cut(s[i:end], " Bytes_received: ")
	if !ok {
		return 0
	}
	v, _, _ = strings.Cut(v, " ")
	n, _ := parseCount(v)
	return int(min(n, 1<<31))
}

// bannerAt recognises the three lines that a server writes when it opens its
// log, at s[i], whatever the program is called. It returns where they end.
func bannerAt(s string, i int, final bool) (n int, ok, more bool) {
	end, next, whole := cutLine(s, i, final)
	if !whole {
		return 0, false, len(s)-i < maxHeaderLine
	}
	if end-i > maxHeaderLine || !isBannerLine(s[i:end]) {
		return 0, false, false
	}
	for _, is := range []func(string) bool{isPortLine, isColumnLine} {
		end, after, whole := cutLine(s, next, final)
		if !whole && len(s)-next < maxHeaderLine {
			return 0, false, true
		}
		if !whole || end-next > maxHeaderLine || !is(s[next:end]) {
			break
		}
		next = after
	}
	return next, true, false
}

func isBannerLine(line string) bool {
	line = trimBlanks(line)
	return (strings.HasSuffix(line, "started with:") || strings.HasSuffix(line, "embedded library")) && strings.Contains(line, ", Version: ")
}

func isPortLine(line string) bool {
	return strings.HasPrefix(line, "Tcp port:") || strings.HasPrefix(line, "TCP Port:") || strings.HasPrefix(line, "Tcp Port:")
}

func isColumnLine(line string) bool {
	f := strings.Fields(line)
	return len(f) == 4 && f[0] == "Time" && f[1] == "Id" && f[2] == "Command" && f[3] == "Argument"
}

func (d *decoder) banner(text string) {
	d.stats.Banners++
	line, _, _ := strings.Cut(text, "\n")
	_, v, _ := strings.Cut(line, ", Version: ")
	v, _, _ = strings.Cut(v, " started with:")
	d.stats.Server = strings.Clone(strings.TrimSuffix(v, "."))
	d.state.schema, d.schemaSeen = "", true
	d.state.stamps = false
}
