//go:build linux || darwin || freebsd

package terminal

import (
	"syscall"
	"unsafe"
)

func columns(fd uintptr) (n int, ok bool) {
	var size struct{ rows, columns, x, y uint16 }
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	return int(size.columns), errno == 0
}
