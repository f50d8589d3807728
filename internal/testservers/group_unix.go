//go:build unix

package testservers

import "syscall"

// ownGroup starts a program in a session and process group of its own, which an
// interrupt at the terminal does not reach.
var ownGroup = &syscall.SysProcAttr{Setsid: true}
