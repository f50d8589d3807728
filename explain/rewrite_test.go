package explain

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What becomes of each kind of statement. The SELECT reads what the statement
// reads, by the statement's own text.
var rewrites = []struct {
	kind string
	sql  string
	want string
}{
	{"a SELECT stays as it is",
		"/* page:cart */ select  a FROM t WHERE b = 'x' -- done",
		"/* page:cart */ select  a FROM t WHERE b = 'x' -- done"},
	{"without a closing semicolon",
		"SELECT 1 FROM t;",
		"SELECT 1 FROM t"},
	{"with its hints",
		"SELECT /*+ INDEX(t k) NO_SKIP_SCAN(t) */ STRAIGHT_JOIN a FROM t FORCE INDEX (k)",
		"SELECT /*+ INDEX(t k) NO_SKIP_SCAN(t) */ STRAIGHT_JOIN a FROM t FORCE INDEX (k)"},
	{"but for those that lift the limits",
		"SELECT /*+ MAX_EXECUTION_TIME(0) INDEX(t k) SET_VAR(sort_buffer_size=1M) SET_VAR(max_execution_time=0) */ a FROM t",
		"SELECT /*+ INDEX(t k) SET_VAR(sort_buffer_size=1M) */ a FROM t"},
	{"executable comments stay for the server to judge",
		"SELECT /*!40001 SQL_NO_CACHE */ a FROM t /*!99999 nonsense */",
		"SELECT /*!40001 SQL_NO_CACHE */ a FROM t /*!99999 nonsense */"},
	{"a locking read locks nothing",
		"SELECT a FROM t WHERE id = 1 FOR UPDATE",
		"SELECT a FROM t WHERE id = 1"},
	{"nor do its subqueries",
		"SELECT a FROM t WHERE id IN (SELECT t_id FROM u WHERE x = 1 LOCK IN SHARE MODE) FOR SHARE OF t SKIP LOCKED",
		"SELECT a FROM t WHERE id IN (SELECT t_id FROM u WHERE x = 1)"},
	{"FOR in SUBSTRING is no lock",
		"SELECT SUBSTRING(a FROM 1 FOR share) FROM t",
		"SELECT SUBSTRING(a FROM 1 FOR share) FROM t"},
	{"INTO a file, at the end",
		"SELECT a FROM t WHERE b = 1 INTO OUTFILE '/tmp/x' FIELDS TERMINATED BY ',' LINES TERMINATED BY '\\n'",
		"SELECT a FROM t WHERE b = 1"},
	{"INTO a file, before FROM",
		"SELECT a INTO OUTFILE '/tmp/x' CHARACTER SET utf8mb4 FROM t WHERE b = 1",
		"SELECT a FROM t WHERE b = 1"},
	{"INTO variables, before a lock",
		"SELECT a, b INTO @x, @y FROM t WHERE c = 1 FOR UPDATE NOWAIT",
		"SELECT a, b FROM t WHERE c = 1"},
	{"TABLE is short for a SELECT",
		"TABLE t ORDER BY a LIMIT 3",
		"SELECT * FROM t ORDER BY a LIMIT 3"},

	{"UPDATE",
		"UPDATE orders SET late = 1 WHERE due < '2026-01-01'",
		"SELECT orders.* FROM orders WHERE due < '2026-01-01'"},
	{"UPDATE without a space behind a literal",
		"UPDATE t SET c='set x where y'WHERE b=2",
		"SELECT t.* FROM t WHERE b=2"},
	{"UPDATE with an alias, a partition, hints, an order and a limit",
		"UPDATE /*+ NO_INDEX_MERGE(o) */ LOW_PRIORITY IGNORE shop.orders PARTITION (p1, p2) AS o USE INDEX (due) SET late = 1 WHERE due < NOW() ORDER BY due LIMIT 5",
		"SELECT /*+ NO_INDEX_MERGE(o) */ o.* FROM shop.orders PARTITION (p1, p2) AS o USE INDEX (due) WHERE due < NOW() ORDER BY due LIMIT 5"},
	{"UPDATE with a subquery as a value",
		"UPDATE t SET a = 1, b = IFNULL((SELECT MAX(x) FROM u WHERE u.id = t.id), 0) + 1 WHERE c = 2",
		"SELECT t.*, IFNULL((SELECT MAX(x) FROM u WHERE u.id = t.id), 0) + 1 FROM t WHERE c = 2"},
	{"UPDATE with a comment before its WHERE",
		"UPDATE t SET a = 1 -- all of them\nWHERE b = 2 -- really",
		"SELECT t.* FROM t WHERE b = 2"},
	{"UPDATE of quoted names",
		"UPDATE `order notes` AS `t 1` SET `t 1`.`na``me` = 'x' WHERE `t 1`.`größe` > 30",
		"SELECT `t 1`.* FROM `order notes` AS `t 1` WHERE `t 1`.`größe` > 30"},
	{"UPDATE of a join: the columns it reads of the other table, all of the written one",
		"UPDATE orders o JOIN customers c ON c.id = o.customer_id SET o.note = c.name, o.late = 1 WHERE c.segment = 'partner'",
		"SELECT o.*, c.name FROM orders o JOIN customers c ON c.id = o.customer_id WHERE c.segment = 'partner'"},
	{"UPDATE of a list of tables, written both",
		"UPDATE a, b SET a.x = 1, b.y = a.z WHERE a.id = b.id",
		"SELECT a.*, b.*, a.z FROM a, b WHERE a.id = b.id"},
	{"UPDATE of a join whose columns do not name their table",
		"UPDATE a JOIN b USING (id) SET x = 1 WHERE y = 2",
		"SELECT * FROM a JOIN b USING (id) WHERE y = 2"},
	{"UPDATE after WITH",
		"WITH c AS (SELECT id FROM u WHERE x = 1) UPDATE t SET a = 1 WHERE id IN (SELECT id FROM c)",
		"WITH c AS (SELECT id FROM u WHERE x = 1) SELECT t.* FROM t WHERE id IN (SELECT id FROM c)"},

	{"DELETE",
		"DELETE FROM t WHERE a = 1",
		"SELECT t.* FROM t WHERE a = 1"},
	{"DELETE of everything",
		"DELETE FROM shop.t",
		"SELECT t.* FROM shop.t"},
	{"DELETE with a limit",
		"DELETE QUICK FROM t PARTITION (p24) WHERE a = 1 ORDER BY id LIMIT 10",
		"SELECT t.* FROM t PARTITION (p24) WHERE a = 1 ORDER BY id LIMIT 10"},
	{"DELETE that returns its rows",
		"DELETE FROM t WHERE a = 1 RETURNING id, a",
		"SELECT t.* FROM t WHERE a = 1"},
	{"DELETE of several tables",
		"DELETE a, b.* FROM a JOIN b ON a.id = b.a_id LEFT JOIN c USING (id) WHERE c.id IS NULL",
		"SELECT a.*, b.* FROM a JOIN b ON a.id = b.a_id LEFT JOIN c USING (id) WHERE c.id IS NULL"},
	{"DELETE with USING",
		"DELETE FROM a, b USING a JOIN b USING (id) WHERE a.x = 1",
		"SELECT a.*, b.* FROM a JOIN b USING (id) WHERE a.x = 1"},

	{"INSERT of a query",
		"INSERT INTO log (id, note) SELECT id, 'x' FROM t WHERE a = 1",
		"SELECT id, 'x' FROM t WHERE a = 1"},
	{"INSERT of a query in parentheses, with ON DUPLICATE KEY",
		"INSERT IGNORE log (SELECT * FROM t WHERE a = 1) ON DUPLICATE KEY UPDATE n = n + 1",
		"(SELECT * FROM t WHERE a = 1)"},
	{"INSERT of a set",
		"INSERT INTO log SELECT a FROM t UNION ALL SELECT b FROM u FOR UPDATE",
		"SELECT a FROM t UNION ALL SELECT b FROM u"},
	{"INSERT with WITH",
		"INSERT INTO log WITH c AS (SELECT 1 AS x FROM t) SELECT x FROM c",
		"WITH c AS (SELECT 1 AS x FROM t) SELECT x FROM c"},
	{"INSERT of a table",
		"REPLACE INTO log TABLE t",
		"SELECT * FROM t"},
	{"INSERT of values: its subqueries",
		"INSERT INTO t (a, b) VALUES ((SELECT MAX(x) FROM u), 3), (1, 2 + (SELECT MIN(y) FROM v)) AS new ON DUPLICATE KEY UPDATE b = new.b",
		"SELECT (SELECT MAX(x) FROM u), 2 + (SELECT MIN(y) FROM v)"},
	{"INSERT … SET: its subqueries",
		"INSERT INTO t SET a = CONCAT('x', ','), b = (SELECT 1 FROM u LIMIT 1)",
		"SELECT (SELECT 1 FROM u LIMIT 1)"},
	{"CREATE TABLE of a query",
		"CREATE TEMPORARY TABLE IF NOT EXISTS x (k INT, KEY (k)) ENGINE=InnoDB REPLACE AS SELECT a AS k FROM t",
		"SELECT a AS k FROM t"},
	{"SET: its subqueries",
		"SET @x = (SELECT MAX(a) FROM t), @y = 3",
		"SELECT (SELECT MAX(a) FROM t)"},
	{"DO: its subqueries",
		"DO (SELECT COUNT(*) FROM t), 1",
		"SELECT (SELECT COUNT(*) FROM t)"},
	{"CALL: the subqueries of its arguments",
		"CALL p(1, (SELECT MAX(a) FROM t))",
		"SELECT (SELECT MAX(a) FROM t)"},
	{"EXPLAIN: the statement inside",
		"EXPLAIN FORMAT=JSON UPDATE t SET a = 1 WHERE b = 2",
		"SELECT t.* FROM t WHERE b = 2"},
	{"MariaDB's ANALYZE: the statement inside",
		"ANALYZE FORMAT=JSON DELETE FROM t WHERE b = 2",
		"SELECT t.* FROM t WHERE b = 2"},
	{"PREPARE: the prepared text",
		`PREPARE s FROM 'SELECT a FROM t WHERE b = ''x'''`,
		`SELECT a FROM t WHERE b = 'x'`},
}

func TestRewrite(t *testing.T) {
	for _, c := range rewrites {
		t.Run(c.kind, func(t *testing.T) {
			got, err := Rewrite(c.sql, RewriteOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Select); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", c.sql, diff)
			}
			again, err := Rewrite(got.Select, RewriteOptions{})
			if err != nil || again.Select != got.Select {
				t.Errorf("rewritten again: %v, %+v", err, again)
			}
		})
	}
}

// What has no SELECT, and why.
func TestRewriteRefuses(t *testing.T) {
	for _, c := range []struct {
		sql  string
		want RewriteCode
	}{
		{"", Empty},
		{"-- nothing", Empty},
		{"SELECT 1; DROP TABLE t", Multiple},
		{"SELECT 1 /*! ; DROP TABLE t */", Multiple},
		{"UPDATE t SET a = 1 WHERE b = 'x", Truncated},
		{"SELECT a FROM t WHERE b IN (1, 2, 3", Truncated},
		{"SELECT a FROM t WHERE b IN (1, 2, ...", Truncated},
		{"SELECT a FROM t WHERE b = 1 /* cut", Truncated},
		{"select a from t where b = ?", Placeholder},
		{"select a from t where b in (?+)", Placeholder},
		{"INSERT INTO t (a, b) VALUES (1, NULL)", ReadsNoRows},
		{"INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE n = (SELECT 1 FROM u)", ReadsNoRows},
		{"VALUES ROW(1, 2)", ReadsNoRows},
		{"SET NAMES utf8mb4", ReadsNoRows},
		{"DO SLEEP(1)", ReadsNoRows},
		{"EXPLAIN t", ReadsNoRows},
		{"EXPLAIN FOR CONNECTION 5", ReadsNoRows},
		{"CALL p(1)", NotAQuery},
		{"DROP TABLE t", NotAQuery},
		{"CREATE TABLE t (a INT)", NotAQuery},
		{"LOAD DATA INFILE 'x' INTO TABLE t", NotAQuery},
		{"TRUNCATE t", NotAQuery},
		{"HANDLER t OPEN", NotAQuery},
		{"EXECUTE s USING @a", NotAQuery},
		{"PREPARE s FROM @text", NotAQuery},
		{"ANALYZE TABLE t", NotAQuery},
		{"UPDATE t SET a = 1 /*!50000 WHERE b = 1 */", Unreadable},
		{"/*!50000 DELETE */ FROM t", Unreadable},
		{"SELECT a FROM t /*!50000 FOR UPDATE */", Unreadable},
		{"SELECT a) FROM t", Unreadable},
		{"UPDATE t WHERE a = 1", Unreadable},
		{"DELETE t WHERE a = 1", Unreadable},
		{"DELETE FROM a JOIN b", Unreadable},
		{"SELECT " + strings.Repeat("(", 600) + "1" + strings.Repeat(")", 600), Unreadable},
	} {
		r, err := Rewrite(c.sql, RewriteOptions{})
		var e *RewriteError
		if !errors.As(err, &e) {
			t.Errorf("%.80s: got %+v, %v; want %s", c.sql, r, err, c.want)
			continue
		}
		if e.Code != c.want {
			t.Errorf("%s: got %s (%s), want %s", c.sql, e.Code, e.Reason, c.want)
		}
	}
}

// Where the plan of the SELECT is not that of the statement, and what makes the
// two agree.
func TestRewriteSaysWhereThePlansDiffer(t *testing.T) {
	old, now, maria := ParseServer("5.7.44", ""), ParseServer("9.7.4", ""), ParseServer("10.11.6-MariaDB", "")
	in := "UPDATE t SET a = 1 WHERE id IN (SELECT t_id FROM u WHERE b = 2)"
	for _, c := range []struct {
		name        string
		server      Server
		sql         string
		settings    []string
		approximate bool
	}{
		{"a SELECT is itself", now, "SELECT a FROM t", nil, false},
		{"INSERT … SELECT is its SELECT", now, "INSERT INTO t SELECT a FROM u", nil, false},
		{"unless it reads what it writes", now, "INSERT INTO t SELECT a FROM t", nil, true},
		{"all rows are all rows", now, "UPDATE t SET a = 1", nil, false},
		{"one table is planned by ranges", now, "UPDATE t SET a = 1 WHERE b = 2", nil, true},
		{"no semi-join on old servers", old, in, []string{"optimizer_switch=semijoin=off,materialization=off"}, true},
		{"nor on MariaDB 10", maria, in, []string{"optimizer_switch=semijoin=off,materialization=off", "expensive_subquery_limit=0"}, true},
		{"but on MySQL since 8.0.21", now, in, nil, true},
		{"not with LIMIT", now, in + " LIMIT 5", []string{"optimizer_switch=semijoin=off,materialization=off"}, true},
		{"DELETE intersects no indexes", now, "DELETE FROM t WHERE a = 1 AND b = 2", []string{"optimizer_switch=index_merge_intersection=off"}, true},
		{"joins that write use no buffer", now, "DELETE a FROM a JOIN b ON a.x = b.x", []string{"optimizer_switch=block_nested_loop=off"}, false},
		{"nor on MariaDB", maria, "DELETE a FROM a JOIN b ON a.x = b.x", []string{"join_cache_level=0"}, false},
		{"unknown servers could do either", Server{}, "DELETE a FROM a JOIN b ON a.x = b.x", nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Rewrite(c.sql, RewriteOptions{Server: c.server})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.settings, r.Settings); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
			if r.Approximate != c.approximate || r.Approximate != (len(r.Why) > 0) {
				t.Errorf("approximate: %t, because %q; want %t", r.Approximate, r.Why, c.approximate)
			}
		})
	}
}

func TestSQLModeDecidesTheReading(t *testing.T) {
	r, err := Rewrite(`UPDATE "t" SET a = 'x\' WHERE b = 'where'`, RewriteOptions{Mode: Mode{ANSIQuotes: true, NoBackslashEscapes: true}})
	if err != nil {
		t.Fatal(err)
	}
	if want := `SELECT "t".* FROM "t" WHERE b = 'where'`; r.Select != want {
		t.Errorf("got %s, want %s", r.Select, want)
	}
}

func FuzzRewrite(f *testing.F) {
	for _, c := range rewrites {
		f.Add(c.sql, false)
	}
	f.Fuzz(func(t *testing.T, sql string, ansi bool) {
		o := RewriteOptions{Mode: Mode{ANSIQuotes: ansi}}
		r, err := Rewrite(sql, o)
		if err != nil {
			var e *RewriteError
			if !errors.As(err, &e) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		s := scan(r.Select, o.Mode)
		if s.semicolon || s.truncated {
			t.Errorf("%q became %q", sql, r.Select)
		}
		first := 0
		for s.op(first, "(") {
			first++
		}
		if !s.is(first, "SELECT", "WITH") {
			t.Errorf("%q became %q, which is no query", sql, r.Select)
		}
		if strings.HasPrefix(strings.ToUpper(strings.TrimSpace(sql)), "SELECT ") && len(r.Removed) == 0 && !strings.Contains(sql, ";") && r.Select != sql {
			t.Errorf("a plain SELECT changed: %q became %q", sql, r.Select)
		}
	})
}
