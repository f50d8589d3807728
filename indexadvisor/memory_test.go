package indexadvisor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/types"
	"github.com/quern-dev/quern/internal/sqlparse"
)

// memory is a Source over tables given by CREATE TABLE and a function that
// makes the rows.
type memory struct {
	Rows
	t *testing.T
}

func newMemory(t *testing.T) *memory {
	return &memory{Rows: Rows{Data: map[string][][]any{}}, t: t}
}

// add makes a table in schema s, with n rows.
func (m *memory) add(ddl string, n int, row func(i int) []any) *Table {
	m.t.Helper()
	stmt, err := sqlparse.Parse(ddl, sqlparse.Options{})
	if err != nil {
		m.t.Fatal(err)
	}
	c := stmt.(*ast.CreateTableStmt)
	t := &Table{Schema: "s", Name: c.Table.Name.O}
	key := func(name string, unique bool, parts []*ast.IndexPartSpecification) {
		ix := Index{Name: name, Unique: unique, Kind: "BTREE", Reads: -1}
		for _, p := range parts {
			part := Part{Desc: p.Desc, Length: max(0, p.Length)}
			if p.Expr != nil {
				part.Expr = render(p.Expr, nil, true, true)
				part.Length = 0
			} else {
				part.Name = p.Column.Name.O
			}
			ix.Parts = append(ix.Parts, part)
		}
		t.Indexes = append(t.Indexes, ix)
	}
	for _, col := range c.Cols {
		d := Column{Name: col.Name.Name.O, Type: strings.ToLower(types.TypeToStr(col.Tp.GetType(), col.Tp.GetCharset())), Full: col.Tp.String(), Nullable: true}
		if d.Type == "varchar" || d.Type == "char" || strings.HasSuffix(d.Type, "text") {
			d.Charset, d.Collation, d.Chars = "utf8mb4", "utf8mb4_0900_ai_ci", int64(col.Tp.GetFlen())
			if col.Tp.GetFlen() < 0 {
				d.Chars = 65535
			}
		}
		for _, o := range col.Options {
			switch o.Tp {
			case ast.ColumnOptionNotNull:
				d.Nullable = false
			case ast.ColumnOptionPrimaryKey:
				d.Nullable = false
				t.Indexes = append(t.Indexes, Index{Name: "PRIMARY", Unique: true, Kind: "BTREE", Parts: []Part{{Name: d.Name}}})
			case ast.ColumnOptionGenerated:
				d.Generated, d.Virtual = render(o.Expr, nil, true, true), !o.Stored
			}
		}
		t.Columns = append(t.Columns, d)
	}
	for _, k := range c.Constraints {
		switch k.Tp {
		case ast.ConstraintPrimaryKey:
			for _, p := range k.Keys {
				t.column(p.Column.Name.O).Nullable = false
			}
			key("PRIMARY", true, k.Keys)
		case ast.ConstraintUniq, ast.ConstraintUniqKey, ast.ConstraintUniqIndex:
			key(k.Name, true, k.Keys)
		default:
			key(k.Name, false, k.Keys)
		}
	}
	m.Tables = append(m.Tables, t)
	for i := range n {
		r := row(i)
		for j := range r {
			if v, ok := r[j].(int); ok {
				r[j] = int64(v)
			}
		}
		m.Data["s."+t.Name] = append(m.Data["s."+t.Name], r)
	}
	t.Rows = int64(n)
	return t
}

func (m *memory) advise(sql string) *Advice {
	m.t.Helper()
	a, err := New(&m.Rows, Options{}).Advise(context.Background(), Query{Schema: "s", SQL: sql})
	if err != nil && !errors.Is(err, ErrNotCounted) {
		m.t.Fatalf("%s: %v", sql, err)
	}
	return a
}

// short writes suggestions as "table(a, b)", with "+" for an extended index.
func short(a *Advice) string {
	var out []string
	for _, s := range a.Suggestions {
		mark := ""
		switch s.Kind {
		case Extend:
			mark = "+"
		case Drop:
			mark = "-" + s.Name + " "
		}
		out = append(out, fmt.Sprintf("%s%s%s", mark, s.Table, partList(s.Columns)))
	}
	return strings.Join(out, " ")
}

func wantNote(t *testing.T, a *Advice, part string) {
	t.Helper()
	for _, n := range a.Notes {
		if strings.Contains(n, part) {
			return
		}
	}
	t.Errorf("no note holds %q; they are:\n%s", part, strings.Join(a.Notes, "\n"))
}

// only reads and counts a statement and returns its block.
func (m *memory) only(sql string) (Server, *block) {
	m.t.Helper()
	r := New(&m.Rows, Options{}).run()
	if err := r.start(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
	it, err := r.item(m.t.Context(), Query{Schema: "s", SQL: sql})
	if err != nil {
		m.t.Fatal(err)
	}
	return r.server, it.variants[0].blocks[0]
}
