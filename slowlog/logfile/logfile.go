// Package logfile opens slow logs as they lie on disks: plain or compressed,
// whole or still being written.
package logfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"github.com/quern-dev/quern/slowlog"
)

// A File is an open log. Read gives its contents, decompressed.
type File struct {
	// Name is the path that it was opened by.
	Name string
	// Kind is what the first bytes look like: SlowLog, Text where they do not
	// tell, or another kind that package slowlog has a reader for.
	Kind Kind

	io.Reader
	close []io.Closer
	size  int64
	read  atomic.Int64
}

// Open opens the named log. A gzip or zstd file is recognised by its first
// bytes, whatever its name, and decompressed. A file that is plainly something
// else is a *FormatError, an empty one is not.
//
// The path "-" is no special name; see New for standard input.
func Open(name string) (*File, error) { return open(name, New) }

// OpenAny is Open for a log of any kind, such as a request log: no file is a
// *FormatError.
func OpenAny(name string) (*File, error) { return open(name, NewAny) }

func open(name string, decompress func(io.Reader, string) (*File, error)) (*File, error) {
	osf, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := osf.Stat()
	if err == nil && info.IsDir() {
		err = &os.PathError{Op: "open", Path: name, Err: errors.New("is a directory, expected a log file")}
	}
	var f *File
	if err == nil {
		f, err = decompress(osf, name)
	}
	if err != nil {
		osf.Close()
		return nil, err
	}
	f.close = append(f.close, osf)
	if info.Mode().IsRegular() {
		f.size = info.Size()
	}
	return f, nil
}

// New returns the log that is read from r, recognised like that of Open. name
// is for errors. Closing the File does not close r.
func New(r io.Reader, name string) (*File, error) {
	f, err := NewAny(r, name)
	if err == nil && !f.Kind.readable() {
		f.Close()
		return nil, &FormatError{Name: name, Kind: f.Kind}
	}
	return f, err
}

// NewAny is New for a log of any kind; see OpenAny.
func NewAny(r io.Reader, name string) (*File, error) {
	f, err := unpack(r, name)
	if err != nil {
		return nil, err
	}
	text := &peeker{r: f.Reader}
	head, err := text.peek(sniffLen)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f.Kind = Sniff(head)
	f.Reader = text
	return f, nil
}

// unpack is NewAny for those who do not ask for the Kind, which costs more than
// to open a file.
func unpack(r io.Reader, name string) (*File, error) {
	f := &File{Name: name}
	in := &peeker{r: &counter{r, &f.read}}
	head, err := in.peek(4)
	if err != nil {
		return nil, err
	}
	f.Reader = in
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		z, err := newGunzip(in)
		if err != nil {
			return nil, fmt.Errorf("%s: gzip: %w", name, err)
		}
		f.Reader, f.close = z, append(f.close, z)
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20)) // the bound of zstd(1)
		if err != nil {
			return nil, fmt.Errorf("%s: zstd: %w", name, err)
		}
		c := z.IOReadCloser()
		f.Reader, f.close = c, append(f.close, c)
	}
	return f, nil
}

// Close closes the file.
func (f *File) Close() error {
	var errs []error
	for _, c := range f.close {
		errs = append(errs, c.Close())
	}
	f.close = nil
	return errors.Join(errs...)
}

// Source returns a reader of the events of f, by its Kind: a Text is taken for a
// slow log. onDamage, if not nil, is called with each damaged place, in order.
func (f *File) Source(opt slowlog.Options, onDamage func(slowlog.Damage)) slowlog.Source {
	switch f.Kind {
	case GeneralLog:
		r := slowlog.NewGeneralReader(f)
		r.Options, r.OnDamage = opt, onDamage
		return r
	case TableTSV, TableCSV, TableVertical:
		format := map[Kind]slowlog.TableFormat{TableTSV: slowlog.TableTSV, TableCSV: slowlog.TableCSV, TableVertical: slowlog.TableVertical}[f.Kind]
		r := slowlog.NewTableReader(f, format)
		r.Options, r.OnDamage = opt, onDamage
		return r
	}
	r := slowlog.NewReader(f)
	r.Options, r.OnDamage = opt, onDamage
	return r
}

// Progress returns how many bytes have been read from the disk, compressed ones
// for a compressed file, and how many there were at Open, 0 if unknown. It may
// be called while another goroutine reads.
func (f *File) Progress() (read, size int64) { return f.read.Load(), f.size }

// counter counts what is read through it.
type counter struct {
	io.Reader
	n *atomic.Int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// peeker reads r, whose first bytes can be looked at before.
type peeker struct {
	r    io.Reader
	head []byte
	err  error
}

// peek returns the next n bytes, less at the end. An error behind some bytes is
// that of the Read behind them.
func (p *peeker) peek(n int) ([]byte, error) {
	buf := make([]byte, n)
	k := 0
	for k < n && p.err == nil {
		var m int
		m, p.err = p.r.Read(buf[k:])
		k += m
	}
	p.head = buf[:k]
	if k == 0 && p.err != nil && p.err != io.EOF {
		return nil, p.err
	}
	return p.head, nil
}

func (p *peeker) Read(b []byte) (int, error) {
	if len(p.head) > 0 {
		n := copy(b, p.head)
		p.head = p.head[n:]
		return n, nil
	}
	if p.err != nil {
		return 0, p.err
	}
	return p.r.Read(b)
}
