package slowlog_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/quern-dev/quern/internal/testservers"
	"github.com/quern-dev/quern/slowlog"
)

// Accounts and schemas may have names that look like a part of a log.
func TestServerLogWithHostileNames(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		l := newLab(t, srv)
		users := []string{"a b", "x[y] @ z []", "it's", "#", "Id:  7", "日本", "u\nv", "u\n# Time: 200101  0:00:00"}
		schemas := []string{"a b", "x;", "use y", "it's", "Schema: q  QC_hit: No", "Last_errno: 1", "tick`s", "日本",
			"s\nt", "s\nSET timestamp=1;", "s\n# Query_time: 9  Lock_time: 0"}
		for _, u := range users {
			q := "'" + strings.ReplaceAll(u, "'", "''") + "'"
			l.exec("CREATE USER IF NOT EXISTS "+q+" IDENTIFIED BY 'secret'", "GRANT ALL ON *.* TO "+q)
		}
		for _, s := range schemas {
			q := "`" + strings.ReplaceAll(s, "`", "``") + "`"
			l.exec("CREATE DATABASE IF NOT EXISTS " + q)
		}
		for _, settings := range verbosities[srv.Flavor] {
			t.Run(strings.Join(settings, ","), func(t *testing.T) {
				l := &lab{t: t, srv: srv, control: l.control}
				l.begin(settings...)
				for _, u := range users {
					c := l.connect(u, "shop", true)
					c.run(step{sql: "SELECT 'by a user'"})
					c.run(step{sql: "SELECT 'once more'"})
				}
				for _, s := range schemas {
					c := l.connect("app", s, true)
					c.run(step{sql: "SELECT 'in a schema'"})
					c.run(step{sql: "SELECT 'once more'"})
				}
				// MariaDB's messages quote what the client sent.
				c := l.connect("app", "shop", false)
				for _, name := range []string{"\nSET timestamp=1;\nuse x;\n", "\n# Time: 200101  0:00:00\n", " it's", " plain"} {
					c.run(step{sql: "SELECT 1 AS `" + name + "`"})
					c.run(step{sql: "SELECT 'a string'"})
				}
				c.run(step{sql: "DROP TABLE IF EXISTS `\n# Query_time: 9  Lock_time: 0\nuse x;`, no_table"})
				c.run(step{sql: "SELECT CAST('x\nSET timestamp=1;' AS SIGNED)"})
				log := l.end()
				l.check(log, slowlog.NewReader(bytes.NewReader(log)))
			})
		}
	}, "--local-infile=ON")
}
