package lexer

import "testing"

func TestRestoredScanGoesOn(t *testing.T) {
	const text = "a'b\\'\"' /* x *//*!50000 \"c\" */ -- it's\n`q``` /*/*/ # e\n'open"
	for i := range len(text) + 1 {
		s := Scan{Mode: NoBackslashEscapes}
		s.Feed([]byte(text[:i]))
		var r Scan
		r.Restore(s.Snapshot())
		for j := i; j <= len(text); j++ {
			a, b := s, r
			a.Feed([]byte(text[i:j]))
			b.Feed([]byte(text[i:j]))
			if a.Ground() != b.Ground() {
				t.Fatalf("cut at %d, at %d: restored %v, at once %v", i, j, b.Ground(), a.Ground())
			}
		}
	}
	for _, n := range []uint32{0xffffffff, 0xff, 13} {
		var s Scan
		s.Restore(n)
		s.Feed([]byte("'a*/ \\"))
	}
}
