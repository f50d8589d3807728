// Package loggen writes slow logs of known content.
//
// A log depends on its [Options] alone, is written as a stream of any length,
// and comes with the truth about what it holds, counted while it was written
// and never read back. Tests compare what they read with that truth.
package loggen

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"time"
)

// Options say what log to write. The zero value is a log of Percona Server
// without an end: give Events or Bytes.
type Options struct {
	Dialect Dialect
	Seed    uint64
	Events  int           // the number of records, 0 for no limit
	Bytes   int64         // end with the first record that reaches this size, 0 for no limit
	Classes int           // query classes, default 400; their frequencies follow Zipf's law
	Start   time.Time     // end of the first statement, default 2025-03-01 00:00 UTC
	Gap     time.Duration // mean time between two records, default 2 ms

	// RateLimit is log_slow_rate_limit: a record stands for that many
	// statements, or for one where its query time is over AlwaysLog. Only
	// Percona80 writes it into the log.
	RateLimit uint64

	CRLF    bool // lines end in CR LF, as on Windows, also within statements
	Hostile bool // some literals and comments hold what looks like a record

	// OnRecord is called with each record before it is written.
	OnRecord func(*Record)
}

// AlwaysLog is Percona Server's default of slow_query_log_always_write_time.
const AlwaysLog = 10 * time.Second

// Record is one record of a log, with all that any dialect writes of it.
type Record struct {
	Class   int    // index in Truth.Classes, or -1 for an administrator command
	Command string // the administrator command, or empty

	Time                                        time.Time // end of the statement, in whole microseconds
	QueryTime, LockTime                         time.Duration
	RowsSent, RowsExamined, RowsAffected, Bytes uint64
	Errno                                       int
	Weight                                      uint64

	User, Host, IP, Schema string
	ThreadID               uint64

	FullScan, FullJoin, TmpTable, TmpTableOnDisk, Filesort bool

	// Query is the statement without its final semicolon, before CRLF is
	// applied, valid until OnRecord returns.
	Query []byte
}

// Truth is what a log holds.
type Truth struct {
	Bytes    int64
	Total    Tally            // all records
	Commands map[string]Tally // administrator commands by name
	Classes  []ClassTruth     // without the commands; some may have no record
}

// ClassTruth is what a log holds of one query class.
type ClassTruth struct {
	Table  string // first table of the statement; of a log by Generate, of this class alone
	Verb   string // SELECT, INSERT, …
	Schema string
	Users  map[string]uint64 // records by user
	Tally
}

// Tally sums records up, each as its dialect writes it.
type Tally struct {
	Count, Weight          uint64
	Time, WeightedTime     time.Duration // sums of query times
	Min, Max               time.Duration
	Lock                   time.Duration
	RowsSent, RowsExamined uint64
	Errors                 uint64    // records with an error number
	First, Last            time.Time // ends of the first and last statement
}

func (t *Tally) add(r *Record) {
	if t.Count == 0 {
		t.First, t.Min = r.Time, r.QueryTime
	}
	t.Last = r.Time
	t.Min, t.Max = min(t.Min, r.QueryTime), max(t.Max, r.QueryTime)
	t.Count++
	t.Weight += r.Weight
	t.Time += r.QueryTime
	t.WeightedTime += r.QueryTime * time.Duration(r.Weight)
	t.Lock += r.LockTime
	t.RowsSent += r.RowsSent
	t.RowsExamined += r.RowsExamined
	if r.Errno != 0 {
		t.Errors++
	}
}

// class is how one query class behaves.
type class struct {
	table, verb, schema string
	users               []string // the first is the most frequent
	machines            []machine

	median time.Duration
	sigma  float64 // of the query time's logarithm
	reads  float64 // rows examined per millisecond, about
	sends  uint64  // rows sent, at most

	fullScan, fullJoin, tmpTable, filesort bool

	write func(*generator, *class) // writes the statement
}

// Generate writes a log to w.
func Generate(w io.Writer, o Options) (*Truth, error) {
	if o.Events <= 0 && o.Bytes <= 0 {
		return nil, fmt.Errorf("loggen: neither Events nor Bytes limits the log")
	}
	if o.Classes <= 0 {
		o.Classes = 400
	}
	if o.Gap <= 0 {
		o.Gap = 2 * time.Millisecond
	}
	g := newGenerator(w, o, syntheticClasses(o.Classes))
	zipf := rand.NewZipf(g.rand, 1.2, 4, uint64(o.Classes-1))
	gap := float64(o.Gap)
	for i := 0; (o.Events <= 0 || i < o.Events) && (o.Bytes <= 0 || g.size() < o.Bytes) && g.err == nil; i++ {
		g.now = g.now.Add(time.Duration(g.rand.ExpFloat64() * gap).Truncate(time.Microsecond))
		if g.rand.IntN(100) == 0 {
			g.command(commands[g.rand.IntN(len(commands))], "app", machines)
		} else {
			g.statement(int(zipf.Uint64()))
		}
	}
	return g.finish()
}

var commands = []string{"Ping", "Quit", "Close stmt", "Init DB", "Statistics", "Prepare"}

// generator holds what a log in the making needs. It is at the same time the
// buffer that classes write their statements into.
type generator struct {
	o       Options
	w       io.Writer
	err     error
	rand    *rand.Rand
	classes []class
	truth   *Truth
	now     time.Time

	buf     []byte // not yet written
	flushed int64
	scratch []byte // the statement in the making

	lastUse    string // schema of the last use line
	lastSecond int64  // of the last time line
	clock      clock
}

const bufferSize = 256 << 10

func newGenerator(w io.Writer, o Options, classes []class) *generator {
	if o.Start.IsZero() {
		o.Start = time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	}
	if o.RateLimit == 0 {
		o.RateLimit = 1
	}
	g := &generator{
		o: o, w: w, classes: classes,
		rand:  rand.New(rand.NewPCG(o.Seed, 0x7175657266)),
		now:   o.Start.UTC().Truncate(time.Microsecond),
		buf:   make([]byte, 0, bufferSize+64<<10),
		truth: &Truth{Commands: map[string]Tally{}},
	}
	for _, c := range classes {
		g.truth.Classes = append(g.truth.Classes, ClassTruth{Table: c.table, Verb: c.verb, Schema: c.schema, Users: map[string]uint64{}})
	}
	g.buf = append(g.buf, banners[o.Dialect]...)
	g.endLines(0)
	return g
}

func (g *generator) size() int64 { return g.flushed + int64(len(g.buf)) }

// statement writes a record of the class.
func (g *generator) statement(class int) { g.slowStatement(class, 1, 0) }

// slowStatement writes a record of the class that took slowdown times as long
// as usual and waited for a lock for the given part of that time.
func (g *generator) slowStatement(class int, slowdown, lockShare float64) {
	c := &g.classes[class]
	r := Record{Class: class, Schema: c.schema, User: c.users[0]}
	if len(c.users) > 1 && g.rand.IntN(10) == 0 {
		r.User = c.users[1+g.rand.IntN(len(c.users)-1)]
	}
	ns := float64(c.median) * slowdown * math.Exp(c.sigma*g.rand.NormFloat64())
	r.QueryTime = time.Duration(min(ns, float64(time.Hour)))
	r.LockTime = r.QueryTime/128 + time.Duration(lockShare*float64(r.QueryTime))
	ms := float64(r.QueryTime-r.LockTime) / 1e6
	switch {
	case g.rand.IntN(200) == 0:
		r.Errno = []int{1062, 1205, 1213, 3024}[g.rand.IntN(4)]
	case c.verb == "SELECT":
		r.RowsSent = g.rand.Uint64N(c.sends + 1)
		r.Bytes = 60 + r.RowsSent*(40+g.rand.Uint64N(100))
	default:
		r.RowsAffected = g.rand.Uint64N(c.sends + 1)
		r.Bytes = 52
	}
	r.RowsExamined = uint64(ms*c.reads) + r.RowsSent
	r.FullScan, r.FullJoin, r.TmpTable, r.Filesort = c.fullScan, c.fullJoin, c.tmpTable, c.filesort
	r.TmpTableOnDisk = c.tmpTable && ms > 2000
	g.client(&r, c.machines)

	g.scratch = g.scratch[:0]
	c.write(g, c)
	r.Query = g.scratch
	g.record(&r)
}

// command writes a record of an administrator command.
func (g *generator) command(name, user string, from []machine) {
	r := Record{Class: -1, Command: name, User: user}
	r.QueryTime = time.Duration(2000 + g.rand.IntN(60000))
	g.client(&r, from)
	g.record(&r)
}

func (g *generator) client(r *Record, from []machine) {
	m := from[g.rand.IntN(len(from))]
	r.Host, r.IP = m.name, m.ip
	r.ThreadID = 1000 + g.rand.Uint64N(5000)
}

// record rounds the record to what the dialect can say, counts it and writes it.
func (g *generator) record(r *Record) {
	r.Time = g.now
	g.o.Dialect.round(r)
	r.Weight = g.o.RateLimit
	if r.QueryTime > AlwaysLog {
		r.Weight = 1
	}
	if g.o.OnRecord != nil {
		g.o.OnRecord(r)
	}
	g.truth.Total.add(r)
	if r.Class >= 0 {
		ct := &g.truth.Classes[r.Class]
		ct.add(r)
		ct.Users[r.User]++
	} else {
		t := g.truth.Commands[r.Command]
		t.add(r)
		g.truth.Commands[r.Command] = t
	}

	start := len(g.buf)
	g.header(r)
	if r.Command != "" {
		g.buf = append(g.buf, "# administrator command: "...)
		g.buf = append(g.buf, r.Command...)
	} else {
		g.buf = append(g.buf, r.Query...)
	}
	g.buf = append(g.buf, ";\n"...)
	g.endLines(start)
	if len(g.buf) >= bufferSize {
		g.flush()
	}
}

// endLines gives the buffer from start on the line ends that are asked for.
func (g *generator) endLines(start int) {
	if g.o.CRLF {
		g.buf = append(g.buf[:start], bytes.ReplaceAll(g.buf[start:], []byte("\n"), []byte("\r\n"))...)
	}
}

func (g *generator) flush() {
	if g.err == nil {
		_, g.err = g.w.Write(g.buf)
	}
	g.flushed += int64(len(g.buf))
	g.buf = g.buf[:0]
}

func (g *generator) finish() (*Truth, error) {
	g.flush()
	g.truth.Bytes = g.flushed
	return g.truth, g.err
}
