package indexadvisor

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// plan is how a block is read.
type plan struct {
	steps []step
	read  float64 // entries and rows read in all
	out   float64
	cost  float64
	// believed is how many rows the optimizer takes to come out.
	believed float64
	fear     float64 // what the optimizer takes it to cost more: it chooses by that
	luck     float64 // by how much the cost may be less, or more, by chance: about its standard deviation
	never    float64 // part of the cost that does not arise as long as the rows stay as they were counted
	begun    float64 // share of the first step that is done before a row comes out
	probe    step    // the last table read for a hash join
}

// best finds the cheapest way to read a block with the given indexes per
// table.
func (b *block) best(server Server, indexes func(*Table) []*Index) plan {
	k := len(b.accesses)
	if k == 0 {
		return plan{}
	}
	best := plan{cost: math.Inf(1)}
	budget := 500 // partial plans; the first one is completed in any case
	var extend func(p plan, before uint64, ordered, grouped bool)
	extend = func(p plan, before uint64, ordered, grouped bool) {
		if budget--; budget < 0 && !math.IsInf(best.cost, 1) {
			return
		}
		if len(p.steps) == k {
			if p = b.close(server, p, ordered, grouped); p.cost+p.fear < best.cost+best.fear {
				best = p
				best.steps = slices.Clone(p.steps)
			}
			return
		}
		for _, options := range b.next(server, indexes, before) {
			id := options[0].access.id
			if len(p.steps) == 0 {
				for _, s := range options {
					extend(plan{steps: []step{s}, cost: s.cost, read: s.entries, out: s.out, believed: s.believed}, 1<<id, s.ordered, s.grouped)
				}
				continue
			}
			inner := plan{cost: math.Inf(1)}
			for _, s := range options {
				if q := b.join(server, p, s); q.cost+q.fear < inner.cost+inner.fear {
					inner = q
				}
			}
			last := inner.steps[len(p.steps)]
			extend(inner, before|1<<id, ordered && last.looked, grouped)
		}
	}
	extend(plan{}, 0, false, false)
	// The optimizer looks into the ranges of the indexes that it does not take, too.
	for _, x := range b.accesses {
		if x.table == nil {
			continue
		}
		for _, ix := range indexes(x.table) {
			if ix.usable() && x.allows(ix) && !slices.ContainsFunc(best.steps, func(s step) bool { return s.access == x && s.index == ix }) {
				best.cost += b.read(server, x, ix, 0).planned
			}
		}
	}
	return best
}

// join adds reading a table for each row of a plan.
func (b *block) join(server Server, p plan, s step) plan {
	q := p
	q.steps = append(slices.Clone(p.steps), s)
	rows := p.out
	if first := p.steps[0]; first.entries >= 1 || first.index == nil {
		rows = max(1, rows) // none is not certain, unless the server sees it, too
	}
	if s.looked || s.constant {
		q.cost, q.read = p.cost+s.planned+rows*s.cost, p.read+rows*s.entries
		if !s.counted && !s.constant {
			// How many entries the values of these rows find is estimated from
			// all rows: it varies as counts do.
			q.luck += math.Sqrt(rows*s.entries) * (s.cost - s.least) / max(leastMatch, s.entries)
		}
	} else {
		// The rows are hashed, or kept in a buffer, and what is read is
		// compared with them. The optimizers count each pair that may meet, and
		// the passes that the rows which they believe in take.
		once := b.read(server, s.access, s.index, 0)
		passes, buffered := b.passes(server, p, rows), server.bufferedRows(p)
		q.cost, q.read = p.cost+once.cost*passes+hashCost*rows, p.read+once.entries
		q.fear += pairCost*rows*max(1, once.out) + once.cost*(1+p.believed/buffered-passes) + hashCost*(p.believed-rows)
		q.begun, q.probe = max(p.begun, 1/passes), once
	}
	if p.out == 0 {
		q.never += q.cost - p.cost
		q.luck = p.luck
	}
	q.out, q.believed = p.out*s.out, p.believed*s.believed
	if s.access.nulls {
		q.out, q.believed = max(q.out, p.out), max(q.believed, p.believed)
	}
	return q
}

// joinBuffer is the size of a join buffer, in bytes.
const joinBuffer = 256 << 10

// bufferedRows is how many rows of a plan a join buffer holds: of each the columns
// that are read, and in MySQL its place in a hash table.
func (s Server) bufferedRows(p plan) float64 {
	bytes := 0.0
	if !s.MariaDB {
		bytes = 30
	}
	for _, st := range p.steps {
		t := st.access.table
		if t == nil {
			continue
		}
		used, all := 0.0, 0.0
		for i := range t.Columns {
			n := t.Columns[i].averageBytes()
			if all += n; st.access.used[strings.ToLower(t.Columns[i].Name)] {
				used += n
			}
		}
		// The rest is InnoDB's: some 20 bytes of a row, and a sixteenth of a page.
		bytes += max(0, t.rowBytes()*15/16-20) * used / max(1, all)
	}
	return joinBuffer / bytes
}

// passes is how often a table is read through for a join buffer that is filled
// with rows of a plan: MySQL's hash join reads it once, and writes to disk what
// does not fit, unless a LIMIT may end it early.
func (b *block) passes(server Server, p plan, rows float64) float64 {
	if !server.MariaDB && b.limit < 0 {
		return 1
	}
	return max(1, math.Ceil(rows/server.bufferedRows(p)))
}

// next lists the ways to read each table that may be read next, cheapest
// first, so that a good plan is found early.
func (b *block) next(server Server, indexes func(*Table) []*Index, before uint64) [][]step {
	var list [][]step
	for _, x := range b.accesses {
		if before>>x.id&1 == 0 && !slices.ContainsFunc(x.after, func(y *access) bool { return before>>y.id&1 == 0 }) {
			list = append(list, b.options(server, x, indexes, before))
		}
	}
	slices.SortStableFunc(list, func(s, t []step) int { return cmpFloat(s[0].cost, t[0].cost) })
	return list
}

// options are the ways to read x that may turn out best: for the first table
// the cheapest, and each that has an order; for others the cheapest that looks
// up the values of tables before, and the cheapest that does not.
func (b *block) options(server Server, x *access, indexes func(*Table) []*Index, before uint64) []step {
	ordered := func(s step) bool { return s.ordered && len(b.order) > 0 || s.grouped && b.grouped }
	list := []step{b.read(server, x, nil, before)}
	if x.table != nil {
		for _, ix := range indexes(x.table) {
			if !ix.usable() || !x.allows(ix) {
				continue
			}
			// Nobody fetches all rows by an index that has no order to give.
			if s := b.read(server, x, ix, before); s.bound || s.looked || s.lookups == 0 || ordered(s) {
				list = append(list, s)
			}
		}
	}
	joined := len(b.accesses) > 1
	preferred := slices.ContainsFunc(list, func(s step) bool { return s.bound && !s.looked && (!s.common || joined && before == 0) })
	if preferred {
		// What is not avoided is preferred to the whole table, unless that has an
		// order. A common value that is looked up all the same is no reason against an
		// index on one table, as other values gain by it; in a join the look-ups of the
		// other table hang on it.
		list = slices.DeleteFunc(list, func(s step) bool { return s.index == nil && !(ordered(s) && b.limit >= 0) })
	}
	slices.SortStableFunc(list, func(s, t step) int { return cmpFloat(s.cost, t.cost) })
	if preferred {
		slices.SortStableFunc(list, func(s, t step) int { return cmpFloat(cmp.Or(s.idea, s.cost), cmp.Or(t.idea, t.cost)) })
	}
	if len(b.accesses) == 1 && len(b.group) > 0 {
		// Where no condition is worth an index, the servers group by one that
		// has the groups one after the other, whatever that costs.
		first := slices.IndexFunc(list, func(s step) bool { return s.bound || s.index == nil })
		group := slices.IndexFunc(list, func(s step) bool { return s.index != nil && s.grouped })
		if s := list[first]; s.index == nil && !s.grouped && group >= 0 {
			return list[group : group+1]
		}
	}
	out := list[:1:1]
	for _, s := range list[1:] {
		if before != 0 && !slices.ContainsFunc(out, func(o step) bool { return o.looked == s.looked && o.constant == s.constant }) {
			out = append(out, s)
		}
		if before == 0 && (ordered(s) || b.limit >= 0) {
			out = append(out, s)
		}
	}
	return out
}

// close adds what comes after the tables are read: grouping, sorting, and the
// rows that a LIMIT leaves unread.
func (b *block) close(server Server, p plan, ordered, grouped bool) plan {
	needSort := b.sorted || len(b.order) > 0 && !ordered
	needTemp := b.grouped && !grouped
	if b.limit >= 0 && !needSort && !needTemp && p.out > float64(b.limit) && !b.grouped {
		share := float64(b.limit) / p.out
		first := p.steps[0]
		begun := max(share, p.begun)
		if first.lookups > 0 || len(p.steps) > 1 {
			begun = max(begun, first.ahead)
		}
		p.luck *= share
		p.cost = max(3, first.planned) + (first.cost-first.planned)*begun + max((p.cost-first.cost)*share, p.probe.cost*p.probe.ahead)
		p.read = first.entries*begun + (p.read-first.entries)*share
		p.out = float64(b.limit)
	}
	out := p.out
	if needTemp {
		p.cost += out * groupCost
		// Rows of a group are as good as drawn from all groups (Cardenas, 1975).
		if out /= 3; b.groups > 0 {
			out = b.groups * (1 - math.Exp(-p.out/b.groups))
		}
		p.cost += out * rowCost
		if server.MariaDB && b.sortsGroups && !needSort {
			p.cost += out * (rowCost + sortCost) // and read in that order
		}
	}
	if needSort {
		if b.limit >= 0 {
			out = min(out, float64(b.limit))
		}
		p.cost += out * sortCost
	}
	return p
}
