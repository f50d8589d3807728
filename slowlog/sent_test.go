package slowlog

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// sentExactly are the statements that the workload of the servers' sample logs
// sent under a label, where the label says which.
var sentExactly = map[string]string{
	"comment before":                     "/* caller: nightly/job.go:42 */ SELECT 1",
	"comment after":                      "SELECT 2 /* it's \"open\" ; -- # */",
	"hash comment":                       "SELECT 3 # to the end of the line",
	"dash comment":                       "SELECT 4 -- to the end of the line; DROP TABLE nothing",
	"comment lines first":                "-- name: GetOrder :one\n# by hand\n/* three\n   lines */\nSELECT id\n  FROM orders -- the key\n WHERE id = 5 # five",
	"comment within":                     "SELECT/*no space*/id/**/FROM/* x */categories/*y*/WHERE id=1+/*a*/1",
	"minus minus":                        "SELECT 5--1, 5 - -1, 5--\t1",
	"sqlcommenter, quotes":               "SELECT name FROM categories WHERE id = 7 /*action='show',key='it%27s',route='%2Fcat%2F%7Bid%7D',framework='net%2Fhttp'*/",
	"comment alone":                      "/* nothing */ DO 0",
	"quotes":                             `SELECT 'it''s', "say ""hi""", 'a\'b', 'back\\slash', '\n\t\0\Z\%\_', '', "", ' ; -- no comment', '/* none */', '# none'`,
	"control characters":                 "SELECT 'nul:\x00 bell:\x07 esc:\x1b del:\x7f'",
	"carriage returns":                   "SELECT id,\r\n  name\r\nFROM categories\r\nWHERE id = 9",
	"case and spacing":                   "sElEcT  Id , NAME  from   categories  wHeRe   iD=3",
	"parentheses":                        "(SELECT id FROM categories WHERE id = 1) UNION ALL ((SELECT 2)) ORDER BY 1",
	"header look-alike in a comment":     "/* copied from a log:\n# User@Host: root[root] @ localhost []\nSET timestamp=1;\nuse other;\n*/\nSELECT 'real'",
	"administrator look-alike":           "SELECT '\n# administrator command: Ping;\n'",
	"statement begins with use":          "SELECT 1 AS `use shop`",
	"statement under a set timestamp":    "SELECT NOW(), COUNT(*) FROM categories",
	"insert_id":                          "SET insert_id = 900001",
	"statement under insert_id":          "INSERT INTO audit_log (tbl, what) VALUES ('x', 'y')",
	"last_insert_id":                     "SELECT LAST_INSERT_ID()",
	"statement that uses last_insert_id": "INSERT INTO audit_log (tbl, what, row_id) VALUES ('x', 'z', LAST_INSERT_ID())",
	"row values":                         "SELECT order_id FROM order_items WHERE (order_id, line_no) IN ((1,1),(2,1),(3,2),(4,1))",
	"long string":                        "SELECT LENGTH('" + strings.Repeat("lorem ipsum ", 250) + "')",
	"ansi quotes":                        `SELECT "id", 'c:\dir\' AS "path" FROM "categories" WHERE "name" = 'category 3'`,
	"latin1 bytes":                       "SELECT 'caf\xe9 \xdf'",
	"invalid utf8":                       "SELECT _binary'\xff\xfe\x80 raw'",
	"after use":                          "SELECT COUNT(*) FROM daily_sales",
	"killed in sleep":                    "SELECT SLEEP(10)",
	"client went away":                   "SELECT /* the client goes away */ SLEEP(0.4)",
	"row lock wait, timed out":           "UPDATE customers SET balance = 0 WHERE id = 501",
}

// sentLike are those with values of chance.
var sentLike = map[string]*regexp.Regexp{
	"point select":                  regexp.MustCompile(`^SELECT \* FROM orders WHERE id = \d+$`),
	"select, sqlcommenter":          regexp.MustCompile(`^SELECT id, status, total FROM orders WHERE customer_id = \d+ ORDER BY ordered_at DESC LIMIT \d+ /\*application='shop'.*\*/$`),
	"in list":                       regexp.MustCompile(`^SELECT sku, price FROM products WHERE id IN \([0-9, ]+\)$`),
	"join":                          regexp.MustCompile(`(?s)^SELECT o\.id, c\.name, SUM\(i\.qty \* i\.price\) AS amount\nFROM orders AS o\n.*-- the buyer\n.*\nHAVING amount > \d+\.50\nORDER BY amount DESC\nLIMIT 20$`),
	"full scan":                     regexp.MustCompile(`^select count\(\*\) from reviews where body like '%[^%]+%'$`),
	"delete":                        regexp.MustCompile(`^DELETE FROM audit_log WHERE at < NOW\(\) - INTERVAL \d+ DAY$`),
	"upsert":                        regexp.MustCompile(`^INSERT INTO counters \(k, v\) VALUES \('page-\d', 1\) ON DUPLICATE KEY UPDATE v = v \+ 1$`),
	"derived table":                 regexp.MustCompile(`^SELECT t\.country, MAX\(t\.n\) FROM \(SELECT c\.country, .* > \d+ GROUP BY c\.country, c\.id\) t GROUP BY t\.country$`),
	"select for update":             regexp.MustCompile(`^SELECT balance FROM customers WHERE id = \d+ FOR UPDATE$`),
	"prepared once, executed often": regexp.MustCompile(`^SELECT id, email, name, country, balance FROM customers WHERE id = \d+$`),
	"update (prepared)":             regexp.MustCompile(`^UPDATE products SET stock = stock - 1 WHERE id = \d+ AND stock >= 1$`),
	"insert (prepared)":             regexp.MustCompile(`^INSERT INTO reviews \(product_id, customer_id, stars, body, created_at\) VALUES \(`),
	"insert, several rows":          regexp.MustCompile(`^INSERT INTO events \(at, kind, customer_id\) VALUES (\([^()]*\),?){3,7}$`),
	"insert of 150 rows":            regexp.MustCompile(`^INSERT INTO events \(at, kind, customer_id\) VALUES (\([^()]*\),?){150}$`),
	"in list of 600":                regexp.MustCompile(`^SELECT COUNT\(\*\), SUM\(total\) FROM orders WHERE id IN \((\d+(, )?){600}\)$`),
	"header look-alike in a string": regexp.MustCompile(`(?s)^SELECT 'first\n# Time: 2020-01-01T00:00:00\.000000Z\n# User@Host: nobody.*SELECT 42;\n'`),
	// Servers blank the parts of a versioned comment that are not for them.
	"versioned comment": regexp.MustCompile(`^SELECT /\*.*SQL_NO_CACHE.*COUNT\(\*\) FROM categories .*NEVER READ \*/$`),
}

// TestStatementsSentAreLogged holds the logs of servers that log everything
// against what the workload says that it sent: as many events as statements
// under each label whose statements are known.
func TestStatementsSentAreLogged(t *testing.T) {
	for _, name := range []string{
		"mysql-9.7/plain", "mysql-9.7/local-time", "mariadb-10.11/plain", "mariadb-10.11/query-plan", "mariadb-10.11/innodb", "mariadb-10.11/full",
		"mariadb-10.11/warnings", "mariadb-10.11/query-plan-innodb-explain", "mariadb-10.11/nothing-disabled", "mariadb-10.11/local-time",
		"mysql-9.7/table", "mariadb-10.11/table", "mysql-9.7/general", "mariadb-10.11/general",
	} {
		t.Run(name, func(t *testing.T) {
			var sent struct{ Labels map[string]int }
			if err := json.Unmarshal(serverSample(t, name+".sent.json"), &sent); err != nil {
				t.Fatal(err)
			}
			base := filepath.Join("../../shared/samples/servers/slow", name)
			var source Source
			switch filepath.Base(name) {
			case "table":
				source = NewTableReader(open(t, base+".tsv"), TableTSV)
			case "general":
				source = NewGeneralReader(open(t, base+".log"))
			default:
				source = NewReader(open(t, base+".log"))
			}
			logged := map[string]int{}
			for _, ev := range drain(t, source) {
				for label, q := range sentExactly {
					if strings.TrimRight(ev.Query, "\n") == q {
						logged[label]++
					}
				}
				for label, like := range sentLike {
					if like.MatchString(ev.Query) {
						logged[label]++
					}
				}
			}
			for label := range sent.Labels {
				if name == "mariadb-10.11/table" && (label == "latin1 bytes" || label == "invalid utf8") {
					continue // its column is of another character set
				}
				_, exact := sentExactly[label]
				if like := sentLike[label]; (exact || like != nil) && logged[label] != sent.Labels[label] {
					t.Errorf("%s: %d sent, %d logged", label, sent.Labels[label], logged[label])
				}
			}
		})
	}
}

func open(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
