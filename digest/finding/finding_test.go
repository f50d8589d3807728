package finding_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/digest/finding"
	"github.com/quern-dev/quern/slowlog"
)

// A workload is a day of events.
type workload struct{ agg digest.Aggregator }

var midnight = time.Date(2026, 3, 13, 0, 0, 0, 0, time.UTC)

// run adds n events over the day. Set changes the i-th.
func (w *workload) run(n int, sql string, took time.Duration, set func(i int, ev *slowlog.Event)) {
	for i := range n {
		ev := &slowlog.Event{
			Time: midnight.Add(24 * time.Hour * time.Duration(2*i+1) / time.Duration(2*n)), Weight: 1, Query: sql, User: "web", Host: "web01",
			QueryTime: took, RowsSent: 1, RowsExamined: 1, ThreadID: uint64(i),
		}
		ev.SetHas(slowlog.FieldUser, slowlog.FieldQueryTime, slowlog.FieldRowsSent, slowlog.FieldRowsExamined)
		if set != nil {
			set(i, ev)
		}
		w.agg.Add(ev)
	}
}

// metrics returns the values that a log line holds.
func metrics(t *testing.T, line string) []slowlog.Metric {
	t.Helper()
	log := "# User@Host: a[a] @ h []\n# Query_time: 1  Lock_time: 0 Rows_sent: 1  Rows_examined: 1\n# " + line + "\nSET timestamp=1767225600;\nSELECT 1;\n"
	ev, err := slowlog.NewReader(strings.NewReader(log)).Read()
	if err != nil || len(ev.Metrics) == 0 {
		t.Fatalf("%v, %d metrics of %q", err, len(ev.Metrics), line)
	}
	return ev.Metrics
}

// flagged runs a scan of a large table whose record holds the line.
func flagged(t *testing.T, line string, rows uint64) func(w *workload) {
	return func(w *workload) {
		m := metrics(t, line)
		w.run(50, "SELECT a, COUNT(*) FROM big GROUP BY a", 100*time.Millisecond, func(_ int, ev *slowlog.Event) {
			ev.Metrics, ev.RowsExamined = m, rows
		})
	}
}

func sql(query string) func(w *workload) {
	return func(w *workload) { w.run(50, query, 100*time.Millisecond, nil) }
}

func command(n int, name string) func(w *workload) {
	return func(w *workload) {
		w.run(n, "", time.Millisecond, func(_ int, ev *slowlog.Event) { ev.Command, ev.Query = name, "" })
	}
}

// page runs a list and the entries of it, of a page each.
func page(lists, entries int, listPage, entryPage string, sent uint64) func(w *workload) {
	return func(w *workload) {
		w.run(lists, "SELECT id FROM orders WHERE customer = 1 ORDER BY at LIMIT 20"+listPage, 2*time.Millisecond, func(_ int, ev *slowlog.Event) { ev.RowsSent = sent })
		w.run(entries, "SELECT * FROM order_line WHERE order_id = 7"+entryPage, time.Millisecond, nil)
	}
}

func TestEachFindingFiresAndOnlyWhereItShould(t *testing.T) {
	shown := make(map[string]map[bool]bool)
	defer func() {
		for _, c := range finding.Examine(new(digest.Aggregator).Profile(), finding.DefaultLimits()).Checks {
			if c.Code != "threshold" && len(shown[c.Code]) != 2 { // the threshold has a test of its own
				t.Errorf("%s is not shown both to fire and to be silent", c.Code)
			}
		}
	}()
	const account, search = " /*controller='account',action='orders'*/", " /*controller='search',action='index'*/"
	for _, tt := range []struct {
		code  string
		name  string
		build func(w *workload)
		found bool
	}{
		{"dominant", "40 % of the load", sql("SELECT a FROM t WHERE b = 1"), true},
		{"dominant", "20 % of the load", func(w *workload) { w.run(20, "SELECT a FROM t", 50*time.Millisecond, nil) }, false},

		{"frequent", "half of all", func(w *workload) { w.run(500, "SELECT a FROM t WHERE id = 1", time.Millisecond, nil) }, true},
		{"frequent", "half of all, but slow", func(w *workload) { w.run(500, "SELECT a FROM t WHERE id = 1", 10*time.Millisecond, nil) }, false},
		{"frequent", "writes cannot be cached", func(w *workload) { w.run(500, "UPDATE t SET a = 1 WHERE id = 1", time.Millisecond, nil) }, false},

		{"rare", "5 reports a day", func(w *workload) { w.run(5, "SELECT a FROM t", 20*time.Second, nil) }, true},
		{"rare", "every minute", func(w *workload) { w.run(1440, "SELECT a FROM t", 20*time.Second, nil) }, false},

		{"spread", "one in ten is slow", func(w *workload) {
			w.run(100, "SELECT a FROM t", time.Millisecond, func(i int, ev *slowlog.Event) {
				if i%10 == 0 {
					ev.QueryTime = time.Second
				}
			})
		}, true},
		{"spread", "two of ten events", func(w *workload) {
			w.run(10, "SELECT a FROM t", time.Millisecond, func(i int, ev *slowlog.Event) { ev.QueryTime *= time.Duration(1 + i/8*1000) })
		}, false},

		{"examined", "a million for one", func(w *workload) {
			w.run(50, "SELECT a FROM t WHERE b = 1", 100*time.Millisecond, func(_ int, ev *slowlog.Event) { ev.RowsExamined = 1e6 })
		}, true},
		{"examined", "an aggregate has to", func(w *workload) {
			w.run(50, "SELECT SUM(a) FROM t WHERE b = 1", 100*time.Millisecond, func(_ int, ev *slowlog.Event) { ev.RowsExamined = 1e6 })
		}, false},
		{"examined", "all are sent", func(w *workload) {
			w.run(50, "SELECT a FROM t", 100*time.Millisecond, func(_ int, ev *slowlog.Event) { ev.RowsExamined, ev.RowsSent = 1e6, 1e6 })
		}, false},

		{"full-scan", "of a large table", flagged(t, "Full_scan: Yes  Full_join: No", 1e6), true},
		{"full-scan", "of a small table", flagged(t, "Full_scan: Yes  Full_join: No", 20), false},
		{"full-scan", "none", flagged(t, "Full_scan: No  Full_join: No", 1e6), false},
		{"full-join", "yes", flagged(t, "Full_scan: No  Full_join: Yes", 20), true},
		{"full-join", "no", flagged(t, "Full_scan: Yes  Full_join: No", 1e6), false},
		{"tmp-disk", "a flag", flagged(t, "Tmp_table: Yes  Tmp_table_on_disk: Yes", 20), true},
		{"tmp-disk", "a count", flagged(t, "Created_tmp_disk_tables: 2", 20), true},
		{"tmp-disk", "in memory", flagged(t, "Tmp_table: Yes  Tmp_table_on_disk: No", 20), false},
		{"sort-disk", "a flag", flagged(t, "Filesort: Yes  Filesort_on_disk: Yes", 20), true},
		{"sort-disk", "passes", flagged(t, "Sort_merge_passes: 3", 20), true},
		{"sort-disk", "in memory", flagged(t, "Filesort: Yes  Filesort_on_disk: No  Merge_passes: 0", 20), false},

		{"locks", "half of the time", func(w *workload) {
			w.run(50, "UPDATE t SET a = 1", 100*time.Millisecond, func(_ int, ev *slowlog.Event) { ev.LockTime = 50 * time.Millisecond; ev.SetHas(slowlog.FieldLockTime) })
		}, true},
		{"locks", "InnoDB's row locks", flagged(t, "InnoDB_rec_lock_wait: 0.060000", 20), true},
		{"locks", "a little", func(w *workload) {
			w.run(50, "UPDATE t SET a = 1", 100*time.Millisecond, func(_ int, ev *slowlog.Event) { ev.LockTime = time.Millisecond; ev.SetHas(slowlog.FieldLockTime) })
		}, false},

		{"errors", "one in ten", func(w *workload) {
			w.run(50, "UPDATE t SET a = 1", time.Millisecond, func(i int, ev *slowlog.Event) {
				ev.SetHas(slowlog.FieldErrno)
				if i%10 == 0 {
					ev.Errno = 1213
				}
			})
		}, true},
		{"errors", "none", flagged(t, "Bytes_received: 0", 20), false},

		{"errors", "one in ten is killed", func(w *workload) {
			w.run(50, "SELECT a FROM t", time.Second, func(i int, ev *slowlog.Event) {
				ev.SetHas(slowlog.FieldKilled)
				if i%10 == 0 {
					ev.Killed = 1317
				}
			})
		}, true},
		{"pings", "one in three", command(300, "Ping"), true},
		{"pings", "one in a thousand", command(1, "Ping"), false},
		{"pings", "another command", command(300, "Quit"), false},

		{"no-data", "SELECT 1", func(w *workload) { w.run(100, "SELECT 1", 100*time.Microsecond, nil) }, true},
		{"no-data", "SET NAMES", func(w *workload) { w.run(100, "SET NAMES utf8mb4", 100*time.Microsecond, nil) }, true},
		{"no-data", "SHOW", func(w *workload) { w.run(100, "SHOW WARNINGS", 100*time.Microsecond, nil) }, true},
		{"no-data", "from a table", func(w *workload) { w.run(100, "SELECT 1 FROM t", 100*time.Microsecond, nil) }, false},
		{"no-data", "seldom", func(w *workload) { w.run(2, "SELECT 1", 100*time.Microsecond, nil) }, false},

		{"n-plus-one", "of one page", page(50, 500, account, account, 20), true},
		{"n-plus-one", "of two pages", page(50, 500, account, search, 20), false},
		{"n-plus-one", "without names, as many as rows", page(50, 500, "", "", 10), true},
		{"n-plus-one", "without names, other numbers", page(50, 500, "", "", 1), false},
		{"n-plus-one", "without names, a join", func(w *workload) {
			w.run(50, "SELECT id FROM orders WHERE customer = 1 LIMIT 20", 2*time.Millisecond, func(_ int, ev *slowlog.Event) { ev.RowsSent = 10 })
			w.run(500, "SELECT * FROM order_line l JOIN orders o ON o.id = l.order_id WHERE o.year = 7", time.Millisecond, nil)
		}, false},
		{"n-plus-one", "as often as the list", page(400, 500, account, account, 20), false},

		{"unprepared", "short, frequent, differing", func(w *workload) {
			w.run(500, "SELECT a FROM t WHERE id = ", 300*time.Microsecond, func(i int, ev *slowlog.Event) { ev.Query += fmt.Sprint(i) })
		}, true},
		{"unprepared", "prepared statements in the log", func(w *workload) {
			w.run(500, "SELECT a FROM t WHERE id = ", 300*time.Microsecond, func(i int, ev *slowlog.Event) { ev.Query += fmt.Sprint(i) })
			command(3, "Prepare")(w)
		}, false},
		{"unprepared", "always the same text", func(w *workload) { w.run(500, "SELECT a FROM t WHERE id = 1", 300*time.Microsecond, nil) }, false},

		{"in-subquery", "yes", sql("SELECT a FROM t WHERE b IN (SELECT c FROM u)"), true},
		{"in-subquery", "a list", sql("SELECT a FROM t WHERE b IN (1, 2) AND c = (SELECT 1)"), false},
		{"leading-wildcard", "yes", sql("SELECT a FROM t WHERE b LIKE '%rain'"), true},
		{"leading-wildcard", "at the end", sql("SELECT a FROM t WHERE b LIKE 'rain%'"), false},
		{"random-order", "yes", sql("SELECT a FROM t ORDER BY RAND() LIMIT 3"), true},
		{"random-order", "a column of that name", sql("SELECT a FROM t ORDER BY rand LIMIT 3"), false},
		{"large-offset", "comma", sql("SELECT a FROM t LIMIT 50000, 20"), true},
		{"large-offset", "OFFSET", sql("SELECT a FROM t LIMIT 20 OFFSET 50000"), true},
		{"large-offset", "a large page", sql("SELECT a FROM t LIMIT 50000"), false},
		{"unbounded", "all of a table", func(w *workload) {
			w.run(50, "SELECT a FROM t", 100*time.Millisecond, func(_ int, ev *slowlog.Event) { ev.RowsSent = 50000 })
		}, true},
		{"unbounded", "with a LIMIT", func(w *workload) {
			w.run(50, "SELECT a FROM t LIMIT 50000", 100*time.Millisecond, func(_ int, ev *slowlog.Event) { ev.RowsSent = 50000 })
		}, false},

		{"bursts", "at two in the night", func(w *workload) {
			w.run(30, "SELECT a FROM t", time.Second, func(i int, ev *slowlog.Event) { ev.Time = midnight.Add(2*time.Hour + time.Duration(i)*time.Minute) })
		}, true},
		{"bursts", "each full hour", func(w *workload) {
			w.run(96, "SELECT a FROM t", time.Second, func(i int, ev *slowlog.Event) {
				ev.Time = midnight.Add(time.Duration(i/4)*time.Hour + time.Duration(i%4*3)*time.Second)
			})
		}, true},
		{"bursts", "each quarter of an hour", func(w *workload) {
			w.run(96, "SELECT a FROM t", time.Second, func(i int, ev *slowlog.Event) { ev.Time = midnight.Add(time.Duration(i) * 15 * time.Minute) })
		}, false},
		{"bursts", "all day", func(w *workload) { w.run(30, "SELECT a FROM t", time.Second, nil) }, false},
		{"bursts", "three times, by chance", func(w *workload) {
			w.run(3, "SELECT a FROM t", time.Second, func(i int, ev *slowlog.Event) { ev.Time = midnight.Add(2*time.Hour + time.Duration(i)*time.Minute) })
		}, false},

		{"one-client", "a report's user", func(w *workload) {
			w.run(5, "SELECT a FROM t", time.Minute, func(_ int, ev *slowlog.Event) { ev.User = "report" })
		}, true},
		{"one-client", "a user like others", func(w *workload) {
			w.run(100, "SELECT a FROM t", 30*time.Millisecond, func(_ int, ev *slowlog.Event) { ev.User = "web2" })
		}, false},
	} {
		if shown[tt.code] == nil {
			shown[tt.code] = make(map[bool]bool)
		}
		shown[tt.code][tt.found] = true
		t.Run(tt.code+"/"+tt.name, func(t *testing.T) {
			var w workload
			w.run(450, "SELECT x FROM y WHERE z > 1 LIMIT 5", 20*time.Millisecond, nil) // whatever else there is
			tt.build(&w)
			e := finding.Examine(w.agg.Profile(), finding.DefaultLimits())
			i := slices.IndexFunc(e.Findings, func(f finding.Finding) bool { return f.Code == tt.code })
			if found := i >= 0 && !(tt.code == "dominant" && len(e.Findings[i].Cases) == 1); found != tt.found {
				t.Fatalf("found %v, want %v", found, tt.found)
			}
			if i < 0 {
				return
			}
			f := e.Findings[i]
			if f.Why == "" || len(f.Actions) == 0 || f.Gain < 0 || f.Gain > 1 {
				t.Errorf("a finding without a reason or with a gain of %v", f.Gain)
			}
			if !slices.IsSortedFunc(f.Actions, func(a, b finding.Action) int { return int(a.Remedy) - int(b.Remedy) }) {
				t.Errorf("actions out of the remedies' order: %v", f.Actions)
			}
			for _, c := range f.Cases {
				if strings.IndexFunc(c.Evidence, unicode.IsDigit) < 0 {
					t.Errorf("evidence without a number: %s", c.Evidence)
				}
			}
		})
	}
}

func TestALogWithAThresholdIsBlind(t *testing.T) {
	for _, tt := range []struct {
		took  time.Duration
		found bool
	}{{300 * time.Millisecond, true}, {2 * time.Second, true}, {3 * time.Millisecond, false}} {
		var w workload
		w.run(100, "SELECT a FROM t", tt.took, nil)
		e := finding.Examine(w.agg.Profile(), finding.DefaultLimits())
		found := slices.ContainsFunc(e.Findings, func(f finding.Finding) bool { return f.Code == "threshold" })
		if found != tt.found {
			t.Errorf("shortest time %s: found %v, want %v", tt.took, found, tt.found)
		}
		for _, c := range e.Checks {
			if c.Code == "frequent" && (c.Missing != "") != tt.found {
				t.Errorf("shortest time %s: what is frequent and fast lacks %q", tt.took, c.Missing)
			}
		}
	}
}

func TestLimitsCanBeChanged(t *testing.T) {
	var w workload
	w.run(100, "SELECT a FROM t", time.Millisecond, nil)
	w.run(100, "SELECT b FROM u", time.Millisecond, nil)
	limits := finding.DefaultLimits()
	limits.Dominant = .6
	e := finding.Examine(w.agg.Profile(), limits)
	if slices.ContainsFunc(e.Findings, func(f finding.Finding) bool { return f.Code == "dominant" }) {
		t.Error("a class of half the load dominates above a limit of 60 %")
	}
	for _, c := range e.Checks {
		if c.Code == "dominant" && !strings.Contains(c.Limit, "60") {
			t.Errorf("the check names the limit %q", c.Limit)
		}
	}
}

func TestEachLimitIsNamedByACheck(t *testing.T) {
	limits := func(l finding.Limits) (list []string) {
		for _, c := range finding.Examine(new(digest.Aggregator).Profile(), l).Checks {
			list = append(list, c.Limit)
		}
		return list
	}
	usual := limits(finding.DefaultLimits())
	for i := range reflect.TypeFor[finding.Limits]().NumField() {
		l := finding.DefaultLimits()
		switch f := reflect.ValueOf(&l).Elem().Field(i); f.Kind() {
		case reflect.Uint64:
			f.SetUint(3 * f.Uint())
		case reflect.Int64:
			f.SetInt(3 * f.Int())
		default:
			f.SetFloat(3 * f.Float())
		}
		if cmp.Equal(usual, limits(l)) {
			t.Errorf("no check names the limit %s", reflect.TypeFor[finding.Limits]().Field(i).Name)
		}
	}
}

func TestTheWholeExaminationIsTold(t *testing.T) {
	var w workload
	w.run(100, "SELECT a FROM t LIMIT 1", 2*time.Millisecond, nil)
	e := finding.Examine(w.agg.Profile(), finding.DefaultLimits())
	states := map[string]string{}
	for _, c := range e.Checks {
		switch {
		case c.Limit == "" || c.Title == "":
			t.Errorf("%s without a limit or a title", c.Code)
		case c.Found > 0:
			states[c.Code] = "found"
		case c.Missing != "":
			states[c.Code] = "missing"
		default:
			states[c.Code] = "fine"
		}
	}
	want := map[string]string{
		"dominant": "found", "frequent": "found", "rare": "fine", "spread": "fine", "examined": "fine", "full-scan": "missing", "full-join": "missing",
		"tmp-disk": "missing", "sort-disk": "missing", "locks": "missing", "errors": "missing", "pings": "fine", "no-data": "fine", "n-plus-one": "fine",
		"unprepared": "fine", "in-subquery": "fine", "leading-wildcard": "fine", "random-order": "fine", "large-offset": "fine", "unbounded": "fine",
		"bursts": "fine", "one-client": "fine", "threshold": "fine",
	}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("states of the checks (-want +got):\n%s", diff)
	}
	if got := len(e.Fine()); got != 15 {
		t.Errorf("%d checks are fine, want 15", got)
	}
}

func TestFindingsComeByTheirGain(t *testing.T) {
	var w workload
	w.run(100, "SELECT a FROM t ORDER BY RAND()", 100*time.Millisecond, nil)
	w.run(100, "SELECT a FROM t WHERE b LIKE '%x'", 10*time.Millisecond, nil)
	e := finding.Examine(w.agg.Profile(), finding.DefaultLimits())
	for i, f := range e.Findings[1:] {
		if f.Gain > e.Findings[i].Gain {
			t.Errorf("%s before %s", e.Findings[i].Code, f.Code)
		}
	}
	var empty digest.Aggregator
	if e := finding.Examine(empty.Profile(), finding.DefaultLimits()); len(e.Findings) != 0 {
		t.Errorf("%d findings in nothing", len(e.Findings))
	}
}
