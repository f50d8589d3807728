package peerbench

import (
	"syscall"
	"time"
)

// cpuTime returns the time that the process has spent on a processor. Other
// than the time of day it tells little of what else the machine does.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
