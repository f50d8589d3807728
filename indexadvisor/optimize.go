package indexadvisor

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// item is a query of the workload, with the blocks of one or several of its
// real texts.
type item struct {
	query    Query
	weight   float64
	variants []*analysis
	failure  error // the rows of no table could be counted, for any of the variants
	// candidates that serve this item well.
	candidates []candidate
	cache      map[string]expected
	tableSet   map[*Table]bool // the base tables read, once asked for
}

// expected is what an execution of an item costs, by how much that may differ
// by chance, and what of it is for rows of which none was counted.
type expected struct{ cost, luck, never float64 }

// workload chooses indexes for items.
type workload struct {
	server  Server
	options Options
	items   []*item
}

// indexSet returns the usable indexes of a table: its own and the added ones.
func indexSet(added []candidate) func(*Table) []*Index {
	memo := map[*Table][]*Index{}
	return func(t *Table) []*Index {
		if l, ok := memo[t]; ok {
			return l
		}
		var list []*Index
		for i := range t.Indexes {
			list = append(list, &t.Indexes[i])
		}
		for _, c := range added {
			if c.table == t {
				list = append(list, c.index)
			}
		}
		memo[t] = list
		return list
	}
}

// cost is the mean over the item's texts of reading all blocks, but for what
// does not arise as long as the rows stay as they were counted.
func (it *item) cost(server Server, added []candidate) float64 {
	e := it.expect(server, added)
	return e.cost - e.never
}

func (it *item) expect(server Server, added []candidate) expected {
	key := ""
	for _, c := range it.relevant(added) {
		key += c.key + "\x01"
	}
	if c, ok := it.cache[key]; ok {
		return c
	}
	var sum expected
	for _, a := range it.variants {
		e, _ := a.cost(server, indexSet(added))
		sum.cost += e.cost / float64(len(it.variants))
		sum.luck += e.luck / float64(len(it.variants))
		sum.never += e.never / float64(len(it.variants))
	}
	if it.cache == nil {
		it.cache = map[string]expected{}
	}
	it.cache[key] = sum
	return sum
}

// relevant keeps the candidates on tables of the item, in a fixed order.
func (it *item) relevant(added []candidate) []candidate {
	var out []candidate
	for _, c := range added {
		if it.reads(c.table) {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b candidate) int { return cmp.Compare(a.key, b.key) })
	return out
}

// width is the number of tables of the item's widest block.
func (it *item) width() int {
	n := 0
	for _, a := range it.variants {
		for _, b := range a.blocks {
			n = max(n, len(b.accesses))
		}
	}
	return n
}

func (it *item) reads(t *Table) bool {
	if it.tableSet == nil {
		it.tableSet = map[*Table]bool{}
		for t := range it.tables() {
			it.tableSet[t] = true
		}
	}
	return it.tableSet[t]
}

// cost adds up the blocks of a statement: a block that depends on another is
// read once for each of its rows.
func (a *analysis) cost(server Server, indexes func(*Table) []*Index) (e expected, read float64) {
	out := map[*block]float64{}
	for _, b := range a.blocks {
		p := b.best(server, indexes)
		out[b] = p.out
		times := 1.0
		if b.outer != nil {
			times = max(1, out[b.outer])
		}
		e.cost += times * p.cost
		e.luck += times * p.luck
		e.never += times * p.never
		read += times * p.read
	}
	return e, read
}

// writeCost is what maintaining the added indexes costs an execution of the
// item: an entry made or removed is a descent and a change.
func (it *item) writeCost(server Server, added []candidate) float64 {
	sum := 0.0
	for _, a := range it.variants {
		for _, w := range a.writes {
			rows := max(1, w.rows)
			if w.block != nil {
				rows = max(1, w.block.best(server, indexSet(added)).out)
			}
			for _, c := range added {
				if c.table == w.table {
					sum += rows * w.entries(c.parts) * writeTouches
				}
			}
		}
	}
	return sum / float64(max(1, len(it.variants)))
}

// writeTouches is the cost of one index entry made or removed.
const writeTouches = 4

// entries is how many entries of an index a written row makes or removes.
func (w *write) entries(parts []Part) float64 {
	n := 0.0
	if w.insert {
		n++
	}
	if w.delete {
		n++
	}
	for _, p := range parts {
		if slices.ContainsFunc(w.columns, Part{Name: p.Name}.named) {
			return n + 2
		}
	}
	return n
}

func (p Part) named(s string) bool { return p.sameColumn(Part{Name: s}) }

// total is the workload's cost with some indexes added.
func (w *workload) total(added []candidate) float64 {
	sum := 0.0
	for _, it := range w.items {
		sum += it.weight * (it.cost(w.server, added) + it.writeCost(w.server, added))
	}
	return sum
}

// slack is how much more a query may cost if that spares a column: a column
// that gains less is not worth its place.
const slack = 1.1

// does says whether an item costs so little with some indexes that another
// column, with which it costs what more says, is not worth its place: no more
// than slack beside a page, which two readings differ by, or more by chance
// only.
func (it *item) does(server Server, with []candidate, more expected) bool {
	e := it.expect(server, with)
	now := e.cost - e.never
	if now > 0 {
		// What the column spares varies by itself; the rest varies with both.
		now *= math.Exp(-2 * math.Sqrt(max(0, e.luck*e.luck-more.luck*more.luck)) / now)
	}
	return now <= slack*(more.cost-more.never)+1
}

// gather finds the candidates that serve one item well.
func (w *workload) gather(ctx context.Context, it *item, all []candidate) error {
	type scored struct {
		c    candidate
		cost float64
	}
	var base []candidate
	for range min(it.width()+1, 8) {
		now := it.cost(w.server, base)
		var list []scored
		for _, c := range all {
			if err := ctx.Err(); err != nil {
				return err
			}
			if cost := it.cost(w.server, append(slices.Clone(base), c)); cost < now*0.99 {
				list = append(list, scored{c, cost})
			}
		}
		if len(list) == 0 {
			break
		}
		slices.SortStableFunc(list, func(a, b scored) int {
			return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(len(a.c.parts), len(b.c.parts)))
		})
		best := w.prune(it, base, list[0].c)
		keep := []candidate{best}
		// Others that cost little more may serve other queries as well.
		for _, s := range list {
			if len(keep) >= 12 {
				break
			}
			keep = append(keep, s.c)
		}
		wider := 0
		for _, s := range list {
			if s.c.extends() && wider < 4 {
				wider++
				keep = append(keep, s.c)
			}
		}
		// Narrow ones are cheap, even where they gain less.
		slices.SortStableFunc(list, func(a, b scored) int {
			return cmp.Or(cmp.Compare(len(a.c.parts), len(b.c.parts)), cmp.Compare(a.cost, b.cost))
		})
		for i := 0; i < len(list) && i < 6; i++ {
			keep = append(keep, list[i].c)
		}
		for _, c := range keep {
			if !slices.ContainsFunc(it.candidates, func(d candidate) bool { return d.key == c.key }) {
				it.candidates = append(it.candidates, c)
			}
		}
		base = append(base, best)
	}
	it.cache = nil
	return nil
}

// prune takes columns off a candidate as long as the item costs about the
// same.
func (w *workload) prune(it *item, base []candidate, c candidate) candidate {
	best := it.expect(w.server, append(slices.Clone(base), c))
	for {
		cheapest, at := math.Inf(1), -1
		for i := range c.parts {
			if d := c.without(i); len(d.parts) > 0 {
				set := append(slices.Clone(base), d)
				if cost := it.cost(w.server, set); cost < cheapest && it.does(w.server, set, best) {
					cheapest, at = cost, i
				}
			}
		}
		if at < 0 {
			return c
		}
		c = c.without(at)
	}
}

func (c candidate) without(i int) candidate {
	parts := slices.Delete(slices.Clone(c.parts), i, i+1)
	set := c.set
	if i < set {
		set--
	}
	parts = c.table.trim(parts)
	return newCandidate(c.table, parts, set)
}

// merged makes candidates that serve two queries at once: one index begins
// with the other's columns.
func merged(a, b candidate, columns int) []candidate {
	if a.table != b.table {
		return nil
	}
	var out []candidate
	add := func(parts []Part, set int) {
		if len(parts) <= columns {
			out = append(out, newCandidate(a.table, parts, set))
		}
	}
	for _, pair := range [][2]candidate{{a, b}, {b, a}} {
		x, y := pair[0], pair[1]
		// Equality columns stand in any order: those that both have first.
		var both, rest []Part
		for _, p := range y.parts[:y.set] {
			if slices.ContainsFunc(x.parts[:x.set], p.equal) {
				both = append(both, p)
			} else {
				rest = append(rest, p)
			}
		}
		if len(both) > 0 && len(both) == x.set {
			if len(x.parts) == x.set {
				add(slices.Concat(both, rest, y.parts[y.set:]), x.set)
			}
		}
		parts := slices.Clone(x.parts)
		for _, p := range y.parts {
			if !slices.ContainsFunc(parts, p.sameColumn) {
				parts = append(parts, p)
			}
		}
		add(parts, x.set)
	}
	return out
}
