package perfschema

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
)

// snapshot is what the server's tables hold.
type snapshot struct {
	time       time.Time
	histograms bool
	rows       map[key]*row
}

func (p *Poller) read(ctx context.Context) (s snapshot, err error) {
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return s, err
	}
	defer conn.Close()
	maria, err := isMariaDB(ctx, conn)
	if err != nil {
		return s, err
	}
	s.histograms = !maria
	if err := checkOn(ctx, conn); err != nil {
		return s, err
	}
	columns, err := columnsOf(ctx, conn, summaryTable)
	if err != nil {
		return s, err
	}
	if s.histograms {
		if _, err := columnsOf(ctx, conn, histogramTable); err != nil {
			return s, err
		}
	}
	var now int64
	if err := conn.QueryRowContext(ctx, "SELECT "+microseconds("NOW(6)")).Scan(&now); err != nil {
		return s, err
	}
	s.time = instant(now)
	if err := s.readSummary(ctx, conn, columns); err != nil {
		return s, fmt.Errorf("reading %s: %w", summaryTable, err)
	}
	if s.histograms {
		if err := s.readHistogram(ctx, conn); err != nil {
			return s, fmt.Errorf("reading %s: %w", histogramTable, err)
		}
	}
	return s, nil
}

// checkOn returns an error that wraps ErrOff if the server's settings say so. Its
// consumers are settings that few accounts may read.
func checkOn(ctx context.Context, conn *sql.Conn) error {
	var on bool
	var size int
	if err := conn.QueryRowContext(ctx, "SELECT @@performance_schema, @@performance_schema_digests_size").Scan(&on, &size); err != nil {
		return err
	}
	switch {
	case !on:
		return fmt.Errorf("%w: performance_schema is OFF, which the configuration sets when the server starts", ErrOff)
	case size == 0:
		return fmt.Errorf("%w: performance_schema_digests_size is 0, which the configuration sets when the server starts", ErrOff)
	}
	if _, err := columnsOf(ctx, conn, "setup_consumers"); err != nil {
		return nil
	}
	off, err := namesOf(ctx, conn, `SELECT NAME FROM performance_schema.setup_consumers
		WHERE NAME IN ('global_instrumentation', 'thread_instrumentation', 'statements_digest') AND ENABLED = 'NO'`)
	if err == nil && len(off) > 0 {
		err = fmt.Errorf("%w: not enabled in performance_schema.setup_consumers: %s", ErrOff, strings.Join(off, ", "))
	}
	return err
}

// columnsOf returns the names of the table's columns that the account may read, in
// upper case. If there are none the error wraps ErrDenied.
func columnsOf(ctx context.Context, conn *sql.Conn, table string) (map[string]bool, error) {
	names, err := namesOf(ctx, conn, `SELECT UPPER(COLUMN_NAME) FROM information_schema.COLUMNS
		WHERE TABLE_SCHEMA = 'performance_schema' AND TABLE_NAME = '`+table+`'`)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%w: SELECT on performance_schema.%s is missing", ErrDenied, table)
	}
	columns := make(map[string]bool)
	for _, name := range names {
		columns[name] = true
	}
	return columns, nil
}

// namesOf returns the one column of a query's rows.
func namesOf(ctx context.Context, conn *sql.Conn, query string) (names []string, err error) {
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

func (s *snapshot) readSummary(ctx context.Context, conn *sql.Conn, columns map[string]bool) error {
	list := []string{"SCHEMA_NAME", "DIGEST", "COALESCE(DIGEST_TEXT, '')", "COUNT_STAR", "SUM_ERRORS",
		"SUM_TIMER_WAIT", "MIN_TIMER_WAIT", "MAX_TIMER_WAIT", microseconds("FIRST_SEEN"), microseconds("LAST_SEEN")}
	var known [len(fields)]bool
	for i, f := range fields {
		if known[i] = columns[f.column]; known[i] {
			list = append(list, f.column)
		}
	}
	sampled := columns["QUERY_SAMPLE_TEXT"]
	if sampled {
		list = append(list, "COALESCE(QUERY_SAMPLE_TEXT, '')", "QUERY_SAMPLE_TIMER_WAIT", microseconds("QUERY_SAMPLE_SEEN"))
	}
	rows, err := conn.QueryContext(ctx, "SELECT "+strings.Join(list, ", ")+" FROM performance_schema."+summaryTable)
	if err != nil {
		return err
	}
	defer rows.Close()
	s.rows = make(map[key]*row)
	for rows.Next() {
		var k key
		var first, last, seen int64
		r := &row{known: known}
		into := []any{&k.schema, &k.digest, &r.text, &r.count, &r.errors, &r.time, &r.min, &r.max, &first, &last}
		for i := range fields {
			if known[i] {
				into = append(into, &r.sums[i])
			}
		}
		if sampled {
			into = append(into, &r.sample, &r.sampleTime, &seen)
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		r.first, r.last, r.sampleSeen = instant(first), instant(last), instant(seen)
		s.rows[k] = r
	}
	return rows.Err()
}

func (s *snapshot) readHistogram(ctx context.Context, conn *sql.Conn) error {
	rows, err := conn.QueryContext(ctx, `SELECT SCHEMA_NAME, DIGEST, BUCKET_NUMBER, BUCKET_TIMER_LOW, BUCKET_TIMER_HIGH, COUNT_BUCKET
		FROM performance_schema.`+histogramTable+` WHERE COUNT_BUCKET > 0 ORDER BY BUCKET_NUMBER`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var k key
		var b bucket
		if err := rows.Scan(&k.schema, &k.digest, &b.number, &b.low, &b.high, &b.count); err != nil {
			return err
		}
		if r := s.rows[k]; r != nil {
			r.buckets = append(r.buckets, b)
		}
	}
	return rows.Err()
}

// microseconds returns the expression of the time in microseconds since 1970,
// whatever the time zones of session and driver.
func microseconds(timestamp string) string {
	return "CAST(1000000 * UNIX_TIMESTAMP(" + timestamp + ") AS SIGNED)"
}

// instant returns the time, which is the zero time for 0.
func instant(microseconds int64) time.Time {
	if microseconds == 0 {
		return time.Time{}
	}
	return time.UnixMicro(microseconds)
}
