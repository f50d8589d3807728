package indexadvisor

import (
	"context"
	"fmt"
	"testing"
)

// sampledRows are rows whose counts are taken for those of a sample.
type sampledRows struct{ *Rows }

func (s sampledRows) Count(ctx context.Context, q CountRequest) (*Counts, error) {
	c, err := s.Rows.Count(ctx, q)
	if err == nil {
		c.Sampled = true
	}
	return c, err
}

// A column of an index on the inner table of a join is worth its place where
// it spares look-ups as they were counted. Where they were not, it is if it
// spares many, not where the few that it may spare are as likely not to be
// there. Where no row comes from the outer table, no index on the inner one is.
func TestColumnsOfAJoinThatMayGainByChanceOnlyAreLeftOut(t *testing.T) {
	m := newMemory(t)
	const n = 8000
	pad := fmt.Sprintf("%0200d", 0)
	m.add("CREATE TABLE a (id INT PRIMARY KEY, f INT NOT NULL, x INT NOT NULL, y INT NOT NULL, pad VARCHAR(200))", n, func(i int) []any {
		return []any{i, i * 7919 % 4000, i % 2000, i % 50, pad}
	})
	m.add("CREATE TABLE b (id INT PRIMARY KEY, f INT NOT NULL, c INT NOT NULL, pad VARCHAR(200))", n, func(i int) []any {
		return []any{i, i * 104729 % 4000, i % 3, pad}
	})
	for _, c := range []struct{ name, where, counted, sampled string }{
		{"no row", "a.x BETWEEN 100 AND 110 AND a.y BETWEEN 20 AND 30", "a(x, y)", "a(x, y) b(f)"},
		{"four rows", "a.x = 100", "b(f, c) a(x)", "a(x) b(f)"},
		{"hundreds of rows", "a.x BETWEEN 100 AND 200", "a(x) b(f, c)", "a(x) b(f, c)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := "SELECT a.pad, b.pad FROM a JOIN b ON b.f = a.f WHERE b.c = 1 AND " + c.where
			a := m.advise(q)
			if got := short(a); got != c.counted {
				t.Errorf("counted: got %s, want %s", got, c.counted)
			}
			s, err := New(sampledRows{&m.Rows}, Options{}).Advise(t.Context(), Query{Schema: "s", SQL: q})
			if err != nil {
				t.Fatal(err)
			}
			if got := short(s); got != c.sampled {
				t.Errorf("sampled: got %s, want %s", got, c.sampled)
			}
			if c.name == "no row" {
				wantNote(t, a, "s.b: nothing is looked up in it for these values, as no row of s.a meets the conditions")
			}
		})
	}
}

// The whole of a table read by its primary key is no look-up: a hash join
// reads it once.
func TestATableReadByItsPrimaryKeyIsHashed(t *testing.T) {
	m := newMemory(t)
	for _, name := range []string{"a", "b"} {
		m.add("CREATE TABLE "+name+" (id INT PRIMARY KEY, f INT NOT NULL, pad VARCHAR(200))", 5000, func(i int) []any {
			return []any{i, i * 7919 % 2500, "x"}
		})
	}
	server, b := m.only("SELECT * FROM a JOIN b ON b.f = a.f LIMIT 2000")
	p := b.best(server, indexSet(nil))
	once := b.read(server, b.accesses[0], nil, 0).cost
	if p.cost > 10*once {
		t.Errorf("the join costs %.0f, reading a table once %.0f", p.cost, once)
	}
}
