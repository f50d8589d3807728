// Command topqueries reads slow query logs and says which classes of statements
// cost the most.
//
//	topqueries [flags] [FILE...]
//
// With no FILE it reads a sample that it carries; "-" is standard input. Besides
// slow logs it reads general logs and the table mysql.slow_log as the server
// stores it and as the client prints it; all may be compressed with gzip or zstd.
// Several files make one profile.
//
// The report goes to standard output; progress, on a terminal, and diagnostics
// go to standard error. An interrupt (Ctrl-C) ends the reading, and the report is
// of what had been read; a second one ends the program. The exit status is 0, 1
// if something failed, such as a file that holds no event, and 2 if the command
// line is wrong. What could be read is reported whatever the status.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"time"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/digest/report"
	"github.com/quern-dev/quern/internal/sources"
	"github.com/quern-dev/quern/internal/terminal"
	"github.com/quern-dev/quern/slowlog"
)

//go:generate go run ../../internal/loggen/genlog -shop -gzip -o sample.log.gz

//go:embed sample.log.gz
var sample []byte

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// config is the command line.
type config struct {
	files   []string
	limit   int
	by      digest.Order
	format  string
	output  string
	save    string
	diff    string
	old     *digest.Profile // that -diff names, or nil
	workers int
	reader  slowlog.Options
	digest  digest.Options
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr *os.File) (status int) {
	complain := func(err error) {
		fmt.Fprintln(stderr, "topqueries:", err)
		status = 1
	}
	c, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if c.old, err = load(c.diff); err != nil {
		complain(err)
		return status
	}
	a := &analysis{config: c, stdin: stdin, shards: make([]digest.Aggregator, c.workers)}
	for i := range a.shards {
		a.shards[i].Options = c.digest
	}
	bar := newProgress(stderr)
	a.read(ctx, bar)
	bar.clear()
	for _, err := range a.failures {
		complain(err)
	}
	if a.events() == 0 {
		if a.interrupted {
			complain(errors.New("interrupted before the first event"))
		}
		return status
	}
	if a.interrupted {
		fmt.Fprintln(stderr, "topqueries: interrupted: the report is of what had been read")
	}
	r, err := a.report()
	if err == nil && c.old != nil {
		r.Diff, err = digest.Compare(c.old, r.Profile)
	}
	if err == nil && c.save != "" {
		err = save(r.Profile, c.save)
	}
	if err == nil {
		err = write(r, c, stdout)
	}
	if err != nil {
		complain(err)
	}
	return status
}

func parse(args []string, stderr io.Writer) (*config, error) {
	c := &config{}
	fs := flag.NewFlagSet("topqueries", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprint(stderr, "usage: topqueries [flags] [FILE...]\n\nWith no FILE it reads a sample; - is standard input.\n\n")
		fs.PrintDefaults()
	}
	fs.IntVar(&c.limit, "n", 10, "how many `classes` to show, 0 for all")
	order := fs.String("by", "total", "what to rank by: total, count, avg, min, max, p50, p95, pNN.N, errors, scatter,\nor a measure such as rows_examined or rows_sent:avg")
	group := fs.String("group", "fingerprint", "what to group by, with commas between them: fingerprint, schema, user, host,\ntables, verb, routine, percona_id")
	fs.Func("since", "leave out events before this `time`: 2006-01-02, \"2006-01-02 15:04:05\" (UTC) or RFC 3339", setTime(&c.digest.Filter.Since))
	fs.Func("until", "leave out events of this `time` and later", setTime(&c.digest.Filter.Until))
	fs.BoolVar(&c.digest.Fingerprint.FoldNumbers, "fold-numbers", false, "take names that differ in their numbers alone, such as log_2024 and log_2025, for one")
	fs.Float64Var(&c.reader.Rate, "rate", 0, "how many statements a record stands for, where the log does not say it")
	always := fs.Float64("always-log", 0, "query time in `seconds` from which on the server logged every statement\nwhatever the rate; 0 for 10 where Percona Server's rate is in the log")
	fs.IntVar(&c.workers, "workers", runtime.GOMAXPROCS(0), "how many `goroutines` read a file")
	fs.StringVar(&c.format, "format", "text", "text, json or html")
	fs.StringVar(&c.output, "o", "", "`file` to write to instead of standard output")
	fs.StringVar(&c.save, "save", "", "`file` to save the profile to, for -diff")
	fs.StringVar(&c.diff, "diff", "", "show first what changed since the profile that -save wrote to this `file`")
	redact := fs.Bool("no-literals", false, "show statements with ? in place of their literals")
	var err error
	if c.files, err = sources.ParseFlags(fs, args); err != nil {
		return nil, err
	}
	c.reader.AlwaysLog = time.Duration(*always * float64(time.Second))
	if *redact {
		c.digest.Text = digest.TextRedacted
	}
	err = c.setOrder(*order)
	if err == nil {
		c.digest.GroupBy, err = digest.ParseGroups(*group)
	}
	switch {
	case err != nil:
	case c.limit < 0:
		err = errors.New("-n is below 0")
	case c.workers < 1:
		err = errors.New("-workers is below 1")
	case c.reader.Rate != 0 && !(c.reader.Rate >= 1 && c.reader.Rate <= digest.MaxWeight):
		err = fmt.Errorf("-rate is %v, want 1 to %d", c.reader.Rate, digest.MaxWeight)
	case math.IsNaN(*always):
		err = errors.New("-always-log is not a number")
	case !slices.Contains([]string{"text", "json", "html"}, c.format):
		err = fmt.Errorf("-format is %q, want text, json or html", c.format)
	default:
		err = c.checkOutputs()
	}
	if err != nil {
		fmt.Fprintln(stderr, "topqueries:", err)
	}
	return c, err
}

// setOrder sets the order and what it takes to rank by it.
func (c *config) setOrder(name string) (err error) {
	if c.by, err = digest.ParseOrder(name); err != nil {
		return err
	}
	c.by = c.by.WithMinCount()
	if m, ok := c.by.Histogram(); ok {
		c.digest.Histograms = append(c.digest.Histograms, m)
	}
	return nil
}

func setTime(t *time.Time) func(string) error {
	return func(s string) (err error) {
		for _, layout := range []string{time.RFC3339Nano, time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04", time.DateOnly} {
			if *t, err = time.Parse(layout, s); err == nil {
				return nil
			}
		}
		return errors.New("not a time")
	}
}

// save saves a profile under a name.
func save(p *digest.Profile, name string) error {
	b, err := p.MarshalBinary()
	if err != nil {
		return err
	}
	return replaceFile(name, func(f *os.File) error {
		_, err := f.Write(b)
		return err
	})
}

// load returns the profile that was saved under a name, nil if that is empty.
func load(name string) (*digest.Profile, error) {
	if name == "" {
		return nil, nil
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	p := new(digest.Profile)
	if err := p.UnmarshalBinary(b); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// write writes the report where the command line says.
func write(r *report.Report, c *config, stdout *os.File) error {
	to := func(out *os.File) error {
		switch c.format {
		case "json":
			return r.WriteJSON(out)
		case "html":
			return r.WriteHTML(out)
		}
		return r.WriteText(out, report.TextOptions{Width: terminal.Columns(out), Color: terminal.Color(out)})
	}
	if c.output != "" {
		return replaceFile(c.output, to)
	}
	return to(stdout)
}
