package requestlog

import (
	"fmt"
	"strings"
	"time"
)

// A template is a log_format or LogFormat as a sequence of literals and variables.
// A line is matched from left to right without going back: a variable ends where
// the literal behind it begins.
type template struct {
	parts []part
	line  string // in nginx's notation, of a known template

	// sum is set where the wall time is the sum of the waits.
	sum bool
}

// A part is a literal and the variable behind it; the last part may have no name.
type part struct {
	literal string
	name    string
	rule    *meaning // what the notation itself says; nil to recognise by name
	field   *field

	quoted bool // the variable stands between quotes
	list   bool // its value may be a list with blanks
}

// Names of nginx variables whose meaning the general names do not tell.
var nginxNames = map[string]meaning{
	"host":           {target: tAttr},
	"connection":     {target: tAttr},
	"http_host":      {target: tAttr},
	"request_length": {target: tAttr},
	"uid":            {target: tAttr},
	"request_id":     {target: tID, rank: 6},
	"request_time":   {target: tWall, rank: 9, unit: time.Second},
	"bytes_sent":     {target: tBytes},
	"request_uri":    {target: tURL, rank: 6},
	"session_time":   {target: tWall, rank: 8, unit: time.Second},
}

// parseTemplate reads nginx's notation if there is a $name in the text, else Apache's.
func parseTemplate(text string) (*template, error) {
	if t := parseNginx(text); len(t.parts) > 1 || len(t.parts) == 1 && t.parts[0].name != "" {
		return t.check(text)
	}
	t, err := parseApache(text)
	if err != nil {
		return nil, err
	}
	return t.check(text)
}

// check refuses templates that cannot be told apart from left to right.
func (t *template) check(text string) (*template, error) {
	names := 0
	for i := range t.parts {
		p := &t.parts[i]
		if p.name == "" {
			continue
		}
		names++
		if i > 0 && p.literal == "" {
			return nil, fmt.Errorf("requestlog: template %q: nothing stands between %s and %s", text, t.parts[i-1].name, p.name)
		}
		p.quoted = strings.HasSuffix(p.literal, `"`)
	}
	if names == 0 {
		return nil, fmt.Errorf("requestlog: template %q holds no variable; want $name as in nginx or %%x as in Apache", text)
	}
	return t, nil
}

// parseNginx cuts $name and ${name}. It also takes a whole log_format directive as
// it stands in the configuration, with its name, quotes and line ends.
func parseNginx(text string) *template {
	if s, ok := strings.CutPrefix(strings.TrimSpace(text), "log_format"); ok {
		text = unquoteDirective(s)
	}
	t := &template{}
	var literal []byte
	for i := 0; i < len(text); {
		if text[i] != '$' {
			literal = append(literal, text[i])
			i++
			continue
		}
		start := i + 1
		brace := start < len(text) && text[start] == '{'
		if brace {
			start++
		}
		end := start
		for end < len(text) && (isWord(text[end])) {
			end++
		}
		if end == start || brace && (end == len(text) || text[end] != '}') {
			literal = append(literal, text[i])
			i++
			continue
		}
		name := text[start:end]
		p := part{literal: string(literal), name: name}
		literal = literal[:0]
		if m, ok := nginxNames[name]; ok {
			p.rule = &m
		}
		p.list = strings.HasPrefix(name, "upstream_") || strings.Contains(name, "forwarded")
		t.parts = append(t.parts, p)
		if i = end; brace {
			i++
		}
	}
	if len(literal) > 0 {
		t.parts = append(t.parts, part{literal: string(literal)})
	}
	return t
}

func isWord(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_'
}

// unquoteDirective joins the quoted strings of a log_format directive.
func unquoteDirective(s string) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(s); i++ {
		if q := s[i]; q == '\'' || q == '"' {
			for i++; i < len(s) && s[i] != q; i++ {
				if s[i] == '\\' && i+1 < len(s) {
					i++
				}
				b.WriteByte(s[i])
			}
			quoted = true
		}
	}
	if quoted {
		return b.String()
	}
	fields := strings.Fields(strings.TrimSuffix(strings.TrimSpace(s), ";"))
	if len(fields) < 2 {
		return s
	}
	return strings.Join(fields[1:], " ")
}

// parseApache cuts the directives of a LogFormat.
func parseApache(text string) (*template, error) {
	t := &template{}
	var literal []byte
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text):
			i++
			switch text[i] {
			case 'n':
				literal = append(literal, '\n')
			case 't':
				literal = append(literal, '\t')
			default:
				literal = append(literal, text[i])
			}
			continue
		case text[i] != '%':
			literal = append(literal, text[i])
			continue
		case i+1 < len(text) && text[i+1] == '%':
			literal = append(literal, '%')
			i++
			continue
		}
		i++
		for i < len(text) && strings.IndexByte("!<>,0123456789", text[i]) >= 0 { // conditions, and which of two requests
			i++
		}
		arg := ""
		if i < len(text) && text[i] == '{' {
			end := strings.IndexByte(text[i:], '}')
			if end < 0 {
				return nil, fmt.Errorf("requestlog: template %q: no } after %q", text, text[i:])
			}
			arg, i = text[i+1:i+end], i+end+1
		}
		if i < len(text) && text[i] == '^' && i+2 < len(text) {
			i += 2
		}
		if i >= len(text) {
			return nil, fmt.Errorf("requestlog: template %q ends inside a directive", text)
		}
		name, m, ok := apacheDirective(text[i], arg)
		if !ok {
			return nil, fmt.Errorf("requestlog: template %q: no directive %%%c", text, text[i])
		}
		stamp := text[i] == 't' && arg == "" // written in brackets
		if stamp {
			literal = append(literal, '[')
		}
		t.parts = append(t.parts, part{literal: string(literal), name: name, rule: m})
		literal = literal[:0]
		if stamp {
			literal = append(literal, ']')
		}
	}
	if len(literal) > 0 {
		t.parts = append(t.parts, part{literal: string(literal)})
	}
	return t, nil
}

// apacheDirective returns the name and meaning of a LogFormat directive
// (https://httpd.apache.org/docs/2.4/mod/mod_log_config.html).
func apacheDirective(c byte, arg string) (string, *meaning, bool) {
	plain := func(name string) (string, *meaning, bool) {
		return name, &meaning{target: tAttr}, true
	}
	switch c {
	case 'a':
		if arg == "c" {
			return plain("peer")
		}
		return "a", &meaning{target: tIP, rank: 6}, true
	case 'h':
		return "h", &meaning{target: tIP, rank: 5}, true
	case 'u':
		return "u", &meaning{target: tUser, rank: 5}, true
	case 't':
		if arg == "" || strings.HasPrefix(arg, "begin:") || strings.HasPrefix(arg, "end:") || strings.Contains(arg, "%") {
			return "t", &meaning{target: tTime, rank: 5}, true
		}
		unit := map[string]time.Duration{"sec": time.Second, "msec": time.Millisecond, "usec": time.Microsecond}[arg]
		if unit == 0 {
			return plain(arg) // msec_frac, usec_frac
		}
		return arg, &meaning{target: tTime, rank: 4, unit: unit}, true
	case 'r':
		return "r", &meaning{target: tRequest}, true
	case 'm':
		return "m", &meaning{target: tMethod}, true
	case 'U':
		return "U", &meaning{target: tURL, rank: 5}, true
	case 'q':
		return plain("query")
	case 's':
		return "s", &meaning{target: tStatus}, true
	case 'b', 'B', 'O':
		return string(c), &meaning{target: tBytes}, true
	case 'D':
		return "D", &meaning{target: tWall, rank: 9, unit: time.Microsecond}, true
	case 'T':
		unit := map[string]time.Duration{"": time.Second, "s": time.Second, "ms": time.Millisecond, "us": time.Microsecond}[arg]
		if unit == 0 {
			return "", nil, false
		}
		rank := uint8(8)
		if unit == time.Second {
			rank = 7 // whole seconds
		}
		name := "T"
		if arg != "" {
			name = "{" + arg + "}T"
		}
		return name, &meaning{target: tWall, rank: rank, unit: unit}, true
	case 'L':
		return plain("log_id")
	case 'i', 'o', 'e', 'n', 'C', 'x', 'c':
		if arg == "" && c != 'c' {
			return "", nil, false
		}
		switch strings.ToLower(arg) {
		case "x-request-id", "unique_id":
			return arg, &meaning{target: tID, rank: 6}, true
		case "traceparent":
			return arg, &meaning{target: tTrace}, true
		}
		return plain(arg)
	case 'v', 'V', 'p', 'P', 'l', 'k', 'H', 'f', 'A', 'I', 'S', 'X', 'R':
		return plain(map[byte]string{'v': "server_name", 'V': "server_name", 'p': "port", 'P': "pid", 'l': "logname",
			'k': "keepalive", 'H': "protocol", 'f': "file", 'A': "server_ip", 'I': "bytes_received", 'S': "bytes_total",
			'X': "connection_status", 'R': "handler"}[c])
	}
	return "", nil, false
}

// bind gives each variable its field.
func (t *template) bind(s *scheme) {
	for i := range t.parts {
		p := &t.parts[i]
		if p.name == "" {
			continue
		}
		p.field = s.column(p.name, 0)
		if p.rule == nil || p.field.rank == 255 {
			continue
		}
		if s.mapped[p.rule.target] {
			p.field.meaning = meaning{target: tAttr}
		} else {
			p.field.meaning = *p.rule
		}
	}
}

// parse matches a line and hands the values to the record.
func (t *template) parse(rec *record, line string) bool {
	ok := t.match(line, func(p *part, value string) {
		switch {
		case strings.IndexByte(value, '\\') < 0:
		case p.quoted:
			value = unescapeJSON(value)
		default:
			value = unescapeHex(value)
		}
		rec.set(p.field, value)
	})
	if ok && t.sum && rec.Flags&NegativeTime == 0 {
		for i := range rec.Waits {
			rec.Wall += rec.Waits[i].Time
		}
		rec.wall = t.parts[0].field
	}
	return ok
}

// match calls set with each value of the line that is not empty.
func (t *template) match(line string, set func(*part, string)) bool {
	rest := line
	for i := range t.parts {
		p := &t.parts[i]
		if i == 0 {
			if !strings.HasPrefix(rest, p.literal) {
				return false
			}
			rest = rest[len(p.literal):]
		}
		if p.name == "" {
			break
		}
		end := len(rest)
		next := ""
		if i+1 < len(t.parts) {
			next = t.parts[i+1].literal
			end = p.end(rest, next)
			if end < 0 {
				return false
			}
			if next == ":" { // host:port, and the host may be an IPv6 address
				limit := len(rest)
				if i+2 < len(t.parts) && t.parts[i+2].literal != "" {
					if j := strings.Index(rest, t.parts[i+2].literal); j >= 0 {
						limit = j
					}
				}
				if j := strings.LastIndexByte(rest[:limit], ':'); j > end {
					end = j
				}
			}
		}
		if end > 0 {
			set(p, rest[:end])
		}
		rest = rest[end+len(next):]
	}
	return true
}

// end returns where the variable's value ends: where the next literal begins.
func (p *part) end(s, next string) int {
	if p.quoted && next[0] == '"' {
		// Quotes inside are escaped, by nginx as \x22 and by Apache with a backslash.
		for i := 0; ; {
			j, _ := quotedEnd(s, i)
			if j < 0 {
				return strings.Index(s, next)
			}
			if strings.HasPrefix(s[j:], next) {
				return j
			}
			i = j + 1
		}
	}
	for i := 0; ; {
		j := strings.Index(s[i:], next)
		if j < 0 {
			return -1
		}
		j += i
		if p.list && next[0] == ' ' && j > 0 {
			// A list goes on behind its comma and around its colon.
			if s[j-1] == ',' {
				i = j + 1
				continue
			}
			if strings.HasPrefix(s[j:], " : ") {
				i = j + 3
				continue
			}
		}
		return j
	}
}

// stripPort cuts the port off an address: 192.0.2.1:80, [2001:db8::1]:80.
func stripPort(s string) string {
	i := strings.IndexByte(s, ':')
	switch {
	case i < 0:
		return s
	case s[0] == '[':
		if end := strings.IndexByte(s, ']'); end > 0 {
			return s[1:end]
		}
		return s
	case strings.IndexByte(s[i+1:], ':') >= 0: // IPv6
		return s
	}
	return s[:i]
}
