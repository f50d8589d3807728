package digest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quern-dev/quern/slowlog"
)

func writeJSON(t testing.TB, p *Profile, n int, by Order) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.WriteJSON(&b, n, by); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// schema is the part of JSON Schema that the schema file uses.
type schema struct {
	Ref        string             `json:"$ref"`
	Const      any                `json:"const"`
	Enum       []any              `json:"enum"`
	Type       any                `json:"type"`
	Required   []string           `json:"required"`
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
	AnyOf      []*schema          `json:"anyOf"`
	Pattern    string             `json:"pattern"`
	Minimum    *float64           `json:"minimum"`
	Maximum    *float64           `json:"maximum"`
	Defs       map[string]*schema `json:"$defs"`

	Schema, Title, Description any
}

// check returns what is wrong with v, which stands at path.
func (s *schema) check(root *schema, v any, path string) (wrong []string) {
	bad := func(format string, args ...any) { wrong = append(wrong, path+": "+fmt.Sprintf(format, args...)) }
	if s.Ref != "" {
		def := root.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")]
		if def == nil {
			bad("no %s", s.Ref)
		} else {
			wrong = append(wrong, def.check(root, v, path)...)
		}
	}
	if s.Const != nil && s.Const != v {
		bad("%v is not %v", v, s.Const)
	}
	if s.Enum != nil && !slices.Contains(s.Enum, v) {
		bad("%v is none of %v", v, s.Enum)
	}
	if s.AnyOf != nil && !slices.ContainsFunc(s.AnyOf, func(s *schema) bool { return len(s.check(root, v, path)) == 0 }) {
		bad("none of anyOf")
	}
	if s.Type != nil {
		types, _ := s.Type.([]any)
		if types == nil {
			types = []any{s.Type}
		}
		if !slices.ContainsFunc(types, func(want any) bool { return isType(v, want.(string)) }) {
			bad("%T is no %v", v, s.Type)
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for _, k := range s.Required {
			if _, ok := v[k]; !ok {
				bad("no key %q", k)
			}
		}
		for k, v := range v {
			if p := s.Properties[k]; p != nil {
				wrong = append(wrong, p.check(root, v, path+"."+k)...)
			} else if s.Properties != nil {
				bad("key %q is not in the schema", k)
			}
		}
	case []any:
		for i, v := range v {
			if s.Items != nil {
				wrong = append(wrong, s.Items.check(root, v, fmt.Sprintf("%s[%d]", path, i))...)
			}
		}
	case string:
		if s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(v) {
			bad("%q does not match %s", v, s.Pattern)
		}
	case float64:
		if s.Minimum != nil && v < *s.Minimum || s.Maximum != nil && v > *s.Maximum {
			bad("%v is out of range", v)
		}
	}
	return wrong
}

func isType(v any, want string) bool {
	switch v := v.(type) {
	case nil:
		return want == "null"
	case bool:
		return want == "boolean"
	case string:
		return want == "string"
	case float64:
		return want == "number" || want == "integer" && v == math.Trunc(v)
	case []any:
		return want == "array"
	case map[string]any:
		return want == "object"
	}
	return false
}

func TestJSONFollowsItsSchema(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "profile.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s schema
	dec := json.NewDecoder(bytes.NewReader(text))
	if err := dec.Decode(&s); err != nil {
		t.Fatal(err)
	}
	untimed := event("select '<a>' from t", 1)
	untimed.Time = time.Time{}
	evs := randomEvents(rand.New(rand.NewPCG(1, 1)), 300)
	for name, p := range map[string]*Profile{
		"empty":    profileOf(t, Options{}, nil),
		"untimed":  profileOf(t, Options{}, []*slowlog.Event{untimed}),
		"default":  profileOf(t, Options{}, evs),
		"grouped":  profileOf(t, Options{GroupBy: []Group{BySchema, ByUser}}, evs),
		"overflow": profileOf(t, Options{MaxClasses: 2}, evs),
		"textless": profileOf(t, Options{Text: TextNone}, evs),
	} {
		var v any
		if err := json.Unmarshal(writeJSON(t, p, 0, ByTotalTime), &v); err != nil {
			t.Fatal(err)
		}
		for _, wrong := range s.check(&s, v, "$") {
			t.Errorf("%s: %s", name, wrong)
		}
	}
}

func TestJSONSaysWhatTheProfileSays(t *testing.T) {
	var evs []*slowlog.Event
	for i, d := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second} {
		ev := event(fmt.Sprintf("SELECT a FROM t WHERE b < %d", i), d)
		ev.Time = testStart.Add(time.Duration(i) * time.Minute)
		ev.Weight = 10
		ev.RowsExamined, ev.RowsSent = 100, 1
		ev.Errno = i % 2 * 1205
		evs = append(evs, ev)
	}
	evs = append(evs, event("update t set a = 1", 20*time.Second))
	p := profileOf(t, Options{}, evs)
	var got map[string]any
	if err := json.Unmarshal(writeJSON(t, p, 1, ByTotalTime), &got); err != nil {
		t.Fatal(err)
	}
	c := p.Top(1, ByTotalTime)[0]
	want := map[string]any{
		"quern": 1., "events": 4., "weight": 31., "skipped": 0., "filtered": 0., "classes": 2., "total_time": 26., "weighted_time": 80.,
		"from": "2026-03-01T10:00:00Z", "to": "2026-03-01T10:02:00Z", "threshold": 1., "whole_seconds": true, "sampled": true,
		"grouped_by": "fingerprint", "ordered_by": "total", "overflow": nil,
		"queries": []any{map[string]any{
			"rank": 1., "id": c.ID.String(), "kind": "statements", "percona_ids": []any{PerconaID(evs[0].Query)},
			"fingerprint": "select a from t where b < ?", "key": []any{}, "verb": "SELECT", "tables": []any{"t"},
			"count": 30., "count_error": math.Sqrt(270), "observed": 3., "total_time": 60., "share": .75,
			"min": 1., "max": 3., "avg": 2., "p50": 1.9964, "p95": 3., "p99": 3., "lock_time": 0., "rows_examined": 3000., "rows_sent": 30., "errors": 10.,
			"first_seen": "2026-03-01T10:00:00Z", "last_seen": "2026-03-01T10:02:00Z",
			"sample": "SELECT a FROM t WHERE b < 2", "sample_schema": "shop",
		}},
	}
	// quantiles are within 1 %
	near := cmp.FilterPath(func(p cmp.Path) bool {
		k, ok := p.Last().(cmp.MapIndex)
		return ok && slices.Contains([]string{"p50", "p95", "p99"}, k.Key().String())
	}, cmp.Comparer(func(a, b any) bool { return math.Abs(a.(float64)-b.(float64)) < .01*a.(float64) }))
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
