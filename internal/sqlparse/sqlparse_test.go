package sqlparse

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pingcap/tidb/pkg/parser/ast"
)

func TestParseReadsOneStatement(t *testing.T) {
	for _, sql := range []string{
		"SELECT a FROM t WHERE b = 1",
		"SELECT a FROM t;",
		"WITH c AS (SELECT 1) UPDATE t, c SET t.a = 1",
		"DELETE a FROM a JOIN b ON a.x = b.x",
	} {
		if _, err := Parse(sql, Options{}); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

func TestParseTellsItsErrorsApart(t *testing.T) {
	for sql, want := range map[string]error{
		"":                   ErrEmpty,
		" -- nothing\n":      ErrEmpty,
		"SELECT 1; SELECT 2": ErrMultiple,
		"SELECT '" + strings.Repeat("x", MaxBytes) + "'": ErrTooLong,
	} {
		if _, err := Parse(sql, Options{}); !errors.Is(err, want) {
			t.Errorf("%.30s: got %v, want %v", sql, err, want)
		}
	}
}

func TestSyntaxErrorGivesThePlaceAndNoText(t *testing.T) {
	_, err := Parse("SELECT a\nFROM t WHERE secret = 'hunter2' HANDLER", Options{})
	var e *SyntaxError
	if !errors.As(err, &e) {
		t.Fatalf("got %T %v, want a SyntaxError", err, err)
	}
	if e.Line != 2 || e.Column == 0 {
		t.Errorf("place: line %d, column %d, want line 2 and a column", e.Line, e.Column)
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error quotes the statement: %v", err)
	}
}

func TestSQLModeChangesTheReading(t *testing.T) {
	field := func(sql string, o Options) ast.ExprNode {
		t.Helper()
		stmt, err := Parse(sql, o)
		if err != nil {
			t.Fatalf("%s %+v: %v", sql, o, err)
		}
		return stmt.(*ast.SelectStmt).Fields.Fields[0].Expr
	}
	if _, ok := field(`SELECT "a" FROM t`, Options{ANSIQuotes: true}).(*ast.ColumnNameExpr); !ok {
		t.Error(`ANSI_QUOTES: "a" is not a name`)
	}
	if _, ok := field(`SELECT "a" FROM t`, Options{}).(ast.ValueExpr); !ok {
		t.Error(`no ANSI_QUOTES: "a" is not a string`)
	}
	if _, ok := field(`SELECT a || b FROM t`, Options{PipesAsConcat: true}).(*ast.FuncCallExpr); !ok {
		t.Error("PIPES_AS_CONCAT: || is not a call of CONCAT")
	}
	if _, err := Parse(`SELECT '\'`, Options{NoBackslashEscapes: true}); err != nil {
		t.Errorf(`NO_BACKSLASH_ESCAPES: '\': %v`, err)
	}
}

func TestSystemTimeIsPassedOver(t *testing.T) {
	for clause, rest := range map[string]string{
		"FOR SYSTEM_TIME ALL": "AS x",
		"for system_time as of TIMESTAMP'2026-01-01 00:00:00'":                           "x",
		"FOR SYSTEM_TIME AS OF (SELECT MAX(a) FROM u)":                                   "",
		"FOR SYSTEM_TIME AS OF TRANSACTION 12":                                           "x JOIN u USING (a)",
		"FOR SYSTEM_TIME /* c\n */ AS OF NOW() - INTERVAL 3 * 2 DAY + INTERVAL '1' HOUR": "x",
		"FOR SYSTEM_TIME AS OF @v":                                                       ", u",
		"FOR SYSTEM_TIME BETWEEN '2026-01-01' AND d.f(1, (2))":                           "WHERE x = 1 AND y = 2",
		"FOR SYSTEM_TIME FROM TIMESTAMP('2026-01-01') TO '2026-02-01'":                   "FORCE INDEX (i) WHERE x = 1",
	} {
		sql := "SELECT * FROM t " + clause + " " + rest
		blank := strings.Map(func(r rune) rune {
			if r == '\n' {
				return r
			}
			return ' '
		}, clause)
		got, found := SystemTime(sql, Options{})
		if want := "SELECT * FROM t " + blank + " " + rest; got != want || !found {
			t.Errorf("%s: got %s, %v", sql, got, found)
		}
		if _, err := Parse(sql, Options{}); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
	for _, sql := range []string{
		"SELECT system_time FROM t FOR UPDATE", "SELECT 'FOR SYSTEM_TIME ALL'", "SELECT `FOR`, `SYSTEM_TIME`, x.SYSTEM_TIME FROM x",
		"SELECT * FROM t FOR SYSTEM_TIME", "SELECT * FROM t FOR SYSTEM_TIME AS OF", "SELECT * FROM t FOR SYSTEM_TIME AS OF (1",
		"SELECT * FROM t FOR SYSTEM_TIME FROM 1", "SELECT * FROM t FOR SYSTEM_TIME AS OF 1 +", "SELECT * FROM t FOR SYSTEM_TIME AS OF INTERVAL",
	} {
		if got, found := SystemTime(sql, Options{}); got != sql || found {
			t.Errorf("%s: got %s", sql, got)
		}
	}
}

func TestWalkVisitsParentsFirstAndPrunes(t *testing.T) {
	stmt, err := Parse("SELECT a FROM t WHERE b IN (SELECT c FROM u)", Options{})
	if err != nil {
		t.Fatal(err)
	}
	tables := func(into bool) []string {
		var names []string
		Walk(stmt, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TableName:
				names = append(names, n.Name.O)
			case *ast.SubqueryExpr:
				return into
			}
			return true
		})
		return names
	}
	if diff := cmp.Diff([]string{"t", "u"}, tables(true)); diff != "" {
		t.Errorf("all tables (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"t"}, tables(false)); diff != "" {
		t.Errorf("without subqueries (-want +got):\n%s", diff)
	}
}

func TestParseMayBeCalledConcurrently(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if _, err := Parse("SELECT a FROM t WHERE b = 1", Options{}); err != nil {
					t.Error(err)
				}
				if _, err := Parse("SELECT FROM WHERE", Options{}); err == nil {
					t.Error("nonsense parses")
				}
			}
		})
	}
	wg.Wait()
}

func FuzzParse(f *testing.F) {
	f.Add("SELECT a FROM t WHERE b = 1", false, false)
	f.Add("SELECT * FROM t FOR SYSTEM_TIME BETWEEN f(1) - INTERVAL 1 DAY AND (NOW()) x", false, false)
	f.Add("UPDATE t SET a = 'x\\' WHERE \"b\" = 1; -- c", true, true)
	f.Fuzz(func(t *testing.T, sql string, ansi, noBackslash bool) {
		stmt, err := Parse(sql, Options{ANSIQuotes: ansi, NoBackslashEscapes: noBackslash})
		if (stmt == nil) == (err == nil) {
			t.Errorf("statement %v with error %v", stmt, err)
		}
	})
}
