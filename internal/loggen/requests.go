package loggen

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// RequestOptions say what requests a made-up web shop serves. The zero value is a
// day of 20,000 requests, each of them logged.
type RequestOptions struct {
	Seed     uint64
	Requests int           // default 20,000
	Start    time.Time     // default 2026-11-30 00:00 UTC
	Length   time.Duration // default 24 h; a day has the hours of a shop

	Sample int // one request in so many is logged, with that weight; 0 and 1 mean all

	// A job that makes the database slow runs for JobLength, JobAt after Start and
	// every JobEvery from there on; JobEvery 0 means once, JobLength 0 no job.
	JobAt, JobEvery, JobLength time.Duration

	// NoIDs leaves the request id out of both logs, as if nobody had thought of
	// it. The connection id is logged in any case.
	NoIDs bool

	// SlowOver is long_query_time of the slow log.
	SlowOver time.Duration

	// OnRequest is called with each request, logged or not, in the order of time.
	OnRequest func(*ShopRequest)
}

// ShopRequest is one request with all that is known of it.
type ShopRequest struct {
	End                time.Time // in whole microseconds, as all times
	ID                 string
	Page, URL, Kind    string // Kind is person or bot
	Wall               time.Duration
	UserCPU, SystemCPU time.Duration
	Waits              []ShopWait
	Queries            []ShopQuery
	ConnectionID       uint64
	Logged             bool
}

// ShopWait is the time that a request waited for a component.
type ShopWait struct {
	Component string
	Time      time.Duration
	Calls     int
}

// ShopQuery is a statement of a request. Class is an index of ShopQueryClasses.
type ShopQuery struct {
	Class int
	End   time.Time
	Took  time.Duration
	SQL   string
}

// ShopQueryClasses are the fingerprints of the statements of the shop's requests
// and, the last one, of its job.
var ShopQueryClasses = []string{
	"select id, name, price from product where id in(?+)",
	"insert into search_log(words, hits) values(?+)",
	"select * from product where id = ?",
	"select r.stars, r.body from review r where r.product_id = ? order by r.created desc limit ?",
	"select p.id, p.name from also_bought a join product p on p.id = a.other_id where a.product_id = ? order by a.n desc limit ?",
	"select * from cart where session = ?",
	"select name, price, stock from product where id = ?",
	"select id, name, price from product where featured = ? order by sold desc limit ?",
	"insert into sales_report select ?, product_id, sum(quantity) from order_line where created >= ? group by product_id",
}

const (
	queryInIDs = iota
	querySearchLog
	queryProduct
	queryReviews
	queryAlsoBought
	queryCart
	queryCartLine
	queryFeatured
	queryReport
)

// ShopRequests writes the request log of the shop as LTSV to log and the slow log
// of the same time, as MySQL 8.0 writes it, to slow; either may be nil.
//
// Planted are: a search whose sphinx is slow for bots alone; a cart that asks for
// its lines one by one; and the job, under which the database is ten times slower.
func ShopRequests(log, slow io.Writer, o RequestOptions) error {
	if o.Requests <= 0 {
		o.Requests = 20_000
	}
	if o.Start.IsZero() {
		o.Start = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	}
	if o.Length <= 0 {
		o.Length = 24 * time.Hour
	}
	g := &shopGenerator{o: o, rand: rand.New(rand.NewPCG(o.Seed, 0x676f616c73))}
	requests := make([]*ShopRequest, o.Requests)
	for i := range requests {
		requests[i] = g.request()
	}
	slices.SortStableFunc(requests, func(a, b *ShopRequest) int { return a.End.Compare(b.End) })
	if o.OnRequest != nil {
		for _, r := range requests {
			o.OnRequest(r)
		}
	}
	if log != nil {
		if err := g.writeLog(log, requests); err != nil {
			return err
		}
	}
	if slow != nil {
		return g.writeSlow(slow, requests)
	}
	return nil
}

type shopGenerator struct {
	o    RequestOptions
	rand *rand.Rand
}

// time draws a time spread about its median, in whole microseconds.
func (g *shopGenerator) time(median time.Duration, sigma float64) time.Duration {
	d := time.Duration(float64(median) * math.Exp(sigma*g.rand.NormFloat64()))
	return max(time.Microsecond, d.Truncate(time.Microsecond))
}

func (g *shopGenerator) start() time.Time {
	for {
		at := g.o.Start.Add(time.Duration(g.rand.Int64N(int64(g.o.Length))).Truncate(time.Microsecond))
		if g.o.Length < 24*time.Hour || g.rand.Float64()*30 < visitors[at.Hour()] {
			return at
		}
	}
}

// inJob says whether the job runs.
func (g *shopGenerator) inJob(at time.Time) bool {
	since := at.Sub(g.o.Start) - g.o.JobAt
	if g.o.JobEvery > 0 {
		since = (since%g.o.JobEvery + g.o.JobEvery) % g.o.JobEvery
	}
	return since >= 0 && since < g.o.JobLength
}

func (g *shopGenerator) request() *ShopRequest {
	start := g.start()
	r := &ShopRequest{
		ID:           fmt.Sprintf("%016x", g.rand.Uint64()),
		Kind:         "person",
		ConnectionID: 100 + g.rand.Uint64N(40_000),
		Logged:       g.o.Sample <= 1 || g.rand.IntN(g.o.Sample) == 0,
	}
	slowdown := 1.0
	if g.inJob(start) {
		slowdown = 10
	}
	at := start
	query := func(class int, median time.Duration, sql string) {
		took := g.time(time.Duration(float64(median)*slowdown), 0.5)
		at = at.Add(took + 300*time.Microsecond) // the network
		if !g.o.NoIDs {
			sql += " /* request_id='" + r.ID + "' */"
		}
		r.Queries = append(r.Queries, ShopQuery{class, at.Add(-200 * time.Microsecond), took, sql})
	}
	wait := func(component string, d time.Duration, calls int) {
		at = at.Add(d)
		r.Waits = append(r.Waits, ShopWait{component, d, calls})
	}
	cpu := 20 * time.Millisecond
	product := func() string { return strconv.Itoa(1 + g.rand.IntN(90_000)) }

	switch p := g.rand.Float64(); {
	case p < 0.3:
		r.Page, r.URL, cpu = "search", "/search?q=w"+strconv.Itoa(g.rand.IntN(5000)), 35*time.Millisecond
		sphinx := 150 * time.Millisecond
		if g.rand.IntN(5) == 0 {
			r.Kind, sphinx = "bot", 1300*time.Millisecond // turns to the four hundredth page
			r.URL += "&page=" + strconv.Itoa(100+g.rand.IntN(400))
		}
		wait("sphinx", g.time(sphinx, 0.45), 1)
		query(queryInIDs, 9*time.Millisecond, "SELECT id, name, price FROM product WHERE id IN ("+product()+", "+product()+", "+product()+")")
		query(querySearchLog, time.Millisecond, "INSERT INTO search_log (words, hits) VALUES ('w"+product()+"', "+product()+")")
	case p < 0.7:
		id := product()
		r.Page, r.URL, cpu = "product", "/product/"+id, 25*time.Millisecond
		if g.rand.IntN(4) == 0 {
			r.Kind = "bot"
		}
		wait("memcache", g.time(2*time.Millisecond, 0.4), 5)
		query(queryProduct, 2*time.Millisecond, "SELECT * FROM product WHERE id = "+id)
		query(queryReviews, 30*time.Millisecond, "SELECT r.stars, r.body FROM review r WHERE r.product_id = "+id+" ORDER BY r.created DESC LIMIT 10")
		query(queryAlsoBought, 45*time.Millisecond, "SELECT p.id, p.name FROM also_bought a JOIN product p ON p.id = a.other_id WHERE a.product_id = "+id+" ORDER BY a.n DESC LIMIT 8")
	case p < 0.85:
		r.Page, r.URL = "cart", "/cart"
		query(queryCart, 2*time.Millisecond, "SELECT * FROM cart WHERE session = '"+r.ID+"'")
		for range 2 + int(8*g.rand.ExpFloat64()) { // its lines, one by one
			query(queryCartLine, 11*time.Millisecond, "SELECT name, price, stock FROM product WHERE id = "+product())
		}
	default:
		r.Page, r.URL = "home", "/"
		wait("memcache", g.time(time.Millisecond, 0.4), 3)
		query(queryFeatured, 6*time.Millisecond, "SELECT id, name, price FROM product WHERE featured = 1 ORDER BY sold DESC LIMIT 20")
	}
	var mysql time.Duration
	for i := range r.Queries {
		mysql += r.Queries[i].Took + 300*time.Microsecond
	}
	r.Waits = append(r.Waits, ShopWait{"mysql", mysql, len(r.Queries)})
	r.UserCPU = g.time(cpu, 0.3)
	r.SystemCPU = g.time(cpu/8, 0.3)
	lost := g.time(9*time.Millisecond, 0.8)
	r.End = at.Add(r.UserCPU + r.SystemCPU + lost)
	r.Wall = r.End.Sub(start)
	return r
}

func (g *shopGenerator) writeLog(w io.Writer, requests []*ShopRequest) error {
	b := bufio.NewWriter(w)
	seconds := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 6, 64) }
	for _, r := range requests {
		if !r.Logged {
			continue
		}
		fmt.Fprintf(b, "time:%s\tpage:%s\tmethod:GET\turi:%s\tstatus:200\tkind:%s\twtime:%s\tutime:%s\tstime:%s",
			r.End.Format("2006-01-02T15:04:05.000000Z"), r.Page, r.URL, r.Kind, seconds(r.Wall), seconds(r.UserCPU), seconds(r.SystemCPU))
		for _, wait := range r.Waits {
			fmt.Fprintf(b, "\t%s_time:%s\t%s_calls:%d", wait.Component, seconds(wait.Time), wait.Component, wait.Calls)
		}
		if !g.o.NoIDs {
			b.WriteString("\trequest_id:" + r.ID)
		}
		fmt.Fprintf(b, "\tmysql_connection_id:%d", r.ConnectionID)
		if g.o.Sample > 1 {
			fmt.Fprintf(b, "\tweight:%d", g.o.Sample)
		}
		b.WriteByte('\n')
	}
	return b.Flush()
}

func (g *shopGenerator) writeSlow(w io.Writer, requests []*ShopRequest) error {
	type logged struct {
		*ShopQuery
		thread uint64
	}
	var all []logged
	for _, r := range requests {
		for i := range r.Queries {
			if r.Queries[i].Took >= g.o.SlowOver {
				all = append(all, logged{&r.Queries[i], r.ConnectionID})
			}
		}
	}
	if g.o.JobLength > 0 {
		for at := g.o.JobAt; at < g.o.Length; at += g.o.JobEvery {
			end := g.o.Start.Add(at + g.o.JobLength)
			all = append(all, logged{&ShopQuery{queryReport, end, g.o.JobLength - time.Second,
				"INSERT INTO sales_report SELECT 1, product_id, SUM(quantity) FROM order_line WHERE created >= '2026-01-01' GROUP BY product_id"}, 7})
			if g.o.JobEvery <= 0 {
				break
			}
		}
	}
	slices.SortStableFunc(all, func(a, b logged) int { return cmp.Or(a.End.Compare(b.End), cmp.Compare(a.thread, b.thread)) })
	classes := make([]class, len(ShopQueryClasses))
	for i := range classes {
		classes[i].schema = "shop"
	}
	out := newGenerator(w, Options{Dialect: MySQL80, Seed: g.o.Seed, Start: g.o.Start}, classes)
	for _, q := range all {
		out.now = q.End
		r := Record{Class: q.Class, Schema: "shop", User: "shop", QueryTime: q.Took, LockTime: time.Microsecond,
			RowsSent: 1, RowsExamined: 1 + uint64(q.Took/time.Microsecond), Bytes: 200, Query: []byte(q.SQL)}
		out.client(&r, web)
		r.ThreadID = q.thread
		out.record(&r)
	}
	_, err := out.finish()
	return err
}
