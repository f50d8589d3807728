package indexadvisor

import (
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/quern-dev/quern/internal/sqlparse"
	"slices"
	"strings"
)

type condition struct {
	expr  ast.ExprNode
	scope *scope
	inner []*access // the inner side of the outer join whose ON holds the condition
}

// scope resolves names.
type scope struct {
	outer   *scope
	block   *block
	sources []source
	ctes    map[string]*ast.CommonTableExpression
}

type source struct {
	name, schema string
	access       *access        // a base table
	fields       map[string]ref // the columns of a derived table
	order        []string       // their order
	block        *block         // a derived table's own block, if not merged
	parts        []source       // the parts of a UNION, if conditions reach them
}

// ref is what a name means: a column of an access, or nothing known.
type ref struct {
	access *access
	column *Column
}

func (sc *scope) cte(name string) *ast.CommonTableExpression {
	for s := sc; s != nil; s = s.outer {
		if c := s.ctes[name]; c != nil {
			return c
		}
	}
	return nil
}

// fields lists the columns that a SELECT gives. Those behind a * are read,
// unless the SELECT is merged into another, which may not want them.
func (a *analysis) fields(sc *scope, list *ast.FieldList, merged bool) source {
	src := source{fields: map[string]ref{}}
	if list == nil {
		return src
	}
	add := func(name string, r ref) {
		name = strings.ToLower(name)
		src.fields[name] = r
		src.order = append(src.order, name)
	}
	for _, f := range list.Fields {
		if w := f.WildCard; w != nil {
			for _, s := range sc.sources {
				if w.Table.L != "" && !strings.EqualFold(s.name, w.Table.O) {
					continue
				}
				if s.access != nil && s.access.table != nil {
					for i := range s.access.table.Columns {
						if c := &s.access.table.Columns[i]; !c.Invisible {
							if !merged {
								s.access.use(c)
							}
							add(c.Name, ref{s.access, c})
						}
					}
				}
				for _, name := range s.order {
					if r := s.fields[name]; r.access != nil && !merged {
						r.access.use(r.column)
					}
					add(name, s.fields[name])
				}
			}
			continue
		}
		name := f.AsName.O
		var r ref
		if c, ok := bare(f.Expr).(*ast.ColumnNameExpr); ok {
			r = sc.resolve(c.Name)
			if name == "" {
				name = c.Name.Name.O
			}
		}
		add(name, r)
	}
	return src
}

func (x *access) use(c *Column) {
	if x.used == nil {
		x.used = map[string]bool{}
	}
	x.used[strings.ToLower(c.Name)] = true
}

// all marks every column as read: the row itself is wanted.
func (x *access) all() {
	for i := range x.table.Columns {
		x.use(&x.table.Columns[i])
	}
}

// resolve finds what a column name means, from the inside out.
func (sc *scope) resolve(n *ast.ColumnName) ref {
	for s := sc; s != nil; s = s.outer {
		for _, src := range s.sources {
			if n.Table.L != "" && !strings.EqualFold(src.name, n.Table.O) || n.Schema.L != "" && src.schema != "" && !strings.EqualFold(src.schema, n.Schema.O) {
				continue
			}
			if src.access != nil && src.access.table != nil {
				if c := src.access.table.column(n.Name.O); c != nil {
					return ref{src.access, c}
				}
			}
			if r, ok := src.fields[n.Name.L]; ok {
				return r
			}
		}
	}
	return ref{}
}

// unknown says that a name is no column of any table in sight.
func (sc *scope) unknown(n *ast.ColumnName) bool {
	for s := sc; s != nil; s = s.outer {
		for _, src := range s.sources {
			if src.fields == nil && (src.access == nil || src.access.table == nil) {
				return false // what it holds is not known
			}
			if _, ok := src.fields[n.Name.L]; ok {
				return false
			}
		}
	}
	return sc.resolve(n).access == nil
}

// uses marks the columns that an expression reads, subqueries left out.
func (a *analysis) uses(sc *scope, e ast.Node) {
	sqlparse.Walk(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SubqueryExpr:
			return false
		case *ast.ColumnName:
			if r := sc.resolve(n); r.access != nil {
				r.access.use(r.column)
			}
		}
		return true
	})
}

// correlated says whether a SELECT names columns of outer blocks.
func (a *analysis) correlated(sc *scope, s *ast.SelectStmt) bool {
	found := false
	sqlparse.Walk(s, func(n ast.Node) bool {
		if c, ok := n.(*ast.ColumnName); ok {
			if r := sc.resolve(c); r.access != nil && !slices.Contains(sc.block.accesses, r.access) {
				found = true
			}
		}
		return !found
	})
	return found
}
