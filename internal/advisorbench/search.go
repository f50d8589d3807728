package advisorbench

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// weighted is a query of a workload with how often it runs.
type weighted struct {
	q      *query
	weight float64
}

// restrict keeps the indexes on tables of the query.
func (q *query) restrict(set []index) []index {
	var out []index
	for _, ix := range set {
		if slices.ContainsFunc(q.from, func(s source) bool { return s.table == ix.table }) {
			out = append(out, ix)
		}
	}
	return out
}

// total is the measured cost of a workload with a set of indexes.
func total(load []weighted, set []index) float64 {
	sum := 0.0
	for _, l := range load {
		sum += l.weight * l.q.work[keys(l.q.restrict(set))].cost()
	}
	return sum
}

// served is what of an index a query can use: the parts before the first that
// the query does not name.
func (s *source) served(ix index) (index, bool) {
	if ix.table != s.table {
		return index{}, false
	}
	n := 0
	for n < len(ix.parts) && slices.Contains(s.columns, ix.parts[n]) {
		n++
	}
	return index{ix.table, ix.parts[:n]}, n > 0
}

// grid is what the queries of a workload cost with each pair of indexes that
// were measured: for a query of one table with each single one.
type grid struct {
	load    []weighted
	indexes []index
	names   [][2][]string // by query and source: the key of what each index serves, "" if nothing
}

func newGrid(load []weighted) *grid {
	g := &grid{load: load}
	seen := map[string]bool{}
	for _, l := range load {
		for _, s := range l.q.from {
			for _, parts := range lists(s.columns) {
				if ix := (index{s.table, parts}); !seen[ix.key()] {
					seen[ix.key()] = true
					g.indexes = append(g.indexes, ix)
				}
			}
		}
	}
	for _, l := range load {
		var names [2][]string
		for k := range l.q.from {
			for _, ix := range g.indexes {
				name := ""
				if part, ok := l.q.from[k].served(ix); ok {
					name = part.key()
				}
				names[k] = append(names[k], name)
			}
		}
		g.names = append(g.names, names)
	}
	return g
}

// cost estimates a query with the set from what was measured with single
// indexes, and with pairs for joins: the server takes the best.
func (g *grid) cost(i int, set []int) float64 {
	l := g.load[i]
	best := l.q.work[""].cost()
	for _, a := range set {
		if len(l.q.from) == 1 {
			if n := g.names[i][0][a]; n != "" {
				best = min(best, l.q.work[n].cost())
			}
			continue
		}
		for _, b := range set {
			pair := []string{g.names[i][0][a], g.names[i][1][b]}
			for _, use := range [][]string{pair, pair[:1], pair[1:]} {
				use = slices.DeleteFunc(slices.Clone(use), func(s string) bool { return s == "" })
				slices.Sort(use)
				if w, ok := l.q.work[strings.Join(use, " ")]; ok {
					best = min(best, w.cost())
				}
			}
		}
	}
	return l.weight * best
}

// search finds good sets of at most limit indexes: from the greedy one and
// from random ones, each improved until no exchange of one index helps. The
// best come first.
func (g *grid) search(limit int, rnd *rand.Rand) [][]index {
	none := make([]float64, len(g.load))
	for i := range g.load {
		none[i] = g.cost(i, nil)
	}
	total := func(set []int) float64 {
		sum := 0.0
		for i := range g.load {
			sum += g.cost(i, set)
		}
		return sum
	}
	type found struct {
		set  []int
		cost float64
	}
	var all []found
	for start := range 20 {
		var set []int
		for len(set) < limit {
			if start > 0 {
				set = append(set, rnd.IntN(len(g.indexes)))
				continue
			}
			best, at := math.Inf(1), 0
			for c := range g.indexes {
				if n := total(append(slices.Clone(set), c)); n < best {
					best, at = n, c
				}
			}
			set = append(set, at)
		}
		now := total(set)
		for again := true; again; {
			again = false
			for i := range set {
				old := set[i]
				for c := range g.indexes {
					set[i] = c
					if n := total(set); n < now*(1-1e-9) {
						now, old, again = n, c, true
					}
				}
				set[i] = old
			}
		}
		slices.Sort(set)
		set = slices.Compact(set)
		if !slices.ContainsFunc(all, func(f found) bool { return slices.Equal(f.set, set) }) {
			all = append(all, found{set, now})
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return int(math.Copysign(1, a.cost-b.cost)) })
	var out [][]index
	for _, f := range all[:min(3, len(all))] {
		var set []index
		for _, i := range f.set {
			set = append(set, g.indexes[i])
		}
		out = append(out, set)
	}
	return out
}
