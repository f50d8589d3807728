// Package sqlparse is the one door to the SQL parser: it hides how the parser
// is configured and pooled, turns its errors into typed ones that quote no SQL,
// and survives its panics. Callers work on the parser's own tree (package
// github.com/pingcap/tidb/pkg/parser/ast).
//
// The parser's Restore is lossy for MySQL and MariaDB: it drops optimizer hints
// it does not know, changes locking clauses and adds character set introducers.
// To make a new statement, splice the original text at token boundaries.
package sqlparse

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/mysql"

	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // literal values without TiDB's own type system
)

// MaxBytes is the longest text that Parse accepts. A longer one is most likely
// a bulk INSERT, whose tree would cost a hundred times its size.
const MaxBytes = 1 << 20

// MaxDepth is the depth of the deepest tree that Parse returns, so that callers may
// walk it by recursion. A chain of ORs is as deep as it has terms.
const MaxDepth = 10_000

// Options are the parts of sql_mode that change how a text is read.
type Options struct {
	ANSIQuotes         bool // "x" is a name
	NoBackslashEscapes bool // \ is an ordinary character in a string
	PipesAsConcat      bool // || joins strings
}

var (
	// ErrEmpty says that the text holds no statement.
	ErrEmpty = errors.New("sqlparse: no statement")
	// ErrMultiple says that the text holds more than one statement.
	ErrMultiple = errors.New("sqlparse: more than one statement")
	// ErrTooLong says that the text is longer than MaxBytes.
	ErrTooLong = fmt.Errorf("sqlparse: statement of more than %d bytes", MaxBytes)
	// ErrTooDeep says that the tree is deeper than MaxDepth.
	ErrTooDeep = fmt.Errorf("sqlparse: statement nested more than %d deep", MaxDepth)
)

// SyntaxError says that the parser does not understand a statement; the server
// may.
type SyntaxError struct {
	Line   int // from 1; 0 if not known
	Column int // in bytes from 1; 0 if not known
	Reason string
}

func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return "sqlparse: " + e.Reason
	}
	return fmt.Sprintf("sqlparse: line %d, column %d: %s", e.Line, e.Column, e.Reason)
}

var parsers = sync.Pool{New: func() any { return parser.New() }}

// Parse parses a text that holds one statement, with or without a closing
// semicolon; it passes FOR SYSTEM_TIME over. The tree keeps parts of sql. Errors are ErrEmpty, ErrMultiple,
// ErrTooLong, ErrTooDeep or a *SyntaxError.
func Parse(sql string, o Options) (stmt ast.StmtNode, err error) {
	if len(sql) > MaxBytes {
		return nil, ErrTooLong
	}
	p := parsers.Get().(*parser.Parser)
	defer func() {
		if r := recover(); r != nil {
			// The parser's state is unknown: do not return it to the pool.
			stmt, err = nil, &SyntaxError{Reason: "the parser failed on this text"}
			return
		}
		parsers.Put(p)
	}()
	p.Reset()
	p.SetSQLMode(mode(o))
	stmts, _, err := p.ParseSQL(sql)
	if err != nil {
		if text, found := SystemTime(sql, o); found {
			stmts, _, err = p.ParseSQL(text)
		}
	}
	switch {
	case err != nil:
		return nil, syntaxError(err)
	case len(stmts) == 0:
		return nil, ErrEmpty
	case len(stmts) > 1:
		return nil, ErrMultiple
	}
	var d depth
	if stmts[0].Accept(&d); d.most > MaxDepth {
		return nil, ErrTooDeep
	}
	return stmts[0], nil
}

func mode(o Options) mysql.SQLMode {
	var m mysql.SQLMode
	if o.ANSIQuotes {
		m |= mysql.ModeANSIQuotes
	}
	if o.NoBackslashEscapes {
		m |= mysql.ModeNoBackslashEscapes
	}
	if o.PipesAsConcat {
		m |= mysql.ModePipesAsConcat
	}
	return m
}

// The parser writes `line 1 column 8 near "rest of the statement"`, and the
// rest may hold anybody's data.
var position = regexp.MustCompile(`line (\d+) column (\d+) near `)

func syntaxError(err error) *SyntaxError {
	e := &SyntaxError{Reason: "the parser does not know this syntax"}
	text := err.Error()
	if m := position.FindStringSubmatch(text); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		e.Column, _ = strconv.Atoi(m[2])
	} else if i := strings.IndexByte(text, ']'); i >= 0 && strings.HasPrefix(text, "[parser:") {
		e.Reason = "parser error " + text[len("[parser:"):i]
	}
	return e
}

// A depth finds out how deep a tree is. The parser's own way down a tree is frugal
// with the stack: it has room for any tree of MaxBytes.
type depth struct{ now, most int }

func (d *depth) Enter(n ast.Node) (ast.Node, bool) {
	d.now++
	d.most = max(d.most, d.now)
	return n, d.most > MaxDepth
}

func (d *depth) Leave(n ast.Node) (ast.Node, bool) {
	d.now--
	return n, true
}

// Walk calls visit for node and all nodes below it, parents first. Where visit
// returns false, the nodes below are left out.
func Walk(node ast.Node, visit func(ast.Node) bool) {
	if node != nil {
		node.Accept(walker(visit))
	}
}

type walker func(ast.Node) bool

func (w walker) Enter(n ast.Node) (ast.Node, bool) { return n, !w(n) }
func (w walker) Leave(n ast.Node) (ast.Node, bool) { return n, true }
