package digest

import (
	"encoding/binary"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/quern-dev/quern/slowlog"
)

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Statements that repeat or nest one thing a hundred thousand times, with
// QUERN_LONG=1 a million, take memory in proportion to their length, whatever is
// made of them.
func TestHostileStatementsTakeBoundedMemory(t *testing.T) {
	const perByte = 1000 // an open parenthesis is remembered with what stands before it
	n := 100_000
	if os.Getenv("QUERN_LONG") == "1" {
		n *= 10
	}
	repeat := strings.Repeat
	for name, sql := range map[string]string{
		"parentheses":         "select " + repeat("(", n) + "1" + repeat(")", n),
		"open parentheses":    "select " + repeat("(", n),
		"closed parentheses":  "select " + repeat(")", n),
		"lists in lists":      "select a in " + repeat("(1,", n) + "1" + repeat(")", n),
		"subqueries":          repeat("select (", n/4) + "1" + repeat(")", n/4),
		"comments":            repeat("/* ", n) + repeat("*/", n),
		"executable comments": "select " + repeat("/*!50000 ", n/4) + "1" + repeat("*/", n/4),
		"hints":               "select " + repeat("/*+ a */ ", n/4) + "1",
		"quotes":              "select " + repeat("'", n) + repeat(`"`, n+1) + repeat("`", n),
		"backslashes":         "select '" + repeat(`\`, n),
		"signs":               "select " + repeat("- ", n) + "1",
		"a name":              "select " + repeat("a", n),
		"a dotted name":       "select " + repeat("a.", n) + "a",
		"a number":            "select " + repeat("1", n),
		"rows":                "insert into t values " + repeat("(1,'a',now()),", n/8) + "(1)",
		"different columns":   "select " + repeat("a, b, ", n/4) + "c",
		"statements":          repeat("select 1;", n/4),
		"tags":                repeat("/*a='1',b='2'*/ ", n/8) + "select 1",
		"a tag":               "/*a='" + repeat(`\'`, n) + "'*/ select 1",
		"unions":              "select 1" + repeat(" union select 1", n/8),
		"tables":              "select 1 from t" + repeat(", t", n/4),
		"NULs":                "select " + repeat("\x00", n),
		"bytes that no text":  "select " + repeat("\xff\xfe", n),
		"GBK":                 "select '" + repeat("\x95\x5c", n) + "'", // its second byte is a backslash
		"UTF-16":              "\xff\xfe" + repeat("s\x00", n),
	} {
		var f Fingerprinter
		percona := Fingerprinter{Options: FingerprintOptions{Style: StylePercona}}
		for what, do := range map[string]func(){
			"the fingerprint": func() { f.Append(nil, sql) },
			"the statement":   func() { f.Statement(sql) },
			"the tags":        func() { f.Tags(sql) },
			"Percona's ID":    func() { percona.PerconaID(sql) },
			"a class": func() {
				var agg Aggregator
				agg.Add(&slowlog.Event{Query: sql, Weight: 1})
				agg.Add(&slowlog.Event{Query: sql + " ", Weight: 1})
				agg.Profile().Top(1, ByTotalTime)[0].PerconaIDs()
			},
		} {
			if got, most := allocated(do), uint64(perByte*len(sql)+1<<20); got > most {
				t.Errorf("%s, %s: %d bytes allocated, %.0f for each of %d, want %d at most", name, what, got, float64(got)/float64(len(sql)), len(sql), perByte)
			}
		}
	}
}

// Bytes that claim to be a large profile are refused before memory is made for it.
func TestASmallProfileThatClaimsMuchTakesLittleMemory(t *testing.T) {
	valid := marshal(t, profileOf(t, Options{Histograms: []Measure{RowsSent}}, []*slowlog.Event{event("select 1", 1), event("select 2", 2)}))
	content := valid[frameHead : len(valid)-frameTail]
	for _, claim := range []uint64{1 << 16, 1 << 31, 1 << 40, math.MaxUint64} {
		for at := range content {
			forged := append(append([]byte(nil), content[:at]...), binary.AppendUvarint(nil, claim)...)
			forged = append(forged, content[at+1:]...)
			frame := closeFrame(append(openFrame(nil, profileMagic), forged...), 0)
			var p Profile
			if got := allocated(func() { _ = p.UnmarshalBinary(frame) }); got > 8<<20 {
				t.Errorf("%d in the place of byte %d of %d: %d bytes allocated", claim, at, len(content), got)
			}
		}
	}
}
