package perfschema

import (
	"context"
	"strings"
	"testing"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/internal/testservers"
)

// A connection that breaks in the middle of a Poll is an error. Nothing was added,
// and what ran is counted once, by the next Poll.
func TestAPollThatBreaksIsMadeUpForByTheNext(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		db := prepare(t, srv)
		frail, breakAfter := srv.Fragile(t, "")
		p := New(frail)
		if _, err := p.Poll(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		const statement = "SELECT note FROM t WHERE id = 7"
		const times = 20
		for range times {
			run(t, db, statement)
		}
		broken := 0
		for bytes := int64(0); ; bytes = 2*bytes + 100 {
			breakAfter(bytes)
			var agg digest.Aggregator
			_, err := p.Poll(context.Background(), &agg)
			if err == nil {
				if c := classOf(agg.Profile(), statement); c == nil || c.Count != times {
					t.Errorf("counted %+v, want %d", c, times)
				}
				break
			}
			if broken++; agg.Profile().Events != 0 {
				t.Errorf("broken after %d bytes, the Poll added %d statements", bytes, agg.Profile().Events)
			}
			if strings.Contains(err.Error(), "note FROM") {
				t.Errorf("the error quotes a statement: %v", err)
			}
		}
		if broken < 3 {
			t.Errorf("%d broken connections", broken)
		}
	}, counting...)
}
