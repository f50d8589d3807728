package digest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTags(t *testing.T) {
	const trace = "00-0af1c2d3e4b5a6978812233445566778-00f1e2d3c4b5a697-01"
	tests := []struct {
		name, sql string
		want      Tags
	}{
		{"none", "SELECT 1", nil},
		{"sqlcommenter", `SELECT 1 /*controller='cart',route='%2Fcart%2F%3Cid%3E',traceparent='` + trace + `',tracestate='a%3D1%2Cb%3D2'*/`,
			Tags{{"controller", "cart"}, {"route", "/cart/<id>"}, {"traceparent", trace}, {"tracestate", "a=1,b=2"}}},
		{"escaped quotes and encoded keys", `SELECT 1 /*na%20me='it\'s',route%2A='%27x%27'*/;`, Tags{{"na me", "it's"}, {"route*", "'x'"}}},
		{"Marginalia", "SELECT 1 /*application:shop,controller:cart_items,line:/app/x.rb:12*/",
			Tags{{"application", "shop"}, {"controller", "cart_items"}, {"line", "/app/x.rb:12"}}},
		{"key=value with white space", "/* request_id=ab-12 user=7 */ SELECT 1", Tags{{"request_id", "ab-12"}, {"user", "7"}}},
		{"both ends", "/* a=1 */ SELECT 1 /* b=2 */", Tags{{"a", "1"}, {"b", "2"}}},
		{"value with an equals sign", "SELECT 1 /* q='a=b' r=c=d */", Tags{{"q", "a=b"}, {"r", "c=d"}}},
		{"comments inside", "SELECT /* a=1 */ 1 /* b=2 */ + 1", nil},
		{"line comments", "-- a=1\n# b=2\nSELECT 1 -- c:3\n;\n", Tags{{"a", "1"}, {"b", "2"}, {"c", "3"}}},
		{"comment in a string", `SELECT '/* a=1 */'`, nil},
		{"string that looks like the end of a comment", `SELECT 1 /* a=1 */ + 'b */'`, nil},
		{"hint and executable comment", "SELECT /*+ a=1 */ 1 /*!50000 b=2 */", nil},
		{"prose", "SELECT 1 /* see http://example.com/x for: more */", nil},
		{"wrong traceparent", "SELECT 1 /*traceparent='00-xyz',a='1'*/", Tags{{"a", "1"}}},
		{"traceparent of zeros", "SELECT 1 /*traceparent='00-00000000000000000000000000000000-00f1e2d3c4b5a697-01'*/", nil},
		{"wrong encoding stays", "SELECT 1 /*a='100%'*/", Tags{{"a", "100%"}}},
		{"cut comment", "SELECT 1 /*a='1',b='2", nil},
		{"open quote", "SELECT 1 /*a='1',b='2*/", Tags{{"a", "1"}}},
	}
	var f Fingerprinter
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, f.Tags(tt.sql), cmp.Transformer("", func(tags Tags) []Tag { return append([]Tag(nil), tags...) })); diff != "" {
				t.Errorf("Tags(%q) (-want +got)\n%s", tt.sql, diff)
			}
		})
	}
}

func TestTagsGetReturnsTheLastValue(t *testing.T) {
	tags := Tags{{"a", "1"}, {"b", "2"}, {"a", "3"}}
	if got := tags.Get("a") + tags.Get("b") + tags.Get("c"); got != "32" {
		t.Errorf("got %q, want %q", got, "32")
	}
}

func FuzzTags(f *testing.F) {
	f.Add(`/*a='1',b:"2" c=%41*/ SELECT 1 -- d='\'`)
	f.Fuzz(func(t *testing.T, sql string) {
		var f Fingerprinter
		for _, tag := range f.Tags(sql) {
			if tag.Key == "" || tag.Value == "" {
				t.Errorf("empty tag %+v of %q", tag, sql)
			}
		}
	})
}
