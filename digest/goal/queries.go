package goal

import (
	"cmp"
	"slices"
	"time"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/internal/fixed"
)

// Queries says what the requests that miss a goal did in the database, by the slow
// log of the same time. All numbers of requests and times are weighted.
type Queries struct {
	// Requests is the number of missing requests; Joined of them found queries in
	// the slow log, Weak of those by connection and time alone, which may mistake
	// one request for another where the log has whole seconds. NoKey had neither
	// an id nor a connection to be found by. NotFollowed were left out to bound
	// the memory: the figures below are of a fair sample then.
	Requests, Joined, Weak, NoKey, NotFollowed float64

	Logged uint64 // statements in the slow log
	Tagged uint64 // of them, those with an id in a comment

	PerRequest float64       // queries per joined request
	Time       time.Duration // in the queries of the joined requests
	Wall       time.Duration // of the joined requests

	// Wait is the joined requests' own measure of their wait for the database,
	// and Unexplained the part of it that no logged query accounts for: queries
	// below the log's threshold, the network, the driver, the connect. Where the
	// requests do not measure their wait, both are 0.
	Wait, Unexplained time.Duration

	Classes []QueryClass // the one with the most time first
}

// RepeatedCalls is the mean number of runs of one query class within a request from
// which on the class is called repeated: most often a query in a loop (N+1).
const RepeatedCalls = 5

// A QueryClass is the part that one query class has in the missing requests.
type QueryClass struct {
	ID          digest.ID
	Fingerprint string // empty beyond the bound on fingerprints

	Time       time.Duration
	Share      float64 // of the time in queries
	WallShare  float64 // of the wall time of the joined requests
	Requests   float64 // joined requests that ran it
	PerRequest float64 // runs in each of those
	Most       float64 // runs in the request that had the most
	Repeated   bool    // see RepeatedCalls
}

// queries sums up the missing requests of one goal.
func (j *join) queries(goal int, o *JoinOptions) *Queries {
	if j.total == 0 {
		return nil
	}
	v := &Queries{Logged: j.total, Tagged: j.tagged, NoKey: weightOf(j.noKey, goal), NotFollowed: weightOf(j.dropped, goal)}
	type use struct {
		time     fixed.U128
		runs     fixed.U128 // weight of the query times weight of the request
		requests count
		most     uint64
	}
	classes := make(map[digest.ID]*use)
	var followed, joined, weak count
	var runs, took, wall, wait, unexplained fixed.U128
	seen := make(map[*missed]bool)
	for _, e := range j.entries {
		for _, m := range e.requests {
			if seen[m] || m.dropped || !slices.Contains(m.goals, goal) {
				continue
			}
			seen[m] = true
			followed.add(m.weight)
			if m.count == 0 {
				continue
			}
			joined.add(m.weight)
			if m.weak {
				weak.add(m.weight)
			}
			mine := duration(m.time)
			runs.AddMul(m.count, m.weight)
			took.AddMul(uint64(mine), m.weight)
			wall.AddMul(uint64(m.wall), m.weight)
			wait.AddMul(uint64(m.wait), m.weight)
			unexplained.AddMul(uint64(max(0, m.wait-mine)), m.weight)
			for i := range m.classes {
				c := &m.classes[i]
				u := classes[c.id]
				if u == nil {
					u = new(use)
					classes[c.id] = u
				}
				u.time.AddMul(uint64(duration(c.time)), m.weight)
				u.runs.AddMul(c.count, m.weight)
				u.requests.add(m.weight)
				u.most = max(u.most, c.count)
			}
		}
	}
	v.Joined, v.Weak = joined.weight(), weak.weight()
	v.Requests = followed.weight() + v.NoKey + v.NotFollowed
	v.Time, v.Wall, v.Wait, v.Unexplained = duration(took), duration(wall), duration(wait), duration(unexplained)
	if v.Joined > 0 {
		v.PerRequest = float(runs) / fixed.One / v.Joined
	}
	for id, u := range classes {
		c := QueryClass{ID: id, Fingerprint: j.classes[id], Time: duration(u.time), Requests: u.requests.weight(), Most: fixed.Float(u.most)}
		c.PerRequest = float(u.runs) / fixed.One / c.Requests
		c.Repeated = c.PerRequest >= RepeatedCalls
		if v.Time > 0 {
			c.Share = float64(c.Time) / float64(v.Time)
		}
		if v.Wall > 0 {
			c.WallShare = float64(c.Time) / float64(v.Wall)
		}
		v.Classes = append(v.Classes, c)
	}
	slices.SortFunc(v.Classes, func(a, b QueryClass) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	return v
}

func weightOf(counts map[int]*count, goal int) float64 {
	if c := counts[goal]; c != nil {
		return c.weight()
	}
	return 0
}
