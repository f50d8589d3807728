// Package lexer reads SQL text of MySQL, Percona Server and MariaDB as tokens.
//
// It follows the servers' own lexical rules: names may begin with a digit,
// "--" opens a comment only before white space or a control character, the
// text of an executable comment is code, "/*+" is a hint only behind the verb
// of a statement. It takes any bytes, in time linear in their number, and
// allocates nothing. Where the servers would refuse the text it goes on.
//
// It departs from the servers in four places. "0X41" and "0B01" are literals
// as "0x41" and "0b01" are, though the servers read names: a text that leaks is
// worse than one read too carefully. For the same reason "1e" at the end of a
// text, which may have been cut, is a number. "/*M!" opens executable code for MySQL
// too. And dollar-quoted text, which MySQL 9 takes as the body of a JavaScript
// routine, is read as names and operators, as every earlier server does.
package lexer

import "strings"

// Mode is the part of a server's sql_mode that changes where tokens end.
type Mode uint8

const (
	// ANSIQuotes makes "x" a name instead of a string.
	ANSIQuotes Mode = 1 << iota
	// NoBackslashEscapes makes a backslash in a string an ordinary character.
	NoBackslashEscapes
	// FoldedNames reads a ? directly behind the letters of a name as a part of
	// it: such names stand in fingerprints for all that differ in digits only.
	FoldedNames
)

// ModeOf returns the Mode of a server by what its sql_mode has.
func ModeOf(ansiQuotes, noBackslashEscapes bool) Mode {
	var m Mode
	if ansiQuotes {
		m |= ANSIQuotes
	}
	if noBackslashEscapes {
		m |= NoBackslashEscapes
	}
	return m
}

// Unquote takes the quotes off a name, if it has any.
func Unquote(name string) string {
	if len(name) < 2 || name[0] != '`' && name[0] != '"' {
		return name
	}
	q := name[:1]
	return strings.ReplaceAll(name[1:len(name)-1], q+q, q)
}

// escapes reports whether a backslash escapes inside this quote.
func (m Mode) escapes(quote byte) bool {
	return m&NoBackslashEscapes == 0 && (quote == '\'' || quote == '"' && m&ANSIQuotes == 0)
}

// Kind is the kind of a token.
type Kind uint8

const (
	EOF         Kind = iota
	Ident            // a bare name or word
	QuotedIdent      // `x`, and "x" under ANSIQuotes
	String           // 'x', N'x', and "x" without ANSIQuotes
	Number           // 1, 1.5, .5, 1e-5; without sign
	Bits             // 0x1f, x'1f', 0b01, b'01'
	Placeholder      // ?
	List             // the ?+ of (?+), by which fingerprints stand for a list of literals
	Variable         // @v, @@global.v, @`v`
	Op               // an operator or a punctuation mark, or a byte that is nothing else
	Comment          // /* */, -- and #
	Hint             // /*+ */ behind the verb of a statement
	ExecOpen         // /*! and /*M!, with the version that may follow
	ExecClose        // the */ of an executable comment
)

// Token is one token of the text: src[Start:End]. It has four fields and no
// more, so that the compiler keeps it in registers.
type Token struct {
	Kind Kind
	// Word tells which word an Ident spells. It is 0 for a name, also for one
	// that spells a word but cannot be it.
	Word       Word
	Start, End int
}

// Dotted reports whether t is a bare word directly before or behind a dot, so
// that it is a name whatever it spells.
func (t Token) Dotted() bool { return t.Word == Dotted || t.Word == dottedWord }

// Unterminated reports whether the text ends inside t: a string, a quoted
// name, a comment. Of EOF it tells whether it ends inside an executable
// comment.
func (t Token) Unterminated() bool { return t.Word == unterminated }

// Lexer reads tokens. Use Init, then Next until EOF. A copy goes on from
// where the original stood.
type Lexer struct {
	src   string
	pos   int
	mode  Mode
	after after
	exec  bool // inside an executable comment
}

// after tells what the last token was, as far as the next depends on it.
type after uint8

const (
	afterOther after = iota
	afterName        // a bare word: a dot directly behind it begins no number
	afterDot         // a dot: what stands directly behind it is a name
	afterVerb        // a verb that takes a hint
)

// Init starts at the beginning of src.
func (l *Lexer) Init(src string, mode Mode) { *l = Lexer{src: src, mode: mode} }

// Part returns a Lexer for src[start:end] of the text that l reads. Its tokens
// have their places in the whole text.
func (l *Lexer) Part(start, end int) Lexer {
	return Lexer{src: l.src[:end], pos: start, mode: l.mode}
}

// Next returns the next token; at the end of the text, EOF again and again.
func (l *Lexer) Next() Token {
	src, i, after := l.src, l.pos, l.after
	if i < len(src) {
		// There is one space or none nearly always, and no telling which: to
		// add it costs less than to ask.
		i += int(space[src[i]])
	}
	for i < len(src) && space[src[i]] != 0 {
		i++
	}
	if i != l.pos && after != afterVerb {
		after = afterOther
	}
	if i >= len(src) {
		l.pos = i
		return l.terminated(Token{Kind: EOF, Start: i, End: i}, !l.exec)
	}
	switch c := src[i]; class[c] {
	case classLetter:
		j := nameEnd(src, i)
		if j == i+1 && j < len(src) && src[j] == '\'' && after != afterDot {
			switch c | 0x20 {
			case 'n':
				return l.quoted(String, i, j)
			case 'x', 'b':
				return l.quoted(Bits, i, j)
			}
		}
		if l.mode&FoldedNames != 0 && j < len(src) && src[j] == '?' && (after == afterDot || !lookup(src, i, j).Reserved()) {
			for j < len(src) && (name[src[j]] || src[j] == '?') {
				j++
			}
		}
		return l.word(i, j, after)
	case classDigit:
		if after == afterDot {
			return l.word(i, nameEnd(src, i), after)
		}
		end, kind := number(src, i)
		if kind == Ident {
			return l.word(i, end, after)
		}
		return l.token(kind, i, end)
	case classQuote:
		if c == '`' || c == '"' && l.mode&ANSIQuotes != 0 {
			return l.quoted(QuotedIdent, i, i)
		}
		return l.quoted(String, i, i)
	case classDot:
		if i+1 < len(src) && class[src[i+1]] == classDigit && after != afterName {
			end, _ := number(src, i)
			return l.token(Number, i, end)
		}
		l.pos, l.after = i+1, afterDot
		return Token{Kind: Op, Start: i, End: i + 1}
	case classOp:
		return l.token(Op, i, i+1)
	case classHash:
		return l.lineComment(i)
	case classDash:
		if OpensLineComment(src[i:]) {
			return l.lineComment(i)
		}
	case classSlash:
		if i+1 < len(src) && src[i+1] == '*' {
			return l.blockComment(i, after == afterVerb)
		}
	case classStar:
		if l.exec && i+1 < len(src) && src[i+1] == '/' {
			l.exec = false
			return l.token(ExecClose, i, i+2)
		}
	case classQuestion:
		if strings.HasPrefix(src[i+1:], "+)") {
			return l.token(List, i, i+2)
		}
		return l.token(Placeholder, i, i+1)
	case classAt:
		return l.variable(i)
	case classBackslash:
		// \N is NULL.
		if i+1 < len(src) && src[i+1] == 'N' {
			t := l.token(Ident, i, i+2)
			t.Word = Null
			return t
		}
	}
	return l.token(Op, i, i+opLen(src[i:]))
}

// token ends the token src[i:j], which is no bare name and no dot.
func (l *Lexer) token(kind Kind, i, j int) Token {
	l.pos, l.after = j, afterOther
	return Token{Kind: kind, Start: i, End: j}
}

// terminated marks t unless ok.
func (l *Lexer) terminated(t Token, ok bool) Token {
	if !ok {
		t.Word = unterminated
	}
	return t
}

// word ends the bare word src[i:j].
func (l *Lexer) word(i, j int, after after) Token {
	l.pos, l.after = j, afterName
	w := Dotted
	if after != afterDot {
		w = lookup(l.src, i, j)
		if j+1 < len(l.src) && l.src[j] == '.' && name[l.src[j+1]] {
			if w.Reserved() {
				w = dottedWord
			} else {
				w = Dotted
			}
		} else if w != 0 && w <= lastVerb {
			l.after = afterVerb
		}
	}
	return Token{Kind: Ident, Word: w, Start: i, End: j}
}

// Chain reads on behind the Dotted token t through the dots and names directly
// behind it, so far as the names begin with no digit, and returns them all as
// one token. A reader that does the same to every part of a.b.c saves the
// reading of five tokens.
func (l *Lexer) Chain(t Token) Token {
	for j := t.End; j+1 < len(l.src) && l.src[j] == '.' && class[l.src[j+1]] == classLetter; j = t.End {
		t.End = nameEnd(l.src, j+1)
	}
	l.pos = t.End
	return t
}

// quoted ends the token that begins at start, whose quote is at i.
func (l *Lexer) quoted(kind Kind, start, i int) Token {
	end, ok := quotedEnd(l.src, i, l.mode.escapes(l.src[i]))
	return l.terminated(l.token(kind, start, end), ok)
}

// quotedEnd returns the end of the text in quotes that begins at src[i], and
// whether its closing quote was found.
func quotedEnd(src string, i int, escapes bool) (end int, ok bool) {
	quote := src[i]
	j := i + 1
	for range 4 { // most strings are short
		if len(src)-j < 8 {
			break
		}
		x := Load8(src[j:])
		found := find(x, quote)
		if escapes {
			found |= find(x, '\\')
		}
		if found == 0 {
			j += 8
			continue
		}
		j += first(found)
		switch {
		case src[j] != quote:
			j += 2
		case j+1 == len(src) || src[j+1] != quote:
			return j + 1, true
		default:
			j += 2
		}
	}
	for j <= len(src) {
		// The search for the quote and the one for a backslash before it run
		// at the speed of the memory.
		k := strings.IndexByte(src[j:], quote)
		if k < 0 {
			return len(src), false
		}
		k += j
		for escapes && j < k {
			b := strings.IndexByte(src[j:k], '\\')
			if b < 0 {
				break
			}
			j += b + 2
		}
		if escapes && j > k {
			continue // the quote was escaped
		}
		if k+1 == len(src) || src[k+1] != quote {
			return k + 1, true
		}
		j = k + 2
	}
	return len(src), false
}

// number returns the end and the kind of what begins at src[i], a digit or a
// dot with a digit behind it: Number, Bits or Ident.
func number(src string, i int) (end int, kind Kind) {
	j := i
	if src[i] == '0' && i+1 < len(src) {
		switch src[i+1] | 0x20 {
		case 'x':
			j = i + 2
			for j < len(src) && isHex(src[j]) {
				j++
			}
			if j > i+2 && (j == len(src) || !name[src[j]]) {
				return j, Bits
			}
		case 'b':
			j = i + 2
			for j < len(src) && src[j]|1 == '1' {
				j++
			}
			if j > i+2 && (j == len(src) || !name[src[j]]) {
				return j, Bits
			}
		}
		j = i
	}
	j = DigitsEnd(src, j)
	if j == len(src) || src[j] != '.' && !name[src[j]] {
		return j, Number
	}
	if src[j] == '.' {
		j = DigitsEnd(src, j+1)
		if k := exponent(src, j); k > 0 {
			j = k
		}
		return j, Number
	}
	if k := exponent(src, j); k > 0 {
		return k, Number
	}
	return nameEnd(src, j), Ident
}

// exponent returns the end of the exponent at src[i:], which the end of the
// text may cut, 0 if there is none.
func exponent(src string, i int) int {
	if i >= len(src) || src[i]|0x20 != 'e' {
		return 0
	}
	i++
	if i < len(src) && (src[i] == '+' || src[i] == '-') {
		i++
	}
	j := DigitsEnd(src, i)
	if j == i && j < len(src) {
		return 0
	}
	return j
}

// nameEnd returns the end of the bare name at src[i:].
func nameEnd(src string, i int) int {
	for len(src)-i >= 8 {
		n := first(noName(Load8(src[i:])))
		if i += n; n < 8 {
			return i
		}
	}
	for i < len(src) && name[src[i]] {
		i++
	}
	return i
}

// variable ends the variable that begins at src[i], or the operator @ where
// no name follows: between the string literals of an account.
func (l *Lexer) variable(i int) Token {
	src, j := l.src, i+1
	if j < len(src) && src[j] == '@' {
		j++
	}
	if j < len(src) && src[j] == '`' {
		return l.quoted(Variable, i, j)
	}
	k := j
	for k < len(src) && (name[src[k]] || src[k] == '.' && k+1 < len(src) && name[src[k+1]]) {
		k++
	}
	if k == j {
		return l.token(Op, i, i+1)
	}
	return l.token(Variable, i, k)
}

// OpensLineComment reports whether s starts with two dashes that open a comment.
func OpensLineComment(s string) bool {
	return len(s) >= 2 && s[0] == '-' && s[1] == '-' && (len(s) == 2 || s[2] <= ' ' || s[2] == 0x7f)
}

// lineComment ends the comment that runs from src[i] to before the line feed.
func (l *Lexer) lineComment(i int) Token {
	end := len(l.src)
	if k := strings.IndexByte(l.src[i:], '\n'); k >= 0 {
		end = i + k
	}
	return l.token(Comment, i, end)
}

// blockComment ends the comment or hint that begins at src[i], or only its
// opening if what it holds is code.
func (l *Lexer) blockComment(i int, verb bool) Token {
	src, j := l.src, i+2
	if strings.HasPrefix(src[j:], "!") || strings.HasPrefix(src[j:], "M!") {
		l.exec = true
		return l.token(ExecOpen, i, versionEnd(src, strings.IndexByte(src[j:], '!')+j+1))
	}
	kind := Comment
	if verb && j < len(src) && src[j] == '+' {
		kind = Hint
	}
	k := strings.Index(src[j:], "*/")
	if k < 0 {
		return l.terminated(l.token(kind, i, len(src)), false)
	}
	return l.token(kind, i, j+k+2)
}

// versionEnd returns the end of the version at src[i:], which has five or six
// digits.
func versionEnd(src string, i int) int {
	j := i
	for j < len(src) && j < i+6 && class[src[j]] == classDigit {
		j++
	}
	if j < i+5 {
		return i
	}
	return j
}

// opLen returns the length of the operator that s begins with.
func opLen(s string) int {
	if len(s) < 2 {
		return 1
	}
	switch s[0] {
	case '<':
		if strings.HasPrefix(s, "<=>") {
			return 3
		}
		if s[1] == '=' || s[1] == '>' || s[1] == '<' {
			return 2
		}
	case '>':
		if s[1] == '=' || s[1] == '>' {
			return 2
		}
	case '!', ':':
		if s[1] == '=' {
			return 2
		}
	case '&', '|':
		if s[1] == s[0] {
			return 2
		}
	case '-':
		if strings.HasPrefix(s, "->>") {
			return 3
		}
		if s[1] == '>' {
			return 2
		}
	}
	return 1
}

func isHex(c byte) bool {
	return class[c] == classDigit || 'a' <= c|0x20 && c|0x20 <= 'f'
}

const (
	classOp uint8 = iota // a token by itself
	classSpace
	classLong   // may begin an operator of several bytes
	classLetter // begins a name: letters, _, $ and bytes beyond ASCII
	classDigit
	classQuote
	classDot
	classHash
	classDash
	classSlash
	classStar
	classQuestion
	classAt
	classBackslash
)

var (
	// class is what a token that begins with a byte may be.
	class = [256]uint8{
		' ': classSpace, '\t': classSpace, '\n': classSpace, '\v': classSpace, '\f': classSpace, '\r': classSpace,
		'<': classLong, '>': classLong, '!': classLong, ':': classLong, '&': classLong, '|': classLong,
		'_': classLetter, '$': classLetter,
		'\'': classQuote, '"': classQuote, '`': classQuote,
		'.': classDot, '#': classHash, '-': classDash, '/': classSlash, '*': classStar,
		'?': classQuestion, '@': classAt, '\\': classBackslash,
	}
	// space is 1 for white space.
	space [256]uint8
	// name tells the bytes of which bare names consist.
	name [256]bool
)

func init() {
	for c := range 256 {
		switch {
		case '0' <= c && c <= '9':
			class[c] = classDigit
		case 'a' <= c|0x20 && c|0x20 <= 'z' && c < 0x80, c >= 0x80:
			class[c] = classLetter
		}
		name[c] = class[c] == classLetter || class[c] == classDigit
		if class[c] == classSpace {
			space[c] = 1
		}
	}
}

// Bare reports whether s, written without quotes, reads as one name and as
// nothing else; and which word it spells, though it is none then.
func Bare(s string) (w Word, ok bool) {
	if s == "" || nameEnd(s, 0) != len(s) {
		return 0, false
	}
	if w = lookup(s, 0, len(s)); w.Reserved() {
		return 0, false
	}
	if class[s[0]] == classDigit {
		end, kind := number(s, 0)
		return 0, kind == Ident && end == len(s)
	}
	return w, true
}

// Reserved reports whether s spells a reserved word.
func Reserved(s string) bool { return lookup(s, 0, len(s)).Reserved() }
