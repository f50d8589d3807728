package logfile

import (
	"bufio"
	"compress/gzip"
	"io"
)

// A gunzip decompresses what gzip(1) does: members one behind the other, and zeros
// behind the last, with which tapes and some copies fill their blocks.
type gunzip struct {
	*gzip.Reader
	in *bufio.Reader
}

func newGunzip(r io.Reader) (*gunzip, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return &gunzip{z, in}, nil
}

func (g *gunzip) Read(p []byte) (int, error) {
	n, err := g.Reader.Read(p)
	if err == io.EOF {
		err = g.next()
	}
	return n, err
}

// next goes on to the next member. It returns io.EOF if there is none.
func (g *gunzip) next() error {
	for {
		b, err := g.in.ReadByte()
		if err != nil {
			return err
		}
		if b == 0 {
			continue // no member begins with one
		}
		g.in.UnreadByte()
		if err := g.Reset(g.in); err != nil {
			return err
		}
		g.Multistream(false)
		return nil
	}
}
