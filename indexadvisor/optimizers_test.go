package indexadvisor

import (
	"fmt"
	"math"
	"testing"
)

var mariadb = Server{MariaDB: true, Major: 10, Minor: 11}

// Where a range is too long for MariaDB, but its index begins with a column that
// is equal to a value, MariaDB looks that up: all its entries are read, whatever
// the range leaves of them. MySQL reads the table.
func TestMariaDBLooksUpWhatALongRangeBeginsWith(t *testing.T) {
	const n = 8000
	for _, c := range []struct {
		name       string
		server     Server
		where      string
		want, most float64
	}{
		{"MariaDB, a long range", mariadb, "e = 0 AND b < 30", 7840, 7840},
		{"MariaDB, a short range", mariadb, "e = 0 AND b < 2", 0, 200},
		{"MySQL, a long range", Server{}, "e = 0 AND b < 60", n, n},
		{"MySQL, a short range", Server{}, "e = 0 AND b < 2", 0, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMemory(t)
			m.For = c.server
			m.add("CREATE TABLE t (id INT PRIMARY KEY, e INT NOT NULL, b INT NOT NULL, pad VARCHAR(200))", n, func(i int) []any {
				e := 0
				if i%50 == 0 {
					e = 1
				}
				return []any{i, e, i * 7919 % 100, fmt.Sprintf("%0150d", 0)}
			})
			server, b := m.only("SELECT * FROM t WHERE " + c.where)
			got := b.read(server, b.accesses[0], &Index{Parts: []Part{{Name: "e"}, {Name: "b"}}, Kind: "BTREE"}, 0).entries
			if got < c.want || got > c.most {
				t.Errorf("%.0f entries are read, %.0f to %.0f expected", got, c.want, c.most)
			}
		})
	}
}

// Without indexes the optimizers do not know how many rows of a table meet its
// conditions. MySQL buffers those of the table of which it believes in fewer, if
// that is many times more, and reads the other for each full buffer.
func TestAJoinWithoutIndexesBuffersWhatTheOptimizerBelievesIn(t *testing.T) {
	const n = 8000
	for _, c := range []struct {
		name   string
		server Server
		where  string
		first  string
	}{
		{"MySQL believes an equality to leave less than BETWEEN", Server{}, "a.x BETWEEN 1 AND 2 AND b.y = 0", "b"},
		{"and BETWEEN to leave less than a range with one end", Server{}, "a.x < 2 AND b.y BETWEEN 0 AND 1", "b"},
		{"it is right by chance", Server{}, "a.x = 1 AND b.y < 1", "a"},
		{"MariaDB believes in nothing", mariadb, "a.x BETWEEN 1 AND 2 AND b.y = 0", "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMemory(t)
			m.For = c.server
			for _, name := range []string{"a", "b"} {
				m.add("CREATE TABLE "+name+" (id INT PRIMARY KEY, f INT NOT NULL, x INT NOT NULL, y INT NOT NULL, pad VARCHAR(200))", n, func(i int) []any {
					return []any{i, i * 7919 % 4000, i % 2000, i % 5 / 4, fmt.Sprintf("%0100d", 0)}
				})
			}
			server, b := m.only("SELECT a.pad, b.pad FROM a JOIN b ON b.f = a.f WHERE " + c.where + " LIMIT 2000")
			p := b.best(server, indexSet(nil))
			if got := p.steps[0].access.alias; got != c.first {
				t.Errorf("rows of %s are buffered, want those of %s", got, c.first)
			}
			// Once through the first table, and through the other for each full buffer.
			once := b.read(server, b.accesses[0], nil, 0).cost
			passes := math.Ceil(p.steps[0].out / server.bufferedRows(plan{steps: p.steps[:1]}))
			if got := math.Round(p.cost/once - 1); got != passes {
				t.Errorf("the join costs %.0f scans of the second table, want %.0f", got, passes)
			}
		})
	}
}

// The values of another table lead to the entries of an index where each column
// before theirs has one value; behind a list or a range the servers read all
// entries of that.
func TestALookUpHasOneValueForEachColumnBefore(t *testing.T) {
	const n = 5000
	for _, c := range []struct {
		where string
		want  bool
	}{
		{"b.e = 3", true}, {"b.e IN (3)", true}, {"b.e IN (3, 4)", false}, {"(b.e = 3 OR b.e = 4)", false}, {"b.e BETWEEN 3 AND 4", false}, {"b.e <> 3", false},
	} {
		t.Run(c.where, func(t *testing.T) {
			m := newMemory(t)
			for _, name := range []string{"a", "b"} {
				m.add("CREATE TABLE "+name+" (id INT PRIMARY KEY, e INT NOT NULL, f INT NOT NULL, pad VARCHAR(200))", n, func(i int) []any {
					return []any{i, i % 20, i * 7919 % 3000, "x"}
				})
			}
			server, b := m.only("SELECT a.pad, b.pad FROM a JOIN b ON b.f = a.f WHERE " + c.where)
			s := b.read(server, b.accesses[1], &Index{Parts: []Part{{Name: "e"}, {Name: "f"}}, Kind: "BTREE"}, 1<<b.accesses[0].id)
			if s.looked != c.want {
				t.Errorf("looked up: %v, want %v", s.looked, c.want)
			}
		})
	}
}

// The optimizer believes in as many rows of a derived table as are taken to come
// out of it, and in no fewer of an outer join than there are on its outer side.
func TestRowsBelievedIn(t *testing.T) {
	m := newMemory(t)
	for _, name := range []string{"a", "b"} {
		m.add("CREATE TABLE "+name+" (id INT PRIMARY KEY, e INT NOT NULL, f INT NOT NULL, pad VARCHAR(200), KEY (f, e))", 5000, func(i int) []any {
			return []any{i, i % 20, i * 7919 % 3000, "x"}
		})
	}
	server, b := m.only("SELECT * FROM (SELECT e, COUNT(*) FROM b GROUP BY e) AS d JOIN a ON a.id = d.e")
	for before, want := range []float64{100, 1} {
		if s := b.read(server, b.accesses[0], nil, uint64(before)<<1); s.believed != want || s.out != want {
			t.Errorf("a derived table, %d tables before it: %.0f rows are believed in and %.0f come out, want %.0f", before, s.believed, s.out, want)
		}
	}
	server, b = m.only("SELECT * FROM a LEFT JOIN b ON b.f = a.f AND b.e = 3")
	if p := b.best(server, indexSet(nil)); p.believed < 5000 || p.out < 5000 {
		t.Errorf("an outer join: %.1f rows are believed in and %.1f come out, want 5000", p.believed, p.out)
	}
}
