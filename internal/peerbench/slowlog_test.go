package peerbench

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	sqllexer "github.com/DataDog/go-sqllexer"
	"github.com/percona/go-mysql/event"
	"github.com/percona/go-mysql/log"
	"github.com/percona/go-mysql/log/slow"
	"github.com/percona/go-mysql/query"
	"github.com/pingcap/tidb/pkg/parser"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/internal/loggen"
	"github.com/quern-dev/quern/slowlog"
)

const logBytes = 32 << 20

// writeLog writes a log of 400 classes, by Zipf's law, and returns its file and
// the statements in it.
func writeLog(tb testing.TB, dialect loggen.Dialect) (file string, statements []string) {
	tb.Helper()
	file = filepath.Join(tb.TempDir(), "slow.log")
	f, err := os.Create(file)
	if err != nil {
		tb.Fatal(err)
	}
	w := bufio.NewWriter(f)
	_, err = loggen.Generate(w, loggen.Options{Dialect: dialect, Seed: 1, Bytes: logBytes, OnRecord: func(r *loggen.Record) {
		if r.Command == "" {
			statements = append(statements, string(r.Query))
		}
	}})
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		tb.Fatal(err)
	}
	return file, statements
}

// logReaders read a log into classes and return how many there are.
var logReaders = []struct {
	name string
	run  func(f *os.File) (classes int, err error)
}{
	{"lines", func(f *os.File) (int, error) {
		scanner := bufio.NewScanner(f)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
		}
		return 0, scanner.Err()
	}},
	{"quern", func(f *os.File) (int, error) {
		r := slowlog.NewReader(f)
		r.ReuseEvent = true
		var a digest.Aggregator
		for {
			ev, err := r.Read()
			if err == io.EOF {
				return len(a.Profile().Top(1<<20, digest.ByTotalTime)), nil
			}
			if err != nil {
				return 0, err
			}
			a.Add(ev)
		}
	}},
	{"go-mysql", func(f *os.File) (int, error) {
		p := slow.NewSlowLogParser(f, log.Options{})
		failed := make(chan error, 1)
		go func() { failed <- p.Start() }()
		a := event.NewAggregator(false, 0, 10)
		for ev := range p.EventChan() {
			fingerprint := query.Fingerprint(ev.Query)
			a.AddEvent(ev, query.Id(fingerprint), ev.User, ev.Host, ev.Db, "", fingerprint)
		}
		return len(a.Finalize().Class), <-failed
	}},
}

// BenchmarkLog reads logs of all dialects into classes. x-lines is the speed in
// that of a loop over the lines of the same file, by the time on a processor.
func BenchmarkLog(b *testing.B) {
	for _, dialect := range loggen.Dialects() {
		file, _ := writeLog(b, dialect)
		var lines float64
		for _, reader := range logReaders {
			b.Run(dialect.String()+"/"+reader.name, func(b *testing.B) {
				b.SetBytes(logBytes)
				b.ReportAllocs()
				start, n, classes := cpuTime(), 0, 0
				for b.Loop() {
					f, err := os.Open(file)
					if err != nil {
						b.Fatal(err)
					}
					if classes, err = reader.run(f); err != nil {
						b.Fatal(err)
					}
					f.Close()
					n++
				}
				perOp := float64(cpuTime()-start) / float64(n)
				if reader.name == "lines" {
					lines = perOp
				}
				b.ReportMetric(logBytes/perOp*1e3, "MB/cpu-s")
				b.ReportMetric(lines/perOp, "x-lines")
				b.ReportMetric(float64(classes), "classes")
			})
		}
		b.Run(dialect.String()+"/pt-query-digest", func(b *testing.B) {
			tool, err := exec.LookPath("pt-query-digest")
			if err != nil {
				b.Skip("pt-query-digest is not on PATH")
			}
			b.SetBytes(logBytes)
			var spent time.Duration
			n := 0
			for b.Loop() {
				cmd := exec.Command(tool, "--no-version-check", "--limit=20", file)
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
				usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
				spent += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
				n++
			}
			perOp := float64(spent) / float64(n)
			b.ReportMetric(logBytes/perOp*1e3, "MB/cpu-s")
			b.ReportMetric(lines/perOp, "x-lines")
		})
	}
}

// BenchmarkStatements makes the fingerprints of all statements of such a log.
func BenchmarkStatements(b *testing.B) {
	_, statements := writeLog(b, loggen.Percona80)
	size := len(strings.Join(statements, ""))
	var f digest.Fingerprinter
	var dst []byte
	normalizer, obfuscator := sqllexer.NewNormalizer(), sqllexer.NewObfuscator()
	for _, peer := range []struct {
		name string
		run  func(sql string)
	}{
		{"quern", func(sql string) { dst = f.Append(dst[:0], sql) }},
		{"go-mysql", func(sql string) { query.Fingerprint(sql) }},
		{"tidb", func(sql string) { parser.NormalizeDigest(sql) }},
		{"go-sqllexer", func(sql string) {
			sqllexer.ObfuscateAndNormalize(sql, obfuscator, normalizer, sqllexer.WithDBMS(sqllexer.DBMSMySQL))
		}},
	} {
		b.Run(peer.name, func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			start, n := cpuTime(), 0
			for b.Loop() {
				for _, sql := range statements {
					peer.run(sql)
				}
				n++
			}
			perOp := float64(cpuTime()-start) / float64(n)
			b.ReportMetric(perOp/float64(len(statements)), "cpu-ns/stmt")
			b.ReportMetric(float64(size)/perOp*1e3, "MB/cpu-s")
		})
	}
}
