package logfile_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/quern-dev/quern/slowlog/logfile"
)

func TestACutFileIsReadUpToItsCutAndIsAnError(t *testing.T) {
	text := "# Time: 2026-01-01T00:00:00.000000Z\n"
	for range 100 {
		text += strings.Repeat(string(rune('a'+rand.IntN(26))), 1+rand.IntN(9)) + "\n"
	}
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write([]byte(text))
	w.Close()
	f, err := logfile.New(bytes.NewReader(z.Bytes()[:z.Len()-30]), "cut.gz")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(f)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v, want unexpected EOF", err)
	}
	if len(got) == 0 || !strings.HasPrefix(text, string(got)) {
		t.Errorf("read %q, want a beginning of the text", got)
	}
}

// gzip(1) reads members one behind the other, with zeros between and behind them,
// as tapes and some copies leave them.
func TestGzipMembersAndZerosBehindThemAreRead(t *testing.T) {
	member := func(s string) string {
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		io.WriteString(w, s)
		w.Close()
		return z.String()
	}
	zeros := strings.Repeat("\x00", 100_000)
	for name, tt := range map[string]struct {
		file, want string
		err        error
	}{
		"two members":     {member("a\n") + member("b\n"), "a\nb\n", nil},
		"zeros behind":    {member("a\n") + zeros, "a\n", nil},
		"zeros between":   {member("a\n") + zeros + member("b\n") + "\x00", "a\nb\n", nil},
		"an empty member": {member("") + member("b\n"), "b\n", nil},
		"something else":  {member("a\n") + zeros + "garbage behind it", "a\n", gzip.ErrHeader},
		"a cut member":    {member("a\n") + member("b\n")[:8], "a\n", io.ErrUnexpectedEOF},
	} {
		f, err := logfile.New(bytes.NewReader([]byte(tt.file)), name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(f)
		if string(got) != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s: read %q, error %v; want %q, %v", name, got, err, tt.want, tt.err)
		}
	}
}
