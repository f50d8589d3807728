package finding

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/internal/human"
	"github.com/quern-dev/quern/slowlog"
)

// A check looks for one thing.
type check struct {
	code, title, why string

	actions []Action
	limit   func(l *Limits) string
	needs   func(e *examiner) string // what is missing for the check, or nil
	cases   func(e *examiner) []Case
}

var checks = []check{
	{
		code: "dominant", title: "One class dominates",
		why: "Whatever else is mended, the whole cannot become faster than this class lets it.",
		actions: []Action{
			{Remove, "Ask first whether it has to run, and so often."},
			{Cache, "Keep its result where an old one does as well."},
			{Tune, "Look at its plan: begin here, with everything else later."},
			{Hardware, "What is left of it after that, share out to replicas."},
		},
		limit: func(l *Limits) string { return human.Percent(l.Dominant) + " of the load" },
		cases: func(e *examiner) []Case {
			return e.each(func(s *subject) (string, float64) {
				if s.load < e.Dominant {
					return "", 0
				}
				return human.Percent(s.load) + " of the load by " + human.Percent(e.part(s.Class)) + " of the statements", 1
			})
		},
	},
	{
		code: "frequent", title: "Fast but very frequent reads",
		why: "No single one is slow, so nobody looks at them; together they load server, network and application, which waits a round trip for each.",
		actions: []Action{
			{Remove, "Ask for the data of many in one statement, and not for what is not used."},
			{Cache, "Keep in the application what seldom changes."},
		},
		limit: func(l *Limits) string {
			return human.Percent(l.Frequent) + " of the statements, p95 up to " + human.Duration(float64(l.Fast))
		},
		needs: needFastTimes,
		cases: func(e *examiner) []Case {
			return casesOf(e.noticed, func(s *subject) (string, float64) {
				p95 := s.QueryTime.Quantile(.95)
				if s.Verb != "SELECT" || s.QueryTime.Observed() == 0 || e.part(s.Class) < e.Frequent || p95 > e.Fast {
					return "", 0
				}
				return fmt.Sprintf("%s statements, %s of all, p95 %s", human.Count(s.Count), human.Percent(e.part(s.Class)), human.Duration(float64(p95))), 1
			})
		},
	},
	{
		code: "rare", title: "Slow but rare",
		why: "While it runs it takes memory and disk from all others, and keeps old row versions alive.",
		actions: []Action{
			{Remove, "Ask who reads its result."},
			{Cache, "Take it from a table of sums that is kept up to date."},
			{Tune, "Run it in parts, or at a quiet time."},
			{Hardware, "Run it on a replica."},
		},
		limit: func(l *Limits) string {
			return fmt.Sprintf("median of %s, %g an hour at most", human.Duration(float64(l.Slow)), l.Rare)
		},
		needs: needTimes,
		cases: func(e *examiner) []Case {
			return e.each(func(s *subject) (string, float64) {
				median := s.QueryTime.Quantile(.5)
				perHour := s.Count / e.hours()
				if median < e.Slow || perHour > e.Rare {
					return "", 0
				}
				return fmt.Sprintf("%s statements, %s an hour, median %s", human.Count(s.Count), human.Rate(perHour), human.Duration(float64(median))), 1
			})
		},
	},
	{
		code: "spread", title: "Query times scatter",
		why:     "One statement is now fast, now slow: some values match far more rows, or it waits for something at times.",
		actions: []Action{{Tune, "Compare the slowest sample with a usual one: their values, their plans, and what ran at the time."}},
		limit: func(l *Limits) string {
			return fmt.Sprintf("p95 of %g medians, %d events at least", l.Spread, l.SpreadEvents)
		},
		cases: func(e *examiner) []Case {
			return e.each(func(s *subject) (string, float64) {
				p50, p95 := s.QueryTime.Quantile(.5), s.QueryTime.Quantile(.95)
				if s.Observed < e.SpreadEvents || p50 <= 0 || float64(p95) < e.Spread*float64(p50) {
					return "", 0
				}
				return fmt.Sprintf("median %s, p95 %s: ×%s", human.Duration(float64(p50)), human.Duration(float64(p95)), human.Count(float64(p95)/float64(p50))),
					1 - s.Count*p50.Seconds()/s.QueryTime.Seconds()
			})
		},
	},
	{
		code: "examined", title: "Many rows examined for each row sent or changed",
		why:     "Rows that are read and thrown away cost as much as those that are used: an index that finds the right ones makes the rest disappear.",
		actions: []Action{{Tune, "Look which condition leaves how many rows, and index the ones that leave few, equalities first."}},
		limit: func(l *Limits) string {
			return fmt.Sprintf("%g for each, %g a statement", l.ExaminedPerRow, l.Examined)
		},
		needs: needMeasures("Rows_examined", digest.RowsExamined),
		cases: func(e *examiner) []Case {
			return e.each(func(s *subject) (string, float64) {
				used := s.Summary(digest.RowsSent).Sum() + s.Summary(digest.RowsAffected).Sum()
				ratio := s.RowsExamined.Sum() / max(used, 1)
				if s.aggregates || s.RowsExamined.Mean() < e.Examined || ratio < e.ExaminedPerRow {
					return "", 0
				}
				return fmt.Sprintf("%s rows examined a statement, %s for each row used", human.Count(s.RowsExamined.Mean()), human.Count(ratio)), 1 - 1/ratio
			})
		},
	},
	flagged("full-scan", "Full table scans", "It reads every row of a table, more with each day that the table grows.",
		[]Action{
			{Remove, "Where no condition narrows, ask whether all rows are needed."},
			{Cache, "Where all are, keep what is made of them."},
			{Tune, "Index the columns of its conditions."},
		},
		[]slowlog.Key{slowlog.KeyFullScan}, true),
	flagged("full-join", "Joins without an index", "For each row of one table it reads all of another: the cost is the product of both.",
		[]Action{{Tune, "Index the joined column of the inner table, in the same type and collation as its partner."}},
		[]slowlog.Key{slowlog.KeyFullJoin}, false),
	flagged("tmp-disk", "Temporary tables on disk", "An intermediate result was too large for memory, or of a type that memory cannot hold.",
		[]Action{
			{Tune, "Select fewer and smaller columns; group and sort by an index."},
			{Hardware, "Then give it memory: tmp_table_size."},
		},
		[]slowlog.Key{slowlog.KeyTmpTableOnDisk, slowlog.KeyTmpDiskTables, slowlog.KeyCreatedTmpDiskTables}, false),
	flagged("sort-disk", "Sorts on disk", "What was to be sorted did not fit the sort buffer and went through files.",
		[]Action{
			{Tune, "Sort by an index, or sort fewer columns and join the others afterwards."},
			{Hardware, "Then give it memory: sort_buffer_size, for this statement alone."},
		},
		[]slowlog.Key{slowlog.KeyFilesortOnDisk, slowlog.KeyMergePasses, slowlog.KeySortMergePasses}, false),
	{
		code: "locks", title: "Waiting for locks",
		why: "It does not work but wait for others, and holds its own locks meanwhile.",
		actions: []Action{
			{Remove, "Move work that needs no lock out of the transactions."},
			{Tune, "Make transactions short, take rows in one order, find them by an index; split hot rows."},
		},
		limit: func(l *Limits) string { return human.Percent(l.Waiting) + " of its time" },
		needs: needMeasures("Lock_time", digest.LockTime, digest.MeasureOf(slowlog.KeyInnoDBRecLockWait)),
		cases: func(e *examiner) []Case {
			return e.each(func(s *subject) (string, float64) {
				waited := max(s.LockTime.Seconds(), s.Summary(digest.MeasureOf(slowlog.KeyInnoDBRecLockWait)).Sum()/1e9)
				part := waited / s.QueryTime.Seconds()
				if part < e.Waiting {
					return "", 0
				}
				return fmt.Sprintf("waits for locks %s of its time, %s in all", human.Percent(part), human.Duration(waited*1e9)), part
			})
		},
	},
	{
		code: "errors", title: "Errors and kills",
		why:     "What ends with an error was done for nothing, and often done again.",
		actions: []Action{{Remove, "Look the error numbers up: 1205 and 1213 are locks, 1317 and 3024 timeouts, 1062 a duplicate key, 1064 broken SQL."}},
		limit:   func(l *Limits) string { return human.Percent(l.Errors) + " of its statements" },
		needs:   needErrors,

		cases: func(e *examiner) (cases []Case) {
			for _, c := range e.all { // what fails at once costs little and matters all the same
				part := c.ErrorCount() / max(c.Count, 1)
				if part < e.Errors {
					continue
				}
				var list []string
				numbers, _ := c.Errors()
				for _, n := range numbers {
					list = append(list, fmt.Sprintf("%s × %d", human.Count(n.Count), n.Number))
				}
				cases = append(cases, Case{Class: c, Evidence: human.Percent(part) + " of its statements: " + strings.Join(list, ", "), Gain: e.profile.Share(c) * part})
			}
			return cases
		},
	},
	{
		code: "pings", title: "Pings",
		why:     "A connection pool that asks before each use whether the connection lives doubles the round trips, and a connection can die right after.",
		actions: []Action{{Remove, "Let the pool check idle connections alone, and repeat a statement whose connection was lost."}},
		limit:   func(l *Limits) string { return human.Percent(l.Pings) + " of all statements and commands" },
		needs:   needFast,
		cases: func(e *examiner) (cases []Case) {
			for _, c := range e.commands {
				if !strings.HasSuffix(c.Fingerprint, ": Ping") || e.part(c) < e.Pings {
					continue
				}
				others := e.statements - c.Count
				cases = append(cases, Case{Class: c, Evidence: fmt.Sprintf("%s pings for %s statements", human.Count(c.Count), human.Count(others)), Gain: e.profile.Share(c)})
			}
			return cases
		},
	},
	{
		code: "no-data", title: "Statements that ask for no data",
		why:     "SELECT 1, SET NAMES and SHOW come from drivers and frameworks, a round trip each, and tell the application nothing it does not know.",
		actions: []Action{{Remove, "Set what has to be set once for each connection, in the driver's options, and drop test queries."}},
		limit:   func(l *Limits) string { return human.Percent(l.Empty) + " of all statements" },
		needs:   needFast,
		cases: func(e *examiner) (cases []Case) {
			for _, s := range e.noticed {
				if e.part(s.Class) >= e.Empty && s.noData {
					cases = append(cases, Case{Class: s.Class, Evidence: fmt.Sprintf("%s statements, %s of all", human.Count(s.Count), human.Percent(e.part(s.Class))), Gain: s.load})
				}
			}
			return cases
		},
	},
	{
		code: "n-plus-one", title: "One statement for each row of another (N+1)",
		why: "A page that asks for a list and then for each of its entries waits a round trip for each.",
		actions: []Action{
			{Remove, "Ask for all in one statement, by a join or an IN list; frameworks call it eager loading."},
			{Cache, "Where the same entries come again, keep them for the length of the page at least."},
		},
		limit: func(l *Limits) string {
			return fmt.Sprintf("%g for each statement of the same page, p95 up to %s", l.Repeats, human.Duration(float64(l.Entry)))
		},
		needs: needFast,
		cases: nPlusOne,
	},
	{
		code: "unprepared", title: "Sent as text each time",
		why:     "The server parses and plans anew what differs in its values alone; for a statement this short that is a good part of its time.",
		actions: []Action{{Tune, "Prepare it once for each connection and send the values."}},
		limit: func(l *Limits) string {
			return human.Percent(l.Frequent) + " of the statements, p95 up to " + human.Duration(float64(l.Short)) + ", samples that differ, no prepared statement in the log"
		},
		needs: needFast,
		cases: func(e *examiner) []Case {
			if slices.ContainsFunc(e.commands, func(c *digest.Class) bool {
				return strings.HasSuffix(c.Fingerprint, ": Prepare") || strings.HasSuffix(c.Fingerprint, ": Execute") || strings.HasSuffix(c.Fingerprint, ": Close stmt")
			}) {
				return nil
			}
			return casesOf(e.noticed, func(s *subject) (string, float64) {
				if e.part(s.Class) < e.Frequent || s.QueryTime.Quantile(.95) > e.Short || s.differing < 2 || s.Summary(digest.MeasureOf(slowlog.KeyPrepared)).Sum() > 0 {
					return "", 0
				}
				return fmt.Sprintf("%s times with its values in the text, p95 %s; %d of %d samples differ", human.Count(s.Count),
					human.Duration(float64(s.QueryTime.Quantile(.95))), s.differing, s.samples), 1
			})
		},
	},
	{
		code: "in-subquery", title: "IN (SELECT …)",
		why:     "Servers before MySQL 5.6 and MariaDB 5.3 run the subquery for each row, later ones where they cannot make a join of it.",
		actions: []Action{{Tune, "Write a join, or EXISTS with an index for it; look in the plan for DEPENDENT SUBQUERY."}},
		limit:   noLimit,
		cases: func(e *examiner) []Case {
			return e.each(func(s *subject) (string, float64) {
				if !s.inSelect {
					return "", 0
				}
				return s.reads(), 1
			})
		},
	},
	{
		code: "leading-wildcard", title: "Patterns that begin with a wildcard",
		why:     "An index is sorted by how values begin: LIKE '%…' cannot use it and reads all of them.",
		actions: []Action{{Tune, "Search with a full-text index or a search server; for ends of words index the reversed text."}},
		limit:   noLimit,
		needs:   needText,
		cases: func(e *examiner) []Case {
			return e.each(func(s *subject) (string, float64) {
				if s.leading == "" {
					return "", 0
				}
				return "a pattern of a sample begins with " + s.leading[:1] + "; " + s.reads(), 1
			})
		},
	},
	{
		code: "random-order", title: "ORDER BY RAND()",
		why: "It gives every row a random number and sorts them all to keep a few.",
		actions: []Action{
			{Cache, "Where anything random does, draw a list once and show it to many."},
			{Tune, "Draw random keys in the application and fetch their rows."},
		},
		limit: noLimit,
		cases: func(e *examiner) []Case {
			return e.each(func(s *subject) (string, float64) {
				if !s.random {
					return "", 0
				}
				return s.reads(), 1
			})
		},
	},
	{
		code: "large-offset", title: "Large offsets",
		why: "The server reads all skipped rows, and the further somebody turns the pages the more.",
		actions: []Action{
			{Remove, "Offer no page that far behind: it is mostly robots that ask for it."},
			{Tune, "Go on from the last row's key: WHERE id > ? ORDER BY id LIMIT n."},
		},
		limit: func(l *Limits) string { return fmt.Sprintf("%g skipped rows", l.Offset) },
		needs: needText,
		cases: func(e *examiner) []Case {
			return e.each(func(s *subject) (string, float64) {
				if float64(s.offset) < e.Offset {
					return "", 0
				}
				return fmt.Sprintf("a sample skips %s rows; %s", human.Count(float64(s.offset)), s.reads()), 1
			})
		},
	},
	{
		code: "unbounded", title: "Results without a bound",
		why: "Without a LIMIT the result grows with the table, until it fills the memory of the client.",
		actions: []Action{
			{Remove, "Ask for what is shown, and let the server count and sum."},
			{Tune, "Give it a LIMIT and fetch in parts."},
		},
		limit: func(l *Limits) string { return fmt.Sprintf("%s rows without a LIMIT", human.Count(l.Result)) },
		needs: needMeasures("Rows_sent", digest.RowsSent),
		cases: func(e *examiner) []Case {
			return e.each(func(s *subject) (string, float64) {
				sent := s.Summary(digest.RowsSent)
				if s.Verb != "SELECT" || s.limited || float64(sent.Max()) < e.Result {
					return "", 0
				}
				return fmt.Sprintf("%s rows sent at most, %s on average", human.Count(float64(sent.Max())), human.Count(sent.Mean())), 1
			})
		},
	},
	{
		code: "bursts", title: "Runs at fixed times",
		why: "Jobs of a schedule take all they need at once; if others wait meanwhile, a quieter time costs nothing.",
		actions: []Action{
			{Remove, "Ask whether the job has to run, and so often."},
			{Tune, "Move it to a quiet hour, and away from the full one, at which every job starts."},
			{Hardware, "Run it on a replica."},
		},
		limit: func(l *Limits) string {
			return fmt.Sprintf("all within %s of the time, or in one minute of the hour; %d events at least", human.Percent(l.Burst), l.BurstEvents)
		},
		needs: needTimes,
		cases: bursts,
	},
	{
		code: "one-client", title: "Load that comes from one user or host",
		why: "A single client that costs far more than its part of the statements can be moved, slowed down or talked to.",
		actions: []Action{
			{Remove, "Ask whose it is, and what for."},
			{Tune, "Give it limits of its own: of connections, of statements an hour, of time for each."},
			{Hardware, "Give it a replica of its own."},
		},
		limit: func(l *Limits) string {
			return fmt.Sprintf("%s of the load, %g times its part of the statements", human.Percent(l.OneClient), l.ClientRatio)
		},
		cases: oneClient,
	},
	{
		code: "threshold", title: "The log leaves out what is fast",
		why:     "What runs a million times and takes a millisecond is often the largest part of the load, and this log cannot show it.",
		actions: []Action{{Measure, "Set long_query_time to 0 for an hour, with a rate limit where there is one."}},
		limit:   func(l *Limits) string { return "nothing below " + human.Duration(float64(l.Threshold)) },
		cases: func(e *examiner) []Case {
			switch t := e.profile.Threshold(); {
			case e.profile.QueryTime.Observed() == 0:
			case e.profile.WholeSeconds():
				return []Case{{Evidence: "all query times are whole seconds"}}
			case t >= e.Threshold:
				return []Case{{Evidence: fmt.Sprintf("the shortest of %s statements took %s", human.Whole(float64(e.profile.QueryTime.Observed())), human.Duration(float64(t)))}}
			}
			return nil
		},
	},
}

func noLimit(l *Limits) string { return human.Percent(l.Load) + " of the load" }

// reads says what a class reads and takes.
func (s *subject) reads() string {
	out := "median " + human.Duration(float64(s.QueryTime.Quantile(.5)))
	if s.RowsExamined.Observed() > 0 {
		rows := human.Count(s.RowsExamined.Mean()) + " rows"
		if rows == "1 rows" {
			rows = "1 row"
		}
		out += ", " + rows + " examined a statement"
	}
	return out
}

// hours returns how long the profile is, an hour at least.
func (e *examiner) hours() float64 { return max(e.profile.To().Sub(e.profile.From()).Hours(), 1) }

// flagged looks for what the log marks a statement with: a flag, or a count of
// tables or passes. Of large ones alone, where it is no fault of small tables.
func flagged(code, title, why string, actions []Action, keys []slowlog.Key, large bool) check {
	var ms []digest.Measure
	var names []string
	for _, k := range keys {
		ms = append(ms, digest.MeasureOf(k))
		names = append(names, k.String())
	}
	return check{
		code: code, title: title, why: why, actions: actions,
		limit: func(l *Limits) string {
			s := human.Percent(l.Flagged) + " of its statements"
			if large {
				s += fmt.Sprintf(", %s rows examined on average", human.Count(l.Examined))
			}
			return s
		},
		needs: needMeasures(strings.Join(names, " or "), ms...),
		cases: func(e *examiner) []Case {
			return e.each(func(s *subject) (string, float64) {
				for _, m := range ms {
					mean := s.Summary(m).Mean()
					if mean < e.Flagged || large && s.RowsExamined.Mean() < e.Examined {
						continue
					}
					if m.Kind() == slowlog.KindBool {
						return fmt.Sprintf("%s on %s of its statements; %s", m, human.Percent(mean), s.reads()), min(mean, 1)
					}
					return fmt.Sprintf("%s %s a statement; %s", human.Count(mean), m, s.reads()), min(mean, 1)
				}
				return "", 0
			})
		},
	}
}

// nPlusOne looks for classes that read by a key, and more often than every other
// class of the same page, by the page's name in their comments. Without names it
// asks for more: that it reads one table, and that another class sends about as
// many rows as this one runs for each of it.
func nPlusOne(e *examiner) (cases []Case) {
	for _, child := range e.noticed {
		if child.Verb != "SELECT" || !child.byKey || child.aggregates || child.QueryTime.Quantile(.95) > e.Entry {
			continue
		}
		var parent *subject
		for _, s := range e.noticed {
			if s == child || s.Verb != "SELECT" || s.page != child.page {
				continue
			}
			if child.page == "" && (len(child.Tables) != 1 || !sendsAsManyRows(s, child)) {
				continue
			}
			if parent == nil || s.Count > parent.Count {
				parent = s
			}
		}
		if parent == nil || child.Count < e.Repeats*parent.Count {
			continue
		}
		repeats := child.Count / parent.Count
		evidence := fmt.Sprintf("%s for each %s %s, which sends %s rows", human.Count(repeats), parent.Verb,
			strings.Join(parent.Tables, ", "), human.Count(parent.Summary(digest.RowsSent).Mean()))
		if child.page != "" {
			evidence += "; both are of the page " + child.page
		}
		cases = append(cases, Case{Class: child.Class, Evidence: evidence, Gain: child.load * (1 - 1/repeats)})
	}
	return cases
}

// sendsAsManyRows reports whether a class sends about as many rows as another
// one of the same user runs for each of its statements, five at least.
func sendsAsManyRows(parent, child *subject) bool {
	sent, repeats := parent.Summary(digest.RowsSent).Mean(), child.Count/parent.Count
	return repeats >= 5 && sent > repeats/1.5 && sent < repeats*1.5 && sameClients(child.Class, parent.Class)
}

// sameClients reports whether two classes come from the same first user.
func sameClients(a, b *digest.Class) bool {
	x, _ := a.Users()
	y, _ := b.Users()
	return len(x) > 0 && len(y) > 0 && x[0].Name == y[0].Name
}

// bursts looks for classes all of whose statements run within a small part of
// the time, of which a bin is the unit, or in the same minute of different hours.
func bursts(e *examiner) []Case {
	const bins = 48
	from := e.profile.From()
	width := e.profile.To().Sub(from) / bins
	return e.each(func(s *subject) (string, float64) {
		if s.Observed < e.BurstEvents || width <= 0 {
			return "", 0
		}
		if minute, hours := s.minute(); hours >= 3 {
			return fmt.Sprintf("%s statements; those whose times are kept ran at about minute %d of %d hours", human.Count(s.Count), minute, hours), 1
		}
		var active [bins + 1]bool
		for _, iv := range s.Timeline() {
			if iv.Count > 0 {
				first, last := iv.Start.Sub(from)/width, iv.Start.Add(iv.Width-1).Sub(from)/width
				for bin := max(first, 0); bin <= min(last, bins); bin++ {
					active[bin] = true
				}
			}
		}
		n := 0
		var times []string
		for bin, on := range active {
			if !on {
				continue
			}
			n++
			if bin == 0 || !active[bin-1] {
				times = append(times, from.Add(time.Duration(bin)*width).Format("15:04"))
			}
		}
		if float64(n) > e.Burst*bins {
			return "", 0
		}
		if len(times) > 3 {
			times = append(times[:3], "…")
		}
		return fmt.Sprintf("%s statements within %s of the time, from about %s UTC", human.Count(s.Count),
			human.Percent(float64(n)/bins), strings.Join(times, ", ")), 1
	})
}

// minute returns the minute of the hour in which a class runs and of how many hours
// that is known, which are 0 where it runs in others too. A class's timeline is too
// coarse for that, but its first and its last event and its samples have their times.
func (s *subject) minute() (minute, hours int) {
	times := []time.Time{s.FirstSeen(), s.LastSeen()}
	for _, sample := range s.Samples() {
		times = append(times, sample.Time)
	}
	seen := make(map[int64]bool)
	for _, t := range times {
		if t.IsZero() {
			continue
		}
		seen[t.Unix()/3600] = true
		// half a minute before or behind the first, over the full hour too
		if apart := t.Sub(times[0]).Abs() % time.Hour; min(apart, time.Hour-apart) > 30*time.Second {
			return 0, 0
		}
	}
	return times[0].Minute(), len(seen)
}

// oneClient looks for users and hosts whose part of the load is far above their
// part of the statements. A class's load is divided by its counts.
func oneClient(e *examiner) (cases []Case) {
	for _, kind := range []struct {
		name string
		of   func(*digest.Class) ([]digest.Value, float64)
	}{{"user", (*digest.Class).Users}, {"host", (*digest.Class).Hosts}} {
		type sums struct{ load, count float64 }
		by := make(map[string]sums)
		for _, c := range e.all {
			values, _ := kind.of(c)
			for _, v := range values {
				t := by[v.Name]
				t.load += e.profile.Share(c) * v.Count / max(c.Count, 1)
				t.count += v.Count
				by[v.Name] = t
			}
		}
		if len(by) < 2 {
			continue
		}
		for _, name := range sortedKeys(by) {
			t := by[name]
			part := t.count / max(e.statements, 1)
			if t.load < e.OneClient || part*e.ClientRatio > t.load {
				continue
			}
			cases = append(cases, Case{Evidence: fmt.Sprintf("%s %s: %s of the load by %s of the statements", kind.name, name, human.Percent(t.load), human.Percent(part)), Gain: t.load})
		}
	}
	return cases
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// What a check may need of the log.

func needTimes(e *examiner) string {
	if e.profile.To().Sub(e.profile.From()) <= 0 {
		return "the times of the statements"
	}
	return ""
}

func needFast(e *examiner) string {
	if e.profile.Threshold() >= e.Threshold || e.profile.WholeSeconds() {
		return "fast statements: long_query_time=0"
	}
	return ""
}

// needFastTimes is needFast for what is said of times: a general log has none.
func needFastTimes(e *examiner) string {
	if e.profile.QueryTime.Observed() == 0 {
		return "query times"
	}
	return needFast(e)
}

// needErrors goes by what servers write that write error numbers: a statement
// without an error has none in a profile.
func needErrors(e *examiner) string {
	for _, s := range e.all {
		if s.ErrorCount() > 0 {
			return ""
		}
	}
	return needMeasures("error numbers: those of Percona Server, or log_slow_extra",
		digest.MeasureOf(slowlog.KeyBytesReceived), digest.MeasureOf(slowlog.KeyTmpTableSizes), digest.MeasureOf(slowlog.KeyInnoDBIOROps))(e)
}

func needText(e *examiner) string {
	for _, s := range e.all {
		if sample := s.Sample(); sample != nil && !sample.Redacted {
			return ""
		}
	}
	return "statements with their literals"
}

func needMeasures(name string, ms ...digest.Measure) func(e *examiner) string {
	return func(e *examiner) string {
		for _, s := range e.all {
			for _, m := range ms {
				if s.Summary(m).Observed() > 0 {
					return ""
				}
			}
		}
		return name
	}
}
