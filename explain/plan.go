package explain

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Format is a form in which a server prints a plan.
type Format string

// The formats that Parse understands.
const (
	Traditional Format = "traditional"  // a table: MySQL's FORMAT=TRADITIONAL, MariaDB's EXPLAIN and ANALYZE
	JSON1       Format = "json-v1"      // MySQL's FORMAT=JSON, explain_json_format_version 1
	JSON2       Format = "json-v2"      // MySQL's FORMAT=JSON, explain_json_format_version 2
	Tree        Format = "tree"         // MySQL's FORMAT=TREE and EXPLAIN ANALYZE
	JSONMariaDB Format = "json-mariadb" // MariaDB's EXPLAIN and ANALYZE FORMAT=JSON
	TiDBTable   Format = "tidb"         // TiDB's table of operators
)

// Number is a figure that a plan may or may not give. Its JSON is a number, or
// null.
type Number struct {
	Value float64
	Known bool
}

func known(v float64) Number { return Number{v, true} }

// Or returns the figure, or v where there is none.
func (n Number) Or(v float64) float64 {
	if n.Known {
		return n.Value
	}
	return v
}

// MarshalJSON writes the figure or null.
func (n Number) MarshalJSON() ([]byte, error) {
	if !n.Known {
		return []byte("null"), nil
	}
	return json.Marshal(n.Value)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *Number) UnmarshalJSON(b []byte) error {
	*n = Number{}
	if string(b) == "null" {
		return nil
	}
	n.Known = true
	return json.Unmarshal(b, &n.Value)
}

// Op is the kind of a node.
type Op string

// The kinds of nodes. A node of another kind than these does not occur; what a
// server calls something of its own is OpOther with the server's words in Detail.
const (
	OpSelect      Op = "select"      // one query block; children: its body, then its subqueries
	OpTable       Op = "table"       // access to one table; child: the OpMaterialize that fills it
	OpJoin        Op = "join"        // children in the order of execution, driving table first
	OpFilter      Op = "filter"      // Condition on the child's rows
	OpSort        Op = "sort"        // sorts the child's rows
	OpTemporary   Op = "temporary"   // collects the child's rows in a temporary table
	OpAggregate   Op = "aggregate"   // groups the child's rows
	OpDistinct    Op = "distinct"    // removes duplicates
	OpWindow      Op = "window"      // window functions
	OpLimit       Op = "limit"       // passes Limit rows after Offset rows
	OpMaterialize Op = "materialize" // runs its child once and keeps the rows
	OpSet         Op = "set"         // UNION, INTERSECT, EXCEPT of the children
	OpSubquery    Op = "subquery"    // a subquery of an expression; child: its block
	OpModify      Op = "modify"      // writes rows: INSERT, REPLACE, UPDATE, DELETE
	OpNone        Op = "none"        // no table is read; Detail says why
	OpOther       Op = "other"
)

// Access says how a table is read, in the words of the traditional format. They
// order from one row at most to all rows.
type Access string

// The access types.
const (
	AccessSystem         Access = "system"
	AccessConst          Access = "const"
	AccessEqRef          Access = "eq_ref"
	AccessRef            Access = "ref"
	AccessFulltext       Access = "fulltext"
	AccessRefOrNull      Access = "ref_or_null"
	AccessIndexMerge     Access = "index_merge"
	AccessUniqueSubquery Access = "unique_subquery"
	AccessIndexSubquery  Access = "index_subquery"
	AccessRange          Access = "range"
	AccessIndex          Access = "index" // the whole index
	AccessAll            Access = "ALL"   // the whole table
)

// Key is an index in use.
type Key struct {
	Name   string   `json:"name"`
	Parts  []string `json:"parts,omitempty"`  // columns in use; nil if the format does not say
	Length int      `json:"length,omitempty"` // bytes in use; 0 if the format does not say
}

// Flag is a property of a table access or another node.
type Flag string

// The flags that problems and tests ask for. A server's further words stand in
// Node.Extra.
const (
	Covering         Flag = "covering"          // the index alone answers: Using index
	IndexCondition   Flag = "index-condition"   // conditions are checked in the index: ICP
	MultiRangeRead   Flag = "mrr"               // row ids are sorted before the rows are read
	SkipScan         Flag = "skip-scan"         // a range on a later key part, repeated for each value of the first
	LooseScan        Flag = "loose-scan"        // one entry per group: Using index for group-by, LooseScan
	Backward         Flag = "backward"          // the index is read from its end
	RangeChecked     Flag = "range-checked"     // another range is chosen for each row of the outer tables
	NotExists        Flag = "not-exists"        // stops at the first match and throws the row away
	FirstMatch       Flag = "first-match"       // semi-join that stops at the first match
	Weedout          Flag = "weedout"           // semi-join that removes duplicates afterwards
	FullScanOnNull   Flag = "full-scan-on-null" // a NULL on the left of IN costs a scan
	RowIDFilter      Flag = "rowid-filter"      // MariaDB: a second index filters row ids
	Union            Flag = "index-union"       // index merge of OR
	SortUnion        Flag = "index-sort-union"
	Intersect        Flag = "index-intersect" // index merge of AND
	Hash             Flag = "hash-join"
	BlockNestedLoop  Flag = "block-nested-loop"
	BatchedKeyAccess Flag = "batched-key-access"
	Cartesian        Flag = "no-join-condition" // the server says that a join has no condition
	Buffered         Flag = "buffered"          // the changed rows are collected first
	DeleteAll        Flag = "delete-all"        // all rows without looking
	RowIDSort        Flag = "sort-row-ids"      // rows are read again after the sort
	Recursive        Flag = "recursive"
	Distinct         Flag = "distinct"
	Scanning         Flag = "scanning"          // MariaDB: loose scan that reads every entry
	OpensTables      Flag = "opens-tables"      // information_schema: opens every table
	NeverExecuted    Flag = "never-executed"    // EXPLAIN ANALYZE did not come here
	PseudoStatistics Flag = "pseudo-statistics" // TiDB: guessed, no statistics
	DuplicateInput   Flag = "shared"            // filled by another node of the plan, printed there
)

// Actual is what was measured while the statement ran.
type Actual struct {
	Rows    Number `json:"rows"`     // per loop
	Loops   Number `json:"loops"`    // executions of the node
	FirstMS Number `json:"first_ms"` // milliseconds to the first row, per loop
	TotalMS Number `json:"total_ms"` // milliseconds to the last row, per loop; MariaDB: of all loops
}

// Node is one step of a plan.
type Node struct {
	Op     Op     `json:"op"`
	Detail string `json:"detail,omitempty"` // the server's own words, where it has some

	SelectID   int    `json:"select_id,omitempty"`   // 0 if not known
	SelectType string `json:"select_type,omitempty"` // as in the traditional format; "" if not known

	Name       string   `json:"name,omitempty"`   // the table's alias, else its name, else <derived2> and the like
	Table      string   `json:"table,omitempty"`  // the table's own name, where the format gives both
	Schema     string   `json:"schema,omitempty"` // where the format gives it
	Access     Access   `json:"access,omitempty"`
	Partitions []string `json:"partitions,omitempty"` // nil if the table has none or the format does not say

	PossibleKeys []string `json:"possible_keys,omitempty"`
	Keys         []Key    `json:"keys,omitempty"` // several for an index merge
	Ref          []string `json:"ref,omitempty"`  // what the key parts are compared with
	Ranges       []string `json:"ranges,omitempty"`
	Columns      []string `json:"columns,omitempty"` // columns read, where the format gives them

	Rows     Number  `json:"rows"`     // estimated rows read in one execution
	Loops    Number  `json:"loops"`    // estimated executions of this node
	Filtered Number  `json:"filtered"` // percent of Rows that pass the conditions, 0 to 100
	Out      Number  `json:"out"`      // estimated rows given on in one execution
	Cost     Number  `json:"cost"`     // the server's unit; of this node with all below, for one execution where the format does so
	Actual   *Actual `json:"actual,omitempty"`

	Condition    string   `json:"condition,omitempty"`       // checked on each row
	IndexCond    string   `json:"index_condition,omitempty"` // checked in the index
	SortKeys     []string `json:"sort_keys,omitempty"`
	Limit        Number   `json:"limit,omitzero"`
	Offset       Number   `json:"offset,omitzero"`
	JoinType     string   `json:"join_type,omitempty"` // inner, left, semi, anti
	SetOperation string   `json:"set_operation,omitempty"`
	Location     string   `json:"location,omitempty"` // of a subquery: condition, select list, having, …
	Dependent    bool     `json:"dependent,omitempty"`
	Uncacheable  bool     `json:"uncacheable,omitempty"`

	Flags    []Flag   `json:"flags,omitempty"`
	Extra    []string `json:"extra,omitempty"` // words of the server that have no flag
	Children []*Node  `json:"children,omitempty"`
}

// Has reports whether the node has the flag.
func (n *Node) Has(f Flag) bool {
	for _, g := range n.Flags {
		if g == f {
			return true
		}
	}
	return false
}

func (n *Node) set(f Flag) {
	if !n.Has(f) {
		n.Flags = append(n.Flags, f)
	}
}

// Key returns the names of the keys in use, joined by commas; "" for none.
func (n *Node) Key() string {
	names := make([]string, len(n.Keys))
	for i, k := range n.Keys {
		names[i] = k.Name
	}
	return strings.Join(names, ",")
}

// Examined returns the estimate of all rows that the plan reads here: rows of
// one execution times executions.
func (n *Node) Examined() Number {
	if !n.Rows.Known {
		return Number{}
	}
	return known(n.Rows.Value * n.Loops.Or(1))
}

// Internal reports whether the table is one that the server makes for itself
// while it runs the statement, as <derived2> or <temporary>.
func (n *Node) Internal() bool {
	if strings.HasPrefix(n.Name, "<") {
		return true
	}
	for _, c := range n.Children {
		if c.Op == OpMaterialize {
			return true
		}
	}
	return slices.ContainsFunc(n.Extra, func(s string) bool { return strings.HasPrefix(s, "Table function") })
}

// All yields the node and all below it, parents first, in the order of execution.
func (n *Node) All() iter.Seq[*Node] {
	return func(yield func(*Node) bool) { n.walk(yield) }
}

func (n *Node) walk(yield func(*Node) bool) bool {
	if n == nil {
		return true
	}
	if !yield(n) {
		return false
	}
	for _, c := range n.Children {
		if !c.walk(yield) {
			return false
		}
	}
	return true
}

// Warning is a row of SHOW WARNINGS after EXPLAIN. The note 1003, the server's
// own rewriting of the statement, is never kept: it can hold values of rows.
type Warning struct {
	Level   string `json:"level"`
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Plan is how a server means to run a statement.
type Plan struct {
	Query       string   `json:"-"`                // the statement that was asked about
	Select      string   `json:"-"`                // the statement that was explained; differs from Query where that writes
	Approximate bool     `json:"approximate"`      // the statement's own plan may differ
	Why         []string `json:"why,omitempty"`    // why it is approximate
	Unsure      string   `json:"unsure,omitempty"` // why the shape of the tree is not certain; "" where it is
	Server      string   `json:"server,omitempty"` // product and version; "" for a plan from a file
	Format      Format   `json:"format"`
	Root        *Node    `json:"root"`
	Cost        Number   `json:"cost"` // of the whole statement, in the server's unit

	Warnings []Warning `json:"warnings,omitempty"`
	Raw      string    `json:"-"` // what the server printed

	// PerDay is how often the statement runs in a day; 0 if not known. It scales
	// the severity of problems.
	PerDay float64 `json:"per_day,omitempty"`

	Hazards []Hazard `json:"-"` // those that were allowed or taken away

	write writeKind // what Query writes
	mode  Mode      // how Query and Select are read
	empty []string  // tables that hold no rows, by the server's statistics
}

// copy returns a plan whose PerDay may be set. The tree is shared.
func (p *Plan) copy() *Plan {
	if p == nil {
		return nil
	}
	q := *p
	return &q
}

// Tables yields every access to a table in the order of execution.
func (p *Plan) Tables() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for n := range p.Root.All() {
			if n.Op == OpTable && !yield(n) {
				return
			}
		}
	}
}

// Fingerprint identifies the plan's shape: 16 hex digits over operations,
// tables, access types, keys, join order and algorithms. Estimates, costs and
// the values in conditions do not enter it, so that two explanations of one
// statement differ only if the plan does. Fingerprints of different formats are
// not comparable.
func (p *Plan) Fingerprint() string {
	h := fnv.New64a()
	io.WriteString(h, string(p.Format))
	p.Root.shape(h)
	return fmt.Sprintf("%016x", h.Sum64())
}

func (n *Node) shape(w io.Writer) {
	if n == nil {
		return
	}
	fmt.Fprintf(w, "(%s %q %q %q %q %q %t", n.Op, n.Name, n.Access, n.Key(), n.JoinType, n.SetOperation, n.Dependent)
	for _, f := range n.Flags {
		if f != NeverExecuted {
			fmt.Fprintf(w, " %s", f)
		}
	}
	for _, c := range n.Children {
		c.shape(w)
	}
	io.WriteString(w, ")")
}

// estimate fills Filtered, Out and Loops where the format gives only rows. It
// is run once on a finished tree.
func (n *Node) estimate(loops float64) {
	if n == nil {
		return
	}
	if !n.Loops.Known {
		n.Loops = known(loops)
	}
	loops = n.Loops.Value
	switch n.Op {
	case OpJoin:
		product := 1.0
		for i, c := range n.Children {
			inner := loops * product
			if i > 0 && runsOnce(n, c) {
				inner = loops
			}
			c.estimate(inner)
			product *= max(c.Out.Or(1), 0)
		}
		if !n.Out.Known {
			n.Out = known(product)
		}
	case OpSubquery:
		inner := 1.0
		if n.Dependent || n.Uncacheable {
			inner = loops
		}
		for _, c := range n.Children {
			c.estimate(inner)
		}
	case OpMaterialize:
		inner := 1.0
		if n.Dependent {
			inner = loops
		}
		for _, c := range n.Children {
			c.estimate(inner)
		}
	case OpSelect, OpFilter, OpTable:
		// Subqueries are run for each row of what owns them.
		rows := 1.0
		if n.Op == OpTable {
			rows = max(1, n.Rows.Or(1))
		}
		for _, c := range n.Children {
			if c.Op == OpSubquery {
				c.estimate(loops * rows)
				continue
			}
			c.estimate(loops)
			if n.Op != OpTable {
				rows = max(1, c.inputRows())
			}
		}
	default:
		for _, c := range n.Children {
			c.estimate(loops)
		}
	}
	if !n.Out.Known {
		n.Out = n.guessOut()
	}
}

// runsOnce reports whether the inner side c of join n is read once for all rows
// of the outer side.
func runsOnce(join, c *Node) bool {
	if join.Has(Hash) {
		return true
	}
	for c.Op != OpTable && len(c.Children) > 0 {
		c = c.Children[0]
	}
	return c.Has(Hash) || c.Has(BlockNestedLoop)
}

func (n *Node) guessOut() Number {
	switch {
	case n.Op == OpTable && n.Rows.Known:
		return known(n.Rows.Value * n.Filtered.Or(100) / 100)
	case n.Op == OpLimit && n.Limit.Known:
		if len(n.Children) > 0 && n.Children[0].Out.Known {
			return known(min(n.Limit.Value, n.Children[0].Out.Value))
		}
		return n.Limit
	case n.Op == OpSubquery, n.Op == OpNone, n.Op == OpModify, len(n.Children) == 0:
		return Number{}
	case n.Op == OpSet:
		sum := 0.0
		for _, c := range n.Children {
			if !c.Out.Known {
				return Number{}
			}
			sum += c.Out.Value
		}
		return known(sum)
	}
	return n.Children[0].Out
}

// inputRows returns the rows that go into the sorts, limits and aggregates on
// top of a block's joins: what a select list or condition is evaluated on.
func (n *Node) inputRows() float64 {
	for n.Op != OpTable && n.Op != OpJoin && n.Op != OpSet && len(n.Children) > 0 {
		n = n.Children[0]
	}
	if n.Op == OpTable {
		return n.Rows.Or(1)
	}
	return n.Out.Or(1)
}

// parseNumber reads a figure as servers print it: 12, 9.61, 38.8e+6, "3 (49%)".
func parseNumber(s string) Number {
	s = strings.TrimSpace(s)
	if i := strings.IndexAny(s, " ("); i > 0 {
		s = s[:i]
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || v != v || v > 1e300 || v < -1e300 {
		return Number{}
	}
	return known(v)
}
