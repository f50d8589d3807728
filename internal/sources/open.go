package sources

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/quern-dev/quern/slowlog/logfile"
)

// ErrInterrupted ends the reading of a log once the context is done.
var ErrInterrupted = errors.New("interrupted")

// Open opens the log that a command line names, "-" for standard input, by open, or
// by stream where it is no file: logfile.Open and New, or OpenAny and NewAny. A Read
// behind the end of the context returns ErrInterrupted, even one that waits.
func Open(ctx context.Context, name string, stdin io.Reader, open func(string) (*logfile.File, error), stream func(io.Reader, string) (*logfile.File, error)) (f *logfile.File, err error) {
	if name == "-" {
		f, err = stream(detach(ctx, stdin), "standard input")
	} else if info, serr := os.Stat(name); serr == nil && info.Mode()&os.ModeNamedPipe != 0 {
		f, err = stream(detach(ctx, &pipe{name: name}), name)
	} else {
		f, err = open(name)
	}
	if err != nil {
		return nil, err
	}
	f.Reader = &stopReader{ctx, f.Reader}
	return f, nil
}

// stopReader ends with ErrInterrupted once the context is done.
type stopReader struct {
	ctx context.Context
	r   io.Reader
}

func (s *stopReader) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, ErrInterrupted
	}
	return s.r.Read(p)
}

// A pipe is a named pipe, opened by the first Read: that waits for a writer.
type pipe struct {
	name string
	f    *os.File
}

func (p *pipe) Read(b []byte) (n int, err error) {
	if p.f == nil {
		if p.f, err = os.Open(p.name); err != nil {
			return 0, err
		}
	}
	if n, err = p.f.Read(b); err != nil {
		p.f.Close()
	}
	return n, err
}

// detach returns a reader of what r gives that ends once the context is done
// even while r waits for its next byte.
func detach(ctx context.Context, r io.Reader) io.Reader {
	in, out := io.Pipe()
	go func() {
		_, err := io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{r}, make([]byte, 256<<10))
		out.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { out.CloseWithError(ErrInterrupted) })
	return in
}
