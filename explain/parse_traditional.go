package explain

import (
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// row is one row of the traditional table.
type row struct {
	id         int // -1 for NULL
	selectType string
	node       *Node
	flags      extraFlags

	fills   int   // id of the block that fills this table, of <derivedN>; 0 for none
	members []int // ids of the set operation that this row is the result of
	cut     bool  // the list of members ends with ...
}

// maxPlanRows bounds the rows of a table that is parsed, since rows are looked up
// by each other. A join has 61 tables at most.
const maxPlanRows = 5000

// extraFlags are the words of Extra that make nodes of their own.
type extraFlags struct {
	temporary, filesort, distinct, startWeedout, endWeedout bool
	none                                                    string // why no table is read
}

// traditional builds the tree by reference: rows of one id are a block in join
// order; <derivedN>, <subqueryN> and <unionM,N> name the blocks that fill them;
// other blocks are subqueries of the nearest block before them.
func traditional(rows [][]sql.NullString, byName map[string]int) (*Plan, error) {
	p := &Plan{Format: Traditional}
	cell := func(r []sql.NullString, name string) string {
		if i, ok := byName[name]; ok && i < len(r) {
			return strings.TrimSpace(r[i].String)
		}
		return ""
	}
	if len(rows) > maxPlanRows {
		return nil, &ParseError{Traditional, fmt.Sprintf("more than %d rows", maxPlanRows)}
	}
	var all []*row
	for i, r := range rows {
		x := &row{id: -1, selectType: cell(r, "select_type")}
		if id, err := strconv.Atoi(cell(r, "id")); err == nil {
			x.id = id
		} else if cell(r, "id") != "" {
			return nil, &ParseError{Traditional, fmt.Sprintf("row %d: the id is not a number", i+1)}
		}
		x.node = tableNode(x, func(name string) string { return cell(r, name) })
		if m := derivedRef.FindStringSubmatch(x.node.Name); m != nil {
			x.fills, _ = strconv.Atoi(m[1])
		}
		x.members, x.cut = setMembers(x.node.Name)
		all = append(all, x)
	}
	b := builder{rows: all, plan: p, used: make(map[*row]bool), built: make(map[int]*Node)}
	p.Root = b.root()
	return p.finish()
}

func tableNode(x *row, cell func(string) string) *Node {
	n := &Node{
		Op: OpTable, SelectID: max(x.id, 0), SelectType: x.selectType,
		Name: cell("table"), Rows: parseNumber(cell("rows")), Filtered: parseNumber(cell("filtered")),
		PossibleKeys: commas(cell("possible_keys")), Partitions: commas(cell("partitions")), Ref: commas(cell("ref")),
	}
	if n.Filtered.Known {
		n.Filtered.Value = min(n.Filtered.Value, 100) // above 100 on old servers: MySQL bug 34124
	}
	access, filter, _ := strings.Cut(cell("type"), "|")
	if filter == "filter" {
		n.set(RowIDFilter)
	}
	if rest, ok := strings.CutPrefix(access, "hash_"); ok {
		access = rest
		n.set(Hash)
	}
	n.Access = Access(access)
	keys, _, _ := strings.Cut(cell("key"), "|")
	lengths, _, _ := strings.Cut(cell("key_len"), "|")
	lens := commas(lengths)
	for i, name := range commas(keys) {
		k := Key{Name: name}
		if name == "#hash#$hj" {
			continue // the hash table of a join, no index
		}
		if name, ok := strings.CutPrefix(name, "#hash#"); ok {
			k.Name = name
		}
		if i < len(lens) {
			// MariaDB writes 4:9 where a hash key stands before an index.
			l := lens[i]
			if j := strings.IndexByte(l, ':'); j >= 0 {
				l = l[j+1:]
			}
			k.Length, _ = strconv.Atoi(l)
		}
		n.Keys = append(n.Keys, k)
	}
	if r := parseNumber(cell("r_rows")); r.Known {
		n.Actual = &Actual{Rows: r}
	}
	x.flags = extra(n, cell("extra"))
	return n
}

// builder turns rows into a tree.
type builder struct {
	rows  []*row
	plan  *Plan
	used  map[*row]bool
	built map[int]*Node // blocks by id
}

var (
	derivedRef = regexp.MustCompile(`^<(?:derived|subquery)(\d+)>$`)
	setRef     = regexp.MustCompile(`^<(union|intersect|except|unit)([\d,.]+)>$`)
)

func (b *builder) root() *Node {
	var root *Node
	// A set operation at the top stands first as its members do.
	for _, x := range b.rows {
		if slices.Contains(x.members, b.rows[0].id) && b.owner(x) == nil {
			root = b.set(x)
			break
		}
	}
	if root == nil {
		root = b.block(b.rows[0].id)
	}
	// What nobody named are subqueries; each belongs to the nearest block before it.
	for _, x := range b.rows {
		if b.used[x] || x.id < 0 {
			continue
		}
		owner, before := root, 0
		for id, n := range b.built {
			if id > before && id < x.id {
				owner, before = n, id
			}
		}
		sub := &Node{Op: OpSubquery, SelectID: x.id, SelectType: x.selectType,
			Dependent:   strings.HasPrefix(x.selectType, "DEPENDENT"),
			Uncacheable: strings.HasPrefix(x.selectType, "UNCACHEABLE")}
		sub.Children = []*Node{b.subqueryBody(x)}
		owner.Children = append(owner.Children, sub)
	}
	for _, x := range b.rows {
		if !b.used[x] {
			b.unsure("a row of the table is named by no other")
			root.Children = append(root.Children, x.node)
		}
	}
	return root
}

func (b *builder) unsure(why string) {
	if b.plan.Unsure == "" {
		b.plan.Unsure = why
	}
}

// owner returns the row whose table the block of x fills.
func (b *builder) owner(x *row) *row {
	for _, y := range b.rows {
		if y.fills == x.id && y.fills > 0 && y != x {
			return y
		}
	}
	return nil
}

func setMembers(name string) (ids []int, cut bool) {
	m := setRef.FindStringSubmatch(name)
	if m == nil {
		return nil, false
	}
	for s := range strings.SplitSeq(m[2], ",") {
		id, err := strconv.Atoi(s)
		if err != nil {
			return ids, true // a long list ends with ...
		}
		ids = append(ids, id)
	}
	return ids, false
}

// subqueryBody builds the block of a subquery, which may be a set operation.
func (b *builder) subqueryBody(x *row) *Node {
	for _, y := range b.rows {
		if !b.used[y] && len(y.members) > 0 && y.members[0] == x.id {
			return b.set(y)
		}
	}
	return b.block(x.id)
}

// set builds a UNION, INTERSECT or EXCEPT from its result row.
func (b *builder) set(x *row) *Node {
	b.used[x] = true
	ids, cut := slices.Clone(x.members), x.cut && len(x.members) > 0
	n := &Node{Op: OpSet, SelectID: max(x.id, 0), SelectType: x.selectType, Name: x.node.Name, Extra: x.node.Extra}
	n.SetOperation = strings.ToLower(strings.TrimSuffix(x.selectType, " RESULT"))
	if n.SetOperation == "unit" {
		n.SetOperation = "set"
	}
	if cut {
		// The list of members is cut: all blocks after the first that say so are members.
		for _, y := range b.rows {
			base := strings.TrimPrefix(strings.TrimPrefix(y.selectType, "DEPENDENT "), "UNCACHEABLE ")
			if y.id > ids[len(ids)-1] && base == "UNION" && !slices.Contains(ids, y.id) {
				ids = append(ids, y.id)
			}
		}
		b.unsure("the list of the set operation's members is cut short")
	}
	for _, id := range ids {
		if b.built[id] != nil {
			b.unsure("a block is named twice")
			continue
		}
		// A member can itself be a set operation with an id of its own.
		if y := b.setRow(id); y != nil {
			n.Children = append(n.Children, b.set(y))
			continue
		}
		if b.first(id) == nil {
			b.unsure("a member of a set operation is missing")
			continue
		}
		n.Children = append(n.Children, b.block(id))
	}
	if x.flags.temporary {
		n = &Node{Op: OpTemporary, SelectID: n.SelectID, Children: []*Node{n}}
	}
	if x.flags.filesort {
		n = &Node{Op: OpSort, SelectID: n.SelectID, Children: []*Node{n}}
	}
	return n
}

func (b *builder) setRow(id int) *row {
	for _, y := range b.rows {
		if y.id == id && len(y.members) > 0 && !b.used[y] {
			return y
		}
	}
	return nil
}

func (b *builder) first(id int) *row {
	for _, y := range b.rows {
		if y.id == id && y.members == nil {
			return y
		}
	}
	return nil
}

// block builds the rows of one id.
func (b *builder) block(id int) *Node {
	n := &Node{Op: OpSelect, SelectID: max(id, 0)}
	b.built[id] = n
	var rows []*row
	for _, x := range b.rows {
		if x.id == id && !b.used[x] && x.members == nil {
			rows = append(rows, x)
			b.used[x] = true
		}
	}
	if len(rows) == 0 {
		return n
	}
	n.SelectType = rows[0].selectType
	var modify *Node
	var body []*Node
	weedout, weedouts := -1, false
	for i, x := range rows {
		switch x.selectType {
		case "INSERT", "REPLACE":
			modify = &Node{Op: OpModify, Detail: strings.ToLower(x.selectType), SelectID: x.node.SelectID, Name: x.node.Name, Extra: x.node.Extra}
			if x.flags.none == "" && i == 0 {
				continue
			}
		case "UPDATE", "DELETE":
			if modify == nil {
				modify = &Node{Op: OpModify, Detail: strings.ToLower(x.selectType), SelectID: x.node.SelectID, Name: x.node.Name}
			} else {
				modify.Name += ", " + x.node.Name
			}
			if x.flags.temporary && i == 0 {
				x.flags.temporary = false
				x.node.set(Buffered)
			}
		}
		if x.flags.startWeedout {
			weedout = len(body)
		}
		body = append(body, b.tableOf(x))
		if x.flags.endWeedout && weedout >= 0 {
			weedouts = true
		}
	}
	lead := rows[0]
	if modify != nil && len(rows) > 1 && len(body) < len(rows) {
		lead = rows[1]
	}
	if len(body) > 0 {
		top := joinOf(body)
		if weedouts {
			d := &Node{Op: OpDistinct, Children: []*Node{top}}
			d.set(Weedout)
			top = d
		}
		n.Children = []*Node{sorted(top, rows, lead)}
	}
	if modify != nil {
		modify.Children = n.Children
		n.Children = []*Node{modify}
	}
	return n
}

// sorted puts the block's temporary table and sort where the server runs them.
func sorted(top *Node, rows []*row, lead *row) *Node {
	temporary, filesort := false, false
	for _, x := range rows {
		temporary = temporary || x.flags.temporary
		filesort = filesort || x.flags.filesort
	}
	if lead.flags.distinct && temporary {
		top = &Node{Op: OpDistinct, Children: []*Node{top}}
	}
	if temporary {
		top = &Node{Op: OpTemporary, Children: []*Node{top}}
	}
	if !filesort {
		return top
	}
	if !temporary && top.Op == OpJoin {
		// The first table that is not constant is sorted before the join.
		for i, c := range top.Children {
			if c.Access != AccessConst && c.Access != AccessSystem {
				top.Children[i] = &Node{Op: OpSort, Children: []*Node{c}}
				return top
			}
		}
	}
	return &Node{Op: OpSort, Children: []*Node{top}}
}

func joinOf(tables []*Node) *Node {
	if len(tables) == 1 {
		return tables[0]
	}
	return &Node{Op: OpJoin, Children: tables}
}

// tableOf returns the row's node, with the block that fills it below.
func (b *builder) tableOf(x *row) *Node {
	n := x.node
	if x.flags.none != "" && n.Access == "" {
		return &Node{Op: OpNone, SelectID: n.SelectID, SelectType: n.SelectType, Name: n.Name, Detail: x.flags.none, Extra: n.Extra}
	}
	id := x.fills
	if id == 0 {
		return n
	}
	mat := &Node{Op: OpMaterialize}
	switch {
	case b.built[id] != nil:
		mat.set(DuplicateInput)
	case b.unionOf(id) != nil:
		mat.Children = []*Node{b.set(b.unionOf(id))}
	case b.first(id) != nil:
		mat.Dependent = strings.HasPrefix(b.first(id).selectType, "DEPENDENT") || strings.HasPrefix(b.first(id).selectType, "LATERAL")
		mat.Children = []*Node{b.block(id)}
		b.recursive(id, mat)
	default:
		return n // the server kept the block to itself, as one that it has run already
	}
	n.Children = []*Node{mat}
	return n
}

func (b *builder) unionOf(id int) *row {
	for _, y := range b.rows {
		if len(y.members) > 0 && y.members[0] == id && !b.used[y] {
			return y
		}
	}
	return nil
}

// recursive adds the recursive members of a common table expression: they
// follow the first member with select types of their own and no union row
// whose list would name them.
func (b *builder) recursive(id int, mat *Node) {
	for _, y := range b.rows {
		rec := strings.HasPrefix(y.selectType, "RECURSIVE") ||
			strings.HasSuffix(y.selectType, "UNION") && slices.Contains(y.node.Flags, Recursive)
		if !b.used[y] && rec || !b.used[y] && y.selectType == "UNION" && b.blockHas(y.id, Recursive) {
			block := b.block(y.id)
			block.set(Recursive)
			mat.Children = append(mat.Children, block)
		}
	}
}

func (b *builder) blockHas(id int, f Flag) bool {
	for _, y := range b.rows {
		if y.id == id && y.node.Has(f) {
			return true
		}
	}
	return false
}

func commas(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}
