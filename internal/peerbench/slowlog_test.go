package peerbench

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
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

// A logCase is a kind of log.
type logCase struct {
	name  string
	peers bool // peers read it too
	write func(w *bufio.Writer, size int) error
}

// logCases are logs of all dialects, of 400 classes by Zipf's law, logs that are
// hard in one way each, and the log that QUERN_BENCH_LOG names.
func logCases() (cases []logCase) {
	for _, dialect := range loggen.Dialects() {
		cases = append(cases, logCase{dialect.String(), true, func(w *bufio.Writer, size int) error {
			_, err := loggen.Generate(w, loggen.Options{Dialect: dialect, Seed: 1, Bytes: int64(size)})
			return err
		}})
	}
	if file := os.Getenv("QUERN_BENCH_LOG"); file != "" {
		cases = append(cases, logCase{"yours", true, func(w *bufio.Writer, _ int) error {
			f, err := os.Open(file)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = io.Copy(w, f)
			return err
		}})
	}
	return append(cases,
		logCase{"inserts-of-1-MB", true, func(w *bufio.Writer, size int) error {
			statement := "INSERT INTO t (id, name, price) VALUES " + strings.Repeat(`(123456,'it\'s a "name" of some length',99.95), `, 1<<20/48) + "(1,'x',2)"
			for n := 0; n < size; n += len(statement) {
				writeRecord(w, n, statement)
			}
			return nil
		}},
		logCase{"tiny", true, func(w *bufio.Writer, size int) error {
			for n := range size / 170 {
				writeRecord(w, n, "SELECT 1")
			}
			return nil
		}},
		logCase{"all-different", false, func(w *bufio.Writer, size int) error {
			for n := range 1_000_000 {
				writeRecord(w, n, fmt.Sprintf("SELECT c%d FROM t WHERE id = %d", n, n))
			}
			return nil
		}},
		logCase{"tidb", false, func(w *bufio.Writer, size int) error {
			for n := range size / 1100 {
				writeTiDBRecord(w, n)
			}
			return nil
		}},
	)
}

func writeRecord(w *bufio.Writer, n int, statement string) {
	fmt.Fprintf(w, "# Time: 2025-03-01T10:%02d:%02d.%06dZ\n# User@Host: app[app] @ web1 [10.0.0.1]  Id: %5d\n"+
		"# Query_time: 0.%06d  Lock_time: 0.000001 Rows_sent: %d  Rows_examined: %d\nSET timestamp=1740823200;\n%s;\n",
		n/60%60, n%60, n%1e6, n%500, n*7919%1e6, n%10, n%1000, statement)
}

func writeTiDBRecord(w *bufio.Writer, n int) {
	fmt.Fprintf(w, `# Time: 2025-03-01T10:%02d:%02d.%09dZ
# Txn_start_ts: %d
# User@Host: root[root] @ 10.0.0.%d [10.0.0.%d]
# Conn_ID: %d
# Query_time: 0.%09d
# Parse_time: 0.000054
# Compile_time: 0.00%05d
# Rewrite_time: 0.000121
# Optimize_time: 0.000432
# Wait_TS: 0.000005
# Cop_time: 0.%06d Process_time: 0.%05d Wait_time: 0.001 Request_count: 3 Total_keys: %d Process_keys: %d
# DB: shop
# Index_names: [orders:customer]
# Is_internal: false
# Digest: 42a1c8aae6f133e934d4bf0147491709a8812ea05ff8819ec522780fe657b772
# Stats: orders:%d
# Num_cop_tasks: 3
# Cop_proc_avg: 0.07 Cop_proc_p90: 0.09 Cop_proc_max: 0.1 Cop_proc_addr: 10.0.0.9:20160
# Cop_wait_avg: 0.001 Cop_wait_p90: 0.002 Cop_wait_max: 0.003 Cop_wait_addr: 10.0.0.9:20160
# Mem_max: %d
# Prepared: false
# Plan_from_cache: false
# Has_more_results: false
# KV_total: 0.01
# PD_total: 0.00001
# Backoff_total: 0
# Write_sql_response_total: 0.000003
# Succ: true
select o.id, o.total from orders o where o.customer = %d and o.placed > '2025-02-%02d' order by o.placed desc limit 20;
`, n/60%60, n%60, n*7919%1_000_000*1000, 430000000000+n, n%9, n%9, n%300, n*7919%1_000_000*1000, n%100000, n%1e6, n%1e5, n%5000, n%4000, 430000000000+n/100, n%1e6, n, n%28+1)
}

// writeLog writes a log and returns its file and length.
func writeLog(tb testing.TB, c logCase) (file string, size int64) {
	tb.Helper()
	file = filepath.Join(tb.TempDir(), "slow.log")
	f, err := os.Create(file)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	if err = c.write(w, logBytes); err == nil {
		err = w.Flush()
	}
	if err == nil {
		size, err = f.Seek(0, io.SeekCurrent)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return file, size
}

// logReaders read a log into classes and return how many there are.
var logReaders = []struct {
	name string
	run  func(f *os.File) (classes int, err error)
}{
	{"lines", func(f *os.File) (int, error) {
		scanner := bufio.NewScanner(f)
		scanner.Buffer(nil, 8<<20)
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

// BenchmarkLog reads logs of all kinds into classes. x-lines is the speed in that
// of a loop over the lines of the same file, by the time on a processor.
func BenchmarkLog(b *testing.B) {
	for _, c := range logCases() {
		file, size := writeLog(b, c)
		var lines float64
		for _, reader := range logReaders {
			if !c.peers && reader.name == "go-mysql" {
				continue
			}
			b.Run(c.name+"/"+reader.name, func(b *testing.B) {
				b.SetBytes(size)
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
				b.ReportMetric(float64(size)/perOp*1e3, "MB/cpu-s")
				b.ReportMetric(lines/perOp, "x-lines")
				b.ReportMetric(float64(classes), "classes")
			})
		}
		if !c.peers {
			continue
		}
		b.Run(c.name+"/pt-query-digest", func(b *testing.B) {
			tool, err := exec.LookPath("pt-query-digest")
			if err != nil {
				b.Skip("pt-query-digest is not on PATH")
			}
			b.SetBytes(size)
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
			b.ReportMetric(float64(size)/perOp*1e3, "MB/cpu-s")
			b.ReportMetric(lines/perOp, "x-lines")
		})
	}
}

// BenchmarkWorkers reads a GB by Reader.Each: a log over and over, the one that
// QUERN_BENCH_LOG names if it does. speedup is the wall time of one worker in that
// of several: it needs as many free processors. Each worker meets the log's
// classes for itself, which the first megabytes go into.
func BenchmarkWorkers(b *testing.B) {
	cases := logCases()
	log := readLog(b, cases[max(0, slices.IndexFunc(cases, func(c logCase) bool { return c.name == "yours" }))])
	const size = 1e9
	var one time.Duration
	for _, workers := range []int{1, 2, 4} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			b.SetBytes(size)
			best := time.Duration(math.MaxInt64)
			for b.Loop() {
				start := time.Now()
				shards := make([]digest.Aggregator, workers)
				err := slowlog.NewReader(&stream{log: log, left: size}).Each(workers, func(worker int, ev *slowlog.Event) error {
					shards[worker].Add(ev)
					return nil
				})
				for i := range shards[1:] {
					if err == nil {
						err = shards[0].Merge(&shards[i+1])
					}
				}
				if err != nil {
					b.Fatal(err)
				}
				best = min(best, time.Since(start))
			}
			if workers == 1 {
				one = best
			}
			b.ReportMetric(one.Seconds()/best.Seconds(), "speedup")
		})
	}
}

// BenchmarkSize reads ever longer logs: the same records over and over, as a
// stream. The time for a GB and the memory stay the same.
func BenchmarkSize(b *testing.B) {
	log := readLog(b, logCases()[0])
	for _, megabytes := range []int64{100, 1000, 3000, 10000} {
		b.Run(fmt.Sprintf("%d-MB", megabytes), func(b *testing.B) {
			b.SetBytes(megabytes * 1e6)
			start, n := cpuTime(), 0
			var memory runtime.MemStats
			for b.Loop() {
				r := slowlog.NewReader(&stream{log: log, left: megabytes * 1e6})
				r.ReuseEvent = true
				var a digest.Aggregator
				for ev, err := range r.All() {
					if err != nil {
						b.Fatal(err)
					}
					a.Add(ev)
				}
				runtime.GC()
				runtime.ReadMemStats(&memory)
				runtime.KeepAlive(&a)
				n++
			}
			b.ReportMetric(float64(cpuTime()-start)/float64(n)/float64(megabytes)*1000/1e9, "cpu-s/GB")
			b.ReportMetric(float64(memory.HeapAlloc-uint64(len(log)))/1e6, "heap-MB")
		})
	}
}

func readLog(b *testing.B, c logCase) []byte {
	b.Helper()
	file, _ := writeLog(b, c)
	log, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	return log
}

// stream gives a log over and over.
type stream struct {
	log  []byte
	at   int
	left int64
}

func (s *stream) Read(p []byte) (int, error) {
	if s.left <= 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(int64(len(p)), s.left)], s.log[s.at:])
	s.at, s.left = (s.at+n)%len(s.log), s.left-int64(n)
	return n, nil
}

// BenchmarkStatements makes the fingerprints of all statements of such a log.
func BenchmarkStatements(b *testing.B) {
	var statements []string
	if _, err := loggen.Generate(io.Discard, loggen.Options{Seed: 1, Bytes: logBytes, OnRecord: func(r *loggen.Record) {
		if r.Command == "" {
			statements = append(statements, string(r.Query))
		}
	}}); err != nil {
		b.Fatal(err)
	}
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
