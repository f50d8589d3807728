package advisorbench

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/quern-dev/quern/indexadvisor"
	"github.com/quern-dev/quern/internal/testservers"
)

// settings are how many rows the tables have (the big one fifty times as many),
// how many queries there are, and the seed of data and queries:
// QUERN_BENCH_ROWS, QUERN_BENCH_QUERIES and QUERN_BENCH_SEED.
func settings(t *testing.T) (rows, queries int, seed uint64) {
	if os.Getenv("QUERN_LONG") != "1" {
		t.Skip("takes many minutes: set QUERN_LONG=1")
	}
	number := func(name string, otherwise int) int {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return n
		}
		return otherwise
	}
	return number("QUERN_BENCH_ROWS", 20_000), number("QUERN_BENCH_QUERIES", 60), uint64(number("QUERN_BENCH_SEED", 1))
}

const (
	near = 1.1 // of the best
	// noise is how exact the measurement is, in page requests.
	noise = 1
)

// A bar is how many of a hundred are within near of the best at least, have a
// column to spare at most, and are worse than with no index at most.
type bar struct{ good, spare, worse float64 }

// The goal is not reached yet: the test prints how far it is, and fails only
// below what was reached before, or where soar's rule does better.
var (
	goal            = bar{95, 0, 0}
	reached         = bar{90, 4, 2}
	workloadReached = bar{60, 30, 10}
)

// check logs what n things come to, and fails where that is below the floor.
func check(t *testing.T, what string, n, good, spare, worse int, floor bar) {
	t.Helper()
	of := func(k int) float64 { return 100 * float64(k) / float64(n) }
	got := bar{of(good), of(spare), of(worse)}
	verdict := "the goal is not reached"
	if got.good >= goal.good && got.spare <= goal.spare && got.worse <= goal.worse {
		verdict = "the goal is reached"
	}
	t.Logf("%s: %.0f %% within %.1f of the best, %.0f %% with a column to spare, %.0f %% worse than no index; the goal is %.0f, %.0f and %.0f %%: %s",
		what, got.good, near, got.spare, got.worse, goal.good, goal.spare, goal.worse, verdict)
	if got.good < floor.good || got.spare > floor.spare || got.worse > floor.worse {
		t.Errorf("%s: worse than what was reached before: %.0f, %.0f and %.0f %%", what, floor.good, floor.spare, floor.worse)
	}
}

// result is how one query fared.
type result struct {
	q           *query
	advised     []index
	less        [][]index // advised, without one column
	soar        []index
	best, spare string
	read        float64 // rows read by the advisor, as the server counts them
	spent       int64   // and as the advisor does
}

func (r *result) ours() float64  { return r.cost(r.advised) }
func (r *result) least() float64 { return r.q.work[r.best].cost() }

// cost is that of the query with some indexes; what was cut short is worse
// than anything that was not.
func (r *result) cost(set []index) float64 {
	w := r.q.work[keys(set)]
	if w.cut {
		return math.Inf(1)
	}
	return w.cost()
}

func TestAdviceIsNearTheOptimum(t *testing.T) {
	rows, n, seed := settings(t)
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		ctx := context.Background()
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		b, err := newBench(ctx, db, srv.Flavor == testservers.FlavorMariaDB)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		took := func(what string) {
			t.Logf("%s took %v", what, time.Since(start).Round(time.Second))
			start = time.Now()
		}
		ts := tables(rows, seed)
		if err := b.fill(ctx, ts); err != nil {
			t.Fatal(err)
		}
		took("making the tables")
		t.Logf("%s %s, tables of %d rows, one of %d, seed %d", srv.Flavor, srv.Version, rows, bigger*rows, seed)
		var results []*result
		var every, full []trial
		for _, q := range queries(n, ts, seed, b.sampler(ctx, seed)) {
			r := &result{q: q}
			if err := b.advise(ctx, db, schema, r); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
			results = append(results, r)
			for _, set := range slices.Concat(r.less, [][]index{nil, r.advised, r.soar}) {
				full = append(full, trial{q, set})
			}
			for _, set := range grids(q) {
				every = append(every, trial{q, set})
			}
		}
		took("advice")
		if err := errors.Join(b.measure(ctx, full, true), b.measure(ctx, every, false)); err != nil {
			t.Fatal(err)
		}
		took(fmt.Sprintf("measuring %d queries with %d sets of indexes", n, len(full)+len(every)))
		for _, r := range results {
			r.judge()
		}
		report(t, results)
		rw, sw, together := weights(b.log)
		t.Logf("weights: a row takes the time of %.2f pages (0.25 assumed), a sorted row of %.2f (0.5 assumed); the correlation of cost and time, as logarithms, is %.2f in %d runs",
			rw, sw, together, len(b.log))
		workloads(ctx, t, b, db, schema, results, seed)
		took("workloads")
		repeat(ctx, t, b, results)
	}, arguments...)
}

// grids are all sets of indexes of up to three columns that the query could
// use: single ones, and pairs for a join.
func grids(q *query) [][]index {
	var out [][]index
	for _, s := range q.from {
		had := out
		for _, l := range lists(s.columns) {
			ix := index{s.table, l}
			out = append(out, []index{ix})
			for _, set := range had {
				out = append(out, append(slices.Clone(set), ix))
			}
		}
	}
	return out
}

// advise asks for advice on a query, and for that of soar's rule.
func (b *bench) advise(ctx context.Context, db *sql.DB, schema string, r *result) error {
	before, err := b.rowsRead(ctx)
	if err != nil {
		return err
	}
	a, err := indexadvisor.New(indexadvisor.MySQL(db), indexadvisor.Options{}).Advise(ctx, indexadvisor.Query{Schema: schema, SQL: r.q.String()})
	if err != nil {
		return err
	}
	after, err := b.rowsRead(ctx)
	if err != nil {
		return err
	}
	r.read, r.spent = after-before, a.Spent.Rows
	r.advised = indexes(a)
	r.less = without(r.advised)
	for _, s := range r.q.from {
		ix, err := b.soar(ctx, s)
		if err != nil {
			return err
		}
		if len(ix.parts) > 0 {
			r.soar = append(r.soar, ix)
		}
	}
	return nil
}

// indexes are those that the advice adds.
func indexes(a *indexadvisor.Advice) []index {
	var out []index
	for _, s := range a.Suggestions {
		if s.Kind == indexadvisor.Drop {
			continue
		}
		ix := index{table: s.Table}
		for _, p := range s.Columns {
			ix.parts = append(ix.parts, p.String())
		}
		out = append(out, ix)
	}
	return out
}

// without lists the sets with one column less.
func without(set []index) [][]index {
	var out [][]index
	for i, ix := range set {
		for j := range ix.parts {
			less := slices.Clone(set)
			less[i].parts = slices.Delete(slices.Clone(ix.parts), j, j+1)
			if len(less[i].parts) == 0 {
				less = slices.Delete(less, i, i+1)
			}
			out = append(out, less)
		}
	}
	return out
}

// soar is soar's rule: equality columns by their number of different values,
// most first, then one other column, then the grouping, else the order.
func (b *bench) soar(ctx context.Context, s source) (index, error) {
	distinct := map[string]float64{}
	for _, c := range slices.Concat(s.equal, s.ranges) {
		if _, ok := distinct[c]; ok {
			continue
		}
		m, err := b.status(ctx, fmt.Sprintf("SELECT 'n', COUNT(DISTINCT %s) FROM %s", c, s.table))
		if err != nil {
			return index{}, err
		}
		distinct[c] = m["n"]
	}
	by := func(a, b string) int { return int(distinct[b] - distinct[a]) }
	equal, ranges := slices.Clone(s.equal), slices.Clone(s.ranges)
	slices.SortStableFunc(equal, by)
	slices.SortStableFunc(ranges, by)
	parts := equal
	if len(ranges) > 0 {
		parts = append(parts, ranges[0])
	}
	tail := s.group
	if tail == nil {
		tail = s.order
	}
	ix := index{table: s.table}
	for _, c := range append(parts, tail...) {
		if !slices.Contains(ix.parts, c) && len(ix.parts) < 5 {
			ix.parts = append(ix.parts, c)
		}
	}
	return ix, nil
}

// judge finds the best set of indexes and one with a column less that does.
func (r *result) judge() {
	least := r.cost(nil)
	for _, set := range append(grids(r.q), r.advised) {
		if c := r.cost(set); c < least {
			least, r.best = c, keys(set)
		}
	}
	for _, less := range r.less {
		if c := r.cost(less); c <= near*r.ours() {
			r.spare = keys(less)
		}
	}
}

func report(t *testing.T, results []*result) {
	results = slices.Clone(results)
	slices.SortStableFunc(results, func(x, y *result) int { return -int(math.Copysign(1, x.ours()/x.least()-y.ours()/y.least())) })
	var good, strictly, spare, worse, soarGood, soarWorse int
	read, spent := 0.0, 0.0
	for _, r := range results {
		none, ours, least, soar := r.cost(nil), r.ours(), r.least(), r.cost(r.soar)
		count := func(n *int, yes bool) {
			if yes {
				*n++
			}
		}
		count(&strictly, ours <= near*least)
		count(&good, ours <= near*least+noise)
		count(&worse, ours > none+noise)
		count(&spare, r.spare != "")
		count(&soarGood, soar <= near*least+noise)
		count(&soarWorse, soar > none+noise)
		mark := ""
		if r.spare != "" {
			mark = "  COULD DO WITH " + r.spare
		}
		if ours > none+noise {
			mark += "  WORSE THAN NO INDEX"
		}
		for _, s := range r.q.from {
			if s.table == "big" {
				most := float64(bigger) * float64(rowsOf(t))
				read, spent = max(read, r.read/most), max(spent, float64(r.spent)/most)
			}
		}
		t.Logf("%5.2f  none %8.0f  ours %7.0f %-32s  best %7.0f %-32s  soar %7.0f %-32s  %s%s", ours/least, none, ours, keys(r.advised),
			least, r.best, soar, keys(r.soar), r.q, mark)
	}
	n := len(results)
	t.Logf("%d of %d queries within %.1f of the best (%d with no page request of tolerance), %d with a column to spare, %d worse than no index", good, n, near, strictly, spare, worse)
	t.Logf("soar's rule: %d of %d within %.1f of the best, %d worse than no index", soarGood, n, near, soarWorse)
	t.Logf("counting read at most %.1f %% of the big table for a query as the server counts, %.1f %% as the advisor does", 100*read, 100*spent)
	check(t, "queries", n, good, spare, worse, reached)
	if good <= soarGood {
		t.Errorf("%d are within %.1f of the best, and %d by soar's rule", good, near, soarGood)
	}
	if max(read, spent) > 0.05 {
		t.Errorf("counting read %.1f %% of the big table, 5 %% expected at most", 100*max(read, spent))
	}
}

func rowsOf(t *testing.T) int {
	rows, _, _ := settings(t)
	return rows
}

// workloads advises on workloads of 10 to 30 queries under a limit of two to
// six indexes of three columns, and compares with the best of many searches.
func workloads(ctx context.Context, t *testing.T, b *bench, db *sql.DB, schema string, results []*result, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 3))
	good, spare, worse := 0, 0, 0
	const runs = 10
	for range runs {
		limit := 2 + rnd.IntN(5)
		var load []weighted
		var asked []indexadvisor.Query
		for _, i := range rnd.Perm(len(results))[:min(10+rnd.IntN(21), len(results))] {
			l := weighted{results[i].q, float64(int(math.Pow(10, 2+2*rnd.Float64())))}
			load = append(load, l)
			asked = append(asked, indexadvisor.Query{Schema: schema, SQL: l.q.String(), PerDay: l.weight})
		}
		a, err := indexadvisor.New(indexadvisor.MySQL(db), indexadvisor.Options{MaxTotal: limit, MaxColumns: 3}).AdviseAll(ctx, asked)
		if err != nil {
			t.Fatal(err)
		}
		ours := indexes(a)
		sets := append(newGrid(load).search(limit, rnd), nil, ours)
		less := without(ours)
		var trials []trial
		for _, l := range load {
			for _, set := range slices.Concat(sets, less) {
				trials = append(trials, trial{l.q, l.q.restrict(set)})
			}
		}
		if err := b.measure(ctx, trials, true); err != nil {
			t.Fatal(err)
		}
		best := ours
		for _, set := range sets {
			if total(load, set) < total(load, best) {
				best = set
			}
		}
		// A column is spare if every query does without it.
		could := ""
		for _, set := range less {
			if !slices.ContainsFunc(load, func(l weighted) bool {
				return l.q.work[keys(l.q.restrict(set))].cost() > near*l.q.work[keys(l.q.restrict(ours))].cost()
			}) {
				could = "  COULD DO WITH " + keys(set)
			}
		}
		none, o, l := total(load, nil), total(load, ours), total(load, best)
		t.Logf("workload of %2d queries, %d indexes: %5.2f  none %.3g  ours %.3g %s  best %.3g %s%s", len(load), limit, o/l, none, o, keys(ours), l, keys(best), could)
		if o <= near*l {
			good++
		} else {
			// What makes the difference, most of all?
			excess := func(l weighted) float64 {
				return l.weight * (l.q.work[keys(l.q.restrict(ours))].cost() - l.q.work[keys(l.q.restrict(best))].cost())
			}
			q := slices.MaxFunc(load, func(x, y weighted) int { return cmp.Compare(excess(x), excess(y)) })
			t.Logf("      %.3g of it by %s: ours %.0f, best %.0f", excess(q), q.q, q.q.work[keys(q.q.restrict(ours))].cost(), q.q.work[keys(q.q.restrict(best))].cost())
		}
		if could != "" {
			spare++
		}
		if o > none {
			worse++
		}
	}
	t.Logf("%d of %d workloads within %.1f of the best, %d with a column to spare, %d worse than no index", good, runs, near, spare, worse)
	check(t, "workloads", runs, good, spare, worse, workloadReached)
}

// repeat measures the advised indexes again and tells how far the second
// measurement is from the first.
func repeat(ctx context.Context, t *testing.T, b *bench, results []*result) {
	most := 0.0
	for _, r := range results {
		again := &query{what: r.q.what, where: r.q.where, from: r.q.from, work: map[string]work{}, plans: map[string]work{}}
		if err := b.measure(ctx, []trial{{again, r.advised}}, true); err != nil {
			t.Fatal(err)
		}
		if w := r.q.work[keys(r.advised)]; w.cost() < 1000 {
			most = max(most, math.Abs(again.work[keys(r.advised)].cost()-w.cost()))
		}
	}
	t.Logf("measured again, a cost below 1,000 differs by up to %.2f; the tolerance is %d page request", most, noise)
}
