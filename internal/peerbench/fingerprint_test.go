package peerbench

import (
	"strings"
	"testing"

	sqllexer "github.com/DataDog/go-sqllexer"
	"github.com/percona/go-mysql/query"
	"github.com/pingcap/tidb/pkg/parser"

	"github.com/quern-dev/quern/digest"
)

// texts are the statements that the fingerprinters are timed on.
var texts = []struct{ name, sql string }{
	{"select", `SELECT o.id, o.total, c.name FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.status = 'shipped' AND o.created_at > '2024-01-01 00:00:00' AND o.shop_id IN (1, 2, 3, 4, 5) ORDER BY o.created_at DESC LIMIT 20`},
	{"insert", "INSERT INTO events (id, name, created_at, score) VALUES " +
		strings.TrimSuffix(strings.Repeat("(12345,'some name','2024-01-01 00:00:00',4.75),", 1000), ",")},
}

func BenchmarkFingerprint(b *testing.B) {
	normalizer := sqllexer.NewNormalizer(sqllexer.WithCollectTables(false))
	obfuscator := sqllexer.NewObfuscator(sqllexer.WithReplaceDigits(false))
	var f digest.Fingerprinter
	var dst []byte
	for _, peer := range []struct {
		name string
		run  func(sql string)
	}{
		{"quern", func(sql string) { dst = f.Append(dst[:0], sql) }},
		{"go-mysql", func(sql string) { query.Fingerprint(sql) }},
		{"tidb", func(sql string) { parser.NormalizeDigest(sql) }},
		{"go-sqllexer", func(sql string) {
			sqllexer.ObfuscateAndNormalize(sql, obfuscator, normalizer, sqllexer.WithDBMS(sqllexer.DBMSMySQL))
		}},
	} {
		for _, text := range texts {
			b.Run(peer.name+"/"+text.name, func(b *testing.B) {
				b.SetBytes(int64(len(text.sql)))
				b.ReportAllocs()
				start := cpuTime()
				n := 0
				for b.Loop() {
					peer.run(text.sql)
					n++
				}
				b.ReportMetric(float64(cpuTime()-start)/float64(n), "cpu-ns/op")
			})
		}
	}
}
