package indexadvisor

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

type jsonAdvice struct {
	Quern       int              `json:"quern"`
	Suggestions []jsonSuggestion `json:"suggestions"`
	Notes       []string         `json:"notes"`
	Spent       jsonSpent        `json:"spent"`
	Incomplete  bool             `json:"incomplete"`
}

type jsonSpent struct {
	Statements int     `json:"statements"`
	Rows       int64   `json:"rows"`
	Waited     float64 `json:"waited"`
}

type jsonSuggestion struct {
	Schema     string       `json:"schema"`
	Table      string       `json:"table"`
	Name       string       `json:"name"`
	Columns    []Part       `json:"columns"`
	DDL        string       `json:"ddl"`
	Undo       string       `json:"undo"`
	Trial      string       `json:"trial"`
	Kind       Kind         `json:"kind"`
	Reason     string       `json:"reason"`
	RowsBefore int64        `json:"rows_before"`
	RowsAfter  int64        `json:"rows_after"`
	Bytes      int64        `json:"bytes"`
	Gain       float64      `json:"gain"`
	Confidence string       `json:"confidence"`
	Serves     []jsonServed `json:"serves"`
	Pays       []string     `json:"pays"`
	Redundant  []string     `json:"redundant"`
	Rounds     []jsonRound  `json:"rounds"`
}

type jsonServed struct {
	Query      string `json:"query"`
	RowsBefore int64  `json:"rows_before"`
	RowsAfter  int64  `json:"rows_after"`
}

type jsonRound struct {
	Where  []string    `json:"where"`
	Rows   int64       `json:"rows"`
	Counts []jsonCount `json:"counts"`
	Why    string      `json:"why"`
}

type jsonCount struct {
	Predicate string `json:"predicate"`
	Rows      int64  `json:"rows"`
	Low       int64  `json:"low"`
	High      int64  `json:"high"`
	Chosen    bool   `json:"chosen"`
}

// list makes a nil slice an empty JSON array.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// MarshalJSON writes the advice as one object with the key "quern", the
// version of the format. Rows are numbers of rows, bytes are bytes, gain is a
// share of 1, waited is in seconds.
func (a *Advice) MarshalJSON() ([]byte, error) {
	out := jsonAdvice{
		Quern: 1, Suggestions: []jsonSuggestion{}, Notes: list(a.Notes), Incomplete: a.Incomplete,
		Spent: jsonSpent{a.Spent.Statements, a.Spent.Rows, a.Spent.Waited.Seconds()},
	}
	for _, s := range a.Suggestions {
		j := jsonSuggestion{
			Schema: s.Schema, Table: s.Table, Name: s.Name, Columns: list(s.Columns), DDL: s.DDL, Undo: s.Undo, Trial: s.Trial,
			Kind: s.Kind, Reason: s.Reason, RowsBefore: s.RowsBefore, RowsAfter: s.RowsAfter, Bytes: s.Bytes, Gain: s.Gain,
			Confidence: s.Confidence, Serves: []jsonServed{}, Pays: list(s.Pays), Redundant: list(s.Redundant), Rounds: []jsonRound{},
		}
		for _, q := range s.Serves {
			j.Serves = append(j.Serves, jsonServed(q))
		}
		for _, r := range s.Rounds {
			jr := jsonRound{Where: list(r.Where), Rows: r.Rows, Counts: []jsonCount{}, Why: r.Why}
			for _, c := range r.Counts {
				jr.Counts = append(jr.Counts, jsonCount{c.Predicate, c.Rows, c.Low, c.High, c.Chosen})
			}
			j.Rounds = append(j.Rounds, jr)
		}
		out.Suggestions = append(out.Suggestions, j)
	}
	return json.Marshal(out)
}

// WriteText writes the advice for people.
func (a *Advice) WriteText(w io.Writer) error {
	var b strings.Builder
	if len(a.Suggestions) == 0 {
		b.WriteString("No index is suggested.\n")
	}
	for i, s := range a.Suggestions {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%d. %s index %s %s on %s.%s\n\n", i+1, strings.ToUpper(string(s.Kind[:1]))+string(s.Kind[1:]), s.Name, partList(s.Columns), s.Schema, s.Table)
		for line := range strings.Lines(s.Rounds.String()) {
			b.WriteString("   " + line)
		}
		if len(s.Rounds) > 0 {
			b.WriteByte('\n')
		}
		wrap(&b, "   ", s.Reason)
		b.WriteByte('\n')
		if s.Kind != Drop {
			fmt.Fprintf(&b, "   Rows read:   %d before, %d after\n", s.RowsBefore, s.RowsAfter)
		}
		if s.Bytes > 0 {
			fmt.Fprintf(&b, "   Size:        %s\n", size(s.Bytes))
		}
		if s.Confidence != "" {
			fmt.Fprintf(&b, "   Confidence:  %s\n", s.Confidence)
		}
		if a.workload && s.Kind != Drop {
			for _, q := range s.Serves {
				fmt.Fprintf(&b, "   Serves:      %s (%d rows before, %d after)\n", q.Query, q.RowsBefore, q.RowsAfter)
			}
			fmt.Fprintf(&b, "   Alone:       %.1f %% of the workload's cost goes with this index\n", 100*s.Gain)
		}
		for _, q := range s.Pays {
			fmt.Fprintf(&b, "   Maintained by: %s\n", q)
		}
		for _, n := range s.Redundant {
			fmt.Fprintf(&b, "   Then superfluous: index %s\n", n)
		}
		b.WriteByte('\n')
		if s.Trial != "" {
			fmt.Fprintf(&b, "   Try first:   %s;\n", s.Trial)
			wrap(&b, "                ", s.afterTrial())
		}
		fmt.Fprintf(&b, "   Do:          %s;\n", s.DDL)
		fmt.Fprintf(&b, "   Undo:        %s;\n", s.Undo)
	}
	if len(a.Notes) > 0 {
		b.WriteString("\nNotes\n")
		for _, n := range a.Notes {
			wrap(&b, "   ", "- "+n)
		}
	}
	fmt.Fprintf(&b, "\nCounting took %s over %d rows", amount(a.Spent.Statements, "statement"), a.Spent.Rows)
	if a.Spent.Waited > 0 {
		fmt.Fprintf(&b, ", after waiting %v for a busy server", a.Spent.Waited.Round(time.Millisecond))
	}
	b.WriteString(".\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// afterTrial tells how to go on from the trial, and back.
func (s *Suggestion) afterTrial() string {
	alter := "ALTER TABLE " + quoteTable(s.Schema, s.Table) + " ALTER INDEX " + quote(s.Name) + " "
	switch ignored := strings.Contains(s.Trial, " IGNORED"); {
	case s.Kind == Drop && ignored:
		return "Nothing uses it then; " + alter + "NOT IGNORED brings it back at once."
	case s.Kind == Drop:
		return "Nothing uses it then; " + alter + "VISIBLE brings it back at once."
	case ignored:
		return "It is made, but not used yet: " + alter + "NOT IGNORED turns it on at once, IGNORED off."
	}
	return "It is made, but not used yet: SET SESSION optimizer_switch = 'use_invisible_indexes=on' turns it on for one session, " + alter + "VISIBLE for all, INVISIBLE off."
}

// amount counts things in words.
func amount(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

func partList(parts []Part) string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = p.String()
	}
	return "(" + strings.Join(out, ", ") + ")"
}

// wrap writes text in lines of about 100 characters.
func wrap(b *strings.Builder, indent, text string) {
	line := indent
	for _, word := range strings.Fields(text) {
		if len(line)+len(word) > 100 && line != indent {
			b.WriteString(line + "\n")
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	b.WriteString(line + "\n")
}

func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("about %.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("about %.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("about %d KiB", max(1, n>>10))
}
