package explain

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// maxPlanBytes bounds the text of a plan that is parsed. Servers print far less.
const maxPlanBytes = 16 << 20

// maxPlanNodes bounds the steps of a plan, which are compared with each other.
const maxPlanNodes = 5000

// maxPlanDepth bounds the nesting of a plan's nodes.
const maxPlanDepth = 300

// ParseError says that a text is not a plan, or not one of the expected format.
type ParseError struct {
	Format Format // "" where no format was recognised
	Reason string // what was expected
}

func (e *ParseError) Error() string {
	if e.Format == "" {
		return "explain: not a plan: " + e.Reason
	}
	return fmt.Sprintf("explain: not a %s plan: %s", e.Format, e.Reason)
}

// Parse reads what a server or its client program printed for EXPLAIN, in any
// Format, which it recognises: a table with borders, with tabs or as \G prints
// it, JSON, or a tree. Words that it does not know are kept in Node.Detail and
// Node.Extra. Text that follows a table, as that of SHOW WARNINGS, is not read.
// Parse needs no connection. Its error is a *ParseError.
func Parse(text string) (*Plan, error) {
	if len(text) > maxPlanBytes {
		return nil, &ParseError{Reason: fmt.Sprintf("longer than %d bytes", maxPlanBytes)}
	}
	body := strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	body = strings.TrimPrefix(body, "\ufeff")
	var p *Plan
	var err error
	switch {
	case body == "":
		return nil, &ParseError{Reason: "no text"}
	case strings.HasPrefix(body, "{"):
		p, err = parseJSON(body)
	case strings.HasPrefix(body, "->"), strings.HasPrefix(body, notExecutable):
		p, err = parseTree(body)
	case strings.HasPrefix(body, "EXPLAIN:"), strings.HasPrefix(body, "ANALYZE:"):
		return Parse(body[len("EXPLAIN:"):])
	case strings.HasPrefix(body, "EXPLAIN\n"), strings.HasPrefix(body, "ANALYZE\n"):
		return Parse(unescapeTab(body[len("EXPLAIN\n"):]))
	default:
		var t table
		if t, err = readTable(body); err == nil {
			p, err = t.plan()
		}
	}
	if err != nil {
		return nil, err
	}
	p.Raw = text
	return p, nil
}

// ParseRows reads the rows that a server sent for EXPLAIN. Columns are matched
// by name, whatever their order; unknown ones are passed over. A single column
// holds JSON or a tree. Its error is a *ParseError.
func ParseRows(columns []string, rows [][]sql.NullString) (*Plan, error) {
	if len(columns) == 1 {
		lines := make([]string, 0, len(rows))
		for _, r := range rows {
			if len(r) == 1 {
				lines = append(lines, r[0].String)
			}
		}
		return Parse(strings.Join(lines, "\n"))
	}
	t := table{columns: columns}
	for _, r := range rows {
		if len(r) != len(columns) {
			return nil, &ParseError{Reason: "a row has not as many values as there are columns"}
		}
		t.rows = append(t.rows, r)
	}
	p, err := t.plan()
	if err != nil {
		return nil, err
	}
	p.Raw = t.text()
	return p, nil
}

// finish ends the building of a plan.
func (p *Plan) finish() (*Plan, error) {
	n := 0
	for range p.Root.All() {
		if n++; n > maxPlanNodes {
			return nil, &ParseError{p.Format, fmt.Sprintf("more than %d steps", maxPlanNodes)}
		}
	}
	p.Root.estimate(1)
	return p, nil
}

// table is a plan as rows.
type table struct {
	columns []string
	rows    [][]sql.NullString
}

func (t table) plan() (*Plan, error) {
	byName := make(map[string]int, len(t.columns))
	for i, c := range t.columns {
		byName[strings.ToLower(strings.TrimSpace(c))] = i
	}
	if len(t.rows) == 0 {
		return nil, &ParseError{Reason: "a table without rows"}
	}
	if _, ok := byName["select_type"]; ok {
		return traditional(t.rows, byName)
	}
	_, task := byName["task"]
	if _, info := byName["operator info"]; info && task {
		return tidb(t.rows, byName)
	}
	return nil, &ParseError{Reason: "a table with the columns of EXPLAIN was expected"}
}

// text prints the table with tabs, as the client programs do in batch mode.
func (t table) text() string {
	var b strings.Builder
	b.WriteString(strings.Join(t.columns, "\t"))
	for _, r := range t.rows {
		b.WriteByte('\n')
		for i, v := range r {
			if i > 0 {
				b.WriteByte('\t')
			}
			if v.Valid {
				b.WriteString(v.String)
			} else {
				b.WriteString("NULL")
			}
		}
	}
	return b.String()
}

func readTable(text string) (table, error) {
	lines := strings.Split(text, "\n")
	switch {
	case strings.HasPrefix(lines[0], "+-"):
		return readBordered(lines)
	case strings.HasPrefix(lines[0], "***"):
		return readVertical(lines)
	case strings.Contains(lines[0], "\t"):
		return readTabbed(lines)
	}
	return table{}, &ParseError{Reason: "a table, JSON or a tree was expected"}
}

var errNoRow = errors.New("no row")

// readBordered cuts at the places of the border's plus signs, since MariaDB
// prints values with a bar in them. The places count characters.
func readBordered(lines []string) (table, error) {
	border := lines[0]
	var cuts []int
	for i := 0; i < len(border); i++ {
		if border[i] == '+' {
			cuts = append(cuts, i)
		}
	}
	if len(cuts) < 2 || len(lines) < 3 {
		return table{}, &ParseError{Reason: "the table's border is damaged"}
	}
	cut := func(line string) ([]string, error) {
		r := []rune(line)
		if len(r) < cuts[len(cuts)-1] || r[0] != '|' {
			return nil, errNoRow
		}
		out := make([]string, len(cuts)-1)
		for i := range out {
			// TiDB's ids are indented: of the blanks in front only the first is the border's.
			out[i] = strings.TrimRight(strings.TrimPrefix(string(r[cuts[i]+1:cuts[i+1]]), " "), " ")
		}
		return out, nil
	}
	head, err := cut(lines[1])
	if err != nil {
		return table{}, &ParseError{Reason: "the table's head is damaged"}
	}
	for i := range head {
		head[i] = strings.TrimSpace(head[i])
	}
	if len(head) == 1 {
		return readSingleColumn(lines, cuts)
	}
	t := table{columns: head}
	for _, line := range lines[3:] {
		if strings.HasPrefix(line, "+") {
			break
		}
		cells, err := cut(line)
		if err != nil {
			return table{}, &ParseError{Reason: "a row of the table does not fit its border"}
		}
		t.rows = append(t.rows, cellValues(cells))
	}
	return t, nil
}

// readSingleColumn unwraps a bordered JSON or tree.
func readSingleColumn(lines []string, cuts []int) (table, error) {
	body := strings.Join(lines[3:], "\n")
	if i := strings.LastIndex(body, "\n+--"); i >= 0 {
		body = body[:i]
	}
	body = strings.TrimPrefix(body, "| ")
	body = strings.TrimRight(body, " |\n")
	return table{columns: []string{"EXPLAIN"}, rows: [][]sql.NullString{{{String: body, Valid: true}}}}, nil
}

func readTabbed(lines []string) (table, error) {
	t := table{columns: strings.Split(lines[0], "\t")}
	for _, line := range lines[1:] {
		cells := strings.Split(line, "\t")
		for len(cells) < len(t.columns) {
			cells = append(cells, "") // the blank end of a line that was trimmed
		}
		if len(cells) > len(t.columns) || line == "" {
			break
		}
		t.rows = append(t.rows, cellValues(cells))
	}
	return t, nil
}

func readVertical(lines []string) (table, error) {
	var t table
	var cells []string
	flush := func() bool {
		if len(cells) == 0 {
			return true
		}
		if len(cells) != len(t.columns) {
			return false
		}
		t.rows = append(t.rows, cellValues(cells))
		cells = nil
		return true
	}
	for _, line := range lines {
		if strings.HasPrefix(line, "***") {
			if strings.Contains(line, " 1. row ") && len(cells) > 0 {
				break // another result, that of SHOW WARNINGS
			}
			if !flush() {
				return table{}, &ParseError{Reason: "the rows have not the same columns"}
			}
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			continue // a value's next line
		}
		if len(t.rows) == 0 {
			t.columns = append(t.columns, strings.TrimSpace(name))
		}
		cells = append(cells, strings.TrimSpace(value))
	}
	if !flush() {
		return table{}, &ParseError{Reason: "the rows have not the same columns"}
	}
	return t, nil
}

// cellValues turns printed cells into values. A printed NULL is taken for one.
func cellValues(cells []string) []sql.NullString {
	out := make([]sql.NullString, len(cells))
	for i, c := range cells {
		if strings.TrimSpace(c) != "NULL" {
			out[i] = sql.NullString{String: c, Valid: true}
		}
	}
	return out
}

// unescapeTab undoes what the client programs do to values in batch mode.
func unescapeTab(s string) string {
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`).Replace(s)
}
