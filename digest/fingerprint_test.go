package digest

import (
	"strings"
	"testing"
)

func TestFingerprintReplacesLiterals(t *testing.T) {
	tests := []struct{ name, sql, want string }{
		{"integers and signs", `SELECT -5, +1.5e-10, .5, 1e+5, 1.e2, 1E-5`, `select ?, ?, ?, ?, ?, ?`},
		{"hexadecimal and bits", `SELECT 0xDEADBEEF, x'4D', X'4d', b'01', B'01', 0b11, 0XAB`, `select ?, ?, ?, ?, ?, ?, ?`},
		{"doubled and escaped quotes", `SELECT 'it''s', "a""b", 'c\'d'`, `select ?, ?, ?`},
		{"backslash before the closing quote", `SELECT a FROM t WHERE p LIKE 'x\\' AND q='s'`, `select a from t where p like ? and q = ?`},
		{"introducer, national string, date", `SELECT _utf8mb4'x' COLLATE utf8mb4_bin, N'y', DATE '2024-01-01'`, `select ? collate utf8mb4_bin, ?, ?`},
		{"introducer before white space and bits", `SELECT _latin1 'x', _binary 0x41, _utf8 x'41'`, `select ?, ?, ?`},
		{"an introducer in backticks is a name", "SELECT `_utf8` `x`", "select `_utf8` x"},
		{"a name that looks like an introducer", `SELECT _col 'alias' FROM t`, `select _col ? from t`},
		{"strings side by side", `SELECT 'a' 'b' "c", 1`, `select ?, ?`},
		{"null in tests and null as a value", `SELECT a FROM t WHERE b IS NULL AND c = NULL AND d IS NOT NULL`, `select a from t where b is null and c = ? and d is not null`},
		{"null in definitions", `CREATE TABLE t (a INT NOT NULL DEFAULT -1, b VARCHAR(20) NULL, c INT NULL)`, `create table t(a int not null default ?, b varchar(?) null, c int null)`},
		{`\N`, `SELECT \N, a`, `select ?, a`},
		{"truth values", `SELECT a FROM t WHERE b = TRUE AND c IS TRUE AND d IS NOT FALSE AND NOT false`, `select a from t where b = ? and c is true and d is not false and not ?`},
		{"double quotes are strings", `SELECT "name" FROM t WHERE "id" = 5`, `select ? from t where ? = ?`},
		{"invalid UTF-8 in a literal", "SELECT a FROM t WHERE n = '\xff\xfe' AND c = 'z'", `select a from t where n = ? and c = ?`},
		{"invalid UTF-8 in a name", "SELECT \xe6\x97 FROM t WHERE n = 1", "select \xe6\x97 from t where n = ?"},
		{"ordinals", `SELECT a FROM t GROUP BY 1 ORDER BY 2`, `select a from t group by ? order by ?`},
		{"limit", `SELECT a FROM t LIMIT 10, 20`, `select a from t limit ?, ?`},
		{"limit and offset", `SELECT a FROM t LIMIT 20 OFFSET 10`, `select a from t limit ? offset ?`},
		{"placeholders", `SELECT a FROM t WHERE b = ? LIMIT ?`, `select a from t where b = ? limit ?`},
		{"USE", "USE `shop`;", `use ?`},
		{"account", `CREATE USER 'joe'@'%' IDENTIFIED BY 'secret'`, `create user ?@? identified by ?`},
		{"bare account", `GRANT SELECT ON db.* TO root@localhost`, `grant select on db.* to root@localhost`},
		{"set password", `SET PASSWORD FOR 'joe'@'%' = PASSWORD('secret')`, `set password for ?@? = password(?)`},
		{"change master", `CHANGE MASTER TO MASTER_HOST='h', MASTER_PASSWORD='secret'`, `change master to master_host = ?, master_password = ?`},
		{"interval", `SELECT NOW() - INTERVAL '1' DAY`, `select now() - interval ? day`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Fingerprint(tt.sql); got != tt.want {
				t.Errorf("Fingerprint(%q)\n got %q\nwant %q", tt.sql, got, tt.want)
			}
		})
	}
}

func TestFingerprintCollapsesLists(t *testing.T) {
	tests := []struct{ name, sql, want string }{
		{"one row", `INSERT INTO t VALUES(1)`, `insert into t values(?+)`},
		{"no value", `INSERT INTO t VALUES ()`, `insert into t values(?+)`},
		{"rows", `INSERT INTO t (a,b) VALUES (1,'x'),(2,'y')`, `insert into t(a, b) values(?+)`},
		{"rows with functions", `INSERT INTO t VALUES (1,NOW()),(2,UPPER('x'))`, `insert into t values(?+)`},
		{"VALUES ROW", `INSERT INTO t (a) VALUES ROW(1),ROW(2)`, `insert into t(a) values(?+)`},
		{"VALUE", `INSERT INTO t (a) VALUE (1), (2)`, `insert into t(a) value(?+)`},
		{"column named value", `INSERT INTO t (value) VALUES (1)`, `insert into t(value) values(?+)`},
		{"table named value", `INSERT INTO value (a) SELECT value FROM u`, `insert into value(a) select value from u`},
		{"query in a row", `INSERT INTO t VALUES (1,2),(3,(SELECT MAX(a) FROM u)),(4,5),(6,7)`, `insert into t values(?+), (?, (select max(a) from u)), (?+)`},
		{"update of duplicates", `INSERT INTO t (a,b) VALUES (1,'x') ON DUPLICATE KEY UPDATE b=VALUES(b), c=c+1`, `insert into t(a, b) values(?+) on duplicate key update b = values(b), c = c + ?`},
		{"alias of the rows", `INSERT INTO t VALUES (1,2) AS n ON DUPLICATE KEY UPDATE b = n.b`, `insert into t values(?+) as n on duplicate key update b = n.b`},
		{"table value constructor", `VALUES ROW(1,2), ROW(3,4) ORDER BY 1`, `values(?+) order by ?`},
		{"partition", `CREATE TABLE t (a INT) PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (10))`, `create table t(a int) partition by range (a) (partition p0 values less than(?))`},
		{"three lists", `select a from t where b in(1) and c in(2) and d in(3)`, `select a from t where b in(?+) and c in(?+) and d in(?+)`},
		{"IF and IN", `SELECT IF(a IN (1,2),'y','n') FROM t`, `select if(a in(?+), ?, ?) from t`},
		{"NOT IN with signs, null and typed literals", `SELECT a FROM t WHERE b NOT IN (-1, NULL, DATE '2024-01-01', _utf8'x', true, 'a' 'b')`, `select a from t where b not in(?+)`},
		{"row constructors", `SELECT * FROM o WHERE (a,b) IN ((1,2),(3,4))`, `select * from o where (a, b) in(?+)`},
		{"nested rows", `SELECT * FROM o WHERE ((a,b),c) IN (((1,2),3),((4,5),6))`, `select * from o where ((a, b), c) in(?+)`},
		{"columns in a list", `SELECT a FROM t WHERE b IN (c, d, 1)`, `select a from t where b in(c, d, ?)`},
		{"literals among columns", `SELECT a FROM t WHERE b IN (1, 2, c, 3, 4, 5)`, `select a from t where b in(?, c, ?)`},
		{"expressions in a list", `SELECT a FROM t WHERE b IN (1, 2+c, f(3))`, `select a from t where b in(?, ? + c, f(?))`},
		{"query in a list", `SELECT a FROM t WHERE b IN ((SELECT 1))`, `select a from t where b in((select ?))`},
		{"list in a query in a list", `SELECT a FROM t WHERE b IN (SELECT c FROM u WHERE d IN (1,2))`, `select a from t where b in(select c from u where d in(?+))`},
		{"arguments do not collapse", `SELECT f(1,2,3), (1,2) = (a,b)`, `select f(?, ?, ?), (?, ?) = (a, b)`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Fingerprint(tt.sql); got != tt.want {
				t.Errorf("Fingerprint(%q)\n got %q\nwant %q", tt.sql, got, tt.want)
			}
		})
	}
}

func TestFingerprintWritesOneSpacingAndCase(t *testing.T) {
	tests := []struct{ name, sql, want string }{
		{"operators", `SELECT a-1, a - 1, n+1, a<=>b, a:=1, NOT a, !a, -a, - - a, ~ a`, `select a - ?, a - ?, n + ?, a <=> b, a := ?, not a, !a, -a, - -a, ~a`},
		{"two minus signs", `SELECT a FROM t WHERE b = 5--1`, `select a from t where b = ? - ?`},
		{"signs behind words", `SELECT a FROM t WHERE b BETWEEN -1 AND -2 AND c = - + -3`, `select a from t where b between ? and ? and c = ?`},
		{"sign behind an operand", `SELECT NULL -1, CURRENT_DATE -1, (a) -1, f() -1, 'x' -1, @v -1, END -1`, `select ? - ?, current_date - ?, (a) - ?, f() - ?, ? - ?, @v - ?, end - ?`},
		{"JSON arrows", `SELECT a->'$.x', b ->> '$.y' FROM t`, `select a->?, b->>? from t`},
		{"dots", "SELECT `a` . `b` , a.b, t . * FROM `db` .t", `select a.b, a.b, t.* from db.t`},
		{"stars", `SELECT *, t.*, COUNT( * ), a*b FROM t`, `select *, t.*, count(*), a * b from t`},
		{"variables", `SELECT @V1, @@GLOBAL.sql_mode, @a:=@a+1`, `select @v1, @@global.sql_mode, @a := @a + ?`},
		{"white space and a final semicolon", " SELECT\ta \n FROM t\r\n WHERE b=1 ; \n", `select a from t where b = ?`},
		{"parenthesis first", `(SELECT a FROM t) UNION ALL (SELECT b FROM u)`, `(select a from t) union all (select b from u)`},
		{"several statements", `SELECT 1;; SELECT 2 ;`, `select ?; select ?`},
		{"EXPLAIN CALL", `EXPLAIN CALL shop.f(1)`, `explain call shop.f(?)`},
		{"administrator command", `administrator command: Init DB;`, `administrator command: Init DB`},
		{"a statement that begins like one", `administrator command: SELECT 'secret'`, `administrator command : select ?`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Fingerprint(tt.sql); got != tt.want {
				t.Errorf("Fingerprint(%q)\n got %q\nwant %q", tt.sql, got, tt.want)
			}
		})
	}
}

func TestFingerprintKeepsNames(t *testing.T) {
	tests := []struct{ name, sql, want string }{
		{"numbers in names", `SELECT * FROM users_2009`, `select * from users_2009`},
		{"digits first", `SELECT 1st_col FROM t WHERE 1st_col = 3`, `select 1st_col from t where 1st_col = ?`},
		{"dollars", `SELECT a FROM t$1 WHERE $y = 2`, `select a from t$1 where $y = ?`},
		{"operators in backticks", "SELECT `+3b7-8*9` FROM `-a-7`", "select `+3b7-8*9` from `-a-7`"},
		{"doubled backtick", "SELECT * FROM `a``b`", "select * from `a``b`"},
		{"quote in backticks", "SELECT `we'ird`, 'x' FROM t", "select `we'ird`, ? from t"},
		{"backticks only where needed", "SELECT `Foo`, `select`, `a b`, `1a`, `1`, `1e5`, t.`key`, `_utf8`, `rank` FROM `t`", "select foo, `select`, `a b`, 1a, `1`, `1e5`, t.key, `_utf8`, rank from t"},
		{"reserved words beside a dot", "SELECT `select`.a, select.a, t.order, t.5, t.`5`", "select `select`.a, `select`.a, t.order, t.`5`, t.`5`"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Fingerprint(tt.sql); got != tt.want {
				t.Errorf("Fingerprint(%q)\n got %q\nwant %q", tt.sql, got, tt.want)
			}
		})
	}
}

func TestFingerprintComments(t *testing.T) {
	tests := []struct{ name, sql, want string }{
		{"comments are space", `SELECT/**/a/**/FROM/**/t`, `select a from t`},
		{"comment behind a number", `SELECT a FROM t WHERE b=1 AND/**/c=2`, `select a from t where b = ? and c = ?`},
		{"hash with a quote", `SELECT a FROM t WHERE b=1 # it's`, `select a from t where b = ?`},
		{"dashes", "SELECT a -- it's\nFROM t --", `select a from t`},
		{"executable comment", "SELECT /*!40001 SQL_NO_CACHE */ * FROM `t` WHERE id=1", `select sql_no_cache * from t where id = ?`},
		{"MariaDB's executable comment", `SELECT /*M!100100 a, /* b */ 'c' */ FROM t`, `select a, ? from t`},
		{"hint", "SELECT /*+ MAX_EXECUTION_TIME(1000)  SET_VAR(sort_buffer_size = 16M)*/ `a` FROM t", `select /*+ max_execution_time(?) set_var(sort_buffer_size = ?) */ a from t`},
		{"hint elsewhere is a comment", `SELECT a /*+ MAX_EXECUTION_TIME(1000) */ FROM t`, `select a from t`},
		{"hint with an open string", `SELECT /*+ it's */ 'x' FROM t`, `select /*+ it ? */ ? from t`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Fingerprint(tt.sql); got != tt.want {
				t.Errorf("Fingerprint(%q)\n got %q\nwant %q", tt.sql, got, tt.want)
			}
		})
	}
}

func TestFingerprintOfTruncatedText(t *testing.T) {
	tests := []struct{ name, sql, want string }{
		{"in a string", `SELECT a FROM t WHERE b = 'unterminated 4111`, `select a from t where b = ?`},
		{"in a list", `SELECT a FROM t WHERE b IN (1,2,3`, `select a from t where b in(?+)`},
		{"behind a comma of a list", `SELECT a FROM t WHERE b IN (1,2,`, `select a from t where b in(?+)`},
		{"in a comment", `SELECT a FROM t WHERE b=1 /* cut com`, `select a from t where b = ?`},
		{"in a row", `INSERT INTO t VALUES (1,2),(3,f('x`, `insert into t values(?+)`},
		{"behind a row", `INSERT INTO t VALUES (1,2),`, `insert into t values(?+)`},
		{"in a quoted name", "SELECT a FROM `t WHERE b = 'secret'", `select a from ?`},
		{"with an ellipsis", `SELECT a FROM t WHERE b = 'x...`, `select a from t where b = ?`},
		{"in an executable comment", `SELECT a /*!50000 , b`, `select a, b`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var f Fingerprinter
			if got := string(f.Append(nil, tt.sql)); got != tt.want {
				t.Errorf("Append(nil, %q)\n got %q\nwant %q", tt.sql, got, tt.want)
			}
			if !f.truncated {
				t.Errorf("Append(nil, %q) does not tell that the text was truncated", tt.sql)
			}
		})
	}
}

func TestFingerprintFollowsSQLMode(t *testing.T) {
	ansi := Fingerprinter{Options: FingerprintOptions{ANSIQuotes: true}}
	sql := `SELECT "name", "a b", "c""d", "e` + "`" + `f" FROM t WHERE "id" = 'x\'y'`
	want := "select name, `a b`, `c\"d`, `e``f` from t where id = ?"
	if got := string(ansi.Append(nil, sql)); got != want {
		t.Errorf("with ANSIQuotes\n got %q\nwant %q", got, want)
	}
	plain := Fingerprinter{Options: FingerprintOptions{NoBackslashEscapes: true}}
	sql = `SELECT a FROM t WHERE p LIKE 'x\' AND q='s'`
	want = `select a from t where p like ? and q = ?`
	if got := string(plain.Append(nil, sql)); got != want {
		t.Errorf("with NoBackslashEscapes\n got %q\nwant %q", got, want)
	}
}

func TestFingerprintMayFoldNumbersInNames(t *testing.T) {
	f := Fingerprinter{Options: FingerprintOptions{FoldNumbers: true}}
	const (
		sql  = "SELECT c1, `a b2`, t.order2, order3 FROM users_2009, `Users_2010`, 1st, `5` WHERE @v1 = 12 LIMIT?"
		want = "select c?, `a b?`, t.order?, `order?` from users_?, users_?, `?st`, `?` where @v1 = ? limit ?"
	)
	if got := string(f.Append(nil, sql)); got != want {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}

func TestIDDependsOnTheFormOfTheFingerprint(t *testing.T) {
	ids := make(map[ID]FingerprintOptions)
	for _, o := range []FingerprintOptions{{}, {FoldNumbers: true}, {Style: StylePercona}, {Style: StylePerconaKeepNumbers}} {
		f := Fingerprinter{Options: o}
		id := f.ID([]byte("select ?"))
		if other, ok := ids[id]; ok {
			t.Errorf("%+v and %+v give the same ID", o, other)
		}
		ids[id] = o
		if got, err := ParseID(id.String()); got != id || err != nil {
			t.Errorf("ParseID(%q) = %v, %v", id, got, err)
		}
	}
	ansi := Fingerprinter{Options: FingerprintOptions{ANSIQuotes: true, NoBackslashEscapes: true}}
	if _, ok := ids[ansi.ID([]byte("select ?"))]; !ok {
		t.Error("the ID depends on the sql_mode")
	}
	if got, want := Fingerprint("SELECT 1"), "select ?"; got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
	var f Fingerprinter
	if got, want := f.ID([]byte("select ?")).Short(), f.ID([]byte("select ?")).String()[:15]; got != want {
		t.Errorf("Short() = %q, want %q", got, want)
	}
}

func TestParseIDTellsWhatIsWrong(t *testing.T) {
	for s, want := range map[string]string{
		"":                              `digest: query ID does not begin with "q1:"`,
		"q2:" + strings.Repeat("0", 32): `digest: query ID does not begin with "q1:"`,
		"q1:12":                         "digest: query ID has 2 digits instead of 32",
		"q1:" + strings.Repeat("x", 32): "digest: query ID has a digit that is not hexadecimal",
	} {
		if _, err := ParseID(s); err == nil || err.Error() != want {
			t.Errorf("ParseID(%q): %v, want %s", s, err, want)
		}
	}
}

// statements are the seeds of the fuzz targets.
var statements = []string{
	`SELECT a.b, 'it''s' FROM t$1 WHERE x IN ((1,-2),(3,4)) AND y = -5e3 -- end`,
	"INSERT INTO `db`.`t` (a) VALUES (1,NOW()),(2,(SELECT 1)) ON DUPLICATE KEY UPDATE a=VALUES(a)--1",
	"SELECT /*+ MAX_EXECUTION_TIME(1000) */ /*!40001 SQL_NO_CACHE */ @v, @@x.y, a->'$.b' . `c` FROM t;",
	"select `a`.5 . order - - -1, date '2020-01-01' _utf8mb4 x'41' is not null # x",
	"select 'a\\' \"b /* c */ ` ; use x; values row(1), row (",
	"a . @b.c @d (?+) .5 ..5 5b . 5 >>= -> > - -> / * */ /*",
}

func FuzzFingerprintIsIdempotent(f *testing.F) {
	for _, sql := range statements {
		for mode := range uint8(8) {
			f.Add(sql, mode)
		}
	}
	f.Fuzz(func(t *testing.T, sql string, mode uint8) {
		fp := Fingerprinter{Options: FingerprintOptions{ANSIQuotes: mode&1 != 0, NoBackslashEscapes: mode&2 != 0, FoldNumbers: mode&4 != 0}}
		once := string(fp.Append(nil, sql))
		twice := string(fp.Append(nil, once))
		if once != twice {
			t.Errorf("of %q\n first %q\nsecond %q", sql, once, twice)
		}
	})
}
