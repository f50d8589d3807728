package report_test

import (
	"errors"
	"io"
	"testing"

	"github.com/quern-dev/quern/digest/report"
	"github.com/quern-dev/quern/internal/loggen"
)

var errFull = errors.New("no space left")

// A device has room for so many bytes.
type device struct{ room int }

func (d *device) Write(p []byte) (int, error) {
	n := min(len(p), d.room)
	d.room -= n
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

// A report that does not fit is never one that was written, wherever it ends.
func TestTheErrorOfTheWriterIsReturned(t *testing.T) {
	rep, goals := shop(t), shopGoals(t, "*:p95<1s", loggen.RequestOptions{Seed: 2, Requests: 500})
	for name, write := range map[string]func(io.Writer) error{
		"text":       func(w io.Writer) error { return rep.WriteText(w, report.TextOptions{}) },
		"JSON":       rep.WriteJSON,
		"HTML":       rep.WriteHTML,
		"goals text": func(w io.Writer) error { return goals.WriteText(w, report.TextOptions{}) },
		"goals JSON": goals.WriteJSON,
		"goals HTML": goals.WriteHTML,
	} {
		const plenty = 1 << 30
		all := device{plenty}
		if err := write(&all); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		size := plenty - all.room
		for _, room := range []int{0, 1, size / 2, size - 1} {
			if err := write(&device{room}); !errors.Is(err, errFull) {
				t.Errorf("%s of %d bytes to a device with room for %d: error %v, want %v", name, size, room, err, errFull)
			}
		}
	}
}
