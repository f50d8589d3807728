package indexadvisor

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/quern-dev/quern/internal/testservers"
)

func scratchSchemas(t *testing.T, db *sql.DB) (out []string) {
	t.Helper()
	rows, err := db.Query(`SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE 'quern\_verify\_%'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		rows.Scan(&s)
		out = append(out, s)
	}
	return out
}

func TestVerifyOnAScratchServer(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		other := scratchServer(t, srv)
		schema := srv.Schema(t)
		db, on := srv.DB(t, schema), other.DB(t, "")
		exec(t, db, `CREATE TABLE p (id INT PRIMARY KEY)`, `INSERT INTO p VALUES (1)`,
			`CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a INT NOT NULL, b INT, note VARCHAR(50), j JSON, bin VARBINARY(20), bits BIT(3), g INT AS (a + 1) VIRTUAL, p INT,
				KEY kb (b), CONSTRAINT tp FOREIGN KEY (p) REFERENCES p (id))`)
		fill(t, db, 20000)
		exec(t, db, `INSERT INTO t (id, a, b, note, j, bin, bits, p) SELECT i + 1, i % 500, i % 7, IF(i % 3 = 0, NULL, IF(i % 3 = 1, '', 'NULL')), '{"ü":"日本"}', x'00ff27', b'101', 1 FROM seq`,
			"ANALYZE TABLE t")
		ctx := context.Background()
		q := Query{Schema: schema, SQL: "SELECT * FROM t WHERE a = 5 AND b = 3 ORDER BY id"}
		a, err := New(MySQL(db), Options{}).Advise(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Suggestions) != 1 {
			t.Fatalf("%d suggestions: %s", len(a.Suggestions), strings.Join(a.Notes, "\n"))
		}
		s := a.Suggestions[0]
		if _, err := Verify(ctx, Scratch{From: db, On: srv.DB(t, "")}, q, s); !errors.Is(err, ErrSameServer) {
			t.Errorf("on the server itself: %v, want ErrSameServer", err)
		}
		// An old schema of a killed run, and somebody's that only looks like one.
		exec(t, on, "CREATE DATABASE quern_verify_1000000000_deadbeef", "CREATE DATABASE quern_verify_mine")
		t.Cleanup(func() { exec(t, other.DB(t, ""), "DROP DATABASE quern_verify_mine") })
		v, err := Verify(ctx, Scratch{From: db, On: on}, q, s)
		if err != nil {
			t.Fatal(err)
		}
		if !v.SameResult || len(v.After.Keys) != 1 || v.After.Keys[0] != s.Name || v.After.Entries >= v.Before.Entries || v.After.Rows != v.Before.Rows {
			t.Errorf("verification: %+v", v)
		}
		if c := v.Copied[schema+".t"]; c.Rows != 20000 {
			t.Errorf("%d rows were copied, 20000 expected", c.Rows)
		}
		// A statement that writes is rolled back.
		w := Query{Schema: schema, SQL: "DELETE FROM t WHERE a = 5 AND b = 3"}
		if v, err := Verify(ctx, Scratch{From: db, On: on, Rows: 2000}, w, s); err != nil {
			t.Errorf("DELETE: %v", err)
		} else if c := v.Copied[schema+".t"]; c.Rows > 4000 || c.Rows < 500 {
			t.Errorf("%d rows were copied as a sample of 2000", c.Rows)
		}
		short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		if _, err := Verify(short, Scratch{From: db, On: on}, Query{Schema: schema, SQL: "SELECT COUNT(*) FROM t x JOIN t y ON x.note < y.note AND x.a = 5"}, s); err == nil {
			t.Error("no error although the time ended")
		}
		if got := strings.Join(scratchSchemas(t, on), " "); got != "quern_verify_mine" {
			t.Errorf("left on the scratch server: %s", got)
		}
	})
}
