package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"

	"github.com/quern-dev/quern/internal/sqlparse"
)

// The problems of operations above the tables.
const (
	LargeSort           ProblemCode = "large-sort"
	LargeTemporary      ProblemCode = "large-temporary-table"
	TemporaryAndSort    ProblemCode = "temporary-and-sort"
	SortSpills          ProblemCode = "sort-spills"
	DependentSubquery   ProblemCode = "dependent-subquery"
	UncacheableSubquery ProblemCode = "uncacheable-subquery"
	DuplicateWeedout    ProblemCode = "duplicate-weedout"
	UnionDistinct       ProblemCode = "union-distinct"
	LargeWindow         ProblemCode = "large-window"
	ImpossibleCondition ProblemCode = "impossible-condition"
	NoMatchingRow       ProblemCode = "no-matching-row"
	ChangesScannedKey   ProblemCode = "changes-scanned-key"
)

// The problems that stand in the statement.
const (
	FunctionOnColumn ProblemCode = "function-on-column"
	LeadingWildcard  ProblemCode = "leading-wildcard"
	LargeOffset      ProblemCode = "large-offset"
	OrderByRand      ProblemCode = "order-by-rand"
	LongList         ProblemCode = "long-list"
	AllRowsWritten   ProblemCode = "all-rows-written"
	SelectStar       ProblemCode = "select-star"
	IndexHint        ProblemCode = "index-hint"
)

var operationChecks = []check{
	{TemporaryAndSort, "no large temporary table is sorted", temporaryAndSort, nil},
	{LargeSort, "no large result is sorted", largeSort, nil},
	{LargeTemporary, "no large temporary table is filled", largeTemporary, nil},
	{SortSpills, "the sorts stayed in memory", sortSpills, func(e *examiner) bool { return e.shows(JSONMariaDB) && e.plan.Root.anyActual() }},
	{DependentSubquery, "no subquery is run again for many rows", dependentSubquery, nil},
	{UncacheableSubquery, "no subquery is run again though it depends on nothing", uncacheable, func(e *examiner) bool { return e.shows(Traditional, JSON1, JSON2, Tree) }},
	{DuplicateWeedout, "no semi-join gathers duplicates to remove them", weedout, nil},
	{UnionDistinct, "no large UNION looks for duplicates", unionDistinct, nil},
	{LargeWindow, "no window is computed over many rows", largeWindow, func(e *examiner) bool { return e.shows(JSON1, JSON2, Tree, JSONMariaDB) }},
	{ImpossibleCondition, "the conditions can be true", impossible, nil},
	{NoMatchingRow, "the rows looked up by constants exist", noMatch, nil},
	{ChangesScannedKey, "the key that finds the rows is not changed", changesKey, updatesUnordered},
}

var statementChecks = []check{
	{FunctionOnColumn, "no function hides a column from an index", functionOnColumn, parsed},
	{LeadingWildcard, "no LIKE begins with a wildcard", leadingWildcard, parsed},
	{LargeOffset, "LIMIT skips few rows", largeOffset, parsed},
	{OrderByRand, "nothing is sorted at random", orderByRand, parsed},
	{LongList, "the lists of IN are short", longList, parsed},
	{AllRowsWritten, "the statement says which rows it writes", allRowsWritten, func(e *examiner) bool { return e.plan.write == writeUpdate || e.plan.write == writeDelete }},
	{SelectStar, "the statement names its columns", selectStar, func(e *examiner) bool { return e.sel != nil && e.plan.write == readOnly }},
	{IndexHint, "no hint picks the index", indexHint, parsed},
}

func parsed(e *examiner) bool { return e.stmt != nil }

func (n *Node) anyActual() bool {
	for x := range n.All() {
		if x.Actual != nil {
			return true
		}
	}
	return false
}

// sortsTemporary reports whether a sort reads a temporary table.
func sortsTemporary(n *Node) bool {
	if n.Op != OpSort {
		return false
	}
	for len(n.Children) > 0 {
		n = n.Children[0]
		switch n.Op {
		case OpTemporary:
			return true
		case OpAggregate, OpDistinct, OpFilter, OpWindow:
		default:
			return false
		}
	}
	return false
}

func temporaryAndSort(e *examiner) {
	for n := range e.plan.Root.All() {
		if rows := rowsInto(n); sortsTemporary(n) && e.matters(rows) {
			e.add("", e.scaled(High, rows), fmt.Sprintf("Using temporary; Using filesort: %s rows are collected, then sorted", count(rows)),
				"GROUP BY and ORDER BY over different columns, or over columns of several tables, cannot follow one index. Try to group and order by the leading columns of one index of the driving table, or to group fewer rows.")
		}
	}
}

func largeSort(e *examiner) {
	for n := range e.plan.Root.All() {
		rows := rowsInto(n)
		if n.Op != OpSort || sortsTemporary(n) || !e.matters(rows) {
			continue
		}
		s := Medium
		if rows >= huge {
			s = High
		}
		e.add("", e.scaled(s, rows), fmt.Sprintf("Using filesort: %s rows are sorted", count(rows)),
			"An index that gives the order lets the server read the rows sorted, and with LIMIT stop early: the columns compared by equality first, then those of ORDER BY in their order and directions.")
	}
}

func largeTemporary(e *examiner) {
	under := make(map[*Node]bool)
	for n := range e.plan.Root.All() {
		if sortsTemporary(n) || n.Op == OpMaterialize || n.Op == OpWindow || under[n] {
			// They have problems of their own.
			for _, c := range n.Children {
				if c.Op == OpTemporary || c.Op == OpAggregate || c.Op == OpSort || c.Op == OpDistinct || c.Op == OpSet {
					under[c] = true
				}
			}
		}
		if n.Op == OpTemporary && len(n.Children) > 0 && n.Children[0].Op == OpSet {
			continue
		}
		if rows := rowsInto(n); n.Op == OpTemporary && !under[n] && e.matters(rows) {
			e.add("", e.scaled(Medium, rows), fmt.Sprintf("Using temporary: %s rows go through a temporary table", count(rows)),
				"An index on the columns of GROUP BY or DISTINCT gives the rows in groups, without a table to collect them in.")
		}
	}
}

func sortSpills(e *examiner) {
	for n := range e.plan.Root.All() {
		for _, x := range n.Extra {
			if passes, ok := strings.CutPrefix(x, "sort passes: "); ok {
				e.add("", Medium, "the sort took "+passes+" merge passes on disk",
					"Sort fewer rows or fewer and narrower columns, give the order by an index, or raise sort_buffer_size for this statement alone.")
			}
		}
	}
}

func dependentSubquery(e *examiner) {
	for n := range e.plan.Root.All() {
		if n.Op != OpSubquery || !n.Dependent || n.Loops.Or(1) < 1000 {
			continue
		}
		rows, scans, name := 0.0, false, ""
		for t := range n.All() {
			if t.Op == OpTable && !t.Internal() {
				rows += t.Examined().Or(0)
				scans = scans || t.Access == AccessAll || t.Access == AccessIndex
				if name == "" {
					name = t.Name
				}
			}
		}
		if !e.matters(rows) {
			continue
		}
		s := Medium
		if rows >= huge {
			s = High
		}
		if scans {
			s = Critical
		}
		e.add(name, e.scaled(s, rows), fmt.Sprintf("dependent subquery: run for up to %s rows, %s rows read in all", count(n.Loops.Or(1)), count(rows)),
			"Write it as a join, or as a join with a derived table that groups once. Where it stays, index the columns by which it depends on the outer row.")
	}
}

func uncacheable(e *examiner) {
	for n := range e.plan.Root.All() {
		if n.Op == OpSubquery && n.Uncacheable && !n.Dependent && n.Loops.Or(1) >= 100 {
			e.add("", e.scaled(High, n.Loops.Or(1)), fmt.Sprintf("uncacheable subquery: run for up to %s rows", count(n.Loops.Or(1))),
				"A user variable or RAND() in it makes the server run it for each row. Take it out, or compute the value once beforehand.")
		}
	}
}

func weedout(e *examiner) {
	for n := range e.plan.Root.All() {
		// JSON prints DISTINCT and the weeding of semi-joins by one name.
		weeds := n.Has(Weedout) || e.shows(JSON1, JSONMariaDB) && e.sel != nil && !e.sel.Distinct
		if rows := n.inputOut(); n.Op == OpDistinct && weeds && e.matters(rows) {
			e.add("", e.scaled(Medium, rows), fmt.Sprintf("Start temporary: the duplicates among %s rows are weeded out", count(rows)),
				"Try an index on the subquery's column, so that the server can stop at the first match, or EXISTS.")
		}
	}
}

func unionDistinct(e *examiner) {
	for n := range e.plan.Root.All() {
		set := n.Op == OpTemporary && len(n.Children) > 0 && n.Children[0].Op == OpSet && n.Children[0].SetOperation == "union"
		if rows := rowsInto(n); set && e.matters(rows) {
			e.add("", e.scaled(Low, rows), fmt.Sprintf("UNION collects %s rows in a temporary table to find duplicates", count(rows)),
				"Where the parts cannot share a row, or shared rows do no harm, UNION ALL needs no such table.")
		}
	}
}

func largeWindow(e *examiner) {
	for n := range e.plan.Root.All() {
		if rows := rowsInto(n); n.Op == OpWindow && e.matters(rows) {
			e.add("", e.scaled(Medium, rows), fmt.Sprintf("window functions over %s rows", count(rows)),
				"Leave rows out before the window is computed, in a derived table if need be, and use one PARTITION BY and ORDER BY for all, so that one sort serves them.")
			return
		}
	}
}

func impossible(e *examiner) {
	for n := range e.plan.Root.All() {
		if n.Op == OpNone && strings.HasPrefix(strings.ToLower(n.Detail), "impossible") {
			e.add("", Info, n.Detail+": no row can be found", "Look at the conditions: they contradict each other, or a comparison with NULL is meant to be IS NULL.")
			return
		}
	}
}

func noMatch(e *examiner) {
	for n := range e.plan.Root.All() {
		if n.Op == OpNone && strings.Contains(strings.ToLower(n.Detail), "no matching row in const table") {
			e.add("", Info, n.Detail+": a row looked up by a constant does not exist", "Nothing is wrong with the plan; explain a statement whose values exist to see the whole of it.")
			return
		}
	}
}

// updatesUnordered reports whether the plan is the server's own of an UPDATE
// without ORDER BY: an order makes the server collect the rows, whatever key it
// changes.
func updatesUnordered(e *examiner) bool {
	update, ok := e.stmt.(*ast.UpdateStmt)
	return ok && update.Order == nil
}

func changesKey(e *examiner) {
	for _, t := range e.tables {
		if rows := t.Examined().Or(0); t.Has(Buffered) && t.join == nil && e.matters(rows) {
			e.add(t.Name, e.scaled(Low, rows), fmt.Sprintf("the row ids of %s rows are collected before the first is changed", count(rows)),
				"The statement changes the key by which it finds its rows. Try smaller portions, or find them by another key.")
		}
	}
}

// scanned returns the table of the column, if it is read in full and large.
func (e *examiner) scanned(c *ast.ColumnNameExpr) *place {
	var only *place
	for _, t := range e.tables {
		if t.Internal() || !slices.Contains([]Access{AccessAll, AccessIndex}, t.Access) || !e.matters(t.Examined().Or(0)) {
			continue
		}
		if strings.EqualFold(t.Name, c.Name.Table.O) {
			return t
		}
		if c.Name.Table.O == "" && (t.Condition == "" || slices.ContainsFunc(columns(t.Condition, t.Name), func(s string) bool { return strings.EqualFold(s, c.Name.Name.O) })) {
			only = t
		}
	}
	return only
}

// conditions visits every WHERE and ON, with those of subqueries.
func (e *examiner) conditions(visit func(ast.Node) bool) {
	sqlparse.Walk(e.stmt, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectStmt:
			if n.Where != nil {
				sqlparse.Walk(n.Where, visit)
			}
		case *ast.UpdateStmt:
			if n.Where != nil {
				sqlparse.Walk(n.Where, visit)
			}
		case *ast.DeleteStmt:
			if n.Where != nil {
				sqlparse.Walk(n.Where, visit)
			}
		case *ast.OnCondition:
			sqlparse.Walk(n.Expr, visit)
		}
		return true
	})
}

func functionOnColumn(e *examiner) {
	seen := make(map[string]bool)
	report := func(side, other ast.ExprNode) {
		what := ""
		switch f := side.(type) {
		case *ast.FuncCallExpr:
			what = strings.ToUpper(f.FnName.O) + "()"
		case *ast.FuncCastExpr:
			what = "CAST"
		case *ast.BinaryOperationExpr:
			if f.Op != opcode.Plus && f.Op != opcode.Minus && f.Op != opcode.Mul && f.Op != opcode.Div && f.Op != opcode.Mod && f.Op != opcode.IntDiv {
				return
			}
			what = "a calculation"
		default:
			return
		}
		if len(columnsIn(other)) > 0 {
			return
		}
		for _, c := range columnsIn(side) {
			t := e.scanned(c)
			if t == nil || seen[t.Name+"."+c.Name.Name.L] {
				continue
			}
			seen[t.Name+"."+c.Name.Name.L] = true
			e.add(t.Name, e.scaled(Medium, t.Examined().Or(0)), fmt.Sprintf("%s on column %s, %s", what, c.Name.Name.O, reads(t.Node)),
				"An index on the column cannot be used inside an expression. Compare the bare column, as a range of dates instead of a function of the date, or index the expression (MySQL 8.0.13) or a generated column.")
		}
	}
	e.conditions(func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryOperationExpr:
			switch n.Op {
			case opcode.EQ, opcode.LT, opcode.LE, opcode.GT, opcode.GE, opcode.NullEQ:
				report(strip(n.L), n.R)
				report(strip(n.R), n.L)
			}
		case *ast.BetweenExpr:
			report(strip(n.Expr), n.Left)
		case *ast.PatternInExpr:
			if n.Sel == nil && len(n.List) > 0 {
				report(strip(n.Expr), n.List[0])
			}
		case *ast.PatternLikeOrIlikeExpr:
			report(strip(n.Expr), n.Pattern)
		}
		return true
	})
}

func strip(x ast.ExprNode) ast.ExprNode {
	for {
		p, ok := x.(*ast.ParenthesesExpr)
		if !ok {
			return x
		}
		x = p.Expr
	}
}

// columnsIn lists the columns of an expression, without those of subqueries.
func columnsIn(x ast.ExprNode) []*ast.ColumnNameExpr {
	var out []*ast.ColumnNameExpr
	sqlparse.Walk(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ColumnNameExpr:
			out = append(out, n)
		case *ast.SubqueryExpr:
			return false
		}
		return true
	})
	return out
}

func leadingWildcard(e *examiner) {
	e.conditions(func(n ast.Node) bool {
		like, ok := n.(*ast.PatternLikeOrIlikeExpr)
		if !ok || like.Not {
			return true
		}
		pattern, ok := like.Pattern.(ast.ValueExpr)
		if !ok || !strings.HasPrefix(pattern.GetString(), "%") && !strings.HasPrefix(pattern.GetString(), "_") {
			return true
		}
		for _, c := range columnsIn(like.Expr) {
			if t := e.scanned(c); t != nil {
				e.add(t.Name, e.scaled(High, t.Examined().Or(0)), fmt.Sprintf("LIKE with a leading wildcard on %s, %s", c.Name.Name.O, reads(t.Node)),
					"An index finds the beginning of a value, not its middle. Try a FULLTEXT index, a column with the reversed value for endings, or a search engine.")
			}
		}
		return true
	})
}

func largeOffset(e *examiner) {
	sqlparse.Walk(e.stmt, func(n ast.Node) bool {
		limit, ok := n.(*ast.Limit)
		if !ok || limit.Offset == nil {
			return true
		}
		value, ok := limit.Offset.(ast.ValueExpr)
		if !ok {
			return true
		}
		offset := parseNumber(fmt.Sprint(value.GetValue())).Or(0)
		s := Medium
		if offset >= 100_000 {
			s = High
		}
		if offset >= big {
			e.add("", e.scaled(s, offset), fmt.Sprintf("LIMIT skips %s rows, which are read all the same", count(offset)),
				"Remember the last row of a page and ask for those after it: WHERE (sort column, id) > (…) ORDER BY the same LIMIT n.")
		}
		return true
	})
}

func orderByRand(e *examiner) {
	sqlparse.Walk(e.stmt, func(n ast.Node) bool {
		order, ok := n.(*ast.OrderByClause)
		if !ok {
			return true
		}
		for _, item := range order.Items {
			f, ok := item.Expr.(*ast.FuncCallExpr)
			if !ok || f.FnName.L != "rand" {
				continue
			}
			rows := 0.0
			for _, t := range e.tables {
				rows = max(rows, t.Examined().Or(0))
			}
			if rows >= 1000 {
				e.add("", e.scaled(High, rows), fmt.Sprintf("ORDER BY RAND() over %s rows", count(rows)),
					"All rows are read, given a number and sorted for a few of them. Draw random keys in the program and look them up, or start at a random key: WHERE id >= … ORDER BY id LIMIT 1.")
			}
		}
		return true
	})
}

// longListLength is where MySQL stops to count the rows of each value:
// eq_range_index_dive_limit.
const longListLength = 200

func longList(e *examiner) {
	e.conditions(func(n ast.Node) bool {
		in, ok := n.(*ast.PatternInExpr)
		if ok && in.Sel == nil && len(in.List) >= longListLength {
			s := Low
			if len(in.List) >= 5*longListLength {
				s = Medium
			}
			e.add("", s, fmt.Sprintf("IN with a list of %d values", len(in.List)),
				"From 200 values on (eq_range_index_dive_limit) the planner guesses instead of counting, and very long lists fall back to a scan (range_optimizer_max_mem_size). Join a table of the values, or ask in portions.")
			return false
		}
		return true
	})
}

func allRowsWritten(e *examiner) {
	if e.sel == nil || e.sel.Where != nil || e.sel.Limit != nil {
		return
	}
	verb := "UPDATE"
	if e.plan.write == writeDelete {
		verb = "DELETE"
	}
	rows, name := 0.0, ""
	for _, t := range e.tables {
		if t.join != nil {
			return // the join decides which rows
		}
		rows, name = t.Examined().Or(0), t.Name
	}
	if rows >= 1000 {
		e.add(name, e.scaled(High, rows), fmt.Sprintf("%s without WHERE: all %s rows", verb, count(rows)),
			"If all rows are meant, write them in portions by the primary key, so that locks and undo stay small; to empty a table, TRUNCATE.")
	}
}

func selectStar(e *examiner) {
	if e.sel.Fields == nil || !slices.ContainsFunc(e.sel.Fields.Fields, func(f *ast.SelectField) bool { return f.WildCard != nil }) {
		return
	}
	e.stored(func(t *place, rows float64) {
		if t.SelectID <= 1 && len(t.Keys) > 0 && t.Key() != "PRIMARY" && !t.Has(Covering) && e.matters(rows) {
			e.add(t.Name, e.scaled(Low, rows), fmt.Sprintf("SELECT * fetches each of %s behind the index %s", reads(t.Node), t.Key()),
				"Name the columns that are needed: an index that holds them all spares the fetch of the row.")
		}
	})
}

func indexHint(e *examiner) {
	sqlparse.Walk(e.stmt, func(n ast.Node) bool {
		t, ok := n.(*ast.TableName)
		if !ok || len(t.IndexHints) == 0 {
			return true
		}
		for _, p := range e.tables {
			if (strings.EqualFold(p.Name, t.Name.O) || strings.EqualFold(p.Table, t.Name.O)) && e.matters(p.Examined().Or(0)) {
				e.add(p.Name, e.scaled(Low, p.Examined().Or(0)), fmt.Sprintf("an index hint, and %s", reads(p.Node)),
					"A hint outlives its reason: compare the plan without it, after ANALYZE TABLE.")
			}
		}
		return true
	})
}

// selects reports whether the SELECT that stands for a write selects name.*, as
// it does of each table that is written.
func (e *examiner) selects(name string) bool {
	return slices.ContainsFunc(e.sel.Fields.Fields, func(f *ast.SelectField) bool {
		return f.WildCard != nil && (f.WildCard.Table.O == "" || strings.EqualFold(f.WildCard.Table.O, name))
	})
}

// compares reports whether the statement compares a column of the table with one
// of another, or may do so: a column can stand without its table.
func (e *examiner) compares(table string) bool {
	if e.stmt == nil {
		return false
	}
	found := false
	sqlparse.Walk(e.stmt, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Join:
			found = found || n.Using != nil || n.NaturalJoin
		case *ast.BinaryOperationExpr:
			left, right := columnsIn(n.L), columnsIn(n.R)
			if n.Op == opcode.LogicAnd || n.Op == opcode.LogicOr || len(left) == 0 || len(right) == 0 {
				return true
			}
			for _, c := range slices.Concat(left, right) {
				if c.Name.Table.O == "" || strings.EqualFold(c.Name.Table.O, table) {
					found = true
				}
			}
		}
		return !found
	})
	return found
}
