package indexadvisor

import (
	"context"
	"slices"
)

// A search chooses a small set of indexes for a workload from a pool of candidates.
type search struct {
	*workload
	pool []candidate
}

const (
	// leastGain is the part of the workload's cost below which a gain is none.
	leastGain = 0.003
	// mostSteps bounds how often a set is changed.
	mostSteps = 64
	// mostPaired is how many candidates of a join are tried two at a time.
	mostPaired = 60
)

// choose picks a small set of indexes: each step adds the index, or puts
// another one in the place of one already chosen, that gains most per byte (the
// Extend heuristic of Schlosser, Kossmann and Boissier, ICDE 2019). Under a limit
// on their number it looks for a better set without each of them in turn. Then it
// prunes. When the context ends, what is there so far is returned
// with done false.
func (w *workload) choose(ctx context.Context, pool []candidate) (chosen []candidate, done bool) {
	s := search{w, pool}
	chosen, done = s.climb(ctx, nil, "")
	if done && w.options.MaxTotal > 0 && len(chosen) == w.options.MaxTotal {
		chosen, done = s.exchange(ctx, chosen)
	}
	if !done {
		return chosen, false
	}
	return w.preferExtending(w.slim(chosen), pool), true
}

// climb takes the best step from the chosen set as long as there is one, never to
// the candidate with the key but.
func (s *search) climb(ctx context.Context, chosen []candidate, but string) (top []candidate, done bool) {
	now, paired := s.total(chosen), false
	for range mostSteps {
		var best []candidate
		bestScore, bestTotal := 0.0, now
		used := s.size(chosen)
		steps := s.moves(chosen, but)
		if paired {
			steps = s.pairs(chosen)
		}
		for _, set := range steps {
			if ctx.Err() != nil {
				return chosen, false
			}
			if !s.allowed(set) {
				continue
			}
			total := s.total(set)
			gain := now - total
			if gain <= leastGain*now {
				continue
			}
			score := gain
			if s.options.MaxBytes > 0 {
				score = gain / max(1, s.size(set)-used)
			}
			if score > bestScore*(1+1e-9) {
				best, bestScore, bestTotal = set, score, total
			}
		}
		switch {
		case best != nil:
			chosen, now, paired = best, bestTotal, false
		case !paired && len(s.items) == 1 && s.items[0].width() > 1:
			paired = true
		default:
			return chosen, true
		}
	}
	return chosen, true
}

// exchange looks for a better set of as many indexes. Where each place counts, one
// index may only be missed because of another: what would be chosen without it?
func (s *search) exchange(ctx context.Context, chosen []candidate) (better []candidate, done bool) {
	for again := true; again; {
		again = false
		for i, c := range chosen {
			set, ok := s.climb(ctx, slices.Delete(slices.Clone(chosen), i, i+1), c.key)
			if ok {
				set, ok = s.climb(ctx, set, "")
			}
			if !ok {
				return chosen, false
			}
			if s.total(set) < (1-leastGain)*s.total(chosen) {
				chosen, again = set, true
				break
			}
		}
	}
	return chosen, true
}

// moves are the sets that are one step from the chosen one: with another index, or
// with one in the place of another.
func (s *search) moves(chosen []candidate, but string) [][]candidate {
	var list [][]candidate
	// Where the limits leave no room, any index may have to make way.
	full := s.options.MaxBytes > 0 || s.options.MaxTotal > 0 && len(chosen) >= s.options.MaxTotal
	for _, c := range s.pool {
		if c.key == but || slices.ContainsFunc(chosen, func(d candidate) bool { return d.key == c.key }) {
			continue
		}
		list = append(list, append(slices.Clone(chosen), c))
		for i, d := range chosen {
			if full || d.table == c.table {
				set := slices.Clone(chosen)
				set[i] = c
				list = append(list, set)
			}
		}
	}
	return list
}

// pairs are the sets with two more indexes, on two tables: those of a join may gain
// only together.
func (s *search) pairs(chosen []candidate) [][]candidate {
	var list [][]candidate
	for i, c := range s.pool[:min(len(s.pool), mostPaired)] {
		for _, d := range s.pool[:i] {
			if d.table == c.table {
				continue
			}
			both := []candidate{c, d}
			list = append(list, append(slices.Clone(chosen), both...))
			for k, e := range chosen {
				if e.table == c.table || e.table == d.table {
					list = append(list, append(slices.Delete(slices.Clone(chosen), k, k+1), both...))
				}
			}
		}
	}
	return list
}

// size is how many bytes the indexes take, about.
func (s *search) size(set []candidate) float64 {
	sum := 0.0
	for _, c := range set {
		sum += float64(c.table.indexBytes(c.parts, float64(max(1, c.table.Rows)), s.server.pageSize()))
	}
	return sum
}

// allowed reports whether the set is within the limits.
func (s *search) allowed(set []candidate) bool {
	perTable := map[*Table]int{}
	for _, c := range set {
		if perTable[c.table]++; perTable[c.table] > s.options.MaxIndexes {
			return false
		}
	}
	return (s.options.MaxTotal == 0 || len(set) <= s.options.MaxTotal) && (s.options.MaxBytes == 0 || s.size(set) <= float64(s.options.MaxBytes))
}

// preferExtending puts a candidate that widens an existing index in the place
// of a new one, where that costs hardly more: one index less to maintain.
func (w *workload) preferExtending(chosen, pool []candidate) []candidate {
	for i := range chosen {
		if chosen[i].extends() {
			continue
		}
		most := w.total(chosen) * slack
		for _, it := range w.items {
			if it.reads(chosen[i].table) {
				most += it.weight * aFewRows
			}
		}
		best := -1
		for j, c := range pool {
			if c.table != chosen[i].table || !c.extends() {
				continue
			}
			set := slices.Clone(chosen)
			set[i] = c
			if w.total(set) <= most && (best < 0 || len(c.parts) < len(pool[best].parts)) {
				best = j
			}
		}
		if best >= 0 {
			chosen = slices.Clone(chosen)
			chosen[i] = pool[best]
		}
	}
	return chosen
}

// aFewRows is the cost of reading a row or two.
const aFewRows = 5

// extends says whether the candidate begins with all of an existing index.
func (c candidate) extends() bool {
	return slices.ContainsFunc(c.table.Indexes, func(ix Index) bool {
		return !ix.Unique && ix.usable() && len(ix.Parts) <= len(c.parts) && slices.EqualFunc(ix.Parts, c.parts[:len(ix.Parts)], Part.equal)
	})
}

// slim drops indexes and columns that gain next to nothing within the chosen
// set.
func (w *workload) slim(chosen []candidate) []candidate {
	now := w.total(chosen)
	for again := true; again; {
		again = false
		for i := range chosen {
			rest := slices.Delete(slices.Clone(chosen), i, i+1)
			if t := w.total(rest); t <= now*(1+leastGain) {
				chosen, now, again = rest, t, true
				break
			}
			if j := w.droppable(chosen, i); j >= 0 {
				chosen = slices.Clone(chosen)
				if chosen[i] = chosen[i].without(j); len(chosen[i].parts) == 0 {
					chosen = rest
				}
				now, again = w.total(chosen), true
				break
			}
		}
	}
	return chosen
}

// droppable finds a column of chosen[i] without which no query costs more
// than it may, -1 if there is none. Without its only column an index is gone.
func (w *workload) droppable(chosen []candidate, i int) int {
	now := make([]expected, len(w.items))
	for k, it := range w.items {
		now[k] = it.expect(w.server, chosen)
	}
	for j := len(chosen[i].parts) - 1; j >= 0; j-- {
		set := slices.Clone(chosen)
		if set[i] = chosen[i].without(j); len(set[i].parts) == 0 {
			set = slices.Delete(set, i, i+1)
		}
		ok := true
		for k, it := range w.items {
			if ok = it.does(w.server, set, now[k]); !ok {
				break
			}
		}
		if ok {
			return j
		}
	}
	return -1
}
