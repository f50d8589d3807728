package requestlog

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// readAll reads the whole log and its damage.
func readAll(t testing.TB, r *Reader) (reqs []*Request, damage []Damage) {
	t.Helper()
	r.OnDamage = func(d Damage) { damage = append(damage, d) }
	for req, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		reqs = append(reqs, req)
	}
	return reqs, damage
}

func at(h, m, s int, nanos ...int) time.Time {
	n := 0
	if len(nanos) > 0 {
		n = nanos[0]
	}
	return time.Date(2026, 11, 30, h, m, s, n, time.UTC)
}

const ms = time.Millisecond

func TestEveryFormatIsRecognizedAndReadIntoTheSameRequest(t *testing.T) {
	want := &Request{
		Time: at(10, 0, 0), ID: "r1", Page: "/product/{n}", Method: "GET", URL: "/product/17?x=1", Status: 200,
		User: "ann", IP: "10.0.0.1", Wall: 120 * ms, CPUUser: 12 * ms, CPUSystem: 3 * ms,
		Waits: []Wait{{"mysql", 80 * ms, 4}}, Bytes: 512, Weight: 10, Attrs: []Attr{{"kind", "bot"}},
	}
	for _, c := range []struct {
		format Format
		log    string
	}{
		{JSON, `{"time":"2026-11-30T10:00:00Z","request_id":"r1","method":"GET","uri":"/product/17?x=1","status":200,"user":"ann","ip":"10.0.0.1","wall_ms":120,"utime":0.012,"stime":0.003,"waits":{"mysql":{"time":0.08,"calls":4}},"bytes":512,"weight":10,"kind":"bot"}` + "\n"},
		{JSON, "{\n  \"time\": \"2026-11-30T10:00:00+00:00\", \"request_id\": \"r1\",\n \"method\": \"GET\", \"uri\": \"\\/product\\/17?x=1\",\n \"status\": \"200\", \"user\": \"ann\", \"ip\": \"10.0.0.1\", \"wall\": 1.2e-1,\n\"utime\":0.012,\"stime\":0.003,\"mysql_time\":0.08,\"mysql_calls\":4,\n\"bytes\":512,\"weight\":10,\n\"kind\":\"bot\"\n}\n"},
		{LTSV, "time:2026-11-30T10:00:00Z\trequest_id:r1\tmethod:GET\turi:/product/17?x=1\tstatus:200\tuser:ann\thost:10.0.0.1\treqtime:0.120\tutime:0.012\tstime:0.003\tmysql_time:0.080\tmysql_calls:4\tsize:512\tweight:10\tkind:bot\n"},
		{Logfmt, "ts=2026-11-30T10:00:00Z request_id=r1 method=GET path=\"/product/17?x=1\" status=200 user=ann ip=10.0.0.1 duration=120ms utime=0.012 stime=0.003 mysql_ms=80 mysql_count=4 bytes=512 weight=10 kind=bot\n"},
		{CSV, "time,request_id,method,url,status,user,ip,wall_us,utime,stime,wait_mysql_ms,calls_mysql,bytes,sample_rate,kind\n2026-11-30 10:00:00,r1,GET,\"/product/17?x=1\",200,ann,10.0.0.1,120000,.012,.003,80.0,4,512,0.1,bot\n"},
		{TSV, "time\trequest_id\tmethod\turl\tstatus\tuser\tip\twtime\tutime\tstime\tmysql_time\tmysql_calls\tbytes\tweight\tkind\n2026-11-30 10:00:00\tr1\tGET\t/product/17?x=1\t200\tann\t10.0.0.1\t0.12\t0.012\t0.003\t0.08\t4\t512\t10\tbot\n"},
		{W3C, "#Software: any\n#Fields: date time x-request-id cs-method cs-uri-stem cs-uri-query sc-status cs-username c-ip time-taken utime stime mysql_time mysql_calls sc-bytes weight kind\n2026-11-30 10:00:00 r1 GET /product/17 x=1 200 ann 10.0.0.1 0.120 0.012 0.003 0.08 4 512 10 bot\n"},
	} {
		t.Run(string(c.format), func(t *testing.T) {
			r := NewReader(strings.NewReader(c.log))
			reqs, damage := readAll(t, r)
			if len(reqs) != 1 || len(damage) != 0 {
				t.Fatalf("%d requests, damage %v; want 1 and none", len(reqs), damage)
			}
			if diff := cmp.Diff(want, reqs[0], cmpopts.IgnoreFields(Request{}, "Line", "Offset")); diff != "" {
				t.Error(diff)
			}
			if f, _ := r.Recognized(); f != c.format {
				t.Errorf("format %q, want %q", f, c.format)
			}
			if st := r.Stats(); st.Bytes != int64(len(c.log)) || st.Lines != int64(strings.Count(c.log, "\n")) || st.Requests != 1 {
				t.Errorf("stats %+v of %d bytes", st, len(c.log))
			}
		})
	}
}

func TestTemplateReadsServersOwnNotation(t *testing.T) {
	waits := func(w ...Wait) []Wait { return w }
	for _, c := range []struct {
		name, template, line string
		want                 Request
	}{
		{"nginx combined with times", `$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" rt=$request_time urt=$upstream_response_time id=$request_id`,
			`192.0.2.1 - - [30/Nov/2026:11:00:00 +0100] "GET /a HTTP/1.1" 200 12 "-" "x \x22y\x22" rt=0.310 urt=0.010, 0.200 : 0.1 id=ab`,
			Request{Time: at(10, 0, 0), ID: "ab", Page: "/a", Method: "GET", URL: "/a", Status: 200, IP: "192.0.2.1", Wall: 310 * ms, Waits: waits(Wait{"upstream", 310 * ms, 3}), Bytes: 12, Attrs: []Attr{{"http_user_agent", `x "y"`}}}},
		{"nginx with a server that did not answer", `$msec $request_time "$upstream_response_time" ${request_uri}`,
			`1796032800.250 0.000 "1.000, -, 2.000" /b/c`,
			Request{Time: at(10, 0, 0, 250e6), Page: "/b/c", URL: "/b/c", Waits: waits(Wait{"upstream", 3 * time.Second, 3})}},
		{"nginx directive as it stands", "log_format main '$remote_addr:$remote_port [$time_iso8601] '\n '\"$request\" $request_time';",
			`2001:db8::1:4711 [2026-11-30T10:00:00+00:00] "POST /x y HTTP/2.0" 1.5`,
			Request{Time: at(10, 0, 0), Page: "/x y", Method: "POST", URL: "/x y", IP: "2001:db8::1", Wall: 1500 * ms, Attrs: []Attr{{"remote_port", "4711"}}}},
		{"Apache combined with microseconds", `%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-agent}i" %D %{X-Request-Id}o`,
			`192.0.2.1 - bob [30/Nov/2026:10:00:00 +0000] "GET /s?q=1 HTTP/1.1" 404 - "-" "a \"quoted\" agent" 2500 id9`,
			Request{Time: at(10, 0, 0), ID: "id9", Page: "/s", Method: "GET", URL: "/s?q=1", Status: 404, User: "bob", IP: "192.0.2.1", Wall: 2500 * time.Microsecond, Attrs: []Attr{{"User-agent", `a "quoted" agent`}}}},
		{"Apache seconds give way to finer times", `%T %{ms}T %U %{sec}t`, `1 1204 /u 1796032800`,
			Request{Time: at(10, 0, 0), Page: "/u", URL: "/u", Wall: 1204 * ms, Attrs: []Attr{{"T", "1"}}}},
		{"two bare numbers", `$request_time $upstream_response_time`, `121 321`,
			Request{Wall: 121 * time.Second, Waits: waits(Wait{"upstream", 321 * time.Second, 0}), Flags: NoTime}},
		{"a scanner's handshake", `$remote_addr [$time_local] "$request" $status`, `192.0.2.1 [30/Nov/2026:10:00:00 +0000] "\x16\x03\x01" 400`,
			Request{Time: at(10, 0, 0), Status: 400, IP: "192.0.2.1", Attrs: []Attr{{"request", "\x16\x03\x01"}}, Flags: NoWall}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := NewReader(strings.NewReader(c.line + "\n"))
			r.Template = c.template
			reqs, damage := readAll(t, r)
			if len(reqs) != 1 {
				t.Fatalf("no request; damage %v", damage)
			}
			c.want.Weight, c.want.Line = 1, 1
			if diff := cmp.Diff(&c.want, reqs[0], cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTemplateErrorsSayWhatIsWrong(t *testing.T) {
	for template, want := range map[string]string{
		"$a$b":      "nothing stands between a and b",
		"plain":     "holds no variable",
		"%h %Z":     "no directive %Z",
		"%{Referer": "no } after",
		"%h %":      "ends inside a directive",
		"%{days}T":  "no directive %T",
	} {
		r := NewReader(strings.NewReader("x\n"))
		r.Template = template
		if _, err := r.Read(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("template %q: error %v, want one with %q", template, err, want)
		}
	}
}

func TestKnownTemplatesAreUnambiguous(t *testing.T) {
	for _, line := range knownTemplates {
		if _, err := parseTemplate(line); err != nil {
			t.Error(err)
		}
	}
}

func TestDamageCostsTheDamagedRecordAlone(t *testing.T) {
	for _, c := range []struct {
		name, log string
		pages     []string
		damage    []Damage
	}{
		{"JSON cut short", `{"page":"a","wall":1}` + "\n" + `{"page":"b","wa` + "\n" + `{"page":"c","wall":1}` + "\n",
			[]string{"a", "c"}, []Damage{{2, 22, "object without its end before the next one begins"}}},
		{"JSON broken inside", `{"page":"a","wall":1}` + "\n" + `{"page" "b"}` + "\n" + `{"page":"c","wall":1}` + "\n",
			[]string{"a", "c"}, []Damage{{2, 22, "broken JSON at byte 9 of the object"}}},
		{"JSON of another kind of message", `{"page":"a","wall":1}` + "\n" + `{"level":"info"}` + "\n",
			[]string{"a"}, []Damage{{2, 22, "not about a request: no page, URL, status or wall time in it"}}},
		{"JSON at the end of a log still written", `{"page":"a","wall":1}` + "\n" + `{"page":"b"`,
			[]string{"a"}, []Damage{{2, 22, "object without its end"}}},
		{"CSV with a column too many", "page,wall\na,1\nb,2,3\nc,4\n",
			[]string{"a", "c"}, []Damage{{3, 14, "columns: 3, want 2"}}},
		{"CSV with the header again, as joined files have it", "page,wall\na,1\npage,wall\nc,4\n",
			[]string{"a", "c"}, nil},
		{"CSV with line ends inside quotes", "page,wall\n\"a\nb\",1\nc,4\n",
			[]string{"a\nb", "c"}, nil},
		{"CSV with a quote that never closes", "page,wall\na,1\n\"b,1\nc,4\nd,5\n",
			[]string{"a", "c", "d"}, []Damage{{3, 14, "quoted field without its end"}}},
		{"CSV with a quote that another one closes", "page,wall\r\na,1\r\n\"b,1\r\nc,4\r\n\"d\r\n\",5\r\ne,6\r\n",
			[]string{"a", "c", "d\n", "e"}, []Damage{{3, 16, "columns: 1, want 2"}}},
		{"JSON behind a prefix with a brace", "[{web}] {\"page\":\"a\",\"wall\":1}\n{\"page\":\"b\",\"wall\":1}\n",
			[]string{"a", "b"}, nil},
		{"JSON cut short behind a container's prefix", "web  | {\"page\":\"a\",\"wall\":1}\nweb  | {\"page\":\"b\nweb  | {\"page\":\"c\",\"wall\":1}\n",
			[]string{"a", "c"}, []Damage{{2, 29, "object without its end"}}},
		{"JSON cut short before lines of prose and a record", "{\"page\":\"a\",\"wall\":1}\n{\"page\":[\n1,\n{\"page\":\"c\",\"wall\":1}\n",
			[]string{"a", "c"}, []Damage{{2, 22, "object without its end before the next one begins"}, {3, 32, "no JSON object"}}},
		{"TSV with an escaped line end, as INTO OUTFILE writes it", "page\twall\na\\\nb\t1\nc\\td\t\\N\n",
			[]string{"a\nb", "c\td"}, nil},
		{"LTSV with a line of prose", "page:a\twall:1\nserver restarted\npage:c\twall:2\n",
			[]string{"a", "c"}, []Damage{{2, 14, "no label:value in the line"}}},
		{"CRLF and blank lines", "page:a\twall:1\r\n\r\npage:c\twall:2\r\n",
			[]string{"a", "c"}, nil},
		{"logfmt without closing quote", "page=a wall=1\npage=b wall=1 msg=\"open\npage=c wall=1\n",
			[]string{"a", "c"}, []Damage{{2, 14, "value without its closing quote"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := NewReader(iotest.OneByteReader(strings.NewReader(c.log)))
			reqs, damage := readAll(t, r)
			var pages []string
			for _, req := range reqs {
				pages = append(pages, req.Page)
			}
			if diff := cmp.Diff(c.pages, pages); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.damage, damage); diff != "" {
				t.Error(diff)
			}
			if r.Stats().Skipped != int64(len(c.damage)) {
				t.Errorf("%d skipped, want %d", r.Stats().Skipped, len(c.damage))
			}
		})
	}
}

func TestLinesBeyondTheBufferAndBeyondTheBound(t *testing.T) {
	long := "page:b\twall:1\tnote:" + strings.Repeat("x", 300<<10)
	huge := "page:c\twall:1\tnote:" + strings.Repeat("x", MaxRecord)
	r := NewReader(strings.NewReader("page:a\twall:1\n" + long + "\n" + huge + "\npage:d\twall:1"))
	reqs, damage := readAll(t, r)
	if len(reqs) != 3 || reqs[1].Page != "b" || len(reqs[1].Attrs[0].Value) != 300<<10 || reqs[2].Page != "d" || reqs[2].Line != 4 {
		t.Errorf("%d requests read around the long lines, want a, b and d", len(reqs))
	}
	if len(damage) != 1 || damage[0].Line != 3 {
		t.Errorf("damage %v, want line 3", damage)
	}
}

func TestOddValuesAreFlaggedAndKept(t *testing.T) {
	log := `{"page":"a","time":"2026-11-30T10:00:00Z","wall":-1}
{"page":"b","time":"2026-11-30T10:00:00Z","wall":1,"mysql_time":-0.5}
{"page":"c","time":"1970-01-01T00:00:10Z","wall":1}
{"page":"d","time":"2026-11-30T10:00:00Z","wall":90000}
{"page":"e","time":"yesterday","wall":"soon","status":"java.net.SocketException"}
{"page":"f","time":"2026-11-30T10:00:00Z"}
`
	r := NewReader(strings.NewReader(log))
	reqs, _ := readAll(t, r)
	var flags []Flags
	for _, req := range reqs {
		flags = append(flags, req.Flags)
		if req.Wall < 0 || len(req.Waits) > 0 {
			t.Errorf("page %s: a negative time was counted", req.Page)
		}
	}
	want := []Flags{NoWall | NegativeTime, NegativeTime, AbsurdTime, AbsurdTime, NoTime | NoWall | BadValue, NoWall}
	if diff := cmp.Diff(want, flags); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Attr{{"time", "yesterday"}, {"wall", "soon"}, {"status", "java.net.SocketException"}}, reqs[4].Attrs); diff != "" {
		t.Error(diff)
	}
	if r.Stats().Flagged != 4 {
		t.Errorf("%d flagged, want 4", r.Stats().Flagged)
	}
}

func TestNestedObjectsAndEscapesAreKeptAsAttributes(t *testing.T) {
	r := NewReader(strings.NewReader(`{"page":"a","wall":1,"req":{"headers":{"Accept":["*/*","}\"]"],"n":null}},"u":"\u00e9\ud83d\ude00\ud83d!\n\x22","flag":true,"empty":{}}`))
	reqs, damage := readAll(t, r)
	if len(reqs) != 1 {
		t.Fatal(damage)
	}
	want := []Attr{{"req.headers.Accept", `["*/*","}\"]"]`}, {"u", "é😀\uFFFD!\n\""}, {"flag", "true"}}
	if diff := cmp.Diff(want, reqs[0].Attrs); diff != "" {
		t.Error(diff)
	}
}

func TestMappingComesBeforeNames(t *testing.T) {
	for text, want := range map[string]string{"wall=rt:ms,conn=c": "no target", "wall=rt:sms": "no unit", "wall=a:b": "no unit", "wall=": "want target=field", "wall=:ms": "want target=field"} {
		if m, err := ParseMapping(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, error %v, want one with %q", text, m, err, want)
		}
	}
	colon, err := ParseMapping("wall=a:b:,cpu=c:d:us")
	if want := (Mapping{{Target: "wall", Field: "a:b"}, {Target: "cpu", Field: "c:d", Unit: time.Microsecond}}); err != nil || !cmp.Equal(colon, want) {
		t.Errorf("fields with a colon: got %v, %v, want %v", colon, err, want)
	}
	m, err := ParseMapping("wall=rt:ms, wait.api=remote:us,calls.api=n,page=what,connection=c,attr=status")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := m.String(), "wall=rt:ms,wait.api=remote:us,calls.api=n,page=what,connection=c,attr=status"; got != want {
		t.Errorf("String is %s, want %s", got, want)
	}
	r := NewReader(strings.NewReader("rt:1500\tremote:700\tn:3\twhat:search\tc:42\tstatus:odd\twall:9\n"))
	r.Mapping, r.Format = m, LTSV
	reqs, _ := readAll(t, r)
	want := &Request{Page: "search", ConnectionID: 42, Wall: 1500 * ms, Waits: []Wait{{"api", 700 * time.Microsecond, 3}},
		Weight: 1, Attrs: []Attr{{"status", "odd"}, {"wall", "9"}}, Flags: NoTime, Line: 1}
	if diff := cmp.Diff(want, reqs[0]); diff != "" {
		t.Error(diff)
	}
	_, got := r.Recognized()
	if want := "wall=rt:ms,wait.api=remote:us,calls.api=n,page=what,connection=c"; got.String() != want {
		t.Errorf("recognized %s, want %s", got, want)
	}
}

func TestGuessedUnitsAreSaid(t *testing.T) {
	for log, want := range map[string]string{
		"page=a duration=0 x=1\npage=b duration=250 x=1":                "wall=duration:ms",
		"page=a duration=0.25 x=1\npage=b duration=0.1 x=1":             "wall=duration:s",
		"duration=0.25 controller=Home action=show":                     "wall=duration:ms",
		`{"page":"a","Duration":250000000}`:                             "wall=Duration:ns",
		`{"page":"a","duration":250,"response_flags":"-"}`:              "wall=duration:ms",
		"timeStamp,elapsed,label,allThreads\n1796032800000,250.0,a,1\n": "wall=elapsed:ms",
	} {
		r := NewReader(strings.NewReader(log))
		readAll(t, r)
		_, m := r.Recognized()
		var got string
		for _, rule := range m {
			if rule.Target == "wall" {
				got = rule.String()
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", log, got, want)
		}
	}
}

func TestColumnsOfALogWithoutAHeader(t *testing.T) {
	for _, log := range []string{"1\t\\N\tcart\t0.25\n2\tann\ta\\tb\t7\n", "1,,cart,0.25\n2,ann,\"a\tb\",7\n"} {
		r := NewReader(strings.NewReader(log))
		r.Columns = []string{"nr", "user", "page", "wtime"}
		reqs, damage := readAll(t, r)
		want := []*Request{
			{Page: "cart", Wall: 250 * ms, Weight: 1, Attrs: []Attr{{"nr", "1"}}, Flags: NoTime},
			{Page: "a\tb", User: "ann", Wall: 7 * time.Second, Weight: 1, Attrs: []Attr{{"nr", "2"}}, Flags: NoTime},
		}
		if diff := cmp.Diff(want, reqs, cmpopts.IgnoreFields(Request{}, "Line", "Offset"), cmpopts.EquateEmpty()); diff != "" || damage != nil {
			t.Error(damage, diff)
		}
	}
}

func TestStartAndEndMakeTheWallTime(t *testing.T) {
	r := NewReader(strings.NewReader(`{"EdgeStartTimestamp":1796032800100000000,"EdgeEndTimestamp":1796032800123000000,"ClientRequestURI":"/"}`))
	reqs, _ := readAll(t, r)
	if got := reqs[0]; got.Wall != 23*ms || !got.Time.Equal(at(10, 0, 0, 100e6)) || got.Flags != 0 {
		t.Errorf("wall %v at %v, flags %v; want 23ms", got.Wall, got.Time, got.Flags)
	}
}

func TestWeightOfTheRecordComesBeforeTheOption(t *testing.T) {
	r := NewReader(strings.NewReader("page:a\twall:1\npage:b\twall:1\tweight:5\n"))
	r.Weight = 10
	reqs, _ := readAll(t, r)
	if reqs[0].Weight != 10 || reqs[1].Weight != 5 {
		t.Errorf("weights %v and %v, want 10 and 5", reqs[0].Weight, reqs[1].Weight)
	}
}

func TestUnknownFormatAndReadErrorsAreErrors(t *testing.T) {
	if _, err := NewReader(strings.NewReader("Lorem ipsum dolor\nsit amet\n")).Read(); !errors.Is(err, ErrFormat) {
		t.Errorf("error %v, want ErrFormat", err)
	}
	if _, err := NewReader(strings.NewReader("")).Read(); err != io.EOF {
		t.Errorf("error %v of an empty log, want io.EOF", err)
	}
	broken := errors.New("disk")
	r := NewReader(io.MultiReader(strings.NewReader("page:a\twall:1\n"), iotest.ErrReader(broken)))
	r.Format = LTSV
	if req, err := r.Read(); err != nil || req.Page != "a" {
		t.Fatalf("first read: %v", err)
	}
	if _, err := r.Read(); !errors.Is(err, broken) {
		t.Errorf("error %v, want the reader's", err)
	}
}

func TestLinesBehindAnOpenQuoteAreReadBeforeTheErrorThatEndsTheLog(t *testing.T) {
	broken := errors.New("disk")
	r := NewReader(io.MultiReader(strings.NewReader("page,wall\n\"a,1\nb,2\nc,3\n"), iotest.ErrReader(broken)))
	r.Format = CSV
	var pages []string
	for req, err := range r.All() {
		if err != nil {
			if !errors.Is(err, broken) {
				t.Errorf("error %v, want the reader's", err)
			}
			break
		}
		pages = append(pages, req.Page)
	}
	if diff := cmp.Diff([]string{"b", "c"}, pages); diff != "" {
		t.Error(diff)
	}
}

func TestReusedRequestsAllocateNothing(t *testing.T) {
	line := "time:2026-11-30T10:00:00Z\tmethod:GET\turi:/product/17\tstatus:200\treqtime:0.120\tmysql_time:0.080\tkind:bot\n"
	r := NewReader(strings.NewReader(strings.Repeat(line, 3000)))
	r.ReuseRequest = true
	for range 100 {
		r.Read()
	}
	if n := testing.AllocsPerRun(2000, func() {
		if _, err := r.Read(); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations per request, want none", n)
	}
}

func TestLostIsWhatNobodyInstrumented(t *testing.T) {
	r := Request{Wall: 100 * ms, CPUUser: 5 * ms, CPUSystem: 5 * ms, Waits: []Wait{{"sphinx", 50 * ms, 1}, {"mysql", 24 * ms, 3}}}
	if r.Lost() != 16*ms {
		t.Errorf("lost %v, want 16ms", r.Lost())
	}
}

func TestACloneOutlivesTheReusedRequest(t *testing.T) {
	r := NewReader(strings.NewReader("id:one\tpage:a\twall:1\tuser:u\tmysql_time:0.5\tk:v\nid:two\tpage:b\twall:2\tuser:w\tmysql_time:0.7\tk:x\n"))
	r.ReuseRequest = true
	first, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	kept := first.Clone()
	for range 2 {
		r.Read()
	}
	want := &Request{ID: "one", Page: "a", User: "u", Wall: time.Second, Waits: []Wait{{"mysql", 500 * ms, 0}}, Attrs: []Attr{{"k", "v"}}, Weight: 1, Flags: NoTime, Line: 1}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Error(diff)
	}
}

func TestALiveLogIsNotWaitedFor(t *testing.T) {
	pr, pw := io.Pipe()
	defer pw.Close()
	r := NewReader(pr)
	r.Format = LTSV
	for i := range 3 {
		go io.WriteString(pw, "page:a\twall:1\n")
		if req, err := r.Read(); err != nil || req.Line != int64(i+1) {
			t.Fatalf("request %v, error %v", req, err)
		}
	}
}
