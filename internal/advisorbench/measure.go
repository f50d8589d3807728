package advisorbench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// arguments make the servers quick at making indexes, and quiet: nothing but
// the bench asks for pages.
var arguments = []string{
	"--innodb-buffer-pool-size=3G", "--loose-innodb-redo-log-capacity=1G", "--innodb-adaptive-hash-index=OFF",
	"--innodb-stats-auto-recalc=OFF", "--innodb-sort-buffer-size=4M", "--loose-innodb-ddl-buffer-size=256M",
	"--loose-innodb-ddl-threads=2", "--innodb-stats-persistent-sample-pages=64",
}

// work is what a server did for a query.
type work struct {
	pages  float64 // page requests (Innodb_buffer_pool_read_requests)
	rows   float64 // rows touched (Handler_*, with ICP attempts where counted)
	sorted float64
	time   time.Duration // of the CPU where the system tells, else of the clock
	cut    bool          // by the time limit: the work is more
}

// cost weighs the work as the advisor does.
func (w work) cost() float64 { return w.pages + w.rows/4 + w.sorted/2 }

// bench runs queries on one connection of an otherwise idle server.
type bench struct {
	conn    *sql.Conn
	mariadb bool
	idle    float64       // page requests that measuring itself makes
	thread  string        // file that tells the CPU time of the connection's thread, "" if there is none
	limit   time.Duration // after which a query is cut short
	log     []work
}

func newBench(ctx context.Context, db *sql.DB, mariadb bool) (*bench, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	b := &bench{conn: conn, mariadb: mariadb, limit: longest}
	if err := b.findThread(ctx); err != nil {
		return nil, err
	}
	for range 3 {
		w, err := b.once(ctx, "DO 0")
		if err != nil {
			return nil, err
		}
		b.idle = w.pages
	}
	return b, nil
}

// findThread finds out where the CPU time of the connection can be read: other
// programs on the machine do not disturb it.
func (b *bench) findThread(ctx context.Context) error {
	query := "SELECT 'tid', THREAD_OS_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()"
	if b.mariadb {
		query = "SELECT 'tid', TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()"
	}
	m, err := b.status(ctx, query)
	file := fmt.Sprintf("/proc/%.0f/schedstat", m["tid"])
	if _, e := os.Stat(file); e == nil {
		b.thread = file
	}
	return err
}

// clock is the time that the connection has used so far.
func (b *bench) clock() time.Duration {
	if text, err := os.ReadFile(b.thread); err == nil {
		if f := strings.Fields(string(text)); len(f) > 0 {
			ns, _ := strconv.ParseInt(f[0], 10, 64)
			return time.Duration(ns)
		}
	}
	return time.Since(epoch)
}

var epoch = time.Now()

func (b *bench) exec(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if _, err := b.conn.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%.150s: %w", s, err)
		}
	}
	return nil
}

// fill makes the tables.
func (b *bench) fill(ctx context.Context, ts []table) error {
	most := 0
	for _, t := range ts {
		most = max(most, t.rows)
	}
	if err := b.exec(ctx, "CREATE TABLE seq (i BIGINT PRIMARY KEY)", "INSERT INTO seq VALUES (0)"); err != nil {
		return err
	}
	for have := 1; have < most; have *= 2 {
		if err := b.exec(ctx, fmt.Sprintf("INSERT INTO seq SELECT i + %d FROM seq WHERE i + %[1]d < %d", have, most)); err != nil {
			return err
		}
	}
	for _, t := range ts {
		var defs, exprs []string
		for _, c := range t.columns {
			defs = append(defs, c.name+" "+c.typ)
			exprs = append(exprs, c.expr)
		}
		if err := b.exec(ctx,
			"CREATE TABLE "+t.name+" (id INT PRIMARY KEY, "+strings.Join(defs, ", ")+")",
			"SET SESSION unique_checks = 0",
			fmt.Sprintf("INSERT INTO %s SELECT i, %s FROM seq WHERE i < %d ORDER BY i", t.name, strings.Join(exprs, ", "), t.rows),
			"ANALYZE TABLE "+t.name); err != nil {
			return err
		}
	}
	return nil
}

// sampler returns values of random rows, the same ones for a seed.
func (b *bench) sampler(ctx context.Context, seed uint64) sampler {
	rnd := rand.New(rand.NewPCG(seed, 2))
	return func(t table, c column) string {
		var v sql.NullString
		err := b.conn.QueryRowContext(ctx, fmt.Sprintf("SELECT %s FROM %s WHERE id = %d", c.name, t.name, rnd.IntN(t.rows))).Scan(&v)
		switch {
		case err != nil || !v.Valid:
			return "NULL"
		case c.text || c.time():
			return "'" + strings.ReplaceAll(v.String, "'", "''") + "'"
		}
		return v.String
	}
}

// records runs a query and hands out its rows as text.
func (b *bench) records(ctx context.Context, query string, f func([]string)) error {
	rows, err := b.conn.QueryContext(ctx, query)
	if err != nil {
		return fmt.Errorf("%.150s: %w", query, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	vals := make([]sql.NullString, len(names))
	ptrs := make([]any, len(names))
	for i := range vals {
		ptrs[i] = &vals[i]
	}
	for rows.Next() {
		if err := rows.Scan(ptrs...); err != nil {
			return err
		}
		text := make([]string, len(vals))
		for i, v := range vals {
			text[i] = v.String
		}
		f(text)
	}
	return rows.Err()
}

func (b *bench) status(ctx context.Context, query string) (map[string]float64, error) {
	m := map[string]float64{}
	err := b.records(ctx, query, func(r []string) { m[strings.ToLower(r[0])], _ = strconv.ParseFloat(r[1], 64) })
	return m, err
}

// rowsRead is how many rows all connections together have read so far.
func (b *bench) rowsRead(ctx context.Context) (float64, error) {
	name := "Innodb_rows_read"
	if b.mariadb {
		name = "Rows_read" // temporary tables left out
	}
	m, err := b.status(ctx, "SHOW GLOBAL STATUS LIKE '"+name+"'")
	return m[strings.ToLower(name)], err
}

// once runs a query and tells the work it made.
func (b *bench) once(ctx context.Context, query string) (work, error) {
	const pages = "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_read_requests'"
	if err := b.exec(ctx, "FLUSH STATUS"); err != nil {
		return work{}, err
	}
	before, err := b.status(ctx, pages)
	if err != nil {
		return work{}, err
	}
	start := b.clock()
	err = b.drain(ctx, b.limited(query))
	w := work{time: b.clock() - start}
	var e *mysql.MySQLError
	if errors.As(err, &e) && (e.Number == 3024 || e.Number == 1969) { // the time limits of MySQL and MariaDB
		w.cut, err = true, nil
	}
	if err != nil {
		return w, fmt.Errorf("%.150s: %w", query, err)
	}
	after, err := b.status(ctx, pages)
	if err != nil {
		return w, err
	}
	handlers, err := b.status(ctx, "SHOW SESSION STATUS WHERE Variable_name LIKE 'Handler_%' OR Variable_name = 'Sort_rows'")
	if err != nil {
		return w, err
	}
	w.pages = max(0, after["innodb_buffer_pool_read_requests"]-before["innodb_buffer_pool_read_requests"]-b.idle)
	w.sorted = handlers["sort_rows"]
	for _, k := range []string{"read_first", "read_key", "read_last", "read_next", "read_prev", "read_rnd", "read_rnd_next", "write", "update",
		"tmp_write", "tmp_update", "icp_attempts"} {
		w.rows += handlers["handler_"+k]
	}
	// An entry that the pushed condition let pass is counted as read as well.
	w.rows -= handlers["handler_icp_match"]
	return w, nil
}

// limited is the query with the time limit.
func (b *bench) limited(query string) string {
	if rest, ok := strings.CutPrefix(query, "SELECT "); ok && !b.mariadb {
		return fmt.Sprintf("SELECT /*+ MAX_EXECUTION_TIME(%d) */ %s", b.limit.Milliseconds(), rest)
	}
	if b.mariadb {
		return fmt.Sprintf("SET STATEMENT max_statement_time = %.3f FOR %s", b.limit.Seconds(), query)
	}
	return query
}

func (b *bench) drain(ctx context.Context, query string) error {
	rows, err := b.conn.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

// run measures a query until two runs agree, and keeps the least work: the
// server's own threads ask for pages, too.
func (b *bench) run(ctx context.Context, query string) (work, error) {
	least, err := b.once(ctx, query)
	if err != nil {
		return work{}, err
	}
	for range 5 {
		if least.cut || least.time > time.Second {
			break
		}
		w, err := b.once(ctx, query)
		if err != nil {
			return work{}, err
		}
		agree := math.Abs(w.pages-least.pages) <= least.pages/1000
		w.pages, w.time = min(w.pages, least.pages), min(w.time, least.time)
		if least = w; agree {
			break
		}
	}
	b.log = append(b.log, least)
	return least, nil
}

// plan is how the server would run a query: two runs with the same plan do the
// same work.
func (b *bench) plan(ctx context.Context, query string) (string, error) {
	explain := "EXPLAIN FORMAT=TRADITIONAL "
	if b.mariadb {
		explain = "EXPLAIN "
	}
	var steps []string
	err := b.records(ctx, explain+query, func(r []string) {
		// id, select_type, table, (partitions,) type, possible_keys, key, key_len, ref, rows, (filtered,) Extra
		if b.mariadb {
			r = slices.Concat(r[2:4], r[5:8], r[9:])
		} else {
			r = slices.Concat(r[2:3], r[4:5], r[6:9], r[11:])
		}
		steps = append(steps, strings.Join(r, "|"))
	})
	return strings.Join(steps, "\n"), err
}

// index is a possible index.
type index struct {
	table string
	parts []string // quoted where need be, with length and direction
}

func (ix index) key() string  { return ix.table + "(" + strings.Join(ix.parts, ",") + ")" }
func (ix index) name() string { return "k_" + strconv.FormatUint(fnv(ix.key()), 36) }

func fnv(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// keys names a set of indexes, whatever their order.
func keys(set []index) string {
	var out []string
	for _, ix := range set {
		out = append(out, ix.key())
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), " ")
}

// trial is a query with the indexes that it may use.
type trial struct {
	q   *query
	set []index
}

// mostKeys is how many indexes a table may have, less its primary key.
const mostKeys = 63

// longest is how long a query may run.
const longest = 5 * time.Second

// measure runs the trials that were not run yet, and files their work with the
// queries. Indexes are made as many at a time as a table may have; a trial
// sees its own alone. Unless all is wanted in full, a trial is cut short when
// it takes much longer than another one of its query.
func (b *bench) measure(ctx context.Context, trials []trial, full bool) error {
	type job struct {
		trial
		place, key string
	}
	number := map[*query]int{}
	seen := map[*query]map[string]bool{}
	var jobs []job
	for _, t := range trials {
		if _, ok := number[t.q]; !ok {
			number[t.q] = len(number)
			seen[t.q] = map[string]bool{}
		}
		key := keys(t.set)
		if w, ok := t.q.work[key]; ok && !(full && w.cut) || seen[t.q][key] {
			continue
		}
		seen[t.q][key] = true
		place := t.q.from[0].table
		if len(t.q.from) > 1 {
			place = fmt.Sprintf("~%05d", number[t.q]) // joins last, each for itself
		}
		jobs = append(jobs, job{t, place, key})
	}
	slices.SortStableFunc(jobs, func(x, y job) int {
		return strings.Compare(x.place+"\x00"+x.key, y.place+"\x00"+y.key)
	})
	for len(jobs) > 0 {
		if len(jobs[0].set) > mostKeys {
			return fmt.Errorf("a trial with %d indexes", len(jobs[0].set))
		}
		need := map[string][]index{}
		n := 0
		for ; n < len(jobs); n++ {
			full := false
			next := map[string][]index{}
			for _, ix := range jobs[n].set {
				have := func(h index) bool { return h.key() == ix.key() }
				if !slices.ContainsFunc(need[ix.table], have) && !slices.ContainsFunc(next[ix.table], have) {
					next[ix.table] = append(next[ix.table], ix)
					full = full || len(need[ix.table])+len(next[ix.table]) > mostKeys
				}
			}
			if full {
				break
			}
			for t, l := range next {
				need[t] = append(need[t], l...)
			}
		}
		if err := b.alter(ctx, need, func(ix index) string {
			return "ADD INDEX " + ix.name() + " (" + strings.Join(ix.parts, ", ") + ")"
		}); err != nil {
			return err
		}
		for _, j := range jobs[:n] {
			if err := b.try(ctx, j.trial, j.key, full); err != nil {
				return err
			}
		}
		if err := b.alter(ctx, need, func(ix index) string { return "DROP INDEX " + ix.name() }); err != nil {
			return err
		}
		jobs = jobs[n:]
	}
	return nil
}

// try runs a trial, unless another one had the same plan.
func (b *bench) try(ctx context.Context, t trial, key string, full bool) error {
	query := t.q.sql(true, t.set)
	plan, err := b.plan(ctx, query)
	if err != nil {
		return err
	}
	w, ok := t.q.plans[plan]
	if !ok || full && w.cut {
		most, least := longest, math.Inf(1)
		for _, other := range t.q.plans {
			if !full && other.cost() < least {
				least, most = other.cost(), min(longest, 200*time.Millisecond+5*other.time)
			}
		}
		for done := false; !done; most = longest {
			b.limit = most
			if w, err = b.run(ctx, query); err != nil {
				return err
			}
			// What did little work by then was slow for other reasons.
			done = !w.cut || most == longest || w.cost() > 2*least
		}
		t.q.plans[plan] = w
	}
	t.q.work[key] = w
	return nil
}

func (b *bench) alter(ctx context.Context, ixs map[string][]index, clause func(index) string) error {
	for t, list := range ixs {
		var clauses []string
		for _, ix := range list {
			clauses = append(clauses, clause(ix))
		}
		if err := b.exec(ctx, "ALTER TABLE "+t+" "+strings.Join(clauses, ", ")); err != nil {
			return err
		}
	}
	return nil
}

// weights fits time = a pages + b rows + c sorted by least squares of the
// relative error, and tells b/a, c/a, and how the advisor's cost goes with the
// time: the correlation of their logarithms.
func weights(log []work) (rowWeight, sortWeight, correlation float64) {
	// Small queries are all overhead.
	log = slices.DeleteFunc(slices.Clone(log), func(w work) bool { return w.cut || w.cost() < 500 || w.time <= 0 })
	var m [3][4]float64
	var sx, sy, sxx, syy, sxy float64
	for _, w := range log {
		y := w.time.Seconds()
		x := [3]float64{w.pages / y, w.rows / y, w.sorted / y}
		for i := range 3 {
			for j := range 3 {
				m[i][j] += x[i] * x[j]
			}
			m[i][3] += x[i]
		}
		lx, ly := math.Log(w.cost()), math.Log(y)
		sx, sy, sxx, syy, sxy = sx+lx, sy+ly, sxx+lx*lx, syy+ly*ly, sxy+lx*ly
	}
	for i := range 3 { // Gauss-Jordan
		p := m[i][i]
		if p == 0 {
			return 0, 0, 0
		}
		for j := range 4 {
			m[i][j] /= p
		}
		for k := range 3 {
			if k != i {
				f := m[k][i]
				for j := range 4 {
					m[k][j] -= f * m[i][j]
				}
			}
		}
	}
	n := float64(len(log))
	r := (n*sxy - sx*sy) / math.Sqrt((n*sxx-sx*sx)*(n*syy-sy*sy))
	return m[1][3] / m[0][3], m[2][3] / m[0][3], r
}
