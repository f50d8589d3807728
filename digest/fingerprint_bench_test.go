package digest

import (
	"runtime"
	"strings"
	"testing"
)

const shortSelect = `SELECT o.id, o.total, c.name FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.status = 'shipped' AND o.created_at > '2024-01-01 00:00:00' AND o.shop_id IN (1, 2, 3, 4, 5) ORDER BY o.created_at DESC LIMIT 20`

func bulkInsert() string {
	return "INSERT INTO events (id, name, created_at, score) VALUES " +
		strings.Repeat("(12345,'some name','2024-01-01 00:00:00',4.75),", 1000) + "(1,'it''s',NULL,-1)"
}

func BenchmarkAppend(b *testing.B) {
	for _, bm := range []struct{ name, sql string }{
		{"select", shortSelect},
		{"bulk", bulkInsert()},
		{"blob", "INSERT INTO t VALUES (1, '" + strings.Repeat("abcdefgh", 1<<14) + "')"},
		{"inlist", "SELECT a FROM t WHERE b IN (" + strings.Repeat("123456, ", 2000) + "7)"},
	} {
		b.Run(bm.name, func(b *testing.B) {
			var f Fingerprinter
			var dst []byte
			b.SetBytes(int64(len(bm.sql)))
			b.ReportAllocs()
			for b.Loop() {
				dst = f.Append(dst[:0], bm.sql)
			}
		})
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	var f Fingerprinter
	var dst []byte
	for _, sql := range append(statements, shortSelect, bulkInsert()) {
		dst = f.Append(dst[:0], sql)
		if n := testing.AllocsPerRun(10, func() { dst = f.Append(dst[:0], sql) }); n != 0 {
			t.Errorf("%v allocations for %.40q", n, sql)
		}
	}
}

func TestLongLiteralsTakeNoMemory(t *testing.T) {
	blob := "INSERT INTO t VALUES (1, '" + strings.Repeat("x", 10<<20) + "'), (2, x'" + strings.Repeat("41", 1<<20) + "')"
	var f Fingerprinter
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := string(f.Append(nil, blob))
	runtime.ReadMemStats(&after)
	if got != "insert into t values(?+)" {
		t.Errorf("got %q", got)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<16 {
		t.Errorf("%d bytes allocated", n)
	}
}
