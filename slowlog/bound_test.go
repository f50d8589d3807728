package slowlog

import (
	"io"
	"testing"
)

// endless is an input of a first text and then another, again and again.
type endless struct {
	first, again string
	left         int // bytes to give
	at           int // in again
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := 0
	if e.first != "" {
		n = copy(p, e.first)
		e.first = e.first[n:]
	}
	for n < len(p) && n < e.left {
		k := copy(p[n:], e.again[e.at:])
		e.at = (e.at + k) % len(e.again)
		n += k
	}
	e.left -= n
	return n, nil
}

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

// TestReaderTakesBoundedMemory gives the Reader 8 MiB of each kind and keeps
// statements of at most 256 KiB: its window stays small.
func TestReaderTakesBoundedMemory(t *testing.T) {
	for _, tt := range hostile {
		t.Run(tt.name, func(t *testing.T) {
			r := NewReader(&endless{first: tt.first, again: tt.again, left: 8 << 20})
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
			if n := r.Stats().Bytes; n < 8<<20 {
				t.Errorf("read %d MiB of 8", n>>20)
			}
		})
	}
}

func TestEachFindsWhatReadFindsOfHostileLogs(t *testing.T) {
	for _, tt := range hostile {
		t.Run(tt.name, func(t *testing.T) {
			data, err := io.ReadAll(&endless{first: tt.first, again: tt.again, left: 80 << 10})
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
	type input = endless
	for name, in := range map[string]input{
		"a line":                         {again: "x"},
		"lines":                          {again: "x\n"},
		"tabs":                           {again: "\t"},
		"quotes":                         {again: `"`},
		"a quoted value":                 {first: `"`, again: "x"},
		"a quoted value of many lines":   {first: `"`, again: "x\n"},
		"backslashes":                    {first: `"`, again: `\`},
		"entries":                        {again: entry + "SELECT 1\n"},
		"an entry":                       {first: entry, again: "x"},
		"an entry of many lines":         {first: entry, again: "x\n"},
		"an open literal over entries":   {first: entry + "'", again: entry + "\n"},
		"literals that close on entries": {first: entry + "'", again: entry + "'\n"},
		"a vertical row":                 {first: "*************************** 1. row ***************************\n  sql_text: ", again: "x\n"},
		"vertical rows":                  {again: "*************************** 1. row ***************************\n  start_time: 1\n"},
	} {
		open := map[string]func(io.Reader) (Source, *records){
			"general":  func(r io.Reader) (Source, *records) { g := NewGeneralReader(r); return g, &g.records },
			"lines":    func(r io.Reader) (Source, *records) { l := NewLineReader(r); return l, &l.records },
			"tsv":      func(r io.Reader) (Source, *records) { s := NewTableReader(r, TableTSV); return s, &s.records },
			"csv":      func(r io.Reader) (Source, *records) { s := NewTableReader(r, TableCSV); return s, &s.records },
			"vertical": func(r io.Reader) (Source, *records) { s := NewTableReader(r, TableVertical); return s, &s.records },
		}
		for kind, open := range open {
			in := in
			in.left = 5 << 18
			s, r := open(&in)
			r.MaxStatement = 64 << 10
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
