package indexadvisor

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// covers says whether index y does all that index x does, so that x may go
// if y stays, and why.
//
// It never is so for a constraint: PRIMARY, and UNIQUE unless y enforces at
// least as much. Kinds must be equal and y visible. Every part of x must
// stand in y at the same place, in the same direction, and keep at least as
// much of the value. The primary key's columns, which InnoDB appends to every
// index, count as parts.
func covers(t *Table, x, y *Index) (string, bool) {
	if x.Name == y.Name || x.primary() || y.Hidden || x.Kind != y.Kind || len(x.Parts) == 0 || len(y.Parts) == 0 {
		return "", false
	}
	if x.Kind != "BTREE" {
		if slices.EqualFunc(x.Parts, y.Parts, Part.equal) && !x.Unique {
			return "it is the same " + x.Kind + " index again", true
		}
		return "", false
	}
	if x.Unique && !enforces(t, x, y) {
		return "", false
	}
	if t.clustered() && t.primaryKey() == x {
		return "", false // rows live in it
	}
	if len(x.Parts) == 1 && len(y.Parts) == 1 && x.Parts[0].Desc != y.Parts[0].Desc {
		// One column is read backwards as well, but MIN and MAX are found at
		// once in an ascending index only.
		p := x.Parts[0]
		p.Desc = y.Parts[0].Desc
		if x.Parts[0].Desc && holds(t, p, y.Parts[0]) {
			return "the index is read backwards as fast", true
		}
		return "", false
	}
	own := x.Parts
	for i, p := range own {
		if i >= len(y.Parts) {
			// What is left must be what the primary key appends to y.
			tail := t.suffix(y.Parts)
			if len(own)-i > len(tail) || !slices.EqualFunc(own[i:], tail[:len(own)-i], Part.equal) {
				return "", false
			}
			return "the primary key, which every index ends with, makes up the rest", true
		}
		if !holds(t, p, y.Parts[i]) {
			return "", false
		}
	}
	switch {
	case len(own) == len(y.Parts) && slices.EqualFunc(own, y.Parts, Part.equal):
		return "it has the same columns", true
	case len(own) == len(y.Parts):
		return "it keeps less of the same columns", true
	}
	// (a) gives rows of one a in primary-key order, (a, b) does not; that is
	// worth a word, not an index.
	return "its columns are the first of the other's", true
}

// holds says whether a part q keeps all that p keeps of the same value.
func holds(t *Table, p, q Part) bool {
	if !p.sameColumn(q) || p.Desc != q.Desc {
		return false
	}
	return q.Length == 0 || p.Length > 0 && p.Length <= q.Length
}

// enforces says whether y forbids every duplicate that the unique index x
// forbids.
func enforces(t *Table, x, y *Index) bool {
	if !y.Unique {
		return false
	}
	if !slices.EqualFunc(x.Parts, y.Parts, func(p, q Part) bool { return p.sameColumn(q) && p.Length == q.Length }) {
		return false
	}
	return true
}

// Redundant suggests which indexes of a table may be dropped because another
// one does all they do. Each suggestion's Trial hides the index first, where
// the server can. No constraint, and no index that a foreign key needs and
// has no other for, is ever suggested.
func (v *Advisor) Redundant(ctx context.Context, schema, table string) (*Advice, error) {
	r := v.run()
	if err := r.start(ctx); err != nil {
		return nil, err
	}
	t, err := v.source.Table(ctx, schema, table)
	if err != nil {
		return nil, err
	}
	adv := &Advice{Suggestions: r.redundant(t, nil)}
	if len(adv.Suggestions) == 0 {
		r.note("%s.%s: no index is redundant", t.Schema, t.Name)
	}
	adv.Notes = r.notes
	return adv, nil
}

// redundant finds the indexes to drop. keep says which must stay, such as
// those named in hints.
func (r *run) redundant(t *Table, keep func(name string) bool) []Suggestion {
	var out []Suggestion
	gone := map[string]bool{}
	for i := range t.Indexes {
		x := &t.Indexes[i]
		if t.needed(x) || keep != nil && keep(x.Name) {
			continue
		}
		for j := range t.Indexes {
			y := &t.Indexes[j]
			if i == j || gone[y.Name] {
				continue
			}
			why, ok := covers(t, x, y)
			if !ok {
				continue
			}
			// Of two that cover each other the better one stays: the one that
			// is PRIMARY or UNIQUE, else the used one, else the older one.
			if _, both := covers(t, y, x); both && !prefer(y, x, j < i) {
				continue
			}
			gone[x.Name] = true
			out = append(out, r.drop(t, x, fmt.Sprintf("%s is superfluous beside %s %s: %s.", x.Name, y.Name, definition(y.Parts), why)))
			break
		}
	}
	return out
}

func prefer(y, x *Index, older bool) bool {
	switch {
	case y.primary() != x.primary():
		return y.primary()
	case y.Unique != x.Unique:
		return y.Unique
	case (y.Reads > 0) != (x.Reads > 0):
		return y.Reads > 0
	case len(y.Parts) != len(x.Parts):
		return len(y.Parts) < len(x.Parts)
	}
	return older
}

// drop words the suggestion to drop an index.
func (r *run) drop(t *Table, ix *Index, why string) Suggestion {
	table := "ALTER TABLE " + quoteTable(t.Schema, t.Name)
	s := Suggestion{
		Kind: Drop, Schema: t.Schema, Table: t.Name, Name: ix.Name, Columns: ix.Parts,
		DDL: table + " DROP INDEX " + quote(ix.Name), Undo: table + " ADD " + ix.definition(),
		Reason: why, Bytes: ix.Bytes,
	}
	switch h := r.server.hidden(); {
	case ix.Hidden:
		s.Reason += " It is hidden from the optimizer already."
	case h != "":
		s.Trial = table + " ALTER INDEX " + quote(ix.Name) + " " + h
		s.Reason += " Hide it first and wait: the trial statement is undone at once, dropping is not."
	}
	return s
}

// needed says whether a foreign key has no other index than ix.
func (t *Table) needed(ix *Index) bool {
	for _, f := range t.References {
		if !leadsWith(ix, f.Columns) {
			continue
		}
		if !slices.ContainsFunc(t.Indexes, func(o Index) bool { return o.Name != ix.Name && leadsWith(&o, f.Columns) }) {
			return true
		}
	}
	return false
}

func leadsWith(ix *Index, columns []string) bool {
	if ix.Kind != "BTREE" || len(ix.Parts) < len(columns) {
		return false
	}
	for _, p := range ix.Parts[:len(columns)] {
		if p.Length > 0 || !slices.ContainsFunc(columns, func(c string) bool { return strings.EqualFold(c, p.Name) }) {
			return false
		}
	}
	return true
}
