package logfile_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/slowlog"
	"github.com/quern-dev/quern/slowlog/logfile"
)

const (
	first  = "# Time: 2026-11-30T12:00:00Z\n# Query_time: 0.25\nSELECT 1;\n"
	second = "# Time: 2026-11-30T12:00:01Z\n# Query_time: 0.5\nSELECT 2;\n"
)

// logIn writes a slow log of text, in a directory that the caller removes.
func logIn(text string) (dir, path string) {
	dir, err := os.MkdirTemp("", "quern")
	if err != nil {
		log.Fatal(err)
	}
	path = filepath.Join(dir, "slow.log")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		log.Fatal(err)
	}
	return dir, path
}

// What is opened may be another log than it seems: Source knows which reader it
// needs. This one is a general log.
func ExampleFile_Source() {
	dir, path := logIn("2026-11-30T11:28:16.763108Z\t  226 Query\tSELECT 1\n")
	defer os.RemoveAll(dir)
	f, err := logfile.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	src := f.Source(slowlog.Options{}, nil)
	for ev, err := range src.All() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(ev.ThreadID, ev.Query)
	}
	st := src.Stats()
	fmt.Println(st.Events, "events,", st.Skipped(), "skipped")
	// Output:
	// 226 SELECT 1
	// 1 events, 0 skipped
}

func ExampleFollow() {
	dir, path := logIn(first)
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f := logfile.Follow(ctx, path)
	defer f.Close()
	f.Poll, f.Idle = time.Millisecond, time.Millisecond // the example's; leave them alone
	for ev, err := range f.All() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(ev.QueryTime, ev.Query)
		cancel() // as a signal would
	}
	// Output:
	// 250ms SELECT 1
}

// A program that is started again goes on where it stood. It stores the profile
// and the checkpoint together.
func ExampleFollower_Resume() {
	dir, path := logIn(first + second)
	defer os.RemoveAll(dir)
	var stored []byte // in a file
	run := func() {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		f := logfile.Follow(ctx, path)
		defer f.Close()
		f.Poll, f.Idle = time.Millisecond, time.Millisecond
		if stored != nil {
			var c logfile.Checkpoint
			if err := json.Unmarshal(stored, &c); err != nil {
				log.Fatal(err)
			}
			f.Resume(c)
		}
		var agg digest.Aggregator
		f.OnDamage = func(string, slowlog.Damage) { agg.AddSkipped(1) }
		for ev, err := range f.All() {
			if err != nil {
				log.Fatal(err)
			}
			agg.Add(ev)
			cancel() // as a signal would
		}
		for _, c := range agg.Profile().Top(0, digest.ByTotalTime) {
			fmt.Println(c.Count, c.QueryTime.Sum(), c.Fingerprint)
		}
		var err error
		if stored, err = json.Marshal(f.Checkpoint()); err != nil {
			log.Fatal(err)
		}
	}
	run()
	run()
	// Output:
	// 1 250ms select ?
	// 1 500ms select ?
}

// A compressed log is recognised by its content, whatever its name.
func ExampleOpen() {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, first+second); err != nil {
		log.Fatal(err)
	}
	if err := z.Close(); err != nil {
		log.Fatal(err)
	}
	dir, path := logIn(b.String())
	defer os.RemoveAll(dir)

	f, err := logfile.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	for ev, err := range slowlog.NewReader(f).All() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(ev.QueryTime, ev.Query)
	}
	// Output:
	// 250ms SELECT 1
	// 500ms SELECT 2
}

// What is no slow log is told by what it is instead.
func ExampleFormatError() {
	dir, path := logIn("\xfebin\x00\x00\x00\x00\x0f")
	defer os.RemoveAll(dir)
	_, err := logfile.Open(path)
	var format *logfile.FormatError
	if errors.As(err, &format) {
		fmt.Println("it is a", format.Kind)
	}
	// Output: it is a binary log
}

// The logs of two servers as one, in the order of time.
func ExampleMerge() {
	a, err := logfile.New(strings.NewReader(second), "db1")
	if err != nil {
		log.Fatal(err)
	}
	b, err := logfile.New(strings.NewReader(first), "db2")
	if err != nil {
		log.Fatal(err)
	}
	for ev, err := range logfile.Merge(a.Source(slowlog.Options{}, nil), b.Source(slowlog.Options{}, nil)).All() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(ev.Time.Format(time.TimeOnly), ev.Query)
	}
	// Output:
	// 12:00:00 SELECT 1
	// 12:00:01 SELECT 2
}

// The files of one server's rotation, in whatever order they are named.
func ExampleOpenRotated() {
	dir, path := logIn(second)
	defer os.RemoveAll(dir)
	if err := os.WriteFile(path+".1", []byte(first), 0o644); err != nil {
		log.Fatal(err)
	}
	f, err := logfile.OpenRotated(path, path+".1")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	for ev, err := range slowlog.NewReader(f).All() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(ev.Time.Format(time.TimeOnly), ev.Query)
	}
	// Output:
	// 12:00:00 SELECT 1
	// 12:00:01 SELECT 2
}
