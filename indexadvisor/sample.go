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
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
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
	for _, way := range []string{"", " DESC"} {
		if col == nil || !col.text() {
			break
		}
		err := records(ctx, conn, func(m map[string]sql.NullString) { some = append(some, m["K"].String) },
			"SELECT "+s.column+" AS k FROM "+s.table+" ORDER BY "+s.column+way+" LIMIT 100")
		if err != nil {
			return nil, err
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

// keys are the values of a column as numbers, in their order.
type keys struct {
	low, high *big.Int
	literal   func(n *big.Int) string
	several   bool // values have one number
}

// keysOf returns the keys from the least to the greatest value of a column, and
// whether it has an order that numbers can follow. Some of the values tell which
// characters there are behind the first: a key of hexadecimal digits has no others.
func keysOf(c *Column, low, high string, some []string) (keys, bool) {
	switch {
	case c == nil:
	case c.integer():
		lo, ok := new(big.Int).SetString(low, 10)
		hi, ok2 := new(big.Int).SetString(high, 10)
		return keys{low: lo, high: hi, literal: (*big.Int).String}, ok && ok2
	case c.temporal() && c.Type != "time":
		lo, ok := seconds(low)
		hi, ok2 := seconds(high)
		return keys{low: big.NewInt(lo), high: big.NewInt(hi), literal: func(n *big.Int) string {
			return "'" + time.Unix(n.Int64(), 0).UTC().Format(time.DateTime) + "'"
		}}, ok && ok2
	case c.binary():
		lead := commonLead(low, high)
		number := func(s string) *big.Int {
			b := make([]byte, keyDigits)
			copy(b, s[len(lead):])
			return new(big.Int).SetBytes(b)
		}
		return keys{number(low), below(number(high), new(big.Int).Lsh(big.NewInt(1), 8*keyDigits)), func(n *big.Int) string {
			return fmt.Sprintf("x'%x%x'", lead, n.FillBytes(make([]byte, keyDigits)))
		}, true}, true
	case c.text():
		lead := commonLead(low, high)
		alphabet := charactersOf(some, len(lead)+1)
		base := big.NewInt(int64(len(alphabet)))
		digit := func(s string, at int, alphabet []string) int64 {
			if at >= len(s) {
				return 0
			}
			return int64(min(sort.SearchStrings(alphabet, strings.ToLower(s[at:at+1])), len(alphabet)-1))
		}
		number := func(s string) *big.Int {
			n := big.NewInt(digit(s, len(lead), allCharacters))
			for i := 1; i < keyDigits; i++ {
				n.Add(n.Mul(n, base), big.NewInt(digit(s, len(lead)+i, alphabet)))
			}
			return n
		}
		most := new(big.Int).Exp(base, big.NewInt(keyDigits-1), nil)
		most.Mul(most, big.NewInt(int64(len(allCharacters))))
		least := number(low)
		return keys{least, below(number(high), most), func(n *big.Int) string {
			if n.Cmp(least) == 0 {
				return "''" // signs may come before digits
			}
			rest, digit, text := new(big.Int).Set(n), new(big.Int), ""
			for range keyDigits - 1 {
				rest.DivMod(rest, base, digit)
				text = alphabet[digit.Int64()] + text
			}
			// How a backslash reads hangs on the sql_mode.
			return fmt.Sprintf("_utf8mb4 x'%x'", lead+allCharacters[rest.Int64()]+text)
		}, true}, true
	}
	return keys{}, false
}

// keyDigits is how many bytes behind those that all keys have tell strings apart.
const keyDigits = 12

// below returns n, or less if n+1 is not below most.
func below(n, most *big.Int) *big.Int {
	if last := new(big.Int).Sub(most, big.NewInt(2)); last.Cmp(n) < 0 {
		return last
	}
	return n
}

// allCharacters are digits and letters in the order that they have in every
// collation.
var allCharacters = strings.Split("0123456789abcdefghijklmnopqrstuvwxyz", "")

// charactersOf returns those that the strings have from a byte on.
func charactersOf(some []string, from int) (alphabet []string) {
	for _, ch := range allCharacters {
		if slices.ContainsFunc(some, func(s string) bool { return len(s) > from && strings.Contains(strings.ToLower(s[from:]), ch) }) {
			alphabet = append(alphabet, ch)
		}
	}
	if len(alphabet) < 2 {
		return allCharacters
	}
	return alphabet
}

// commonLead returns what both strings begin with, in whole characters.
func commonLead(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return a[:n]
}

// seconds reads a date, with or without a time, as seconds since 1970.
func seconds(v string) (int64, bool) {
	for _, layout := range []string{time.RFC3339Nano, time.DateTime, time.DateOnly} {
		if t, err := time.Parse(layout, v); err == nil {
			return t.Unix(), true
		}
	}
	return 0, false
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
