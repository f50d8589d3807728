package indexadvisor

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/quern-dev/quern/internal/testservers"
)

const expressionTable = `CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, s VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, dt DATETIME, ts TIMESTAMP NULL, doc JSON, pad VARCHAR(200))`

const expressionRows = `INSERT INTO t SELECT i, i % 5000, i % 70, CONCAT('V', i % 3000), '2020-01-01' + INTERVAL i * 20 MINUTE, '2020-01-01' + INTERVAL i * 20 MINUTE,
	CONCAT('{"n": ', i % 4000, ', "s": "x', i % 3000, '", "list": [', i % 3000, ', 1]}'), REPEAT('x', 200) FROM seq`

// Where a function stands on the column, MySQL takes an index on the same
// expression and uses it; the rewrite is named first.
func TestFunctionalPartsOnMySQL(t *testing.T) {
	srv := testservers.MySQL(t)
	if !srv.AtLeast(8, 1) {
		t.Skip("functional key parts came with MySQL 8.0.13")
	}
	schema := srv.Schema(t)
	db := srv.DB(t, schema)
	fill(t, db, 20000)
	exec(t, db, expressionTable, expressionRows, "ANALYZE TABLE t")
	for _, c := range []struct{ cond, reason string }{
		{"a * 3 = 15", ""},
		{"a + 1 IN (5, 6)", ""},
		{"a + b > 5050", ""},
		{"LOWER(s) = 'v77'", ""},
		{"LENGTH(s) = 2", ""},
		{"DATE(dt) = '2020-02-03'", "write dt >= '2020-02-03' AND dt < '2020-02-03' + INTERVAL 1 DAY"},
		{"MONTH(dt) = 10", ""},
		{"doc->>'$.s' = 'x77'", "documents whose value there does not fit"},
		{"JSON_EXTRACT(doc, '$.s') = 'x77'", ""},
		{"doc->'$.n' = 77", ""},
	} {
		query := "SELECT * FROM t WHERE " + c.cond
		a := adviseOn(t, db, schema, query)
		if len(a.Suggestions) != 1 || a.Suggestions[0].Columns[0].Expr == "" {
			t.Errorf("%s: got %s\n%s", c.cond, short(a), strings.Join(a.Notes, "\n"))
			continue
		}
		s := a.Suggestions[0]
		if !strings.Contains(s.Reason, c.reason) {
			t.Errorf("%s: the reason lacks %q: %s", c.cond, c.reason, s.Reason)
		}
		exec(t, db, s.Trial, s.Undo, s.DDL)
		if row, err := explainRow(t, db, false, query); err != nil || row.key != s.Name {
			t.Errorf("%s: with %s the server reads %+v, %v", c.cond, s.DDL, row, err)
		}
		if again := adviseOn(t, db, schema, query); len(again.Suggestions) > 0 {
			t.Errorf("%s: with the index there, still %s", c.cond, short(again))
		}
		exec(t, db, s.Undo)
	}
}

// A TIMESTAMP's date depends on the session, so that it is no key; an array is
// searched by a multi-valued index.
func TestExpressionsThatAreNoKeyOnMySQL(t *testing.T) {
	srv := testservers.MySQL(t)
	schema := srv.Schema(t)
	db := srv.DB(t, schema)
	fill(t, db, 20000)
	exec(t, db, expressionTable, expressionRows, "ANALYZE TABLE t")
	for _, c := range []struct{ cond, note string }{
		{"DATE(ts) = '2020-02-03'", "ts >= '2020-02-03' AND ts < '2020-02-03' + INTERVAL 1 DAY"},
		{"77 MEMBER OF (doc->'$.list')", "ADD INDEX ((CAST(JSON_EXTRACT(`doc`, '$.list') AS SIGNED ARRAY)))"},
		{"JSON_CONTAINS(doc->'$.list', '[77]')", "AS SIGNED ARRAY"},
		{"JSON_OVERLAPS(doc->'$.list', '[\"a\"]')", "AS CHAR(64) ARRAY"},
	} {
		query := "SELECT * FROM t WHERE " + c.cond
		a := adviseOn(t, db, schema, query)
		if len(a.Suggestions) > 0 {
			t.Errorf("%s: %s", c.cond, short(a))
		}
		wantNote(t, a, c.note)
		_, add, ok := strings.Cut(strings.Join(a.Notes, "\n"), "ADD INDEX ")
		if !ok || strings.Contains(c.cond, "OVERLAPS") {
			continue
		}
		add, _, _ = strings.Cut(add, ";")
		exec(t, db, "ALTER TABLE t ADD INDEX multi "+add)
		if row, err := explainRow(t, db, false, query); err != nil || row.key != "multi" {
			t.Errorf("%s: with %s the server reads %+v, %v", c.cond, add, row, err)
		}
		exec(t, db, "ALTER TABLE t DROP INDEX multi")
	}
}

// MariaDB has no key parts that are expressions: a generated column holds the
// expression, and the query names it. The rewrite that needs none comes first.
func TestGeneratedColumnsOnMariaDB(t *testing.T) {
	srv := testservers.MariaDB(t)
	schema := srv.Schema(t)
	db := srv.DB(t, schema)
	fill(t, db, 20000)
	exec(t, db, expressionTable, expressionRows, "ANALYZE TABLE t")
	for _, c := range []struct {
		expr, rest string
		column     string
		reason     string // what it begins with
	}{
		{"DATE(dt)", " = '2020-02-03'", "g_date_dt", "Better than an index on the expression: write dt >= '2020-02-03' AND dt < '2020-02-03' + INTERVAL 1 DAY"},
		{"a + 1", " = 7", "g_a_1", "Better than an index on the expression: write a = 7 - 1"},
		{"a * 3", " = 15", "g_a_3", "g_a_3 is a new generated column"},
		{"a + b", " > 5050", "g_a_b", ""},
		{"a + 1", " IN (5, 6)", "g_a_1", ""},
		{"LOWER(s)", " = 'v77'", "g_lower_s", ""},
		{"REVERSE(s)", " = '77V'", "g_reverse_s", ""},
		{"LEFT(s, 3)", " = 'V77'", "g_left_s_3", ""},
		{"CRC32(s)", " = 5", "g_crc32_s", ""},
		{"JSON_VALUE(doc, '$.s')", " = 'x77'", "g_json_value_doc_s", ""},
		{"JSON_UNQUOTE(JSON_EXTRACT(doc, '$.s'))", " = 'x77'", "g_json_unquote_json_extract_doc_s", ""},
	} {
		query := "SELECT * FROM t WHERE " + c.expr + c.rest
		a := adviseOn(t, db, schema, query)
		if len(a.Suggestions) != 1 {
			t.Errorf("%s: got %s\n%s", query, short(a), strings.Join(a.Notes, "\n"))
			continue
		}
		s := a.Suggestions[0]
		if p := s.Columns[0]; p.Name != c.column || p.Expr == "" {
			t.Errorf("%s: the column is %+v, want %s", query, p, c.column)
			continue
		}
		if !strings.HasPrefix(s.Reason, c.reason) || !strings.Contains(s.Reason, "so write "+c.column+" in the place of") {
			t.Errorf("%s: the reason is %s", query, s.Reason)
		}
		before := showCreate(t, db, "t")
		rows := resultOf(t, db, query)
		exec(t, db, s.Trial, s.Undo, s.DDL)
		named := "SELECT * FROM t WHERE " + c.column + c.rest
		if row, err := explainRow(t, db, true, named); err != nil || row.key != s.Name {
			t.Errorf("%s: with %s the server reads %+v, %v", named, s.DDL, row, err)
		}
		if got := resultOf(t, db, named); got != rows {
			t.Errorf("%s gives %s, %s gave %s", named, got, query, rows)
		}
		again := adviseOn(t, db, schema, query)
		if len(again.Suggestions) > 0 {
			t.Errorf("%s: with the column there, still %s", query, short(again))
		}
		wantNote(t, again, "Instead: ")
		if got := short(adviseOn(t, db, schema, named)); got != "" {
			t.Errorf("%s: with the index there, still %s", named, got)
		}
		exec(t, db, s.Undo)
		if after := showCreate(t, db, "t"); after != before {
			t.Errorf("undoing leaves\n%s\ninstead of\n%s", after, before)
		}
	}
	// What no column holds for certain gets no DDL.
	for _, cond := range []string{"DATE(ts) = '2020-02-03'", "DATE_FORMAT(dt, '%Y-%m') = '2020-02'", "a / 3 = 7", "LOWER(s) = 7", "a + RAND() > 5000"} {
		if a := adviseOn(t, db, schema, "SELECT * FROM t WHERE "+cond); len(a.Suggestions) > 0 {
			t.Errorf("%s: %s", cond, a.Suggestions[0].DDL)
		}
	}
}

// The table has a column of that name already, and an index to extend.
func TestGeneratedColumnTakesAFreeName(t *testing.T) {
	m := newMemory(t)
	m.For = mariadb
	m.add("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, g_a_3 INT, pad VARCHAR(200), KEY kb (b))", 20000, func(i int) []any { return []any{i, i % 5000, i % 90, 1, "x"} })
	a := m.advise("SELECT * FROM t WHERE a * 3 = 15 AND b = 5")
	if len(a.Suggestions) != 1 {
		t.Fatalf("got %s\n%s", short(a), strings.Join(a.Notes, "\n"))
	}
	s := a.Suggestions[0]
	if d := cmp.Diff([]string{
		"ALTER TABLE `s`.`t` ADD COLUMN `g_a_3_2` BIGINT GENERATED ALWAYS AS (`a` * 3) VIRTUAL INVISIBLE, ADD INDEX `ix_b_g_a_3_2` (`b`, `g_a_3_2`), DROP INDEX `kb`, ALGORITHM=INPLACE, LOCK=SHARED",
		"ALTER TABLE `s`.`t` DROP INDEX `ix_b_g_a_3_2`, DROP COLUMN `g_a_3_2`, ADD INDEX `kb` (`b`)",
		"ALTER TABLE `s`.`t` ADD COLUMN `g_a_3_2` BIGINT GENERATED ALWAYS AS (`a` * 3) VIRTUAL INVISIBLE, ADD INDEX `ix_b_g_a_3_2` (`b`, `g_a_3_2`) IGNORED, ALGORITHM=INPLACE, LOCK=SHARED",
	}, []string{s.DDL, s.Undo, s.Trial}); d != "" {
		t.Error(d)
	}
}
