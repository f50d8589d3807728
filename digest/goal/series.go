package goal

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/slowlog/requestlog"
)

// maxIntervals bounds a series: a week of 5 minutes.
const maxIntervals = 2016

// A Point is one interval of a time series.
type Point struct {
	Start     time.Time
	Requests  float64
	Attained  time.Duration // the goal's percentile
	Median    time.Duration
	Missing   Missing
	Breakdown Breakdown // of the missing requests
	All       Breakdown
}

// A Hiccup is a run of intervals in which far more requests miss the goal than
// usual: an application performs as well as in its worst times.
type Hiccup struct {
	From, To time.Time
	Requests float64
	Missing  Missing
	Usual    float64 // the median share of missing requests of all intervals

	// Component is the part of the time that rose most, by Rise per request
	// above its mean in the other intervals; Page is the page that has the most
	// missing requests beyond its usual share.
	Component string
	Rise      time.Duration
	Page      string

	// Statement is the query class that no request asked for and that ran for the
	// most of the hiccup, such as a job's, and StatementTime the time that it took.
	// It is zero if the slow log has none that ran for a fifth of the hiccup.
	Statement     digest.ID
	Fingerprint   string
	StatementTime time.Duration

	// Every is an hour or a day if hiccups come back at the same minute of most
	// hours, or at the same time on most days; else 0.
	Every time.Duration
}

// A series adds up requests by time.
type series struct {
	base  time.Duration
	level uint // intervals are base << level long
	slots map[int64]*slot
}

type slot struct {
	group
	pages map[string]*pageCount
}

type pageCount struct {
	all     count
	missing []count
}

func (s *series) length() time.Duration { return s.base << s.level }

func (s *series) add(r *requestlog.Request, w uint64, limits []*limit, base time.Duration, maxPages int) {
	if r.Time.IsZero() || r.Flags&requestlog.AbsurdTime != 0 {
		return
	}
	if s.slots == nil {
		s.slots = make(map[int64]*slot)
		if s.base = base; base <= 0 {
			s.base = 5 * time.Minute
		}
	}
	at := floorDiv(r.Time.UnixNano(), int64(s.length()))
	sl := s.slots[at]
	if sl == nil {
		sl = &slot{pages: make(map[string]*pageCount)}
		s.slots[at] = sl
	}
	sl.group.add(r, w, limits)
	p := sl.page(r.Page, len(limits), maxPages)
	p.all.add(w)
	for i, l := range limits {
		if r.Wall >= l.goal.Limit {
			p.missing[i].add(w)
		}
	}
	s.bound(maxPages)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func (sl *slot) page(name string, limits, most int) *pageCount {
	p := sl.pages[name]
	if p == nil {
		if len(sl.pages) >= most {
			name = OtherName
			if p = sl.pages[name]; p != nil {
				return p
			}
		}
		p = &pageCount{missing: make([]count, limits)}
		sl.pages[strings.Clone(name)] = p
	}
	return p
}

func (sl *slot) merge(o *slot, maxPages int) {
	sl.group.merge(&o.group)
	for name, op := range o.pages {
		p := sl.page(name, len(op.missing), maxPages)
		p.all.merge(&op.all)
		for i := range op.missing {
			p.missing[i].merge(&op.missing[i])
		}
	}
}

// bound doubles the intervals until there are few enough.
func (s *series) bound(maxPages int) {
	for len(s.slots) > maxIntervals {
		s.coarsen(maxPages)
	}
}

func (s *series) coarsen(maxPages int) {
	s.level++
	old := s.slots
	s.slots = make(map[int64]*slot, len(old)/2+1)
	for at, sl := range old {
		s.put(floorDiv(at, 2), sl, maxPages)
	}
}

func (s *series) put(at int64, sl *slot, maxPages int) {
	if have := s.slots[at]; have != nil {
		have.merge(sl, maxPages)
	} else {
		s.slots[at] = sl
	}
}

func (s *series) merge(o *series, maxPages int) {
	if o.slots == nil {
		return
	}
	if s.slots == nil {
		*s = *o
		return
	}
	for s.level < o.level {
		s.coarsen(maxPages)
	}
	for o.level < s.level {
		o.coarsen(maxPages)
	}
	for at, sl := range o.slots {
		s.put(at, sl, maxPages)
	}
	s.bound(maxPages)
}

func (s *series) order() []int64 {
	keys := make([]int64, 0, len(s.slots))
	for at := range s.slots {
		keys = append(keys, at)
	}
	slices.Sort(keys)
	return keys
}

func (s *series) start(at int64) time.Time { return time.Unix(0, at*int64(s.length())).UTC() }

func (s *series) points(limit int, g Goal) []Point {
	points := make([]Point, 0, len(s.slots))
	for _, at := range s.order() {
		sl := s.slots[at]
		points = append(points, Point{
			Start: s.start(at), Requests: sl.all.weight(), Attained: sl.walls.Quantile(g.quantile()), Median: sl.walls.Quantile(.5),
			Missing: missingOf(&sl.missing[limit].count, &sl.all.count), Breakdown: sl.missing[limit].view(), All: sl.all.view(),
		})
	}
	return points
}

// hiccups names the intervals whose share of missing requests is beyond doubt more
// than the goal allows and more than twice the usual.
func (s *series) hiccups(limit int, g Goal) []Hiccup {
	const (
		few   = 3   // missing requests that make no hiccup yet
		doubt = 3.3 // standard errors: of 2016 quiet intervals one would stand out
		gap   = 3   // intervals within which a run goes on though nothing came in between
	)
	order := s.order()
	shares := make([]float64, len(order))
	for i, at := range order {
		shares[i], _, _ = shareInterval(&s.slots[at].missing[limit].count, &s.slots[at].all.count)
	}
	usual := median(shares)
	var list []Hiccup
	var run, total *excerpt
	end := func() {
		if run == nil {
			return
		}
		if total == nil {
			total = new(excerpt)
			for _, sl := range s.slots {
				total.add(sl, limit)
			}
		}
		list[len(list)-1].explain(run, total)
		run = nil
	}
	var doubtful []*slot // slots behind the run that are worse than usual, but of too few requests to tell
	for i, at := range order {
		sl := s.slots[at]
		worse := max(2*usual, g.allowed())
		n := float64(sl.all.observed)
		low, _ := wilson(float64(sl.missing[limit].observed)/n, n, doubt)
		if run != nil && order[i-1]+gap < at {
			end()
			doubtful = nil
		}
		if sl.missing[limit].observed <= few || low <= worse {
			if doubtful = append(doubtful, sl); shares[i] <= worse {
				end()
				doubtful = nil
			}
			continue
		}
		if run == nil {
			list = append(list, Hiccup{From: s.start(at), Usual: usual})
			run = new(excerpt)
			doubtful = nil
		}
		for _, d := range append(doubtful, sl) {
			run.add(d, limit)
		}
		doubtful = nil
		list[len(list)-1].To = s.start(at + 1)
	}
	end()
	recurrence(list, order, s)
	return list
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// An excerpt adds up what some slots have of one limit.
type excerpt struct {
	all     breakdown
	missing count
	pages   map[string]*pageShare
}

type pageShare struct{ all, missing float64 }

func (e *excerpt) add(sl *slot, limit int) {
	e.all.merge(&sl.all)
	e.missing.merge(&sl.missing[limit].count)
	if e.pages == nil {
		e.pages = make(map[string]*pageShare)
	}
	for name, p := range sl.pages {
		s := e.pages[name]
		if s == nil {
			s = new(pageShare)
			e.pages[name] = s
		}
		s.all += p.all.weight()
		s.missing += p.missing[limit].weight()
	}
}

// explain says what rose in the run of intervals against all others.
func (h *Hiccup) explain(run, total *excerpt) {
	h.Requests = run.all.weight()
	h.Missing = missingOf(&run.missing, &run.all.count)
	others := total.all.weight() - run.all.weight()
	names := []string{CPU, Lost}
	for name := range run.all.parts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		before := 0.0
		if others > 0 {
			before = (total.all.sum(name) - run.all.sum(name)) / others
		}
		if rise := time.Duration(run.all.sum(name)/run.all.weight() - before); rise > h.Rise {
			h.Component, h.Rise = name, rise
		}
	}
	most := 0.0
	for _, name := range slices.Sorted(maps.Keys(run.pages)) {
		p, t := run.pages[name], total.pages[name]
		usual := 0.0
		if n := t.all - p.all; n > 0 {
			usual = (t.missing - p.missing) / n
		}
		if excess := p.missing - usual*p.all; excess > most {
			h.Page, most = name, excess
		}
	}
}

// recurrence marks the hiccups that come back every hour or every day.
func recurrence(list []Hiccup, order []int64, s *series) {
	if len(order) == 0 {
		return
	}
	whole := s.start(order[len(order)-1] + 1).Sub(s.start(order[0]))
	for _, every := range [...]time.Duration{time.Hour, 24 * time.Hour} {
		if s.length() > every/4 || whole < 2*every {
			continue
		}
		// Starts within one interval of each other are at the same time.
		for i := range list {
			if list[i].Every != 0 {
				continue
			}
			phase := list[i].From.UnixNano() % int64(every)
			periods := make(map[int64]bool)
			var same []int
			for j := range list {
				d := (list[j].From.UnixNano()%int64(every) - phase + int64(every)) % int64(every)
				if d <= int64(s.length()) || int64(every)-d <= int64(s.length()) {
					periods[floorDiv(list[j].From.UnixNano()+int64(s.length()), int64(every))] = true
					same = append(same, j)
				}
			}
			if n := len(periods); n >= 2 && n*int(every) >= int(whole)/2 {
				for _, j := range same {
					list[j].Every = cmp.Or(list[j].Every, every)
				}
			}
		}
	}
}
