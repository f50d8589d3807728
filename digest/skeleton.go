package digest

import (
	"strings"

	"github.com/quern-dev/quern/internal/lexer"
)

// A skeleton is a statement as it stands but for its plain literals and
// comments, which a mark replaces:
//
//	SELECT a FROM t WHERE b = 'x' AND c IN (1, 2) /* d */
//	SELECT a FROM t WHERE b = ☐ AND c IN (☐) ☐
//
// It takes one pass of little work, and statements that a program sends over and
// over differ in nothing else: who remembers the fingerprint that a skeleton has
// needs no lexer to find it again. Statements of one skeleton have one
// fingerprint; those of one fingerprint may have many skeletons.
//
// Whatever is not plain has no skeleton: a hint or an executable comment, a
// literal with something of its own before or behind it, a statement that is not
// whole.

// The marks are bytes that a statement with a skeleton does not hold. There is
// one for each kind of literal, because words as DATE ask what stands behind them.
const (
	numberSlot = 1 + iota
	hexSlot
	singleSlot // 'x'
	doubleSlot // "x"
	listSlot   // 1, 'x'
	commentSlot
)

// hasMark says whether a text has a byte that would be a mark in a skeleton.
func hasMark(s string) bool {
	for i := range len(s) {
		if s[i]-1 < commentSlot {
			return true
		}
	}
	return false
}

// maxSkeleton is the longest statement that skeletons are made of. The lexer
// spends little on the literals that longer ones consist of.
const maxSkeleton = 4 << 10

// Byte classes of skeletons. The first two can be passed over.
const (
	skelOther = iota
	skelName  // letters, _ $ and bytes of other characters
	skelDigit
	skelQuote   // ' and "
	skelTick    // `
	skelSlash   // a comment, perhaps
	skelMinus   // a comment, perhaps
	skelHash    // #
	skelOpen    // (
	skelForeign // what is not plain: controls, \N
)

var skelClass = func() (t [256]uint8) {
	for c := range t {
		switch {
		case c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f || c == '\\':
			t[c] = skelForeign
		case c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '$' || c >= 0x80:
			t[c] = skelName
		case c >= '0' && c <= '9':
			t[c] = skelDigit
		case c == '\'' || c == '"':
			t[c] = skelQuote
		case c == '`':
			t[c] = skelTick
		case c == '/':
			t[c] = skelSlash
		case c == '-':
			t[c] = skelMinus
		case c == '#':
			t[c] = skelHash
		case c == '(':
			t[c] = skelOpen
		}
	}
	return t
}()

// What stands next to a literal that is not plain.
var noLiteralBehind, noLiteralBefore = func() (behind, before [256]bool) {
	for c := range 256 {
		name := skelClass[c] == skelName || skelClass[c] == skelDigit
		behind[c] = name || strings.IndexByte(".@:'\"`&\\", byte(c)) >= 0
		before[c] = name || strings.IndexByte(".@'\"`", byte(c)) >= 0
	}
	return behind, before
}()

// appendSkeleton appends the skeleton of sql, read with the default sql_mode. It
// is not ok if sql has none.
func appendSkeleton(dst []byte, sql string) (skeleton []byte, ok bool) {
	if len(sql) > maxSkeleton {
		return dst, false
	}
	from := 0 // of what is still to be copied
	for i := 0; ; {
		for len(sql)-i >= 4 { // by four bytes
			if w := sql[i : i+4]; skelClass[w[0]]|skelClass[w[1]]|skelClass[w[2]]|skelClass[w[3]] > skelName {
				break
			}
			i += 4
		}
		for i < len(sql) && skelClass[sql[i]] <= skelName {
			i++
		}
		if i == len(sql) {
			return append(dst, sql[from:]...), true
		}
		switch skelClass[sql[i]] {
		case skelDigit, skelQuote:
			if i > 0 && skelClass[sql[i-1]] == skelName && sql[i]-'0' < 10 {
				i = lexer.DigitsEnd(sql, i) // in a name
				break
			}
			end := plainLiteral(sql, i)
			if end < 0 {
				return dst, false
			}
			dst = append(append(dst, sql[from:i]...), slotOf(sql, i))
			i, from = end, end
		case skelTick:
			n := strings.IndexByte(sql[i+1:], '`')
			if n < 0 || hasMark(sql[i+1:i+1+n]) {
				return dst, false
			}
			i += n + 2
		case skelSlash:
			if i+1 == len(sql) || sql[i+1] != '*' {
				i++
				break
			}
			if i+2 < len(sql) && (sql[i+2] == '!' || sql[i+2] == '+' || sql[i+2] == 'M') {
				return dst, false
			}
			n := strings.Index(sql[i+2:], "*/")
			if n < 0 {
				return dst, false
			}
			dst = append(append(dst, sql[from:i]...), commentSlot)
			i += n + 4
			from = i
		case skelMinus, skelHash:
			if sql[i] == '-' && !lexer.OpensLineComment(sql[i:]) {
				i++
				break
			}
			dst = append(append(dst, sql[from:i]...), commentSlot)
			if n := strings.IndexByte(sql[i:], '\n'); n >= 0 {
				i += n
			} else {
				i = len(sql)
			}
			from = i
		case skelOpen:
			i++
			if !behindIn(sql, i-1) {
				break
			}
			// A list of literals alone has one mark, however long it is.
			if end := plainList(sql, i); end > 0 {
				dst = append(append(dst, sql[from:i]...), listSlot)
				i, from = end, end
			}
		default:
			return dst, false
		}
	}
}

// slotOf returns the mark for the plain literal at sql[i:].
func slotOf(sql string, i int) byte {
	switch {
	case sql[i] == '\'':
		return singleSlot
	case sql[i] == '"':
		return doubleSlot
	case sql[i] == '0' && i+1 < len(sql) && sql[i+1] == 'x':
		return hexSlot
	}
	return numberSlot
}

// plainLiteral returns where the literal at sql[i:] ends: a decimal or a
// hexadecimal number, a string. It returns -1 if what
// stands there, or next to it, is anything else.
func plainLiteral(sql string, i int) (end int) {
	if i > 0 && noLiteralBehind[sql[i-1]] {
		return -1
	}
	if q := sql[i]; q == '\'' || q == '"' {
		for i++; ; i++ {
			n := strings.IndexByte(sql[i:], q)
			if n < 0 {
				return -1
			}
			i += n
			if escapes(sql[i-n:i])%2 == 1 {
				continue // an escaped quote
			}
			if i++; i == len(sql) || sql[i] != q {
				break
			}
		}
	} else if sql[i] == '0' && i+2 < len(sql) && sql[i+1] == 'x' {
		from := i + 2
		for i = from; i < len(sql) && (sql[i]-'0' < 10 || sql[i]|0x20-'a' < 6); i++ {
		}
		if i == from {
			return -1
		}
	} else {
		i = lexer.DigitsEnd(sql, i)
		if i+1 < len(sql) && sql[i] == '.' && sql[i+1]-'0' < 10 {
			i = lexer.DigitsEnd(sql, i+1)
		}
		if i+1 < len(sql) && sql[i]|0x20 == 'e' {
			j := i + 1
			if sql[j] == '-' || sql[j] == '+' {
				j++
			}
			if j < len(sql) && sql[j]-'0' < 10 {
				i = lexer.DigitsEnd(sql, j)
			}
		}
	}
	if i < len(sql) && noLiteralBefore[sql[i]] {
		return -1
	}
	return i
}

// escapes counts the backslashes at the end of s.
func escapes(s string) (n int) {
	for n < len(s) && s[len(s)-1-n] == '\\' {
		n++
	}
	return n
}

// behindIn reports whether the parenthesis at sql[i] stands behind the word IN.
func behindIn(sql string, i int) bool {
	for i > 0 && sql[i-1] == ' ' {
		i--
	}
	if i < 3 || sql[i-2]|0x20 != 'i' || sql[i-1]|0x20 != 'n' || sql[i-3] != ' ' {
		return false
	}
	for i -= 3; i > 0 && sql[i-1] == ' '; {
		i--
	}
	if i == 0 {
		return false
	}
	switch skelClass[sql[i-1]] { // the end of an expression, so that IN is no name
	case skelName, skelDigit, skelTick, skelQuote:
		return true
	}
	return sql[i-1] == ')'
}

// plainList returns where the list of plain literals at sql[i:] ends, at its
// closing parenthesis, or -1 if it is none.
func plainList(sql string, i int) (end int) {
	for {
		for i < len(sql) && sql[i] == ' ' {
			i++
		}
		if i == len(sql) || skelClass[sql[i]] != skelDigit && skelClass[sql[i]] != skelQuote {
			return -1
		}
		if i = plainLiteral(sql, i); i < 0 {
			return -1
		}
		for i < len(sql) && sql[i] == ' ' {
			i++
		}
		switch {
		case i == len(sql):
			return -1
		case sql[i] == ')':
			return i
		case sql[i] != ',':
			return -1
		}
		i++
	}
}

// A printer makes fingerprints and remembers those of the skeletons that it met.
// The zero value works. It is not for concurrent use.
type printer struct {
	Fingerprinter
	known    map[string]*known // by skeleton
	bytes    int               // of known
	skeleton []byte
	text     []byte
}

// known is what is remembered of the statements of a skeleton.
type known struct {
	fingerprint string
	class       *Class // that an Aggregator found last, or nil
}

// maxKnown bounds the bytes of printer.known.
const maxKnown = 4 << 20

// Append is Fingerprinter.Append.
func (p *printer) Append(dst []byte, sql string) []byte {
	if k := p.look(sql); k != nil {
		return append(dst, k.fingerprint...)
	}
	return p.Fingerprinter.Append(dst, sql)
}

// look returns what is known of the statement's skeleton, nil if it has none.
func (p *printer) look(sql string) *known {
	if p.Options != (FingerprintOptions{}) {
		return nil
	}
	var ok bool
	p.skeleton, ok = appendSkeleton(p.skeleton[:0], sql)
	if !ok {
		return nil
	}
	if k := p.known[string(p.skeleton)]; k != nil {
		return k
	}
	p.text = p.Fingerprinter.Append(p.text[:0], sql)
	if p.bytes += len(p.skeleton) + len(p.text) + 96; p.known == nil || p.bytes > maxKnown {
		// Begin anew: what comes often is soon known again.
		p.known, p.bytes = make(map[string]*known), 0
	}
	k := &known{fingerprint: string(p.text)}
	p.known[string(p.skeleton)] = k
	return k
}
