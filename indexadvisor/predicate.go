package indexadvisor

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/format"
	"github.com/quern-dev/quern/internal/sqlparse"
)

// Class says what a B-tree index can do with a condition.
type Class uint8

const (
	// Filter conditions are checked row by row; Predicate.Why tells the reason.
	Filter Class = iota
	// Equality fixes the column: c = v, c <=> v, c IS NULL.
	Equality
	// List is several equalities: c IN (…), c = v OR c = w. Columns after it
	// are still looked up, but come out in no order.
	List
	// Range is <, <=, >, >=, BETWEEN; no key part after it is looked up.
	Range
	// Prefix is LIKE 'abc%', a range.
	Prefix
	// Join equates the column with one of another table.
	Join
)

var classNames = [...]string{"filter", "equality", "list", "range", "prefix", "join"}

func (c Class) String() string { return classNames[c] }

// A Predicate is one condition on one table, or several conditions on one
// column that make up one range.
type Predicate struct {
	Text    string   // as people read it
	SQL     string   // ready for a WHERE clause on this table alone; "" if it must not or cannot be counted
	Class   Class    // what an index can do with it
	Keys    []Part   // the columns (or the expression) that it bounds; several for (a, b) IN (…)
	Points  int      // number of values of an Equality (1) or a List, of ranges of <> and NOT IN; else 0
	Column  string   // type of the generated column that holds the expression of Keys, where the server has no key part for it
	Negated bool     // a Range made of everything but some values: <>, NOT IN, IS NOT NULL
	Why     string   // why it is a Filter, or why it is not counted
	Try     string   // how to write it so that an index can serve it
	text    string   // the FULLTEXT index that a MATCH makes the server read
	guessed bool     // its rows are not counted because of what it holds
	columns []string // every column named in it, in lower case

	expr ast.ExprNode
	name func(*ast.ColumnName) string
}

// harmless are the functions that may be run while rows are counted: built
// in, without effects, always the same within a statement, and fast.
var harmless = set(`lower upper lcase ucase left right substr substring mid concat concat_ws length char_length
	character_length octet_length trim ltrim rtrim replace reverse lpad rpad hex unhex instr locate position field find_in_set
	substring_index ascii ord strcmp md5 sha sha1 sha2 crc32 abs ceil ceiling floor round truncate mod sign sqrt pow
	power ln log log2 log10 exp greatest least date year month day dayofmonth hour minute second microsecond quarter week
	weekofyear weekday dayofweek dayofyear yearweek to_days from_days to_seconds unix_timestamp from_unixtime now curdate
	current_date current_timestamp localtime localtimestamp curtime current_time utc_date utc_timestamp date_add date_sub
	adddate subdate date_format str_to_date datediff timestampdiff timestampadd last_day makedate time timestamp extract
	if ifnull nullif coalesce isnull interval json_extract json_unquote json_contains json_length json_valid
	json_overlaps json_value json_type inet_aton inet_ntoa inet6_aton inet6_ntoa uuid_to_bin bin_to_uuid`)

// temporalFunctions return a date or a time.
var temporalFunctions = set(`now curdate current_date current_timestamp localtime localtimestamp curtime current_time utc_date
	utc_timestamp date_add date_sub adddate subdate str_to_date from_unixtime from_days last_day makedate date time timestamp sysdate`)

// numberFunctions return a number.
var numberFunctions = set(`length char_length character_length instr locate position field find_in_set ascii ord strcmp crc32 abs ceil
	ceiling floor round truncate mod sign sqrt pow power ln log log2 log10 exp year month day dayofmonth hour minute second
	quarter week weekday dayofweek dayofyear to_days unix_timestamp datediff timestampdiff extract json_length inet_aton connection_id
	last_insert_id`)

// unsteady functions give every row another value, so that no key can be
// looked up.
var unsteady = set(`rand uuid uuid_short sleep nextval lastval random_bytes sysdate get_lock release_lock benchmark`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// uncountable says why an expression must not be sent to a server for
// counting, "" if it may be.
func uncountable(e ast.ExprNode) string {
	why := ""
	sqlparse.Walk(e, func(n ast.Node) bool {
		if why != "" {
			return false
		}
		switch n := n.(type) {
		case *ast.ColumnName, *ast.ColumnNameExpr, *ast.BinaryOperationExpr, *ast.UnaryOperationExpr, *ast.ParenthesesExpr,
			*ast.PatternInExpr, *ast.PatternLikeOrIlikeExpr, *ast.PatternRegexpExpr, *ast.BetweenExpr, *ast.IsNullExpr,
			*ast.IsTruthExpr, *ast.RowExpr, *ast.TimeUnitExpr, *ast.FuncCastExpr, *ast.SetCollationExpr, *ast.CaseExpr,
			*ast.WhenClause, *ast.TrimDirectionExpr:
		case ast.ParamMarkerExpr:
			why = "its value is not known"
		case ast.ValueExpr:
		case *ast.FuncCallExpr:
			if n.Schema.O != "" || !harmless[n.FnName.L] {
				why = "the function " + n.FnName.O + " is not run for counting"
			}
		case *ast.VariableExpr:
			why = "the value of a variable is not known"
		case *ast.SubqueryExpr, *ast.ExistsSubqueryExpr, *ast.CompareSubqueryExpr:
			why = "subqueries are not run for counting"
		default:
			why = "this kind of expression is not run for counting"
		}
		return why == ""
	})
	return why
}

// render writes an expression. name gives the column names; quoted backticks
// them. It returns "" where the tree cannot be written.
func render(e ast.ExprNode, name func(*ast.ColumnName) string, quoted, backslash bool) string {
	flags := format.RestoreStringSingleQuotes | format.RestoreKeyWordUppercase | format.RestoreStringWithoutDefaultCharset |
		format.RestoreSpacesAroundBinaryOperation | format.RestoreWithoutSchemaName | format.RestoreWithoutTableName
	sqlparse.Walk(e, func(n ast.Node) bool {
		if _, ok := n.(*ast.SubqueryExpr); ok {
			flags &^= format.RestoreWithoutTableName // its columns are those of several tables
		}
		return true
	})
	if quoted {
		flags |= format.RestoreNameBackQuotes
	}
	if backslash {
		flags |= format.RestoreStringEscapeBackslash
	}
	// Columns of derived tables have other names in the base table.
	var undo []func()
	sqlparse.Walk(e, func(n ast.Node) bool {
		if c, ok := n.(*ast.ColumnName); ok && name != nil {
			if s := name(c); s != "" && s != c.Name.O {
				old := c.Name
				c.Name = ast.NewCIStr(s)
				undo = append(undo, func() { c.Name = old })
			}
		}
		return true
	})
	defer func() {
		for _, f := range undo {
			f()
		}
	}()
	var b strings.Builder
	if err := e.Restore(format.NewRestoreCtx(flags, &b)); err != nil {
		return ""
	}
	return b.String()
}

// bare takes the parentheses off.
func bare(e ast.ExprNode) ast.ExprNode {
	for {
		p, ok := e.(*ast.ParenthesesExpr)
		if !ok {
			return e
		}
		e = p.Expr
	}
}

// value kinds, as far as they decide which side of a comparison is converted.
type kind uint8

const (
	unknownKind kind = iota
	nullKind
	numberKind
	fractionKind // a number that is not an integer
	stringKind
	binaryKind
	temporalKind
)

// kindOf tells the kind of a constant expression.
func kindOf(e ast.ExprNode) kind {
	switch e := bare(e).(type) {
	case ast.ParamMarkerExpr:
		return unknownKind
	case ast.ValueExpr:
		switch v := e.GetValue().(type) {
		case nil:
			return nullKind
		case string, []byte:
			return stringKind
		case int64, uint64:
			return numberKind
		case float32, float64:
			return numberKind
		case interface{ ToBitLiteralString(bool) string }:
			return binaryKind
		case interface{ String() string }: // a decimal
			if s := v.String(); strings.Trim(s[strings.IndexByte(s+".", '.'):], ".0") != "" {
				return fractionKind
			}
			return numberKind
		}
	case *ast.UnaryOperationExpr:
		return numberKind
	case *ast.BinaryOperationExpr:
		return numberKind
	case *ast.SetCollationExpr:
		return kindOf(e.Expr)
	case *ast.FuncCastExpr:
		switch {
		case e.FunctionType == ast.CastBinaryOperator || e.Tp.GetCharset() == "binary" && strings.HasPrefix(e.Tp.String(), "binary"):
			return binaryKind
		case strings.HasPrefix(e.Tp.String(), "date") || strings.HasPrefix(e.Tp.String(), "time"):
			return temporalKind
		case strings.Contains(e.Tp.String(), "char"):
			return stringKind
		}
		return numberKind
	case *ast.FuncCallExpr:
		switch {
		case temporalFunctions[e.FnName.L]:
			return temporalKind
		case numberFunctions[e.FnName.L]:
			return numberKind
		case harmless[e.FnName.L] && !slices.Contains([]string{"if", "ifnull", "nullif", "coalesce", "greatest", "least"}, e.FnName.L):
			return stringKind
		}
	}
	return unknownKind
}

// steady says whether a constant expression has one value for all rows.
func steady(e ast.ExprNode) bool {
	ok := true
	sqlparse.Walk(e, func(n ast.Node) bool {
		if f, is := n.(*ast.FuncCallExpr); is && unsteady[f.FnName.L] {
			ok = false
		}
		return ok
	})
	return ok
}
