package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quern-dev/quern/indexadvisor"
	"github.com/quern-dev/quern/internal/testservers"
)

func advise(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	if err := run(context.Background(), args, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestAdviseOnAServer(t *testing.T) {
	srv := testservers.MariaDB(t)
	schema := srv.Schema(t)
	db := srv.DB(t, schema)
	for _, s := range []string{
		"CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL, pad VARCHAR(100), KEY a1 (a, id)) CHARACTER SET utf8mb4",
		"INSERT INTO t SELECT seq, seq % 500, seq % 7, REPEAT('x', 100) FROM seq_1_to_20000",
		"ANALYZE TABLE t",
	} {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	dsn := srv.DSN("")
	const query = "SELECT * FROM t WHERE a = 5 AND b = 3"
	text := advise(t, "-dsn", dsn, "-schema", schema, "-query", query)
	for _, part := range []string{"Round 1: of all 20000 rows", "SUM(a = 5)", "Do:          ALTER TABLE", "Undo:", "Rows read:"} {
		if !strings.Contains(text, part) {
			t.Errorf("the text lacks %q:\n%s", part, text)
		}
	}
	if text := advise(t, "-dsn", dsn, "-schema", schema, "-query", "SELECT * FROM t WHERE a = 5 AND pad = '\x1b[2J\u202e'"); strings.ContainsAny(text, "\x1b\u202e") || !strings.Contains(text, `\x1b[2J\u202e`) {
		t.Errorf("a terminal would obey the text %q", text)
	}
	type advice struct {
		Quern       int
		Suggestions []struct {
			Schema, Table, Name, DDL, Undo, Kind, Reason string
			Columns                                      []struct{ Name string }
			RowsBefore                                   int `json:"rows_before"`
			Rounds                                       []struct {
				Where  []string
				Counts []struct {
					Predicate string
					Rows      int
					Chosen    bool
				}
			}
		}
		Notes  []string
		Trials []any
	}
	var a advice
	if err := json.Unmarshal([]byte(advise(t, "-dsn", dsn, "-schema", schema, "-format", "json", "-query", query)), &a); err != nil {
		t.Fatal(err)
	}
	if a.Quern != 1 || len(a.Suggestions) != 1 || a.Suggestions[0].Table != "t" || a.Suggestions[0].Rounds[0].Counts[0].Rows != 40 || a.Suggestions[0].Rounds[0].Where == nil || a.Notes == nil {
		t.Errorf("%+v", a)
	}
	log := filepath.Join(t.TempDir(), "slow.log")
	var b strings.Builder
	for i := range 20 {
		fmt.Fprintf(&b, "# Time: 2026-01-01T00:%02d:00.000000Z\n# User@Host: u[u] @ localhost []  Id: 1\n# Query_time: 1.000000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 20000\nuse %s;\nSET timestamp=1767225600;\nSELECT * FROM t WHERE a = %d AND b = %d;\n", i, schema, i, i%7)
	}
	if err := os.WriteFile(log, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	a = advice{}
	if err := json.Unmarshal([]byte(advise(t, "-dsn", dsn, "-format", "json", log)), &a); err != nil {
		t.Fatal(err)
	}
	if len(a.Suggestions) == 0 || a.Suggestions[0].Table != "t" {
		t.Errorf("for the log: %+v", a)
	}
	for _, args := range [][]string{{log}, {"-schema", schema, "-query", query}} {
		page := advise(t, append([]string{"-dsn", dsn, "-format", "html"}, args...)...)
		for _, part := range []string{"<h2>Advice on indexes</h2>", "Round 1: of all 20000 rows", "<section id=c1>"} {
			if !strings.Contains(page, part) {
				t.Errorf("the page of %q lacks %s", args, part)
			}
		}
	}
	_, details, _ := strings.Cut(advise(t, "-dsn", dsn, "-format", "html", log), "<section id=c1>")
	for _, part := range []string{"<h4>Index " + a.Suggestions[0].Name + "</h4>", "Round 1: of all 20000 rows", "It reads "} {
		if !strings.Contains(details, part) {
			t.Errorf("the class's part of the page lacks %s", part)
		}
	}
}

// What could not be counted is no advice: what there is to say stands in the output, and
// the exit status tells a script.
func TestUncountedIsAFailure(t *testing.T) {
	srv := testservers.MariaDB(t)
	schema := srv.Schema(t)
	db := srv.DB(t, schema)
	for _, s := range []string{
		"CREATE TABLE t (id INT PRIMARY KEY, d DATETIME)", "INSERT INTO t SELECT seq, '2024-01-01' + INTERVAL seq MINUTE FROM seq_1_to_2000", "ANALYZE TABLE t",
	} {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	err := run(context.Background(), []string{"-dsn", srv.DSN(""), "-schema", schema, "-query", "SELECT * FROM t PARTITION (nosuch) WHERE DATE(d) = '2024-01-02'"}, &out, io.Discard)
	if !errors.Is(err, indexadvisor.ErrNotCounted) {
		t.Errorf("error %v, want ErrNotCounted", err)
	}
	for _, part := range []string{"No index is suggested.", "could not be counted", "Instead: d >= '2024-01-02' AND d <"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the output lacks %q:\n%s", part, out.String())
		}
	}
}

func TestBadUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"-dsn", "u@/"}, {"-dsn", "u@/", "-query", "x", "f"}, {"-dsn", "u@/", "-query", "x", "-format", "xml"}, {"-dsn", "u@/", "-query", "x", "-verify"}, {"-nosuch"}} {
		var usage usageError
		if err := run(context.Background(), args, io.Discard, io.Discard); !errors.As(err, &usage) {
			t.Errorf("%q: %v", args, err)
		}
	}
}
