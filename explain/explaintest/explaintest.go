// Package explaintest holds the checks of rewritten queries that belong in a
// program's own tests: that the new query gives the same rows as the old one, that
// it uses the index it was written for, that its plan has no problem, that it
// reads no more rows than it should. They run on a real server with data that
// resembles production's; on an empty schema every plan looks well.
package explaintest

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/explain"
)

// Rewrite is a query and what it was rewritten to. Its methods are assertions:
// they report what does not hold with t.Errorf, with both plans, and what cannot
// be found out with t.Fatalf. They run the queries in READ ONLY transactions.
type Rewrite struct {
	DB  *sql.DB // whose connections have the schema as default
	Old string  // may be "" where only the new query is judged
	New string
}

// timeout bounds one assertion.
const timeout = 5 * time.Minute

// SameRows asserts that both queries give the same rows as often, and, where
// both sort, in the same order but for ties.
func (r Rewrite) SameRows(t testing.TB) {
	t.Helper()
	c := r.compare(t)
	switch {
	case !c.SameRows:
		t.Errorf("the rows differ\n%s", c)
	case c.Order == explain.DifferentOrder:
		t.Errorf("the order differs\n%s", c)
	}
}

// SameClass asserts that both queries have one fingerprint, so that their history
// in logs and monitoring goes on.
func (r Rewrite) SameClass(t testing.TB) {
	t.Helper()
	if before, now := digest.Fingerprint(r.Old), digest.Fingerprint(r.New); before != now {
		t.Errorf("another class\nold: %s\nnew: %s", before, now)
	}
}

// Rewrites asserts that New is what explain.Rewrite makes of Old for this server,
// but for the space between tokens.
func (r Rewrite) Rewrites(t testing.TB) {
	t.Helper()
	var version, comment string
	if err := r.DB.QueryRow("SELECT VERSION(), @@version_comment").Scan(&version, &comment); err != nil {
		t.Fatalf("asking for the version: %v", err)
	}
	got, err := explain.Rewrite(r.Old, explain.RewriteOptions{Server: explain.ParseServer(version, comment)})
	if err != nil {
		t.Fatalf("%v", err)
	}
	if spaced(got.Select) != spaced(r.New) {
		t.Errorf("rewritten to another query\ngot:  %s\nwant: %s", got.Select, r.New)
	}
}

func spaced(s string) string { return strings.Join(strings.Fields(s), " ") }

// UsesIndex asserts that the new query finds its rows of the table, called by its
// alias if it has one, by the index; index is its name or its first column. To
// read the whole index is no use of it, unless for its order under a LIMIT.
func (r Rewrite) UsesIndex(t testing.TB, table, index string) {
	t.Helper()
	p := r.plan(t, r.New)
	read := false
	for n := range p.Tables() {
		if !strings.EqualFold(n.Name, table) {
			continue
		}
		read = true
		if n.Access == explain.AccessIndex && !n.Has(explain.LooseScan) && !strings.Contains(digest.Fingerprint(r.New), " limit ") {
			continue
		}
		for _, k := range n.Keys {
			if strings.EqualFold(k.Name, index) || len(k.Parts) > 0 && strings.EqualFold(k.Parts[0], index) {
				return
			}
		}
	}
	if !read {
		t.Errorf("the plan does not show table %s (one read by constants, before the plan, may be missing)\n%s", table, r.plans(t))
		return
	}
	t.Errorf("table %s is not read by index %s\n%s", table, index, r.plans(t))
}

// NoProblem asserts that the plan of the new query has none of the problems; with
// no code, none above explain.Info.
func (r Rewrite) NoProblem(t testing.TB, codes ...explain.ProblemCode) {
	t.Helper()
	p := r.plan(t, r.New)
	for _, problem := range p.Problems() {
		if len(codes) == 0 && problem.Severity > explain.Info || slices.Contains(codes, problem.Code) {
			t.Errorf("%s: %s of %q: %s\n%s\n%s", problem.Severity, problem.Code, problem.Table, problem.Evidence, problem.Try, r.plans(t))
		}
	}
}

// ReadsAtMost asserts that the storage engines give no more than so many rows to
// the new query when it runs (the sum of the Handler_read_* counters).
func (r Rewrite) ReadsAtMost(t testing.TB, rows int64) {
	t.Helper()
	c := r.compare(t)
	if got := c.B.RowsRead(); got > rows {
		t.Errorf("%d rows are read, want at most %d\n%s", got, rows, c)
	}
}

func (r Rewrite) compare(t testing.TB) *explain.Comparison {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	old := r.Old
	if old == "" {
		old = r.New
	}
	c, err := explain.Compare(ctx, r.DB, old, r.New)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return c
}

func (r Rewrite) plan(t testing.TB, query string) *explain.Plan {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	// What a planner may run of the query, SameRows runs anyway.
	ex := explain.New(r.DB, explain.Options{Timeout: time.Minute, Allow: []explain.HazardCode{explain.ExecutedBlock, explain.ExecutedSubquery}})
	p, err := ex.Explain(ctx, r.schema(t), query)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return p
}

func (r Rewrite) schema(t testing.TB) string {
	t.Helper()
	var schema sql.NullString
	if err := r.DB.QueryRow("SELECT DATABASE()").Scan(&schema); err != nil {
		t.Fatalf("asking for the schema: %v", err)
	}
	return schema.String
}

// plans prints both plans.
func (r Rewrite) plans(t testing.TB) string {
	t.Helper()
	s := "new: " + r.New + "\n" + r.plan(t, r.New).String()
	if r.Old != "" {
		s = "old: " + r.Old + "\n" + r.plan(t, r.Old).String() + s
	}
	return s
}
