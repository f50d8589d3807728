package requestlog

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fuzzReader checks what holds for every log: no panic, an end, positions that
// rise, no negative time, and the same requests whether memory is reused or not.
func fuzzReader(f *testing.F, format Format, template string, seeds ...string) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, log string) {
		open := func() *Reader {
			r := NewReader(strings.NewReader(log))
			r.Format, r.Template = format, template
			return r
		}
		fresh, reused := open(), open()
		reused.ReuseRequest = true
		line := int64(0)
		for {
			req, err := fresh.Read()
			req2, err2 := reused.Read()
			if (err == nil) != (err2 == nil) {
				t.Fatalf("errors %v and %v", err, err2)
			}
			if err != nil {
				break
			}
			if diff := cmp.Diff(*req, *req2, cmp.Transformer("empty", func(s []Attr) []Attr { return append([]Attr{}, s...) }),
				cmp.Transformer("emptyWaits", func(s []Wait) []Wait { return append([]Wait{}, s...) })); diff != "" {
				t.Fatal(diff)
			}
			if req.Line <= line || req.Offset < 0 || req.Wall < 0 || req.CPUUser < 0 || req.CPUSystem < 0 || req.Weight <= 0 {
				t.Fatalf("impossible request %+v after line %d", *req, line)
			}
			line = req.Line
		}
		if st := fresh.Stats(); st.Bytes != int64(len(log)) && fresh.Format != Auto {
			t.Fatalf("%d bytes read of %d", st.Bytes, len(log))
		}
	})
}

func FuzzAuto(f *testing.F) {
	fuzzReader(f, Auto, "", "time:1\twall:2\n", "{\"page\":\"a\"}\n", "page,wall\na,1\n", "#Fields: date time cs-uri-stem\n2026-01-01 10:00:00 /x\n",
		`192.0.2.1 - - [30/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 12`+"\n", "page=a wall=1\n")
}
func FuzzLTSV(f *testing.F) {
	fuzzReader(f, LTSV, "", "time:08/Mar/2017:14:12:40 +0900\treq:GET / HTTP/1.1\tapptime:0.021, 0.042\n", ":\t:\n", "a:\tb\n")
}
func FuzzLogfmt(f *testing.F) {
	fuzzReader(f, Logfmt, "", `page=a msg="GET /x (200) 1ms" x`+"\n", "=\n", `a="\`)
}
func FuzzTSV(f *testing.F) {
	fuzzReader(f, TSV, "", "page\twall\na\\\nb\t1\n\\N\tNULL\n")
}
func FuzzW3C(f *testing.F) {
	fuzzReader(f, W3C, "", "#Fields: date time cs-uri-stem cs-uri-query time-taken\n2026-01-01 10:00:00 /x a=b 12\n\"open\n#Fields:\nx\n")
}
func FuzzTemplate(f *testing.F) {
	fuzzReader(f, Lines, `$remote_addr:$remote_port [$time_local] "$request" $status $upstream_response_time "$http_user_agent" $request_time`,
		`::1:8 [30/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 0.1, 0.2 : - "\"" 1`+"\n")
}
func FuzzJSONReader(f *testing.F) {
	fuzzReader(f, JSON, "", `{"page":"a","w":{"x":[1,{"y":"}"}]},"wall":1e3}`+"\n", "{\n\"page\":\"a\"\n}\n{\"a\n{}", `'{"page":"\ud83d\u"}'`)
}
func FuzzCSVReader(f *testing.F) { fuzzReader(f, CSV, "", "page,wall\n\"a\"\"b\n\",1\n\"\n") }

// FuzzJSONAgainstStandard holds the reader to encoding/json: of a valid flat object
// every string and number arrives as it was.
func FuzzJSONAgainstStandard(f *testing.F) {
	f.Add(`{"a":"x","b":12.5,"c":"\u00e9\n\"","d":null,"e":[1,"]"],"f":{"g":"h"}}`)
	f.Add(`{ "a" : "\ud83d\ude00\ud83d" , "b":"\/" }`)
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.TrimSpace(s)
		dec := json.NewDecoder(strings.NewReader(s))
		dec.UseNumber()
		var object map[string]any
		if dec.Decode(&object) != nil || object == nil || strings.ContainsAny(s, "\n\r") || !json.Valid([]byte(s)) {
			return
		}
		r := NewReader(strings.NewReader(`{"page":"p","o":` + s + "}\n"))
		r.Format = JSON
		req, err := r.Read()
		if err != nil {
			t.Fatalf("valid JSON refused: %v", err)
		}
		last := map[string]string{} // of a key that comes twice the last counts
		for _, a := range req.Attrs {
			last[a.Name] = strings.ToValidUTF8(a.Value, "\uFFFD")
		}
		for k, v := range object {
			var want string
			switch v := v.(type) {
			case string:
				want = v
			case json.Number:
				want = v.String()
			default:
				continue
			}
			// What has a place of its own, or no value, is no attribute.
			if m := recognize("o." + k); want == "" || want == "-" || m.target != tAttr || strings.Contains(k, "\uFFFD") {
				continue
			}
			if got, ok := last["o."+k]; !ok || got != strings.ToValidUTF8(want, "\uFFFD") && !strings.Contains(want, "\uFFFD") {
				t.Errorf("member %q is %q, want %q", k, got, want)
			}
		}
	})
}

// FuzzCSVAgainstStandard holds the reader to encoding/csv where that reads a line.
func FuzzCSVAgainstStandard(f *testing.F) {
	f.Add(`a,"b ""c""",d`)
	f.Add(`"",x,`)
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsAny(s, "\r\n") {
			return
		}
		c := csv.NewReader(strings.NewReader(s))
		want, err := c.Read()
		if err == io.EOF || err != nil {
			return
		}
		if diff := cmp.Diff(want, splitCSV(nil, s, ',')); diff != "" {
			t.Error(diff)
		}
	})
}

// FuzzNotations checks that what people write on a command line is refused or used,
// and that what is used reads any line without a panic.
func FuzzNotations(f *testing.F) {
	f.Add(`$remote_addr [$time_local] "$request" $status`, `192.0.2.1 [x] "GET / HTTP/1.1" 200`, "wall=rt:ms", "search=/find/**", "/find/x?y")
	f.Add(`%h %{X}i %>s %D`, `a b c 1`, "wait.x=y", "a=GET /*", "http://h")
	f.Fuzz(func(t *testing.T, template, line, mapping, routes, url string) {
		m, err := ParseMapping(mapping)
		if err == nil {
			again, err := ParseMapping(m.String())
			if diff := cmp.Diff(m, again); diff != "" || err != nil {
				t.Fatalf("mapping %q: %v, %s", mapping, err, diff)
			}
		}
		rules, err := ParseRoutes(routes)
		if err != nil {
			rules = nil
		}
		r := NewReader(strings.NewReader(line))
		r.Template, r.Mapping, r.Routes = template, m, &Routes{Rules: rules}
		for {
			if _, err := r.Read(); err != nil {
				break
			}
		}
		if page := r.Routes.Page("GET", url); page == "" {
			t.Fatalf("no page for %q", url)
		}
	})
}
