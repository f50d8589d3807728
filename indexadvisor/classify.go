package indexadvisor

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"
	"github.com/quern-dev/quern/internal/sqlparse"
)

// A classifier says what an index can do with a condition on one table.
type classifier struct {
	server Server
	table  *Table
	// column returns the table's column that a name means, nil if the name
	// means something else: another table's column, whose value is known
	// when this table is read.
	column func(*ast.ColumnName) *Column
	// fixed are the subqueries whose value is the same for all rows.
	fixed map[*ast.SubqueryExpr]bool
}

// walk visits what depends on the row: all but fixed subqueries.
func (c *classifier) walk(e ast.Node, visit func(ast.Node) bool) {
	sqlparse.Walk(e, func(n ast.Node) bool {
		if sub, ok := n.(*ast.SubqueryExpr); ok && c.fixed[sub] {
			return false
		}
		return visit(n)
	})
}

func (c *classifier) name(n *ast.ColumnName) string {
	if col := c.column(n); col != nil {
		return col.Name
	}
	return n.Name.O
}

// predicate classifies a condition.
func (c *classifier) predicate(e ast.ExprNode) *Predicate {
	p := &Predicate{expr: e, name: c.name}
	foreign := false
	c.walk(e, func(n ast.Node) bool {
		if cn, ok := n.(*ast.ColumnName); ok {
			if col := c.column(cn); col != nil {
				p.columns = appendNew(p.columns, strings.ToLower(col.Name))
			} else {
				foreign = true
			}
		}
		return true
	})
	c.classify(p, e, false)
	why := uncountable(e)
	p.guessed = why != "" && !foreign
	if foreign {
		why = "its value comes from another table"
	}
	p.Text = render(e, c.name, false, false)
	if why == "" {
		p.SQL = render(e, c.name, true, !c.server.NoBackslashEscapes)
	}
	if p.SQL == "" && p.Why == "" {
		p.Why = why
	}
	return p
}

func appendNew(list []string, s string) []string {
	if !slices.Contains(list, s) {
		list = append(list, s)
	}
	return list
}

// conditions splits an expression into its AND-ed conditions, row equalities
// and double-ended comparisons of a constant included.
func conditions(e ast.ExprNode) []ast.ExprNode {
	switch x := bare(e).(type) {
	case nil:
		return nil
	case *ast.BinaryOperationExpr:
		switch x.Op {
		case opcode.LogicAnd:
			return append(conditions(x.L), conditions(x.R)...)
		case opcode.LogicOr:
			return append([]ast.ExprNode{x}, implied(x)...)
		}
		l, lok := bare(x.L).(*ast.RowExpr)
		r, rok := bare(x.R).(*ast.RowExpr)
		if lok && rok && x.Op == opcode.EQ && len(l.Values) == len(r.Values) {
			var list []ast.ExprNode
			for i := range l.Values {
				list = append(list, conditions(&ast.BinaryOperationExpr{Op: opcode.EQ, L: l.Values[i], R: r.Values[i]})...)
			}
			return list
		}
		return []ast.ExprNode{x}
	case *ast.BetweenExpr:
		_, low := bare(x.Left).(*ast.ColumnNameExpr)
		_, high := bare(x.Right).(*ast.ColumnNameExpr)
		if !x.Not && low && high {
			return []ast.ExprNode{
				&ast.BinaryOperationExpr{Op: opcode.LE, L: x.Left, R: x.Expr},
				&ast.BinaryOperationExpr{Op: opcode.GE, L: x.Right, R: x.Expr},
			}
		}
		return []ast.ExprNode{x}
	case *ast.UnaryOperationExpr:
		if x.Op == opcode.Not || x.Op == opcode.Not2 {
			if or, ok := bare(x.V).(*ast.BinaryOperationExpr); ok && or.Op == opcode.LogicOr {
				not := func(e ast.ExprNode) ast.ExprNode {
					return &ast.UnaryOperationExpr{Op: opcode.Not2, V: &ast.ParenthesesExpr{Expr: e}}
				}
				return append(conditions(not(or.L)), conditions(not(or.R))...)
			}
		}
		return []ast.ExprNode{x}
	default:
		return []ast.ExprNode{x}
	}
}

// arms lists the arms of an OR.
func arms(e ast.ExprNode) []ast.ExprNode {
	if b, ok := bare(e).(*ast.BinaryOperationExpr); ok && b.Op == opcode.LogicOr {
		return append(arms(b.L), arms(b.R)...)
	}
	return []ast.ExprNode{e}
}

// implied are the lists that an OR implies: (a = 1 AND b = 2) OR (a = 3 AND
// c = 4) finds no row but those of a IN (1, 3). The servers read ranges so.
func implied(or *ast.BinaryOperationExpr) []ast.ExprNode {
	type list struct {
		column *ast.ColumnNameExpr
		values []ast.ExprNode
	}
	var lists []list
	compound := false
	for k, arm := range arms(or) {
		parts := conditions(arm)
		compound = compound || len(parts) > 1
		for _, p := range parts {
			eq, ok := bare(p).(*ast.BinaryOperationExpr)
			if !ok || eq.Op != opcode.EQ {
				continue
			}
			column, value := eq.L, eq.R
			if _, ok := bare(column).(*ast.ColumnNameExpr); !ok {
				column, value = value, column
			}
			c, ok := bare(column).(*ast.ColumnNameExpr)
			if _, literal := bare(value).(ast.ValueExpr); !ok || !literal {
				continue
			}
			i := slices.IndexFunc(lists, func(l list) bool { return l.column.Name.String() == c.Name.String() })
			switch {
			case i < 0 && k == 0 && len(lists) < MaxPredicates:
				lists = append(lists, list{c, []ast.ExprNode{value}})
			case i >= 0 && len(lists[i].values) == k:
				lists[i].values = append(lists[i].values, value)
			}
		}
	}
	var out []ast.ExprNode
	n := len(arms(or))
	for _, l := range lists {
		if compound && len(l.values) == n {
			out = append(out, &ast.PatternInExpr{Expr: l.column, List: l.values})
		}
	}
	return out
}

var inverse = map[opcode.Op]opcode.Op{
	opcode.EQ: opcode.NE, opcode.NE: opcode.EQ, opcode.LT: opcode.GE, opcode.GE: opcode.LT, opcode.GT: opcode.LE, opcode.LE: opcode.GT,
}

var mirror = map[opcode.Op]opcode.Op{
	opcode.EQ: opcode.EQ, opcode.NE: opcode.NE, opcode.NullEQ: opcode.NullEQ,
	opcode.LT: opcode.GT, opcode.GT: opcode.LT, opcode.LE: opcode.GE, opcode.GE: opcode.LE,
}

func (c *classifier) classify(p *Predicate, e ast.ExprNode, not bool) {
	switch e := bare(e).(type) {
	case *ast.UnaryOperationExpr:
		if e.Op == opcode.Not || e.Op == opcode.Not2 {
			if !not {
				if col := c.columnOf(e.V); col != nil { // NOT c is c = 0
					c.compare(p, opcode.EQ, e.V, ast.NewValueExpr(int64(0), "", ""))
					return
				}
			}
			c.classify(p, e.V, !not)
			return
		}
	case *ast.BinaryOperationExpr:
		switch e.Op {
		case opcode.EQ, opcode.NE, opcode.LT, opcode.LE, opcode.GT, opcode.GE, opcode.NullEQ:
			op := e.Op
			if not {
				if op == opcode.NullEQ {
					p.filter("a negated <=> matches nearly every row")
					return
				}
				op = inverse[op]
			}
			if _, row := bare(e.L).(*ast.RowExpr); row {
				p.filter("a comparison of rows with < or > is not turned into a range")
				p.Try = "compare the first column as well, as in a >= x AND (a > x OR (a = x AND b > y))"
				return
			}
			if c.constant(e.L) && !c.constant(e.R) {
				c.compare(p, mirror[op], e.R, e.L)
			} else {
				c.compare(p, op, e.L, e.R)
			}
			return
		case opcode.LogicOr:
			if !not {
				c.or(p, e)
				return
			}
		case opcode.LogicXor:
			p.filter("XOR makes no range")
			return
		}
	case *ast.PatternInExpr:
		c.in(p, e, not != e.Not)
		return
	case *ast.BetweenExpr:
		c.between(p, e, not != e.Not)
		return
	case *ast.PatternLikeOrIlikeExpr:
		c.like(p, e, not != e.Not)
		return
	case *ast.IsNullExpr:
		c.isNull(p, e.Expr, not != e.Not)
		return
	case *ast.IsTruthExpr:
		p.filter("the servers make no range of IS TRUE and IS FALSE")
		p.Try = "write the comparison without IS TRUE"
		return
	case *ast.FuncCallExpr:
		if e.FnName.L == "isnull" && len(e.Args) == 1 {
			c.isNull(p, e.Args[0], not)
			return
		}
		if e.FnName.L == "json_contains" || e.FnName.L == "json_overlaps" || e.FnName.L == "json_memberof" {
			p.filter("only a multi-valued index can serve a search inside a JSON array")
			p.Try = c.multiValued(e)
			return
		}
		if spatial[e.FnName.L] {
			c.spatial(p, e)
			return
		}
	case *ast.PatternRegexpExpr:
		p.filter("a regular expression makes no range")
		return
	case *ast.MatchAgainst:
		c.match(p, e, not)
		return
	case *ast.ExistsSubqueryExpr, *ast.CompareSubqueryExpr:
		p.filter("a subquery is no value that an index could be searched for")
		return
	case *ast.ColumnNameExpr:
		p.filter("a bare column means <> 0, which is no single value")
		p.Try = c.name(e.Name) + " = 1, if that is what is meant"
		return
	}
	if len(p.columns) == 0 {
		p.filter("it does not depend on this table")
		return
	}
	p.filter("an index holds no order for this expression")
}

// match says whether the table has the FULLTEXT index that MATCH needs.
func (c *classifier) match(p *Predicate, e *ast.MatchAgainst, not bool) {
	if not {
		p.filter("no index finds the rows without its words")
		return
	}
	if ix := c.fulltext(e); ix != nil {
		p.text = ix.Name
		p.filter("the FULLTEXT index " + ix.Name + " finds its words")
		return
	}
	var quoted []string
	for _, n := range e.ColumnNames {
		quoted = append(quoted, quote(n.Name.O))
	}
	p.filter("MATCH needs a FULLTEXT index on just its columns")
	p.Try = "ADD FULLTEXT INDEX (" + strings.Join(quoted, ", ") + ")"
}

// fulltext is the table's FULLTEXT index on the columns of a MATCH, nil if none.
func (c *classifier) fulltext(e *ast.MatchAgainst) *Index {
	for i := range c.table.Indexes {
		ix := &c.table.Indexes[i]
		if ix.Kind == "FULLTEXT" && !ix.Hidden && len(ix.Parts) == len(e.ColumnNames) && !slices.ContainsFunc(e.ColumnNames, func(n *ast.ColumnName) bool {
			col := c.column(n)
			return col == nil || !slices.ContainsFunc(ix.Parts, func(p Part) bool { return strings.EqualFold(p.Name, col.Name) })
		}) {
			return ix
		}
	}
	return nil
}

// spatial are the functions that a SPATIAL index serves.
var spatial = set(`st_contains st_crosses st_equals st_intersects st_overlaps st_touches st_within contains crosses equals intersects overlaps
	touches within mbrcontains mbrcoveredby mbrcovers mbrequal mbrequals mbrintersects mbroverlaps mbrtouches mbrwithin`)

func (c *classifier) spatial(p *Predicate, e *ast.FuncCallExpr) {
	p.filter("a B-tree holds no order for it")
	for _, arg := range e.Args {
		col := c.columnOf(arg)
		if col == nil {
			continue
		}
		for _, ix := range c.table.Indexes {
			if ix.Kind == "SPATIAL" && !ix.Hidden && strings.EqualFold(ix.Parts[0].Name, col.Name) {
				p.filter("no B-tree can serve it, but the SPATIAL index " + ix.Name + " may, which the server weighs against the others")
				return
			}
		}
		p.Try = "ADD SPATIAL INDEX (" + quote(col.Name) + "), which the column must be NOT NULL for"
		if !c.server.MariaDB {
			p.Try += ", and of one SRID"
		}
	}
}

func (p *Predicate) filter(why string) { p.Class, p.Why = Filter, why }

func (p *Predicate) set(class Class, col *Column, points int) {
	p.Class, p.Keys, p.Points = class, []Part{{Name: col.Name}}, points
}

// constant says whether the expression names no column of the table.
func (c *classifier) constant(e ast.ExprNode) bool {
	found := false
	c.walk(e, func(n ast.Node) bool {
		if cn, ok := n.(*ast.ColumnName); ok && c.column(cn) != nil {
			found = true
		}
		return !found
	})
	return !found
}

func (c *classifier) columnOf(e ast.ExprNode) *Column {
	if n, ok := bare(e).(*ast.ColumnNameExpr); ok {
		return c.column(n.Name)
	}
	return nil
}

// compare classifies left op right, where left is the side with columns.
func (c *classifier) compare(p *Predicate, op opcode.Op, left, right ast.ExprNode) {
	if !c.constant(right) {
		p.filter("both sides depend on the row")
		return
	}
	if !steady(right) {
		p.filter("the value changes from row to row")
		return
	}
	col := c.columnOf(left)
	if col == nil {
		c.expression(p, op, left, right)
		return
	}
	if why, class := c.comparable(col, op, right); why != "" {
		p.filter(why)
		if (col.text() || col.binary()) && kindOf(right) == numberKind {
			p.Try = "compare with a string: quote the number"
		}
		return
	} else if class == Range {
		p.set(Range, col, 0)
		return
	}
	switch op {
	case opcode.EQ, opcode.NullEQ:
		p.set(Equality, col, 1)
	case opcode.NE:
		p.set(Range, col, 2)
		p.Negated = true
	default:
		p.set(Range, col, 0)
	}
}

// comparable says why an index on col cannot be used for a comparison with
// the constant e ("" if it can), and the class Range where an equality is
// read as a range only.
func (c *classifier) comparable(col *Column, op opcode.Op, e ast.ExprNode) (why string, as Class) {
	if !col.indexable() {
		return "a " + col.Type + " column has no B-tree order", 0
	}
	k := kindOf(e)
	switch {
	case k == nullKind && op != opcode.NullEQ:
		return "a comparison with NULL is never true", 0
	case k == nullKind:
		return "", 0
	case (col.text() || col.binary()) && (k == numberKind || k == fractionKind || k == temporalKind):
		return "the server converts every " + col.Type + " value of the column to compare it with a " + kindNames[k], 0
	case (col.Type == "enum" || col.Type == "set") && op != opcode.EQ && op != opcode.NullEQ && op != opcode.NE:
		return "the order of an " + col.Type + " in the index is not that of its names", 0
	case col.text():
		return c.collates(col, op, e)
	}
	return "", 0
}

var kindNames = [...]string{"value", "NULL", "number", "number", "string", "binary string", "date"}

// collates tells whether a comparison of a text column keeps the column's
// collation.
func (c *classifier) collates(col *Column, op opcode.Op, e ast.ExprNode) (why string, as Class) {
	collation := ""
	switch x := bare(e).(type) {
	case *ast.SetCollationExpr:
		collation = strings.ToLower(x.Collate)
	case *ast.FuncCastExpr:
		if kindOf(x) == binaryKind {
			collation = "binary"
		}
	case ast.ValueExpr:
		if kindOf(x) == binaryKind {
			collation = "binary"
		}
	}
	if collation == "" || collation == strings.ToLower(col.Collation) {
		return "", 0
	}
	own := collation == "binary" || strings.HasPrefix(collation, strings.ToLower(col.Charset)+"_") && strings.HasSuffix(collation, "_bin")
	switch {
	case own && c.server.MariaDB && (op == opcode.EQ || op == opcode.NullEQ):
		return "", 0
	case own && (op == opcode.EQ || op == opcode.NullEQ):
		return "", Range
	}
	return "the comparison's collation is not the column's, whose order the index has", 0
}

// in classifies IN lists.
func (c *classifier) in(p *Predicate, e *ast.PatternInExpr, not bool) {
	if e.Sel != nil {
		p.filter("a subquery is no value that an index could be searched for")
		return
	}
	if row, ok := bare(e.Expr).(*ast.RowExpr); ok {
		if not {
			p.filter("NOT IN over rows makes no ranges")
			return
		}
		c.rowIn(p, row, e.List)
		return
	}
	col := c.columnOf(e.Expr)
	var kinds [len(kindNames)]bool
	points := 0
	seen := map[string]bool{}
	for _, item := range e.List {
		if !c.constant(item) || !steady(item) {
			p.filter("an item of the list depends on the row")
			return
		}
		k := kindOf(item)
		if k == nullKind {
			continue
		}
		if col != nil {
			if why, _ := c.comparable(col, opcode.EQ, item); why != "" {
				p.filter(why)
				p.Try = "write every item of the list in the column's own type"
				return
			}
		}
		kinds[k] = true
		if text := render(item, nil, false, false); !seen[text] {
			seen[text] = true
			points++
		}
	}
	if points == 0 {
		p.filter("the list holds nothing but NULL, which matches no row")
		return
	}
	if col == nil {
		if points == 1 && !not {
			c.expression(p, opcode.EQ, e.Expr, e.List[0])
			return
		}
		c.expression(p, opcode.EQ, e.Expr, e.List[0])
		if p.Class == Equality {
			p.Class, p.Points = List, points
		}
		if not {
			p.filter("NOT IN over an expression makes no ranges")
		}
		return
	}
	if c.server.MariaDB && col.number() && (kinds[stringKind] && (kinds[numberKind] || kinds[fractionKind]) || kinds[fractionKind] && col.integer()) {
		p.filter("a list of mixed types is compared by converting the column")
		p.Try = "write every item of the list in the column's own type"
		return
	}
	switch {
	case not:
		p.set(Range, col, points+1)
		p.Negated = true
	case points == 1:
		p.set(Equality, col, 1)
	default:
		p.set(List, col, points)
	}
}

func (c *classifier) rowIn(p *Predicate, row *ast.RowExpr, list []ast.ExprNode) {
	var keys []Part
	for _, v := range row.Values {
		col := c.columnOf(v)
		if col == nil {
			p.filter("a row in the list's left side is not made of plain columns")
			return
		}
		keys = append(keys, Part{Name: col.Name})
	}
	for _, item := range list {
		r, ok := bare(item).(*ast.RowExpr)
		if !ok || len(r.Values) != len(keys) {
			p.filter("the rows of the list are not all alike")
			return
		}
		for i, v := range r.Values {
			if !c.constant(v) || !steady(v) {
				p.filter("an item of the list depends on the row")
				return
			}
			if why, _ := c.comparable(c.columnOf(row.Values[i]), opcode.EQ, v); why != "" {
				p.filter(why)
				return
			}
		}
	}
	p.Class, p.Keys, p.Points = List, keys, len(list)
	if len(list) == 1 {
		p.Class = Equality
	}
}

func (c *classifier) between(p *Predicate, e *ast.BetweenExpr, not bool) {
	col := c.columnOf(e.Expr)
	if !c.constant(e.Left) || !c.constant(e.Right) {
		p.filter("the ends of the range depend on the row")
		return
	}
	if col == nil {
		c.expression(p, opcode.GE, e.Expr, e.Left)
		if not {
			p.filter("NOT BETWEEN over an expression makes no ranges")
		}
		return
	}
	for _, end := range []ast.ExprNode{e.Left, e.Right} {
		if why, _ := c.comparable(col, opcode.GE, end); why != "" {
			p.filter(why)
			return
		}
	}
	p.set(Range, col, 0)
	if p.Negated = not; !not && same(e.Left, e.Right) {
		p.set(List, col, 1) // a range of one value: columns after it are looked up
	}
}

// same says whether two constants are the same value, as far as that can be
// known without the server.
func same(a, b ast.ExprNode) bool {
	// Of no row and no column: one that is named, of another table, is an error.
	x, errX := eval(new(Table), nil, a, func(*ast.ColumnName) string { return "" })
	y, errY := eval(new(Table), nil, b, func(*ast.ColumnName) string { return "" })
	return errX == nil && errY == nil && x != nil && y != nil && compareValues(x, y) == 0
}

func (c *classifier) like(p *Predicate, e *ast.PatternLikeOrIlikeExpr, not bool) {
	col := c.columnOf(e.Expr)
	pattern, literal := "", false
	if v, ok := bare(e.Pattern).(ast.ValueExpr); ok {
		if s, ok := v.GetValue().(string); ok {
			pattern, literal = s, true
		}
	}
	k := kindOf(e.Pattern)
	switch {
	case col == nil:
		p.filter("LIKE on an expression makes no range")
	case not:
		p.filter("NOT LIKE makes no range")
	case col.blob() && col.binary(), !col.text() && !col.binary():
		p.filter("LIKE on a " + col.Type + " column compares its text, not its value")
		if col.temporal() {
			p.Try = col.Name + " >= start AND " + col.Name + " < end"
		}
	case !c.constant(e.Pattern) || !steady(e.Pattern):
		p.filter("the pattern depends on the row")
	case k == nullKind:
		p.filter("LIKE NULL is never true")
	case k == numberKind && !c.server.MariaDB:
		p.filter("the pattern is a number, so that the server converts the column")
		p.Try = "quote the number"
	case literal && (strings.HasPrefix(pattern, "%") || strings.HasPrefix(pattern, "_")):
		p.filter("the pattern begins with a wildcard")
		p.Try = "a FULLTEXT index finds words; for a fixed ending, index REVERSE(" + col.Name + ") and search from its start"
	default:
		if why, _ := c.collates(col, opcode.GE, e.Pattern); why != "" {
			p.filter(why)
			return
		}
		p.set(Prefix, col, 0)
		if start := strings.TrimRight(pattern, "%"); literal && !strings.ContainsAny(start, `%_\`) && (start == pattern || int64(utf8.RuneCountInString(start)) == col.Chars) {
			p.set(List, col, 1) // a range of one value: columns after it are looked up
		}
	}
}

func (c *classifier) isNull(p *Predicate, e ast.ExprNode, not bool) {
	col := c.columnOf(e)
	switch {
	case col == nil:
		p.filter("no index knows where an expression is NULL")
	case !col.indexable():
		p.filter("a " + col.Type + " column has no B-tree order")
	case !not && !col.Nullable && col.Type != "date" && col.Type != "datetime":
		p.filter("the column is NOT NULL, so that no row matches")
	case not && !col.Nullable:
		p.filter("the column is NOT NULL, so that every row matches")
	case not:
		p.set(Range, col, 0)
		p.Negated = true
	default:
		p.set(Equality, col, 1)
	}
}

// or classifies c = 1 OR c = 2 as a list, other ORs on one column as a range.
func (c *classifier) or(p *Predicate, e *ast.BinaryOperationExpr) {
	class, points := List, 0
	var key []Part
	for _, arm := range arms(e) {
		q := &Predicate{expr: arm, columns: p.columns}
		if parts := conditions(arm); len(parts) > 1 {
			q = c.narrowest(parts)
		} else {
			c.classify(q, arm, false)
		}
		switch {
		case q.Class == Filter:
			p.filter("one arm of the OR cannot use an index: " + q.Why)
			p.Try = q.Try
			return
		case len(q.Keys) != 1 || key != nil && !key[0].sameColumn(q.Keys[0]):
			p.filter("the arms of the OR are about different columns")
			p.Try = "an index for each arm (the server may merge them), or a UNION of one query per arm"
			return
		}
		key = q.Keys
		points += q.Points
		if q.Class == Range || q.Class == Prefix {
			class = Range
			p.Negated = p.Negated || q.Negated
		}
	}
	p.Class, p.Keys, p.Points = class, key, points
}

// narrowest joins AND-ed conditions of one OR arm if all are ranges over one
// column.
func (c *classifier) narrowest(parts []ast.ExprNode) *Predicate {
	var all *Predicate
	for _, e := range parts {
		q := &Predicate{expr: e}
		c.classify(q, e, false)
		if q.Class == Filter || len(q.Keys) != 1 || all != nil && !all.Keys[0].sameColumn(q.Keys[0]) {
			return &Predicate{Class: Filter, Why: "an arm has conditions on several columns"}
		}
		if all == nil {
			all = q
		} else {
			all.Class, all.Points = Range, 0
		}
	}
	return all
}
