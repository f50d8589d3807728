package requestlog

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Request is one interaction of a user with the application, as its log tells it.
//
// A Request belongs to the caller, unless the Reader's ReuseRequest is set.
type Request struct {
	// Time is the time that the log gives the request, in UTC; zero if it gives
	// none. Most servers write the end of the request, some its start.
	Time time.Time

	// ID is the request's own id, TraceID the id of the distributed trace it
	// belongs to (the 32 digits of a traceparent). Either may be empty.
	ID, TraceID string

	// ConnectionID is the MySQL connection that served the request, 0 if unknown.
	ConnectionID uint64

	Page   string // the route or page group, see Routes
	Method string
	URL    string // as logged, with its query string
	Status int    // HTTP status, 0 if unknown
	User   string
	IP     string

	// Wall is the time that the user waited. It is never negative, and means
	// nothing if Flags has NoWall.
	Wall time.Duration

	// CPUUser and CPUSystem are the processor time of the request. A log that
	// knows only their sum has it in CPUUser.
	CPUUser, CPUSystem time.Duration

	// Waits holds the time spent waiting for each component, in log order.
	Waits []Wait

	Bytes int64 // sent to the client

	// Weight is the number of requests that this one stands for: 1 in a full
	// log, 10 where one in ten is logged.
	Weight float64

	// Attrs holds every other field, in log order. Names of nested fields are
	// joined with dots.
	Attrs []Attr

	Flags Flags

	Offset int64 // of the record's first byte in its log
	Line   int64 // of the record's first line, from 1; rows of a table count from 1
}

// A Wait is the time that a request waited for one component.
type Wait struct {
	Component string // mysql, sphinx, memcache, upstream, …
	Time      time.Duration
	Calls     int64 // 0 if the log does not say
}

// An Attr is a field of the log that has no place of its own in Request.
type Attr struct{ Name, Value string }

// Flags says what is doubtful about a request.
type Flags uint8

const (
	NoTime       Flags = 1 << iota // no readable time stamp
	NoWall                         // no readable wall time
	NegativeTime                   // a negative duration stood in the log and was left out
	AbsurdTime                     // a duration above 24 h, or a time before 1990 or after 2100
	BadValue                       // a field could not be read as what it should be; it is kept in Attrs
)

// MaxDuration is the longest duration that is not flagged as absurd.
const MaxDuration = 24 * time.Hour

var flagNames = []string{"no time", "no wall time", "negative duration", "absurd time", "unreadable value"}

func (f Flags) String() string {
	var names []string
	for i, name := range flagNames {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// CPU returns the processor time, user and system.
func (r *Request) CPU() time.Duration { return r.CPUUser + r.CPUSystem }

// Lost returns the part of the wall time that nobody instrumented: Wall less the
// processor time and all waits. It is negative where waits overlap.
func (r *Request) Lost() time.Duration {
	lost := r.Wall - r.CPU()
	for i := range r.Waits {
		lost -= r.Waits[i].Time
	}
	return lost
}

// Attr returns the value of the first attribute of that name. The typed fields
// status, method, user, ip and page answer to their names too, so that a segment
// can be made of any of them.
func (r *Request) Attr(name string) (string, bool) {
	for i := range r.Attrs {
		if r.Attrs[i].Name == name {
			return r.Attrs[i].Value, true
		}
	}
	var v string
	switch name {
	case "method":
		v = r.Method
	case "user":
		v = r.User
	case "ip":
		v = r.IP
	case "page":
		v = r.Page
	case "status":
		if r.Status != 0 {
			v = strconv.Itoa(r.Status)
		}
	}
	return v, v != ""
}

// Clone returns a copy that shares no memory with r. Those who set a Reader's
// ReuseRequest use it to keep a request.
func (r *Request) Clone() *Request {
	c := *r
	for _, s := range []*string{&c.ID, &c.TraceID, &c.Page, &c.Method, &c.URL, &c.User, &c.IP} {
		*s = strings.Clone(*s)
	}
	c.Waits, c.Attrs = slices.Clone(r.Waits), slices.Clone(r.Attrs)
	for i := range c.Waits {
		c.Waits[i].Component = strings.Clone(c.Waits[i].Component)
	}
	for i := range c.Attrs {
		c.Attrs[i] = Attr{strings.Clone(c.Attrs[i].Name), strings.Clone(c.Attrs[i].Value)}
	}
	return &c
}

// reset clears the request for the next record and keeps its slices' memory.
func (r *Request) reset() {
	*r = Request{Waits: r.Waits[:0], Attrs: r.Attrs[:0]}
}

// wait returns the request's Wait of that component, adding one if need be.
func (r *Request) wait(component string) *Wait {
	for i := range r.Waits {
		if r.Waits[i].Component == component {
			return &r.Waits[i]
		}
	}
	r.Waits = append(r.Waits, Wait{Component: component})
	return &r.Waits[len(r.Waits)-1]
}
