package digest

import (
	"bufio"
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quern-dev/quern/slowlog"
)

func TestSkeletons(t *testing.T) {
	for _, tt := range []struct{ sql, want string }{
		{"SELECT a FROM t WHERE b = 'x' AND c IN (1, 2) /* d */", "SELECT a FROM t WHERE b = \x03 AND c IN (\x05) \x06"},
		{"select 1.5e-3, 0xAF, 2.5, t1.c2, `1`, 'it''s' from t", "select \x01, \x02, \x01, t1.c2, `1`, \x03 from t"},
		{"select f(1,2) from t where a in(c, 1)", "select f(\x01,\x01) from t where a in(c, \x01)"},
		{`select 'a\'b', 'a\\', 'x\\\'', ''`, "select \x03, \x03, \x03, \x03"},
		{"select -5, a-1, 5--3", "select -\x01, a-\x01, \x01--\x01"},
		{"select a -- it's\n, b # \x01\n from t --", "select a \x06\n, b \x06\n from t \x06"},
	} {
		got, ok := appendSkeleton(nil, tt.sql)
		if string(got) != tt.want || !ok {
			t.Errorf("%s\n got %q, %v\nwant %q", tt.sql, got, ok, tt.want)
		}
	}
	for _, sql := range []string{
		"select /*+ hint(1) */ 1", "select /*!40001 1 */ 2", "select 1e", "select 1st from t", "select N'x'",
		"select .5", "select 'a\\'", "select 'x", "select `x", "select /* x", "select a\x01", `select \N5e+1`, "select `a\x01`", "select @1", "select 'a'b",
	} {
		if got, ok := appendSkeleton(nil, sql); ok {
			t.Errorf("%s: has the skeleton %q", sql, got)
		}
	}
}

// checkSkeleton holds the fingerprints of statements with one skeleton against
// each other: that of sql, and that of sql with other literals in their place.
func checkSkeleton(t *testing.T, sql string, seed uint64) {
	t.Helper()
	skeleton, ok := appendSkeleton(nil, sql)
	if !ok {
		return
	}
	r := rand.New(rand.NewPCG(seed, 0))
	other := refill(skeleton, r)
	again, ok := appendSkeleton(nil, other)
	if !ok || !bytes.Equal(again, skeleton) {
		return // the random literal was none of a plain statement
	}
	if a, b := Fingerprint(sql), Fingerprint(other); a != b {
		t.Fatalf("one skeleton, two fingerprints:\n%q\n\t%q\n%q\n\t%q", sql, a, other, b)
	}
}

// refill puts random literals and comments in the place of a skeleton's marks.
func refill(skeleton []byte, r *rand.Rand) string {
	of := map[byte][]string{
		numberSlot:  {"0", "7", "123456", "3.25", "1e5", "2.5E-3"},
		hexSlot:     {"0x1F", "0x00", "0xabcdef"},
		singleSlot:  {"'x'", "''", "'it''s'", "'-- x'", "'a;b'", "'\\n'", `'it\'s'`, `'\\'`, "'/*'", "'2024-01-01'"},
		doubleSlot:  {"\"y\"", "\"\"", "\"it's\"", "\"a\"\"b\""},
		commentSlot: {"/* x */", "/**/", "/* 'it */", "/* \" # */"},
	}
	pick := func(slot byte) string { return of[slot][r.IntN(len(of[slot]))] }
	lines := []string{"-- x", "--", "--\t'it", "# \" /*"}
	var b strings.Builder
	for i, c := range skeleton {
		switch c {
		case commentSlot:
			if comment := pick(c); r.IntN(2) == 0 && (i+1 == len(skeleton) || skeleton[i+1] == '\n') {
				b.WriteString(lines[r.IntN(len(lines))])
			} else {
				b.WriteString(comment)
			}
		case listSlot:
			b.WriteString(pick(numberSlot + byte(r.IntN(4))))
			for range r.IntN(4) {
				b.WriteString(", " + pick(numberSlot+byte(r.IntN(4))))
			}
		case numberSlot, hexSlot, singleSlot, doubleSlot:
			b.WriteString(pick(c))
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func TestStatementsOfOneSkeletonHaveOneFingerprint(t *testing.T) {
	byPrint := map[string]string{}
	check := func(sql string) {
		for seed := range uint64(5) {
			checkSkeleton(t, sql, seed)
		}
		if s, ok := appendSkeleton(nil, sql); ok {
			fp := Fingerprint(sql)
			if have, ok := byPrint[string(s)]; ok && have != fp {
				t.Fatalf("skeleton %q has two fingerprints:\n%q\n%q", s, have, fp)
			}
			byPrint[string(s)] = fp
		}
	}
	for _, pattern := range []string{"../../shared/samples/servers/slow/*/*.log", "../../shared/samples/public/slow/*"} {
		names, _ := filepath.Glob(pattern)
		for _, name := range names {
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			for ev, err := range slowlog.NewReader(f).All() {
				if err != nil {
					t.Fatal(err)
				}
				check(ev.Query)
			}
			f.Close()
		}
	}
	names, _ := filepath.Glob("../../shared/samples/public/sql/*")
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for sc := bufio.NewScanner(f); sc.Scan(); {
			check(sc.Text())
		}
		f.Close()
	}
	for _, sql := range skeletonSeeds {
		check(sql)
	}
}

var skeletonSeeds = []string{
	"select 'a' 'b', 'c'\n'd' from t where a in (1) and b in ('x', 2) or c not in(3,4)",
	"insert into t (a, b) values (1, 'x'), (2, now()) on duplicate key update a = values(a) + 1",
	"select a from t limit 1, 2", "select a from t order by 2 limit 3 offset 4", "select date '2024-01-01', x between -1 and - 2",
	"update t set a = a - 1 where b is null", "select 1 /* x */ from t", "select/**/1", "select a/2, a /'x', 5 - -3", "call p(1, 'x')",
	"select case when 1 then 'x' else 2 end", "select (1), ((2)), (1, 2) in ((1, 2))", "set names 'utf8'", "select 1;", "select 1; select 2",
	"select 1 -- x", "select a, -- 'it\n b # \"\n from t /* x */\n--", "select 5--3, 5---\n3, a-- b", "select a#b", "select 1--\n+1",
	"select a from t where a like 'x' escape '|'", "select interval 1 day + '2020-01-01'", "select t.1 from t", "select 1 'x', 'y' \"z\"",
}

func FuzzSkeleton(f *testing.F) {
	for i, sql := range skeletonSeeds {
		f.Add(sql, uint64(i))
	}
	f.Fuzz(func(t *testing.T, sql string, seed uint64) { checkSkeleton(t, sql, seed) })
}

func BenchmarkSkeleton(b *testing.B) {
	sql := "SELECT o.id, o.total, l.sku FROM orders_17 o INNER JOIN order_line l ON l.order_id = o.id WHERE o.customer_id = 1234567 AND o.created_at >= '2025-03-04 00:00:00' ORDER BY o.created_at DESC LIMIT 100, 20"
	b.Run("skeleton", func(b *testing.B) {
		var p printer
		var dst []byte
		b.SetBytes(int64(len(sql)))
		for b.Loop() {
			dst = p.Append(dst[:0], sql)
		}
	})
	b.Run("lexer", func(b *testing.B) {
		var p Fingerprinter
		var dst []byte
		b.SetBytes(int64(len(sql)))
		for b.Loop() {
			dst = p.Append(dst[:0], sql)
		}
	})
}
