package indexadvisor

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// compare runs the query before and after the index is made, and with the
// index forced.
func (t *trial) compare(ctx context.Context, s Suggestion) (err error) {
	v := t.out
	if v.Before, err = t.measure(ctx); err != nil {
		return err
	}
	table := "ALTER TABLE " + t.place(s.Schema, s.Table)
	if err := t.exec(ctx, table+" ADD INDEX "+quote(s.Name)+" "+definition(s.Columns)); err != nil {
		return err
	}
	if err := t.analyze(ctx, s.Schema, s.Table); err != nil {
		return err
	}
	if v.After, err = t.measure(ctx); err != nil {
		return err
	}
	if h := t.server.hidden(); h != "" {
		others, err := t.others(ctx, s)
		if err != nil {
			return err
		}
		for _, name := range others {
			if err := t.exec(ctx, table+" ALTER INDEX "+quote(name)+" "+h); err != nil {
				return err
			}
		}
	}
	if err := t.exec(ctx, "SET SESSION max_seeks_for_key = 1"); err != nil {
		return err
	}
	if v.Forced, err = t.measure(ctx); err != nil {
		return err
	}
	v.SameResult = v.Before.result == v.After.result && v.After.result == v.Forced.result
	v.Verdict = v.verdict(s)
	return nil
}

// others are the table's other indexes that may be hidden.
func (t *trial) others(ctx context.Context, s Suggestion) ([]string, error) {
	tab, err := readTable(ctx, t.conn, t.as[strings.ToLower(s.Schema)], s.Table)
	if err != nil {
		return nil, err
	}
	var out []string
	for i := range tab.Indexes {
		ix := &tab.Indexes[i]
		if ix.Name != s.Name && !ix.Unique && ix.Kind == "BTREE" {
			out = append(out, ix.Name)
		}
	}
	return out, nil
}

func (v *Verification) verdict(s Suggestion) string {
	uses := func(m Measure) bool { return slices.Contains(m.Keys, s.Name) }
	same := ""
	if !v.SameResult {
		same = " The results differ: the statement does not fix which rows it returns (LIMIT without a full order), or it is not deterministic."
	}
	switch {
	case uses(v.After) && v.After.Entries < v.Before.Entries:
		return fmt.Sprintf("The server uses the index and looks at %d entries instead of %d.", v.After.Entries, v.Before.Entries) + same
	case uses(v.After) && v.After.Sorted < v.Before.Sorted:
		return fmt.Sprintf("The server uses the index and sorts %d rows instead of %d.", v.After.Sorted, v.Before.Sorted) + same
	case uses(v.After):
		return "The server uses the index, but looks at no fewer entries." + same
	case uses(v.Forced) && v.Forced.Entries < v.Before.Entries/2:
		return fmt.Sprintf("The server does not choose the index on this sample, though it would look at %d entries instead of %d.", v.Forced.Entries, v.Before.Entries) + same
	}
	return "The server does not use the index." + same
}

// measure explains and runs the query once to warm up and once to count, with
// and without index condition pushdown.
func (t *trial) measure(ctx context.Context) (Measure, error) {
	var m Measure
	var err error
	if m.Keys, err = t.keys(ctx); err != nil {
		return m, err
	}
	if err := t.exec(ctx, "SET SESSION optimizer_switch = 'index_condition_pushdown=off'"); err != nil {
		return m, err
	}
	off, err := t.run(ctx)
	if err != nil {
		return m, err
	}
	if err := t.exec(ctx, "SET SESSION optimizer_switch = 'index_condition_pushdown=on'"); err != nil {
		return m, err
	}
	on, err := t.run(ctx)
	if err != nil {
		return m, err
	}
	on.Keys, on.Entries = m.Keys, off.Read
	return on, nil
}

// keys asks for the plan and lists the index of each table.
func (t *trial) keys(ctx context.Context) ([]string, error) {
	explain := "EXPLAIN FORMAT=TRADITIONAL "
	if t.server.MariaDB {
		explain = "EXPLAIN "
	}
	var keys []string
	err := records(ctx, t.conn, func(m map[string]sql.NullString) {
		if m["TABLE"].Valid {
			keys = append(keys, m["KEY"].String)
		}
	}, explain+t.sql)
	return keys, err
}

// run runs the statement, in a transaction that is rolled back.
func (t *trial) run(ctx context.Context) (m Measure, err error) {
	// FLUSH ends a transaction.
	if err := t.exec(ctx, "FLUSH STATUS", "START TRANSACTION"); err != nil {
		return m, err
	}
	defer func() {
		if e := t.exec(ctx, "ROLLBACK"); err == nil {
			err = e
		}
	}()
	start := time.Now()
	rows, err := t.conn.QueryContext(ctx, t.sql)
	if err != nil {
		return m, fmt.Errorf("indexadvisor: running the statement on the scratch server: %w", err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return m, err
	}
	vals := make([]sql.RawBytes, len(names))
	ptrs := make([]any, len(names))
	for i := range vals {
		ptrs[i] = &vals[i]
	}
	for rows.Next() {
		if err := rows.Scan(ptrs...); err != nil {
			return m, err
		}
		h := sha256.New()
		for _, v := range vals {
			fmt.Fprintf(h, "%t%d:", v == nil, len(v))
			h.Write(v)
		}
		// The sum does not depend on the order of the rows.
		carry := uint(0)
		for i, b := range h.Sum(nil)[:len(m.result)] {
			carry += uint(m.result[i]) + uint(b)
			m.result[i] = byte(carry)
			carry >>= 8
		}
		m.Rows++
	}
	if err := rows.Err(); err != nil {
		return m, fmt.Errorf("indexadvisor: running the statement on the scratch server: %w", err)
	}
	rows.Close()
	m.Time = time.Since(start)
	err = records(ctx, t.conn, func(r map[string]sql.NullString) {
		n, _ := strconv.ParseInt(r["VALUE"].String, 10, 64)
		switch name := strings.ToLower(r["VARIABLE_NAME"].String); {
		case name == "sort_rows":
			m.Sorted = n
		case strings.HasPrefix(name, "handler_read_"):
			m.Read += n
		}
	}, "SHOW SESSION STATUS WHERE Variable_name LIKE 'Handler_read%' OR Variable_name = 'Sort_rows'")
	return m, err
}
