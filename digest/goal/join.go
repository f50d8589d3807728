package goal

import (
	"bytes"
	"cmp"
	"container/heap"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/internal/fixed"
	"github.com/quern-dev/quern/slowlog"
	"github.com/quern-dev/quern/slowlog/requestlog"
)

// JoinOptions say how the queries of a slow log are joined to requests.
type JoinOptions struct {
	// Keys are the names of the tags in a statement's comments that hold the
	// request's id or the trace's, in their order of preference. nil means
	// DefaultKeys.
	Keys []string

	// Component is the component whose wait the queries explain. "" means the
	// first of mysql, mariadb, db, sql and database that a request has.
	Component string

	// TimeIsStart says that the request log's time is the start of a request;
	// else it is its end, as most servers write it. It matters where queries are
	// joined by connection and time.
	TimeIsStart bool

	// MaxHeld bounds the missing requests and the unmatched queries that are held
	// in memory. Beyond it only the requests whose ids have the lowest hashes are
	// followed: a fair sample, and the same in whatever order the logs are read.
	// 0 means 200,000.
	MaxHeld int
}

// DefaultKeys are the tags that are looked at for a request's id.
var DefaultKeys = []string{"request_id", "requestid", "req_id", "reqid", "rid", "x-request-id", "x_request_id",
	"correlation_id", "trace_id", "traceid", "traceparent", "id"}

// A join holds what is needed to bring together missing requests and queries,
// whichever come first. Both are kept under a key: the id that they share, or a
// connection and minute.
type join struct {
	entries map[string]*entry
	held    int // requests and pending queries in entries

	heaps [3]entryHeap // of entries by kind

	// Queries whose key hashes above looseLimit may have been dropped; 0 means
	// none were.
	looseLimit uint64
	dropped    map[int]*count // missing requests dropped, by goal
	noKey      map[int]*count // missing requests without id and connection

	long    []query              // the longest statements of no request, in the order of compareLong
	classes map[digest.ID]string // fingerprints
	fp      digest.Fingerprinter
	scratch []byte
	key     []byte

	total, tagged uint64 // queries
}

type entry struct {
	key      string
	hash     uint64
	requests []*missed
	main     int // of requests, those that have no better key
	pending  []query
	queued   [3]bool // in that heap
	gone     bool
}

// The kinds of entries.
const (
	loose = iota // without a request
	spare        // its requests have a better key
	bound
)

func (e *entry) kind() int {
	switch {
	case e.main > 0:
		return bound
	case len(e.requests) > 0:
		return spare
	}
	return loose
}

// A missed request, with the queries found for it so far.
type missed struct {
	goals    []int
	weight   uint64
	from, to time.Time // when its queries can have run, for joining by connection
	wall     time.Duration
	wait     time.Duration // its own wait for the database
	dropped  bool          // to bound the memory
	weak     bool          // has queries joined by connection and time

	count   uint64 // of queries, in units of fixed.One
	time    fixed.U128
	classes []classUse
}

type classUse struct {
	id    digest.ID
	count uint64
	time  fixed.U128
}

type query struct {
	id     digest.ID
	end    time.Time // whole seconds if the log has no finer times
	took   time.Duration
	weight uint64
}

// Bounds beside JoinOptions.MaxHeld.
const (
	maxRequestClasses = 256    // query classes told apart in one request
	maxFingerprints   = 20_000 // texts of query classes
	maxPending        = 10_000 // queries of one key that wait for their request
)

// hashOf returns a hash that is the same in every run: the sample that a bound
// leaves is reproducible. It is FNV-1a with a last mixing; 0 stands for none.
func hashOf[T string | []byte](key T) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * 1099511628211
	}
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	h ^= h >> 32
	return h | 1
}

func (o *JoinOptions) maxHeld() int {
	if o.MaxHeld > 0 {
		return o.MaxHeld
	}
	return 200_000
}

// databaseWait returns the request's own measure of its time in the database.
func (o *JoinOptions) databaseWait(r *requestlog.Request) time.Duration {
	names := []string{"mysql", "mariadb", "db", "sql", "database"}
	if o.Component != "" {
		names = []string{o.Component}
	}
	for _, name := range names {
		for i := range r.Waits {
			if r.Waits[i].Component == name {
				return r.Waits[i].Time
			}
		}
	}
	return 0
}

// connKeys calls f with the keys of a connection for each minute of a span of time.
func (j *join) connKeys(conn uint64, from, to time.Time, f func(key []byte)) {
	for m, n := from.Unix()/60, 0; m <= to.Unix()/60 && n < 60; m, n = m+1, n+1 {
		j.key = append(j.key[:0], 0)
		j.key = strconv.AppendUint(j.key, conn, 10)
		j.key = append(j.key, '@')
		j.key = strconv.AppendInt(j.key, m, 10)
		f(j.key)
	}
}

// window returns when the queries of a request can have run. Stamps of whole seconds
// leave a second open.
func (o *JoinOptions) window(r *requestlog.Request) (from, to time.Time) {
	slack := 10 * time.Millisecond
	if r.Time.Nanosecond() == 0 {
		slack = time.Second
	}
	if o.TimeIsStart {
		return r.Time.Add(-slack), r.Time.Add(r.Wall + slack)
	}
	return r.Time.Add(-r.Wall - slack), r.Time.Add(slack)
}

// request takes a request that misses the goals of the given indexes, or none. The
// queries of one that misses none are of no interest.
func (j *join) request(r *requestlog.Request, w uint64, goals []int, o *JoinOptions) {
	if len(goals) == 0 && len(j.heaps[loose]) == 0 {
		return
	}
	var keys, spare []string // without an id the connection is the best there is
	for _, id := range [...]string{r.ID, r.TraceID} {
		if id != "" {
			keys = append(keys, id)
		}
	}
	from, to := o.window(r)
	if r.ConnectionID != 0 && !r.Time.IsZero() {
		j.connKeys(r.ConnectionID, from, to, func(key []byte) { spare = append(spare, string(key)) })
		if len(keys) == 0 {
			keys, spare = spare, nil
		}
	}
	if len(goals) == 0 {
		j.forget(append(keys, spare...), from, to)
		return
	}
	if len(keys) == 0 {
		addCounts(&j.noKey, goals, w)
		return
	}
	for _, key := range keys {
		if j.entries[key] == nil && j.looseLimit != 0 && hashOf(key) >= j.looseLimit {
			addCounts(&j.dropped, goals, w) // its queries may have been dropped already
			return
		}
	}
	m := &missed{goals: goals, weight: w, wall: r.Wall, wait: o.databaseWait(r), from: from, to: to}
	for _, key := range keys {
		j.put(key, m, true)
	}
	for _, key := range spare {
		j.put(key, m, false)
	}
	j.evict(o)
}

// forget drops the pending queries of a request that misses no goal.
func (j *join) forget(keys []string, from, to time.Time) {
	for _, key := range keys {
		e := j.entries[key]
		if e == nil || len(e.requests) > 0 && key[0] != 0 {
			continue
		}
		n := len(e.pending)
		e.pending = slices.DeleteFunc(e.pending, func(q query) bool { return key[0] != 0 || within(q, from, to) })
		j.held -= n - len(e.pending)
		if len(e.pending)+len(e.requests) == 0 {
			j.remove(e)
		}
	}
}

func (j *join) remove(e *entry) {
	j.held -= len(e.pending) + len(e.requests)
	e.gone = true
	delete(j.entries, e.key)
}

// queue puts an entry into the heap of its kind. Entries that are gone, or of another
// kind by now, stay in their heaps until these are cleared of them.
func (j *join) queue(e *entry) {
	kind := e.kind()
	if e.queued[kind] {
		return
	}
	e.queued[kind] = true
	h := &j.heaps[kind]
	heap.Push(h, e)
	if len(*h) > 2*len(j.entries)+1024 {
		*h = slices.DeleteFunc(*h, func(e *entry) bool {
			e.queued[kind] = !e.gone && e.kind() == kind
			return !e.queued[kind]
		})
		heap.Init(h)
	}
}

func addCounts(counts *map[int]*count, goals []int, w uint64) {
	if *counts == nil {
		*counts = make(map[int]*count)
	}
	for _, g := range goals {
		c := (*counts)[g]
		if c == nil {
			c = new(count)
			(*counts)[g] = c
		}
		c.add(w)
	}
}

// within says whether the query can have run in that span of time.
func within(q query, from, to time.Time) bool {
	first, last := q.end, q.end
	if q.end.Nanosecond() == 0 {
		last = last.Add(time.Second)
	}
	if start := from.Add(q.took); first.Before(start) {
		first = start
	}
	if last.After(to) {
		last = to
	}
	return !first.After(last)
}

// put files a missed request under a key, the best that it has or a spare one, and
// gives it the queries that wait there.
func (j *join) put(key string, m *missed, best bool) {
	e := j.entries[key]
	if e == nil {
		e = j.newEntry(key)
	}
	if best {
		e.main++
	}
	e.requests = append(e.requests, m)
	j.held++
	j.queue(e)
	j.settle(e)
}

func (j *join) newEntry(key string) *entry {
	e := &entry{key: strings.Clone(key), hash: hashOf(key)}
	j.entries[e.key] = e
	return e
}

// settle gives the pending queries of an entry to its requests.
func (j *join) settle(e *entry) {
	n := len(e.pending)
	e.pending = slices.DeleteFunc(e.pending, func(q query) bool { return e.give(q) })
	j.held -= n - len(e.pending)
}

// give adds a query to the request that it belongs to, if that is there.
func (e *entry) give(q query) bool {
	byConn := e.key[0] == 0
	for _, m := range e.requests {
		if !byConn || within(q, m.from, m.to) {
			m.weak = m.weak || byConn
			m.add(q)
			return true
		}
	}
	return false
}

func (m *missed) add(q query) {
	m.count += q.weight
	m.time.AddMul(uint64(q.took), q.weight)
	i := slices.IndexFunc(m.classes, func(c classUse) bool { return c.id == q.id })
	if i < 0 {
		if len(m.classes) >= maxRequestClasses {
			return
		}
		i = len(m.classes)
		m.classes = append(m.classes, classUse{id: q.id})
	}
	m.classes[i].count += q.weight
	m.classes[i].time.AddMul(uint64(q.took), q.weight)
}

// AddQuery takes an event of the slow log of the same time. It keeps no memory of
// ev. Requests and queries may come in any order.
func (a *Analysis) AddQuery(ev *slowlog.Event) {
	if ev.Command != "" || ev.Query == "" {
		return
	}
	a.stats.Queries++
	if !ev.Time.IsZero() {
		a.stats.QueryFrom, a.stats.QueryTo = span(a.stats.QueryFrom, a.stats.QueryTo, ev.Time, ev.Time)
	}
	a.join.query(ev, &a.Join)
}

func (j *join) query(ev *slowlog.Event, o *JoinOptions) {
	j.total++
	q := query{end: ev.Time, took: max(0, ev.QueryTime), weight: fixed.Weight(ev.Weight)}
	if q.weight == 0 {
		q.weight = fixed.One
	}
	ids := j.ids(ev.Query, o)
	if len(ids) > 0 {
		j.tagged++
		// One that a request waits under comes before the order of the keys.
		best := ids[0]
		for _, id := range ids {
			if e := j.entries[id]; e != nil && len(e.requests) > 0 {
				best = id
				break
			}
		}
		j.file([]byte(best), q, ev.Query)
	} else if ev.ThreadID != 0 && !ev.Time.IsZero() {
		if q.took >= minLong {
			q.id = j.class(ev.Query)
			j.keepLong(q)
		}
		j.connKeys(ev.ThreadID, q.end, q.end, func(key []byte) { j.file(key, q, ev.Query) })
	}
	j.evict(o)
}

// Statements that may be the job behind a hiccup: of a second or more, and so many.
const (
	minLong = time.Second
	maxLong = 500
)

// compareLong orders statements by their length, and those of one length in one way.
func compareLong(a, b query) int {
	return cmp.Or(cmp.Compare(b.took, a.took), a.end.Compare(b.end), bytes.Compare(a.id[:], b.id[:]))
}

func (j *join) keepLong(q query) {
	i, _ := slices.BinarySearchFunc(j.long, q, compareLong)
	if i < maxLong {
		j.long = slices.Insert(j.long, i, q)
		j.long = j.long[:min(len(j.long), maxLong)]
	}
}

// running names the statement of no request that ran for most of a hiccup, if one
// ran for a fifth of it.
func (j *join) running(h *Hiccup) {
	most := h.To.Sub(h.From) / 5
	for _, q := range j.long {
		from, to := q.end.Add(-q.took), q.end
		if from.Before(h.From) {
			from = h.From
		}
		if to.After(h.To) {
			to = h.To
		}
		if d := to.Sub(from); d > most {
			most = d
			h.Statement, h.StatementTime = q.id, q.took
			h.Fingerprint = j.classes[q.id]
		}
	}
}

// file gives a query to its request, or keeps it until that comes.
func (j *join) file(key []byte, q query, sql string) {
	e := j.entries[string(key)]
	if e == nil {
		if j.looseLimit != 0 && hashOf(key) >= j.looseLimit {
			return
		}
		e = j.newEntry(string(key))
		j.queue(e)
	}
	q.id = j.class(sql)
	if e.give(q) {
		return
	}
	if len(e.pending) < maxPending {
		e.pending = append(e.pending, q)
		j.held++
	}
}

// class returns the query class of a statement and remembers its fingerprint.
func (j *join) class(sql string) digest.ID {
	j.scratch = j.fp.Append(j.scratch[:0], sql)
	id := j.fp.ID(j.scratch)
	if _, ok := j.classes[id]; !ok && len(j.classes) < maxFingerprints {
		j.classes[id] = string(j.scratch)
	}
	return id
}

// evict drops entries while too much is held: queries that no request has asked for
// and spare keys before requests, and those with the greatest hashes first.
func (j *join) evict(o *JoinOptions) {
	for most := o.maxHeld(); j.held > most; {
		kinds := [...]int{loose, spare, bound}
		if j.tagged > j.total/2 { // ids do the work
			kinds = [...]int{spare, loose, bound}
		}
		var e *entry
		for _, kind := range kinds {
			if e = j.heaps[kind].pop(kind); e != nil {
				break
			}
		}
		if e == nil {
			return
		}
		if e.kind() != spare {
			j.looseLimit = e.hash
		}
		j.remove(e)
		if e.main == 0 {
			continue
		}
		for _, m := range e.requests {
			if !m.dropped {
				m.dropped = true
				addCounts(&j.dropped, m.goals, m.weight)
			}
		}
	}
}

// An entryHeap has the greatest hash on top.
type entryHeap []*entry

func (h entryHeap) Len() int           { return len(h) }
func (h entryHeap) Less(i, j int) bool { return h[i].hash > h[j].hash }
func (h entryHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *entryHeap) Push(x any)        { *h = append(*h, x.(*entry)) }
func (h *entryHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	*h = old[:len(old)-1]
	return e
}

// pop returns the greatest entry that still is of that kind, nil if there is none.
func (h *entryHeap) pop(kind int) *entry {
	for h.Len() > 0 {
		e := heap.Pop(h).(*entry)
		e.queued[kind] = false
		if !e.gone && e.kind() == kind {
			return e
		}
	}
	return nil
}

// ids returns the values of the statement's tags that may be a request's id, those
// of the preferred keys first.
func (j *join) ids(sql string, o *JoinOptions) []string {
	keys := o.Keys
	if keys == nil {
		keys = DefaultKeys
	}
	tags := j.fp.Tags(sql)
	if len(tags) == 0 {
		return nil
	}
	var ids []string
	for _, key := range keys {
		if v := tags.Get(key); v != "" {
			ids = append(ids, traceID(v))
		}
	}
	return ids
}

// traceID takes the trace's id out of a W3C traceparent.
func traceID(v string) string {
	if len(v) == 55 && v[2] == '-' && v[35] == '-' {
		return v[3:35]
	}
	return v
}

func (j *join) merge(o *join, opts *JoinOptions) {
	j.total += o.total
	j.tagged += o.tagged
	for _, c := range [...]struct {
		to   *map[int]*count
		from map[int]*count
	}{{&j.dropped, o.dropped}, {&j.noKey, o.noKey}} {
		for g, n := range c.from {
			if *c.to == nil {
				*c.to = make(map[int]*count)
			}
			if have := (*c.to)[g]; have != nil {
				have.merge(n)
			} else {
				(*c.to)[g] = n
			}
		}
	}
	if o.looseLimit != 0 && (j.looseLimit == 0 || o.looseLimit < j.looseLimit) {
		j.looseLimit = o.looseLimit
	}
	for _, q := range o.long {
		j.keepLong(q)
	}
	for key, oe := range o.entries {
		e := j.entries[key]
		if e == nil {
			e = j.newEntry(key)
		}
		e.requests = append(e.requests, oe.requests...)
		e.pending = append(e.pending, oe.pending...)
		e.main += oe.main
		j.queue(e)
		j.held += len(oe.requests) + len(oe.pending)
		j.settle(e)
	}
	for id, text := range o.classes {
		if len(j.classes) < maxFingerprints {
			j.classes[id] = text
		}
	}
	j.evict(opts)
}
