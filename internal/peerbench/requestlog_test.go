package peerbench

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quern-dev/quern/slowlog/requestlog"
)

// benchmarkRequests writes a log of 200,000 lines and compares reading it with a loop
// of a bare bufio.Scanner over the same file: ratio is the reader's speed in that of
// the scanner, by the time spent on a processor.
func benchmarkRequests(b *testing.B, line func(r *rand.Rand) string) {
	const lines = 200_000
	f, err := os.Create(filepath.Join(b.TempDir(), "log"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	w, random, size := bufio.NewWriter(f), rand.New(rand.NewPCG(1, 2)), 0
	for range lines {
		n, _ := w.WriteString(line(random))
		size += n
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	timed := func(read func() (int, error)) time.Duration {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			b.Fatal(err)
		}
		start := cpuTime()
		if n, err := read(); err != nil || n != lines {
			b.Fatal(n, err)
		}
		return cpuTime() - start
	}
	var bare, reader time.Duration
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		bare += timed(func() (n int, err error) {
			s := bufio.NewScanner(f)
			for s.Scan() {
				n++
			}
			return n, s.Err()
		})
		reader += timed(func() (n int, err error) {
			r := requestlog.NewReader(f)
			r.ReuseRequest = true
			for _, err := range r.All() {
				if err != nil {
					return n, err
				}
				n++
			}
			return n, nil
		})
	}
	b.ReportMetric(float64(bare)/float64(reader), "ratio")
	b.ReportMetric(float64(reader)/float64(b.N)/lines, "cpu-ns/line")
}

func benchmarkURL(r *rand.Rand) string {
	return []string{"/search?q=shoes+red", "/product/" + fmt.Sprint(r.IntN(90_000)), "/cart", "/api/v1/user/77/orders"}[r.IntN(4)]
}

const benchmarkAgent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

func BenchmarkRequestsLTSV(b *testing.B) {
	benchmarkRequests(b, func(r *rand.Rand) string {
		return fmt.Sprintf("time:2026-11-30T10:%02d:%02d+00:00\thost:10.0.%d.7\tmethod:GET\turi:%s\tstatus:200\tsize:%d\tua:%s\treqtime:%.3f\tmysql_time:%.6f\tmysql_calls:%d\trequest_id:%016x\n",
			r.IntN(60), r.IntN(60), r.IntN(250), benchmarkURL(r), r.IntN(99_999), benchmarkAgent, r.Float64(), r.Float64()/2, r.IntN(9), r.Uint64())
	})
}

func BenchmarkRequestsJSON(b *testing.B) {
	benchmarkRequests(b, func(r *rand.Rand) string {
		return fmt.Sprintf(`{"time":"2026-11-30T10:%02d:%02d+00:00","ip":"10.0.%d.7","method":"GET","uri":"%s","status":200,"size":%d,"ua":"%s","reqtime":%.3f,"mysql_time":%.6f,"mysql_calls":%d,"request_id":"%016x"}`+"\n",
			r.IntN(60), r.IntN(60), r.IntN(250), benchmarkURL(r), r.IntN(99_999), benchmarkAgent, r.Float64(), r.Float64()/2, r.IntN(9), r.Uint64())
	})
}

func BenchmarkRequestsCombined(b *testing.B) {
	benchmarkRequests(b, func(r *rand.Rand) string {
		return fmt.Sprintf("10.0.%d.7 - - [30/Nov/2026:10:%02d:%02d +0000] \"GET %s HTTP/1.1\" 200 %d \"-\" \"%s\" %.3f\n",
			r.IntN(250), r.IntN(60), r.IntN(60), benchmarkURL(r), r.IntN(99_999), benchmarkAgent, r.Float64())
	})
}
