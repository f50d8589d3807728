package requestlog

import (
	"bytes"
	"strings"
	"time"
)

// knownTemplates are the line formats of servers and proxies in common use, the
// more telling ones first: of those that fit equally many lines the first wins.
var knownTemplates = []string{
	// AWS application and classic load balancers
	`$type $time $elb $remote_addr $target_address $balancer_wait $target_wait $response_wait $status $target_status_code $received_bytes $body_bytes_sent "$request" "$http_user_agent" $ssl_cipher $ssl_protocol $target_group_arn "$trace_id" $more`,
	`$time $elb $remote_addr $backend_address $balancer_wait $backend_wait $response_wait $status $backend_status_code $received_bytes $body_bytes_sent "$request" "$http_user_agent" $ssl_cipher $ssl_protocol`,
	`$time $elb $remote_addr $backend_address $balancer_wait $backend_wait $response_wait $status $backend_status_code $received_bytes $body_bytes_sent "$request"`,
	// HAProxy, option httplog
	`$remote_addr [$time] $frontend $backend $client_time/$queue_ms/$connect_ms/$server_ms/$wall_ms $status $bytes $captured_request_cookie $captured_response_cookie $termination_state $connections $queues $headers"$request"`,
	// Traefik
	`$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_number "$router" "$server_url" $duration`,
	`$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_number "$router "$server_url" $duration`,
	// the ingress controller of Kubernetes
	`$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_length $request_time [$proxy_upstream_name] [$proxy_alternative_upstream_name] $upstream_addr $upstream_response_length $upstream_response_time $upstream_status $request_id`,
	// Envoy
	`[$start_time] "$request" $status $response_flags $bytes_received $bytes_sent $wall_ms $upstream_ms "$http_x_forwarded_for" "$http_user_agent" "$request_id" "$authority" "$upstream_host"`,
	// uWSGI
	`[pid: $pid|app: $app|req: $req_number] $remote_addr ($remote_user) {$vars} [$time_local] $method $uri => generated $bytes bytes in $duration (HTTP/$protocol $status) $headers`,
	// nginx with the upstream's list in quotes, behind the virtual host
	`$server_name $remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_time "$upstream_response_time" $more`,
	// lighttpd with its four numbers
	`$remote_addr $server_name $remote_user [$time_local] "$request" $status $bytes $bytes_in $bytes_out $wall_s "$http_referer" "$http_user_agent"`,
	// the combined format with times behind it, as many write it
	`$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" "$http_x_forwarded_for" $request_time`,
	`$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_time $upstream_response_time`,
	`$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_time`,
	`$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"`,
	// the Common Log Format, first as Rack writes it
	`$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent $request_time`,
	`$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent`,
	// with the virtual host before it
	`$server_name:$server_port $remote_addr - $remote_user [$time_local] "$request" $status $more`,
	`$server_name $remote_addr - $remote_user [$time_local] "$request" $status $more`,
}

// knownNames says what those fields of the known templates are whose names do not
// tell enough.
var knownNames = map[string]meaning{
	"balancer_wait": {target: tWait, component: "balancer", unit: time.Second},
	"target_wait":   {target: tWait, component: "target", unit: time.Second},
	"backend_wait":  {target: tWait, component: "backend", unit: time.Second},
	"response_wait": {target: tWait, component: "response", unit: time.Second},
	"client_time":   {target: tAttr},
	"queue_ms":      {target: tWait, component: "queue", unit: time.Millisecond},
	"connect_ms":    {target: tWait, component: "connect", unit: time.Millisecond},
	"server_ms":     {target: tWait, component: "server", unit: time.Millisecond},
	"upstream_ms":   {target: tWait, component: "upstream", unit: time.Millisecond},
	"wall_ms":       {target: tWall, rank: 9, unit: time.Millisecond},
	"wall_s":        {target: tWall, rank: 9, unit: time.Second},
	"duration":      {target: tWall, rank: 9, unit: time.Millisecond},
	"more":          {target: tAttr},
}

// A knownSet is a Reader's own copy of the known templates.
type knownSet struct {
	templates []*template
	schemes   []*scheme
}

func newKnownSet(m Mapping) *knownSet {
	k := new(knownSet)
	for _, line := range knownTemplates {
		t, s := parseNginx(line), new(scheme)
		t, _ = t.check(line) // a test parses them all
		for i := range t.parts {
			if m, ok := knownNames[t.parts[i].name]; ok {
				t.parts[i].rule = &m
			}
		}
		t.line = line
		t.sum = strings.Contains(line, "$balancer_wait ")
		s.init(m)
		t.bind(s)
		k.templates, k.schemes = append(k.templates, t), append(k.schemes, s)
	}
	return k
}

// fits says whether the line has the form of the i-th template, and its values are
// what they should be.
func (k *knownSet) fits(i int, rec *record, line string, weight float64) bool {
	rec.reset(rec.Request, weight)
	if !k.templates[i].parse(rec, line) || !rec.finish() {
		return false
	}
	return rec.Flags&BadValue == 0 && rec.Flags&NoTime == 0
}

// parse reads the line by the first template that fits it.
func (k *knownSet) parse(rec *record, line string, weight float64) bool {
	line = cutPrefix(line)
	for i := range k.templates {
		if k.fits(i, rec, line, weight) {
			return true
		}
	}
	return false
}

// cutPrefix cuts what a container's log or syslog writes before a message.
func cutPrefix(line string) string {
	head := line[:min(len(line), 100)]
	for _, mark := range [...]string{" stdout F ", " stderr F ", "]: "} {
		if i := strings.Index(head, mark); i >= 0 {
			return line[i+len(mark):]
		}
	}
	return line
}

// detect tells the format by the log's first lines. It returns Auto if it cannot.
func detect(head []byte, more bool, m Mapping) (Format, string) {
	lines := firstLines(head, more)
	if len(lines) == 0 {
		return Auto, ""
	}
	var w3c bool
	var json, ltsv, logfmt int
	for _, line := range lines {
		w3c = w3c || strings.HasPrefix(line, "#Fields:")
		if i := strings.Index(line, `{"`); i >= 0 {
			json++
		}
		if labelled(line, "\t", ':') >= 2 {
			ltsv++
		}
		if labelled(line, " ", '=') >= 2 {
			logfmt++
		}
	}
	first := strings.TrimSpace(lines[0])
	switch half := (len(lines) + 1) / 2; {
	case w3c:
		return W3C, ""
	case first[0] == '{' || first == "[" || strings.HasPrefix(first, "[{") || json >= half:
		return JSON, ""
	case ltsv >= half:
		return LTSV, ""
	case tabular(lines, '\t'):
		return TSV, ""
	}
	if t := detectKnown(lines, m); t != "" {
		return Lines, t
	}
	switch {
	case logfmt*2 >= len(lines):
		return Logfmt, ""
	case tabular(lines, guessComma(lines[0])):
		return CSV, ""
	}
	return Auto, ""
}

// detectKnown returns the known template that fits most lines, if that is a quarter
// of them or more.
func detectKnown(lines []string, m Mapping) string {
	k := newKnownSet(m)
	rec := record{Request: new(Request)}
	best, most, fit := "", 0, 0
	for i, t := range k.templates {
		n, score := 0, 0
		for _, line := range lines {
			if k.fits(i, &rec, cutPrefix(line), 1) {
				n++
				score += 4
				if rec.Flags&NoWall == 0 {
					score++ // the time taken is what the log is read for
				}
			}
		}
		if score > most {
			best, most, fit = t.line, score, n
		}
	}
	if fit*4 < len(lines) {
		return ""
	}
	return best
}

// firstLines returns up to 50 lines that are not blank; the last of them is left
// out where the log goes on within it.
func firstLines(head []byte, more bool) []string {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	var lines []string
	for len(head) > 0 && len(lines) < 50 {
		line, rest, whole := bytes.Cut(head, []byte{'\n'})
		if !whole && more && len(lines) > 0 {
			break
		}
		if t := bytes.TrimSpace(line); len(t) > 0 {
			lines = append(lines, string(bytes.TrimRight(line, "\r")))
		}
		head = rest
	}
	return lines
}

// labelled counts the parts of a line that begin with a word and the mark.
func labelled(line, separator string, mark byte) int {
	n := 0
	for part := range strings.SplitSeq(line, separator) {
		i := 0
		for i < len(part) && (isWord(part[i]) || part[i] == '.' || part[i] == '-') {
			i++
		}
		if i > 0 && i < len(part) && part[i] == mark {
			n++
		}
	}
	return n
}

// tabular says whether the first line is the header of a table: names, one of them
// known, and as many columns in half of the lines below.
func tabular(lines []string, comma byte) bool {
	names := splitCSV(nil, lines[0], comma)
	if len(names) < 2 {
		return false
	}
	known := false
	for _, name := range names {
		if _, number := parseCount(name); number {
			return false
		}
		known = known || recognize(name).target != tAttr
	}
	same := 0
	for _, line := range lines[1:] {
		if len(splitCSV(nil, line, comma)) == len(names) {
			same++
		}
	}
	return known && same*2 >= len(lines)-1
}
