package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/quern-dev/quern/digest"
)

// The drawings of a class are as wide as a telephone's screen, so that their
// letters are as large there as those of the text, and grow with the window.
// They hold numbers and labels of this package alone, nothing of a log. As a
// page may have a thousand of them, their axes are drawn once and referred to,
// and coordinates are whole numbers.
const (
	drawingWidth  = 360
	drawingHeight = 128
	wideWidth     = 720 // of the profile's timeline
	axisHeight    = 18  // below the axis
	headHeight    = 20  // above the columns
	binsPerDecade = 8
	labelRoom     = 62 // of "p99 1.23ms"
)

// A timeAxis is a logarithmic axis of time spans, from one power of ten of
// nanoseconds to another.
type timeAxis struct{ first, last float64 }

// newTimeAxis returns the axis from the decade of low to that of high.
func newTimeAxis(low, high time.Duration) timeAxis {
	decadeOf := func(d time.Duration) float64 { return math.Floor(math.Log10(float64(max(d, firstDecade))) + 1e-9) }
	return timeAxis{decadeOf(low), decadeOf(high) + 1}
}

func (a timeAxis) x(ns float64) int {
	at := (math.Log10(max(ns, 1)) - a.first) / (a.last - a.first)
	return round(min(max(at, 0), 1) * drawingWidth)
}

// draw draws the axis and names its decades.
func (a timeAxis) draw() template.HTML {
	const base = drawingHeight - axisHeight
	var b strings.Builder
	fmt.Fprintf(&b, `<path class=a d="M0 %dH%d`, base, drawingWidth)
	for e := a.first; e <= a.last; e++ {
		fmt.Fprintf(&b, "M%d %dv4", a.x(math.Pow(10, e)), base)
	}
	b.WriteString(`"/>`)
	for e := a.first; e <= a.last; e++ {
		label(&b, a.x(math.Pow(10, e)), drawingWidth, drawingHeight-4, duration(math.Pow(10, e)))
	}
	return template.HTML(b.String())
}

// histogramSVG draws a distribution of times over the axis, with three
// percentiles marked.
func histogramSVG(d *digest.Durations, axis timeAxis) template.HTML {
	const top, base = 36, drawingHeight - axisHeight
	h := d.Histogram()
	bins := int(axis.last-axis.first) * binsPerDecade
	counts := make([]float64, bins)
	most, below := 0.0, 0.0
	for i := range counts {
		atMost := h.Count()
		if i+1 < bins {
			atMost = h.AtMost(int64(math.Ceil(math.Pow(10, axis.first+float64(i+1)/binsPerDecade))) - 1)
		}
		counts[i] = max(atMost-below, 0)
		below = atMost
		most = max(most, counts[i])
	}
	var bars strings.Builder
	width := float64(drawingWidth) / float64(bins)
	for i, c := range counts {
		column(&bars, round((float64(i)+.5)*width), base, c/max(most, 1e-12)*(base-top))
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" role=img aria-label="Query times">`, drawingWidth, drawingHeight)
	fmt.Fprintf(&b, `<path class=b stroke-width=%.2g d="%s"/><use href=#ha />`, max(width-1, 1), bars.String())
	// Labels stand to one side of their marks, in an order in which no mark
	// crosses a label.
	quantiles, side, class := []float64{.5, .95, .99}, 3, ""
	if axis.x(float64(d.Quantile(.99)))+labelRoom > drawingWidth {
		slices.Reverse(quantiles)
		side, class = -3, " class=e"
	}
	var marks strings.Builder
	for i, q := range quantiles {
		at, y := axis.x(float64(d.Quantile(q))), 9+11*i
		fmt.Fprintf(&marks, "M%d %dV%d", at, y-7, base)
		fmt.Fprintf(&b, `<text x=%d y=%d%s>p%g %s</text>`, at+side, y, class, q*100, quantile(d, q))
	}
	fmt.Fprintf(&b, `<path class=q d="%s"/></svg>`, marks.String())
	return template.HTML(b.String())
}

// A dayAxis is an axis of points in time.
type dayAxis struct {
	from, to time.Time
	width    int
}

func (a dayAxis) x(t time.Time) int {
	at := float64(t.Unix()-a.from.Unix()) / (float64(a.to.Unix()-a.from.Unix()) + 1)
	return round(min(max(at, 0), 1) * float64(a.width))
}

// draw draws the axis, names points of it, and says what the colours are.
func (a dayAxis) draw() template.HTML {
	const base = drawingHeight - axisHeight
	var b strings.Builder
	fmt.Fprintf(&b, `<path class=a d="M0 %dH%d"/><path class=b stroke-width=8 d="M4 10V2"/><path class=l d="M%d 6h9"/>`, base, a.width, a.width-9)
	step, layout := ticks(a.to.Sub(a.from))
	for t := a.from.Truncate(step).Add(step); t.Before(a.to); t = t.Add(step) {
		label(&b, a.x(t), a.width, drawingHeight-4, t.Format(layout))
	}
	return template.HTML(b.String())
}

// timelineSVG draws how much query time the statements took in each interval, as
// columns, and how many there were, as a line. The axis is referred to by its id.
func timelineSVG(timeline []digest.Interval, axis dayAxis, id string) template.HTML {
	const base = drawingHeight - axisHeight
	mostSeconds, mostCount, width := 0.0, 0.0, time.Second
	for _, iv := range timeline {
		mostSeconds, mostCount, width = max(mostSeconds, iv.Seconds), max(mostCount, iv.Count), iv.Width
	}
	// the width of a column, of which the first and the last may show in part
	across := width.Seconds() / (axis.to.Sub(axis.from).Seconds() + 1) * float64(axis.width)
	var columns, line strings.Builder
	last := -1
	for _, iv := range timeline {
		left, right := axis.x(iv.Start), axis.x(iv.Start.Add(iv.Width))
		column(&columns, (left+right)/2, base, iv.Seconds/max(mostSeconds, 1e-12)*(base-headHeight))
		y := base - round(iv.Count/max(mostCount, 1e-12)*(base-headHeight))
		switch last {
		case -1:
			fmt.Fprintf(&line, "M%d %d", left, y)
		case y:
		default:
			fmt.Fprintf(&line, "H%dV%d", left, y)
		}
		last = y
	}
	if n := len(timeline); n > 0 {
		fmt.Fprintf(&line, "H%d", axis.x(timeline[n-1].Start.Add(width)))
	}
	load, perSecond := rate(mostSeconds/width.Seconds()), rate(mostCount/width.Seconds())
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" role=img aria-label="Over time">`, axis.width, drawingHeight)
	fmt.Fprintf(&b, `<path class=b stroke-width=%.2g d="%s"/><path class=l d="%s"/><use href=#%s />`, max(across-.4, .8), columns.String(), line.String(), id)
	fmt.Fprintf(&b, `<text x=12 y=10>concurrency, to %s</text><text x=%d y=10 class=e>statements, to %s/s</text></svg>`, load, axis.width-13, perSecond)
	return template.HTML(b.String())
}

// ticks returns the distance of the labels of a time axis and their form.
func ticks(length time.Duration) (step time.Duration, layout string) {
	const most, day = 6, 24 * time.Hour
	for _, step := range []time.Duration{time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second} {
		if length/step <= most {
			return step, "15:04:05"
		}
	}
	for _, step := range []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 6 * time.Hour} {
		if length/step <= most {
			return step, "15:04"
		}
	}
	step = day
	for length/step > most {
		step *= 2
	}
	return step, "Jan 2"
}

// column adds a column to a path that is stroked as wide as columns are. What is
// not nothing shows.
func column(b *strings.Builder, middle, base int, height float64) {
	if height > 0 {
		fmt.Fprintf(b, "M%d %dv-%d", middle, base, max(round(height), 1))
	}
}

// label writes a label in the middle below x, or beside it at the ends of a
// drawing that is so far across.
func label(b *strings.Builder, x, across, y int, text string) {
	class := " class=m"
	switch {
	case x < 16:
		class, x = "", 0
	case x > across-16:
		class, x = " class=e", across
	}
	fmt.Fprintf(b, `<text x=%d y=%d%s>%s</text>`, x, y, class, text)
}

func round(v float64) int { return int(math.Round(v)) }
