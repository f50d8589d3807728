package explain

import (
	"fmt"
	"regexp"
	"strings"
)

// notExecutable is what MySQL prints instead of a tree for one-table UPDATE and
// DELETE; the traditional format and JSON version 1 show their plan.
const notExecutable = "<not executable by iterator executor>"

// step is a node as TREE and JSON version 2 print it: an operation in words.
type step struct {
	text    string // "Index lookup on o using k (a = 1)"
	heading string // "Hash", "Select #2 (subquery in condition; dependent)"
	rows    Number
	cost    Number
	actual  *Actual
	never   bool   // EXPLAIN ANALYZE did not come here
	fields  object // of JSON version 2
	inputs  []*step
}

var (
	estimates = regexp.MustCompile(`\s+\(cost=(-?[0-9.e+-]+?)(?:\.\.(-?[0-9.e+-]+))? rows=([0-9.e+-]+)\)`)
	actuals   = regexp.MustCompile(`\s+\(actual time=([0-9.e+-]+?)\.\.([0-9.e+-]+) rows=([0-9.e+-]+) loops=([0-9.e+-]+)\)$`)
	headings  = regexp.MustCompile(`^(?:Hash$|Select #\d+ \((?:subquery|materialized)|Batch input rows$|Repeat until convergence$|Disable deduplication$|Clustered primary key \(scanned separately\)$|Limit table size: )`)
)

// parseTree reads the indented lines of TREE. A line without an arrow belongs
// to the literal of the line before it.
func parseTree(text string) (*Plan, error) {
	if strings.HasPrefix(strings.TrimPrefix(text, "-> "), notExecutable) {
		p := &Plan{Format: Tree, Unsure: "the server shows no tree for this statement: ask for the traditional format"}
		p.Root = &Node{Op: OpOther, Detail: notExecutable}
		return p.finish()
	}
	type open struct {
		indent int
		step   *step
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if trimmed := strings.TrimLeft(line, " "); strings.HasPrefix(trimmed, "-> ") || len(lines) == 0 {
			lines = append(lines, line)
		} else {
			lines[len(lines)-1] += "\n" + line
		}
	}
	var roots []*step
	var stack []open
	for i, line := range lines {
		body := strings.TrimLeft(line, " ")
		indent := len(line) - len(body)
		s, err := readStep(strings.TrimSpace(strings.TrimPrefix(body, "->")))
		if err != nil {
			return nil, &ParseError{Tree, fmt.Sprintf("step %d: %v", i+1, err)}
		}
		for len(stack) > 0 && stack[len(stack)-1].indent >= indent {
			stack = stack[:len(stack)-1]
		}
		if len(stack) >= maxPlanDepth {
			return nil, &ParseError{Tree, errDepth.Error()}
		}
		if len(stack) == 0 {
			roots = append(roots, s)
		} else {
			parent := stack[len(stack)-1].step
			parent.inputs = append(parent.inputs, s)
		}
		stack = append(stack, open{indent, s})
	}
	for _, r := range roots {
		foldHeadings(r)
	}
	p := &Plan{Format: Tree, Root: fromSteps(roots)}
	p.Cost = roots[0].firstCost()
	return p.finish()
}

func readStep(s string) (*step, error) {
	n := &step{}
	if rest, ok := strings.CutSuffix(s, "(never executed)"); ok {
		s, n.never = strings.TrimSpace(rest), true
	}
	if m := actuals.FindStringSubmatchIndex(s); m != nil {
		at := func(i int) Number { return parseNumber(s[m[2*i]:m[2*i+1]]) }
		n.actual = &Actual{FirstMS: at(1), TotalMS: at(2), Rows: at(3), Loops: at(4)}
		s = s[:m[0]]
	}
	// The estimates end the line: those inside a literal are not they.
	if all := estimates.FindAllStringSubmatchIndex(s, -1); all != nil {
		m := all[len(all)-1]
		if m[1] == len(s) {
			n.cost = parseNumber(s[m[2]:m[3]])
			if m[4] >= 0 {
				n.cost = parseNumber(s[m[4]:m[5]])
			}
			n.rows = parseNumber(s[m[6]:m[7]])
			s = s[:m[0]]
		}
	}
	n.text = s
	if s == "" {
		return nil, fmt.Errorf("an operation was expected")
	}
	return n, nil
}

// foldHeadings makes the headings, which TREE prints as steps of their own,
// properties of the step below them, as JSON version 2 has them.
func foldHeadings(s *step) {
	for i, in := range s.inputs {
		for headings.MatchString(in.text) && len(in.inputs) > 0 {
			h := in.text
			if in.heading != "" {
				h = in.heading + "; " + h
			}
			in = in.inputs[0]
			in.heading = h
			s.inputs[i] = in
		}
		foldHeadings(in)
	}
}

func (s *step) firstCost() Number {
	for s.text != "" {
		if s.cost.Known || len(s.inputs) == 0 {
			return s.cost
		}
		s = s.inputs[0]
	}
	return Number{}
}

// fromSteps builds the tree. The first root is the statement, others are the
// subqueries of its select list.
func fromSteps(roots []*step) *Node {
	root := &Node{Op: OpSelect, SelectID: 1}
	for i, r := range roots {
		if i > 0 && r.heading == "" {
			r.heading = r.text
			if len(r.inputs) > 0 {
				first := r.inputs[0]
				first.heading = r.heading
				r = first
			}
		}
		if i > 0 {
			root.Children = append(root.Children, subqueryOf(r))
			continue
		}
		n := r.node()
		root.Children = append(root.Children, n)
		root.Children = append(root.Children, r.selectListSubqueries()...)
	}
	return root
}

// parseJSON2 reads JSON version 2: {"query_plan": node, ...} or, before MySQL
// 9.0, the node itself with the query beside it.
func parseJSON2(root object) (*Plan, error) {
	p := &Plan{Format: JSON2}
	plan, ok := root.object("query_plan")
	if !ok {
		plan = root
	}
	if !plan.has("operation") {
		p.Unsure = "the server shows no tree for this statement: ask for the traditional format"
		p.Root = &Node{Op: OpOther, Detail: notExecutable}
		return p.finish()
	}
	s := stepOf(plan)
	if s.text == notExecutable {
		p.Unsure = "the server shows no tree for this statement: ask for the traditional format"
	}
	p.Root = fromSteps([]*step{s})
	p.Cost = s.firstCost()
	return p.finish()
}

func stepOf(o object) *step {
	s := &step{text: o.text("operation"), heading: o.text("heading"), fields: o,
		rows: o.number("estimated_rows"), cost: o.number("estimated_total_cost")}
	if o.has("actual_rows") || o.has("actual_loops") {
		s.actual = &Actual{Rows: o.number("actual_rows"), Loops: o.number("actual_loops"),
			FirstMS: o.number("actual_first_row_ms"), TotalMS: o.number("actual_last_row_ms")}
		if !s.actual.Loops.Known {
			s.actual, s.never = nil, true
		}
	}
	for _, in := range o.array("inputs") {
		if in, ok := in.(object); ok {
			s.inputs = append(s.inputs, stepOf(in))
		}
	}
	return s
}

// selectListSubqueries are those that JSON version 2 hangs below any step.
func (s *step) selectListSubqueries() []*Node {
	var out []*Node
	for _, x := range s.fields.array("inputs_from_select_list") {
		if x, ok := x.(object); ok {
			out = append(out, subqueryOf(stepOf(x)))
		}
	}
	for _, in := range s.inputs {
		out = append(out, in.selectListSubqueries()...)
	}
	return out
}

var subqueryHeading = regexp.MustCompile(`Select #(\d+) \(subquery in ([a-z ]+)((?:; [a-z ]+)*)\)`)

func subqueryOf(s *step) *Node {
	n := &Node{Op: OpSubquery}
	if m := subqueryHeading.FindStringSubmatch(s.heading); m != nil {
		n.SelectID = int(parseNumber(m[1]).Value)
		n.Location = m[2]
		if n.Location == "projection" {
			n.Location = "select list"
		}
		n.Dependent = strings.Contains(m[3], "dependent")
		n.Uncacheable = strings.Contains(m[3], "uncacheable")
	}
	n.Children = []*Node{{Op: OpSelect, SelectID: n.SelectID, Children: []*Node{s.node()}}}
	return n
}
