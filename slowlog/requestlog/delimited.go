package requestlog

import (
	"bytes"
	"fmt"
	"strings"
)

// parseLTSV reads labels and values: "time:…<TAB>host:…". Parts without a label
// are forgiven as long as one part has one.
func (r *Reader) parseLTSV(s string) string {
	labelled := false
	escaped := strings.IndexByte(s, '\\') >= 0
	prev, root := &r.scheme.root, &r.scheme.root
	for s != "" {
		var f *field
		if n := prev.next; n != nil && len(s) > len(n.key) && s[len(n.key)] == ':' && s[:len(n.key)] == n.key {
			f, s = n, s[len(n.key)+1:]
		} else {
			i := strings.IndexByte(s, ':')
			if t := strings.IndexByte(s, '\t'); i <= 0 || t >= 0 && t < i {
				if t < 0 {
					break
				}
				s = s[t+1:]
				continue
			}
			f = r.scheme.find(prev, root, s[:i])
			s = s[i+1:]
		}
		labelled = true
		value := s
		if t := strings.IndexByte(s, '\t'); t >= 0 {
			value, s = s[:t], s[t+1:]
		} else {
			s = ""
		}
		if escaped {
			value = unescapeHex(value)
		}
		r.rec.set(f, value)
		prev = f
	}
	if !labelled {
		return "no label:value in the line"
	}
	return ""
}

// unescapeHex undoes the \xHH that nginx writes for what is not printable ASCII, and
// for quotes and backslashes, in all its formats but JSON.
func unescapeHex(s string) string {
	i := strings.Index(s, `\x`)
	if i < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for ; i >= 0; i = strings.Index(s, `\x`) {
		b = append(b, s[:i]...)
		if v, ok := hex(s, i+2, 2); ok {
			b = append(b, byte(v))
			s = s[i+4:]
		} else {
			b = append(b, `\x`...)
			s = s[i+2:]
		}
	}
	return string(append(b, s...))
}

// parseLogfmt reads key=value and key="quoted value" parts; a bare word is a key
// without a value.
func (r *Reader) parseLogfmt(s string) string {
	found := false
	prev, root := &r.scheme.root, &r.scheme.root
	for i := 0; i < len(s); {
		if s[i] == ' ' || s[i] == '\t' {
			i++
			continue
		}
		start := i
		for i < len(s) && s[i] != '=' && s[i] != ' ' && s[i] != '\t' {
			i++
		}
		if i >= len(s) || s[i] != '=' || i == start {
			i++
			continue
		}
		key := s[start:i]
		i++
		value := ""
		if i < len(s) && s[i] == '"' {
			end, escaped := quotedEnd(s, i+1)
			if end < 0 {
				return "value without its closing quote"
			}
			if value = s[i+1 : end]; escaped {
				value = unescapeJSON(value)
			}
			i = end + 1
		} else {
			start := i
			for i < len(s) && s[i] != ' ' && s[i] != '\t' {
				i++
			}
			value = s[start:i]
		}
		f := r.scheme.find(prev, root, key)
		r.rec.set(f, value)
		prev, found = f, true
	}
	if !found {
		return "no key=value in the line"
	}
	return ""
}

// quotedEnd returns the index of the quote that ends a string with backslash
// escapes, -1 if there is none, and whether there are escapes.
func quotedEnd(s string, i int) (end int, escaped bool) {
	for ; i < len(s); i++ {
		switch s[i] {
		case '\\':
			escaped = true
			i++
		case '"':
			return i, escaped
		}
	}
	return -1, escaped
}

// joinQuoted returns the CSV record that begins in line: a quoted field may hold
// line ends.
func (r *Reader) joinQuoted(line []byte) ([]byte, string) {
	if n := bytes.IndexByte(line, '"'); n < 0 || bytes.Count(line[n:], []byte{'"'})%2 == 0 {
		return line, ""
	}
	r.long = append(r.long[:0], line...)
	for {
		next, ok := r.join()
		if !ok {
			return nil, "quoted field without its end"
		}
		if bytes.Count(next, []byte{'"'})%2 == 1 {
			return r.long, ""
		}
	}
}

// joinEscaped returns the TSV record that begins in line: SELECT … INTO OUTFILE
// writes a line end inside a value as a backslash before it.
func (r *Reader) joinEscaped(line []byte) ([]byte, string) {
	if !oddBackslashes(line) {
		return line, ""
	}
	r.long = append(r.long[:0], line...)
	for {
		next, ok := r.join()
		if !ok {
			return nil, "escaped line end without a line behind it"
		}
		if !oddBackslashes(next) {
			return r.long, ""
		}
	}
}

func oddBackslashes(b []byte) bool {
	n := 0
	for n < len(b) && b[len(b)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// parseCSV reads a record as RFC 4180 has it.
func (r *Reader) parseCSV(s string) string {
	if r.columns == nil {
		if r.comma == 0 {
			r.comma = guessComma(s)
		}
		fields := splitCSV(nil, s, r.comma)
		r.setHeader(s, fields)
		return headerLine
	}
	if s == r.header {
		return headerLine
	}
	n := 0
	for i := 0; i <= len(s); n++ {
		var value string
		if i < len(s) && s[i] == '"' {
			value, i = unquoteCSV(s, i+1, r.comma)
		} else if j := strings.IndexByte(s[i:], r.comma); j >= 0 {
			value, i = s[i:i+j], i+j
		} else {
			value, i = s[i:], len(s)
		}
		if n < len(r.columns) {
			r.rec.set(r.columns[n], value)
		}
		i++ // the comma
	}
	return r.countColumns(n)
}

// headerLine is the reason that parse gives for a line that is no record at all.
const headerLine = "header"

// unquoteCSV reads a quoted field behind its first quote.
func unquoteCSV(s string, i int, comma byte) (string, int) {
	start, doubled := i, false
	for i < len(s) {
		if s[i] == '"' {
			if i+1 < len(s) && s[i+1] == '"' {
				doubled = true
				i += 2
				continue
			}
			break
		}
		i++
	}
	value := s[start:min(i, len(s))]
	if doubled {
		value = strings.ReplaceAll(value, `""`, `"`)
	}
	if i < len(s) {
		i++
	}
	if i < len(s) && s[i] != comma { // text behind the quote belongs to the field
		j := strings.IndexByte(s[i:], comma)
		if j < 0 {
			j = len(s) - i
		}
		value += s[i : i+j]
		i += j
	}
	return value, i
}

func splitCSV(fields []string, s string, comma byte) []string {
	for i := 0; i <= len(s); i++ {
		var value string
		if i < len(s) && s[i] == '"' {
			value, i = unquoteCSV(s, i+1, comma)
		} else if j := strings.IndexByte(s[i:], comma); j >= 0 {
			value, i = s[i:i+j], i+j
		} else {
			value, i = s[i:], len(s)
		}
		fields = append(fields, value)
	}
	return fields
}

func guessComma(header string) byte {
	best, n := byte(','), 0
	for _, c := range []byte{',', ';', '|'} {
		if k := strings.Count(header, string(c)); k > n {
			best, n = c, k
		}
	}
	return best
}

// parseTSV reads what mysql -B and SELECT … INTO OUTFILE write: tabs between
// values, backslash escapes inside, NULL or \N for no value.
func (r *Reader) parseTSV(s string) string {
	if r.columns == nil {
		r.setHeader(s, strings.Split(s, "\t"))
		return headerLine
	}
	if s == r.header {
		return headerLine
	}
	n := 0
	for more := true; more; n++ {
		value := s
		if t := tabEnd(s); t >= 0 {
			value, s = s[:t], s[t+1:]
		} else {
			more = false
		}
		if value == `\N` || value == "NULL" || n >= len(r.columns) {
			continue
		}
		if strings.IndexByte(value, '\\') >= 0 {
			value = unescapeSQL(value)
		}
		r.rec.set(r.columns[n], value)
	}
	return r.countColumns(n)
}

// tabEnd returns the index of the next tab that is not escaped, -1 if there is none.
func tabEnd(s string) int {
	t := strings.IndexByte(s, '\t')
	if t <= 0 || s[t-1] != '\\' {
		return t
	}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '\t':
			return i
		}
	}
	return -1
}

// unescapeSQL undoes the escapes of the mysql client and of INTO OUTFILE.
func unescapeSQL(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b = append(b, s[i])
			continue
		}
		i++
		switch s[i] {
		case 'n':
			b = append(b, '\n')
		case 't':
			b = append(b, '\t')
		case 'r':
			b = append(b, '\r')
		case '0':
			b = append(b, 0)
		default:
			b = append(b, s[i])
		}
	}
	return string(b)
}

func (r *Reader) setHeader(line string, names []string) {
	r.header = strings.Clone(line)
	r.columns = make([]*field, 0, len(names))
	for i, name := range names {
		r.columns = append(r.columns, r.scheme.column(strings.TrimSpace(name), i+1))
	}
}

func (r *Reader) countColumns(n int) string {
	if n != len(r.columns) {
		return fmt.Sprintf("columns: %d, want %d", n, len(r.columns))
	}
	return ""
}

// directive reads a line of a W3C log that begins with #.
func (r *Reader) directive(line string) {
	names, ok := strings.CutPrefix(line, "#Fields:")
	if !ok {
		return
	}
	r.columns = r.columns[:0]
	for name := range strings.FieldsSeq(names) {
		f := r.scheme.column(name, 0)
		switch name {
		case "date":
			f.meaning = meaning{target: tDate}
		case "time":
			f.meaning = meaning{target: tClock}
		}
		r.columns = append(r.columns, f)
	}
}

// parseW3C reads the fields that the last #Fields directive named, separated by
// blanks or tabs.
func (r *Reader) parseW3C(s string) string {
	if len(r.columns) == 0 {
		return "no #Fields directive before the line"
	}
	n := 0
	for i := 0; i < len(s); {
		if s[i] == ' ' || s[i] == '\t' {
			i++
			continue
		}
		start := i
		if s[i] == '"' {
			if j := strings.IndexByte(s[i+1:], '"'); j >= 0 {
				i += j + 2
			}
		}
		for i < len(s) && s[i] != ' ' && s[i] != '\t' {
			i++
		}
		if n < len(r.columns) {
			r.rec.set(r.columns[n], strings.Trim(s[start:i], `"`))
		}
		n++
	}
	return r.countColumns(n)
}
