package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/slowlog"
	"github.com/quern-dev/quern/slowlog/logfile"
)

// fromQuery returns the statement, and a profile of nothing else.
func fromQuery(query, schema string) ([]statement, *digest.Profile) {
	var agg digest.Aggregator
	agg.Add(&slowlog.Event{Query: query, Schema: schema, Weight: 1})
	p := agg.Profile()
	return []statement{{schema: schema, sql: query, class: p.Top(1, digest.ByTotalTime)[0].ID}}, p
}

// fromLogs returns one statement of each of the n classes that cost the most
// time, with how often a day it runs, and the profile of the logs.
func fromLogs(names []string, schema string, n int) ([]statement, *digest.Profile, error) {
	var agg digest.Aggregator
	for _, name := range names {
		if err := addLog(&agg, name); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	p := agg.Profile()
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
		return nil, nil, errors.New("the logs hold no statement to explain")
	}
	return out, p, nil
}

func addLog(agg *digest.Aggregator, name string) error {
	f, err := logfile.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	for ev, err := range slowlog.NewReader(f).All() {
		if err != nil {
			return err
		}
		agg.Add(ev)
	}
	return nil
}
