package indexadvisor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Counter counts rows. MySQL counts on a server, Rows in memory.
type Counter interface {
	// Count tells, in one pass, how many rows of a table meet which of the
	// predicates. It counts all rows, or a sample of them.
	Count(ctx context.Context, r CountRequest) (*Counts, error)
	// Distinct estimates how many different values the given columns have
	// together, prefix lengths respected. NULL is one value.
	Distinct(ctx context.Context, t *Table, parts []Part) (Distinct, error)
}

// MaxPredicates is how many predicates one CountRequest may hold.
const MaxPredicates = 60

// CountRequest asks for counts of predicates, all of which have SQL.
type CountRequest struct {
	Table      *Table
	Predicates []*Predicate
	// Partitions, if there are any, are those whose rows are counted.
	Partitions []string
	// Where, if it is not 0, are the bits of predicates: only rows that meet
	// them are counted, and all of those. The error wraps ErrOutOfReach where
	// no index leads to them, or to more than Most.
	Where uint64
	Most  int64
	// For, if it is not nil, are the rows of another table that are joined: each
	// row is counted as often as they have its value, and all are read.
	For *Joining
}

// Joining are the rows of a table that meet all of some predicates, joined by the
// equality of one of its columns with one of the table that is counted.
type Joining struct {
	Table      *Table
	Predicates []*Predicate
	Partitions []string
	Column, To string // here and there
}

// ErrNotCounted says that the rows of none of a statement's tables could be counted,
// and that no index is suggested therefore. The error wraps the cause as well: the
// statement that counts took too long, or was killed, or the table went away.
var ErrNotCounted = errors.New("no rows could be counted")

// ErrOutOfReach says that rows cannot be counted without reading many others.
var ErrOutOfReach = errors.New("no index leads to these rows alone")

// Counts says how many rows meet which predicates.
type Counts struct {
	Rows     float64       // rows of the table; an estimate if Sampled
	Read     int64         // rows that were read to count
	Sampled  bool          // the clusters are a sample
	Clusters []Cluster     // disjoint groups of rows; a single one if all were counted
	Note     string        // what to know about the sample; "" if nothing
	Waited   time.Duration // for a busy server

	// within are all rows that meet some predicates, counted where the sample
	// held none of them.
	within []within

	// rare is the share of rows expected to meet a predicate that no row of
	// the sample meets, by the number of different values.
	rare map[int]float64
}

// within holds all rows that meet the predicates of a mask.
type within struct {
	mask uint64
	rows Cluster
}

// exact returns the rows that were counted one and all and that hold those of
// mask, nil if there are none.
func (c *Counts) exact(mask uint64) *within {
	for i := range c.within {
		if w := &c.within[i]; w.mask&mask == w.mask {
			return w
		}
	}
	return nil
}

// Cluster is a group of rows that were counted together, such as a range of
// the primary key.
type Cluster []Cell

// Cell counts the rows that meet exactly the predicates whose bits are set in
// Met: bit i for predicate i.
type Cell struct {
	Met  uint64
	Rows int64
}

// Distinct is a number of different values.
type Distinct struct {
	Values float64
	// Common are the most common values, most first; Rows and Nulls are how
	// many rows the column has in all, and without a value. They are known
	// for one column only, and estimates if Sampled.
	Common      []Frequency
	Rows, Nulls float64
	// Low and High are the least and the greatest value of a column of
	// integers; equal where they are not known.
	Low, High float64
	Read      int64 // rows that were read
	Sampled   bool
	Waited    time.Duration // for a busy server
}

// Frequency is a value, as text, and how many rows have it.
type Frequency struct {
	Value string
	Rows  float64
}

// joined is the share of the pairs of a row here and a row there that have
// the same value. Common values are compared one by one; the others are taken
// to be spread evenly from the least to the greatest, and where both sides have
// values, those of the side with fewer to be all there on the other (after
// PostgreSQL's eqjoinsel).
func (d Distinct) joined(e Distinct) float64 {
	if d.Rows == 0 || e.Rows == 0 {
		return 1 / max(1, d.Values, e.Values)
	}
	all := d.Rows * e.Rows
	d, e = d.within(e.Low, e.High), e.within(d.Low, d.High)
	there := map[string]float64{}
	for _, f := range e.Common {
		there[strings.ToLower(f.Value)] = f.Rows
	}
	pairs, matches, mine, theirs := 0.0, 0.0, 0.0, 0.0
	for _, f := range d.Common {
		if n, ok := there[strings.ToLower(f.Value)]; ok {
			pairs += f.Rows * n
			mine, theirs, matches = mine+f.Rows, theirs+n, matches+1
		}
	}
	// one is what the rows without a match make with the other side's.
	one := func(d, e Distinct, matched, matchedThere float64) float64 {
		common, values := d.common()
		commonThere, valuesThere := e.common()
		rest := max(0, e.Rows-e.Nulls-commonThere)
		sum := 0.0
		if n := float64(len(e.Common)); valuesThere > n {
			sum += (common - matched) * rest / (valuesThere - n)
		}
		if valuesThere > matches && values > float64(len(d.Common)) {
			sum += max(0, d.Rows-d.Nulls-common) * (e.Rows - e.Nulls - matchedThere) / (valuesThere - matches)
		}
		return sum
	}
	pairs += min(one(d, e, mine, theirs), one(e, d, theirs, mine))
	return pairs / all
}

// within is what is left of the values from low to high.
func (d Distinct) within(low, high float64) Distinct {
	if d.Low >= d.High || low >= high {
		return d
	}
	common, values := d.common()
	share := max(0, min(high, d.High)-max(low, d.Low)+1) / (d.High - d.Low + 1)
	out := Distinct{Values: share * max(0, values-float64(len(d.Common))), Rows: share * max(0, d.Rows-d.Nulls-common)}
	for _, f := range d.Common {
		if v, err := strconv.ParseFloat(f.Value, 64); err != nil || low <= v && v <= high {
			out.Common = append(out.Common, f)
			out.Rows += f.Rows
			out.Values++
		}
	}
	return out
}

// common tells how many rows have common values, and how many values there
// are but for NULL.
func (d Distinct) common() (rows, values float64) {
	for _, f := range d.Common {
		rows += f.Rows
	}
	if values = d.Values; d.Nulls > 0 {
		values--
	}
	return rows, values
}

// estimate is a number of rows and its 95 % confidence interval.
type estimate struct {
	Rows, Low, High float64
}

// sampled is the number of rows in the clusters.
func (c *Counts) sampled() int64 {
	n := int64(0)
	for _, cl := range c.Clusters {
		for _, cell := range cl {
			n += cell.Rows
		}
	}
	return n
}

// hits counts the rows of the clusters that meet all predicates in mask.
func (c *Counts) hits(mask uint64) int64 {
	n := int64(0)
	for _, cl := range c.Clusters {
		n += cl.hits(mask)
	}
	return n
}

func (cl Cluster) hits(mask uint64) int64 {
	n := int64(0)
	for _, cell := range cl {
		if cell.Met&mask == mask {
			n += cell.Rows
		}
	}
	return n
}

// rows estimates how many rows of the table meet all predicates in mask. Where
// a sample holds none, they are taken for independent, and for at most half a
// row of the sample.
func (c *Counts) rows(mask uint64) float64 {
	hits, n := float64(c.hits(mask)), float64(c.sampled())
	w := c.exact(mask)
	switch {
	case w != nil:
		return float64(w.rows.hits(mask))
	case !c.Sampled:
		return hits
	case n == 0:
		return 0
	case hits == 0:
		hits = min(0.5, c.independent(mask)*n)
	}
	return hits / n * c.Rows
}

// independent is the share of rows that would meet all predicates in mask if
// these did not depend on each other.
func (c *Counts) independent(mask uint64) float64 {
	n, share := float64(c.sampled()), 1.0
	for i := range MaxPredicates {
		if mask>>i&1 == 0 {
			continue
		}
		one := max(0.5, float64(c.hits(1<<i))) / n
		if r, ok := c.rare[i]; ok {
			one = min(one, r)
		}
		share *= one
	}
	return share
}

// estimate is rows with a confidence interval. Rows of one cluster resemble
// each other, so that the variance is taken between clusters (ratio estimator
// of cluster sampling; Cochran, Sampling Techniques, 1977, §9A), and Wilson's
// interval for independent rows is the least that is believed. No hit among n
// rows leaves up to 3/n of the table (the rule of three).
func (c *Counts) estimate(mask uint64) estimate {
	r := c.rows(mask)
	if !c.Sampled || c.exact(mask) != nil {
		return estimate{r, r, r}
	}
	n := float64(c.sampled())
	if n == 0 {
		return estimate{0, 0, c.Rows}
	}
	hits := float64(c.hits(mask))
	if hits == 0 {
		return estimate{r, 0, min(1, 3/n) * c.Rows}
	}
	q := hits / n
	const z = 1.96
	center := (q + z*z/(2*n)) / (1 + z*z/n)
	half := z * math.Sqrt(q*(1-q)/n+z*z/(4*n*n)) / (1 + z*z/n)
	k := float64(len(c.Clusters))
	if k > 1 {
		mean := n / k
		sum := 0.0
		for _, cl := range c.Clusters {
			size := float64(cl.hits(0))
			d := (float64(cl.hits(mask)) - q*size) / mean
			sum += d * d
		}
		se := math.Sqrt(sum / (k - 1) / k)
		// Student's t grows over z where there are few clusters.
		half = max(half, z*(1+2.5/k)*se)
	}
	return estimate{r, max(0, center-half) * c.Rows, min(1, center+half) * c.Rows}
}

// Round is one step of choosing columns: how many of the rows that meet Where
// meet each of the other conditions.
//
// The method is Baron Schwartz's, "A rule of thumb for choosing column order
// in indexes" (2009): wrap each condition in SUM(), move the one that matches
// the fewest rows into the WHERE clause, and count the others again inside
// that subset. A condition that filters nothing more is left out.
type Round struct {
	Where  []string // the conditions chosen before
	Rows   int64    // rows that meet them
	Counts []Count
	Why    string // why one was chosen, or none
}

// Count is how many rows meet a condition within a round.
type Count struct {
	Predicate string
	Rows      int64
	Chosen    bool
	Low, High int64 // 95 % confidence interval; Rows where all rows were counted
}

// Rounds prints as the counts that Schwartz's article shows.
type Rounds []Round

func (rs Rounds) String() string {
	var b strings.Builder
	for i, r := range rs {
		if len(r.Where) == 0 {
			fmt.Fprintf(&b, "Round %d: of all %s\n", i+1, amount(int(r.Rows), "row"))
		} else {
			fmt.Fprintf(&b, "Round %d: of the %s WHERE %s\n", i+1, amount(int(r.Rows), "row"), strings.Join(r.Where, " AND "))
		}
		for _, c := range r.Counts {
			mark, spread := " ", ""
			if c.Chosen {
				mark = "*"
			}
			if c.Low != c.High {
				spread = fmt.Sprintf("  (%d to %d)", c.Low, c.High)
			}
			fmt.Fprintf(&b, "  %s %10d  SUM(%s)%s\n", mark, c.Rows, c.Predicate, spread)
		}
		fmt.Fprintf(&b, "  %s\n", r.Why)
	}
	return b.String()
}

// filtersNoMore is the share of rows that a condition must leave to be
// worth a column: one that keeps more filters nothing.
const filtersNoMore = 0.8

// rounds plays the rounds over counted predicates. candidates are the bits
// that may be chosen; better breaks ties between counts that a sample cannot
// tell apart. It returns the chosen bits in order.
func rounds(c *Counts, preds []*Predicate, candidates []int, better func(i, j int) bool) (Rounds, []int) {
	var rs Rounds
	var order []int
	left := slices.Clone(candidates)
	where := uint64(0)
	var texts []string
	for len(left) > 0 {
		here := c.estimate(where)
		r := Round{Where: slices.Clone(texts), Rows: int64(math.Round(here.Rows))}
		best, tie := -1, false
		est := map[int]estimate{}
		for _, i := range left {
			e := c.estimate(where | 1<<i)
			est[i] = e
			r.Counts = append(r.Counts, Count{Predicate: preds[i].Text, Rows: int64(math.Round(e.Rows)), Low: int64(e.Low), High: int64(math.Ceil(e.High))})
			switch {
			case best < 0:
				best = i
			case e.Low < e.High && e.Low <= est[best].High && est[best].Low <= e.High:
				tie = true
				if better(i, best) {
					best = i
				}
			case e.Rows < est[best].Rows, e.Rows == est[best].Rows && better(i, best):
				best = i
			}
		}
		e := est[best]
		n := len(r.Counts)
		chosen := slices.Index(left, best)
		stop := true
		switch {
		case here.Rows == 0:
			r.Why = "No row is left: nothing can filter more."
		case here.Rows <= 1:
			r.Why = "A single row is left: nothing needs to filter more."
		case e.Rows > filtersNoMore*here.Rows:
			r.Why = fmt.Sprintf("The best of them keeps %d of %d rows: no condition filters more, so none becomes a column.", r.Counts[chosen].Rows, r.Rows)
		default:
			stop = false
			r.Counts[chosen].Chosen = true
			r.Why = fmt.Sprintf("%s matches the fewest rows and is next.", preds[best].Text)
			if n == 1 {
				r.Why = fmt.Sprintf("%s is the only one left, and filters.", preds[best].Text)
			} else if tie {
				r.Why = fmt.Sprintf("%s is next; the sample does not tell it apart from others with certainty.", preds[best].Text)
			}
			order = append(order, best)
			texts = append(texts, preds[best].Text)
			where |= 1 << best
			left = slices.Delete(slices.Clone(left), chosen, chosen+1)
		}
		rs = append(rs, r)
		if stop {
			break
		}
	}
	return rs, order
}

func bitCount(m uint64) int { return bits.OnesCount64(m) }
