package indexadvisor

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
)

// constants are the columns of x that have one value within the block.
func (x *access) constant(c *Column) bool {
	return slices.ContainsFunc(x.preds, func(p *Predicate) bool {
		return p.Class == Equality && p.Points <= 1 && slices.ContainsFunc(p.Keys, func(k Part) bool { return strings.EqualFold(k.Name, c.Name) })
	})
}

// sortNulls gives up an order, and groups, of which the server does not know
// that one of the columns holds nothing but NULL: it goes by that column and
// never finds it in an index after the fixed parts.
func (b *block) sortNulls(server Server) {
	null := func(o orderItem) bool {
		return slices.ContainsFunc(o.access.preds, func(p *Predicate) bool {
			return p.Class == Equality && slices.ContainsFunc(p.Keys, Part{Name: o.column.Name}.sameColumn) && server.sortsNull(p.expr)
		})
	}
	if slices.ContainsFunc(b.order, null) {
		b.order, b.sorted = nil, true
	}
	if slices.ContainsFunc(b.group, null) {
		b.group = nil
	}
}

// sortsNull says whether an equality with NULL leaves its column in ORDER BY
// and GROUP BY, from which both servers strike columns that are equal to a
// value: MySQL strikes it for IS NULL, but not for <=> NULL; MariaDB never.
func (s Server) sortsNull(e ast.ExprNode) bool {
	switch e := bare(e).(type) {
	case *ast.BinaryOperationExpr:
		return kindOf(e.L) == nullKind || kindOf(e.R) == nullKind
	case *ast.UnaryOperationExpr: // NOT
		return s.sortsNull(e.V)
	case *ast.IsNullExpr, *ast.FuncCallExpr: // ISNULL()
		return s.MariaDB
	}
	return false
}

// arranged says whether reading the key gives the block's order, whether it
// must be read backwards for that, and whether it gives the groups one after
// the other. fixed are the leading parts with one value; stop is the first
// other part, nil to begin with the first.
func (b *block) arranged(x *access, key, fixed []Part, stop *Part, first bool) (ordered, grouped, backward bool) {
	if !first || stop != nil && stop.Name == "" && stop.Expr == "" {
		return false, false, false
	}
	rest := key[len(fixed):]
	same := func(it orderItem, p Part) bool {
		return it.access == x && p.Length == 0 && p.Expr == "" && strings.EqualFold(it.column.Name, p.Name)
	}
	ordered = !b.sorted
	k, flip := 0, 0
	for _, it := range b.order {
		if it.access == x && x.constant(it.column) {
			continue
		}
		for k < len(rest) && k > 0 && x.constantPart(rest[k]) && !same(it, rest[k]) {
			k++
		}
		if k >= len(rest) || !same(it, rest[k]) {
			ordered = false
			break
		}
		dir := 1
		if it.desc != rest[k].Desc {
			dir = -1
		}
		if flip != 0 && flip != dir {
			ordered = false
			break
		}
		flip = dir
		k++
	}
	backward = flip < 0
	if !b.grouped {
		return ordered, true, backward
	}
	groups, ok := b.groupItems(x)
	if !ok || len(groups) > len(rest) {
		return ordered, false, backward
	}
	// The servers do not reorder the columns of GROUP BY.
	for i, it := range groups {
		if !same(it, rest[i]) {
			return ordered, false, backward
		}
	}
	return ordered, true, backward
}

// groupItems are the columns of GROUP BY or DISTINCT that are not constant, those
// of ORDER BY first; false if they are not all of x.
func (b *block) groupItems(x *access) ([]orderItem, bool) {
	if b.group == nil {
		return nil, false
	}
	var out []orderItem
	add := func(it orderItem) {
		if !x.constant(it.column) && !slices.ContainsFunc(out, func(o orderItem) bool { return o.column == it.column }) {
			out = append(out, it)
		}
	}
	for _, it := range b.group {
		if it.access != x {
			return nil, false
		}
	}
	for _, it := range b.order {
		if slices.ContainsFunc(b.group, func(o orderItem) bool { return o.access == it.access && o.column == it.column }) {
			add(it)
		}
	}
	for _, it := range b.group {
		add(it)
	}
	return out, true
}

func (x *access) constantPart(p Part) bool {
	c := x.table.column(p.Name)
	return c != nil && p.Expr == "" && x.constant(c)
}
