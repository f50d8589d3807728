package sqlparse

import (
	"strings"

	"github.com/quern-dev/quern/internal/lexer"
)

// SystemTime blanks out MariaDB's FOR SYSTEM_TIME behind the names of tables, which
// the parser does not know, and reports whether there is any. All else keeps its
// place.
func SystemTime(sql string, o Options) (text string, found bool) {
	if !strings.Contains(strings.ToUpper(sql), "SYSTEM_TIME") {
		return sql, false
	}
	s := tokens{src: sql}
	var l lexer.Lexer
	l.Init(sql, lexer.ModeOf(o.ANSIQuotes, o.NoBackslashEscapes))
	for t := l.Next(); t.Kind != lexer.EOF; t = l.Next() {
		if t.Kind != lexer.Comment {
			s.list = append(s.list, t)
		}
	}
	b := []byte(sql)
	for i := range s.list {
		end := s.systemTime(i)
		if end == 0 {
			continue
		}
		found = true
		for k := s.list[i].Start; k < s.list[end-1].End; k++ {
			if b[k] != '\n' {
				b[k] = ' '
			}
		}
	}
	return string(b), found
}

type tokens struct {
	src  string
	list []lexer.Token
}

// is reports whether token i is one of the words or operators, in capitals.
func (s *tokens) is(i int, words ...string) bool {
	if i >= len(s.list) || s.list[i].Kind != lexer.Ident && s.list[i].Kind != lexer.Op || s.list[i].Dotted() {
		return false
	}
	for _, w := range words {
		if strings.EqualFold(s.src[s.list[i].Start:s.list[i].End], w) {
			return true
		}
	}
	return false
}

// systemTime returns the end of the clause at token i, 0 if there is none:
//
//	FOR SYSTEM_TIME {AS OF t | BETWEEN t AND t | FROM t TO t | ALL}
func (s *tokens) systemTime(i int) int {
	if !s.is(i, "FOR") || !s.is(i+1, "SYSTEM_TIME") {
		return 0
	}
	i += 2
	switch {
	case s.is(i, "ALL"):
		return i + 1
	case s.is(i, "AS") && s.is(i+1, "OF"):
		return s.value(i + 2)
	case s.is(i, "BETWEEN", "FROM"):
		if to := s.value(i + 1); to > 0 && s.is(to, "AND", "TO") {
			return s.value(to + 1)
		}
	}
	return 0
}

// value returns the end of the value that begins at token i: of literals, names,
// calls and arithmetic; 0 if there is none.
func (s *tokens) value(i int) int {
	for {
		for s.is(i, "-", "+") || s.is(i, "TIMESTAMP", "TRANSACTION", "DATE") && !s.is(i+1, "(") {
			i++
		}
		if s.is(i, "INTERVAL") {
			if i = s.value(i + 1); i == 0 { // and the unit, as a name
				return 0
			}
		}
		if i >= len(s.list) || s.list[i].Kind == lexer.Op && !s.is(i, "(") {
			return 0
		}
		if !s.is(i, "(") {
			for i++; s.is(i, "."); i += 2 {
			}
		}
		if s.is(i, "(") {
			if i = s.closed(i); i == 0 {
				return 0
			}
		}
		if !s.is(i, "+", "-", "*", "/", "%") {
			return min(i, len(s.list))
		}
		i++
	}
}

// closed returns the end of the parenthesis that opens at token i, 0 if it has none.
func (s *tokens) closed(i int) int {
	depth := 0
	for ; i < len(s.list); i++ {
		switch {
		case s.is(i, "("):
			depth++
		case s.is(i, ")"):
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}
