// Command genshop writes the logs of a made-up shop's day, the request log and the
// slow log of the same time, compressed with gzip.
//
//	genshop -requests 4000 -log requests.ltsv.gz -slow slow.log.gz
package main

import (
	"compress/gzip"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/quern-dev/quern/internal/loggen"
)

func main() {
	var o loggen.RequestOptions
	flag.Uint64Var(&o.Seed, "seed", 1, "of the random values")
	flag.IntVar(&o.Requests, "requests", 0, "`number` of requests")
	flag.IntVar(&o.Sample, "sample", 1, "log one request in so many")
	flag.DurationVar(&o.JobAt, "job-at", 21*time.Hour, "when the job starts")
	flag.DurationVar(&o.JobLength, "job-length", time.Hour, "how long it runs")
	flag.DurationVar(&o.SlowOver, "slow-over", 0, "long_query_time")
	log := flag.String("log", "requests.ltsv.gz", "`file` of the request log")
	slow := flag.String("slow", "slow.log.gz", "`file` of the slow log")
	flag.Parse()
	if err := run(*log, *slow, o); err != nil {
		fmt.Fprintln(os.Stderr, "genshop:", err)
		os.Exit(1)
	}
}

func run(log, slow string, o loggen.RequestOptions) error {
	l, err := create(log)
	if err != nil {
		return err
	}
	s, err := create(slow)
	if err != nil {
		return err
	}
	if err := loggen.ShopRequests(l, s, o); err != nil {
		return err
	}
	if err := l.close(); err != nil {
		return err
	}
	return s.close()
}

// A zipFile is a gzip file being written.
type zipFile struct {
	*gzip.Writer
	f *os.File
}

func create(name string) (*zipFile, error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	return &zipFile{z, f}, err
}

func (z *zipFile) close() error {
	if err := z.Close(); err != nil {
		return err
	}
	return z.f.Close()
}
