package testservers

import (
	"context"
	"database/sql"
	"io"
	"net"
	"sync/atomic"
	"testing"
)

// Fragile returns a pool as DB does, and a function that makes its connections
// break, all of them, when they have received so many bytes more.
func (s *Server) Fragile(t testing.TB, schema string) (db *sql.DB, breakAfter func(bytes int64)) {
	t.Helper()
	var left atomic.Int64
	left.Store(1 << 60)
	c := s.Config(schema)
	c.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &fragile{conn, &left}, err
	}
	db, err := open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, left.Store
}

type fragile struct {
	net.Conn
	left *atomic.Int64
}

func (f *fragile) Read(p []byte) (int, error) {
	left := f.left.Load()
	if left <= 0 {
		f.Conn.Close()
		return 0, io.ErrUnexpectedEOF
	}
	n, err := f.Conn.Read(p[:min(int64(len(p)), left)])
	f.left.Add(-int64(n))
	return n, err
}
