package slowlog

import (
	"fmt"
	"strings"
	"testing"
)

// TestLinesUnlikeTheExpectedOnes reads logs whose headers differ in one way: each
// reads the same whether the one before it is known or not.
func TestLinesUnlikeTheExpectedOnes(t *testing.T) {
	record := func(header string) string {
		return "# Time: 2026-11-30T11:26:27.000001Z\n# User@Host: app[app] @ web1 [10.0.0.5]  Id:    51\n" + header + "SET timestamp=1796037987;\nSELECT 1;\n"
	}
	const (
		schema = "# Schema: shop  Last_errno: 0  Killed: 0\n"
		times  = "# Query_time: 0.002187  Lock_time: 0.000022  Rows_sent: 84  Rows_examined: 84059\n"
		plan   = "# Full_scan: No  Full_join: No  Merge_passes: 0\n"
		trx    = "# InnoDB_trx_id: 17E9D186\n"
		maria  = "# Thread_id: 7  Schema: shop  QC_hit: No\n"
		extra  = "# Start: 2026-11-30T11:26:27.000001Z End: 2026-11-30T11:26:28.000001Z\n"
		sample = "# Log_slow_rate_type: query  Log_slow_rate_limit: 7\n"
		names  = "# Future: a  Stored_routine: shop.f\n# DB: shop\n# Tag: x  Count: 5\n"
		all    = schema + times + plan + trx + extra + sample + names
	)
	for _, change := range []struct{ name, old, new string }{
		{"nothing", "", ""},
		{"another schema", "Schema: shop", "Schema: s"},
		{"no schema", "Schema: shop", "Schema: "},
		{"a schema with a blank", "Schema: shop", "Schema: my shop"},
		{"a schema like a value", "Schema: shop", "Schema: Last_errno: 5"},
		{"a schema like a key", "Schema: shop", "Schema: Last_errno:"},
		{"a schema of two lines", "Schema: shop", "Schema: sh\nop"},
		{"the schema's values twice", "Killed: 0", "Killed: 0  Last_errno: 1"},
		{"a text like a key", "17E9D186", "Name:"},
		{"a text with a blank", "17E9D186", "17E9 D186"},
		{"a text before a key", "Tag: x", "Tag: x: y"},
		{"a key for a text", "Tag: x", "Tag: Last_errno:"},
		{"no text", "17E9D186", ""},
		{"more blanks", "Lock_time: ", "Lock_time:   "},
		{"no blank", "Lock_time: ", "Lock_time:"},
		{"a blank at the end", "84059\n", "84059 \n"},
		{"a carriage return", "84059\n", "84059\r\n"},
		{"only carriage returns", "84059\n", "84059\r"},
		{"a tab", "84  Rows", "84\tRows"},
		{"a suspect count", "84059", "18446744073709551615"},
		{"a large count", "84059", "9223372036854775807"},
		{"a negative count", "84059", "-1"},
		{"no count", "84059", "many"},
		{"an exponent", "0.000022", "2.2e-05"},
		{"a time that is none", "0.000022", "nan"},
		{"a time of centuries", "0.002187", "18446744073709.551615"},
		{"another truth", "Full_scan: No", "Full_scan: Yes"},
		{"no truth", "Full_scan: No", "Full_scan: Perhaps"},
		{"more than a truth", "Full_scan: No", "Full_scan: None"},
		{"half a truth", "Full_scan: No", "Full_scan: Y"},
		{"a truth of small letters", "Full_scan: No", "Full_scan: no"},
		{"a bad instant", "End: 2026-11-30", "End: 2026-13-30"},
		{"no rate", "Log_slow_rate_limit: 7", "Log_slow_rate_limit: x"},
		{"an unknown key less", "Future: a  ", ""},
		{"an unknown key more", "Future: a", "Future: a  Past: b"},
		{"a line less", plan, ""},
		{"a line twice", plan, plan + plan},
		{"Query_time twice", times, times + times},
		{"lines in another order", plan + trx, trx + plan},
		{"a blank line", plan, "\n" + plan},
		{"a line without its #", plan, "  Tmp_tables: 1  Tmp_disk_tables: 0\n" + plan},
		{"a plan", plan, plan + "#\n# explain: id\ttable\n"},
		{"no InnoDB statistics", trx, "# No InnoDB statistics available for this query\n"},
		{"a warning", trx, trx + "# Warning 1062 Duplicate\n"},
		{"MariaDB's line", schema, maria},
		{"a user without a thread", "  Id:    51", ""},
		{"a thread beyond numbers", "Id:    51", "Id: 99999999999999999999"},
		{"a user of two lines", "app[app]", "a\np[a\np]"},
		{"no user", "# User@Host: app[app] @ web1 [10.0.0.5]  Id:    51\n", ""},
		{"another time", "11:26:27.000001Z", "11:27:27.100001Z"},
		{"a shorter time", "11:26:27.000001Z", "11:27:27Z"},
		{"a time that is none", "11:26:27.000001Z", "11:26:77.000001Z"},
		{"a time and a user on one line", ".000001Z\n# User", ".000001Z # User"},
		{"no time", "# Time: 2026-11-30T11:26:27.000001Z\n", ""},
		{"no Query_time", times, ""},
		{"an administrator's command", "SET timestamp=1796037987;\nSELECT 1;", "# administrator command: Quit;"},
	} {
		t.Run(change.name, func(t *testing.T) {
			for _, header := range []string{all, schema + times, times + extra, maria + times + plan + sample} {
				first := record(header)
				second := strings.Replace(first, change.old, change.new, 1)
				checkEveryWay(t, []byte(first+second+first+second+second+first), 150)
			}
		})
	}
}

// TestLinesAreExpectedOnce holds that what is expected of a header stays short when
// a line cannot be read as expected.
func TestLinesAreExpectedOnce(t *testing.T) {
	const record = "# User@Host: a[a] @ h []  Id: 1\n# Query_time: -1  Lock_time: 0\n# Tag: a b\nSELECT 1;\n"
	r := NewReader(strings.NewReader(strings.Repeat(record, 100)))
	r.ReuseEvent = true
	for _, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := len(r.dec.expected.lines); n != 3 {
		t.Errorf("%d lines are expected of headers of 3 lines", n)
	}
}

// TestMoreClientsThanAreKept reads records of clients who are many and alike.
func TestMoreClientsThanAreKept(t *testing.T) {
	const clients = 3 << clientBits
	var log strings.Builder
	for i := range 3 * clients {
		n := i * 7919 % clients
		fmt.Fprintf(&log, "# User@Host: app%d[app%d] @ web%d.example [10.0.%d.%d]  Id: %5d\n# Query_time: 0.1  Lock_time: 0\nSELECT %d;\n", n%7, n%7, n%90, n/256, n%256, i, n)
	}
	r := NewReader(strings.NewReader(log.String()))
	r.ReuseEvent = true
	type who struct {
		user, account, host, ip string
		id                      uint64
		query                   string
	}
	events := 0
	for ev, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		i := events
		n := i * 7919 % clients
		user := fmt.Sprintf("app%d", n%7)
		want := who{user, user, fmt.Sprintf("web%d.example", n%90), fmt.Sprintf("10.0.%d.%d", n/256, n%256), uint64(i), fmt.Sprintf("SELECT %d", n)}
		if got := (who{ev.User, ev.Account, ev.Host, ev.IP, ev.ThreadID, ev.Query}); got != want {
			t.Fatalf("event %d: got %+v, want %+v", i, got, want)
		}
		events++
	}
	kept := 0
	for i := range r.dec.clients {
		if r.dec.clients[i].line != "" {
			kept++
		}
	}
	if events != 3*clients || kept < 1<<clientBits/2 || kept > 1<<clientBits {
		t.Errorf("%d events and %d clients kept, want %d and nearly %d", events, kept, 3*clients, 1<<clientBits)
	}
}

func TestSixDigitsAtOnce(t *testing.T) {
	for n := int64(0); n < 1_000_000; n += 37 {
		text := fmt.Sprintf(".%06d ", n)
		if us, ok := micros(text); us != n || !ok {
			t.Fatalf("%q: read as %d, %v", text, us, ok)
		}
	}
	for i := range 8 {
		for c := range 256 {
			text := []byte(".987654 ")
			text[i] = byte(c)
			want := i == 0 && c == '.' || i > 0 && i < 7 && c >= '0' && c <= '9' || i == 7 && (c < '0' || c > '9')
			if _, ok := micros(string(text)); ok != want {
				t.Errorf("%q: read %v, want %v", text, ok, want)
			}
		}
	}
	if _, ok := micros(".123456"); ok {
		t.Error("what follows the digits is not known")
	}
}
