// Package perfschema has what a server itself counted, in the tables of
// performance_schema that sum up statements by their digest, as classes of a
// digest.Profile. Nothing is logged and no statement is missed for being fast.
//
//	p := perfschema.New(db)
//	if _, err := p.Poll(ctx, nil); err != nil { // from here on
//		return err
//	}
//	for range time.Tick(time.Minute) {
//		var agg digest.Aggregator
//		if _, err := p.Poll(ctx, &agg); err != nil {
//			return err
//		}
//		export(agg.Profile()) // the last minute
//	}
//
// # What is read
//
// events_statements_summary_by_digest of MySQL 8.0 or newer, Percona Server 8.0 or
// newer and MariaDB 10.5 or newer gives counts, errors, sums and a sample;
// events_statements_histogram_by_digest, which MariaDB does not have, the
// distribution of the times. The account needs SELECT on the tables. The server's
// counters only rise: what is counted here is their difference from one Poll to
// the next. What a Poll itself asks of the server is among the statements that
// the next one counts. A Poll reads the tables whole: where 10,000 digests have
// histograms that takes the server in the order of a second.
//
// Prepared statements have a digest of their own on MySQL 9.7 for each of what is
// done with them. Executions belong to the class of the statement, as in a slow log.
// Preparing and closing are the administrator commands Prepare and "Close stmt", as a
// log calls them if the binary protocol was used; the server has no other digest for
// the statements PREPARE and DEALLOCATE PREPARE, which are in a log as such. On MariaDB
// 10.11 what the binary protocol does has no digest and is in no row.
//
// # Exactness
//
// Counts and sums are the server's, times to a nanosecond. The server's times
// include what a slow log's Query_time leaves out, such as writing that log: some
// microseconds.
//
// The buckets of MySQL's histogram are a factor of 10^(1/50) wide, 4.7 %, from 10 µs
// to 2.5 hours. Values count as if they were the geometric middle of their bucket,
// or the shortest or longest time that the server noted of the digest, if that is
// nearer. So a quantile is within 2.4 % of the true value, and within 3.4 % by the
// time it has gone through digest.Histogram; below 10 µs it is within 10 µs. The
// server's own QUANTILE_95, QUANTILE_99 and QUANTILE_999 are upper ends of the same
// buckets, of all time since the table was emptied, and are not read.
//
// Without histogram (Stats.Histograms tells) the shortest and the longest time are
// known if they belong to the interval for certain, and all others count as their
// mean: sums are right, and percentiles are little more than means.
//
// # The same classes as a slow log's
//
// A digest belongs to the class of its sample, QUERY_SAMPLE_TEXT, and so to the
// same class as the statements of a slow log. Where the server cut the sample off
// or has none, as MariaDB, its text is DIGEST_TEXT, whose lists (...) say no more
// than that there was more than one literal: they count as two. That makes the same
// class for lists that fingerprints collapse, those of IN and VALUES, and for pairs
// such as LIMIT ?, ?; not for a function of three literals. Join settles such
// cases on MySQL.
package perfschema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/internal/stopped"
	"github.com/quern-dev/quern/slowlog"
)

// The errors that tell why there is nothing to be had from a server.
var (
	// ErrOff means that the server counts no digests.
	ErrOff = errors.New("the server counts no statements by digest")
	// ErrDenied means that the account may not read a table.
	ErrDenied = errors.New("the account may not read a table of performance_schema")
)

const (
	summaryTable   = "events_statements_summary_by_digest"
	histogramTable = "events_statements_histogram_by_digest"
)

// A Poller remembers what a server had counted at the last Poll. Its memory is
// bounded by the server's performance_schema_digests_size, and by the number of
// classes given to Join. It is not for concurrent use.
type Poller struct {
	db     *sql.DB
	rows   map[key]*row
	time   time.Time              // of the last Poll, by the server's clock
	joined map[string]string      // statements of the classes given to Join, by digest
	asked  map[digest.ID]struct{} // of those classes
}

// New returns a Poller of the server that db connects to. db stays the caller's.
func New(db *sql.DB) *Poller {
	return &Poller{
		db:     db,
		rows:   make(map[key]*row),
		joined: make(map[string]string),
		asked:  make(map[digest.ID]struct{}),
	}
}

// Stats tell of one Poll.
type Stats struct {
	// Digests is the number of rows of the server's table, each a digest in a
	// schema.
	Digests int
	// Reset tells that the table was emptied since the last Poll, or the server
	// restarted. What ran between that Poll and the reset is lost; what ran since
	// is counted.
	Reset bool
	// Evicted is the number of rows that are gone although the table was not
	// emptied. What they counted since the last Poll is lost.
	Evicted int
	// Overflowed is the number of statements of which the server kept no digest,
	// as its table was full. They are in the profile's overflow, not in a class.
	Overflowed uint64
	// Histograms tells that the times have a distribution, not a mean only.
	Histograms bool
}

// Poll adds to agg what the server counted since the last Poll; the first one,
// what it counted since its table was emptied. If agg is nil, it is added nowhere.
// After an error nothing was added, and the next Poll covers its time too.
//
// The error wraps ErrOff or ErrDenied if that is what is wrong.
//
// A class was first seen when the server says so, if that is after the last Poll;
// else at the time of that Poll.
func (p *Poller) Poll(ctx context.Context, agg *digest.Aggregator) (Stats, error) {
	s, err := p.read(ctx)
	if err != nil {
		return Stats{}, fmt.Errorf("perfschema: %w", stopped.Error(ctx, err))
	}
	stats := Stats{Digests: len(s.rows), Histograms: s.histograms}
	kept := 0
	for _, k := range slices.SortedFunc(maps.Keys(s.rows), key.compare) {
		r, before := s.rows[k], p.rows[k]
		if before != nil {
			if r.beganAfter(before) {
				stats.Reset = true
				before = nil
			} else {
				kept++
			}
		}
		c := p.counts(k, r, before)
		if k.overflow() {
			c.SQL, c.Command = "", ""
			stats.Overflowed += c.Count
		}
		if agg != nil {
			agg.AddCounts(c)
		}
	}
	if kept == 0 && len(p.rows) > 0 {
		stats.Reset = true
	}
	if !stats.Reset {
		stats.Evicted = len(p.rows) - kept
	}
	p.rows, p.time = s.rows, s.time
	return stats, nil
}

// counts returns what r counted since it was before, which is nil if r is new.
// It notes in r which values of its histogram were given out.
func (p *Poller) counts(k key, r, before *row) digest.Counts {
	if before == nil {
		before = new(row)
	}
	command, _ := r.prepared()
	c := digest.Counts{
		SQL:       p.text(k, r),
		Command:   command,
		Schema:    k.schema.String,
		Count:     r.count - before.count,
		Errors:    min(r.errors-before.errors, r.count-before.count), // a statement may have several
		TotalTime: duration(r.time - before.time),
		Sums:      make(map[digest.Measure]uint64),
		Last:      r.last,
		Sample:    r.sample,
	}
	if c.First = r.first; c.First.Before(p.time) {
		c.First = p.time
	}
	if c.First.After(c.Last) { // which may have no fraction of a second
		c.First = c.Last
	}
	if !r.sampleSeen.Before(c.First) {
		c.SampleTime = duration(r.sampleTime)
	}
	for i, f := range fields {
		if r.known[i] {
			c.Sums[f.measure] = (r.sums[i] - before.sums[i]) / f.divisor()
		}
	}
	if r.buckets != nil {
		c.Times = r.times(before, c.Count)
	} else {
		c.Times = r.extremes(before, c.Count, c.TotalTime)
	}
	return c
}

// text returns a statement of the digest, or else the text of the digest.
func (p *Poller) text(k key, r *row) string {
	if s, ok := p.joined[k.digest.String]; ok {
		return s
	}
	_, text := r.prepared()
	text = strings.ReplaceAll(strings.ReplaceAll(text, "(...)", "(?, ?)"), ", ...", ", ?")
	if r.sample == "" || strings.HasSuffix(r.sample, "...") && !strings.HasSuffix(text, "...") {
		return text
	}
	return r.sample
}

// Join asks the server for the digest of each class of the profile, by the class's
// sample and once in the Poller's life. What the server counts of those digests
// then belongs to those classes at every Poll, also where the server keeps no more
// than the beginning of its own sample. Where the server has one digest for what
// are several classes, it belongs to the class of the largest total time. It returns
// how many classes of the profile were joined now: classes without a sample are
// not, nor are those whose sample the server cannot parse because it was cut off.
//
// Executions by the binary protocol have another digest, which Join does not find.
//
// MariaDB has no function STATEMENT_DIGEST: there the error wraps
// errors.ErrUnsupported, and classes agree as far as the digest's text goes.
func (p *Poller) Join(ctx context.Context, prof *digest.Profile) (classes int, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("perfschema: %w", stopped.Error(ctx, err))
		}
	}()
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if maria, err := isMariaDB(ctx, conn); err != nil {
		return 0, err
	} else if maria {
		return 0, fmt.Errorf("MariaDB tells no digest of a statement: %w", errors.ErrUnsupported)
	}
	ask, err := conn.PrepareContext(ctx, "SELECT STATEMENT_DIGEST(?)")
	if err != nil {
		return 0, err
	}
	defer ask.Close()
	for _, c := range prof.Top(prof.Len(), digest.ByTotalTime) {
		s := c.Sample()
		if _, ok := p.asked[c.ID]; ok || c.Kind != digest.Statements || s == nil {
			continue
		}
		var id sql.NullString
		if err := ask.QueryRowContext(ctx, s.Query).Scan(&id); err != nil {
			if ping := conn.PingContext(ctx); ping != nil {
				return classes, ping
			}
			// The connection is well, so it is the statement.
		}
		p.asked[c.ID] = struct{}{}
		if _, ok := p.joined[id.String]; id.Valid && !ok {
			p.joined[id.String] = s.Query
			classes++
		}
	}
	return classes, nil
}

func isMariaDB(ctx context.Context, conn *sql.Conn) (bool, error) {
	var version string
	err := conn.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version)
	return strings.Contains(version, "MariaDB"), err
}

// field is a column that is a sum of a measure.
type field struct {
	column  string
	measure digest.Measure
}

// fields are the columns for which slow logs have a measure of the same meaning.
var fields = [...]field{
	{"SUM_LOCK_TIME", digest.LockTime},
	{"SUM_ROWS_SENT", digest.RowsSent},
	{"SUM_ROWS_EXAMINED", digest.RowsExamined},
	{"SUM_ROWS_AFFECTED", digest.RowsAffected},
	{"SUM_CREATED_TMP_DISK_TABLES", digest.MeasureOf(slowlog.KeyCreatedTmpDiskTables)},
	{"SUM_CREATED_TMP_TABLES", digest.MeasureOf(slowlog.KeyCreatedTmpTables)},
	{"SUM_SORT_MERGE_PASSES", digest.MeasureOf(slowlog.KeySortMergePasses)},
	{"SUM_SORT_RANGE", digest.MeasureOf(slowlog.KeySortRangeCount)},
	{"SUM_SORT_ROWS", digest.MeasureOf(slowlog.KeySortRows)},
	{"SUM_SORT_SCAN", digest.MeasureOf(slowlog.KeySortScanCount)},
}

// divisor makes the unit of the measure of that of the column.
func (f *field) divisor() uint64 {
	if f.measure.Kind() == slowlog.KindDuration {
		return picosecondsPerNanosecond
	}
	return 1
}

const picosecondsPerNanosecond = 1000

// duration converts from the unit of performance_schema. No number of
// picoseconds that it holds is too many nanoseconds.
func duration(picoseconds uint64) time.Duration {
	return time.Duration(picoseconds / picosecondsPerNanosecond)
}
