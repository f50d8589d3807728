package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/quern-dev/quern/internal/lexer"
	"github.com/quern-dev/quern/internal/sqlparse"
)

// Mode is the part of sql_mode that changes how a statement is read. It must be
// the mode of the connection that ran the statement.
type Mode struct {
	ANSIQuotes         bool
	NoBackslashEscapes bool
	PipesAsConcat      bool
}

// RewriteOptions say where a statement comes from and which server will explain
// it.
type RewriteOptions struct {
	Mode   Mode
	Server Server // the zero value: any server
}

// Rewritten is the SELECT that stands for a statement.
type Rewritten struct {
	// Select reads the rows that the statement reads or changes, by the same
	// access paths. It is the statement itself, byte for byte, where that is a
	// SELECT with nothing to take away.
	Select string

	Verb    string   // of the statement: SELECT, UPDATE, DELETE, INSERT, REPLACE, CREATE, SET, DO, CALL
	Written []string // the tables that the statement writes, by alias, as written; nil for a read
	Removed []string // what was taken away, in words: INTO, FOR UPDATE, RETURNING, hints

	// Approximate says that the statement's own plan can differ from the plan of
	// Select; Why says how.
	Approximate bool
	Why         []string

	// Settings are session variables, "name=value", under which the server plans
	// Select as it plans the statement.
	Settings []string

	// Hazards are what EXPLAIN of Select might run or wait for.
	Hazards []Hazard

	single bool // a one-table UPDATE or DELETE
	write  writeKind
	query  string // the statement
}

// writeKind is what a statement does to the rows that it reads.
type writeKind uint8

const (
	readOnly writeKind = iota
	writeUpdate
	writeDelete
	writeInsert
)

// RewriteCode says why there is no SELECT for a statement.
type RewriteCode string

// The reasons of a RewriteError.
const (
	Empty       RewriteCode = "empty"        // no statement
	Multiple    RewriteCode = "multiple"     // more than one statement
	Truncated   RewriteCode = "truncated"    // the text ends in the middle
	Placeholder RewriteCode = "placeholder"  // a fingerprint or prepared text, with ? for values
	ReadsNoRows RewriteCode = "reads-no-row" // a statement that reads no table
	NotAQuery   RewriteCode = "not-a-query"  // DDL, CALL, administration
	Unreadable  RewriteCode = "unreadable"   // no certain reading of the text
)

// RewriteError says why there is no SELECT for a statement.
type RewriteError struct {
	Code   RewriteCode
	Verb   string // of the statement, "" if it has none
	Reason string // a sentence without a full stop
}

func (e *RewriteError) Error() string {
	if e.Verb == "" {
		return "explain: this text cannot be explained: " + e.Reason
	}
	return fmt.Sprintf("explain: this %s cannot be explained: %s", e.Verb, e.Reason)
}

// Rewrite gives the SELECT that reads the same rows as the statement by the same
// access paths, so that its plan can be had without the rights to write and
// without the danger of writing. It selects alias.* of each table that the
// statement writes: a shorter list would claim a covering index, which a write
// cannot use. The text of expressions is the statement's own.
//
// Its error is a *RewriteError.
func Rewrite(sql string, o RewriteOptions) (*Rewritten, error) {
	return rewrite(sql, o, 0)
}

// maxNesting bounds the parentheses inside one another. Servers run out of stack
// long before.
const maxNesting = 500

// maxUnwrap bounds EXPLAIN of PREPARE of EXPLAIN of ….
const maxUnwrap = 4

// maxBytes bounds the statement. Its tokens take thirty times its size.
const maxBytes = 4 << 20

func rewrite(sql string, o RewriteOptions, depth int) (*Rewritten, error) {
	if len(sql) > maxBytes {
		return nil, &RewriteError{Code: Unreadable, Reason: fmt.Sprintf("it is longer than %d bytes", maxBytes)}
	}
	s := scan(sql, o.Mode)
	if len(s.toks) == 0 {
		return nil, &RewriteError{Code: Empty, Reason: "it holds no statement"}
	}
	r := &rewriter{statement: s, opts: o, out: &Rewritten{query: sql, Verb: s.toks[0].word}, depth: depth}
	switch {
	case s.semicolon:
		return nil, r.fail(Multiple, "it holds more than one statement")
	case s.truncated, s.dots:
		return nil, r.fail(Truncated, "the text ends in the middle of the statement, as logs cut long ones")
	case s.question:
		return nil, r.fail(Placeholder, "it has ? in the place of values; take a sample of the class")
	}
	for i, t := range r.toks {
		if t.depth > maxNesting {
			return nil, r.fail(Unreadable, fmt.Sprintf("parentheses are nested more than %d deep", maxNesting))
		}
		if t.match < 0 && (r.op(i, "(") || r.op(i, ")")) {
			return nil, r.fail(Unreadable, "a parenthesis has no partner")
		}
	}
	if err := r.dispatch(); err != nil {
		return nil, err
	}
	if r.inner != nil {
		return r.inner, nil
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return r.out, nil
}

// rewriter holds one statement on its way.
type rewriter struct {
	*statement
	opts  RewriteOptions
	out   *Rewritten
	inner *Rewritten // of the statement inside EXPLAIN or PREPARE
	depth int        // of such statements around this one

	switches []string // of optimizer_switch
}

func (r *rewriter) fail(code RewriteCode, reason string) error {
	return &RewriteError{Code: code, Verb: r.out.Verb, Reason: reason}
}

func (r *rewriter) approximate(why string) {
	r.out.Approximate = true
	if !slices.Contains(r.out.Why, why) {
		r.out.Why = append(r.out.Why, why)
	}
}

func (r *rewriter) removed(what string) {
	if !slices.Contains(r.out.Removed, what) {
		r.out.Removed = append(r.out.Removed, what)
	}
}

func (r *rewriter) setting(s string) {
	if !slices.Contains(r.out.Settings, s) {
		r.out.Settings = append(r.out.Settings, s)
	}
}

func (r *rewriter) dispatch() error {
	first, end := 0, len(r.toks)
	for r.op(first, "(") {
		first++
	}
	verb := first
	if r.is(first, "WITH") {
		verb = r.find(first, end, r.toks[first].depth, "SELECT", "UPDATE", "DELETE", "INSERT", "REPLACE", "TABLE", "VALUES")
		if verb == end {
			// WITH c AS (…) (SELECT …)
			verb = first
		}
		r.out.Verb = r.toks[verb].word
		if verb == first {
			r.out.Verb = "SELECT"
		}
	} else {
		r.out.Verb = r.toks[first].word
	}
	if first > 0 && !r.is(first, "SELECT", "WITH", "TABLE", "VALUES") {
		return r.fail(Unreadable, "a query was expected in the parentheses")
	}
	if r.toks[verb].exec {
		return r.fail(Unreadable, "its verb stands in an executable comment, which not every server runs")
	}
	switch r.out.Verb {
	case "SELECT":
		r.out.Select = r.src
		if strings.Contains(r.src[r.toks[end-1].End:], ";") {
			r.out.Select = r.text(0, end)
		}
		return nil
	case "TABLE":
		if first > 0 {
			return r.fail(Unreadable, "a SELECT was expected in the parentheses")
		}
		r.out.Select = "SELECT * FROM " + r.text(1, end)
		return nil
	case "VALUES":
		return r.fail(ReadsNoRows, "it reads no table")
	case "UPDATE":
		return r.update(verb)
	case "DELETE":
		return r.delete(verb)
	case "INSERT", "REPLACE":
		return r.insert(verb)
	case "CREATE":
		return r.create(verb)
	case "SET", "DO", "CALL":
		return r.expressions(verb)
	case "EXPLAIN", "DESCRIBE", "DESC", "ANALYZE":
		return r.explain()
	case "PREPARE", "EXECUTE":
		return r.prepare()
	case "":
		return r.fail(Unreadable, "no verb was found")
	}
	return r.fail(NotAQuery, "it is not a statement that reads rows by a plan")
}

// check takes away what a plan does not need, gathers the hazards, and makes
// sure that the parser, where it reads the statement, finds the same tables in
// the SELECT.
func (r *rewriter) check() error {
	for _, w := range r.out.Written {
		name := scan(w, r.opts.Mode)
		for i := range name.toks {
			if i%2 == 0 && !name.name(i) || i%2 == 1 && !name.op(i, ".") {
				return r.fail(Unreadable, "a table's name was expected")
			}
		}
		if len(name.toks)%2 == 0 {
			return r.fail(Unreadable, "a table's name was expected")
		}
	}
	if len(r.switches) > 0 {
		r.setting("optimizer_switch=" + strings.Join(r.switches, ","))
	}
	sel := &rewriter{statement: scan(r.out.Select, r.opts.Mode), opts: r.opts, out: r.out}
	before := len(r.out.Removed)
	text, err := sel.readOnly(0, len(sel.toks))
	if err != nil {
		return err
	}
	if len(r.out.Removed) > before {
		r.out.Select = text
		sel.statement = scan(text, r.opts.Mode)
	}
	po := r.opts.Mode.parser()
	parsed, err := sqlparse.Parse(r.out.Select, po)
	if err != nil {
		parsed = nil
	}
	if r.out.write != readOnly {
		original, err := sqlparse.Parse(r.src, po)
		switch {
		case err != nil: // newer syntax, or MariaDB's: the clauses were told by reserved words
		case parsed == nil:
			return r.fail(Unreadable, "the SELECT that was made of it does not parse")
		case r.out.write != writeInsert && !slices.Equal(tablesOf(original), tablesOf(parsed)):
			return r.fail(Unreadable, "the SELECT that was made of it reads other tables")
		}
	}
	r.out.Hazards = append(hazards(sel.statement, parsed, r.opts.Server), removedHazards(r.out.Removed)...)
	if r.opts.Server.Product == MariaDB && sel.hasQuery(0, len(sel.toks)) {
		r.setting("expensive_subquery_limit=0") // else it runs subqueries of few rows while it plans
	}
	return nil
}

// tablesOf lists the tables that a statement names as those it reads.
func tablesOf(stmt ast.StmtNode) []string {
	var names []string
	sqlparse.Walk(stmt, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.DeleteTableList:
			return false
		case *ast.TableName:
			names = append(names, n.Schema.L+"."+n.Name.L)
		}
		return true
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// readOnly returns the text of [from, to) without the clauses that write, lock
// or override limits.
func (r *rewriter) readOnly(from, to int) (string, error) {
	var b strings.Builder
	start := from
	add := func(end int) {
		if start < end {
			if b.Len() > 0 && !r.op(start, ")") {
				b.WriteByte(' ')
			}
			b.WriteString(r.text(start, end))
		}
	}
	cut := func(i, j int, what string) error {
		for k := i; k < j; k++ {
			if r.toks[k].exec {
				return r.fail(Unreadable, what+" stands in an executable comment, which not every server runs")
			}
		}
		add(i)
		start = j
		r.removed(what)
		return nil
	}
	for i := from; i < to; i++ {
		var end int
		var what string
		switch {
		case r.is(i, "INTO"):
			end, what = r.endOfInto(i, to), "INTO"
		case r.is(i, "FOR") && r.is(i+1, "UPDATE", "SHARE") && !r.inSubstring(i):
			end, what = r.endOfLocking(i+2, to), "FOR "+r.toks[i+1].word
		case r.is(i, "LOCK") && r.is(i+1, "IN") && r.is(i+2, "SHARE") && r.is(i+3, "MODE"):
			end, what = r.endOfLocking(i+4, to), "LOCK IN SHARE MODE"
		case r.is(i, "PROCEDURE") && r.is(i+1, "ANALYSE"):
			end, what = to, "PROCEDURE ANALYSE"
			if r.op(i+2, "(") && r.toks[i+2].match > 0 {
				end = r.toks[i+2].match + 1
			}
		case r.kind(i, lexer.Hint):
			kept, gone := readOnlyHint(r.raw(i))
			if len(gone) == 0 {
				continue
			}
			if err := cut(i, i+1, "hint "+strings.Join(gone, ", ")); err != nil {
				return "", err
			}
			if kept != "" {
				b.WriteString(" " + kept)
			}
			continue
		default:
			continue
		}
		if err := cut(i, end, what); err != nil {
			return "", err
		}
		i = end - 1
	}
	add(to)
	return b.String(), nil
}

// inSubstring tells the FOR of SUBSTRING(a FROM b FOR c) from a locking clause.
func (r *rewriter) inSubstring(i int) bool {
	return r.is(r.toks[i].outer-1, "SUBSTRING", "SUBSTR", "MID")
}

func (r *rewriter) endOfInto(i, to int) int {
	depth := r.toks[i].depth
	if r.is(i+1, "OUTFILE", "DUMPFILE") {
		for j := i + 2; j < to; j++ {
			if r.toks[j].depth < depth || r.toks[j].depth == depth && r.is(j, "FROM", "FOR", "LOCK", "UNION") {
				return j
			}
		}
		return to
	}
	j := i + 1
	for j < to && (r.kind(j, lexer.Variable) || r.name(j) && !r.is(j, "FROM", "FOR", "LOCK")) {
		j++
		if !r.op(j, ",") {
			return j
		}
		j++
	}
	return j
}

func (r *rewriter) endOfLocking(j, to int) int {
	if r.is(j, "OF") {
		j++
		for j < to && (r.name(j) || r.op(j, ".") || r.op(j, ",")) && !r.is(j, "NOWAIT", "SKIP", "WAIT", "FOR") {
			j++
		}
	}
	switch {
	case r.is(j, "NOWAIT"):
		j++
	case r.is(j, "SKIP") && r.is(j+1, "LOCKED"), r.is(j, "WAIT") && r.kind(j+1, lexer.Number):
		j += 2
	}
	return min(j, to)
}

// clauseInComment says that a clause of the outer statement stands in an
// executable comment: the two servers would read two statements.
func (r *rewriter) clauseInComment(words ...string) error {
	if !r.executable {
		return nil
	}
	for i := range r.toks {
		if r.toks[i].exec && r.toks[i].depth == 0 && r.is(i, words...) {
			return r.fail(Unreadable, "a clause stands in an executable comment, which not every server runs")
		}
	}
	return nil
}

// explain unwraps EXPLAIN, DESCRIBE and MariaDB's ANALYZE.
func (r *rewriter) explain() error {
	i := 1
	for i < len(r.toks) {
		switch {
		case r.is(i, "EXTENDED", "PARTITIONS", "ANALYZE", "VERBOSE"):
			i++
		case r.is(i, "FORMAT") && r.op(i+1, "="):
			i += 3
		case r.is(i, "INTO") && r.kind(i+1, lexer.Variable):
			i += 2
		case r.is(i, "FOR") && r.is(i+1, "SCHEMA", "DATABASE"):
			i += 3
		case r.op(i, "("), r.is(i, "SELECT", "WITH", "UPDATE", "DELETE", "INSERT", "REPLACE"),
			r.is(i, "TABLE") && r.out.Verb != "ANALYZE":
			return r.unwrap(r.src[r.toks[i].Start:])
		default:
			if r.out.Verb == "ANALYZE" {
				return r.fail(NotAQuery, "it gathers statistics")
			}
			return r.fail(ReadsNoRows, "it describes a table or a connection")
		}
	}
	return r.fail(ReadsNoRows, "it describes nothing")
}

func (r *rewriter) unwrap(sql string) error {
	if r.depth >= maxUnwrap {
		return r.fail(Unreadable, "too many statements inside one another")
	}
	inner, err := rewrite(sql, r.opts, r.depth+1)
	r.inner = inner
	return err
}

// prepare unwraps PREPARE s FROM 'text' and MariaDB's EXECUTE IMMEDIATE 'text'.
func (r *rewriter) prepare() error {
	i := 3
	switch {
	case r.out.Verb == "PREPARE" && r.is(2, "FROM"):
	case r.out.Verb == "EXECUTE" && r.is(1, "IMMEDIATE"):
		i = 2
	default:
		return r.fail(NotAQuery, "the text of the prepared statement stands elsewhere")
	}
	if !r.kind(i, lexer.String) || i+1 != len(r.toks) {
		return r.fail(NotAQuery, "the prepared text is not a literal")
	}
	return r.unwrap(unquote(r.raw(i), r.opts.Mode))
}

// unquote returns the value of a string literal.
func unquote(lit string, m Mode) string {
	if len(lit) > 0 && (lit[0] == 'n' || lit[0] == 'N') {
		lit = lit[1:]
	}
	if len(lit) < 2 {
		return ""
	}
	quote := lit[0]
	body := lit[1 : len(lit)-1]
	var b strings.Builder
	for i := 0; i < len(body); i++ {
		c := body[i]
		switch {
		case c == quote:
			i++ // doubled
		case c == '\\' && !m.NoBackslashEscapes && i+1 < len(body):
			i++
			c = body[i]
			switch c {
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			case 'r':
				c = '\r'
			case '0':
				c = 0
			case 'b':
				c = '\b'
			case 'Z':
				c = 26
			case '%', '_':
				b.WriteByte('\\')
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}
