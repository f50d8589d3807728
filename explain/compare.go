package explain

import (
	"context"
	"database/sql"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/quern-dev/quern/internal/sqlparse"
)

// Order says how the order of two results compares.
type Order string

// The verdicts on order.
const (
	SameOrder      Order = "same"      // both sort, and give the rows in the same order
	DifferentOrder Order = "different" // both sort, by keys that differ
	NotFixed       Order = "not fixed" // one does not sort, or its sort keys tie
)

// Comparison is how two queries compare.
type Comparison struct {
	A, B     Side
	SameRows bool  // the same rows as often, in whatever order
	OnlyA    int   // rows that A has more often than B
	OnlyB    int   // rows that B has more often than A
	Order    Order // meaningful if SameRows
	Notes    []string
}

// Side is one of the two queries.
type Side struct {
	Query   string
	Plan    *Plan
	Rows    int
	Columns []string
	Times   []time.Duration  // of each run, with the reading of all rows; the first run is not among them
	Status  map[string]int64 // session status counters of one run: Handler_*, Select_*, Sort_*, Created_tmp_*; without zeros
}

// Median returns the median of the times, 0 if there are none.
func (s *Side) Median() time.Duration {
	if len(s.Times) == 0 {
		return 0
	}
	t := slices.Sorted(slices.Values(s.Times))
	return t[len(t)/2]
}

// RowsRead returns how many rows storage engines gave to the query: the sum of
// its Handler_read_* counters.
func (s *Side) RowsRead() int64 {
	var n int64
	for name, v := range s.Status {
		if strings.HasPrefix(name, "Handler_read_") {
			n += v
		}
	}
	return n
}

const (
	compareTimeout = time.Minute     // of one run
	compareRuns    = 5               // of each query
	compareBudget  = 5 * time.Second // after which no more runs are begun
	maxCompared    = 2_000_000       // whose hashes are kept
)

// Compare runs two queries on the server and judges them: whether they give the
// same rows, in which order, by which plans, with how much work, in what time.
// The runs are interleaved, in one READ ONLY transaction with one snapshot, on a
// connection of its own that is closed afterwards; nothing is left behind. It
// runs what it is given, so give it no query of strangers. Its schema is the
// connection's.
//
// Rows are compared value by value as text: numbers without trailing zeros, and
// floating-point numbers to 12 digits, since sums depend on the order of their
// terms. Names of columns may differ. Errors are those of Explainer.Explain, but
// for hazards.
func Compare(ctx context.Context, db *sql.DB, a, b string) (*Comparison, error) {
	s, err := openSession(ctx, db, compareTimeout, Mode{}, "")
	if err != nil {
		return nil, err
	}
	defer s.close()
	c := &Comparison{A: Side{Query: a}, B: Side{Query: b}}
	ex := &Explainer{db: db, opts: Options{}}
	for _, stmt := range []string{"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"} {
		if _, err := s.conn.ExecContext(ctx, stmt); err != nil && s.server.Product != TiDB {
			return nil, s.failed(ctx, "START TRANSACTION READ ONLY", err)
		}
	}
	for _, side := range []*Side{&c.A, &c.B} {
		r, err := Rewrite(side.Query, RewriteOptions{Server: s.server})
		if err != nil {
			return nil, err
		}
		if r.Verb != "SELECT" && r.Verb != "TABLE" {
			return nil, &RewriteError{Code: NotAQuery, Verb: r.Verb, Reason: "only queries are compared"}
		}
		p, err := s.query(ctx, ex.prefix(s.server)+r.Select)
		if err != nil {
			return nil, s.failed(ctx, "EXPLAIN", err)
		}
		if side.Plan, err = ex.complete(ctx, s, p, r); err != nil {
			return nil, err
		}
	}
	// The first runs tell the rows and the work, and warm the buffers.
	ra, err := s.measured(ctx, &c.A)
	if err != nil {
		return nil, err
	}
	rb, err := s.measured(ctx, &c.B)
	if err != nil {
		return nil, err
	}
	c.judge(ra, rb)
	start := time.Now()
	for i := 0; i < compareRuns && (i == 0 || time.Since(start) < compareBudget); i++ {
		order := []*Side{&c.A, &c.B}
		if i%2 == 1 {
			slices.Reverse(order) // so that neither always follows the other
		}
		for _, side := range order {
			begin := time.Now()
			if _, err := s.run(ctx, side, false); err != nil {
				return nil, err
			}
			side.Times = append(side.Times, time.Since(begin))
		}
	}
	return c, nil
}

// rowSet is a result: the hash of each row in order, and of each sort key.
type rowSet struct {
	hashes []uint64
	keys   []uint64 // of the columns by which the query sorts; nil if it does not, or by others
	sorts  bool
	limit  bool
}

var rowSeed = maphash.MakeSeed()

// measured runs the query once, and takes what the session's counters grew by.
// Reading them grows them too, by as much each time.
func (s *session) measured(ctx context.Context, side *Side) (*rowSet, error) {
	idle0, err := s.status(ctx)
	if err != nil {
		return nil, err
	}
	before, err := s.status(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := s.run(ctx, side, true)
	if err != nil {
		return nil, err
	}
	after, err := s.status(ctx)
	if err != nil {
		return nil, err
	}
	side.Status = make(map[string]int64)
	for name, v := range after {
		if grown := v - before[name] - (before[name] - idle0[name]); grown > 0 {
			side.Status[name] = grown
		}
	}
	return rows, nil
}

func (s *session) status(ctx context.Context) (map[string]int64, error) {
	rows, err := s.conn.QueryContext(ctx, "SHOW SESSION STATUS WHERE Variable_name LIKE 'Handler\\_%' OR Variable_name LIKE 'Select\\_%' OR Variable_name LIKE 'Sort\\_%' OR Variable_name LIKE 'Created\\_tmp\\_%'")
	if err != nil {
		return nil, s.failed(ctx, "SHOW STATUS", err)
	}
	_, values, err := readRows(rows)
	if err != nil {
		return nil, s.failed(ctx, "SHOW STATUS", err)
	}
	out := make(map[string]int64, len(values))
	for _, v := range values {
		if len(v) == 2 {
			out[v[0].String], _ = strconv.ParseInt(v[1].String, 10, 64)
		}
	}
	return out, nil
}

// run runs the query and reads all rows; keep says whether to keep their hashes.
func (s *session) run(ctx context.Context, side *Side, keep bool) (*rowSet, error) {
	rows, err := s.conn.QueryContext(ctx, side.Plan.Select)
	if err != nil {
		return nil, s.failed(ctx, "the query", err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, s.failed(ctx, "the query", err)
	}
	values := make([]sql.RawBytes, len(columns))
	dest := make([]any, len(columns))
	for i := range values {
		dest[i] = &values[i]
	}
	if !keep {
		for rows.Next() {
			if err := rows.Scan(dest...); err != nil {
				return nil, s.failed(ctx, "the query", err)
			}
		}
		return nil, s.ended(ctx, rows)
	}
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, s.failed(ctx, "the query", err)
	}
	kinds := make([]string, len(types))
	for i, t := range types {
		kinds[i] = strings.TrimPrefix(t.DatabaseTypeName(), "UNSIGNED ")
	}
	out := &rowSet{}
	var by []int
	by, out.sorts, out.limit = sortColumns(side.Plan.Select, columns)
	var row, key maphash.Hash
	row.SetSeed(rowSeed)
	key.SetSeed(rowSeed)
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return nil, s.failed(ctx, "the query", err)
		}
		if len(out.hashes) == maxCompared {
			return nil, fmt.Errorf("explain: results of more than %d rows are not compared", maxCompared)
		}
		row.Reset()
		for i, v := range values {
			hashValue(&row, kinds[i], v)
		}
		out.hashes = append(out.hashes, row.Sum64())
		if by != nil {
			key.Reset()
			for _, i := range by {
				hashValue(&key, kinds[i], values[i])
			}
			out.keys = append(out.keys, key.Sum64())
		}
	}
	side.Rows, side.Columns = len(out.hashes), columns
	return out, s.ended(ctx, rows)
}

func (s *session) ended(ctx context.Context, rows *sql.Rows) error {
	if err := rows.Err(); err != nil {
		return s.failed(ctx, "the query", err)
	}
	return nil
}

func hashValue(h *maphash.Hash, kind string, v sql.RawBytes) {
	if v == nil {
		h.WriteByte(0)
		return
	}
	text := string(v)
	switch kind {
	case "FLOAT", "DOUBLE":
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			text = strconv.FormatFloat(f, 'g', 12, 64)
		}
	case "DECIMAL":
		if strings.Contains(text, ".") {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
		if text == "-0" {
			text = "0"
		}
	}
	h.WriteByte(1)
	fmt.Fprintf(h, "%d:%s", len(text), text)
}

// sortColumns returns the places of the columns by which the query sorts; nil if
// it sorts by something that is no column of the result.
func sortColumns(query string, columns []string) (by []int, sorts, limit bool) {
	stmt, err := sqlparse.Parse(query, sqlparse.Options{})
	if err != nil {
		return nil, false, false
	}
	var order *ast.OrderByClause
	var fields *ast.FieldList
	switch s := stmt.(type) {
	case *ast.SelectStmt:
		order, fields, limit = s.OrderBy, s.Fields, s.Limit != nil
	case *ast.SetOprStmt:
		order, limit = s.OrderBy, s.Limit != nil
	}
	if order == nil {
		return nil, false, limit
	}
	for _, item := range order.Items {
		at := -1
		switch x := item.Expr.(type) {
		case *ast.PositionExpr:
			at = x.N - 1
		case *ast.ColumnNameExpr:
			at = slices.IndexFunc(columns, func(c string) bool { return strings.EqualFold(c, x.Name.Name.O) })
		default:
			if fields != nil {
				at = slices.IndexFunc(fields.Fields, func(f *ast.SelectField) bool {
					return f.Expr != nil && f.Expr.OriginalText() != "" && f.Expr.OriginalText() == x.OriginalText()
				})
			}
		}
		if at < 0 || at >= len(columns) {
			return nil, true, limit
		}
		by = append(by, at)
	}
	return by, true, limit
}

func (c *Comparison) judge(a, b *rowSet) {
	if len(c.A.Columns) != len(c.B.Columns) {
		c.Notes = append(c.Notes, fmt.Sprintf("A has %d columns, B %d", len(c.A.Columns), len(c.B.Columns)))
	}
	seen := make(map[uint64]int, len(a.hashes))
	for _, h := range a.hashes {
		seen[h]++
	}
	for _, h := range b.hashes {
		seen[h]--
	}
	for _, n := range seen {
		if n > 0 {
			c.OnlyA += n
		} else {
			c.OnlyB -= n
		}
	}
	c.SameRows = c.OnlyA == 0 && c.OnlyB == 0 && len(c.A.Columns) == len(c.B.Columns)
	total := a.total() && b.total()
	switch {
	case !a.sorts || !b.sorts:
		c.Order = NotFixed
		c.Notes = append(c.Notes, "without ORDER BY in both, nothing fixes the order of the rows")
	case slices.Equal(a.hashes, b.hashes):
		c.Order = SameOrder
	case a.keys == nil || b.keys == nil:
		c.Order = NotFixed
		c.Notes = append(c.Notes, "the rows come in different orders; ORDER BY is by something that is not in the result, so ties cannot be told")
	case slices.Equal(a.keys, b.keys) && !total:
		c.Order = NotFixed
		c.Notes = append(c.Notes, "rows that tie in ORDER BY come in different orders: add a unique column to it")
	default:
		c.Order = DifferentOrder
	}
	if (a.limit || b.limit) && !c.SameRows && c.Order == NotFixed {
		c.Notes = append(c.Notes, "LIMIT takes some of the rows, and nothing fixes which")
	}
}

// total reports whether the sort keys tell all rows apart.
func (r *rowSet) total() bool {
	if r.keys == nil {
		return false
	}
	seen := make(map[uint64]bool, len(r.keys))
	for _, k := range r.keys {
		if seen[k] {
			return false
		}
		seen[k] = true
	}
	return true
}

// String prints the verdict, the counters and times side by side, and both plans.
func (c *Comparison) String() string {
	var b strings.Builder
	if c.SameRows {
		fmt.Fprintf(&b, "the same %d rows, order %s\n", c.A.Rows, c.Order)
	} else {
		fmt.Fprintf(&b, "different rows: A has %d, B %d; %d only in A, %d only in B\n", c.A.Rows, c.B.Rows, c.OnlyA, c.OnlyB)
	}
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	fmt.Fprintf(&b, "\n%-32s %14s %14s\n", "", "A", "B")
	fmt.Fprintf(&b, "%-32s %14s %14s\n", "time (median)", c.A.Median().Round(time.Microsecond), c.B.Median().Round(time.Microsecond))
	fmt.Fprintf(&b, "%-32s %14d %14d\n", "rows read", c.A.RowsRead(), c.B.RowsRead())
	names := maps.Clone(c.A.Status)
	if names == nil {
		names = make(map[string]int64)
	}
	maps.Copy(names, c.B.Status)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(&b, "%-32s %14d %14d\n", name, c.A.Status[name], c.B.Status[name])
	}
	fmt.Fprintf(&b, "\nA\n%s\nB\n%s", c.A.Plan, c.B.Plan)
	return b.String()
}
