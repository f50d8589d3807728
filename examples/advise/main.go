// Advise suggests indexes for a query, or for the statements of slow logs.
//
//	go run ./examples/advise -dsn 'user:password@tcp(host:3306)/' -schema shop -query 'SELECT …'
//	go run ./examples/advise -dsn 'user:password@tcp(host:3306)/' slow.log
//
// It only reads: rows are counted in read-only mode, with limits on time and
// number, and not while the server is busy. See package indexadvisor for the
// method.
package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/digest/finding"
	"github.com/quern-dev/quern/digest/report"
	"github.com/quern-dev/quern/indexadvisor"
	"github.com/quern-dev/quern/internal/sources"
	"github.com/quern-dev/quern/slowlog"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	var usage usageError
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.As(err, &usage):
		fmt.Fprintln(os.Stderr, "advise:", err)
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "advise:", err)
		os.Exit(1)
	}
}

type usageError struct{ error }

const usage = `usage: advise -dsn DSN [flags] -query STATEMENT
       advise -dsn DSN [flags] SLOWLOG…

Suggests indexes, with the counts that led to them: which condition matches the
fewest rows, and which filters any further among those. For slow logs it suggests
a small set that serves all their statements, and what may be dropped. It only
reads from the server of -dsn; nothing is made there.

`

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("advise", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	dsn := flags.String("dsn", "", "server to ask, as go-sql-driver writes it: user:password@tcp(host:3306)/")
	schema := flags.String("schema", "", "default schema of the statements")
	query := flags.String("query", "", "statement to advise on; without it, the slow logs named as arguments are read")
	format := flags.String("format", "text", "text, json or html")
	timeout := flags.Duration("timeout", 2*time.Minute, "time for all of it")
	limit := flags.Int("max", 0, "most new indexes in all; 0 for no limit")
	running := flags.Int("max-running", 0, "count only while at most so many threads run on the server; 0 for 25, -1 for any number")
	lag := flags.Duration("max-lag", 0, "count only while a replica is at most so far behind; 0 for 10s, -1s for any time")
	verify := flags.Bool("verify", false, "try each new index on the scratch server; with -query only")
	scratch := flags.String("scratch", "", "DSN of the server that -verify makes and drops a schema on; never the one that is asked")
	names, err := sources.ParseFlags(flags, args)
	if err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return usageError{err}
	}
	switch {
	case *dsn == "":
		return usageError{errors.New("-dsn is missing")}
	case (*query == "") == (len(names) == 0):
		return usageError{errors.New("either -query or the names of slow logs are expected")}
	case *format != "text" && *format != "json" && *format != "html":
		return usageError{fmt.Errorf("-format is %q, text, json or html expected", *format)}
	case *verify && (*scratch == "" || *query == ""):
		return usageError{errors.New("-verify needs -query, and -scratch with a server that is not production")}
	}
	db, err := sql.Open("mysql", *dsn)
	if err != nil {
		return usageError{err}
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	if *schema == "" { // the one of the DSN, if it has one
		var name sql.NullString
		if err := db.QueryRowContext(ctx, "SELECT DATABASE()").Scan(&name); err != nil {
			return err
		}
		*schema = name.String
	}
	source := indexadvisor.MySQL(db)
	source.MaxRunning, source.MaxLag = *running, *lag
	adv := indexadvisor.New(source, indexadvisor.Options{MaxTotal: *limit})
	var a *indexadvisor.Advice
	q := indexadvisor.Query{Schema: *schema, SQL: *query}
	var p *digest.Profile
	var logs []report.Source
	if *query != "" {
		var agg digest.Aggregator
		agg.Add(&slowlog.Event{Schema: *schema, Query: *query, Weight: 1})
		p = agg.Profile()
		a, err = adv.Advise(ctx, q)
	} else {
		if p, logs, err = sources.Profile(names); err == nil {
			a, err = adv.AdviseProfile(ctx, p, *schema)
		}
	}
	uncounted := err
	if err != nil && !errors.Is(err, indexadvisor.ErrNotCounted) {
		return err
	}
	var trials []trial
	if *verify {
		if trials, err = try(ctx, db, *scratch, q, a); err != nil {
			return err
		}
	}
	if err := write(stdout, *format, p, logs, a, trials); err != nil {
		return err
	}
	return uncounted // what there is to say without counts is said, but it is no advice
}

func write(w io.Writer, format string, p *digest.Profile, logs []report.Source, a *indexadvisor.Advice, trials []trial) error {
	switch format {
	case "json":
		return writeJSON(w, a, trials)
	case "html":
		return writeHTML(w, p, logs, a, trials)
	}
	var text bytes.Buffer
	if err := writeText(&text, a, trials); err != nil {
		return err
	}
	_, err := io.WriteString(w, report.Printable(text.String()))
	return err
}

// writeHTML writes the report on the profile, with the advice in it.
func writeHTML(w io.Writer, p *digest.Profile, logs []report.Source, a *indexadvisor.Advice, trials []trial) error {
	var text bytes.Buffer
	if err := writeText(&text, a, trials); err != nil {
		return err
	}
	r := &report.Report{Profile: p, Sources: logs, Limit: 20, Overall: []report.Section{{Title: "Advice on indexes", Text: text.String()}}}
	r.Sections = sections(p, a)
	if p.QueryTime.Observed() > 0 {
		r.Findings = finding.Examine(p, finding.DefaultLimits())
	}
	return r.WriteHTML(w)
}

// sections returns for each class the suggestions that serve it, with the rounds of
// counts that led to them, and the notes on it. Advice on a workload names a query
// by the short ID of its class.
func sections(p *digest.Profile, a *indexadvisor.Advice) map[digest.ID][]report.Section {
	list := make(map[digest.ID][]report.Section)
	for c := range p.Classes() {
		of := c.ID.Short() + " "
		for _, s := range a.Suggestions {
			for _, q := range s.Serves {
				if strings.HasPrefix(q.Query, of) {
					text := fmt.Sprintf("%s\nIt reads %d rows before, and %d after.\n\n%s;\n", s.Rounds, q.RowsBefore, q.RowsAfter, s.DDL)
					list[c.ID] = append(list[c.ID], report.Section{Title: "Index " + s.Name, Text: text})
				}
			}
		}
		var notes []string
		for _, n := range a.Notes {
			if n, ok := strings.CutPrefix(n, of); ok {
				notes = append(notes, n)
			}
		}
		if len(notes) > 0 {
			list[c.ID] = append(list[c.ID], report.Section{Title: "Notes on indexes", Text: strings.Join(notes, "\n")})
		}
	}
	return list
}

func writeText(stdout io.Writer, a *indexadvisor.Advice, trials []trial) error {
	if err := a.WriteText(stdout); err != nil {
		return err
	}
	for _, t := range trials {
		if t.Result == nil {
			fmt.Fprintf(stdout, "\nNot tried: %s\n   %s\n", t.Index, t.Error)
			continue
		}
		fmt.Fprintf(stdout, "\nTried %s on the scratch server\n   %s\n", t.Index, t.Result.Verdict)
		for _, m := range []struct {
			when string
			indexadvisor.Measure
		}{{"before", t.Result.Before}, {"after", t.Result.After}, {"forced", t.Result.Forced}} {
			fmt.Fprintf(stdout, "   %s: keys %q, %d rows read, %d entries looked at, %d sorted, %v\n", m.when, m.Keys, m.Read, m.Entries, m.Sorted, m.Time.Round(time.Microsecond))
		}
		for _, n := range t.Result.Notes {
			fmt.Fprintf(stdout, "   %s\n", n)
		}
	}
	return nil
}

// trial is a suggestion tried on the scratch server.
type trial struct {
	Index  string                     `json:"index"`
	Result *indexadvisor.Verification `json:"result"`          // null if the trial failed
	Error  string                     `json:"error,omitempty"` // why it did
}

func try(ctx context.Context, db *sql.DB, dsn string, q indexadvisor.Query, a *indexadvisor.Advice) ([]trial, error) {
	scratch, err := sql.Open("mysql", dsn)
	if err != nil {
		return nil, usageError{err}
	}
	defer scratch.Close()
	var out []trial
	for _, s := range a.Suggestions {
		if s.Kind == indexadvisor.Drop {
			continue
		}
		v, err := indexadvisor.Verify(ctx, indexadvisor.Scratch{From: db, On: scratch}, q, s)
		switch {
		case errors.Is(err, indexadvisor.ErrSameServer), ctx.Err() != nil:
			return nil, fmt.Errorf("verifying %s: %w", s.Name, err)
		case err != nil: // the advice stands, and so do the other trials
			out = append(out, trial{Index: s.Name, Error: err.Error()})
		default:
			out = append(out, trial{Index: s.Name, Result: v})
		}
	}
	return out, nil
}

// writeJSON writes the advice, with the trials under a key of their own.
func writeJSON(w io.Writer, a *indexadvisor.Advice, trials []trial) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if trials == nil {
		return enc.Encode(a)
	}
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	var object map[string]any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&object); err != nil {
		return err
	}
	object["trials"] = trials
	return enc.Encode(object)
}
