package indexadvisor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"
	"github.com/quern-dev/quern/internal/sqlparse"
)

// expression classifies f(c) op constant: a rewrite serves it best, else an
// index on the same expression, which is a key part where the server has such
// and a generated column where it has not.
func (c *classifier) expression(p *Predicate, op opcode.Op, left, right ast.ExprNode) {
	p.filter("the column stands inside an expression, and the index has the order of the column")
	if b, ok := bare(left).(*ast.BinaryOperationExpr); ok && (mirror[b.Op] != 0 || b.Op == opcode.LogicAnd || b.Op == opcode.LogicOr) {
		p.Try = "write the comparison alone, without comparing its truth"
		return
	}
	p.Try = c.sargable(op, left, right)
	if op == opcode.NullEQ || op == opcode.NE || uncountable(left) != "" {
		return
	}
	text := render(left, c.name, true, !c.server.NoBackslashEscapes)
	if text == "" {
		return
	}
	// A generated column with this expression has the order that is wanted.
	for i := range c.table.Columns {
		col := &c.table.Columns[i]
		if col.Generated == "" || !sameExpression(col.Generated, text) {
			continue
		}
		if c.server.MariaDB {
			if p.Try != "" {
				p.Try += "; or "
			}
			p.Try += fmt.Sprintf("%s %s %s, as that column holds the expression", col.Name, symbol(op), render(right, nil, false, false))
			return
		}
		p.Why, p.Try = "", ""
		p.set(classOf(op), col, 1)
		return
	}
	for _, ix := range c.table.Indexes {
		for _, part := range ix.Parts {
			if part.Expr != "" && sameExpression(part.Expr, text) {
				p.Why, p.Try = "", ""
				p.Class, p.Keys, p.Points = classOf(op), []Part{{Expr: part.Expr}}, 1
				return
			}
		}
	}
	switch typ := c.generatedType(left); {
	case c.server.functional() && c.functionalKey(left, right):
		if isJSON(left) {
			text = jsonKey(text, right)
		}
	case !c.server.functional() && typ != nil && c.holdsValue(typ, op, right):
		p.Column = typ.Full
	default:
		if p.Try == "" && !c.constant(left) {
			p.Try = "a generated column for the expression, with an index, named in the query instead of the expression"
		}
		return
	}
	p.Class, p.Keys, p.Points = classOf(op), []Part{{Expr: text}}, 1
}

// holdsValue says whether an index on a generated column of the type serves
// the comparison.
func (c *classifier) holdsValue(typ *Column, op opcode.Op, right ast.ExprNode) bool {
	why, class := c.comparable(typ, op, right)
	return why == "" && class != Range
}

// generatedType is the type of a generated column that holds an expression
// without loss, nil if it is not certain, or if the server would not index
// such a column.
func (c *classifier) generatedType(e ast.ExprNode) *Column {
	number := &Column{Type: "bigint", Full: "BIGINT"}
	date := &Column{Type: "date", Full: "DATE"}
	text := func(col *Column, chars int64) *Column {
		if col == nil || !col.text() || chars <= 0 || chars*charBytes(col.Charset) > 3072 {
			return nil
		}
		return &Column{Type: "varchar", Chars: chars, Charset: col.Charset, Collation: col.Collation,
			Full: fmt.Sprintf("VARCHAR(%d) CHARACTER SET %s COLLATE %s", chars, col.Charset, col.Collation)}
	}
	switch e := bare(e).(type) {
	case *ast.FuncCallExpr:
		if len(e.Args) == 0 || !c.steadyArguments(e.Args[1:]) {
			return nil
		}
		col := c.columnOf(e.Args[0])
		switch e.FnName.L {
		case "json_value", "json_unquote", "json_extract":
			if isJSON(e) {
				return text(&Column{Type: "varchar", Charset: "utf8mb4", Collation: "utf8mb4_bin"}, jsonChars)
			}
			return nil
		}
		if col == nil {
			return nil
		}
		clockFree := col.Type == "date" || col.Type == "datetime" // a TIMESTAMP's date depends on the session
		switch e.FnName.L {
		case "date":
			if clockFree {
				return date
			}
		case "year", "month", "day", "dayofmonth", "dayofweek", "weekday", "dayofyear", "hour", "minute", "second", "quarter", "to_days":
			if clockFree {
				return number
			}
		case "lower", "lcase", "upper", "ucase", "trim", "ltrim", "rtrim", "reverse", "left", "right", "substring", "substr", "mid":
			return text(col, col.Chars)
		case "length", "char_length", "character_length", "octet_length", "crc32":
			if col.text() || col.binary() {
				return number
			}
		case "abs", "mod":
			if col.integer() && !col.Unsigned {
				return number
			}
		}
	case *ast.BinaryOperationExpr:
		if slices.Contains([]opcode.Op{opcode.Plus, opcode.Minus, opcode.Mul, opcode.Mod}, e.Op) && c.smallInteger(e.L) && c.smallInteger(e.R) {
			return number
		}
	case *ast.FuncCastExpr:
		if col := c.columnOf(e.Expr); col != nil && (col.Type == "date" || col.Type == "datetime") && e.Tp.String() == "date" {
			return date
		}
	}
	return nil
}

// steadyArguments says whether all arguments are literals.
func (c *classifier) steadyArguments(list []ast.ExprNode) bool {
	return !slices.ContainsFunc(list, func(e ast.ExprNode) bool {
		_, ok := bare(e).(ast.ValueExpr)
		return !ok
	})
}

// smallInteger says whether sums and products of e fit into a BIGINT.
func (c *classifier) smallInteger(e ast.ExprNode) bool {
	if col := c.columnOf(e); col != nil {
		return col.integer() && col.Type != "bigint"
	}
	v, ok := bare(e).(ast.ValueExpr)
	if !ok {
		return false
	}
	n, ok := v.GetValue().(int64)
	return ok && n > -1<<31 && n < 1<<31
}

// jsonChars is how much of a value in a document an index on it holds; the
// server refuses longer ones from then on.
const jsonChars = 255

// multiValued is how to make the index that serves a search inside a JSON
// array, "" if the server has none.
func (c *classifier) multiValued(e *ast.FuncCallExpr) string {
	if c.server.MariaDB || !c.server.atLeast(8, 0, 17) || len(e.Args) != 2 {
		return ""
	}
	array, value := e.Args[0], e.Args[1]
	if e.FnName.L == "json_memberof" {
		array, value = value, array
	}
	typ := "CHAR(64)"
	switch kindOf(value) {
	case numberKind:
		typ = "SIGNED"
	case stringKind:
		if s, ok := bare(value).(ast.ValueExpr); ok && e.FnName.L != "json_memberof" && isNumberArray(fmt.Sprint(s.GetValue())) {
			typ = "SIGNED"
		}
	default:
		return ""
	}
	text := render(array, c.name, true, !c.server.NoBackslashEscapes)
	if text == "" || c.constant(array) {
		return ""
	}
	return fmt.Sprintf("ADD INDEX ((CAST(%s AS %s ARRAY))); it finds rows, but gives no order and never spares reading the row", text, typ)
}

// isNumberArray says whether a document holds nothing but numbers.
func isNumberArray(s string) bool {
	return strings.ContainsAny(s, "0123456789") && strings.Trim(s, "0123456789-,[] ") == ""
}

// isJSON says whether e takes a scalar out of a document.
func isJSON(e ast.ExprNode) bool {
	f, ok := bare(e).(*ast.FuncCallExpr)
	if !ok || len(f.Args) == 0 {
		return false
	}
	switch f.FnName.L {
	case "json_unquote":
		inner, ok := bare(f.Args[0]).(*ast.FuncCallExpr)
		return ok && inner.FnName.L == "json_extract" && isJSON(inner)
	case "json_extract", "json_value":
		_, column := bare(f.Args[0]).(*ast.ColumnNameExpr)
		_, path := bare(f.Args[len(f.Args)-1]).(ast.ValueExpr)
		return column && path && len(f.Args) == 2
	}
	return false
}

// jsonKey is the expression of a key part that MySQL takes for a comparison of
// a value in a document.
func jsonKey(text string, right ast.ExprNode) string {
	if kindOf(right) == numberKind {
		return "CAST(" + text + " AS SIGNED)"
	}
	return fmt.Sprintf("CAST(%s AS CHAR(%d) CHARACTER SET utf8mb4) COLLATE utf8mb4_bin", text, jsonChars)
}

func classOf(op opcode.Op) Class {
	if op == opcode.EQ {
		return Equality
	}
	return Range
}

// functionalKey says whether the server would accept a key on the expression
// and use it for a comparison with the constant.
func (c *classifier) functionalKey(left, right ast.ExprNode) bool {
	k := kindOf(right)
	if c.usesTimestamp(left) {
		return false
	}
	switch e := bare(left).(type) {
	case *ast.FuncCallExpr:
		switch {
		case isJSON(left):
			return e.FnName.L != "json_value" && (k == numberKind || k == stringKind)
		case e.FnName.L == "md5" || e.FnName.L == "sha1" || strings.HasPrefix(e.FnName.L, "json_"):
			return false
		case temporalFunctions[e.FnName.L]:
			return len(e.Args) == 1 && (k == stringKind || k == temporalKind)
		case numberFunctions[e.FnName.L]:
			return k == numberKind && len(e.Args) > 0 && !usesClock(left)
		}
		return k == stringKind && !usesClock(left) && c.shortText(left)
	case *ast.BinaryOperationExpr:
		return k == numberKind && !usesClock(left)
	case *ast.FuncCastExpr:
		return e.FunctionType != ast.CastBinaryOperator && !usesClock(left)
	}
	return false
}

// usesTimestamp says whether e names a TIMESTAMP column, whose text depends on
// the time zone of the session: what one session wrote another would not find.
func (c *classifier) usesTimestamp(e ast.ExprNode) bool {
	found := false
	sqlparse.Walk(e, func(n ast.Node) bool {
		if cn, ok := n.(*ast.ColumnName); ok {
			col := c.column(cn)
			found = found || col != nil && col.Type == "timestamp"
		}
		return !found
	})
	return found
}

// shortText says whether all columns in e are strings short enough for a key.
func (c *classifier) shortText(e ast.ExprNode) bool {
	sum := int64(0)
	sqlparse.Walk(e, func(n ast.Node) bool {
		if cn, ok := n.(*ast.ColumnName); ok {
			if col := c.column(cn); col != nil {
				if col.blob() {
					sum = 1 << 20
				}
				sum += col.keyBytes(0)
			}
		}
		return true
	})
	return sum <= 3072
}

// usesClock says whether the expression reads the time, the session or
// anything else that a key must not depend on.
func usesClock(e ast.ExprNode) bool {
	found := false
	sqlparse.Walk(e, func(n ast.Node) bool {
		if f, ok := n.(*ast.FuncCallExpr); ok {
			switch f.FnName.L {
			case "now", "curdate", "current_date", "current_timestamp", "localtime", "localtimestamp", "curtime", "current_time",
				"utc_date", "utc_timestamp", "unix_timestamp", "from_unixtime", "sysdate":
				found = true
			}
		}
		return !found
	})
	return found
}

// sameExpression compares two expressions as the server prints them and as
// we do: quotes, spaces, case and outer parentheses aside.
func sameExpression(a, b string) bool {
	norm := func(s string) string {
		s = introducer.ReplaceAllString(strings.ReplaceAll(strings.ToLower(s), `\'`, "'"), "'")
		s = strings.NewReplacer("`", "", " ", "", "characterset", "charset").Replace(s)
		s = unwrap(s)
		if arg, ok := strings.CutPrefix(s, "date("); ok && strings.HasSuffix(arg, ")") && balanced(arg[:len(arg)-1]) {
			s = "cast(" + arg[:len(arg)-1] + "asdate)" // as the server stores it
		}
		// A key on a document's value has a CAST around it.
		if m := documentKey.FindStringSubmatch(s); m != nil {
			s = unwrap(m[1])
		}
		return strings.NewReplacer("lcase(", "lower(", "ucase(", "upper(").Replace(s)
	}
	return norm(a) == norm(b)
}

var (
	introducer  = regexp.MustCompile(`_[a-z0-9]+'`)
	documentKey = regexp.MustCompile(`^\(?cast\((json_(?:unquote|extract)\(.*\))as(?:char\(\d+\)(?:charsetutf8mb4)?\)\)?collateutf8mb4_bin|(?:un)?signed\))$`)
)

// unwrap takes off the parentheses that are around all of s.
func unwrap(s string) string {
	for strings.HasPrefix(s, "(") && strings.HasSuffix(s, ")") && balanced(s[1:len(s)-1]) {
		s = s[1 : len(s)-1]
	}
	return s
}

func balanced(s string) bool {
	depth := 0
	for _, r := range s {
		switch r {
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				return false
			}
		}
	}
	return depth == 0
}

// sargable says how to write f(c) op v so that an index on c serves it.
func (c *classifier) sargable(op opcode.Op, left, right ast.ExprNode) string {
	value := render(right, nil, false, false)
	switch e := bare(left).(type) {
	case *ast.FuncCallExpr:
		if len(e.Args) == 0 {
			return ""
		}
		col := c.columnOf(e.Args[0])
		if col == nil {
			return ""
		}
		switch {
		case op == opcode.EQ && e.FnName.L == "date" && col.temporal():
			return fmt.Sprintf("%s >= %s AND %[1]s < %[2]s + INTERVAL 1 DAY", col.Name, value)
		case op == opcode.EQ && e.FnName.L == "year" && col.temporal() && isDigits(value):
			return fmt.Sprintf("%s >= '%s-01-01' AND %[1]s < '%[2]s-01-01' + INTERVAL 1 YEAR", col.Name, value)
		case op == opcode.EQ && (e.FnName.L == "lower" || e.FnName.L == "lcase" || e.FnName.L == "upper" || e.FnName.L == "ucase") &&
			strings.HasSuffix(strings.ToLower(col.Collation), "_ci"):
			return fmt.Sprintf("%s = %s: the collation ignores case already", col.Name, value)
		case op == opcode.EQ && (e.FnName.L == "left" || e.FnName.L == "substr" || e.FnName.L == "substring") && col.text() && kindOf(right) == stringKind:
			return fmt.Sprintf("%s LIKE '…%%' with the same beginning", col.Name)
		case e.FnName.L == "unix_timestamp":
			return fmt.Sprintf("%s %s FROM_UNIXTIME(%s)", col.Name, symbol(op), value)
		case e.FnName.L == "ifnull" || e.FnName.L == "coalesce":
			return fmt.Sprintf("%s %s %s OR %[1]s IS NULL, if the replacement meets the condition, else without IS NULL", col.Name, symbol(op), value)
		}
	case *ast.BinaryOperationExpr:
		var other ast.ExprNode
		col := c.columnOf(e.L)
		if other = e.R; col == nil {
			col, other = c.columnOf(e.R), e.L
		}
		if col == nil || !c.constant(other) {
			return ""
		}
		amount := render(other, nil, false, false)
		switch {
		case e.Op == opcode.Plus:
			return fmt.Sprintf("%s %s %s - %s", col.Name, symbol(op), value, amount)
		case e.Op == opcode.Minus && c.columnOf(e.L) != nil:
			return fmt.Sprintf("%s %s %s + %s", col.Name, symbol(op), value, amount)
		}
	case *ast.FuncCastExpr:
		if col := c.columnOf(e.Expr); col != nil && col.temporal() && strings.HasPrefix(e.Tp.String(), "date") && op == opcode.EQ {
			return fmt.Sprintf("%s >= %s AND %[1]s < %[2]s + INTERVAL 1 DAY", col.Name, value)
		}
	}
	return ""
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func symbol(op opcode.Op) string {
	switch op {
	case opcode.EQ:
		return "="
	case opcode.NE:
		return "<>"
	case opcode.LT:
		return "<"
	case opcode.LE:
		return "<="
	case opcode.GT:
		return ">"
	case opcode.GE:
		return ">="
	}
	return "<=>"
}
