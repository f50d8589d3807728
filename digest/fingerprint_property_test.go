package digest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/quern-dev/quern/internal/lexer"
)

// tokensOf returns the tokens of sql up to its end.
func tokensOf(sql string, mode lexer.Mode) (tokens []lexer.Token) {
	var l lexer.Lexer
	l.Init(sql, mode)
	for {
		t := l.Next()
		tokens = append(tokens, t)
		if t.Kind == lexer.EOF {
			return tokens
		}
	}
}

// respaced returns sql with other white space and comments between its tokens,
// and the letters of its names in another case.
func respaced(sql string, mode lexer.Mode, rng *rand.Rand) string {
	gaps := []string{" ", "\n", "\t ", "\r\n", "/* it's */", " -- \"x\n", "#`y\n", "/**/"}
	var b strings.Builder
	tokens := tokensOf(sql, mode)
	for i, t := range tokens {
		text := sql[t.Start:t.End]
		switch t.Kind {
		case lexer.Ident, lexer.QuotedIdent, lexer.Variable, lexer.Hint:
			if i == 0 || sql[tokens[i-1].Start:tokens[i-1].End] != "\\" { // \N is NULL, \n is not
				text = recased(text, rng)
			}
		}
		gap := ""
		if i > 0 {
			last := tokens[i-1]
			gap = sql[last.End:t.Start]
			switch {
			case last.Kind == lexer.List, last.Kind == lexer.ExecOpen, last.Kind == lexer.Comment, t.Kind == lexer.Hint, t.Kind == lexer.Comment:
				// The version of an executable comment ends where its digits end, a
				// line comment before its line feed, no comment parts a verb from
				// its hint, and ?+ is a list before a parenthesis only.
			case sql[last.Start:last.End] == ".", text == ".":
				// A dot makes names of words directly beside it.
			case last.Kind == lexer.Op && sql[last.Start] == '@', text == "@", t.Kind == lexer.Variable:
				// An @ makes a variable of a name directly behind it.
			case last.Kind == lexer.Ident && last.Word == lexer.Null && sql[last.Start] == '\\':
			case text == "-" || sql[last.Start:last.End] == "-":
				gap = " " // two of them may begin a comment
			case sql[last.Start:last.End] == "?" && text == "+":
				gap = " " // beside each other they are a list
			case last.Kind == lexer.Op && strings.Contains("*/", sql[last.Start:last.End]):
				gap = "\n" // behind these a comment may read as something else
			case gap != "" || rng.IntN(3) == 0:
				gap = gaps[rng.IntN(len(gaps))]
				if rng.IntN(3) == 0 && len(tokensOf(sql[last.Start:last.End]+text, mode)) == 3 {
					// Both tokens read the same without a gap.
					both := tokensOf(sql[last.Start:last.End]+text, mode)
					if both[0].End == last.End-last.Start && both[0].Kind == last.Kind && both[1].Kind == t.Kind {
						gap = ""
					}
				}
			}
		}
		b.WriteString(gap)
		b.WriteString(text)
	}
	return b.String()
}

func recased(s string, rng *rand.Rand) string {
	out := []byte(s)
	for i, c := range out {
		if ('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z') && rng.IntN(2) == 0 && !(i > 0 && out[i-1] == '\\') {
			out[i] = c ^ 0x20
		}
	}
	return string(out)
}

func TestSpacingAndCaseDoNotChangeTheFingerprint(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var f Fingerprinter
	for _, sql := range append(readSamples(), statements...) {
		if isAdmin(sql) || strings.HasSuffix(strings.TrimSpace(sql), "...") {
			continue
		}
		want := string(f.Append(nil, sql))
		other := respaced(sql, 0, rng)
		if got := string(f.Append(nil, other)); got != want {
			t.Errorf("%.300q\nrespaced %.300q\n got %.300q\nwant %.300q", sql, other, got, want)
		}
	}
}

func FuzzSpacingAndCaseDoNotChangeTheFingerprint(f *testing.F) {
	for i, sql := range statements {
		f.Add(sql, uint64(i))
	}
	f.Fuzz(func(t *testing.T, sql string, seed uint64) {
		if isAdmin(sql) || strings.Contains(sql, "..") {
			return
		}
		for _, tok := range tokensOf(sql, 0) {
			if tok.Unterminated() || tok.Kind == lexer.Number && strings.IndexByte("eE+-", sql[tok.End-1]) >= 0 {
				return // what is put behind it changes it
			}
		}
		var f Fingerprinter
		want := string(f.Append(nil, sql))
		other := respaced(sql, 0, rand.New(rand.NewPCG(seed, 1)))
		if got := string(f.Append(nil, other)); got != want {
			t.Errorf("%q\nrespaced %q\n got %q\nwant %q", sql, other, got, want)
		}
	})
}

func TestFingerprintsOfSamplesAreIdempotent(t *testing.T) {
	for _, o := range []FingerprintOptions{{}, {FoldNumbers: true}, {ANSIQuotes: true, NoBackslashEscapes: true}} {
		f := Fingerprinter{Options: o}
		for _, sql := range sampleStatements(t) {
			once := string(f.Append(nil, sql))
			if twice := string(f.Append(nil, once)); once != twice {
				t.Errorf("%+v: %.1000q\n first %.1000q\nsecond %.1000q", o, sql, once, twice)
			}
		}
	}
}

func TestRedactedSamplesHaveTheSameFingerprint(t *testing.T) {
	var f Fingerprinter
	for _, sql := range sampleStatements(t) {
		s := f.Statement(sql)
		if got := string(f.Append(nil, s.Redacted)); got != s.Fingerprint {
			t.Errorf("%.1000q\nredacted %.1000q\nhas the fingerprint %.1000q\nits own is       %.1000q", sql, s.Redacted, got, s.Fingerprint)
		}
	}
}

// planted returns sql with other literals and comments, and what it put there.
// Each holds a number that stands nowhere else.
func planted(sql string, mode lexer.Mode, rng *rand.Rand) (text string, secrets []string) {
	var b strings.Builder
	end := 0
	for _, t := range tokensOf(sql, mode) {
		b.WriteString(sql[end:t.Start])
		end = t.End
		s := sql[t.Start:t.End]
		secret := fmt.Sprintf("%09d", 1e8+rng.IntN(8e8))
		switch t.Kind {
		case lexer.String:
			quote := s[strings.IndexAny(s, `'"`):][:1]
			forms := []string{"%s", "a%sb", `\\%s`, `\` + quote + "%s", quote + quote + "%s", "-- %s", "/*%s", "%s\n", "\xff%s"}
			if mode&lexer.NoBackslashEscapes != 0 {
				forms = []string{"%s", `%s\`, quote + quote + "%s"}
			}
			s = s[:strings.IndexAny(s, `'"`)+1] + fmt.Sprintf(forms[rng.IntN(len(forms))], secret) + quote
		case lexer.Number:
			s = fmt.Sprintf([]string{"%s", "%s.5", "0.%s", ".%s", "%se5", "1e%s"}[rng.IntN(6)], secret)
		case lexer.Bits:
			s = fmt.Sprintf([]string{"0x%s", "x'%s'", "X'%s'", "0X%s"}[rng.IntN(4)], secret)
		case lexer.Comment:
			s = fmt.Sprintf([]string{"/* %s */", "/*%s' \" */", "-- %s\n", "#%s\n"}[rng.IntN(4)], secret)
		default:
			b.WriteString(s)
			continue
		}
		secrets = append(secrets, secret)
		b.WriteString(" " + s + " ") // apart from what stands beside it
	}
	return b.String(), secrets
}

func TestNoLiteralShows(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	sources := append(readSamples(), statements...)
	for _, o := range []FingerprintOptions{{}, {NoBackslashEscapes: true}, {ANSIQuotes: true}, {Style: StylePercona}, {Style: StylePerconaKeepNumbers}} {
		f := Fingerprinter{Options: o}
		for _, sql := range sources {
			if len(sql) > 1<<14 {
				continue
			}
			text, secrets := planted(sql, o.mode(), rng)
			if rng.IntN(2) == 0 {
				text = text[:rng.IntN(len(text)+1)] // as a log cuts it
			}
			s := f.Statement(text)
			if o.Style != StyleQuern {
				s.Redacted, s.Summary = "", "" // seen already
			}
			for _, out := range []string{s.Fingerprint, s.Redacted, s.Summary, s.Verb, strings.Join(s.Tables, " ")} {
				if leak := leaked(out, secrets); leak != "" {
					t.Errorf("%+v: %.2000q\nshows %s: %.2000q", o, text, leak, out)
				}
			}
		}
	}
}

// leaked returns four bytes of a secret that stand in text, "" if there are none.
func leaked(text string, secrets []string) string {
	runs := make(map[string]bool)
	for i := range max(0, len(text)-3) {
		if run := text[i : i+4]; strings.Trim(run, "0123456789") == "" {
			runs[run] = true
		}
	}
	if len(runs) == 0 {
		return ""
	}
	for _, s := range secrets {
		for i := range len(s) - 3 {
			if runs[s[i:i+4]] {
				return s[i : i+4]
			}
		}
	}
	return ""
}
