package explain

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// String draws the plan as a tree: one line a step, in the order of execution,
// with the estimate of rows read at each table (rows × executions).
func (p *Plan) String() string {
	var b strings.Builder
	if p.Root != nil {
		p.Root.draw(&b, "", "")
	}
	if p.Approximate {
		b.WriteString("approximate:")
		for i, why := range p.Why {
			if i > 0 {
				b.WriteByte(';')
			}
			b.WriteString(" " + why)
		}
		b.WriteByte('\n')
	}
	if p.Unsure != "" {
		b.WriteString("the tree is not certain: " + p.Unsure + "\n")
	}
	return b.String()
}

// draw writes the node after first, and all below it after rest.
func (n *Node) draw(b *strings.Builder, first, rest string) {
	b.WriteString(first)
	b.WriteString(n.Line())
	b.WriteByte('\n')
	for i, c := range n.Children {
		if i < len(n.Children)-1 {
			c.draw(b, rest+"├─ ", rest+"│  ")
		} else {
			c.draw(b, rest+"└─ ", rest+"   ")
		}
	}
}

// maxShown bounds the characters of a condition in the drawn tree.
const maxShown = 100

// Line describes the node, without those below it, in one line.
func (n *Node) Line() string {
	var w []string
	add := func(format string, a ...any) { w = append(w, fmt.Sprintf(format, a...)) }
	switch n.Op {
	case OpTable:
		name := n.Name
		if n.Table != "" && n.Table != n.Name {
			name += " (" + n.Table + ")"
		}
		add("%s", name)
		add("%s", accessWords(n))
	case OpSelect:
		if n.SelectID > 0 {
			add("select #%d", n.SelectID)
		} else {
			add("select")
		}
	case OpSort:
		add("sort")
		if len(n.SortKeys) > 0 {
			add("by %s", shorten(strings.Join(n.SortKeys, ", ")))
		}
	case OpTemporary:
		add("temporary table")
	case OpLimit:
		if n.Limit.Known {
			add("limit %s", figure(n.Limit.Value))
		}
		if n.Offset.Known {
			add("offset %s", figure(n.Offset.Value))
		}
	case OpSubquery:
		if n.Dependent {
			add("dependent")
		}
		if n.Uncacheable {
			add("uncacheable")
		}
		add("subquery")
		if n.SelectID > 0 {
			add("#%d", n.SelectID)
		}
		if n.Location != "" {
			add("in %s", n.Location)
		}
	case OpMaterialize:
		if n.Dependent {
			add("dependent")
		}
		add("materialize")
		if n.Has(DuplicateInput) {
			add("(shown elsewhere)")
		}
	case OpSet:
		add("%s", n.SetOperation)
	case OpModify:
		add("%s %s", n.Detail, n.Name)
		if strings.Contains(n.Detail, n.Name) {
			w[len(w)-1] = n.Detail
		}
	case OpNone:
		add("no table is read: %s", n.Detail)
	case OpOther:
		add("%s", shorten(n.Detail))
	default:
		add("%s", n.Op)
	}
	if n.JoinType != "" {
		add("(%s join)", n.JoinType)
	}
	if len(n.Partitions) > 0 {
		add("partitions %s", shorten(strings.Join(n.Partitions, ",")))
	}
	if n.Op == OpTable && n.Rows.Known {
		add(" rows %s", figure(n.Rows.Value))
		if l := n.Loops.Or(1); l != 1 {
			add("× %s", figure(l))
		}
		if n.Out.Known && n.Out.Value != n.Rows.Value {
			add("→ %s", figure(n.Out.Value))
		}
	}
	if n.Actual != nil && n.Actual.Rows.Known {
		add(" actual %s", figure(n.Actual.Rows.Value))
		if l := n.Actual.Loops.Or(1); l != 1 {
			add("× %s", figure(l))
		}
	}
	if len(n.Flags) > 0 {
		words := make([]string, len(n.Flags))
		for i, f := range n.Flags {
			words[i] = string(f)
		}
		add(" [%s]", strings.Join(words, ", "))
	}
	if n.IndexCond != "" {
		add(" in the index: %s", shorten(n.IndexCond))
	}
	if n.Condition != "" {
		add(" where %s", shorten(n.Condition))
	}
	return strings.Join(w, " ")
}

func accessWords(n *Node) string {
	s := map[Access]string{AccessAll: "full scan", AccessIndex: "full index scan"}[n.Access]
	if s == "" {
		s = string(n.Access)
	}
	for i, k := range n.Keys {
		if i == 0 {
			s += " "
		} else {
			s += ", "
		}
		s += k.Name
		if len(k.Parts) > 0 {
			s += "(" + strings.Join(k.Parts, ",") + ")"
		} else if k.Length > 0 {
			s += fmt.Sprintf("(%d bytes)", k.Length)
		}
	}
	return s
}

// figure prints an estimate with as many digits as it deserves.
func figure(v float64) string {
	switch {
	case v >= 10 || v == float64(int64(v)):
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

func shorten(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= maxShown {
		return s
	}
	return string([]rune(s)[:maxShown-1]) + "…"
}
