package indexadvisor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/quern-dev/quern/internal/lexer"
	"github.com/quern-dev/quern/internal/sqlparse"
)

// schemasOf lists the schemas that a statement names, in lower case. One that
// is the name or the alias of a table as well is an error: what stands before
// a dot could be either.
func schemasOf(stmt ast.StmtNode) ([]string, error) {
	var schemas []string
	tables := map[string]bool{}
	sqlparse.Walk(stmt, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TableName:
			if n.Schema.L != "" {
				schemas = appendNew(schemas, n.Schema.L)
			}
			tables[n.Name.L] = true
		case *ast.TableSource:
			tables[n.AsName.L] = true
		case *ast.CommonTableExpression:
			tables[n.Name.L] = true
		}
		return true
	})
	for _, s := range schemas {
		if tables[s] {
			return nil, fmt.Errorf("indexadvisor: the statement cannot be verified: %s is a schema and a table in it, so that its names cannot be told apart; give the table an alias", s)
		}
	}
	return schemas, nil
}

// rename puts other schemas in the place of those that a text names. as tells
// what a schema in lower case is called instead.
func rename(sql string, mode lexer.Mode, as map[string]string) string {
	var b strings.Builder
	var l lexer.Lexer
	l.Init(sql, mode)
	written := 0
	var name lexer.Token // the last token, if a name that no dot stands before
	dotted := false
	for t := l.Next(); t.Kind != lexer.EOF; t = l.Next() {
		text := sql[t.Start:t.End]
		switch {
		case t.Kind == lexer.Comment:
			continue
		case t.Kind == lexer.Op && text == ".":
			if name.End > 0 {
				if to := as[strings.ToLower(lexer.Unquote(sql[name.Start:name.End]))]; to != "" {
					b.WriteString(sql[written:name.Start])
					b.WriteString(quote(to))
					written = name.End
				}
			}
			name, dotted = lexer.Token{}, true
		case !dotted && (t.Kind == lexer.Ident || t.Kind == lexer.QuotedIdent):
			name = t
		default:
			name, dotted = lexer.Token{}, false
		}
	}
	b.WriteString(sql[written:])
	return b.String()
}

func (s Server) lexer() lexer.Mode { return lexer.ModeOf(s.ANSIQuotes, s.NoBackslashEscapes) }

// places makes a scratch schema for each schema that the statement's tables
// and views are in.
func (t *trial) places(ctx context.Context) error {
	t.as = map[string]string{}
	schemas := []string{}
	if t.query.Schema != "" {
		schemas = append(schemas, t.query.Schema)
	}
	for _, tab := range t.tables {
		schemas = append(schemas, tab.Schema)
	}
	slices.Sort(schemas)
	for _, s := range slices.Compact(schemas) {
		key := strings.ToLower(s)
		if t.as[key] != "" {
			continue
		}
		name := fmt.Sprintf("%s_%d", t.prefix, len(t.as)+1)
		if err := t.exec(ctx, "CREATE DATABASE "+quote(name)); err != nil {
			return err
		}
		t.as[key] = name
	}
	return nil
}

// place is a table's name on the scratch server.
func (t *trial) place(schema, name string) string {
	return quoteTable(t.as[strings.ToLower(schema)], name)
}

// views makes the views that the statement reads. Each pass makes those whose
// own views are there.
func (t *trial) views(ctx context.Context) error {
	var left []*Table
	for _, v := range t.tables {
		if v.View != "" {
			left = append(left, v)
		}
	}
	for len(left) > 0 {
		var failed []*Table
		var err error
		for _, v := range left {
			names := make([]string, len(v.Columns))
			for i := range v.Columns {
				names[i] = quote(v.Columns[i].Name)
			}
			if e := t.exec(ctx, "CREATE VIEW "+t.place(v.Schema, v.Name)+" ("+strings.Join(names, ", ")+") AS "+rename(v.View, 0, t.as)); e != nil {
				failed, err = append(failed, v), fmt.Errorf("%w (making the view %s.%s)", e, v.Schema, v.Name)
			}
		}
		if len(failed) == len(left) || ctx.Err() != nil {
			return err
		}
		left = failed
	}
	return nil
}
