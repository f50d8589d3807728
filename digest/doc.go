// Package digest turns the events of a query log into a profile of the workload:
// statements that differ only in their literals are one class, and a class knows
// how often it ran, how long it took, and what it read.
//
//	var agg digest.Aggregator
//	for ev, err := range slowlog.NewReader(f).All() {
//		if err != nil {
//			return err
//		}
//		agg.Add(ev)
//	}
//	for _, c := range agg.Profile().Top(10, digest.ByTotalTime) {
//		fmt.Println(c.ID, c.Count, c.QueryTime.Sum(), c.QueryTime.Quantile(.95), c.Fingerprint)
//	}
//
// A Fingerprinter says which class a statement belongs to, and what else its
// text tells. An Aggregator adds events up to a Profile, a Collector does so for
// many goroutines in windows of bounded size. Profiles merge, are saved and read,
// and are compared by Compare.
//
// # Weights
//
// An event of a sampled log stands for several statements: it has a weight. Counts,
// sums, means and quantiles are all of the statements that the events stand for;
// Observed is the number of events, CountError the standard error of a count.
//
// # Exactness
//
// Sums are integers and weights are fixed-point numbers, so that profiles of parts
// merge, in any order, to the profile of the whole, bit for bit. Quantiles are
// within 1 % of the exact ones, and exact below 128. Where a limit was reached (on
// classes, or on the distinct users, hosts, schemas, routines and error numbers of
// a class) totals are exact still, but what found room depends on the order.
//
// What a log left out is in no number: see Profile.Threshold.
package digest
