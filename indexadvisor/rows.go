package indexadvisor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"
)

// Rows is a Catalog and a Counter over tables in memory, for tests of code
// that takes advice, and for advice on data that is on no server. It counts
// comparisons, IN, BETWEEN, LIKE, IS NULL, AND, OR and NOT; strings are
// compared without regard to case. It is not for concurrent use.
type Rows struct {
	// For is the server that the advice is for; the zero value means MySQL 8.4.
	For Server
	// Tables describes the tables. Rows and DataBytes may be 0: they then
	// follow from Data.
	Tables []*Table
	// Data holds the rows by "schema.table", each with one value per column:
	// nil, int64, float64 or string.
	Data map[string][][]any
}

// Server returns r.For.
func (r *Rows) Server(context.Context) (Server, error) {
	if r.For.Major == 0 {
		return Server{Major: 8, Minor: 4}, nil
	}
	return r.For, nil
}

// Table finds a table.
func (r *Rows) Table(_ context.Context, schema, name string) (*Table, error) {
	for _, t := range r.Tables {
		if t.Schema == schema && t.Name == name {
			if n := int64(len(r.data(t))); t.View == "" && t.Rows == 0 {
				t.Rows = n
			}
			return t, nil
		}
	}
	return nil, fmt.Errorf("%s.%s: %w", schema, name, ErrNoTable)
}

func (r *Rows) data(t *Table) [][]any { return r.Data[t.Schema+"."+t.Name] }

// Count counts all rows.
func (r *Rows) Count(ctx context.Context, q CountRequest) (*Counts, error) {
	cells := map[uint64]int64{}
	data := r.data(q.Table)
	times, read := func([]any) int64 { return 1 }, int64(len(data))
	if q.For != nil {
		values, err := r.values(ctx, q.For)
		if err != nil {
			return nil, err
		}
		to := columnIndex(q.Table, q.For.To)
		times = func(row []any) int64 { return values[joinValue(row[to])] }
		read += int64(len(r.data(q.For.Table)))
	}
	rows := int64(0)
	for _, row := range data {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		met, err := meets(q.Table, row, q.Predicates)
		if err != nil {
			return nil, err
		}
		if n := times(row); n > 0 && met&q.Where == q.Where {
			cells[met] += n
			rows += n
		}
	}
	var cl Cluster
	for met, n := range cells {
		cl = append(cl, Cell{met, n})
	}
	slices.SortFunc(cl, func(a, b Cell) int { return cmp.Compare(a.Met, b.Met) })
	if q.For == nil {
		rows = int64(len(data))
	}
	return &Counts{Rows: float64(rows), Read: read, Clusters: []Cluster{cl}}, nil
}

// meets are the bits of the predicates that a row meets.
func meets(t *Table, row []any, preds []*Predicate) (met uint64, err error) {
	for i, p := range preds {
		v, err := eval(t, row, p.expr, p.name)
		if err != nil {
			return 0, err
		}
		if v == true {
			met |= 1 << i
		}
	}
	return met, nil
}

// values counts the values of joining rows.
func (r *Rows) values(ctx context.Context, j *Joining) (map[any]int64, error) {
	values := map[any]int64{}
	at := columnIndex(j.Table, j.Column)
	for _, row := range r.data(j.Table) {
		met, err := meets(j.Table, row, j.Predicates)
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
		if v := row[at]; v != nil && met == 1<<len(j.Predicates)-1 {
			values[joinValue(v)]++
		}
	}
	return values, nil
}

// joinValue is a value as one in another table may equal it.
func joinValue(v any) any {
	if s, ok := v.(string); ok {
		return strings.ToLower(s)
	}
	return number(v)
}

// Distinct counts over all rows.
func (r *Rows) Distinct(_ context.Context, t *Table, parts []Part) (Distinct, error) {
	seen := map[string]bool{}
	common := map[string]float64{}
	var ends []float64
	data := r.data(t)
	d := Distinct{Rows: float64(len(data)), Read: int64(len(data))}
	for _, row := range data {
		var key strings.Builder
		for _, p := range parts {
			i := columnIndex(t, p.Name)
			if i < 0 {
				return Distinct{}, fmt.Errorf("indexadvisor: Rows has no column for a key part of %s.%s", t.Schema, t.Name)
			}
			v := row[i]
			if s, ok := v.(string); ok {
				if p.Length > 0 && len(s) > p.Length {
					s = s[:p.Length]
				}
				v = strings.ToLower(s)
			}
			fmt.Fprintf(&key, "%T%v\x00", v, v)
			switch {
			case len(parts) > 1:
			case v == nil:
				d.Nulls++
			default:
				common[fmt.Sprint(v)]++
				if n, ok := v.(int64); ok {
					ends = append(ends, float64(n))
				}
			}
		}
		seen[key.String()] = true
	}
	d.Values = float64(len(seen))
	if c := t.column(parts[0].Name); c != nil && c.integer() && len(ends) > 0 {
		d.Low, d.High = slices.Min(ends), slices.Max(ends)
	}
	for v, n := range common {
		d.Common = append(d.Common, Frequency{v, n})
	}
	slices.SortFunc(d.Common, func(a, b Frequency) int { return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.Value, b.Value)) })
	d.Common = d.Common[:min(len(d.Common), mostCommon)]
	return d, nil
}

func columnIndex(t *Table, name string) int {
	for i := range t.Columns {
		if strings.EqualFold(t.Columns[i].Name, name) {
			return i
		}
	}
	return -1
}

// eval evaluates an expression over a row: nil is NULL and UNKNOWN.
func eval(t *Table, row []any, e ast.ExprNode, name func(*ast.ColumnName) string) (any, error) {
	ev := func(x ast.ExprNode) (any, error) { return eval(t, row, x, name) }
	switch x := bare(e).(type) {
	case *ast.ColumnNameExpr:
		i := columnIndex(t, name(x.Name))
		if i < 0 || i >= len(row) {
			return nil, fmt.Errorf("indexadvisor: Rows has no value for a column of %s.%s", t.Schema, t.Name)
		}
		return row[i], nil
	case ast.ValueExpr:
		switch v := x.GetValue().(type) {
		case nil, int64, float64:
			return v, nil
		case uint64:
			return int64(v), nil
		case string:
			return v, nil
		case interface{ String() string }:
			var f float64
			_, err := fmt.Sscan(v.String(), &f)
			return f, err
		}
	case *ast.UnaryOperationExpr:
		v, err := ev(x.V)
		if err != nil || v == nil {
			return nil, err
		}
		switch x.Op {
		case opcode.Not, opcode.Not2:
			return !truth(v), nil
		case opcode.Minus:
			return arithmetic(opcode.Minus, int64(0), v)
		}
	case *ast.BinaryOperationExpr:
		l, err := ev(x.L)
		if err != nil {
			return nil, err
		}
		r, err := ev(x.R)
		if err != nil {
			return nil, err
		}
		return binary(x.Op, l, r)
	case *ast.PatternInExpr:
		return evalIn(x, ev)
	case *ast.BetweenExpr:
		v, err := ev(x.Expr)
		if err != nil {
			return nil, err
		}
		lo, err := ev(x.Left)
		if err != nil {
			return nil, err
		}
		hi, err := ev(x.Right)
		if err != nil || v == nil || lo == nil || hi == nil {
			return nil, err
		}
		return (compareValues(v, lo) >= 0 && compareValues(v, hi) <= 0) != x.Not, nil
	case *ast.PatternLikeOrIlikeExpr:
		v, err := ev(x.Expr)
		if err != nil {
			return nil, err
		}
		p, err := ev(x.Pattern)
		if err != nil || v == nil || p == nil {
			return nil, err
		}
		return like(strings.ToLower(fmt.Sprint(v)), strings.ToLower(fmt.Sprint(p)), x.Escape) != x.Not, nil
	case *ast.IsNullExpr:
		v, err := ev(x.Expr)
		return (v == nil) != x.Not, err
	case *ast.IsTruthExpr:
		v, err := ev(x.Expr)
		return (v != nil && truth(v) == (x.True == 1)) != x.Not, err
	}
	return nil, fmt.Errorf("indexadvisor: Rows does not evaluate this kind of expression")
}

func evalIn(x *ast.PatternInExpr, ev func(ast.ExprNode) (any, error)) (any, error) {
	v, err := ev(x.Expr)
	if err != nil || v == nil {
		return nil, err
	}
	null := false
	for _, item := range x.List {
		w, err := ev(item)
		switch {
		case err != nil:
			return nil, err
		case w == nil:
			null = true
		case compareValues(v, w) == 0:
			return !x.Not, nil
		}
	}
	if null {
		return nil, nil
	}
	return x.Not, nil
}

func truth(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return number(v) != 0
	}
	return false
}

func binary(op opcode.Op, l, r any) (any, error) {
	switch op {
	case opcode.LogicAnd:
		switch {
		case l != nil && !truth(l) || r != nil && !truth(r):
			return false, nil
		case l == nil || r == nil:
			return nil, nil
		}
		return true, nil
	case opcode.LogicOr:
		switch {
		case l != nil && truth(l) || r != nil && truth(r):
			return true, nil
		case l == nil || r == nil:
			return nil, nil
		}
		return false, nil
	case opcode.NullEQ:
		if l == nil || r == nil {
			return l == nil && r == nil, nil
		}
		return compareValues(l, r) == 0, nil
	}
	if l == nil || r == nil {
		return nil, nil
	}
	switch op {
	case opcode.EQ:
		return compareValues(l, r) == 0, nil
	case opcode.NE:
		return compareValues(l, r) != 0, nil
	case opcode.LT:
		return compareValues(l, r) < 0, nil
	case opcode.LE:
		return compareValues(l, r) <= 0, nil
	case opcode.GT:
		return compareValues(l, r) > 0, nil
	case opcode.GE:
		return compareValues(l, r) >= 0, nil
	}
	return arithmetic(op, l, r)
}

func arithmetic(op opcode.Op, l, r any) (any, error) {
	a, b := number(l), number(r)
	switch op {
	case opcode.Plus:
		return a + b, nil
	case opcode.Minus:
		return a - b, nil
	case opcode.Mul:
		return a * b, nil
	case opcode.Mod:
		if b == 0 {
			return nil, nil
		}
		return float64(int64(a) % int64(b)), nil
	}
	return nil, fmt.Errorf("indexadvisor: Rows does not evaluate the operator %s", op)
}

func number(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	case bool:
		if v {
			return 1
		}
	case string:
		var f float64
		fmt.Sscan(v, &f)
		return f
	}
	return 0
}

// compareValues orders two values that are not NULL. Strings that both look
// like dates compare as strings, which is their order.
func compareValues(a, b any) int {
	s, sok := a.(string)
	t, tok := b.(string)
	if sok && tok {
		if d, err := time.Parse(time.DateOnly, s); err == nil && len(t) > len(s) {
			s = d.Format(time.DateTime)
		} else if d, err := time.Parse(time.DateOnly, t); err == nil && len(s) > len(t) {
			t = d.Format(time.DateTime)
		}
		return strings.Compare(strings.ToLower(s), strings.ToLower(t))
	}
	x, y := number(a), number(b)
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// like matches LIKE patterns. It goes back to the last % only, so that it is
// quadratic at worst.
func like(s, p string, escape byte) bool {
	si, pi := 0, 0
	star, from := -1, 0
	for si < len(s) {
		switch {
		case pi < len(p) && p[pi] == '%':
			star, from = pi, si
			pi++
		case pi+1 < len(p) && p[pi] == escape && p[pi+1] == s[si]:
			si, pi = si+1, pi+2
		case pi < len(p) && p[pi] != escape && (p[pi] == '_' || p[pi] == s[si]):
			si, pi = si+1, pi+1
		case star >= 0:
			from++
			si, pi = from, star+1
		default:
			return false
		}
	}
	return strings.Trim(p[pi:], "%") == ""
}
