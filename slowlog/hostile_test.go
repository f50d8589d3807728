package slowlog

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// A file system fills up a log with NULs where a crash came before the bytes. They
// are no part of the statements around them, and cost no record but the torn one.
func TestNULsOfACrashAreNoPartOfAStatement(t *testing.T) {
	const head = "# Time: 2026-11-30T11:26:27.000001Z\n# User@Host: a[a] @ h []  Id: 1\n# Query_time: 1.000000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\nSET timestamp=1796037987;\n"
	nuls := strings.Repeat("\x00", 5000)
	one, two := head+"SELECT 1;\n", head+"SELECT 2;\n"
	for name, tt := range map[string]struct {
		log  string
		want []string
	}{
		"at the end":                    {one + nuls, []string{"SELECT 1"}},
		"before the next record":        {one + nuls + two, []string{"SELECT 1", "SELECT 2"}},
		"on a line before it":           {one + nuls + "\n" + two, []string{"SELECT 1", "SELECT 2"}},
		"at the start":                  {nuls + one, []string{"SELECT 1"}},
		"in place of a header's end":    {one + head[:80] + nuls + two, []string{"SELECT 1", "SELECT 2"}},
		"in place of a statement's end": {head + "SELECT 1 FROM" + nuls + two, []string{"SELECT 1 FROM", "SELECT 2"}},
		"of the statement itself":       {head + "SELECT '\x00' \x00;\n" + two, []string{"SELECT '\x00' \x00", "SELECT 2"}},
	} {
		events, _, _ := readAll(t, []byte(tt.log))
		var got []string
		for _, ev := range events {
			got = append(got, ev.Query)
		}
		if diff := gocmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A record in another encoding, or a log of several, is read as the bytes that it is
// made of, and hides no record behind it.
func TestOtherEncodingsHideNoRecord(t *testing.T) {
	const head = "# User@Host: a[a] @ h []  Id: 1\n# Query_time: 1  Lock_time: 0 Rows_sent: 1  Rows_examined: 1\nSET timestamp=1796037987;\n"
	for name, statement := range map[string]string{
		"Latin-1":                               "SELECT 'caf\xe9'",
		"GBK":                                   "SELECT '\xd6\xd0\xce\xc4'",
		"GBK, with backslashes as second bytes": "SELECT '\x95\x5c', '\x81\x5c\x95\x5c'",
		"GBK, with one before the quote":        "SELECT 'a\x95\x5c'",
		"Shift-JIS":                             "SELECT '\x83\x5c\x94\x5c'",
		"UTF-16":                                "S\x00E\x00L\x00E\x00C\x00T\x00 \x00'\x00",
		"UTF-8, torn":                           "SELECT '\xe6\x97'",
		"a BOM":                                 "\xef\xbb\xbfSELECT 1",
	} {
		for mark, log := range map[string]string{"": "", "UTF-8": "\xef\xbb\xbf", "UTF-16": "\xff\xfe"} {
			log += head + "SELECT 0;\n" + head + statement + ";\n" + head + "SELECT 2;\n" + head + "SELECT 3;\n"
			events, _, _ := readAll(t, []byte(log))
			last := len(events) - 1
			if last < 2 || events[last].Query != "SELECT 3" || events[last-1].Query != "SELECT 2" || events[last-2].Query != statement {
				t.Errorf("%s behind a mark of %q: %d events, %+v", name, mark, len(events), events)
			}
		}
	}
}

// The error of what a Writer writes to is told, and stays.
func TestWriterTellsThatTheDeviceIsFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no device that is always full: ", err)
	}
	defer full.Close()
	w := NewWriter(full)
	for range 2 {
		var failed error
		for range 10_000 { // more than is buffered
			if err := w.Write(&Event{Query: "SELECT 1", Weight: 1}); err != nil {
				failed = err
				break
			}
		}
		if err := w.Flush(); !errors.Is(failed, syscall.ENOSPC) || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Write says %v and Flush %v, want no space left", failed, err)
		}
	}
	if err := NewWriter(io.Discard).Flush(); err != nil {
		t.Error(err)
	}
}
