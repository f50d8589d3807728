// Package terminal tells what the examples' reports and progress bars need to
// know of a terminal.
package terminal

import "os"

// Columns returns the width of the terminal that f is, 80 if it does not say,
// or 0 if f is none.
func Columns(f *os.File) int {
	n, ok := columns(f.Fd())
	if ok && n == 0 {
		return 80
	}
	return n
}

// Color reports whether to write colours to f: it is a terminal that can show
// them, and nobody asked for none (no-color.org).
func Color(f *os.File) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && Columns(f) > 0
}
