package report_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/digest/finding"
	"github.com/quern-dev/quern/digest/report"
	"github.com/quern-dev/quern/internal/loggen"
	"github.com/quern-dev/quern/slowlog"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s differs (-want +got); go test -update writes it:\n%s", file, diff)
	}
}

// profileOf returns the profile of a log.
func profileOf(t *testing.T, o digest.Options, log []byte) (*digest.Profile, report.Source) {
	t.Helper()
	agg := digest.Aggregator{Options: o}
	r := slowlog.NewReader(bytes.NewReader(log))
	for ev, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		agg.Add(ev)
	}
	stats := r.Stats()
	agg.AddSkipped(uint64(stats.Skipped()))
	return agg.Profile(), report.Source{Name: "slow.log", Stats: stats}
}

// shop is the report of a made-up day.
func shop(t *testing.T) *report.Report {
	t.Helper()
	var log bytes.Buffer
	log.WriteString("this line belongs to no record\n# User@Host: a[a] @ b []\nand this header has no time\n")
	if _, err := loggen.ShopDay(&log, loggen.Options{Seed: 1}); err != nil {
		t.Fatal(err)
	}
	p, s := profileOf(t, digest.Options{}, log.Bytes())
	return &report.Report{Profile: p, Limit: 4, Sources: []report.Source{s}, Findings: finding.Examine(p, finding.DefaultLimits())}
}

func text(t *testing.T, r *report.Report, o report.TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteText(&b, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextIsAsInTheGoldenFiles(t *testing.T) {
	r := shop(t)
	first := r.Profile.Top(1, r.By)[0]
	r.Sections = map[digest.ID][]report.Section{first.ID: {{Title: "Plan", Text: "table  type  rows\nproduct\tALL\t80000\n"}}}
	golden(t, "shop-80.txt", []byte(text(t, r, report.TextOptions{})))
	golden(t, "shop-160.txt", []byte(text(t, r, report.TextOptions{Width: 160})))
	r.By = digest.ByQuantile(.95).WithMinCount()
	r.Limit = 1
	r.Interrupted = true
	golden(t, "shop-p95-color.txt", []byte(text(t, r, report.TextOptions{Color: true})))
}

func TestJSONIsAsInTheGoldenFile(t *testing.T) {
	var b bytes.Buffer
	if err := shop(t).WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, b.Bytes(), "", "\t"); err != nil {
		t.Fatal(err)
	}
	golden(t, "shop.json", indented.Bytes())
}

func TestNoLineIsWiderThanAskedFor(t *testing.T) {
	r := shop(t)
	r.Limit = 0
	for _, width := range []int{80, 100, 119, 120, 140, 200} {
		for l := range strings.Lines(text(t, r, report.TextOptions{Width: width})) {
			if n := utf8.RuneCountInString(strings.TrimRight(l, "\n")); n > width {
				t.Errorf("width %d: line of %d columns: %q", width, n, l)
			}
		}
	}
}

func TestTheReportSaysWhatWasSkippedAndWhy(t *testing.T) {
	got := text(t, shop(t), report.TextOptions{})
	for _, want := range []string{"1 × text without a header", "1 × header without Query_time"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in the report", want)
		}
	}
}

// hostile is a log of what a terminal must not get.
const hostile = "# Time: 2026-01-01T00:00:00.000000Z\n" +
	"# User@Host: a\x1b[31m[a] @ h\u009b2J []  Id: 7\n" +
	"# Schema: s\u202eq  Last_errno: 1064  Killed: 0\n" +
	"# Query_time: 0.000123  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\n" +
	"SET timestamp=1767225600;\n" +
	"SELECT '\x1b]0;owned\x07', '\u009b31m', '\u202e', '\xff\xfe', \"</script>\", `t\x1b[5m`.x FROM `evil\x1b[2J\u2066`\r\n WHERE a\u00ad = '\U000e0041';\n"

func TestNothingThatATerminalObeysComesOut(t *testing.T) {
	for _, group := range []string{"fingerprint", "user,schema,host"} {
		g, err := digest.ParseGroups(group)
		if err != nil {
			t.Fatal(err)
		}
		p, _ := profileOf(t, digest.Options{GroupBy: g}, []byte(hostile))
		r := &report.Report{Profile: p, Sources: []report.Source{{Name: "\x1b[2Jslow.log\u202e"}}}
		r.Sections = map[digest.ID][]report.Section{p.Top(1, r.By)[0].ID: {{Title: "a\x1bb", Text: "c\x07\u202ed"}}}
		var j bytes.Buffer
		if err := r.WriteJSON(&j); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(j.Bytes()) {
			t.Error("the JSON is not valid")
		}
		for form, out := range map[string]string{"text": text(t, r, report.TextOptions{}), "JSON": j.String()} {
			for i, c := range out {
				if c != '\n' && (unicode.Is(unicode.C, c) || c == utf8.RuneError && form == "text") {
					t.Errorf("%s by %s holds %U: %q", form, group, c, out[max(i-10, 0):min(i+10, len(out))])
				}
			}
		}
	}
}

func TestPrintableShowsWhatATerminalWouldObey(t *testing.T) {
	const text = "a\x1b[2J\tb\r\n  c\u202ed\xff\n"
	if diff := cmp.Diff("a\\x1b[2J    b\n  c\\u202ed\\xff\n", report.Printable(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTextWithoutColorHasNoEscapeSequences(t *testing.T) {
	r := shop(t)
	colored := text(t, r, report.TextOptions{Color: true})
	if !strings.Contains(colored, "\x1b[1m") {
		t.Error("no weight in a coloured report")
	}
	var plain strings.Builder
	for part := range strings.SplitSeq(colored, "\x1b[") {
		if plain.Len() > 0 {
			_, part, _ = strings.Cut(part, "m")
		}
		plain.WriteString(part)
	}
	// colours change no layout
	trim := func(s string) (lines []string) {
		for l := range strings.Lines(s) {
			lines = append(lines, strings.TrimRight(l, " \n"))
		}
		return lines
	}
	got := plain.String()
	if i := strings.Index(got, "m"); strings.HasPrefix(colored, "\x1b[") && i >= 0 {
		got = got[i+1:]
	}
	if diff := cmp.Diff(trim(text(t, r, report.TextOptions{})), trim(got)); diff != "" {
		t.Errorf("the text differs without its colours (-plain +coloured):\n%s", diff)
	}
}

// log returns a log of statements with the query times.
func logOf(seconds ...string) []byte {
	var b bytes.Buffer
	for _, s := range seconds {
		b.WriteString("# Time: 2026-01-01T00:00:00.000000Z\n# User@Host: a[a] @ h []  Id: 7\n# Query_time: " + s +
			"  Lock_time: 0 Rows_sent: 1  Rows_examined: 1\nSET timestamp=1767225600;\nSELECT 1;\n")
	}
	return b.Bytes()
}

func TestPercentilesAreLabelledByTheThreshold(t *testing.T) {
	for _, tt := range []struct {
		name    string
		log     []byte
		by      digest.Order
		want    []string
		wantNot []string
	}{
		{"a threshold", logOf("1.5", "2.25"), digest.ByTotalTime,
			[]string{"nothing shorter than 1.50s was logged", "query time of logged statements"}, nil},
		{"a threshold, by a percentile", logOf("1.5", "2.25"), digest.ByQuantile(.95),
			[]string{"Of logged statements: the log has none shorter than 1.50s"}, nil},
		{"whole seconds", logOf("0", "2"), digest.ByQuantile(.95),
			[]string{"whole seconds"}, []string{"of logged statements", "Of logged"}},
		{"none", logOf("0.000000", "2.5"), digest.ByQuantile(.95),
			[]string{"Threshold   none"}, []string{"of logged statements", "Of logged"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, s := profileOf(t, digest.Options{}, tt.log)
			got := text(t, &report.Report{Profile: p, By: tt.by, Sources: []report.Source{s}}, report.TextOptions{})
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in:\n%s", want, got)
				}
			}
			for _, not := range tt.wantNot {
				if strings.Contains(got, not) {
					t.Errorf("%q in:\n%s", not, got)
				}
			}
		})
	}
}

func TestAReportOfNothingIsWritten(t *testing.T) {
	var agg digest.Aggregator
	r := &report.Report{Profile: agg.Profile()}
	if got := text(t, r, report.TextOptions{}); !strings.Contains(got, "Events      0 in 0 classes") {
		t.Errorf("got %s", got)
	}
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil || !strings.Contains(b.String(), `"from": null`) {
		t.Errorf("JSON %s, %v", b.String(), err)
	}
}
