package report

import (
	"html/template"
	"strings"

	"github.com/quern-dev/quern/internal/lexer"
)

// highlight returns a statement as HTML, with elements around keywords (b),
// literals (i) and comments (s): short ones, as a report has many of them.
func highlight(sql string) template.HTML {
	var b strings.Builder
	var l lexer.Lexer
	l.Init(sql, 0)
	at, open := 0, ""
	for {
		tok := l.Next()
		element := ""
		switch tok.Kind {
		case lexer.Ident:
			if tok.Word.Reserved() {
				element = "b"
			}
		case lexer.String, lexer.Number, lexer.Bits, lexer.Placeholder, lexer.List:
			element = "i"
		case lexer.Comment, lexer.Hint:
			element = "s"
		}
		if open != "" && open != element { // neighbours share an element
			b.WriteString("</" + open + ">")
		}
		b.WriteString(visibleHTML(sql[at:tok.Start]))
		if element != "" && open != element {
			b.WriteString("<" + element + ">")
		}
		b.WriteString(visibleHTML(sql[tok.Start:tok.End]))
		at, open = tok.End, element
		if tok.Kind == lexer.EOF {
			return template.HTML(b.String())
		}
	}
}

// escapeText escapes the content of an element.
var escapeText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace

// visibleHTML returns text of several lines as HTML, with what could disguise it
// as escapes.
func visibleHTML(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r == '\n' || r == '\t' || r == '\r' }) < 0 {
		return escapeText(printable(s))
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	var b strings.Builder
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		for j, part := range strings.Split(line, "\t") {
			if j > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(escapeText(printable(part)))
		}
	}
	return b.String()
}
