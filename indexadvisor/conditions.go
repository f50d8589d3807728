package indexadvisor

import (
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"
	"github.com/quern-dev/quern/internal/sqlparse"
	"slices"
	"strings"
)

// maxTables is how many tables a SELECT may read to be looked into; the
// servers' own limit is 61.
const maxTables = 61

// finish classifies the conditions of a block.
func (a *analysis) finish(b *block) {
	if len(b.accesses) > maxTables {
		a.note("a SELECT over %d tables is not looked into", len(b.accesses))
		b.accesses, b.edges, b.conds, b.order, b.group = nil, nil, nil, nil, nil
		return
	}
	for _, c := range b.conds {
		a.finishCondition(b, c)
	}
	a.transitive(b)
	for _, x := range b.accesses {
		if x.table == nil {
			continue
		}
		if x.text != "" {
			for _, p := range x.preds {
				if p.Class != Filter {
					p.filter("the server reads the FULLTEXT index " + x.text)
				}
			}
		}
		x.tidy(a.server)
	}
	b.sortNulls(a.server)
}

func (a *analysis) finishCondition(b *block, c condition) {
	var own []*access
	subquery := false
	sqlparse.Walk(c.expr, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SubqueryExpr:
			subquery = true
			return false
		case *ast.ColumnName:
			if c.scope.unknown(n) {
				a.note("no table of the statement has a column %s: what it is compared with is not looked into", n.Name.O)
			}
			if r := c.scope.resolve(n); r.access != nil && slices.Contains(b.accesses, r.access) && !slices.Contains(own, r.access) {
				own = append(own, r.access)
			}
		}
		return true
	})
	if len(own) == 2 && !subquery {
		if eq, ok := bare(c.expr).(*ast.BinaryOperationExpr); ok && (eq.Op == opcode.EQ || eq.Op == opcode.NullEQ) {
			l, lok := bare(eq.L).(*ast.ColumnNameExpr)
			r, rok := bare(eq.R).(*ast.ColumnNameExpr)
			if lok && rok {
				b.edges = append(b.edges, a.edge(c.scope.resolve(l.Name), c.scope.resolve(r.Name)))
				return
			}
		}
	}
	if eq, ok := bare(c.expr).(*ast.BinaryOperationExpr); ok && len(own) == 1 && eq.Op == opcode.EQ && len(c.inner) == 0 {
		l, lok := bare(eq.L).(*ast.ColumnNameExpr)
		r, rok := bare(eq.R).(*ast.ColumnNameExpr)
		if lok && rok {
			if lr, rr := c.scope.resolve(l.Name), c.scope.resolve(r.Name); lr.access == own[0] && rr.access == own[0] && lr.column != rr.column {
				b.same = append(b.same, edge{a: lr.access, b: rr.access, ac: lr.column, bc: rr.column})
			}
		}
	}
	for _, x := range own {
		if x.table == nil || len(c.inner) > 0 && !slices.Contains(c.inner, x) {
			continue // ON of an outer join does not filter its outer side
		}
		cl := classifier{a.server, x.table, func(n *ast.ColumnName) *Column {
			if r := c.scope.resolve(n); r.access == x {
				return r.column
			}
			return nil
		}, a.fixed}
		p := cl.predicate(c.expr)
		switch {
		case len(own) == 1 || p.Class == Filter:
		case p.Class == Equality:
			p.Class = Join
		default:
			p.filter("the ends of the range come from another table, row by row")
		}
		x.preds = append(x.preds, p)
		if p.text != "" {
			x.text = p.text
		}
		if x.nulls && len(c.inner) == 0 && len(own) == 1 && rejectsNull(p, c.expr) {
			// The row of NULLs that an outer join adds does not survive.
			x.nulls, x.after = false, nil
		}
	}
}

func rejectsNull(p *Predicate, e ast.ExprNode) bool {
	if p.Class == Filter {
		return false
	}
	switch x := bare(e).(type) {
	case *ast.IsNullExpr:
		return x.Not
	case *ast.BinaryOperationExpr:
		return x.Op != opcode.NullEQ && x.Op != opcode.LogicOr
	}
	return true
}

// transitive adds a = 5 where a = b and b = 5 are asked.
func (a *analysis) transitive(b *block) {
	equal := slices.Concat(b.edges, b.same)
	for range equal {
		added := false
		for _, e := range equal {
			if e.a.nulls || e.b.nulls {
				continue
			}
			added = a.carry(e.a, e.ac, e.b, e.bc) || a.carry(e.b, e.bc, e.a, e.ac) || added
		}
		if !added {
			return
		}
	}
}

func (a *analysis) carry(from *access, fc *Column, to *access, tc *Column) bool {
	if from.table == nil || to.table == nil || fc.Full != tc.Full || fc.Collation != tc.Collation {
		return false
	}
	fixed := func(x *access, c *Column) *Predicate {
		for _, p := range x.preds {
			if (p.Class == Equality || p.Class == List) && len(p.Keys) == 1 && p.Keys[0].Expr == "" && strings.EqualFold(p.Keys[0].Name, c.Name) {
				return p
			}
		}
		return nil
	}
	p := fixed(from, fc)
	if p == nil || fixed(to, tc) != nil || len(p.columns) != 1 || p.SQL == "" {
		return false
	}
	cl := classifier{a.server, to.table, func(n *ast.ColumnName) *Column {
		if strings.EqualFold(p.name(n), fc.Name) {
			return tc
		}
		return nil
	}, a.fixed}
	q := cl.predicate(p.expr)
	if q.Class != p.Class {
		return false
	}
	to.preds = append(to.preds, q)
	return true
}

// tidy joins the ranges on one column, and drops the index use of conditions
// on columns that are fixed already.
func (x *access) tidy(server Server) {
	fixed := map[string]bool{}
	for _, p := range x.preds {
		if p.Class == Equality || p.Class == Join {
			for _, k := range p.Keys {
				fixed[k.String()] = true
			}
		}
	}
	ranges := map[string]*Predicate{}
	var out []*Predicate
	for _, p := range x.preds {
		if slices.ContainsFunc(out, func(q *Predicate) bool { return q.Text == p.Text }) {
			continue
		}
		if len(p.Keys) == 1 && (p.Class == List || p.Class == Range || p.Class == Prefix) {
			key := p.Keys[0].String()
			switch first := ranges[key]; {
			case fixed[key]:
				p.filter("an equality fixes the column already")
			case p.Negated:
			case first == nil:
				ranges[key] = p
			case first.SQL == "" || p.SQL == "":
				p.filter("another condition on the column bounds the range")
			default:
				first.Text += " AND " + p.Text
				first.SQL = "(" + first.SQL + ") AND (" + p.SQL + ")"
				first.expr = &ast.BinaryOperationExpr{Op: opcode.LogicAnd, L: first.expr, R: p.expr}
				name, other := first.name, p.name
				first.name = func(n *ast.ColumnName) string {
					if s := name(n); x.table.column(s) != nil {
						return s
					}
					return other(n)
				}
				if first.Class != List {
					first.Class = Range
				}
				continue
			}
		}
		out = append(out, p)
	}
	x.preds = out
}
