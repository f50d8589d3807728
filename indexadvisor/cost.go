package indexadvisor

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"
)

// The cost of reading, in page requests: what the buffer pool is asked for.
// Handing a row from the engine to the server counts a quarter, sorting one a
// half. Package internal/advisorbench measures advice by the same weights and
// prints how they compare with measured times.
const (
	rowCost  = 0.25
	sortCost = 0.5
	// restorePages is what finding the place in an index again costs MySQL,
	// after the row of an entry was fetched from the table.
	restorePages = 1
	// groupCost is for a row put into a temporary table: looked up, and
	// written or changed. The groups are read again.
	groupCost = 2 * rowCost
	// refusedCost is for an index entry that the pushed condition refuses:
	// MySQL hands it to nobody. MariaDB counts the attempt like a row.
	refusedCost = 0.001
	// recordBuffer is how many bytes of rows MySQL fetches from a range before
	// it looks at the first: a LIMIT does not end the reading earlier.
	recordBuffer = 128 << 10
	// leafFill is how full the pages of an index are in the long run, and freshFill
	// those of one just made, as a suggested one will be.
	leafFill, freshFill = 0.69, 15.0 / 16
	// pointerBytes is the size of the number of a page in the page above it.
	pointerBytes = 4
	// estimatePages is how many leaf pages of a range are read at most to
	// estimate how many entries it has.
	estimatePages = 10
	// almostAll is the share of a table from which on a range is estimated to hold
	// all of it.
	almostAll = 0.985
	// scattered is the share of a table that rows must make up to be taken for
	// evenly spread over it: fewer may all stand at its end.
	scattered = 0.1
	// pairCost is what a pair of rows costs in the eyes of the optimizers where
	// no index leads from one to the other.
	pairCost = 0.1
	// hashCost is for a row that is put into a join buffer.
	hashCost = 0.1
	// leastMatch is how many rows a look-up with another table's value finds
	// at least.
	leastMatch = 0.1
)

// descents is how often the tree is descended for a range: to estimate it,
// MySQL at both ends and MariaDB once where these are near to each other, and
// to read it.
func (s Server) descents() float64 {
	if s.MariaDB {
		return 2
	}
	return 3
}

// fetchPages is what it costs to fetch a row by its primary key, from a tree
// of some height, for an index entry.
func (s Server) fetchPages(height float64) float64 {
	if s.MariaDB {
		return height
	}
	return height + restorePages
}

// avoided says whether the optimizer reads the whole table, or all of an index
// that covers the query, instead of the entries that some conditions lead to. It
// takes each row of a range to be fetched, whatever the other conditions on the
// entries leave. MariaDB reads a range, however long, where a LIMIT needs an order,
// and both servers do where one needs few rows. MySQL 8.0 takes a page in memory for
// 0.25 and looking at a row for 0.1; before, and in MariaDB, they are 1 and 0.2.
//
// Where equalities alone lead to the entries MySQL believes in no more than three
// fetches per page of the table. It looks up a value that is so common that only
// this makes it do so, but not for each row of another table.
func (x *access) avoided(server Server, b *block, bound uint64, ranges float64, fixed []Part, covering bool, perLeaf, perPage float64) (avoided, common bool) {
	if server.MariaDB && b.limit >= 0 && len(b.order) > 0 && b.order[0].access == x {
		return false, false
	}
	n := x.rows()
	each := x.match(bound) / ranges
	if each > estimatePages*perLeaf/leafFill*freshFill {
		// InnoDB counts on a few leaf pages, doubles what it estimates from them, and
		// believes in no more than half of the table.
		each = min(2*each, n/2)
	}
	entries := each * ranges
	equal := x.equalities(bound, fixed)
	if covering {
		return equal == 0 && entries >= max(1, n), false
	}
	if b.few(n) && entries < almostAll*n {
		return false, false
	}
	page, row := 1.0, 0.2
	if !server.MariaDB && server.atLeast(8, 0, 0) {
		page, row = 0.25, 0.1
	}
	pages := n / perPage
	scan := pages*page + n*row
	avoided = entries*(page+row) > scan
	common = avoided && !server.MariaDB && equal == bound && min(entries, 3*pages)*page+entries*row <= scan
	return avoided, common
}

// few says whether a LIMIT ends the reading of a table before all of its rows are
// read, as far as the optimizers know: they then read a range, however long, rather
// than the whole table.
func (b *block) few(rows float64) bool {
	return b.limit >= 0 && float64(b.limit) < rows && !b.grouped && !b.sorted && len(b.order) == 0
}

// believed is the share of rows that the optimizer takes the conditions to leave
// where no index tells: MySQL has fixed shares for them, MariaDB none.
func (x *access) believed(server Server) float64 {
	share := 1.0
	if server.MariaDB {
		return share
	}
	for _, p := range x.preds {
		if p.expr != nil {
			share *= believed(p.expr)
		}
	}
	return share
}

// believed is the share of rows that MySQL takes a condition to leave where no
// index tells.
func believed(e ast.ExprNode) float64 {
	const equality, inequality, between = 0.1, 1.0 / 3, 1.0 / 9
	not := func(not bool, share float64) float64 {
		if not {
			return 1 - share
		}
		return share
	}
	switch e := bare(e).(type) {
	case *ast.BinaryOperationExpr:
		switch e.Op {
		case opcode.LogicAnd:
			return believed(e.L) * believed(e.R)
		case opcode.LogicOr:
			l, r := believed(e.L), believed(e.R)
			return l + r - l*r
		case opcode.EQ, opcode.NullEQ:
			return equality
		case opcode.NE:
			return 1 - equality
		case opcode.LT, opcode.LE, opcode.GT, opcode.GE:
			return inequality
		}
	case *ast.IsNullExpr:
		return not(e.Not, equality)
	case *ast.PatternInExpr:
		return not(e.Not, min(equality*float64(len(e.List)), 0.5))
	case *ast.BetweenExpr:
		return not(e.Not, between)
	case *ast.PatternLikeOrIlikeExpr:
		return not(e.Not, between)
	}
	return 1
}

// equalities are those of a set of predicates that fix the first parts of a key.
func (x *access) equalities(set uint64, fixed []Part) (equal uint64) {
	for i, p := range x.preds {
		if set>>i&1 == 1 && p.Class == Equality && slices.ContainsFunc(fixed, p.Keys[0].sameColumn) {
			equal |= 1 << i
		}
	}
	return equal
}

// step is how one table is read.
type step struct {
	access   *access
	index    *Index  // nil: the whole table
	entries  float64 // index entries or rows read
	lookups  float64 // rows fetched by primary key
	out      float64 // rows that meet all conditions
	believed float64 // rows that the optimizer takes to meet them
	ahead    float64 // share of the reading that is done whatever the LIMIT
	planned  float64 // part of the cost that arises once, however often it is read
	least    float64 // part of the cost that does not depend on the entries
	cost     float64
	idea     float64 // the optimizer's of the cost, by which it chooses among indexes; 0 if it is right
	bound    bool    // conditions lead to the entries
	common   bool    // by equalities with so common values that a range with as many entries would be avoided
	constant bool    // by equalities with values alone
	looked   bool    // another table's values lead to the entries
	counted  bool    // how many entries they lead to was counted
	ordered  bool    // in the order that ORDER BY or GROUP BY wants
	grouped  bool
}

// height is the number of pages from the root to the leaf of a tree, whose other
// pages have keys of some bytes.
func (s Server) height(rows, perLeaf, keyBytes float64) float64 {
	perNode := max(2, float64(s.pageSize())*freshFill/(keyBytes+pointerBytes))
	h := 1.0
	for pages := rows / max(1, perLeaf); pages > 1; pages /= perNode {
		h++
	}
	return h
}

// entryBytes is the average size of an index entry.
func (t *Table) entryBytes(parts []Part) float64 {
	sum := 9.0
	for _, p := range slices.Concat(parts, t.suffix(parts)) {
		c := t.column(p.Name)
		if c == nil {
			sum += 8
			continue
		}
		n := c.averageBytes()
		if p.Length > 0 {
			n = min(n, float64(p.Length))
		}
		if c.Nullable {
			n++
		}
		sum += n
	}
	return sum
}

// indexBytes estimates the size of an index: entries in pages that are about
// 70 % full, and never less than a page.
func (t *Table) indexBytes(parts []Part, rows float64, pageSize int) int64 {
	return int64(max(float64(pageSize), rows*t.entryBytes(parts)/leafFill))
}

// selectivity of a condition whose rows were not counted.
func (x *access) selectivity(i int) float64 {
	p := x.preds[i]
	switch {
	case p.Class == Equality || p.Class == Join:
		s := 1.0
		for _, k := range p.Keys {
			s /= max(1, x.distinct[strings.ToLower(k.String())])
		}
		if len(p.Keys) == 0 || s == 1 {
			return 0.1
		}
		return max(s, 1/max(1, x.rows()))
	case p.Class == List:
		return 0.1
	}
	return 1.0 / 3
}

func (x *access) rows() float64 {
	if x.counts != nil {
		return x.counts.Rows
	}
	if x.table == nil {
		return 100
	}
	return float64(x.table.Rows)
}

// match estimates how many rows meet the predicates of a set (bit i:
// x.preds[i]).
func (x *access) match(set uint64) float64 {
	if r, ok := x.matched[set]; ok {
		return r
	}
	mask, share := x.mask(set)
	r := x.rows() * share
	if x.counts != nil {
		r = x.counts.rows(mask) * share
	}
	if x.matched == nil {
		x.matched = map[uint64]float64{}
	}
	x.matched[set] = r
	return r
}

// mask is the counted ones of a set of predicates as bits of the counts, and
// the share of rows that the others leave.
func (x *access) mask(set uint64) (mask uint64, share float64) {
	share = 1.0
	for i := range x.preds {
		if set>>i&1 == 0 {
			continue
		}
		if b := slices.Index(x.bits, i); b >= 0 {
			mask |= 1 << b
		} else {
			share *= x.selectivity(i)
		}
	}
	return mask, share
}

// joinColumn is a column equated with one of a table read before, the share of
// the table that has one of its values, and, where they were counted, the rows
// that all look-ups with its values find.
type joinColumn struct {
	column  *Column
	share   float64
	found   *Counts
	lookups float64
}

func (b *block) joined(x *access, before uint64) []joinColumn {
	var js []joinColumn
	add := func(e edge, other *access, c *Column, ok bool, found *Counts) {
		if !ok || before>>other.id&1 == 0 || slices.ContainsFunc(js, func(j joinColumn) bool { return j.column == c }) {
			return
		}
		j := joinColumn{column: c, share: e.share, found: found}
		if found != nil {
			j.lookups = other.met()
		}
		js = append(js, j)
	}
	for _, e := range b.edges {
		if e.a == x && e.b != x {
			add(e, e.b, e.ac, e.aok, e.afound)
		} else if e.b == x && e.a != x {
			add(e, e.a, e.bc, e.bok, e.bfound)
		}
	}
	return js
}

// finds is how many rows that meet the predicates of a set a look-up finds
// with the values of join columns, which one of share of the rows has: as
// counted, where there is one column.
func (x *access) finds(set uint64, js []joinColumn, share float64) float64 {
	if share < 1 && len(js) == 1 && js[0].found != nil {
		mask, rest := x.mask(set)
		return js[0].found.rows(mask) * rest / js[0].lookups
	}
	return x.match(set) * share
}

// residual is the share of rows that join conditions leave which no index
// can be looked up with.
func (b *block) residual(x *access, before uint64) float64 {
	share := 1.0
	for _, e := range b.edges {
		if e.a == x && !e.aok && before>>e.b.id&1 == 1 || e.b == x && !e.bok && before>>e.a.id&1 == 1 {
			share /= max(1, x.distinct[strings.ToLower(e.ac.Name)], 10)
		}
	}
	return share
}

// read estimates reading x by an index (nil: the whole table) when the tables
// in before are read already.
func (b *block) read(server Server, x *access, ix *Index, before uint64) step {
	key := readKey{ix, before}
	s, ok := x.reads[key]
	if !ok {
		if x.reads == nil {
			x.reads = map[readKey]step{}
		}
		s = b.estimate(server, x, ix, before)
		x.reads[key] = s
	}
	return s
}

// readKey is what the cost of reading an access depends on.
type readKey struct {
	index  *Index
	before uint64
}

func (b *block) estimate(server Server, x *access, ix *Index, before uint64) step {
	n := x.rows()
	if x.table == nil {
		if before == 0 {
			return step{access: x, entries: n, out: n, believed: n, cost: n * rowCost}
		}
		return step{access: x, entries: 1, out: 1, believed: 1, cost: 1, looked: true}
	}
	t := x.table
	js := b.joined(x, before)
	all := uint64(1)<<len(x.preds) - 1
	share := b.residual(x, before)
	joint := 1.0
	for _, j := range js {
		joint *= j.share
	}
	joint = max(joint, leastMatch/max(1, n))
	out := x.finds(all, js, joint) * share
	perPage := max(1, float64(server.pageSize())*15/16/t.rowBytes())
	tree := server.height(n, perPage, t.entryBytes(nil))
	s := step{access: x, index: ix, out: out}
	if ix == nil {
		s.entries = n
		s.believed = n * x.believed(server)
		s.cost = tree + n*(rowCost+1/perPage)
		if pk := t.primaryKey(); pk != nil && t.clustered() {
			s.ordered, s.grouped, _ = b.arranged(x, pk.Parts, nil, nil, before == 0)
		}
		s.ahead = scanned(out, n)
		return s
	}
	bound, ranges, jshare, fixed, stop := x.bind(ix, js)
	s.entries = x.finds(bound, js, jshare)
	if t.clustered() && t.primaryKey() == ix && s.entries >= n {
		return b.read(server, x, nil, before)
	}
	key := ix.Parts
	clustered := t.clustered() && t.primaryKey() == ix
	if !clustered {
		key = slices.Concat(ix.Parts, t.suffix(ix.Parts))
	}
	covering := clustered || !b.dml && x.covers(key)
	bytes := t.entryBytes(ix.Parts)
	perLeaf := max(1, float64(server.pageSize())*leafFill/bytes)
	own := server.height(n, perLeaf/leafFill*freshFill, bytes)
	if clustered {
		perLeaf, own = perPage, tree
	}
	var avoided bool
	if !clustered && jshare == 1 && bound != 0 {
		avoided, s.common = x.avoided(server, b, bound, ranges, fixed, covering, perLeaf, perPage)
	}
	if avoided && !s.common {
		switch equal := x.equalities(bound, fixed); {
		case server.MariaDB && equal != 0 && equal != bound:
			// MariaDB looks up what is fixed, and leaves the range behind it.
			bound, ranges, s.entries = equal, 1, x.match(equal)
		default:
			bound, ranges, fixed, stop, s.entries = 0, 1, nil, &ix.Parts[0], n
		}
	}
	s.bound, s.looked = bound != 0, jshare < 1
	s.constant = s.bound && !s.looked && x.equalities(bound, fixed) == bound
	if s.believed = out; bound == 0 && jshare == 1 {
		s.believed = s.entries * x.believed(server)
	}
	s.counted = len(js) == 1 && js[0].found != nil
	var backward bool
	s.ordered, s.grouped, backward = b.arranged(x, key, fixed, stop, before == 0)
	s.least = own
	s.cost = s.least + s.entries/perLeaf
	// The optimizer estimates the ranges that constants make.
	if known, ranges, _, _, _ := x.bind(ix, nil); known != 0 {
		leaves := max(0, x.match(known)/ranges/perLeaf-1) // between the two ends
		s.planned = ranges * ((server.descents()-1)*own + min(estimatePages, leaves))
		if server.MariaDB && len(b.order) > 0 {
			s.planned *= 2 // once more for the order
		}
	}
	if before == 0 {
		s.least = s.planned + max(1, ranges)*own
		s.cost = s.least + s.entries/perLeaf
	}
	if clustered {
		s.cost += s.entries * rowCost
		if bound == 0 {
			s.ahead = scanned(out, n)
		}
		return s
	}
	buffered := 0.0
	if before == 0 && bound != 0 && server.readsAhead() {
		buffered = x.buffered(s.entries)
	}
	if covering {
		s.cost += s.entries * rowCost
		s.ahead = min(1, buffered/max(1, s.entries))
		return s
	}
	s.lookups = s.entries
	fetch := rowCost + server.fetchPages(tree)
	s.idea = s.entries * fetch // whatever the other conditions on the entries leave
	entriesOnly := s.cost
	// Conditions are pushed down to look-ups and ranges, not to a scan of the
	// whole index, nor where a virtual column is in it.
	if !b.dml && (bound != 0 || jshare < 1) && !slices.ContainsFunc(ix.Parts, func(p Part) bool { c := t.column(p.Name); return c == nil || c.Virtual }) {
		s.lookups = min(s.entries, x.finds(bound|x.checkable(key), js, jshare))
	}
	refused := refusedCost
	if server.MariaDB {
		refused = rowCost
	}
	s.cost += s.lookups*fetch + (s.entries-s.lookups)*refused
	s.ahead = min(1, buffered/max(1, s.lookups))
	if backward && s.ordered && (server.MariaDB || x.equalities(bound, fixed) == bound) {
		// Read backwards, conditions are not pushed down, but to MySQL's ranges.
		s.lookups = s.entries
		s.cost = entriesOnly + s.entries*fetch
		s.ahead = min(1, buffered/max(1, s.entries))
	}
	return s
}

// scanned is the share of a table that is read before enough of its rows that
// meet the conditions are found: where the few are is not known.
func scanned(out, rows float64) float64 {
	if out < scattered*rows {
		return 0.5
	}
	return 0
}

// readsAhead says whether the server fills its record buffer even where a
// LIMIT wants fewer rows, as MySQL 9.7 was seen to do.
func (s Server) readsAhead() bool { return !s.MariaDB && s.atLeast(9, 0, 0) }

// buffered is how many rows MySQL reads ahead where it expects some number:
// a tenth, but no more than its record buffer holds, each of the greatest size
// that it could have up to the last column that is read, and no fewer than
// 4 KiB of them. Rows with long values are not buffered.
func (x *access) buffered(expected float64) float64 {
	bytes, sum := 1.0, 0.0
	for i := range x.table.Columns {
		c := &x.table.Columns[i]
		used := x.used[strings.ToLower(c.Name)]
		if used && (c.blob() || !c.indexable()) {
			return 0
		}
		if sum += float64(c.keyBytes(0)); c.Chars > 0 {
			sum += 2
		}
		if used {
			bytes = sum
		}
	}
	return min(recordBuffer/bytes, max(4<<10/bytes, expected/10))
}

// bind walks the parts of an index as far as look-ups go. It returns the
// predicates that bound the entries read, the number of look-ups, the share
// of entries that join values leave, how many leading parts are fixed to one
// value, and the first part that is not (nil if all are).
func (x *access) bind(ix *Index, js []joinColumn) (bound uint64, ranges, share float64, fixed []Part, stop *Part) {
	ranges, share = 1, 1
	single := true
	for k := range ix.Parts {
		p := &ix.Parts[k]
		eq, list, rng := -1, -1, -1
		for i, q := range x.preds {
			if !slices.ContainsFunc(q.Keys, p.sameColumn) {
				continue
			}
			switch q.Class {
			case Equality, Join:
				eq = i
			case List:
				if slices.IndexFunc(q.Keys, p.sameColumn) == 0 || bound>>i&1 == 1 || x.leads(q, ix.Parts[:k+1]) {
					list = i
				}
			case Range, Prefix:
				rng = i
			}
		}
		if share < 1 {
			// A look-up with another table's value has equalities only; lists
			// and ranges are checked on the entries.
			list, rng = -1, -1
		}
		j := slices.IndexFunc(js, func(j joinColumn) bool { return p.Expr == "" && strings.EqualFold(j.column.Name, p.Name) })
		switch {
		case eq >= 0:
			bound |= 1 << eq
			if single {
				fixed = append(fixed, *p)
			}
		case j >= 0 && single: // a look-up has one value for each column before
			share *= js[j].share
			fixed = append(fixed, *p)
		case list >= 0:
			if bound>>list&1 == 0 {
				ranges *= float64(max(1, x.preds[list].Points))
				bound |= 1 << list
			}
			if single {
				stop = p
			}
			single = false
		default:
			if rng >= 0 {
				bound |= 1 << rng
				ranges *= float64(max(1, x.preds[rng].Points))
			}
			if stop == nil {
				stop = p
			}
			if !single {
				// Rows come list value by list value: in no order at all.
				stop = &Part{}
			}
			return bound, ranges, max(share, leastMatch/max(1, x.rows())), fixed, stop
		}
	}
	if !single {
		stop = &Part{}
	}
	return bound, ranges, max(share, leastMatch/max(1, x.rows())), fixed, stop
}

// leads says whether every key of a row list is among the parts.
func (x *access) leads(q *Predicate, parts []Part) bool {
	for _, k := range q.Keys {
		if !slices.ContainsFunc(parts, k.sameColumn) {
			return false
		}
	}
	return true
}

// checkable are the predicates that can be checked on the index entry.
func (x *access) checkable(key []Part) uint64 {
	set := uint64(0)
	for i, p := range x.preds {
		ok := len(p.columns) > 0 && p.Class != Join && (p.SQL != "" || p.Class == Equality)
		for _, c := range p.columns {
			ok = ok && slices.ContainsFunc(key, func(k Part) bool { return k.Length == 0 && strings.EqualFold(k.Name, c) })
		}
		if ok {
			set |= 1 << i
		}
	}
	return set
}

// covers says whether the index entry holds every column that is read.
func (x *access) covers(key []Part) bool {
	for c := range x.used {
		if !slices.ContainsFunc(key, func(k Part) bool { return k.Length == 0 && strings.EqualFold(k.Name, c) }) {
			return false
		}
	}
	return true
}
