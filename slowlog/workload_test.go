package slowlog_test

import (
	"strings"
	"time"

	"github.com/quern-dev/quern/internal/testservers"
)

// A step is a statement of a workload, sent as text, or prepared and executed
// if it has arguments.
type step struct {
	sql  string
	args []any

	// logged is what the server logs, where that is not the statement as sent:
	// by server, or for both under "". An entry that begins with "#" is an
	// administrator command.
	logged map[testservers.Flavor][]string
	least  time.Duration // of its query time
}

func same(texts ...string) map[testservers.Flavor][]string {
	return map[testservers.Flavor][]string{"": texts}
}

func onMySQL(texts ...string) map[testservers.Flavor][]string {
	return map[testservers.Flavor][]string{testservers.FlavorMySQL: texts}
}

// prepared is what is logged of a statement that the driver prepares, executes
// and closes, when text is the statement with its arguments.
func prepared(text string) map[testservers.Flavor][]string {
	return map[testservers.Flavor][]string{
		testservers.FlavorMySQL:   {"#Prepare", text, "#Close stmt"},
		testservers.FlavorMariaDB: {text},
	}
}

// forged are lines that a statement may hold to pass for records of the log, one
// set for each form of header that servers write.
var forged = map[string]string{
	"MySQL":    "\n# Time: 2020-01-01T00:00:00.000000Z\n# User@Host: nobody[nobody] @ localhost []  Id:     1\n# Query_time: 9.000000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\nSET timestamp=1577836800;\nDELETE FROM forged;\n",
	"MariaDB":  "\n# Time: 200101  0:00:00\n# User@Host: nobody[nobody] @ localhost []\n# Thread_id: 1  Schema: x  QC_hit: No\n# Query_time: 9.000000  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 1\n# Rows_affected: 0  Bytes_sent: 1\nuse `other`;\nSET timestamp=1577836800;\nDELETE FROM forged;\n",
	"command":  "\n# User@Host: nobody[nobody] @ localhost []  Id:     1\n# Query_time: 9.000000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\nSET timestamp=1577836800;\n# administrator command: Quit;\n",
	"banner":   "\n/usr/sbin/mysqld, Version: 8.0.36 (MySQL). started with:\nTcp port: 3306  Unix socket: /tmp/sock\nTime                 Id Command    Argument\n",
	"no order": "\n# Query_time: 9.000000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\n# User@Host: nobody[nobody] @ localhost []\n# Time: 200101  0:00:00\n",
}

func steps(texts ...string) []step {
	list := make([]step, len(texts))
	for i, t := range texts {
		list[i] = step{sql: t}
	}
	return list
}

// ordinary are statements as applications send them.
func ordinary() []step {
	list := steps(
		"SELECT id, name FROM item WHERE id = 3",
		"select count(*)\n  from item -- all\n where qty > 2\n   and name <> 'x'",
		"SELECT * FROM item ORDER BY qty DESC LIMIT 4",
		"INSERT INTO note (body) VALUES ('a'), ('b'), ('c')",
		"INSERT INTO note (body)\nVALUES\n  ('one line;'),\n  ('two\nlines'),\n  ('it''s \\'quoted\\'')",
		"UPDATE item SET qty = qty + 1 WHERE id IN (1, 2, 3)",
		"DELETE FROM note WHERE body = 'b'",
		"REPLACE INTO item (id, name, qty) VALUES (3, 'third', 7)",
		"SELECT a.id FROM item a JOIN item b ON b.id = a.id + 1 /*controller='item',action='list'*/",
		"/* caller: nightly/job.go:42 */ SELECT 1",
		"SELECT 1 # to the end of the line",
		"-- name: GetItem :one\n# by hand\n/* three\n   lines */\nSELECT id\n  FROM item -- the key\n WHERE id = 5 # five",
		"SELECT 'say \"hi\"', \"it's\", 'back\\\\slash', '\\n\\t\\0', '', ' ; -- no comment', '/* none */', '# none'",
		"SELECT '日本語', '😀👍🏽', 'Zażółć', \"\u00a0nbsp\u2028\"",
		"SELECT _binary'\xff\xfe\x80 raw', 'nul:\x00 esc:\x1b'",
		"SELECT id,\r\n  name\r\nFROM item\r\nWHERE id = 9",
		"SELECT COUNT(*) FROM item WHERE id IN ("+strings.Repeat("1, ", 2000)+"1)",
		"INSERT INTO note (body) VALUES "+strings.Repeat("('a row of a bulk insert'), ", 3000)+"('last')",
		"SELECT LENGTH('"+strings.Repeat("lorem ipsum\n", 20000)+"')",
		"SHOW TABLES",
		"SET @a = 1, @b = 'two'",
		"SELECT @a, @b",
		"SELECT id FROM item WHERE id = f(2)",
		"CALL p(2)",
		"SELECT '(' AS `a;b`, 1 AS `c``d`",
		"SELECT 1 AS `use shop`",
		"EXPLAIN SELECT * FROM item WHERE id = 1",
	)
	return append(list,
		step{sql: "SELECT SLEEP(0.05)", least: 50 * time.Millisecond},
		step{sql: "\n\n\tSELECT\n\n\t\tid\n\n\tFROM\titem\n\n\tLIMIT 2\n\n", logged: same("SELECT\n\n\t\tid\n\n\tFROM\titem\n\n\tLIMIT 2")},
		step{sql: "SELECT id FROM item LIMIT 1  ;  ", logged: same("SELECT id FROM item LIMIT 1")},
		step{sql: "SELECT 1; SELECT COUNT(*) FROM item; UPDATE item SET qty = 1 WHERE id = 1",
			logged: same("SELECT 1", "SELECT COUNT(*) FROM item", "UPDATE item SET qty = 1 WHERE id = 1")},
		step{sql: "SELECT 'first'; SELECT nothing FROM nowhere; SELECT 'never'",
			logged: same("SELECT 'first'", "SELECT nothing FROM nowhere")},
		step{sql: "SELECT name FROM item WHERE id = ? AND name <> ?", args: []any{2, "it's"},
			logged: prepared(`SELECT name FROM item WHERE id = 2 AND name <> 'it\'s'`)},
		step{sql: "UPDATE item SET name = ?, qty = ? WHERE id = ?", args: []any{nil, 3.25, uint64(5)},
			logged: prepared("UPDATE item SET name = NULL, qty = 3.25 WHERE id = 5")},
		step{sql: "SELECT '?' AS q, ? AS a /* ? */", args: []any{"x\n# Time: 200101  0:00:00\n"},
			logged: prepared(`SELECT '?' AS q, 'x\n# Time: 200101  0:00:00\n' AS a /* ? */`)},
		step{sql: "LOAD DATA LOCAL INFILE 'Reader::rows' INTO TABLE note FIELDS TERMINATED BY '\\t' (body) SET body = UPPER(body)"},
	)
}

// inOrder are statements that belong together.
func inOrder() []step {
	return steps(
		"SELECT 1",
		"SHOW WARNINGS",
		"BEGIN",
		"SELECT id FROM item WHERE id = 1 FOR UPDATE",
		"COMMIT",
		"CREATE TEMPORARY TABLE scratch (id INT)",
		"DROP TEMPORARY TABLE scratch",
		"SET timestamp=1700000000",
		"SELECT NOW()",
		"SET timestamp=DEFAULT",
		"SET insert_id=900001",
		"INSERT INTO note (body) VALUES ('under insert_id')",
		"SELECT LAST_INSERT_ID()",
		"INSERT INTO note (body) VALUES (LAST_INSERT_ID())",
	)
}

// failing are statements that end with an error. MySQL does not log what it
// cannot parse, and neither server a statement that it cannot prepare.
func failing() []step {
	list := steps(
		"SELECT * FROM no_such_table",
		"SELECT no_such_column FROM item",
		"INSERT INTO item (id, name, qty) VALUES (1, 'duplicate', 1)",
		"SELECT (SELECT id FROM item)",
		"CALL no_such_procedure()",
		"USE no_such_database",
		"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'on purpose'",
	)
	for _, s := range []string{"SELECT FROM WHERE", "SELECT 'open string", "THIS IS NOT SQL", "SELECT `open name", "SELECT /* open comment"} {
		list = append(list, step{sql: s, logged: onMySQL()})
	}
	return append(list, step{sql: "SELEC ? FROM nothing", args: []any{1}, logged: same()})
}

// otherModes are statements under settings that change what a literal is.
func otherModes() []step {
	return steps(
		"SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'",
		`SELECT "id", 'c:\dir\' AS "path" FROM "item" WHERE "name" = 'x'`,
		"SET sql_mode = DEFAULT",
		"SELECT 'after'",
		"SET NAMES latin1",
		"SELECT 'caf\xe9 \xdf'",
		"SET NAMES utf8mb4",
	)
}

// hostile are statements with look-alikes of records in every place of a
// statement that may hold a line break.
func hostile() []step {
	var list []step
	for _, form := range []string{"MySQL", "MariaDB", "command", "banner", "no order"} {
		f := forged[form]
		list = append(list, steps(
			"SELECT '"+f+"' AS in_a_string",
			"SELECT \""+f+"\" AS in_double_quotes, 'it''s'",
			"SELECT 'x\\'"+f+"', 'y' -- behind an escape",
			"/* "+f+" */ SELECT 'comment before'",
			"SELECT /* "+f+" */ 'comment within'",
			"INSERT INTO note (body) VALUES ('a'), ('"+f+f+f+"'), ('b')",
		)...)
		list = append(list, step{sql: "SELECT ? AS as_argument", args: []any{f},
			logged: prepared("SELECT '" + strings.ReplaceAll(f, "\n", `\n`) + "' AS as_argument")})
	}
	return append(list, steps(
		"SELECT '\n# administrator command: Ping;\n'",
		"SELECT 1 AS `x\n# Time: 2020-01-01T00:00:00.000000Z\n`",
		"SELECT 1 AS `x\nSET timestamp=1;\nuse x;\n`",
		"SELECT '\nuse other;\nSET timestamp=1577836800;\nSELECT 2;\n'",
		"SELECT '# Time: 2020-01-01T00:00:00.000000Z'",
		"SELECT 'over;\n\n# Query_time: 1  Lock_time: 0  Rows_sent: 1  Rows_examined: 0\n'",
		"SELECT 'after the hostile ones'",
	)...)
}
