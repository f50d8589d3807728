package finding

import (
	"strconv"
	"strings"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/internal/lexer"
)

// text is what a class's fingerprint and samples show of its statements.
type text struct {
	aggregates bool   // a row of the result stands for many
	limited    bool   // it has a LIMIT
	inSelect   bool   // IN (SELECT …)
	random     bool   // ORDER BY RAND()
	byKey      bool   // its WHERE compares for equality
	leading    string // a pattern that begins with a wildcard
	offset     uint64 // rows that a LIMIT skips, the most of all samples
	page       string // of the application, by the samples' comments
	differing  int    // samples that differ in their text
	samples    int
	noData     bool // it asks for no data: SELECT 1, SET, SHOW
}

// read looks at the texts.
func (s *subject) read() {
	s.text = readFingerprint(s.Fingerprint)
	s.noData = s.text.noData || s.Verb == "SET" || s.Verb == "SHOW"
	var printer digest.Fingerprinter
	texts := make(map[string]bool)
	for _, sample := range s.Samples() {
		s.samples++
		texts[sample.Query] = true
		pattern, offset := readSample(sample.Query)
		s.offset = max(s.offset, offset)
		if s.leading == "" {
			s.leading = pattern
		}
		if s.page == "" {
			s.page = pageOf(printer.Tags(sample.Query))
		}
	}
	s.differing = len(texts)
}

// pageOf returns the page of the application that the tags name.
func pageOf(tags digest.Tags) string {
	if route := tags.Get("route"); route != "" {
		return route
	}
	controller, action := tags.Get("controller"), tags.Get("action")
	if controller == "" || action == "" {
		return ""
	}
	return controller + "/" + action
}

// tokens returns the tokens of a statement without its comments.
func tokens(sql string) (list []lexer.Token) {
	var l lexer.Lexer
	l.Init(sql, 0)
	for {
		switch t := l.Next(); t.Kind {
		case lexer.EOF:
			return list
		case lexer.Comment, lexer.Hint, lexer.ExecOpen, lexer.ExecClose:
		default:
			list = append(list, t)
		}
	}
}

func readFingerprint(fp string) (x text) {
	ts := tokens(fp)
	word := func(i int) string {
		if i < 0 || i >= len(ts) {
			return ""
		}
		return fp[ts[i].Start:ts[i].End]
	}
	where, froms := false, 0
	for i, t := range ts {
		switch t.Word {
		case lexer.Group, lexer.Union, lexer.Having:
			x.aggregates = true
		case lexer.From:
			froms++
		case lexer.Limit:
			x.limited = true
		case lexer.Where:
			where = true
		case lexer.In:
			x.inSelect = x.inSelect || word(i+1) == "(" && word(i+2) == "select"
		case lexer.Order:
			x.random = x.random || word(i+1) == "by" && word(i+2) == "rand" && word(i+3) == "("
		}
		switch w := word(i); w {
		case "count", "sum", "avg", "min", "max", "group_concat", "distinct":
			x.aggregates = x.aggregates || w == "distinct" || word(i+1) == "("
		case "=":
			x.byKey = x.byKey || where && word(i+1) == "?"
		}
	}
	x.byKey = x.byKey && froms == 1
	x.noData = strings.HasPrefix(fp, "select ") && froms == 0
	return x
}

// readSample returns the first pattern of the statement that begins with a
// wildcard, and the largest number of rows that a LIMIT skips.
func readSample(sql string) (pattern string, offset uint64) {
	ts := tokens(sql)
	number := func(i int) uint64 {
		if i >= len(ts) || ts[i].Kind != lexer.Number {
			return 0
		}
		n, err := strconv.ParseUint(sql[ts[i].Start:ts[i].End], 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	word := func(i int) string {
		if i >= len(ts) {
			return ""
		}
		return sql[ts[i].Start:ts[i].End]
	}
	for i, t := range ts {
		switch {
		case t.Word == lexer.Like && pattern == "" && i+1 < len(ts) && ts[i+1].Kind == lexer.String:
			if p := strings.Trim(word(i+1), `'"`); strings.HasPrefix(p, "%") || strings.HasPrefix(p, "_") {
				pattern = p
			}
		case t.Word == lexer.Limit && word(i+2) == ",":
			offset = max(offset, number(i+1))
		case t.Word == lexer.Limit && strings.EqualFold(word(i+2), "offset"):
			offset = max(offset, number(i+3))
		}
	}
	return pattern, offset
}
