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
