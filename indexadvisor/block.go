package indexadvisor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/quern-dev/quern/internal/sqlparse"
)

// A block is one SELECT of a statement, together with what the server merges
// into it: simple derived tables, views, and subqueries that become joins.
type block struct {
	accesses []*access
	edges    []edge
	same     []edge      // equal columns of one table
	order    []orderItem // over base columns; nil if there is none
	sorted   bool        // an ORDER BY is there that no index can serve
	group    []orderItem
	grouped  bool // a GROUP BY or DISTINCT is there
	// groups is how many groups all rows of the table make, 0 if that is not known,
	// and sortsGroups that MariaDB sorts them: it does for GROUP BY.
	groups      float64
	sortsGroups bool
	limit       int64
	outer       *block // the block whose rows this one depends on, nil if none
	depends     bool   // names columns of outer blocks
	dml         bool   // single-table UPDATE or DELETE: neither covering nor condition pushdown
	limited     bool   // an UPDATE or DELETE with ORDER BY or LIMIT
	conds       []condition
	opaque      bool // has aggregates, windows or such: conditions from outside stay outside
}

// access is one appearance of a table in a block.
type access struct {
	id    int // position in block.accesses
	alias string
	table *Table // nil for what is no base table
	preds []*Predicate
	used  map[string]bool // columns read, lower case
	after []*access       // tables that must be read before: the outer side of a left join, …
	nulls bool            // inner side of an outer join
	hints []string        // index names in USE, FORCE and IGNORE INDEX
	// forbidden are the indexes that such hints keep from being used, and text is
	// the FULLTEXT index that a MATCH makes the server read, "" if none.
	forbidden []string
	text      string
	// partitions are those that the statement names, sorted; nil for all.
	partitions []string
	counts     *Counts
	// bit i of a group in counts stands for preds[bits[i]].
	bits     []int
	distinct map[string]float64 // different values by column
	chosen   []int              // predicates in the order of the rounds
	rounds   Rounds
	guessed  bool             // a round says nothing: the sample holds too few rows
	reads    map[readKey]step // estimates made so far
	matched  map[uint64]float64
}

// edge is a join equality.
type edge struct {
	a, b     *access
	ac, bc   *Column
	aok, bok bool    // an index on a's (b's) column can be looked up with the other's value
	share    float64 // of the pairs of rows that are equal
	// found are the rows of a (b) that those of b (a) which meet their conditions
	// are joined with, nil if they were not counted.
	afound, bfound *Counts
}

type orderItem struct {
	access *access
	column *Column
	desc   bool
}

// errSkip says that a statement holds nothing to advise on.
var errSkip = errors.New("it reads no table by an index itself; of a routine, ask about the statements in it")

// analysis turns a statement into blocks.
type analysis struct {
	ctx     context.Context
	catalog Catalog
	server  Server
	schema  string
	// indexHints are the statement's optimizer hints on indexes.
	indexHints []indexHint
	blocks     []*block
	notes      []string
	writes     []write
	depth      int
	// references and conditions are how many there were, as both are bounded.
	references, conditions int
	// fixed are the subqueries whose value does not depend on the row.
	fixed map[*ast.SubqueryExpr]bool
}

// write is what a statement changes.
type write struct {
	table   *Table
	insert  bool
	delete  bool
	columns []string // changed by UPDATE, lower case
	rows    float64  // per execution; 0 if it is what the block finds
	block   *block
	access  *access
}

func (a *analysis) note(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(a.notes, s) {
		a.notes = append(a.notes, s)
	}
}

func (a *analysis) statement(stmt ast.StmtNode) error {
	switch s := stmt.(type) {
	case *ast.SelectStmt:
		if _, err := a.selectStmt(s, nil, nil); err != nil {
			return err
		}
	case *ast.SetOprStmt:
		if _, err := a.union(s, nil, nil); err != nil {
			return err
		}
	case *ast.UpdateStmt:
		if err := a.update(s); err != nil {
			return err
		}
	case *ast.DeleteStmt:
		if err := a.delete(s); err != nil {
			return err
		}
	case *ast.InsertStmt:
		if err := a.insert(s); err != nil {
			return err
		}
	case *ast.CreateTableStmt:
		q, ok := s.Select.(ast.StmtNode)
		if !ok {
			return errSkip
		}
		return a.statement(q)
	case *ast.ExplainStmt:
		return a.statement(s.Stmt)
	default:
		return errSkip
	}
	for _, b := range a.blocks {
		a.finish(b)
	}
	return nil
}

func (a *analysis) newBlock() *block {
	b := &block{limit: -1}
	a.blocks = append(a.blocks, b)
	return b
}

func (a *analysis) insert(s *ast.InsertStmt) error {
	var target *Table
	if t := firstTable(s.Table.TableRefs); t != nil {
		tab, err := a.table(t)
		if err != nil {
			return err
		}
		target = tab
		a.writes = append(a.writes, write{table: tab, insert: true, delete: s.IsReplace, rows: float64(len(s.Lists))})
	}
	n := len(a.blocks)
	switch q := s.Select.(type) {
	case *ast.SelectStmt:
		if _, err := a.selectStmt(q, nil, nil); err != nil {
			return err
		}
	case *ast.SetOprStmt:
		if _, err := a.union(q, nil, nil); err != nil {
			return err
		}
	case nil:
		a.note("the statement inserts rows into %s.%s and reads no table", target.Schema, target.Name)
	}
	if len(a.blocks) > n {
		a.writes[0].block = a.blocks[n]
	}
	return nil
}

func firstTable(n ast.ResultSetNode) *ast.TableName {
	switch n := n.(type) {
	case *ast.Join:
		return firstTable(n.Left)
	case *ast.TableSource:
		return firstTable(n.Source)
	case *ast.TableName:
		return n
	}
	return nil
}

// changed makes the block of the rows that an UPDATE or a DELETE finds.
func (a *analysis) changed(with *ast.WithClause, from *ast.TableRefsClause, where ast.ExprNode, order *ast.OrderByClause, limit *ast.Limit) (*block, *scope, error) {
	b := a.newBlock()
	sc := &scope{block: b}
	if err := a.with(with, sc); err != nil {
		return nil, nil, err
	}
	if err := a.from(b, sc, from.TableRefs, nil); err != nil {
		return nil, nil, err
	}
	b.dml, b.limited = len(b.accesses) == 1, order != nil || limit != nil
	a.where(b, sc, where)
	a.orderBy(b, sc, order, nil)
	b.limit = limitOf(limit)
	return b, sc, nil
}

func (a *analysis) update(s *ast.UpdateStmt) error {
	b, sc, err := a.changed(s.With, s.TableRefs, s.Where, s.Order, s.Limit)
	if err != nil {
		return err
	}
	changed := map[*access][]string{}
	for _, as := range s.List {
		if r := sc.resolve(as.Column); r.access != nil {
			changed[r.access] = appendNew(changed[r.access], strings.ToLower(r.column.Name))
		}
		a.uses(sc, as.Expr)
		a.subqueries(b, sc, as.Expr)
	}
	for _, acc := range b.accesses {
		if cols := changed[acc]; len(cols) > 0 && acc.table != nil {
			a.writes = append(a.writes, write{table: acc.table, columns: cols, block: b, access: acc})
			acc.all()
		}
	}
	return nil
}

func (a *analysis) delete(s *ast.DeleteStmt) error {
	b, _, err := a.changed(s.With, s.TableRefs, s.Where, s.Order, s.Limit)
	if err != nil {
		return err
	}
	for _, acc := range b.accesses {
		target := !s.IsMultiTable
		if s.IsMultiTable {
			for _, t := range s.Tables.Tables {
				target = target || strings.EqualFold(t.Name.O, acc.alias)
			}
		}
		if target && acc.table != nil {
			a.writes = append(a.writes, write{table: acc.table, delete: true, block: b, access: acc})
			acc.all()
		}
	}
	return nil
}

// union analyses the parts of a UNION. It returns the fields of the first.
func (a *analysis) union(s *ast.SetOprStmt, outer *scope, ctes map[string]*ast.CommonTableExpression) (source, error) {
	sc := &scope{outer: outer, ctes: ctes}
	if err := a.with(s.With, sc); err != nil {
		return source{}, err
	}
	var first source
	var parts []source
	for i, sel := range s.SelectList.Selects {
		var src source
		var err error
		switch q := sel.(type) {
		case *ast.SelectStmt:
			src, err = a.selectStmt(q, outer, sc.ctes)
		case *ast.SetOprSelectList:
			src, err = a.union(&ast.SetOprStmt{SelectList: q, With: q.With}, outer, sc.ctes)
		}
		if err != nil {
			return source{}, err
		}
		if i == 0 {
			first = src
		}
		if src.block != nil {
			parts = append(parts, src)
		}
	}
	// A column of the union is a column of each part.
	all := source{fields: map[string]ref{}, order: first.order}
	for _, name := range first.order {
		all.fields[name] = ref{}
	}
	if s.Limit == nil {
		all.parts = parts
	}
	return all, nil
}

func (a *analysis) with(w *ast.WithClause, sc *scope) error {
	if w == nil {
		return nil
	}
	m := map[string]*ast.CommonTableExpression{}
	for s := sc; s != nil; s = s.outer {
		for k, v := range s.ctes {
			if m[k] == nil {
				m[k] = v
			}
		}
	}
	for _, c := range w.CTEs {
		c.IsRecursive = w.IsRecursive
		m[c.Name.L] = c
	}
	sc.ctes = m
	return nil
}

// selectStmt analyses a SELECT as a block of its own.
func (a *analysis) selectStmt(s *ast.SelectStmt, outer *scope, ctes map[string]*ast.CommonTableExpression) (source, error) {
	if a.depth++; a.depth > 50 {
		return source{}, fmt.Errorf("%w: it nests too deep", ErrSyntax)
	}
	defer func() { a.depth-- }()
	b := a.newBlock()
	sc := &scope{outer: outer, block: b, ctes: ctes}
	if err := a.with(s.With, sc); err != nil {
		return source{}, err
	}
	if s.From != nil {
		if err := a.from(b, sc, s.From.TableRefs, nil); err != nil {
			return source{}, err
		}
	}
	src := a.fields(sc, s.Fields, false)
	src.block = b
	a.where(b, sc, s.Where)
	aliases := map[string]ast.ExprNode{}
	if s.Fields != nil {
		for _, f := range s.Fields.Fields {
			if f.Expr != nil {
				a.uses(sc, f.Expr)
				a.subqueries(b, sc, f.Expr)
				if f.AsName.L != "" {
					aliases[f.AsName.L] = f.Expr
				}
			}
		}
	}
	if s.GroupBy != nil {
		b.grouped, b.sortsGroups = true, true
		for _, it := range s.GroupBy.Items {
			if b.group = append(b.group, a.orderItem(sc, it, aliases, s.Fields)); b.group[len(b.group)-1].column == nil {
				a.sortedByExpression("GROUP BY", sc, it.Expr)
			}
		}
	} else if s.Distinct && s.Fields != nil {
		b.grouped = true
		for _, f := range s.Fields.Fields {
			if f.Expr == nil {
				b.group = nil
				break
			}
			b.group = append(b.group, a.orderItem(sc, &ast.ByItem{Expr: f.Expr}, nil, nil))
		}
	}
	if slices.ContainsFunc(b.group, func(o orderItem) bool { return o.column == nil }) {
		b.group = nil
	}
	if s.Having != nil {
		a.uses(sc, s.Having.Expr)
		a.subqueries(b, sc, s.Having.Expr)
		a.having(b, sc, s.Having.Expr)
	}
	aggregates := s.Fields != nil && hasAggregate(s.Fields)
	if aggregates && s.GroupBy == nil {
		// One row comes out: neither its order nor a limit of one matters.
		// MIN and MAX read the first or the last entry of a fitting index.
		s.OrderBy = nil
		if item, ok := a.extreme(sc, s.Fields); ok && len(b.accesses) == 1 {
			b.order, b.limit = []orderItem{item}, 1
		}
	} else {
		b.limit = limitOf(s.Limit)
	}
	b.opaque = b.grouped || aggregates || len(s.WindowSpecs) > 0 || s.Limit != nil || s.Fields != nil && hasWindow(s.Fields)
	if b.opaque {
		for k, r := range src.fields {
			// A condition on a grouping column of a derived table reaches the
			// base table, and so does one on what every window is partitioned
			// by; one on anything else does not.
			same := func(o orderItem) bool { return o.access == r.access && o.column == r.column }
			pushable := s.GroupBy != nil && slices.ContainsFunc(b.group, same) || !b.grouped && !aggregates && slices.ContainsFunc(a.partitions(sc, s), same)
			if !pushable || s.Limit != nil {
				src.fields[k] = ref{}
			}
		}
	}
	a.orderBy(b, sc, s.OrderBy, &selectNames{aliases, s.Fields})
	if b.depends = outer != nil && a.correlated(sc, s); b.depends && s.Limit == nil {
		b.outer = outer.block
	}
	return src, nil
}

// partitions are the columns that all window functions of a SELECT are
// partitioned by.
func (a *analysis) partitions(sc *scope, s *ast.SelectStmt) []orderItem {
	var common []orderItem
	first := true
	sqlparse.Walk(s.Fields, func(n ast.Node) bool {
		w, ok := n.(*ast.WindowFuncExpr)
		if !ok {
			return true
		}
		var own []orderItem
		if w.Spec.PartitionBy != nil {
			for _, it := range w.Spec.PartitionBy.Items {
				o := a.orderItem(sc, it, nil, nil)
				if o.column != nil && (first || slices.ContainsFunc(common, func(c orderItem) bool { return c.access == o.access && c.column == o.column })) {
					own = append(own, o)
				}
			}
		}
		common, first = own, false
		return false
	})
	return common
}

// extreme is the order whose first row answers SELECT MIN(c) or MAX(c).
func (a *analysis) extreme(sc *scope, f *ast.FieldList) (orderItem, bool) {
	if len(f.Fields) != 1 {
		return orderItem{}, false
	}
	agg, ok := f.Fields[0].Expr.(*ast.AggregateFuncExpr)
	if !ok || len(agg.Args) != 1 || !strings.EqualFold(agg.F, "min") && !strings.EqualFold(agg.F, "max") {
		return orderItem{}, false
	}
	item := a.orderItem(sc, &ast.ByItem{Expr: agg.Args[0], Desc: strings.EqualFold(agg.F, "max")}, nil, nil)
	return item, item.column != nil
}

// having tells about conditions that belong into WHERE.
func (a *analysis) having(b *block, sc *scope, e ast.ExprNode) {
	for _, c := range conditions(e) {
		found, plain := false, true
		sqlparse.Walk(c, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AggregateFuncExpr, *ast.SubqueryExpr:
				plain = false
			case *ast.ColumnName:
				r := sc.resolve(n)
				found = true
				if !slices.ContainsFunc(b.group, func(o orderItem) bool { return o.column != nil && o.column == r.column && o.access == r.access }) {
					plain = false
				}
			}
			return plain
		})
		if found && plain {
			a.note("move the HAVING condition on the grouping column into WHERE: MySQL does not, and reads every group")
		}
	}
}

func hasAggregate(f *ast.FieldList) bool {
	found := false
	for _, x := range f.Fields {
		sqlparse.Walk(x, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.AggregateFuncExpr:
				found = true
			case *ast.SubqueryExpr, *ast.WindowFuncExpr:
				return false
			}
			return !found
		})
	}
	return found
}

func hasWindow(f *ast.FieldList) bool {
	found := false
	sqlparse.Walk(f, func(n ast.Node) bool {
		if _, ok := n.(*ast.WindowFuncExpr); ok {
			found = true
		}
		return !found
	})
	return found
}

func limitOf(l *ast.Limit) int64 {
	if l == nil {
		return -1
	}
	number := func(e ast.ExprNode) int64 {
		if v, ok := e.(ast.ValueExpr); ok {
			switch n := v.GetValue().(type) {
			case uint64:
				return int64(min(n, 1<<40))
			case int64:
				return n
			}
		}
		return 0
	}
	count := number(l.Count)
	if count == 0 {
		if v, ok := l.Count.(ast.ValueExpr); !ok || v.GetValue() == nil {
			return 100 // a placeholder: a page of rows
		}
	}
	if l.Offset != nil {
		count += number(l.Offset)
	}
	return count
}

type selectNames struct {
	aliases map[string]ast.ExprNode
	fields  *ast.FieldList
}

func (a *analysis) orderBy(b *block, sc *scope, o *ast.OrderByClause, names *selectNames) {
	if o == nil {
		return
	}
	for _, it := range o.Items {
		if _, null := bare(it.Expr).(ast.ValueExpr); null && len(o.Items) == 1 && kindOf(it.Expr) == nullKind {
			return // ORDER BY NULL
		}
		var item orderItem
		if names != nil {
			item = a.orderItem(sc, it, names.aliases, names.fields)
		} else {
			item = a.orderItem(sc, it, nil, nil)
		}
		a.uses(sc, it.Expr)
		if item.column == nil {
			a.sortedByExpression("ORDER BY", sc, it.Expr)
			b.order, b.sorted = nil, true
			return
		}
		b.order = append(b.order, item)
	}
}

// sortedByExpression says that rows are sorted or grouped by what no index on a
// column has the order of.
func (a *analysis) sortedByExpression(clause string, sc *scope, e ast.ExprNode) {
	column, plain := false, true
	sqlparse.Walk(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AggregateFuncExpr, *ast.WindowFuncExpr, *ast.SubqueryExpr:
			plain = false
		case *ast.ColumnName:
			column = column || sc.resolve(n).access != nil
		}
		return plain
	})
	if _, name := bare(e).(*ast.ColumnNameExpr); !name && column && plain {
		a.note("%s %s: an index has the order of its columns, not that of an expression: name the column itself if its order is as good, or index the expression", clause, render(e, nil, false, false))
	}
}

func (a *analysis) orderItem(sc *scope, it *ast.ByItem, aliases map[string]ast.ExprNode, fields *ast.FieldList) orderItem {
	e := bare(it.Expr)
	if p, ok := e.(*ast.PositionExpr); ok && fields != nil && p.N >= 1 && p.N <= len(fields.Fields) {
		e = bare(fields.Fields[p.N-1].Expr)
	}
	if c, ok := e.(*ast.ColumnNameExpr); ok {
		if x := aliases[c.Name.Name.L]; x != nil && c.Name.Table.L == "" {
			if y, ok := bare(x).(*ast.ColumnNameExpr); ok {
				c = y
			} else {
				return orderItem{}
			}
		}
		r := sc.resolve(c.Name)
		if r.access != nil && slices.Contains(sc.block.accesses, r.access) {
			r.access.use(r.column)
			return orderItem{r.access, r.column, it.Desc}
		}
	}
	return orderItem{}
}

// where files the conditions of a WHERE clause.
func (a *analysis) where(b *block, sc *scope, e ast.ExprNode) {
	if e == nil {
		return
	}
	for _, c := range conditions(e) {
		a.uses(sc, c)
		if a.semijoin(b, sc, c) {
			continue
		}
		known, done := a.looked(b, sc, c)
		if done {
			continue
		}
		if !known {
			a.subqueries(b, sc, c)
		}
		a.file(b, condition{expr: c, scope: sc})
	}
}

// maxConditions is how many conditions of a statement are looked into; a condition
// on a UNION is one of each of its parts.
const maxConditions = 3000

// file puts a condition where it belongs: into the block of a derived table
// if all its columns come from there, else into this one.
func (a *analysis) file(b *block, c condition) {
	if a.conditions++; a.conditions > maxConditions {
		a.note("the statement has more than %d conditions: those after them are not looked into", maxConditions)
		return
	}
	var target *source
	ok := true
	sqlparse.Walk(c.expr, func(n ast.Node) bool {
		cn, is := n.(*ast.ColumnName)
		if !is {
			return ok
		}
		for i := range c.scope.sources {
			s := &c.scope.sources[i]
			if s.block == nil && s.parts == nil || s.block == b || cn.Table.L != "" && !strings.EqualFold(s.name, cn.Table.O) {
				continue
			}
			if r, has := s.fields[cn.Name.L]; has {
				if r.access == nil && s.parts == nil || target != nil && target != s {
					ok = false
				}
				target = s
				return false
			}
		}
		ok = false
		return false
	})
	switch {
	case !ok || target == nil || len(c.inner) > 0:
	case target.parts != nil:
		a.conditions += len(target.parts) - 1
		for _, part := range target.parts {
			// The part's columns under the names of the union's.
			inside := source{name: target.name, fields: map[string]ref{}}
			for i, name := range target.order {
				if i < len(part.order) {
					inside.fields[name] = part.fields[part.order[i]]
				}
			}
			part.block.conds = append(part.block.conds, condition{expr: c.expr, scope: &scope{block: part.block, sources: []source{inside}}})
		}
		return
	default:
		b = target.block
	}
	b.conds = append(b.conds, c)
}
