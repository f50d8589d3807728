package indexadvisor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/slowlog"
)

func (m *memory) adviseAll(o Options, queries ...Query) *Advice {
	m.t.Helper()
	for i := range queries {
		queries[i].Schema = "s"
	}
	a, err := New(&m.Rows, o).AdviseAll(context.Background(), queries)
	if err != nil {
		m.t.Fatal(err)
	}
	return a
}

func TestQueriesShareAnIndex(t *testing.T) {
	m := wide(t, "")
	for _, c := range []struct {
		name    string
		queries []string
		want    string
	}{
		{"one column is a prefix of the other's two, although it is less selective", []string{
			"SELECT * FROM t WHERE b=7", "SELECT * FROM t WHERE a=5 AND b=7"}, "t(b, a)"},
		{"the order of another query decides", []string{
			"SELECT * FROM t WHERE b=7 ORDER BY a LIMIT 5", "SELECT * FROM t WHERE a=5 AND b=7"}, "t(b, a)"},
		{"nothing is shared", []string{
			"SELECT * FROM t WHERE v='v0001'", "SELECT * FROM t WHERE a=5 AND b=7"}, "t(a, b) t(v)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m.t = t
			var qs []Query
			for _, s := range c.queries {
				qs = append(qs, Query{SQL: s, PerDay: 1000})
			}
			got := strings.Split(strings.ReplaceAll(short(m.adviseAll(Options{}, qs...)), ") t", ")\nt"), "\n")
			want := strings.Split(strings.ReplaceAll(c.want, ") t", ")\nt"), "\n")
			if d := cmp.Diff(map[string]bool{}, diffSets(want, got)); d != "" {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// diffSets are the strings that are in one of the lists only.
func diffSets(a, b []string) map[string]bool {
	m := map[string]bool{}
	for _, s := range a {
		m[s] = true
	}
	for _, s := range b {
		if m[s] {
			delete(m, s)
		} else {
			m[s] = true
		}
	}
	return m
}

func TestWritesCountAgainstAnIndex(t *testing.T) {
	m := wide(t, "")
	read := Query{SQL: "SELECT * FROM t WHERE a=5 AND b=7 LIMIT 1", PerDay: 1}
	rare := m.adviseAll(Options{}, read, Query{ID: "ins", SQL: "INSERT INTO t VALUES (1,2,3,4,'2024-01-01','v',1,'x',1)", PerDay: 10})
	if short(rare) == "" || len(rare.Suggestions[0].Pays) != 1 || rare.Suggestions[0].Pays[0] != "ins" {
		t.Errorf("with few writes: %s %+v", short(rare), rare.Suggestions)
	}
	busy := m.adviseAll(Options{}, read, Query{SQL: "INSERT INTO t VALUES (1,2,3,4,'2024-01-01','v',1,'x',1)", PerDay: 1e6})
	if short(busy) != "" {
		t.Errorf("with a million writes for one read: %s", short(busy))
	}
	wantNote(t, busy, "maintaining it costs the workload's writes more than its queries gain")
}

func TestLimitsAreKept(t *testing.T) {
	m := wide(t, "")
	var qs []Query
	for _, c := range []string{"a=5", "b=7", "v='v0001'", "length=9"} {
		qs = append(qs, Query{SQL: "SELECT * FROM t WHERE " + c, PerDay: 100})
	}
	if n := len(m.adviseAll(Options{}, qs...).Suggestions); n != 4 {
		t.Errorf("%d suggestions without limit, 4 expected", n)
	}
	two := m.adviseAll(Options{MaxTotal: 2}, qs...)
	if n := len(two.Suggestions); n != 2 {
		t.Errorf("%d suggestions with a limit of 2", n)
	}
	wantNote(t, two, "the limits on new indexes leave no room for it")
	if n := len(m.adviseAll(Options{MaxIndexes: 3}, qs...).Suggestions); n != 3 {
		t.Errorf("%d suggestions with a limit of 3 per table", n)
	}
	small := m.adviseAll(Options{MaxBytes: two.Suggestions[0].Bytes}, qs...)
	sum := int64(0)
	for _, s := range small.Suggestions {
		sum += s.Bytes
	}
	if sum == 0 || sum > two.Suggestions[0].Bytes {
		t.Errorf("%d bytes of indexes with a limit of %d", sum, two.Suggestions[0].Bytes)
	}
	for _, s := range two.Suggestions {
		if s.Gain <= 0 || len(s.Serves) != 1 {
			t.Errorf("%s: gain %g, serves %v", s.Name, s.Gain, s.Serves)
		}
	}
}

func TestWorkloadAdviceIsDeterministic(t *testing.T) {
	m := wide(t, "KEY ka (a)")
	var qs []Query
	for _, s := range []string{"a=5 AND b=7", "b=7 ORDER BY d LIMIT 3", "v LIKE 'v00%' AND two=1", "length=9 AND a=3", "c IS NULL AND b=2"} {
		qs = append(qs, Query{SQL: "SELECT * FROM t WHERE " + s, PerDay: 100})
	}
	set := func() map[string]bool {
		out := map[string]bool{}
		for _, s := range m.adviseAll(Options{}, qs...).Suggestions {
			out[s.DDL+s.Reason] = true
		}
		return out
	}
	want := set()
	for range 3 {
		if d := cmp.Diff(want, set()); d != "" {
			t.Fatal(d)
		}
	}
	rand.Shuffle(len(qs), func(i, j int) { qs[i], qs[j] = qs[j], qs[i] })
	if d := cmp.Diff(len(want), len(set())); d != "" {
		t.Errorf("the order of the queries changes the number of indexes: %s", d)
	}
}

// A hot and a rare value: the index must serve both, and the report says that
// they differ.
func TestSamplesOfAClassDecideTogether(t *testing.T) {
	m := newMemory(t)
	m.add("CREATE TABLE t (id INT PRIMARY KEY, st INT NOT NULL, d INT NOT NULL, pad VARCHAR(200))", 30000, func(i int) []any {
		st := 1
		if i%1000 == 0 {
			st = 2
		}
		return []any{i, st, i * 7919 % 30000, "x"}
	})
	q := Query{Schema: "s", SQL: "SELECT * FROM t WHERE st=2 AND d<300", Samples: []string{"SELECT * FROM t WHERE st=1 AND d<300", "SELECT * FROM t WHERE st=1 AND d<100"}}
	a, err := New(&m.Rows, Options{}).Advise(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	if got := short(a); got != "t(d)" && got != "t(st, d)" && got != "t(d, st)" {
		t.Errorf("got %s", got)
	}
	q = Query{Schema: "s", SQL: "SELECT * FROM t WHERE st=2", Samples: []string{"SELECT * FROM t WHERE st=1"}}
	if a, err = New(&m.Rows, Options{}).Advise(context.Background(), q); err != nil {
		t.Fatal(err)
	}
	wantNote(t, a, "the values matter")
	wantNote(t, a, "1 of 2 texts of the class gain from the indexes suggested, the others do not")
	// Whichever text comes first, the advice is the same and says the same.
	swapped, err := New(&m.Rows, Options{}).Advise(context.Background(), Query{Schema: "s", SQL: q.Samples[0], Samples: []string{q.SQL}})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(short(a), short(swapped)); d != "" {
		t.Error(d)
	}
	wantNote(t, swapped, "1 of 2 texts")
}

// Two indexes that differ in direction only need two names, and so does one
// whose name the table has.
func TestNamesDoNotCollide(t *testing.T) {
	m := wide(t, "KEY IX_A (v, two)")
	a := m.adviseAll(Options{}, Query{SQL: "SELECT * FROM t ORDER BY a, b LIMIT 5", PerDay: 1e5}, Query{SQL: "SELECT * FROM t ORDER BY a, b DESC LIMIT 5", PerDay: 1e5},
		Query{SQL: "SELECT * FROM t ORDER BY a DESC, d LIMIT 5", PerDay: 1e5})
	names := map[string]bool{}
	for _, s := range a.Suggestions {
		if s.Kind != Drop {
			names[strings.ToLower(s.Name)] = true
		}
	}
	if len(names) != 3 || names["ix_a"] {
		t.Errorf("the names are %v: %s", names, short(a))
	}
	if got := indexName(m.Tables[0], []Part{{Name: "a"}}, nil); got != "ix_a_2" {
		t.Errorf("beside IX_A the name is %s", got)
	}
	long := strings.Repeat("ö", 64)
	for _, parts := range [][]Part{{{Name: long}}, {{Name: long}, {Name: "b`c"}}, {{Expr: "a + 1"}}} {
		if got := indexName(m.Tables[0], parts, nil); utf8.RuneCountInString(got) > 64 || strings.Contains(got, "`") {
			t.Errorf("the name for %v is %s", parts, got)
		}
	}
}

// slow delays every count, so that the context ends in the middle.
type slow struct {
	*Rows
	after  int
	cancel func()
}

func (s *slow) Count(ctx context.Context, r CountRequest) (*Counts, error) {
	if s.after--; s.after < 0 {
		s.cancel()
	}
	return s.Rows.Count(ctx, r)
}

func TestAdviceSoFarWhenTimeEnds(t *testing.T) {
	m := wide(t, "")
	ctx, cancel := context.WithCancel(context.Background())
	var qs []Query
	for i := range 5 {
		qs = append(qs, Query{Schema: "s", SQL: fmt.Sprintf("SELECT * FROM t WHERE a=%d AND b=7", i)})
	}
	a, err := New(&slow{&m.Rows, 2, cancel}, Options{}).AdviseAll(ctx, qs)
	if err == nil && !a.Incomplete {
		t.Errorf("neither an error nor incomplete advice: %+v", a)
	}
}

// The context may end at any count, the last one as well.
func TestContextEndsAtAnyCount(t *testing.T) {
	for after := range 4 {
		m := wide(t, "")
		ctx, cancel := context.WithCancel(context.Background())
		a, err := New(&slow{&m.Rows, after, cancel}, Options{}).Advise(ctx, Query{Schema: "s", SQL: "SELECT * FROM t WHERE a = 1 AND v IN (SELECT b FROM t WHERE b = 2)"})
		switch ended := ctx.Err() != nil; {
		case err != nil && !errors.Is(err, context.Canceled), err == nil && ended && !a.Incomplete:
			t.Errorf("ended at count %d: advice %+v, error %v", after, a, err)
		case !ended && err != nil:
			t.Errorf("not ended: %v", err)
		}
		cancel()
	}
}

func TestProfileBecomesAWorkload(t *testing.T) {
	m := wide(t, "")
	var agg digest.Aggregator
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 200 {
		agg.Add(&slowlog.Event{Time: start.Add(time.Duration(i) * time.Minute), Schema: "s", Query: fmt.Sprintf("SELECT * FROM t WHERE a=%d AND b=%d", i, i%7), QueryTime: time.Second, Weight: 1})
		agg.Add(&slowlog.Event{Time: start.Add(time.Duration(i) * time.Minute), Schema: "s", Query: fmt.Sprintf("SELECT * FROM t WHERE v='v%04d'", i), QueryTime: time.Second, Weight: 1})
	}
	agg.Add(&slowlog.Event{Time: start, Schema: "s", Query: "SELECT * FROM gone WHERE a=1", QueryTime: time.Second, Weight: 1})
	agg.Add(&slowlog.Event{Time: start, Schema: "s", Query: "SET NAMES utf8mb4", QueryTime: time.Second, Weight: 1})
	a, err := New(&m.Rows, Options{}).AdviseProfile(context.Background(), agg.Profile(), "")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]bool{}, diffSets([]string{"t(a, b)", "t(v)"}, strings.Split(strings.ReplaceAll(short(a), ") t", ")\nt"), "\n"))); d != "" {
		t.Errorf("got %s\n%s", short(a), strings.Join(a.Notes, "\n"))
	}
	wantNote(t, a, "no such table")
	wantNote(t, a, "SET and CALL: 1")
	wantNote(t, a, "the log seems to hold only statements of")
}

// Candidates that serve two queries at once are made of those of all queries,
// however many there are.
func TestCandidatesOfAllQueriesAreMerged(t *testing.T) {
	table := func(name string) *Table {
		return &Table{Schema: "s", Name: name, Engine: "InnoDB", Columns: []Column{{Name: "a", Type: "int"}, {Name: "b", Type: "int"}}}
	}
	var pool []candidate
	for i := range 80 {
		pool = append(pool, newCandidate(table(fmt.Sprintf("t%d", i)), []Part{{Name: "a"}}, 1))
	}
	last := table("last")
	a, b := []Part{{Name: "a"}}, []Part{{Name: "b"}}
	pool = withMerged(append(pool, newCandidate(last, a, 1), newCandidate(last, b, 1)), 3, 82, Server{Major: 8, Minor: 4})
	want := newCandidate(last, slices.Concat(a, b), 2).key
	if !slices.ContainsFunc(pool, func(c candidate) bool { return c.key == want }) {
		t.Errorf("no candidate last(a, b) among %d", len(pool))
	}
}
