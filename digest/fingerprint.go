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
}

func (o FingerprintOptions) mode() lexer.Mode {
	var m lexer.Mode
	if o.ANSIQuotes {
		m |= lexer.ANSIQuotes
	}
	if o.NoBackslashEscapes {
		m |= lexer.NoBackslashEscapes
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

	lex lexer.Lexer
	dst []byte

	last        class      // of the last token written
	word        lexer.Word // of the last token if it was a bare word
	prev        lexer.Word // of the token before it
	sign        int        // len(dst) before the signs that end dst, -1 if none do
	signLast    class      // last before those signs
	str         bool       // the last token was a string literal
	semi        bool       // a semicolon waits for a statement behind it
	first       bool       // the next token is the first of its statement
	use         bool       // the statement begins with USE
	insert      bool       // the statement begins with INSERT or REPLACE
	onDuplicate bool       // ON DUPLICATE KEY UPDATE was read: VALUES() is a function

	rows    rowState
	rowsAt  int // len(dst) before the "(" of the next row, or before its ROW
	rowsEnd int // len(dst) behind the last row if it was collapsed, else -1

	lists []list // open parentheses
	floor int    // number of them open where the hint that is being read began
	hint  bool   // inside a hint

	truncated, multi, hinted bool
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
	rowsAt, rowsEnd int      // of a valuesRow: the Fingerprinter's own
}

type listKind uint8

const (
	otherList listKind = iota
	inList             // IN (…): literals collapse
	tuple              // a row inside an inList: a literal if it holds nothing else
	valuesRow          // a row behind VALUES: collapses, whatever it holds but a query
)

type elemKind uint8

const (
	elemEmpty elemKind = iota
	elemLiteral
	elemOther
)

// class is the class of a token as far as the space before and behind it goes.
type class uint8

const (
	atStart class = iota
	aWord         // a reserved word
	aCall         // a reserved word that takes "(" as a function does
	aName
	aValue // ?
	aVariable
	aStar // the * that stands for all columns
	anOpen
	aClose
	aComma
	aDot
	aSemicolon
	aBinary
	aUnary
	anArrow // -> and ->>
	anAt    // @ between the literals of an account
	aHint   // an opening or closing bracket of a hint
)

// spaced tells for the class of a token (index) and of the next one (bit)
// whether a space stands between them. Two tokens without space between must
// read as the same two tokens.
var spaced = func() (t [32]uint32) {
	const all = 1<<aWord | 1<<aCall | 1<<aName | 1<<aValue | 1<<aVariable | 1<<aStar | 1<<anOpen |
		1<<aDot | 1<<aBinary | 1<<aUnary | 1<<anArrow | 1<<anAt | 1<<aHint
	for c := range t {
		t[c] = all
	}
	t[atStart] = 0
	t[aCall] &^= 1 << anOpen
	t[aName] &^= 1<<anOpen | 1<<aDot | 1<<anArrow | 1<<anAt | 1<<aVariable
	t[aValue] &^= 1<<aDot | 1<<anArrow | 1<<anAt | 1<<aVariable
	t[aVariable] &^= 1<<anOpen | 1<<anArrow
	t[aStar] &^= 1 << aDot
	t[anOpen] = 1 << aHint
	t[aClose] &^= 1<<aDot | 1<<anArrow
	t[aDot] &^= 1<<aName | 1<<aStar | 1<<aValue | 1<<anOpen
	t[aUnary] = 1<<aUnary | 1<<aBinary | 1<<anArrow | 1<<aDot | 1<<anAt | 1<<aHint
	t[anArrow] &^= 1<<aName | 1<<aValue | 1<<anOpen | 1<<aVariable
	t[anAt] &^= 1 << aValue
	return t
}()

// operand tells the classes of tokens that end an operand: an operator behind
// them is a binary one.
const operand = 1<<aName | 1<<aValue | 1<<aVariable | 1<<aStar | 1<<aClose

// Append appends the fingerprint of sql to dst and returns the longer slice.
// It keeps neither, and allocates only to make dst or its scratch memory grow.
func (f *Fingerprinter) Append(dst []byte, sql string) []byte {
	f.truncated, f.multi, f.hinted = false, false, false
	if isAdmin(sql) {
		return append(dst, strings.TrimRight(sql, "; \t\r\n")...)
	}
	sql, f.truncated = cutEllipsis(sql)
	f.lex.Init(sql, f.Options.mode())
	f.dst = dst
	f.lists, f.floor = f.lists[:0], 0
	f.last, f.semi, f.hint = atStart, false, false
	f.begin()
	f.run(sql)
	f.closeAll()
	if cap(f.lists) > maxScratch {
		f.lists = nil
	}
	dst, f.dst = f.dst, nil
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
	f.word, f.prev = 0, 0
	f.sign, f.str = -1, false
	f.first, f.use, f.insert, f.onDuplicate = true, false, false, false
	f.rows, f.rowsEnd = noRows, -1
}

// run writes the tokens of sql, which f.lex reads.
func (f *Fingerprinter) run(sql string) {
	for {
		t := f.lex.Next()
		if t.Unterminated {
			f.truncated = true
		}
		switch t.Kind {
		case lexer.EOF:
			return
		case lexer.Comment, lexer.ExecOpen, lexer.ExecClose:
			continue
		case lexer.Hint:
			if !t.Unterminated {
				f.writeHint(sql[t.Start+len("/*+") : t.End-len("*/")])
			}
			continue
		}
		if t.Kind == lexer.Op && sql[t.Start] == ';' {
			f.semi = !f.first && !f.hint
			continue
		}
		if t.Word.Introducer() && !t.Name && f.last != aDot {
			continue // it belongs to the literal behind it
		}
		if f.semi {
			f.nextStatement()
		}
		switch t.Kind {
		case lexer.Ident:
			f.ident(sql, t)
		case lexer.Op:
			f.op(sql[t.Start:t.End])
		case lexer.QuotedIdent:
			if t.Unterminated {
				f.literal("?", false)
			} else {
				f.quotedName(sql[t.Start:t.End])
			}
		case lexer.Variable:
			if t.Unterminated {
				f.literal("?", false)
			} else {
				f.other(aVariable)
				f.dst = appendLower(f.dst, sql[t.Start:t.End])
				f.setWord(0)
			}
		case lexer.List:
			f.literal("?+", false)
		default:
			f.literal("?", t.Kind == lexer.String)
		}
		f.first = false
	}
}

// nextStatement ends a statement behind which another begins.
func (f *Fingerprinter) nextStatement() {
	f.semi, f.multi = false, true
	f.closeAll()
	f.dst = append(f.dst, ';')
	f.last = aSemicolon
	f.begin()
}

// writeHint writes a hint.
func (f *Fingerprinter) writeHint(body string) {
	f.hinted = true
	outer, floor := f.lex, f.floor
	f.other(aHint)
	f.dst = append(f.dst, "/*+"...)
	f.setWord(0)
	f.lex.Init(body, f.Options.mode())
	f.floor, f.hint = len(f.lists), true
	truncated := f.truncated
	f.run(body)
	f.closeAll()
	f.truncated = truncated
	f.lex, f.floor, f.hint = outer, floor, false
	f.other(aHint)
	f.dst = append(f.dst, "*/"...)
	f.setWord(0)
}

func (f *Fingerprinter) setWord(w lexer.Word) {
	f.prev, f.word = f.word, w
}

// space writes what stands between the last token and one of class c.
func (f *Fingerprinter) space(c class) {
	if spaced[f.last]>>c&1 != 0 {
		f.dst = append(f.dst, ' ')
	}
	f.last = c
}

// other prepares for a token that is neither a literal nor a sign.
func (f *Fingerprinter) other(c class) {
	f.sign, f.str, f.rows = -1, false, noRows
	if n := len(f.lists); n > 0 {
		f.lists[n-1].elem = elemOther
	}
	f.space(c)
}

// literal writes a literal, whose signs go.
func (f *Fingerprinter) literal(text string, str bool) {
	if f.str && str {
		return // 'a' 'b' is one literal
	}
	if f.sign >= 0 {
		f.dst, f.last, f.sign = f.dst[:f.sign], f.signLast, -1
	}
	f.str, f.rows = str, noRows
	if n := len(f.lists); n > 0 {
		if l := &f.lists[n-1]; l.elem == elemEmpty {
			l.elem = elemLiteral
		} else {
			l.elem = elemOther
		}
	}
	f.space(aValue)
	f.dst = append(f.dst, text...)
	f.setWord(0)
}

func (f *Fingerprinter) operandExpected() bool {
	return 1<<f.last&operand == 0 && !f.word.Operand()
}

func (f *Fingerprinter) ident(sql string, t lexer.Token) {
	if t.Name || t.Word == 0 || f.last == aDot {
		f.name(sql[t.Start:t.End], t.Name)
		return
	}
	w := t.Word
	switch w {
	case lexer.Null:
		// NULL is a literal where an operand may stand.
		if f.word != lexer.Is && f.word != lexer.Not && f.word != lexer.Set && f.operandExpected() {
			f.literal("?", false)
			return
		}
	case lexer.True, lexer.False:
		if f.word != lexer.Is && !(f.word == lexer.Not && f.prev == lexer.Is) {
			f.literal("?", false)
			return
		}
	case lexer.Date, lexer.Time, lexer.Timestamp:
		if f.peek().Kind == lexer.String && f.operandExpected() {
			return // the type belongs to the literal
		}
	case lexer.Values:
		if !f.onDuplicate {
			f.values(w)
			return
		}
	case lexer.Value:
		if f.insert && !f.onDuplicate && len(f.lists) == 0 && (f.last == aName || f.last == aClose) {
			f.values(w)
			return
		}
	case lexer.Row:
		if f.rows == rowExpected && f.opens(sql, f.peek()) {
			// The row begins here; f.rows stays.
			f.space(aName)
			f.dst = append(f.dst, "row"...)
			f.setWord(w)
			return
		}
	case lexer.Select:
		if n := len(f.lists); n > 0 {
			f.lists[n-1].query = true
		}
	case lexer.Use:
		f.use = f.first
	case lexer.Insert, lexer.Replace:
		f.insert = f.insert || f.first
	case lexer.Key:
		f.onDuplicate = f.onDuplicate || f.word == lexer.Duplicate && f.prev == lexer.On
	}
	if !w.Reserved() {
		f.name(sql[t.Start:t.End], false)
		f.word = w // f.prev was set
		return
	}
	c := aWord
	if w.Call() {
		c = aCall
	}
	f.other(c)
	f.dst = append(f.dst, w.String()...)
	f.setWord(w)
}

// values writes VALUES or VALUE before a list of rows.
func (f *Fingerprinter) values(w lexer.Word) {
	f.other(aCall)
	f.dst = append(f.dst, w.String()...)
	f.setWord(w)
	f.rows, f.rowsAt, f.rowsEnd = rowExpected, len(f.dst), -1
}

func (f *Fingerprinter) peek() lexer.Token {
	ahead := f.lex
	for {
		switch t := ahead.Next(); t.Kind {
		case lexer.Comment, lexer.ExecOpen, lexer.ExecClose:
		default:
			return t
		}
	}
}

func (f *Fingerprinter) opens(sql string, t lexer.Token) bool {
	return t.Kind == lexer.Op && sql[t.Start] == '('
}

// name writes a bare name. Beside a dot it may spell a reserved word.
func (f *Fingerprinter) name(s string, dotted bool) {
	digit := '0' <= s[0] && s[0] <= '9'
	if f.use && f.word == lexer.Use || f.hint && digit {
		f.literal("?", false) // USE x, SET_VAR(sort_buffer_size = 16M)
		return
	}
	quote := false
	if f.last == aDot {
		quote = digit // .5 reads as a number
	} else if digit || dotted {
		quote = !lexer.BareName(s)
	}
	f.other(aName)
	if quote {
		f.dst = append(f.dst, '`')
	}
	f.dst = appendLower(f.dst, s)
	if quote {
		f.dst = append(f.dst, '`')
	}
	f.setWord(0)
}

// quotedName writes a name in quotes, without them where they change nothing.
func (f *Fingerprinter) quotedName(s string) {
	if f.use && f.word == lexer.Use {
		f.literal("?", false)
		return
	}
	quote, s := s[0], s[1:len(s)-1]
	bare := lexer.BareName(s)
	if !bare && f.last == aDot && lexer.Reserved(s) {
		bare = true
	}
	if bare {
		f.name(s, false)
		return
	}
	f.other(aName)
	f.dst = append(f.dst, '`')
	if quote == '`' {
		f.dst = appendLower(f.dst, s)
	} else {
		s = strings.ReplaceAll(s, `""`, `"`)
		f.dst = appendLower(f.dst, strings.ReplaceAll(s, "`", "``"))
	}
	f.dst = append(f.dst, '`')
	f.setWord(0)
}

func (f *Fingerprinter) op(s string) {
	switch c := s[0]; c {
	case '(':
		f.open()
		return
	case ')':
		f.close()
		return
	case ',':
		f.comma()
		return
	case '.':
		f.other(aDot)
	case '@':
		f.other(anAt)
	case '*':
		if f.operandExpected() {
			f.other(aStar)
		} else {
			f.other(aBinary)
		}
	case '+', '-', '!', '~':
		switch {
		case s == "->" || s == "->>":
			f.other(anArrow)
		case len(s) > 1 || !f.operandExpected():
			f.other(aBinary)
		case c == '!' || c == '~':
			f.other(aUnary)
		default:
			f.unarySign()
		}
	default:
		f.other(aBinary)
	}
	f.dst = append(f.dst, s...)
	f.setWord(0)
}

// unarySign prepares for a sign that goes if a literal follows.
func (f *Fingerprinter) unarySign() {
	if f.sign < 0 {
		f.sign, f.signLast = len(f.dst), f.last
	}
	f.str, f.rows = false, noRows
	f.space(aUnary)
}

func (f *Fingerprinter) open() {
	l := list{out: len(f.dst), run: -1, rowsAt: f.rowsAt, rowsEnd: f.rowsEnd}
	n := len(f.lists)
	switch {
	case f.rows == rowExpected:
		l.kind = valuesRow
	case f.word == lexer.In:
		l.kind = inList
	case n > 0 && f.lists[n-1].elem == elemEmpty && f.sign < 0 &&
		(f.lists[n-1].kind == inList || f.lists[n-1].kind == tuple):
		l.kind = tuple
	}
	f.other(anOpen)
	f.dst = append(f.dst, '(')
	f.setWord(0)
	f.lists = append(f.lists, l)
}

func (f *Fingerprinter) close() {
	if len(f.lists) > f.floor {
		f.endElement()
	}
	if len(f.lists) == f.floor {
		f.other(aClose) // there is nothing to close
		f.dst = append(f.dst, ')')
	} else if !f.endList() {
		f.dst = append(f.dst, ')')
	}
	f.sign, f.str, f.last = -1, false, aClose
	f.setWord(0)
}

func (f *Fingerprinter) comma() {
	if len(f.lists) > f.floor {
		f.endElement()
	}
	f.sign, f.str, f.last = -1, false, aComma
	f.dst = append(f.dst, ',')
	f.setWord(0)
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

// closeAll ends the lists that are open at the end of a text, or of a hint. A
// list that was cut off collapses as the whole one would.
func (f *Fingerprinter) closeAll() {
	if f.rows == rowExpected && f.rowsEnd >= 0 {
		f.dst = f.dst[:f.rowsEnd]
		f.truncated = true
	}
	for len(f.lists) > f.floor {
		f.truncated = true
		f.endElement()
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
