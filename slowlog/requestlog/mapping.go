package requestlog

import (
	"fmt"
	"strings"
	"time"
)

// A Mapping says which field of a log is what. It comes before the names that are
// recognised by themselves, and takes their place for the targets it names.
type Mapping []Rule

// A Rule maps one field of the log.
type Rule struct {
	// Target is one of time, end, id, trace, connection, page, method, url,
	// request (a request line), status, user, ip, wall, cpu, cpu_user,
	// cpu_system, bytes, weight, or wait.NAME and calls.NAME for a component, or
	// attr to keep a field as an attribute.
	Target string

	// Field is the name of the field as the log writes it; nested fields are
	// joined with dots, columns without a name are called by their number from 1.
	Field string

	// Unit is the unit of a duration or of an epoch time, such as
	// time.Millisecond. 0 means that it is told by the name, by the value
	// ("12ms"), or taken as seconds.
	Unit time.Duration

	// Guessed is set in Recognized where the unit was concluded from the values
	// alone: a field that is called duration, elapsed or latency and holds
	// integers is read as milliseconds, with a decimal point as seconds.
	Guessed bool
}

// String writes the rule in the form that ParseMapping reads.
func (r Rule) String() string {
	s := r.Target + "=" + r.Field
	if r.Unit != 0 || strings.Contains(r.Field, ":") {
		s += ":" + unitName(r.Unit)
	}
	return s
}

// String writes the mapping in the form that ParseMapping reads.
func (m Mapping) String() string {
	s := make([]string, len(m))
	for i := range m {
		s[i] = m[i].String()
	}
	return strings.Join(s, ",")
}

// ParseMapping reads a mapping from text such as
//
//	wall=rt:ms,wait.mysql=db_time:us,calls.mysql=db_calls,page=route
//
// Each rule is target=field, with an optional unit s, ms, us or ns behind a colon.
// Behind the name of a field that has a colon itself there must be another one, with
// the unit or without. A field that the log does not have is no error: its target
// stays empty, and Reader.Recognized leaves it out.
func ParseMapping(text string) (Mapping, error) {
	var m Mapping
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		target, field, ok := strings.Cut(part, "=")
		r := Rule{Target: target, Field: field}
		if i := strings.LastIndexByte(field, ':'); i >= 0 {
			var known bool
			if r.Unit, known = parseUnit(field[i+1:]); !known && field[i+1:] != "" {
				return nil, fmt.Errorf("requestlog: mapping rule %q: no unit %q; want s, ms, us or ns, or one more colon behind a field whose name has one", part, field[i+1:])
			}
			r.Field = field[:i]
		}
		if !ok || r.Field == "" {
			return nil, fmt.Errorf("requestlog: mapping rule %q: want target=field or target=field:unit", part)
		}
		if t, _ := targetOf(target); t == tNone {
			return nil, fmt.Errorf("requestlog: mapping rule %q: no target %q; want time, end, id, trace, connection, page, method, url, request, status, user, ip, wall, cpu, cpu_user, cpu_system, bytes, weight, wait.NAME, calls.NAME or attr", part, target)
		}
		m = append(m, r)
	}
	return m, nil
}

// A target is a place in a Request.
type target uint8

const (
	tNone target = iota
	tAttr
	tTime
	tDate // the date alone; a field of tClock follows
	tClock
	tEnd
	tID
	tTrace
	tConnection
	tPage
	tController // of Rails and its kind: the page is controller#action
	tAction
	tMethod
	tURL
	tQuery
	tRequest
	tStatus
	tUser
	tIP
	tWall
	tUpstream // an upstream time that is the wall time of a log that has no other
	tCPU
	tCPUUser
	tCPUSystem
	tBytes
	tWeight
	tWait
	tCalls
	tMessage // a free text that may hold "GET /path (200) 1.5ms"
)

var targetNames = [...]string{
	tAttr: "attr", tTime: "time", tDate: "date", tClock: "clock", tEnd: "end", tID: "id", tTrace: "trace",
	tConnection: "connection", tPage: "page", tController: "controller", tAction: "action", tMethod: "method",
	tURL: "url", tQuery: "query", tRequest: "request", tStatus: "status", tUser: "user", tIP: "ip", tWall: "wall",
	tUpstream: "upstream", tCPU: "cpu", tCPUUser: "cpu_user", tCPUSystem: "cpu_system", tBytes: "bytes",
	tWeight: "weight", tWait: "wait", tCalls: "calls", tMessage: "message",
}

// targetOf returns the target of that name and, for wait and calls, the component.
func targetOf(name string) (target, string) {
	if c, ok := strings.CutPrefix(name, "wait."); ok && c != "" {
		return tWait, c
	}
	if c, ok := strings.CutPrefix(name, "calls."); ok && c != "" {
		return tCalls, c
	}
	for t, n := range targetNames {
		if n == name && n != "" && target(t) != tWait && target(t) != tCalls {
			return target(t), ""
		}
	}
	return tNone, ""
}

// A meaning is what a field's name says about it.
type meaning struct {
	target    target
	component string
	unit      time.Duration
	rank      uint8 // among several fields for one target of a request, the highest wins
	guess     bool  // the unit is to be concluded from the values
}

// byName knows the names in common use, without their unit, punctuation and case.
var byName = map[string]meaning{}

func init() {
	for t, names := range map[target]string{
		tTime: "time timestamp ts atimestamp datetime timelocal timeiso8601 msec starttime requesttime8601 " +
			"edgestarttimestamp logtime createdat loggedat receivedat startedat dt",
		tEnd:        "endtime edgeendtimestamp finishedat",
		tID:         "requestid reqid rid xrequestid httpxrequestid correlationid uniqueid rayid xedgerequestid requestuuid",
		tTrace:      "traceid traceparent httptraceparent xb3traceid xamzntraceid httpxamzntraceid trace",
		tConnection: "connectionid connid mysqlconnectionid mysqlconn mysqlthreadid dbconnectionid dbthreadid",
		tPage:       "page route routename pagename label endpoint handler interaction requestroute httproute urirule",
		tController: "controller",
		tAction:     "action",
		tMethod:     "method httpmethod requestmethod verb csmethod clientrequestmethod reqmethod",
		tURL: "url uri path requesturi requestpath csuristem clientrequesturi documenturi urlpath requesturl " +
			"httppath httprequestpath httptarget xenvoyoriginalpath",
		tQuery:     "csuriquery querystring",
		tRequest:   "request req httprequest requestline",
		tStatus:    "status statuscode responsecode httpstatus scstatus downstreamstatus edgeresponsestatus httpstatuscode code responsestatus resstatus",
		tUser:      "user username userid login remoteuser csusername clientusername uid",
		tIP:        "ip clientip remoteip remoteaddr cip realip remotehost clientaddr client clienthost xrealip requestclientip requestremoteip downstreamremoteaddress",
		tCPU:       "cpu cputime cpuusage",
		tCPUUser:   "utime cpuuser usercpu usertime usercputime rusageuser",
		tCPUSystem: "stime cpusys cpusystem systemcpu systemtime systime syscputime rusagesystem",
		tBytes:     "bytes size bodybytessent bytessent responsesize scbytes responsebytes downstreamcontentsize edgeresponsebytes bodybytes contentlength bytesread length",
		tWeight:    "weight sampleweight samplerate samplingrate",
		tMessage:   "msg message",
	} {
		for name := range strings.FieldsSeq(names) {
			byName[name] = meaning{target: t, rank: 5}
		}
	}
	byName["id"] = meaning{target: tID, rank: 1}           // often a mere row number
	byName["bytesread"] = meaning{target: tBytes, rank: 4} // by some of the client, by some from it
	byName["edgestarttimestamp"] = meaning{target: tTime, rank: 5, unit: time.Nanosecond}
	byName["edgeendtimestamp"] = meaning{target: tEnd, rank: 5, unit: time.Nanosecond}

	wall := func(rank uint8, guess bool, names string) {
		for name := range strings.FieldsSeq(names) {
			byName[name] = meaning{target: tWall, rank: rank, guess: guess}
		}
	}
	wall(9, false, "wall walltime wtime wallclock requesttime reqtime")
	wall(8, true, "timetaken taken generationtime servetime totaltime processingtime")
	wall(7, true, "responsetime rt duration requestduration")
	wall(6, true, "elapsed elapsedtime")
	wall(4, true, "latency")
	byName["apptime"] = meaning{target: tUpstream, component: "upstream"}
	byName["upstreamresponsetime"] = meaning{target: tUpstream, component: "upstream"}
	byName["originduration"] = meaning{target: tUpstream, component: "origin", unit: time.Nanosecond}
	// These are parts of a time that is counted already.
	for _, name := range []string{"upstreamconnecttime", "upstreamheadertime", "overhead"} {
		byName[name] = meaning{target: tAttr}
	}
}

// components are the parts of an application that logs measure. Those that are
// true may stand alone as a field's name ("db=12.3").
var components = map[string]bool{
	"mysql": true, "mariadb": true, "db": true, "sql": true, "activerecord": true, "view": true, "views": true,
	"redis": true, "memcache": true, "memcached": true, "sphinx": true, "gitaly": true, "mongo": true,
	"database": false, "postgres": false, "pg": false, "cache": false, "search": false, "elasticsearch": false,
	"es": false, "http": false, "api": false, "external": false, "webservice": false, "ws": false,
	"upstream": false, "backend": false, "render": false, "queue": false, "rpc": false, "grpc": false, "s3": false,
	"solr": false, "ldap": false, "smtp": false, "mail": false, "kafka": false, "rabbitmq": false, "dns": false,
	"mongodb": false, "cassandra": false, "storage": false, "disk": false, "lock": false, "service": false,
}

// recognize says what a field of that name (nested names joined with dots) is.
func recognize(name string) meaning {
	words := splitName(name)
	if len(words) == 0 {
		return meaning{target: tAttr}
	}
	squashed := strings.Join(words, "")
	if m, ok := byName[squashed]; ok {
		if name == "Duration" { // a Go program's time.Duration
			m.unit, m.guess = time.Nanosecond, false
		}
		return m
	}
	if len(words) == 1 {
		if components[words[0]] {
			return meaning{target: tWait, component: words[0], guess: true}
		}
		return meaning{target: tAttr}
	}
	last := len(words) - 1
	unit, _ := parseUnit(words[last])
	base := words
	if unit != 0 {
		base = words[:last]
		squashed = strings.Join(base, "")
		if squashed == "time" {
			return meaning{target: tWall, rank: 6, unit: unit}
		}
		switch m := byName[squashed]; m.target {
		case tWall, tUpstream, tTime, tEnd, tCPU, tCPUUser, tCPUSystem:
			m.unit, m.guess = unit, false
			return m
		}
	}
	if m := waitName(base, unit); m.target != tNone {
		return m
	}
	return meaning{target: tAttr}
}

// waitName recognises wait_NAME, NAME_wait, NAME_time, NAME_duration, NAME_calls
// and their like; of the names that do not say wait it takes known components.
func waitName(words []string, unit time.Duration) meaning {
	if len(words) == 0 {
		return meaning{}
	}
	first, last := words[0], words[len(words)-1]
	rest := words
	var kind target
	sure := false
	switch first {
	case "wait", "waits":
		rest, kind, sure = words[1:], tWait, true
	case "calls":
		rest, kind, sure = words[1:], tCalls, true
	}
	if len(rest) > 1 {
		switch last {
		case "wait", "waits":
			rest, kind, sure = rest[:len(rest)-1], tWait, true
		case "time", "duration", "dur", "took", "runtime", "elapsed":
			rest = rest[:len(rest)-1]
			if kind == tNone {
				kind = tWait
			}
		case "calls", "count", "queries", "num", "cnt":
			rest, kind = rest[:len(rest)-1], tCalls
		}
	}
	if len(rest) == 0 || kind == tNone && unit == 0 {
		return meaning{}
	}
	component := strings.Join(rest, "_")
	if _, known := components[component]; !known && !sure {
		return meaning{}
	}
	if kind == tCalls {
		return meaning{target: tCalls, component: component}
	}
	return meaning{target: tWait, component: component, unit: unit, guess: last == "duration" && unit == 0}
}

// splitName cuts a field's name into lower-case words at punctuation and humps.
func splitName(name string) []string {
	var words []string
	var word []byte
	flush := func() {
		if len(word) > 0 {
			words = append(words, string(word))
			word = word[:0]
		}
	}
	for i := range len(name) {
		switch b := name[i]; {
		case b >= 'A' && b <= 'Z':
			if i > 0 && (name[i-1] >= 'a' && name[i-1] <= 'z' || i+1 < len(name) && name[i+1] >= 'a' && name[i+1] <= 'z') {
				flush()
			}
			word = append(word, b|0x20)
		case b >= 'a' && b <= 'z', b >= '0' && b <= '9', b >= 0x80:
			word = append(word, b)
		case b == '@':
			word = append(word, 'a') // @timestamp
		default:
			flush()
		}
	}
	flush()
	return words
}
