package report_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/digest/finding"
	"github.com/quern-dev/quern/digest/report"
	"github.com/quern-dev/quern/internal/secrets"
	"github.com/quern-dev/quern/slowlog"
)

// exports returns all that can be made of a profile, by what it is.
func exports(t *testing.T, p *digest.Profile, sources []report.Source, before *digest.Profile) map[string][]byte {
	t.Helper()
	out := make(map[string][]byte)
	to := func(name string, write func(io.Writer) error) {
		t.Helper()
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = b.Bytes()
	}
	diff, err := digest.Compare(before, p)
	if err != nil {
		t.Fatal(err)
	}
	r := report.Report{Profile: p, Sources: sources, Diff: diff, Findings: finding.Examine(p, finding.DefaultLimits())}
	to("text report", func(w io.Writer) error { return r.WriteText(w, report.TextOptions{Width: 200}) })
	to("coloured report", func(w io.Writer) error { return r.WriteText(w, report.TextOptions{Color: true}) })
	to("HTML report", r.WriteHTML)
	to("JSON report", r.WriteJSON)
	to("JSON of the profile", func(w io.Writer) error { return p.WriteJSON(w, 0, digest.ByCount) })
	binary, err := p.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	out["binary form"] = binary
	for _, part := range p.Parts() {
		b, err := part.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		out["binary form of the parts"] = append(out["binary form of the parts"], b...)
	}
	return out
}

// Secrets are planted in literals, comments, errors, plans and broken records, and in
// the names of users and hosts. Nothing that is made of a profile without literals
// holds any, whatever it is grouped by, nor do errors and stats; but reports and the
// binary form list users and hosts.
func TestNoLiteralLeavesUnlessAskedFor(t *testing.T) {
	for seed := range uint64(4) {
		p := secrets.New(seed)
		p.Users = seed%2 == 1 // which JSON does not list
		log := p.Log(200)
		var damage bytes.Buffer
		read := func(add func(*slowlog.Event)) slowlog.Stats {
			r := slowlog.NewReader(bytes.NewReader(log))
			r.OnDamage = func(d slowlog.Damage) { fmt.Fprintln(&damage, d, d.Reason) }
			for ev, err := range r.All() {
				if err != nil {
					t.Fatal(err)
				}
				add(ev)
			}
			return r.Stats()
		}
		for _, o := range []digest.Options{
			{Text: digest.TextRedacted},
			{Text: digest.TextRedacted, MaxText: 60, MaxClasses: 5, Fingerprint: digest.FingerprintOptions{FoldNumbers: true}},
			{Text: digest.TextNone, GroupBy: []digest.Group{digest.BySchema, digest.ByFingerprint}},
			{Text: digest.TextRedacted, GroupBy: []digest.Group{digest.ByTables, digest.ByVerb, digest.ByPerconaID}},
			{Text: digest.TextRedacted, Fingerprint: digest.FingerprintOptions{Style: digest.StylePercona}},
		} {
			agg := digest.Aggregator{Options: o}
			sources := []report.Source{{Name: "slow.log", Stats: read(agg.Add)}}
			fmt.Fprintf(&damage, "%+v\n", sources[0].Stats)
			agg.AddSkipped(1)
			empty := digest.Aggregator{Options: o}
			check(t, p, fmt.Sprintf("%v of %+v", o.GroupBy, o.Text), exports(t, agg.Profile(), sources, empty.Profile()))
		}
		col := digest.NewCollector(digest.CollectorOptions{})
		read(col.Add)
		fmt.Fprintf(&damage, "%+v\n", col.Stats())
		empty := digest.NewCollector(digest.CollectorOptions{})
		check(t, p, "a Collector", exports(t, col.Flush(), nil, empty.Flush()))

		// A profile that has them, asked for, and errors about it.
		var verbatim digest.Aggregator
		read(verbatim.Add)
		binary, err := verbatim.Profile().MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if part, _ := p.Leak(binary); part == "" {
			t.Error("there is no secret to be found: the test is of no use")
		}
		for range 50 {
			harmed := bytes.Clone(binary[:p.IntN(len(binary))])
			if len(harmed) > 0 {
				harmed[p.IntN(len(harmed))] ^= 1 << p.IntN(8)
			}
			err := new(digest.Profile).UnmarshalBinary(harmed)
			if err == nil {
				t.Fatal("harmed bytes were read as a profile")
			}
			fmt.Fprintln(&damage, err)
		}
		check(t, p, "all", map[string][]byte{"errors and stats": damage.Bytes()})
	}
}

func check(t *testing.T, p *secrets.Planter, of string, out map[string][]byte) {
	t.Helper()
	for name, b := range out {
		if len(b) == 0 {
			t.Errorf("%s of %s: there is none", name, of)
		}
		if p.Users && !strings.HasPrefix(name, "JSON") && name != "errors and stats" {
			continue // it lists users
		}
		if part, around := p.Leak(b); part != "" {
			t.Errorf("%s of %s: holds %q in …%q…", name, of, part, around)
		}
	}
}
