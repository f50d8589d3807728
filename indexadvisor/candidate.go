package indexadvisor

import (
	"cmp"
	"slices"
	"strings"
)

// A candidate is an index that might be worth having.
type candidate struct {
	table *Table
	parts []Part
	// set is how many leading parts may stand in any order: they are all
	// fixed by equalities of the query that the candidate was made for.
	set   int
	key   string // tells it from other candidates
	index *Index // as an index of the table
}

func newCandidate(t *Table, parts []Part, set int) candidate {
	return candidate{t, parts, min(set, len(parts)), t.Schema + "\x00" + t.Name + "\x00" + partsKey(parts), &Index{Parts: parts, Kind: "BTREE"}}
}

func partsKey(parts []Part) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(strings.ToLower(p.String()))
		b.WriteByte(0)
	}
	return b.String()
}

// generator makes the candidates of one block.
type generator struct {
	server  Server
	block   *block
	columns int                                    // most parts of an index
	prefix  func(x *access, c *Column) (int, bool) // length that a column needs in a key; false if it cannot be there
	seen    map[string]bool
	out     []candidate
}

// candidates makes every index that the block could use well: for each table,
// alone and looked up from the others, some of the equality columns, then
// lists, then either a range or the order or the groups, then columns that
// are checked on the index entry or complete it. (The shape follows
// Lahdenmäki and Leach, "Relational Database Index Design and the
// Optimizers", 2005: candidates A and B.)
func (g *generator) candidates() []candidate {
	g.seen = map[string]bool{}
	for _, x := range g.block.accesses {
		if x.table == nil || x.counts == nil {
			continue
		}
		for _, js := range g.roles(x) {
			g.access(x, js)
		}
	}
	return g.out
}

// roles are the sets of join columns that may be known when x is read: none,
// each partner's, all.
func (g *generator) roles(x *access) [][]joinColumn {
	roles := [][]joinColumn{nil}
	everything := uint64(0)
	for _, y := range g.block.accesses {
		if y == x {
			continue
		}
		if js := g.block.joined(x, 1<<y.id); len(js) > 0 {
			roles = append(roles, js)
			everything |= 1 << y.id
		}
	}
	if bitCount(everything) > 1 {
		roles = append(roles, g.block.joined(x, everything))
	}
	return roles
}

type weighed struct {
	parts []Part
	share float64
}

func (g *generator) access(x *access, js []joinColumn) {
	n := max(1, x.rows())
	var fixed, lists, ranges, filters []weighed
	names := map[string]bool{}
	for i, p := range x.preds {
		share := x.match(1<<i) / n
		w := weighed{p.Keys, share}
		switch {
		case p.Class == Equality || p.Class == Join && len(js) > 0:
			for _, k := range p.Keys {
				if !names[k.String()] {
					names[k.String()] = true
					fixed = append(fixed, weighed{[]Part{k}, share})
				}
			}
		case p.Class == List:
			lists = append(lists, w)
		case (p.Class == Range || p.Class == Prefix) && !(p.Negated && share > 0.1):
			ranges = append(ranges, w)
		case (p.Class == Filter && share < filtersNoMore || p.Class == Range && share <= 0.5) && len(p.columns) == 1:
			if c := x.table.column(p.columns[0]); c != nil && !c.blob() && c.averageBytes() <= 64 {
				filters = append(filters, weighed{[]Part{{Name: c.Name}}, share})
			}
		}
	}
	for _, j := range js {
		p := Part{Name: j.column.Name}
		if !names[p.String()] {
			names[p.String()] = true
			fixed = append(fixed, weighed{[]Part{p}, j.share})
		}
	}
	byShare := func(a, b weighed) int {
		return cmp.Or(cmp.Compare(a.share, b.share), cmp.Compare(a.parts[0].String(), b.parts[0].String()))
	}
	slices.SortFunc(fixed, byShare)
	g.order(x, fixed)
	slices.SortFunc(lists, byShare)
	slices.SortFunc(ranges, byShare)
	slices.SortFunc(filters, byShare)
	sets := subsets(fixed, 5)
	if len(js) > 0 {
		// With the joined column first there is no range of constants, which
		// the optimizer would look into.
		joined := func(w weighed) int {
			if slices.ContainsFunc(js, func(j joinColumn) bool { return w.parts[0].named(j.column.Name) }) {
				return 0
			}
			return 1
		}
		for _, eq := range slices.Clone(sets) {
			eq = slices.Clone(eq)
			slices.SortStableFunc(eq, func(a, b weighed) int { return joined(a) - joined(b) })
			sets = append(sets, eq)
		}
	}
	for _, eq := range sets {
		eq = g.shareExisting(x.table, eq)
		for _, ls := range subsets(lists, 2) {
			head := slices.Concat(flatten(eq), flatten(ls))
			for _, tail := range g.tails(x, head, ranges, slices.Concat(lists, filters), len(js) == 0) {
				g.add(x, slices.Concat(head, tail), len(eq))
			}
		}
	}
}

// order puts the equality columns in the order of the rounds.
func (g *generator) order(x *access, fixed []weighed) {
	rank := func(w weighed) int {
		for r, i := range x.chosen {
			if slices.ContainsFunc(x.preds[i].Keys, w.parts[0].sameColumn) {
				return r
			}
		}
		return len(x.chosen)
	}
	slices.SortStableFunc(fixed, func(a, b weighed) int { return cmp.Compare(rank(a), rank(b)) })
}

func flatten(ws []weighed) []Part {
	var out []Part
	for _, w := range ws {
		out = append(out, w.parts...)
	}
	return out
}

// subsets lists all subsets of up to limit elements, in order. Where that
// would be many it takes only the first elements and each alone.
func subsets(ws []weighed, limit int) [][]weighed {
	out := [][]weighed{nil}
	if len(ws) > limit {
		for i := range ws {
			out = append(out, ws[i:i+1])
		}
		ws = ws[:limit]
	}
	for m := 1; m < 1<<len(ws); m++ {
		var s []weighed
		for i := range ws {
			if m>>i&1 == 1 {
				s = append(s, ws[i])
			}
		}
		if len(s) > 1 || len(out) <= len(ws) {
			out = append(out, s)
		}
	}
	return out
}

// shareExisting puts the columns of an existing index first, if all of them
// are among the equality columns: the order among those is free, and the
// existing index can then be extended.
func (g *generator) shareExisting(t *Table, eq []weighed) []weighed {
	for _, ix := range t.Indexes {
		if !ix.usable() || ix.Unique || len(ix.Parts) > len(eq) {
			continue
		}
		var head []weighed
		for _, p := range ix.Parts {
			i := slices.IndexFunc(eq, func(w weighed) bool { return w.parts[0].equal(p) })
			if i < 0 {
				head = nil
				break
			}
			head = append(head, eq[i])
		}
		if head == nil {
			continue
		}
		for _, w := range eq {
			if !slices.ContainsFunc(head, func(h weighed) bool { return h.parts[0].sameColumn(w.parts[0]) }) {
				head = append(head, w)
			}
		}
		return head
	}
	return eq
}

// tails lists what may follow the columns that are looked up.
func (g *generator) tails(x *access, head []Part, ranges, filters []weighed, first bool) [][]Part {
	tails := [][]Part{nil}
	if len(ranges) > 6 {
		ranges = ranges[:6]
	}
	checks := slices.Concat(ranges, filters)
	if len(checks) > 8 {
		checks = checks[:8]
	}
	for _, r := range ranges {
		tails = append(tails, r.parts)
		var few []weighed // checked beside the range, those that leave fewest rows first
		for _, s := range checks {
			if s.parts[0] != r.parts[0] && !slices.ContainsFunc(head, s.parts[0].sameColumn) {
				tails = append(tails, slices.Concat(r.parts, s.parts))
				few = append(few, s)
			}
		}
		slices.SortStableFunc(few, func(a, b weighed) int { return cmp.Compare(a.share, b.share) })
		for _, s := range subsets(few[:min(len(few), 3)], 3) {
			if len(s) > 1 {
				tails = append(tails, slices.Concat(r.parts, flatten(s)))
			}
		}
		if len(ranges) > 2 {
			tails = append(tails, slices.Concat(r.parts, flatten(ranges)))
		}
	}
	for _, f := range filters {
		if len(head) > 0 {
			tails = append(tails, f.parts)
		}
	}
	if first {
		for _, o := range [][]Part{g.orderParts(x), g.descending(g.orderParts(x)), g.groupParts(x)} {
			if o == nil {
				continue
			}
			tails = append(tails, o)
			for _, s := range checks {
				tails = append(tails, slices.Concat(o, s.parts))
			}
		}
	}
	if rest := g.covering(x); rest != nil {
		for _, t := range slices.Clone(tails) {
			tails = append(tails, slices.Concat(t, rest))
		}
	}
	return tails
}

// orderParts are the columns of ORDER BY that are not constant.
func (g *generator) orderParts(x *access) []Part {
	var parts []Part
	mixed, same := false, false
	for _, it := range g.block.order {
		if it.access == x && x.constant(it.column) {
			continue
		}
		if it.access != x {
			return nil
		}
		if it.desc {
			mixed = true
		} else {
			same = true
		}
		parts = append(parts, Part{Name: it.column.Name, Desc: it.desc})
	}
	if !(mixed && same) {
		for i := range parts {
			parts[i].Desc = false // the index is read backwards
		}
	} else if !g.server.descending() {
		return nil
	}
	return parts
}

// descending are the order columns as they are read forwards, where the order
// falls: conditions are pushed down then.
func (g *generator) descending(parts []Part) []Part {
	if len(parts) == 0 || !g.server.descending() || !slices.ContainsFunc(g.block.order, func(o orderItem) bool { return o.desc }) {
		return nil
	}
	parts = slices.Clone(parts)
	for i := range parts {
		parts[i].Desc = slices.ContainsFunc(g.block.order, func(o orderItem) bool { return o.desc && strings.EqualFold(o.column.Name, parts[i].Name) })
	}
	return parts
}

// groupParts are the columns of GROUP BY or DISTINCT, those of ORDER BY first.
func (g *generator) groupParts(x *access) []Part {
	items, _ := g.block.groupItems(x)
	var parts []Part
	for _, it := range items {
		parts = append(parts, Part{Name: it.column.Name})
	}
	return parts
}

// covering are all columns that are read, narrow and few enough to be in the
// index; nil if they are not.
func (g *generator) covering(x *access) []Part {
	if g.block.dml || len(x.used) == 0 || len(x.used) == len(x.table.Columns) || len(x.used) > g.columns+len(x.table.suffix(nil)) {
		return nil
	}
	var parts []Part
	bytes := 0.0
	for i := range x.table.Columns {
		c := &x.table.Columns[i]
		if !x.used[strings.ToLower(c.Name)] {
			continue
		}
		if c.blob() || !c.indexable() || c.Chars > 64 {
			return nil
		}
		bytes += c.averageBytes()
		parts = append(parts, Part{Name: c.Name})
	}
	if bytes > x.table.rowBytes()/2 {
		return nil
	}
	return parts
}

// add files a candidate: each column once, primary-key columns that InnoDB
// appends anyway left out, lengths fitted.
func (g *generator) add(x *access, parts []Part, set int) {
	var out []Part
	for _, p := range parts {
		if !slices.ContainsFunc(out, p.sameColumn) {
			out = append(out, p)
		}
	}
	for i := range out {
		if out[i].Expr != "" {
			continue
		}
		c := x.table.column(out[i].Name)
		if c == nil || !c.indexable() {
			return
		}
		n, ok := g.prefix(x, c)
		if !ok {
			return
		}
		out[i].Length = n
	}
	out = x.table.trim(out)
	if len(out) == 0 || len(out) > g.columns || !fits(g.server, x.table, out) {
		return
	}
	c := newCandidate(x.table, out, set)
	if !g.seen[c.key] {
		g.seen[c.key] = true
		g.out = append(g.out, c)
	}
}

// trim cuts trailing columns that InnoDB would append anyway.
func (t *Table) trim(parts []Part) []Part {
	for len(parts) > 0 {
		short := parts[:len(parts)-1]
		tail := t.suffix(short)
		last := parts[len(parts)-1]
		if len(tail) == 0 || !tail[0].equal(last) || len(short) == 0 {
			return parts
		}
		// Only the end of the key's suffix, in its order, may go.
		if !slices.EqualFunc(slices.Concat(short, tail), slices.Concat(parts, t.suffix(parts)), Part.equal) {
			return parts
		}
		parts = short
	}
	return parts
}

// limits of the servers on the size of keys, in bytes.
func keyLimits(server Server, t *Table) (column, total int64) {
	total = int64(3072)
	switch server.pageSize() {
	case 8192:
		total = 1536
	case 4096:
		total = 768
	}
	column = total
	switch strings.ToLower(t.RowFormat) {
	case "compact", "redundant":
		column = min(767, column)
	}
	switch strings.ToLower(t.Engine) {
	case "myisam", "aria":
		return 1000, 1000
	case "memory":
		return 3072, 3072
	}
	return column, total
}

// fits says whether the server accepts a key with these parts.
func fits(server Server, t *Table, parts []Part) bool {
	column, total := keyLimits(server, t)
	sum := int64(0)
	for _, p := range parts {
		c := t.column(p.Name)
		if c == nil {
			sum += 64
			continue
		}
		n := c.keyBytes(p.Length)
		if n > column {
			return false
		}
		sum += n
	}
	return sum <= total && len(parts) <= server.maxParts()
}
