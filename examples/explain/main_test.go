package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quern-dev/quern/internal/testservers"
)

type output struct {
	Quern int
	Plans []struct {
		Query, Select string
		Approximate   bool
		Hazards       []struct{ Code, Text string }
		Plan          map[string]any
		Problems      []struct{ Code, Table, Severity, Evidence, Try string }
		Error         string
	}
	Findings []struct {
		Code    string
		Gain    float64
		Actions []struct{ Remedy, Try string }
		Cases   []struct {
			Evidence string
			Gain     float64
		}
	}
	Checks []check
}

type check struct {
	Code  string
	Found int
}

func explainJSON(t *testing.T, wantStatus int, args ...string) output {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if status := run(context.Background(), append(args, "-format", "json"), &stdout, &stderr); status != wantStatus {
		t.Fatalf("status %d, want %d: %s", status, wantStatus, &stderr)
	}
	var out output
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
		t.Fatalf("%v in %s", err, &stdout)
	}
	return out
}

func TestExplainAnUpdateThatScans(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		for _, stmt := range []string{
			"CREATE TABLE o (id INT PRIMARY KEY AUTO_INCREMENT, c INT, s VARCHAR(20), KEY (c))",
			"INSERT INTO o (c, s) SELECT a.d, 's3' FROM (SELECT 1 d UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4) a",
		} {
			if _, err := db.Exec(stmt); err != nil {
				t.Fatal(err)
			}
		}
		for range 7 {
			if _, err := db.Exec("INSERT INTO o (c, s) SELECT c + 1, CONCAT('s', c % 7) FROM o UNION ALL SELECT c + 2, 's3' FROM o"); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if _, err := db.Exec("INSERT INTO o (c, s) SELECT c, s FROM o"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := db.Exec("ANALYZE TABLE o"); err != nil {
			t.Fatal(err)
		}
		out := explainJSON(t, 0, "-dsn", srv.DSN(""), "-schema", schema, "-query", "UPDATE o SET s = 'x' WHERE s = 's3' AND c > 0")
		if out.Quern != 1 || len(out.Plans) != 1 {
			t.Fatalf("%+v", out)
		}
		p := out.Plans[0]
		if p.Select != "SELECT o.* FROM o WHERE s = 's3' AND c > 0" || !p.Approximate || p.Plan["root"] == nil || p.Hazards == nil {
			t.Errorf("%+v", p)
		}
		if !slices.ContainsFunc(p.Problems, func(x struct{ Code, Table, Severity, Evidence, Try string }) bool {
			return x.Code == "write-scans-all" && x.Table == "o" && x.Severity == "critical" && x.Evidence != "" && x.Try != ""
		}) {
			t.Errorf("problems: %+v", p.Problems)
		}
		var n int
		if err := db.QueryRow("SELECT COUNT(*) FROM o WHERE s = 'x'").Scan(&n); err != nil || n != 0 {
			t.Errorf("%d rows were changed, %v", n, err)
		}

		refused := explainJSON(t, 1, "-dsn", srv.DSN(""), "-schema", schema, "-query", "SELECT * FROM (SELECT SLEEP(9)) d").Plans[0]
		if len(refused.Hazards) != 1 || refused.Hazards[0].Code != "side-effect" || refused.Error == "" {
			t.Errorf("%+v", refused)
		}

		log := filepath.Join(t.TempDir(), "slow.log")
		text := "# Time: 2026-01-01T00:00:00.000000Z\n# User@Host: a[a] @ h []  Id: 1\n# Query_time: 2.0  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 9\nuse " + schema +
			";\nSET timestamp=1767225600;\nSELECT COUNT(*) FROM o WHERE s = 's4';\n"
		if err := os.WriteFile(log, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if p := explainJSON(t, 0, "-dsn", srv.DSN(""), log).Plans[0]; p.Query != "SELECT COUNT(*) FROM o WHERE s = 's4'" || len(p.Problems) == 0 {
			t.Errorf("from a log: %+v", p)
		}
		for _, args := range [][]string{{log}, {"-schema", schema, "-query", "SELECT COUNT(*) FROM o WHERE s = 's4'"}} {
			var page, stderr bytes.Buffer
			if status := run(context.Background(), append([]string{"-dsn", srv.DSN(""), "-format", "html"}, args...), &page, &stderr); status != 0 {
				t.Fatalf("status %d: %s", status, &stderr)
			}
			for _, part := range []string{"<h4>Plan</h4>", "<h4>Problems</h4>", "<section id=c1>"} {
				if !strings.Contains(page.String(), part) {
					t.Errorf("the page of %q lacks %s", args, part)
				}
			}
		}
	})
}

// slowLog returns the name of a log with the statements, each taking a second.
func slowLog(t *testing.T, schema string, statements ...string) string {
	t.Helper()
	var b strings.Builder
	for i, sql := range statements {
		fmt.Fprintf(&b, "# Time: 2026-01-01T%02d:00:00.000000Z\n# User@Host: a[a] @ h []  Id: 1\n# Query_time: 1.0  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 9\nuse %s;\nSET timestamp=%d;\n%s;\n",
			i, schema, 1767225600+3600*i, sql)
	}
	name := filepath.Join(t.TempDir(), "slow.log")
	if err := os.WriteFile(name, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestPlansOfALogAreFindings(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		exec := func(statements ...string) {
			t.Helper()
			for _, stmt := range statements {
				if _, err := db.Exec(stmt); err != nil {
					t.Fatal(err)
				}
			}
		}
		exec("CREATE TABLE o (id INT PRIMARY KEY AUTO_INCREMENT, c INT)", "INSERT INTO o (c) VALUES (1), (2), (3), (4)")
		for range 13 {
			exec("INSERT INTO o (c) SELECT c + id FROM o")
		}
		exec("ANALYZE TABLE o")
		log := slowLog(t, schema, "SELECT c FROM o WHERE c = 7", "SELECT c FROM o WHERE id = 7", "SELECT c FROM o WHERE id = 7 AND SLEEP(1)", "SELECT c FROM nowhere WHERE id = 7")

		findings := func() output {
			t.Helper()
			return explainJSON(t, 0, "-dsn", srv.DSN(""), log)
		}
		of := func(o output) (evidence string) {
			for _, f := range o.Findings {
				if f.Code == "plan/full-scan" {
					evidence = f.Cases[0].Evidence
				}
			}
			return evidence
		}
		scans := findings()
		if got := of(scans); !strings.Contains(got, "table o: type ALL: all 3") && !strings.Contains(got, "table o: type ALL: all 32,") {
			t.Errorf("evidence %q", got)
		}
		for _, f := range scans.Findings {
			if f.Code == "plan/full-scan" && (len(f.Cases) != 1 || f.Cases[0].Gain != .25 || f.Gain != .25 || f.Actions[0].Remedy != "tune it") {
				t.Errorf("%+v", f)
			}
		}

		for format, want := range map[string][]string{
			"text": {"Plan: a large table is read in full", "up to 25.0% of the load", "table o: type ALL", "Plans       of 2 classes, 50.0% of the load; none of q1:", "every join has a condition"},
			"html": {"<h3>Plan: a large table is read in full <em>up to 25.0% of the load</em></h3>", "table o: type ALL", "<li><b>tune it</b> <span>Try an index that begins with c"},
		} {
			var out, stderr bytes.Buffer
			if status := run(context.Background(), []string{"-dsn", srv.DSN(""), "-format", format, log}, &out, &stderr); status != 0 {
				t.Fatalf("status %d: %s", status, &stderr)
			}
			text := out.String()
			if format == "text" {
				text = strings.Join(strings.Fields(text), " ")
			}
			for _, part := range want {
				if format == "text" {
					part = strings.Join(strings.Fields(part), " ")
				}
				if !strings.Contains(text, part) {
					t.Errorf("%s lacks %q", format, part)
				}
			}
		}

		exec("CREATE INDEX c ON o (c)", "ANALYZE TABLE o")
		mended := findings()
		if got := of(mended); got != "" {
			t.Errorf("with an index there is still %q", got)
		}
		if i := slices.IndexFunc(mended.Checks, func(c check) bool { return c.Code == "plan/full-scan" }); i < 0 || mended.Checks[i].Found != 0 {
			t.Errorf("the check is not told: %+v", mended.Checks)
		}
	})
}

func TestAHostileLogIsExplainedInBounds(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		for _, stmt := range []string{"CREATE TABLE `</script><img src=x>` (id INT PRIMARY KEY, `<b onload=x>\u202e` VARCHAR(99)) CHARACTER SET utf8mb4", "INSERT INTO `</script><img src=x>` VALUES (1, '<i>')"} {
			if _, err := db.Exec(stmt); err != nil {
				t.Fatal(err)
			}
		}
		const from = " FROM `</script><img src=x>` WHERE `<b onload=x>\u202e` "
		log := slowLog(t, schema, "SELECT id"+from+"= '</script><script>owned=1</script>\u202e'", "SELECT id"+from+"< '"+strings.Repeat("<i>\u2066", 180_000)+"'", "SELECT id"+from+"> '"+strings.Repeat("<i>\u2066", 500)+"'", "SELECT no"+from+">= 1")
		for _, format := range []string{"text", "html"} {
			var out, stderr bytes.Buffer
			if status := run(context.Background(), []string{"-dsn", srv.DSN(""), "-format", format, log}, &out, &stderr); status != 0 {
				t.Fatalf("status %d: %s", status, &stderr)
			}
			if out.Len() > 150_000 {
				t.Errorf("%s has %d bytes", format, out.Len())
			}
			if s := out.String(); strings.ContainsAny(s, "\u202e\u2066") || format == "html" && (strings.Count(s, "<script") != 1 || strings.Contains(s, "<img") || strings.Contains(s, "<b onload")) {
				t.Errorf("%s holds something of the log as it is", format)
			}
		}
	})
}

func TestWrongUsageIsStatus2(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string // what is said to be wrong
	}{
		{nil, "-dsn is missing"},
		{[]string{"-dsn", "x"}, "either -query or"},
		{[]string{"-query", "SELECT 1"}, "-dsn is missing"},
		{[]string{"-dsn", "x", "-query", "SELECT 1", "file"}, "either -query or"},
		{[]string{"-dsn", "x", "-query", "SELECT 1", "-format", "yaml"}, `-format is "yaml"`},
		{[]string{"-nonsense"}, "-nonsense"},
	} {
		var stdout, stderr bytes.Buffer
		status := run(context.Background(), c.args, &stdout, &stderr)
		if got := stderr.String(); status != 2 || stdout.Len() > 0 || !strings.Contains(got, c.want) || !strings.Contains(got, "usage") {
			t.Errorf("%q: status %d, %q", c.args, status, got)
		}
	}
}
