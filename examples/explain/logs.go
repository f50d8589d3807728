package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/slowlog"
	"github.com/quern-dev/quern/slowlog/logfile"
)

// fromLogs returns one statement of each of the n classes that cost the most
// time, with how often a day it runs.
func fromLogs(names []string, schema string, n int) ([]statement, error) {
	var agg digest.Aggregator
	for _, name := range names {
		if err := addLog(&agg, name); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
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
		s := statement{schema: sample.Schema, sql: sample.Query}
		if schema != "" {
			s.schema = schema
		}
		if days*24 >= time.Hour.Hours() {
			s.perDay = c.Count / days
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, errors.New("the logs hold no statement to explain")
	}
	return out, nil
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
