package explain

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/quern-dev/quern/internal/testservers"
)

// A connection that breaks in the middle of a comparison leaves no verdict, and an
// error without the statements.
func TestAComparisonWhoseConnectionBreaksHasNoVerdict(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		schema := srv.Schema(t)
		db, breakAfter := srv.Fragile(t, schema)
		for _, q := range []string{"CREATE TABLE t (id INT PRIMARY KEY, n INT)", "INSERT INTO t VALUES (1, 1), (2, 4), (3, 9)"} {
			if _, err := db.Exec(q); err != nil {
				t.Fatal(err)
			}
		}
		broken := 0
		for bytes := int64(0); ; bytes = 2*bytes + 100 {
			breakAfter(bytes)
			c, err := Compare(context.Background(), db, "SELECT n FROM t WHERE id = 2", "SELECT n FROM t WHERE id IN (2)")
			if err == nil {
				if !c.SameRows {
					t.Errorf("whole, and not the same rows:\n%v", c)
				}
				break
			}
			broken++
			var server *ServerError
			if c != nil || !errors.As(err, &server) {
				t.Errorf("after %d bytes: comparison %v, error %v, want none and a ServerError", bytes, c, err)
			}
			if strings.Contains(err.Error(), "FROM t") {
				t.Errorf("the error quotes a statement: %v", err)
			}
		}
		if broken < 3 {
			t.Errorf("%d broken connections", broken)
		}
	})
}
