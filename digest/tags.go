package digest

import (
	"net/url"
	"strings"

	"github.com/quern-dev/quern/internal/lexer"
)

// Tag is a key and its value in a comment of a statement.
type Tag struct{ Key, Value string }

// Tags are the tags of a statement in the order of its text.
type Tags []Tag

// Get returns the value of the last tag with this key, "" if there is none.
func (tags Tags) Get(key string) string {
	for i := len(tags) - 1; i >= 0; i-- {
		if tags[i].Key == key {
			return tags[i].Value
		}
	}
	return ""
}

// Tags returns the tags in the comments before the first token of sql and
// behind the last one, nil if there are none. They are read as sqlcommenter
// writes them (key='value', with percent-encoding and \' for a quote), as
// Marginalia does (key:value), and as key=value, separated by commas,
// semicolons or white space. A traceparent that does not have the form of W3C
// Trace Context is left out, and so is a comment that was cut off. Hints and
// executable comments hold no tags.
//
// The values are parts of sql where nothing had to be decoded.
func (f *Fingerprinter) Tags(sql string) Tags {
	if !mayHaveTags(sql) {
		return nil
	}
	var (
		lex    lexer.Lexer
		tags   Tags
		before int // tags before the first token
		begun  bool
	)
	lex.Init(sql, f.Options.mode())
	for {
		switch t := lex.Next(); {
		case t.Kind == lexer.EOF:
			return tags
		case t.Kind == lexer.Comment:
			if !t.Unterminated() {
				tags = appendTags(tags, commentBody(sql[t.Start:t.End]))
			}
			if !begun {
				before = len(tags)
			}
		case t.Kind == lexer.Op && sql[t.Start] == ';':
			// Comments go on to be the last ones behind a final semicolon.
		default:
			begun = true
			tags = tags[:before]
		}
	}
}

// mayHaveTags reports whether sql may begin or end with a comment. It spares
// most statements the reading.
func mayHaveTags(sql string) bool {
	const space = " \t\r\n\v\f"
	sql = strings.Trim(sql, space+";")
	if strings.HasSuffix(sql, "*/") || strings.HasPrefix(sql, "/*") || strings.HasPrefix(sql, "--") || strings.HasPrefix(sql, "#") {
		return true
	}
	line := sql[strings.LastIndexByte(sql, '\n')+1:]
	return strings.Contains(line, "--") || strings.Contains(line, "#")
}

// commentBody returns what a comment says.
func commentBody(s string) string {
	if body, ok := strings.CutPrefix(s, "/*"); ok {
		return strings.TrimSuffix(body, "*/")
	}
	return strings.TrimPrefix(strings.TrimPrefix(s, "#"), "--")
}

// appendTags appends the tags in the body of a comment.
func appendTags(tags Tags, s string) Tags {
	for s != "" {
		end := strings.IndexAny(s, " \t\r\n,;=:")
		if end < 0 {
			break
		}
		key, separator := s[:end], s[end]
		s = s[end+1:]
		if separator != '=' && separator != ':' || !isTagKey(key) {
			continue
		}
		var value string
		value, s = cutTagValue(s)
		if value == "" || strings.HasPrefix(value, "//") { // prose, or an address
			continue
		}
		key = percentDecoded(key)
		if key == "traceparent" && !isTraceparent(value) {
			continue
		}
		tags = append(tags, Tag{key, value})
	}
	return tags
}

// cutTagValue cuts the value off that s begins with.
func cutTagValue(s string) (value, rest string) {
	if s == "" || s[0] != '\'' && s[0] != '"' {
		end := strings.IndexAny(s, " \t\r\n,;")
		if end < 0 {
			end = len(s)
		}
		return percentDecoded(s[:end]), s[end:]
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			value = s[1:i]
			if strings.IndexByte(value, '\\') >= 0 {
				value = strings.NewReplacer(`\'`, `'`, `\"`, `"`, `\\`, `\`).Replace(value)
			}
			return percentDecoded(value), s[i+1:]
		}
	}
	return "", "" // the quote does not close
}

// percentDecoded returns s without percent-encoding, s itself if it has none
// or a wrong one. A plus stays one.
func percentDecoded(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	if decoded, err := url.PathUnescape(s); err == nil {
		return decoded
	}
	return s
}

// isTagKey reports whether s is a name, maybe percent-encoded.
func isTagKey(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z', c == '_', c == '%':
		case i > 0 && ('0' <= c && c <= '9' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return true
}

// isTraceparent reports whether s has the form of W3C Trace Context:
// version-trace-parent-flags.
func isTraceparent(s string) bool {
	if len(s) < 55 || s[:2] == "ff" || len(s) > 55 && (s[:2] == "00" || s[55] != '-') {
		return false
	}
	zeros := func(s string) bool { return strings.Trim(s, "0") == "" }
	for i := range 55 {
		c := s[i]
		switch i {
		case 2, 35, 52:
			if c != '-' {
				return false
			}
		default:
			if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
				return false
			}
		}
	}
	return !zeros(s[3:35]) && !zeros(s[36:52])
}
