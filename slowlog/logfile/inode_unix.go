//go:build unix

package logfile

import (
	"io/fs"
	"syscall"
)

// inode returns the number by which the file system knows the file.
func inode(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino)
	}
	return 0
}
