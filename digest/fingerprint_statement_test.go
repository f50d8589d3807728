package digest

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStatementNamesVerbTablesAndSummary(t *testing.T) {
	tests := []struct {
		sql, verb, tables, summary string
	}{
		{"select a from t", "SELECT", "t", "select t"},
		{"SELECT a FROM Shop.`Order Items` oi, b AS x JOIN c ON x.i = c.i, d WHERE e = 1 AND f IN (1, 2)", "SELECT", "Shop.Order Items,b,c,d", "SELECT Shop.Order Items b c d"},
		{"SELECT 1", "SELECT", "", "SELECT"},
		{"SELECT NOW() FROM DUAL", "SELECT", "", "SELECT"},
		{"(SELECT a FROM t) UNION ALL (SELECT b FROM u)", "SELECT", "t,u", "SELECT t SELECT u"},
		{"SELECT EXTRACT(YEAR FROM d), TRIM(LEADING 'x' FROM s), SUBSTRING(s FROM 2) FROM t", "SELECT", "t", "SELECT t"},
		{"SELECT * FROM (SELECT a FROM t9) d, v, LATERAL (SELECT b FROM w) l LEFT JOIN (x CROSS JOIN y) ON 1", "SELECT", "t9,v,w,x,y", "SELECT SELECT t9 v SELECT w x y"},
		{"SELECT (SELECT MAX(a) FROM u), b FROM t, t AS t2", "SELECT", "u,t", "SELECT SELECT u t t"},
		{"SELECT a FROM t USE INDEX FOR JOIN (i, j) USE INDEX FOR ORDER BY (k), u FORCE INDEX (l) STRAIGHT_JOIN v", "SELECT", "t,u,v", "SELECT t u v"},
		{"SELECT a FROM t PARTITION (p0, p1) WHERE a = 1 ORDER BY a, b LIMIT 1, 2", "SELECT", "t", "SELECT t"},
		{"SELECT * FROM t, JSON_TABLE(t.doc, '$[*]' COLUMNS(a INT PATH '$.a')) AS jt", "SELECT", "t", "SELECT t"},
		{"SELECT a INTO @x, @y FROM t WINDOW w AS (PARTITION BY b), w2 AS (w)", "SELECT", "t", "SELECT t"},
		{"SELECT a FROM t, u FOR UPDATE OF t, u", "SELECT", "t,u", "SELECT t u"},
		{"SELECT a INTO OUTFILE '/tmp/x' FROM t", "SELECT", "t", "SELECT t"},
		{"WITH c AS (SELECT a FROM t), d (x, y) AS (SELECT * FROM c) SELECT * FROM d JOIN u", "SELECT", "t,u", "SELECT t SELECT SELECT u"},
		{"WITH RECURSIVE c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c) SELECT * FROM C", "SELECT", "", "SELECT SELECT SELECT"},
		{"WITH t AS (SELECT * FROM t) SELECT * FROM t", "SELECT", "t", "SELECT t SELECT"},
		{"SELECT * FROM (WITH c AS (SELECT 1) SELECT * FROM c) d JOIN c", "SELECT", "c", "SELECT SELECT SELECT c"},
		{"WITH c AS (SELECT 1) UPDATE t JOIN c ON t.a = c.a SET t.b = 2", "UPDATE", "t", "SELECT UPDATE t"},
		{"SELECT a, COUNT(*) FROM t GROUP BY a WITH ROLLUP", "SELECT", "t", "SELECT t"},
		{"INSERT INTO t (a, b) VALUES (1, 2) ON DUPLICATE KEY UPDATE b = 3, c = 4", "INSERT", "t", "INSERT t"},
		{"INSERT IGNORE t VALUES (1)", "INSERT", "t", "INSERT t"},
		{"INSERT LOW_PRIORITY INTO db.t SELECT a FROM u ON DUPLICATE KEY UPDATE a = 1, b = 2", "INSERT", "db.t,u", "INSERT db.t SELECT u"},
		{"INSERT INTO t SET a = INSERT('x', 1, 2, 'y')", "INSERT", "t", "INSERT t"},
		{"INSERT INTO t TABLE u", "INSERT", "t,u", "INSERT t TABLE u"},
		{"REPLACE t (a) SELECT REPLACE(a, 'b', 'c') FROM u", "REPLACE", "t,u", "REPLACE t SELECT u"},
		{"UPDATE LOW_PRIORITY IGNORE a, b AS x SET a.c = x.c, x.d = 1", "UPDATE", "a,b", "UPDATE a b"},
		{"DELETE QUICK FROM t WHERE a IN (SELECT b FROM u)", "DELETE", "t,u", "DELETE t SELECT u"},
		{"DELETE x, y FROM a AS x JOIN b AS y USING (c)", "DELETE", "a,b", "DELETE a b"},
		{"DELETE FROM x, y USING a AS x JOIN b AS y", "DELETE", "a,b", "DELETE x y a b"},
		{"TABLE t ORDER BY a", "TABLE", "t", "TABLE t"},
		{"VALUES ROW(1, 2)", "VALUES", "", "VALUES"},
		{"EXPLAIN FORMAT=JSON UPDATE t SET a = 1", "EXPLAIN", "t", "EXPLAIN UPDATE t"},
		{"EXPLAIN ANALYZE WITH c AS (SELECT 1) DELETE FROM t", "EXPLAIN", "t", "EXPLAIN SELECT DELETE t"},
		{"DESC db.t", "DESC", "db.t", "DESC db.t"},
		{"EXPLAIN FOR CONNECTION 5", "EXPLAIN", "", "EXPLAIN"},
		{"CREATE TEMPORARY TABLE IF NOT EXISTS t (a INT, KEY (a), ts TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, FOREIGN KEY (b) REFERENCES u (c) ON DELETE CASCADE)", "CREATE TABLE", "t,u", "CREATE TABLE t u"},
		{"CREATE TABLE t LIKE u", "CREATE TABLE", "t,u", "CREATE TABLE t u"},
		{"CREATE TABLE t AS SELECT * FROM u", "CREATE TABLE", "t,u", "CREATE TABLE t SELECT u"},
		{"CREATE OR REPLACE DEFINER=`a`@`b` SQL SECURITY INVOKER VIEW v AS SELECT a FROM t", "CREATE VIEW", "v,t", "CREATE VIEW v SELECT t"},
		{"CREATE UNIQUE INDEX i ON t (a, b)", "CREATE INDEX", "t", "CREATE INDEX t"},
		{"CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.a = 1", "CREATE TRIGGER", "t", "CREATE TRIGGER t"},
		{"CREATE DATABASE IF NOT EXISTS d", "CREATE DATABASE", "", "CREATE DATABASE d"},
		{"CREATE USER 'joe'@'%' IDENTIFIED BY 'secret'", "CREATE USER", "", "CREATE USER"},
		{"ALTER TABLE t ENGINE=InnoDB, COMMENT='x', ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES u (b)", "ALTER TABLE", "t,u", "ALTER TABLE t u"},
		{"DROP TABLE IF EXISTS a, db.b", "DROP TABLE", "a,db.b", "DROP TABLE a db.b"},
		{"RENAME TABLE a TO b, c TO d", "RENAME TABLE", "a,b,c,d", "RENAME TABLE a b c d"},
		{"TRUNCATE t", "TRUNCATE", "t", "TRUNCATE t"},
		{"TRUNCATE TABLE t", "TRUNCATE TABLE", "t", "TRUNCATE TABLE t"},
		{"ANALYZE LOCAL TABLE a, b", "ANALYZE TABLE", "a,b", "ANALYZE TABLE a b"},
		{"ANALYZE FORMAT=JSON SELECT a FROM t", "ANALYZE", "t", "ANALYZE SELECT t"},
		{"LOCK TABLES a READ, b AS x WRITE", "LOCK TABLES", "a,b", "LOCK TABLES a b"},
		{"LOAD DATA LOCAL INFILE '/tmp/f' REPLACE INTO TABLE db.t", "LOAD DATA", "db.t", "LOAD DATA db.t"},
		{"SHOW FULL COLUMNS FROM t FROM db", "SHOW", "t", "SHOW t"},
		{"SHOW CREATE TABLE t", "SHOW", "t", "SHOW t"},
		{"SHOW TABLE STATUS FROM db LIKE 'x'", "SHOW", "", "SHOW"},
		{"GRANT SELECT, INSERT, UPDATE ON db.t TO joe", "GRANT", "", "GRANT"},
		{"CALL db.p(1)", "CALL", "", "CALL db.p"},
		{"START TRANSACTION", "START TRANSACTION", "", "START TRANSACTION"},
		{"COMMIT", "COMMIT", "", "COMMIT"},
		{"SET @a = (SELECT b FROM t)", "SET", "t", "SET SELECT t"},
		{"INSERT INTO a VALUES (1); DELETE FROM b", "INSERT", "a,b", "INSERT a DELETE b"},
		{"administrator command: Ping", "ADMIN", "", "administrator command: Ping"},
		{"", "", "", ""},
	}
	var f Fingerprinter
	for _, tt := range tests {
		t.Run(tt.sql, func(t *testing.T) {
			got := f.Statement(tt.sql)
			if got.Verb != tt.verb || strings.Join(got.Tables, ",") != tt.tables || got.Summary != tt.summary {
				t.Errorf("verb, tables, summary\n got %q %q %q\nwant %q %q %q",
					got.Verb, got.Tables, got.Summary, tt.verb, tt.tables, tt.summary)
			}
		})
	}
}

func TestSummaryIsCutBetweenNames(t *testing.T) {
	var f Fingerprinter
	name := strings.Repeat("n", 60)
	got := f.Statement("SELECT a FROM " + strings.Join([]string{name, name, name, name + "12345", "b"}, ", ")).Summary
	if want := strings.Join([]string{"SELECT", name, name, name, name + "12345"}, " "); got != want {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
	got = f.Statement("SELECT a FROM " + strings.Repeat(name+", ", 3) + name + "123456, b").Summary
	if want := strings.Join([]string{"SELECT", name, name, name}, " "); got != want {
		t.Errorf("one byte more\n got %q\nwant %q", got, want)
	}
}

func TestStatementFlags(t *testing.T) {
	tests := []struct {
		sql                              string
		truncated, multi, hasHint, admin bool
	}{
		{"SELECT 1;", false, false, false, false},
		{"SELECT 'a", true, false, false, false},
		{"SELECT f(1", true, false, false, false},
		{"SELECT 1; SELECT 2", false, true, false, false},
		{"CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END", false, false, false, false},
		{"SELECT /*+ NO_ICP(t) */ a FROM t", false, false, true, false},
		{"administrator command: Init DB", false, false, false, true},
	}
	var f Fingerprinter
	for _, tt := range tests {
		s := f.Statement(tt.sql)
		if s.Truncated != tt.truncated || s.Multi != tt.multi || s.HasHint != tt.hasHint || s.Admin != tt.admin {
			t.Errorf("%q: truncated %v, multi %v, hint %v, admin %v", tt.sql, s.Truncated, s.Multi, s.HasHint, s.Admin)
		}
	}
}

func TestAppendRedactedKeepsTheLayout(t *testing.T) {
	tests := []struct{ name, sql, want string }{
		{"literals", "SELECT  12, -12, + 12,\n\t.5, 'it''s', x'4D', \"b\", NULL, TRUE IS TRUE", "SELECT  ?, ?, ?,\n\t?, ?, ?, ?, ?, ? IS TRUE"},
		{"binary signs", "SELECT 99+100, a -1", "SELECT ?+?, a -?"},
		{"lists stay", "INSERT INTO T VALUES (1, 'a'), (2, 'b')", "INSERT INTO T VALUES (?, ?), (?, ?)"},
		{"introducers and types", "SELECT _utf8mb4'x', DATE '2024-01-01', N'y', 'a' 'b'", "SELECT ?,  ?, ?, ? "},
		{"comments go", "/* a */SELECT/* 'b' */a,-- c\n b /* d */FROM t # e", "SELECT a,\n b FROM t "},
		{"a comment that parts two operators", "SELECT 5 -/**/- 1", "SELECT ? - ?"},
		{"code stays", "SELECT /*!40001 SQL_NO_CACHE */ 1, /*M!100100 'x' */ a", "SELECT /*!40001 SQL_NO_CACHE */ ?, /*M!100100 ? */ a"},
		{"hints", "SELECT /*+ MAX_EXECUTION_TIME(1000) */ `a` FROM t", "SELECT /*+ MAX_EXECUTION_TIME(?) */ `a` FROM t"},
		{"passwords", "CREATE USER 'joe'@'%' IDENTIFIED BY 'secret'", "CREATE USER ?@? IDENTIFIED BY ?"},
		{"truncated string", "SELECT a WHERE b = 'cut", "SELECT a WHERE b = ?"},
		{"truncated comment", "SELECT a /* cut", "SELECT a "},
		{"mark of a cut", "SELECT a WHERE b = 1... ", "SELECT a WHERE b = ?... "},
		{"mark of a cut in a string", "SELECT a WHERE b = 'cut...", "SELECT a WHERE b = ?..."},
		{"no mark of a cut", "SELECT a... /* b */", "SELECT a... /**/"},
	}
	var f Fingerprinter
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(f.AppendRedacted([]byte("x"), tt.sql)); got != "x"+tt.want {
				t.Errorf("AppendRedacted(%q)\n got %q\nwant %q", tt.sql, got, "x"+tt.want)
			}
		})
	}
}

func TestPasswordsAreRedactedUnderANSIQuotes(t *testing.T) {
	f := Fingerprinter{Options: FingerprintOptions{ANSIQuotes: true}}
	for _, sql := range []string{
		`CREATE USER joe IDENTIFIED BY "s3cret"`,
		`ALTER USER "joe"@"h" IDENTIFIED WITH x AS "s3cret"`,
		`GRANT ALL ON *.* TO joe IDENTIFIED BY PASSWORD "s3cret"`,
		`SET PASSWORD FOR "joe"@"h" = PASSWORD("s3cret")`,
		`SET PASSWORD = "s3cret"`,
		`CHANGE MASTER TO MASTER_PASSWORD="s3cret"`,
		`CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD="s3cret"`,
		`START REPLICA USER="u" PASSWORD="s3cret"`,
		`CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (PASSWORD "s3cret")`,
	} {
		s := f.Statement(sql)
		for _, text := range []string{s.Fingerprint, s.Redacted, s.Summary} {
			if strings.Contains(text, "s3cret") {
				t.Errorf("%s\nleaks: %s", sql, text)
			}
		}
	}
	if got, want := string(f.Append(nil, `SELECT "password" FROM t`)), `select password from t`; got != want {
		t.Errorf("a column of that name: got %q, want %q", got, want)
	}
}

// TestOpenTelemetryCases reads the sanitized texts and summaries that
// OpenTelemetry's database conventions give, where the file is at hand.
func TestOpenTelemetryCases(t *testing.T) {
	const file = "../../shared/samples/otel/db-sql-test-cases.json"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Skipf("the test cases are not at hand: %v", err)
	}
	var cases []struct {
		Name  string
		Input struct {
			System string `json:"db.system.name"`
			Query  string
		}
		Expected struct {
			Text    []string `json:"db.query.text"`
			Summary string   `json:"db.query.summary"`
		}
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 24 {
		t.Errorf("%d cases, want 24 at least", len(cases))
	}
	// Where the cases take the operator of 99+100 for a sign, the operator
	// stays here: a+1 and a-1 are not the same.
	differ := map[string]string{
		"arithmetic_on_numeric_literals": "SELECT ?+?",
		"insert_into":                    "INSERT INTO X VALUES(?, ?, ?, ?+?)",
	}
	var f Fingerprinter
	for _, c := range cases {
		want := c.Expected.Text
		if text, ok := differ[c.Name]; ok {
			want = []string{text}
		}
		s := f.Statement(c.Input.Query)
		if s.Summary != c.Expected.Summary {
			t.Errorf("%s: summary %q, want %q", c.Name, s.Summary, c.Expected.Summary)
		}
		if !slices.Contains(want, s.Redacted) {
			t.Errorf("%s: text (-want +got)\n%s", c.Name, cmp.Diff(want[len(want)-1], s.Redacted))
		}
	}
}

func FuzzRedactedTextHasTheSameFingerprint(f *testing.F) {
	for _, sql := range statements {
		for mode := range uint8(4) {
			f.Add(sql, mode)
		}
	}
	f.Fuzz(func(t *testing.T, sql string, mode uint8) {
		fp := Fingerprinter{Options: FingerprintOptions{ANSIQuotes: mode&1 != 0, NoBackslashEscapes: mode&2 != 0}}
		s := fp.Statement(sql)
		if strings.Contains(s.Redacted, "?+)") {
			return // 1+) is no SQL, and reads as a collapsed list when the literal is gone
		}
		if got := string(fp.Append(nil, s.Redacted)); got != s.Fingerprint {
			t.Errorf("%q\nredacted %q\nhas the fingerprint %q\nits own is       %q", sql, s.Redacted, got, s.Fingerprint)
		}
		if again := string(fp.AppendRedacted(nil, s.Redacted)); again != s.Redacted {
			t.Errorf("%q\nredacted %q\n   twice %q", sql, s.Redacted, again)
		}
		if len(s.Summary) > maxSummary && !s.Admin {
			t.Errorf("a summary of %d bytes", len(s.Summary))
		}
	})
}
