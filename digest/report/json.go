package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf16"

	"github.com/quern-dev/quern/digest/finding"
)

// jsonReport is what a report adds to the object of its profile.
type jsonReport struct {
	Interrupted bool         `json:"interrupted"`
	Sources     []jsonSource `json:"sources"`
	Changes     []jsonChange `json:"changes,omitempty"`
	*finding.Examination
	Overall  []jsonSection            `json:"overall,omitempty"`
	Sections map[string][]jsonSection `json:"sections,omitempty"` // by ID of the class
}

type jsonSource struct {
	Name    string `json:"name"`
	Bytes   int64  `json:"bytes"`
	Events  int64  `json:"events"`
	Skipped int64  `json:"skipped"`
	Server  string `json:"server"` // version text of the last heading
}

type jsonSection struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

// WriteJSON writes the report as one JSON object: that of digest's WriteJSON
// with the keys "interrupted", "sources", "changes", "findings", "checks", "plans",
// "overall" and "sections" behind the others.
// Characters that a terminal could obey are written as \u escapes.
func (r *Report) WriteJSON(w io.Writer) error {
	var buf bytes.Buffer
	if err := r.Profile.WriteJSON(&buf, r.Limit, r.By); err != nil {
		return err
	}
	j := jsonReport{Interrupted: r.Interrupted, Sources: []jsonSource{}, Changes: jsonChanges(r.Diff), Examination: r.Findings}
	for _, s := range r.Sources {
		j.Sources = append(j.Sources, jsonSource{s.Name, s.Stats.Bytes, s.Stats.Events, s.Stats.Skipped(), s.Stats.Server})
	}
	for _, s := range r.Overall {
		j.Overall = append(j.Overall, jsonSection(s))
	}
	for id, sections := range r.Sections {
		if j.Sections == nil {
			j.Sections = make(map[string][]jsonSection)
		}
		for _, s := range sections {
			j.Sections[id.String()] = append(j.Sections[id.String()], jsonSection(s))
		}
	}
	more, err := json.MarshalIndent(&j, "", "  ")
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	// two objects become one
	profile := bytes.TrimRight(bytes.TrimRight(buf.Bytes(), "\n"), "}")
	all := append(append(bytes.TrimRight(profile, "\n"), ','), more[1:]...)
	_, err = w.Write(append(escapeJSON(all), '\n'))
	return err
}

// escapeJSON writes as escapes what encoding/json leaves as it is and a terminal
// could obey. Such characters stand in strings alone.
func escapeJSON(b []byte) []byte {
	clean := true
	for _, c := range b {
		if c >= 0x7f {
			clean = false
			break
		}
	}
	if clean {
		return b
	}
	var out bytes.Buffer
	for _, r := range string(b) {
		if r == '\n' || visible(r) {
			out.WriteRune(r)
			continue
		}
		for _, u := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&out, `\u%04x`, u)
		}
	}
	return out.Bytes()
}
