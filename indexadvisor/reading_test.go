package indexadvisor

import (
	"context"
	"testing"
)

// How the servers read decides between indexes of the same columns.
func TestIndexFollowsHowTheServerReads(t *testing.T) {
	for _, c := range []struct {
		name, sql string
		server    Server
		want      string
	}{
		{"the columns of GROUP BY keep their order", "SELECT two, a, COUNT(*) FROM t WHERE b=5 GROUP BY two, a", Server{}, "t(b, two, a)"},
		{"and the other order", "SELECT two, a, COUNT(*) FROM t WHERE b=5 GROUP BY a, two", Server{}, "t(b, a, two)"},
		{"conditions are pushed down where a falling order is read forwards", "SELECT * FROM t WHERE two=1 AND d>='2024-11-20' ORDER BY a DESC LIMIT 3", Server{}, "t(two, a DESC, d)"},
		{"without descending parts the order is read backwards, or not at all", "SELECT * FROM t WHERE two=1 AND d>='2024-11-20' ORDER BY a DESC LIMIT 3", Server{Major: 5, Minor: 7}, "t(two, a)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := wide(t, "")
			m.For = c.server
			a, err := New(&m.Rows, Options{}).Advise(context.Background(), Query{Schema: "s", SQL: c.sql})
			if err != nil {
				t.Fatal(err)
			}
			if got := short(a); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
