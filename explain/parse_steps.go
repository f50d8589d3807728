package explain

import (
	"regexp"
	"strings"
)

var (
	// A table's name may hold spaces; it ends where the key is named, else before a bracket.
	onTable   = regexp.MustCompile(`(?s)^(.*?) on (?:(.+?) using (\S+)(.*)|([^(]+?)( \(.*)?)$`)
	limitText = regexp.MustCompile(`^(?:Limit|Limit/Offset|Offset): ([\d.e+]+)(?:/([\d.e+]+))? row`)
	sortText  = regexp.MustCompile(`(?s)^Sort( row IDs)?( with duplicate removal)?: (.*)$`)
	perChunk  = regexp.MustCompile(`, limit input to \d+ row\(s\) per chunk$`)
	tableList = regexp.MustCompile(`(\S+) \((?:immediate|buffered)\)`)
)

// node turns a step and all below it into nodes.
func (s *step) node() *Node {
	n := s.build()
	if s.never {
		n.set(NeverExecuted)
	}
	if n.Actual == nil {
		n.Actual = s.actual
	}
	if strings.Contains(s.heading, "Repeat until convergence") {
		n.set(Recursive)
	}
	return n
}

// children builds the inputs; subqueries of a condition stand among them.
func (s *step) children() (inputs, subqueries []*Node) {
	for _, in := range s.inputs {
		if subqueryHeading.MatchString(in.heading) {
			subqueries = append(subqueries, subqueryOf(in))
		} else {
			inputs = append(inputs, in.node())
		}
	}
	return inputs, subqueries
}

func (s *step) build() *Node {
	text := s.text
	has := func(prefix string) bool { return strings.HasPrefix(text, prefix) }
	switch {
	case strings.Contains(text, "sorted by row ID"), strings.HasPrefix(text, "Sort-deduplicate by row ID"), strings.HasPrefix(text, "Deduplicate rows"):
		return s.indexMerge()
	case has("Filter: "):
		return s.filter()
	case has("Sort"):
		return s.sort()
	case has("Limit: "), has("Limit/Offset: "), has("Offset: "):
		return s.limit()
	case strings.Contains(text, "hash join"), has("Hash semijoin"), has("Hash antijoin"), has("Nested loop"), has("Batched key access"):
		return s.join()
	case has("Aggregate using temporary table"):
		n := s.with(OpAggregate)
		n.Children = []*Node{{Op: OpTemporary, Children: n.Children}}
		return n
	case has("Aggregate"), has("Group aggregate"), has("Group (no aggregates)"):
		return s.with(OpAggregate)
	case has("Temporary table"):
		n := s.with(OpTemporary)
		if strings.Contains(text, "deduplication") {
			return &Node{Op: OpDistinct, Children: []*Node{n}, Rows: n.Rows, Out: n.Out}
		}
		return n
	case has("Union"), has("Intersect"), has("Except"):
		n := s.with(OpSet)
		n.SetOperation = strings.ToLower(strings.Fields(text)[0])
		return &Node{Op: OpTemporary, Children: []*Node{n}, Out: n.Out}
	case has("Append"):
		n := s.with(OpSet)
		n.SetOperation = "union"
		return n
	case has("Materialize table function"):
		return s.with(OpMaterialize)
	case has("Materialize"):
		return s.materialize()
	case has("Window"):
		return s.with(OpWindow)
	case has("Remove duplicate"):
		n := s.with(OpDistinct)
		if strings.Contains(text, "(weedout)") {
			n.set(Weedout)
		} else {
			n.set(LooseScan)
		}
		return n
	case has("Stream results"), has("Invalidate materialized tables"):
		return s.through()
	case has("Alternative plans for IN subquery"):
		n := s.through()
		for t := range n.All() {
			if t.Op == OpTable {
				t.set(FullScanOnNull)
				break
			}
		}
		return n
	case has("Zero rows"), has("Zero input rows"), has("Rows fetched before execution"), has("Constant row"):
		return s.none()
	case has("Insert into "), has("Replace into "), has("Update "), has("Delete from "):
		return s.modify()
	case has("Count rows in "):
		n := s.tableNode(strings.TrimPrefix(text, "Count rows in "), AccessIndex)
		n.set(Covering)
		return n
	case has("Fill information schema table "):
		name, _, _ := strings.Cut(strings.TrimPrefix(text, "Fill information schema table "), " ")
		return s.tableNode(name, AccessAll)
	case has("Scan new records on "):
		n := s.tableNode(strings.TrimPrefix(text, "Scan new records on "), AccessAll)
		n.set(Recursive)
		return n
	}
	if m := onTable.FindStringSubmatch(text); m != nil {
		if n := s.access(m[1], m[2]+m[5], m[3], m[4]+m[6]); n != nil {
			return n
		}
	}
	return s.with(OpOther)
}

// with builds a node with the step's figures and inputs.
func (s *step) with(op Op) *Node {
	n := &Node{Op: op, Detail: s.text, Cost: s.cost, Out: s.rows, Columns: s.fields.strings("used_columns")}
	inputs, subqueries := s.children()
	n.Children = append(inputs, subqueries...)
	return n
}

// through builds the step's first input in its place, for steps that change
// nothing about rows.
func (s *step) through() *Node {
	if len(s.inputs) == 0 {
		return s.with(OpOther)
	}
	n := s.inputs[0].node()
	for _, in := range s.inputs[1:] {
		if subqueryHeading.MatchString(in.heading) {
			n.Children = append(n.Children, subqueryOf(in))
		}
	}
	return n
}

func (s *step) tableNode(name string, access Access) *Node {
	n := s.with(OpTable)
	n.Detail, n.Name, n.Access, n.Rows = s.text, name, access, s.rows
	if alias := s.fields.text("alias"); alias != "" {
		n.Name = alias
	}
	if t := s.fields.text("table_name"); t != "" && t != n.Name {
		n.Table = t
	}
	n.Schema = s.fields.text("schema_name")
	return n
}

// access builds the access to a table: "Covering index range scan on t using k …".
func (s *step) access(how, name, key, rest string) *Node {
	how = strings.ToLower(how)
	var access Access
	var flags []Flag
	switch {
	case how == "table scan":
		if name == "<temporary>" || name == "<union temporary>" {
			return s.through()
		}
		access = AccessAll
	case strings.HasPrefix(how, "single-row"), strings.HasPrefix(how, "constant row"):
		access = AccessEqRef
	case strings.Contains(how, "full-text"):
		access = AccessFulltext
	case strings.Contains(how, "multi-range index lookup"):
		access = AccessRef
		flags = append(flags, MultiRangeRead)
	case strings.Contains(how, "skip scan for grouping"), strings.Contains(how, "skip scan for deduplication"):
		access = AccessRange
		flags = append(flags, LooseScan, Covering)
	case strings.Contains(how, "skip scan"):
		access = AccessRange
		flags = append(flags, SkipScan, Covering)
	case strings.Contains(how, "index lookup"):
		access = AccessRef
	case strings.Contains(how, "index range scan"):
		access = AccessRange
		if strings.Contains(rest, "re-planned for each iteration") || strings.Contains(how, "re-planned") {
			access = AccessAll
			flags = append(flags, RangeChecked)
		}
		if strings.Contains(rest, "(Multi-Range Read)") || strings.Contains(how, "multi-range read") {
			flags = append(flags, MultiRangeRead)
		}
	case strings.Contains(how, "index scan"), strings.Contains(how, "distance scan"):
		access = AccessIndex
	case strings.Contains(how, "sample scan"):
		access = AccessAll
	default:
		return nil
	}
	n := s.tableNode(name, access)
	for _, f := range flags {
		n.set(f)
	}
	if strings.Contains(how, "covering") || s.fields.flag("covering") {
		n.set(Covering)
	}
	if strings.Contains(rest, "(reverse)") || s.fields.flag("reverse") {
		n.set(Backward)
	}
	if index := s.fields.text("index_name"); index != "" {
		key = index
	}
	if key != "" && !n.Has(RangeChecked) {
		n.Keys = []Key{{Name: key, Parts: s.fields.strings("key_columns")}}
	}
	n.Ranges = s.fields.strings("ranges")
	if n.Ranges == nil {
		if _, over, ok := strings.Cut(rest, " over "); ok {
			over, _, _ = strings.Cut(over, ", with index condition: ")
			over = strings.TrimSuffix(over, " (reverse)")
			n.Ranges = []string{over}
		}
	}
	n.Ref = s.fields.strings("lookup_references")
	if c := s.fields.text("pushed_index_condition"); c != "" {
		n.IndexCond = c
	} else if _, c, ok := strings.Cut(rest, ", with index condition: "); ok {
		n.IndexCond = c
	}
	if n.IndexCond != "" {
		n.set(IndexCondition)
	}
	return n
}

// filter joins a condition with the table whose rows it checks. A filter on
// anything else, or one with subqueries, stays a node.
func (s *step) filter() *Node {
	cond := strings.TrimPrefix(s.text, "Filter: ")
	if c := s.fields.text("condition"); c != "" {
		cond = c
	}
	inputs, subqueries := s.children()
	if len(inputs) == 1 && len(subqueries) == 0 && inputs[0].Op == OpTable && inputs[0].Condition == "" {
		n := inputs[0]
		n.Condition = cond
		n.Out = s.rows
		if n.Rows.Known && s.rows.Known && n.Rows.Value > 0 {
			n.Filtered = known(min(100, 100*s.rows.Value/n.Rows.Value))
		}
		return n
	}
	return &Node{Op: OpFilter, Condition: cond, Cost: s.cost, Out: s.rows, Children: append(inputs, subqueries...)}
}

func (s *step) join() *Node {
	inputs, subqueries := s.children()
	lower := strings.ToLower(s.text)
	kind := "inner"
	for _, k := range []string{"left", "semi", "anti"} {
		if strings.Contains(lower, k+"join") || strings.Contains(lower, k+" join") || strings.Contains(lower, k+" hash join") {
			kind = k
		}
	}
	if len(inputs) != 2 {
		return &Node{Op: OpJoin, Detail: s.text, Cost: s.cost, Out: s.rows, Children: append(inputs, subqueries...)}
	}
	outer, inner := inputs[0], inputs[1]
	hash := strings.Contains(lower, "hash")
	if hash && kind == "inner" {
		// The server prints the probing side first. The building side is read first.
		outer, inner = inner, outer
	}
	lead := inner
	for lead.Op != OpTable && len(lead.Children) > 0 {
		lead = lead.Children[0]
	}
	if hash {
		lead.set(Hash)
		if strings.Contains(lower, "(no condition)") {
			lead.set(Cartesian)
		} else if i := strings.IndexByte(s.text, '('); i > 0 {
			lead.Extra = append(lead.Extra, "hash "+s.text[i:])
		}
	}
	if strings.HasPrefix(lower, "batched key access") {
		lead.set(BatchedKeyAccess)
	}
	if kind != "inner" {
		inner.JoinType = kind
	}
	switch {
	case strings.Contains(lower, "(firstmatch)"):
		lead.set(FirstMatch)
	case strings.Contains(lower, "(loosescan)"):
		lead.set(LooseScan)
	case kind == "anti":
		lead.set(NotExists)
	}
	n := &Node{Op: OpJoin, Cost: s.cost, Out: s.rows}
	if outer.Op == OpJoin && outer.JoinType == "" {
		n.Children = append(outer.Children, inner) // left-deep joins make one list, in join order
	} else {
		n.Children = []*Node{outer, inner}
	}
	n.Children = append(n.Children, subqueries...)
	return n
}

func (s *step) sort() *Node {
	n := s.with(OpSort)
	if m := sortText.FindStringSubmatch(s.text); m != nil {
		if m[1] != "" {
			n.set(RowIDSort)
		}
		n.SortKeys = splitTop(perChunk.ReplaceAllString(m[3], ""))
		if m[2] != "" {
			n.set(Distinct)
		}
	}
	return n
}

func (s *step) limit() *Node {
	n := s.with(OpLimit)
	if m := limitText.FindStringSubmatch(s.text); m != nil {
		if strings.HasPrefix(s.text, "Offset") {
			n.Offset = parseNumber(m[1])
		} else {
			n.Limit, n.Offset = parseNumber(m[1]), parseNumber(m[2])
		}
	}
	return n
}

func (s *step) materialize() *Node {
	n := s.with(OpMaterialize)
	if strings.Contains(s.text, "(query plan printed elsewhere)") {
		n.set(DuplicateInput)
	}
	if strings.Contains(s.text, "invalidate on row from") {
		n.Dependent = true
	}
	if strings.Contains(s.text, "recursive") {
		n.set(Recursive)
	}
	return n
}

// none builds a step that reads no table, with the reason.
func (s *step) none() *Node {
	n := s.with(OpNone)
	if c := s.fields.text("zero_rows_cause"); c != "" {
		n.Detail = c
	} else if i := strings.IndexByte(s.text, '('); i > 0 && strings.HasPrefix(s.text, "Zero") {
		n.Detail = strings.TrimSuffix(s.text[i+1:], ")")
		n.Detail, _, _ = strings.Cut(n.Detail, "), ")
	}
	return n
}

// modify builds a write, of which Name is the table, or the tables with commas.
func (s *step) modify() *Node {
	n := s.with(OpModify)
	kind, rest, _ := strings.Cut(s.text, " ")
	n.Detail = strings.ToLower(kind)
	n.Name = strings.TrimPrefix(rest, "into ")
	if m := tableList.FindAllStringSubmatch(rest, -1); m != nil {
		names := make([]string, len(m))
		for i := range m {
			names[i] = m[i][1]
		}
		n.Name = strings.Join(names, ", ")
	}
	if strings.Contains(rest, "(buffered)") {
		n.set(Buffered)
	}
	return n
}

// indexMerge makes one table access of the scans that it merges.
func (s *step) indexMerge() *Node {
	n := s.with(OpTable)
	parts := n.Children
	n.Children = nil
	n.Access, n.Rows = AccessIndexMerge, s.rows
	switch {
	case strings.HasPrefix(s.text, "Intersect"):
		n.set(Intersect)
	case strings.HasPrefix(s.text, "Sort-deduplicate"):
		n.set(SortUnion)
	default:
		n.set(Union)
	}
	for _, c := range parts {
		n.Name, n.Table, n.Schema = c.Name, c.Table, c.Schema
		n.Keys = append(n.Keys, c.Keys...)
		n.Ranges = append(n.Ranges, c.Ranges...)
	}
	return n
}
