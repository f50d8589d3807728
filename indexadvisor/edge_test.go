package indexadvisor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quern-dev/quern/internal/testservers"
)

func adviseOn(t *testing.T, db *sql.DB, schema, query string) *Advice {
	t.Helper()
	a, err := New(MySQL(db), Options{}).Advise(context.Background(), Query{Schema: schema, SQL: query})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return a
}

// Odd tables: each gets the index that fits, and the server takes the
// statements that make, try and undo it.
func TestOddTablesOnServers(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		fill(t, db, 10000)
		many := make([]string, 1000)
		for i := range many {
			many[i] = fmt.Sprintf("c%d INT", i)
		}
		exec(t, db,
			"CREATE TABLE `se``lect` (`key` INT PRIMARY KEY, `a\"b` INT, `c``d` INT, `ö ß` VARCHAR(20), `group` DATETIME)",
			"INSERT INTO `se``lect` SELECT i, i % 500, i % 300, CONCAT('v', i % 400), '2024-01-01' + INTERVAL i MINUTE FROM seq",
			"CREATE TABLE nopk (a INT, b INT, pad VARCHAR(200))", "INSERT INTO nopk SELECT i % 500, i % 300, REPEAT('x', 200) FROM seq",
			"CREATE TABLE parts (id INT, d DATE, s INT, pad VARCHAR(100), PRIMARY KEY (id, d)) PARTITION BY RANGE (YEAR(d)) (PARTITION p0 VALUES LESS THAN (2021), PARTITION p1 VALUES LESS THAN MAXVALUE)",
			"INSERT INTO parts SELECT i, '2020-01-01' + INTERVAL (i % 700) DAY, i % 900, REPEAT('x', 100) FROM seq",
			"CREATE TABLE gen (id INT PRIMARY KEY, a INT, v INT AS (a % 700) VIRTUAL, st INT AS (a % 600) STORED, pad VARCHAR(200))",
			"INSERT INTO gen (id, a, pad) SELECT i, i, REPEAT('x', 200) FROM seq",
			"CREATE TABLE allnull (id INT PRIMARY KEY, a INT, b INT, pad VARCHAR(200))", "INSERT INTO allnull SELECT i, NULL, i % 500, REPEAT('x', 200) FROM seq",
			"CREATE TABLE nothing (id INT PRIMARY KEY, a INT)",
			"CREATE TABLE many (id INT PRIMARY KEY, "+strings.Join(many, ", ")+") ROW_FORMAT=DYNAMIC", "INSERT INTO many (id, c5, c800) SELECT i, i % 500, i % 300 FROM seq WHERE i < 3000",
			"CREATE TABLE texts (id INT PRIMARY KEY, body TEXT CHARACTER SET utf8mb4, vin VARCHAR(2000) CHARACTER SET utf8mb4, n INT)",
			"INSERT INTO texts SELECT i, CONCAT(i % 3000, REPEAT('y', 300)), CONCAT(REPEAT('0', 1000), i % 3000), i % 9 FROM seq",
			"CREATE TABLE packed (id INT PRIMARY KEY, v VARCHAR(255) CHARACTER SET utf8mb4, n INT) ROW_FORMAT=COMPACT",
			"INSERT INTO packed SELECT i, CONCAT(i % 2500, REPEAT('z', 100)), i % 7 FROM seq",
			"CREATE VIEW vw AS SELECT `a\"b` AS x, `c``d` AS y, `key` AS k FROM `se``lect` WHERE `group` > '2000-01-01'",
			"CREATE TABLE myisam (id INT PRIMARY KEY, a INT, pad VARCHAR(100)) ENGINE=MyISAM", "INSERT INTO myisam SELECT i, i % 800, 'x' FROM seq",
			"ANALYZE TABLE `se``lect`, nopk, parts, gen, allnull, many, texts, packed")
		for _, c := range []struct{ sql, want, note string }{
			{"SELECT * FROM `se``lect` WHERE `a\"b` = 5 AND `c``d` = 5 AND `ö ß` = 'v5'", "se`lect", ""},
			{"SELECT * FROM `se``lect` t WHERE t.`ö ß` LIKE 'v39%' AND `group` > '2024-01-05'", "se`lect", ""},
			{"SELECT * FROM vw WHERE x = 5 AND y = 5", "se`lect", ""},
			{"SELECT * FROM nopk WHERE a = 5 AND b = 5", "nopk(a, b)", ""},
			{"SELECT * FROM parts WHERE s = 4", "parts(s)", ""},
			{"SELECT * FROM gen WHERE v = 5", "gen(v)", ""},
			{"SELECT * FROM gen WHERE st = 5", "gen(st)", ""},
			{"SELECT * FROM allnull WHERE a IS NULL AND b = 7", "allnull(b)", ""},
			{"SELECT * FROM allnull WHERE a = 7", "allnull(a)", ""},
			{"SELECT * FROM allnull WHERE a = NULL", "", "never true"},
			{"SELECT * FROM nothing WHERE a = 7", "", "the table is empty"},
			{"SELECT * FROM many WHERE c5 = 7 AND c800 = 7", "many(c5, c800)", ""},
			{"SELECT * FROM texts WHERE body = CONCAT('77', REPEAT('y', 300))", "texts(body(8))", ""},
			{"SELECT * FROM texts WHERE vin = CONCAT(REPEAT('0', 1000), '77')", "", "no beginning of it tells the values apart"},
			{"SELECT * FROM packed WHERE v = CONCAT('77', REPEAT('z', 100))", "packed(v(8))", ""},
			{"SELECT * FROM myisam WHERE a = 7", "myisam(a)", ""},
			{"INSERT INTO nothing VALUES (1, 2)", "", "reads no table"},
		} {
			a := adviseOn(t, db, schema, c.sql)
			got := short(a)
			if got != c.want && !(c.want == "se`lect" && strings.HasPrefix(got, c.want)) {
				t.Errorf("%s: got %s, want %s\n%s", c.sql, got, c.want, strings.Join(a.Notes, "\n"))
			}
			if c.note != "" {
				wantNote(t, a, c.note)
			}
			for _, s := range a.Suggestions {
				if s.Trial != "" {
					exec(t, db, s.Trial, s.Undo)
				}
				exec(t, db, s.DDL)
				if served := adviseOn(t, db, schema, c.sql); len(served.Suggestions) > 0 {
					t.Errorf("%s: with %s there, still %s", c.sql, got, short(served))
				}
				exec(t, db, s.Undo)
			}
		}
	})
}

func TestAccountWithoutPrivilege(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		exec(t, db, "CREATE TABLE t (id INT PRIMARY KEY, a INT)", "CREATE USER IF NOT EXISTS 'limited'@'localhost' IDENTIFIED BY 'x'", "CREATE USER IF NOT EXISTS 'limited'@'127.0.0.1' IDENTIFIED BY 'x'")
		t.Cleanup(func() { exec(t, db, "DROP USER 'limited'@'localhost', 'limited'@'127.0.0.1'") })
		c := srv.Config("")
		c.User, c.Passwd = "limited", "x"
		limited, err := sql.Open("mysql", c.FormatDSN())
		if err != nil {
			t.Fatal(err)
		}
		defer limited.Close()
		_, err = New(MySQL(limited), Options{}).Advise(context.Background(), Query{Schema: schema, SQL: "SELECT * FROM t WHERE a = 1"})
		if !errors.Is(err, ErrNoTable) {
			t.Errorf("got %v, want an error that wraps ErrNoTable", err)
		}
	})
}

// Counting ends with the context, and on the server too; the pool keeps no
// connection whose session was changed.
func TestCountingEndsAndLeavesNothing(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		fill(t, db, 1<<17)
		exec(t, db, "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(200))", "INSERT INTO t SELECT i, REPEAT('ab', 50) FROM seq", "ANALYZE TABLE t")
		slow := "SELECT * FROM t WHERE a > 'a'"
		for i := range 40 { // each its own: equal conditions count once
			slow += fmt.Sprintf(" AND SHA2(SHA2(SHA2(a,512),512),512) <> 'x%d'", i)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		defer cancel()
		start := time.Now()
		source := MySQL(db)
		source.ExactRows = 1 << 20 // all rows, which takes much longer than the context
		if _, err := New(source, Options{}).Advise(ctx, Query{Schema: schema, SQL: slow}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after the end of the context: %v", err)
		}
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("it took %v to stop", d)
		}
		for i := 0; ; i++ {
			var n int
			if err := db.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '%SHA2(SHA2%' AND ID <> CONNECTION_ID()").Scan(&n); err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				break
			}
			if i > 100 {
				t.Fatal("the statement still runs on the server")
			}
			time.Sleep(50 * time.Millisecond)
		}
		// The server's own limit is an error too: nothing is known without counts.
		source.Timeout = 50 * time.Millisecond
		if _, err := New(source, Options{}).Advise(context.Background(), Query{Schema: schema, SQL: slow}); !errors.Is(err, ErrNotCounted) {
			t.Errorf("after the server's limit: %v", err)
		}
		var readOnly bool
		name := "@@transaction_read_only"
		if srv.Flavor == testservers.FlavorMariaDB {
			name = "@@tx_read_only"
		}
		for range 5 {
			if err := db.QueryRow("SELECT " + name).Scan(&readOnly); err != nil || readOnly {
				t.Errorf("a pooled connection is read-only: %v, %v", readOnly, err)
			}
		}
	})
}

// A sample is spread over the rows, not over the values that keys could have: of
// what hangs on the key, such as the rows of one day, it has its share.
func TestASampleIsSpreadOverTheRows(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		const n = 1 << 16
		fill(t, db, n)
		source := MySQL(db)
		source.ExactRows = 10_000
		for _, c := range []struct{ name, key, value, part string }{
			{"hexadecimal", "id CHAR(32) PRIMARY KEY", "LEFT(SHA2(i, 256), 32)", "id < '3'"},
			{"bytes", "id BINARY(16) PRIMARY KEY", "UNHEX(LEFT(SHA2(i, 256), 32))", "id < x'2000'"},
			{"quotes", "id VARCHAR(60) PRIMARY KEY", `CONCAT("it's a \\\\", LEFT(SHA2(i, 256), 20))`, `id < "it's a \\\\4"`},
			{"of another character set", "id VARCHAR(60) CHARACTER SET latin1 PRIMARY KEY", "CONCAT('\u00f6', LEFT(SHA2(i, 256), 20))", "id < '\u00f64'"},
			{"padded numbers", "id VARCHAR(40) PRIMARY KEY", "CONCAT('user-', LPAD(i, 9, '0'))", "id < 'user-000016384'"},
			{"most at one letter", "id VARCHAR(40) PRIMARY KEY", "CONCAT(IF(i % 10, 'M', CHAR(97 + i % 26)), '/', LEFT(SHA2(i, 256), 20))", "id LIKE 'm%'"},
			{"half in an hour", "id DATETIME(3) PRIMARY KEY", "'2015-01-01' + INTERVAL IF(i % 2, i * 50000, i * 4800000000) MICROSECOND", "id < '2015-01-01 00:55:00'"},
			{"half on a day", "id DATE, m INT, PRIMARY KEY (id, m)", "IF(i % 2, '2024-02-29', '2015-01-01' + INTERVAL i % 3000 DAY), i", "id = '2024-02-29'"},
			{"half at an end", "id BIGINT PRIMARY KEY", "IF(i % 2, i, 1000000000000 + i * 50000)", "id < 1000000"},
		} {
			t.Run(c.name, func(t *testing.T) {
				exec(t, db, "DROP TABLE IF EXISTS t", "CREATE TABLE t ("+c.key+", i INT, pad VARCHAR(40))")
				columns := "id"
				if strings.Contains(c.key, "m INT") {
					columns = "id, m"
				}
				exec(t, db, "INSERT INTO t ("+columns+", i, pad) SELECT "+c.value+", i, 'x' FROM seq", "ANALYZE TABLE t")
				var truth float64
				if err := db.QueryRow("SELECT COUNT(*) FROM t WHERE " + c.part).Scan(&truth); err != nil {
					t.Fatal(err)
				}
				tab, err := source.Table(t.Context(), schema, "t")
				if err != nil {
					t.Fatal(err)
				}
				got, err := source.Count(t.Context(), CountRequest{Table: tab, Predicates: []*Predicate{{SQL: c.part}}})
				if err != nil {
					t.Fatal(err)
				}
				if e := got.estimate(1); !got.Sampled || (got.Note != "") != (c.name == "most at one letter") || e.Rows < 0.7*truth || e.Rows > 1.4*truth {
					t.Errorf("%s: estimated at %+v rows, %.0f in truth; %d read, note %q", c.part, e, truth, got.Read, got.Note)
				}
			})
		}
	})
}

// A sample reads at most 4 % of the rows, and its counts are near the truth.
func TestBigTableIsSampled(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		fill(t, db, 1<<17)
		exec(t, db,
			"CREATE TABLE ints (id BIGINT UNSIGNED PRIMARY KEY, a INT, b INT, d DATETIME, pad VARCHAR(50))",
			// Half of the rows are at one end of a key with wide gaps.
			"INSERT INTO ints SELECT IF(i % 2, i, 20000000 + i * 50), i % 10, i % 97, '2024-01-01' + INTERVAL i MINUTE, 'x' FROM seq",
			"CREATE TABLE uuids (id CHAR(36) PRIMARY KEY, a INT, b INT)",
			"INSERT INTO uuids SELECT CONCAT(LEFT(SHA2(i, 256), 32), '-abc'), i % 10, i % 97 FROM seq",
			"CREATE TABLE times (at DATETIME, n INT, a INT, b INT, PRIMARY KEY (at, n))",
			"INSERT INTO times SELECT '2024-01-01' + INTERVAL i MINUTE, 1, i % 10, i % 97 FROM seq",
			"CREATE TABLE parts (id INT, a INT, b INT, d DATE, PRIMARY KEY (id, d)) PARTITION BY RANGE (YEAR(d)) (PARTITION p0 VALUES LESS THAN (2022), PARTITION p1 VALUES LESS THAN (2023), PARTITION p2 VALUES LESS THAN MAXVALUE)",
			"INSERT INTO parts SELECT i, i % 10, i % 97, '2021-01-01' + INTERVAL i % 1000 DAY FROM seq",
			"CREATE TABLE none (a INT, b INT)", "INSERT INTO none SELECT i % 10, i % 97 FROM seq",
			"ANALYZE TABLE ints, uuids, times, parts, none")
		source := MySQL(db)
		source.ExactRows = 50_000
		for _, table := range []string{"ints", "uuids", "times", "parts", "none"} {
			tab, err := source.Table(context.Background(), schema, table)
			if err != nil {
				t.Fatal(err)
			}
			r := &run{Advisor: New(source, Options{}), tables: map[string]*Table{}}
			r.start(context.Background())
			a, err := r.analyse(context.Background(), schema, "SELECT * FROM "+table+" WHERE a = 3 AND b = 5")
			if err != nil {
				t.Fatal(err)
			}
			c, err := source.Count(context.Background(), CountRequest{Table: tab, Predicates: a.blocks[0].accesses[0].preds})
			if err != nil {
				t.Errorf("%s: %v", table, err)
				continue
			}
			if !c.Sampled || c.Read > 1<<17/24 {
				t.Errorf("%s: sampled %v, %d rows read", table, c.Sampled, c.Read)
			}
			e := c.estimate(1)
			truth := float64(1<<17) / 10
			if e.Low > 1.1*truth || e.High < 0.9*truth || e.Rows < truth/2 || e.Rows > truth*2 {
				t.Errorf("%s: a = 3 is estimated at %+v rows, %.0f in truth; %d read", table, e, truth, c.Read)
			}
		}
	})
}
