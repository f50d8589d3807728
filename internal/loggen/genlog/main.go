// Command genlog writes a slow log of known content to standard output or a
// file.
//
//	genlog -bytes 1G -dialect mariadb -o big.log
//	genlog -shop -gzip -o sample.log.gz
package main

import (
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/quern-dev/quern/internal/loggen"
)

func main() {
	var o loggen.Options
	flag.Var(&o.Dialect, "dialect", "percona80, mysql50, mysql55, mysql57, mysql80, mysql80extra, mariadb or mariadbfull")
	flag.Uint64Var(&o.Seed, "seed", 1, "of the random values")
	flag.IntVar(&o.Events, "events", 0, "`number` of records, 0 for no limit")
	flag.Func("bytes", "`size` of the log, as 500000, 64K, 100M or 10G", func(s string) (err error) {
		o.Bytes, err = parseSize(s)
		return err
	})
	flag.IntVar(&o.Classes, "classes", 400, "`number` of query classes")
	flag.Uint64Var(&o.RateLimit, "rate-limit", 1, "statements that a record stands for")
	flag.BoolVar(&o.CRLF, "crlf", false, "end lines in CR LF")
	flag.BoolVar(&o.Hostile, "hostile", false, "put look-alikes of records into literals")
	shop := flag.Bool("shop", false, "write a shop's day instead")
	zip := flag.Bool("gzip", false, "compress")
	out := flag.String("o", "", "`file` to write instead of standard output")
	flag.Parse()

	generate := loggen.Generate
	if *shop {
		generate = loggen.ShopDay
	}
	if err := run(generate, o, *zip, *out); err != nil {
		fmt.Fprintln(os.Stderr, "genlog:", err)
		os.Exit(1)
	}
}

func run(generate func(io.Writer, loggen.Options) (*loggen.Truth, error), o loggen.Options, zip bool, out string) (err error) {
	f := os.Stdout
	if out != "" {
		if f, err = os.Create(out); err != nil {
			return err
		}
		defer func() {
			if cerr := f.Close(); err == nil {
				err = cerr
			}
		}()
	}
	if !zip {
		_, err = generate(f, o)
		return err
	}
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := generate(z, o); err != nil {
		return err
	}
	return z.Close()
}

func parseSize(s string) (int64, error) {
	digits := strings.TrimRight(s, "KMG")
	unit, ok := map[string]int64{"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[s[len(digits):]]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !ok || n <= 0 {
		return 0, fmt.Errorf("not a size: %q", s)
	}
	return n * unit, nil
}
