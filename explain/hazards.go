package explain

import (
	"fmt"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/quern-dev/quern/internal/lexer"
	"github.com/quern-dev/quern/internal/sqlparse"
)

// HazardCode names a kind of hazard.
type HazardCode string

// The hazards. What plain EXPLAIN runs was tried on MySQL 9.7 and MariaDB 10.11;
// see the package documentation.
const (
	// StoredFunction is a call of a function that is not known to be the server's
	// own: EXPLAIN may run it, and it may write.
	StoredFunction HazardCode = "stored-function"
	// SideEffect is a call of a built-in function that waits, locks, reads files
	// or changes the session.
	SideEffect HazardCode = "side-effect"
	// UserVariable is an assignment with :=, which EXPLAIN makes on constant tables.
	UserVariable HazardCode = "user-variable"
	// Sequence is a sequence that EXPLAIN would advance.
	Sequence HazardCode = "sequence"
	// ExecutedBlock is a derived table, a common table expression or a view that
	// the server may run while it plans.
	ExecutedBlock HazardCode = "executed-block"
	// ExecutedSubquery is a subquery whose value the server may want while it plans.
	ExecutedSubquery HazardCode = "executed-subquery"
	// LockingRead is a locking clause. It is taken away.
	LockingRead HazardCode = "locking-read"
	// WritesResult is INTO. It is taken away.
	WritesResult HazardCode = "writes-result"
	// LiftedLimit is a hint that overrides the session's limits. It is taken away.
	LiftedLimit HazardCode = "lifted-limit"
	// UnreadableView is a view whose definition the account may not read.
	UnreadableView HazardCode = "unreadable-view"
	// RemoteTable is a table whose engine may ask another server.
	RemoteTable HazardCode = "remote-table"
	// TemporaryTable is a table that only the statement's own session has. That
	// which the statement makes is taken away; statements that read it can be
	// explained in its session alone: elsewhere the server says error 1146, or
	// explains another table of that name.
	TemporaryTable HazardCode = "temporary-table"
)

// Hazard is something that EXPLAIN might run, wait for or change.
type Hazard struct {
	Code HazardCode `json:"code"`
	Text string     `json:"text"` // a sentence
	// Removed says that the rewritten SELECT no longer has it.
	Removed bool `json:"removed,omitempty"`

	block string // of ExecutedBlock and ExecutedSubquery: the query, to be explained by itself
}

// HazardError says that a statement was not explained, because the server might
// run parts of it.
type HazardError struct {
	Hazards []Hazard // at least one; none is Removed
}

func (e *HazardError) Error() string {
	texts := make([]string, len(e.Hazards))
	for i, h := range e.Hazards {
		texts[i] = h.Text
	}
	return "explain: refused, for EXPLAIN might run parts of the statement: " + strings.Join(texts, "; ")
}

// hazards lists what EXPLAIN of the statement might run. It reads tokens, not
// the syntax tree, so that syntax which the parser does not know cannot hide a
// call; the tree, where there is one, is searched too.
func hazards(s *statement, parsed ast.StmtNode, sv Server) []Hazard {
	h := &hazardFinder{statement: s, server: sv}
	for i := range s.toks {
		h.call(i)
		switch {
		case s.op(i, ":="):
			h.add(UserVariable, "it assigns a user variable, which EXPLAIN can do too")
		case s.is(i, "NEXT") && s.is(i+1, "VALUE") && s.is(i+2, "FOR"):
			h.add(Sequence, "it advances a sequence, which EXPLAIN can do too")
		case s.op(i, "(") && (s.is(i+1, "SELECT", "WITH") || s.is(i+1, "VALUES") && s.opensQuery(i)):
			h.block(i)
		}
	}
	if parsed != nil {
		sqlparse.Walk(parsed, func(n ast.Node) bool {
			if f, ok := n.(*ast.FuncCallExpr); ok && f.Schema.L != "" {
				h.add(StoredFunction, fmt.Sprintf("the function %s.%s is called with its schema, as stored functions are", f.Schema.L, f.FnName.L))
			}
			return true
		})
	}
	return h.found
}

type hazardFinder struct {
	*statement
	server Server
	found  []Hazard
	seen   map[[2]string]bool // what found holds, by code and text or block
	blocks int                // of found
	places []where            // see at
}

// isNew reports whether there is no hazard yet with this code and text or block,
// and notes that there is.
func (h *hazardFinder) isNew(code HazardCode, text string) bool {
	key := [2]string{string(code), text}
	if h.seen[key] {
		return false
	}
	if h.seen == nil {
		h.seen = make(map[[2]string]bool)
	}
	h.seen[key] = true
	return true
}

func (h *hazardFinder) add(code HazardCode, text string) {
	if h.isNew(code, text) {
		h.found = append(h.found, Hazard{Code: code, Text: text})
	}
}

// call judges the name before a parenthesis.
func (h *hazardFinder) call(i int) {
	if !h.name(i) || !h.op(i+1, "(") {
		return
	}
	name := strings.ToLower(lexer.Unquote(h.raw(i)))
	quoted := h.kind(i, lexer.QuotedIdent)
	closed := h.toks[i+1].match
	switch {
	case h.is(0, "INSERT", "REPLACE") && i > 0 && h.toks[i].depth == 0 && h.find(0, i, 0, "SELECT", "VALUES", "VALUE", "SET", "TABLE", "WITH", "PARTITION", "ON") == i:
		// INSERT INTO table (columns)
	case h.op(i-1, "."):
		h.add(StoredFunction, fmt.Sprintf("the function %s is called with its schema, as stored functions are", strings.ToLower(lexer.Unquote(h.raw(i-2))+"."+name)))
	case h.is(closed+1, "AS") && h.op(closed+2, "("):
		// WITH name (columns) AS (
	case h.op(i-1, ")"), h.is(i-1, "AS") && h.aliased(i-1):
		// (SELECT …) name (columns)
		if grammar[name] || builtinVersions[name] != (versions{}) || !quoted && effects[name] == "" {
			return
		}
		h.add(StoredFunction, fmt.Sprintf("%s may be a call of a function that is not the server's own", name))
	case quoted:
		h.add(StoredFunction, fmt.Sprintf("the function %s is called by a quoted name, as stored functions are", name))
	case grammar[name]:
	case name == "any" || name == "some":
		if !h.opensQuery(i + 1) {
			h.add(StoredFunction, fmt.Sprintf("the function %s is not the server's own", name))
		}
	case name == "against" && h.op(i-1, ")"):
	case name == "columns" && h.inside(i, "JSON_TABLE"):
	case name == "json_table" && (h.op(i-1, ",") || h.is(i-1, "FROM", "JOIN", "STRAIGHT_JOIN")) && h.clause(i) == "FROM" && !h.inside(i, "EXTRACT") && !h.inside(i, "TRIM"):
	case name == "last_insert_id" && closed == i+2:
	case effects[name] != "":
		code := SideEffect
		if name == "nextval" || name == "setval" {
			code = Sequence
		}
		h.add(code, fmt.Sprintf("%s() %s", name, effects[name]))
	case typeNames[name] && (h.is(i-1, "AS", "RETURNING") || h.inside(i, "CONVERT") || h.inside(i, "COLUMNS")):
	case spaced[name] && h.toks[i].End != h.toks[i+1].Start:
		h.add(StoredFunction, fmt.Sprintf("%s with a space before its parenthesis calls a stored function", name))
	case !h.server.builtin(name):
		h.add(StoredFunction, fmt.Sprintf("the function %s is not known to be the server's own", name))
	}
}

// aliased reports whether AS names a derived table: (SELECT …) AS name (columns).
func (h *hazardFinder) aliased(as int) bool { return h.op(as-1, ")") }

// inside reports whether token i stands directly in the parentheses of the word.
func (h *hazardFinder) inside(i int, word string) bool {
	return h.is(h.toks[i].outer-1, word)
}

// block judges the query in the parentheses at i. While they plan, servers run
// derived tables and subqueries whose values they want, with whatever those cost.
// Tried on both servers:
//
//   - MySQL runs a derived table that it expects to give one row at most; a scalar
//     subquery in WHERE and ON that does not depend on other rows; EXISTS, and IN
//     behind a constant, of that kind.
//   - MariaDB, with expensive_subquery_limit=0, runs such a scalar subquery in a list
//     of IN, in BETWEEN and in ON.
//   - Both run a derived table without tables, or with constant ones, and all
//     subqueries in it.
//
// Only the server can tell what a block costs, and whether its tables are constant.
func (h *hazardFinder) block(i int) {
	end := h.toks[i].match
	if end < 0 {
		return
	}
	inner := i + 1
	depth := h.toks[inner].depth
	nested := h.hasQuery(inner, end)
	if h.find(inner, end, depth, "FROM") == end && !nested {
		return // no table: it calls harmless functions only, or they are hazards of their own
	}
	before := i - 1
	for h.op(before, "(") {
		before--
	}
	text := h.text(inner, end)
	maria := h.server.Product == MariaDB
	switch {
	case before < 0, h.is(before, "UNION", "EXCEPT", "INTERSECT", "INSERT", "REPLACE"):
	case h.is(before, "ALL", "DISTINCT") && h.is(before-1, "UNION", "EXCEPT", "INTERSECT"):
	case h.is(before, "FROM", "JOIN", "STRAIGHT_JOIN", "LATERAL", "AS"), h.op(before, ",") && h.clause(i) == "FROM":
		few := !maria && h.find(inner, end, depth, "UNION") == end &&
			(h.aggregates(inner, end, depth) || h.find(inner, end, depth, "LIMIT", "GROUP", "HAVING") < end || h.is(inner+1, "DISTINCT"))
		if few || nested {
			h.addBlock(ExecutedBlock, "a derived table or common table expression may be run while the server plans, if it expects one row or reads constant tables", i, text)
		}
	default:
		if clause := h.clause(i); clause != "WHERE" && clause != "ON" && clause != "VALUES" || h.correlated(inner, end) {
			return
		}
		if h.wanted(i, before, maria) {
			h.addBlock(ExecutedSubquery, "a subquery does not depend on the outer rows; the server runs one whose value it wants while it plans", i, text)
		}
	}
}

// wanted reports whether the server may want the value of the subquery at i while
// it plans. The token before its parentheses is at before.
func (h *hazardFinder) wanted(i, before int, maria bool) bool {
	switch {
	case h.is(before, "IN") && h.listed(i):
		return true
	case h.is(before, "IN", "ANY", "SOME", "ALL"):
		// With a column on the left it is no constant, and a semi-join in most cases.
		left := before - 1
		for left > 0 && (h.is(left, "NOT") || h.toks[left].Kind == lexer.Op && !h.op(left, ")")) {
			left--
		}
		return !maria && !h.name(left) && !h.op(left, ")")
	case h.is(before, "EXISTS"):
		return !maria
	case !maria:
		return true
	}
	if h.clause(i) != "WHERE" || h.is(before, "BETWEEN") || h.is(before, "AND") && h.between(before) {
		return true
	}
	return h.at(i).inList
}

// listed tells IN ((SELECT …), 5) from IN ((SELECT …)).
func (h *hazardFinder) listed(i int) bool {
	if !h.op(i-1, "(") {
		return false
	}
	for j := h.toks[i].match + 1; j < h.toks[i-1].match; j++ {
		if h.toks[j].depth == h.toks[i].depth && h.op(j, ",") {
			return true
		}
	}
	return false
}

// between reports whether the AND belongs to a BETWEEN.
func (h *hazardFinder) between(and int) bool {
	for j := and - 1; j >= 0 && h.toks[j].depth >= h.toks[and].depth; j-- {
		if h.toks[j].depth == h.toks[and].depth && h.is(j, "BETWEEN", "AND", "OR", "WHERE", "ON") {
			return h.is(j, "BETWEEN")
		}
	}
	return false
}

// addBlock adds the query block in the parentheses at i. Beyond maxBlocks the
// statement is refused whatever they are, and so one more is enough.
func (h *hazardFinder) addBlock(code HazardCode, text string, i int, block string) {
	if h.blocks <= maxBlocks && h.isNew(code, block) {
		h.blocks++
		h.found = append(h.found, Hazard{Code: code, Text: text, block: h.with(i) + block})
	}
}

// with returns the statement's WITH clause, if the block at i stands behind it,
// so that the block can be explained by itself.
func (h *hazardFinder) with(i int) string {
	if !h.is(0, "WITH") {
		return ""
	}
	body := h.find(0, len(h.toks), 0, "SELECT", "TABLE", "VALUES")
	if body == len(h.toks) || i < body || h.is(i+1, "WITH") {
		return ""
	}
	return h.text(0, body) + " "
}

// where is the place of a token.
type where struct {
	clause string // of the nearest query: SELECT, FROM, WHERE, …
	inList bool   // in the parentheses of IN, at whatever depth
}

// at returns where token i stands; the first call reads all tokens.
func (h *hazardFinder) at(i int) where {
	if h.places == nil {
		h.places = make([]where, len(h.toks))
		stack := []where{{}}
		for j := range h.toks {
			top := &stack[len(stack)-1]
			h.places[j] = *top
			switch {
			case h.op(j, "("):
				inner := *top
				inner.inList = inner.inList || h.is(j-1, "IN")
				stack = append(stack, inner)
			case h.op(j, ")") && len(stack) > 1:
				stack = stack[:len(stack)-1]
			case h.is(j, "SELECT", "FROM", "WHERE", "ON", "HAVING", "GROUP", "ORDER", "SET", "VALUES", "LIMIT", "WINDOW"):
				top.clause = h.toks[j].word
			case h.is(j, "JOIN", "STRAIGHT_JOIN"):
				top.clause = "FROM"
			}
		}
	}
	return h.places[i]
}

// clause returns the clause of the nearest query in which token i stands.
func (h *hazardFinder) clause(i int) string { return h.at(i).clause }

func (h *hazardFinder) aggregates(from, to, depth int) bool {
	for i := from; i < to; i++ {
		if h.toks[i].depth < depth || !h.op(i+1, "(") {
			continue
		}
		switch h.toks[i].word {
		case "COUNT", "SUM", "MIN", "MAX", "AVG", "GROUP_CONCAT", "BIT_AND", "BIT_OR", "BIT_XOR", "STD", "STDDEV",
			"STDDEV_POP", "STDDEV_SAMP", "VAR_POP", "VAR_SAMP", "VARIANCE", "JSON_ARRAYAGG", "JSON_OBJECTAGG", "ANY_VALUE":
			return true
		}
	}
	return false
}

// correlated reports whether a column in [from, to) is qualified by a name that
// the block does not declare. Without the schema, a bare column cannot be told.
func (h *hazardFinder) correlated(from, to int) bool {
	declared := make(map[string]bool)
	for i := from; i < to; i++ {
		if !h.name(i) || h.op(i+1, "(") || h.op(i+1, ".") {
			continue
		}
		// A table's own name, or an alias: FROM t, FROM t a, FROM t AS a, (…) a.
		declared[strings.ToLower(lexer.Unquote(h.raw(i)))] = true
	}
	for i := from; i < to; i++ {
		if h.name(i) && h.op(i+1, ".") && !h.op(i-1, ".") && h.clause(i) != "FROM" {
			q := i
			if h.op(i+3, ".") {
				q = i + 2 // schema.table.column
			}
			if !declared[strings.ToLower(lexer.Unquote(h.raw(q)))] {
				return true
			}
		}
	}
	return false
}

// removedHazards turns what was taken away into hazards that are no more.
func removedHazards(removed []string) []Hazard {
	var out []Hazard
	for _, what := range removed {
		h := Hazard{Removed: true}
		switch {
		case what == "INTO":
			h.Code, h.Text = WritesResult, "INTO was taken away"
		case what == "TEMPORARY TABLE":
			h.Code, h.Text = TemporaryTable, "CREATE TEMPORARY TABLE was taken away; statements that read the table can be explained in its own session alone"
		case strings.HasPrefix(what, "FOR "), strings.HasPrefix(what, "LOCK "):
			h.Code, h.Text = LockingRead, what+" was taken away: EXPLAIN can wait for row locks"
		case strings.HasPrefix(what, "hint "):
			h.Code, h.Text = LiftedLimit, "the "+what+" was taken away: it overrides the session's limits"
		default:
			continue
		}
		out = append(out, h)
	}
	return out
}
