package indexadvisor

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/quern-dev/quern/internal/lexer"
)

// An indexHint is one of MySQL's optimizer hints on indexes, as NO_INDEX(t i, j).
// The parser leaves them out of its tree.
type indexHint struct {
	name    string   // in capitals
	table   string   // or its alias
	indexes []string // none for all
}

var indexHintNames = set("INDEX JOIN_INDEX GROUP_INDEX ORDER_INDEX NO_INDEX NO_JOIN_INDEX NO_GROUP_INDEX NO_ORDER_INDEX")

// indexHints returns a statement's optimizer hints on indexes. Which SELECT of the
// statement they stand in, or name, is not looked at.
func indexHints(sql string, mode lexer.Mode) (list []indexHint) {
	var l lexer.Lexer
	l.Init(sql, mode)
	for t := l.Next(); t.Kind != lexer.EOF; t = l.Next() {
		if t.Kind == lexer.Hint && !t.Unterminated() {
			list = append(list, hintsIn(sql[t.Start+len("/*+"):t.End-len("*/")], mode)...)
		}
	}
	return list
}

// hintsIn reads what stands in one comment.
func hintsIn(text string, mode lexer.Mode) (list []indexHint) {
	var l lexer.Lexer
	l.Init(text, mode)
	name := "" // of the hint, or the last word before it
	var args []string
	inside := false
	for t := l.Next(); t.Kind != lexer.EOF; t = l.Next() {
		word := text[t.Start:t.End]
		switch {
		case word == "(":
			inside, args = true, nil
		case word == ")":
			if indexHintNames[name] && len(args) > 0 {
				list = append(list, indexHint{name, args[0], args[1:]})
			}
			inside = false
		case t.Kind != lexer.Ident && t.Kind != lexer.QuotedIdent: // commas, and @block
		case inside:
			args = append(args, lexer.Unquote(word))
		default:
			name = strings.ToUpper(word)
		}
	}
	return list
}

// hints takes in what the statement says of the indexes of x.
func (a *analysis) hints(x *access, hints []*ast.IndexHint) {
	var only []string // that may be used, in lower case, if limited
	limited := false
	allow := func(by string, names []string) {
		limited = true
		for _, name := range names {
			only = append(only, strings.ToLower(name))
		}
		a.note("%s: the statement names the indexes that it may use (%s: %s): a new one is not used before the hint names it", x.alias, by, listed(names))
	}
	forbid := func(by string, names []string) {
		x.forbidden = append(x.forbidden, names...)
		a.note("%s: the statement forbids %s (%s)", x.alias, listed(names), by)
	}
	for _, h := range hints {
		var names []string
		for _, ix := range h.IndexNames {
			names = append(names, ix.O)
		}
		x.hints = append(x.hints, names...)
		switch {
		case h.HintScope != ast.HintForScan && h.HintScope != ast.HintForJoin:
		case h.HintType == ast.HintIgnore:
			forbid("IGNORE INDEX", names)
		default:
			allow("USE or FORCE INDEX", names)
		}
	}
	for _, h := range a.indexHints {
		if !strings.EqualFold(h.table, x.alias) {
			continue
		}
		// The server passes over names that the table does not have.
		names := slices.DeleteFunc(slices.Clone(h.indexes), func(name string) bool {
			return !slices.ContainsFunc(x.table.Indexes, func(ix Index) bool { return strings.EqualFold(ix.Name, name) })
		})
		x.hints = append(x.hints, names...)
		switch whole := len(h.indexes) == 0; {
		case !whole && len(names) == 0, whole && !strings.HasPrefix(h.name, "NO_"):
		case h.name == "INDEX" || h.name == "JOIN_INDEX":
			allow("the hint "+h.name, names)
		case h.name == "NO_INDEX" || h.name == "NO_JOIN_INDEX":
			if whole {
				limited = true
				a.note("%s: the statement forbids every index (the hint %s): a new one is not used before the hint is gone", x.alias, h.name)
			} else {
				forbid("the hint "+h.name, names)
			}
		case whole:
			a.note("%s: the hint %s forbids every index there: a new one gives no order before it is gone", x.alias, h.name)
		case strings.HasPrefix(h.name, "NO_"):
			a.note("%s: the hint %s forbids %s there", x.alias, h.name, listed(names))
		default:
			a.note("%s: the hint %s names the indexes that may give the order (%s): a new one does not before the hint names it", x.alias, h.name, listed(names))
		}
	}
	for i := range x.table.Indexes {
		if name := x.table.Indexes[i].Name; limited && !slices.Contains(only, strings.ToLower(name)) {
			x.forbidden = append(x.forbidden, name)
		}
	}
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// allows says whether the statement's hints leave the server an index.
func (x *access) allows(ix *Index) bool {
	return ix.Name == "" || !slices.ContainsFunc(x.forbidden, func(name string) bool { return strings.EqualFold(name, ix.Name) })
}
