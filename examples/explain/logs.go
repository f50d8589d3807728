package main

import (
	"errors"
	"time"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/digest/report"
	"github.com/quern-dev/quern/internal/sources"
	"github.com/quern-dev/quern/slowlog"
)

// fromQuery returns the statement, and a profile of nothing else.
func fromQuery(query, schema string) ([]statement, *digest.Profile) {
	var agg digest.Aggregator
	agg.Add(&slowlog.Event{Query: query, Schema: schema, Weight: 1})
	p := agg.Profile()
	return []statement{{schema: schema, sql: query, class: p.Top(1, digest.ByTotalTime)[0].ID}}, p
}

// fromLogs returns one statement of each of the n classes that cost the most
// time, with how often a day it runs, the profile of the logs, and what their
// readers say of them.
func fromLogs(names []string, schema string, n int) ([]statement, *digest.Profile, []report.Source, error) {
	p, logs, err := sources.Profile(names)
	if err != nil {
		return nil, nil, nil, err
	}
	days := p.To().Sub(p.From()).Hours() / 24
	var out []statement
	for _, c := range p.Top(n, digest.ByTotalTime) {
		sample := c.Sample()
		if sample == nil || c.Kind != digest.Statements {
			continue
		}
		s := statement{schema: sample.Schema, sql: sample.Query, class: c.ID}
		if schema != "" {
			s.schema = schema
		}
		if days*24 >= time.Hour.Hours() {
			s.perDay = c.Count / days
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, nil, nil, errors.New("the logs hold no statement to explain")
	}
	return out, p, logs, nil
}
