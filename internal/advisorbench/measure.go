package advisorbench

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// work is what a server did for a query.
type work struct {
	pages  float64 // page requests (Innodb_buffer_pool_read_requests)
	rows   float64 // rows touched (Handler_*, with ICP attempts where counted)
	sorted float64
	time   time.Duration
}

// cost weighs the work as the advisor does.
func (w work) cost() float64 { return w.pages + w.rows/4 + w.sorted/2 }

// bench runs queries on one connection of an otherwise idle server.
type bench struct {
	conn    *sql.Conn
	mariadb bool
	idle    float64 // page requests that measuring itself makes
	log     []work
}

func newBench(ctx context.Context, db *sql.DB, mariadb bool) (*bench, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	b := &bench{conn: conn, mariadb: mariadb}
	for range 3 {
		w, err := b.once(ctx, "DO 0")
		if err != nil {
			return nil, err
		}
		b.idle = w.pages
	}
	return b, nil
}

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
	for _, t := range ts {
		var defs, exprs []string
		for _, c := range t.columns {
			defs = append(defs, c.name+" "+c.typ)
			exprs = append(exprs, c.expr)
		}
		if err := b.exec(ctx,
			"CREATE TABLE "+t.name+" (id INT PRIMARY KEY, "+strings.Join(defs, ", ")+")",
			"CREATE TABLE IF NOT EXISTS seq (i BIGINT PRIMARY KEY)", "INSERT IGNORE INTO seq VALUES (0)"); err != nil {
			return err
		}
		for have := 1; have < t.rows; have *= 2 {
			if err := b.exec(ctx, fmt.Sprintf("INSERT IGNORE INTO seq SELECT i + %d FROM seq WHERE i < %[1]d AND i + %[1]d < %d", have, t.rows)); err != nil {
				return err
			}
		}
		if err := b.exec(ctx, fmt.Sprintf("INSERT INTO %s SELECT i, %s FROM seq WHERE i < %d", t.name, strings.Join(exprs, ", "), t.rows), "ANALYZE TABLE "+t.name); err != nil {
			return err
		}
	}
	return nil
}

// sampler returns values of random rows, the same ones for a seed.
func (b *bench) sampler(ctx context.Context, seed uint64) func(t table, c column) string {
	rnd := rand.New(rand.NewPCG(seed, 2))
	return func(t table, c column) string {
		var v sql.NullString
		err := b.conn.QueryRowContext(ctx, fmt.Sprintf("SELECT %s FROM %s WHERE id = %d", c.name, t.name, rnd.IntN(t.rows))).Scan(&v)
		switch {
		case err != nil || !v.Valid:
			return "NULL"
		case c.text || strings.HasPrefix(c.typ, "DATETIME"):
			return "'" + strings.ReplaceAll(v.String, "'", "''") + "'"
		}
		return v.String
	}
}

func (b *bench) status(ctx context.Context, query string) (map[string]float64, error) {
	rows, err := b.conn.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	m := map[string]float64{}
	for rows.Next() {
		var k, v string
		if err := rows.Scan(&k, &v); err != nil {
			return nil, err
		}
		m[strings.ToLower(k)], _ = strconv.ParseFloat(v, 64)
	}
	return m, rows.Err()
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
	start := time.Now()
	rows, err := b.conn.QueryContext(ctx, query)
	if err != nil {
		return work{}, fmt.Errorf("%.150s: %w", query, err)
	}
	for rows.Next() {
	}
	rows.Close()
	spent := time.Since(start)
	if err := rows.Err(); err != nil {
		return work{}, err
	}
	after, err := b.status(ctx, pages)
	if err != nil {
		return work{}, err
	}
	handlers, err := b.status(ctx, "SHOW SESSION STATUS WHERE Variable_name LIKE 'Handler_%' OR Variable_name = 'Sort_rows'")
	if err != nil {
		return work{}, err
	}
	w := work{pages: max(0, after["innodb_buffer_pool_read_requests"]-before["innodb_buffer_pool_read_requests"]-b.idle), time: spent, sorted: handlers["sort_rows"]}
	for _, k := range []string{"read_first", "read_key", "read_last", "read_next", "read_prev", "read_rnd", "read_rnd_next", "write", "update",
		"tmp_write", "tmp_update", "icp_attempts"} {
		w.rows += handlers["handler_"+k]
	}
	// An entry that the pushed condition let pass is counted as read as well.
	w.rows -= handlers["handler_icp_match"]
	return w, nil
}

// run measures a query until two runs agree, and keeps the least work: the
// server's own threads ask for pages, too, most after an index was built.
func (b *bench) run(ctx context.Context, query string) (work, error) {
	least, err := b.once(ctx, query)
	if err != nil {
		return work{}, err
	}
	for range 5 {
		w, err := b.once(ctx, query)
		if err != nil {
			return work{}, err
		}
		agree := max(w.pages, least.pages) <= 1.02*min(w.pages, least.pages)+1
		w.pages, w.time = min(w.pages, least.pages), min(w.time, least.time)
		if least = w; agree {
			break
		}
	}
	b.log = append(b.log, least)
	return least, nil
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

// build makes indexes, hidden from the optimizer.
func (b *bench) build(ctx context.Context, ixs []index) error {
	hidden := " INVISIBLE"
	if b.mariadb {
		hidden = " IGNORED"
	}
	byTable := map[string][]string{}
	for _, ix := range ixs {
		byTable[ix.table] = append(byTable[ix.table], "ADD INDEX "+ix.name()+" ("+strings.Join(ix.parts, ", ")+")"+hidden)
	}
	for t, adds := range byTable {
		if err := b.exec(ctx, "ALTER TABLE "+t+" "+strings.Join(adds, ", ")); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) drop(ctx context.Context, ixs []index) error {
	byTable := map[string][]string{}
	for _, ix := range ixs {
		byTable[ix.table] = append(byTable[ix.table], "DROP INDEX "+ix.name())
	}
	for t, drops := range byTable {
		if err := b.exec(ctx, "ALTER TABLE "+t+" "+strings.Join(drops, ", ")); err != nil {
			return err
		}
	}
	return nil
}

// with shows some of the built indexes to the optimizer while f runs.
func (b *bench) with(ctx context.Context, ixs []index, f func() error) error {
	show, hide := " VISIBLE", " INVISIBLE"
	if b.mariadb {
		show, hide = " NOT IGNORED", " IGNORED"
	}
	for _, ix := range ixs {
		if err := b.exec(ctx, "ALTER TABLE "+ix.table+" ALTER INDEX "+ix.name()+show); err != nil {
			return err
		}
	}
	err := f()
	for _, ix := range ixs {
		if err := b.exec(ctx, "ALTER TABLE "+ix.table+" ALTER INDEX "+ix.name()+hide); err != nil {
			return err
		}
	}
	return err
}

// weights fits time = a pages + b rows + c sorted by least squares and tells
// b/a, c/a, and how much of the time's variance the advisor's cost explains.
func weights(log []work) (rowWeight, sortWeight, explained float64) {
	// Small queries are all overhead.
	log = slices.DeleteFunc(slices.Clone(log), func(w work) bool { return w.cost() < 500 })
	var m [3][4]float64
	var sx, sy, sxx, syy, sxy float64
	for _, w := range log {
		x := [3]float64{w.pages, w.rows, w.sorted}
		y := w.time.Seconds()
		for i := range 3 {
			for j := range 3 {
				m[i][j] += x[i] * x[j]
			}
			m[i][3] += x[i] * y
		}
		c := w.cost()
		sx, sy, sxx, syy, sxy = sx+c, sy+y, sxx+c*c, syy+y*y, sxy+c*y
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
	r := (n*sxy - sx*sy) * (n*sxy - sx*sy) / ((n*sxx - sx*sx) * (n*syy - sy*sy))
	return m[1][3] / m[0][3], m[2][3] / m[0][3], r
}
