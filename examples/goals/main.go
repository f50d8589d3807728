// Command goals reads request logs, holds the requests against their goals, and says
// of those that miss where their time went.
//
//	goals [-goal 'search:p95<1s,p99<3s'] [flags] [FILE...]
//
// With no FILE it reads the day of a made-up shop that it carries, with its slow log;
// "-" is standard input. Files are JSON Lines, CSV, TSV, LTSV, logfmt, W3C or the
// lines of a web server, recognised by content, plain or compressed with gzip or
// zstd. With -queries the slow log of the same time shows the queries behind. With
// -mysql the requests are read from a table.
//
// The report goes to standard output, diagnostics to standard error. The exit status
// is 0, 1 if something failed, such as a log that holds no request, and 2 if the
// command line is wrong. What could be read is reported whatever the status.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/quern-dev/quern/digest/goal"
	"github.com/quern-dev/quern/digest/report"
	"github.com/quern-dev/quern/internal/sources"
	"github.com/quern-dev/quern/slowlog/requestlog"
)

//go:generate go run ../../internal/loggen/genshop -requests 2500 -slow-over 4ms

//go:embed requests.ltsv.gz
var sampleRequests []byte

//go:embed slow.log.gz
var sampleQueries []byte

// The goals of the sample, and those of a log of which nothing is known.
const (
	sampleGoals  = "search:p95<1s,p99<3s; search{kind=person}:p95<1s; product:p95<500ms; cart:p95<500ms; *:p99<2s"
	defaultGoals = "*:p95<1s,p99<3s"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// config is the command line.
type config struct {
	files   []string
	queries []string
	goals   []goal.Goal
	dsn     string
	table   string
	format  string
	report  report.Goals

	interval  time.Duration
	segmentBy []string

	log      requestlog.Format
	template string
	columns  []string
	mapping  requestlog.Mapping
	routes   []requestlog.Route
	weight   float64
}

func (c *config) sample() bool { return len(c.files) == 0 && c.dsn == "" }

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	a := &analysis{config: c, stdin: stdin, Analysis: goal.NewAnalysis(c.goals)}
	a.Interval, a.SegmentBy = c.interval, c.segmentBy
	a.read(ctx)
	for _, err := range a.failures {
		fmt.Fprintln(stderr, "goals:", err)
	}
	if a.Stats().Requests > 0 {
		if err := a.write(stdout); err != nil {
			fmt.Fprintln(stderr, "goals:", err)
			return 1
		}
	}
	if len(a.failures) > 0 {
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (*config, error) {
	c := &config{}
	fs := flag.NewFlagSet("goals", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprint(stderr, "usage: goals [flags] [FILE...]\n\nWith no FILE it reads a sample; - is standard input.\n\n")
		fs.PrintDefaults()
	}
	goals := fs.String("goal", "", "the `goals`: page:p95<1s,p99<3s; page{user=bot}:p95<5s; * is any page\n(default "+defaultGoals+")")
	fs.Func("queries", "slow log `FILE` of the same time; may be given several times", func(s string) error {
		c.queries = append(c.queries, s)
		return nil
	})
	fs.StringVar(&c.dsn, "mysql", "", "read requests from a table of this `DSN`, user:password@tcp(host:3306)/schema")
	fs.StringVar(&c.table, "table", "", "`name` of the table for -mysql, such as requests_20261130")
	fs.DurationVar(&c.interval, "interval", 0, "`length` of the intervals of the time series (default 5m; 15m for the sample)")
	fs.Func("by", "also group requests by these `attributes`, with commas between them; kind+user\nis a group of both", func(s string) error {
		c.segmentBy = strings.Split(s, ",")
		return nil
	})
	fs.Func("map", "which field is what, in which unit: `wall=rt:ms,wait.mysql=db:us,page=route`", func(s string) (err error) {
		c.mapping, err = requestlog.ParseMapping(s)
		return err
	})
	fs.Func("routes", "pages by path: `search=/find/**,product=/product/*`", func(s string) (err error) {
		c.routes, err = requestlog.ParseRoutes(s)
		return err
	})
	fs.Func("log", "`format` of the request log: json, csv, tsv, ltsv, logfmt, w3c (default: by content)", func(s string) (err error) {
		c.log, err = requestlog.ParseFormat(s)
		return err
	})
	fs.StringVar(&c.template, "template", "", "the lines' `form`, as nginx's log_format or Apache's LogFormat has it")
	fs.Func("columns", "`names` of the columns of a CSV or TSV without a header, with commas between them", func(s string) error {
		c.columns = strings.Split(s, ",")
		return nil
	})
	fs.Float64Var(&c.weight, "weight", 0, "how many requests one of the log stands for, where it does not say so itself")
	fs.StringVar(&c.format, "format", "text", "text, json or html")
	fs.IntVar(&c.report.Limit, "n", 5, "how many `pages`, hiccups and query classes to show of each goal")
	var err error
	if c.files, err = sources.ParseFlags(fs, args); err != nil {
		return nil, err
	}
	if *goals == "" {
		if *goals = defaultGoals; c.sample() {
			*goals = sampleGoals
		}
	}
	if c.sample() {
		if c.segmentBy == nil {
			c.segmentBy = []string{"kind"}
		}
		if c.interval == 0 {
			c.interval = 15 * time.Minute // it has few requests
		}
	}
	c.goals, err = goal.Parse(*goals)
	switch {
	case err != nil:
	case (c.dsn == "") != (c.table == ""):
		err = errors.New("-mysql and -table go together")
	case c.dsn != "" && len(c.files) > 0:
		err = errors.New("give files or -mysql, not both")
	case c.weight < 0:
		err = errors.New("-weight is below 0")
	case c.interval < 0:
		err = errors.New("-interval is below 0")
	case c.report.Limit < 1:
		err = errors.New("-n is below 1")
	case c.format != "text" && c.format != "json" && c.format != "html":
		err = fmt.Errorf("-format is %q, want text, json or html", c.format)
	}
	if err != nil {
		fmt.Fprintln(stderr, "goals:", err)
	}
	return c, err
}

func (a *analysis) write(w io.Writer) error {
	r := a.config.report
	r.Verdicts, r.Stats, r.Notes = a.Verdicts(), a.Stats(), a.notes
	switch a.config.format {
	case "json":
		return r.WriteJSON(w)
	case "html":
		return r.WriteHTML(w)
	}
	return r.WriteText(w, report.TextOptions{Width: 80})
}
