// Package processlist observes the statements of a server that logs nothing, by
// looking at its list of processes again and again.
//
//	p := processlist.New(db, collector.Observe)
//	defer p.Close()
//	for range time.Tick(100 * time.Millisecond) {
//		err := p.Poll(ctx)
//		…
//	}
//
// A statement that a look finds, and a later one does not, has been run: then it is
// observed. The account needs the privilege PROCESS; without it the server shows it
// its own statements alone.
//
// # Error
//
// Where the interval between two looks is i:
//
//   - A statement that runs for at least i is seen, and counted once.
//   - One that runs for less is seen by chance: of those of d, about d/i. What is
//     missed is not estimated. Counts of classes of short statements are too low,
//     and their times too long.
//   - It ends between two looks, and counts as if in the middle: its time is off
//     by up to i/2 for that. MariaDB tells when it began to a millisecond (TIME_MS).
//     MySQL tells whole seconds (TIME): a statement that began between two looks
//     counts as if it began in the middle, so that its time is off by up to i
//     altogether; one that ran already at the first look by up to 1 s more.
//   - A statement that is run again between two looks, on the same connection and
//     with the same text, is told apart by MariaDB's QUERY_ID. On MySQL, which has
//     none in the list, it is if TIME has fallen; else the two are one long one.
//
// Stats.Longest is the longest interval there was.
package processlist

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/quern-dev/quern/digest"
)

// A Poller looks at the processes of a server. It is not for concurrent use.
type Poller struct {
	db      *sql.DB
	observe func(digest.Observation)

	conn    *sql.Conn // nil before the first Poll and after an error
	own     int64     // its id
	mariaDB bool

	looked  time.Time // last look
	running map[int64]*statement
	stats   Stats
}

// A statement was running at the last look.
type statement struct {
	observation digest.Observation
	number      int64         // MariaDB's QUERY_ID
	elapsed     time.Duration // as the server said at the last look
	began       time.Time
}

// Stats tell what a Poller did.
type Stats struct {
	Polls    int           // looks
	Observed int           // statements that had ended
	Running  int           // statements at the last look
	Longest  time.Duration // the longest time between two looks, from which errors come
}

// New returns a Poller that hands statements to observe, such as the Observe of a
// digest.Collector. It uses one connection of db, which stays the caller's.
func New(db *sql.DB, observe func(digest.Observation)) *Poller {
	return &Poller{db: db, observe: observe, running: make(map[int64]*statement)}
}

// Close gives the connection back. Statements that were running are not observed.
func (p *Poller) Close() error {
	if p.conn == nil {
		return nil
	}
	err := p.conn.Close()
	p.conn = nil
	return err
}

// Stats returns what p did so far.
func (p *Poller) Stats() Stats {
	s := p.stats
	s.Running = len(p.running)
	return s
}

// Poll looks once. After an error the next Poll connects anew; statements that ended
// meanwhile are observed then.
func (p *Poller) Poll(ctx context.Context) error {
	err := p.poll(ctx)
	if err != nil {
		p.Close()
		return fmt.Errorf("processlist: %w", err)
	}
	return nil
}

func (p *Poller) poll(ctx context.Context) error {
	if p.conn == nil {
		if err := p.connect(ctx); err != nil {
			return err
		}
	}
	query := "SHOW FULL PROCESSLIST"
	if p.mariaDB {
		query = "SELECT ID, USER, HOST, DB, COMMAND, TIME, TIME_MS, QUERY_ID, INFO FROM information_schema.PROCESSLIST"
	}
	asked := time.Now()
	rows, err := p.conn.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	now := time.Now()
	now = now.Add(-now.Sub(asked) / 2)
	list, err := read(rows)
	if err != nil {
		return err
	}
	delete(list, p.own)
	p.compare(list, now)
	return nil
}

func (p *Poller) connect(ctx context.Context) (err error) {
	if p.conn, err = p.db.Conn(ctx); err != nil {
		return err
	}
	var version string
	err = p.conn.QueryRowContext(ctx, "SELECT CONNECTION_ID(), VERSION()").Scan(&p.own, &version)
	p.mariaDB = strings.Contains(version, "MariaDB")
	return err
}

// A process is a row of the list that runs a statement.
type process struct {
	user, host, schema, text string
	number                   int64         // QUERY_ID, 0 where there is none
	elapsed                  time.Duration // TIME, or TIME_MS
}

// read returns the processes that run a statement, by their ids. Columns are known
// by their names: servers and versions have others of their own.
func read(rows *sql.Rows) (map[int64]process, error) {
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var (
		id, number               sql.NullInt64
		seconds, milliseconds    sql.NullFloat64
		user, host, schema, info sql.NullString
		command                  sql.NullString
		columns                  = map[string]any{
			"id": &id, "user": &user, "host": &host, "db": &schema, "command": &command,
			"time": &seconds, "time_ms": &milliseconds, "query_id": &number, "info": &info,
		}
		into = make([]any, len(names))
	)
	for i, name := range names {
		if into[i] = columns[strings.ToLower(name)]; into[i] == nil {
			into[i] = new(sql.RawBytes)
		}
	}
	list := make(map[int64]process)
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		if !id.Valid || info.String == "" || command.String != "Query" && command.String != "Execute" {
			continue
		}
		elapsed := time.Duration(seconds.Float64) * time.Second
		if milliseconds.Valid {
			elapsed = time.Duration(milliseconds.Float64 * float64(time.Millisecond))
		}
		list[id.Int64] = process{user.String, hostName(host.String), schema.String, info.String, number.Int64, max(elapsed, 0)}
	}
	if len(list) == 0 && rows.Err() == nil && !has(names, "info") {
		return nil, errors.New("the list has no column Info")
	}
	return list, rows.Err()
}

func has(names []string, name string) bool {
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

// hostName returns the host without the port that a list has behind it.
func hostName(s string) string {
	if host, _, err := net.SplitHostPort(s); err == nil {
		return host
	}
	return s
}

// compare observes what has ended since the last look, and notes what has begun.
func (p *Poller) compare(list map[int64]process, now time.Time) {
	first := p.looked.IsZero()
	interval := now.Sub(p.looked)
	p.stats.Polls++
	if first {
		interval = 0
	}
	p.stats.Longest = max(p.stats.Longest, interval)
	for id, s := range p.running {
		if r, ok := list[id]; ok && s.is(r) {
			s.elapsed = r.elapsed
			continue
		}
		o := s.observation
		o.End = now.Add(-interval / 2)
		o.Duration = max(o.End.Sub(s.began), 0)
		p.observe(o)
		p.stats.Observed++
		delete(p.running, id)
	}
	for id, r := range list {
		if p.running[id] != nil {
			continue
		}
		began := now.Add(-r.elapsed)
		switch {
		case first:
		case r.number == 0: // TIME says no more than the second
			began = now.Add(-interval / 2)
		case began.Before(p.looked): // within a procedure, whose time this is
			began = p.looked
		}
		p.running[id] = &statement{
			observation: digest.Observation{SQL: r.text, Schema: r.schema, User: r.user, Host: r.host},
			number:      r.number,
			elapsed:     r.elapsed,
			began:       began,
		}
	}
	p.looked = now
}

// is reports whether the process still runs the statement.
func (s *statement) is(r process) bool {
	if r.text != s.observation.SQL || r.number != s.number {
		return false
	}
	return r.number != 0 || r.elapsed >= s.elapsed
}
