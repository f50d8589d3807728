// Package classes has what the exporters say of a query class, whatever they export
// it to.
package classes

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/quern-dev/quern/digest"
)

// Sums are what the metrics say of one class, or of several.
type Sums struct {
	Times digest.Durations

	Count float64 // of the statements

	errors, lock, examined, sent float64
}

// Add adds what the class has.
func (s *Sums) Add(c *digest.Class) {
	s.Times.Merge(&c.QueryTime)
	s.Count += c.Count
	s.errors += c.ErrorCount()
	s.lock += c.LockTime.Seconds()
	s.examined += c.RowsExamined.Sum()
	s.sent += c.Summary(digest.RowsSent).Sum()
}

// Counters returns the numbers of statements and of errors, the lock time in
// seconds, and the numbers of rows examined and sent.
func (s *Sums) Counters() [5]float64 {
	return [...]float64{s.Count, s.errors, s.lock, s.examined, s.sent}
}

// A Namer names the classes of one profile.
type Namer struct {
	schemaAt int // where a class's key has the schema
	f        digest.Fingerprinter
}

// NewNamer returns a Namer for the profile.
func NewNamer(p *digest.Profile) *Namer {
	return &Namer{schemaAt: slices.Index(strings.Split(p.GroupedBy(), ","), digest.BySchema.String())}
}

// Summary returns OpenTelemetry's db.query.summary of the class.
func (n *Namer) Summary(c *digest.Class) string { return n.f.Statement(c.Fingerprint).Summary }

// Schema returns the class's schema, empty where the profile is not grouped by it.
func (n *Namer) Schema(c *digest.Class) string {
	if key := c.Key(); n.schemaAt >= 0 && n.schemaAt < len(key) {
		return key[n.schemaAt]
	}
	return ""
}

// MaxName is how many bytes of a name are exported.
const MaxName = 255

// Name returns as much of a name as is exported, in UTF-8.
func Name(s string) string { return strings.ToValidUTF8(s[:min(len(s), MaxName)], "") }

// TraceID returns the trace of a sample. It is not ok if the sample has none, or
// what no trace's ID looks like.
func TraceID(s *digest.Sample) (id [16]byte, ok bool) {
	if len(s.TraceID) != hex.EncodedLen(len(id)) {
		return id, false
	}
	_, err := hex.Decode(id[:], []byte(s.TraceID))
	return id, err == nil
}
