package indexadvisor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// measure counts what the analysis needs.
func (r *run) measure(ctx context.Context, a *analysis) error {
	for _, b := range a.blocks {
		for _, x := range b.accesses {
			if x.table == nil {
				continue
			}
			if err := r.count(ctx, x); err != nil {
				return err
			}
		}
	}
	for _, b := range a.blocks {
		if err := r.distincts(ctx, b); err != nil {
			return err
		}
		if err := r.pairs(ctx, b); err != nil {
			return err
		}
		for _, x := range b.accesses {
			if x.counts != nil {
				if err := r.rare(ctx, x); err != nil {
					return err
				}
				x.play()
				if err := r.refine(ctx, x); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// someCounted is an error where the rows of no table of an analysis are known.
func (r *run) someCounted(a *analysis) error {
	any := false
	for _, b := range a.blocks {
		for _, x := range b.accesses {
			if x.counts != nil {
				return nil
			}
			any = any || x.table != nil
		}
	}
	if !any {
		return nil
	}
	return fmt.Errorf("indexadvisor: %w: %w", ErrNotCounted, r.failure)
}

// ends returns the error with which the whole ends when counting had err: others
// cost the advice on one table only.
func ends(ctx context.Context, err error, what string, t *Table) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, ErrBusy) {
		return fmt.Errorf("indexadvisor: counting the %s of %s.%s: %w", what, t.Schema, t.Name, err)
	}
	return nil
}

// ask counts rows and adds up what that took. A failure costs the counts, an error
// ends the whole.
func (r *run) ask(ctx context.Context, q CountRequest) (c *Counts, failure, err error) {
	c, failure = r.source.Count(ctx, q)
	if err := ends(ctx, failure, "rows", q.Table); err != nil {
		return nil, nil, err
	}
	r.spent.Statements++
	if failure != nil {
		return nil, failure, nil
	}
	r.spent.Rows += c.Read
	r.spent.Waited += c.Waited
	return c, nil, nil
}

// count asks for the counts of one access.
func (r *run) count(ctx context.Context, x *access) error {
	var preds []*Predicate
	key := x.table.Schema + "\x00" + x.table.Name
	if x.partitions != nil {
		key = strings.Join(x.partitions, "\x00") + "\x00\x00" + key // not to be taken for the whole table
	}
	for i, p := range x.preds {
		if p.SQL != "" && len(preds) < MaxPredicates {
			preds = append(preds, p)
			x.bits = append(x.bits, i)
			key += "\x00" + p.SQL
		}
	}
	c, ok := r.counted[key]
	if !ok {
		var failure, err error
		if c, failure, err = r.ask(ctx, CountRequest{Table: x.table, Predicates: preds, Partitions: x.partitions}); err != nil {
			return err
		}
		if failure != nil {
			r.note("the rows of %s.%s could not be counted, so that there is no advice on it: %v", x.table.Schema, x.table.Name, failure)
			r.incomplete, r.failure = true, failure
		} else if c.Note != "" {
			r.note("%s.%s: %s", x.table.Schema, x.table.Name, c.Note)
		}
		r.counted[key] = c
	}
	x.counts = c
	if c == nil {
		x.bits = nil
	}
	return nil
}

// distincts finds how many values the columns have whose rows cannot be
// counted: those of joins, and of values that are not known.
func (r *run) distincts(ctx context.Context, b *block) error {
	need := func(x *access, c *Column) (Distinct, error) {
		if x.table == nil || c == nil {
			return Distinct{}, nil
		}
		d, err := r.values(ctx, x.table, c, x.rows())
		if err != nil {
			return d, err
		}
		if x.distinct == nil {
			x.distinct = map[string]float64{}
		}
		x.distinct[strings.ToLower(c.Name)] = d.Values
		return d, nil
	}
	for i := range b.edges {
		e := &b.edges[i]
		da, err := need(e.a, e.ac)
		if err != nil {
			return err
		}
		db, err := need(e.b, e.bc)
		if err != nil {
			return err
		}
		// How often each value occurs matters only where it may on both sides.
		if da.Values < e.a.rows() && db.Values < e.b.rows() {
			if da, err = r.frequencies(ctx, e.a, e.ac, da); err != nil {
				return err
			}
			if db, err = r.frequencies(ctx, e.b, e.bc, db); err != nil {
				return err
			}
		}
		e.share = da.joined(db)
	}
	for _, x := range b.accesses {
		if items, ok := b.groupItems(x); ok && x.table != nil && len(items) > 0 {
			var parts []Part
			for _, it := range items {
				parts = append(parts, Part{Name: it.column.Name})
			}
			d, err := r.countDistinct(ctx, x.table, parts...)
			if err != nil {
				return err
			}
			b.groups = d.Values
		}
		for i, p := range x.preds {
			if slices.Contains(x.bits, i) || p.Class != Equality && p.Class != Join {
				continue
			}
			for _, k := range p.Keys {
				if _, err := need(x, x.table.column(k.Name)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// pairs counts what the joins of two tables find of which all rows are counted:
// how many rows the values of a few rows find in the other table is not what
// the values of all rows find on the average.
func (r *run) pairs(ctx context.Context, b *block) error {
	find := func(from *access, fc *Column, x *access, c *Column) (*Counts, error) {
		if from.met() == 0 {
			return nil, nil
		}
		found, failure, err := r.ask(ctx, CountRequest{Table: x.table, Predicates: x.counted(), Partitions: x.partitions,
			For: &Joining{from.table, from.counted(), from.partitions, fc.Name, c.Name}})
		if failure != nil {
			r.note("the rows of %s.%s that those of %s.%s are joined with could not be counted, and are estimated: %v", x.table.Schema, x.table.Name, from.table.Schema, from.table.Name, failure)
		}
		return found, err
	}
	for i := range b.edges {
		e := &b.edges[i]
		several := slices.ContainsFunc(b.edges, func(o edge) bool { return o != *e && (o.a == e.a && o.b == e.b || o.a == e.b && o.b == e.a) })
		if several || !e.a.exactly() || !e.b.exactly() {
			continue
		}
		var err error
		if e.aok {
			if e.afound, err = find(e.b, e.bc, e.a, e.ac); err != nil {
				return err
			}
		}
		if e.bok {
			if e.bfound, err = find(e.a, e.ac, e.b, e.bc); err != nil {
				return err
			}
		}
	}
	return nil
}

// exactly says whether all rows of the table were counted.
func (x *access) exactly() bool { return x.table != nil && x.counts != nil && !x.counts.Sampled }

// counted are the predicates that were counted.
func (x *access) counted() []*Predicate {
	var preds []*Predicate
	for _, i := range x.bits {
		preds = append(preds, x.preds[i])
	}
	return preds
}

// met is how many rows meet all conditions that were counted.
func (x *access) met() float64 { return x.counts.rows(1<<len(x.bits) - 1) }

// rare finds out how rare the values are that no row of a sample has.
func (r *run) rare(ctx context.Context, x *access) error {
	c := x.counts
	if !c.Sampled {
		return nil
	}
	for bit, i := range x.bits {
		p := x.preds[i]
		if p.Class != Equality || len(p.Keys) != 1 || c.hits(1<<bit) > 0 {
			continue
		}
		col := x.table.column(p.Keys[0].Name)
		if _, known := c.rare[bit]; known || col == nil {
			continue
		}
		d, err := r.values(ctx, x.table, col, c.Rows)
		if err != nil {
			return err
		}
		if c.rare == nil {
			c.rare = map[int]float64{}
		}
		c.rare[bit] = 1 / max(1, d.Values)
	}
	return nil
}

// values is the number of different values of a column: known from a key on
// it, or counted.
func (r *run) values(ctx context.Context, t *Table, c *Column, rows float64) (Distinct, error) {
	for i := range t.Indexes {
		ix := &t.Indexes[i]
		if len(ix.Parts) == 0 || ix.Parts[0].Length > 0 || !strings.EqualFold(ix.Parts[0].Name, c.Name) {
			continue
		}
		if ix.Unique && len(ix.Parts) == 1 {
			return Distinct{Values: rows}, nil
		}
		if len(ix.Cardinality) > 0 && ix.Cardinality[0] > 1 && ix.Kind == "BTREE" {
			return Distinct{Values: min(float64(ix.Cardinality[0]), rows)}, nil
		}
	}
	return r.countDistinct(ctx, t, Part{Name: c.Name})
}

// frequencies counts the values of a column if only their number is known.
func (r *run) frequencies(ctx context.Context, x *access, c *Column, d Distinct) (Distinct, error) {
	if x.table == nil || c == nil || d.Rows > 0 {
		return d, nil
	}
	return r.countDistinct(ctx, x.table, Part{Name: c.Name})
}

func (r *run) countDistinct(ctx context.Context, t *Table, parts ...Part) (Distinct, error) {
	key := t.Schema + "\x00" + t.Name + "\x00" + partsKey(parts)
	if d, ok := r.distinct[key]; ok {
		return d, nil
	}
	d, err := r.source.Distinct(ctx, t, parts)
	if err := ends(ctx, err, "values", t); err != nil {
		return Distinct{}, err
	}
	r.spent.Statements++
	r.spent.Rows += d.Read
	r.spent.Waited += d.Waited
	if err != nil {
		r.note("the values of %s in %s.%s could not be counted: %v", partList(parts), t.Schema, t.Name, err)
		r.incomplete = true
	}
	r.distinct[key] = d
	return d, nil
}

// dry is how few rows of a sample say nothing about those among them.
const dry = 3

// refine counts on the table itself where a round of a sample ran dry, if an
// index leads to the rows that are wanted.
func (r *run) refine(ctx context.Context, x *access) error {
	for where := x.dryRound(); where != 0; where = x.dryRound() {
		c, err := r.source.Count(ctx, CountRequest{Table: x.table, Predicates: x.counted(), Partitions: x.partitions, Where: where, Most: max(1000, x.table.Rows/50)})
		if err := ends(ctx, err, "rows", x.table); err != nil {
			return err
		}
		if err != nil {
			x.guessed = true
			r.note("%s.%s: the sample holds %d rows that meet %s: which of the other conditions still filter is a guess, as these rows could not be counted on the table (%v)",
				x.table.Schema, x.table.Name, x.counts.hits(where), x.where(where), err)
			return nil
		}
		r.spent.Statements++
		r.spent.Rows += c.Read
		r.spent.Waited += c.Waited
		rows := Cluster{}
		if len(c.Clusters) > 0 {
			rows = c.Clusters[0]
		}
		x.counts.within = append(x.counts.within, within{where, rows})
		x.matched = nil
		x.play()
	}
	return nil
}

// dryRound is the set of conditions of the first round that a sample says
// nothing about, 0 if there is none.
func (x *access) dryRound() uint64 {
	where := uint64(0)
	for k, r := range x.rounds {
		if where != 0 && len(r.Counts) > 0 && x.counts.Sampled && x.counts.exact(where) == nil && x.counts.hits(where) < dry {
			return where
		}
		if k < len(x.chosen) {
			where |= 1 << slices.Index(x.bits, x.chosen[k])
		}
	}
	return 0
}

// where writes the conditions of some bits.
func (x *access) where(mask uint64) string {
	var texts []string
	for bit, i := range x.bits {
		if mask>>bit&1 == 1 {
			texts = append(texts, x.preds[i].Text)
		}
	}
	return strings.Join(texts, " AND ")
}

// play plays the rounds of an access.
func (x *access) play() {
	x.chosen = nil
	var preds []*Predicate
	var open []int
	for b, i := range x.bits {
		p := x.preds[i]
		preds = append(preds, p)
		if p.Class == Filter || p.Negated && x.match(1<<i) > 0.1*x.rows() {
			continue
		}
		open = append(open, b)
	}
	better := func(i, j int) bool {
		a, b := preds[i], preds[j]
		if (a.Class == Equality) != (b.Class == Equality) {
			return a.Class == Equality
		}
		ca, cb := x.table.column(a.Keys[0].Name), x.table.column(b.Keys[0].Name)
		if ca != nil && cb != nil {
			if ca.Nullable != cb.Nullable {
				return !ca.Nullable
			}
			if wa, wb := ca.averageBytes(), cb.averageBytes(); wa != wb {
				return wa < wb
			}
		}
		return a.Text < b.Text
	}
	var order []int
	x.rounds, order = rounds(x.counts, preds, open, better)
	for _, b := range order {
		x.chosen = append(x.chosen, x.bits[b])
	}
}

// prefix is the length that a column needs in a key: 0 for all of it. Where
// the column is too long for a key, the shortest beginning is taken that tells
// nearly as many values apart as the whole; if none does, the column cannot
// be in a key.
func (r *run) prefix(ctx context.Context) func(*access, *Column) (int, bool) {
	return func(x *access, c *Column) (int, bool) {
		column, _ := keyLimits(r.server, x.table)
		if !c.blob() && c.keyBytes(0) <= column {
			return 0, true
		}
		key := x.table.Schema + "\x00" + x.table.Name + "\x00" + c.Name
		if n, ok := r.prefixes[key]; ok {
			return max(n, 0), n >= 0
		}
		most := int(column / charBytes(c.Charset))
		r.prefixes[key] = r.choosePrefix(ctx, x.table, c, most)
		return max(r.prefixes[key], 0), r.prefixes[key] >= 0
	}
}

func (r *run) choosePrefix(ctx context.Context, t *Table, c *Column, most int) int {
	whole, err := r.countDistinct(ctx, t, Part{Name: c.Name})
	if err != nil || whole.Values < 1 {
		return -1
	}
	lengths := []int{8, 16, 32, 64, 128, most}
	for _, n := range lengths {
		if n > most || c.Chars > 0 && int64(n) >= c.Chars {
			break
		}
		d, err := r.countDistinct(ctx, t, Part{Name: c.Name, Length: n})
		if err != nil {
			return -1
		}
		if d.Values >= 0.95*whole.Values {
			return n
		}
	}
	r.note("%s of %s.%s is too long for a key, and no beginning of it tells the values apart: index a hash of it (a generated column) for equality, or its reverse if the endings differ", c.Name, t.Schema, t.Name)
	return -1
}
