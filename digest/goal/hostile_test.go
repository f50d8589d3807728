package goal

import (
	"runtime"
	"strings"
	"testing"
)

// A text of goals may come from anybody who may write a command line.
func TestHostileGoalsTakeBoundedMemory(t *testing.T) {
	const n, perByte = 200_000, 200
	repeat := strings.Repeat
	for name, text := range map[string]string{
		"goals":             repeat("a:p95<1s;", n),
		"limits":            "a:p95<1s" + repeat(",p99<2s", n),
		"a page":            repeat("a", n) + ":p95<1s",
		"stars":             repeat("*", n) + ":p95<1s",
		"conditions":        "a{b=c" + repeat(",b=c", n) + "}:p95<1s",
		"braces":            repeat("{", n),
		"nested conditions": repeat("a{", n) + repeat("}", n) + ":p95<1s",
		"digits":            "a:p" + repeat("9", n) + "<1s",
		"a duration":        "a:p95<" + repeat("1h", n),
		"NULs":              repeat("\x00", n),
		"UTF-16":            "\xff\xfe" + repeat("a\x00", n),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		goals, err := Parse(text)
		runtime.ReadMemStats(&after)
		if err == nil && len(goals) == 0 {
			t.Errorf("%s: neither goals nor an error", name)
		}
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(perByte*len(text)+1<<20); got > most {
			t.Errorf("%s: %d bytes allocated for %d, want %d at most", name, got, len(text), most)
		}
	}
}
