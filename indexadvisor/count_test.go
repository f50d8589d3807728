package indexadvisor

import (
	"math/rand/v2"
	"testing"
)

// population is a table of clusters whose rows resemble each other: in each
// cluster a row meets the predicate with the cluster's own chance.
func population(rnd *rand.Rand, clusters, size int, share, spread float64) (all []Cluster, truth float64) {
	for range clusters {
		p := share
		if rnd.Float64() < spread { // all or nothing
			p = 0
			if rnd.Float64() < share {
				p = 1
			}
		}
		hits := int64(0)
		for range size {
			if rnd.Float64() < p {
				hits++
			}
		}
		all = append(all, Cluster{{1, hits}, {0, int64(size) - hits}})
		truth += float64(hits)
	}
	return all, truth
}

// The interval holds the truth in about 95 % of samples, however much the rows
// of a cluster resemble each other. (Values that fill a few clusters and nothing
// else can be missed by any sample.)
func TestIntervalHoldsTheTruth(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct{ share, spread float64 }{{0.5, 0}, {0.1, 0}, {0.1, 0.5}, {0.3, 1}, {0.001, 0}, {0.2, 0.3}} {
		held := 0
		const trials = 300
		for range trials {
			all, truth := population(rnd, 1000, 100, c.share, c.spread)
			s := &Counts{Rows: 100_000, Sampled: true}
			for _, i := range rnd.Perm(len(all))[:100] {
				s.Clusters = append(s.Clusters, all[i])
			}
			if e := s.estimate(1); e.Low <= truth && truth <= e.High {
				held++
			}
		}
		if float64(held) < 0.92*trials {
			t.Errorf("share %g, spread %g: %d of %d intervals hold the truth", c.share, c.spread, held, trials)
		}
	}
}

func TestNoHitIsNotNothing(t *testing.T) {
	c := &Counts{Rows: 1e6, Sampled: true, Clusters: []Cluster{{{0, 500}}, {{0, 500}}}}
	if e := c.estimate(1); e.Rows <= 0 || e.High != 3000 || e.Low != 0 {
		t.Errorf("no hit among 1000 of a million rows: %+v, want at most 3000 rows by the rule of three", e)
	}
	exact := &Counts{Rows: 1000, Clusters: []Cluster{{{0, 1000}}}}
	if e := exact.estimate(1); e != (estimate{}) {
		t.Errorf("no hit among all rows: %+v", e)
	}
}

// Where a sample cannot tell two conditions apart, the rounds say so.
func TestRoundsNameATie(t *testing.T) {
	c := &Counts{Rows: 1e6, Sampled: true}
	for range 40 {
		c.Clusters = append(c.Clusters, Cluster{{1, 3}, {2, 3}, {0, 94}})
	}
	preds := []*Predicate{{Text: "a", Class: Equality}, {Text: "b", Class: Equality}}
	rs, _ := rounds(c, preds, []int{0, 1}, func(i, j int) bool { return i < j })
	if len(rs) == 0 || rs[0].Why != "a is next; the sample does not tell it apart from others with certainty." {
		t.Errorf("%s", rs)
	}
}
