package indexadvisor

import (
	"fmt"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"
	"github.com/quern-dev/quern/internal/sqlparse"
	"slices"
	"strings"
)

func (a *analysis) table(n *ast.TableName) (*Table, error) {
	schema := n.Schema.O
	if schema == "" {
		schema = a.schema
	}
	if schema == "" {
		return nil, fmt.Errorf("indexadvisor: no schema is given for a table without one: %w", ErrNoTable)
	}
	switch strings.ToLower(schema) {
	case "information_schema", "performance_schema", "mysql", "sys":
		return nil, fmt.Errorf("indexadvisor: the tables of %s are the server's own and get no index", strings.ToLower(schema))
	}
	return a.catalog.Table(a.ctx, schema, n.Name.O)
}

// from adds the tables of a FROM clause. before is the outer side of outer
// joins around it.
func (a *analysis) from(b *block, sc *scope, n ast.ResultSetNode, before []*access) error {
	switch n := n.(type) {
	case nil:
		return nil
	case *ast.Join:
		return a.join(b, sc, n, before)
	case *ast.TableSource:
		return a.tableSource(b, sc, n, before)
	case *ast.TableName:
		return a.tableSource(b, sc, &ast.TableSource{Source: n}, before)
	}
	return fmt.Errorf("indexadvisor: a table reference of an unknown kind")
}

func (a *analysis) join(b *block, sc *scope, j *ast.Join, before []*access) error {
	start, firstSource := len(b.accesses), len(sc.sources)
	left, right := j.Left, j.Right
	if j.Tp == ast.RightJoin {
		left, right = right, left
	}
	if err := a.from(b, sc, left, before); err != nil || right == nil {
		return err
	}
	middle, middleSource := len(b.accesses), len(sc.sources)
	var inner []*access
	if j.Tp == ast.LeftJoin || j.Tp == ast.RightJoin {
		before = append(slices.Clone(before), b.accesses[start:middle]...)
	}
	if err := a.from(b, sc, right, before); err != nil {
		return err
	}
	if j.Tp == ast.LeftJoin || j.Tp == ast.RightJoin {
		inner = slices.Clone(b.accesses[middle:])
		for _, x := range inner {
			x.nulls = true
		}
	}
	if j.StraightJoin {
		for _, x := range b.accesses[middle:] {
			x.after = append(x.after, b.accesses[start:middle]...)
		}
	}
	if j.On != nil {
		for _, c := range conditions(j.On.Expr) {
			a.uses(sc, c)
			a.subqueries(b, sc, c)
			a.file(b, condition{expr: c, scope: sc, inner: inner})
		}
	}
	using := j.Using
	if j.NaturalJoin {
		for _, s := range sc.sources[firstSource:middleSource] {
			if s.access != nil && s.access.table != nil {
				for _, c := range s.access.table.Columns {
					for _, t := range sc.sources[middleSource:] {
						if t.access != nil && t.access.table != nil && t.access.table.column(c.Name) != nil {
							using = append(using, &ast.ColumnName{Name: ast.NewCIStr(c.Name)})
						}
					}
				}
			}
		}
	}
	for _, u := range using {
		l := (&scope{sources: sc.sources[firstSource:middleSource]}).resolve(u)
		r := (&scope{sources: sc.sources[middleSource:]}).resolve(u)
		if l.access != nil && r.access != nil {
			l.access.use(l.column)
			r.access.use(r.column)
			b.edges = append(b.edges, a.edge(l, r))
		}
	}
	return nil
}

func (a *analysis) edge(l, r ref) edge {
	return edge{a: l.access, b: r.access, ac: l.column, bc: r.column,
		aok: joinable(a.server, l.column, r.column), bok: joinable(a.server, r.column, l.column)}
}

// joinable says whether an index on inner can be looked up with a value of
// outer without converting inner.
func joinable(server Server, inner, outer *Column) bool {
	switch {
	case !inner.indexable():
		return false
	case (inner.text() || inner.binary()) && !outer.text() && !outer.binary():
		return false
	case inner.text() && outer.binary():
		return server.MariaDB
	case inner.Type == "enum" || inner.Type == "set":
		return false
	case inner.text() && outer.text():
		in, out := strings.ToLower(inner.Charset), strings.ToLower(outer.Charset)
		if in != out {
			// The narrower set is converted to the wider one.
			return strings.HasPrefix(in, "utf8mb4") || strings.HasPrefix(in, "utf8") && !strings.HasPrefix(out, "utf8")
		}
		if !strings.EqualFold(inner.Collation, outer.Collation) {
			return strings.HasSuffix(inner.Collation, "_bin") || server.MariaDB && strings.HasSuffix(outer.Collation, "_bin")
		}
	}
	return true
}

// maxReferences is how many tables a statement may name to be looked into as a
// whole, those in its views and WITH clauses counted each time that they are read:
// a dozen lines of WITH, each of which reads the one before twice, make thousands.
const maxReferences = 1000

func (a *analysis) tableSource(b *block, sc *scope, ts *ast.TableSource, before []*access) error {
	if a.references++; a.references > maxReferences {
		a.note("the statement reads more than %d tables, with its views and WITH tables unfolded: those after them are not looked into", maxReferences)
		name := ts.AsName.O
		if n, ok := ts.Source.(*ast.TableName); ok && name == "" {
			name = n.Name.O
		}
		sc.sources = append(sc.sources, source{name: name})
		return nil
	}
	switch n := ts.Source.(type) {
	case *ast.Join:
		return a.join(b, sc, n, before)
	case *ast.TableName:
		name := ts.AsName.O
		if name == "" {
			name = n.Name.O
		}
		if n.Schema.L == "" {
			if cte := sc.cte(n.Name.L); cte != nil {
				return a.cte(b, sc, cte, name, before)
			}
		}
		t, err := a.table(n)
		if err != nil {
			return err
		}
		if t.View != "" {
			return a.view(b, sc, t, name, before)
		}
		x := &access{id: len(b.accesses), alias: name, table: t, after: slices.Clone(before)}
		for _, p := range n.PartitionNames {
			x.partitions = append(x.partitions, p.O)
		}
		slices.Sort(x.partitions)
		a.hints(x, n.IndexHints)
		b.accesses = append(b.accesses, x)
		sc.sources = append(sc.sources, source{name: name, schema: t.Schema, access: x})
		return nil
	case *ast.SelectStmt:
		return a.derived(b, sc, n, ts.AsName.O, ts.ColumnNames, before)
	case *ast.SetOprStmt:
		src, err := a.union(n, sc, nil)
		if err != nil {
			return err
		}
		src.name = ts.AsName.O
		sc.sources = append(sc.sources, src)
		b.accesses = append(b.accesses, &access{id: len(b.accesses), alias: src.name, after: slices.Clone(before)})
		return nil
	}
	sc.sources = append(sc.sources, source{name: ts.AsName.O})
	return nil
}

func (a *analysis) cte(b *block, sc *scope, cte *ast.CommonTableExpression, name string, before []*access) error {
	if cte.IsRecursive {
		if _, union := cte.Query.Query.(*ast.SetOprStmt); union {
			a.note("the recursive table %s is not looked into", cte.Name.O)
			b.accesses = append(b.accesses, &access{id: len(b.accesses), alias: name, after: slices.Clone(before)})
			sc.sources = append(sc.sources, source{name: name})
			return nil
		}
	}
	// A CTE must not see itself.
	visible := map[string]*ast.CommonTableExpression{}
	for s := sc; s != nil; s = s.outer {
		for k, v := range s.ctes {
			if visible[k] == nil && v != cte {
				visible[k] = v
			}
		}
	}
	inside := &scope{block: b, ctes: visible}
	ts := &ast.TableSource{Source: cte.Query.Query, AsName: ast.NewCIStr(name), ColumnNames: cte.ColNameList}
	if err := a.tableSource(b, inside, ts, before); err != nil {
		return err
	}
	sc.sources = append(sc.sources, inside.sources...)
	return nil
}

func (a *analysis) view(b *block, sc *scope, t *Table, name string, before []*access) error {
	stmt, err := sqlparse.Parse(t.View, sqlparse.Options{})
	if err != nil {
		a.note("the view %s.%s is not looked into: %v", t.Schema, t.Name, err)
		b.accesses = append(b.accesses, &access{id: len(b.accesses), alias: name, after: slices.Clone(before)})
		sc.sources = append(sc.sources, source{name: name})
		return nil
	}
	schema, hints := a.schema, a.indexHints
	a.schema, a.indexHints = t.Schema, nil // a statement's hints do not reach into a view
	defer func() { a.schema, a.indexHints = schema, hints }()
	var cols []ast.CIStr
	for _, c := range t.Columns {
		cols = append(cols, ast.NewCIStr(c.Name))
	}
	rs, ok := stmt.(ast.ResultSetNode)
	if !ok {
		return fmt.Errorf("indexadvisor: the view %s.%s is no SELECT", t.Schema, t.Name)
	}
	inside := &scope{block: b}
	if err := a.tableSource(b, inside, &ast.TableSource{Source: rs, AsName: ast.NewCIStr(name), ColumnNames: cols}, before); err != nil {
		return err
	}
	sc.sources = append(sc.sources, inside.sources...)
	return nil
}

// derived adds a derived table: merged into the block if the server would,
// else as a block of its own.
func (a *analysis) derived(b *block, sc *scope, s *ast.SelectStmt, name string, cols []ast.CIStr, before []*access) error {
	if a.depth++; a.depth > 50 {
		return fmt.Errorf("%w: it nests too deep", ErrSyntax)
	}
	defer func() { a.depth-- }()
	var src source
	if mergeable(s) {
		inside := &scope{outer: sc, block: b, ctes: nil}
		if err := a.with(s.With, inside); err != nil {
			return err
		}
		start := len(b.accesses)
		if err := a.from(b, inside, s.From.TableRefs, before); err != nil {
			return err
		}
		src = a.fields(inside, s.Fields, true)
		for _, f := range s.Fields.Fields {
			if f.Expr == nil {
				continue
			}
			// A plain column is read where the outer SELECT names it.
			if _, plain := bare(f.Expr).(*ast.ColumnNameExpr); !plain {
				a.uses(inside, f.Expr)
			}
			a.subqueries(b, inside, f.Expr)
		}
		n := len(b.conds)
		a.where(b, inside, s.Where)
		if len(before) > 0 {
			for i := n; i < len(b.conds); i++ {
				b.conds[i].inner = b.accesses[start:]
			}
		}
	} else {
		var err error
		if src, err = a.selectStmt(s, sc, nil); err != nil {
			return err
		}
		b.accesses = append(b.accesses, &access{id: len(b.accesses), alias: name, after: slices.Clone(before)})
	}
	src.name = name
	for i, c := range cols {
		if i < len(src.order) {
			old := src.order[i]
			r := src.fields[old]
			if old != c.L {
				src.fields[c.L] = r
				src.order[i] = c.L
			}
		}
	}
	sc.sources = append(sc.sources, src)
	return nil
}

func mergeable(s *ast.SelectStmt) bool {
	return s.From != nil && s.GroupBy == nil && !s.Distinct && s.Limit == nil && s.Having == nil && len(s.WindowSpecs) == 0 &&
		s.Kind == ast.SelectStmtKindSelect && s.Fields != nil && !hasAggregate(s.Fields) && !hasWindow(s.Fields)
}

// membership takes apart EXISTS (SELECT …), x IN (SELECT …) and what is the same
// as the latter, x = ANY (SELECT …). left is x, nil for EXISTS; anti says that the
// rows wanted are those without a match.
func membership(e ast.ExprNode) (sub *ast.SubqueryExpr, left ast.ExprNode, anti bool) {
	switch x := bare(e).(type) {
	case *ast.ExistsSubqueryExpr:
		sub, _ = bare(x.Sel).(*ast.SubqueryExpr)
		return sub, nil, x.Not
	case *ast.PatternInExpr:
		if x.Sel != nil {
			sub, _ = bare(x.Sel).(*ast.SubqueryExpr)
			return sub, x.Expr, x.Not
		}
	case *ast.CompareSubqueryExpr:
		if x.Op == opcode.EQ && !x.All || x.Op == opcode.NE && x.All {
			sub, _ = bare(x.R).(*ast.SubqueryExpr)
			return sub, x.L, x.All
		}
	case *ast.UnaryOperationExpr:
		if x.Op == opcode.Not || x.Op == opcode.Not2 {
			sub, left, anti = membership(x.V)
			return sub, left, !anti
		}
	}
	return nil, nil, false
}

// flat takes off a subquery what makes no difference to whether a row is in it.
func flat(s *ast.SelectStmt, exists bool) *ast.SelectStmt {
	c := *s
	c.OrderBy = nil
	if exists {
		c.Limit = nil
	}
	if c.Having == nil && c.Fields != nil && !hasAggregate(c.Fields) && !hasWindow(c.Fields) {
		c.GroupBy, c.Distinct = nil, false
	}
	return &c
}

// rowByRow says whether the server runs an IN subquery of a block for each row, as it
// does where it can neither join it nor keep its result.
func (a *analysis) rowByRow(b *block) bool {
	if a.server.MariaDB {
		return b.dml && !a.server.atLeast(11, 1, 0)
	}
	return b.dml && b.limited
}

// semijoin merges EXISTS (SELECT …) and x IN (SELECT …) into the block.
func (a *analysis) semijoin(b *block, sc *scope, e ast.ExprNode) bool {
	sub, left, anti := membership(e)
	if sub == nil {
		return false
	}
	s, ok := sub.Query.(*ast.SelectStmt)
	if !ok {
		return false
	}
	if s.Limit != nil && left != nil {
		a.note("the servers refuse a LIMIT right inside IN (SELECT …): join a derived table that has the LIMIT")
	}
	s = flat(s, left == nil)
	if !mergeable(s) || a.rowByRow(b) && !anti {
		return false
	}
	inside := &scope{outer: sc, block: b}
	if a.with(s.With, inside) != nil {
		return false
	}
	before := slices.Clone(b.accesses)
	if !anti {
		before = nil
	}
	start := len(b.accesses)
	edges, conds := len(b.edges), len(b.conds)
	undo := func() bool {
		b.accesses, b.edges, b.conds = b.accesses[:start], b.edges[:edges], b.conds[:conds]
		return false
	}
	if a.from(b, inside, s.From.TableRefs, before) != nil {
		return undo()
	}
	if left != nil {
		list := columnsOf(left)
		if len(s.Fields.Fields) != len(list) {
			return undo()
		}
		for i, f := range s.Fields.Fields {
			if f.Expr == nil {
				return undo()
			}
			a.uses(inside, f.Expr)
			if c, ok := bare(f.Expr).(*ast.ColumnNameExpr); ok {
				if r := inside.resolve(c.Name); r.column != nil || !inside.unknown(c.Name) {
					a.match(b, sc, list[i], r, c.Name.Name.O)
				}
			}
		}
	}
	a.where(b, inside, s.Where)
	if anti {
		// What finds no match filters none of the tables outside.
		for i := conds; i < len(b.conds); i++ {
			b.conds[i].inner = b.accesses[start:]
		}
		for _, x := range b.accesses[start:] {
			x.nulls = true
		}
	}
	return true
}

// columnsOf lists the parts of a row, or the one expression.
func columnsOf(e ast.ExprNode) []ast.ExprNode {
	if row, ok := bare(e).(*ast.RowExpr); ok {
		return row.Values
	}
	return []ast.ExprNode{e}
}

// match files left = inner, where inner is a column of a subquery, called name, and
// left an expression of the scope around it. Either may have the other's name.
func (a *analysis) match(b *block, sc *scope, left ast.ExprNode, inner ref, name string) {
	alias := func(table, column string) *ast.ColumnNameExpr {
		return &ast.ColumnNameExpr{Name: &ast.ColumnName{Table: ast.NewCIStr(table), Name: ast.NewCIStr(column)}}
	}
	const within, around = " within", " around" // no table is called so
	both := []source{{name: within, fields: map[string]ref{strings.ToLower(name): inner}}}
	if c, ok := bare(left).(*ast.ColumnNameExpr); ok {
		both = append(both, source{name: around, fields: map[string]ref{c.Name.Name.L: sc.resolve(c.Name)}})
		left = alias(around, c.Name.Name.O)
	} else {
		sc = &scope{sources: sc.sources, outer: sc.outer}
		both = append(sc.sources[:len(sc.sources):len(sc.sources)], both...)
	}
	a.file(b, condition{expr: &ast.BinaryOperationExpr{Op: opcode.EQ, L: left, R: alias(within, name)}, scope: &scope{sources: both, outer: sc.outer}})
}

// looked analyses an IN subquery that is not merged, if the server uses it to look
// rows up. A UNION, and any where rowByRow says so, is run for each row, and its
// columns are looked up by the row's values: then the condition remains. MariaDB
// joins the result of others, so that nothing of the condition remains: done is true.
func (a *analysis) looked(b *block, sc *scope, e ast.ExprNode) (known, done bool) {
	sub, left, anti := membership(e)
	if sub == nil || left == nil {
		return false, false
	}
	list := columnsOf(left)
	_, union := sub.Query.(*ast.SetOprStmt)
	switch {
	case union || a.rowByRow(b):
		parts, err := a.query(sub.Query, sc)
		if err != nil {
			a.note("a subquery is not looked into: %v", err)
			return true, false
		}
		for _, p := range parts {
			if p.block == nil || len(p.order) != len(list) {
				continue
			}
			p.block.depends, p.block.outer = true, b
			for i, name := range p.order {
				if r := p.fields[name]; r.access != nil && slices.Contains(p.block.accesses, r.access) {
					a.match(p.block, sc, list[i], r, r.column.Name)
				}
			}
		}
		if union {
			a.note("a UNION inside IN (…) is run again for each row: a derived table around it, as in IN (SELECT x FROM (… UNION …) d), is made once, and its rows can be looked up")
		}
		return true, false
	case a.server.MariaDB && !anti && !b.dml:
		a.subqueries(b, sc, sub)
		if !a.fixed[sub] {
			return true, false
		}
		b.accesses = append(b.accesses, &access{id: len(b.accesses), alias: "the subquery"})
		for _, l := range list {
			a.match(b, sc, l, ref{}, "the subquery's value")
		}
		return true, true
	}
	if s, ok := sub.Query.(*ast.SelectStmt); ok && s.Limit == nil && !anti && !b.dml {
		a.note("MySQL makes the result of IN (SELECT …) with HAVING or aggregates once, and then checks every row outside against it: joined as a derived table, its rows can be looked up")
	}
	return false, false
}

// query analyses a query within a scope, and returns its parts: one, or those of a
// UNION.
func (a *analysis) query(n ast.ResultSetNode, sc *scope) ([]source, error) {
	if s, ok := n.(*ast.SelectStmt); ok {
		src, err := a.selectStmt(s, sc, nil)
		return []source{src}, err
	}
	if s, ok := n.(*ast.SetOprStmt); ok {
		src, err := a.union(s, sc, nil)
		return src.parts, err
	}
	return nil, nil
}

// subqueries analyses every subquery in e as a block of its own.
func (a *analysis) subqueries(b *block, sc *scope, e ast.Node) {
	sqlparse.Walk(e, func(n ast.Node) bool {
		sub, ok := n.(*ast.SubqueryExpr)
		if !ok {
			return true
		}
		var err error
		start, last := len(a.blocks), 0
		switch q := sub.Query.(type) {
		case *ast.SelectStmt:
			_, err = a.selectStmt(q, sc, nil)
			last = start + 1
		case *ast.SetOprStmt:
			_, err = a.union(q, sc, nil)
			last = len(a.blocks)
		}
		switch {
		case err != nil:
			a.note("a subquery is not looked into: %v", err)
		case !slices.ContainsFunc(a.blocks[start:last], func(b *block) bool { return b.depends }):
			if a.fixed == nil {
				a.fixed = map[*ast.SubqueryExpr]bool{}
			}
			a.fixed[sub] = true
		}
		return false
	})
}
