package terminal

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"unsafe"
)

// openTerminal returns a terminal of the size.
func openTerminal(t *testing.T, columns uint16) *os.File {
	t.Helper()
	m, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminal can be made here: %v", err)
	}
	t.Cleanup(func() { m.Close() })
	ioctl := func(f *os.File, request uintptr, arg unsafe.Pointer) {
		t.Helper()
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(arg)); errno != 0 {
			t.Fatalf("ioctl %#x: %v", request, errno)
		}
	}
	var number, unlock int32
	ioctl(m, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	ioctl(m, syscall.TIOCGPTN, unsafe.Pointer(&number))
	f, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminal can be made here: %v", err)
	}
	t.Cleanup(func() { f.Close() })
	size := [4]uint16{25, columns}
	ioctl(f, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	return f
}

func TestATerminalHasColumnsAndColours(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	f := openTerminal(t, 132)
	if n := Columns(f); n != 132 {
		t.Errorf("%d columns, want 132", n)
	}
	if !Color(f) {
		t.Error("no colours")
	}
	if n := Columns(openTerminal(t, 0)); n != 80 {
		t.Errorf("%d columns of a terminal that does not say, want 80", n)
	}
	t.Setenv("TERM", "dumb")
	if Color(f) {
		t.Error("colours on a dumb terminal")
	}
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "1")
	if Color(f) {
		t.Error("colours in spite of NO_COLOR")
	}
}

func TestWhatIsNoTerminalHasNeither(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, f := range []*os.File{null, file} {
		if Columns(f) != 0 || Color(f) {
			t.Errorf("%s: %d columns, colours %v", f.Name(), Columns(f), Color(f))
		}
	}
}
