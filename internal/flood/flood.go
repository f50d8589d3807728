// Package flood has inputs that are longer than any memory, and measures what it
// takes to read them. It is for tests.
package flood

import (
	"io"
	"runtime"
)

// A Text is an input of a first text and then another, again and again.
type Text struct {
	First, Again string
	Size         int64 // bytes in all, at least those of First

	at   int64 // bytes given
	turn int   // place in Again
	seen uint64
	base uint64
}

// Read gives the next bytes. Once in 16 MiB it looks how much memory is in use.
func (t *Text) Read(p []byte) (int, error) {
	if t.base == 0 {
		t.base = inUse()
	}
	if t.at >= t.Size {
		t.look()
		return 0, io.EOF
	}
	n := 0
	if t.at < int64(len(t.First)) {
		n = copy(p, t.First[t.at:])
	}
	most := int(min(int64(len(p)), t.Size-t.at))
	for n < most && t.Again != "" {
		k := copy(p[n:most], t.Again[t.turn:])
		t.turn = (t.turn + k) % len(t.Again)
		n += k
	}
	before := t.at
	t.at += int64(n)
	if before>>24 != t.at>>24 {
		t.look()
	}
	return n, nil
}

// InUse returns the most bytes that were in use, beyond those of the first Read,
// whenever Read looked: the memory that the reader of the text takes.
func (t *Text) InUse() uint64 { return t.seen }

func (t *Text) look() {
	if now := inUse(); now > t.base {
		t.seen = max(t.seen, now-t.base)
	}
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
