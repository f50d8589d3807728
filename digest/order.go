package digest

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// An Order ranks classes by a number, the largest first. The zero value is
// ByTotalTime.
type Order struct {
	name     string
	value    func(c *Class) float64
	atLeast  uint64
	hist     Measure // of which value asks the histogram, QueryTime if it asks none
	quantile float64 // by which it ranks, 0 if by none
}

// Orders by what needs no argument.
var (
	ByTotalTime Order
	ByCount     = Order{name: "count", value: func(c *Class) float64 { return c.Count }}
	ByErrors    = Order{name: "errors", value: (*Class).ErrorCount}
	// ByScatter ranks by the variance-to-mean ratio of the query times.
	ByScatter = Order{name: "scatter", value: func(c *Class) float64 { return c.QueryTime.VarianceToMean() }}
)

// ByQuantile ranks by a quantile of the query time, q from 0 to 1: 0.99 is p99. It
// panics if q is anything else. Consider WithMinCount: a class of one slow
// statement has slow quantiles.
func ByQuantile(q float64) Order {
	mustQuantile(q)
	return Order{name: quantileName(q), quantile: q, value: func(c *Class) float64 { return float64(c.QueryTime.h.Quantile(q)) }}
}

func quantileName(q float64) string { return "p" + strconv.FormatFloat(q*100, 'g', 10, 64) }

// A Stat is a number that a Summary has.
type Stat uint8

const (
	Sum Stat = iota
	Mean
	Min
	Max
)

func (s Stat) String() string { return [...]string{"sum", "avg", "min", "max"}[s] }

// ByStat ranks by a number of any measure.
func ByStat(m Measure, s Stat) Order {
	return Order{name: strings.ToLower(m.String()) + ":" + s.String(), value: func(c *Class) float64 {
		switch sum := c.Summary(m); s {
		case Mean:
			return sum.Mean()
		case Min:
			return float64(sum.Min())
		case Max:
			return float64(sum.Max())
		default:
			return sum.Sum()
		}
	}}
}

// ByMeasureQuantile ranks by a quantile, from 0 to 1, of a measure that has a
// histogram. Classes without one come last; see Order.Histogram. It panics where
// ByQuantile does.
func ByMeasureQuantile(m Measure, q float64) Order {
	mustQuantile(q)
	return Order{name: strings.ToLower(m.String()) + ":" + quantileName(q), hist: m, quantile: q, value: func(c *Class) float64 {
		return float64(c.Histogram(m).Quantile(q))
	}}
}

// Histogram returns the measure whose histogram the order asks and that classes
// have only on request, by Options.Histograms. It is not ok if there is none.
func (o Order) Histogram() (m Measure, ok bool) { return o.hist, !o.hist.inEveryClass() }

// AtLeast returns the order in which the classes of fewer than n events come
// behind all others.
func (o Order) AtLeast(n uint64) Order {
	o.atLeast = n
	return o
}

// WithMinCount returns the order with AtLeast the MinCount of the quantile by
// which it ranks. Orders by anything else stay as they are.
func (o Order) WithMinCount() Order {
	if o.quantile > 0 {
		return o.AtLeast(MinCount(o.quantile))
	}
	return o
}

// MinCount returns how many events a class should have before it is ranked by
// its q-quantile: as many as it takes for the quantile to be another value than
// the largest, but not more than 1000.
func MinCount(q float64) uint64 {
	mustQuantile(q)
	if q == 0 || q == 1 {
		return 1
	}
	return uint64(min(math.Ceil(1/(1-q)-1e-9), 1000))
}

// Value returns the number that a class is ranked by; time spans in nanoseconds.
func (o Order) Value(c *Class) float64 {
	if o.value == nil {
		return c.QueryTime.h.Sum()
	}
	return o.value(c)
}

// String returns the name that ParseOrder reads.
func (o Order) String() string {
	if o.value == nil {
		return "total"
	}
	return o.name
}

// ParseOrder reads the name of an order: total, count, errors, scatter; avg, min,
// max, or p and a percentage (p95, p99.9) of the query time; the name that logs
// give to a measure (rows_examined) for its sum, or that with ":" and sum, avg,
// min, max or a percentile.
func ParseOrder(s string) (Order, error) {
	name := strings.ToLower(strings.TrimSpace(s))
	switch name {
	case "total":
		return ByTotalTime, nil
	case "count":
		return ByCount, nil
	case "errors":
		return ByErrors, nil
	case "scatter":
		return ByScatter, nil
	}
	measure, stat, ofMeasure := strings.Cut(name, ":")
	m, known := ParseMeasure(measure)
	switch {
	case known && !ofMeasure:
		return ByStat(m, Sum), nil
	case !known && ofMeasure:
		return Order{}, fmt.Errorf("digest: no order %q: no measure is called %q", s, measure)
	case !known:
		m, stat = QueryTime, name
	}
	for st := Sum; st <= Max; st++ {
		if st.String() == stat && (ofMeasure || st != Sum) {
			o := ByStat(m, st)
			if !ofMeasure {
				o.name = name
			}
			return o, nil
		}
	}
	if percent, ok := strings.CutPrefix(stat, "p"); ok {
		if p, err := strconv.ParseFloat(percent, 64); err == nil && p >= 0 && p <= 100 {
			if !ofMeasure {
				return ByQuantile(p / 100), nil
			}
			return ByMeasureQuantile(m, p/100), nil
		}
	}
	return Order{}, fmt.Errorf("digest: no order %q: want total, count, errors, scatter, avg, min, max, a percentile such as p95, or a measure such as rows_examined or rows_sent:avg", s)
}
