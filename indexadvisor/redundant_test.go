package indexadvisor

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/quern-dev/quern/internal/testservers"
)

func TestRedundantIndexes(t *testing.T) {
	set := func(name string, f func(*Index)) func(*Table) {
		return func(t *Table) {
			i := slices.IndexFunc(t.Indexes, func(ix Index) bool { return ix.Name == name })
			f(&t.Indexes[i])
		}
	}
	for _, c := range []struct {
		name, columns string
		change        func(*Table)
		want          string // names of the indexes to drop
	}{
		{"a left prefix", "id INT PRIMARY KEY, a INT, b INT, KEY ka (a), KEY kab (a, b)", nil, "ka"},
		{"no left prefix", "f INT, r INT, KEY k1 (f, r), KEY k2 (r)", nil, ""},
		{"the same again", "a INT, KEY k1 (a), KEY k2 (a)", nil, "k2"},
		{"two equal UNIQUE keys", "id INT PRIMARY KEY, a INT NOT NULL, UNIQUE u1 (a), UNIQUE u2 (a)", nil, "u2"},
		{"a plain key equal to a UNIQUE one", "i INT, j INT, UNIQUE u (i, j), KEY i (i, j)", nil, "i"},
		{"UNIQUE is no prefix of a plain key", "id INT PRIMARY KEY, a INT, b INT, UNIQUE u (a), KEY ab (a, b)", nil, ""},
		{"UNIQUE is not covered by a wider PRIMARY", "a INT, b INT, PRIMARY KEY (a, b), UNIQUE u (a)", nil, ""},
		{"PRIMARY is never redundant", "id INT NOT NULL, b INT NOT NULL, PRIMARY KEY (id, b), UNIQUE uid (id)", nil, ""},
		{"a prefix part beside the whole column", "v VARCHAR(100), KEY k10 (v(10)), KEY kfull (v)", nil, "k10"},
		{"UNIQUE over a prefix keeps the whole", "v VARCHAR(100), UNIQUE u10 (v(10)), KEY kv (v)", nil, ""},
		{"the shorter of two prefixes", "v VARCHAR(100), KEY k5 (v(5)), KEY k50 (v(50))", nil, "k5"},
		{"a prefix in the second place", "a INT, v VARCHAR(100), KEY k2 (a, v), KEY k3 (a, v(20))", nil, "k3"},
		{"a prefix part with the primary key after it", "id INT PRIMARY KEY, v VARCHAR(100), KEY kv (v), KEY k10b (v(10), id)", nil, "k10b"},
		{"the primary key at the end", "id INT PRIMARY KEY, a INT, KEY ka (a), KEY kaid (a, id)", nil, "kaid"},
		{"part of the primary key at the end", "p INT, q INT, a INT, PRIMARY KEY (p, q), KEY x (a, p), KEY y (a, q, p), KEY z (p, a), KEY w (a)", nil, "x w"},
		{"names in another case", "Id INT, b INT, PRIMARY KEY (Id), KEY x (b, ID), KEY y (B)", nil, "x"},
		{"without a primary key", "a INT, b INT, KEY x (a), KEY y (a, b)", nil, "x"},
		{"directions differ", "id INT, a INT, KEY k1 (id, a), KEY k2 (id DESC, a)", nil, ""},
		{"a single descending column", "a INT, KEY k1 (a), KEY k2 (a DESC)", nil, "k2"},
		{"expressions differ from columns", "a INT, KEY k2 (a), KEY k3 ((a + 0))", nil, ""},
		{"the keeper is hidden", "a INT, b INT, KEY ka (a), KEY kab (a, b)", set("kab", func(ix *Index) { ix.Hidden = true }), ""},
		{"HASH and BTREE", "a INT, KEY b1 (a), KEY h1 (a)", set("h1", func(ix *Index) { ix.Kind = "HASH" }), ""},
		{"SPATIAL and BTREE", "g INT NOT NULL, KEY s (g), KEY g (g)", set("s", func(ix *Index) { ix.Kind = "SPATIAL" }), ""},
		{"two FULLTEXT over the same", "a TEXT, KEY f1 (a), KEY f2 (a)", func(t *Table) { t.Indexes[0].Kind, t.Indexes[1].Kind = "FULLTEXT", "FULLTEXT" }, "f2"},
		{"the used one of two equal ones stays", "a INT, KEY k1 (a), KEY k2 (a)", set("k2", func(ix *Index) { ix.Reads = 7 }), "k1"},
		{"a key on a column of no width", "a CHAR(0), b INT, KEY k (a), KEY k2 (a, b)", nil, "k"},
		{"names with quotes", "`a\"\"\"b` INT, `c``d` INT, KEY k1 (`a\"\"\"b`), KEY k2 (`a\"\"\"b`, `c``d`)", nil, "k1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMemory(t)
			tab := m.add("CREATE TABLE t ("+c.columns+")", 0, nil)
			if c.change != nil {
				c.change(tab)
			}
			a, err := New(&m.Rows, Options{}).Redundant(context.Background(), "s", "t")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range a.Suggestions {
				got = append(got, s.Name)
				if s.Kind != Drop || s.Reason == "" || s.Undo == "" {
					t.Errorf("%s: %+v", s.Name, s)
				}
			}
			if d := cmp.Diff(c.want, strings.Join(got, " ")); d != "" {
				t.Error(d)
			}
			if len(got) == 0 {
				wantNote(t, a, "no index is redundant")
			}
		})
	}
}

func TestForeignKeyKeepsItsOnlyIndex(t *testing.T) {
	tab := &Table{Name: "t", References: []Reference{{Name: "f", Columns: []string{"a"}}}, Indexes: []Index{
		{Name: "ka", Kind: "BTREE", Parts: []Part{{Name: "a"}}}, {Name: "kb", Kind: "BTREE", Parts: []Part{{Name: "b"}, {Name: "a"}}}}}
	if !tab.needed(&tab.Indexes[0]) {
		t.Error("the only index of a foreign key is not needed")
	}
	tab.Indexes = append(tab.Indexes, Index{Name: "kab", Kind: "BTREE", Parts: []Part{{Name: "a"}, {Name: "b"}}})
	if tab.needed(&tab.Indexes[0]) {
		t.Error("an index is needed although another begins with the foreign key's columns")
	}
	if tab.needed(&tab.Indexes[1]) {
		t.Error("an index that does not begin with the foreign key's columns is needed")
	}
}

// Dropping what is called redundant, and undoing it, works on real servers,
// with names that need quoting, and the trial hides the index.
func TestDropIsUndoneOnServers(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		exec(t, db, "CREATE TABLE `se``lect` (id INT PRIMARY KEY, `a\"b` INT, `c``d` VARCHAR(100), `key` INT, KEY `k``3` (`a\"b`), KEY k4 (`a\"b`, `c``d`), KEY `order` (`c``d`(10)), KEY `group` (`c``d`, `key`))",
			"CREATE TABLE child (id INT PRIMARY KEY, p INT, q INT, KEY fk (p), KEY pq (p, q), CONSTRAINT c FOREIGN KEY (p) REFERENCES `se``lect` (id))")
		ctx := context.Background()
		adv := New(MySQL(db), Options{})
		for table, want := range map[string]string{"se`lect": "k`3 order", "child": "fk"} {
			before := showCreate(t, db, table)
			a, err := adv.Redundant(ctx, schema, table)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range a.Suggestions {
				got = append(got, s.Name)
				if s.Trial != "" {
					exec(t, db, s.Trial)
				}
				exec(t, db, s.DDL, s.Undo)
			}
			if d := cmp.Diff(want, strings.Join(got, " ")); d != "" {
				t.Errorf("%s: %s", table, d)
			}
			sorted := func(s string) []string {
				l := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' })
				for i := range l {
					l[i] = strings.TrimSuffix(l[i], ",")
				}
				slices.Sort(l)
				return l
			}
			if d := cmp.Diff(sorted(before), sorted(showCreate(t, db, table))); d != "" {
				t.Errorf("after undoing: %s", d)
			}
		}
	})
}

// An index is called unused when neither the workload's plans nor the
// server's counters know of a use, and nothing else needs it.
func TestUnusedIndexes(t *testing.T) {
	t.Run("MySQL", func(t *testing.T) { unusedIndexes(t, testservers.MySQL(t), "INVISIBLE") })
	t.Run("MariaDB with performance_schema", func(t *testing.T) {
		unusedIndexes(t, testservers.MariaDB(t, "--performance-schema=ON"), "IGNORED")
	})
	t.Run("MariaDB with userstat", func(t *testing.T) { unusedIndexes(t, testservers.MariaDB(t, "--userstat=ON"), "IGNORED") })
}

func unusedIndexes(t *testing.T, srv *testservers.Server, hidden string) {
	schema := srv.Schema(t)
	db := srv.DB(t, schema)
	fill(t, db, 5000)
	exec(t, db, "CREATE TABLE p (id INT PRIMARY KEY)", "INSERT INTO p VALUES (1)",
		`CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, c INT, d INT, e INT, p INT, pad VARCHAR(100), KEY used (a), KEY unused (b), KEY hinted (c), KEY counted (d), UNIQUE uniq (e), KEY fk (p),
		CONSTRAINT tp FOREIGN KEY (p) REFERENCES p (id))`,
		"INSERT INTO t SELECT i, i % 500, i % 500, i % 500, i % 500, i, 1, REPEAT('x', 100) FROM seq", "ANALYZE TABLE t")
	var n int
	if err := db.QueryRow("SELECT COUNT(*) FROM t FORCE INDEX (counted) WHERE d = 7").Scan(&n); err != nil {
		t.Fatal(err)
	}
	a, err := New(MySQL(db), Options{}).AdviseAll(context.Background(), []Query{
		{Schema: schema, SQL: "SELECT * FROM t WHERE a = 5"},
		{Schema: schema, SQL: "SELECT * FROM t USE INDEX (hinted) WHERE a = 5 AND c = 5"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var dropped []string
	for _, s := range a.Suggestions {
		if s.Kind == Drop {
			dropped = append(dropped, s.Name)
			if !strings.Contains(s.Trial, hidden) || !strings.Contains(s.Reason, "Neither sees") {
				t.Errorf("%+v", s)
			}
		}
	}
	if d := cmp.Diff([]string{"unused"}, dropped); d != "" {
		t.Errorf("%s\n%s", d, strings.Join(a.Notes, "\n"))
	}
}

// Where the server counts no use of indexes, none is called unused, and the
// advice says why.
func TestUseThatIsNotCounted(t *testing.T) {
	srv := testservers.MariaDB(t)
	schema := srv.Schema(t)
	db := srv.DB(t, schema)
	fill(t, db, 3000)
	exec(t, db, "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, pad VARCHAR(100), KEY used (a), KEY unused (b))",
		"INSERT INTO t SELECT i, i % 500, i % 500, REPEAT('x', 100) FROM seq", "ANALYZE TABLE t")
	a, err := New(MySQL(db), Options{}).AdviseAll(context.Background(), []Query{{Schema: schema, SQL: "SELECT * FROM t WHERE a = 5"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Suggestions) > 0 {
		t.Errorf("got %s", short(a))
	}
	wantNote(t, a, "none is called unused")
}
