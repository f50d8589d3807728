package slowlog

import "fmt"

// Stats says what a Reader has read and what it could not read.
type Stats struct {
	Bytes   int64 // of input used up
	Lines   int64
	Events  int64
	Banners int64 // headings that servers write when they open the log

	// Damaged counts what was skipped, by reason; the skipped bytes are
	// SkippedBytes.
	Damaged      [numReasons]int64
	SkippedBytes int64

	Truncated    int64 // events whose statement is not whole
	Ambiguous    int64 // header-like lines within a statement that could be either; see Reader
	Forged       int64 // of these, those that were taken for text
	Suspect      int64 // values that no server can mean
	BadTimes     int64 // "# Time" lines that hold no time
	UnknownLines int64 // lines of headers without meaning to this package
	UnknownKeys  int64 // values under a name that this package does not know
	Throttled    int64 // statements that MySQL suppressed and only counted

	// WholeSeconds says that every query time seen is a whole number of seconds,
	// as in logs of servers before 5.1.21: shorter statements show as 0.
	WholeSeconds bool
	// Sampled says that a record carries a rate limit above 1.
	Sampled bool
	// Server is the version text of the last banner.
	Server string
}

// Skipped returns the number of damaged places.
func (s *Stats) Skipped() int64 {
	var n int64
	for _, k := range s.Damaged {
		n += k
	}
	return n
}

// Add adds up the stats of two parts of one input, b behind s, or of two inputs.
func (s *Stats) Add(b *Stats) {
	s.WholeSeconds = (s.WholeSeconds || s.Events == 0) && (b.WholeSeconds || b.Events == 0) && s.Events+b.Events > 0
	s.Bytes += b.Bytes
	s.Lines += b.Lines
	s.Events += b.Events
	s.Banners += b.Banners
	for i, n := range b.Damaged {
		s.Damaged[i] += n
	}
	s.SkippedBytes += b.SkippedBytes
	s.Truncated += b.Truncated
	s.Ambiguous += b.Ambiguous
	s.Forged += b.Forged
	s.Suspect += b.Suspect
	s.BadTimes += b.BadTimes
	s.UnknownLines += b.UnknownLines
	s.UnknownKeys += b.UnknownKeys
	s.Throttled += b.Throttled
	s.Sampled = s.Sampled || b.Sampled
	if b.Server != "" {
		s.Server = b.Server
	}
}

// A Reason says why bytes were skipped.
type Reason uint8

const (
	NoHeader    Reason = iota // text before the first header, or between a banner and one
	NoQueryTime               // a header without a Query_time
	NoStatement               // a header that no statement follows
	BadRow                    // a row that does not fit the table mysql.slow_log
	numReasons
)

func (r Reason) String() string {
	return [...]string{"text without a header", "header without Query_time", "header without a statement", "row that does not fit the table"}[r]
}

// Damage is a place of the input that holds no event.
type Damage struct {
	Reason Reason
	Offset int64  // of the first skipped byte
	Line   int64  // of the first skipped line, from 1
	Text   []byte // what was skipped, at most its first 64 KiB; valid during the call
}

// Error describes the damage. It holds nothing of the text.
func (d Damage) Error() string {
	if d.Reason == BadRow {
		return fmt.Sprintf("line %d, offset %d: %s: expected the columns of mysql.slow_log and values of their types", d.Line, d.Offset, d.Reason)
	}
	return fmt.Sprintf("line %d, offset %d: %s: expected a header line such as # Time, # User@Host or # Query_time, then a statement", d.Line, d.Offset, d.Reason)
}
