package main

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quern-dev/quern/digest"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// observed returns the profile of statements that took a second each.
func observed(statements ...string) *digest.Profile {
	c := digest.NewCollector(digest.CollectorOptions{GroupBy: groups})
	for _, sql := range statements {
		c.Observe(digest.Observation{SQL: sql, Schema: "sh<i>op", Duration: time.Second})
	}
	return c.Flush()
}

func serve(t *testing.T, g *page) string {
	t.Helper()
	rec := httptest.NewRecorder()
	g.ServeHTTP(rec, httptest.NewRequest("GET", "/", nil))
	if policy := rec.Header().Get("Content-Security-Policy"); rec.Code != 200 || !strings.HasPrefix(policy, "default-src 'none'") {
		t.Fatalf("status %d, policy %q", rec.Code, policy)
	}
	return rec.Body.String()
}

func TestThePageObeysNoStatement(t *testing.T) {
	g := new(page)
	g.add(observed("SELECT `<script>alert(1)</script>` FROM `\u202e\x1b[2J&`"), noon, noon.Add(time.Second))
	html := serve(t, g)
	if strings.Contains(html, "<script") || strings.Contains(html, "<i>") || strings.ContainsAny(html, "\u202e\x1b") {
		t.Errorf("the page holds what a statement wrote: %s", html)
	}
	if !strings.Contains(html, "&lt;script&gt;alert(1)&lt;/script&gt;") || !strings.Contains(html, "sh&lt;i&gt;op") {
		t.Errorf("the page does not show the names: %s", html)
	}
}

func TestThePageShowsTheLastMinute(t *testing.T) {
	g := new(page)
	if html := serve(t, g); !strings.Contains(html, "first window is open") {
		t.Errorf("before the first window: %s", html)
	}
	var counts []string
	for i := range 10 {
		from := noon.Add(time.Duration(i) * 10 * time.Second)
		g.add(observed(fmt.Sprintf("SELECT a%d", i)), from, from.Add(10*time.Second))
		html := serve(t, g)
		counts = append(counts, strings.Fields(html[strings.Index(html, "<p>")+3:])[0])
	}
	if diff := cmp.Diff([]string{"1", "2", "3", "4", "5", "6", "6", "6", "6", "6"}, counts); diff != "" {
		t.Errorf("statements (-want +got):\n%s", diff)
	}
	for i := range 2 * shownWindows {
		from := noon.Add(10 * time.Minute).Add(time.Duration(i) * time.Millisecond)
		g.add(observed("SELECT 1"), from, from.Add(time.Millisecond))
	}
	if len(g.windows) != shownWindows {
		t.Errorf("%d windows are kept, want %d", len(g.windows), shownWindows)
	}
}

func TestRowsAddUpToAllStatements(t *testing.T) {
	var statements []string
	for i := range 30 {
		for range i + 1 {
			statements = append(statements, fmt.Sprintf("SELECT a%d FROM t", i))
		}
	}
	rows := new(page).rows(observed(statements...), time.Minute)
	last := rows[len(rows)-1]
	if len(rows) != shownRows+1 || last.Name != "all further classes" || last.Count != "55" || last.Total != "55 s" {
		t.Errorf("%d rows, the last %+v; want %d and 55 statements of 55 s", len(rows), last, shownRows+1)
	}
	share := 0.
	for _, r := range rows {
		share += r.Share
	}
	if share < 99.999 || share > 100.001 {
		t.Errorf("the shares add up to %v %%", share)
	}
	if rows[0].Count != "30" || rows[0].Rate != "0.5" || rows[0].Avg != "1 s" || rows[0].Statement != "select a29 from t" {
		t.Errorf("the first row is %+v", rows[0])
	}
}
