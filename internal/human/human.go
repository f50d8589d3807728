// Package human writes numbers for people: three significant digits in at most
// six columns, so that numbers of all sizes stand in one table.
package human

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/quern-dev/quern/slowlog"
)

// Duration formats nanoseconds.
func Duration(ns float64) string {
	const day, year = 24 * 3600e9, 365.25 * 24 * 3600e9
	switch {
	case ns <= 0 || math.IsNaN(ns):
		return "0"
	case ns < 999.5:
		return Digits(ns) + "ns"
	case ns < 999.5e3:
		return Digits(ns/1e3) + "µs"
	case ns < 999.5e6:
		return Digits(ns/1e6) + "ms"
	case ns < 9999.5e9:
		return Digits(ns/1e9) + "s"
	case ns < 2*day:
		return Digits(ns/3600e9) + "h"
	case ns < 9999*day:
		return Digits(ns/day) + "d"
	}
	return Digits(ns/year) + "y"
}

// Digits formats a number with three significant digits, more only where it
// takes them to write the whole part.
func Digits(v float64) string {
	switch {
	case v < 9.995:
		return trimZeros(strconv.FormatFloat(v, 'f', 2, 64))
	case v < 99.95:
		return trimZeros(strconv.FormatFloat(v, 'f', 1, 64))
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// trimZeros cuts a fraction of zeros, so that whole numbers look whole.
func trimZeros(s string) string {
	if whole, fraction, ok := strings.Cut(s, "."); ok && strings.Trim(fraction, "0") == "" {
		return whole
	}
	return s
}

// Count formats a number of things.
func Count(v float64) string {
	switch {
	case v < 0.005 || math.IsNaN(v):
		return "0"
	case v < 99999.5:
		return Digits(v)
	case v < 999.5e3:
		return Digits(v/1e3) + "k"
	case v < 999.5e6:
		return Digits(v/1e6) + "M"
	case v < 999.5e9:
		return Digits(v/1e9) + "G"
	case v < 9999.5e12:
		return Digits(v/1e12) + "T"
	}
	return strconv.FormatFloat(v, 'e', 0, 64)
}

// Size formats a number of bytes.
func Size(v float64) string {
	const units = "KMGTPE"
	if v < 999.5 || math.IsNaN(v) {
		return Digits(max(v, 0)) + "B"
	}
	i := -1
	for v >= 999.5 && i < len(units)-1 {
		v /= 1024
		i++
	}
	return Digits(v) + units[i:i+1] + "B"
}

// Whole formats a number of things in full, with commas.
func Whole(v float64) string {
	s := strconv.FormatFloat(max(v, 0), 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Percent formats a part of one.
func Percent(part float64) string {
	switch {
	case part <= 0 || math.IsNaN(part):
		return "0%"
	case part < 0.0005:
		return "<0.1%"
	case part > 0.9995:
		return "100%"
	}
	return strconv.FormatFloat(part*100, 'f', 1, 64) + "%"
}

// Quantity formats a value of a measure of the kind.
func Quantity(kind slowlog.Kind, v float64) string {
	switch kind {
	case slowlog.KindDuration:
		return Duration(v)
	case slowlog.KindBytes:
		return Size(v)
	}
	return Count(v)
}

// TimeLayout is the form of points in time.
const TimeLayout = "2006-01-02 15:04:05"

// TimeRange formats a range of times, the date once if it is the same.
func TimeRange(from, to time.Time) string {
	if from.IsZero() {
		return "not known: the log does not tell"
	}
	last := to.Format(TimeLayout)
	if from.Format(time.DateOnly) == to.Format(time.DateOnly) {
		last = to.Format(time.TimeOnly)
	}
	return from.Format(TimeLayout) + " to " + last + " UTC"
}

// Plural returns a count of things by their name.
func Plural(n float64, thing, things string) string {
	if n == 1 {
		return "1 " + thing
	}
	return Whole(n) + " " + things
}

// Span formats a time span in its two largest units.
func Span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return Duration(float64(d))
	case d < time.Hour:
		return fmt.Sprintf("%dm %02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh %02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd %02dh", int(d.Hours())/24, int(d.Hours())%24)
}

// Rate formats a number that may be far below 1.
func Rate(v float64) string {
	if v > 0 && v < 0.995 {
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	return Count(v)
}
