package slowlog

import (
	"strings"
	"time"
	"unsafe"

	"github.com/quern-dev/quern/internal/lexer"
)

// A body is the extent of what follows a record's header lines.
type body struct {
	use        string // schema of the "use" line, quoted as there
	hasUse     bool
	set        string // value list of the "SET timestamp" line, as "timestamp=1796040000"
	start, end int    // of the statement with its line end; the next record begins at end
	cut        bool   // the statement goes on behind end

	lex lexer.Scan // over the statement, up to lexed
}

// Limits of the look behind a header line that stands within an open literal or
// comment: so far it is followed for the literal's end.
const (
	maxForgedHeaders = 16
	maxForgedBytes   = 1 << 20
)

// findUse reads the "use" line at s[i:], if there is one, and returns where what
// comes behind it starts. Other lines, which are often long, it does not look at.
func (b *body) findUse(s string, i int, final bool) (next int, more bool) {
	if !strings.HasPrefix(s[i:], "u") {
		return i, false
	}
	end, after, ok, more := ownLine(s, i, final)
	if more || !ok || !strings.HasPrefix(s[i:end], "use ") {
		return i, more
	}
	if s[end-1] != ';' {
		if end, after, more = brokenUse(s, i, end, after, final); more {
			return i, true
		}
	}
	follows, more := followed(s, after, true, final)
	if follows && !more {
		follows, more = noBanner(s, after, final)
	}
	if !more && follows && s[end-1] == ';' {
		b.use, b.hasUse = s[i+len("use "):end-1], true
		i = after
	}
	return i, more
}

// find reads the body that follows header h. It returns where the next record
// begins, or that the window ends too early to tell.
func (b *body) find(s string, h header, d *decoder, final bool) (next int, more bool) {
	*b = body{}
	if d.opt.NoBackslashEscapes {
		b.lex.Mode = lexer.NoBackslashEscapes
	}
	i := h.end
	if h.flat {
		b.flat(s, i)
		return i, false
	}
	if i, more = b.findUse(s, i, final); more {
		return 0, true
	}
	if end, after, ok, more := ownLine(s, i, final); more {
		return 0, true
	} else if set, stamped, is := setValues(s[i:end]); ok && is && (stamped || !d.state.stamps) {
		follows, more := followed(s, after, false, final)
		if follows && !more && !stamped {
			follows, more = noBanner(s, after, final)
		}
		if more {
			return 0, true
		}
		switch {
		case follows:
			b.set = set
			i = after
		case stamped && d.state.stamps:
			// The server's own line; its statement is lost.
			b.set = set
			b.start, b.end = after, after
			return after, false
		}
	}
	b.start = i
	if i == len(s) {
		b.end = i
		return i, false
	}
	if follows, more := followed(s, i, b.set == "", final); more {
		return 0, true
	} else if !follows {
		b.end = i
		return i, false
	}
	next, more = b.findEnd(s, i, d, final)
	if !more && isBanner(s[i:next]) { // the server was started anew; the statement is lost
		b.end = i
		return i, false
	}
	return next, more
}

// ownLine returns the line at s[i:] if it is no longer than one that servers
// write of themselves.
func ownLine(s string, i int, final bool) (end, next int, ok, more bool) {
	const longest = 4 << 10
	end, next, ok = cutLine(s, i, final)
	if !ok {
		return i, i, false, len(s)-i <= longest
	}
	return end, next, end-i <= longest, false
}

// followed reports whether a statement's line, not a header or the end, stands
// at s[i:]. Behind the server's SET line only a whole header is one: a statement
// may begin with a comment.
func followed(s string, i int, closed, final bool) (yes, more bool) {
	if i == len(s) {
		return false, !final
	}
	if s[i] != '#' {
		return true, false
	}
	is, more := headerAt(s, i, closed, final)
	return !is, more
}

// noBanner reports whether no server's banner stands at s[i:].
func noBanner(s string, i int, final bool) (yes, more bool) {
	if !mayBeBanner(s[i], true) {
		return true, false
	}
	_, is, more := bannerAt(s, i, final)
	return !is, more
}

// isBanner reports whether text is a server's banner and nothing else. No
// statement reads so: the server's semicolon would stand behind it.
func isBanner(text string) bool {
	if _, closed := trimStatement(text); closed {
		return false
	}
	n, is, _ := bannerAt(text, 0, true)
	return is && strings.TrimRight(text[n:], "\r\n") == ""
}

// setValues takes apart the line that servers write before a statement:
//
//	SET timestamp=1796040000;
//	SET last_insert_id=7,insert_id=8,timestamp=1796040000.123456;
//
// Servers put no blanks, which tells their line from most that clients write.
func setValues(line string) (values string, stamped, ok bool) {
	v, ok := strings.CutPrefix(line, "SET ")
	if !ok {
		return "", false, false
	}
	if v, ok = strings.CutSuffix(v, ";"); !ok {
		return "", false, false
	}
	if stamp, ok := strings.CutPrefix(v, "timestamp="); ok && isNumber(stamp) {
		return v, true, true // as nearly all
	}
	for rest := v; ; {
		item, more, found := strings.Cut(rest, ",")
		name, value, _ := strings.Cut(item, "=")
		if !isNumber(value) {
			return "", false, false
		}
		switch name {
		case "timestamp":
			return v, true, !found
		case "last_insert_id", "insert_id":
		default:
			return "", false, false
		}
		if !found {
			return v, false, true
		}
		rest = more
	}
}

// isNumber reports whether s is digits, with or without a point.
func isNumber(s string) bool {
	i := lexer.DigitsEnd(s, 0)
	for i < len(s) && s[i] == '.' {
		i = lexer.DigitsEnd(s, i+1)
	}
	return s != "" && i == len(s)
}

// flat takes the statement out of the one line that the record stands on, which
// ends at s[:end].
func (b *body) flat(s string, end int) {
	b.end = end
	line := s[:end]
	i := strings.LastIndex(line, queryPrefix)
	rest := line[i:]
	if j := strings.Index(rest, " use "); j >= 0 && j < strings.Index(rest+" SET timestamp=", " SET timestamp=") {
		if name, after, ok := strings.Cut(rest[j+len(" use "):], "; "); ok {
			b.use, b.hasUse = name, true
			rest = after
		}
	}
	if j := strings.Index(rest, "SET timestamp="); j >= 0 {
		if set, after, ok := strings.Cut(rest[j+len("SET "):], ";"); ok {
			b.set = set
			b.start = end - len(strings.TrimLeft(after, " "))
			return
		}
	}
	// No SET: the statement starts behind the last value.
	fields := rest
	for {
		t := strings.TrimLeft(fields, " #")
		key, after, ok := strings.Cut(t, ":")
		if !ok || strings.ContainsAny(key, " \n") {
			break
		}
		after = strings.TrimLeft(after, " ")
		fields = after[min(len(after), max(0, strings.IndexByte(after+" ", ' '))):]
	}
	b.start = end - len(strings.TrimLeft(fields, " "))
}

// findEnd finds the end of the statement that starts, or goes on, at s[i]: the
// next line that is the start of another record. If more, next is where the
// bytes begin that nothing can be said of yet.
//
// Statements may hold lines that look so. Servers end a statement with a
// semicolon, so a header behind one, where no literal or comment is open, is
// one. Elsewhere resolve decides.
func (b *body) findEnd(s string, i int, d *decoder, final bool) (next int, more bool) {
	at, closed, more := nextStart(s, i, final)
	if more {
		return at, true
	}
	return b.stop(s, i, at, closed, d, final)
}

// stop is findEnd where s[at:] looks like the start of a record, or is empty.
func (b *body) stop(s string, i, at int, closed bool, d *decoder, final bool) (next int, more bool) {
	lex := b.lex
	b.lex.Feed(bytesOf(s[i:at]))
	b.end = at
	if at == len(s) || closed && b.lex.Ground() {
		return at, false
	}
	next, more = b.resolve(s, i, at, d, final)
	if more {
		b.lex = lex
	}
	return next, more
}

// resolve decides where the statement at s[i:] ends when a header stands at
// s[at:] within an open literal or comment, or behind no semicolon. Either the
// statement holds lines that look like a log, or it is not whole: a literal that
// the client did not close, a torn line.
//
// MySQL's count of the bytes that the client sent decides where there is one
// (log_slow_extra). Else the header is text if the literal closes and a later
// header, within 16 headers and 1 MiB, finds nothing open; and it is a header if
// not, so that one typo does not hide the rest of the log. It is a header, too,
// if what closes the literal looks more like the opening of another, in a later
// record. A header behind no semicolon where nothing is open is a header.
//
// What stays open to doubt: a statement of several lines, all but the last of
// which look like a record in "#" comments, reads as a torn statement and a
// record of its own; and so does a literal that somebody leaves open on purpose.
func (b *body) resolve(s string, i, at int, d *decoder, final bool) (next int, more bool) {
	lex := b.lex
	open := !lex.Ground()
	received := 0
	if d.query >= 0 {
		received = bytesReceived(s, d.query)
	}
	counted := received > 0
	closed := false // what is open at s[at:] has closed
	verdict := at
	for p, n := at, 1; ; n++ {
		if counted && isSent(s[i:p], received) {
			verdict = p
			break
		}
		if open && closed && verdict == at && lex.Ground() {
			verdict = p
		}
		if !counted && (!open || verdict != at) || p == len(s) || n == maxForgedHeaders || p-at > maxForgedBytes {
			break
		}
		q, _, more := nextStart(s, p, final)
		if more {
			if len(s)-at <= maxForgedBytes {
				return at, true
			}
			break
		}
		if open && !closed {
			p, closed = closing(s, p, q, &lex)
			if closed && opensAnother(s, at, p) {
				open = false
			}
		}
		lex.Feed(bytesOf(s[p:q]))
		p = q
	}
	d.stats.Ambiguous++
	if verdict != at {
		d.stats.Forged++
	}
	b.end = verdict
	return verdict, false
}

// closing moves lex through s[p:q] up to where nothing is open any more.
func closing(s string, p, q int, lex *lexer.Scan) (next int, ok bool) {
	for ; p < q; p++ {
		lex.Feed(bytesOf(s[p : p+1]))
		if lex.Ground() && !(p+1 < q && s[p+1] == s[p] && s[p] != '/') { // no doubled quote
			return p + 1, true
		}
	}
	return p, false
}

// opensAnother reports whether what closes, just before s[p:], the literal or
// comment that is open at s[at:] looks more like the opening of another: a quote
// within a header line, where literals open, as in "= 'x", or directly before a
// letter or digit, as in "x'4f" and "it's"; or the end of a comment that has a "/*"
// of its own.
func opensAnother(s string, at, p int) bool {
	if s[p-1] == '/' {
		return strings.Contains(s[at:p-2], "/*")
	}
	line := strings.LastIndexByte(s[:p], '\n') + 1
	if s[line] == '#' {
		return true
	}
	if p < len(s) && (s[p]-'0' <= 9 || s[p]|0x20-'a' <= 'z'-'a' || s[p] >= 0x80) {
		return true
	}
	return p-2 >= at && p < len(s) && strings.IndexByte(" =(,<>", s[p-2]) >= 0 && strings.IndexByte(" ),;\n\r\t", s[p]) < 0
}

// isSent reports whether the text with its semicolon and line end is a statement
// for which the client sent n bytes: a packet's header of four, the command, and
// two more when the client can send query attributes.
func isSent(text string, n int) bool {
	statement, _ := trimStatement(text)
	k := n - len(statement)
	return k == 5 || k == 7
}

// bytesOf returns the bytes of s, which are only to be read.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// trimStatement takes the line end and the server's semicolon off a statement, and
// the NULs behind them with which a file system fills up a log after a crash. It is
// not closed if it has no such semicolon.
func trimStatement(text string) (statement string, closed bool) {
	for len(text) > 0 {
		switch text[len(text)-1] {
		case '\n', '\r', ' ', '\t', 0:
			text = text[:len(text)-1]
			continue
		}
		break
	}
	return strings.CutSuffix(text, ";")
}

// nextStart finds the first line behind the one at s[i:] that looks like the
// start of a record: a header line or a server's banner. closed says that a
// semicolon ends the line before. It is len(s) if there is none and nothing
// follows s. If more, at is where the bytes begin that do not tell yet.
func nextStart(s string, i int, final bool) (at int, closed, more bool) {
	for p := i; ; {
		end, next, ok := cutLine(s, p, final)
		if !ok {
			// A line longer than any of a header is text.
			return max(p, len(s)-maxHeaderLine), false, true
		}
		closed = end > p && s[end-1] == ';'
		if next == len(s) {
			return next, closed, !final
		}
		if s[next] == '#' {
			if torn := tornHeader(s, p, end, next); torn > 0 {
				return torn, false, false
			}
		}
		if is, more := startAt(s, next, closed, final); is || more {
			return next, closed, more
		}
		p = next
	}
}

// startAt reports whether the line at s[i:] looks like the start of a record.
func startAt(s string, i int, closed, final bool) (is, more bool) {
	switch c := s[i]; {
	case c == '#':
		return headerAt(s, i, closed, final)
	case mayBeBanner(c, closed):
		_, is, more = bannerAt(s, i, final)
		return is, more
	}
	return closed && isGluedHeader(s, i), false
}

// mayBeBanner tells by its first byte whether a line may be the first of a
// banner: a path or, behind a whole statement, a drive letter or a program's
// name.
func mayBeBanner(c byte, closed bool) bool {
	return c == '/' || closed && (c == 'm' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z')
}

// tornHeader finds a "# Time" line that was written behind the rest of a torn
// line: "SELECT 1# Time: 2026-11-30T12:00:00Z" with a "# User@Host" line behind
// it. It returns 0 if the line s[p:end] is none.
func tornHeader(s string, p, end, next int) int {
	if !strings.HasPrefix(s[next:], userPrefix) {
		return 0
	}
	i := strings.LastIndex(s[p:end], timePrefix)
	if i <= 0 {
		return 0
	}
	if _, ok := parseTime(s[p+i+len(timePrefix):end], time.UTC); !ok {
		return 0
	}
	return p + i
}

// isGluedHeader recognises a first header line behind what a log shipper put
// there: a time and a request id.
func isGluedHeader(s string, i int) bool {
	if s[i] < '0' || s[i] > '9' {
		return false
	}
	line := s[i:min(len(s), i+120)]
	if j := strings.IndexByte(line, '\n'); j >= 0 {
		line = line[:j]
	}
	j := strings.Index(line, timePrefix)
	return j > 0 && strings.HasPrefix(line, "20") && len(strings.Fields(line[:j])) <= 3
}

// headerAt reports whether the line at s[i:], which starts with "#", can be the
// first of a header, in the servers' fixed order: "# Time", "# User@Host", then
// the values, of which Query_time is always one. closed says that the statement
// before it has its semicolon; without it, only a whole header counts. A line that
// ends with a semicolon itself is a comment, which the server has closed.
func headerAt(s string, i int, closed, final bool) (is, more bool) {
	end, next, ok := cutLine(s, i, final)
	if !ok {
		return false, len(s)-i < maxHeaderLine
	}
	line := s[i:end]
	switch {
	case len(line) < 3 || line[1] != ' ' || strings.HasPrefix(line, adminPrefix):
		return false, false
	case strings.HasPrefix(line, timePrefix):
		if isFlat(line) {
			return true, false
		}
		if strings.HasSuffix(line, ";") {
			return false, false
		}
		if closed && startsLikeTime(line[len(timePrefix):]) {
			return true, false
		}
		return hasQueryTime(s, next, final)
	case strings.HasPrefix(line, userPrefix):
		if !strings.Contains(line, "@ ") {
			_, after, more := brokenUser(s, i, end, next, final)
			if more || after == next {
				return false, more
			}
			next = after
		} else if strings.HasSuffix(line, ";") {
			return false, false
		}
		if closed {
			return true, false
		}
		return hasQueryTime(s, next, final)
	case !closed || line[2] < 'A' || line[2] > 'Z':
		return false, false
	case strings.HasPrefix(line, queryPrefix):
		return !strings.HasSuffix(line, ";"), false
	}
	// A header without its first lines, or with a line that this package does
	// not know in front of it.
	if key, _, ok := strings.Cut(line[2:], ":"); !ok || strings.ContainsAny(key, " \t") {
		return false, false
	}
	return hasQueryTime(s, next, final)
}

// startsLikeTime reports whether s starts with a date as servers write it,
// 2026-11-30 or 261130.
func startsLikeTime(s string) bool {
	if len(s) < 15 || s[0]-'0' > 9 || s[1]-'0' > 9 || s[2]-'0' > 9 || s[3]-'0' > 9 {
		return false
	}
	return s[4] == '-' && s[7] == '-' || s[4]-'0' < 10 && s[5]-'0' < 10 && s[6] == ' '
}

// hasQueryTime reports whether the header lines from s[i:] on have a Query_time.
func hasQueryTime(s string, i int, final bool) (is, more bool) {
	for n := 0; n < 64 && i < len(s) && s[i] == '#'; n++ {
		end, next, ok := cutLine(s, i, final)
		if !ok {
			return false, len(s)-i < maxHeaderLine
		}
		line := s[i:end]
		switch query := strings.HasPrefix(line, "# Query_time:"); {
		case strings.HasPrefix(line, adminPrefix):
			return false, false
		case (query || strings.HasPrefix(line, timePrefix) || strings.HasPrefix(line, userPrefix)) && strings.HasSuffix(line, ";"):
			return false, false
		case query:
			return true, false
		}
		i = next
	}
	return false, i == len(s) && !final
}
