package logfile

import (
	"container/heap"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/quern-dev/quern/slowlog"
)

// Merge returns the events of several sources, of several servers for example,
// as one source in the order of their times. Each source's own order stays: an
// event without a time, or with one before that of the event it follows, comes
// with that.
//
// It holds one event of each source at a time. An error of a source is returned
// at its event's place, and with that the source is left out; the others go on. An
// event of a source that reuses it is valid until the next Read.
func Merge(sources ...slowlog.Source) slowlog.Source {
	m := &merged{sources: sources}
	for i := range sources {
		m.read = append(m.read, i)
	}
	return m
}

type merged struct {
	sources []slowlog.Source
	read    []int // sources whose next event is to be read
	last    map[int]time.Time
	heads   heads
}

// A head is a source's next event.
type head struct {
	ev     *slowlog.Event
	err    error
	at     time.Time
	source int
}

func (m *merged) Read() (*slowlog.Event, error) {
	for _, i := range m.read {
		ev, err := m.sources[i].Read()
		if err == io.EOF {
			continue
		}
		h := head{ev: ev, err: err, at: m.last[i], source: i}
		if err == nil && ev.Time.After(h.at) {
			h.at = ev.Time
		}
		heap.Push(&m.heads, h)
	}
	m.read = m.read[:0]
	if len(m.heads) == 0 {
		return nil, io.EOF
	}
	h := heap.Pop(&m.heads).(head)
	if h.err != nil {
		return nil, fmt.Errorf("source %d of %d: %w", h.source+1, len(m.sources), h.err)
	}
	if m.last == nil {
		m.last = map[int]time.Time{}
	}
	m.last[h.source] = h.at
	m.read = append(m.read, h.source)
	return h.ev, nil
}

func (m *merged) All() iter.Seq2[*slowlog.Event, error] {
	return func(yield func(*slowlog.Event, error) bool) {
		for {
			ev, err := m.Read()
			if err == io.EOF || !yield(ev, err) {
				return
			}
		}
	}
}

// Stats returns the sums of the sources' stats.
func (m *merged) Stats() (sum slowlog.Stats) {
	for _, s := range m.sources {
		st := s.Stats()
		sum.Add(&st)
	}
	return sum
}

type heads []head

func (h heads) Len() int { return len(h) }
func (h heads) Less(i, j int) bool {
	if c := h[i].at.Compare(h[j].at); c != 0 {
		return c < 0
	}
	return h[i].source < h[j].source
}
func (h heads) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *heads) Push(x any)   { *h = append(*h, x.(head)) }
func (h *heads) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// OpenRotated opens the slow logs of one server's rotation (slow.log.2.gz,
// slow.log.1, slow.log) as one log, in the order of the times of their first
// events, so that what one record hands on to the next, schema and time, also
// goes from file to file. Files without a time come last, in the order given.
//
// The File's name is that of the first; its offsets are those of the whole.
func OpenRotated(names ...string) (*File, error) {
	type part struct {
		name  string
		first time.Time
		size  int64
	}
	var parts []part
	for _, name := range names {
		f, err := Open(name)
		if err != nil {
			return nil, err
		}
		if f.Kind > Empty {
			f.Close()
			return nil, &FormatError{Name: name, Kind: f.Kind}
		}
		p := part{name: name, size: f.size}
		for ev, err := range slowlog.NewReader(f).All() {
			if err != nil {
				f.Close()
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if p.first = ev.Time; !p.first.IsZero() {
				break
			}
		}
		f.Close()
		parts = append(parts, p)
	}
	if len(parts) == 0 {
		return nil, errors.New("no files to open: expected those of one server's rotation")
	}
	slices.SortStableFunc(parts, func(a, b part) int {
		if a.first.IsZero() != b.first.IsZero() {
			return b.first.Compare(a.first)
		}
		return a.first.Compare(b.first)
	})
	whole := &File{Name: parts[0].name, Kind: SlowLog}
	c := &chain{whole: whole}
	for _, p := range parts {
		whole.size += p.size
		c.names = append(c.names, p.name)
	}
	whole.Reader = c
	whole.close = []io.Closer{c}
	return whole, nil
}

// A chain reads one file after another, each ended by a line end.
type chain struct {
	whole *File
	names []string // of the files to come
	file  *File
	done  int64 // bytes read from the disk before file
	last  byte  // the last byte read of file
}

func (c *chain) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		if c.file == nil {
			if len(c.names) == 0 {
				return 0, io.EOF
			}
			f, err := Open(c.names[0])
			if err != nil {
				return 0, err
			}
			c.names = c.names[1:]
			c.file, c.last = f, '\n'
		}
		n, err := c.file.Read(p)
		c.whole.read.Store(c.done + c.file.read.Load())
		if n > 0 {
			c.last = p[n-1]
			return n, nil
		}
		if err == nil {
			return 0, nil
		}
		if err != io.EOF {
			return 0, fmt.Errorf("%s: %w", c.file.Name, err)
		}
		c.done += c.file.read.Load()
		if err := c.Close(); err != nil {
			return 0, err
		}
		if c.last != '\n' {
			p[0] = '\n'
			return 1, nil
		}
	}
}

func (c *chain) Close() error {
	if c.file == nil {
		return nil
	}
	err := c.file.Close()
	c.file = nil
	return err
}
