package indexadvisor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"time"
)

// clusterRows is how many neighbouring rows of the primary key a sample
// reads at each place. Neighbours resemble each other, so that many places
// say more than many rows.
const clusterRows = 100

// Count counts all rows of a small table and samples a big one.
func (d *Database) Count(ctx context.Context, q CountRequest) (*Counts, error) {
	c := &Counts{}
	err := d.session(ctx, func(conn *sql.Conn) error {
		mask := "0"
		for i, p := range q.Predicates {
			mask += fmt.Sprintf(" + ((%s) IS TRUE) * %d", p.SQL, uint64(1)<<i)
		}
		s, err := d.sample(ctx, conn, q.Table)
		if err != nil {
			return err
		}
		c.Sampled, c.Note = s != nil, s.note()
		cells := map[int64]Cluster{}
		read := func(statement string) error {
			rows, err := conn.QueryContext(ctx, statement)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				var g, n int64
				var met uint64
				if err := rows.Scan(&g, &met, &n); err != nil {
					return err
				}
				cells[g] = append(cells[g], Cell{met, n})
				c.Read += n
			}
			return rows.Err()
		}
		if s == nil {
			err := read("SELECT 0 AS g, m, COUNT(*) AS n FROM (SELECT " + mask + " AS m FROM " + quoteTable(q.Table.Schema, q.Table.Name) + ") s GROUP BY m")
			c.Clusters = []Cluster{cells[0]}
			c.Rows = float64(c.Read)
			return err
		}
		for from := 0; from < len(s.places); from += placesPerStatement {
			to := min(from+placesPerStatement, len(s.places))
			if err := read("SELECT g, m, COUNT(*) AS n FROM (" + s.union(from, to, mask+" AS m") + ") s GROUP BY g, m"); err != nil {
				return err
			}
		}
		for i := range s.places {
			c.Clusters = append(c.Clusters, cells[int64(i)])
		}
		c.Rows = float64(q.Table.Rows)
		if c.Read < s.want/10 && s.width != nil {
			c.Note = strings.TrimSpace(c.Note + fmt.Sprintf(" the primary key has wide gaps, so that the sample is of %d rows only", c.Read))
		}
		if c.Read == 0 {
			return errors.New("the sample of the table is empty")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Distinct counts the values in the rows that Count would read. From a sample
// it estimates by n d / (n - f1 + f1 n/N), where f1 values were seen once (Duj1
// of Haas, Naughton, Seshadri and Stokes, VLDB 1995).
func (d *Database) Distinct(ctx context.Context, t *Table, parts []Part) (Distinct, error) {
	var out Distinct
	err := d.session(ctx, func(conn *sql.Conn) error {
		var exprs, names []string
		for i, p := range parts {
			e := quote(p.Name)
			if p.Length > 0 {
				e = fmt.Sprintf("LEFT(%s, %d)", e, p.Length)
			}
			exprs = append(exprs, fmt.Sprintf("%s AS c%d", e, i))
			names = append(names, fmt.Sprintf("c%d", i))
		}
		s, err := d.sample(ctx, conn, t)
		if err != nil {
			return err
		}
		list := strings.Join(exprs, ", ")
		from := "SELECT " + list + " FROM " + quoteTable(t.Schema, t.Name)
		if s != nil {
			from = s.union(0, min(len(s.places), 4*placesPerStatement), list)
		}
		by := strings.Join(names, ", ")
		var values, once, n sql.NullFloat64
		err = conn.QueryRowContext(ctx, "SELECT COUNT(*), SUM(n = 1), SUM(n) FROM (SELECT "+by+", COUNT(*) AS n FROM ("+from+") s GROUP BY "+by+") d").
			Scan(&values, &once, &n)
		if err != nil {
			return err
		}
		out = Distinct{Values: values.Float64, Read: int64(n.Float64), Sampled: s != nil}
		if s != nil && n.Float64 > 0 {
			total := max(float64(t.Rows), n.Float64)
			out.Values = n.Float64 * values.Float64 / (n.Float64 - once.Float64 + once.Float64*n.Float64/total)
		}
		return nil
	})
	return out, err
}

// sampling is where a table's sample is read.
type sampling struct {
	table  string
	index  string // the key to read by; "" for the beginning of the table
	column string // its first column
	places []string
	width  *big.Int // rows with column in [place, place + width); nil: the next rows
	limit  int64    // most rows of a place
	want   int64    // rows wanted in all
	why    string
}

const placesPerStatement = 50

func (s *sampling) note() string {
	if s == nil {
		return ""
	}
	return s.why
}

// sample plans the sample of a table, nil if all rows are to be counted.
func (d *Database) sample(ctx context.Context, conn *sql.Conn, t *Table) (*sampling, error) {
	exact, most := d.ExactRows, d.SampleRows
	if exact <= 0 {
		exact = 200_000
	}
	if most <= 0 {
		most = 40_000
	}
	if t.Rows <= exact {
		return nil, nil
	}
	want := max(1000, min(most, t.Rows/25))
	s := &sampling{table: quoteTable(t.Schema, t.Name), want: want, limit: want}
	pk := t.primaryKey()
	if pk == nil {
		s.places = []string{""}
		s.why = "the table has no primary key: its first rows were counted, which may not be like the others"
		return s, nil
	}
	s.index, s.column = quote(pk.Name), quote(pk.Parts[0].Name)
	var low, high sql.NullString
	if err := conn.QueryRowContext(ctx, "SELECT MIN("+s.column+"), MAX("+s.column+") FROM "+s.table).Scan(&low, &high); err != nil {
		return nil, err
	}
	if !low.Valid || !high.Valid {
		return nil, nil
	}
	// The same table gives the same sample: advice does not change by chance.
	h := fnv.New64a()
	h.Write([]byte(t.Schema + "\x00" + t.Name))
	rnd := rand.New(rand.NewPCG(h.Sum64(), 1))
	places := int(want / clusterRows)
	s.limit = clusterRows
	col := t.column(pk.Parts[0].Name)
	switch {
	case col.integer():
		s.integers(low.String, high.String, t.Rows, places, rnd)
	case col.temporal() && col.Type != "time":
		s.times(low.String, high.String, places, rnd)
	case col.text() || col.binary():
		s.strings(low.String, high.String, col.binary(), places, rnd)
	default:
		s.places, s.limit = []string{""}, want
		s.why = "the primary key has no order to take a sample by: the first rows were counted, which may not be like the others"
	}
	return s, nil
}

// integers puts one place into each of k equal stretches of the key. All
// windows are equally wide in key values, so that every row has the same
// chance to be read, whatever gaps the key has.
func (s *sampling) integers(low, high string, rows int64, k int, rnd *rand.Rand) {
	lo, _ := new(big.Int).SetString(low, 10)
	hi, _ := new(big.Int).SetString(high, 10)
	if lo == nil || hi == nil {
		s.places = []string{""}
		return
	}
	span := new(big.Int).Sub(hi, lo)
	span.Add(span, big.NewInt(1))
	f, _ := new(big.Float).SetInt(span).Float64()
	stretch := f / float64(k)
	width := math.Max(1, math.Round(stretch*float64(s.want)/float64(rows)))
	s.width, _ = big.NewFloat(width).Int(nil)
	s.limit = 4 * clusterRows
	for i := range k {
		at := float64(i)*stretch + rnd.Float64()*math.Max(0, stretch-width)
		off, _ := big.NewFloat(at).Int(nil)
		s.places = append(s.places, off.Add(off, lo).String())
	}
	s.why = ""
}

// times and strings start at places between the least and the greatest key
// and read on from there: rows after a gap are read more often than others.
func (s *sampling) times(low, high string, k int, rnd *rand.Rand) {
	parse := func(v string) time.Time {
		for _, layout := range []string{time.RFC3339Nano, time.DateTime, time.DateOnly, "2006-01-02 15:04:05.999999"} {
			if t, err := time.Parse(layout, v); err == nil {
				return t
			}
		}
		return time.Time{}
	}
	lo, hi := parse(low), parse(high)
	for i := range k {
		at := lo.Add(time.Duration((float64(i) + rnd.Float64()) / float64(k) * float64(hi.Sub(lo))))
		s.places = append(s.places, "'"+at.Format(time.DateTime)+"'")
	}
	s.why = "the sample starts at evenly spread times of the primary key"
}

func (s *sampling) strings(low, high string, binary bool, k int, rnd *rand.Rand) {
	common := 0
	for common < len(low) && common < len(high) && low[common] == high[common] {
		common++
	}
	number := func(v string) float64 {
		f := 0.0
		for i := range 6 {
			c := 0.0
			if common+i < len(v) {
				c = float64(v[common+i])
			}
			f = f*256 + c
		}
		return f
	}
	lo, hi := number(low), number(high)
	for i := range k {
		n := uint64(lo + (float64(i)+rnd.Float64())/float64(k)*(hi-lo))
		key := []byte(low[:common])
		for j := 5; j >= 0; j-- {
			c := byte(n >> (8 * j))
			if !binary && (c < ' ' || c > '~' || c == '\'' || c == '\\') {
				c = '0' + c%10 // anything that every character set has
			}
			key = append(key, c)
		}
		if binary {
			s.places = append(s.places, fmt.Sprintf("x'%x'", key))
		} else {
			s.places = append(s.places, "'"+escape(string(key))+"'")
		}
	}
	s.why = "the sample starts at evenly spread strings of the primary key"
}

// escape doubles what would end a string in any sql_mode.
func escape(s string) string {
	return strings.NewReplacer("'", "''", `\`, "").Replace(s)
}

// union reads the places from (inclusive) to (exclusive).
func (s *sampling) union(from, to int, list string) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		if i > from {
			b.WriteString(" UNION ALL ")
		}
		fmt.Fprintf(&b, "(SELECT %d AS g, %s FROM %s", i, list, s.table)
		if s.places[i] != "" {
			fmt.Fprintf(&b, " FORCE INDEX (%s) WHERE %s >= %s", s.index, s.column, s.places[i])
			if s.width != nil {
				fmt.Fprintf(&b, " AND %s < %s + %s", s.column, s.places[i], s.width)
			}
			fmt.Fprintf(&b, " ORDER BY %s", s.column)
		}
		fmt.Fprintf(&b, " LIMIT %d)", s.limit)
	}
	return b.String()
}
