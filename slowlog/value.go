package slowlog

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/quern-dev/quern/internal/lexer"
)

// maxDuration is the longest time that a log is believed: ten years. Servers
// whose clock steps back print 2^64 microseconds less a bit, which is 584,542
// years.
const maxDuration = 10 * 365 * 24 * time.Hour

// parseSeconds reads a decimal number of seconds ("2", "0.000237", "1e-05"),
// exact to the nanosecond. Digits beyond are cut.
func parseSeconds(s string) (time.Duration, bool) {
	d, end := scanSeconds(s, 0)
	if end < len(s) {
		return parseSecondsFloat(s)
	}
	return d, end > 0
}

// scanSeconds reads the decimal number of seconds at s[p:] and returns where it
// ends: p if there is none, or none that can be meant.
func scanSeconds(s string, p int) (d time.Duration, end int) {
	var sec, frac int64
	i := p
	for ; i < len(s) && s[i]-'0' < 10; i++ {
		sec = sec*10 + int64(s[i]-'0')
	}
	if i-p > 10 { // more than the ten years
		return 0, p
	}
	if us, ok := micros(s[i:]); ok {
		frac = us * 1000
		i += 1 + 6
	} else if i < len(s) && s[i] == '.' {
		i++
		from := i
		for ; i < len(s) && s[i]-'0' < 10; i++ {
			if i-from < 9 {
				frac = frac*10 + int64(s[i]-'0')
			}
		}
		if i == p+1 {
			return 0, p // a lone point
		}
		frac *= pow10[max(0, 9-(i-from))]
	}
	if sec >= int64(maxDuration/time.Second) {
		return 0, p
	}
	return time.Duration(sec)*time.Second + time.Duration(frac), i
}

// micros reads a point and six digits at the start of s, behind which there are
// other bytes but no more digits: what servers nearly always write.
func micros(s string) (us int64, ok bool) {
	if len(s) < 8 || s[0] != '.' {
		return 0, false
	}
	us, k := leadingDigits(lexer.Load8(s) >> 8)
	return us, k == 6
}

// leadingDigits returns how many of the eight bytes in x, from the lowest on, are
// digits, and their number. It takes them all at once: a loop over them costs
// several times as much, for a processor cannot guess where it ends.
func leadingDigits(x uint64) (n int64, k int) {
	k = lexer.Digits(x)
	x ^= 0x30_30_30_30_30_30_30_30 // '0'
	x <<= uint(64 - 8*k)           // zeros before the digits
	// Pairs of digits in every other byte, then all of them.
	x = x*10 + x>>8
	const pair = 0xff_00_00_00_ff
	return int64((x&pair*(100+1000000<<32) + x>>16&pair*(1+10000<<32)) >> 32), k
}

var pow10 = [...]int64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

// parseSecondsFloat reads what parseSeconds does not know: an exponent.
func parseSecondsFloat(s string) (time.Duration, bool) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f >= 0 && f < maxDuration.Seconds()) {
		return 0, false
	}
	return time.Duration(math.Round(f * 1e9)), true
}

// parseCount reads a decimal number below 2^63: above is a counter that went
// below zero.
func parseCount(s string) (int64, bool) {
	n, end := scanCount(s, 0)
	return n, end > 0 && end == len(s)
}

// scanCount reads the decimal number at s[p:] and returns where it ends: p if
// there is none below 2^63.
func scanCount(s string, p int) (n int64, end int) {
	if len(s)-p >= 8 {
		if n, k := leadingDigits(lexer.Load8(s[p:])); k < 8 {
			return n, p + k
		}
	}
	i := p
	for ; i < len(s) && s[i]-'0' < 10; i++ {
		n = n*10 + int64(s[i]-'0')
	}
	if i-p > 19 || n < 0 { // 19 digits may wrap into the negative, not around
		return 0, p
	}
	return n, i
}

func parseBool(s string) (int64, bool) {
	switch s {
	case "No", "no", "false", "0", "OFF":
		return 0, true
	case "Yes", "yes", "true", "1", "ON":
		return 1, true
	}
	return 0, false
}

// parseTime reads the times of "# Time:", Start: and End: lines:
//
//	071015 21:43:52             071015  1:43:52       whole seconds, server's zone
//	121123 19:56:06.0000001967                        Percona Server 5.1 and 5.5: microseconds in ten digits
//	2024-03-01T10:00:00.123456Z                       MySQL 5.7 and later, also with +02:00
//	2024-03-01 10:00:00                               hand-made
//	2019-04-24-19:41:21.716221 +0800                  TiDB 2.1
//
// loc is for times without a zone.
func parseTime(s string, loc *time.Location) (time.Time, bool) {
	if len(s) >= 19 && s[4] == '-' {
		return parseLongTime(s, loc)
	}
	if len(s) < 14 {
		return time.Time{}, false
	}
	date, ok := digits(s[:6])
	if !ok || s[6] != ' ' {
		return time.Time{}, false
	}
	i := 7
	for i < len(s) && s[i] == ' ' {
		i++
	}
	hour, i, ok := shortNumber(s, i)
	if !ok || i+6 > len(s) || s[i] != ':' || s[i+3] != ':' {
		return time.Time{}, false
	}
	minute, ok1 := digits(s[i+1 : i+3])
	sec, ok2 := digits(s[i+4 : i+6])
	nsec, rest, ok3 := fraction(s[i+6:])
	if !ok1 || !ok2 || !ok3 || rest != "" {
		return time.Time{}, false
	}
	year := 2000 + date/10000
	if year >= 2070 { // the two-digit years of these servers
		year -= 100
	}
	return makeTime(year, date/100%100, date%100, hour, minute, sec, nsec, loc)
}

// A clock reads the times of a log, of which many share the minute.
type clock struct {
	loc    *time.Location
	prefix string // "2024-03-01T10:00:"
	zone   string // "Z"
	minute time.Time
}

// parse is parseTime in the clock's zone.
func (c *clock) parse(s string) (time.Time, bool) {
	const n = len("2024-03-01T10:00:")
	if len(s) < n+2 || s[4] != '-' {
		return parseTime(s, c.loc)
	}
	nsec, zone, ok := fraction(s[n+2:])
	if s[:n] != c.prefix || zone != c.zone || !ok {
		t, ok := parseTime(s, c.loc)
		if ok && t.Second() < 59 { // no leap second
			c.prefix, c.zone = strings.Clone(s[:n]), strings.Clone(zone)
			c.minute = t.Truncate(time.Minute)
		}
		return t, ok
	}
	hi, lo := s[n]-'0', s[n+1]-'0'
	if hi > 5 || lo > 9 {
		return parseTime(s, c.loc)
	}
	return c.minute.Add(time.Duration(int(hi)*10+int(lo))*time.Second + time.Duration(nsec)), true
}

func parseLongTime(s string, loc *time.Location) (time.Time, bool) {
	year, ok1 := digits(s[:4])
	month, ok2 := digits(s[5:7])
	day, ok3 := digits(s[8:10])
	hour, ok4 := digits(s[11:13])
	minute, ok5 := digits(s[14:16])
	sec, ok6 := digits(s[17:19])
	nsec, zone, ok7 := fraction(s[19:])
	if !(ok1 && ok2 && ok3 && ok4 && ok5 && ok6 && ok7) || s[7] != '-' || s[13] != ':' || s[16] != ':' {
		return time.Time{}, false
	}
	switch s[10] {
	case 'T', ' ', '-':
	default:
		return time.Time{}, false
	}
	if len(zone) > 0 && zone[0] == ' ' {
		zone = zone[1:]
	}
	switch {
	case zone == "Z":
		loc = time.UTC
	case zone == "":
	default:
		offset, ok := zoneOffset(zone)
		if !ok {
			return time.Time{}, false
		}
		// The same instant in UTC, so that times of one log compare and print alike
		// and no zone has to be made for each record.
		t, ok := makeTime(year, month, day, hour, minute, sec, nsec, time.UTC)
		return t.Add(-offset), ok
	}
	return makeTime(year, month, day, hour, minute, sec, nsec, loc)
}

// zoneOffset reads +hh:mm or +hhmm.
func zoneOffset(s string) (time.Duration, bool) {
	if len(s) == 6 && s[3] == ':' {
		s = s[:3] + s[4:]
	}
	if len(s) != 5 || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	h, ok1 := digits(s[1:3])
	m, ok2 := digits(s[3:5])
	d := time.Duration(h)*time.Hour + time.Duration(m)*time.Minute
	if s[0] == '-' {
		d = -d
	}
	return d, ok1 && ok2 && h < 24 && m < 60
}

func makeTime(year, month, day, hour, minute, sec, nsec int, loc *time.Location) (time.Time, bool) {
	if month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || sec > 60 {
		return time.Time{}, false
	}
	return time.Date(year, time.Month(month), day, hour, minute, sec, nsec, loc), true
}

// digits reads a string of digits alone.
func digits(s string) (n int, ok bool) {
	for i := 0; i < len(s); i++ {
		c := s[i] - '0'
		if c > 9 {
			return 0, false
		}
		n = n*10 + int(c)
	}
	return n, true
}

// shortNumber reads the one or two digits at s[i:].
func shortNumber(s string, i int) (n, next int, ok bool) {
	for next = i; next < len(s) && next < i+2 && s[next]-'0' < 10; next++ {
		n = n*10 + int(s[next]-'0')
	}
	return n, next, next > i
}

// fraction reads an optional ".digits" at the start of s, as nanoseconds.
func fraction(s string) (nsec int, rest string, ok bool) {
	if s == "" || s[0] != '.' {
		return 0, s, true
	}
	if us, ok := micros(s); ok {
		return int(us) * 1000, s[1+6:], true
	}
	i := 1
	for i < len(s) && s[i]-'0' < 10 {
		if i <= 9 {
			nsec = nsec*10 + int(s[i]-'0')
		}
		i++
	}
	switch n := i - 1; {
	case n == 0:
		return 0, s, false
	case n == 10 && s[1:5] == "0000":
		// Percona Server 5.1 and 5.5 print the microseconds with %010lu.
		us, _ := digits(s[5:11])
		nsec = us * 1000
	case n < 9:
		nsec *= int(pow10[9-n])
	}
	return nsec, s[i:], true
}
