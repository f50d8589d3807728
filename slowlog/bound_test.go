package slowlog

import (
	"io"
	"os"
	"testing"

	"github.com/quern-dev/quern/internal/flood"
)

// hostile are texts that a log, or a client through it, may go on with forever.
var hostile = []struct{ name, first, again string }{
	{"a line without a header", "", "x"},
	{"lines without a header", "", "xxxxxxxx\n"},
	{"a statement on one line", "# Query_time: 1\n", "x"},
	{"a statement on one line behind SET", "# Query_time: 1\nSET timestamp=1;\n", "x"},
	{"a statement of many lines", "# Query_time: 1\nSET timestamp=1;\nSELECT\n", "x,\n"},
	{"a use line", "# Query_time: 1\nuse ", "x"},
	{"a SET line", "# Query_time: 1\nSET timestamp=", "1"},
	{"a header line", "# Query_time: 1  ", "x"},
	{"values on one header line", "# Query_time: 1", "  a: 1"},
	{"header lines", "# Query_time: 1\n", "# a: 1\n"},
	{"header lines that no Query_time follows", "# Time: 2026-11-30T11:26:27Z\n", "# a: 1\n"},
	{"plan lines", "# Query_time: 1\n", "# explain: a\n"},
	{"a Time line", "# Time: ", "x"},
	{"Time lines", "", "# Time: 2026-11-30T11:26:27Z\n"},
	{"a user", "# User@Host: ", "a["},
	{"Query_time lines", "", "# Query_time: 1\n"},
	{"an open literal", "# Query_time: 1\nSET timestamp=1;\nSELECT '", "x\n"},
	{"an open literal with headers", "# Query_time: 1\nSET timestamp=1;\nSELECT '", "# Time: 2026-11-30T11:26:27Z\n# Query_time: 1\n"},
	{"literals that open and close over headers", "# Query_time: 1\nSET timestamp=1;\nSELECT '", "# Time: 2026-11-30T11:26:27Z\n# Query_time: 1\n'\n"},
	{"open comments in records", "", "# Query_time: 1\nSET timestamp=1;\n/* '\n"},
	{"quotes", "# Query_time: 1\nSET timestamp=1;\n", "'\"`/*"},
	{"comment lines in a statement", "# Query_time: 1\nSET timestamp=1;\nSELECT\n", "# A: 1\n"},
	{"semicolons and comment lines", "# Query_time: 1\nSET timestamp=1;\nSELECT\n", ";\n# A: 1\n"},
	{"first lines of banners", "", "/x, Version: y started with:\n"},
	{"first lines of banners in a statement", "# Query_time: 1\nSELECT\n", "/x, Version: y started with:\n"},
	{"a banner's first line", "/", "x"},
	{"administrator commands", "", "# administrator command: Ping\n"},
	{"an administrator command", "# administrator command: ", "x"},
	{"blank lines", "# Query_time: 1\n", "\n"},
	{"blanks", "", " "},
	{"carriage returns", "# Query_time: 1\n", "\r"},
	{"flat records", "", "# Time: 190227 9:46:00 # User@Host: a[a] @ h [] # Query_time: 0.1 SELECT 1;\n"},
	{"a flat record", "# Time: 190227 9:46:00 # User@Host: a[a] @ h [] # Query_time: 0.1", " # a: 1"},
	{"glued lines", "", "2019-04-18T08:55:36.001Z   4   # Time: 190418 12:29:49\n"},
	{"torn headers", "# Query_time: 1\nSELECT ", "x# Time: 2026-11-30T11:26:27Z\n# User@Host: a\n"},
}

// TestReaderTakesBoundedMemory gives the Reader 8 MiB of each kind, with
// QUERN_LONG=1 more than 4 GiB of some, and keeps statements of at most 256 KiB:
// its window stays small.
func TestReaderTakesBoundedMemory(t *testing.T) {
	long := map[string]bool{
		"a line without a header": true, "a statement on one line": true, "a statement of many lines": true, "a use line": true,
		"values on one header line": true, "an open literal": true, "a Time line": true, "a banner's first line": true,
	}
	for _, tt := range hostile {
		t.Run(tt.name, func(t *testing.T) {
			in := &flood.Text{First: tt.first, Again: tt.again, Size: 8 << 20}
			if long[tt.name] && os.Getenv("QUERN_LONG") == "1" {
				in.Size = 4<<30 + 1
			}
			r := NewReader(in)
			r.ReuseEvent = true
			r.MaxStatement = 256 << 10
			for _, err := range r.All() {
				if err != nil {
					t.Fatal(err)
				}
				if len(r.ev.Metrics) > 1<<20 {
					t.Fatalf("%d metrics", len(r.ev.Metrics))
				}
			}
			if n := cap(r.buf); n > 6<<20 {
				t.Errorf("a window of %d MiB", n>>20)
			}
			if n := in.InUse(); n > 64<<20 {
				t.Errorf("%d MiB in use", n>>20)
			}
			if n := r.Stats().Bytes; n != in.Size {
				t.Errorf("read %d bytes of %d", n, in.Size)
			}
		})
	}
}

// A header of a million values, ten with QUERN_LONG=1, with the options that
// people have.
func TestMillionsOfValuesTakeBoundedMemory(t *testing.T) {
	n := 1_000_000
	if os.Getenv("QUERN_LONG") == "1" {
		n *= 10
	}
	for _, again := range []string{"  a: 1", "\n# a: 1", "  Query_time: 1", "  Schema: x"} {
		in := &flood.Text{First: "# User@Host: a[a] @ h []\n# Query_time: 1", Again: again, Size: int64(n * len(again))}
		for _, err := range NewReader(in).All() {
			if err != nil {
				t.Fatal(err)
			}
		}
		if n := in.InUse(); n > 256<<20 {
			t.Errorf("%q: %d MiB in use, want 256 at most", again, n>>20)
		}
	}
}

func TestEachFindsWhatReadFindsOfHostileLogs(t *testing.T) {
	for _, tt := range hostile {
		t.Run(tt.name, func(t *testing.T) {
			data, err := io.ReadAll(&flood.Text{First: tt.first, Again: tt.again, Size: 80 << 10})
			if err != nil {
				t.Fatal(err)
			}
			data = append(data, "\n# Query_time: 1\nSET timestamp=1;\nSELECT 2;\n"...)
			checkEach(t, data, 3, 20_000)
		})
	}
}

func TestOtherSourcesTakeBoundedMemory(t *testing.T) {
	const entry = "2026-11-30T11:28:16.763108Z\t  226 Query\t"
	for name, in := range map[string]flood.Text{
		"a line":                         {Again: "x"},
		"lines":                          {Again: "x\n"},
		"tabs":                           {Again: "\t"},
		"quotes":                         {Again: `"`},
		"a quoted value":                 {First: `"`, Again: "x"},
		"a quoted value of many lines":   {First: `"`, Again: "x\n"},
		"backslashes":                    {First: `"`, Again: `\`},
		"entries":                        {Again: entry + "SELECT 1\n"},
		"an entry":                       {First: entry, Again: "x"},
		"an entry of many lines":         {First: entry, Again: "x\n"},
		"an open literal over entries":   {First: entry + "'", Again: entry + "\n"},
		"literals that close on entries": {First: entry + "'", Again: entry + "'\n"},
		"a vertical row":                 {First: "*************************** 1. row ***************************\n  sql_text: ", Again: "x\n"},
		"vertical rows":                  {Again: "*************************** 1. row ***************************\n  start_time: 1\n"},
	} {
		open := map[string]func(io.Reader) (Source, *records, *Options){
			"general": func(r io.Reader) (Source, *records, *Options) {
				g := NewGeneralReader(r)
				return g, &g.records, &g.Options
			},
			"lines": func(r io.Reader) (Source, *records, *Options) {
				l := NewLineReader(r)
				return l, &l.records, &l.Options
			},
			"tsv": func(r io.Reader) (Source, *records, *Options) {
				s := NewTableReader(r, TableTSV)
				return s, &s.records, &s.Options
			},
			"csv": func(r io.Reader) (Source, *records, *Options) {
				s := NewTableReader(r, TableCSV)
				return s, &s.records, &s.Options
			},
			"vertical": func(r io.Reader) (Source, *records, *Options) {
				s := NewTableReader(r, TableVertical)
				return s, &s.records, &s.Options
			},
		}
		for kind, open := range open {
			in := in
			in.Size = 5 << 18
			s, r, o := open(&in)
			o.MaxStatement = 64 << 10
			for _, err := range s.All() {
				if err != nil {
					t.Fatal(err)
				}
			}
			if n := cap(r.buf); n > 1<<20 {
				t.Errorf("%s as %s: a window of %d KiB", name, kind, n>>10)
			}
		}
	}
}
