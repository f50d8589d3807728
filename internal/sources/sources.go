// Package sources opens and reads the logs that a command line names, for the
// examples.
package sources

import (
	"errors"
	"fmt"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/digest/report"
	"github.com/quern-dev/quern/slowlog"
	"github.com/quern-dev/quern/slowlog/logfile"
)

// Profile reads slow logs, plain, gzip or zstd, and returns one profile of all, with
// what their readers say of each. Logs without an event are an error.
func Profile(names []string) (*digest.Profile, []report.Source, error) {
	var agg digest.Aggregator
	var sources []report.Source
	for _, name := range names {
		s, err := add(&agg, name)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		sources = append(sources, s)
	}
	p := agg.Profile()
	if p.Events == 0 {
		return nil, nil, errors.New("the files hold no statement of a slow log")
	}
	return p, sources, nil
}

func add(agg *digest.Aggregator, name string) (s report.Source, err error) {
	f, err := logfile.Open(name)
	if err != nil {
		return s, err
	}
	defer f.Close()
	source := f.Source(slowlog.Options{}, nil)
	for ev, err := range source.All() {
		if err != nil {
			return s, err
		}
		agg.Add(ev)
	}
	s = report.Source{Name: f.Name, Stats: source.Stats()}
	agg.AddSkipped(uint64(s.Stats.Skipped()))
	return s, nil
}
