package human

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
	"unicode/utf8"
)

func TestNumbersHaveThreeDigitsInSixColumns(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{Duration(0), "0"},
		{Duration(1), "1ns"},
		{Duration(999.4), "999ns"},
		{Duration(999.6), "1µs"},
		{Duration(1234567), "1.23ms"},
		{Duration(99.96e6), "100ms"},
		{Duration(999.6e6), "1s"},
		{Duration(9.996e9), "10s"},
		{Duration(1234e9), "1234s"},
		{Duration(4 * 3600e9), "4h"},
		{Duration(24 * 365 * 3600e9), "365d"},
		{Duration(math.MaxInt64), "292y"},
		{Count(0), "0"},
		{Count(0.004), "0"},
		{Count(1), "1"},
		{Count(12.345), "12.3"},
		{Count(99999), "99999"},
		{Count(100000), "100k"},
		{Count(999600), "1M"},
		{Count(1.5e9), "1.50G"},
		{Count(math.MaxUint64), "2e+19"},
		{Size(999), "999B"},
		{Size(1000), "0.98KB"},
		{Size(1 << 20), "1MB"},
		{Size(math.MaxInt64), "8EB"},
		{Percent(0), "0%"},
		{Percent(0.0001), "<0.1%"},
		{Percent(0.4212), "42.1%"},
		{Percent(0.9996), "100%"},
		{Whole(1234567), "1,234,567"},
		{Whole(123), "123"},
		{Rate(0.0123), "0.012"},
		{Span(90 * time.Second), "1m 30s"},
		{Span(49 * time.Hour), "2d 01h"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
	for range 20000 {
		v := math.Exp(rand.Float64() * math.Log(math.MaxInt64))
		for _, s := range []string{Duration(v), Count(v), Size(v)} {
			if utf8.RuneCountInString(s) > 6 {
				t.Fatalf("%q of %v takes more than 6 columns", s, v)
			}
		}
	}
}
