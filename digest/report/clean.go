package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable returns s with what a terminal could obey, or what could make text
// look like other text, written as an escape: control characters, characters of
// format such as those that turn the direction of writing, bytes that are no
// UTF-8, and the ends of lines.
func printable(s string) string {
	clean := true
	for _, r := range s {
		if r == utf8.RuneError || !visible(r) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case visible(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

func visible(r rune) bool {
	return r >= ' ' && r < 0x7f || r >= 0xa0 && !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// Printable returns a text of lines with what a terminal could obey, or what could
// make text look like other text, written as escapes: for programs that print beside
// a report what a log or a server gave them.
func Printable(text string) string { return strings.Join(textLines(text), "\n") + "\n" }

// textLines returns the lines of a text of several, printable, with its tabs
// turned into spaces.
func textLines(s string) []string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.ReplaceAll(s, "\t", "    ")
	lines := strings.Split(strings.Trim(s, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(printable(lines[i]), " ")
	}
	return lines
}

// Sections are texts of other programs: what they quote, such as a statement, may
// be of any length.
const (
	lineBytes    = 2_000     // of a line
	sectionBytes = 16_000    // of a section on a class
	overallBytes = 1_000_000 // of one on the whole
)

// sectionLines returns the lines of a section's text, as textLines does, and not more
// of them than the limit in bytes. What is cut ends with a mark.
func sectionLines(text string, limit int) []string {
	text, cut := cutText(text, limit)
	lines := textLines(text)
	if cut {
		lines = append(lines, "…")
	}
	for i, l := range lines {
		lines[i] = short(l, lineBytes)
	}
	return lines
}

// short returns a printable text, or the beginning of it with a mark behind.
func short(s string, bytes int) string {
	s, cut := cutText(s, bytes)
	if cut {
		s += "…"
	}
	return s
}

// columns returns how many columns of a terminal a printable text takes.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case r >= 0x1100 && r <= 0x115f, // Hangul
		r >= 0x2e80 && r <= 0xa4cf, // CJK
		r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff,
		r >= 0xfe30 && r <= 0xfe6f,
		r >= 0xff00 && r <= 0xff60,
		r >= 0xffe0 && r <= 0xffe6,
		r >= 0x1f300 && r <= 0x1faff, // pictures
		r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// clip returns s, or as much of it as fits into the columns with a mark behind.
func clip(s string, width int) string {
	if columns(s) <= width {
		return s
	}
	at, n := 0, 0
	for i, r := range s {
		if n += runeColumns(r); n > width-1 {
			at = i
			break
		}
	}
	return strings.TrimRight(s[:at], " ") + "…"
}

// wrap cuts a line into lines that fit into the columns, behind a space where
// it can. Lines keep the indentation of the first.
func wrap(line string, width int) []string {
	rest := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(rest)]
	if len(indent) > width/2 {
		indent = ""
	}
	var lines []string
	for {
		end, space, n := len(rest), 0, len(indent)
		for i, r := range rest {
			if r == ' ' {
				space = i
			}
			if n += runeColumns(r); n > width {
				end = i
				break
			}
		}
		if end == len(rest) {
			return append(lines, indent+rest)
		}
		if space > 0 {
			end = space
		}
		lines = append(lines, strings.TrimRight(indent+rest[:end], " "))
		rest = strings.TrimLeft(rest[end:], " ")
	}
}
