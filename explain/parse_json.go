package explain

import (
	"slices"
	"strconv"
	"strings"
)

// parseJSON recognises the three JSON formats. MySQL's version 1 and MariaDB's
// share their outline and give no member two meanings, so that one builder
// reads both.
func parseJSON(text string) (*Plan, error) {
	root, err := decodeJSON(text)
	if err != nil {
		return nil, &ParseError{Reason: "JSON was expected: " + err.Error()}
	}
	block, ok := root.object("query_block")
	if !ok {
		if root.has("query_plan") || root.has("operation") || root.has("inputs") || root.has("query_type") {
			return parseJSON2(root)
		}
		return nil, &ParseError{Reason: "JSON with a query_block or a query_plan was expected"}
	}
	p := &Plan{Format: JSONMariaDB}
	if isMySQL(root) {
		p.Format = JSON1
	}
	b := jsonBuilder{}
	p.Root = b.block(block)
	if info, ok := block.object("cost_info"); ok {
		p.Cost = info.number("query_cost")
	} else {
		p.Cost = block.number("cost")
	}
	return p.finish()
}

// isMySQL looks for members that MySQL alone prints.
func isMySQL(v any) bool {
	switch v := v.(type) {
	case object:
		for i, name := range v.names {
			switch name {
			case "cost_info", "rows_examined_per_scan", "ordering_operation", "grouping_operation", "using_filesort", "using_temporary_table", "used_columns", "insert_from":
				return true
			case "message":
				// A block without tables: MariaDB puts the message into a table.
				return len(v.names) == 2 && v.has("select_id")
			}
			if isMySQL(v.values[i]) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, isMySQL)
	}
	return false
}

type jsonBuilder struct {
	selectID int // of the block being built
}

func (b *jsonBuilder) block(o object) *Node {
	outer := b.selectID
	defer func() { b.selectID = outer }()
	if id, err := strconv.Atoi(o.text("select_id")); err == nil {
		b.selectID = id
	}
	n := &Node{Op: OpSelect, SelectID: b.selectID, SetOperation: strings.ToLower(o.text("operation"))}
	if n.SetOperation == "" && b.selectID == outer {
		n.SelectID = 0 // the block of a materialised semi-join has no number of its own
	}
	n.Condition = o.text("having_condition")
	body := b.body(o)
	if t, kind := modified(body); t != "" {
		body = []*Node{{Op: OpModify, Detail: kind, Name: t, Children: body}}
	}
	n.Children = append(body, b.subqueries(o)...)
	if info, ok := o.object("cost_info"); ok {
		n.Cost = info.number("query_cost")
	} else {
		n.Cost = o.number("cost")
	}
	if o.has("r_loops") {
		n.Actual = &Actual{Loops: o.number("r_loops"), TotalMS: o.number("r_total_time_ms")}
	}
	return n
}

// modified finds the tables that an UPDATE or DELETE writes among those it
// reads: the server marks the reading node.
func modified(body []*Node) (names, kind string) {
	for _, root := range body {
		if root.Op == OpModify {
			continue
		}
		for n := range root.All() {
			if n.Op == OpTable && (n.Detail == "update" || n.Detail == "delete") {
				if names != "" {
					names += ", "
				}
				names, kind = names+n.Name, n.Detail
				n.Detail = ""
			}
		}
	}
	return names, kind
}

// body builds what stands directly in a block or an operation.
func (b *jsonBuilder) body(o object) []*Node {
	var out []*Node
	for i, name := range o.names {
		inner, isObject := o.values[i].(object)
		list, isList := o.values[i].([]any)
		switch {
		case name == "nested_loop" && isList:
			var tables []*Node
			for _, x := range list {
				if x, ok := x.(object); ok {
					tables = append(tables, b.body(x)...)
				}
			}
			if len(tables) > 0 {
				out = append(out, joinOf(tables))
			}
		case name == "message":
			if s, ok := o.values[i].(string); ok && !o.has("table_name") {
				out = append(out, &Node{Op: OpNone, SelectID: b.selectID, Detail: s})
			}
		case !isObject && !isList:
		case isList && name == "duplicates_removal":
			for _, x := range list {
				if x, ok := x.(object); ok {
					out = append(out, b.wrap(OpDistinct, x)...)
				}
			}
		case !isObject:
		case name == "table":
			out = append(out, b.table(inner))
		case name == "ordering_operation":
			out = append(out, b.wrap(OpSort, inner)...)
		case name == "grouping_operation":
			out = append(out, b.wrap(OpAggregate, inner)...)
		case name == "duplicates_removal":
			out = append(out, b.wrap(OpDistinct, inner)...)
		case name == "windowing", name == "window_functions_computation":
			out = append(out, b.window(inner))
		case name == "buffer_result", name == "temporary_table":
			out = append(out, b.around(OpTemporary, inner))
		case name == "filesort":
			n := b.around(OpSort, inner)
			n.SortKeys = splitTop(inner.text("sort_key"))
			if inner.has("r_loops") {
				n.Actual = &Actual{Loops: inner.number("r_loops"), Rows: inner.number("r_output_rows"), TotalMS: inner.number("r_total_time_ms")}
				if passes := inner.number("r_sort_passes"); passes.Or(0) > 0 {
					n.Extra = append(n.Extra, "sort passes: "+inner.text("r_sort_passes"))
				}
			}
			out = append(out, n)
		case name == "block-nl-join":
			out = append(out, b.joinBuffer(inner)...)
		case name == "range-checked-for-each-record":
			for _, n := range b.body(inner) {
				n.set(RangeChecked)
				out = append(out, n)
			}
		case name == "buffer":
			for _, n := range b.body(inner) {
				n.set(Buffered)
				out = append(out, n)
			}
		case name == "full-scan-on-null_key":
			for _, n := range b.body(inner) {
				n.set(FullScanOnNull)
				out = append(out, n)
			}
		case name == "union_result", name == "intersect_result", name == "except_result", name == "unit_result", name == "recursive_union":
			out = append(out, b.setOperation(name, inner))
		case name == "insert_from":
			body := b.body(inner)
			if len(out) > 0 && out[0].Op == OpModify {
				out[0].Children = append(out[0].Children, body...)
			} else {
				out = append(out, body...)
			}
		case name == "query_block":
			out = append(out, b.block(inner))
		case (name == "materialization" || name == "materialized") && !o.has("table"):
			out = append(out, b.materialize(inner))
		case name == "read_sorted_file":
			out = append(out, b.body(inner)...)
		}
	}
	if o.has("block-nl-join") || len(out) < 2 || o.has("insert_from") {
		return out
	}
	// Sibling tables are a join: MariaDB before 10.5 prints no nested_loop.
	if !o.has("nested_loop") && !slices.ContainsFunc(out, func(n *Node) bool { return n.Op != OpTable }) {
		return []*Node{joinOf(out)}
	}
	return out
}

func (b *jsonBuilder) around(op Op, o object) *Node {
	n := &Node{Op: op, SelectID: b.selectID}
	n.Children = b.body(o)
	n.Children = append(n.Children, b.subqueries(o)...)
	return n
}

// wrap builds one of MySQL's operations, which say by flags whether they sort
// and whether they need a temporary table.
func (b *jsonBuilder) wrap(op Op, o object) []*Node {
	body := b.body(o)
	subs := b.subqueries(o)
	if o.flag("using_temporary_table") {
		body = []*Node{{Op: OpTemporary, SelectID: b.selectID, Children: body}}
	}
	if op != OpSort {
		body = []*Node{{Op: op, SelectID: b.selectID, Children: body}}
	}
	if o.flag("using_filesort") {
		s := &Node{Op: OpSort, SelectID: b.selectID}
		if op == OpAggregate && len(body) == 1 {
			// Rows are sorted so that the groups come together.
			s.Children, body[0].Children = body[0].Children, []*Node{s}
		} else {
			s.Children = body
			body = []*Node{s}
		}
	}
	if len(body) > 0 {
		body[0].Children = append(body[0].Children, subs...)
	} else {
		body = subs
	}
	return body
}

func (b *jsonBuilder) window(o object) *Node {
	n := &Node{Op: OpWindow, SelectID: b.selectID, Children: b.body(o)}
	sort, temporary := false, false
	for _, w := range o.array("windows") {
		if w, ok := w.(object); ok {
			sort = sort || w.flag("using_filesort")
			temporary = temporary || w.flag("using_temporary_table")
			n.SortKeys = append(n.SortKeys, w.strings("filesort_key")...)
		}
	}
	if s, ok := o.object("sorts"); ok {
		sort = true
		for i, name := range s.names {
			if f, ok := s.values[i].(object); ok && name == "filesort" {
				n.SortKeys = append(n.SortKeys, splitTop(f.text("sort_key"))...)
			}
		}
	}
	if temporary {
		n.Children = []*Node{{Op: OpTemporary, SelectID: b.selectID, Children: n.Children}}
	}
	if sort {
		n.Children = []*Node{{Op: OpSort, SelectID: b.selectID, SortKeys: n.SortKeys, Children: n.Children}}
	}
	n.Children = append(n.Children, b.subqueries(o)...)
	return n
}

func (b *jsonBuilder) joinBuffer(o object) []*Node {
	nodes := b.body(o)
	if m, ok := o.object("materialized"); ok && len(nodes) > 0 {
		nodes[0].Children = append(nodes[0].Children, b.materialize(m)) // of the buffered table
	}
	for _, n := range nodes {
		n.set(joinBuffer(o.text("join_type")))
		if c := o.text("attached_condition"); c != "" {
			n.Condition = and(n.Condition, c)
		}
		n.Extra = append(n.Extra, "Using join buffer ("+o.text("buffer_type")+", "+o.text("join_type")+" join)")
	}
	return nodes
}

func (b *jsonBuilder) setOperation(name string, o object) *Node {
	n := &Node{Op: OpSet, SelectID: b.selectID, Name: o.text("table_name")}
	n.SetOperation = strings.TrimSuffix(name, "_result")
	switch n.SetOperation {
	case "unit":
		n.SetOperation = "set"
	case "recursive_union":
		n.SetOperation = "union"
		n.set(Recursive)
	}
	for _, x := range o.array("query_specifications") {
		x, ok := x.(object)
		if !ok {
			continue
		}
		for _, m := range b.body(x) {
			if x.flag("dependent") {
				m.Dependent = true
			}
			n.Children = append(n.Children, m)
		}
	}
	if o.flag("using_temporary_table") {
		n = &Node{Op: OpTemporary, SelectID: b.selectID, Children: []*Node{n}}
	}
	return n
}

// Where MySQL and MariaDB print the subqueries of a block.
var subqueryLists = map[string]string{
	"attached_subqueries":       "condition",
	"select_list_subqueries":    "select list",
	"having_subqueries":         "having",
	"order_by_subqueries":       "order by",
	"group_by_subqueries":       "group by",
	"optimized_away_subqueries": "optimized away",
	"update_value_subqueries":   "set",
	"insert_values_subqueries":  "values",
	"insert_update_subqueries":  "on duplicate key update",
	"subqueries":                "",
}

func (b *jsonBuilder) subqueries(o object) []*Node {
	var out []*Node
	for i, name := range o.names {
		where, ok := subqueryLists[name]
		list, isList := o.values[i].([]any)
		if !ok || !isList {
			continue
		}
		for _, x := range list {
			x, ok := x.(object)
			if !ok {
				continue
			}
			s := &Node{Op: OpSubquery, Location: where, Dependent: x.flag("dependent")}
			// MySQL calls a dependent subquery not cacheable too.
			s.Uncacheable = x.has("cacheable") && !x.flag("cacheable") && !s.Dependent
			if cache, ok := x.object("expression_cache"); ok {
				// MariaDB caches results by the outer values: the subquery is dependent.
				s.Dependent = true
				x = cache
			}
			if t, ok := x.object("table"); ok && !x.has("query_block") {
				s.Children = []*Node{b.table(t)}
			} else {
				s.Children = b.body(x)
			}
			for _, c := range s.Children {
				if c.SelectID > 0 {
					s.SelectID = c.SelectID
				}
			}
			s.Dependent = s.Dependent || dependent(s)
			out = append(out, s)
		}
	}
	return out
}

// dependent finds what MariaDB does not print: a key of the subquery that is
// compared with a table outside it, or with the left side of IN.
func dependent(s *Node) bool {
	names := make(map[string]bool)
	for n := range s.All() {
		names[n.Name] = true
		if n.Access == AccessUniqueSubquery || n.Access == AccessIndexSubquery {
			return true
		}
	}
	for n := range s.All() {
		for _, ref := range n.Ref {
			// schema.alias.column
			if p := strings.Split(ref, "."); len(p) == 3 && !names[p[1]] {
				return true
			}
		}
	}
	return false
}

func (b *jsonBuilder) table(o object) *Node {
	n := &Node{
		Op: OpTable, SelectID: b.selectID, Name: o.text("table_name"), Access: Access(o.text("access_type")),
		Partitions: o.strings("partitions"), PossibleKeys: o.strings("possible_keys"), Ref: o.strings("ref"),
		Columns: o.strings("used_columns"), Filtered: o.number("filtered"), Loops: o.number("loops"),
		Condition: o.text("attached_condition"), IndexCond: o.text("index_condition"),
	}
	if n.Filtered.Known {
		n.Filtered.Value = min(n.Filtered.Value, 100)
	}
	for _, kind := range []string{"insert", "replace", "update", "delete"} {
		if !o.flag(kind) {
			continue
		}
		n.Detail = kind
		if kind == "insert" || kind == "replace" {
			return &Node{Op: OpModify, SelectID: b.selectID, Detail: kind, Name: n.Name}
		}
	}
	if m := o.text("message"); m != "" {
		if m == "Deleting all rows" && n.Name != "" {
			n.set(DeleteAll)
		} else {
			return &Node{Op: OpNone, SelectID: b.selectID, Name: n.Name, Detail: m}
		}
	}
	n.Rows = o.number("rows")
	if r := o.number("rows_examined_per_scan"); r.Known {
		n.Rows = r
	}
	if rest, ok := strings.CutPrefix(string(n.Access), "hash_"); ok {
		n.Access = Access(rest)
		n.set(Hash)
	}
	b.keys(n, o)
	if info, ok := o.object("cost_info"); ok {
		n.Cost = info.number("prefix_cost")
	} else {
		n.Cost = o.number("cost")
	}
	b.tableFlags(n, o)
	if o.has("r_loops") || o.has("r_rows") {
		n.Actual = &Actual{Rows: o.number("r_rows"), Loops: o.number("r_loops"), TotalMS: o.number("r_table_time_ms")}
		if n.Actual.Loops.Known && n.Actual.Loops.Value == 0 {
			n.set(NeverExecuted)
		}
	}
	for _, name := range []string{"materialized_from_subquery", "materialized", "materialization"} {
		if m, ok := o.object(name); ok {
			n.Children = append(n.Children, b.materialize(m))
		}
	}
	n.Children = append(n.Children, b.subqueries(o)...)
	return n
}

func (b *jsonBuilder) materialize(o object) *Node {
	m := &Node{Op: OpMaterialize, Dependent: o.flag("dependent") || o.flag("lateral"), Children: b.body(o)}
	if o.has("sharing_temporary_table_with") {
		m.set(DuplicateInput)
	}
	if o.has("cacheable") {
		m.Uncacheable = !o.flag("cacheable")
	}
	return m
}

func (b *jsonBuilder) keys(n *Node, o object) {
	parts := o.strings("used_key_parts")
	lengths := strings.Split(o.text("key_length"), ",")
	key := o.text("key")
	if im, ok := o.object("index_merge"); ok {
		b.indexMerge(n, im)
		return
	}
	// MySQL prints an index merge as "sort_union(a,b)" with lengths "5,4".
	if how, inner, ok := strings.Cut(key, "("); ok && n.Access == AccessIndexMerge {
		extra(n, "Using "+how+"("+inner)
		for i, name := range mergedKeys(inner) {
			k := Key{Name: name}
			if i < len(lengths) {
				k.Length, _ = strconv.Atoi(lengths[i])
			}
			n.Keys = append(n.Keys, k)
		}
		return
	}
	if key == "" || key == "#hash#$hj" {
		return
	}
	k := Key{Name: strings.TrimPrefix(key, "#hash#"), Parts: parts}
	k.Length, _ = strconv.Atoi(lengths[0])
	n.Keys = []Key{k}
}

// mergedKeys lists the names in "a,intersect(b,c))".
func mergedKeys(s string) []string {
	for _, word := range []string{"sort_union(", "union(", "intersect("} {
		s = strings.ReplaceAll(s, word, "")
	}
	return strings.Split(strings.ReplaceAll(s, ")", ""), ",")
}

func (b *jsonBuilder) indexMerge(n *Node, o object) {
	for i, how := range o.names {
		switch how {
		case "union":
			n.set(Union)
		case "sort_union":
			n.set(SortUnion)
		case "intersect":
			n.set(Intersect)
		case "range":
			if r, ok := o.values[i].(object); ok {
				n.Keys = append(n.Keys, Key{Name: r.text("key"), Parts: r.strings("used_key_parts")})
			}
		}
		if list, ok := o.values[i].([]any); ok {
			for _, x := range list {
				if x, ok := x.(object); ok {
					b.indexMerge(n, x)
				}
			}
		}
	}
}

func (b *jsonBuilder) tableFlags(n *Node, o object) {
	for _, f := range []struct {
		name string
		flag Flag
	}{
		{"using_index", Covering}, {"using_MRR", MultiRangeRead}, {"mrr_type", MultiRangeRead},
		{"using_index_for_skip_scan", SkipScan}, {"using_index_for_group_by", LooseScan}, {"loosescan", LooseScan},
		{"loose_scan", LooseScan}, {"backward_index_scan", Backward}, {"range_checked_for_each_record", RangeChecked},
		{"not_exists", NotExists}, {"first_match", FirstMatch}, {"full_scan_on_NULL_key", FullScanOnNull},
		{"recursive", Recursive}, {"distinct", Distinct}, {"rowid_filter", RowIDFilter},
		{"index_condition_bka", BatchedKeyAccess},
	} {
		if v := o.get(f.name); v != nil && v != false {
			n.set(f.flag)
		}
	}
	if o.flag("open_full_table") && o.text("scanned_databases") == "all" {
		n.set(OpensTables)
	}
	if o.text("using_temporary_table") == "for update" {
		n.set(Buffered)
	}
	if n.IndexCond != "" {
		n.set(IndexCondition)
	}
	if n.Has(LooseScan) && n.Access == AccessRange || n.Has(SkipScan) {
		n.set(Covering)
	}
	if o.text("using_index_for_group_by") == "scanning" {
		n.set(Scanning)
	}
	if j := o.text("using_join_buffer"); j != "" {
		n.set(joinBuffer(j))
	}
	switch {
	case n.Has(NotExists):
		n.JoinType = "anti"
	case n.Has(FirstMatch):
		n.JoinType = "semi"
	}
	if s := o.text("table_function"); s != "" {
		n.Extra = append(n.Extra, "Table function: "+s)
	}
}

func and(a, b string) string {
	if a == "" || a == b {
		return b
	}
	return a + " and " + b
}

// splitTop cuts at commas outside parentheses and quotes.
func splitTop(s string) []string {
	var out []string
	depth, start := 0, 0
	var quote byte
	for i := 0; i <= len(s); i++ {
		if i < len(s) {
			c := s[i]
			switch {
			case quote != 0:
				if c == quote {
					quote = 0
				}
				continue
			case c == '\'' || c == '`' || c == '"':
				quote = c
				continue
			case c == '(':
				depth++
			case c == ')':
				depth = max(depth-1, 0)
			}
			if c != ',' || depth > 0 {
				continue
			}
		}
		if w := strings.TrimSpace(s[start:i]); w != "" {
			out = append(out, w)
		}
		start = i + 1
	}
	return out
}
