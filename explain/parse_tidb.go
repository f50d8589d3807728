package explain

import (
	"database/sql"
	"regexp"
	"strings"
)

var tidbAccess = regexp.MustCompile(`(table|index|partition):([^,(]+)`)

// tidb reads TiDB's table of operators, whose ids are drawn as a tree.
func tidb(rows [][]sql.NullString, byName map[string]int) (*Plan, error) {
	p := &Plan{Format: TiDBTable, Root: &Node{Op: OpSelect, SelectID: 1}}
	cell := func(r []sql.NullString, names ...string) string {
		for _, name := range names {
			if i, ok := byName[name]; ok && i < len(r) {
				return r[i].String
			}
		}
		return ""
	}
	stack := []*Node{p.Root}
	for _, r := range rows {
		id := []rune(cell(r, "id"))
		depth := 0
		for depth < len(id) && strings.ContainsRune(" │├└─", id[depth]) {
			depth++
		}
		level := depth/2 + 1
		name, _, _ := strings.Cut(string(id[depth:]), "_")
		n := tidbNode(name, cell(r, "access object"), cell(r, "operator info"))
		n.Detail = strings.TrimSpace(string(id[depth:]))
		n.Out = parseNumber(cell(r, "estrows", "count"))
		if n.Op == OpTable {
			n.Rows = n.Out
		}
		n.Cost = parseNumber(cell(r, "estcost"))
		if a := parseNumber(cell(r, "actrows")); a.Known {
			n.Actual = &Actual{Rows: a}
		}
		if level > len(stack) || level > maxPlanDepth {
			return nil, &ParseError{TiDBTable, "the drawn tree of the ids is damaged"}
		}
		stack = stack[:level]
		parent := stack[level-1]
		if n.Op == OpTable {
			// A reader passes the condition of the selection above it.
			if parent.Op == OpFilter && len(parent.Children) == 0 {
				n.Condition = parent.Condition
			}
		}
		parent.Children = append(parent.Children, n)
		stack = append(stack, n)
	}
	if len(p.Root.Children) > 0 {
		p.Cost = p.Root.Children[0].Cost
	}
	return p.finish()
}

func tidbNode(name, object, info string) *Node {
	n := &Node{Op: OpOther}
	if info != "" {
		n.Extra = []string{info}
	}
	switch name {
	case "TableFullScan", "MemTableScan":
		n.Op, n.Access = OpTable, AccessAll
	case "TableRangeScan", "IndexRangeScan", "TableRowIDScan":
		n.Op, n.Access = OpTable, AccessRange
	case "IndexFullScan":
		n.Op, n.Access = OpTable, AccessIndex
	case "Point":
		n.Op, n.Access = OpTable, AccessConst // Point_Get
	case "Batch":
		n.Op, n.Access = OpTable, AccessRange // Batch_Point_Get
	case "Selection":
		n.Op, n.Condition = OpFilter, info
	case "Limit", "TopN":
		n.Op = OpLimit
		if name == "TopN" {
			n.Op = OpSort
			keys, _, _ := strings.Cut(info, ", offset:")
			n.SortKeys = splitTop(keys)
		}
		if _, count, ok := strings.Cut(info, "count:"); ok {
			n.Limit = parseNumber(count)
		}
		if _, offset, ok := strings.Cut(info, "offset:"); ok {
			offset, _, _ = strings.Cut(offset, ",")
			n.Offset = parseNumber(offset)
		}
	case "Sort":
		n.Op, n.SortKeys = OpSort, splitTop(info)
	case "HashJoin", "MergeJoin", "IndexJoin", "IndexHashJoin", "IndexMergeJoin", "Apply":
		n.Op = OpJoin
		if name == "HashJoin" {
			n.set(Hash)
		}
		if strings.Contains(info, "CARTESIAN") {
			n.set(Cartesian)
		}
	case "HashAgg", "StreamAgg":
		n.Op = OpAggregate
	case "Window":
		n.Op = OpWindow
	case "Union":
		n.Op, n.SetOperation = OpSet, "union"
	case "Update", "Delete", "Insert":
		n.Op = OpModify
	case "TableDual":
		n.Op = OpNone
	case "ScalarSubQuery":
		n.Op = OpSubquery
	}
	for _, m := range tidbAccess.FindAllStringSubmatch(object, -1) {
		switch v := strings.TrimSpace(m[2]); m[1] {
		case "table":
			n.Name = v
		case "index":
			n.Keys = []Key{{Name: v}}
		case "partition":
			n.Partitions = append(n.Partitions, v)
		}
	}
	if strings.Contains(info, "stats:pseudo") {
		n.set(PseudoStatistics)
	}
	if _, ranges, ok := strings.Cut(info, "range:"); ok {
		ranges, _, _ = strings.Cut(ranges, ", keep order")
		n.Ranges = []string{ranges}
	}
	return n
}
