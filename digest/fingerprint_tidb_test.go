package digest

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pingcap/tidb/pkg/parser"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // values of number literals

	"github.com/quern-dev/quern/internal/lexer"
)

// tidbScan returns the tokens that TiDB's scanner reads in sql, with their
// offsets. The scanner's method is exported, the type of its argument is not.
func tidbScan(sql string) (tokens, offsets []int) {
	scanner := parser.NewScanner(sql)
	lex := reflect.ValueOf(scanner).MethodByName("Lex")
	value := reflect.New(lex.Type().In(0).Elem())
	for range len(sql) + 1 {
		token := int(lex.Call([]reflect.Value{value})[0].Int())
		if token == 0 {
			break
		}
		tokens = append(tokens, token)
		offsets = append(offsets, int(value.Elem().FieldByName("offset").Int()))
	}
	return tokens, offsets
}

// TestTiDBReadsTheSameLiterals has TiDB's scanner, which shares nothing with
// this project's, tell where the literals of the samples are.
func TestTiDBReadsTheSameLiterals(t *testing.T) {
	literals := make(map[int]bool)
	for _, sql := range []string{"1", "1.5", "1e5", "'a'", "x'41'", "b'1'", "?"} {
		tokens, _ := tidbScan(sql)
		literals[tokens[0]] = true
	}
	same, differ := 0, make(map[string]int)
	for _, sql := range sampleStatements(t) {
		tokens, offsets := tidbScan(sql)
		var theirs []int
		for i, token := range tokens {
			if literals[token] {
				theirs = append(theirs, offsets[i])
			}
		}
		var ours []int
		reason := ""
		for _, tok := range tokensOf(sql, 0) {
			text := sql[tok.Start:tok.End]
			switch {
			case tok.Unterminated():
				reason = "the text ends inside a token"
			case tok.Kind == lexer.ExecOpen && (text[2] == 'M' || len(text) > len("/*!12345")):
				reason = "TiDB does not know MariaDB's executable comments, nor versions of six digits"
			}
			switch {
			case tok.Kind == lexer.Number && strings.Trim(text[len(text)-1:], "eE") == "":
				reason = "a number that may have been cut in its exponent"
			case tok.Kind == lexer.Bits && strings.HasPrefix(text, "0X"):
				reason = "0X is no number to the servers"
			case text == "." && strings.HasPrefix(sql[tok.End:], "."):
				reason = "two dots"
			}
			switch tok.Kind {
			case lexer.String, lexer.Number, lexer.Bits, lexer.Placeholder:
				if tok.Start > 0 && sql[tok.Start-1] == '@' {
					continue // TiDB takes the host of an account for a part of it
				}
				if text[0]|0x20 == 'n' {
					tok.Start++ // TiDB takes the N of N'…' for an introducer
				}
				ours = append(ours, tok.Start)
			}
		}
		if slices.Equal(ours, theirs) {
			same++
			continue
		}
		if reason == "" {
			t.Errorf("%.600q\n ours %v\ntheirs %v", sql, ours, theirs)
		}
		differ[reason]++
	}
	t.Logf("%d statements have the same literals; the others: %v", same, differ)
}
