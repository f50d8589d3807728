package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/digest/finding"
	"github.com/quern-dev/quern/digest/report"
	"github.com/quern-dev/quern/internal/sources"
	"github.com/quern-dev/quern/slowlog"
	"github.com/quern-dev/quern/slowlog/logfile"
)

// An analysis is what was read so far.
type analysis struct {
	config      *config
	stdin       io.Reader
	shards      []digest.Aggregator // one for each worker
	sources     []report.Source
	failures    []error
	interrupted bool
}

// embedded names the sample among the files. No file can have the name.
const embedded = "\x00"

// read reads all files. One that fails does not keep it from the others.
func (a *analysis) read(ctx context.Context, bar *progress) {
	names := a.config.files
	if len(names) == 0 {
		names = []string{embedded}
	}
	bar.expect(names)
	for _, name := range names {
		switch err := a.readFile(ctx, name, bar); {
		case errors.Is(err, sources.ErrInterrupted):
			a.interrupted = true
			return
		case err != nil:
			a.failures = append(a.failures, err)
		}
	}
}

func (a *analysis) readFile(ctx context.Context, name string, bar *progress) error {
	f, err := a.open(ctx, name)
	if err != nil {
		return err
	}
	defer f.Close()
	bar.start(f)
	source := f.Source(a.config.reader, nil)
	if r, ok := source.(*slowlog.Reader); ok {
		err = r.Each(len(a.shards), func(worker int, ev *slowlog.Event) error {
			a.shards[worker].Add(ev)
			return nil
		})
	} else {
		err = a.readAll(source)
	}
	stats := source.Stats()
	a.shards[0].AddSkipped(uint64(stats.Skipped()))
	a.sources = append(a.sources, report.Source{Name: f.Name, Stats: stats})
	if err != nil && !errors.Is(err, sources.ErrInterrupted) {
		return fmt.Errorf("%s, at byte %d: %w", f.Name, stats.Bytes, err)
	}
	if err == nil && stats.Events == 0 {
		err = fmt.Errorf("%s: no event: %s", f.Name, found(f.Kind, &stats))
	}
	return err
}

// readAll reads what is read by one goroutine.
func (a *analysis) readAll(source slowlog.Source) error {
	for ev, err := range source.All() {
		if err != nil {
			return err
		}
		a.shards[0].Add(ev)
	}
	return nil
}

func (a *analysis) open(ctx context.Context, name string) (*logfile.File, error) {
	if name == embedded {
		return logfile.New(bytes.NewReader(sample), "the embedded sample (a day of a made-up shop)")
	}
	return sources.Open(ctx, name, a.stdin, logfile.Open, logfile.New)
}

// found says what a file without events holds.
func found(kind logfile.Kind, s *slowlog.Stats) string {
	if kind == logfile.Empty {
		return "the file is empty"
	}
	var parts []string
	for reason, n := range s.Damaged {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d × %s", n, slowlog.Reason(reason)))
		}
	}
	if s.Banners > 0 {
		parts = append(parts, fmt.Sprintf("%d × heading that a server writes when it opens its log", s.Banners))
	}
	if parts == nil {
		return fmt.Sprintf("found %d lines of %s", s.Lines, kind)
	}
	return "found " + strings.Join(parts, " and ")
}

// events returns how many events were read, those that the filter keeps out too.
func (a *analysis) events() (n int64) {
	for i := range a.sources {
		n += a.sources[i].Stats.Events
	}
	return n
}

// report merges the shards and says what the profile is of.
func (a *analysis) report() (*report.Report, error) {
	all := &a.shards[0]
	for i := range a.shards[1:] {
		if err := all.Merge(&a.shards[1+i]); err != nil {
			return nil, err
		}
		a.shards[1+i] = digest.Aggregator{}
	}
	r := &report.Report{
		Profile:     all.Profile(),
		By:          a.config.by,
		Limit:       a.config.limit,
		Sources:     a.sources,
		Interrupted: a.interrupted,
	}
	if r.Profile.GroupedBy() == digest.ByFingerprint.String() {
		r.Findings = finding.Examine(r.Profile, finding.DefaultLimits())
	}
	return r, nil
}
