package explain

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quern-dev/quern/internal/testservers"
)

func TestExplainOnServers(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		db, schema := openShop(t, srv)
		ex := New(db, Options{})
		p, err := ex.Explain(context.Background(), schema, "UPDATE orders o JOIN customers c ON c.id = o.customer_id SET o.note = c.name WHERE c.email = 'user77@example.test' AND o.status = 'new'")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for n := range p.Tables() {
			got = append(got, n.Name+" "+string(n.Access)+" "+n.Key())
		}
		if diff := cmp.Diff([]string{"c const email", "o ref customer"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s\n%s", diff, p)
		}
		if p.Approximate || !strings.HasPrefix(p.Select, "SELECT o.*, c.name FROM") || p.Server == "" || p.Raw == "" || !p.Cost.Known && srv.Flavor == testservers.FlavorMySQL {
			t.Errorf("%+v", p)
		}
	})
}

// effects are tables and functions by which a test sees whether EXPLAIN ran
// something.
func sideEffects(t *testing.T, db *sql.DB) (changed func() string) {
	t.Helper()
	mustExec(t, db,
		"DROP FUNCTION IF EXISTS f_write", "DROP FUNCTION IF EXISTS f_write_det", "DROP FUNCTION IF EXISTS f_slow", "DROP VIEW IF EXISTS v_write", "DROP VIEW IF EXISTS v_sleep",
		"DROP VIEW IF EXISTS v_nested", "DROP VIEW IF EXISTS v_join", "DROP TABLE IF EXISTS effects",
		"CREATE TABLE effects (id INT PRIMARY KEY AUTO_INCREMENT, at TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6)) ENGINE=MyISAM",
		"CREATE FUNCTION f_write(a INT) RETURNS INT NOT DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT INTO effects () VALUES (); RETURN a; END",
		"CREATE FUNCTION f_write_det(a INT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT INTO effects () VALUES (); RETURN a; END",
		"CREATE FUNCTION f_slow(a INT) RETURNS INT DETERMINISTIC NO SQL BEGIN DO SLEEP(5); RETURN a; END",
		"CREATE VIEW v_write AS SELECT f_write(1) AS x",
		"CREATE VIEW v_sleep AS SELECT SLEEP(5) AS x",
		"CREATE VIEW v_nested AS SELECT * FROM v_write",
		"CREATE VIEW v_join AS SELECT o.id FROM orders o JOIN v_sleep s ON s.x = o.id",
	)
	tables := []string{"categories", "customers", "products", "orders", "order_items", "payments", "reviews", "events", "archived_orders", "audit_log", "counters", "`order notes`", "effects"}
	sums := func() string {
		rows, err := db.Query("CHECKSUM TABLE " + strings.Join(tables, ", "))
		if err != nil {
			t.Fatal(err)
		}
		_, values, err := readRows(rows)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(values)
	}
	before := sums()
	return func() string { return cmp.Diff(before, sums()) }
}

// hostile are texts that would have an effect if EXPLAIN ran parts of them, if
// a second statement were sent, or if a comment or a literal were read in another
// way than the server reads it.
var hostile = []string{
	"SELECT * FROM (SELECT f_write(1) x) d",
	"SELECT * FROM v_write",
	"SELECT * FROM v_nested",
	"SELECT * FROM v_join",
	"SELECT * FROM orders WHERE id = (SELECT x FROM v_write)",
	"WITH c AS (SELECT f_write(2) x) SELECT * FROM c",
	"SELECT * FROM orders WHERE id = (SELECT MAX(f_write(id)) FROM customers WHERE id < 50)",
	"SELECT * FROM orders WHERE id IN (f_write_det(1), f_write_det(2))",
	"SELECT * FROM orders WHERE id = f_write_det(1)",
	"SELECT * FROM orders WHERE id = f_slow(1)",
	"SELECT * FROM orders WHERE id BETWEEN 1 AND f_slow(2)",
	"DELETE FROM orders WHERE id = (SELECT x FROM (SELECT f_write(5) x) d)",
	"UPDATE orders SET note = f_write(1) WHERE id = (SELECT MAX(f_write(id)) FROM customers WHERE id < 9)",
	"INSERT INTO archived_orders (id, customer_id, total) SELECT f_write(1), 2, 3 FROM (SELECT f_write(1) x) d",
	"SELECT * FROM (SELECT SLEEP(5)) d",
	"SELECT * FROM (SELECT GET_LOCK('quern_hostile', 0)) d",
	"SELECT * FROM orders WHERE id = GET_LOCK('quern_hostile', 0)",
	"SELECT * FROM (SELECT BENCHMARK(1000000000, 1)) d",
	"SELECT * FROM orders WHERE id = 1 AND (@x := 7) = 7",
	"SELECT 1; DROP TABLE effects",
	"SELECT 1;DROP TABLE effects;",
	"SELECT 1 ; INSERT INTO effects () VALUES ()",
	"SELECT 1 -- ;\n; DROP TABLE effects",
	"SELECT 1 /* /* nested */ ; DROP TABLE effects /* */",
	"SELECT 1 /*! ; DROP TABLE effects */",
	"SELECT 1 /*M! ; DROP TABLE effects */",
	"SELECT 1 /*!99999 ; DROP TABLE effects */",
	"SELECT 'a\\'; DROP TABLE effects; -- '",
	"SELECT \"a\"\"; DROP TABLE effects; -- \"",
	"SELECT `a``; DROP TABLE effects; -- `",
	"SELECT 1 --; DROP TABLE effects",
	"SELECT 1 #; DROP TABLE effects\n; DROP TABLE effects",
	"DELIMITER $$\nDROP TABLE effects $$",
	"SELECT 1 $$ DROP TABLE effects $$",
	"PREPARE s FROM 'SELECT 1; DROP TABLE effects'",
	"PREPARE s FROM 'SELECT * FROM (SELECT f_write(1)) d'",
	"EXPLAIN ANALYZE SELECT f_write(id) FROM orders LIMIT 3",
	"ANALYZE UPDATE counters SET v = v + 1",
	"EXPLAIN EXECUTE s",
	"SELECT f_write (1) FROM (SELECT 1 x) d",
	"SELECT /*!f_write(1) */ FROM (SELECT 1 x) d",
	"SELECT * FROM (SELECT /*! f_write */ (1) x) d",
	"SELECT * FROM (SELECT `f_write`(1) x) d",
	"SELECT 1 INTO OUTFILE '/tmp/quern_hostile'",
	"CALL f_write(1)", "DO f_write(1)", "SET @x = f_write(1)", "DROP TABLE effects", "TRUNCATE effects", "INSERT INTO effects () VALUES ()",
}

func TestExplainNeverWritesAndRunsNothing(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		_, schema := openShop(t, srv)
		config := srv.Config(schema)
		config.MultiStatements = true
		db, err := sql.Open("mysql", config.FormatDSN())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		changed := sideEffects(t, db)
		general := generalLog(t, db)
		ex := New(db, Options{Timeout: 2 * time.Second})
		for _, stmt := range hostile {
			qualified := strings.ReplaceAll(stmt, "{schema}", schema)
			start := time.Now()
			p, err := ex.Explain(context.Background(), schema, qualified)
			if d := time.Since(start); d > 4*time.Second {
				t.Errorf("%s: took %v", stmt, d)
			}
			if err == nil && strings.Contains(stmt, "f_w") && strings.Contains(p.Select, "f_w") {
				t.Errorf("%s: explained\n%s", stmt, p)
			}
		}
		if diff := changed(); diff != "" {
			t.Errorf("rows have changed:\n%s", diff)
		}
		var free int
		if err := db.QueryRow("SELECT IS_FREE_LOCK('quern_hostile')").Scan(&free); err != nil || free != 1 {
			t.Errorf("a named lock is held: %d, %v", free, err)
		}
		for _, q := range general() {
			switch verb, _, _ := strings.Cut(strings.ToUpper(strings.TrimLeft(q, " \t\n(")), " "); verb {
			case "EXPLAIN", "SET", "USE", "SHOW", "KILL", "ROLLBACK", "START":
			case "SELECT":
				if !strings.Contains(q, "information_schema") && !strings.Contains(q, "CONNECTION_ID()") && !strings.Contains(q, "IS_FREE_LOCK") {
					t.Errorf("sent: %s", q)
				}
			default:
				if !strings.HasPrefix(q, "CHECKSUM") {
					t.Errorf("sent: %s", q)
				}
			}
		}
	})
}

// generalLog turns the general log on, into its table, and returns the
// statements that were sent since.
func generalLog(t *testing.T, db *sql.DB) func() []string {
	t.Helper()
	mustExec(t, db, "SET GLOBAL log_output='TABLE'", "TRUNCATE mysql.general_log", "SET GLOBAL general_log=1")
	t.Cleanup(func() { mustExec(t, db, "SET GLOBAL general_log=0") })
	return func() []string {
		mustExec(t, db, "SET GLOBAL general_log=0")
		rows, err := db.Query("SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log WHERE command_type IN ('Query', 'Execute', 'Prepare')")
		if err != nil {
			t.Fatal(err)
		}
		_, values, err := readRows(rows)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, v := range values {
			if q := v[0].String; !strings.Contains(q, "general_log") {
				out = append(out, q)
			}
		}
		return out
	}
}

// Without the guard these statements do have effects: the test above would not
// see a server that is harmless anyway.
func TestPlainExplainHasEffects(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		db, _ := openShop(t, srv)
		changed := sideEffects(t, db)
		mustExec(t, db, "EXPLAIN SELECT * FROM orders WHERE id = (SELECT x FROM (SELECT f_write(5) x) d)")
		if changed() == "" {
			t.Error("EXPLAIN ran nothing")
		}
		mustExec(t, db, "TRUNCATE effects")
	})
}

// What servers run while they plan, though it calls nothing harmful. H stands for a
// subquery that takes minutes, S for one of a few rows.
var ranAtLength = []struct {
	sql          string
	mysql, maria HazardCode // "" for what is explained
}{
	{"SELECT * FROM (SELECT H x) d", ExecutedBlock, ExecutedBlock},
	{"WITH w AS (SELECT H x) SELECT * FROM w", ExecutedBlock, ExecutedBlock},
	{"SELECT * FROM (SELECT EXISTS H x) d", ExecutedBlock, ExecutedBlock},
	{"SELECT * FROM (SELECT H x FROM orders WHERE id = 1 LIMIT 3) d", ExecutedBlock, ExecutedBlock},
	{"SELECT * FROM (SELECT * FROM orders WHERE id = 1 AND EXISTS H LIMIT 3) d", ExecutedSubquery, ExecutedBlock},
	{"SELECT * FROM orders WHERE id IN (SELECT * FROM (SELECT H x) d)", ExecutedBlock, ExecutedBlock},
	{"SELECT * FROM orders WHERE id IN (H, 5)", ExecutedSubquery, ExecutedSubquery},
	{"SELECT * FROM orders WHERE id NOT IN (5, 1 + H)", ExecutedSubquery, ExecutedSubquery},
	{"SELECT * FROM orders WHERE (id, customer_id) IN ((1, H), (2, 3))", ExecutedSubquery, ExecutedSubquery},
	{"SELECT * FROM orders WHERE id BETWEEN 3 AND H", ExecutedSubquery, ExecutedSubquery},
	{"SELECT * FROM orders o LEFT JOIN customers c ON c.id = H", ExecutedSubquery, ExecutedSubquery},
	{"SELECT * FROM orders WHERE id = H", ExecutedSubquery, ""},
	{"DELETE FROM orders WHERE id > H", ExecutedSubquery, ""},
	{"SELECT * FROM orders WHERE id = 1 AND EXISTS H", ExecutedSubquery, ""},
	{"SELECT * FROM orders WHERE id = 1 AND 5 IN H", ExecutedSubquery, ""},
	{"SELECT * FROM orders WHERE id = 1 AND 5 > ALL H", ExecutedSubquery, ""},
	{"SELECT * FROM H d", ExecutedBlock, ""},
	{"SELECT * FROM v_count", ExecutedBlock, ""},
	{"SELECT * FROM (SELECT a.id FROM orders a JOIN orders b ON a.total < b.total ORDER BY b.note LIMIT 1) d", ExecutedBlock, ""},
	{"SELECT * FROM (SELECT MAX(x) m FROM (SELECT COUNT(*) x FROM orders a JOIN orders b ON a.total < b.total) i) d", ExecutedBlock, ""},

	{"SELECT * FROM (SELECT S x) d", "", ""},
	{"SELECT * FROM S d", "", ""},
	{"SELECT * FROM orders WHERE id IN (S, 5)", "", ""},
	{"SELECT * FROM orders WHERE id = S", "", ""},
	{"SELECT * FROM (SELECT customer_id, COUNT(*) x FROM orders GROUP BY customer_id) d", "", ""},
	{"SELECT * FROM orders o WHERE total = (SELECT MAX(price) FROM order_items WHERE order_id = o.id)", "", ""},
	{"SELECT * FROM orders WHERE customer_id IN (SELECT id FROM customers WHERE segment = 'partner')", "", ""},
	{"SELECT * FROM (SELECT * FROM orders WHERE customer_id IN (SELECT id FROM customers WHERE balance > 3)) d", "", ""},
	{"SELECT H FROM customers", "", ""},
	{"SELECT id, COUNT(*) FROM orders GROUP BY id HAVING id = H", "", ""},
}

func TestExplainRefusesWhatWouldRunAtLength(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		db, schema := openShop(t, srv)
		mustExec(t, db, "CREATE OR REPLACE VIEW v_count AS SELECT COUNT(*) FROM orders a JOIN orders b ON a.total < b.total")
		ex := New(db, Options{MaxExecuted: 5000, Timeout: 10 * time.Second})
		for _, c := range ranAtLength {
			sql := regexp.MustCompile(`\bH\b`).ReplaceAllString(c.sql, "(SELECT COUNT(*) FROM orders a JOIN orders b ON a.total < b.total)")
			sql = regexp.MustCompile(`\bS\b`).ReplaceAllString(sql, "(SELECT COUNT(*) FROM reviews WHERE id < 50)")
			want := c.mysql
			if srv.Flavor == testservers.FlavorMariaDB {
				want = c.maria
			}
			start := time.Now()
			_, err := ex.Explain(context.Background(), schema, sql)
			var h *HazardError
			switch {
			case want == "" && err != nil:
				t.Errorf("%s: %v", c.sql, err)
			case want == "":
			case !errors.As(err, &h):
				t.Errorf("%s: got %v after %v, want %s", c.sql, err, time.Since(start), want)
			case h.Hazards[0].Code != want:
				t.Errorf("%s: got %+v, want %s", c.sql, h.Hazards, want)
			}
		}
		var h *HazardError
		if _, err := ex.Explain(context.Background(), schema, "SELECT * FROM (SELECT 1 AS a "+manyBlocks(60)+") d"); !errors.As(err, &h) {
			t.Errorf("sixty blocks: got %v", err)
		}
		allowed := New(db, Options{MaxExecuted: 100, Allow: []HazardCode{ExecutedSubquery, ExecutedBlock}})
		if _, err := allowed.Explain(context.Background(), schema, "SELECT * FROM orders WHERE id IN (5, (SELECT MAX(id) FROM orders WHERE total > 5))"); err != nil {
			t.Errorf("allowed, yet %v", err)
		}
	})
}

func manyBlocks(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ", (SELECT x FROM (SELECT (SELECT id FROM orders WHERE id = %d) x) q%[1]d) c%[1]d", i)
	}
	return b.String()
}

func TestTheEndOfTheContextKillsTheQuery(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		db, schema := openShop(t, srv)
		// The hazard is allowed and the server's own limit far, so that only the
		// context can end the sleep.
		ex := New(db, Options{Timeout: time.Minute, Allow: []HazardCode{SideEffect}})
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		defer cancel()
		_, err := ex.Explain(ctx, schema, "SELECT * FROM (SELECT SLEEP(55)) d")
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want the context's error", err)
		}
		if strings.Contains(err.Error(), "SLEEP") {
			t.Errorf("the error quotes the statement: %v", err)
		}
		for range 100 {
			var n int
			if err := db.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE '%SLEEP(55)%' AND INFO NOT LIKE '%PROCESSLIST%'").Scan(&n); err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Error("the server still runs the statement")
	})
}

func TestTheConnectionIsNotPooled(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		db, schema := openShop(t, srv)
		db.SetMaxOpenConns(1) // also: an explanation needs no second connection
		id := func() (id int, mode string) {
			if err := db.QueryRow("SELECT CONNECTION_ID(), @@sql_mode").Scan(&id, &mode); err != nil {
				t.Fatal(err)
			}
			return id, mode
		}
		before, mode := id()
		if _, err := New(db, Options{}).Explain(context.Background(), schema, "SELECT 1 FROM orders"); err != nil {
			t.Fatal(err)
		}
		after, mode2 := id()
		if before == after || mode != mode2 {
			t.Errorf("connection %d, then %d; sql_mode %q, then %q", before, after, mode, mode2)
		}
	})
}

func TestAnAccountWithoutRightsGetsATypedError(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		root, schema := openShop(t, srv)
		sideEffects(t, root)
		user := "quern_reader"
		mustExec(t, root, "DROP USER IF EXISTS "+user+"@'%'", "DROP USER IF EXISTS "+user+"@localhost",
			"CREATE USER "+user+"@'%' IDENTIFIED BY 'x'", "CREATE USER "+user+"@localhost IDENTIFIED BY 'x'")
		defer mustExec(t, root, "DROP USER "+user+"@'%'", "DROP USER "+user+"@localhost")
		for _, host := range []string{"'%'", "localhost"} {
			mustExec(t, root, "GRANT SELECT ON "+schema+".* TO "+user+"@"+host)
		}
		config := srv.Config(schema)
		config.User, config.Passwd = user, "x"
		config.AllowNativePasswords = true
		db, err := sql.Open("mysql", config.FormatDSN())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		ex := New(db, Options{})
		if _, err := ex.Explain(context.Background(), schema, "UPDATE orders SET note = 'x' WHERE id = 5"); err != nil {
			t.Errorf("SELECT is enough: %v", err)
		}
		var h *HazardError
		if _, err := ex.Explain(context.Background(), schema, "SELECT * FROM open_orders"); !errors.As(err, &h) || h.Hazards[0].Code != UnreadableView {
			t.Errorf("a view without SHOW VIEW: got %v", err)
		}
		var e *ServerError
		if _, err := ex.Explain(context.Background(), schema, "SELECT * FROM mysql.user"); !errors.As(err, &e) || e.Number != 1142 {
			t.Errorf("a table without SELECT: got %v", err)
		}
		if _, err := ex.Explain(context.Background(), schema, "SELECT * FROM gone WHERE secret = 'hunter2' AND"); !errors.As(err, &e) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a syntax error: got %v", err)
		}
		for _, host := range []string{"'%'", "localhost"} {
			mustExec(t, root, "GRANT SHOW VIEW ON "+schema+".* TO "+user+"@"+host)
		}
		if _, err := ex.Explain(context.Background(), schema, "SELECT * FROM open_orders"); err != nil {
			t.Errorf("a view with SHOW VIEW: %v", err)
		}
	})
}

func TestTheCacheKeepsPlansAndFailuresForAWhile(t *testing.T) {
	c := newCache(Options{CacheFor: time.Minute, CacheSize: 2})
	now := time.Unix(0, 0)
	c.now = func() time.Time { return now }
	calls := 0
	ask := func(schema, sql string, err error) {
		t.Helper()
		c.do(schema, sql, Mode{}, func() (*Plan, error) {
			calls++
			return &Plan{}, err
		})
	}
	for _, step := range []struct {
		what        string
		schema, sql string
		err         error
		wait        time.Duration
		calls       int
	}{
		{"first", "a", "SELECT 1", nil, 0, 1},
		{"the same class", "a", "select  2", nil, 0, 1},
		{"another schema", "b", "SELECT 1", nil, 0, 2},
		{"too late", "a", "SELECT 1", nil, 2 * time.Minute, 3},
		{"a failure", "a", "SELECT x", &ServerError{Number: 1054, Err: errors.New("x")}, 0, 4},
		{"is kept", "a", "SELECT x", nil, 0, 4},
		{"within the bound", "a", "SELECT y, z", nil, 0, 5},
		{"the oldest goes", "a", "SELECT 1", nil, 0, 6},
		{"the end of a context is not kept", "a", "SELECT a, b, c", context.Canceled, 0, 7},
		{"so it is tried again", "a", "SELECT a, b, c", nil, 0, 8},
	} {
		now = now.Add(step.wait)
		ask(step.schema, step.sql, step.err)
		if calls != step.calls {
			t.Fatalf("%s: %d calls, want %d", step.what, calls, step.calls)
		}
	}
}

func TestTheRateIsBounded(t *testing.T) {
	c := newCache(Options{PerSecond: 2})
	now := time.Unix(0, 0)
	c.now = func() time.Time { return now }
	ask := func() error {
		_, err := c.do("", "SELECT 1", Mode{}, func() (*Plan, error) { return &Plan{}, nil })
		return err
	}
	for i, want := range []error{nil, nil, ErrRate} {
		if err := ask(); !errors.Is(err, want) {
			t.Errorf("number %d in the first second: %v, want %v", i+1, err, want)
		}
	}
	now = now.Add(500 * time.Millisecond)
	for i, want := range []error{nil, ErrRate} {
		if err := ask(); !errors.Is(err, want) {
			t.Errorf("number %d half a second later: %v, want %v", i+1, err, want)
		}
	}
}

func TestTheNativePlanNeedsTheRightToWrite(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		db, schema := openShop(t, srv)
		changed := sideEffects(t, db)
		ex := New(db, Options{Allow: []HazardCode{StoredFunction}})
		p, err := ex.ExplainNative(context.Background(), schema, "UPDATE products SET stock = stock + 1 WHERE category_id = 12 AND price < 50")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for n := range p.Tables() {
			got = append(got, n.Name+" "+string(n.Access)+" "+n.Key())
		}
		if diff := cmp.Diff([]string{"products range category_price"}, got); diff != "" || p.Approximate {
			t.Errorf("(-want +got):\n%s\n%s", diff, p)
		}
		var h *HazardError
		for _, sql := range []string{
			"UPDATE orders SET note = f_write(1) WHERE id = 5",
			"DELETE FROM orders WHERE id = (SELECT MAX(f_write(id)) FROM customers WHERE id < 9)",
			"INSERT INTO counters (k, v) VALUES ('x', f_write(1))",
			"UPDATE /*+ MAX_EXECUTION_TIME(0) */ orders SET note = 'x' WHERE id = 5",
		} {
			if _, err := ex.ExplainNative(context.Background(), schema, sql); !errors.As(err, &h) && !strings.HasPrefix(sql, "INSERT") {
				t.Errorf("%s: %v", sql, err)
			}
		}
		if _, err := ex.ExplainNative(context.Background(), schema, "SELECT 1"); err == nil {
			t.Error("a query is no DML")
		}
		if diff := changed(); diff != "" {
			t.Errorf("rows have changed:\n%s", diff)
		}
	})
}

func TestRunAndAnalyzeMeasuresQueriesAlone(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		db, schema := openShop(t, srv)
		changed := sideEffects(t, db)
		ex := New(db, Options{})
		p, err := ex.RunAndAnalyze(context.Background(), schema, "SELECT COUNT(*) FROM orders WHERE customer_id = 42")
		if err != nil {
			t.Fatal(err)
		}
		measured := false
		for n := range p.Tables() {
			measured = measured || n.Actual != nil && n.Actual.Rows.Known && n.Actual.Rows.Value > 0
		}
		if !measured {
			t.Errorf("nothing was measured:\n%s", p)
		}
		for _, sql := range []string{"UPDATE orders SET note = 'x'", "DELETE FROM orders", "INSERT INTO archived_orders (id, customer_id, total) SELECT id, customer_id, total FROM orders", "SELECT f_write(1) FROM orders"} {
			if _, err := ex.RunAndAnalyze(context.Background(), schema, sql); err == nil {
				t.Errorf("%s was run", sql)
			}
		}
		if diff := changed(); diff != "" {
			t.Errorf("rows have changed:\n%s", diff)
		}
	})
}

func TestEveryFormatCanBeAskedFor(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		db, schema := openShop(t, srv)
		formats := map[Format]Format{Traditional: Traditional, JSON1: JSON1, JSON2: JSON2, Tree: Tree, "": JSON1}
		if srv.Flavor == testservers.FlavorMariaDB {
			formats = map[Format]Format{Traditional: Traditional, JSONMariaDB: JSONMariaDB, "": JSONMariaDB}
		}
		for ask, want := range formats {
			p, err := New(db, Options{Format: ask}).Explain(context.Background(), schema, "SELECT c.name, o.total FROM customers c JOIN orders o ON o.customer_id = c.id WHERE c.country = 'DE'")
			if err != nil {
				t.Errorf("%s: %v", ask, err)
				continue
			}
			if p.Format != want {
				t.Errorf("%s: got %s", ask, p.Format)
			}
			if diff := cmp.Diff([]string{"c ref country_created", "o ref customer"}, accesses(p)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", ask, diff)
			}
		}
	})
}
