package digest

import (
	"strings"

	"github.com/quern-dev/quern/internal/lexer"
)

// FingerprintOptions tell how to read a statement and how to write its
// fingerprint. The zero value suits a server with the default sql_mode.
type FingerprintOptions struct {
	// ANSIQuotes reads "x" as a name, as a server does whose sql_mode has
	// ANSI_QUOTES.
	ANSIQuotes bool
	// NoBackslashEscapes reads a backslash in a string as an ordinary
	// character, as a server does whose sql_mode has NO_BACKSLASH_ESCAPES.
	NoBackslashEscapes bool
	// FoldNumbers writes ? for the digits in names, so that tables that differ
	// in a number are one: users_2009 and users_2010 are users_?.
	FoldNumbers bool
	// Style is the form of the fingerprint.
	Style Style
}

// Style is a form of fingerprints.
type Style uint8

const (
	// StyleQuern is the form that this package documents.
	StyleQuern Style = iota
	// StylePercona is the form of pt-query-digest, so that IDs stored by it
	// can be found. It merges names that differ in digits, keeps the spacing,
	// and ignores ANSIQuotes.
	StylePercona
	// StylePerconaKeepNumbers is the form of pt-query-digest's option
	// --preserve-embedded-numbers.
	StylePerconaKeepNumbers
)

func (o FingerprintOptions) mode() lexer.Mode {
	var m lexer.Mode
	if o.ANSIQuotes {
		m |= lexer.ANSIQuotes
	}
	if o.NoBackslashEscapes {
		m |= lexer.NoBackslashEscapes
	}
	if o.FoldNumbers {
		m |= lexer.FoldedNames
	}
	return m
}

// Fingerprint returns the fingerprint of sql with the default options.
func Fingerprint(sql string) string {
	var f Fingerprinter
	return string(f.Append(nil, sql))
}

// Fingerprinter makes fingerprints. The zero value works. It keeps scratch
// memory, so it is not for concurrent use.
type Fingerprinter struct {
	Options FingerprintOptions

	percona percona
	reader
	dst []byte

	written  class // of the last token written
	sign     int   // len(dst) before the signs that end dst, -1 if none do
	signPrev class // written before those signs
	semi     bool  // a semicolon waits for a statement behind it
	multi    bool  // the text holds several statements

	// onDuplicate tells that ON DUPLICATE KEY UPDATE was read, behind which
	// VALUES is a function.
	onDuplicate bool

	rows    rowState
	rowsAt  int // len(dst) before the "(" of the next row, or before its ROW
	rowsEnd int // len(dst) behind the last row if it was collapsed, else -1

	lists []list // open parentheses
	floor int    // number of them open where the hint that is being read began
}

// rowState is the place in the list of rows behind VALUES.
type rowState uint8

const (
	noRows      rowState = iota
	rowExpected          // behind VALUES or a comma: "(" opens a row
	rowRead              // behind a row: a comma goes on
)

// list is an open parenthesis.
type list struct {
	kind            listKind
	elem            elemKind // what the element that is being read consists of
	mixed           bool     // an element was no literal
	query           bool     // a SELECT stands inside
	out             int      // len(dst) before the parenthesis
	run             int      // len(dst) behind the last element if it was a literal, else -1
	rowsAt, rowsEnd int      // of a valuesRow: what the Fingerprinter had
}

type listKind uint8

const (
	otherList listKind = iota
	inList             // IN (…): literals collapse
	tuple              // a row inside an inList: a literal if it holds nothing else
	valuesRow          // a row behind VALUES: collapses whatever it holds, except a query
)

type elemKind uint8

const (
	elemEmpty elemKind = iota
	elemLiteral
	elemOther
)

// spaced tells for the class of a token (index) and of the next one (bit)
// whether a space stands between them. Two tokens without space between must
// read as the same two tokens.
var spaced = func() (t [32]uint32) {
	const all = 1<<aWord | 1<<aCall | 1<<aName | 1<<aValue | 1<<aVariable | 1<<aStar | 1<<anOpen | 1<<aDot |
		1<<aBinary | 1<<aUnary | 1<<aSign | 1<<anArrow | 1<<anAt | 1<<aHintOpen | 1<<aHintClose
	for c := range t {
		t[c] = all
	}
	t[atStart] = 0
	t[aCall] &^= 1 << anOpen
	t[aName] &^= 1<<anOpen | 1<<aDot | 1<<anArrow | 1<<anAt | 1<<aVariable
	t[aValue] &^= 1<<aDot | 1<<anArrow | 1<<anAt | 1<<aVariable
	t[aVariable] &^= 1<<anOpen | 1<<anArrow
	t[aStar] &^= 1 << aDot
	t[anOpen] = 1 << aHintClose
	t[aClose] &^= 1<<aDot | 1<<anArrow
	t[aDot] &^= 1<<aName | 1<<aStar | 1<<aValue | 1<<anOpen
	t[aUnary] &^= 1<<aWord | 1<<aCall | 1<<aName | 1<<aValue | 1<<aVariable | 1<<aStar | 1<<anOpen
	t[aSign] = t[aUnary]
	t[anArrow] &^= 1<<aName | 1<<aValue | 1<<anOpen | 1<<aVariable
	t[anAt] &^= 1 << aValue
	return t
}()

// Append appends the fingerprint of sql to dst and returns the longer slice.
// It keeps neither, and allocates only to make dst or its scratch memory grow.
func (f *Fingerprinter) Append(dst []byte, sql string) []byte {
	if f.Options.Style != StyleQuern {
		return f.percona.append(dst, sql, f.Options)
	}
	return f.append(dst, sql)
}

// append appends the fingerprint of StyleQuern, and tells the flags of the
// text.
func (f *Fingerprinter) append(dst []byte, sql string) []byte {
	f.init("", f.Options)
	f.multi = false
	if isAdmin(sql) {
		return append(dst, strings.TrimRight(sql, "; \t\r\n")...)
	}
	text, truncated := cutEllipsis(sql)
	f.init(text, f.Options)
	f.truncated = truncated
	f.dst, f.lists, f.floor = dst, f.lists[:0], 0
	f.written, f.semi = atStart, false
	f.begin()
	for f.write(f.next()) {
	}
	f.closeAll()
	if cap(f.lists) > maxScratch {
		f.lists = nil
	}
	dst, f.dst = f.dst, nil
	f.src, f.lex, f.outer = "", lexer.Lexer{}, lexer.Lexer{} // forget sql
	return dst
}

// maxScratch is the number of open parentheses for which memory is kept from
// one statement to the next.
const maxScratch = 1024

// isAdmin reports whether sql is what slow logs write for a command of the
// protocol, such as "administrator command: Init DB".
func isAdmin(sql string) bool {
	command, ok := strings.CutPrefix(sql, "administrator command: ")
	return ok && strings.Trim(command, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ;\t\r\n") == ""
}

// cutEllipsis cuts the three dots off by which performance_schema marks a text
// that it truncated.
func cutEllipsis(sql string) (text string, truncated bool) {
	return strings.CutSuffix(strings.TrimRight(sql, " \t\r\n"), "...")
}

// begin is called before the first token of a statement.
func (f *Fingerprinter) begin() {
	f.sign, f.onDuplicate = -1, false
	f.rows, f.rowsEnd = noRows, -1
}

// write writes a token; false at the end.
func (f *Fingerprinter) write(t lexer.Token, c class) bool {
	switch c {
	case atEnd:
		return false
	case aPrefix, aString, aComment, anExec:
		return true
	case aSemicolon:
		f.semi = !f.hint && f.written != atStart && f.written != aSemicolon
		return true
	}
	if f.semi {
		f.nextStatement()
	}
	text := f.src[t.Start:t.End]
	switch c {
	case aValue:
		f.literal(t.Kind)
	case aWord, aCall:
		f.reserved(c)
	case aName:
		if t.Kind == lexer.QuotedIdent {
			f.quotedName(text)
		} else {
			f.name(text, t.Name)
		}
	case aVariable:
		f.other(c)
		f.dst = appendLower(f.dst, text)
	case anOpen:
		f.open()
	case aClose:
		f.close()
	case aComma:
		f.comma()
	case aSign:
		if f.sign < 0 {
			f.sign, f.signPrev = len(f.dst), f.written
		}
		f.rows = noRows
		f.space(c)
		f.dst = append(f.dst, text...)
	case aHintOpen:
		f.other(c)
		f.dst = append(f.dst, "/*+"...)
		f.floor = len(f.lists)
	case aHintClose:
		truncated := f.truncated
		f.closeAll()
		f.truncated, f.floor = truncated, 0
		f.other(c)
		f.dst = append(f.dst, "*/"...)
	default:
		f.other(c)
		f.dst = append(f.dst, text...)
	}
	return true
}

// nextStatement ends a statement behind which another begins.
func (f *Fingerprinter) nextStatement() {
	f.semi, f.multi = false, true
	f.closeAll()
	f.dst = append(f.dst, ';')
	f.written = aSemicolon
	f.begin()
}

// space writes what stands between the last token and one of class c.
func (f *Fingerprinter) space(c class) {
	if spaced[f.written]>>c&1 != 0 {
		f.dst = append(f.dst, ' ')
	}
	f.written = c
}

// other prepares for a token that is neither a literal nor a sign.
func (f *Fingerprinter) other(c class) {
	f.sign, f.rows = -1, noRows
	if n := len(f.lists); n > 0 {
		f.lists[n-1].elem = elemOther
	}
	f.space(c)
}

// literal writes a literal, whose signs go.
func (f *Fingerprinter) literal(kind lexer.Kind) {
	if f.sign >= 0 {
		f.dst, f.written, f.sign = f.dst[:f.sign], f.signPrev, -1
	}
	f.rows = noRows
	if n := len(f.lists); n > 0 {
		if l := &f.lists[n-1]; l.elem == elemEmpty {
			l.elem = elemLiteral
		} else {
			l.elem = elemOther
		}
	}
	f.space(aValue)
	f.dst = append(f.dst, literalMark(kind)...)
}

// literalMark returns what stands for a literal.
func literalMark(kind lexer.Kind) string {
	if kind == lexer.List {
		return "?+"
	}
	return "?"
}

// reserved writes a reserved word.
func (f *Fingerprinter) reserved(c class) {
	w := f.word
	switch w {
	case lexer.Values:
		if !f.onDuplicate {
			f.values()
			return
		}
	case lexer.Select:
		if n := len(f.lists); n > 0 {
			f.lists[n-1].query = true
		}
	case lexer.Key:
		f.onDuplicate = f.onDuplicate || f.prev == lexer.Duplicate
	}
	f.other(c)
	f.dst = append(f.dst, w.String()...)
}

// values writes VALUES or VALUE before a list of rows.
func (f *Fingerprinter) values() {
	f.other(aCall)
	f.dst = append(f.dst, f.word.String()...)
	f.rows, f.rowsAt, f.rowsEnd = rowExpected, len(f.dst), -1
}

// name writes a bare name. Beside a dot it may spell a reserved word.
func (f *Fingerprinter) name(s string, dotted bool) {
	switch f.word {
	case lexer.Value:
		// VALUE is VALUES behind the table of an INSERT and behind its columns.
		if (f.verb == lexer.Insert || f.verb == lexer.Replace) && !f.onDuplicate && len(f.lists) == 0 &&
			(f.written == aName || f.written == aClose) {
			f.values()
			return
		}
	case lexer.Row:
		if next := f.peek(); f.rows == rowExpected && next.Kind == lexer.Op && f.src[next.Start] == '(' {
			f.space(aName) // the row begins here: f.rows stays
			f.dst = append(f.dst, "row"...)
			return
		}
	}
	var quote bool
	digit := isDigit(s[0])
	switch {
	case digit && (f.written == aDot || f.Options.FoldNumbers):
		quote = true // .5 reads as a number, ? as a placeholder
	case digit:
		_, bare := lexer.Bare(s)
		quote = !bare
	case f.written == aDot:
	case dotted && lexer.Reserved(s), f.Options.FoldNumbers && foldsToWord(s):
		quote = true
	}
	f.other(aName)
	if quote {
		f.dst = append(f.dst, '`')
	}
	f.appendName(s)
	if quote {
		f.dst = append(f.dst, '`')
	}
}

// appendName writes the text of a name in lower case, and ? for its digits if
// they shall fold.
func (f *Fingerprinter) appendName(s string) {
	n := len(f.dst)
	f.dst = appendLower(f.dst, s)
	if !f.Options.FoldNumbers {
		return
	}
	folded := f.dst[:n]
	for i, c := range f.dst[n:] {
		switch {
		case !isDigit(c):
			folded = append(folded, c)
		case i == 0 || !isDigit(s[i-1]):
			folded = append(folded, '?')
		}
	}
	f.dst = folded
}

// foldsToWord reports whether a name is its digits short of a reserved word.
func foldsToWord(s string) bool {
	i := strings.IndexAny(s, "0123456789?")
	return i > 0 && lexer.Reserved(s[:i])
}

// quotedName writes a name in quotes, without them where they change nothing.
func (f *Fingerprinter) quotedName(s string) {
	quote, s := s[0], s[1:len(s)-1]
	if f.bare || f.written == aDot && lexer.Reserved(s) {
		f.name(s, false)
		return
	}
	f.other(aName)
	f.dst = append(f.dst, '`')
	if quote == '`' {
		f.appendName(s)
	} else {
		s = strings.ReplaceAll(s, `""`, `"`)
		f.appendName(strings.ReplaceAll(s, "`", "``"))
	}
	f.dst = append(f.dst, '`')
}

func (f *Fingerprinter) open() {
	l := list{out: len(f.dst), run: -1, rowsAt: f.rowsAt, rowsEnd: f.rowsEnd}
	n := len(f.lists)
	switch {
	case f.rows == rowExpected:
		l.kind = valuesRow
	case f.prev == lexer.In:
		l.kind = inList
	case n > 0 && f.lists[n-1].elem == elemEmpty && f.sign < 0 &&
		(f.lists[n-1].kind == inList || f.lists[n-1].kind == tuple):
		l.kind = tuple
	}
	f.other(anOpen)
	f.dst = append(f.dst, '(')
	f.lists = append(f.lists, l)
}

func (f *Fingerprinter) close() {
	switch {
	case len(f.lists) == f.floor: // there is nothing to close
		f.other(aClose)
		f.dst = append(f.dst, ')')
	case !f.endList():
		f.dst = append(f.dst, ')')
	}
	f.sign, f.written = -1, aClose
}

func (f *Fingerprinter) comma() {
	if len(f.lists) > f.floor {
		f.endElement()
	}
	f.sign, f.written = -1, aComma
	f.dst = append(f.dst, ',')
	if f.rows != rowRead {
		f.rows = noRows
		return
	}
	f.rows = rowExpected
	if f.rowsEnd < 0 {
		f.rowsAt = len(f.dst)
	}
}

// endElement ends an element of the innermost list.
func (f *Fingerprinter) endElement() {
	l := &f.lists[len(f.lists)-1]
	if l.kind != inList && l.kind != tuple {
		return
	}
	switch l.elem {
	case elemOther:
		l.mixed, l.run = true, -1
	case elemLiteral:
		if l.kind == inList && l.run >= 0 {
			f.dst = f.dst[:l.run] // the literal joins those before it
		} else {
			l.run = len(f.dst)
		}
	}
	l.elem = elemEmpty
}

// endList ends the innermost list and reports whether it collapsed.
func (f *Fingerprinter) endList() (collapsed bool) {
	f.endElement()
	n := len(f.lists) - 1
	l := f.lists[n]
	f.lists = f.lists[:n]
	f.rows = noRows
	switch l.kind {
	case inList:
		if !l.mixed {
			f.dst = append(f.dst[:l.out], "(?+)"...)
			collapsed = true
		}
	case valuesRow:
		f.rows, f.rowsAt, f.rowsEnd = rowRead, l.rowsAt, -1
		if !l.query {
			f.collapseRow(l.rowsEnd)
			collapsed = true
		}
	}
	if n > 0 {
		parent := &f.lists[n-1]
		parent.query = parent.query || l.query
		if l.kind == tuple && !l.mixed {
			parent.elem = elemLiteral
		}
	}
	return collapsed
}

// collapseRow writes (?+) for the row that was read last. end is the length of
// dst behind the row before it if that one collapsed too, else -1.
func (f *Fingerprinter) collapseRow(end int) {
	if end >= 0 {
		f.dst, f.rowsEnd = f.dst[:end], end
		return
	}
	f.dst = f.dst[:f.rowsAt]
	if f.dst[f.rowsAt-1] == ',' {
		f.dst = append(f.dst, ' ')
	}
	f.dst = append(f.dst, "(?+)"...)
	f.rowsEnd = len(f.dst)
}

// closeAll ends the lists that are open at the end of a statement or a hint. A
// list that was cut off collapses as the whole one would.
func (f *Fingerprinter) closeAll() {
	if f.rows == rowExpected && f.rowsEnd >= 0 {
		f.dst = f.dst[:f.rowsEnd]
		f.truncated = true
	}
	for len(f.lists) > f.floor {
		f.truncated = true
		f.endList()
	}
}

// appendLower appends s with its ASCII letters in lower case.
func appendLower(dst []byte, s string) []byte {
	n := len(dst)
	dst = append(dst, s...)
	for i, c := range dst[n:] {
		if 'A' <= c && c <= 'Z' {
			dst[n+i] = c | 0x20
		}
	}
	return dst
}
