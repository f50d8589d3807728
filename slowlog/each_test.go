package slowlog

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// readAll reads data with one goroutine.
func readAll(t testing.TB, data []byte) ([]*Event, []Damage, Stats) {
	t.Helper()
	r := NewReader(bytes.NewReader(data))
	var damage []Damage
	r.OnDamage = func(d Damage) { damage = append(damage, d) }
	var events []*Event
	for ev, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, ev)
	}
	return events, damage, r.Stats()
}

// readEach reads data in pieces of the given size with n goroutines.
func readEach(t testing.TB, data []byte, n, size int) ([]*Event, []Damage, Stats) {
	t.Helper()
	r := NewReader(bytes.NewReader(data))
	var damage []Damage
	r.OnDamage = func(d Damage) { damage = append(damage, d) }
	var mu sync.Mutex
	var events []*Event
	err := r.each(n, size, func(_ int, ev *Event) error {
		mu.Lock()
		defer mu.Unlock()
		events = append(events, ev.Clone())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(events, func(a, b *Event) int { return cmp.Compare(a.Offset, b.Offset) })
	return events, damage, r.Stats()
}

var eventOpts = gocmp.Options{gocmp.AllowUnexported(Event{}, Metric{}), cmpopts.EquateEmpty()}

// samples are the logs to try things on: the package's own and, where they are
// there, others.
func samples(t testing.TB) map[string][]byte {
	t.Helper()
	logs := map[string][]byte{}
	for _, pattern := range []string{
		"testdata/*.log", "../../shared/research/cases/*.log", "../../shared/samples/*slowlogs/*",
		"../../shared/samples/public/slow/*", "../../shared/samples/servers/slow/*/*.log",
	} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			logs[name] = data
		}
	}
	return logs
}

// checkEach holds what Each finds against what Read finds.
func checkEach(t *testing.T, data []byte, n, size int) {
	t.Helper()
	events, damage, stats := readAll(t, data)
	e, d, s := readEach(t, data, n, size)
	if diff := diffEvents(events, e); diff != "" {
		t.Fatalf("%d workers, pieces of %d: events (-Read +Each):\n%s", n, size, diff)
	}
	noText := gocmp.FilterPath(func(p gocmp.Path) bool { return p.Last().String() == ".Text" }, gocmp.Ignore())
	if diff := gocmp.Diff(damage, d, noText); diff != "" { // a long one is read in windows of another size
		t.Fatalf("%d workers, pieces of %d: damage (-Read +Each):\n%s", n, size, diff)
	}
	if diff := gocmp.Diff(stats, s); diff != "" {
		t.Fatalf("%d workers, pieces of %d: stats (-Read +Each):\n%s", n, size, diff)
	}
}

// diffEvents is gocmp.Diff of events, but fast when they are the same, which
// matters to tests that read each log many times.
func diffEvents(a, b []*Event) string {
	if slices.EqualFunc(a, b, sameEvent) {
		return ""
	}
	return gocmp.Diff(a, b, eventOpts)
}

func sameEvent(a, b *Event) bool {
	x, y := *a, *b
	same := slices.Equal(x.Metrics, y.Metrics)
	x.Metrics, y.Metrics = nil, nil
	return same && reflect.DeepEqual(x, y)
}

func TestEachFindsWhatReadFinds(t *testing.T) {
	for name, data := range samples(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			checkEach(t, data, 2, 300)
			checkEach(t, data, 3, 7000)
		})
	}
}

func TestEachAtEverySplitPoint(t *testing.T) {
	for name, data := range samples(t) {
		if len(data) > 1300 {
			continue
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			for size := 1; size < len(data); size++ {
				checkEach(t, data, 2, size)
			}
		})
	}
}
