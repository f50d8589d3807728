package testservers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

const (
	startTimeout = 2 * time.Minute // on a machine that is busy
	stopTimeout  = time.Minute
)

// watchdog is a shell that waits for the end of this process, then kills its
// servers and removes their directories. Every line that it is sent holds the
// ids of all process groups that run.
type watchdog struct {
	dir  string // above all servers' directories
	pipe io.Writer

	mu     sync.Mutex
	groups map[int]bool
}

const watchdogScript = `
while read -r line; do groups=$line; done
for g in $groups; do kill -9 "-$g"; done 2>/dev/null
rm -rf "$1" || { sleep 1; rm -rf "$1"; }
`

var startWatchdog = sync.OnceValues(func() (*watchdog, error) {
	dir, err := os.MkdirTemp("", "quern-")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("/bin/sh", "-c", watchdogScript, "sh", dir)
	cmd.SysProcAttr = ownGroup
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return &watchdog{dir: dir, pipe: pipe, groups: map[int]bool{}}, nil
})

func (w *watchdog) set(group int, runs bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if runs {
		w.groups[group] = true
	} else {
		delete(w.groups, group)
	}
	var line []byte
	for g := range w.groups {
		line = append(strconv.AppendInt(line, int64(g), 10), ' ')
	}
	w.pipe.Write(append(line, '\n'))
}

// process is a program that runs in a process group of its own, known to the
// watchdog, with its output in a file.
type process struct {
	cmd    *exec.Cmd
	output string
	done   chan struct{} // closed once it has ended
	err    error         // of Wait, valid then
}

func (w *watchdog) run(output, program string, args ...string) (*process, error) {
	f, err := os.OpenFile(output, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p := &process{cmd: exec.Command(program, args...), output: output, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = f, f
	p.cmd.SysProcAttr = ownGroup
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	w.set(p.cmd.Process.Pid, true)
	go func() {
		p.err = p.cmd.Wait()
		w.set(p.cmd.Process.Pid, false)
		close(p.done)
	}()
	return p, nil
}

// waitExit waits for a program that is about to end.
func (p *process) waitExit() error {
	select {
	case <-p.done:
		return p.err
	case <-time.After(stopTimeout):
		return p.failure(fmt.Errorf("still running after %v", stopTimeout))
	}
}

// failure adds the end of the program's output to err.
func (p *process) failure(err error) error {
	out, _ := os.ReadFile(p.output)
	const most = 2000
	if len(out) > most {
		out = out[len(out)-most:]
	}
	return fmt.Errorf("testservers: %s: %w; its output ends:\n%s", filepath.Base(p.cmd.Path), err, bytes.TrimSpace(out))
}

// version returns what a server program says of itself.
func version(program string) (string, error) {
	if info, err := os.Stat(program); err != nil || info.IsDir() {
		return "", errors.New("no such program")
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, "--no-defaults", "--version").Output()
	return string(out), err
}

// start makes a data directory and starts a server on it.
func start(flavor Flavor, program string, args []string) (*Server, error) {
	w, err := startWatchdog()
	if err != nil {
		return nil, fmt.Errorf("testservers: %w", err)
	}
	dir, err := os.MkdirTemp(w.dir, strings.ToLower(string(flavor))+"-")
	if err != nil {
		return nil, fmt.Errorf("testservers: %w", err)
	}
	s := &Server{
		Flavor:      flavor,
		Dir:         dir,
		Socket:      filepath.Join(dir, "sock"),
		SlowLogPath: filepath.Join(dir, "slow.log"),
	}
	if err := s.create(w, program, args); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *Server) create(w *watchdog, program string, args []string) error {
	for _, d := range []string{"tmp", "files"} {
		if err := os.Mkdir(filepath.Join(s.Dir, d), 0o700); err != nil {
			return err
		}
	}
	base := []string{"--no-defaults", "--datadir=" + filepath.Join(s.Dir, "data"), "--tmpdir=" + filepath.Join(s.Dir, "tmp")}
	if os.Getuid() == 0 {
		base = append(base, "--user=root")
	}
	// Nothing needs to survive a crash of the machine.
	base = append(base, "--innodb-doublewrite=OFF", "--innodb-flush-method=nosync")
	output := filepath.Join(s.Dir, "output")
	var init *process
	var err error
	if s.Flavor == FlavorMySQL {
		base = append(base, "--loose-innodb-redo-log-capacity=32M")
		init, err = w.run(output, program, append(base, "--initialize-insecure")...)
	} else {
		base = append(base, "--innodb-log-file-size=32M")
		// --force: on a machine that cannot look its own name up, too
		init, err = w.run(output, installer(program), append(base, "--force", "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")...)
	}
	if err != nil {
		return fmt.Errorf("testservers: %w", err)
	}
	<-init.done
	if init.err != nil {
		return init.failure(init.err)
	}

	port, err := freePort()
	if err != nil {
		return fmt.Errorf("testservers: %w", err)
	}
	base = append(base,
		"--socket="+s.Socket,
		"--pid-file="+filepath.Join(s.Dir, "pid"),
		"--bind-address=127.0.0.1",
		"--port="+strconv.Itoa(port),
		"--secure-file-priv="+filepath.Join(s.Dir, "files"),
		"--slow-query-log-file="+s.SlowLogPath,
		"--innodb-flush-log-at-trx-commit=0",
		"--skip-log-bin",
		"--loose-mysqlx=OFF",
	)
	s.config = mysql.NewConfig()
	s.config.User, s.config.Net, s.config.Addr = "root", "unix", s.Socket
	// The driver's log would tell of every attempt made before the server is up.
	s.config.Logger = log.New(io.Discard, "", 0)
	s.launch = func() (err error) {
		s.proc, err = w.run(output, program, append(base, args...)...)
		if err != nil {
			return fmt.Errorf("testservers: %w", err)
		}
		return s.awaitReady()
	}
	return s.launch()
}

// installer returns the program that makes MariaDB's data directory.
func installer(server string) string {
	if p, err := exec.LookPath("mariadb-install-db"); err == nil {
		return p
	}
	return filepath.Join(filepath.Dir(server), "..", "scripts", "mariadb-install-db") // of an unpacked archive
}

func (s *Server) awaitReady() error {
	timeout := time.After(startTimeout)
	for {
		err := s.identify(context.Background())
		if err == nil {
			return nil
		}
		select {
		case <-s.proc.done:
			return s.proc.failure(errors.New("ended before it was ready"))
		case <-timeout:
			return s.proc.failure(fmt.Errorf("not ready after %v: %w", startTimeout, err))
		case <-time.After(25 * time.Millisecond):
		}
	}
}

// stop kills the server and removes its directory.
func (s *Server) stop() {
	if s.proc != nil {
		s.proc.cmd.Process.Kill()
		<-s.proc.done
	}
	os.RemoveAll(s.Dir)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
