package indexadvisor

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// clusterRows is how many neighbouring rows of the primary key a sample
// reads at each place. Neighbours resemble each other, so that many places
// say more than many rows.
const clusterRows = 100

// Count counts all rows of a small table and samples a big one.
func (d *Database) Count(ctx context.Context, q CountRequest) (*Counts, error) {
	c := &Counts{}
	err := d.session(ctx, func(conn *sql.Conn, maria bool) error {
		mask := q.mask()
		cells := map[int64]Cluster{}
		read := func(statement string) error {
			waited, err := d.quiet(ctx, conn, maria)
			if c.Waited += waited; err != nil {
				return err
			}
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
		all := func(from string) error {
			err := read("SELECT 0 AS g, m, COUNT(*) AS n FROM (SELECT " + mask + " AS m FROM " + from + ") s GROUP BY m")
			c.Clusters = []Cluster{cells[0]}
			c.Rows = float64(c.Read)
			return err
		}
		if q.For != nil {
			err := read(q.joined())
			c.Clusters = []Cluster{cells[0]}
			c.Rows, c.Read = float64(c.Read), q.Table.Rows+q.For.Table.Rows
			return err
		}
		if q.Where != 0 {
			from, err := reach(ctx, conn, maria, q)
			if err == nil {
				err = all(from)
			}
			if err == nil && c.Read > q.Most {
				err = ErrOutOfReach // more than was estimated: the rest was not read
			}
			return err
		}
		s, err := d.sample(ctx, conn, maria, q)
		if err != nil {
			return err
		}
		if s == nil {
			return all(q.from())
		}
		c.Sampled, c.Note = true, s.why
		// Each place repeats the conditions, of which a list of ids may be long.
		if all := len(mask) * len(s.places); all > mostText {
			s.thin(all/mostText + 1)
		}
		each := max(1, min(placesPerStatement, statementText/len(mask)))
		for from := 0; from < len(s.places); from += each {
			to := min(from+each, len(s.places))
			if err := read("SELECT g, m, COUNT(*) AS n FROM (" + s.union(from, to, mask+" AS m") + ") s GROUP BY g, m"); err != nil {
				return err
			}
		}
		for i := range s.places {
			c.Clusters = append(c.Clusters, cells[int64(i)])
		}
		c.Rows = float64(s.rows)
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

// mask is the bits of the predicates that a row meets.
func (q CountRequest) mask() string {
	mask := "0"
	for i, p := range q.Predicates {
		mask += fmt.Sprintf(" + ((%s) IS TRUE) * %d", p.SQL, uint64(1)<<i)
	}
	return mask
}

// joined counts the pairs of rows. Both sides are grouped before they meet, so
// that no value, however common, makes more work than each side has groups.
func (q CountRequest) joined() string {
	other := CountRequest{Table: q.For.Table, Partitions: q.For.Partitions}
	where := "TRUE"
	for _, p := range q.For.Predicates {
		where += " AND (" + p.SQL + ")"
	}
	return fmt.Sprintf("SELECT 0 AS g, r.m, CAST(SUM(o.n * r.n) AS UNSIGNED) AS n "+
		"FROM (SELECT v, COUNT(*) AS n FROM (SELECT %s AS v FROM %s WHERE %s) a GROUP BY v) o "+
		"JOIN (SELECT v, m, COUNT(*) AS n FROM (SELECT %s AS v, %s AS m FROM %s) b GROUP BY v, m) r ON r.v = o.v GROUP BY r.m",
		quote(q.For.Column), other.from(), where, quote(q.For.To), q.mask(), q.from())
}

// from is the table as it stands in a FROM clause.
func (q CountRequest) from() string {
	from := quoteTable(q.Table.Schema, q.Table.Name)
	if q.Partitions != nil {
		var names []string
		for _, p := range q.Partitions {
			names = append(names, quote(p))
		}
		from += " PARTITION (" + strings.Join(names, ", ") + ")"
	}
	return from
}

// partitionRows estimates how many rows a request is about.
func partitionRows(ctx context.Context, conn *sql.Conn, q CountRequest) (n int64, err error) {
	if q.Partitions == nil {
		return q.Table.Rows, nil
	}
	err = records(ctx, conn, func(m map[string]sql.NullString) {
		named := func(column string) bool {
			return slices.ContainsFunc(q.Partitions, func(p string) bool { return strings.EqualFold(p, m[column].String) })
		}
		if named("PARTITION_NAME") || named("SUBPARTITION_NAME") {
			n += atoi(m["TABLE_ROWS"])
		}
	}, "SELECT * FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?", q.Table.Schema, q.Table.Name)
	return n, err
}

// reach is a FROM clause that reads the rows of q.Where by the index that the
// server takes for them.
func reach(ctx context.Context, conn *sql.Conn, maria bool, q CountRequest) (string, error) {
	var conds []string
	for i, p := range q.Predicates {
		if q.Where>>i&1 == 1 {
			conds = append(conds, "("+p.SQL+")")
		}
	}
	table := q.from()
	where := " WHERE " + strings.Join(conds, " AND ")
	key, rows, err := planOf(ctx, conn, maria, "SELECT * FROM "+table+where)
	switch {
	case err != nil:
		return "", err
	case !slices.ContainsFunc(q.Table.Indexes, func(ix Index) bool { return ix.Name == key }) || rows > q.Most:
		return "", ErrOutOfReach
	}
	return fmt.Sprintf("%s FORCE INDEX (%s)%s LIMIT %d", table, quote(key), where, q.Most+1), nil
}

// planOf asks for the plan of a SELECT over one table: its key, "" if it
// reads all, and how many rows that is.
func planOf(ctx context.Context, conn *sql.Conn, maria bool, query string) (key string, rows int64, err error) {
	explain := "EXPLAIN FORMAT=TRADITIONAL "
	if maria {
		explain = "EXPLAIN "
	}
	err = records(ctx, conn, func(m map[string]sql.NullString) {
		rows += atoi(m["ROWS"])
		if m["TYPE"].String != "ALL" && m["TYPE"].String != "index" {
			key = m["KEY"].String
		}
	}, explain+query)
	return key, rows, err
}

// Distinct counts the values in the rows that Count would read. From a sample
// it estimates by n d / (n - f1 + f1 n/N), where f1 values were seen once (Duj1
// of Haas, Naughton, Seshadri and Stokes, VLDB 1995).
func (d *Database) Distinct(ctx context.Context, t *Table, parts []Part) (Distinct, error) {
	var out Distinct
	err := d.session(ctx, func(conn *sql.Conn, maria bool) (err error) {
		if out.Waited, err = d.quiet(ctx, conn, maria); err != nil {
			return err
		}
		var exprs, names []string
		for i, p := range parts {
			e := quote(p.Name)
			if p.Length > 0 {
				e = fmt.Sprintf("LEFT(%s, %d)", e, p.Length)
			}
			exprs = append(exprs, fmt.Sprintf("%s AS c%d", e, i))
			names = append(names, fmt.Sprintf("c%d", i))
		}
		s, err := d.sample(ctx, conn, maria, CountRequest{Table: t})
		if err != nil {
			return err
		}
		list := strings.Join(exprs, ", ")
		from := "SELECT " + list + " FROM " + quoteTable(t.Schema, t.Name)
		if s != nil {
			s.thin(4)
			from = s.union(0, min(len(s.places), 4*placesPerStatement), list)
		}
		by := strings.Join(names, ", ")
		null, one := by+" IS NULL", names[0]
		if len(parts) > 1 {
			null, one = "0", "NULL"
		}
		// Few values have the same number of rows, but for the rare ones: these
		// numbers tell all about the common values.
		rows, err := conn.QueryContext(ctx, "SELECT n, COUNT(*), SUM("+null+"), MIN("+one+"), MAX("+one+") FROM (SELECT "+by+", COUNT(*) AS n FROM ("+from+") s GROUP BY "+by+
			") d GROUP BY n ORDER BY n DESC")
		if err != nil {
			return err
		}
		defer rows.Close()
		once := 0.0
		var ends []float64
		for rows.Next() {
			var n, values, nulls float64
			var least, most sql.NullString
			if err := rows.Scan(&n, &values, &nulls, &least, &most); err != nil {
				return err
			}
			if n == 1 {
				once = values
			}
			out.Values += values
			out.Rows += n * values
			out.Nulls += n * nulls
			for _, v := range []sql.NullString{least, most} {
				if f, err := strconv.ParseFloat(v.String, 64); err == nil {
					ends = append(ends, f)
				}
				if v.Valid && len(out.Common) < mostCommon && (s == nil && n > 1 || n >= surely) && !slices.Contains(out.Common, Frequency{v.String, n}) {
					out.Common = append(out.Common, Frequency{v.String, n})
				}
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		if c := t.column(parts[0].Name); c != nil && c.integer() && len(ends) > 0 {
			out.Low, out.High = slices.Min(ends), slices.Max(ends)
		}
		out.Read, out.Sampled = int64(out.Rows), s != nil
		if s != nil && out.Rows > 0 {
			total := max(float64(t.Rows), out.Rows)
			out.Values = out.Rows * out.Values / (out.Rows - once + once*out.Rows/total)
			scale := total / out.Rows
			out.Rows, out.Nulls = total, out.Nulls*scale
			for i := range out.Common {
				out.Common[i].Rows *= scale
			}
		}
		return nil
	})
	return out, err
}

const (
	mostCommon = 200 // values that are told apart
	surely     = 5   // rows of a sample that a value must have to count as common
)

// sampling is where a table's sample is read.
type sampling struct {
	table  string // in a FROM clause
	rows   int64  // of it
	index  string // the key to read by; "" for the beginning of the table
	column string // its first column
	places []place
	limit  int64 // most rows of a place
	want   int64 // rows wanted in all
	why    string
}

// place is where rows are read: those with a key from (inclusive) to
// (exclusive), any if from is "". most is how many, 0 for sampling.limit.
type place struct {
	from, to string
	most     int64
}

const (
	placesPerStatement = 50
	statementText      = 1 << 20  // bytes of conditions in a statement that samples
	mostText           = 32 << 20 // and in all statements of a sample
)

// sample plans the sample of the rows that a request is about, nil if all of them
// are to be counted.
func (d *Database) sample(ctx context.Context, conn *sql.Conn, maria bool, q CountRequest) (*sampling, error) {
	t := q.Table
	rows, err := partitionRows(ctx, conn, q)
	if err != nil {
		return nil, err
	}
	exact, most := d.ExactRows, d.SampleRows
	if exact <= 0 {
		exact = 200_000
	}
	if most <= 0 {
		most = 40_000
	}
	if rows <= exact {
		return nil, nil
	}
	want := max(1000, min(most, rows/33))
	s := &sampling{table: q.from(), rows: rows, want: want, limit: want}
	pk := t.primaryKey()
	if pk == nil {
		s.places = []place{{}}
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
	// The same table gives the same sample, and so does its copy in another
	// schema: advice does not change by chance.
	h := fnv.New64a()
	h.Write([]byte(t.Name))
	rnd := rand.New(rand.NewPCG(h.Sum64(), 1))
	col := t.column(pk.Parts[0].Name)
	var some []string
	if col != nil && col.text() {
		add := func(m map[string]sql.NullString) { some = append(some, m["K"].String) }
		for _, way := range []string{"ASC", "DESC"} {
			if err := records(ctx, conn, add, fmt.Sprintf("SELECT %[1]s AS k FROM %[2]s ORDER BY %[1]s %[3]s LIMIT 100", s.column, s.table, way)); err != nil {
				return nil, err
			}
		}
	}
	keys, ok := keysOf(col, low.String, high.String, some)
	if !ok {
		s.places = []place{{}}
		s.why = "the primary key has no order to take a sample by: the first rows were counted, which may not be like the others"
		return s, nil
	}
	return s, s.spread(keys, rows, rnd, func(from, to string) (n int64, err error) {
		// With a hint that forces the key MySQL would guess.
		_, n, err = planOf(ctx, conn, maria, "SELECT "+s.column+" FROM "+s.table+" WHERE "+s.column+" >= "+from+" AND "+s.column+" < "+to)
		return n, err
	})
}

// spread spreads windows over the key. It is cut into stretches until each
// holds few of the rows, by the server's own estimates; every stretch is then
// covered by windows to the same share, so that every row has the same chance
// to be read, whatever gaps the key has and however wrong the estimates are.
func (s *sampling) spread(k keys, rows int64, rnd *rand.Rand, estimate func(from, to string) (int64, error)) error {
	share := float64(s.want) / float64(rows)
	few := max(rows/int64(maxStretches/4), 1)
	stretches := 0
	var cut func(lo, hi *big.Int) error
	cut = func(lo, hi *big.Int) error {
		width, _ := new(big.Float).SetInt(new(big.Int).Sub(hi, lo)).Float64()
		if width <= 0 {
			return nil
		}
		n, err := estimate(k.literal(lo), k.literal(hi))
		if err != nil {
			return err
		}
		stretches++
		if n > few && width == 1 {
			// A value that many rows have: its share of them.
			if k.several {
				s.why = "many values of the primary key begin alike: of their rows the first were counted, which may not be like the others"
			}
			s.places = append(s.places, place{k.literal(lo), k.literal(hi), max(1, int64(float64(n)*share))})
			return nil
		}
		if n > few && stretches < maxStretches {
			middle := new(big.Int).Add(lo, hi)
			middle.Rsh(middle, 1)
			if err := cut(lo, middle); err != nil {
				return err
			}
			return cut(middle, hi)
		}
		windows := max(1, int(float64(n)*share/clusterRows+0.5))
		part := width / float64(windows)
		// A window narrower than one value is one with that chance.
		open := part * share
		if open < 1 {
			if rnd.Float64() > open {
				return nil
			}
			open = 1
		}
		for i := range windows {
			at := float64(i)*part + rnd.Float64()*max(0, part-open)
			from, _ := big.NewFloat(at).Int(nil)
			from.Add(from, lo)
			size, _ := big.NewFloat(open).Int(nil)
			s.places = append(s.places, place{from: k.literal(from), to: k.literal(size.Add(size, from))})
		}
		return nil
	}
	s.limit = 4 * clusterRows
	return cut(k.low, new(big.Int).Add(k.high, big.NewInt(1)))
}

// maxStretches bounds how often the server is asked for an estimate.
const maxStretches = 256

// thin keeps every k-th place.
func (s *sampling) thin(k int) {
	var kept []place
	for i := 0; i < len(s.places); i += k {
		kept = append(kept, s.places[i])
	}
	s.places = kept
}

// union reads the places from (inclusive) to (exclusive).
func (s *sampling) union(from, to int, list string) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		if i > from {
			b.WriteString(" UNION ALL ")
		}
		fmt.Fprintf(&b, "(SELECT %d AS g, %s FROM %s", i, list, s.table)
		if p := s.places[i]; p.from != "" {
			fmt.Fprintf(&b, " FORCE INDEX (%s) WHERE %s >= %s AND %[2]s < %[4]s ORDER BY %[2]s", s.index, s.column, p.from, p.to)
		}
		fmt.Fprintf(&b, " LIMIT %d)", cmp.Or(s.places[i].most, s.limit))
	}
	return b.String()
}
