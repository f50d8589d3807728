package goal

import (
	"math"
	"time"

	"github.com/quern-dev/quern/internal/fixed"
)

// float returns a sum of something times weight, in ones.
func float(x fixed.U128) float64 { return x.Float64() / fixed.One }

// duration returns a sum of nanoseconds times weight; above 292 years it stays there.
func duration(x fixed.U128) time.Duration { return time.Duration(x.RoundedInt64()) }

// A count counts weighted requests.
type count struct {
	observed uint64
	units    uint64     // sum of weights
	squares  fixed.U128 // sum of squared weights, in units of units
}

func (c *count) add(w uint64) {
	c.observed++
	c.units += w
	c.squares.AddMul(w, w)
}

func (c *count) merge(o *count) {
	c.observed += o.observed
	c.units += o.units
	c.squares.Add(o.squares)
}

// weight is the number of requests that those observed stand for.
func (c *count) weight() float64 { return fixed.Float(c.units) }

// spread is the estimated variance of weight where a request of weight w was kept
// with probability 1/w: the sum of w(w-1) (Horvitz and Thompson, 1952).
func (c *count) spread() float64 {
	return max(0, c.squares.Float64()/(fixed.One*fixed.One)-c.weight())
}

// z is the normal quantile of a two-sided interval of 95 %.
const z = 1.959964

// wilson returns the score interval of a share p seen in n independent trials
// (E. B. Wilson, 1927), which holds for shares near 0 and 1 too.
func wilson(p, n, z float64) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	z2 := z * z
	centre := (p + z2/(2*n)) / (1 + z2/n)
	half := z / (1 + z2/n) * math.Sqrt(p*(1-p)/n+z2/(4*n*n))
	return max(0, min(p, centre-half)), min(1, max(p, centre+half))
}

// shareInterval returns the share that part has of all, and the interval of 95 %
// that sampling leaves for the share among all requests, logged or not. Where
// every request was logged there is nothing to estimate: the interval is the share.
func shareInterval(part, all *count) (p, low, high float64) {
	if all.units == 0 {
		return 0, 0, 1
	}
	total, spread := all.weight(), all.spread()
	p = part.weight() / total
	if spread <= 0 {
		return p, p, p
	}
	// The variance of a ratio under Poisson sampling, by linearisation; requests
	// of different weights count for what they are.
	rest := max(0, spread-part.spread())
	n := total * total / spread
	if variance := ((1-p)*(1-p)*part.spread() + p*p*rest) / (total * total); variance > 0 && p > 0 && p < 1 {
		n = p * (1 - p) / variance
	}
	low, high = wilson(p, n, z)
	half := 1 / (2 * n) // shares come in steps of one request
	return p, max(0, low-half), min(1, high+half)
}

// quantileInterval returns the shares between which the q-quantile of all requests
// lies in the sample (R. S. Woodruff, 1952): the share of the sample below it is q
// give or take its standard error, and the step of one request.
func quantileInterval(q float64, all *count) (low, high float64) {
	spread := all.spread()
	if spread <= 0 {
		return q, q
	}
	n := all.weight() * all.weight() / spread
	half := z*math.Sqrt(q*(1-q)/n) + 1/n
	return max(0, q-half), min(1, q+half)
}
