//go:build !unix

package testservers

import "syscall"

var ownGroup *syscall.SysProcAttr
