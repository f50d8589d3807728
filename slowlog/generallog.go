package slowlog

import (
	"io"
	"iter"
	"strings"

	"github.com/quern-dev/quern/internal/lexer"
)

// A GeneralReader reads the general query log of MySQL and MariaDB, of any age:
//
//	2026-11-30T11:28:16.763108Z	  226 Query	SELECT 1
//	261130 11:30:42	   449 Connect	app@web1 on shop using TCP/IP
//			   449 Query	SELECT 1
//
// A server writes the log when a statement arrives, before it runs: an event's
// Time is when the statement began, and there is no QueryTime nor any other
// value of a slow log. Statements (Query, Execute) are events with a Query, all
// other entries events with a Command; a Prepare is one of these, since its
// statement follows with each Execute.
//
// User, host and schema are those of the connection's Connect, "Change user" and
// "Init DB" entries and of its "use" statements, as far as the log has them; the
// schema is therefore marked inherited.
//
// A statement may hold lines that look like an entry. One that stands within a
// literal or comment which closes before a later entry (of at most 16, and
// within 1 MiB) is text; Stats.Ambiguous and Stats.Forged count such cases.
//
// The fields may be set before the first Read.
type GeneralReader struct {
	Options
	// OnDamage, if not nil, is called with each damaged place, in order.
	OnDamage func(Damage)

	records
	conns map[uint64]*connection
}

type connection struct{ user, host, schema string }

// maxConnections bounds what is remembered of connections whose end the log
// does not tell.
const maxConnections = 1 << 16

// NewGeneralReader returns a GeneralReader of the log r. It buffers its input.
func NewGeneralReader(r io.Reader) *GeneralReader {
	return &GeneralReader{records: newRecords(r), conns: map[uint64]*connection{}}
}

// Read returns the next event, or io.EOF behind the last one. Other errors are
// those of the input.
func (r *GeneralReader) Read() (*Event, error) { return r.read(r.Options, r.OnDamage, r.next) }

// All yields the events that are left. An error other than io.EOF is yielded
// with a nil event, as the last.
func (r *GeneralReader) All() iter.Seq2[*Event, error] { return all(r.Read) }

// An entry is the first line of a record of the general log.
type entry struct {
	time    string // empty in a log that has it only once a second
	thread  uint64
	command string
	text    int // where what follows the command starts in the line
}

// generalCommands are the names of the client's commands, as the log has them,
// by themselves: an event outlives the window that its command was read from.
var generalCommands = func() map[string]string {
	m := map[string]string{}
	for name := range strings.SplitSeq("Sleep,Quit,Init DB,Query,Field List,Create DB,Drop DB,Refresh,Shutdown,Statistics,Processlist,"+
		"Connect,Kill,Debug,Ping,Time,Delayed insert,Change user,Binlog Dump,Table Dump,Connect Out,Register Slave,Register Replica,"+
		"Prepare,Execute,Long Data,Close stmt,Reset stmt,Set option,Fetch,Daemon,Binlog Dump GTID,Reset Connection,Reset connection,"+
		"Bulk_execute,Clone,Group Replication Data Stream subscription,Slave_IO,Slave_SQL,Slave_worker,Error", ",") {
		m[name] = name
	}
	return m
}()

// parseEntry takes apart the first line of an entry.
func parseEntry(line string) (e entry, ok bool) {
	// A time and a tab, or two tabs; then the connection's number.
	p := 0
	if line == "" || line[0] != '\t' && (line[0] < '0' || line[0] > '9') {
		return e, false
	}
	if line[0] != '\t' {
		i := strings.IndexByte(line[:min(len(line), 40)], '\t')
		if i < 14 {
			return e, false
		}
		e.time = trimBlanks(line[:i])
		p = i
	}
	for p < len(line) && (line[p] == '\t' || line[p] == ' ') {
		p++
	}
	digit := p
	for p < len(line) && line[p]-'0' < 10 {
		p++
	}
	id, ok := parseCount(line[digit:p])
	if !ok || p >= len(line) || line[p] != ' ' {
		return e, false
	}
	e.thread = uint64(id)
	p++
	// The command; a tab behind it, or in old logs blanks.
	rest := line[p:]
	name, _, tab := strings.Cut(rest[:min(len(rest), 60)], "\t")
	if name = generalCommands[trimBlanks(name)]; name != "" {
		e.command, e.text = name, p+len(name)
		if tab {
			e.text = p + strings.IndexByte(rest, '\t') + 1
		}
		return e, true
	}
	if len(rest) > 12 && rest[11] == ' ' || len(rest) > 11 && rest[10] == ' ' {
		if name := generalCommands[trimBlanks(rest[:11])]; name != "" {
			e.command, e.text = name, p+len(name)
			for e.text < len(line) && line[e.text] == ' ' {
				e.text++
			}
			return e, true
		}
	}
	return e, false
}

// startsAt reports whether a record or a banner starts with the line at s[i:].
func startsAt(s string, i int, final bool) (is, more bool) {
	head, whole := firstLine(s, i, final)
	if !whole && len(s)-i < entryLen {
		return false, true
	}
	if _, ok := parseEntry(head); ok {
		return true, false
	}
	if head == "" || !mayBeBanner(head[0], true) || !whole {
		return false, false
	}
	_, is, more = bannerAt(s, i, final)
	return is, more
}

// entryLen is how many bytes tell whether a line is the first of an entry.
const entryLen = 128

// firstLine returns the line at s[i:], of one that is not whole what there is.
func firstLine(s string, i int, final bool) (line string, whole bool) {
	if end, _, ok := cutLine(s, i, final); ok {
		return s[i:end], true
	}
	return s[i:], false
}

func (r *GeneralReader) next(s string, final bool) (int, verdict) {
	d := &r.dec
	if s[0] == '\n' || s[0] == '\r' {
		if d.damageEnd == d.base { // it belongs to the damage, as in skip
			d.damage(NoHeader, s[:1], 0, s)
		}
		return 1, skipped
	}
	is, more := startsAt(s, 0, final)
	switch {
	case more:
		return 0, needMore
	case !is:
		return r.skip(s, final)
	}
	head, whole := firstLine(s, 0, final)
	e, ok := parseEntry(head)
	if !ok {
		n, _, _ := bannerAt(s, 0, final)
		d.banner(s[:n])
		return n, skipped
	}
	_, after, _ := cutLine(s, 0, final)
	if !whole {
		after = 0
	}
	end, more := r.findEnd(s, e, after, final)
	d.state.cut = end > e.text+d.maxStatement()
	if more && !d.state.cut {
		return 0, needMore
	}
	r.fill(s, e, end)
	return end, haveEvent
}

// skip skips lines up to one that an entry or a banner starts with.
func (r *GeneralReader) skip(s string, final bool) (int, verdict) {
	p := 0
	for p < len(s) {
		_, next, ok := cutLine(s, p, final)
		if !ok {
			if p == 0 && len(s) < maxHeaderLine {
				return 0, needMore
			}
			if p == 0 {
				p = len(s)
			}
			break
		}
		p = next
		if p < len(s) {
			is, more := startsAt(s, p, final)
			if is {
				break
			}
			if more {
				break
			}
		}
	}
	if !r.dec.state.cut { // the rest of a long statement is no damage
		r.dec.damage(NoHeader, s[:p], 0, s)
	}
	return p, skipped
}

// findEnd finds the end of the entry e, whose second line starts at s[after:], or
// how far the window was looked at if it ends too early to tell.
func (r *GeneralReader) findEnd(s string, e entry, after int, final bool) (end int, more bool) {
	if after == 0 {
		return len(s), true
	}
	sql := e.command == "Query" || e.command == "Execute" || e.command == "Prepare"
	var lex lexer.Scan
	if r.NoBackslashEscapes {
		lex.Mode = lexer.NoBackslashEscapes
	}
	lex.Feed(bytesOf(s[e.text:after]))
	at, more := nextEntry(s, after, final)
	if more {
		return at, true
	}
	lex.Feed(bytesOf(s[after:at]))
	if !sql || lex.Ground() || at == len(s) {
		return at, false
	}

	// An entry within an open literal or comment, see GeneralReader.
	r.dec.stats.Ambiguous++
	closed := false
	for p, n := at, 1; p < len(s) && n < maxForgedHeaders && p-at <= maxForgedBytes; n++ {
		_, line, ok := cutLine(s, p, final)
		q, more := line, !ok
		if ok {
			q, more = nextEntry(s, line, final)
		}
		if more {
			if len(s)-at <= maxForgedBytes {
				r.dec.stats.Ambiguous--
				return p, true
			}
			break
		}
		if !closed {
			p, closed = closing(s, p, q, &lex)
			if closed && opensAnother(s, at, p) {
				break
			}
		}
		lex.Feed(bytesOf(s[p:q]))
		if closed && lex.Ground() {
			r.dec.stats.Forged++
			return q, false
		}
		p = q
	}
	return at, false
}

// nextEntry finds the first line from s[i:] on that a record starts with, or the
// end. If more, the bytes from at on do not tell yet.
func nextEntry(s string, i int, final bool) (at int, more bool) {
	for i < len(s) {
		is, more := startsAt(s, i, final)
		if is || more {
			return i, more
		}
		_, next, ok := cutLine(s, i, final)
		if !ok {
			return len(s), true
		}
		i = next
	}
	return i, !final
}

// fill reads the entry e, which ends at s[:end], into the event.
func (r *GeneralReader) fill(s string, e entry, end int) {
	d, ev := &r.dec, r.dec.ev
	r.place(s, 0)
	if t, ok := parseTime(e.time, d.location()); ok {
		ev.Time, ev.TimeSource = t.In(d.location()), TimeHeader
		d.state.time = ev.Time
	} else {
		if e.time != "" {
			d.stats.BadTimes++
		}
		if !d.state.time.IsZero() {
			ev.Time, ev.TimeSource = d.state.time, TimeCarried
		}
	}
	ev.ThreadID = e.thread
	ev.SetHas(FieldThreadID)
	text := strings.Clone(s[e.text:min(end, e.text+d.maxStatement())])
	ev.Truncated = d.state.cut
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")

	c := r.conns[e.thread]
	if c == nil {
		if len(r.conns) == maxConnections {
			clear(r.conns)
		}
		c = new(connection)
		r.conns[e.thread] = c
	}
	switch e.command {
	case "Connect", "Change user":
		if strings.HasPrefix(text, "Access denied for user ") {
			ev.Errno = 1045 // ER_ACCESS_DENIED_ERROR
			ev.SetHas(FieldErrno)
			break
		}
		c.connect(text)
	case "Init DB":
		c.schema = text
	case "Quit":
		delete(r.conns, e.thread)
	}
	if c.user != "" || c.host != "" {
		ev.User, ev.Account, ev.Host = c.user, c.user, c.host
		ev.SetHas(FieldUser)
	}
	ev.Schema, ev.SchemaInherited = c.schema, c.schema != ""
	if e.command == "Query" || e.command == "Execute" {
		ev.Query = text
		if name, ok := cutUse(text); ok {
			c.schema = name
		}
	} else {
		ev.Command = e.command
	}
	d.tally(ev)
	d.stats.WholeSeconds = false // there are no query times
}

// connect reads "app@web1 on shop using TCP/IP".
func (c *connection) connect(text string) {
	if i := strings.LastIndex(text, " using "); i >= 0 {
		text = text[:i]
	}
	c.schema = ""
	if i := strings.LastIndex(text, " on "); i >= 0 {
		text, c.schema = text[:i], strings.TrimSpace(text[i+len(" on "):])
	}
	if i := strings.LastIndex(text, " as "); i >= 0 { // "app@web1 as anonymous"
		text = text[:i]
	}
	c.user, c.host = text, ""
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		c.user, c.host = text[:i], text[i+1:]
	}
}

// cutUse returns the schema of a "use" statement.
func cutUse(q string) (name string, ok bool) {
	if len(q) < 5 || !strings.EqualFold(q[:4], "use ") {
		return "", false
	}
	name = unquoteName(strings.TrimRight(strings.TrimSpace(q[4:]), "; "))
	return name, name != "" && !strings.ContainsAny(name, "\n/*")
}
