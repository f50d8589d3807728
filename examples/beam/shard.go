package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"

	"github.com/quern-dev/quern/slowlog"
	"github.com/quern-dev/quern/slowlog/logfile"
)

// A Shard is the part of a log whose records begin at the offset Start or behind
// it, and before End.
//
// A record may inherit from those before it: the time, the schema, and where it
// begins, for a statement may hold lines that look like a record's. So the shards
// of a log are first surveyed, all at once: read as if each stood alone, which
// tells what each changes. Then one worker goes through what was found, which is
// small, and tells each shard in which state the one before leaves the log. Where
// the guess of a shard's beginning was wrong, and only there, it surveys again.
type Shard struct {
	Path       string
	Start, End int64
	// Whole says that the log is not read from its middle: it is compressed, or of
	// another kind that the library reads.
	Whole bool

	From slowlog.State // in which its first record is read
	To   slowlog.State // in which its last record leaves the log; zero if nobody asks
}

const (
	toTheEnd = math.MaxInt64 // End of a log's last shard
	// unknown is the schema of a shard that is read as if it stood alone: where To
	// has it still, the shard leaves the schema as it finds it. No server can have
	// a schema of that name.
	unknown = "\x00that of the shard before"
	// headLen is how much of a log tells what it is.
	headLen = 64 << 10
)

// split cuts a log into shards of about size bytes.
func split(ctx context.Context, path string, length, size int64) ([]Shard, error) {
	in, err := open(ctx, path, 0)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	head, err := io.ReadAll(io.LimitReader(in, headLen))
	if err != nil {
		return nil, err
	}
	if !isPlain(head) {
		return []Shard{{Path: path, End: toTheEnd, Whole: true}}, nil
	}
	// Does the server write SET timestamp? It does so in all records or in none.
	first := slowlog.NewReader(bytes.NewReader(head))
	if _, err := first.Read(); err != nil && err != io.EOF {
		return nil, err
	}
	var shards []Shard
	for start := int64(0); start == 0 || start < length; start += size {
		s := Shard{Path: path, Start: start, End: start + size}
		if start > 0 {
			s.From = slowlog.State{Schema: unknown, Stamped: first.State().Stamped}
		}
		shards = append(shards, s)
	}
	shards[len(shards)-1].End = toTheEnd
	return shards, nil
}

// isPlain reports whether head is that of a slow log that is not compressed.
func isPlain(head []byte) bool {
	f, err := logfile.New(bytes.NewReader(head), "")
	if err != nil {
		return false
	}
	defer f.Close()
	first := make([]byte, min(len(head), 4))
	_, err = io.ReadFull(f, first)
	return err == nil && f.Kind == logfile.SlowLog && bytes.HasPrefix(head, first)
}

// survey reads a shard as if it stood alone. Of the last one of a log nobody asks
// what it leaves.
func survey(ctx context.Context, s Shard) (Shard, error) {
	if s.End == toTheEnd {
		return s, nil
	}
	if s.Start > 0 {
		at, err := findRecord(ctx, s.Path, s.Start, s.End)
		if err != nil {
			return s, err
		}
		s.From.Offset = at
	}
	var err error
	s.To, _, err = read(ctx, s, func(*slowlog.Event) {})
	return s, err
}

// findRecord returns the offset of the first line that starts a record, to the
// eye, at start or behind it, or end if there is none before.
func findRecord(ctx context.Context, path string, start, end int64) (int64, error) {
	// The line before start tells whether a "# User@Host" line is a record's first;
	// a "# Time" line is shorter than this.
	at := max(start-128, 0)
	in, err := open(ctx, path, at)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	r := bufio.NewReaderSize(in, 64<<10)
	lineStart, inHeader := at == 0, false
	for at < end {
		line, err := r.ReadSlice('\n')
		if lineStart && len(line) > 0 {
			first := bytes.HasPrefix(line, []byte("# Time: ")) || bytes.HasPrefix(line, []byte("# User@Host: ")) && !inHeader
			if first && at >= start {
				return at, nil
			}
			inHeader = line[0] == '#'
		}
		at += int64(len(line))
		switch {
		case err == io.EOF:
			return end, nil
		case err != nil && err != bufio.ErrBufferFull:
			return 0, err
		}
		lineStart = err == nil
	}
	return end, nil
}

// resolve tells each shard of one log what those before it knew.
func resolve(ctx context.Context, shards []Shard) ([]Shard, error) {
	slices.SortFunc(shards, func(a, b Shard) int { return int(min(max(a.Start-b.Start, -1), 1)) })
	shards = slices.CompactFunc(shards, func(a, b Shard) bool { return a.Start == b.Start })
	var state slowlog.State
	for i := range shards {
		s := &shards[i]
		guess, to := s.From, s.To
		s.From = state
		switch {
		case s.End == toTheEnd:
			return shards, nil
		case state.Offset >= s.End: // a record of a shard before reaches over it
			s.To = state
		case i == 0: // it was no guess
		case state.Offset == guess.Offset && state.Stamped == guess.Stamped && !state.Within && !state.InLine:
			to.Line += state.Line - 1
			if to.Time.IsZero() {
				to.Time = state.Time
			}
			if to.Schema == unknown {
				to.Schema = state.Schema
			}
			s.To = to
		default:
			var err error
			if s.To, _, err = read(ctx, *s, func(*slowlog.Event) {}); err != nil {
				return nil, err
			}
		}
		state = s.To
	}
	return nil, errors.New("the end of a log is in none of its shards")
}

// read calls fn with the events of a shard. The event is fn's until it returns.
func read(ctx context.Context, s Shard, fn func(*slowlog.Event)) (slowlog.State, slowlog.Stats, error) {
	in, err := open(ctx, s.Path, s.From.Offset)
	if err != nil {
		return slowlog.State{}, slowlog.Stats{}, err
	}
	defer in.Close()
	if s.Whole {
		stats, err := readWhole(in, s.Path, fn)
		return slowlog.State{}, stats, err
	}
	r := slowlog.NewReader(in)
	r.ReuseEvent = true
	r.Resume(s.From)
	for {
		ev, err := r.ReadBefore(s.End)
		if err == io.EOF {
			return r.State(), r.Stats(), nil
		}
		if err != nil {
			return r.State(), r.Stats(), fmt.Errorf("%s: %w", s.Path, err)
		}
		fn(ev)
	}
}

func readWhole(in io.Reader, path string, fn func(*slowlog.Event)) (slowlog.Stats, error) {
	f, err := logfile.New(in, path)
	if err != nil {
		return slowlog.Stats{}, err
	}
	defer f.Close()
	source := f.Source(slowlog.Options{}, nil)
	for ev, err := range source.All() {
		if err != nil {
			return source.Stats(), fmt.Errorf("%s: %w", path, err)
		}
		fn(ev)
	}
	return source.Stats(), nil
}

// check returns an error if a shard, read from its state, did not leave the log in
// the one that the survey foresaw.
func (s *Shard) check(to slowlog.State) error {
	if s.End == toTheEnd || to.Offset == s.To.Offset && to.Schema == s.To.Schema && to.Time.Equal(s.To.Time) {
		return nil
	}
	return fmt.Errorf("%s: the log was changed while it was read: the record behind offset %d is at %d and was at %d", s.Path, s.End, to.Offset, s.To.Offset)
}

// open opens a log at an offset, on any file system that Beam has been given.
func open(ctx context.Context, path string, offset int64) (io.ReadCloser, error) {
	fs, err := filesystem.New(ctx, path)
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	in, err := fs.OpenRead(ctx, path)
	if err != nil {
		return nil, err
	}
	if seeker, ok := in.(io.Seeker); ok {
		_, err = seeker.Seek(offset, io.SeekStart)
	} else {
		_, err = io.CopyN(io.Discard, in, offset)
	}
	if err == io.EOF { // the log has been cut short since
		err = nil
	}
	if err != nil {
		in.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return in, nil
}
