package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNoFileIsWrittenByTwoOrReadAndWritten(t *testing.T) {
	log, _ := percona(t, 20, 1)
	slow := writeFile(t, "slow.log", log)
	dir := filepath.Dir(slow)
	old, out := filepath.Join(dir, "old"), filepath.Join(dir, "out")
	if o := topqueries(t, t.Context(), nil, "-save", old, slow); o.Status != 0 {
		t.Fatal(o.Stderr)
	}
	for _, tt := range []struct {
		args []string
		want string // on standard error; empty if it is fine
	}{
		{[]string{"-o", out, "-save", out}, "-o and -save are both " + out},
		{[]string{"-o", slow, "-save", dir + "/./slow.log"}, "-o is the log " + slow},
		{[]string{"-save", dir + "/./slow.log"}, "-save is the log " + slow},
		{[]string{"-diff", old, "-o", old}, "-o is the file " + old + " of -diff"},
		{[]string{"-diff", old, "-save", old}, ""}, // it is read before it is written
		{[]string{"-o", os.DevNull, "-save", os.DevNull}, ""},
	} {
		o := topqueries(t, t.Context(), nil, append(tt.args, slow)...)
		if tt.want == "" && o.Status != 0 || tt.want != "" && (o.Status != 2 || !strings.Contains(o.Stderr, tt.want)) {
			t.Errorf("%v: status %d, %s, want %q", tt.args, o.Status, o.Stderr, tt.want)
		}
	}
	if got, err := os.ReadFile(slow); err != nil || string(got) != string(log) {
		t.Errorf("the log has changed, %v", err)
	}
}

// A device that is full is told, whatever is written to it.
func TestAFullDeviceIsAnError(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no device that is always full: ", err)
	}
	log, _ := percona(t, 20, 1)
	slow := writeFile(t, "slow.log", log)
	for _, args := range [][]string{{"-save", "/dev/full"}, {"-o", "/dev/full"}, {"-o", "/dev/full", "-format", "json"}, {"-o", "/dev/full", "-format", "html"}} {
		if o := topqueries(t, t.Context(), nil, append(args, slow)...); o.Status != 1 || !strings.Contains(o.Stderr, "no space left") {
			t.Errorf("%v: status %d, %q, want 1 and no space left", args, o.Status, o.Stderr)
		}
	}
}

// What cannot be written whole does not take the place of what was there.
func TestAFailedWriteLeavesTheOldFile(t *testing.T) {
	name := writeFile(t, "profile", []byte("old"))
	err := replaceFile(name, func(f *os.File) error {
		f.WriteString("half")
		return os.ErrDeadlineExceeded
	})
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(name), "*"))
	got, _ := os.ReadFile(name)
	if err != os.ErrDeadlineExceeded || string(got) != "old" || len(left) != 1 {
		t.Errorf("error %v, %q in the file, %q in its directory; want the error, the old text, and no other file", err, got, left)
	}
}
