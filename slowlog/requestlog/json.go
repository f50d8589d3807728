package requestlog

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

const maxDepth = 16 // objects nested deeper are kept as text

// openObject is the reason that parse gives for an object that goes on in the next line.
const openObject = "object without its end"

// isArrayFrame says whether the line is the bracket of an array of objects.
func isArrayFrame(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 1 && (line[0] == '[' || line[0] == ']' || line[0] == ',')
}

// prefixLen returns the length of what a container's log or syslog writes before an object.
func prefixLen(line []byte) int {
	if line[0] == '{' {
		return 0
	}
	if i := bytes.Index(line, []byte(`{"`)); i > 0 {
		return i
	}
	return max(0, bytes.IndexByte(line, '{'))
}

// joinObject returns the whole object that begins in line, as those do that were
// printed for people. A line that begins a new object at its margin ends a damaged one.
func (r *Reader) joinObject(line []byte) ([]byte, string) {
	var depth jsonDepth
	if depth.feed(line) {
		return nil, "broken JSON"
	}
	r.long = append(r.long[:0], line...)
	for {
		next, ok := r.join()
		if !ok {
			return nil, openObject
		}
		if len(next) > 0 && next[0] == '{' {
			return nil, openObject + " before the next one begins"
		}
		if depth.feed(next) {
			return r.long, ""
		}
	}
}

// jsonDepth follows the nesting of an object across lines.
type jsonDepth struct {
	depth  int
	string bool
}

// feed reports whether the object ends in b.
func (d *jsonDepth) feed(b []byte) bool {
	for i := 0; i < len(b); i++ {
		if d.string {
			j := bytes.IndexAny(b[i:], `"\`)
			if j < 0 {
				return false
			}
			i += j
			if b[i] == '\\' {
				i++
			} else {
				d.string = false
			}
			continue
		}
		switch b[i] {
		case '"':
			d.string = true
		case '{', '[':
			d.depth++
		case '}', ']':
			d.depth--
			if d.depth == 0 {
				return true
			}
		}
	}
	return false
}

// parseJSON reads one object. What stands behind its end is no part of it.
func (r *Reader) parseJSON(s string) string {
	if s[0] != '{' {
		return "no JSON object"
	}
	p := jsonParser{s: s, scheme: r.scheme, rec: &r.rec, prev: &r.scheme.root}
	if !p.object(&r.scheme.root, 1) {
		if p.i >= len(s) {
			return openObject
		}
		return "broken JSON at byte " + strconv.Itoa(p.i+1) + " of the object"
	}
	return ""
}

// A jsonParser walks one object and hands each leaf to the record. encoding/json
// would decode into maps what is known to have mostly the same shape.
type jsonParser struct {
	s      string
	i      int
	scheme *scheme
	rec    *record
	prev   *field
}

func (p *jsonParser) space() {
	for p.i < len(p.s) && (p.s[p.i] == ' ' || p.s[p.i] == '\t' || p.s[p.i] == '\n' || p.s[p.i] == '\r') {
		p.i++
	}
}

// object reads the object at p.i, whose members are fields inside parent.
func (p *jsonParser) object(parent *field, depth int) bool {
	p.i++ // {
	p.space()
	if p.i < len(p.s) && p.s[p.i] == '}' {
		p.i++
		return true
	}
	for {
		p.space()
		if p.i >= len(p.s) || p.s[p.i] != '"' {
			return false
		}
		f, ok := p.key(parent)
		if !ok {
			return false
		}
		p.prev = f
		if p.i >= len(p.s) || p.s[p.i] != ':' {
			p.space()
			if p.i >= len(p.s) || p.s[p.i] != ':' {
				return false
			}
		}
		p.i++
		if p.i < len(p.s) && p.s[p.i] <= ' ' {
			p.space()
		}
		if p.i >= len(p.s) || !p.value(f, depth) {
			return false
		}
		p.space()
		if p.i >= len(p.s) {
			return false
		}
		switch p.s[p.i] {
		case ',':
			p.i++
		case '}':
			p.i++
			return true
		default:
			return false
		}
	}
}

// key reads a member's name and returns its field.
func (p *jsonParser) key(parent *field) (*field, bool) {
	if n := p.prev.next; n != nil && n.parent == parent {
		end := p.i + 1 + len(n.key)
		if end < len(p.s) && p.s[end] == '"' && p.s[p.i+1:end] == n.key {
			p.i = end + 1
			return n, true
		}
	}
	key, ok := p.string()
	if !ok {
		return nil, false
	}
	return p.scheme.find(p.prev, parent, key), true
}

func (p *jsonParser) value(f *field, depth int) bool {
	switch c := p.s[p.i]; c {
	case '"':
		v, ok := p.string()
		if ok {
			p.rec.set(f, v)
		}
		return ok
	case '{':
		if depth < maxDepth {
			return p.object(f, depth+1)
		}
		return p.raw(f)
	case '[':
		return p.raw(f)
	case 't', 'f', 'n':
		for _, word := range [...]string{"true", "false", "null"} {
			if strings.HasPrefix(p.s[p.i:], word) {
				if c != 'n' {
					p.rec.set(f, word)
				}
				p.i += len(word)
				return true
			}
		}
		return false
	default:
		start := p.i
		for p.i < len(p.s) && numberByte[p.s[p.i]] {
			p.i++
		}
		if p.i == start || c == '+' || c == '.' {
			return false
		}
		p.rec.set(f, p.s[start:p.i])
		return true
	}
}

var numberByte = [256]bool{'0': true, '1': true, '2': true, '3': true, '4': true, '5': true, '6': true, '7': true,
	'8': true, '9': true, '-': true, '+': true, '.': true, 'e': true, 'E': true}

// raw keeps an array, or an object nested too deeply, as the text it is.
func (p *jsonParser) raw(f *field) bool {
	var d jsonDepth
	start := p.i
	b := unsafe.Slice(unsafe.StringData(p.s), len(p.s))
	for end := start; end < len(p.s); {
		j := strings.IndexAny(p.s[end:], "]}")
		if j < 0 {
			break
		}
		next := end + j + 1
		if d.feed(b[end:next]) {
			p.i = next
			p.rec.attr(f, p.s[start:next])
			return true
		}
		end = next
	}
	p.i = len(p.s)
	return false
}

// string reads the string at p.i.
func (p *jsonParser) string() (string, bool) {
	start := p.i + 1
	j := strings.IndexByte(p.s[start:], '"')
	if j < 0 {
		p.i = len(p.s)
		return "", false
	}
	if s := p.s[start : start+j]; strings.IndexByte(s, '\\') < 0 {
		p.i = start + j + 1
		return s, true
	}
	end := start
	for end < len(p.s) && p.s[end] != '"' {
		if p.s[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(p.s) {
		p.i = len(p.s)
		return "", false
	}
	p.i = end + 1
	return unescapeJSON(p.s[start:end]), true
}

// unescapeJSON undoes JSON's escapes; nginx's \xHH, which its older versions write
// into JSON, is undone too. What is no escape stays as it is.
func unescapeJSON(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 >= len(s) {
			b = append(b, s[i])
			continue
		}
		i++
		switch s[i] {
		case '"', '\\', '/':
			b = append(b, s[i])
		case 'b':
			b = append(b, '\b')
		case 'f':
			b = append(b, '\f')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'x':
			if v, ok := hex(s, i+1, 2); ok {
				b = append(b, byte(v))
				i += 2
			} else {
				b = append(b, `\x`...)
			}
		case 'u':
			v, ok := hex(s, i+1, 4)
			if !ok {
				b = append(b, `\u`...)
				continue
			}
			i += 4
			if utf16.IsSurrogate(v) {
				low, ok := hex(s, i+3, 4)
				if ok && i+2 < len(s) && s[i+1] == '\\' && s[i+2] == 'u' {
					if pair := utf16.DecodeRune(v, low); pair != utf8.RuneError {
						b = utf8.AppendRune(b, pair)
						i += 6
						continue
					}
				}
				v = utf8.RuneError
			}
			b = utf8.AppendRune(b, v)
		default:
			b = append(b, '\\', s[i])
		}
	}
	return string(b)
}

// hex reads n hexadecimal digits of s at i.
func hex(s string, i, n int) (rune, bool) {
	if i+n > len(s) {
		return 0, false
	}
	var v rune
	for _, c := range []byte(s[i : i+n]) {
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			v = v<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return v, true
}
