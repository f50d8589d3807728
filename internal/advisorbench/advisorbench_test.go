package advisorbench

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/quern-dev/quern/indexadvisor"
	"github.com/quern-dev/quern/internal/testservers"
)

// size is how many rows the tables have (the big one some times as many) and
// how many queries there are: small unless QUERN_LONG=1 asks for the whole
// bench.
func size(t *testing.T) (rows, queries int) {
	if os.Getenv("QUERN_LONG") != "1" {
		t.Skip("takes minutes: set QUERN_LONG=1")
	}
	rows, queries = 100_000, 60
	if n, err := strconv.Atoi(os.Getenv("QUERN_BENCH_ROWS")); err == nil {
		rows = n
	}
	if n, err := strconv.Atoi(os.Getenv("QUERN_BENCH_QUERIES")); err == nil {
		queries = n
	}
	return rows, queries
}

// result is how one query fared.
type result struct {
	q                       query
	none, best, ours, soars work
	bestIndex, soarsIndex   string
	advised                 []index
	spare                   string // an advised index without a column that it could do without
	read                    int64  // rows read by counting
}

func (r result) ratio() float64 {
	return r.ours.cost() / min(r.best.cost(), r.ours.cost(), r.none.cost())
}

func TestAdviceIsNearTheOptimum(t *testing.T) {
	rows, n := size(t)
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		ctx := context.Background()
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		b, err := newBench(ctx, db, srv.Flavor == testservers.FlavorMariaDB)
		if err != nil {
			t.Fatal(err)
		}
		ts := tables(rows)
		if err := b.fill(ctx, ts); err != nil {
			t.Fatal(err)
		}
		var results []result
		adv := indexadvisor.New(indexadvisor.MySQL(db), indexadvisor.Options{})
		for _, q := range queries(n, ts, 1, b.sampler(ctx, 1)) {
			r, err := b.judge(ctx, adv, schema, ts, q)
			if err != nil {
				t.Fatalf("%s: %v", q.sql, err)
			}
			results = append(results, r)
		}
		report(t, b, results, rows)
	})
}

// judge measures a query without indexes, with each possible one, and with
// the advised ones.
func (b *bench) judge(ctx context.Context, adv *indexadvisor.Advisor, schema string, ts []table, q query) (result, error) {
	r := result{q: q}
	var err error
	if r.none, err = b.run(ctx, q.sql); err != nil {
		return r, err
	}
	a, err := adv.Advise(ctx, indexadvisor.Query{Schema: schema, SQL: q.sql})
	if err != nil {
		return r, err
	}
	r.read = a.Spent.Rows
	for _, s := range a.Suggestions {
		ix := index{table: s.Table}
		for _, p := range s.Columns {
			ix.parts = append(ix.parts, p.String())
		}
		r.advised = append(r.advised, ix)
	}
	if r.ours, err = b.cost(ctx, q, r.advised); err != nil {
		return r, err
	}
	for i, ix := range r.advised {
		for j := range ix.parts {
			less := slices.Clone(r.advised)
			less[i].parts = slices.Delete(slices.Clone(ix.parts), j, j+1)
			if len(less[i].parts) == 0 {
				less = slices.Delete(less, i, i+1)
			}
			w, err := b.cost(ctx, q, less)
			if err != nil {
				return r, err
			}
			if w.cost() <= 1.1*r.ours.cost() {
				r.spare = keys(less)
			}
		}
	}
	// The best of all indexes; for a join the best on one table, then the
	// best on the other beside it, in both orders.
	r.best = r.none
	for _, order := range [][]string{q.tables, reversed(q.tables)} {
		var have []index
		best := r.none
		for _, t := range order {
			var all []index
			for _, l := range lists(q.columns[t]) {
				all = append(all, index{t, l})
			}
			ix, w, err := b.bestOf(ctx, q, have, all, best)
			if err != nil {
				return r, err
			}
			if ix != nil {
				have, best = append(have, *ix), w
			}
		}
		if best.cost() < r.best.cost() {
			r.best, r.bestIndex = best, keys(have)
		}
		if len(q.tables) == 1 {
			break
		}
	}
	if len(q.tables) == 1 {
		ix, err := b.soar(ctx, q)
		if err != nil {
			return r, err
		}
		r.soarsIndex = ix.key()
		if r.soars, err = b.cost(ctx, q, []index{ix}); err != nil {
			return r, err
		}
	}
	return r, nil
}

func reversed(s []string) []string {
	s = slices.Clone(s)
	slices.Reverse(s)
	return s
}

func keys(ixs []index) string {
	var out []string
	for _, ix := range ixs {
		out = append(out, ix.key())
	}
	return strings.Join(out, " ")
}

// cost runs a query with some indexes.
func (b *bench) cost(ctx context.Context, q query, ixs []index) (w work, err error) {
	if err := b.build(ctx, ixs); err != nil {
		return w, err
	}
	err = b.with(ctx, ixs, func() error {
		w, err = b.run(ctx, q.sql)
		return err
	})
	if err != nil {
		return w, err
	}
	return w, b.drop(ctx, ixs)
}

// bestOf finds the best of many indexes beside those in have.
func (b *bench) bestOf(ctx context.Context, q query, have, all []index, now work) (best *index, w work, err error) {
	if err := b.build(ctx, have); err != nil {
		return nil, w, err
	}
	err = b.with(ctx, have, func() error {
		for batch := range slices.Chunk(all, 50) {
			batch = slices.DeleteFunc(slices.Clone(batch), func(ix index) bool {
				return slices.ContainsFunc(have, func(h index) bool { return h.key() == ix.key() })
			})
			if err := b.build(ctx, batch); err != nil {
				return err
			}
			for _, ix := range batch {
				err := b.with(ctx, []index{ix}, func() error {
					x, err := b.run(ctx, q.sql)
					if err == nil && x.cost() < now.cost() {
						best, now = &ix, x
					}
					return err
				})
				if err != nil {
					return err
				}
			}
			if err := b.drop(ctx, batch); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, w, err
	}
	return best, now, b.drop(ctx, have)
}

// soar is soar's rule: equality columns by their number of different values,
// most first, then one other column, then the grouping, else the order.
func (b *bench) soar(ctx context.Context, q query) (index, error) {
	t := q.tables[0]
	distinct := map[string]int{}
	for _, c := range q.columns[t] {
		var n int
		if err := b.conn.QueryRowContext(ctx, fmt.Sprintf("SELECT COUNT(DISTINCT %s) FROM %s", c, t)).Scan(&n); err != nil {
			return index{}, err
		}
		distinct[c] = n
	}
	by := func(a, b string) int { return distinct[b] - distinct[a] }
	equal, ranges := slices.Clone(q.equal), slices.Clone(q.ranges)
	slices.SortFunc(equal, by)
	slices.SortFunc(ranges, by)
	parts := equal
	if len(ranges) > 0 {
		parts = append(parts, ranges[0])
	}
	tail := q.group
	if tail == nil {
		tail = q.order
	}
	for _, c := range tail {
		if !slices.Contains(parts, c) {
			parts = append(parts, c)
		}
	}
	return index{t, parts}, nil
}

func report(t *testing.T, b *bench, results []result, rows int) {
	slices.SortStableFunc(results, func(x, y result) int { return -int(math.Copysign(1, x.ratio()-y.ratio())) })
	near, spare, worse, soarNear, single := 0, 0, 0, 0, 0
	most := 0.0
	for _, r := range results {
		if r.ratio() <= 1.1 {
			near++
		}
		if r.spare != "" {
			spare++
		}
		if r.ours.cost() > 1.01*r.none.cost()+2 {
			worse++
			t.Errorf("worse than no index: %s", r.q.sql)
		}
		if len(r.q.tables) == 1 {
			single++
			if r.soars.cost() <= 1.1*min(r.best.cost(), r.ours.cost()) {
				soarNear++
			}
		}
		if r.q.tables[0] == "big" {
			most = max(most, float64(r.read)/float64(bigger*rows))
		}
		mark := ""
		if r.spare != "" {
			mark = "  could do with " + r.spare
		}
		t.Logf("%5.2f  none %8.0f  ours %7.0f %-34s best %7.0f %-34s soar %7.0f %-30s %s%s", r.ratio(), r.none.cost(), r.ours.cost(), keys(r.advised),
			r.best.cost(), r.bestIndex, r.soars.cost(), r.soarsIndex, r.q.sql, mark)
	}
	rw, sw, explained := weights(b.log)
	t.Logf("%d of %d queries within 1.1 of the best (soar's rule: %d of %d of one table), %d with a column to spare, %d worse than no index",
		near, len(results), soarNear, single, spare, worse)
	t.Logf("counting read at most %.1f %% of the big table for a query", 100*most)
	t.Logf("weights: a row costs %.2f pages (0.25 assumed), a sorted row %.2f (0.5 assumed); the cost explains %.0f %% of the variance of the time", rw, sw, 100*explained)
	if float64(near) < 0.95*float64(len(results)) {
		t.Errorf("%d of %d queries are within 1.1 of the best, 95 %% expected", near, len(results))
	}
	if spare > 0 {
		t.Errorf("%d advised indexes could do without a column", spare)
	}
	if most > 0.05 {
		t.Errorf("counting read %.1f %% of the big table, 5 %% expected at most", 100*most)
	}
}
