package requestlog

import (
	"math"
	"strconv"
	"testing"
	"time"
)

func TestDurationsInTheUnitsThatLogsUse(t *testing.T) {
	for _, c := range []struct {
		text string
		unit time.Duration
		want time.Duration
	}{
		{"0.021", time.Second, 21 * ms}, {"1", time.Second, time.Second}, {"121", time.Millisecond, 121 * ms},
		{"0.0000000015", time.Second, 2}, {"0.0000000014", time.Second, 1}, {"-1", time.Second, -time.Second},
		{"33.598849ms", time.Second, 33598849}, {"432.924µs", time.Second, 432924}, {"68 micros", time.Second, 68000},
		{"129 msecs", time.Second, 129 * ms}, {"1m2.5s", time.Second, 62500 * ms}, {"1.2e-05", time.Second, 12 * time.Microsecond},
		{".5", time.Second, 500 * ms}, {"5.", time.Second, 5 * time.Second}, {" 7 ", time.Millisecond, 7 * ms},
	} {
		got, ok := parseDuration(c.text, c.unit)
		if !ok || got != c.want {
			t.Errorf("parseDuration(%q, %v) = %v, %v; want %v", c.text, c.unit, got, ok, c.want)
		}
	}
	for _, bad := range []string{"", "-", "x", "1x", "NaN", "Inf", "1e400", "99999999999999999999", "9223372036854775807", ".", "1..2"} {
		if d, ok := parseDuration(bad, time.Second); ok {
			t.Errorf("parseDuration(%q) = %v, want none", bad, d)
		}
	}
}

func TestTimesInTheFormsThatServersWrite(t *testing.T) {
	want := time.Date(2026, 3, 8, 5, 12, 40, 0, time.UTC)
	for _, text := range []string{
		"2026-03-08T05:12:40Z", "2026-03-08 05:12:40", "2026-03-08T14:12:40+09:00", "2026-03-08T14:12:40.000 +0900",
		"08/Mar/2026:14:12:40 +0900", "[08/Mar/2026:05:12:40 +0000]", "08/Mar/2026 05:12:40", "08/Mar/2026:05:12:40.000",
		"2026/03/08 05:12:40", "Sun Mar  8 05:12:40 2026", "Sun, 08 Mar 2026 05:12:40 GMT", "2026-03-08T00:12:40-05",
		"1772946760", "1772946760.000", "1772946760000", "1772946760000000", "1772946760000000000",
	} {
		var c clock
		for range 2 { // the second time out of memory
			if got, ok := c.parse(text, 0); !ok || !got.Equal(want) {
				t.Errorf("%q: %v, %v; want %v", text, got, ok, want)
			}
		}
	}
	var c clock
	for _, bad := range []string{"", "-", "now", "2026-13-08T05:12:40Z", "2026-03-08T25:12:40Z", "2x26-03-08T05:12:40Z", "08/Xxx/2026:14:12:40 +0900", "2026-03-08T05:12:40 CET", "2026-03-08T05:12:4", "99999999999999999999999"} {
		if got, ok := c.parse(bad, 0); ok {
			t.Errorf("%q: %v, want none", bad, got)
		}
	}
	berlin := time.FixedZone("", 3600)
	c = clock{loc: berlin}
	if got, _ := c.parse("2026-03-08 06:12:40", 0); !got.Equal(want) {
		t.Errorf("in a zone of one hour east: %v, want %v", got, want)
	}
}

// FuzzDuration compares with the standard library where both read a plain number.
func FuzzDuration(f *testing.F) {
	for _, s := range []string{"0.021", "12", "-3.5", "1e-3", "5ms", "123456789.123456789"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := parseDuration(s, time.Millisecond)
		v, err := strconv.ParseFloat(s, 64)
		if !ok || err != nil {
			return
		}
		if want := v * 1e6; math.Abs(float64(got)-want) > 1+math.Abs(want)*1e-12 {
			t.Errorf("parseDuration(%q) = %d ns, ParseFloat says %v", s, got, want)
		}
	})
}
