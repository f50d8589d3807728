package digest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/quern-dev/quern/slowlog"
)

func TestSampleTextIsCutBetweenRunes(t *testing.T) {
	query := "select '" + strings.Repeat("é", 100) + "'"
	p := profileOf(t, Options{MaxText: 21}, []*slowlog.Event{event(query, 1)})
	s := p.Top(1, ByTotalTime)[0].Sample()
	if want := query[:20]; s.Query != want || !s.Truncated {
		t.Errorf("got %q, truncated %v, want %q, true", s.Query, s.Truncated, want)
	}
	if s.PerconaID() != PerconaID(query) {
		t.Error("the Percona ID is not that of the whole statement")
	}
}

func TestRedactedSamplesHaveNoLiteral(t *testing.T) {
	for n := range 3 {
		var evs []*slowlog.Event
		for range n + 1 {
			evs = append(evs, event("select * from users where name = 'secret' /* secret */", 1))
		}
		s := profileOf(t, Options{Text: TextRedacted}, evs).Top(1, ByTotalTime)[0].Sample()
		if strings.Contains(s.Query, "secret") || !s.Redacted {
			t.Errorf("got %q, redacted %v", s.Query, s.Redacted)
		}
		if c := profileOf(t, Options{Text: TextNone}, evs).Top(1, ByTotalTime)[0]; c.Sample() != nil || c.Samples() != nil || c.PerconaIDs() != nil {
			t.Error("there is a sample, though none was to be kept")
		}
	}
}

// The hash by which samples are drawn is in the binary form, and a short literal
// could be guessed from it.
func TestRedactedProfilesOfOtherLiteralsAreEqual(t *testing.T) {
	for _, n := range []int{1, 3} {
		profile := func(pin int) []byte {
			var evs []*slowlog.Event
			for i := range n {
				evs = append(evs, event(fmt.Sprintf("select * from cards where pin = %04d", pin+i), 1))
			}
			return marshal(t, profileOf(t, Options{Text: TextRedacted}, evs))
		}
		if !bytes.Equal(profile(1234), profile(4321)) {
			t.Errorf("of %d events: the binary form depends on the literals", n)
		}
	}
}

func TestSamplesHaveTheTraceOfTheirComment(t *testing.T) {
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	tagged := "select a from t where b = 1 /*traceparent='00-" + trace + "-00f067aa0ba902b7-01'*/"
	for _, mode := range []TextMode{TextVerbatim, TextRedacted} {
		for _, evs := range [][]*slowlog.Event{
			{event(tagged, 1)},
			{event("select a from t where b = 2", 0), event(tagged, 1)},
		} {
			c := profileOf(t, Options{Text: mode}, evs).Top(1, ByTotalTime)[0]
			if got := c.Sample().TraceID; got != trace {
				t.Errorf("%v text, %d events: got trace %q, want %q", mode, len(evs), got, trace)
			}
			if l := c.Samples(); len(l) > 1 && l[1].TraceID != "" {
				t.Errorf("a statement without a trace got %q", l[1].TraceID)
			}
		}
		bad := event("select a from t /*traceparent='00-secret'*/", 1)
		if got := profileOf(t, Options{Text: mode}, []*slowlog.Event{bad}).Top(1, ByTotalTime)[0].Sample().TraceID; got != "" {
			t.Errorf("got trace %q of a comment that tells none", got)
		}
	}
}
