package slowlog

import (
	"strings"
	"testing"
)

// The end of a line that a name breaks is the same in every window, or cannot be
// told yet. Names are also about as long as the look for their end.
func TestEndOfBrokenLineInEveryWindow(t *testing.T) {
	const (
		values = "# Query_time: 0.1  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 1\n"
		stamp  = "SET timestamp=1796040000;\nSELECT 1;\n"
	)
	found := 0
	for n := range 1400 {
		name := "a\n" + strings.Repeat("b", n)
		for _, c := range []struct {
			name, log string
			find      func(s string, i, end, next int, final bool) (int, int, bool)
		}{
			{"user", "# User@Host: " + name + "[" + name + "] @ h []  Id: 7\n" + values + stamp, brokenUser},
			{"schema", "# Schema: " + name + "\n  Last_errno: 0  Killed: 0\n" + values + stamp, brokenSchema},
			{"schema before a user", "# Schema: " + name + "  QC_hit: No\n" + values + stamp + "# User@Host: u[u] @ h []\n", brokenSchema},
			{"use", "use " + name + "\nc;\n" + stamp, brokenUse},
			{"message", "# Warning 1 of '" + name + "\n'\n" + stamp, brokenMessage},
			{"message before use", "# Warning 1 of '" + name + "'\nuse " + name + ";\n" + stamp, brokenMessage},
		} {
			end := strings.IndexByte(c.log, '\n')
			wantEnd, wantNext, more := c.find(c.log, 0, end, end+1, true)
			if more {
				t.Fatalf("%s, name of %d bytes: the end of the input is not enough", c.name, len(name))
			}
			if wantNext > end+1 {
				found++
			}
			for m := end + 1; m < len(c.log); m++ {
				gotEnd, gotNext, more := c.find(c.log[:m], 0, end, end+1, false)
				if !more && (gotEnd != wantEnd || gotNext != wantNext) {
					t.Fatalf("%s, name of %d bytes, window of %d of %d: line ends at %d, next starts at %d; want %d, %d", c.name, len(name), m, len(c.log), gotEnd, gotNext, wantEnd, wantNext)
				}
			}
		}
	}
	if found < 2000 {
		t.Errorf("%d names found, which is too few", found)
	}
}
