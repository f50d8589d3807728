package indexadvisor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/internal/testservers"
	"github.com/quern-dev/quern/slowlog"
)

// A statement that names partitions is advised on by their rows alone, whether all
// of them are counted or a sample.
func TestNamedPartitionsAreCountedAlone(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		fill(t, db, 1<<16)
		exec(t, db,
			"CREATE TABLE t (id INT, d DATE, s INT, pad VARCHAR(100), PRIMARY KEY (id, d)) PARTITION BY RANGE (YEAR(d)) (PARTITION p0 VALUES LESS THAN (2021), PARTITION `p 1` VALUES LESS THAN (2022), PARTITION p2 VALUES LESS THAN MAXVALUE)",
			// Every row of p0 has s = 4, and few of the others.
			"INSERT INTO t SELECT i, '2020-01-01' + INTERVAL (i % 4) YEAR, IF(i % 4, i % 900, 4), REPEAT('x', 100) FROM seq",
			"ANALYZE TABLE t")
		for _, exact := range []int64{1 << 20, 5000} {
			source := MySQL(db)
			source.ExactRows = exact
			for _, c := range []struct {
				from, want string
				rows       float64
			}{
				{"t", "", 1 << 16}, // a quarter of all rows is too much
				{"t PARTITION (p0)", "", 1 << 14},
				{"t PARTITION (`p 1`)", "t(s)", 1 << 14},
				{"t PARTITION (p2, `p 1`) x", "t(s)", 3 << 14},
			} {
				a, err := New(source, Options{}).Advise(context.Background(), Query{Schema: schema, SQL: "SELECT * FROM " + c.from + " WHERE s = 4"})
				if err != nil {
					t.Fatal(err)
				}
				if got := short(a); got != c.want {
					t.Errorf("%s, counted up to %d rows: got %q, want %q\n%s", c.from, exact, got, c.want, strings.Join(a.Notes, "\n"))
				}
				for _, s := range a.Suggestions {
					// The index is one of the whole table.
					if rows := float64(s.Rounds[0].Rows); rows < 0.9*c.rows || rows > 1.1*c.rows || s.Bytes < 1<<16*10 {
						t.Errorf("%s: round 1 is about %v rows, want %v; the index takes %d bytes", c.from, rows, c.rows, s.Bytes)
					}
				}
			}
		}
		if _, err := New(MySQL(db), Options{}).Advise(context.Background(), Query{Schema: schema, SQL: "SELECT * FROM t PARTITION (nosuch) WHERE s = 4"}); err == nil || !strings.Contains(err.Error(), "nosuch") {
			t.Errorf("a partition that is not there: %v", err)
		}
	})
}

// A class whose samples hold a hot and a rare value: whichever comes first, counted
// or sampled, the advice is one and says that the values matter.
func TestHotAndRareValuesOnServers(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		fill(t, db, 1<<16)
		exec(t, db, "CREATE TABLE t (id INT PRIMARY KEY, st VARCHAR(10) NOT NULL, d INT NOT NULL, pad VARCHAR(100))",
			"INSERT INTO t SELECT i, IF(i % 500, 'paid', 'void'), i * 7919 % 65536, REPEAT('x', 100) FROM seq", "ANALYZE TABLE t")
		hot, rare := "SELECT * FROM t WHERE st = 'paid'", "SELECT * FROM t WHERE st = 'void'"
		for _, exact := range []int64{1 << 20, 5000} {
			source := MySQL(db)
			source.ExactRows = exact
			adv := New(source, Options{})
			for _, order := range [][]string{{hot, rare}, {rare, hot}} {
				a, err := adv.Advise(context.Background(), Query{Schema: schema, SQL: order[0], Samples: order[1:]})
				if err != nil {
					t.Fatal(err)
				}
				if short(a) != "t(st)" {
					t.Errorf("%q: got %q\n%s", order, short(a), strings.Join(a.Notes, "\n"))
				}
				wantNote(t, a, "1 of 2 texts of the class gain from the indexes suggested, the others do not")
				wantNote(t, a, "2 texts of the class read from")

				var agg digest.Aggregator
				for i, sql := range order {
					agg.Add(&slowlog.Event{Time: time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC), Schema: schema, Query: sql, Weight: 1})
				}
				if a, err = adv.AdviseProfile(context.Background(), agg.Profile(), schema); err != nil {
					t.Fatal(err)
				}
				if short(a) != "t(st)" {
					t.Errorf("the profile of %q: got %q\n%s", order, short(a), strings.Join(a.Notes, "\n"))
				}
				wantNote(t, a, "1 of 2 texts of the class gain")
			}
		}
	})
}

// What else there is to say of how a statement reads: hints that forbid indexes, kinds
// of indexes that are no B-trees, and what cannot be counted.
func TestNotesOnHowAStatementReads(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		fill(t, db, 1<<14)
		point, srid := "POINT(i % 90, i % 80)", ""
		if srv.Flavor == testservers.FlavorMySQL {
			point, srid = "ST_SRID(POINT(i % 90, i % 80), 0)", " SRID 0"
		}
		exec(t, db,
			"CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, body TEXT, title TEXT, d DATETIME, pad VARCHAR(100), KEY ka (a), FULLTEXT ft (body))",
			"INSERT INTO t SELECT i, i % 900, i % 700, CONCAT('word', i % 300, ' lorem'), CONCAT('title', i % 300), '2024-01-01' + INTERVAL i MINUTE, REPEAT('x', 90) FROM seq",
			"CREATE TABLE g (id INT PRIMARY KEY, p POINT NOT NULL"+srid+", q POINT NOT NULL"+srid+", SPATIAL KEY sp (p))",
			"INSERT INTO g SELECT i, "+point+", "+point+" FROM seq",
			"ANALYZE TABLE t, g")
		const square = "ST_GeomFromText('POLYGON((0 0,1 0,1 1,0 1,0 0))')"
		for _, c := range []struct {
			sql, want string
			notes     []string
		}{
			{"SELECT * FROM t WHERE a = 5", "", []string{"ka serves it already"}},
			{"SELECT * FROM t IGNORE INDEX (ka) WHERE a = 5", "", []string{"the statement forbids ka", "no index gains enough"}},
			{"SELECT * FROM t IGNORE INDEX (KA) WHERE a = 5 AND b = 5", "t(a, b)", []string{"the statement forbids KA"}},
			{"SELECT * FROM t USE INDEX () WHERE a = 5", "", []string{"(USE or FORCE INDEX: none)", "no index gains enough"}},
			{"SELECT * FROM t FORCE INDEX (ka) WHERE b = 5", "t(b)", []string{"a new one is not used before the hint names it"}},
			{"SELECT * FROM t IGNORE INDEX FOR ORDER BY (ka) WHERE a = 5", "", []string{"ka serves it already"}},
			{"SELECT * FROM t WHERE MATCH (body) AGAINST ('word5') AND b = 5", "", []string{"the FULLTEXT index ft finds its words", "makes the server read the FULLTEXT index ft"}},
			{"SELECT * FROM t WHERE NOT MATCH (body) AGAINST ('word5') AND b = 5", "t(b)", []string{"no index finds the rows without its words"}},
			{"SELECT * FROM t WHERE MATCH (title) AGAINST ('title5')", "", []string{"Instead: ADD FULLTEXT INDEX (`title`)"}},
			{"SELECT * FROM g WHERE MBRContains(" + square + ", p)", "", []string{"the SPATIAL index sp may"}},
			{"SELECT * FROM g WHERE ST_Within(q, " + square + ")", "", []string{"Instead: ADD SPATIAL INDEX (`q`)"}},
			{"SELECT * FROM t ORDER BY DATE(d) LIMIT 5", "", []string{"ORDER BY DATE(d): an index has the order of its columns"}},
			{"SELECT DATE(d), COUNT(*) FROM t GROUP BY DATE(d)", "", []string{"GROUP BY DATE(d): an index has the order of its columns"}},
			{"SELECT pad FROM t WHERE b > LAST_INSERT_ID()", "", []string{"the rows of b > LAST_INSERT_ID() are guessed: the function LAST_INSERT_ID is not run for counting"}},
			{"SELECT pad FROM t WHERE b = ?", "t(b)", []string{"the rows of b = ? are guessed: its value is not known"}},
		} {
			a := adviseOn(t, db, schema, c.sql)
			if got := short(a); got != c.want {
				t.Errorf("%s: got %q, want %q\n%s", c.sql, got, c.want, strings.Join(a.Notes, "\n"))
			}
			for _, n := range c.notes {
				wantNote(t, a, n)
			}
		}
		// The server itself: with b indexed, MATCH still makes it read ft.
		exec(t, db, "ALTER TABLE t ADD INDEX kb (b)")
		keys, err := MySQL(db).Keys(context.Background(), schema, "SELECT * FROM t WHERE MATCH (body) AGAINST ('word5') AND b = 5")
		if d := cmp.Diff([]string{"ft"}, keys); err != nil || d != "" {
			t.Errorf("%v %s", err, d)
		}
	})
}

// MySQL's optimizer hints on indexes are respected as USE, FORCE and IGNORE INDEX are.
func TestOptimizerHintsOnIndexesAreRespected(t *testing.T) {
	srv := testservers.MySQL(t)
	schema := srv.Schema(t)
	db := srv.DB(t, schema)
	fill(t, db, 1<<14)
	exec(t, db,
		"CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, pad VARCHAR(100), KEY ka (a))",
		"INSERT INTO t SELECT i, i % 900, i % 700, REPEAT('x', 90) FROM seq",
		"CREATE VIEW v AS SELECT * FROM t", "ANALYZE TABLE t")
	const notNew = "a new one is not used before the hint names it"
	cases := []struct {
		sql, want string
		note      string // "" for none that names a hint
		used      bool   // by the server, once it is there
	}{
		{"SELECT * FROM t WHERE b = 5", "t(b)", "", true},
		{"SELECT /*+ INDEX(t ka) */ * FROM t WHERE b = 5", "t(b)", "(the hint INDEX: ka): " + notNew, false},
		{"SELECT /*+ QB_NAME(q) MAX_EXECUTION_TIME(9000) join_index(@`q` x `KA`, PRIMARY) */ * FROM t AS x WHERE b = 5", "t(b)", "(the hint JOIN_INDEX: KA, PRIMARY): " + notNew, false},
		{"SELECT /*+ NO_INDEX(t ka) */ * FROM t WHERE a = 5", "", "the statement forbids ka (the hint NO_INDEX)", false},
		{"SELECT /*+ NO_JOIN_INDEX(t ka) */ * FROM t WHERE a = 5 AND b = 5", "t(a, b)", "the statement forbids ka (the hint NO_JOIN_INDEX)", true},
		{"SELECT /*+ NO_INDEX(t) */ * FROM t WHERE b = 5", "t(b)", "every index (the hint NO_INDEX): a new one is not used before the hint is gone", false},
		{"SELECT /*+ ORDER_INDEX(t ka) */ * FROM t ORDER BY b LIMIT 5", "t(b)", "the hint ORDER_INDEX names the indexes that may give the order (ka): a new one does not", false},
		{"SELECT /*+ NO_ORDER_INDEX(t) */ * FROM t ORDER BY b LIMIT 5", "t(b)", "the hint NO_ORDER_INDEX forbids every index there", false},
		{"SELECT /*+ GROUP_INDEX(t ka) */ b, COUNT(*) FROM t GROUP BY b", "t(b)", "the hint GROUP_INDEX names the indexes that may give the order (ka)", false},
		{"SELECT /*+ NO_GROUP_INDEX(t ka) */ a, COUNT(*) FROM t GROUP BY a", "", "the hint NO_GROUP_INDEX forbids ka there", false},
		// Hints that say nothing of t's indexes.
		{"SELECT /*+ INDEX(t) INDEX(t none) NO_INDEX(u) JOIN_ORDER(t) */ * FROM t WHERE b = 5", "t(b)", "", true},
		{"SELECT * /*+ NO_INDEX(t) */ FROM t WHERE b = 5", "t(b)", "", true},
		{"SELECT '/*+ NO_INDEX(t) */' FROM t WHERE b = 5", "t(b)", "", true},
		{"SELECT /*+ NO_INDEX(t) */ * FROM v WHERE b = 5", "t(b)", "", true},
		{"UPDATE /*+ NO_INDEX(t) */ t SET pad = '' WHERE b = 5", "t(b)", "every index (the hint NO_INDEX)", false},
	}
	for _, c := range cases {
		a := adviseOn(t, db, schema, c.sql)
		if got := short(a); got != c.want {
			t.Errorf("%s: got %q, want %q\n%s", c.sql, got, c.want, strings.Join(a.Notes, "\n"))
		}
		if notes := strings.Join(a.Notes, "\n"); c.note == "" && strings.Contains(notes, "hint") {
			t.Errorf("%s: %s", c.sql, notes)
		} else if c.note != "" {
			wantNote(t, a, c.note)
		}
	}
	exec(t, db, "ALTER TABLE t ADD INDEX kb (b)")
	for _, c := range cases {
		keys, err := MySQL(db).Keys(context.Background(), schema, c.sql)
		if err != nil || slices.Contains(keys, "kb") != c.used {
			t.Errorf("%s: the server reads %v, %v", c.sql, keys, err)
		}
	}
}

// A table that keeps its past is advised on by the rows that it has now.
func TestRowsOfThePastAreReadByTheSameIndexes(t *testing.T) {
	srv := testservers.MariaDB(t)
	schema := srv.Schema(t)
	db := srv.DB(t, schema)
	fill(t, db, 1<<14)
	exec(t, db,
		"CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, pad VARCHAR(100)) WITH SYSTEM VERSIONING",
		"INSERT INTO t SELECT i, i % 900, i % 700, REPEAT('x', 90) FROM seq", "ANALYZE TABLE t")
	for _, sql := range []string{
		"SELECT * FROM t FOR SYSTEM_TIME AS OF TIMESTAMP'2026-01-01 00:00:00' x WHERE b = 5",
		"SELECT * FROM t FOR SYSTEM_TIME BETWEEN '2026-01-01' AND NOW() + INTERVAL 1 YEAR WHERE b = 5",
		"SELECT pad FROM t FOR SYSTEM_TIME ALL WHERE b = 5 FOR UPDATE",
		"UPDATE t JOIN t FOR SYSTEM_TIME FROM '2026-01-01' TO NOW() AS old USING (id) SET t.a = old.a WHERE old.b = 5",
	} {
		a := adviseOn(t, db, schema, sql)
		if got := short(a); got != "t(b)" {
			t.Errorf("%s: got %q\n%s", sql, got, strings.Join(a.Notes, "\n"))
		}
		wantNote(t, a, "FOR SYSTEM_TIME is passed over")
	}
}

// A long list of ids stands in the text of each place of a sample: it is counted all
// the same, in statements that any server takes.
func TestLongListsAreSampled(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		fill(t, db, 1<<16)
		exec(t, db, "CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL, pad VARCHAR(100))", "INSERT INTO t SELECT i, i * 7919 % 65536, i % 10, 'x' FROM seq", "ANALYZE TABLE t")
		ids := make([]string, 20_000)
		for i := range ids {
			ids[i] = fmt.Sprint(1_000_000_000 + i)
		}
		for i := range 600 {
			ids[i] = fmt.Sprint(i * 100)
		}
		source := MySQL(db)
		source.ExactRows = 5000
		a, err := New(source, Options{}).Advise(context.Background(), Query{Schema: schema, SQL: "SELECT * FROM t WHERE a IN (" + strings.Join(ids, ",") + ") AND b < 9"})
		if err != nil || a.Incomplete {
			t.Fatalf("error %v, incomplete %v\n%.500s", err, err == nil && a.Incomplete, fmt.Sprint(a))
		}
		if slices.ContainsFunc(a.Notes, func(n string) bool { return strings.Contains(n, "could not be counted") }) {
			t.Errorf("%.300q", a.Notes)
		}
	})
}

// How long the values of strings are is read from a few rows, and tells the size of
// an index.
func TestSizesOfIndexesOnStrings(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		fill(t, db, 20000)
		exec(t, db, "CREATE TABLE t (id INT PRIMARY KEY, long_ones VARCHAR(255) NOT NULL, short_ones VARCHAR(255), none VARCHAR(30), `a\"``b` VARBINARY(40) NOT NULL, n INT NOT NULL, v VARCHAR(9) GENERATED ALWAYS AS (LEFT(long_ones, 9)) VIRTUAL,"+
			"KEY (long_ones, n), KEY (short_ones), KEY (`a\"``b`, long_ones))",
			"INSERT INTO t (id, long_ones, short_ones, `a\"``b`, n) SELECT i, CONCAT(LPAD(i * 7919 % 20000, 5, '0'), REPEAT('x', 95)), i * 7919 % 9000 + 1000, REPEAT('y', 10), i FROM seq ORDER BY i * 7919 % 20000", "ALTER TABLE t FORCE", "ANALYZE TABLE t",
			"CREATE TABLE e (v VARCHAR(30))")
		ctx := context.Background()
		tab, err := MySQL(db).Table(ctx, schema, "t")
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, c := range tab.Columns {
			got[c.Name] = c.Bytes
		}
		want := map[string]float64{"id": 0, "long_ones": 100, "short_ones": 4, "none": 0, "a\"`b": 10, "n": 0, "v": 0}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("average lengths (-want +got):\n%s", diff)
		}
		for _, ix := range tab.Indexes {
			if ix.primary() {
				continue
			}
			// Pages just made are full; an estimate is for the long run.
			if got := float64(tab.indexBytes(ix.Parts, 20000, 16384)); got < 0.9*float64(ix.Bytes) || got > 1.7*float64(ix.Bytes) {
				t.Errorf("the index on %v takes %d bytes, %.0f estimated", ix.Parts, ix.Bytes, got)
			}
		}
		if tab, err = MySQL(db).Table(ctx, schema, "e"); err != nil || tab.Columns[0].Bytes != 0 {
			t.Errorf("a table without rows: %v, %v", tab, err)
		}
	})
}
