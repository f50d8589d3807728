package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/internal/loggen"
	"github.com/quern-dev/quern/slowlog"
)

// inherited is a log whose records take time, schema and more from those before.
func inherited() []byte {
	var b strings.Builder
	for i := range 120 {
		switch {
		case i == 50:
			b.WriteString("/usr/sbin/mariadbd, Version: 10.11.6-MariaDB (Debian 12). started with:\nTcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\nTime\t\t    Id Command\tArgument\n")
		case i%40 == 7:
			b.WriteString("lost lines,\n\n  of nothing\n\n")
		}
		if i%30 == 0 {
			fmt.Fprintf(&b, "# Time: 261130 12:%02d:00\n", i/10)
		}
		fmt.Fprintf(&b, "# User@Host: app[app] @ web%d []\n# Query_time: 0.%06d  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: %d\n", i%3, 17*i+1, i)
		if i%60 == 20 {
			fmt.Fprintf(&b, "use shop_%d;\n", i)
		}
		switch i % 8 {
		case 1:
			// A client's SET that looks like the server's line.
			b.WriteString("SET insert_id=7;\n")
		case 3:
			fmt.Fprintf(&b, "INSERT INTO notes VALUES (%d, 'as the log has it:\n\n# Time: 261130 12:59:59\n# User@Host: x[x] @ y []\n# Query_time: 9.000000  Lock_time: 9.000000 Rows_sent: 9  Rows_examined: 9\nuse lies;\nSELECT 9;\n');\n", i)
		default:
			fmt.Fprintf(&b, "SELECT c%d FROM t WHERE id = %d;\n", i%5, i)
		}
	}
	return []byte(b.String())
}

// logs are logs of all dialects and of all that records inherit.
func logs(t *testing.T, events int) map[string][]byte {
	t.Helper()
	logs := map[string][]byte{"inherited": inherited()}
	for _, d := range loggen.Dialects() {
		for _, hostile := range []bool{false, true} {
			o := loggen.Options{Dialect: d, Events: events, Classes: 12, Hostile: hostile, CRLF: hostile && d == loggen.MySQL57}
			if d == loggen.Percona80 {
				o.RateLimit = 10
			}
			var b bytes.Buffer
			if _, err := loggen.Generate(&b, o); err != nil {
				t.Fatal(err)
			}
			logs[fmt.Sprintf("%v-%v", d, hostile)] = b.Bytes()
		}
	}
	return logs
}

func write(t *testing.T, dir, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// atOnce is the profile of a log that one process reads from end to end.
func atOnce(t *testing.T, data []byte, o digest.Options) *digest.Profile {
	t.Helper()
	a := digest.Aggregator{Options: o}
	r := slowlog.NewReader(bytes.NewReader(data))
	for ev, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		a.Add(ev)
	}
	stats := r.Stats()
	a.AddSkipped(uint64(stats.Skipped()))
	return a.Profile()
}

func binary(t *testing.T, p *digest.Profile) []byte {
	t.Helper()
	data, err := p.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// resolved are the shards of a log, ready to be read.
func resolved(t *testing.T, path string, length, size int64) []Shard {
	t.Helper()
	ctx := context.Background()
	shards, err := split(ctx, path, length, size)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range shards {
		if shards[i], err = survey(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	if shards, err = resolve(ctx, shards); err != nil {
		t.Fatal(err)
	}
	return shards
}

// inShards is the profile of a log that is read in shards, merged in reverse.
func inShards(t *testing.T, path string, length, size int64, o digest.Options) *digest.Profile {
	t.Helper()
	ctx := context.Background()
	shards := resolved(t, path, length, size)
	var profiles []*digest.Profile
	for _, s := range shards {
		p, err := aggregate(ctx, s, o)
		if err != nil {
			t.Fatal(err)
		}
		profiles = append([]*digest.Profile{p}, profiles...)
	}
	p, err := digest.Merge(profiles...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestShardsOfAnySizeHoldWhatTheLogHolds(t *testing.T) {
	o, err := options("schema,fingerprint", false)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range logs(t, 60) {
		t.Run(name, func(t *testing.T) {
			path := write(t, t.TempDir(), "slow.log", data)
			want := atOnce(t, data, o)
			length := int64(len(data))
			for _, size := range []int64{97, 211, 499, 1009, 2003, 4999, 10007, length - 1, length, length + 1} {
				if got := inShards(t, path, length, size, o); !bytes.Equal(binary(t, want), binary(t, got)) {
					t.Errorf("shards of %d bytes: %d events of %d classes, %d skipped; at once %d of %d, %d",
						size, got.Events, got.Len(), got.Skipped, want.Events, want.Len(), want.Skipped)
				}
			}
		})
	}
}

func TestShardsCutAtAnyByte(t *testing.T) {
	data := inherited()[:3000]
	path := write(t, t.TempDir(), "slow.log", data)
	want := binary(t, atOnce(t, data, digest.Options{}))
	for size := int64(len(data)); size > int64(len(data))/2; size-- {
		if got := inShards(t, path, int64(len(data)), size, digest.Options{}); !bytes.Equal(want, binary(t, got)) {
			t.Errorf("cut at %d: not the profile of the whole", size)
		}
	}
}

// TestSurveySavesReadingInTurn holds the guesses to be right for a log in which
// nothing looks like a record but records: no shard is read when they are resolved.
func TestSurveySavesReadingInTurn(t *testing.T) {
	for name, data := range logs(t, 300) {
		if strings.HasSuffix(name, "true") || name == "inherited" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			path := write(t, t.TempDir(), "slow.log", data)
			shards, err := split(ctx, path, int64(len(data)), 10_000)
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range shards {
				if shards[i], err = survey(ctx, s); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if _, err := resolve(ctx, shards); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestChangeOfALogWhileItIsReadIsAnError(t *testing.T) {
	ctx := context.Background()
	data := inherited()
	path := write(t, t.TempDir(), "slow.log", data)
	shards := resolved(t, path, int64(len(data)), 5000)
	if err := os.WriteFile(path, data[:len(data)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	failed := 0
	for _, s := range shards {
		if _, err := aggregate(ctx, s, digest.Options{}); err != nil {
			failed++
		}
	}
	if failed == 0 {
		t.Error("no shard notices that the log has been cut short")
	}
}

func compress(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
