package slowlog_test

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"testing"

	"github.com/quern-dev/quern/slowlog"
)

// corpus is read from QUERN_BENCH_LOG.
func corpus(b *testing.B) []byte {
	name := os.Getenv("QUERN_BENCH_LOG")
	if name == "" {
		b.Skip("QUERN_BENCH_LOG names no slow log")
	}
	data, err := os.ReadFile(name)
	if err != nil {
		b.Fatal(err)
	}
	return data
}

func BenchmarkLines(b *testing.B) {
	data := corpus(b)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		sc := bufio.NewScanner(bytes.NewReader(data))
		sc.Buffer(make([]byte, 1<<20), 1<<26)
		for sc.Scan() {
		}
	}
}

func BenchmarkRead(b *testing.B) {
	data := corpus(b)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		r := slowlog.NewReader(bytes.NewReader(data))
		r.ReuseEvent = true
		for {
			if _, err := r.Read(); err == io.EOF {
				break
			}
		}
	}
}
