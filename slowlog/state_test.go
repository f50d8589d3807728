package slowlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestResumeGoesOnBehindEachEvent stops behind each event of the samples and
// reads the rest with another Reader.
func TestResumeGoesOnBehindEachEvent(t *testing.T) {
	logs := samples(t)
	logs["over MaxStatement"] = []byte("# Query_time: 1\nSELECT '" + strings.Repeat("\n# Time: 2020-01-01T00:00:00Z\n# Query_time: 9\n", 60) + "';\n# Query_time: 2\nSELECT 2;\n")
	for _, name := range slices.Sorted(maps.Keys(logs)) {
		data := logs[name]
		if len(data) > 10_000 {
			continue
		}
		options := Options{MaxStatement: 1200}
		first := NewReader(bytes.NewReader(data))
		first.Options = options
		var all []*Event
		var states []State
		for ev, err := range first.All() {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, ev)
			states = append(states, first.State())
		}
		for i, st := range states {
			text, err := json.Marshal(st)
			if err != nil {
				t.Fatal(err)
			}
			var stored State
			if err := json.Unmarshal(text, &stored); err != nil {
				t.Fatal(err)
			}
			r := NewReader(bytes.NewReader(data[st.Offset:]))
			r.Options = options
			r.Resume(stored)
			var rest []*Event
			for ev, err := range r.All() {
				if err != nil {
					t.Fatal(err)
				}
				rest = append(rest, ev)
			}
			if diff := gocmp.Diff(all[i+1:], rest, eventOpts); diff != "" {
				t.Fatalf("%s, behind event %d (-at once +resumed):\n%s", name, i, diff)
			}
		}
	}
}

// TestPartsOfALogHoldAllOfIt reads each sample in parts that begin anywhere, each
// by a Reader that goes on where the one before stood.
func TestPartsOfALogHoldAllOfIt(t *testing.T) {
	logs := samples(t)
	logs["blanks"] = []byte("\n\n# Query_time: 1\nuse a;\nSELECT 1;\n\n \n\n# Query_time: 2\nSELECT 2;\n\n\nlost\n\n# Query_time: 3\nSELECT 3;\n\n")
	logs["over MaxStatement"] = []byte("# Query_time: 1\nSELECT '" + strings.Repeat("\n# Time: 2020-01-01T00:00:00Z\n\n\n# Query_time: 9\n", 60) + "';\n# Query_time: 2\nSELECT 2;\n")
	for _, name := range slices.Sorted(maps.Keys(logs)) {
		data := logs[name]
		if len(data) > 100_000 {
			continue
		}
		options := Options{}
		if name == "over MaxStatement" {
			options.MaxStatement = 1200
		}
		whole := NewReader(bytes.NewReader(data))
		whole.Options = options
		var all []*Event
		for ev, err := range whole.All() {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, ev)
		}
		size := 1 // of a part
		if len(data) > 1000 {
			size = len(data) / 50
		}
		var st State
		var events []*Event
		var stats Stats
		for end := int64(size); ; end += int64(size) {
			r := NewReader(bytes.NewReader(data[st.Offset:]))
			r.Options = options
			r.Resume(st)
			for {
				ev, err := r.ReadBefore(end)
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if before := len(bytes.TrimRight(data[:ev.Offset], " \r\n\t")); int64(before) >= end && data[before-1] == ';' {
					t.Fatalf("%s: an event at %d in the part before %d", name, ev.Offset, end)
				}
				events = append(events, ev)
			}
			part := r.Stats()
			stats.Add(&part)
			if st = r.State(); st.Offset < end && end < int64(len(data)) {
				t.Fatalf("%s: the part before %d ends at %d", name, end, st.Offset)
			}
			if end >= int64(len(data)) {
				break
			}
		}
		if diff := diffEvents(all, events); diff != "" {
			t.Fatalf("%s: events (-at once +in parts):\n%s", name, diff)
		}
		if diff := gocmp.Diff(whole.Stats(), stats); diff != "" {
			t.Fatalf("%s: stats (-at once +in parts):\n%s", name, diff)
		}
	}
}

// stutter gives its pieces one a Read, with an error between each two.
type stutter struct {
	pieces []string
	err    error
	pause  bool
}

func (s *stutter) Read(p []byte) (int, error) {
	if s.pause = !s.pause; !s.pause || len(s.pieces) == 0 {
		return 0, s.err
	}
	n := copy(p, s.pieces[0])
	s.pieces = s.pieces[1:]
	return n, nil
}

func TestReadGoesOnAfterAnError(t *testing.T) {
	later := errors.New("nothing for now")
	const rec = "# Query_time: 1\nSELECT 1;\n"
	for _, tt := range []struct {
		err    error
		pieces []string
		want   string // e for an event, - for the error
	}{
		{later, []string{rec[:9], rec[9:] + rec[:3], rec[3:], rec}, "--e-e---"},
		{io.EOF, []string{rec, rec + rec, rec}, "e-ee-e--"},
	} {
		r := NewReader(&stutter{pieces: tt.pieces, err: tt.err})
		got := ""
		for len(got) < len(tt.want) {
			switch ev, err := r.Read(); {
			case err == nil && ev.Query == "SELECT 1" && !ev.Truncated:
				got += "e"
			case err == tt.err:
				got += "-"
			default:
				t.Fatalf("%v, %v", ev, err)
			}
		}
		if got != tt.want {
			t.Errorf("%v: got %s, want %s", tt.err, got, tt.want)
		}
	}
}
