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
		unit Unit
		want time.Duration
	}{
		{"0.021", Second, 21 * ms}, {"1", Second, time.Second}, {"121", Millisecond, 121 * ms},
		{"0.0000000015", Second, 2}, {"0.0000000014", Second, 1}, {"-1", Second, -time.Second},
		{"33.598849ms", Second, 33598849}, {"432.924µs", Second, 432924}, {"68 micros", Second, 68000},
		{"129 msecs", Second, 129 * ms}, {"1m2.5s", Second, 62500 * ms}, {"1.2e-05", Second, 12 * time.Microsecond},
		{".5", Second, 500 * ms}, {"5.", Second, 5 * time.Second}, {" 7 ", Millisecond, 7 * ms},
	} {
		got, ok := parseDuration(c.text, c.unit)
		if !ok || got != c.want {
			t.Errorf("parseDuration(%q, %v) = %v, %v; want %v", c.text, c.unit, got, ok, c.want)
		}
	}
	for _, bad := range []string{"", "-", "x", "1x", "NaN", "Inf", "1e400", "99999999999999999999", "9223372036854775807", ".", "1..2"} {
		if d, ok := parseDuration(bad, Second); ok {
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
			if got, ok := c.parse(text, UnitUnknown); !ok || !got.Equal(want) {
				t.Errorf("%q: %v, %v; want %v", text, got, ok, want)
			}
		}
	}
	var c clock
	for _, bad := range []string{"", "-", "now", "2026-13-08T05:12:40Z", "2026-03-08T25:12:40Z", "2x26-03-08T05:12:40Z", "08/Xxx/2026:14:12:40 +0900", "2026-03-08T05:12:40 CET", "2026-03-08T05:12:4", "99999999999999999999999"} {
		if got, ok := c.parse(bad, UnitUnknown); ok {
			t.Errorf("%q: %v, want none", bad, got)
		}
	}
	berlin := time.FixedZone("", 3600)
	c = clock{loc: berlin}
	if got, _ := c.parse("2026-03-08 06:12:40", UnitUnknown); !got.Equal(want) {
		t.Errorf("in a zone of one hour east: %v, want %v", got, want)
	}
}

// FuzzDuration compares with the standard library where both read a plain number.
func FuzzDuration(f *testing.F) {
	for _, s := range []string{"0.021", "12", "-3.5", "1e-3", "5ms", "123456789.123456789"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := parseDuration(s, Millisecond)
		v, err := strconv.ParseFloat(s, 64)
		if !ok || err != nil {
			return
		}
		if want := v * 1e6; math.Abs(float64(got)-want) > 1+math.Abs(want)*1e-12 {
			t.Errorf("parseDuration(%q) = %d ns, ParseFloat says %v", s, got, want)
		}
	})
}
