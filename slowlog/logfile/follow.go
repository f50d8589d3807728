package logfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/quern-dev/quern/slowlog"
)

// Follow returns a Follower of the slow logs at paths. It ends with ctx.
func Follow(ctx context.Context, paths ...string) *Follower {
	f := &Follower{ctx: ctx}
	for _, path := range paths {
		f.tails = append(f.tails, &tail{path: path, f: f})
	}
	return f
}

// A Follower reads slow logs as they are written, through every kind of
// rotation: a file that is renamed (also several times between two looks),
// removed, replaced, or copied and truncated (also if it has grown past the old
// place since). A path may name a file that does not exist yet.
//
// The rest of a rotated file is read before its successor, once that has its
// first bytes: until then the server may still write to the old one. Rotated
// files are looked for beside the path, under its name with ".1", "-20261130" or
// the like behind it, also as .gz and .zst. What is lost is what the rotation
// itself loses: what is written between the copy and the truncation, and the
// rest of a file that is gone before it was read.
//
// It looks at each file once in a Poll, which costs a few system calls: this
// works on every file system, network ones too, and is faster than anybody needs
// slow statements. Read the events of one Follower in one goroutine.
//
// The fields may be set before the first Read.
type Follower struct {
	slowlog.Options
	// ReuseEvent makes Read return the same Event each time for a path; see
	// slowlog.Reader.
	ReuseEvent bool
	// OnDamage, if not nil, is called with each damaged place, in the order of
	// each file.
	OnDamage func(path string, d slowlog.Damage)
	// Poll is the time between two looks at a file without news. 0 is 250 ms.
	Poll time.Duration
	// Idle is the time after which a record that nothing follows is taken for
	// whole, if a semicolon ends it. 0 is 1 s.
	Idle time.Duration
	// FromEnd makes a file that is there at the first Read, and that no
	// Checkpoint tells of, be read from its end; else it is read from its start.
	FromEnd bool

	ctx    context.Context
	tails  []*tail
	turn   int // whose tail's
	run    int // events in a row of this turn
	last   *tail
	files  FileStats
	closed *Checkpoint // where it stood at Close
}

// FileStats says what became of the files that a Follower read.
type FileStats struct {
	Rotations   int64 // files that were left for their successors
	Truncations int64 // files that began anew
	// Gaps counts the files whose rest could not be found: after a truncation,
	// no copy; after a restart, no file that the checkpoint is of.
	Gaps int64
}

// A Checkpoint tells where a Follower stands in each of its files. It may be
// stored, as JSON for example, together with what was made of the events: an
// event counts as read once Read has returned it, or All yielded it.
type Checkpoint struct {
	Files []FileCheckpoint `json:"files"`
}

// A FileCheckpoint tells where a Follower stands in the log of one path. The
// file is known again by its first bytes, wherever it has been moved, and by its
// inode where these do not tell.
type FileCheckpoint struct {
	Path    string `json:"path"`
	Inode   uint64 `json:"inode,omitempty"`
	Head    string `json:"head,omitempty"`     // hash of the file's first bytes
	HeadLen int    `json:"head_len,omitempty"` // how many
	// Modified is when the file was last seen to change.
	Modified time.Time     `json:"modified,omitzero"`
	State    slowlog.State `json:"state"`
}

// Checkpoint returns where f stands behind the last event that Read returned, or
// stood when it was closed. It is to be called in the goroutine that reads.
func (f *Follower) Checkpoint() Checkpoint {
	if f.closed != nil {
		return *f.closed
	}
	var c Checkpoint
	for _, t := range f.tails {
		c.Files = append(c.Files, t.checkpoint())
	}
	return c
}

// Resume makes a Follower that has read nothing yet go on at the checkpoint. The
// paths that it does not tell of begin as without it.
func (f *Follower) Resume(c Checkpoint) {
	for _, t := range f.tails {
		for _, fc := range c.Files {
			if fc.Path == t.path {
				t.resume = &fc
			}
		}
	}
}

// Path returns the path of the last event's log.
func (f *Follower) Path() string {
	if f.last == nil {
		return ""
	}
	return f.last.path
}

// Stats returns what has been read so far, of all paths together.
func (f *Follower) Stats() slowlog.Stats {
	var s slowlog.Stats
	for _, t := range f.tails {
		part := t.stats()
		s.Add(&part)
	}
	return s
}

// FileStats returns what became of the files so far.
func (f *Follower) FileStats() FileStats { return f.files }

// Close closes the files.
func (f *Follower) Close() error {
	c := f.Checkpoint()
	f.closed = &c
	var errs []error
	for _, t := range f.tails {
		errs = append(errs, t.close())
	}
	return errors.Join(errs...)
}

// maxRun is how many events of one file come in a row while others have some.
const maxRun = 256

// Read returns the next event. It waits for one, until the context ends, whose
// error it then returns. An error of a file, which its path tells, is returned
// once; a later Read goes on with the other files and tries that one again.
func (f *Follower) Read() (*slowlog.Event, error) {
	for {
		for idle := 0; idle < len(f.tails); idle++ {
			if err := f.ctx.Err(); err != nil {
				return nil, err
			}
			t := f.tails[f.turn]
			ev, err := t.next()
			if err == nil {
				f.last = t
				if f.run++; f.run == maxRun {
					f.pass()
				}
				return ev, nil
			}
			f.pass()
			if err != errNothing && t.isNews(err) {
				return nil, fmt.Errorf("follow %s: %w", t.path, err)
			}
		}
		if err := f.wait(); err != nil {
			return nil, err
		}
	}
}

// pass gives the turn to the next tail.
func (f *Follower) pass() { f.turn, f.run = (f.turn+1)%len(f.tails), 0 }

// wait waits for the next look.
func (f *Follower) wait() error {
	timer := time.NewTimer(or(f.Poll, 250*time.Millisecond))
	defer timer.Stop()
	select {
	case <-f.ctx.Done():
		return f.ctx.Err()
	case <-timer.C:
		return nil
	}
}

func or(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// All yields events until the context ends, whose error it does not yield, or a
// file has an error, which is then the last, with a nil event. A later All goes on
// as a later Read does.
func (f *Follower) All() iter.Seq2[*slowlog.Event, error] {
	return func(yield func(*slowlog.Event, error) bool) {
		for {
			ev, err := f.Read()
			if err != nil && f.ctx.Err() != nil || !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

// errNothing says that a tail has no event for now.
var errNothing = errors.New("nothing for now")

// A tail follows the log at one path. It is the input of its reader, which reads
// one generation of the log, the file at the path or one rotated away from it.
type tail struct {
	path   string
	f      *Follower
	resume *FileCheckpoint // until its file is found
	begun  bool            // the path has been looked at
	gen    *generation     // nil before there is a file
	reader *slowlog.Reader // of gen
	before slowlog.Stats   // of the readers before it
	seen   []fingerprint   // of the last generations read

	grown   time.Time // when gen last gave bytes
	flushed bool      // the last record has been read since then
	ended   bool      // gen has no more
	failure string    // the error that was returned last
}

// next returns the next event, or errNothing.
func (t *tail) next() (*slowlog.Event, error) {
	for {
		if t.gen == nil {
			if err := t.begin(); err != nil {
				return nil, err
			}
		}
		ev, err := t.reader.Read()
		switch {
		case err == nil:
			t.failure = ""
			return ev, nil
		case err == io.EOF && t.ended:
			if err := t.advance(); err != nil {
				return nil, err
			}
		case err == io.EOF:
			return nil, errNothing
		default:
			return nil, err
		}
	}
}

// isNews reports whether err is another than the last one.
func (t *tail) isNews(err error) bool {
	news := t.failure != err.Error()
	t.failure = err.Error()
	return news
}

// open makes g the generation that is read, from state st on.
func (t *tail) open(g *generation, st slowlog.State) {
	t.gen, t.ended, t.flushed, t.grown = g, false, true, time.Now()
	r := slowlog.NewReader(t)
	r.Options, r.ReuseEvent = t.f.Options, t.f.ReuseEvent
	if t.f.OnDamage != nil {
		r.OnDamage = func(d slowlog.Damage) { t.f.OnDamage(t.path, d) }
	}
	r.Resume(st)
	t.reader = r
}

// begin opens the first generation.
func (t *tail) begin() error {
	if t.resume != nil {
		g, err := findCheckpoint(t.path, t.resume)
		if err != nil {
			return err
		}
		if g != nil {
			t.open(g, t.resume.State)
			t.resume, t.begun = nil, true
			return nil
		}
	}
	g, err := openGeneration(t.path)
	if err != nil {
		t.begun = t.begun || isNotExist(err)
		if isNotExist(err) {
			return errNothing
		}
		return err
	}
	var st slowlog.State
	if t.resume != nil {
		// The file is gone, and what was between it and this one with it.
		t.f.files.Gaps++
		st = carried(t.resume.State)
		t.resume = nil
	} else if t.f.FromEnd && !t.begun {
		if err := g.seek(g.info.Size()); err != nil {
			g.close()
			return err
		}
		st.Offset = g.offset
	}
	t.begun = true
	t.open(g, st)
	return nil
}

// carried is what of a state holds for the next file of a log.
func carried(st slowlog.State) slowlog.State {
	return slowlog.State{Time: st.Time, Schema: st.Schema, Stamped: st.Stamped}
}

// advance goes on from the generation that has ended to the next.
func (t *tail) advance() error {
	g, err := t.successor()
	if err != nil {
		return err
	}
	if g == nil {
		return errNothing
	}
	// Nothing would tell a file again that has next to nothing, nor that it was
	// truncated since: the checkpoint stays in the last one.
	if g.name == t.path {
		if ok, err := g.isTelling(); !ok || err != nil {
			g.close()
			return cmp.Or(err, errNothing)
		}
	}
	t.f.files.Rotations++
	t.seen = append(t.seen, t.gen.fingerprint())
	if n := len(t.seen); n > maxSeen {
		t.seen = t.seen[n-maxSeen:]
	}
	st := carried(t.reader.State())
	t.before = t.stats()
	t.gen.close()
	t.open(g, st)
	return nil
}

// maxSeen is how many generations are known as read. Their names tell the age
// of older ones.
const maxSeen = 32

// Read reads of the generation for the reader: bytes; errNothing if there are
// none now; io.EOF if what it gave ends with a whole record, as far as can be
// told, or the generation has ended.
func (t *tail) Read(p []byte) (int, error) {
	n, err := t.gen.read(p)
	if err == errTruncated {
		var lost bool
		if lost, err = t.gen.continueIn(t.path, t.seen); err != nil {
			return 0, err
		}
		t.f.files.Truncations++
		if lost {
			t.f.files.Gaps++
		}
		if !t.gen.frozen {
			t.ended = true
			return 0, io.EOF
		}
		n, err = t.gen.read(p)
	}
	if err != nil && err != io.EOF {
		if !t.gen.frozen {
			return 0, err
		}
		// A damaged copy does not mend.
		t.f.files.Gaps++
		t.ended = true
		return 0, io.EOF
	}
	if n == 0 {
		// The order matters: only when the successor has bytes has the server left
		// this file, so that a read behind that look sees its end.
		over, err := t.isOver()
		if err != nil {
			return 0, err
		}
		if over {
			if n, err = t.gen.read(p); err == errTruncated || n == 0 {
				t.ended = true
				return 0, io.EOF
			}
		}
	}
	if n > 0 {
		t.grown, t.flushed = time.Now(), false
		return n, nil
	}
	if !t.flushed && t.gen.endsRecord() && time.Since(t.grown) >= or(t.f.Idle, time.Second) {
		t.flushed = true
		return 0, io.EOF
	}
	return 0, errNothing
}

// isOver reports whether the log goes on in another file than the generation.
func (t *tail) isOver() (bool, error) {
	if t.gen.frozen {
		return true, nil
	}
	g, err := t.successor()
	if g == nil || err != nil {
		return false, err
	}
	defer g.close()
	return g.info.Size() > 0, nil
}

func (t *tail) checkpoint() FileCheckpoint {
	if t.gen == nil {
		if t.resume != nil {
			return *t.resume
		}
		return FileCheckpoint{Path: t.path}
	}
	fp := t.gen.fingerprint()
	return FileCheckpoint{Path: t.path, Inode: inode(t.gen.info), Head: fp.hash, HeadLen: fp.n, Modified: t.gen.looked.ModTime(), State: t.reader.State()}
}

// stats returns what has been read of all generations.
func (t *tail) stats() slowlog.Stats {
	s := t.before
	if t.reader != nil {
		last := t.reader.Stats()
		s.Add(&last)
	}
	return s
}

func (t *tail) close() error {
	if t.gen == nil {
		return nil
	}
	t.before = t.stats()
	err := t.gen.close()
	t.gen, t.reader = nil, nil
	return err
}
