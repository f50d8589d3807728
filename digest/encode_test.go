package digest

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quern-dev/quern/slowlog"
)

var update = flag.Bool("update", false, "write the golden files anew")

func marshal(t testing.TB, p *Profile) []byte {
	t.Helper()
	b, err := p.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBinaryFormSaysTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, o := range []Options{{}, {MaxClasses: 3, Histograms: []Measure{RowsSent}}, {GroupBy: []Group{BySchema, ByUser, ByTables}, Samples: -1}, {MaxClasses: 7, Text: TextNone, Samples: 1}} {
		for _, n := range []int{0, 1, 5, 50, 2000} {
			p := profileOf(t, o, randomEvents(r, n))
			b := marshal(t, p)
			var got Profile
			if err := got.UnmarshalBinary(b); err != nil {
				t.Fatal(err)
			}
			if diff := diffProfiles(p, &got); diff != "" {
				t.Fatalf("%d events (-want +got):\n%s", n, diff)
			}
			if !bytes.Equal(marshal(t, &got), b) {
				t.Errorf("%d events: the binary form of what was read differs from what was read", n)
			}
			// and it can be added to, whatever it was read from
			for range 2 {
				m, err := Merge(&got, p)
				if err != nil {
					t.Fatal(err)
				}
				mm, err := Merge(p, p)
				if err != nil {
					t.Fatal(err)
				}
				if diff := diffProfiles(mm, m); diff != "" {
					t.Fatalf("merged (-want +got):\n%s", diff)
				}
			}
		}
	}
}

func TestBinaryFormIsCanonical(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 20 {
		evs := randomEvents(r, r.IntN(500))
		want := marshal(t, profileOf(t, Options{}, evs))
		cut := r.IntN(len(evs) + 1)
		r.Shuffle(len(evs), func(i, j int) { evs[i], evs[j] = evs[j], evs[i] })
		m, err := Merge(profileOf(t, Options{}, evs[:cut]), profileOf(t, Options{}, evs[cut:]))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(marshal(t, m), want) {
			t.Fatal("the binary form of merged parts differs from that of the whole")
		}
	}
}

// What a pipeline does that groups by ID: take several profiles apart, send the
// parts in their binary form, merge those of an ID, and then all.
func TestPartsMergeToTheWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	evs := randomEvents(r, 900)
	want := marshal(t, profileOf(t, Options{MaxClasses: 100}, evs))
	byID := map[ID][]*Profile{}
	for i := range 3 {
		for id, part := range profileOf(t, Options{MaxClasses: 100}, evs[i*300:(i+1)*300]).Parts() {
			var sent Profile
			if err := sent.UnmarshalBinary(marshal(t, part)); err != nil {
				t.Fatal(err)
			}
			byID[id] = append(byID[id], &sent)
		}
	}
	var merged []*Profile
	for id, parts := range byID {
		m, err := Merge(parts...)
		if err != nil {
			t.Fatal(err)
		}
		if n := m.Len(); n != 1 && id != (ID{}) {
			t.Errorf("the parts of %v have %d classes, want 1", id, n)
		}
		merged = append(merged, m)
	}
	whole, err := Merge(merged...)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(marshal(t, whole), want) {
		t.Error("the merged parts differ from the profile of all events")
	}
}

func TestBinaryFormOfHistograms(t *testing.T) {
	for _, d := range distributions {
		r := rand.New(rand.NewPCG(3, 3))
		for _, n := range []int{0, 1, 2, 40, 3000} {
			var h Histogram
			for i, v := range drawn(r, d.draw, n) {
				h.AddWeighted(v, []float64{1, 2, 1 / .3}[i%3])
			}
			b, err := h.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			var got Histogram
			if err := got.UnmarshalBinary(b); err != nil {
				t.Fatalf("%s, %d values: %v", d.name, n, err)
			}
			if diff := cmp.Diff(logicalOf(&h), logicalOf(&got), allowDigest); diff != "" {
				t.Fatalf("%s, %d values (-want +got):\n%s", d.name, n, diff)
			}
		}
	}
}

func TestHarmedBinaryFormsAreErrors(t *testing.T) {
	p := profileOf(t, Options{MaxClasses: 4}, randomEvents(rand.New(rand.NewPCG(4, 4)), 20))
	whole := marshal(t, p)
	h, err := p.QueryTime.Histogram().MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for what, form := range map[string]struct {
		whole []byte
		read  func([]byte) error
	}{
		"profile":   {whole, func(b []byte) error { return new(Profile).UnmarshalBinary(b) }},
		"histogram": {h, func(b []byte) error { return new(Histogram).UnmarshalBinary(b) }},
	} {
		check := func(b []byte, format string, args ...any) {
			t.Helper()
			if fe := (*FormatError)(nil); !errors.As(form.read(b), &fe) {
				t.Fatalf(what+" "+format+": no FormatError", args...)
			}
		}
		for n := range form.whole {
			check(form.whole[:n], "cut to %d bytes", n)
		}
		check(append(bytes.Clone(form.whole), 0), "with one byte more")
		for bit := range 8 * len(form.whole) {
			b := bytes.Clone(form.whole)
			b[bit/8] ^= 1 << (bit % 8)
			check(b, "with bit %d flipped", bit)
		}
	}
	if err := new(Histogram).UnmarshalBinary(whole); err == nil {
		t.Error("a profile is read as a histogram")
	}
}

func TestUnmarshalErrorLeavesTheValue(t *testing.T) {
	var h Histogram
	h.Add(7)
	if err := h.UnmarshalBinary([]byte("no histogram")); err == nil || h.Observed() != 1 {
		t.Errorf("got error %v and %d values, want an error and 1", err, h.Observed())
	}
	p := profileOf(t, Options{}, []*slowlog.Event{event("select 1", 1)})
	if err := p.UnmarshalBinary(nil); err == nil || p.Events != 1 {
		t.Errorf("got error %v and %d events, want an error and 1", err, p.Events)
	}
}

// FuzzUnmarshalProfile feeds content in a frame whose length and checksum are
// right, so that what is behind them is tried.
func FuzzUnmarshalProfile(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, n := range []int{0, 1, 3, 30} {
		b := marshal(f, profileOf(f, Options{MaxClasses: 4, Histograms: []Measure{RowsSent}}, randomEvents(r, n)))
		f.Add(b[frameHead : len(b)-frameTail])
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		frame := closeFrame(append(openFrame(nil, profileMagic), content...), 0)
		var p Profile
		if err := p.UnmarshalBinary(frame); err != nil {
			return
		}
		viewOfProfile(&p)
		p.Top(3, ByQuantile(.99))
		if _, err := Merge(&p, &p); err != nil {
			t.Fatal(err)
		}
		var again Profile
		if err := again.UnmarshalBinary(marshal(t, &p)); err != nil {
			t.Fatalf("what was read and written again: %v", err)
		}
	})
}

func FuzzUnmarshalHistogram(f *testing.F) {
	for _, values := range [][]int64{nil, {7}, {7, 7}, {1, 1 << 20, 1 << 40}} {
		var h Histogram
		for i, v := range values {
			h.AddWeighted(v, 1+float64(i)/3)
		}
		b, err := h.MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[frameHead : len(b)-frameTail])
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		var h, again Histogram
		if err := h.UnmarshalBinary(closeFrame(append(openFrame(nil, histogramMagic), content...), 0)); err != nil {
			return
		}
		for _, q := range []float64{0, .5, 1} {
			if v := h.Quantile(q); v < h.Min() || v > h.Max() {
				t.Errorf("q%v is %d, outside of [%d, %d]", q, v, h.Min(), h.Max())
			}
		}
		h.Merge(&h)
		b, err := h.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if err := again.UnmarshalBinary(b); err != nil {
			t.Fatalf("what was read and written again: %v", err)
		}
		if diff := cmp.Diff(logicalOf(&h), logicalOf(&again), allowDigest); diff != "" {
			t.Errorf("(-written +read):\n%s", diff)
		}
	})
}

// Each version of the binary form that was ever written has a file here, and
// what is to be read from it beside it.
func TestOldBinaryFormsStayReadable(t *testing.T) {
	if *update {
		p := profileOf(t, Options{MaxClasses: 6, Histograms: []Measure{RowsSent}}, randomEvents(rand.New(rand.NewPCG(6, 6)), 100))
		name := fmt.Sprintf("profile-v%d", frameVersion)
		writeGolden(t, name+".quern", marshal(t, p))
		writeGolden(t, name+".json", writeJSON(t, p, 0, ByTotalTime))
	}
	files, err := filepath.Glob(filepath.Join("testdata", "profile-v*.quern"))
	if err != nil || len(files) != frameVersion {
		t.Fatalf("got %d files, %v, want one for each of %d versions", len(files), err, frameVersion)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var p Profile
		if err := p.UnmarshalBinary(b); err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(strings.TrimSuffix(file, ".quern") + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(writeJSON(t, &p, 0, ByTotalTime))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

func writeGolden(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join("testdata", name), b, 0o644); err != nil {
		t.Fatal(err)
	}
}
