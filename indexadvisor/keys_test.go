package indexadvisor

import (
	"math/big"
	"testing"
)

// Keys go from one end to the other: what is read up to the last is never below
// what is read from the first.
func TestKeysOfAColumn(t *testing.T) {
	zs, ffs := "zzzzzzzzzzzzzzzz", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
	for _, c := range []struct {
		typ, low, high   string
		from, middle, to string
		none             bool
		some             []string
	}{
		{typ: "int", low: "-3", high: "17", from: "-3", middle: "7", to: "18"},
		{typ: "bigint", low: "0", high: "18446744073709551615", from: "0", middle: "9223372036854775808", to: "18446744073709551616"},
		{typ: "date", low: "2024-02-28", high: "2024-03-01", from: "'2024-02-28 00:00:00'", middle: "'2024-02-29 00:00:00'", to: "'2024-03-01 00:00:01'"},
		{typ: "datetime", low: "2024-01-01 00:00:00.250000", high: "2024-01-01 00:00:10", from: "'2024-01-01 00:00:00'", middle: "'2024-01-01 00:00:05'", to: "'2024-01-01 00:00:11'"},
		{typ: "timestamp", low: "0000-00-00 00:00:00", high: "2024-01-01 00:00:10", none: true},
		{typ: "time", low: "00:00:00", high: "10:00:00", none: true},
		{typ: "decimal", low: "1.5", high: "2.5", none: true},
		{typ: "varchar", low: "id-100", high: "id-300", from: "''", middle: "_utf8mb4 x'69642d323030303030303030303030'", to: "_utf8mb4 x'69642d333030303030303030303031'", some: []string{"id-100", "id-300"}},
		{typ: "varchar", low: "A", high: zs, from: "''", middle: "_utf8mb4 x'6d7a7a7a7a7a7a7a7a7a7a7a'", to: "_utf8mb4 x'7a7a7a7a7a7a7a7a7a7a7a7a'", some: []string{"az", zs}},
		{typ: "varchar", low: "it's \\1", high: "it's \\1", from: "''", middle: "''", to: "_utf8mb4 x'69742773205c31303030303030303030303031'"},
		{typ: "binary", low: "\x00", high: ffs, from: "x'000000000000000000000000'", middle: "x'7fffffffffffffffffffffff'", to: "x'ffffffffffffffffffffffff'"},
	} {
		k, ok := keysOf(&Column{Type: c.typ}, c.low, c.high, c.some)
		if ok == c.none {
			t.Errorf("%s from %q to %q: keys %v, want %v", c.typ, c.low, c.high, ok, !c.none)
		}
		if !ok {
			continue
		}
		end := new(big.Int).Add(k.high, big.NewInt(1))
		middle := new(big.Int).Add(k.low, end)
		middle.Rsh(middle, 1)
		if from, mid, to := k.literal(k.low), k.literal(middle), k.literal(end); from != c.from || mid != c.middle || to != c.to {
			t.Errorf("%s from %q to %q:\n\tfrom %s, %s, to %s\n\twant %s, %s, %s", c.typ, c.low, c.high, from, mid, to, c.from, c.middle, c.to)
		}
	}
}
