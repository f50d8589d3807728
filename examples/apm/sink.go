package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"time"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/examples/apm/otlpexport"
)

// A sink takes windows as OTLP: a file, or an endpoint. A window that could not be
// delivered is delivered together with the next.
type sink struct {
	options otlpexport.Options
	profile digest.Options // those of the windows' profiles, which bound what waits
	file    *os.File       // nil for an endpoint
	url     string
	client  *http.Client

	waiting *digest.Profile // nil if nothing waits
	since   time.Time
}

func newSink(c *config) (*sink, error) {
	s := &sink{
		options: otlpexport.Options{System: c.system, MaxClasses: c.limit},
		profile: digest.Options{GroupBy: groups, Text: digest.TextRedacted, MaxClasses: 5000},
		url:     c.otlp,
	}
	if c.literals {
		s.profile.Text = digest.TextVerbatim
	}
	if c.isEndpoint() {
		s.client = &http.Client{Timeout: 10 * time.Second}
		return s, nil
	}
	var err error
	s.file, err = os.OpenFile(c.otlp, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	return s, err
}

// export delivers the profile of a window.
func (s *sink) export(ctx context.Context, p *digest.Profile, start, end time.Time) error {
	if s.waiting != nil {
		all := digest.Aggregator{Options: s.profile}
		if err := errors.Join(all.MergeProfile(s.waiting), all.MergeProfile(p)); err != nil {
			return err
		}
		p, start = all.Profile(), s.since
	}
	if p.Events == 0 {
		return nil
	}
	md := otlpexport.Metrics(p, start, end, s.options)
	var err error
	if s.file != nil {
		err = otlpexport.WriteLine(s.file, md)
	} else {
		err = otlpexport.Post(ctx, s.client, s.url, md)
	}
	s.waiting = nil
	if rejected := (*otlpexport.RejectedError)(nil); err != nil && !errors.As(err, &rejected) {
		s.waiting, s.since = p, start
	}
	return err
}

func (s *sink) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
