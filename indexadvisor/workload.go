package indexadvisor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/explain"
)

// maxClasses is how many classes of a profile are looked at, those with the
// greatest total time first.
const maxClasses = 200

// AdviseProfile advises on the workload of a profile, as AdviseAll does. A
// class's samples give the values, its count over the profile's time the
// executions a day. schema stands in for a sample that has none.
func (v *Advisor) AdviseProfile(ctx context.Context, p *digest.Profile, schema string) (*Advice, error) {
	days := p.To().Sub(p.From()).Hours() / 24
	if days <= 0 {
		days = 1
	}
	var queries []Query
	var notes []string
	for _, c := range p.Top(maxClasses, digest.ByTotalTime) {
		if c.Kind != digest.Statements {
			continue
		}
		q, why := classQuery(c, schema, days)
		if why != "" {
			notes = append(notes, fmt.Sprintf("%s: not looked into: %s", c.Name(), why))
			continue
		}
		queries = append(queries, q)
	}
	if n := p.Len(); n > maxClasses {
		notes = append(notes, fmt.Sprintf("only the %d classes with the greatest total time were looked at, of %d", maxClasses, n))
	}
	if t := p.Threshold(); t > time.Millisecond {
		notes = append(notes, fmt.Sprintf("the log seems to hold only statements of %v and more: what faster ones read and write does not count", t))
	}
	a, err := v.AdviseAll(ctx, queries)
	if err != nil {
		return nil, err
	}
	a.Notes = append(notes, a.Notes...)
	return a, nil
}

// classQuery makes a query of a class's samples.
func classQuery(c *digest.Class, schema string, days float64) (q Query, why string) {
	why = "no whole statement was kept of it"
	for _, s := range c.Samples() {
		if s.Truncated || s.Query == "" {
			continue
		}
		own := s.Schema
		if own == "" {
			own = schema
		}
		switch {
		case q.SQL == "":
			q = Query{ID: c.ID.Short() + " " + shorten(s.Query), Schema: own, SQL: s.Query, PerDay: c.Count / days}
			why = ""
		case own == q.Schema:
			q.Samples = append(q.Samples, s.Query)
		}
	}
	return q, why
}

// A Planner tells which indexes a server uses for a statement. A Source that
// is one lets AdviseAll find indexes that are not used.
type Planner interface {
	// Keys names the indexes in the server's plan for a statement.
	Keys(ctx context.Context, schema, sql string) ([]string, error)
}

// Keys asks the server for the plan, as package explain does it: nothing is
// executed.
func (d *Database) Keys(ctx context.Context, schema, sql string) ([]string, error) {
	plan, err := explain.New(d.db, explain.Options{Timeout: d.timeout()}).Explain(ctx, schema, sql)
	if err != nil {
		return nil, err
	}
	var out []string
	for n := range plan.Tables() {
		for _, k := range n.Keys {
			out = append(out, k.Name)
		}
	}
	return out, nil
}

// drops suggests which indexes of the workload's tables may go: those that
// another one covers, and those that nothing uses.
func (r *run) drops(ctx context.Context, w *workload, chosen []candidate) []Suggestion {
	var tables []*Table
	for _, t := range r.tables {
		if t.View == "" {
			tables = append(tables, t)
		}
	}
	slices.SortFunc(tables, func(a, b *Table) int {
		return strings.Compare(a.Schema+"\x00"+a.Name, b.Schema+"\x00"+b.Name)
	})
	var out []Suggestion
	used, asked := r.used(ctx, w)
	for _, t := range tables {
		gone := map[string]bool{}
		for _, s := range r.redundant(t, func(name string) bool {
			return r.replaced[nameKey(t, name)] || r.hinted(w, t, name) || r.missed(w, t, name, chosen)
		}) {
			gone[s.Name] = true
			out = append(out, s)
		}
		if asked == 0 {
			continue
		}
		if !slices.ContainsFunc(t.Indexes, func(ix Index) bool { return ix.Reads >= 0 }) {
			if len(t.Indexes) > 0 {
				r.note("%s.%s: the server does not count the use of indexes (performance_schema is off, userstat too), or the account may not see it, so that none is called unused", t.Schema, t.Name)
			}
			continue
		}
		for i := range t.Indexes {
			ix := &t.Indexes[i]
			if ix.Unique || gone[ix.Name] || r.replaced[nameKey(t, ix.Name)] || ix.Reads != 0 || used[t.Schema+"\x00"+t.Name+"\x00"+ix.Name] || t.needed(ix) || r.hinted(w, t, ix.Name) {
				continue
			}
			since := "since its counters began"
			if r.server.Uptime > 0 {
				since = fmt.Sprintf("in the %v since it was started", r.server.Uptime)
			}
			out = append(out, r.drop(t, ix, fmt.Sprintf("None of the %d plans of this workload uses %s, and the server has counted no read of it %s. "+
				"Neither sees statements that were not logged, work that comes once a month, or the other servers of a replication group.", asked, ix.Name, since)))
		}
	}
	return out
}

// missed says whether a query of the workload costs more without the index.
func (r *run) missed(w *workload, t *Table, name string, chosen []candidate) bool {
	without := func(u *Table) []*Index {
		list := indexSet(chosen)(u)
		if u != t {
			return list
		}
		return slices.DeleteFunc(slices.Clone(list), func(ix *Index) bool { return ix.Name == name })
	}
	for _, it := range w.items {
		if !it.reads(t) {
			continue
		}
		for _, a := range it.variants {
			now, _ := a.cost(w.server, indexSet(chosen))
			if then, _ := a.cost(w.server, without); then.cost > 1.03*now.cost+1 {
				return true
			}
		}
	}
	return false
}

// used asks for the plans of the workload. It returns the indexes in them and
// how many plans there were.
func (r *run) used(ctx context.Context, w *workload) (map[string]bool, int) {
	p, ok := r.source.(Planner)
	if !ok {
		return nil, 0
	}
	used, asked := map[string]bool{}, 0
	for _, it := range w.items {
		if ctx.Err() != nil {
			break
		}
		if it.width() == 0 {
			continue
		}
		keys, err := p.Keys(ctx, it.query.Schema, it.query.SQL)
		if err != nil {
			r.note("%s: no plan: %v", it.query.name(), err)
			// What it uses is not known: nothing of its tables is unused.
			for t := range it.tables() {
				for _, ix := range t.Indexes {
					used[t.Schema+"\x00"+t.Name+"\x00"+ix.Name] = true
				}
			}
			continue
		}
		asked++
		for _, k := range keys {
			for t := range it.tables() {
				used[t.Schema+"\x00"+t.Name+"\x00"+k] = true
			}
		}
	}
	return used, asked
}

// tables yields the base tables that an item reads.
func (it *item) tables() func(yield func(*Table) bool) {
	return func(yield func(*Table) bool) {
		seen := map[*Table]bool{}
		for _, a := range it.variants {
			for _, b := range a.blocks {
				for _, x := range b.accesses {
					if x.table != nil && !seen[x.table] {
						seen[x.table] = true
						if !yield(x.table) {
							return
						}
					}
				}
			}
		}
	}
}
