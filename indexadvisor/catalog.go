package indexadvisor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/quern-dev/quern/internal/sqlparse"
)

// A Catalog tells what tables, columns and indexes there are. MySQL answers
// from a server, Rows from memory.
type Catalog interface {
	// Server says what kind of server the advice is for.
	Server(ctx context.Context) (Server, error)
	// Table describes a table or a view. The error wraps ErrNoTable where
	// there is none, or none that the account may see. The caller must not
	// change what it gets.
	Table(ctx context.Context, schema, name string) (*Table, error)
}

// ErrSyntax says that a statement is not understood, or is too long or nested too
// deep to be looked into.
var ErrSyntax = errors.New("indexadvisor: the statement is not understood")

// ErrNoTable says that a table does not exist or may not be seen.
var ErrNoTable = errors.New("no such table")

// Server is what the advice depends on besides tables and data.
type Server struct {
	MariaDB             bool
	Major, Minor, Patch int
	PageSize            int           // InnoDB page size in bytes; 0 means 16384
	Uptime              time.Duration // how long it runs, and counts, at most; 0 means unknown
	Collation           string        // collation_connection of the catalog's connection
	ANSIQuotes          bool          // sql_mode: "x" is a name
	NoBackslashEscapes  bool          // sql_mode: \ is an ordinary character
	PipesAsConcat       bool          // sql_mode: || joins strings
}

func (s Server) String() string {
	name := "MySQL"
	if s.MariaDB {
		name = "MariaDB"
	}
	return fmt.Sprintf("%s %d.%d.%d", name, s.Major, s.Minor, s.Patch)
}

func (s Server) atLeast(major, minor, patch int) bool {
	if s.Major != major {
		return s.Major > major
	}
	if s.Minor != minor {
		return s.Minor > minor
	}
	return s.Patch >= patch
}

// descending says whether DESC in a key is more than accepted and ignored.
func (s Server) descending() bool {
	if s.MariaDB {
		return s.atLeast(10, 8, 0)
	}
	return s.atLeast(8, 0, 0)
}

// syntax is how the server reads statements.
func (s Server) syntax() sqlparse.Options {
	return sqlparse.Options{ANSIQuotes: s.ANSIQuotes, NoBackslashEscapes: s.NoBackslashEscapes, PipesAsConcat: s.PipesAsConcat}
}

// functional says whether a key part may be an expression.
func (s Server) functional() bool { return !s.MariaDB && s.atLeast(8, 0, 13) }

// hidden is the keyword that hides an index from the optimizer, "" if there
// is none.
func (s Server) hidden() string {
	switch {
	case s.MariaDB && s.atLeast(10, 6, 0):
		return "IGNORED"
	case !s.MariaDB && s.atLeast(8, 0, 0):
		return "INVISIBLE"
	}
	return ""
}

// hidesColumns says whether a column can be kept out of SELECT *.
func (s Server) hidesColumns() bool {
	if s.MariaDB {
		return s.atLeast(10, 3, 0)
	}
	return s.atLeast(8, 0, 23)
}

func (s Server) pageSize() int {
	if s.PageSize == 0 {
		return 16384
	}
	return s.PageSize
}

// maxParts is the number of parts that a key may have.
func (s Server) maxParts() int {
	if s.MariaDB {
		return 32
	}
	return 16
}

// Table is a base table or a view.
type Table struct {
	Schema, Name string
	View         string // the SELECT of a view; "" for a base table
	Engine       string // "InnoDB"
	RowFormat    string // "Dynamic", "Compact", …
	Rows         int64  // the server's estimate
	DataBytes    int64  // size of the rows (of the clustered index in InnoDB)
	Columns      []Column
	Indexes      []Index
	Partitioning []string // columns of the partitioning expressions
	References   []Reference
}

// Column is a column of a table.
type Column struct {
	Name      string
	Type      string // data type in lower case: "varchar", "int", …
	Full      string // full type: "varchar(20)", "int unsigned", …
	Charset   string // "" for types without one
	Collation string
	Chars     int64   // longest value in characters; 0 for types without one
	Bytes     float64 // average length of a value in bytes; 0 means unknown
	Precision int64   // digits of a number, or of a time's fraction
	Nullable  bool
	Unsigned  bool
	Generated string // expression of a generated column
	Virtual   bool   // generated and not stored
	Invisible bool   // not part of SELECT *
}

// Index is a key of a table.
type Index struct {
	Name        string
	Parts       []Part
	Unique      bool
	Kind        string  // "BTREE", "HASH", "FULLTEXT", "SPATIAL", …
	Hidden      bool    // INVISIBLE or IGNORED: the optimizer does not use it
	Cardinality []int64 // distinct values of the first 1, 2, … parts; 0 means unknown
	Bytes       int64   // size; 0 means unknown
	Reads       int64   // times the server used it since its start; -1 means unknown
}

// Part is one column, or one expression, of an index.
type Part struct {
	Name   string `json:"name"`
	Length int    `json:"length"` // characters (bytes of binary types) kept of the value; 0 means all
	Desc   bool   `json:"desc"`
	Expr   string `json:"expr"` // expression of a functional part, which has no name, or of the generated column Name
}

// Reference is a foreign key of the table, or one of another table that
// points at it.
type Reference struct {
	Name    string
	Columns []string // this table's columns, in order
	Parent  bool     // the columns are the referenced ones
}

func (p Part) String() string {
	s := p.Name
	if p.Expr != "" {
		s = "(" + p.Expr + ")"
	}
	if p.Expr != "" && p.Name != "" {
		s = p.Name + " AS " + s
	}
	if p.Length > 0 {
		s += fmt.Sprintf("(%d)", p.Length)
	}
	if p.Desc {
		s += " DESC"
	}
	return s
}

func (p Part) equal(q Part) bool {
	return p.Length == q.Length && p.Desc == q.Desc && p.Expr == q.Expr && strings.EqualFold(p.Name, q.Name)
}

// sameColumn says whether both are the same column or expression, whatever
// the length and the direction.
func (p Part) sameColumn(q Part) bool {
	return p.Expr == q.Expr && strings.EqualFold(p.Name, q.Name)
}

func (ix Index) primary() bool { return ix.Name == "PRIMARY" }

// usable says whether the optimizer may look up and range over the index.
func (ix Index) usable() bool { return !ix.Hidden && ix.Kind == "BTREE" }

func (t *Table) column(name string) *Column {
	i := slices.IndexFunc(t.Columns, func(c Column) bool { return strings.EqualFold(c.Name, name) })
	if i < 0 {
		return nil
	}
	return &t.Columns[i]
}

// primaryKey is the clustered key: PRIMARY, else the first UNIQUE key whose
// columns are all NOT NULL and whole, else nil (a hidden row id).
func (t *Table) primaryKey() *Index {
	var first *Index
	for i := range t.Indexes {
		ix := &t.Indexes[i]
		if ix.primary() {
			return ix
		}
		if first == nil && t.identifies(ix) {
			first = ix
		}
	}
	return first
}

// identifies says whether ix holds no two equal keys, NULL included.
func (t *Table) identifies(ix *Index) bool {
	if !ix.Unique || ix.Kind != "BTREE" {
		return false
	}
	for _, p := range ix.Parts {
		c := t.column(p.Name)
		if c == nil || c.Nullable || p.Length > 0 {
			return false
		}
	}
	return true
}

// clustered says whether rows live in the primary key, so that every other
// index ends with its columns.
func (t *Table) clustered() bool {
	return t.Engine == "" || strings.EqualFold(t.Engine, "InnoDB")
}

// suffix returns the primary-key parts that InnoDB appends to an index with
// the given parts.
func (t *Table) suffix(parts []Part) []Part {
	if !t.clustered() {
		return nil
	}
	pk := t.primaryKey()
	if pk == nil {
		return nil
	}
	var tail []Part
	for _, p := range pk.Parts {
		if !slices.ContainsFunc(parts, func(q Part) bool { return q.sameColumn(p) && (q.Length == 0 || q.Length == p.Length) }) {
			tail = append(tail, p)
		}
	}
	return tail
}

// rowBytes is the average size of a row.
func (t *Table) rowBytes() float64 {
	if t.Rows > 0 && t.DataBytes > 0 {
		return max(20, float64(t.DataBytes)/float64(t.Rows))
	}
	sum := 20.0
	for _, c := range t.Columns {
		sum += c.averageBytes()
	}
	return sum
}

// charBytes is the most bytes that a character of a set takes.
func charBytes(charset string) int64 {
	switch strings.ToLower(charset) {
	case "utf8mb4", "utf16", "utf16le", "utf32", "gb18030":
		return 4
	case "utf8", "utf8mb3", "ujis", "eucjpms":
		return 3
	case "gbk", "sjis", "cp932", "euckr", "big5", "gb2312", "ucs2":
		return 2
	}
	return 1
}

func (c *Column) text() bool {
	switch c.Type {
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext":
		return true
	}
	return false
}

func (c *Column) binary() bool {
	switch c.Type {
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		return true
	}
	return false
}

func (c *Column) number() bool {
	switch c.Type {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "float", "double", "bit", "year":
		return true
	}
	return false
}

func (c *Column) integer() bool {
	switch c.Type {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "year":
		return true
	}
	return false
}

func (c *Column) temporal() bool {
	switch c.Type {
	case "date", "datetime", "timestamp", "time":
		return true
	}
	return false
}

// blob says whether the server wants a prefix length for this column.
func (c *Column) blob() bool {
	return strings.HasSuffix(c.Type, "text") || strings.HasSuffix(c.Type, "blob")
}

// indexable says whether a plain B-tree part on the column is possible.
func (c *Column) indexable() bool {
	switch c.Type {
	case "json", "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring",
		"multipolygon", "geomcollection", "geometrycollection", "vector":
		return false
	}
	return true
}

// keyBytes is the most bytes that the first length characters (0: all) of a
// column take in a key, as the server counts them against its limit.
func (c *Column) keyBytes(length int) int64 {
	n := c.Chars
	if length > 0 && (n == 0 || int64(length) < n) {
		n = int64(length)
	}
	switch {
	case c.text():
		return n * charBytes(c.Charset)
	case c.binary():
		return n
	}
	return int64(c.averageBytes())
}

// averageBytes is the size of a value on average, a guess where it is not known.
func (c *Column) averageBytes() float64 {
	if c.Bytes > 0 {
		return c.Bytes
	}
	switch c.Type {
	case "tinyint", "year", "enum":
		return 1
	case "smallint":
		return 2
	case "mediumint", "date", "time":
		return 3
	case "int", "float", "timestamp":
		return 4
	case "bigint", "double", "set", "bit":
		return 8
	case "datetime":
		return 5 + float64(c.Precision+1)/2
	case "decimal":
		return math.Ceil(float64(c.Precision)*4/9) + 1
	case "uuid":
		return 16
	case "char", "binary":
		return float64(max(c.Chars, 1))
	case "varchar", "varbinary":
		return min(float64(c.Chars)/2+1, 40)
	}
	return 200
}

// quote writes a name as the servers read it, whatever is in it.
func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func quoteTable(schema, name string) string { return quote(schema) + "." + quote(name) }
