package indexadvisor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// ErrBusy says that rows were not counted as the server had too much else to
// do: more threads were running, or it was further behind as a replica, than
// Database allows, and waiting did not help.
var ErrBusy = errors.New("the server is too busy to count rows on it")

// Limits of the load beyond which nothing is counted, where Database names
// none. pt-online-schema-change stops at as many threads.
const (
	defaultRunning  = 25
	defaultLag      = 10 * time.Second
	defaultPatience = 10 * time.Second
)

// quiet waits until the server has little to do, and tells how long that
// took.
func (d *Database) quiet(ctx context.Context, conn *sql.Conn, maria bool) (waited time.Duration, err error) {
	patience := d.Patience
	if patience == 0 {
		patience = defaultPatience
	}
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		busy, err := d.busy(ctx, conn, maria)
		if err != nil || busy == "" {
			return waited, err
		}
		if waited >= patience {
			return waited, fmt.Errorf("%w: %s", ErrBusy, busy)
		}
		select {
		case <-ctx.Done():
			return waited, ctx.Err()
		case <-time.After(pause):
			waited += pause
		}
	}
}

// busy says which limit the load exceeds, "" if none.
func (d *Database) busy(ctx context.Context, conn *sql.Conn, maria bool) (string, error) {
	running := d.MaxRunning
	if running == 0 {
		running = defaultRunning
	}
	if running > 0 {
		var name string
		var n int
		if err := conn.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Threads_running'").Scan(&name, &n); err != nil {
			return "", err
		}
		if n > running {
			return fmt.Sprintf("Threads_running is %d, and MaxRunning %d", n, running), nil
		}
	}
	most := d.MaxLag
	if most == 0 {
		most = defaultLag
	}
	if most < 0 {
		return "", nil
	}
	show := "SHOW REPLICA STATUS"
	if maria {
		show = "SHOW ALL SLAVES STATUS"
	}
	worst := time.Duration(-1)
	err := records(ctx, conn, func(m map[string]sql.NullString) {
		for _, name := range []string{"SECONDS_BEHIND_SOURCE", "SECONDS_BEHIND_MASTER"} {
			if m[name].Valid {
				worst = max(worst, time.Duration(atoi(m[name]))*time.Second)
			}
		}
	}, show)
	if err != nil {
		// Accounts without the right to ask, and servers before 8.0.22.
		return "", ctx.Err()
	}
	if worst > most {
		return fmt.Sprintf("the replica is %v behind, and MaxLag %v", worst, most), nil
	}
	return "", nil
}
