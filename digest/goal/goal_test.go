package goal

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quern-dev/quern/slowlog/requestlog"
)

func TestParseReadsGoalsAsPeopleWriteThem(t *testing.T) {
	bot := []Condition{{"user", "=", "bot"}}
	for text, want := range map[string][]Goal{
		"search:p95<1s":                             {{Page: "search", Percentile: 95, Limit: time.Second}},
		"search:p95<1s,p99<3s":                      {{Page: "search", Percentile: 95, Limit: time.Second}, {Page: "search", Percentile: 99, Limit: 3 * time.Second}},
		"search{user=bot}:p95<5s":                   {{Page: "search", Segment: bot, Percentile: 95, Limit: 5 * time.Second}},
		" *:p99.9<250ms ; p:p50<1s ":                {{Page: "*", Percentile: 99.9, Limit: 250 * time.Millisecond}, {Page: "p", Percentile: 50, Limit: time.Second}},
		"a:p95<1s, p99<3s, b:p95<1s":                {{Page: "a", Percentile: 95, Limit: time.Second}, {Page: "a", Percentile: 99, Limit: 3 * time.Second}, {Page: "b", Percentile: 95, Limit: time.Second}},
		"/product/{n}:p90<1s":                       {{Page: "/product/{n}", Percentile: 90, Limit: time.Second}},
		"/p/{n}/{slug}{user=bot}:p90<1s":            {{Page: "/p/{n}/{slug}", Segment: bot, Percentile: 90, Limit: time.Second}},
		"/product/*:p90<1s":                         {{Page: "/product/*", Percentile: 90, Limit: time.Second}},
		"gallery{images>100000,kind!=staff}:p99<1m": {{Page: "gallery", Segment: []Condition{{"images", ">", "100000"}, {"kind", "!=", "staff"}}, Percentile: 99, Limit: time.Minute}},
		"g{a>=1,b<=2,c<3}:p99<1s":                   {{Page: "g", Segment: []Condition{{"a", ">=", "1"}, {"b", "<=", "2"}, {"c", "<", "3"}}, Percentile: 99, Limit: time.Second}},
		"\u00a0a{ x = y }: p50<1s,\u2003p60<2s\r\nb:p70<3s\u0085": {
			{Page: "a", Segment: []Condition{{"x", "=", "y"}}, Percentile: 50, Limit: time.Second},
			{Page: "a", Segment: []Condition{{"x", "=", "y"}}, Percentile: 60, Limit: 2 * time.Second},
			{Page: "b", Percentile: 70, Limit: 3 * time.Second}},
		"HomeController#index:p95<1s b*c:p95<100us,": {{Page: "HomeController#index", Percentile: 95, Limit: time.Second}, {Page: "b*c", Percentile: 95, Limit: 100 * time.Microsecond}},
	} {
		got, err := Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestParseErrorsSayWhereAndWhatIsWanted(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "want one such as",
		"search":                "want a page and a colon",
		":p95<1s":               "at byte 1: want a page",
		"\u0085:p95<1s":         "at byte 3: want a page",
		"{user=bot}:p95<1s":     "want a page",
		"search{user= }:p95<1s": "want conditions",
		"search{ =bot}:p95<1s":  "want conditions",
		"search{n> =1}:p95<1s":  "want conditions",
		"search{n<ten}:p95<1s":  "at byte 8: want conditions such as user=bot or images>1000, where < and > compare numbers",
		"search:95<1s":          "at byte 8: want a limit",
		"search:p95":            "want a limit",
		"search:p0<1s":          "percentile above 0",
		"search:p100<1s":        "percentile above 0",
		"search:pNaN<1s":        "percentile above 0",
		"search:p95<1":          "at byte 12: want a duration",
		"search:p95<-1s":        "want a duration above 0",
		"search{user=bot:p95<1": "want a }",
		"search{=bot}:p95<1s":   "want conditions",
		"search{user=bot}p95":   "want a colon before",
		"a:p95<1s;p99<1s":       "want a page and a colon",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"search:p95<1s,p99<3s", "search{user=bot}:p95<5s; *:p99<2s", "a{b>1,c!=d}:p99.9<4s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		goals, err := Parse(text)
		if err != nil {
			return
		}
		for _, g := range goals {
			again, err := Parse(g.String())
			if err != nil || len(again) != 1 {
				t.Fatalf("%q gives %v, which reads as %v, %v", text, g, again, err)
			}
			if diff := cmp.Diff(g, again[0]); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

func TestGoalsMatchByPageAndSegment(t *testing.T) {
	req := &requestlog.Request{Page: "/product/{n}", User: "bot", Status: 200, Attrs: []requestlog.Attr{{Name: "images", Value: "150000"}, {Name: "kind", Value: "x"}}}
	for text, want := range map[string]bool{
		"*": true, "/product/*": true, "/product": false, "/*duct/*": true, "*/x*": false,
		"*{user=bot}": true, "*{user=ann}": false, "*{user!=ann}": true, "*{images>100000}": true, "*{images<100000}": false,
		"*{images>=150000,status=200}": true, "*{images<=150000,status=404}": false, "*{kind>1}": false, "*{none!=x}": true,
	} {
		goals, err := Parse(text + ":p95<1s")
		if err != nil {
			t.Fatal(err)
		}
		if got := goals[0].Matches(req); got != want {
			t.Errorf("%s matches: %v, want %v", text, got, want)
		}
	}
}

func TestAPercentileThatIsNonePanics(t *testing.T) {
	for _, p := range []float64{0, -1, 100, 950} {
		func() {
			defer func() {
				if r, ok := recover().(string); !ok || !strings.Contains(r, "above 0 and below 100") {
					t.Errorf("a percentile of %v: recovered %q, want a panic that says what it may be", p, r)
				}
			}()
			NewAnalysis([]Goal{{Page: "*", Percentile: p, Limit: time.Second}})
		}()
	}
}
