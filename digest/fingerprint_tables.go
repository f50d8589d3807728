package digest

import (
	"slices"
	"strings"

	"github.com/quern-dev/quern/internal/lexer"
)

// maxSummary is the length that OpenTelemetry allows db.query.summary.
const maxSummary = 255

// analysis finds what a text does to which tables. It knows where the grammar
// has a table, not the grammar.
type analysis struct {
	src string
	lex lexer.Lexer

	first   string          // what the first statement does
	tables  []string        // each once
	seen    map[string]bool // the same, where they are many
	summary strings.Builder
	full    bool // the summary takes no more

	scope                  // the innermost
	outer   []scope        // those around it
	ctes    []cte          // those that can be seen from here, the innermost last
	visible map[string]int // how many of them have a name
	prev    lexer.Token    // the last token

	kind     lexer.Word // the first word of the statement
	object   lexer.Word // what it creates, alters, drops, locks, …
	objectAt int        // where that word stands, else -1
	explain  bool       // it is an EXPLAIN
	target   bool       // the next name is a target of the statement, but no table
}

// scope is a statement, or what stands in one parenthesis of it.
type scope struct {
	begun     bool // a token was read
	verb      bool // its SELECT, INSERT, … was read
	query     bool // FROM opens a list of tables
	insert    bool // INTO, or no word at all, stands before a table
	list      bool // in a list of tables: a comma or a JOIN goes on
	expect    bool // a table follows
	with      withState
	cte       string // the name that is being defined, unless it can be seen already
	recursive bool   // WITH RECURSIVE
}

// withState is the place in a WITH clause.
type withState uint8

const (
	noWith   withState = iota
	withName           // a name follows
	withAs             // AS follows, maybe behind a list of columns
	withBody           // behind AS
)

// cte is the name of a common table expression, in lower case, with the number of scopes
// around the WITH that defines it.
type cte struct {
	name  string
	depth int
}

func (a *analysis) run() {
	a.objectAt = -1
	for t := a.next(); t.Kind != lexer.EOF; t = a.next() {
		switch {
		case t.Kind == lexer.Op:
			a.op(t)
		case t.Kind == lexer.Ident && t.Word.Reserved() && !t.Dotted():
			a.word(t)
			a.begun = true
		case (t.Kind == lexer.Ident || t.Kind == lexer.QuotedIdent) && !t.Unterminated():
			t = a.name(t)
			a.begun = true
		default:
			a.expect, a.begun = false, true
		}
		a.prev = t
	}
}

// next returns the next token that is no comment.
func (a *analysis) next() lexer.Token {
	for {
		switch t := a.lex.Next(); t.Kind {
		case lexer.Comment, lexer.Hint, lexer.ExecOpen, lexer.ExecClose:
		default:
			return t
		}
	}
}

// ahead returns the next two tokens without reading them.
func (a *analysis) ahead() (first, second lexer.Token) {
	lex := a.lex
	first, second = a.next(), a.next()
	a.lex = lex
	return first, second
}

func (a *analysis) text(t lexer.Token) string { return a.src[t.Start:t.End] }

func (a *analysis) isOp(t lexer.Token, c byte) bool { return t.Kind == lexer.Op && a.src[t.Start] == c }

func isName(t lexer.Token) bool {
	return t.Kind == lexer.QuotedIdent || t.Kind == lexer.Ident && (t.Dotted() || !t.Word.Reserved())
}

func (a *analysis) op(t lexer.Token) {
	switch a.src[t.Start] {
	case '(':
		inner := scope{list: a.list && a.expect, expect: a.list && a.expect}
		a.expect, a.begun = false, true
		a.outer = append(a.outer, a.scope)
		a.scope = inner
	case ')':
		n := len(a.outer)
		if n == 0 {
			return
		}
		for k := len(a.ctes) - 1; k >= 0 && a.ctes[k].depth == n; k-- {
			a.visible[a.ctes[k].name]--
			a.ctes = a.ctes[:k]
		}
		a.scope, a.outer = a.outer[n-1], a.outer[:n-1]
		if a.with == withBody && a.cte != "" {
			a.define(a.cte)
		}
	case ',':
		a.expect = a.list
		if a.with == withBody {
			a.with = withName
		}
	case ';':
		a.scope, a.outer, a.ctes, a.visible = scope{}, a.outer[:0], a.ctes[:0], nil
		a.kind, a.object, a.objectAt, a.explain, a.target = 0, 0, -1, false, false
	case '*', '.':
	default:
		a.expect, a.begun = false, true
	}
}

// does notes an operation, which the words name.
func (a *analysis) does(words ...lexer.Token) {
	op := a.text(words[0])
	if len(words) > 1 {
		op += " " + a.text(words[1])
	}
	if a.first == "" && !slices.ContainsFunc(a.outer, func(s scope) bool { return s.with != noWith }) {
		a.first = op
	}
	a.summarize(op)
}

// summarize adds an operation or a target to the summary, or nothing more once
// one did not fit.
func (a *analysis) summarize(s string) {
	space := min(1, a.summary.Len())
	a.full = a.full || a.summary.Len()+space+len(s) > maxSummary
	if a.full {
		return
	}
	a.summary.WriteString(" "[:space])
	a.summary.WriteString(s)
}

// word reads a reserved word.
func (a *analysis) word(t lexer.Token) {
	switch {
	case t.Start == a.objectAt:
		a.atObject()
		return
	case a.kind == lexer.Grant || a.kind == lexer.Revoke:
		return // privileges are named as statements are
	case !a.begun && len(a.outer) == 0 && a.start(t):
		return
	}
	// main tells whether the verb of a statement may stand here.
	main := len(a.outer) == 0 && !a.verb && (!a.begun || a.with != noWith || a.explain)
	switch w := t.Word; w {
	case lexer.Select:
		a.does(t)
		a.scope = scope{verb: true, query: true}
	case lexer.Insert, lexer.Replace:
		if main {
			a.does(t)
			a.scope = scope{verb: true, insert: true, expect: true}
		}
	case lexer.Update:
		if main {
			a.does(t)
			a.scope = scope{verb: true, list: true, expect: true}
		}
	case lexer.Delete:
		if main {
			a.does(t)
			a.scope = scope{verb: true, query: true}
		}
	case lexer.Values:
		if main {
			a.does(t)
			a.scope = scope{verb: true}
		}
		a.list, a.expect = false, false
	case lexer.Table:
		switch {
		case !a.begun || main || a.insert && !a.expect: // TABLE t is a query
			a.does(t)
			a.scope = scope{verb: true, expect: true}
		case a.prev.Word == lexer.With: // ALTER TABLE t EXCHANGE PARTITION p WITH TABLE u
			a.expect = true
		case a.expect && a.list: // a name to servers that do not reserve it
			a.expect = false
			a.table(a.text(t))
		case a.kind == lexer.Show && a.prev.Word == lexer.Create:
			a.expect = true
		}
	case lexer.With:
		first, second := a.ahead()
		if first.Word == lexer.Recursive || isName(first) && (second.Word == lexer.As || a.isOp(second, '(')) {
			a.with, a.recursive = withName, first.Word == lexer.Recursive
		}
	case lexer.As:
		if a.with == withAs {
			a.with = withBody
		}
	case lexer.From, lexer.In:
		switch {
		case a.query && w == lexer.From:
			a.list, a.expect = true, true
		case a.kind == lexer.Show:
			switch a.prev.Word {
			case lexer.Columns, lexer.Fields, lexer.Index, lexer.Indexes, lexer.Keys:
				a.expect = true
			}
		}
	case lexer.Join, lexer.StraightJoin:
		if a.list && a.prev.Word != lexer.For { // not USE INDEX FOR JOIN (…)
			a.expect = true
		}
	case lexer.Into:
		a.list = false
		a.expect = a.insert || a.kind == lexer.Load
	case lexer.Using:
		// DELETE FROM a USING t AS a, …: the names so far were aliases, or come again.
		if next, _ := a.ahead(); a.kind == lexer.Delete && a.list && !a.isOp(next, '(') {
			a.tables, a.seen, a.expect = nil, nil, true
		}
	case lexer.On:
		next, _ := a.ahead()
		switch {
		case a.object == lexer.Index || a.object == lexer.Trigger:
			a.expect = true
		case next.Word == lexer.Duplicate:
			a.list, a.expect = false, false
		}
	case lexer.References:
		a.expect = a.kind == lexer.Create || a.kind == lexer.Alter
	case lexer.Like:
		// CREATE TABLE t LIKE u, CREATE TABLE t (LIKE u)
		if a.kind == lexer.Create && !a.verb && (len(a.outer) == 0 || !a.begun) {
			a.expect = true
		}
	case lexer.To:
		a.expect = a.kind == lexer.Rename && a.object == lexer.Table
	case lexer.For:
		if next, _ := a.ahead(); next.Word == lexer.Update || strings.EqualFold(a.text(next), "share") {
			a.list, a.expect = false, false
		}
	case lexer.Where, lexer.Group, lexer.Having, lexer.Order, lexer.Limit, lexer.Set, lexer.Union, lexer.Except,
		lexer.Intersect, lexer.Lock, lexer.Procedure, lexer.Dual:
		if a.prev.Word != lexer.For { // not USE INDEX FOR ORDER BY (…)
			a.expect = false
			a.list = a.list && w == lexer.Dual
		}
	}
}

// start reads the first word of a statement; false for that of a query, which
// may also stand behind WITH or EXPLAIN.
func (a *analysis) start(t lexer.Token) bool {
	a.kind = t.Word
	switch t.Word {
	case lexer.Select, lexer.Insert, lexer.Replace, lexer.Update, lexer.Delete, lexer.Values, lexer.Table, lexer.With:
		return false
	case lexer.Create, lexer.Alter, lexer.Drop, lexer.Rename, lexer.Truncate, lexer.Analyze, lexer.Check, lexer.Optimize,
		lexer.Repair, lexer.Lock, lexer.Unlock:
		if object := a.findObject(); object.Kind == lexer.Ident {
			a.object, a.objectAt = object.Word, object.Start
			a.does(t, object)
			return true
		}
	}
	second, third := a.ahead()
	switch t.Word {
	case lexer.Truncate:
		a.expect = true
	case lexer.Call:
		a.target = true
	case lexer.Explain, lexer.Desc, lexer.Describe, lexer.Analyze:
		a.explain = true
		a.expect = isName(second) && (third.Kind == lexer.EOF || third.Kind == lexer.String || isName(third) ||
			a.isOp(third, ';') || a.isOp(third, '.'))
	default:
		switch strings.ToLower(a.text(t)) {
		case "change", "flush", "load", "purge", "reset", "start", "xa":
			if second.Kind == lexer.Ident {
				a.does(t, second)
				return true
			}
		}
	}
	a.does(t)
	return true
}

// findObject returns the word that tells what a CREATE or the like is about:
// it stands among the next few tokens, before any parenthesis.
func (a *analysis) findObject() lexer.Token {
	lex := a.lex
	defer func() { a.lex = lex }()
	for range 24 {
		t := a.next()
		switch t.Word {
		case lexer.Table, lexer.Tables, lexer.View, lexer.Index, lexer.Database, lexer.Schema, lexer.Procedure,
			lexer.Function, lexer.Trigger, lexer.Event, lexer.User:
			return t
		case lexer.Select:
			return lexer.Token{}
		}
		if a.isOp(t, '(') || a.isOp(t, ';') || t.Kind == lexer.EOF {
			break
		}
	}
	return lexer.Token{}
}

// atObject reads the word that findObject found.
func (a *analysis) atObject() {
	switch a.object {
	case lexer.Table, lexer.Tables, lexer.View:
		a.expect, a.list = true, a.kind != lexer.Create && a.kind != lexer.Alter
	case lexer.Database, lexer.Schema, lexer.Procedure, lexer.Function:
		a.target = true
	}
}

// name reads a name, with what follows it after dots, and returns its last
// token.
func (a *analysis) name(t lexer.Token) lexer.Token {
	switch {
	case !a.begun && len(a.outer) == 0 && t.Kind == lexer.Ident:
		a.start(t)
		return t
	case t.Start == a.objectAt:
		a.atObject()
		return t
	case a.with == withName && a.recursive && t.Word == lexer.Recursive:
		return t
	}
	name, last := a.qualified(t)
	next, _ := a.ahead()
	switch {
	case a.with == withName:
		a.with = withAs
		if a.cte = name; a.recursive {
			a.define(name)
		}
	case a.target:
		a.target = false
		a.summarize(name)
	case a.expect && a.list && a.isOp(next, '('): // a function
		a.expect = false
	case a.expect:
		a.expect = false
		a.table(name)
	case t.Word == lexer.Window && next.Kind != lexer.Op, t.Word == lexer.Returning:
		a.list = false
	}
	return last
}

// qualified reads the rest of the name that begins with t, and returns it
// without quotes.
func (a *analysis) qualified(t lexer.Token) (name string, last lexer.Token) {
	var b strings.Builder
	b.WriteString(a.unquoted(t))
	for {
		dot, part := a.ahead()
		if !a.isOp(dot, '.') || part.Kind != lexer.Ident && part.Kind != lexer.QuotedIdent || part.Unterminated() {
			return b.String(), t
		}
		a.next()
		t = a.next()
		b.WriteByte('.')
		b.WriteString(a.unquoted(t))
	}
}

func (a *analysis) unquoted(t lexer.Token) string {
	if t.Kind != lexer.QuotedIdent {
		return a.text(t)
	}
	return lexer.Unquote(a.text(t))
}

// define makes the name of a common table expression known.
func (a *analysis) define(name string) {
	if a.visible == nil {
		a.visible = make(map[string]int)
	}
	name = strings.ToLower(name)
	a.visible[name]++
	a.ctes = append(a.ctes, cte{name, len(a.outer)})
	a.cte = ""
}

// table notes a table, unless it is a common table expression.
func (a *analysis) table(name string) {
	if len(a.visible) > 0 && a.visible[strings.ToLower(name)] > 0 {
		return
	}
	a.summarize(name)
	if a.seen == nil && len(a.tables) < 16 { // as nearly all
		if !slices.Contains(a.tables, name) {
			a.tables = append(a.tables, strings.Clone(name))
		}
		return
	}
	if a.seen == nil {
		a.seen = make(map[string]bool)
		for _, t := range a.tables {
			a.seen[t] = true
		}
	}
	if !a.seen[name] {
		name = strings.Clone(name)
		a.seen[name] = true
		a.tables = append(a.tables, name)
	}
}
