package report

import (
	"time"

	"github.com/quern-dev/quern/internal/human"
	"github.com/quern-dev/quern/slowlog"
)

// The formats of package human, by short names.

const timeLayout = human.TimeLayout

func duration(ns float64) string                    { return human.Duration(ns) }
func digits(v float64) string                       { return human.Digits(v) }
func count(v float64) string                        { return human.Count(v) }
func size(v float64) string                         { return human.Size(v) }
func whole(v float64) string                        { return human.Whole(v) }
func percent(part float64) string                   { return human.Percent(part) }
func quantity(kind slowlog.Kind, v float64) string  { return human.Quantity(kind, v) }
func timeRange(from, to time.Time) string           { return human.TimeRange(from, to) }
func plural(n float64, thing, things string) string { return human.Plural(n, thing, things) }
func span(d time.Duration) string                   { return human.Span(d) }
func rate(v float64) string                         { return human.Rate(v) }
