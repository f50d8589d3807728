package requestlog

import (
	"os"
	"strings"
	"testing"

	"github.com/quern-dev/quern/internal/flood"
)

// Whatever a log goes on with forever, a Reader of any format reads it to its end
// in bounded memory. QUERN_LONG=1 tries all formats, and lines of more than 4 GiB.
func TestHostileLogsTakeBoundedMemory(t *testing.T) {
	formats := []Format{Auto, JSON, CSV, Logfmt}
	if os.Getenv("QUERN_LONG") == "1" {
		formats = append(formats, TSV, LTSV, W3C, Lines)
	}
	const clf = `192.0.2.1 - - [30/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 12`
	long := map[string]bool{"a line": true, "NULs": true}
	for name, in := range map[string]flood.Text{
		"a line":                {Again: "x"},
		"lines":                 {Again: "x\n"},
		"blank lines":           {Again: "\n"},
		"NULs":                  {Again: "\x00"},
		"UTF-16":                {First: "\xff\xfe", Again: "{\x00\"\x00a\x00\n\x00"},
		"Latin-1":               {Again: "page=\xe9\xe8 wall=1\n"},
		"braces":                {Again: "{"},
		"members":               {First: "{", Again: `"a":1,`},
		"members on lines":      {First: "{\n", Again: "\"a\":1,\n"},
		"nested objects":        {Again: `{"a":`},
		"nested lists":          {First: `{"a":`, Again: "["},
		"a string":              {First: `{"a":"`, Again: "x"},
		"escapes":               {First: `{"a":"`, Again: `\u00e9\"`},
		"objects":               {Again: "{\"page\":\"a\",\"wall\":1}\n"},
		"an open object":        {First: "{\"page\":\"a\",\n", Again: "\"wall\":1\n"},
		"labels":                {Again: "a:1\t"},
		"pairs":                 {Again: "a=1 "},
		"an open pair":          {First: `page=a b="`, Again: "x\n"},
		"quotes":                {Again: `"`},
		"a quoted column":       {First: "page,wall\n\"", Again: "x\n"},
		"columns":               {First: "page,wall\n", Again: "1,"},
		"a header of columns":   {Again: "a,"},
		"tabs":                  {Again: "\t"},
		"field lists":           {Again: "#Fields: date time cs-uri-stem\n"},
		"a field list":          {First: "#Fields:", Again: " x"},
		"pages":                 {Again: clf + "\n"},
		"a request line":        {First: `192.0.2.1 - - [30/Nov/2026:10:00:00 +0000] "GET /`, Again: "a/"},
		"forged lines in a log": {First: clf + "\n", Again: "192.0.2.1 - - [" + clf + "\n"},
	} {
		for _, format := range formats {
			in := in
			in.Size = 3 << 19 // beyond MaxRecord
			if long[name] && format == Logfmt && os.Getenv("QUERN_LONG") == "1" {
				in.Size = 4<<30 + 1
			}
			r := NewReader(&in)
			r.Format = format
			if format == Lines {
				r.Template = `$remote_addr - - [$time_local] "$request" $status $bytes_sent`
			}
			for _, err := range r.All() {
				if err != nil && format != Auto {
					t.Errorf("%s as %s: %v", name, format, err)
				}
			}
			if n := in.InUse(); n > 48<<20 {
				t.Errorf("%s as %s: %d MiB in use, want 48 at most", name, format, n>>20)
			}
		}
	}
}

// Paths of any number and length make a bounded number of pages.
func TestHostilePathsMakeBoundedPages(t *testing.T) {
	routes := &Routes{MaxPages: 50}
	pages := map[string]bool{}
	for i := range 10_000 {
		word := strings.Repeat(string(rune('a'+i%26)), 1+i/26%50) + string(rune('a'+i/1300%26))
		pages[routes.Page("GET", "/"+strings.Repeat(word+"/", 100)+"?"+strings.Repeat("a=b&", 100))] = true
	}
	if n := len(pages); n > 51 || !pages[OtherPage] {
		t.Errorf("%d pages, %v %q; want 50 and it", n, pages[OtherPage], OtherPage)
	}
}
