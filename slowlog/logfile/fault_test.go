package logfile_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"

	"github.com/quern-dev/quern/internal/flood"
	"github.com/quern-dev/quern/slowlog"
	"github.com/quern-dev/quern/slowlog/logfile"
)

// compressors give a text as a file of each kind has it.
var compressors = map[string]func(t testing.TB, text string) []byte{
	"plain": func(t testing.TB, text string) []byte { return []byte(text) },
	"gzip": func(t testing.TB, text string) []byte {
		return compressed(t, text, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
	},
	"zstd": func(t testing.TB, text string) []byte {
		return compressed(t, text, func(w io.Writer) io.WriteCloser {
			z, err := zstd.NewWriter(w)
			if err != nil {
				t.Fatal(err)
			}
			return z
		})
	},
}

func compressed(t testing.TB, text string, to func(io.Writer) io.WriteCloser) []byte {
	var b bytes.Buffer
	w := to(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// records returns a slow log of n records that do not compress well.
func records(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "# Time: 2026-11-30T10:00:00Z\n# User@Host: a[a] @ h []  Id: %d\n# Query_time: 1  Lock_time: 0 Rows_sent: 1  Rows_examined: 1\nSET timestamp=1;\nSELECT %d, '%x';\n", i, i, i*i*7919)
	}
	return b.String()
}

// read returns the statements of a log and the error that ended it.
func read(r io.Reader, name string) (statements []string, err error) {
	f, err := logfile.New(r, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for ev, err := range f.Source(slowlog.Options{}, nil).All() {
		if err != nil {
			return statements, err
		}
		statements = append(statements, ev.Query)
	}
	return statements, nil
}

func TestShortReadsChangeNothing(t *testing.T) {
	text := records(2000)
	want, err := read(strings.NewReader(text), "whole")
	if err != nil || len(want) != 2000 {
		t.Fatalf("%d statements, %v", len(want), err)
	}
	for kind, compress := range compressors {
		file := compress(t, text)
		for name, short := range map[string]func(io.Reader) io.Reader{
			"one byte": iotest.OneByteReader, "half": iotest.HalfReader, "data with the end": iotest.DataErrReader,
		} {
			got, err := read(short(bytes.NewReader(file)), kind)
			if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("%s, %s: %d statements, error %v, want %d", kind, name, len(got), err, len(want))
			}
		}
	}
}

// An error in the middle ends the log; what was read before it is reported.
func TestAnErrorInTheMiddleIsReportedBehindWhatWasRead(t *testing.T) {
	text := records(20_000)
	for kind, compress := range compressors {
		file := compress(t, text)
		half := bytes.NewReader(file[:len(file)/2])
		for name, broken := range map[string]struct {
			r    io.Reader
			want error
		}{
			"EIO":     {io.MultiReader(half, iotest.ErrReader(&os.PathError{Op: "read", Path: "slow.log", Err: syscall.EIO})), syscall.EIO},
			"timeout": {iotest.TimeoutReader(iotest.HalfReader(bytes.NewReader(file))), iotest.ErrTimeout},
		} {
			got, err := read(broken.r, kind)
			if !errors.Is(err, broken.want) {
				t.Errorf("%s, %s: error %v, want %v", kind, name, err, broken.want)
			}
			if name == "EIO" && (len(got) < 5000 || len(got) > 15_000 || got[0] != "SELECT 0, '0'") {
				t.Errorf("%s, %s: %d statements before it, want about half of 20,000", kind, name, len(got))
			}
		}
	}
}

// A small file that unpacks to a large one is read as a stream. QUERN_LONG=1 unpacks
// 4 GiB.
func TestDecompressionBombsTakeBoundedMemory(t *testing.T) {
	const member = 4 << 20
	times := 8
	if os.Getenv("QUERN_LONG") == "1" {
		times = 1024
	}
	for content, text := range map[string]string{
		"one line": strings.Repeat("x", member), "lines": strings.Repeat("x\n", member/2), "NULs": strings.Repeat("\x00", member),
		"records": strings.Repeat("# Query_time: 1\nSELECT 1;\n", member/26),
	} {
		for kind, compress := range compressors {
			if kind == "plain" {
				continue
			}
			file := string(compress(t, text))
			in := &flood.Text{First: file, Again: file, Size: int64(times * len(file))}
			f, err := logfile.NewAny(in, "bomb")
			if err != nil {
				t.Fatal(err)
			}
			r := slowlog.NewReader(f)
			r.ReuseEvent, r.MaxStatement = true, 1<<20
			for _, err := range r.All() {
				if err != nil {
					t.Fatal(err)
				}
			}
			f.Close()
			if got, want := r.Stats().Bytes, int64(times*len(text)); got != want {
				t.Errorf("%s of %s: read %d bytes, want %d", kind, content, got, want)
			}
			if n := in.InUse(); n > 64<<20 {
				t.Errorf("%s of %s: %d MiB in use", kind, content, n>>20)
			}
		}
	}
}

// A frame may ask for a window of any size. One that zstd(1) refuses is refused.
func TestAZstdWindowBeyondBoundsIsRefused(t *testing.T) {
	for log, refused := range map[byte]bool{20: false, 27: false, 28: true, 31: true, 41: true} {
		// Magic number, no content size, the window's size, and a last block of
		// one byte repeated 4 times.
		frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, (log - 10) << 3, 1 | 1<<1 | 4<<3, 0, 0, '\n'}
		in := &flood.Text{First: string(frame), Size: int64(len(frame))}
		f, err := logfile.NewAny(in, "window")
		var text []byte
		if err == nil {
			text, err = io.ReadAll(f)
			f.Close()
		}
		if refused != errors.Is(err, zstd.ErrWindowSizeExceeded) || !refused && string(text) != "\n\n\n\n" {
			t.Errorf("a window of 2^%d bytes: read %q, error %v; want it refused: %v", log, text, err, refused)
		}
		if n := in.InUse(); n > 300<<20 {
			t.Errorf("a window of 2^%d bytes: %d MiB in use", log, n>>20)
		}
	}
}
