package slowlog

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// forms are records as each server writes them, with {user}, {host}, {schema},
// {warning} and {sql} where a client has a say.
var forms = map[string]string{
	"MySQL 5.0": `# Time: 261130 11:26:27
# User@Host: {user}[{user}] @ {host} [10.0.0.1]
# Query_time: 2  Lock_time: 0  Rows_sent: 1  Rows_examined: 3
use {schema};
SET timestamp=1796037987;
{sql};
`,
	"MySQL 5.6": `# Time: 261130 11:26:27
# User@Host: {user}[{user}] @ {host} [10.0.0.1]  Id:     8
# Query_time: 2.000000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 3
use {schema};
SET timestamp=1796037987;
{sql};
`,
	"MySQL 8.0": `# Time: 2026-11-30T11:26:27.000001Z
# User@Host: {user}[{user}] @ {host} [10.0.0.1]  Id:     8
# Query_time: 2.000000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 3
use {schema};
SET timestamp=1796037985;
{sql};
`,
	"MySQL 8.0, log_slow_extra": `# Time: 2026-11-30T11:26:27.000001Z
# User@Host: {user}[{user}] @ {host} [10.0.0.1]  Id:     8
# Query_time: 2.000000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 3 Thread_id: 8 Errno: 0 Killed: 0 Bytes_received: {bytes} Bytes_sent: 56 Read_first: 0 Read_last: 0 Read_key: 0 Read_next: 0 Read_prev: 0 Read_rnd: 0 Read_rnd_next: 0 Sort_merge_passes: 0 Sort_range_count: 0 Sort_rows: 0 Sort_scan_count: 0 Created_tmp_disk_tables: 0 Created_tmp_tables: 0 Start: 2026-11-30T11:26:25.000001Z End: 2026-11-30T11:26:27.000001Z
use {schema};
SET timestamp=1796037985;
{sql};
`,
	"Percona Server 8.0": `# Time: 2026-11-30T11:26:27.000001Z
# User@Host: {user}[{user}] @ {host} [10.0.0.1]  Id:     8
# Schema: {schema}  Last_errno: 0  Killed: 0
# Query_time: 2.000000  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 3  Rows_affected: 0  Bytes_sent: 56
# QC_Hit: No  Full_scan: No  Full_join: No  Tmp_table: No  Tmp_table_on_disk: No
# Filesort: No  Filesort_on_disk: No  Merge_passes: 0
use {schema};
SET timestamp=1796037985;
{sql};
`,
	"MariaDB 10.11": `# Time: 261130 11:26:27
# User@Host: {user}[{user}] @ {host} [10.0.0.1]
# Thread_id: 8  Schema: {schema}  QC_hit: No
# Query_time: 2.000000  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 3
# Rows_affected: 0  Bytes_sent: 56
# Warnings
# Warning 1292 Truncated incorrect INTEGER value: '{warning}'
use {schema};
SET timestamp=1796037987;
{sql};
`,
	"TiDB": `# Time: 2026-11-30T11:26:27.000001Z
# Txn_start_ts: 406315658548871171
# User@Host: {user}[{user}] @ {host} [10.0.0.1]
# Conn_ID: 8
# Query_time: 2.0
# Parse_time: 0.0004
# DB: {schema}
# Is_internal: false
# Succ: true
use {schema};
{sql};
`,
}

// A client writes records of its own into every place where it has a say, in every
// dialect. In a literal, a comment or a quoted name of the statement they are text.
// Elsewhere a log may not tell them from a server's: there they cost at most the
// record that they stand in.
func TestFakeRecordsCostAtMostTheirOwn(t *testing.T) {
	fill := func(form string, with map[string]string) string {
		with = maps.Clone(with)
		with["{bytes}"] = strconv.Itoa(len(with["{sql}"]) + 1)
		for place, text := range with {
			form = strings.ReplaceAll(form, place, text)
		}
		return form
	}
	plain := map[string]string{"{user}": "app", "{host}": "web1", "{schema}": "shop", "{warning}": "x", "{sql}": "SELECT 'one'"}
	for dialect, form := range forms {
		fakes := map[string]string{
			"a whole record":  fill(form, map[string]string{"{user}": "root", "{host}": "h", "{schema}": "mysql", "{warning}": "y", "{sql}": "SELECT 666"}),
			"a short record":  "# User@Host: a[a] @ h []\n# Query_time: 9  Lock_time: 0  Rows_sent: 1  Rows_examined: 0\nSET timestamp=1;\nSELECT 666;\n",
			"a Query_time":    "# Query_time: 9\nSELECT 666;\n",
			"a Time":          "# Time: 200101  0:00:00\n",
			"a command":       "# administrator command: Quit;\n",
			"a banner":        "/usr/sbin/mysqld, Version: 9.9.9 (x). started with:\nTcp port: 1  Unix socket: /x\nTime                 Id Command    Argument\n",
			"a use and a SET": "use mysql;\nSET timestamp=1;\n",
		}
		for kind, fake := range fakes {
			for _, place := range []string{"SELECT 'a', '%'", `SELECT "%"`, "SELECT 1 /* % */", "SELECT 1 AS `%`", "INSERT INTO t VALUES ('%'),('%')",
				"{user}", "{host}", "{schema}", "{warning}"} {
				evil := "x\n" + fake
				with := maps.Clone(plain)
				inStatement := strings.Contains(place, "%")
				if inStatement {
					with["{sql}"] = strings.ReplaceAll(place, "%", strings.ReplaceAll(evil, "'", "''"))
				} else {
					with[place] = evil
				}
				before, after := fill(form, plain), fill(form, plain)
				clean, _, _ := readAll(t, []byte(before+after))
				got, _, _ := readAll(t, []byte(before+fill(form, with)+after))
				name := fmt.Sprintf("%s: %s in %s", dialect, kind, place)
				if len(got) < 2 {
					t.Errorf("%s: %d events", name, len(got))
					continue
				}
				if diff := gocmp.Diff(clean, []*Event{got[0], got[len(got)-1]}, eventOpts, placeless); diff != "" {
					t.Errorf("%s: the records around it (-want +got):\n%s", name, diff)
				}
				if inStatement && (len(got) != 3 || got[1].Query != with["{sql}"] || got[1].QueryTime != clean[0].QueryTime || got[1].User != "app") {
					t.Errorf("%s: %d events, the second %q of %v", name, len(got), got[1].Query, got[1].QueryTime)
				}
				if len(got) > 4 {
					t.Errorf("%s: %d events of 3 records", name, len(got))
				}
			}
		}
	}
}
