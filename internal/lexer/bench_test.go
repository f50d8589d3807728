package lexer

import (
	"strings"
	"testing"
)

const benchSelect = `SELECT o.id, o.total, c.name FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.status = 'shipped' AND o.created_at > '2024-01-01 00:00:00' AND o.shop_id IN (1, 2, 3, 4, 5) ORDER BY o.created_at DESC LIMIT 20`

func BenchmarkNext(b *testing.B) {
	b.SetBytes(int64(len(benchSelect)))
	for b.Loop() {
		var l Lexer
		l.Init(benchSelect, 0)
		for l.Next().Kind != EOF {
		}
	}
}

func BenchmarkScan(b *testing.B) {
	for _, bm := range []struct{ name, text string }{
		{"select", benchSelect},
		{"rows", strings.Repeat("(12345,'some name','2024-01-01 00:00:00',4.75),", 1000)},
		{"blob", "'" + strings.Repeat("abcdefgh", 1<<14) + "'"},
	} {
		b.Run(bm.name, func(b *testing.B) {
			text := []byte(bm.text)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				var s Scan
				s.Feed(text)
			}
		})
	}
}
