// Package goal holds requests against their response-time goals, and says of those
// that miss where their time went and what would bring them back.
//
// The method is Peter Zaitsev's, of "Goal driven performance optimization"
// (Percona blog, 2008, and his talk of that name, 2010). A goal is about an
// interaction and a percentile: 95 % of the search pages in less than a second.
// Looked at are only the requests that miss it, for over all requests the picture
// is another one. A request's wall time is the sum of its processor time, its
// waits for each component, and a rest that nobody instrumented, the lost time. A
// component that takes a tenth of the time of the missing requests can win no more
// than a tenth; one that takes half can win half.
//
//	goals, err := goal.Parse("search:p95<1s,p99<3s")
//	if err != nil {
//		return err
//	}
//	an := goal.NewAnalysis(goals)
//	for req, err := range requestlog.NewReader(f).All() {
//		if err != nil {
//			return err
//		}
//		an.Add(req)
//	}
//	for _, v := range an.Verdicts() {
//		fmt.Println(v.Goal, v.State, v.Missing, v.Breakdown)
//	}
//
// Slow log events given to AddQuery are joined to the missing requests by the
// request's or the trace's id in a comment of the statement: the last step down,
// from the component to the query class.
package goal
