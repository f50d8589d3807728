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
	if len(n.PartitionNames) > 0 {
		a.note("%s: the statement names partitions, but the rows of all partitions are counted", n.Name.O)
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

func (a *analysis) tableSource(b *block, sc *scope, ts *ast.TableSource, before []*access) error {
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
		for _, h := range n.IndexHints {
			for _, ix := range h.IndexNames {
				x.hints = append(x.hints, ix.O)
			}
		}
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
	schema := a.schema
	a.schema = t.Schema
	defer func() { a.schema = schema }()
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

// semijoin merges EXISTS (SELECT …) and x IN (SELECT …) into the block.
func (a *analysis) semijoin(b *block, sc *scope, e ast.ExprNode) bool {
	var sub *ast.SubqueryExpr
	var left ast.ExprNode
	anti := false
	switch x := bare(e).(type) {
	case *ast.ExistsSubqueryExpr:
		sub, _ = bare(x.Sel).(*ast.SubqueryExpr)
		anti = x.Not
	case *ast.PatternInExpr:
		if x.Sel != nil {
			sub, _ = bare(x.Sel).(*ast.SubqueryExpr)
			left, anti = x.Expr, x.Not
		}
	case *ast.UnaryOperationExpr:
		if ex, ok := bare(x.V).(*ast.ExistsSubqueryExpr); ok && (x.Op == opcode.Not || x.Op == opcode.Not2) {
			sub, _ = bare(ex.Sel).(*ast.SubqueryExpr)
			anti = !ex.Not
		}
	}
	if sub == nil {
		return false
	}
	s, ok := sub.Query.(*ast.SelectStmt)
	if ok && left == nil && s.Limit != nil {
		c := *s // EXISTS needs no LIMIT
		c.Limit = nil
		s = &c
	}
	if !ok || !mergeable(s) || b.dml && a.server.MariaDB && !a.server.atLeast(11, 1, 0) && !anti {
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
		if len(s.Fields.Fields) != 1 || s.Fields.Fields[0].Expr == nil {
			return undo()
		}
		inner := s.Fields.Fields[0].Expr
		a.uses(inside, inner)
		l, lok := bare(left).(*ast.ColumnNameExpr)
		r, rok := bare(inner).(*ast.ColumnNameExpr)
		if lok && rok {
			lr, rr := sc.resolve(l.Name), inside.resolve(r.Name)
			if lr.access != nil && rr.access != nil && slices.Contains(b.accesses, lr.access) && lr.access != rr.access {
				b.edges = append(b.edges, a.edge(lr, rr))
			}
		}
	}
	a.where(b, inside, s.Where)
	return true
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
