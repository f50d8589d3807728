package slowlog

import (
	"io"
	"iter"
	"unsafe"
)

// An input is a window that moves over what an io.Reader gives.
type input struct {
	src        io.Reader
	buf        []byte
	start, end int  // the window: what of buf is still to be read
	eof        bool // nothing follows the window
	err        error
}

// window returns the bytes that are to be read. They are good until more.
func (in *input) window() string {
	return unsafe.String(unsafe.SliceData(in.buf[in.start:in.end]), in.end-in.start)
}

// more reads more behind the window. Those who then look at all of the window
// anew take linear time all the same: a large window grows by a quarter at once.
func (in *input) more() {
	const minRead = 64 << 10
	want := 1
	if n := in.end - in.start; n > minRead {
		want = n / 4
	}
	for want > 0 && !in.eof && in.err == nil {
		if len(in.buf)-in.end < minRead {
			if in.start > 0 {
				in.end = copy(in.buf, in.buf[in.start:in.end])
				in.start = 0
			}
			// The buffer of a short log stays small, that of a long one is soon large
			// enough for reads of a good size.
			if len(in.buf) < 4*minRead || len(in.buf)-in.end < minRead {
				in.buf = append(in.buf, make([]byte, max(minRead/4, len(in.buf)))...)
			}
		}
		var n int
		n, in.err = readSome(in.src, in.buf[in.end:])
		in.end += n
		want -= n
		if in.err == io.EOF {
			in.eof, in.err = true, nil
		}
	}
}

// readSome reads until there is a byte or an error.
func readSome(r io.Reader, p []byte) (int, error) {
	for range 100 {
		if n, err := r.Read(p); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, io.ErrNoProgress
}

// all yields what read returns, up to io.EOF.
func all(read func() (*Event, error)) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		for {
			ev, err := read()
			if err == io.EOF || !yield(ev, err) || err != nil {
				return
			}
		}
	}
}
