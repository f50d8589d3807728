package logfile

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/quern-dev/quern/slowlog"
)

// TestFollowLosesAndDoublesNothing lets a server write a log by a virtual clock
// while its file is rotated in every way every few seconds and the follower is
// killed and resumed from its last checkpoint. QUERN_LONG=1 tries 50 seeds in
// place of 4, for 2 hours in place of 10 minutes, and the first for 24.
func TestFollowLosesAndDoublesNothing(t *testing.T) {
	seeds, length := 4, 10*time.Minute
	if os.Getenv("QUERN_LONG") == "1" {
		seeds, length = 50, 2*time.Hour
	}
	for seed := range seeds {
		length := length
		if seed == 0 && seeds == 50 {
			length = 24 * time.Hour
		}
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { chaos(t, uint64(seed), length) })
		})
	}
}

// A server writes a log and has its file rotated.
type server struct {
	t    *testing.T
	rnd  *rand.Rand
	path string
	file *os.File
	n    int // events written

	dated     bool // rotated files are named by date
	rotations int
}

func (s *server) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// reopen opens the file at the path as servers do when they are told to.
func (s *server) reopen() {
	if s.file != nil {
		s.check(s.file.Close())
	}
	file, err := os.OpenFile(s.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	s.check(err)
	s.file = file
	if s.rnd.IntN(2) == 0 {
		s.write("/usr/sbin/mysqld, Version: 9.7.4 (Debian). started with:\nTcp port: 3306  Unix socket: /run/mysqld.sock\nTime                 Id Command    Argument\n")
	}
}

// write writes text in pieces, with short waits between.
func (s *server) write(text string) {
	for text != "" {
		n := len(text)
		if s.rnd.IntN(4) == 0 {
			n = 1 + s.rnd.IntN(n)
		}
		_, err := s.file.WriteString(text[:n])
		s.check(err)
		if text = text[n:]; text != "" {
			time.Sleep(time.Duration(s.rnd.IntN(400)) * time.Millisecond)
		}
	}
}

// serve writes some events.
func (s *server) serve(most int) {
	for range s.rnd.IntN(most + 1) {
		pad := strings.Repeat("x", s.rnd.IntN(300))
		if s.rnd.IntN(20) == 0 {
			pad = strings.Repeat("y\n", s.rnd.IntN(20_000))
		}
		s.write(record(s.n, fmt.Sprintf("SELECT %d, '%s'", s.n, pad)))
		s.n++
	}
}

// kept is how many rotated files are kept at most.
const kept = 40

// shift makes room for one more rotated file, in the way of logrotate or in that
// of its dateext, and returns its name.
func (s *server) shift() string {
	dir, base := filepath.Split(s.path)
	entries, err := os.ReadDir(dir)
	s.check(err)
	var names []string // of the rotated files, the oldest first
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), base+".") || strings.HasPrefix(e.Name(), base+"-") {
			names = append(names, e.Name())
		}
	}
	if s.dated {
		if len(names) > kept {
			s.check(os.Remove(filepath.Join(dir, names[0])))
		}
		s.rotations++
		return fmt.Sprintf("%s-20261130-%06d", s.path, s.rotations)
	}
	number := func(name string) int {
		digits, _, _ := strings.Cut(strings.TrimPrefix(name, base+"."), ".")
		n, err := strconv.Atoi(digits)
		s.check(err)
		return n
	}
	slices.SortFunc(names, func(a, b string) int { return number(b) - number(a) })
	for _, name := range names {
		n := number(name)
		if n >= kept {
			s.check(os.Remove(filepath.Join(dir, name)))
			continue
		}
		next := base + "." + strconv.Itoa(n+1) + name[len(base)+1+len(strconv.Itoa(n)):]
		s.check(os.Rename(filepath.Join(dir, name), filepath.Join(dir, next)))
	}
	return s.path + ".1"
}

func (s *server) rotate() {
	switch s.rnd.IntN(6) {
	case 0: // renamed and made anew; the server goes on in the old file for a while
		s.check(os.Rename(s.path, s.shift()))
		s.check(os.WriteFile(s.path, nil, 0o644))
		s.serve(3)
		time.Sleep(time.Duration(s.rnd.IntN(3000)) * time.Millisecond)
		s.serve(3)
		s.reopen()
	case 1: // renamed; there is no file for a while
		s.check(os.Rename(s.path, s.shift()))
		s.serve(3)
		time.Sleep(time.Duration(s.rnd.IntN(3000)) * time.Millisecond)
		s.reopen()
	case 2: // several times at once
		for range 2 + s.rnd.IntN(3) {
			s.check(os.Rename(s.path, s.shift()))
			s.reopen()
			s.serve(4)
		}
	case 3, 4: // copied and truncated, then perhaps soon longer than before
		s.copy(s.path, s.shift(), func(w io.Writer) io.WriteCloser { return nopCloser{w} })
		s.check(os.Truncate(s.path, 0))
		s.serve(1 + 40*s.rnd.IntN(2))
	case 5: // renamed and, later, compressed
		name := s.shift()
		s.check(os.Rename(s.path, name))
		s.reopen()
		s.serve(5)
		time.Sleep(time.Duration(s.rnd.IntN(2000)) * time.Millisecond)
		info, err := os.Stat(name)
		s.check(err)
		packed, compress := name+".gz", func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }
		if s.rnd.IntN(2) == 0 {
			packed, compress = name+".zst", func(w io.Writer) io.WriteCloser {
				z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(64<<10))
				s.check(err)
				return z
			}
		}
		s.copy(name, packed, compress)
		s.check(os.Chtimes(packed, info.ModTime(), info.ModTime()))
		s.check(os.Remove(name))
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// copy copies a file, through a temporary name.
func (s *server) copy(from, to string, compress func(io.Writer) io.WriteCloser) {
	data, err := os.ReadFile(from)
	s.check(err)
	tmp := filepath.Join(filepath.Dir(s.path), "copying")
	out, err := os.Create(tmp)
	s.check(err)
	w := compress(out)
	_, err = w.Write(data)
	s.check(err)
	s.check(w.Close())
	s.check(out.Close())
	s.check(os.Rename(tmp, to))
}

func chaos(t *testing.T, seed uint64, length time.Duration) {
	s := &server{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), path: filepath.Join(t.TempDir(), "slow.log"), dated: seed%3 == 2}
	rnd := rand.New(rand.NewPCG(seed, 2))

	// The store of the consumer: what it counted, and the checkpoint of that.
	var got []string
	stored, storedAt := []byte(`{"files":null}`), 0
	kills := 0
	var stats FileStats
	done := make(chan bool)
	var written, late atomic.Bool
	go func() {
		defer close(done)
		for {
			got = got[:storedAt]
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+rnd.IntN(30))*time.Second) // the kill
			f := Follow(ctx, s.path)
			f.OnDamage = func(_ string, d slowlog.Damage) { t.Errorf("%v: %.80q", d, d.Text) }
			var c Checkpoint
			if err := json.Unmarshal(stored, &c); err != nil {
				t.Error(err)
			}
			f.Resume(c)
			for ev, err := range f.All() {
				if err != nil {
					t.Error(err)
					break
				}
				if ev.Truncated {
					t.Errorf("truncated: %.80q", ev.Query)
				}
				n, _, _ := strings.Cut(strings.TrimPrefix(ev.Query, "SELECT "), ",")
				got = append(got, n)
				if rnd.IntN(3) == 0 {
					var err error
					if stored, err = json.Marshal(f.Checkpoint()); err != nil {
						t.Error(err)
					}
					storedAt = len(got)
				}
			}
			st := f.FileStats()
			stats.Rotations += st.Rotations
			stats.Truncations += st.Truncations
			stats.Gaps += st.Gaps
			f.Close()
			cancel()
			kills++
			if written.Load() && len(got) >= s.n || late.Load() {
				return
			}
			time.Sleep(time.Duration(rnd.IntN(10)) * time.Second)
		}
	}()

	begin := time.Now()
	time.Sleep(time.Duration(s.rnd.IntN(3)) * time.Second) // no file yet
	s.reopen()
	for time.Since(begin) < length {
		s.serve(8)
		time.Sleep(time.Duration(s.rnd.IntN(5000)) * time.Millisecond)
		if s.rnd.IntN(3) == 0 {
			s.rotate()
		}
	}
	took := time.Since(begin)
	written.Store(true)
	select {
	case <-done:
	case <-time.After(10 * time.Minute):
		late.Store(true)
		<-done
	}
	var want []string
	for i := range s.n {
		want = append(want, strconv.Itoa(i))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-written +read):\n%s", diff)
	}
	if stats.Gaps > 0 {
		t.Errorf("%d gaps", stats.Gaps)
	}
	t.Logf("%d events in %v of the virtual clock, %d rotations, %d truncations, %d kills", s.n, took.Round(time.Second), stats.Rotations, stats.Truncations, kills)
	s.file.Close()
}
