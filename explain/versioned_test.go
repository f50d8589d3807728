package explain

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quern-dev/quern/internal/testservers"
)

// MariaDB's tables that keep their past, and periods: the rewritten statements are
// explained by the server.
func TestStatementsOnVersionedTablesAreExplained(t *testing.T) {
	srv := testservers.MariaDB(t)
	schema := srv.Schema(t)
	db := srv.DB(t, schema)
	for _, s := range []string{
		"CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, KEY ka (a)) WITH SYSTEM VERSIONING", "INSERT INTO t SELECT seq, seq % 100, 0 FROM seq_1_to_2000",
		"CREATE TABLE u (id INT, d DATE, e DATE, PERIOD FOR p (d, e), KEY ki (id))", "INSERT INTO u SELECT seq % 100, '2026-01-01', '2027-01-01' FROM seq_1_to_2000",
		"ANALYZE TABLE t, u",
	} {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	ex := New(db, Options{})
	for _, c := range []struct{ sql, want, key string }{
		{"SELECT * FROM t FOR SYSTEM_TIME AS OF TIMESTAMP'2026-01-01 00:00:00' x WHERE a = 5 FOR UPDATE", "SELECT * FROM t FOR SYSTEM_TIME AS OF TIMESTAMP'2026-01-01 00:00:00' x WHERE a = 5", "ka"},
		{"INSERT INTO t SELECT id + 5000, a, b FROM t FOR SYSTEM_TIME BETWEEN '2026-01-01' AND NOW() AS h WHERE h.a = 5", "SELECT id + 5000, a, b FROM t FOR SYSTEM_TIME BETWEEN '2026-01-01' AND NOW() AS h WHERE h.a = 5", "ka"},
		{"DELETE t FROM t JOIN t FOR SYSTEM_TIME FROM '2026-01-01' TO NOW() h ON t.id = h.id WHERE h.a = 4", "SELECT t.* FROM t JOIN t FOR SYSTEM_TIME FROM '2026-01-01' TO NOW() h ON t.id = h.id WHERE h.a = 4", "ka"},
		{"DELETE HISTORY FROM t", "SELECT t.* FROM t FOR SYSTEM_TIME ALL WHERE ROW_END < NOW(6)", ""},
		{"DELETE HISTORY FROM t BEFORE SYSTEM_TIME '2026-01-01' + INTERVAL 1 DAY", "SELECT t.* FROM t FOR SYSTEM_TIME ALL WHERE ROW_END < '2026-01-01' + INTERVAL 1 DAY", ""},
		{"UPDATE u FOR PORTION OF p FROM '2026-01-01' TO '2026-06-01' SET e = d WHERE id = 3", "SELECT u.* FROM u WHERE id = 3", "ki"},
		{"DELETE FROM u FOR PORTION OF p FROM '2026-01-01' TO '2026-06-01' WHERE id = 3", "SELECT u.* FROM u WHERE id = 3", "ki"},
	} {
		p, err := ex.Explain(context.Background(), schema, c.sql)
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		if diff := cmp.Diff(c.want, p.Select); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.sql, diff)
		}
		key := ""
		for n := range p.Tables() {
			if key == "" {
				key = n.Key()
			}
		}
		if key != c.key {
			t.Errorf("%s: the server reads by %q, want %q", c.sql, key, c.key)
		}
	}
}
