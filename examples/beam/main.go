// Command beam makes one profile of many slow logs with Apache Beam, on one
// machine or on many.
//
//	beam [flags] [GLOB...]
//
// With no GLOB it reads a sample that it carries. Logs are cut into shards that
// are read at the same time; the profile is that which one process would make of
// them, to the byte, as long as no class has more users, hosts, schemas or
// routines than a class tells apart.
//
// It runs in this process, on Beam's Prism runner, unless -runner names another;
// the other flags of Beam's runners are there too. The profile goes to the file
// that -o names; without it, its first classes are printed.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/digest/report"
)

//go:generate go run ../../internal/loggen/genlog -dialect mariadb -events 2500 -classes 40 -seed 7 -gzip -o sample.log.gz

//go:embed sample.log.gz
var sample []byte

func main() {
	var c Config
	flag.StringVar(&c.Output, "o", "", "`file` to write the profile to, in its binary form")
	flag.Int64Var(&c.ShardSize, "shard", 64<<20, "`bytes` of a log that one worker reads at a time, about")
	flag.StringVar(&c.Group, "group", "", "`names` of what statements are grouped by, as schema,fingerprint")
	flag.BoolVar(&c.Redact, "no-literals", false, "keep no literals of statements")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), "usage: beam [flags] [GLOB...]\n\nWith no GLOB it reads a sample.\n\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	c.Globs = flag.Args()
	beam.Init() // on a machine that a runner started, this does the work and ends the program
	if err := run(context.Background(), c, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "beam:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, c Config, stdout io.Writer) error {
	if _, err := options(c.Group, c.Redact); err != nil {
		return err
	}
	if c.ShardSize <= 0 {
		return fmt.Errorf("-shard is %d bytes, expected more than 0", c.ShardSize)
	}
	if local := *runners.Runner == "" || *runners.Runner == "prism"; local {
		slog.SetDefault(slog.New(slog.DiscardHandler)) // what fails comes back as the error
	} else if c.Output == "" || len(c.Globs) == 0 {
		return errors.New("a runner on other machines wants logs and -o on a file system that they share")
	}
	if c.Output != "" && len(c.Globs) > 0 {
		return execute(ctx, c)
	}
	dir, err := os.MkdirTemp("", "quern-beam-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if len(c.Globs) == 0 {
		name := filepath.Join(dir, "sample.log")
		if err := unpack(name); err != nil {
			return err
		}
		c.Globs = []string{name}
		c.ShardSize = min(c.ShardSize, 256<<10) // several shards
	}
	if c.Output != "" {
		return execute(ctx, c)
	}
	c.Output = filepath.Join(dir, "profile")
	if err := execute(ctx, c); err != nil {
		return err
	}
	data, err := os.ReadFile(c.Output)
	if err != nil {
		return err
	}
	p := new(digest.Profile)
	if err := p.UnmarshalBinary(data); err != nil {
		return err
	}
	r := report.Report{Profile: p, Limit: 10}
	return r.WriteText(stdout, report.TextOptions{})
}

func execute(ctx context.Context, c Config) error {
	p, s := beam.NewPipelineWithRoot()
	build(s, c)
	return beamx.Run(ctx, p)
}

func unpack(name string) error {
	z, err := gzip.NewReader(bytes.NewReader(sample))
	if err != nil {
		return err
	}
	data, err := io.ReadAll(z)
	if err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o600)
}
