package slowlog_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quern-dev/quern/slowlog"
)

// Names and messages with line breaks, as servers write them, and lines that are
// torn where such a name could begin.
func TestLineBreaksInNamesAndMessages(t *testing.T) {
	const (
		values = "# Query_time: 0.1  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 1\n"
		next   = "# User@Host: app[app] @ localhost []  Id: 8\n" + values + "SET timestamp=1796040001;\nSELECT 'next';\n"
	)
	type record struct{ User, Schema, Query, Warnings string }
	after := record{"app", "", "SELECT 'next'", ""}
	for _, c := range []struct {
		name string
		log  string
		want []record
	}{
		{
			"user",
			"# User@Host: u\nv[u\nv] @ localhost []  Id: 7\n" + values + "SET timestamp=1796040000;\nSELECT 1;\n" + next,
			[]record{{"u\nv", "", "SELECT 1", ""}, after},
		},
		{
			"torn user line",
			"# User@Host: u\n" + next,
			[]record{after},
		},
		{
			"schema of MariaDB",
			"# User@Host: u[u] @ localhost []\n# Thread_id: 7  Schema: s\n# Query_time: 9  Lock_time: 0  QC_hit: No\n" + values + "use `s\n# Query_time: 9  Lock_time: 0`;\nSET timestamp=1796040000;\nSELECT 1;\n" + "# User@Host: app[app] @ localhost []\n# Thread_id: 8  Schema:   QC_hit: No\n" + values + "SET timestamp=1796040001;\nSELECT 'next';\n",
			[]record{{"u", "s\n# Query_time: 9  Lock_time: 0", "SELECT 1", ""}, after},
		},
		{
			"schema of Percona Server",
			"# User@Host: u[u] @ localhost []  Id: 7\n# Schema: s\nt  Last_errno: 0  Killed: 0\n" + values + "SET timestamp=1796040000;\nSELECT 1;\n" + next,
			[]record{{"u", "s\nt", "SELECT 1", ""}, after},
		},
		{
			"schema line of old servers, with nothing behind the name",
			"# User@Host: u[u] @ localhost []\n# Thread_id: 7  Schema: s\n" + values + "SELECT 1;\n" + next,
			[]record{{"u", "s", "SELECT 1", ""}, after},
		},
		{
			"use of MySQL",
			"# User@Host: u[u] @ localhost []  Id: 7\n" + values + "use s\nSET timestamp=1;;\nSET timestamp=1796040000;\nSELECT 1;\n" + next,
			[]record{{"u", "s\nSET timestamp=1;", "SELECT 1", ""}, {"app", "s\nSET timestamp=1;", "SELECT 'next'", ""}},
		},
		{
			"statement that begins with use",
			"# User@Host: u[u] @ localhost []  Id: 7\n" + values + "use\nit;\n" + next,
			[]record{{"u", "", "use\nit", ""}, after},
		},
		{
			"warning",
			"# User@Host: u[u] @ localhost []  Id: 7\n" + values + "# Warnings\n# Warning 1466 Leading spaces are removed from name '\nSET timestamp=1;\nuse x;\n'\n# Note 1051 Unknown table 's.t'\nuse `s`;\nSET timestamp=1796040000;\nSELECT 1;\n" + next,
			[]record{{"u", "s", "SELECT 1", "Warning 1466 Leading spaces are removed from name '\nSET timestamp=1;\nuse x;\n'\nNote 1051 Unknown table 's.t'"}, {"app", "s", "SELECT 'next'", ""}},
		},
		{
			"warning with an apostrophe",
			"# User@Host: u[u] @ localhost []  Id: 7\n" + values + "# Warnings\n# Error 1010 Can't do it\nSET timestamp=1796040000;\nSELECT \"it's\";\n" + next,
			[]record{{"u", "", "SELECT \"it's\"", "Error 1010 Can't do it"}, after},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []record
			for ev, err := range slowlog.NewReader(strings.NewReader(c.log)).All() {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, record{ev.User, ev.Schema, ev.Query, ev.Warnings})
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
