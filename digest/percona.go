package digest

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"strings"

	"github.com/quern-dev/quern/internal/lexer"
)

// PerconaID returns the ID that pt-query-digest gives to the class of sql: the
// MD5 of the fingerprint of StylePercona, in 32 upper-case hexadecimal digits.
// PMM and pt-query-digest before 3.0.11 use the last 16.
func PerconaID(sql string) string {
	f := Fingerprinter{Options: FingerprintOptions{Style: StylePercona}}
	return f.PerconaID(sql)
}

// PerconaID returns the ID of sql as the function PerconaID does, with the
// options of f; with number-preserving fingerprints if f's style is
// StylePerconaKeepNumbers.
func (f *Fingerprinter) PerconaID(sql string) string {
	f.percona.out = f.percona.append(f.percona.out[:0], sql, f.Options)
	sum := md5.Sum(f.percona.out)
	return strings.ToUpper(hex.EncodeToString(sum[:]))
}

// percona writes fingerprints as pt-query-digest does. It differs where
// pt-query-digest misreads the text:
//
//   - A string with a doubled quote or with the other kind of quote inside is
//     one literal. pt-query-digest takes it for two, or takes what stands between
//     two strings for a third, or shows parts of the string; which of them
//     depends on its version.
//   - A string or a comment that does not end goes. pt-query-digest keeps it.
//   - "--" opens a comment only before white space, and a comment may hold
//     quotes.
//   - "/**/" is a comment.
//   - 0xDEAD is one literal, and so is 1E5 with StylePerconaKeepNumbers.
//     pt-query-digest knows small letters only, and shows the others.
//   - Comments inside strings are none, nor are quotes inside backticks.
//   - What looks like the end of a row inside a string does not end the first
//     row of an INSERT of several rows.
//
// All else is as pt-query-digest has it, be it right or not: digits in names
// (without StylePerconaKeepNumbers), operators before numbers, mysqldump's
// statements.
type percona struct {
	text, next []byte // scratch memory of the steps
	out        []byte // scratch memory of PerconaID
}

// mysqldump is how mysqldump's reading of a table begins.
const mysqldump = "SELECT /*!40001 SQL_NO_CACHE */ * FROM `"

func (p *percona) append(dst []byte, sql string, o FingerprintOptions) []byte {
	switch {
	case strings.HasPrefix(sql, mysqldump):
		return append(dst, "mysqldump"...)
	case isAdmin(sql):
		return append(dst, sql...)
	}
	if head := perconaCall(sql); head != "" {
		return appendLower(dst, head)
	}
	var tool bool
	keepNumbers := o.Style == StylePerconaKeepNumbers
	if p.text, tool = perconaText(p.text[:0], sql, o.mode()&^lexer.ANSIQuotes, keepNumbers); tool {
		return append(dst, "percona-toolkit"...)
	}
	s := p.text
	if n := len("use "); len(s) > n && strings.EqualFold(string(s[:n]), "use ") && bytes.IndexFunc(s[n:], isSpaceRune) < 0 {
		return append(dst, "use ?"...)
	}
	s = replaceWords(s, "true", "false")
	s = replaceNumbers(s, keepNumbers)
	s = bytes.TrimLeftFunc(replaceLeftovers(s), isSpaceRune)
	s = squeeze(bytes.TrimSuffix(s, []byte{'\n'}))
	s = replaceWords(s, "null")
	p.next = appendLists(p.next[:0], s)
	p.text = appendRepeats(p.text[:0], p.next)
	s = collapseLimit(p.text)
	dst = append(dst, dropAscending(s)...)
	if cap(p.text)+cap(p.next) > maxPerconaScratch {
		p.text, p.next = nil, nil
	}
	return dst
}

// maxPerconaScratch is how many bytes are kept from one statement to the next.
const maxPerconaScratch = 1 << 20

// perconaCall returns the CALL of sql with the name it calls, "" if it is none.
func perconaCall(sql string) string {
	s := strings.TrimLeftFunc(sql, isSpaceRune)
	if len(s) < 5 || !strings.EqualFold(s[:4], "call") || !isSpace(s[4]) {
		return ""
	}
	rest := strings.TrimLeftFunc(s[4:], isSpaceRune)
	name := rest
	if i := strings.IndexFunc(rest, isSpaceRune); i >= 0 {
		name = rest[:i]
	}
	i := strings.LastIndexByte(name, '(')
	if i < 1 {
		return ""
	}
	return s[:len(s)-len(rest)+i]
}

// perconaText appends sql to dst without its comments and with ? for its
// strings. It stops behind the first of several rows. tool reports a comment
// by which percona-toolkit marks its own statements.
func perconaText(dst []byte, sql string, mode lexer.Mode, keepNumbers bool) (text []byte, tool bool) {
	var (
		lex  lexer.Lexer
		rows perconaRows
		end  int // of the last token
	)
	lex.Init(sql, mode)
	for {
		t := lex.Next()
		dst = append(dst, sql[end:t.Start]...)
		end = t.End
		s := sql[t.Start:t.End]
		switch t.Kind {
		case lexer.EOF:
			return dst, false
		case lexer.Comment:
			if isToolComment(s) {
				return dst, true
			}
			continue
		case lexer.Hint:
			continue
		case lexer.ExecOpen:
			if s[len("/*")] == 'M' { // a comment to pt-query-digest
				for t.Kind != lexer.ExecClose && t.Kind != lexer.EOF {
					t = lex.Next()
				}
				end = t.End
				continue
			}
		case lexer.String, lexer.Bits:
			if i := strings.IndexAny(s, `'"`); i >= 0 {
				dst = append(append(dst, s[:i]...), '?')
				s = ""
			} else { // a hexadecimal or binary number
				s = "?"
			}
		case lexer.Number:
			if keepNumbers && strings.Contains(s, "E") {
				s = "?"
			}
		case lexer.QuotedIdent, lexer.Variable:
			if t.Unterminated() {
				s = "?"
			}
		}
		dst = append(dst, s...)
		if rows.read(t, s, len(dst)) {
			return dst[:rows.end], false
		}
	}
}

// perconaRows finds the end of the first of several rows of an INSERT or
// REPLACE.
type perconaRows struct {
	state rowsState
	end   int // behind the last closing parenthesis
}

type rowsState uint8

const (
	rowsBegin  rowsState = iota // of the text
	rowsVerb                    // behind INSERT or REPLACE
	rowsInto                    // behind INTO
	rowsValues                  // behind VALUES
	rowsIn                      // behind its first parenthesis
	rowsClosed                  // behind a closing parenthesis
	rowsComma                   // behind a comma behind it
	rowsNone                    // the text is something else
)

// read reads a token and reports whether it opens a second row. n is the
// length of what was written.
func (r *perconaRows) read(t lexer.Token, s string, n int) bool {
	w := t.Word
	if t.Kind != lexer.Ident {
		w = 0
	}
	switch r.state {
	case rowsBegin:
		r.state = rowsNone
		if t.Start == 0 && (w == lexer.Insert || w == lexer.Replace) {
			r.state = rowsVerb
		}
	case rowsVerb:
		switch w {
		case lexer.Into:
			r.state = rowsInto
		case lexer.Ignore:
		default:
			r.state = rowsNone
		}
	case rowsInto:
		if w == lexer.Values {
			r.state = rowsValues
		}
	case rowsValues:
		r.state = rowsInto
		if s == "(" {
			r.state = rowsIn
		}
	case rowsIn:
		if s == ")" {
			r.state, r.end = rowsClosed, n
		}
	case rowsClosed:
		r.state = rowsIn
		switch s {
		case ",":
			r.state = rowsComma
		case ")":
			r.state, r.end = rowsClosed, n
		}
	case rowsComma:
		if s == "(" {
			return true
		}
		r.state = rowsIn
	}
	return false
}

// isToolComment reports whether s has the form /*word.word:1/2*/.
func isToolComment(s string) bool {
	s, ok := strings.CutPrefix(s, "/*")
	if !ok || len(s) < len(":1/2*/") {
		return false
	}
	s, mark := s[:len(s)-len(":1/2*/")], s[len(s)-len(":1/2*/"):]
	if mark[0] != ':' || !isDigit(mark[1]) || mark[2] != '/' || !isDigit(mark[3]) || mark[4:] != "*/" {
		return false
	}
	db, table, ok := strings.Cut(s, ".")
	return ok && isWords(db) && isWords(table)
}

func isWords(s string) bool {
	for i := range len(s) {
		if !isWordByte(s[i]) {
			return false
		}
	}
	return s != ""
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWordByte(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' }

func isSpaceRune(r rune) bool { return r == ' ' || '\t' <= r && r <= '\r' }

// boundary reports whether a word begins or ends at s[i].
func boundary(s []byte, i int) bool {
	before := i > 0 && isWordByte(s[i-1])
	behind := i < len(s) && isWordByte(s[i])
	return before != behind
}

// replaceWords replaces whole words, in any case, by ?, in place.
func replaceWords(s []byte, words ...string) []byte {
	out := s[:0]
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && isWordByte(s[j]) {
			j++
		}
		if j == i {
			out = append(out, s[i])
			i++
			continue
		}
		word := s[i:j]
		i = j
		for _, w := range words {
			if len(word) == len(w) && strings.EqualFold(string(word), w) {
				word = []byte{'?'}
				break
			}
		}
		out = append(out, word...)
	}
	return out
}

// replaceNumbers replaces what pt-query-digest takes for a number by ?, in
// place: /[0-9+-][0-9a-f.xb+-]*/, or only behind a word boundary.
func replaceNumbers(s []byte, keepInNames bool) []byte {
	out := s[:0]
	var last byte // what stood before s[i], which out may have overwritten
	for i := 0; i < len(s); {
		c := s[i]
		begins := isDigit(c) || c == '+' || c == '-'
		if begins && keepInNames {
			begins = (i > 0 && isWordByte(last)) != isWordByte(c)
		}
		if !begins {
			out = append(out, c)
			last = c
			i++
			continue
		}
		for i++; i < len(s) && (isDigit(s[i]) || 'a' <= s[i] && s[i] <= 'f' || s[i] == '.' || s[i] == 'x' || s[i] == '+' || s[i] == '-'); i++ {
			c = s[i]
		}
		last = c
		out = append(out, '?')
	}
	return out
}

// replaceLeftovers replaces x?, b?, .?, +? and -? by ?, in place.
func replaceLeftovers(s []byte) []byte {
	out := s[:0]
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case 'x', 'b', '.', '+', '-':
			if i+1 < len(s) && s[i+1] == '?' {
				i++
			}
		}
		out = append(out, s[i])
	}
	return out
}

// squeeze writes one space for each run of white space, and lower case, in
// place.
func squeeze(s []byte) []byte {
	out := s[:0]
	for _, c := range s {
		switch {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f':
			if n := len(out); n > 0 && out[n-1] == ' ' {
				continue
			}
			c = ' '
		case 'A' <= c && c <= 'Z':
			c |= 0x20
		}
		out = append(out, c)
	}
	return out
}

// appendLists appends s to dst with each in and value or values that has flat
// lists of literals behind it as in(?+).
func appendLists(dst, s []byte) []byte {
	for i := 0; i < len(s); {
		if s[i] != 'i' && s[i] != 'v' || !boundary(s, i) {
			dst = append(dst, s[i])
			i++
			continue
		}
		word := 0
		for _, w := range []string{"in", "values", "value"} {
			if bytes.HasPrefix(s[i:], []byte(w)) {
				word = len(w)
				break
			}
		}
		end := 0 // behind the last list
		for j := i + word; word > 0; {
			k := j
			for k < len(s) && (isSpace(s[k]) || s[k] == ',') {
				k++
			}
			if k == len(s) || s[k] != '(' {
				break
			}
			for k++; k < len(s) && (isSpace(s[k]) || s[k] == ',' || s[k] == '?'); k++ {
			}
			if k == len(s) || s[k] != ')' {
				break
			}
			j, end = k+1, k+1
		}
		dst = append(dst, s[i:i+max(word, 1)]...)
		if i += max(word, 1); end > 0 {
			dst = append(dst, "(?+)"...)
			i = end
		}
	}
	return dst
}

// maxRepeats is how many pairs of queries appendRepeats compares at most.
const maxRepeats = 10000

// appendRepeats appends s to dst with a query that UNION repeats word for word
// written once: select … /*repeat union all*/.
func appendRepeats(dst, s []byte) []byte {
	unions := findUnions(s)
	if len(unions) == 0 {
		return append(dst, s...)
	}
	pairs := 0
	for i := 0; i < len(s); {
		const verb = len("select ")
		for len(unions) > 0 && unions[0].start < i+verb {
			unions = unions[1:]
		}
		if s[i] != 's' || !bytes.HasPrefix(s[i:], []byte("select")) || !boundary(s, i) ||
			i+verb > len(s) || !isSpace(s[i+verb-1]) {
			dst = append(dst, s[i])
			i++
			continue
		}
		query, last, end := s[i:i+1], union{}, i+1
		for k := 0; k < len(unions) && last.end == 0 && pairs < maxRepeats; k++ {
			pairs++
			u := unions[k]
			if !bytes.HasPrefix(s[u.end+1:], s[i:u.start]) {
				continue
			}
			query, last, end = s[i:u.start], u, u.end+1+u.start-i
			for k++; k < len(unions) && unions[k].start <= end; k++ { // more of them
				if u := unions[k]; u.start == end && bytes.HasPrefix(s[u.end+1:], query) {
					last, end = u, u.end+1+len(query)
				}
			}
		}
		dst = append(dst, query...)
		if last.end > 0 {
			dst = append(append(append(dst, " /*repeat"...), s[last.start:last.end]...), "*/"...)
		}
		i = end
	}
	return dst
}

// union is the place of a " union" or " union all".
type union struct{ start, end int }

// findUnions returns the unions of s that have white space behind them.
func findUnions(s []byte) (unions []union) {
	for i := 1; i < len(s); i++ {
		k := bytes.Index(s[i:], []byte("union"))
		if k < 0 {
			break
		}
		i += k
		end := i + len("union")
		if !isSpace(s[i-1]) || end == len(s) || !isSpace(s[end]) {
			continue
		}
		if rest := s[end:]; len(rest) > 4 && string(rest[1:4]) == "all" && isSpace(rest[4]) {
			end += len(" all")
		}
		unions = append(unions, union{i - 1, end})
	}
	return unions
}

// collapseLimit writes the first limit with one literal, in place.
func collapseLimit(s []byte) []byte {
	const limit = "limit ?"
	for i := 0; ; i++ {
		k := bytes.Index(s[i:], []byte(limit))
		if k < 0 {
			return s
		}
		if i += k; !boundary(s, i) {
			continue
		}
		end := i + len(limit)
		for _, more := range []string{", ?", ",?", " offset ?"} {
			if bytes.HasPrefix(s[end:], []byte(more)) {
				return append(s[:end], s[end+len(more):]...)
			}
		}
		return s
	}
}

// dropAscending drops each asc behind the first order by, in place.
func dropAscending(s []byte) []byte {
	const order = "order by "
	i := 0
	for {
		k := bytes.Index(s[i:], []byte(order))
		if k < 0 {
			return s
		}
		if i += k; boundary(s, i) {
			i += len(order)
			break
		}
		i++
	}
	out := s[:i]
	for from := i; i < len(s); { // from is the end of the last asc
		j := i
		for j < len(s) && isSpace(s[j]) {
			j++
		}
		if j > i && i > from && bytes.HasPrefix(s[j:], []byte("asc")) {
			i = j + len("asc")
			from = i
			continue
		}
		j = max(j, i+1)
		out = append(out, s[i:j]...)
		i = j
	}
	return out
}
