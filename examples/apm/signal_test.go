//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/internal/loggen"
	"github.com/quern-dev/quern/slowlog/logfile"
)

// The test binary is the agent for tests that end its process.
func TestMain(m *testing.M) {
	if os.Getenv("APM_TEST_AGENT") != "" {
		main()
	}
	os.Exit(m.Run())
}

// spawn starts an agent as a process of its own, and waits until it serves.
func spawn(t *testing.T, args ...string) (*exec.Cmd, *diagnostics) {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"-listen", "127.0.0.1:0", "-window", "50ms"}, args...)...)
	cmd.Env = append(os.Environ(), "APM_TEST_AGENT=1")
	log := &diagnostics{grown: make(chan struct{}, 1)}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	for !address.MatchString(log.String()) {
		select {
		case <-log.grown:
		case <-time.After(time.Minute):
			t.Fatalf("the agent does not serve: %s", log)
		}
	}
	return cmd, log
}

// await waits until the checkpoint stands at an offset of the log.
func await(t *testing.T, checkpoint string, offset int64) {
	t.Helper()
	for range 1200 { // a minute
		var c logfile.Checkpoint
		if data, err := os.ReadFile(checkpoint); err == nil {
			if err := json.Unmarshal(data, &c); err != nil {
				t.Fatalf("a checkpoint that is not whole: %v", err)
			}
			if c.Files[0].State.Offset >= offset {
				return
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the checkpoint does not come up to the end of the log")
}

// An agent that is killed once its checkpoint is stored has lost and doubled nothing,
// and neither has one that is told to end.
func TestSignalsLoseNothing(t *testing.T) {
	w := generate(t, loggen.Options{Seed: 9, Events: 900, Classes: 10})
	dir := t.TempDir()
	log, otlp, checkpoint := filepath.Join(dir, "slow.log"), filepath.Join(dir, "otlp.jsonl"), filepath.Join(dir, "checkpoint")
	args := []string{"-otlp", otlp, "-checkpoint", checkpoint, log}

	half := strings.LastIndex(string(w.log[:len(w.log)/2]), ";\n# ") + len(";\n") // between two records
	writeFile(t, log, w.log[:half])
	killed, _ := spawn(t, args...)
	await(t, checkpoint, int64(half))
	killed.Process.Kill()
	killed.Wait()

	writeFile(t, log, w.log[half:])
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		cmd, said := spawn(t, args...)
		await(t, checkpoint, int64(len(w.log)))
		cmd.Process.Signal(signal)
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v: %v: %s", signal, err, said)
		}
	}
	sent := sentTotals(t, readOTLP(t, otlp))
	for c := range w.profile.Classes() {
		if c.Kind == digest.Statements {
			sameTotals(t, c.Name(), totalsOf(c), sent[c.ID.String()])
		}
	}
}
