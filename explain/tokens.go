package explain

import (
	"strings"

	"github.com/quern-dev/quern/internal/lexer"
	"github.com/quern-dev/quern/internal/sqlparse"
)

// token is a token with its place in the statement.
type token struct {
	lexer.Token
	word  string // upper-case word of a bare Ident; "" for a name behind or before a dot
	depth int    // of parentheses; a parenthesis has the depth of what surrounds it
	outer int    // index of the parenthesis that it stands in, not its own; -1 if there is none
	match int    // index of the other parenthesis; -1 if there is none
	exec  bool   // inside an executable comment
}

// statement is a text as tokens, without its comments and without its closing
// semicolon.
type statement struct {
	src        string
	toks       []token
	truncated  bool // the text ends inside a token or a parenthesis
	semicolon  bool // a semicolon stands before the end
	question   bool // a placeholder
	dots       bool // the text ends with ...
	executable bool // holds an executable comment
}

func (m Mode) lexer() lexer.Mode { return lexer.ModeOf(m.ANSIQuotes, m.NoBackslashEscapes) }

func (m Mode) parser() sqlparse.Options {
	return sqlparse.Options{ANSIQuotes: m.ANSIQuotes, NoBackslashEscapes: m.NoBackslashEscapes, PipesAsConcat: m.PipesAsConcat}
}

func scan(sql string, m Mode) *statement {
	s := &statement{src: sql}
	var l lexer.Lexer
	l.Init(sql, m.lexer())
	var open []int
	exec := false
	ended := false
	for {
		t := l.Next()
		if t.Unterminated() {
			s.truncated = true
		}
		switch t.Kind {
		case lexer.EOF:
			if len(open) > 0 {
				s.truncated = true
			}
			s.dots = strings.HasSuffix(strings.TrimSpace(sql), "...") || strings.HasSuffix(strings.TrimSpace(sql), "…")
			return s
		case lexer.Comment:
			continue
		case lexer.ExecOpen:
			exec, s.executable = true, true
			continue
		case lexer.ExecClose:
			exec = false
			continue
		case lexer.Placeholder, lexer.List:
			s.question = true
		}
		if ended {
			s.semicolon = true
		}
		x := token{Token: t, depth: len(open), outer: -1, match: -1, exec: exec}
		if x.depth > 0 {
			x.outer = open[x.depth-1]
		}
		text := sql[t.Start:t.End]
		switch {
		case t.Kind == lexer.Ident && !t.Dotted():
			x.word = strings.ToUpper(text)
		case t.Kind != lexer.Op:
		case text == "(":
			open = append(open, len(s.toks))
		case text == ")":
			if n := len(open); n > 0 {
				x.match = open[n-1]
				s.toks[x.match].match = len(s.toks)
				open = open[:n-1]
				x.depth, x.outer = n-1, s.toks[x.match].outer
			}
		case text == ";":
			ended = true
			if exec {
				s.semicolon = true
			}
			continue
		}
		s.toks = append(s.toks, x)
	}
}

// text returns the source between two tokens, from included, to excluded. The
// comments inside stay: one that begins with -- keeps the end of its line, since
// a token follows.
func (s *statement) text(from, to int) string {
	if from >= to {
		return ""
	}
	return s.src[s.toks[from].Start:s.toks[to-1].End]
}

func (s *statement) raw(i int) string {
	if i < 0 || i >= len(s.toks) {
		return ""
	}
	return s.src[s.toks[i].Start:s.toks[i].End]
}

// is reports whether token i is one of the words.
func (s *statement) is(i int, words ...string) bool {
	if i < 0 || i >= len(s.toks) || s.toks[i].word == "" {
		return false
	}
	for _, w := range words {
		if s.toks[i].word == w {
			return true
		}
	}
	return false
}

// op reports whether token i is the operator.
func (s *statement) op(i int, op string) bool {
	return i >= 0 && i < len(s.toks) && s.toks[i].Kind == lexer.Op && s.raw(i) == op
}

func (s *statement) kind(i int, k lexer.Kind) bool {
	return i >= 0 && i < len(s.toks) && s.toks[i].Kind == k
}

// name reports whether token i can be a name.
func (s *statement) name(i int) bool {
	return s.kind(i, lexer.Ident) || s.kind(i, lexer.QuotedIdent)
}

// find returns the first token in [from, to) at the depth that is one of the
// words, or to.
func (s *statement) find(from, to, depth int, words ...string) int {
	for i := from; i < to; i++ {
		if s.toks[i].depth == depth && s.is(i, words...) {
			return i
		}
	}
	return to
}

// opensQuery reports whether token i is a parenthesis with a query in it.
func (s *statement) opensQuery(i int) bool {
	for s.op(i, "(") {
		i++
		if s.is(i, "SELECT", "WITH", "TABLE") || s.is(i, "VALUES") && (s.is(i+1, "ROW") || s.op(i+1, "(")) {
			return true
		}
	}
	return false
}

// split cuts [from, to) at commas of the depth.
func (s *statement) split(from, to, depth int) (parts [][2]int) {
	start := from
	for i := from; i <= to; i++ {
		if i < to && !(s.toks[i].depth == depth && s.op(i, ",")) {
			continue
		}
		if i > start {
			parts = append(parts, [2]int{start, i})
		}
		start = i + 1
	}
	return parts
}

// hasQuery reports whether a subquery stands in [from, to).
func (s *statement) hasQuery(from, to int) bool {
	for i := from; i < to; i++ {
		if s.opensQuery(i) {
			return true
		}
	}
	return false
}
