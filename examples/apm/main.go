// Command apm is an agent that follows slow logs, and shows the workload to
// monitoring systems and to people.
//
//	apm [flags] [SLOWLOG...]
//
// It is a module of its own, for what it needs: from the root of quern
//
//	go -C examples/apm run . [flags] /var/log/mysql/slow.log
//
// runs it, in this directory, so that paths are best absolute.
//
// Files are followed through every kind of rotation, and may come into being later.
// With -processlist it also watches the statements of a server that logs none; those
// of one that is watched and whose log is followed count twice. With neither it makes
// up the spans of a shop, so that there is something to see.
//
// What is observed is added up in a digest.Collector. At the end of each -window
// (10 s) it goes to
//
//   - http://LISTEN/metrics for Prometheus, as classic and native histograms;
//   - http://LISTEN/, a page with the top queries of the last minute;
//   - the file or the endpoint of -otlp, as OpenTelemetry metrics.
//
// With -checkpoint the places in the logs are stored behind each window, once its
// metrics are written or sent, and the agent goes on there when it is started again:
// OTLP has each event once, or twice if the agent is killed between the two. On an
// interrupt or SIGTERM it closes the window, writes and stores, and ends.
//
// Nothing of a literal, a comment, a user or a host is exported; -literals shows the
// slowest statements as they are, on the page alone.
//
// Diagnostics go to standard error. The exit status is 0 after an interrupt, 1 if
// something failed, and 2 if the command line is wrong.
//
// The parts are packages of their own, for other programs: promexport and otlpexport
// export profiles, spans and sqlobserve observe OpenTelemetry's spans and
// database/sql, processlist a server's processes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program
	os.Exit(run(ctx, os.Args[1:], os.Stderr))
}

// config is the command line.
type config struct {
	files       []string
	listen      string
	otlp        string
	processlist *mysql.Config // nil without -processlist
	interval    time.Duration
	window      time.Duration
	limit       int
	checkpoint  string
	fromEnd     bool
	literals    bool
	system      string
}

func run(ctx context.Context, args []string, stderr io.Writer) int {
	c, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	a, err := newAgent(c, stderr)
	if err == nil {
		err = a.run(ctx)
	}
	if err != nil {
		fmt.Fprintln(stderr, "apm:", err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (*config, error) {
	c := &config{}
	fs := flag.NewFlagSet("apm", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprint(stderr, "usage: apm [flags] [SLOWLOG...]\n\nWith nothing to watch it makes up the spans of a shop.\n\n")
		fs.PrintDefaults()
	}
	fs.StringVar(&c.listen, "listen", "127.0.0.1:9104", "`address` to serve /metrics and the page at")
	fs.StringVar(&c.otlp, "otlp", "", "`file` to append OTLP metrics to as lines of JSON, or the URL of an OTLP/HTTP\nendpoint, such as http://127.0.0.1:4318/v1/metrics")
	dsn := fs.String("processlist", "", "watch the processes of this `DSN`, user:password@tcp(host:3306)/")
	fs.DurationVar(&c.interval, "interval", 100*time.Millisecond, "`time` between two looks at the processes, and the error of their times")
	fs.DurationVar(&c.window, "window", 10*time.Second, "`length` of the windows that are exported")
	fs.IntVar(&c.limit, "n", 100, "how many `classes` to tell apart, each with its metrics; the rest is one")
	fs.StringVar(&c.checkpoint, "checkpoint", "", "`file` that says where to go on in the logs")
	fs.BoolVar(&c.fromEnd, "from-end", false, "begin at the end of the logs, not at their start, where no checkpoint tells")
	fs.BoolVar(&c.literals, "literals", false, "show statements with their literals on the page")
	fs.StringVar(&c.system, "system", "mysql", "db.system.name of the OTLP metrics: mysql or mariadb")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	c.files = fs.Args()
	var err error
	switch {
	case c.window <= 0:
		err = errors.New("-window is not above 0")
	case c.interval <= 0:
		err = errors.New("-interval is not above 0")
	case c.limit < 1:
		err = errors.New("-n is below 1")
	case len(c.files) == 0 && (c.checkpoint != "" || c.fromEnd):
		err = errors.New("-checkpoint and -from-end are about slow logs, and there is none")
	case c.isEndpoint():
		if u, e := url.Parse(c.otlp); e != nil || u.Host == "" {
			err = errors.New("-otlp is no URL with a host")
		}
	}
	if err == nil && *dsn != "" {
		if c.processlist, err = mysql.ParseDSN(*dsn); err != nil {
			err = errors.New("-processlist is not of the form user:password@tcp(host:3306)/") // its own error may hold the password
		}
	}
	if err != nil {
		fmt.Fprintln(stderr, "apm:", err)
	}
	return c, err
}

// isEndpoint reports whether -otlp is a URL.
func (c *config) isEndpoint() bool {
	return strings.HasPrefix(c.otlp, "http://") || strings.HasPrefix(c.otlp, "https://")
}
