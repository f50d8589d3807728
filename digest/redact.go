package digest

import "bytes"

// AppendRedacted appends sql to dst with ? for every literal and without its
// comments, and returns the longer slice. Layout, case and quotes stay as they
// are. Signs, introducers and the types of date literals go with their
// literals. Where the text ends inside a string or a quoted name, that is ?
// too. Three dots at the end, the mark of a text that was cut, stay. The
// fingerprint of the redacted text is the fingerprint of sql.
func (f *Fingerprinter) AppendRedacted(dst []byte, sql string) []byte {
	if isAdmin(sql) {
		return append(dst, sql...)
	}
	var r reader
	o := f.Options
	o.FoldNumbers = false
	cut := ellipsisAt(sql)
	r.init(sql[:cut], o)
	var (
		start   = len(dst)
		end     = 0     // of the last token in sql
		sign    = -1    // len(dst) before the signs that end dst
		comment = false // a comment was dropped that may have parted two tokens
	)
	for {
		t := r.lex.Next()
		c := r.classify(t)
		gap, text := sql[end:t.Start], sql[t.Start:t.End]
		end = t.End
		comment = comment && gap == ""
		literal := c == aValue || c == aText
		if sign < 0 || !literal {
			dst = append(dst, gap...)
		}
		switch c {
		case atEnd:
			return append(dst, sql[cut:]...)
		case aComment:
			if so := dst[start:]; bytes.HasSuffix(so, []byte("--")) || ellipsisAt(so) < len(so) || endsInExponent(so) {
				dst = append(dst, "/**/"...) // without it these may read as a comment, as the mark of a cut, or as a cut number
			}
			comment = len(dst) > start && !isSpace(dst[len(dst)-1])
			continue
		case aPrefix, aMore:
			continue
		}
		if comment && sign < 0 {
			dst = append(dst, ' ')
		}
		comment = false
		if c != anExec {
			r.last = c
		}
		switch c {
		case aValue, aText:
			if sign >= 0 {
				dst = dst[:sign]
			}
			dst = append(dst, literalMark(t.Kind)...)
		case aHintOpen:
			dst = append(dst, "/*+"...)
			end = t.Start + len("/*+")
		case aHintClose:
			dst = append(dst, "*/"...)
			end = t.Start + len("*/")
		default:
			if c == aSign && sign < 0 {
				sign = len(dst)
			}
			dst = append(dst, text...)
		}
		if c != aSign {
			sign = -1
		}
	}
}

// endsInExponent reports whether text ends in what may be the beginning of a
// number's exponent, as 0e or 0e+.
func endsInExponent(text []byte) bool {
	text = bytes.TrimRight(text, "+-")
	n := len(text)
	return n >= 2 && text[n-1]|0x20 == 'e' && isDigit(text[n-2])
}

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }
