package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"log"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/quern-dev/quern/digest/goal"
	"github.com/quern-dev/quern/internal/sources"
	"github.com/quern-dev/quern/slowlog"
	"github.com/quern-dev/quern/slowlog/logfile"
	"github.com/quern-dev/quern/slowlog/requestlog"
)

// analysis reads the logs.
type analysis struct {
	*goal.Analysis
	config   *config
	stdin    io.Reader
	notes    []string
	failures []error
}

func (a *analysis) fail(name string, err error) {
	if !strings.Contains(err.Error(), name) {
		err = fmt.Errorf("%s: %w", name, err)
	}
	a.failures = append(a.failures, err)
}

// read reads all logs: the requests first, so that of the queries only those of the
// missing requests need be kept.
func (a *analysis) read(ctx context.Context) {
	c := a.config
	switch {
	case c.dsn != "":
		a.readTable(ctx)
	case c.sample():
		a.readRequests(ctx, "sample", bytes.NewReader(sampleRequests))
		if len(c.queries) == 0 {
			a.readQueries(ctx, "sample of the slow log", bytes.NewReader(sampleQueries))
		}
	}
	for _, name := range c.files {
		a.readRequests(ctx, name, nil)
	}
	for _, name := range c.queries {
		a.readQueries(ctx, name, nil)
	}
}

// open opens a log: r, or the named file, or standard input.
func (a *analysis) open(ctx context.Context, name string, r io.Reader, file func(string) (*logfile.File, error), stream func(io.Reader, string) (*logfile.File, error)) (*logfile.File, error) {
	if r != nil {
		return stream(r, name)
	}
	return sources.Open(ctx, name, a.stdin, file, stream)
}

func (a *analysis) readRequests(ctx context.Context, name string, from io.Reader) {
	f, err := a.open(ctx, name, from, logfile.OpenAny, logfile.NewAny)
	if err != nil {
		a.fail(name, err)
		return
	}
	defer f.Close()
	c := a.config
	r := requestlog.NewReader(f)
	r.Format, r.Template, r.Columns, r.Mapping, r.Weight = c.log, c.template, c.columns, c.mapping, c.weight
	r.Routes = &requestlog.Routes{Rules: c.routes}
	r.ReuseRequest = true
	var damage requestlog.Damage
	r.OnDamage = func(d requestlog.Damage) {
		if damage.Line == 0 {
			damage = d
		}
	}
	for req, err := range r.All() {
		if err != nil {
			a.fail(name, fmt.Errorf("%w after %d requests", err, r.Stats().Requests))
			break
		}
		a.Add(req)
	}
	format, mapping := r.Recognized()
	a.note(name+" ("+string(format)+")", r.Stats(), mapping, damage)
}

// note says how a log was read.
func (a *analysis) note(name string, s requestlog.Stats, m requestlog.Mapping, first requestlog.Damage) {
	text := fmt.Sprintf("%s: %d requests", name, s.Requests)
	if len(m) > 0 {
		text += ", with " + strings.ReplaceAll(m.String(), ",", ", ")
	}
	var guessed []string
	for _, r := range m {
		if r.Guessed {
			guessed = append(guessed, r.Field)
		}
	}
	if guessed != nil {
		text += "; the unit of " + strings.Join(guessed, " and ") + " is a guess by the values, -map says it"
	}
	if s.Skipped > 0 {
		text += fmt.Sprintf("; %d records skipped, the first in line %d: %s", s.Skipped, first.Line, first.Reason)
	}
	if s.Flagged > 0 {
		text += fmt.Sprintf("; %d with a negative or absurd time", s.Flagged)
	}
	a.notes = append(a.notes, text)
	if s.Requests == 0 && len(a.failures) == 0 {
		a.fail(name, fmt.Errorf("no request in %d lines", s.Lines))
	}
}

func (a *analysis) readQueries(ctx context.Context, name string, from io.Reader) {
	f, err := a.open(ctx, name, from, logfile.Open, logfile.New)
	if err != nil {
		a.fail(name, err)
		return
	}
	defer f.Close()
	r := slowlog.NewReader(f)
	r.ReuseEvent = true
	n := 0
	for ev, err := range r.All() {
		if err != nil {
			a.fail(name, fmt.Errorf("%w after %d events", err, n))
			return
		}
		a.AddQuery(ev)
		n++
	}
	if n == 0 {
		a.fail(name, fmt.Errorf("no slow log event in it; it looks like: %v", f.Kind))
	}
}

// readTable reads the requests of a MySQL table. The driver, with the network and TLS
// of the standard library, is a third of what the first build compiles; the SQL
// parser, which is far more, is not needed.
func (a *analysis) readTable(ctx context.Context) {
	c := a.config
	dsn, err := mysql.ParseDSN(c.dsn)
	if err != nil {
		a.fail("-mysql", err)
		return
	}
	dsn.Logger = log.New(io.Discard, "", 0) // what it would log comes back as an error
	connector, err := mysql.NewConnector(dsn)
	if err != nil {
		a.fail("-mysql", err)
		return
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	var damage requestlog.Damage
	t := &requestlog.Table{DB: db, Name: c.table, Mapping: c.mapping, Weight: c.weight, ReuseRequest: true,
		Routes: &requestlog.Routes{Rules: c.routes}, OnDamage: func(d requestlog.Damage) {
			if damage.Line == 0 {
				damage = d
			}
		}}
	for req, err := range t.All(ctx) {
		if err != nil {
			a.fail(c.table, err)
			break
		}
		a.Add(req)
	}
	a.note("table "+c.table, t.Stats(), t.Recognized(), damage)
}
