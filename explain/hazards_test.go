package explain

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quern-dev/quern/internal/testservers"
)

var (
	mysql97   = ParseServer("9.7.4", "")
	mariadb10 = ParseServer("10.11.6-MariaDB", "")
)

// What EXPLAIN might run, on which server.
var hazardous = []struct {
	kind  string
	sql   string
	mysql []HazardCode
	maria []HazardCode
}{
	{"built-in functions are harmless",
		"SELECT COUNT(*), NOW(), IF(a, 1, 2), CAST(a AS CHAR(5)), CONVERT(a, DECIMAL(10,2)), DATE(b), x IN (1), LAST_INSERT_ID() FROM t WHERE a IN (1, 2) AND (b = 1) OR NOT (c)",
		nil, nil},
	{"so is their name as a column", "SELECT sleep, t.benchmark FROM t", nil, nil},
	{"a function of the database", "SELECT cleanup(a) FROM t", codes(StoredFunction), codes(StoredFunction)},
	{"by its schema", "SELECT shop.abs(a) FROM t", codes(StoredFunction), codes(StoredFunction)},
	{"by a quoted name", "SELECT `count`(a) FROM t", codes(StoredFunction), codes(StoredFunction)},
	{"by a space where the servers take none", "SELECT COUNT (a) FROM t", codes(StoredFunction), codes(StoredFunction)},
	{"or a comment", "SELECT now/**/() FROM t", codes(StoredFunction), codes(StoredFunction)},
	{"in an executable comment", "SELECT a /*!99999 + cleanup() */ FROM t", codes(StoredFunction), codes(StoredFunction)},
	{"a built-in of the other server", "SELECT NVL(a, 1) FROM t", codes(StoredFunction), nil},
	{"a built-in of this server alone", "SELECT BIN_TO_UUID(a) FROM t", nil, codes(StoredFunction)},
	{"SLEEP", "SELECT * FROM (SELECT SLEEP(10)) d", codes(SideEffect), codes(SideEffect)},
	{"in a common table expression", "WITH d AS (SELECT SLEEP(9)) SELECT * FROM d", codes(SideEffect), codes(SideEffect)},
	{"in LATERAL", "SELECT * FROM t, LATERAL (SELECT SLEEP(1)) d", codes(SideEffect), codes(StoredFunction, SideEffect)},
	{"but not in a literal", "SELECT 'from (select sleep(1)) d' FROM t", nil, nil},
	{"a named lock", "SELECT a FROM t WHERE id = GET_LOCK('z', 0)", codes(SideEffect), codes(SideEffect)},
	{"giving it up", "SELECT a FROM t WHERE id = RELEASE_ALL_LOCKS()", codes(SideEffect), codes(SideEffect)},
	{"setting the last insert id", "SELECT a FROM t WHERE id = LAST_INSERT_ID(77)", codes(SideEffect), codes(SideEffect)},
	{"reading a file", "SELECT a FROM t WHERE id = LENGTH(LOAD_FILE('/etc/hostname'))", codes(SideEffect), codes(SideEffect)},
	{"burning time", "SELECT a FROM t WHERE id = BENCHMARK(3e7, 1)", codes(SideEffect), codes(SideEffect)},
	{"a word that is reserved by newer servers alone", "SELECT a FROM t WHERE b MEMBER OF (c)", nil, codes(StoredFunction)},
	{"window functions", "SELECT ROW_NUMBER() OVER (PARTITION BY a ORDER BY b), SUM(c) OVER (w) FROM t WINDOW w AS (ORDER BY d)", nil, nil},
	{"sets", "SELECT a FROM t UNION ALL (SELECT b FROM u) EXCEPT (SELECT c FROM v) INTERSECT (SELECT d FROM w)", nil, nil},
	{"an ODBC call", "SELECT {fn cleanup(a)} FROM t", codes(StoredFunction), codes(StoredFunction)},
	{"a sequence", "SELECT NEXT VALUE FOR s", codes(Sequence), codes(Sequence)},
	{"by function", "SELECT NEXTVAL(s), SETVAL(s, 1)", codes(Sequence, Sequence), codes(Sequence, Sequence)},
	{"assigning a user variable", "SELECT @x := a FROM t", codes(UserVariable), codes(UserVariable)},
	{"reading one is harmless", "SELECT a FROM t WHERE b = @x", nil, nil},
	{"names with a list of columns are no calls",
		"WITH c (a, b) AS (SELECT 1, 2 FROM t) SELECT * FROM c JOIN (SELECT 1, 2 FROM t) AS d (x, y) JOIN (SELECT 3 FROM t) e (z) USING (x)",
		nil, nil},
	{"a table of JSON", "SELECT * FROM t, JSON_TABLE(t.j, '$[*]' COLUMNS (a VARCHAR(10) PATH '$')) AS x", nil, nil},
	{"which is no function", "SELECT JSON_TABLE(a) FROM t", codes(StoredFunction), codes(StoredFunction)},
	{"a derived table of literals", "SELECT * FROM (SELECT 1 AS a, CONCAT('x', 'y') AS b) d", nil, nil},
	{"a derived table of one row is run by MySQL", "SELECT * FROM (SELECT COUNT(*) FROM t) d", codes(ExecutedBlock), nil},
	{"with LIMIT too", "SELECT * FROM u JOIN (SELECT a FROM t ORDER BY b LIMIT 1) d USING (a)", codes(ExecutedBlock), nil},
	{"and a common table expression", "WITH c AS (SELECT MAX(a) AS m FROM t) SELECT * FROM u, c WHERE u.a = c.m", codes(ExecutedBlock), nil},
	{"a merged one is not", "SELECT * FROM (SELECT a FROM t) d", nil, nil},
	{"nor is a union", "SELECT * FROM (SELECT MAX(a) FROM t UNION SELECT 1) d", nil, nil},
	{"a subquery whose value is wanted", "SELECT a FROM t WHERE id = (SELECT MAX(id) FROM u)", codes(ExecutedSubquery), nil},
	{"not in the select list", "SELECT (SELECT MAX(id) FROM u) FROM t", nil, nil},
	{"nor behind IN and EXISTS", "SELECT a FROM t WHERE id IN (SELECT id FROM u) AND EXISTS (SELECT 1 FROM v WHERE v.x = t.x)", nil, nil},
	{"unless they are constant", "SELECT a FROM t WHERE 5 IN (SELECT id FROM u) AND EXISTS (SELECT 1 FROM v)", codes(ExecutedSubquery, ExecutedSubquery), nil},
	{"in a list of IN by MariaDB too", "SELECT a FROM t WHERE id IN (1 + (SELECT MAX(id) FROM u), 3)", codes(ExecutedSubquery), codes(ExecutedSubquery)},
	{"and in BETWEEN", "SELECT a FROM t WHERE id BETWEEN (SELECT MAX(id) FROM u) AND 3", codes(ExecutedSubquery), codes(ExecutedSubquery)},
	{"and all in a derived table without a table", "SELECT * FROM (SELECT (SELECT MAX(id) FROM u) AS x) d", codes(ExecutedBlock), codes(ExecutedBlock)},
	{"nor one that depends on the outer row", "SELECT a FROM t WHERE id = (SELECT MAX(id) FROM shop.u WHERE u.a = t.a)", nil, nil},
	{"a lock is taken away", "SELECT a FROM t FOR UPDATE", codes(LockingRead), codes(LockingRead)},
	{"and INTO", "SELECT a INTO @x FROM t", codes(WritesResult), codes(WritesResult)},
	{"and a temporary table", "CREATE TEMPORARY TABLE x AS SELECT a FROM t", codes(TemporaryTable), codes(TemporaryTable)},
	{"and a lifted limit", "SELECT /*+ MAX_EXECUTION_TIME(0) */ a FROM t", codes(LiftedLimit), codes(LiftedLimit)},
	{"a DML statement is judged by its SELECT", "UPDATE t SET a = cleanup(b) WHERE c = 1", nil, nil},
	{"with its WHERE", "DELETE FROM t WHERE a = cleanup(b)", codes(StoredFunction), codes(StoredFunction)},
}

func codes(c ...HazardCode) []HazardCode { return c }

func TestHazards(t *testing.T) {
	for _, c := range hazardous {
		t.Run(c.kind, func(t *testing.T) {
			for _, s := range []struct {
				server Server
				want   []HazardCode
			}{{mysql97, c.mysql}, {mariadb10, c.maria}} {
				r, err := Rewrite(c.sql, RewriteOptions{Server: s.server})
				if err != nil {
					t.Fatal(err)
				}
				var got []HazardCode
				for _, h := range r.Hazards {
					got = append(got, h.Code)
					removed := h.Code == LockingRead || h.Code == WritesResult || h.Code == LiftedLimit || h.Code == TemporaryTable
					if h.Removed != removed || h.Text == "" {
						t.Errorf("%+v", h)
					}
				}
				if diff := cmp.Diff(s.want, got); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s\n%+v", s.server, c.sql, diff, r.Hazards)
				}
			}
		})
	}
}

func TestAnUnknownServerHasTheHazardsOfAll(t *testing.T) {
	for _, c := range hazardous {
		r, err := Rewrite(c.sql, RewriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range slices.Concat(c.mysql, c.maria) {
			if !slices.ContainsFunc(r.Hazards, func(h Hazard) bool { return h.Code == want }) {
				t.Errorf("%s: no %s", c.sql, want)
			}
		}
	}
}

// Every function of the table belongs to the server in its version: the server
// knows the name without a stored function of that name.
func TestBuiltinsBelongToTheServer(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		db := srv.DB(t, srv.Schema(t))
		server := ParseServer(srv.Version, "")
		words := wordSet("of over except lateral intersect rollup cube columns")
		known, unknown := 0, 0
		for name := range builtinVersions {
			if words[name] || !server.builtin(name) {
				continue
			}
			found := false
			for _, args := range []string{"", "1", "1, 2"} {
				_, err := db.Exec("EXPLAIN SELECT " + name + "(" + args + ")")
				code := 0
				if err != nil {
					code = errorCode(err)
				}
				if code == 1305 || code == 1630 {
					unknown++
					t.Errorf("%s: %s() is not its own: %v", server, name, err)
					break
				}
				if found = code != 1064; found {
					break
				}
			}
			if found {
				known++
			}
		}
		t.Logf("%d functions known by name, the rest by the grammar", known)
		if known < 200 || unknown > 0 {
			t.Errorf("%d known, %d unknown", known, unknown)
		}
	})
}

func TestTheTableOfBuiltinsIsSorted(t *testing.T) {
	seen := make(map[string]bool)
	for _, group := range builtins {
		names := strings.Fields(group.names)
		if !slices.IsSorted(names) {
			t.Errorf("not sorted: %.60s…", group.names)
		}
		for _, n := range names {
			if seen[n] {
				t.Errorf("%s stands there twice", n)
			}
			if n != "last_insert_id" && effects[n] != "" {
				t.Errorf("%s is harmless and harmful", n)
			}
			seen[n] = true
		}
	}
}

func TestParseServer(t *testing.T) {
	for version, want := range map[string]string{
		"5.6.51-log":                    "MySQL 5.6.51",
		"8.0.36-28":                     "MySQL 8.0.36",
		"9.7.4-2":                       "MySQL 9.7.4",
		"10.11.6-MariaDB-0+deb12u1-log": "MariaDB 10.11.6",
		"5.5.5-10.3.39-MariaDB":         "MariaDB 10.3.39",
		"8.0.11-TiDB-v7.5.1":            "TiDB 7.5.1",
		"":                              "MySQL 0.0.0",
	} {
		if got := ParseServer(version, "").String(); got != want {
			t.Errorf("%s: got %s, want %s", version, got, want)
		}
	}
	if s := ParseServer("8.0.36", ""); s.AtLeast(MySQL, 8, 0, 37) || !s.AtLeast(MySQL, 8, 0, 36) || !s.AtLeast(MySQL, 5, 7) || s.AtLeast(MariaDB, 1) {
		t.Error("AtLeast compares wrongly")
	}
}
