package slowlog

import "strings"

// memos spares the reading of header lines that are the same in one record after
// another, such as
//
//	# Filesort: No  Filesort_on_disk: No  Merge_passes: 0
//
// of which most records of a log with query-plan values have several: comparing
// a line with that of the record before is much cheaper than taking it apart.
type memos struct {
	lines []memo // by their number in the header
	text  []byte // of lines; events refer to it
}

type memo struct {
	line    string
	metrics []Metric
	next    int  // step of the shape behind it
	misses  int  // in a row
	never   bool // a line that changes, or with values that are no metrics

	suspect, unknownKeys, unknownLines int64 // what it counts in Stats
}

const (
	maxMemos    = 24
	maxMemoLine = 200
	maxMemoText = 64 << 10
	maxMisses   = 4
)

// reset forgets all lines. No event refers to them any more.
func (m *memos) reset() {
	m.text = m.text[:0]
	for i := range m.lines {
		m.lines[i].line, m.lines[i].misses, m.lines[i].never = "", 0, false
	}
}

// repeats returns where the header's next line, at s[i:], ends, and where the one
// behind it starts, if it is the line that its memo holds. A line that has a memo
// is a line of values.
func (d *decoder) repeats(s string, i int) (end, next int, ok bool) {
	n := len(d.lines)
	if n >= len(d.memos.lines) || !d.reuse {
		return 0, 0, false
	}
	line := d.memos.lines[n].line
	if end = i + len(line); line == "" || end >= len(s) || s[i:end] != line {
		return 0, 0, false
	}
	if next = end + 1; s[end] == '\r' {
		next++
	}
	return end, next, next <= len(s) && s[next-1] == '\n'
}

// at returns the memo of the header's line i, or nil if it has none.
func (m *memos) at(i int) *memo {
	if i >= maxMemos {
		return nil
	}
	for len(m.lines) <= i {
		m.lines = append(m.lines, memo{})
	}
	return &m.lines[i]
}

// names gives out one copy of each of the schemas that "use" lines name over and
// over.
type names map[string]string

const maxNamesKept = 1 << 10

func (n *names) keep(s string) string {
	if k, ok := (*n)[s]; ok {
		return k
	}
	if *n == nil || len(*n) >= maxNamesKept {
		*n = make(names)
	}
	k := strings.Clone(s)
	(*n)[k] = k
	return k
}
