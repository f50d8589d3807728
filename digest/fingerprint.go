package digest

import (
	"slices"
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
	m := lexer.ModeOf(o.ANSIQuotes, o.NoBackslashEscapes)
	if o.FoldNumbers {
		m |= lexer.FoldedNames
	}
	return m
}

// Fingerprint returns the fingerprint of sql with the default options: the
// statement without its literals, in one spelling.
//
// Literals:
//   - A literal is ?, as a placeholder is. Its sign goes with it where it cannot
//     be an operator (a = -5, but a - 5 is a - ?), and so do an introducer
//     (_utf8mb4'x'), the N of N'x', the type of DATE '2024-01-01', and strings
//     behind a string.
//   - NULL, TRUE and FALSE are literals, but not behind IS, and NULL not where a
//     definition has it.
//   - The literals of ORDER BY 2 and of LIMIT are literals like others; LIMIT
//     ?, ? and LIMIT ? OFFSET ? stay apart, as they are written.
//   - USE shop is use ?. Names of variables and of hosts stay.
//
// Lists:
//   - IN (1, 2, 3) is in(?+), however many there are, and so are rows of
//     literals. Beside other elements a run of literals is one: in(a, ?).
//   - The rows behind VALUES are values(?+), whatever they hold, except a query:
//     NOW() in some rows of a bulk INSERT shall not make a class of its own.
//   - The arguments of a function and the items of a SELECT stay, and so do the
//     queries of a UNION and the terms of an OR: they are structure.
//
// Spelling:
//   - ASCII letters are small, names included; the spaces are the same whatever
//     they were; final semicolons go.
//   - Backticks, and double quotes under ANSIQuotes, stay as backticks where the
//     name needs them: where it has other characters than letters, digits, _
//     and $, or spells a word that is reserved in every version since 5.7.
//   - Comments go. Executable comments are code. Hints stay where a server reads
//     them, with their numbers as ?.
//   - An administrator command of a slow log stays as it is.
//
// A text that was cut off has the fingerprint of what there is of it, with a
// string or name without end as ?, and open lists closed.
//
// A fingerprint is its own fingerprint. To make one takes time linear in the
// text, and any bytes will do; those that are no text stay in names.
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

	sign     int   // len(dst) before the signs that end dst, if last is aSign
	signPrev class // last before those signs
	semi     bool  // a semicolon waits for a statement behind it
	multi    bool  // the text holds several statements
	plain    bool  // names and words need no second look: see plainWord

	// onDuplicate tells that ON DUPLICATE KEY UPDATE was read, behind which
	// VALUES is a function.
	onDuplicate bool

	rowsAt  int // len(dst) before the "(" of the next row, or before its ROW
	rowsEnd int // len(dst) behind the last row if it was collapsed, else -1

	list         // the innermost open parenthesis
	outer []list // those around it; the first stands for the text
	floor int    // len(outer) where the hint that is being read began
}

// list is an open parenthesis.
type list struct {
	kind  listKind
	elem  elemKind // what the element that is being read consists of
	mixed bool     // an element was no literal
	query bool     // a SELECT stands inside
	out   int      // len(dst) before the parenthesis
	run   int      // len(dst) behind the last element if it was a literal, else -1
	end   int      // of a valuesRow: rowsEnd before it
	at    int      // of a valuesRow: rowsAt
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
	t[aText], t[aRows], t[aRow] = t[aValue], t[aCall], t[aClose]
	return t
}()

// plainWord is the class of the words that need no second look: names and
// those reserved words that mean nothing more to a fingerprint. It is 0 for
// the others.
var plainWord = func() (t [lexer.MaxWords]class) {
	for w := range lexer.Word(lexer.MaxWords) {
		switch {
		case w.Introducer() || !w.Reserved():
		case w.Call():
			t[w] = aCall
		default:
			t[w] = aWord
		}
	}
	for _, w := range []lexer.Word{
		// Reserved words at which reader.wordClass or Fingerprinter.reserved looks.
		lexer.Null, lexer.True, lexer.False, lexer.Values, lexer.Select, lexer.Key, lexer.Change, lexer.Procedure,
		lexer.Trigger, lexer.Use,
	} {
		t[w] = 0
	}
	t[0], t[lexer.Dotted] = aName, aName
	return t
}()

// Append appends the fingerprint of sql to dst and returns the longer slice.
// It keeps neither, and allocates only to make dst or its scratch memory grow.
// It may write anything into the rest of dst's capacity.
func (f *Fingerprinter) Append(dst []byte, sql string) []byte {
	if f.Options.Style != StyleQuern {
		return f.percona.append(dst, sql, f.Options)
	}
	return f.append(dst, sql)
}

// append appends the fingerprint of StyleQuern, and tells the flags of the
// text.
func (f *Fingerprinter) append(dst []byte, sql string) []byte {
	end := ellipsisAt(sql)
	f.init(sql[:end], f.Options)
	f.truncated, f.multi = end < len(sql), false
	if isAdmin(sql) {
		return append(dst, strings.TrimRight(sql, "; \t\r\n")...)
	}
	f.dst, f.list, f.outer, f.floor = dst, list{}, f.outer[:0], 0
	f.semi, f.plain = false, false
	f.begin()
	for {
		t := f.lex.Next()
		if cap(f.dst)-len(f.dst) < slack { // for Fingerprinter.lower to be fast
			f.dst = slices.Grow(f.dst, 8*slack)
		}
		if t.Kind == lexer.Ident && f.plain {
			if c := plainWord[t.Word]; c != 0 && !isDigit(f.src[t.Start]) && (f.last != aDot || c == aName) {
				if t.Word == lexer.Dotted {
					t = f.lex.Chain(t)
				}
				f.prev, f.word = f.word, t.Word
				f.other(c)
				f.lower(t.Start, t.End)
				f.last = c
				continue
			}
		}
		c := f.classify(t)
		if c == atEnd {
			break
		}
		f.write(t, c)
		f.plain = !(f.first || f.use || f.hint || f.semi || f.Options.FoldNumbers)
	}
	f.closeAll()
	if cap(f.outer) > maxScratch {
		f.outer = nil
	}
	dst, f.dst = f.dst, nil
	f.src, f.lex, f.reader.outer = "", lexer.Lexer{}, lexer.Lexer{} // forget sql
	return dst
}

// slack is room for nearly any name, with what Fingerprinter.lower writes too
// much.
const slack = 32

// maxScratch is the number of open parentheses for which memory is kept from
// one statement to the next.
const maxScratch = 1024

// isAdmin reports whether sql is what slow logs write for a command of the
// protocol, such as "administrator command: Init DB".
func isAdmin(sql string) bool {
	command, ok := strings.CutPrefix(sql, "administrator command: ")
	return ok && strings.Trim(command, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ;\t\r\n") == ""
}

// ellipsisAt returns where the three dots at the end of a text start by which
// performance_schema marks one that it truncated, len(text) if there are none. White
// space may be behind them; other white space stays: it tells that 0e before it is a
// name, and not what is left of a number.
func ellipsisAt[T string | []byte](text T) int {
	end := len(text)
	for end > 0 && isSpace(text[end-1]) {
		end--
	}
	if end >= 3 && string(text[end-3:end]) == "..." {
		return end - 3
	}
	return len(text)
}

// begin is called before the first token of a statement.
func (f *Fingerprinter) begin() {
	f.onDuplicate, f.rowsEnd = false, -1
}

// write writes a token of class c.
func (f *Fingerprinter) write(t lexer.Token, c class) {
	switch c {
	case aPrefix, aMore, aComment, anExec:
		return
	case aSemicolon:
		if f.last != atStart {
			f.semi, f.last = true, c
		}
		return
	}
	if f.semi {
		f.nextStatement()
	}
	switch c {
	case aValue, aText:
		f.literal(t.Kind)
	case aWord, aCall:
		c = f.reserved(c, t)
	case aName:
		if t.Kind == lexer.QuotedIdent {
			c = f.quotedName(t)
		} else {
			c = f.name(t.Start, t.End, t.Dotted())
		}
	case aVariable:
		f.other(c)
		f.lower(t.Start, t.End)
	case anOpen:
		f.open()
	case aClose:
		c = f.close()
	case aComma:
		c = f.comma()
	case aSign:
		if f.last != aSign {
			f.sign, f.signPrev = len(f.dst), f.last
		}
		f.space(f.last, c)
		f.dst = append(f.dst, f.src[t.Start])
	case aHintOpen:
		f.other(c)
		f.dst = append(f.dst, "/*+"...)
		f.floor = len(f.outer)
	case aHintClose:
		truncated := f.truncated
		f.closeAll()
		f.truncated, f.floor = truncated, 0
		f.other(c)
		f.dst = append(f.dst, "*/"...)
	default:
		f.other(c)
		f.dst = append(f.dst, f.src[t.Start:t.End]...)
	}
	f.last = c
}

// nextStatement ends a statement behind which another begins.
func (f *Fingerprinter) nextStatement() {
	f.semi, f.multi = false, true
	f.closeAll()
	f.dst = append(f.dst, ';')
	f.last = aSemicolon
	f.begin()
}

// space writes what stands between a token of class last and one of class c.
func (f *Fingerprinter) space(last, c class) {
	// To write the space always and to count it when it is wanted costs less
	// than to guess.
	n := len(f.dst)
	f.dst = append(f.dst, ' ')
	f.dst = f.dst[:n+int(spaced[last%32]>>c&1)]
}

// other prepares for a token that is neither a literal nor a sign.
func (f *Fingerprinter) other(c class) {
	f.elem = elemOther
	f.space(f.last, c)
}

// literal writes a literal, whose signs go.
func (f *Fingerprinter) literal(kind lexer.Kind) {
	last := f.last
	if last == aSign {
		f.dst, last = f.dst[:f.sign], f.signPrev
	}
	if f.elem == elemEmpty {
		f.elem = elemLiteral
	} else {
		f.elem = elemOther
	}
	f.space(last, aValue)
	f.dst = append(f.dst, literalMark(kind)...)
}

// literalMark returns what stands for a literal.
func literalMark(kind lexer.Kind) string {
	if kind == lexer.List {
		return "?+"
	}
	return "?"
}

// reserved writes a reserved word and returns its class.
func (f *Fingerprinter) reserved(c class, t lexer.Token) class {
	switch f.word {
	case lexer.Values:
		if !f.onDuplicate {
			return f.values()
		}
	case lexer.Select:
		f.query = true
	case lexer.Key:
		f.onDuplicate = f.onDuplicate || f.prev == lexer.Duplicate && len(f.outer) == 0
	}
	f.other(c)
	if f.src[t.Start] == '\\' { // \N where it is no literal
		f.dst = append(f.dst, f.word.String()...)
	} else {
		f.lower(t.Start, t.End)
	}
	return c
}

// values writes VALUES or VALUE before a list of rows.
func (f *Fingerprinter) values() class {
	f.other(aCall)
	f.dst = append(f.dst, f.word.String()...)
	f.rowsAt, f.rowsEnd = len(f.dst), -1
	return aRows
}

// name writes the bare name src[i:j] and returns its class. Beside a dot it may
// spell a reserved word.
func (f *Fingerprinter) name(i, j int, dotted bool) class {
	switch f.word {
	case lexer.Value:
		// VALUE is VALUES behind the table of an INSERT and behind its columns.
		if (f.verb == lexer.Insert || f.verb == lexer.Replace) && !f.onDuplicate && len(f.outer) == 0 &&
			(f.last == aName || f.last == aClose) {
			return f.values()
		}
	case lexer.Row:
		if next := f.peek(); (f.last == aRows || f.last == aRowComma) && next.Kind == lexer.Op && f.src[next.Start] == '(' {
			f.dst = append(f.dst, " row"...)
			return aRows
		}
	}
	digit := isDigit(f.src[i])
	quote := (digit || dotted || f.Options.FoldNumbers) && f.needsQuotes(f.src[i:j], digit, dotted)
	f.other(aName)
	if f.src[i] == '\\' { // \N, which has no other case
		f.dst = append(f.dst, f.src[i:j]...)
		return aName
	}
	if quote {
		f.dst = append(f.dst, '`')
	}
	f.appendName(f.src[i:j])
	if quote {
		f.dst = append(f.dst, '`')
	}
	return aName
}

// needsQuotes reports whether a bare name of the text takes quotes in the
// fingerprint, because it spells a reserved word or would read as a number.
func (f *Fingerprinter) needsQuotes(s string, digit, dotted bool) bool {
	switch {
	case digit && (f.last == aDot || f.Options.FoldNumbers):
		return true // .5 reads as a number, ? as a placeholder
	case digit:
		_, bare := lexer.Bare(s)
		return !bare
	case f.last == aDot:
		return false
	}
	return dotted && lexer.Reserved(s) || f.Options.FoldNumbers && foldsToWord(s)
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
func (f *Fingerprinter) quotedName(t lexer.Token) class {
	quote, s := f.src[t.Start], f.src[t.Start+1:t.End-1]
	if f.bare || f.last == aDot && lexer.Reserved(s) {
		return f.name(t.Start+1, t.End-1, false)
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
	return aName
}

func (f *Fingerprinter) open() {
	l := list{out: len(f.dst), run: -1}
	switch {
	case f.last == aRows || f.last == aRowComma:
		l.kind, l.at, l.end = valuesRow, f.rowsAt, f.rowsEnd
	case f.prev == lexer.In:
		l.kind = inList
	case (f.kind == inList || f.kind == tuple) && f.elem == elemEmpty && f.last != aSign:
		l.kind = tuple
	}
	f.other(anOpen)
	f.dst = append(f.dst, '(')
	f.outer = append(f.outer, f.list)
	f.list = l
}

func (f *Fingerprinter) close() class {
	if len(f.outer) == f.floor { // there is nothing to close
		f.other(aClose)
		f.dst = append(f.dst, ')')
		return aClose
	}
	kind := f.kind
	collapsed := f.endList()
	if !collapsed {
		f.dst = append(f.dst, ')')
	}
	if kind != valuesRow {
		return aClose
	}
	if collapsed {
		f.lex.SkipRows()
	}
	return aRow
}

func (f *Fingerprinter) comma() class {
	f.endElement()
	if f.kind == inList && f.run >= 0 {
		f.lex.SkipLiterals()
	}
	f.dst = append(f.dst, ',')
	if f.last != aRow {
		return aComma
	}
	if f.rowsEnd < 0 {
		f.rowsAt = len(f.dst)
	}
	return aRowComma
}

// endElement ends an element of the innermost list.
func (f *Fingerprinter) endElement() {
	if f.kind != inList && f.kind != tuple {
		return
	}
	switch f.elem {
	case elemOther:
		f.mixed, f.run = true, -1
	case elemLiteral:
		if f.kind == inList && f.run >= 0 {
			f.dst = f.dst[:f.run] // the literal joins those before it
		} else {
			f.run = len(f.dst)
		}
	}
	f.elem = elemEmpty
}

// endList ends the innermost list and reports whether it collapsed.
func (f *Fingerprinter) endList() (collapsed bool) {
	f.endElement()
	n := len(f.outer) - 1
	l := f.list
	f.list, f.outer = f.outer[n], f.outer[:n]
	f.query = f.query || l.query
	switch l.kind {
	case inList:
		if !l.mixed {
			f.dst = append(f.dst[:l.out], "(?+)"...)
			return true
		}
	case tuple:
		if !l.mixed {
			f.elem = elemLiteral
		}
	case valuesRow:
		f.rowsAt, f.rowsEnd = l.at, -1
		if !l.query {
			f.collapseRow(l.end)
			return true
		}
	}
	return false
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
	if (f.last == aRowComma || f.last == aRows) && f.rowsEnd >= 0 {
		f.dst = f.dst[:f.rowsEnd]
		f.truncated = true
	}
	for len(f.outer) > f.floor {
		f.truncated = true
		f.endList()
	}
}

// lower writes src[i:j] with its ASCII letters in lower case.
func (f *Fingerprinter) lower(i, j int) {
	f.dst = lexer.AppendLower(f.dst, f.src, i, j)
}

// appendLower appends s with its ASCII letters in lower case.
func appendLower(dst []byte, s string) []byte { return lexer.AppendLower(dst, s, 0, len(s)) }
