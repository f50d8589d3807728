package lexer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tokens returns the tokens of src as "kind text".
func tokens(src string, mode Mode) []string {
	names := map[Kind]string{
		Ident: "ident", QuotedIdent: "quoted", String: "string", Number: "number", Bits: "bits",
		Placeholder: "placeholder", List: "list", Variable: "variable", Op: "op", Comment: "comment",
		Hint: "hint", ExecOpen: "open", ExecClose: "close",
	}
	var l Lexer
	l.Init(src, mode)
	var got []string
	for {
		t := l.Next()
		if t.Kind == EOF {
			return got
		}
		kind := names[t.Kind]
		if t.Kind == Ident && t.Word != 0 && !t.Dotted() {
			kind = "word"
		}
		if t.Unterminated() {
			kind = "unterminated " + kind
		}
		got = append(got, kind+" "+src[t.Start:t.End])
	}
}

func TestLexerReadsTokensAsTheServersDo(t *testing.T) {
	tests := []struct {
		name, src string
		mode      Mode
		want      []string
	}{
		{"numbers", "1 1.5 .5 5. 1e5 1E-5 1.e2 1e a", 0,
			[]string{"number 1", "number 1.5", "number .5", "number 5.", "number 1e5", "number 1E-5", "number 1.e2", "ident 1e", "ident a"}},
		{"cut exponent", "1e", 0, []string{"number 1e"}},
		{"exponent before letters", "1e5x 0x 0xg 0x1g 0b2 0b1 0x1F", 0,
			[]string{"number 1e5", "ident x", "ident 0x", "ident 0xg", "ident 0x1g", "ident 0b2", "bits 0b1", "bits 0x1F"}},
		{"prefixed strings", "N'a' x'41' B'1' nx'1' n 'a'", 0,
			[]string{"string N'a'", "bits x'41'", "bits B'1'", "ident nx", "string '1'", "ident n", "string 'a'"}},
		{"dots", "a.5 a.5b a .5 `a`.5 .5.6 a..5", 0,
			[]string{"ident a", "op .", "ident 5", "ident a", "op .", "ident 5b", "ident a", "number .5", "quoted `a`", "number .5", "number .5", "number .6", "ident a", "op .", "number .5"}},
		{"words beside a dot", "select.a t.select select", 0,
			[]string{"ident select", "op .", "ident a", "ident t", "op .", "ident select", "word select"}},
		{"doubled quotes and escapes", `'a''b' 'a\'b' 'a\\' "a""b"`, 0,
			[]string{`string 'a''b'`, `string 'a\'b'`, `string 'a\\'`, `string "a""b"`}},
		{"no escapes", `'a\' 'b'`, NoBackslashEscapes, []string{`string 'a\'`, `string 'b'`}},
		{"names in double quotes", `"a\" 'b\'c'`, ANSIQuotes, []string{`quoted "a\"`, `string 'b\'c'`}},
		{"line comments", "a--1 -- b\n--\tc\n--\n# d\ne --", 0,
			[]string{"ident a", "op -", "op -", "number 1", "comment -- b", "comment --\tc", "comment --", "comment # d", "ident e", "comment --"}},
		{"three dashes", "1--- 1", 0, []string{"number 1", "op -", "comment -- 1"}},
		{"block comments do not nest", "/* /* */ a */ /**/ /*/ */", 0,
			[]string{"comment /* /* */", "ident a", "op *", "op /", "comment /**/", "comment /*/ */"}},
		{"executable comments", "/*!40001 a /* b */ */ /*!1 c*/ /*M!100100d*/ /*!400001e*/ */", 0,
			[]string{"open /*!40001", "ident a", "comment /* b */", "close */", "open /*!", "number 1", "ident c", "close */",
				"open /*M!100100", "ident d", "close */", "open /*!400001", "ident e", "close */", "op *", "op /"}},
		{"hints", "SELECT /*+ a */ /*+ b */ a /*+ c */", 0,
			[]string{"word SELECT", "hint /*+ a */", "comment /*+ b */", "ident a", "comment /*+ c */"}},
		{"variables", "@a @@b.c @`d e` @'f' @ root@10.0.0.1", 0,
			[]string{"variable @a", "variable @@b.c", "variable @`d e`", "op @", "string 'f'", "op @", "ident root", "variable @10.0.0.1"}},
		{"operators", "<=>:=->->><<>=!=||&&|<>", 0,
			[]string{"op <=>", "op :=", "op ->", "op ->>", "op <<", "op >=", "op !=", "op ||", "op &&", "op |", "op <>"}},
		{"placeholders", "? (?+) ?+1", 0,
			[]string{"placeholder ?", "op (", "list ?+", "op )", "placeholder ?", "op +", "number 1"}},
		{"NULL escaped", `\N\n`, 0, []string{`word \N`, `op \`, "ident n"}},
		{"unterminated", "`a", 0, []string{"unterminated quoted `a"}},
		{"unterminated behind an escape", `'a\'`, 0, []string{`unterminated string 'a\'`}},
		{"unterminated comment", "/*/", 0, []string{"unterminated comment /*/"}},
		{"any byte", "a\x00\x01\xff§", 0, []string{"ident a", "op \x00", "op \x01", "ident \xff§"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tokens(tt.src, tt.mode)); diff != "" {
				t.Errorf("tokens of %q (-want +got)\n%s", tt.src, diff)
			}
		})
	}
}

func TestLexerSaysThatTheTextEndsInAnExecutableComment(t *testing.T) {
	for src, want := range map[string]bool{"/*!40001 a": true, "/*!40001 a */": false, "a": false} {
		var l Lexer
		l.Init(src, 0)
		tok := l.Next()
		for tok.Kind != EOF {
			tok = l.Next()
		}
		if tok.Unterminated() != want || tok != l.Next() {
			t.Errorf("at the end of %q: %+v, then %+v", src, tok, l.Next())
		}
	}
}

func TestWordsAreFoundInAnyCaseAndPlace(t *testing.T) {
	for w := Select; words[w].text != ""; w++ {
		text := w.String()
		for _, src := range []string{text, strings.ToUpper(text), text + " and more text behind"} {
			if got := lookup(src, 0, len(text)); got != w {
				t.Errorf("lookup(%q) = %d, want %d", src[:len(text)], got, w)
			}
		}
		for _, src := range []string{text + "x", "x" + text, text[1:] + "$", strings.Repeat(text, 3)} {
			if got := lookup(src, 0, len(src)); got != 0 && got.String() != src {
				t.Errorf("lookup(%q) = %q", src, got)
			}
		}
	}
}

// endsInside reports whether src ends inside a token, by a Lexer's reading.
func endsInside(src string, mode Mode) bool {
	var l Lexer
	l.Init(src, mode)
	for {
		t := l.Next()
		if t.Unterminated() {
			return true
		}
		if t.Kind == EOF {
			return false
		}
	}
}

var texts = []string{
	"select 'a''b', \"c\\\"\", `d``e` -- 'f\n# \"g\n/* ' */ /*! 'h' /* ' */ */ 5--1 --- '\n-",
	"/*!40001 '*/' */ /*M!1 */ /*M*/ /*/ **/ /* * / ***/ // /",
	"'\\\\' '\\' \\'x' @`y`",
	"/*+ ' */ -- \x00 --\x7f'\n--",
}

func FuzzScanAgreesWithLexer(f *testing.F) {
	for _, src := range texts {
		for mode := range uint8(4) {
			f.Add(src, mode, uint16(3))
		}
	}
	f.Fuzz(func(t *testing.T, src string, mode uint8, cut uint16) {
		m := Mode(mode & 3)
		want := !endsInside(src, m)
		whole := Scan{Mode: m}
		whole.Feed([]byte(src))
		if got := whole.Ground(); got != want {
			t.Errorf("Ground() = %v, want %v of %q", got, want, src)
		}
		k := int(cut) % (len(src) + 1)
		parts := Scan{Mode: m}
		parts.Feed([]byte(src[:k]))
		parts.Feed([]byte(src[k:]))
		if parts != whole {
			t.Errorf("cut at %d: %+v, in one piece %+v, of %q", k, parts, whole, src)
		}
	})
}

func TestScanAgreesWithLexerOnEveryPrefix(t *testing.T) {
	for _, src := range texts {
		for mode := range Mode(4) {
			bytewise := Scan{Mode: mode}
			for i := range len(src) + 1 {
				if got, want := bytewise.Ground(), !endsInside(src[:i], mode); got != want {
					t.Fatalf("mode %d: Ground() = %v, want %v behind %q", mode, got, want, src[:i])
				}
				if i < len(src) {
					bytewise.Feed([]byte(src[i : i+1]))
				}
			}
		}
	}
}

func FuzzLexerCoversTheText(f *testing.F) {
	for _, src := range texts {
		f.Add(src, uint8(0))
	}
	f.Fuzz(func(t *testing.T, src string, mode uint8) {
		var l Lexer
		l.Init(src, Mode(mode&3))
		end := 0
		for {
			tok := l.Next()
			for _, c := range []byte(src[end:tok.Start]) {
				if class[c] != classSpace {
					t.Fatalf("byte %q of %q lies in no token", c, src)
				}
			}
			if tok.Kind == EOF {
				return
			}
			if tok.End <= tok.Start {
				t.Fatalf("empty token %+v of %q", tok, src)
			}
			end = tok.End
		}
	})
}

func TestDigitsEnd(t *testing.T) {
	for c := range 256 {
		for _, before := range []string{"", "0", "9", "1234567", "12345678", "123456789"} {
			for _, behind := range []string{"", "0", "00000000"} {
				s := "x" + before + string([]byte{byte(c)}) + behind
				want := 1
				for want < len(s) && s[want] >= '0' && s[want] <= '9' {
					want++
				}
				if got := DigitsEnd(s, 1); got != want {
					t.Errorf("%q: got %d, want %d", s, got, want)
				}
			}
		}
	}
}
