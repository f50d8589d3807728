package explain

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quern-dev/quern/internal/testservers"
)

// problemCases shows each problem by a query on a real server, and the mended
// query that does not have it. A server named in not plans otherwise.
var problemCases = []struct {
	code   ProblemCode
	bad    string
	mended string
	not    testservers.Flavor
}{
	{FullScan, "SELECT id FROM orders WHERE total > 4000", "SELECT id FROM orders WHERE customer_id = 7", ""},
	{WriteScansAll, "UPDATE orders SET note = 'x' WHERE total > 4000", "UPDATE orders SET note = 'x' WHERE customer_id = 7", ""},
	{WriteScansAll, "DELETE FROM order_items WHERE qty > 3", "DELETE FROM order_items WHERE order_id = 3 AND qty > 3", ""},
	{FullIndexScan, "SELECT customer_id, COUNT(*) FROM orders GROUP BY customer_id", "SELECT customer_id, COUNT(*) FROM orders WHERE customer_id < 50 GROUP BY customer_id", ""},
	{InnerFullScan, "SELECT c.id, (SELECT COUNT(*) FROM reviews r WHERE r.customer_id = c.id) FROM customers c", "SELECT p.id, (SELECT COUNT(*) FROM reviews r WHERE r.product_id = p.id) FROM products p", ""},
	{JoinBuffer, "SELECT COUNT(*) FROM reviews r JOIN events e ON e.customer_id < r.customer_id", "SELECT COUNT(*) FROM reviews r JOIN customers c ON c.id = r.customer_id", testservers.FlavorMySQL},
	{HashJoinNoIndex, "SELECT p.sku, i.qty FROM products p JOIN order_items i ON i.price = p.price WHERE p.id < 50", "SELECT p.sku, i.qty FROM products p JOIN order_items i ON i.product_id = p.id WHERE p.id < 50", testservers.FlavorMariaDB},
	{CartesianJoin, "SELECT o.id, p.sku FROM orders o JOIN products p WHERE o.status = 'new' AND p.price > 400", "SELECT o.id, p.sku FROM orders o JOIN order_items i ON i.order_id = o.id JOIN products p ON p.id = i.product_id WHERE o.status = 'new'", ""},
	{KeyNotUsed, "SELECT id, note FROM orders WHERE customer_id > 100", "SELECT id, note FROM orders WHERE customer_id < 50", ""},
	{TypeConversion, "SELECT id FROM products WHERE sku = 5", "SELECT id FROM products WHERE sku = '5'", testservers.FlavorMariaDB},
	{LowFiltered, "SELECT i.qty FROM order_items i WHERE i.order_id < 7000 AND i.qty = 4 AND i.price = 7", "SELECT i.qty FROM order_items i WHERE i.order_id = 14 AND i.qty = 4", testservers.FlavorMariaDB},
	{IndexFilters, "SELECT note FROM wide FORCE INDEX (a_b, c) WHERE a > 100 AND b = 5", "SELECT note FROM wide WHERE a = 100 AND b = 5", ""},
	{IndexIntersect, "SELECT note FROM wide WHERE c = 3 AND d = 5", "SELECT note FROM wide WHERE e = 3 AND f = 5", ""},
	{IndexUnion, "SELECT note FROM wide FORCE INDEX (c, d) WHERE c < 40 OR d < 40", "SELECT note FROM wide WHERE c = 3", ""},
	{RangeCheckedEach, "SELECT COUNT(*) FROM categories a JOIN products b ON b.category_id < a.id OR b.id < a.parent_id", "SELECT COUNT(*) FROM reviews r JOIN products p ON p.id = r.product_id", ""},
	{NullKeyScan, "SELECT e.id, e.customer_id IN (SELECT r.customer_id FROM wide_null r WHERE r.stars = e.id % 3) FROM events e", "SELECT e.id, e.id IN (SELECT r.id FROM reviews r WHERE r.stars = e.id % 3) FROM events e", testservers.FlavorMariaDB},
	{ManyPartitions, "SELECT COUNT(*) FROM events WHERE customer_id = 7", "SELECT COUNT(*) FROM events WHERE at >= '2025-02-01' AND at < '2025-03-01' AND customer_id = 7", ""},
	{BackwardScan, "SELECT qty FROM order_items WHERE order_id > 5 ORDER BY order_id DESC", "SELECT qty FROM order_items WHERE order_id > 5 ORDER BY order_id", testservers.FlavorMariaDB},
	{DerivedWithoutKey, "SELECT COUNT(*) FROM reviews r JOIN (SELECT order_id, line_no, MAX(qty) q FROM order_items GROUP BY order_id, line_no) d ON d.q < r.stars WHERE r.product_id < 50", "SELECT COUNT(*) FROM orders r JOIN (SELECT order_id, MAX(qty) q FROM order_items GROUP BY order_id) d ON d.order_id = r.id WHERE r.customer_id < 50", testservers.FlavorMySQL},
	{DerivedNotMerged, "SELECT * FROM (SELECT order_id, line_no, ROW_NUMBER() OVER (ORDER BY price) n FROM order_items) d WHERE n < 10", "SELECT * FROM (SELECT order_id, line_no FROM order_items) d WHERE order_id < 10", ""},
	{OpensEveryTable, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_ROWS > 7", "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_ROWS > 7 AND TABLE_SCHEMA = 'mysql' AND TABLE_NAME = 'user'", testservers.FlavorMySQL},
	{OpensEveryTable, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_ROWS > 7", "SELECT TABLE_NAME FROM information_schema.TABLES", testservers.FlavorMySQL},
	{EstimateOff, "SELECT SUM(s.n) FROM categories c JOIN skewed s ON s.v = c.id WHERE c.name = 'category 1'", "SELECT SUM(s.n) FROM skewed s WHERE s.v = 1", ""},
	{EstimateOff, "SELECT SUM(s.n) FROM categories c JOIN skewed s ON s.v = c.id WHERE c.name = 'category 1'", "SELECT note FROM wide LIMIT 5", ""},
	{WrongIndexForLimit, "SELECT * FROM wide WHERE c < 2 ORDER BY id LIMIT 1", "SELECT * FROM wide WHERE e = 3 AND f = 5 ORDER BY g LIMIT 5", testservers.FlavorMariaDB},

	{TemporaryAndSort, "SELECT price, COUNT(*) n FROM order_items GROUP BY price ORDER BY n", "SELECT order_id, COUNT(*) FROM order_items GROUP BY order_id ORDER BY order_id", ""},
	{LargeSort, "SELECT order_id, price FROM order_items ORDER BY price", "SELECT order_id, price FROM order_items ORDER BY order_id", ""},
	{LargeTemporary, "SELECT DISTINCT price, qty FROM order_items", "SELECT DISTINCT order_id FROM order_items", ""},
	{SortSpills, "SELECT note FROM wide ORDER BY note, g", "SELECT note FROM wide WHERE c = 4 ORDER BY note, g", testservers.FlavorMySQL},
	{DependentSubquery, "SELECT o.id, (SELECT MAX(i.price) FROM order_items i WHERE i.order_id = o.id) FROM orders o", "SELECT o.id, i.p FROM orders o JOIN (SELECT order_id, MAX(price) p FROM order_items WHERE order_id < 9 GROUP BY order_id) i ON i.order_id = o.id", ""},
	{UncacheableSubquery, "SELECT id FROM orders WHERE total > (SELECT AVG(price) + RAND() FROM products)", "SELECT id FROM orders WHERE total > (SELECT AVG(price) FROM products)", testservers.FlavorMariaDB},
	{DuplicateWeedout, "SELECT o.id FROM orders o WHERE o.customer_id IN (SELECT /*+ SEMIJOIN(DUPSWEEDOUT) */ r.customer_id FROM reviews r JOIN order_items i ON i.product_id = r.product_id)", "SELECT o.id FROM orders o WHERE o.customer_id IN (SELECT c.id FROM customers c)", testservers.FlavorMariaDB},
	{UnionDistinct, "SELECT product_id FROM order_items UNION SELECT product_id FROM reviews", "SELECT product_id FROM order_items UNION ALL SELECT product_id FROM reviews", testservers.FlavorMariaDB},
	{LargeWindow, "SELECT order_id, ROW_NUMBER() OVER (PARTITION BY product_id ORDER BY price) FROM order_items", "SELECT order_id, ROW_NUMBER() OVER (PARTITION BY product_id ORDER BY price) FROM order_items WHERE order_id < 9", ""},
	{EmptyTable, "SELECT * FROM archived_orders WHERE total > 5", "SELECT * FROM customers WHERE id = 5", ""},
	{ImpossibleCondition, "SELECT * FROM customers WHERE id = 5 AND id = 6", "SELECT * FROM customers WHERE id = 5", ""},
	{NoMatchingRow, "SELECT * FROM customers c JOIN orders o ON o.customer_id = c.id WHERE c.id = 99999", "SELECT * FROM customers c JOIN orders o ON o.customer_id = c.id WHERE c.id = 9", testservers.FlavorMariaDB},

	{ChangesScannedKey, "UPDATE wide SET id = id + 100000 WHERE id < 20000", "UPDATE wide SET g = g + 1 WHERE id < 20000", ""},
	{ChangesScannedKey, "UPDATE wide SET id = id + 100000 WHERE id < 20000", "UPDATE wide SET g = g + 1 WHERE id < 20000 ORDER BY id", ""},

	{FunctionOnColumn, "SELECT id FROM orders WHERE YEAR(ordered_at) = 2024", "SELECT id FROM orders WHERE status = 'new' AND ordered_at >= '2024-01-01' AND ordered_at < '2025-01-01'", ""},
	{FunctionOnColumn, "SELECT o.id FROM orders o WHERE o.customer_id + 1 = 5", "SELECT o.id FROM orders o WHERE o.customer_id = 5 - 1", ""},
	{LeadingWildcard, "SELECT id FROM orders WHERE note LIKE '%merci%'", "SELECT id FROM products WHERE sku LIKE 'SKU-0%'", ""},
	{LargeOffset, "SELECT id FROM orders ORDER BY id LIMIT 12000, 20", "SELECT id FROM orders WHERE id > 12000 ORDER BY id LIMIT 20", ""},
	{OrderByRand, "SELECT id FROM customers ORDER BY RAND() LIMIT 3", "SELECT id FROM customers WHERE id >= 1234 ORDER BY id LIMIT 3", ""},
	{LongList, "SELECT id FROM orders WHERE customer_id IN (" + strings.Repeat("7,", 250) + "8)", "SELECT id FROM orders WHERE customer_id IN (7, 8)", ""},
	{AllRowsWritten, "DELETE FROM order_items", "DELETE FROM order_items LIMIT 100", ""},
	{SelectStar, "SELECT * FROM wide FORCE INDEX (c, d) WHERE c < 25", "SELECT c FROM wide WHERE c < 25", ""},
	{IndexHint, "SELECT note FROM wide FORCE INDEX (c, d) WHERE c < 25", "SELECT note FROM wide WHERE c < 4", ""},
}

// askedBy are the calls that show the problems that Explain does not: what is
// measured, and what the server's own plan of a write says.
var askedBy = map[ProblemCode]func(*Explainer, context.Context, string, string) (*Plan, error){
	EstimateOff:       (*Explainer).RunAndAnalyze,
	SortSpills:        (*Explainer).RunAndAnalyze,
	ChangesScannedKey: (*Explainer).ExplainNative,
}

// wideTable has indexes that tempt a planner; half of the rows of skewed have
// one value, which the average of an index hides.
var wideTable = []string{
	"DROP TABLE IF EXISTS wide, wide_null, skewed",
	`CREATE TABLE wide (id INT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL, c INT NOT NULL, d INT NOT NULL, e INT NOT NULL, f INT NOT NULL, g INT NOT NULL, note VARCHAR(100) NOT NULL,
		KEY a_b (a, b), KEY c (c), KEY d (d), KEY e_f (e, f))`,
	"INSERT INTO wide SELECT n, n % 200, n % 7, CRC32(CONCAT('c', n)) % 50, CRC32(CONCAT('d', n)) % 50, CRC32(CONCAT('e', n)) % 50, CRC32(CONCAT('f', n)) % 50, n, REPEAT('x', 80) FROM seq WHERE n BETWEEN 1 AND 40000",
	"CREATE TABLE wide_null (id INT PRIMARY KEY, customer_id INT UNSIGNED NULL, stars INT NULL, KEY (customer_id))",
	"INSERT INTO wide_null SELECT n, IF(n % 9, n % 4000, NULL), n % 5 FROM seq WHERE n BETWEEN 1 AND 5000",
	"CREATE TABLE skewed (id INT PRIMARY KEY, v INT UNSIGNED NOT NULL, n INT NOT NULL, KEY (v))",
	"INSERT INTO skewed SELECT n, IF(n % 2, 1, n), n FROM seq WHERE n BETWEEN 1 AND 20000",
	"ANALYZE TABLE wide, wide_null, skewed",
}

func TestEachProblemIsShownAndMended(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		db, schema := openShop(t, srv)
		mustExec(t, db, wideTable...)
		ex := New(db, Options{MaxExecuted: 1e6, Timeout: time.Minute})
		for _, c := range problemCases {
			if srv.Flavor == c.not {
				continue
			}
			ask, ok := askedBy[c.code]
			if !ok {
				ask = (*Explainer).Explain
			}
			t.Run(string(c.code), func(t *testing.T) {
				bad, err := ask(ex, context.Background(), schema, c.bad)
				if err != nil {
					t.Fatal(err)
				}
				if !hasProblem(bad, c.code) {
					t.Errorf("not seen: %s\n%s\n%+v", c.bad, bad, bad.Problems())
				}
				_, weighs := kinds[c.code]
				if found(t, bad, c.bad, c.code) != weighs {
					t.Errorf("of a workload it is a finding: %v, want %v", !weighs, weighs)
				}
				mended, err := ask(ex, context.Background(), schema, c.mended)
				if err != nil {
					t.Fatal(err)
				}
				if hasProblem(mended, c.code) {
					t.Errorf("seen where it was mended: %s\n%s\n%+v", c.mended, mended, mended.Problems())
				}
				if found(t, mended, c.mended, c.code) {
					t.Errorf("a finding where it was mended: %s", c.mended)
				}
				for _, p := range bad.Problems() {
					if p.Evidence == "" || p.Try == "" || p.Code == "" {
						t.Errorf("%+v", p)
					}
				}
			})
		}
	})
}

func TestTheTableShowsWhatTheJSONShows(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		db, schema := openShop(t, srv)
		mustExec(t, db, wideTable...)
		ex := New(db, Options{Format: Traditional})
		for _, c := range problemCases {
			if srv.Flavor == c.not || c.code != OpensEveryTable && c.code != ChangesScannedKey {
				continue
			}
			for sql, want := range map[string]bool{c.bad: true, c.mended: false} {
				ask := ex.Explain
				if c.code == ChangesScannedKey {
					ask = ex.ExplainNative
				}
				p, err := ask(context.Background(), schema, sql)
				if err != nil {
					t.Fatal(err)
				}
				if hasProblem(p, c.code) != want {
					t.Errorf("%s: shown is %v, want %v\n%s", sql, !want, want, p)
				}
			}
		}
	})
}

func TestEveryProblemHasACase(t *testing.T) {
	for _, c := range checks() {
		shown := false
		for _, x := range problemCases {
			shown = shown || x.code == c.code
		}
		if !shown {
			t.Errorf("no query shows %s", c.code)
		}
	}
}

func hasProblem(p *Plan, code ProblemCode) bool {
	return slices.ContainsFunc(p.Problems(), func(x Problem) bool { return x.Code == code })
}

func TestSeverityFollowsTheLoad(t *testing.T) {
	p, err := Parse("id\tselect_type\ttable\ttype\tpossible_keys\tkey\tkey_len\tref\trows\tExtra\n1\tSIMPLE\tt\tALL\tNULL\tNULL\tNULL\tNULL\t50000\tUsing where")
	if err != nil {
		t.Fatal(err)
	}
	for perDay, want := range map[float64]Severity{0: High, 1: Medium, 1000: High, 1e6: Critical} {
		p.PerDay = perDay
		if got := p.Problems(); len(got) != 1 || got[0].Severity != want {
			t.Errorf("%v a day: got %+v, want %s", perDay, got, want)
		}
	}
}

func TestWhatIsFineIsListed(t *testing.T) {
	p, err := Parse("id\tselect_type\ttable\ttype\tpossible_keys\tkey\tkey_len\tref\trows\tExtra\n1\tSIMPLE\tt\tALL\tNULL\tNULL\tNULL\tNULL\t50000\tUsing where")
	if err != nil {
		t.Fatal(err)
	}
	has := func(code ProblemCode) bool {
		return slices.ContainsFunc(p.Fine(), func(c Check) bool { return c.Code == code && c.Fine != "" })
	}
	if has(FullScan) || !has(LargeSort) || has(FunctionOnColumn) {
		t.Errorf("a plan without its statement: %+v", p.Fine())
	}
	p.Select = "SELECT a FROM t WHERE b = 1"
	if !has(FunctionOnColumn) || has(AllRowsWritten) {
		t.Errorf("with its statement: %+v", p.Fine())
	}
	for _, write := range []string{"UPDATE t SET a = 1 WHERE YEAR(b) = 2024", "DELETE FROM t WHERE YEAR(b) = 2024"} {
		if p.Select = write; has(FunctionOnColumn) || !hasProblem(p, FunctionOnColumn) {
			t.Errorf("%s: %+v", write, p.Problems())
		}
	}
}

func TestProblemsAreJSON(t *testing.T) {
	b, err := json.Marshal(Problem{FullScan, "t", High, "all", "less"})
	if want := `{"code":"full-scan","table":"t","severity":"high","evidence":"all","try":"less"}`; err != nil || string(b) != want {
		t.Errorf("got %s, %v", b, err)
	}
	var p Problem
	if err := json.Unmarshal(b, &p); err != nil || p.Severity != High {
		t.Errorf("read back: %+v, %v", p, err)
	}
}

// healthy are statements that use their indexes, read little, or read small
// tables; %d stands for a number.
var healthy = []string{
	"SELECT * FROM customers WHERE id = %d",
	"SELECT id, total FROM orders WHERE customer_id = %d",
	"SELECT id, total FROM orders WHERE customer_id = %d ORDER BY id DESC LIMIT 5",
	"SELECT c.name, o.id, o.total FROM customers c JOIN orders o ON o.customer_id = c.id WHERE c.id = %d ORDER BY o.ordered_at DESC",
	"SELECT o.id, SUM(i.qty * i.price) FROM orders o JOIN order_items i ON i.order_id = o.id WHERE o.customer_id = %d GROUP BY o.id",
	"SELECT * FROM order_items WHERE order_id BETWEEN %[1]d AND %[1]d + 20",
	"SELECT name FROM categories WHERE parent_id = %d % 20",
	"SELECT COUNT(*) FROM categories",
	"SELECT * FROM categories a JOIN categories b ON b.parent_id = a.id WHERE a.id = %d % 60",
	"SELECT id FROM orders ORDER BY id LIMIT 10 OFFSET %d",
	"SELECT id, price FROM products WHERE category_id = 1 + %d % 60 ORDER BY price LIMIT 10",
	"SELECT p.id, (SELECT MAX(r.stars) FROM reviews r WHERE r.product_id = p.id) FROM products p WHERE p.id = %d",
	"SELECT id FROM orders WHERE id IN (%[1]d, %[1]d + 1, %[1]d + 2)",
	"SELECT name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id) AND c.email = 'user%d@example.test'",
	"SELECT id FROM customers WHERE country = 'DE' AND created_at >= '2025-01-01' AND created_at < '2025-01-01' + INTERVAL %d DAY",
	"SELECT kind, at FROM events WHERE kind = 'search' AND at >= '2025-02-01' AND at < '2025-03-01' AND customer_id <> %d",
	"UPDATE orders SET note = 'x' WHERE id = %d",
	"UPDATE products SET stock = stock - 1 WHERE category_id = 1 + %d % 60 AND price < 50",
	"DELETE FROM order_items WHERE order_id = %d",
	"INSERT INTO archived_orders (id, customer_id, total) SELECT id, customer_id, total FROM orders WHERE customer_id = %d",
	"SELECT r.body FROM reviews r WHERE r.product_id = %d AND r.stars >= 3",
	"SELECT c.country, COUNT(*) FROM customers c JOIN orders o ON o.customer_id = c.id WHERE o.id BETWEEN %[1]d AND %[1]d + 50 GROUP BY c.country ORDER BY 2 DESC",
	"SELECT MIN(id), MAX(id) FROM orders WHERE customer_id > %d",
	"SELECT v FROM counters WHERE k = 'counter %d'",
}

func TestHealthyPlansHaveNoProblems(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		db, schema := openShop(t, srv)
		ex := New(db, Options{})
		plans := 0
		for i, pattern := range healthy {
			for k := range 9 {
				sql := strings.ReplaceAll(strings.ReplaceAll(pattern, "%[1]d", "%d"), "%d", strconv.Itoa(7+311*k+i))
				p, err := ex.Explain(context.Background(), schema, sql)
				if err != nil {
					t.Fatalf("%s: %v", sql, err)
				}
				plans++
				for _, problem := range p.Problems() {
					if problem.Severity > Info {
						t.Errorf("%s: %+v\n%s", sql, problem, p)
					}
				}
			}
		}
		if plans < 200 {
			t.Errorf("only %d plans", plans)
		}
	})
}
