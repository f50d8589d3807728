package main

import (
	"bytes"
	"context"
	"encoding/json"
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

func TestWrongUsageIsStatus2(t *testing.T) {
	for _, args := range [][]string{nil, {"-dsn", "x"}, {"-query", "SELECT 1"}, {"-dsn", "x", "-query", "SELECT 1", "file"}, {"-dsn", "x", "-query", "SELECT 1", "-format", "yaml"}, {"-nonsense"}} {
		var stdout, stderr bytes.Buffer
		if status := run(context.Background(), args, &stdout, &stderr); status != 2 || stdout.Len() > 0 || !strings.Contains(stderr.String(), "usage") {
			t.Errorf("%q: status %d, %q", args, status, &stderr)
		}
	}
}
