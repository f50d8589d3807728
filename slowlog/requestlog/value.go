package requestlog

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// parseUnit knows the units by the names that logs and people give them.
func parseUnit(s string) (time.Duration, bool) {
	switch s {
	case "s", "sec", "secs", "second", "seconds":
		return time.Second, true
	case "ms", "msec", "msecs", "milli", "millis", "milliseconds":
		return time.Millisecond, true
	case "us", "µs", "μs", "usec", "usecs", "micro", "micros", "microseconds":
		return time.Microsecond, true
	case "ns", "nsec", "nano", "nanos", "nanoseconds":
		return time.Nanosecond, true
	}
	return 0, false
}

// unitName is the name by which parseUnit knows a unit, empty for another.
func unitName(unit time.Duration) string {
	switch unit {
	case time.Second:
		return "s"
	case time.Millisecond:
		return "ms"
	case time.Microsecond:
		return "us"
	case time.Nanosecond:
		return "ns"
	}
	return ""
}

// parseDecimal reads digits, an optional sign and fraction from the front of s, as
// an integer of the given number of decimals scaled by unit. It returns the number
// of bytes read; 0 if there is no number.
func parseDecimal(s string, unit int64) (v int64, n int, ok bool) {
	i, neg := 0, false
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		neg = s[i] == '-'
		i++
	}
	var whole uint64
	start := i
	for ; i < len(s) && s[i]-'0' <= 9; i++ {
		whole = whole*10 + uint64(s[i]-'0')
	}
	digits := i - start
	high, low := bits.Mul64(whole, uint64(unit))
	if digits > 19 || high != 0 || low >= 1<<63-1e9 {
		return 0, 0, false
	}
	v = int64(low)
	if i < len(s) && s[i] == '.' {
		i++
		scale := unit
		for ; i < len(s) && s[i]-'0' <= 9; i++ {
			digits++
			d := int64(s[i] - '0')
			if scale >= 10 {
				scale /= 10
				v += d * scale
			} else if scale > 0 {
				if d >= 5 { // the first digit below the resolution rounds
					v++
				}
				scale = 0
			}
		}
	}
	if digits == 0 {
		return 0, 0, false
	}
	if neg {
		v = -v
	}
	return v, i, true
}

// parseDuration reads a duration: a number in unit, or one that names its own
// unit ("33.598849ms", "68 micros"), also in the form of time.Duration ("1m2.5s").
func parseDuration(s string, unit time.Duration) (time.Duration, bool) {
	v, n, ok := parseDecimal(s, int64(unit))
	if ok && n == len(s) {
		return time.Duration(v), true
	}
	return parseOddDuration(s, unit)
}

func parseOddDuration(s string, unit time.Duration) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	end := len(s)
	for end > 0 && (s[end-1] >= 'a' && s[end-1] <= 'z' || s[end-1] >= 0x80) {
		end--
	}
	if end < len(s) && end > 0 {
		if u, ok := parseUnit(s[end:]); ok {
			number := strings.TrimRight(s[:end], " ")
			if v, n, ok := parseDecimal(number, int64(u)); ok && n == len(number) {
				return time.Duration(v), true
			}
		}
		if d, err := time.ParseDuration(s); err == nil {
			return d, true
		}
	}
	if s == "" || s[0] > '9' { // no Inf, NaN or other words
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	f *= float64(unit)
	if err != nil || math.Abs(f) >= math.MaxInt64/2 {
		return 0, false
	}
	return time.Duration(math.Round(f)), true
}

// parseCount reads a non-negative integer; a fraction of zeros is forgiven.
func parseCount(s string) (int64, bool) {
	v, n, ok := parseDecimal(s, 1)
	return v, ok && n == len(s) && v >= 0
}

func formatInt(n int64) string { return strconv.FormatInt(n, 10) }

// A clock parses time stamps. It remembers the last date and zone it saw, since
// the lines of a log mostly share them.
type clock struct {
	loc *time.Location // of stamps without a zone; nil means UTC

	date string // the last date text, a copy
	days int64  // its days since 1970
	zone string // the last zone text, a copy
	east int64  // its offset in seconds
}

// parse reads the stamp forms that servers write: ISO 8601 and SQL ("T" or blank,
// fraction, Z or ±hh:mm), Common Log Format ("08/Mar/2017:14:12:40 +0900", also
// with a blank or no zone), C's asctime, RFC 1123, and seconds since 1970 in any
// unit (told apart by magnitude if unit is unknown).
func (c *clock) parse(s string, unit time.Duration) (time.Time, bool) {
	if len(s) > 1 && s[0] == '[' {
		s = strings.TrimSuffix(s[1:], "]")
	}
	switch {
	case len(s) >= 19 && s[4] == '-' && s[7] == '-':
		return c.stamp(s, 10, isoDate)
	case len(s) >= 20 && s[2] == '/' && s[6] == '/':
		return c.stamp(s, 11, clfDate)
	case len(s) >= 19 && s[4] == '/' && s[7] == '/':
		return c.stamp(s, 10, isoDate)
	}
	return c.odd(s, unit)
}

// stamp reads a date of n bytes, a separator, hh:mm:ss, a fraction and a zone.
func (c *clock) stamp(s string, n int, date func(string) (int64, bool)) (time.Time, bool) {
	days := c.days
	if s[:n] != c.date {
		var ok bool
		if days, ok = date(s[:n]); !ok {
			return time.Time{}, false
		}
		c.date, c.days = strings.Clone(s[:n]), days
	}
	t := s[n:]
	if len(t) < 9 || t[3] != ':' || t[6] != ':' {
		return time.Time{}, false
	}
	h, m, sec := two(t[1], t[2]), two(t[4], t[5]), two(t[7], t[8])
	if h > 23 || m > 59 || sec > 60 {
		return time.Time{}, false
	}
	rest := t[9:]
	nsec := int64(0)
	if len(rest) > 1 && (rest[0] == '.' || rest[0] == ',') {
		scale := int64(1e9)
		i := 1
		for ; i < len(rest) && rest[i]-'0' <= 9; i++ {
			scale /= 10
			nsec += int64(rest[i]-'0') * scale
		}
		rest = rest[i:]
	}
	unix := days*86400 + int64(h)*3600 + int64(m)*60 + int64(sec)
	if rest == "" {
		if c.loc == nil || c.loc == time.UTC {
			return time.Unix(unix, nsec).UTC(), true
		}
		u := time.Unix(unix, nsec).UTC()
		return time.Date(u.Year(), u.Month(), u.Day(), u.Hour(), u.Minute(), u.Second(), u.Nanosecond(), c.loc).UTC(), true
	}
	if rest == "Z" {
		return time.Unix(unix, nsec).UTC(), true
	}
	if rest != c.zone {
		east, ok := parseZone(rest)
		if !ok {
			return time.Time{}, false
		}
		c.zone, c.east = strings.Clone(rest), east
	}
	return time.Unix(unix-c.east, nsec).UTC(), true
}

// odd reads epoch times and the rarer forms.
func (c *clock) odd(s string, unit time.Duration) (time.Time, bool) {
	s = strings.TrimSpace(s)
	if s == "" {
		return time.Time{}, false
	}
	if _, n, ok := parseDecimal(s, 1); ok && n == len(s) && s[0] != '-' {
		whole, _, _ := strings.Cut(s, ".")
		if unit == 0 {
			switch n := len(strings.TrimLeft(whole, "0")); {
			case n <= 11:
				unit = time.Second
			case n <= 14:
				unit = time.Millisecond
			case n <= 17:
				unit = time.Microsecond
			default:
				unit = time.Nanosecond
			}
		}
		v, _, ok := parseDecimal(s, int64(unit))
		if !ok {
			return time.Time{}, false
		}
		return time.Unix(0, v).UTC(), true
	}
	loc := c.loc
	if loc == nil {
		loc = time.UTC
	}
	for _, layout := range [...]string{time.ANSIC, time.RFC1123, time.RFC1123Z, "2006-01-02", "2006-01-02 15:04", time.RFC850} {
		if t, err := time.ParseInLocation(layout, s, loc); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// two returns the value of two digits, a number above any date if they are none.
func two(a, b byte) int {
	a, b = a-'0', b-'0'
	if a > 9 || b > 9 {
		return 1e6
	}
	return int(a)*10 + int(b)
}

func isoDate(s string) (int64, bool) {
	return civil(two(s[0], s[1])*100+two(s[2], s[3]), two(s[5], s[6]), two(s[8], s[9]))
}

func clfDate(s string) (int64, bool) {
	month := strings.Index("JanFebMarAprMayJunJulAugSepOctNovDec", s[3:6])
	if month%3 != 0 {
		return 0, false
	}
	return civil(two(s[7], s[8])*100+two(s[9], s[10]), month/3+1, two(s[0], s[1]))
}

// civil returns the days since 1970 of a date of the years 1 to 9999.
func civil(y, m, d int) (int64, bool) {
	if y < 1 || y > 9999 || m < 1 || m > 12 || d < 1 || d > 31 {
		return 0, false
	}
	return time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC).Unix() / 86400, true
}

// parseZone reads Z, UTC, ±hh:mm, ±hhmm and ±hh, after any blanks, in seconds east.
func parseZone(s string) (int64, bool) {
	s = strings.TrimSpace(s)
	if s == "Z" || s == "UTC" || s == "GMT" || s == "" {
		return 0, true
	}
	if len(s) < 3 || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	h, m := two(s[1], s[2]), 0
	if rest := strings.TrimPrefix(s[3:], ":"); len(rest) == 2 {
		m = two(rest[0], rest[1])
	} else if rest != "" {
		return 0, false
	}
	if h > 24 || m > 59 {
		return 0, false
	}
	east := int64(h*3600 + m*60)
	if s[0] == '-' {
		east = -east
	}
	return east, true
}
