package logfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A generation is one file of a log that is rotated.
type generation struct {
	name string
	file *os.File
	info fs.FileInfo // as it was opened
	// plain is the decompressed contents of a compressed file, behind offset.
	plain  *File
	frozen bool   // nothing is written to it any more
	offset int64  // behind what has been read
	head   []byte // its first bytes, at most headLen
	last   [2]byte
	hash   string // of head[:hashed]
	hashed int
	looked fs.FileInfo // at the last read
}

// headLen is by how many first bytes a file is known. It is more than the
// banners that most logs begin with.
const headLen = 8 << 10

// errTruncated says that a file no longer begins with the bytes that were read.
var errTruncated = errors.New("file was truncated")

func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// openGeneration opens the file at path, to be read from its start.
func openGeneration(path string) (*generation, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "follow", Path: path, Err: errors.New("not a regular file")}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	g := &generation{name: path, file: file, info: info, looked: info}
	if strings.HasSuffix(path, ".gz") || strings.HasSuffix(path, ".zst") {
		g.frozen = true
		if g.plain, err = unpack(file, path); err != nil {
			file.Close()
			return nil, err
		}
	}
	return g, nil
}

func (g *generation) close() error {
	if g.plain != nil {
		g.plain.Close()
	}
	return g.file.Close()
}

// read reads on. It returns io.EOF with no bytes at the end of what is there
// now, and errTruncated if the file is no longer that which it read before.
func (g *generation) read(p []byte) (n int, err error) {
	if g.plain != nil {
		if n, err = g.plain.Read(p); n == 0 {
			return 0, err
		}
	} else {
		n, err = g.file.ReadAt(p, g.offset)
		if err != nil && err != io.EOF {
			return 0, err
		}
		// What has been read belongs to the file as known only if the file is still
		// that afterwards: it may be truncated at any moment.
		if err := g.verify(n); err != nil {
			return 0, err
		}
		if n == 0 {
			return 0, io.EOF
		}
	}
	if g.offset == int64(len(g.head)) {
		g.head = append(g.head, p[:min(n, headLen-len(g.head))]...)
	}
	g.offset += int64(n)
	if n == 1 {
		g.last[0] = g.last[1]
	} else {
		g.last[0] = p[n-2]
	}
	g.last[1] = p[n-1]
	return n, nil
}

// verify returns errTruncated if the file does not begin with head, or is
// shorter than what has been read.
func (g *generation) verify(n int) error {
	info, err := g.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() < g.offset+int64(n) {
		return errTruncated
	}
	if n == 0 && info.ModTime().Equal(g.looked.ModTime()) && info.Size() == g.looked.Size() {
		return nil
	}
	ok, err := beginsWith(g.file, g.head)
	if err != nil {
		return err
	}
	if !ok {
		return errTruncated
	}
	g.looked = info
	return nil
}

func beginsWith(f io.ReaderAt, head []byte) (bool, error) {
	b := make([]byte, len(head))
	n, err := f.ReadAt(b, 0)
	if err == io.EOF {
		err = nil
	}
	return bytes.Equal(b[:n], head), err
}

// seek moves a generation of which nothing was read to the offset.
func (g *generation) seek(offset int64) error {
	if g.plain != nil {
		buf := make([]byte, 64<<10)
		for g.offset < offset {
			if _, err := g.read(buf[:min(int64(len(buf)), offset-g.offset)]); err != nil {
				return fmt.Errorf("%s: %d bytes, expected at least %d: %w", g.plain.Name, g.offset, offset, err)
			}
		}
		return nil
	}
	head := make([]byte, min(headLen, offset))
	if _, err := g.file.ReadAt(head, 0); err != nil {
		return err
	}
	g.head, g.offset = head, offset
	return nil
}

// endsRecord reports whether what was read ends as a whole record does.
func (g *generation) endsRecord() bool { return g.last == [2]byte{';', '\n'} }

// A fingerprint tells a file by its first n bytes.
type fingerprint struct {
	n    int
	hash string
}

func (g *generation) fingerprint() fingerprint {
	if g.hashed != len(g.head) {
		g.hash, g.hashed = hashOf(g.head), len(g.head)
	}
	return fingerprint{g.hashed, g.hash}
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// matches reports whether the file of g begins with the bytes of fp.
func (g *generation) matches(fp fingerprint) (bool, error) {
	b, err := g.first(fp.n)
	return len(b) == fp.n && (fp.n == 0 || hashOf(b) == fp.hash), err
}

// isLonger reports whether the file of g has more than n bytes.
func (g *generation) isLonger(n int) (bool, error) {
	b, err := g.first(n + 1)
	return len(b) > n, err
}

// isTelling reports whether the first bytes of the file of g tell it from others:
// the times of a record and the beginning of its statement, at least, are among
// them.
func (g *generation) isTelling() (bool, error) {
	b, err := g.first(headLen)
	return len(b) == headLen || bytes.Contains(b, []byte(";\n")) || bytes.Contains(b, []byte(";\r\n")), err
}

// first returns the first n bytes of the file of g, less if it is shorter.
func (g *generation) first(n int) ([]byte, error) {
	var r io.Reader = io.NewSectionReader(g.file, 0, int64(n))
	if g.plain != nil {
		// of this very file: its name may be another's by now
		f, err := unpack(io.NewSectionReader(g.file, 0, math.MaxInt64), g.name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	b := make([]byte, n)
	k, err := io.ReadFull(r, b)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return b[:k], err
}

// continueIn goes on in a copy of the file that was made before it was truncated
// and lies beside path. If there is one, g is then frozen; if not, lost tells
// that what was not read of the file is lost.
func (g *generation) continueIn(path string, seen []fingerprint) (lost bool, err error) {
	c, read, err := findCopy(path, g.fingerprint(), g.offset, g.looked.ModTime(), seen, g.info)
	if c == nil || err != nil {
		return !read, err
	}
	g.close()
	*g = *c
	return false, nil
}

// A sibling is a file beside a log whose name begins with the log's.
type sibling struct {
	name   string
	suffix string // what the log's name lacks
	info   fs.FileInfo
}

// open opens the file. If it goes by another name by now it returns errNothing:
// files are being renamed, and what is to be read next shows in another look.
func (s sibling) open() (*generation, error) {
	g, err := openGeneration(s.name)
	if isNotExist(err) {
		return nil, errNothing
	}
	if err == nil && !os.SameFile(g.info, s.info) {
		g.close()
		return nil, errNothing
	}
	return g, err
}

// siblings finds the file at path, which is nil if there is none, and those beside
// it that are not empty, the oldest first.
//
// A directory that is read while files are renamed shows some twice or not at all.
// So it is read until it shows the same twice in a row; if it does not, siblings
// returns errNothing.
func siblings(path string) (files []sibling, current *sibling, err error) {
	same := func(a, b sibling) bool { return a.name == b.name && os.SameFile(a.info, b.info) }
	before, err := readSiblings(path)
	for range 5 {
		if err != nil {
			return nil, nil, err
		}
		files, err = readSiblings(path)
		if err != nil || !slices.EqualFunc(before, files, same) {
			before = files
			continue
		}
		if i := slices.IndexFunc(files, func(s sibling) bool { return s.suffix == "" }); i >= 0 {
			at := files[i]
			files, current = slices.Delete(files, i, i+1), &at
		}
		slices.SortFunc(files, func(a, b sibling) int {
			if c := a.info.ModTime().Compare(b.info.ModTime()); c != 0 {
				return c
			}
			return olderName(a.suffix, b.suffix)
		})
		return files, current, nil
	}
	return nil, nil, errNothing
}

// readSiblings reads the directory once, by name.
func readSiblings(path string) (files []sibling, err error) {
	dir, base := filepath.Split(path)
	entries, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		if isNotExist(err) {
			return nil, nil
		}
		return nil, err
	}
	for _, e := range entries {
		suffix, ok := strings.CutPrefix(e.Name(), base)
		if !ok {
			continue
		}
		name := filepath.Join(dir, e.Name())
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && (info.Size() > 0 || suffix == "") {
			files = append(files, sibling{name, suffix, info})
		}
	}
	return files, nil
}

// findCopy opens at the offset, or its end, the oldest copy beside path of a file
// that begins as fp says and was last seen to change at the given time. It is no
// file of those that have been read, nor the one that other is of. Without one,
// read tells that there is a copy of one that has been read.
func findCopy(path string, fp fingerprint, offset int64, since time.Time, seen []fingerprint, other fs.FileInfo) (g *generation, read bool, err error) {
	files, _, err := siblings(path)
	if err != nil || fp.n == 0 {
		return nil, false, err
	}
	for _, f := range files {
		if f.info.ModTime().Before(since) || other != nil && os.SameFile(f.info, other) {
			continue
		}
		g, err := f.open()
		if err == errNothing {
			return nil, false, err
		}
		if err != nil {
			continue // none of the log's
		}
		if ok, err := g.matches(fp); ok && err == nil {
			if g.isAny(seen) {
				read = true
			} else {
				if g.plain == nil {
					offset = min(offset, g.info.Size())
				}
				if g.seek(offset) == nil {
					g.frozen = true
					return g, false, nil
				}
			}
		}
		g.close()
	}
	return nil, read, nil
}

// isAny reports whether g is one of the files of the fingerprints, which have
// been read to their ends, or a copy of one; or cannot be read.
func (g *generation) isAny(fps []fingerprint) bool {
	for _, fp := range fps {
		ok, err := g.matches(fp)
		if ok && fp.n < headLen { // that was all of the file
			longer, err2 := g.isLonger(fp.n)
			ok, err = !longer, err2
		}
		if ok || err != nil {
			return true
		}
	}
	return false
}

// findCheckpoint finds the file that the checkpoint is of, at path or beside it,
// or else a copy of it. It returns nil if there is none.
func findCheckpoint(path string, c *FileCheckpoint) (*generation, error) {
	files, current, err := siblings(path)
	if err != nil {
		return nil, err
	}
	if current != nil {
		files = append(files, *current)
	}
	fp := fingerprint{c.HeadLen, c.Head}
	for _, f := range files {
		g, err := f.open()
		if err == errNothing {
			return nil, err
		}
		if err != nil {
			continue
		}
		if g.plain == nil && inode(g.info) == c.Inode && g.info.Size() >= c.State.Offset {
			if ok, err := g.matches(fp); ok && err == nil && g.seek(c.State.Offset) == nil {
				return g, nil
			}
		}
		g.close()
	}
	g, _, err := findCopy(path, fp, c.State.Offset, c.Modified, nil, nil)
	return g, err
}

// rotated recognises what rotation puts behind a log's name.
var rotated = regexp.MustCompile(`^[.-]\d[\dT:_.-]*(\.gz|\.zst)?$`)

// successor opens the file that the log goes on in behind the generation, from
// its start: the oldest rotated file that is younger, or that at the path. It
// returns nil if that is still the file of the generation, or there is none.
func (t *tail) successor() (*generation, error) {
	if info, err := os.Stat(t.path); err == nil && os.SameFile(info, t.gen.info) && !t.ended {
		return nil, nil
	}
	current, err := openGeneration(t.path)
	if err != nil && !isNotExist(err) {
		return nil, err
	}
	if current != nil && os.SameFile(current.info, t.gen.info) && !t.ended {
		current.close()
		return nil, nil
	}
	g, err := t.between(current)
	if err == nil && g == nil {
		return current, nil
	}
	if current != nil {
		current.close()
	}
	return g, err
}

// between opens the oldest rotated file that is younger than the generation and
// older than the file at the path.
func (t *tail) between(current *generation) (*generation, error) {
	files, at, err := siblings(t.path)
	if err != nil {
		return nil, err
	}
	if (at == nil) != (current == nil) || at != nil && !os.SameFile(at.info, current.info) {
		return nil, errNothing // a rotation since current was opened
	}
	old, err := t.gen.file.Stat()
	if err != nil {
		return nil, err
	}
	i, err := t.gen.find(files, old.ModTime())
	if err != nil {
		return nil, err
	}
	files = files[i+1:]
	for _, f := range files {
		if !rotated.MatchString(f.suffix) || f.info.ModTime().Before(old.ModTime()) || current != nil && os.SameFile(f.info, current.info) {
			continue
		}
		g, err := f.open()
		if err == errNothing {
			return nil, err
		}
		if err != nil {
			continue
		}
		if !g.isAny(t.seen) && !g.isAny([]fingerprint{t.gen.fingerprint()}) {
			return g, nil
		}
		g.close()
	}
	return nil, nil
}

// find returns the index of the file of g, which was last changed at the given
// time, or of its copy where it was compressed since; -1 if there is neither.
func (g *generation) find(files []sibling, at time.Time) (int, error) {
	if i := slices.IndexFunc(files, func(f sibling) bool { return os.SameFile(f.info, g.info) }); i >= 0 {
		return i, nil
	}
	for i, f := range files {
		if !f.info.ModTime().Equal(at) {
			continue
		}
		c, err := f.open()
		if err == errNothing {
			return 0, err
		}
		if err != nil {
			continue
		}
		ok, err := c.matches(g.fingerprint())
		c.close()
		if ok && err == nil {
			return i, nil
		}
	}
	return -1, nil
}

// olderName compares two suffixes of rotated files of the same time: .2 is older
// than .1, but -20261129 is older than -20261130.
func olderName(a, b string) int {
	na, errA := strconv.Atoi(strings.Trim(strings.TrimSuffix(strings.TrimSuffix(a, ".gz"), ".zst"), ".-"))
	nb, errB := strconv.Atoi(strings.Trim(strings.TrimSuffix(strings.TrimSuffix(b, ".gz"), ".zst"), ".-"))
	if errA == nil && errB == nil && na < 10_000 && nb < 10_000 {
		return nb - na
	}
	return strings.Compare(a, b)
}
