package loggen

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func generate(t *testing.T, o Options) (string, *Truth) {
	t.Helper()
	var b bytes.Buffer
	truth, err := Generate(&b, o)
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), truth
}

func TestDialects(t *testing.T) {
	for _, d := range Dialects() {
		t.Run(d.String(), func(t *testing.T) {
			got, _ := generate(t, Options{Dialect: d, Seed: 3, Events: 12, Gap: 250 * time.Millisecond, RateLimit: 10})
			golden := filepath.Join("testdata", d.String()+".log")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", golden, diff)
			}
		})
	}
}

func TestLogDependsOnItsOptionsAlone(t *testing.T) {
	o := Options{Seed: 7, Events: 500}
	a, _ := generate(t, o)
	b, _ := generate(t, o)
	if a != b {
		t.Error("two logs of the same options differ")
	}
	o.Seed++
	if c, _ := generate(t, o); a == c {
		t.Error("two logs of different seeds are the same")
	}
}

// The truth is compared with what lines and regular expressions find in logs
// without look-alikes and without statements that hold a header's words.
func TestTruthIsWhatTheLogHolds(t *testing.T) {
	queryTime := regexp.MustCompile(`(?m)^# Query_time: (\d+)(?:\.(\d{6}))?  Lock_time`)
	table := regexp.MustCompile("(?i)(?:FROM|INTO|UPDATE) `?([a-z_]+_[a-z]+)\\b")
	user := regexp.MustCompile(`^# User@Host: (\w+)\[`)
	for _, d := range Dialects() {
		t.Run(d.String(), func(t *testing.T) {
			log, truth := generate(t, Options{Dialect: d, Seed: 11, Events: 800, Classes: 60})
			if truth.Bytes != int64(len(log)) {
				t.Errorf("%d bytes in truth, %d written", truth.Bytes, len(log))
			}
			type sums struct {
				Count      uint64
				Total, Max time.Duration
				Users      map[string]uint64
			}
			got := map[string]sums{}
			records := strings.Split(log, "# User@Host: ")[1:]
			for _, r := range records {
				r = "# User@Host: " + r
				q := queryTime.FindStringSubmatch(r)
				if q == nil {
					t.Fatalf("a record without a query time:\n%s", r)
				}
				us, _ := strconv.ParseInt(q[1]+(q[2] + "000000")[:6], 10, 64)
				key := "command"
				if m := table.FindStringSubmatch(r); m != nil {
					key = m[1]
				} else if !strings.Contains(r, "# administrator command: ") {
					t.Fatalf("a record without a table:\n%s", r)
				}
				s := got[key]
				if s.Users == nil {
					s.Users = map[string]uint64{}
				}
				s.Count++
				s.Total += time.Duration(us) * time.Microsecond
				s.Max = max(s.Max, time.Duration(us)*time.Microsecond)
				s.Users[user.FindStringSubmatch(r)[1]]++
				got[key] = s
			}
			want := map[string]sums{}
			for _, c := range truth.Classes {
				if c.Count > 0 {
					want[c.Table] = sums{c.Count, c.Time, c.Max, c.Users}
				}
			}
			command := sums{Users: map[string]uint64{}}
			for _, c := range truth.Commands {
				command.Count += c.Count
				command.Total += c.Time
				command.Max = max(command.Max, c.Max)
				command.Users["app"] += c.Count
			}
			want["command"] = command
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-truth +log:\n%s", diff)
			}
			var total sums
			for _, s := range got {
				total.Count += s.Count
				total.Total += s.Total
				total.Max = max(total.Max, s.Max)
			}
			if diff := cmp.Diff(sums{truth.Total.Count, truth.Total.Time, truth.Total.Max, nil}, total); diff != "" {
				t.Errorf("all records, -truth +log:\n%s", diff)
			}
		})
	}
}

func TestFrequenciesFollowTheRankOfTheClass(t *testing.T) {
	_, truth := generate(t, Options{Seed: 1, Events: 8000, Classes: 100})
	first, last := truth.Classes[0].Count, truth.Classes[99].Count
	if first < 10*last || last == 0 {
		t.Errorf("the first class has %d records, the last %d", first, last)
	}
}

func TestRecordsOverAlwaysLogStandForThemselves(t *testing.T) {
	var long, short int
	_, truth := generate(t, Options{Seed: 1, Events: 8000, RateLimit: 100, OnRecord: func(r *Record) {
		want := uint64(100)
		if r.QueryTime > AlwaysLog {
			want = 1
			long++
		} else {
			short++
		}
		if r.Weight != want {
			t.Errorf("a record of %v has weight %d", r.QueryTime, r.Weight)
		}
	}})
	if long == 0 || short == 0 {
		t.Fatalf("%d records over %v, %d others", long, AlwaysLog, short)
	}
	if want := uint64(long + 100*short); truth.Total.Weight != want {
		t.Errorf("total weight %d, want %d", truth.Total.Weight, want)
	}
}

func TestLimits(t *testing.T) {
	_, truth := generate(t, Options{Events: 321})
	if truth.Total.Count != 321 {
		t.Errorf("%d records, 321 asked for", truth.Total.Count)
	}
	var last int
	log, _ := generate(t, Options{Bytes: 100_000, OnRecord: func(r *Record) { last = len(r.Query) + 2000 }})
	if len(log) < 100_000 || len(log) > 100_000+last {
		t.Errorf("%d bytes, 100000 and the rest of a record asked for", len(log))
	}
	if _, err := Generate(&bytes.Buffer{}, Options{}); err == nil {
		t.Error("a log without an end was begun")
	}
}

func TestCRLFChangesLineEndsAlone(t *testing.T) {
	o := Options{Seed: 5, Events: 400, Dialect: MySQL57}
	unix, _ := generate(t, o)
	o.CRLF = true
	windows, _ := generate(t, o)
	if strings.Count(windows, "\n") != strings.Count(windows, "\r\n") {
		t.Error("a line ends in LF alone")
	}
	if strings.ReplaceAll(windows, "\r\n", "\n") != unix {
		t.Error("the logs differ in more than line ends")
	}
}

func TestHostileLogHoldsLookAlikes(t *testing.T) {
	log, truth := generate(t, Options{Seed: 5, Events: 3000, Hostile: true})
	if headers := uint64(strings.Count(log, "\n# User@Host: ")); headers <= truth.Total.Count {
		t.Errorf("%d headers for %d records", headers, truth.Total.Count)
	}
}

func TestShopDay(t *testing.T) {
	var b bytes.Buffer
	var before time.Time
	truth, err := ShopDay(&b, Options{Seed: 1, OnRecord: func(r *Record) {
		if r.Time.Before(before) {
			t.Errorf("a record of %v follows one of %v", r.Time, before)
		}
		before = r.Time
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range truth.Classes {
		if c.Count == 0 {
			t.Errorf("%s %s has no record", c.Verb, c.Table)
		}
	}
	if n := truth.Total.Count; n < 1000 || n > 2000 {
		t.Errorf("%d records", n)
	}
	if day := truth.Total.Last.Sub(truth.Total.First); day < 23*time.Hour || day > 24*time.Hour {
		t.Errorf("the day has %v", day)
	}
}

type brokenWriter struct{ left int }

var errBroken = errors.New("broken")

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errBroken
	}
	return len(p), nil
}

func TestWriteErrorEndsTheLog(t *testing.T) {
	if _, err := Generate(&brokenWriter{1 << 20}, Options{Bytes: 1 << 40}); !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
}

type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) { c.n += int64(len(p)); return len(p), nil }

func BenchmarkGenerate(b *testing.B) {
	const size = 16 << 20
	b.SetBytes(size)
	for b.Loop() {
		if _, err := Generate(&counter{}, Options{Bytes: size}); err != nil {
			b.Fatal(err)
		}
	}
}
