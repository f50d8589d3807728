package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/quern-dev/quern/internal/terminal"
	"github.com/quern-dev/quern/slowlog/logfile"
)

// A progress is a bar on a terminal that says how far the reading is. On what is
// no terminal it does nothing.
type progress struct {
	out   *os.File
	since time.Time
	done  chan struct{}
	wait  sync.WaitGroup

	mu      sync.Mutex
	total   int64 // bytes of all files, 0 if unknown
	before  int64 // bytes of the files before the current one
	current *logfile.File
}

const progressInterval = 200 * time.Millisecond

func newProgress(out *os.File) *progress {
	p := &progress{out: out, since: time.Now(), done: make(chan struct{})}
	if terminal.Columns(out) > 0 {
		p.wait.Go(p.draw)
	}
	return p
}

// expect notes which files will be read.
func (p *progress) expect(names []string) {
	var total int64
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			return
		}
		total += info.Size()
	}
	p.mu.Lock()
	p.total = total
	p.mu.Unlock()
}

// start notes which file is read now.
func (p *progress) start(f *logfile.File) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil {
		read, _ := p.current.Progress()
		p.before += read
	}
	p.current = f
}

// clear ends the bar and wipes it out.
func (p *progress) clear() {
	close(p.done)
	p.wait.Wait()
}

func (p *progress) draw() {
	tick := time.NewTicker(progressInterval)
	defer tick.Stop()
	drawn := false
	for {
		select {
		case <-p.done:
			if drawn {
				fmt.Fprint(p.out, "\r\x1b[K")
			}
			return
		case now := <-tick.C:
			p.mu.Lock()
			read, total := p.before, p.total
			if p.current != nil {
				n, _ := p.current.Progress()
				read += n
			}
			p.mu.Unlock()
			if read > 0 {
				fmt.Fprint(p.out, "\r"+bar(read, total, now.Sub(p.since), terminal.Columns(p.out))+"\x1b[K")
				drawn = true
			}
		}
	}
}

// bar returns the line that says how much of total bytes was read in a time.
func bar(read, total int64, elapsed time.Duration, columns int) string {
	perSecond := float64(read) / max(elapsed.Seconds(), 1e-3)
	rate := fmt.Sprintf("%.0f MB/s", perSecond/1e6)
	if total <= 0 {
		return fmt.Sprintf("%.1f MB read, %s", float64(read)/1e6, rate)
	}
	part := min(float64(read)/float64(total), 1)
	left := time.Duration(float64(max(total-read, 0)) / perSecond * float64(time.Second)).Round(time.Second)
	width := min(max(columns-40, 10), 40)
	filled := int(part * float64(width))
	return fmt.Sprintf("%3.0f%% [%s%s] %s, %s left", part*100, strings.Repeat("=", filled), strings.Repeat(" ", width-filled), rate, left)
}
