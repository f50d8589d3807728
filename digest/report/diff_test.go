package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/digest/report"
	"github.com/quern-dev/quern/internal/loggen"
	"github.com/quern-dev/quern/slowlog"
)

// dayAfter is the report of a day compared with the one before. change alters
// its events.
func dayAfter(t *testing.T, change func(ev *slowlog.Event)) *report.Report {
	t.Helper()
	profile := func(seed uint64, change func(ev *slowlog.Event)) *digest.Profile {
		var log bytes.Buffer
		if _, err := loggen.ShopDay(&log, loggen.Options{Seed: seed, Start: time.Date(2026, 3, 12+int(seed), 0, 0, 0, 0, time.UTC)}); err != nil {
			t.Fatal(err)
		}
		var agg digest.Aggregator
		for ev, err := range slowlog.NewReader(&log).All() {
			if err != nil {
				t.Fatal(err)
			}
			change(ev)
			agg.Add(ev)
		}
		return agg.Profile()
	}
	r := &report.Report{Profile: profile(2, change), Limit: 1}
	var err error
	if r.Diff, err = digest.Compare(profile(1, func(*slowlog.Event) {}), r.Profile); err != nil {
		t.Fatal(err)
	}
	return r
}

// release makes one class new, one gone and one slower.
func release(ev *slowlog.Event) {
	ev.Query = strings.Replace(ev.Query, "DELETE FROM session", "DELETE FROM visitor_session", 1)
	if strings.Contains(ev.Query, "FROM cart_item") {
		ev.QueryTime += 300 * time.Millisecond
	}
}

func TestChangesAreAsInTheGoldenFile(t *testing.T) {
	r := dayAfter(t, release)
	golden(t, "diff-80.txt", []byte(text(t, r, report.TextOptions{})))
	golden(t, "diff.html", []byte(page(t, r)))
}

func TestWhatChangedIsShownAndNoiseIsNot(t *testing.T) {
	got := text(t, dayAfter(t, func(*slowlog.Event) {}), report.TextOptions{})
	if !strings.Contains(got, "nothing changed") || strings.Contains(got, "slower") || strings.Contains(got, "more load") {
		t.Errorf("two days of one workload differ:\n%s", got)
	}
	changed, _, _ := strings.Cut(text(t, dayAfter(t, release), report.TextOptions{Width: 160}), "classes changed by no more than chance")
	for _, want := range []string{"new", "gone", "slower, more load"} {
		if n := strings.Count(changed, "\n"+want+"  "); n != 1 {
			t.Errorf("%d × %q in:\n%s", n, want, changed)
		}
	}
}

func TestChangesAreInTheJSON(t *testing.T) {
	var b bytes.Buffer
	if err := dayAfter(t, release).WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var j struct {
		Changes []struct {
			New, Gone bool
			Latency   string
		}
	}
	if err := json.Unmarshal(b.Bytes(), &j); err != nil {
		t.Fatal(err)
	}
	var added, gone, slower int
	for _, c := range j.Changes {
		if c.New {
			added++
		}
		if c.Gone {
			gone++
		}
		if c.Latency == "more" {
			slower++
		}
	}
	if added != 1 || gone != 1 || slower == 0 {
		t.Errorf("%d new, %d gone, %d slower of %d changes", added, gone, slower, len(j.Changes))
	}
}
