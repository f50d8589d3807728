package testservers

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"
)

// A test binary that is killed leaves neither a server nor a directory.
func TestKilledTestBinaryLeavesNothing(t *testing.T) {
	if os.Getenv("QUERN_TEST_HANG") == "1" {
		srv := MariaDB(t)
		fmt.Printf("\n%d %s\n", srv.Port, srv.Dir)
		time.Sleep(time.Hour)
	}
	find(t, FlavorMariaDB)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "QUERN_TEST_HANG=1", "QUERN_TEST_MARIADB_DSN=")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var port int
	var dir string
	for lines := bufio.NewScanner(out); dir == ""; {
		if !lines.Scan() {
			t.Fatalf("no server started: %v", lines.Err())
		}
		fmt.Sscanf(lines.Text(), "%d %s", &port, &dir)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
	cancel()
	cmd.Wait()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		_, err := os.Stat(dir)
		c, dialErr := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if dialErr == nil {
			c.Close()
		}
		if os.IsNotExist(err) && dialErr != nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a minute after the kill: directory %v, server %v", err, dialErr)
		}
	}
}
