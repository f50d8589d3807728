package explain

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/quern-dev/quern/internal/lexer"
	"github.com/quern-dev/quern/internal/sqlparse"
)

// Severity orders problems.
type Severity uint8

// The severities. Info is worth knowing and asks for nothing.
const (
	Info Severity = iota
	Low
	Medium
	High
	Critical
)

var severities = []string{"info", "low", "medium", "high", "critical"}

func (s Severity) String() string {
	if int(s) < len(severities) {
		return severities[s]
	}
	return "unknown"
}

// MarshalText writes the severity's word.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the severity's word.
func (s *Severity) UnmarshalText(b []byte) error {
	i := slices.Index(severities, string(b))
	if i < 0 {
		return fmt.Errorf("explain: severity %q is none of %s", b, strings.Join(severities, ", "))
	}
	*s = Severity(i)
	return nil
}

// ProblemCode names a kind of problem.
type ProblemCode string

// Problem is something in a plan that costs more than it has to.
type Problem struct {
	Code     ProblemCode `json:"code"`
	Table    string      `json:"table"` // its alias; "" where no single table is meant
	Severity Severity    `json:"severity"`
	Evidence string      `json:"evidence"` // what the plan and the statement say; names and figures, no values
	Try      string      `json:"try"`      // what to try, and why it would help
}

// Check is a kind of problem that was looked for.
type Check struct {
	Code ProblemCode `json:"code"`
	Fine string      `json:"fine"` // what is well where there is no such problem
}

// Rows below which nothing is worth a word, and from which everything is.
const (
	big  = 10_000
	huge = 1_000_000
)

// Problems lists what is wrong with the plan, the worst first; nil if nothing is.
// Some are read in the statement (Plan.Select), so that a plan from a file says
// more with Select set. Estimates decide: a problem of few rows is none, and
// Plan.PerDay scales the severity.
func (p *Plan) Problems() []Problem {
	problems, _ := p.examine()
	return problems
}

// Fine lists what was looked for and not found. What the plan's format does not
// show, or the parser could not read in the statement, is not listed.
func (p *Plan) Fine() []Check {
	_, fine := p.examine()
	return fine
}

// check looks for one kind of problem.
type check struct {
	code  ProblemCode
	fine  string
	find  func(*examiner)
	needs func(*examiner) bool // nil: any plan
}

func checks() []check { return slices.Concat(accessChecks, operationChecks, statementChecks) }

func (p *Plan) examine() ([]Problem, []Check) {
	if p.Root == nil {
		return nil, nil
	}
	e := &examiner{plan: p}
	e.parse()
	e.walk(p.Root, nil)
	var fine []Check
	for _, c := range checks() {
		if c.needs != nil && !c.needs(e) {
			continue
		}
		before := len(e.found)
		e.code = c.code
		c.find(e)
		if len(e.found) == before {
			fine = append(fine, Check{c.code, c.fine})
		}
	}
	slices.SortStableFunc(e.found, func(a, b Problem) int { return cmp.Compare(b.Severity, a.Severity) })
	return e.found, fine
}

// examiner holds what the checks look at.
type examiner struct {
	plan   *Plan
	stmt   ast.StmtNode    // of Select; nil if the parser cannot read it
	sel    *ast.SelectStmt // stmt, where it is one SELECT
	tables []*place
	code   ProblemCode
	found  []Problem
}

// place is a table access and where it stands.
type place struct {
	*Node
	path  []*Node // from the root to its parent
	join  *Node   // nil outside joins
	pos   int     // in the join, from 0
	alone bool    // nothing but a LIMIT stands above: reading can stop early
}

func (e *examiner) parse() {
	p := e.plan
	if p.Select == "" {
		return
	}
	stmt, err := sqlparse.Parse(p.Select, p.mode.parser())
	if err != nil {
		return
	}
	e.stmt = stmt
	e.sel, _ = stmt.(*ast.SelectStmt)
}

func (e *examiner) walk(n *Node, path []*Node) {
	if n.Op == OpTable {
		t := &place{Node: n, path: slices.Clone(path), alone: true}
		for i := len(path) - 1; i >= 0; i-- {
			up := path[i]
			switch up.Op {
			case OpJoin:
				if t.join == nil {
					t.join = up
					below := n
					if i+1 < len(path) {
						below = path[i+1]
					}
					t.pos = slices.Index(up.Children, below)
				}
			case OpSort, OpTemporary, OpAggregate, OpDistinct, OpWindow, OpMaterialize, OpSubquery, OpSet:
				t.alone = false
			}
			if up.Op == OpSelect || up.Op == OpMaterialize || up.Op == OpSubquery {
				break
			}
		}
		e.tables = append(e.tables, t)
	}
	for _, c := range n.Children {
		e.walk(c, append(path, n))
	}
}

func (e *examiner) add(table string, s Severity, evidence, try string) {
	e.found = append(e.found, Problem{e.code, table, s, evidence, try})
}

// scaled weighs a severity with how often the statement runs: rows are the rows
// that one run reads in vain.
func (e *examiner) scaled(s Severity, rows float64) Severity {
	if e.plan.PerDay <= 0 {
		return s
	}
	switch perDay := rows * e.plan.PerDay; {
	case perDay < 1e6 && s > Low:
		s--
	case perDay >= 1e9 && s < Critical:
		s++
	}
	return s
}

// matters reports whether so many rows are worth a word.
func (e *examiner) matters(rows float64) bool {
	return rows >= big || rows >= 100 && rows*e.plan.PerDay >= 1e9
}

// limited reports whether the statement's LIMIT can end the reading of the table
// early.
func (e *examiner) limited(t *place) bool {
	if !t.alone {
		return false
	}
	for _, up := range t.path {
		if up.Op == OpLimit {
			return true
		}
	}
	// Other formats than TREE and JSON version 2 show no LIMIT.
	return e.sel != nil && e.sel.Limit != nil && t.SelectID <= 1 && e.sel.GroupBy == nil && !aggregates(e.sel)
}

func aggregates(sel *ast.SelectStmt) bool {
	found := false
	if sel.Fields != nil {
		sqlparse.Walk(sel.Fields, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.AggregateFuncExpr, *ast.WindowFuncExpr:
				found = true
			case *ast.SubqueryExpr:
				return false
			}
			return !found
		})
	}
	return found
}

// count prints a figure with thousands apart.
func count(v float64) string {
	s := figure(v)
	if strings.ContainsAny(s, ".e") || len(s) < 5 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		if i > 0 && (len(s)-i)%3 == 0 && s[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// reads says what is read of a table: "20,000 rows", "5 rows × 4,000".
func reads(n *Node) string {
	s := count(n.Rows.Or(0)) + " rows"
	if l := n.Loops.Or(1); l > 1 {
		s += " × " + count(l) + " times"
	}
	return s
}

var conditionName = regexp.MustCompile("(?:(`(?:[^`]|``)+`|[\\p{L}_$][\\p{L}\\p{N}_$]*)\\.)?(`(?:[^`]|``)+`|[\\p{L}_$][\\p{L}\\p{N}_$]*)\\.(`(?:[^`]|``)+`|[\\p{L}_$][\\p{L}\\p{N}_$]*)")

// columns lists the columns of the table that a server's condition names, in
// the order of their first place.
func columns(condition, table string) []string {
	var out []string
	for _, m := range conditionName.FindAllStringSubmatch(condition, -1) {
		if c := lexer.Unquote(m[3]); strings.EqualFold(lexer.Unquote(m[2]), table) && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// onColumns advises an index by the columns of a condition.
func onColumns(n *Node) string {
	if c := columns(n.Condition, n.Name); len(c) > 0 {
		return fmt.Sprintf("an index that begins with %s, those compared by equality first", strings.Join(c, ", "))
	}
	return "an index on the columns of its conditions, those compared by equality first"
}

// rowsInto returns the rows that go into an operation: what a sort or a
// temporary table has to hold.
func rowsInto(n *Node) float64 {
	if len(n.Children) == 0 {
		return 0
	}
	return n.Children[0].inputOut() * n.Loops.Or(1)
}

// inputOut is the estimate of rows that leave the joins and tables below.
func (n *Node) inputOut() float64 {
	for n.Op != OpTable && n.Op != OpJoin && n.Op != OpSet && len(n.Children) > 0 {
		n = n.Children[0]
	}
	return n.Out.Or(0)
}
