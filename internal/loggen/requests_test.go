package loggen

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestShopRequestsAreWhatOnRequestSays(t *testing.T) {
	var log, again, slow bytes.Buffer
	o := RequestOptions{Seed: 9, Requests: 800, Sample: 4, JobAt: time.Hour, JobEvery: 6 * time.Hour, JobLength: 10 * time.Minute, SlowOver: 5 * time.Millisecond}
	if err := ShopRequests(&again, nil, o); err != nil {
		t.Fatal(err)
	}
	requests, logged, queries := 0, 0, 0
	var last time.Time
	o.OnRequest = func(r *ShopRequest) {
		requests++
		if r.Logged {
			logged++
		}
		if r.End.Before(last) {
			t.Errorf("request %s ends before the one before it", r.ID)
		}
		last = r.End
		rest := r.Wall - r.UserCPU - r.SystemCPU
		for _, w := range r.Waits {
			rest -= w.Time
		}
		if rest <= 0 {
			t.Errorf("request %s: %v lost", r.ID, rest)
		}
		for _, q := range r.Queries {
			if q.Took >= o.SlowOver {
				queries++
			}
			if start := q.End.Add(-q.Took); start.Before(r.End.Add(-r.Wall)) || q.End.After(r.End) {
				t.Errorf("request %s: a query outside of it", r.ID)
			}
		}
	}
	if err := ShopRequests(&log, &slow, o); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(log.Bytes(), again.Bytes()) {
		t.Error("one seed gives two logs")
	}
	if n := strings.Count(log.String(), "\n"); n != logged || requests != 800 || logged < 150 || logged > 250 {
		t.Errorf("%d lines of %d logged requests of %d; want one in four of 800", n, logged, requests)
	}
	const jobs = 4
	if n := strings.Count(slow.String(), "# Query_time:"); n != queries+jobs {
		t.Errorf("%d records, want %d and those of %d jobs", n, queries, jobs)
	}
}
