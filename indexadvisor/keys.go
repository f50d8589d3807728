package indexadvisor

import (
	"fmt"
	"math/big"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode/utf8"
)

// keys are the values of a column as numbers, in their order.
type keys struct {
	low, high *big.Int
	literal   func(n *big.Int) string
	several   bool // values have one number
}

// keysOf returns the keys from the least to the greatest value of a column, and
// whether it has an order that numbers can follow. Some of the values tell which
// characters there are behind the first: a key of hexadecimal digits has no others.
func keysOf(c *Column, low, high string, some []string) (keys, bool) {
	switch {
	case c == nil:
	case c.integer():
		lo, ok := new(big.Int).SetString(low, 10)
		hi, ok2 := new(big.Int).SetString(high, 10)
		return keys{low: lo, high: hi, literal: (*big.Int).String}, ok && ok2
	case c.temporal() && c.Type != "time":
		lo, ok := seconds(low)
		hi, ok2 := seconds(high)
		return keys{low: big.NewInt(lo), high: big.NewInt(hi), literal: func(n *big.Int) string {
			return "'" + time.Unix(n.Int64(), 0).UTC().Format(time.DateTime) + "'"
		}}, ok && ok2
	case c.binary():
		lead := commonLead(low, high)
		number := func(s string) *big.Int {
			b := make([]byte, keyDigits)
			copy(b, s[len(lead):])
			return new(big.Int).SetBytes(b)
		}
		return keys{number(low), below(number(high), new(big.Int).Lsh(big.NewInt(1), 8*keyDigits)), func(n *big.Int) string {
			return fmt.Sprintf("x'%x%x'", lead, n.FillBytes(make([]byte, keyDigits)))
		}, true}, true
	case c.text():
		lead := commonLead(low, high)
		alphabet := charactersOf(some, len(lead)+1)
		base := big.NewInt(int64(len(alphabet)))
		digit := func(s string, at int, alphabet []string) int64 {
			if at >= len(s) {
				return 0
			}
			return int64(min(sort.SearchStrings(alphabet, strings.ToLower(s[at:at+1])), len(alphabet)-1))
		}
		number := func(s string) *big.Int {
			n := big.NewInt(digit(s, len(lead), allCharacters))
			for i := 1; i < keyDigits; i++ {
				n.Add(n.Mul(n, base), big.NewInt(digit(s, len(lead)+i, alphabet)))
			}
			return n
		}
		most := new(big.Int).Exp(base, big.NewInt(keyDigits-1), nil)
		most.Mul(most, big.NewInt(int64(len(allCharacters))))
		least := number(low)
		return keys{least, below(number(high), most), func(n *big.Int) string {
			if n.Cmp(least) == 0 {
				return "''" // signs may come before digits
			}
			rest, digit, text := new(big.Int).Set(n), new(big.Int), ""
			for range keyDigits - 1 {
				rest.DivMod(rest, base, digit)
				text = alphabet[digit.Int64()] + text
			}
			// How a backslash reads hangs on the sql_mode.
			return fmt.Sprintf("_utf8mb4 x'%x'", lead+allCharacters[rest.Int64()]+text)
		}, true}, true
	}
	return keys{}, false
}

// keyDigits is how many bytes behind those that all keys have tell strings apart.
const keyDigits = 12

// below returns n, or less if n+1 is not below most.
func below(n, most *big.Int) *big.Int {
	if last := new(big.Int).Sub(most, big.NewInt(2)); last.Cmp(n) < 0 {
		return last
	}
	return n
}

// allCharacters are digits and letters in the order that they have in every
// collation.
var allCharacters = strings.Split("0123456789abcdefghijklmnopqrstuvwxyz", "")

// charactersOf returns those that the strings have from a byte on.
func charactersOf(some []string, from int) (alphabet []string) {
	for _, ch := range allCharacters {
		if slices.ContainsFunc(some, func(s string) bool { return len(s) > from && strings.Contains(strings.ToLower(s[from:]), ch) }) {
			alphabet = append(alphabet, ch)
		}
	}
	if len(alphabet) < 2 {
		return allCharacters
	}
	return alphabet
}

// commonLead returns what both strings begin with, in whole characters.
func commonLead(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return a[:n]
}

// seconds reads a date, with or without a time, as seconds since 1970.
func seconds(v string) (int64, bool) {
	for _, layout := range []string{time.RFC3339Nano, time.DateTime, time.DateOnly} {
		if t, err := time.Parse(layout, v); err == nil {
			return t.Unix(), true
		}
	}
	return 0, false
}
