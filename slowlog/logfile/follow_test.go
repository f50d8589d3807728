package logfile

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// following runs f in a bubble with a Follower of the logs named, in a directory
// of its own, and a function that returns the statements read since its last call.
func following(t *testing.T, names []string, f func(t *testing.T, fl *Follower, paths []string, read func() []string)) {
	dir := t.TempDir()
	var paths []string
	for _, name := range names {
		paths = append(paths, filepath.Join(dir, name))
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		fl := Follow(ctx, paths...)
		var mu sync.Mutex
		var got []string
		add := func(s string) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, s)
		}
		started, done := false, make(chan bool)
		read := func() []string {
			if !started {
				started = true
				go func() {
					defer close(done)
					for {
						ev, err := fl.Read()
						switch {
						case ctx.Err() != nil:
							return
						case err != nil:
							add("error")
						default:
							add(filepath.Base(fl.Path()) + ": " + ev.Query)
						}
					}
				}()
			}
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			now := got
			got = nil
			return now
		}
		f(t, fl, paths, read)
		cancel()
		synctest.Wait()
		select {
		case <-done:
		default:
			if started {
				t.Error("the context has ended, the Follower has not")
			}
		}
		if err := fl.Close(); err != nil {
			t.Error(err)
		}
	})
}

func put(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestFollowReadsARecordThatNothingFollows(t *testing.T) {
	following(t, []string{"a"}, func(t *testing.T, fl *Follower, paths []string, read func() []string) {
		same(t, "before there is a file", read())
		put(t, paths[0], record(1, "S1")+record(2, "S2"))
		time.Sleep(300 * time.Millisecond)
		same(t, "at once", read(), "a: S1")
		time.Sleep(2 * time.Second)
		same(t, "after Idle", read(), "a: S2")
		half := record(3, "S3")
		put(t, paths[0], half[:len(half)-4])
		time.Sleep(time.Minute)
		same(t, "half a record", read())
		put(t, paths[0], half[len(half)-4:])
		time.Sleep(2 * time.Second)
		same(t, "the other half", read(), "a: S3")
	})
}

func TestFollowFromEnd(t *testing.T) {
	following(t, []string{"old", "new"}, func(t *testing.T, fl *Follower, paths []string, read func() []string) {
		put(t, paths[0], record(1, "S1"))
		fl.FromEnd = true
		same(t, "what was there", read())
		put(t, paths[0], record(2, "S2"))
		put(t, paths[1], record(3, "S3")) // a file that came later is new as a whole
		time.Sleep(2 * time.Second)
		got := read()
		slices.Sort(got)
		same(t, "what came", got, "new: S3", "old: S2")
	})
}

func TestFollowTakesTurns(t *testing.T) {
	following(t, []string{"a", "b"}, func(t *testing.T, fl *Follower, paths []string, read func() []string) {
		for i := range 3 * maxRun {
			put(t, paths[0], record(i%86400, "S"))
		}
		put(t, paths[1], record(1, "S1")+record(2, "S2"))
		got := read()
		if i := slices.Index(got, "b: S1"); i < 0 || i > maxRun {
			t.Errorf("the second file's event came as number %d of %d", i, len(got))
		}
	})
}

func TestFollowReturnsAnErrorOnceAndGoesOn(t *testing.T) {
	following(t, []string{"dir", "b"}, func(t *testing.T, fl *Follower, paths []string, read func() []string) {
		if err := os.Mkdir(paths[0], 0o755); err != nil {
			t.Fatal(err)
		}
		put(t, paths[1], record(1, "S1")+record(2, "S2"))
		same(t, "at first", read(), "error", "b: S1")
		time.Sleep(time.Minute)
		same(t, "later", read(), "b: S2")
		if err := os.Remove(paths[0]); err != nil {
			t.Fatal(err)
		}
		put(t, paths[0], record(3, "S3"))
		time.Sleep(2 * time.Second)
		same(t, "mended", read(), "dir: S3")
	})
}

func TestFollowBoundsStatements(t *testing.T) {
	following(t, []string{"a"}, func(t *testing.T, fl *Follower, paths []string, read func() []string) {
		fl.MaxStatement = 10
		read()
		put(t, paths[0], record(1, "SELECT '"+strings.Repeat("long\n", 100_000)+"'")+record(2, "S2"))
		time.Sleep(2 * time.Second)
		same(t, "events", read(), "a: SELECT 'lo", "a: S2")
	})
}

func TestFollowSeesATruncatedFileThatHasGrown(t *testing.T) {
	following(t, []string{"a"}, func(t *testing.T, fl *Follower, paths []string, read func() []string) {
		read()
		put(t, paths[0], record(1, "S1")+record(2, "S2"))
		time.Sleep(2 * time.Second)
		same(t, "before", read(), "a: S1", "a: S2")
		if err := os.Truncate(paths[0], 0); err != nil {
			t.Fatal(err)
		}
		put(t, paths[0], record(3, "S3")+record(4, "S4")+record(5, "S5"))
		time.Sleep(2 * time.Second)
		same(t, "after", read(), "a: S3", "a: S4", "a: S5")
		if diff := cmp.Diff(FileStats{Rotations: 1, Truncations: 1, Gaps: 1}, fl.FileStats()); diff != "" {
			t.Errorf("stats (-want +got):\n%s", diff)
		}
	})
}

// A file of which a few bytes were seen is not told by them from what it becomes
// when it is copied, truncated and written again before the next look.
func TestFollowReadsTheCopyOfAFileOfWhichLittleWasSeen(t *testing.T) {
	following(t, []string{"a"}, func(t *testing.T, fl *Follower, paths []string, read func() []string) {
		path := paths[0]
		put(t, path, record(1, "S1"))
		read()
		time.Sleep(2 * time.Second)
		same(t, "the first file", read(), "a: S1")
		rename(t, path, path+".1")
		whole := record(2, "S2")
		put(t, path, whole[:14])
		time.Sleep(time.Second)
		same(t, "a few bytes", read())
		put(t, path, whole[14:])
		rename(t, path+".1", path+".2")
		put(t, path+".1", whole)
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		put(t, path, record(3, "S3")+record(4, "S4"))
		time.Sleep(3 * time.Second)
		same(t, "after it was truncated", read(), "a: S2", "a: S3", "a: S4")
	})
}

// Files that were changed within one tick of the clock have one time.
func TestFollowDoesNotTakeAFileOfTheSameTimeForYounger(t *testing.T) {
	following(t, []string{"a"}, func(t *testing.T, fl *Follower, paths []string, read func() []string) {
		path := paths[0]
		put(t, path+".1", record(1, "S1"))
		put(t, path, record(2, "S2"))
		before := Follow(t.Context(), path)
		if ev, err := before.Read(); err != nil || ev.Query != "S2" {
			t.Fatalf("got %v, %v", ev, err)
		}
		fl.Resume(before.Checkpoint())
		if err := before.Close(); err != nil {
			t.Fatal(err)
		}
		same(t, "behind the checkpoint", read())
		rename(t, path+".1", path+".2")
		if err := os.WriteFile(path+".1.gz", packed(t, record(2, "S2")), 0o644); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(1_796_000_000, 0)
		for _, name := range []string{path, path + ".2", path + ".1.gz"} {
			if err := os.Chtimes(name, at, at); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		put(t, path, record(3, "S3"))
		time.Sleep(3 * time.Second)
		same(t, "what came", read(), "a: S3")
	})
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func packed(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFollowCarriesTheSchemaIntoTheNextFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "slow.log")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		put(t, path, strings.Replace(record(1, "S1"), "\nS1;", "\nuse shop;\nS1;", 1))
		go func() {
			time.Sleep(10 * time.Second)
			if err := os.Rename(path, path+".1"); err != nil {
				t.Error(err)
			}
			put(t, path, record(2, "S2"))
		}()
		f := Follow(ctx, path)
		defer f.Close()
		var got []string
		for ev, err := range f.All() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(ev.Query, " ", ev.Schema, " ", ev.Offset, " ", ev.Line))
		}
		same(t, "events", got, "S1 shop 0 1", "S2 shop 0 1")
		want := int64(len(record(1, "S1use shop;\n") + record(2, "S2")))
		for _, when := range []string{"open", "closed"} {
			if st := f.Stats(); st.Events != 2 || st.Bytes != want || st.Skipped() != 0 {
				t.Errorf("%s: %d events and %d bytes of both files, want 2 and %d", when, st.Events, st.Bytes, want)
			}
			f.Close()
		}
	})
}

func TestFollowCountsACheckpointWhoseFileIsGone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "slow.log")
	put(t, path, record(1, "S1")+record(2, "S2"))
	synctest.Test(t, func(t *testing.T) {
		read := func(c Checkpoint) ([]string, *Follower) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			f := Follow(ctx, path)
			f.Resume(c)
			var got []string
			for ev, err := range f.All() {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, ev.Query)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			return got, f
		}
		ctx, cancel := context.WithCancel(t.Context())
		f := Follow(ctx, path)
		if _, err := f.Read(); err != nil {
			t.Fatal(err)
		}
		c := f.Checkpoint()
		cancel()
		if _, err := f.Read(); !errors.Is(err, context.Canceled) {
			t.Errorf("a Read after the end: %v", err)
		}
		f.Close()
		if after := f.Checkpoint(); !reflect.DeepEqual(after, c) {
			t.Errorf("the checkpoint after Close is %+v, before it %+v", after, c)
		}

		got, again := read(c)
		same(t, "resumed", got, "S2")
		if n := again.FileStats().Gaps; n != 0 {
			t.Errorf("%d gaps", n)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		put(t, path, record(3, "S3"))
		got, again = read(c)
		same(t, "the file is gone", got, "S3")
		if n := again.FileStats().Gaps; n != 1 {
			t.Errorf("%d gaps, want 1", n)
		}
	})
}
