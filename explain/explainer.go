package explain

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/quern-dev/quern/internal/lexer"
	"github.com/quern-dev/quern/internal/sqlparse"
)

// Options say how an Explainer works. The zero value is fit for an interactive
// tool.
type Options struct {
	// Timeout bounds one explanation, on the client and on the server; 0 stands
	// for 2 seconds.
	Timeout time.Duration

	// Mode is how the explained statements are read; it must be that of the
	// connections that ran them.
	Mode Mode

	// Format is the format to ask for; "" stands for the one that tells most:
	// JSON version 1 on MySQL, JSON on MariaDB.
	Format Format

	// Allow are the kinds of hazards to take. The transaction stays READ ONLY.
	Allow []HazardCode

	// MaxExecuted bounds the rows that the server may read for a derived table or
	// subquery that it runs while it plans, by its own estimate; more is a hazard.
	// 0 stands for 10,000.
	MaxExecuted float64

	// CacheFor is how long a plan, or an error of the server, stands for the
	// class and schema of its statement; 0 keeps none.
	CacheFor time.Duration

	// CacheSize bounds the number of kept plans; 0 stands for 1,000.
	CacheSize int

	// PerSecond bounds how many explanations are sent in a second; 0 sets no
	// bound. One too many is ErrRate, at once.
	PerSecond float64
}

// ErrRate says that Options.PerSecond was reached.
var ErrRate = errors.New("explain: too many explanations in a second")

// Explainer explains statements on a server. Its methods may be called from any
// goroutine.
type Explainer struct {
	db    *sql.DB
	opts  Options
	cache *cache
}

// New returns an Explainer. It takes one connection from the pool for each
// explanation, and closes it afterwards, so that settings do not leak.
func New(db *sql.DB, o Options) *Explainer {
	if o.Timeout <= 0 {
		o.Timeout = 2 * time.Second
	}
	if o.MaxExecuted <= 0 {
		o.MaxExecuted = 10_000
	}
	if o.CacheSize <= 0 {
		o.CacheSize = 1000
	}
	return &Explainer{db: db, opts: o, cache: newCache(o)}
}

// Explain returns the plan of the statement's SELECT (see Rewrite) in the schema,
// "" for none. Nothing is written, and nothing is run but what a planner needs.
// Errors are a *RewriteError, a *HazardError, a *ServerError, ErrRate, or the
// context's.
func (ex *Explainer) Explain(ctx context.Context, schema, sql string) (*Plan, error) {
	return ex.cache.do(schema, sql, ex.opts.Mode, func() (*Plan, error) {
		return ex.explain(ctx, schema, sql)
	})
}

// rewrite opens a session, which the caller closes, and rewrites the statement
// for its server.
func (ex *Explainer) rewrite(ctx context.Context, schema, sql string) (*session, *Rewritten, error) {
	s, err := openSession(ctx, ex.db, ex.opts.Timeout, ex.opts.Mode, schema)
	if err != nil {
		return nil, nil, err
	}
	r, err := Rewrite(sql, RewriteOptions{Mode: ex.opts.Mode, Server: s.server})
	if err != nil {
		s.close()
		return nil, nil, err
	}
	return s, r, nil
}

func (ex *Explainer) explain(ctx context.Context, schema, sql string) (*Plan, error) {
	// What cannot be rewritten needs no server.
	if _, err := Rewrite(sql, RewriteOptions{Mode: ex.opts.Mode}); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, ex.opts.Timeout)
	defer cancel()
	s, r, err := ex.rewrite(ctx, schema, sql)
	if err != nil {
		return nil, err
	}
	defer s.close()
	for _, setting := range r.Settings {
		if err := s.set(ctx, setting); err != nil {
			r.Approximate = true
			r.Why = append(r.Why, "the server does not know the setting "+setting)
		}
	}
	if err := ex.begin(ctx, s); err != nil {
		return nil, err
	}
	if err := ex.guard(ctx, s, schema, r); err != nil {
		return nil, err
	}
	p, err := s.query(ctx, ex.prefix(s.server)+r.Select)
	if err != nil {
		return nil, s.failed(ctx, "EXPLAIN", err)
	}
	return ex.complete(ctx, s, p, r)
}

func (ex *Explainer) begin(ctx context.Context, s *session) error {
	if ex.opts.Format == JSON2 {
		if _, err := s.conn.ExecContext(ctx, "SET SESSION explain_json_format_version=2"); err != nil {
			return s.failed(ctx, "setting the JSON version", err)
		}
	}
	if _, err := s.conn.ExecContext(ctx, "START TRANSACTION READ ONLY"); err != nil && s.server.Product != TiDB {
		return s.failed(ctx, "START TRANSACTION READ ONLY", err)
	}
	return nil
}

func (ex *Explainer) complete(ctx context.Context, s *session, p *Plan, r *Rewritten) (*Plan, error) {
	var err error
	if p.Warnings, err = s.warnings(ctx); err != nil {
		return nil, s.failed(ctx, "SHOW WARNINGS", err)
	}
	p.Query, p.Select, p.Server = r.query, r.Select, s.server.String()
	p.Approximate, p.Why, p.write = r.Approximate, r.Why, r.write
	p.Hazards, p.mode, p.empty = r.Hazards, ex.opts.Mode, s.empty
	return p, nil
}

// prefix is EXPLAIN with an explicit format: what a server prints without one
// depends on its version and settings.
func (ex *Explainer) prefix(sv Server) string {
	switch ex.opts.Format {
	case Traditional:
		switch {
		case sv.AtLeast(MySQL, 5, 7):
			return "EXPLAIN FORMAT=TRADITIONAL "
		case sv.Product == TiDB:
			return "EXPLAIN FORMAT='row' "
		}
		return "EXPLAIN EXTENDED " // MariaDB and MySQL 5.6 print filtered only then
	case Tree:
		return "EXPLAIN FORMAT=TREE "
	case JSON1, JSON2, JSONMariaDB:
		return "EXPLAIN FORMAT=JSON "
	}
	switch {
	case sv.Product == TiDB:
		return "EXPLAIN FORMAT='row' "
	case sv.AtLeast(MySQL, 5, 7), sv.AtLeast(MariaDB, 10, 1):
		return "EXPLAIN FORMAT=JSON "
	}
	return "EXPLAIN EXTENDED "
}

// maxBlocks bounds the blocks that are explained by themselves.
const maxBlocks = 50

// guard refuses what the server would run. Only the server can say what names
// mean: which tables are views, and what a block costs.
func (ex *Explainer) guard(ctx context.Context, s *session, schema string, r *Rewritten) error {
	hazards, err := ex.views(ctx, s, schema, r.Select)
	if err != nil {
		return err
	}
	all := append(slices.Clone(r.Hazards), hazards...)
	// Short blocks first: a block can hold others, which explaining it would run.
	blocks := make([]Hazard, 0, len(all))
	r.Hazards = r.Hazards[:0]
	for _, h := range all {
		switch {
		case h.block == "":
			r.Hazards = append(r.Hazards, h)
		case !slices.ContainsFunc(blocks, func(b Hazard) bool { return b.block == h.block && b.Code == h.Code }):
			blocks = append(blocks, h)
		}
		if len(blocks) > maxBlocks {
			return &HazardError{Hazards: []Hazard{{Code: ExecutedBlock, Text: fmt.Sprintf("more than %d blocks might be run while the server plans", maxBlocks)}}}
		}
	}
	if err := ex.refused(r.Hazards); err != nil {
		return err
	}
	slices.SortStableFunc(blocks, func(a, b Hazard) int { return len(a.block) - len(b.block) })
	for _, h := range blocks {
		harmless, err := ex.harmless(ctx, s, h)
		if err != nil {
			return err
		}
		if harmless {
			continue
		}
		r.Hazards = append(r.Hazards, h)
		if err := ex.refused(r.Hazards); err != nil {
			return err
		}
	}
	return nil
}

func (ex *Explainer) refused(hazards []Hazard) error {
	e := &HazardError{}
	for _, h := range hazards {
		if !h.Removed && !slices.Contains(ex.opts.Allow, h.Code) {
			e.Hazards = append(e.Hazards, h)
		}
	}
	if len(e.Hazards) == 0 {
		return nil
	}
	return e
}

// harmless reports whether the server would run the block for no more than the
// allowed rows. The block is explained by itself: at the top of a statement it is
// not run.
func (ex *Explainer) harmless(ctx context.Context, s *session, h Hazard) (bool, error) {
	if s.server.Product == TiDB {
		return h.Code == ExecutedBlock || s.server.AtLeast(TiDB, 7, 3), nil
	}
	p, err := s.query(ctx, ex.prefix(s.server)+h.block)
	if err != nil {
		if ctx.Err() != nil {
			return false, s.failed(ctx, "EXPLAIN of a block", err)
		}
		return errorCode(err) == 1054, nil // it names a column outside: it depends on other rows and is not run
	}
	rows := 0.0
	for n := range p.Tables() {
		rows += n.Examined().Or(0)
	}
	switch {
	case rows <= ex.opts.MaxExecuted:
		return true, nil
	case h.Code == ExecutedSubquery, p.Root.constant():
		return false, nil
	case s.server.Product == MariaDB:
		return true, nil
	}
	// MySQL runs a derived table if it expects one row.
	block := scan(h.block, ex.opts.Mode)
	f := &hazardFinder{statement: block}
	end := len(block.toks)
	limit := block.find(0, end, 0, "LIMIT")
	if limit < end && !block.op(limit+2, ",") && (block.raw(limit+1) == "1" || block.raw(limit+1) == "0") {
		return false, nil
	}
	if block.find(0, end, 0, "GROUP") == end && f.aggregates(0, end, 0) {
		return false, nil
	}
	return p.Root.inputRows() > 2, nil
}

// constant reports whether a block, apart from its subqueries, reads no table or
// constant ones alone.
func (n *Node) constant() bool {
	if n.Op == OpTable {
		return n.Access == AccessConst || n.Access == AccessSystem
	}
	for _, c := range n.Children {
		if c.Op != OpSubquery && !c.constant() {
			return false
		}
	}
	return true
}

// maxViews bounds the views inside one another that are read.
const maxViews = 100

// views finds the views and remote tables that the query names, and the hazards
// in the views' definitions.
func (ex *Explainer) views(ctx context.Context, s *session, schema, query string) ([]Hazard, error) {
	type name struct{ schema, table string }
	var out []Hazard
	var todo []name
	seen := make(map[name]bool)
	add := func(text string, mode Mode, schema string) {
		for _, n := range tableNames(text, mode) {
			n := name{n[0], n[1]}
			if n.schema == "" {
				n.schema = schema
			}
			if !seen[n] {
				seen[n] = true
				todo = append(todo, n)
			}
		}
	}
	add(query, ex.opts.Mode, schema)
	for i := 0; i < len(todo); i++ {
		if i >= maxViews {
			return append(out, Hazard{Code: UnreadableView, Text: fmt.Sprintf("more than %d tables and views are named", maxViews)}), nil
		}
		n := todo[i]
		info, err := s.table(ctx, n.schema, n.table)
		if err != nil {
			return nil, s.failed(ctx, "reading the definition of a view", err)
		}
		if info.empty {
			s.empty = append(s.empty, n.table)
		}
		switch info.engine {
		case "FEDERATED", "CONNECT", "SPIDER":
			out = append(out, Hazard{Code: RemoteTable, Text: fmt.Sprintf("the table %s.%s is of the engine %s, which may ask another server", n.schema, n.table, info.engine)})
		}
		if !info.view {
			continue
		}
		if info.definition == "" {
			out = append(out, Hazard{Code: UnreadableView, Text: fmt.Sprintf("the definition of the view %s.%s may not be read: SHOW VIEW is needed", n.schema, n.table)})
			continue
		}
		for _, h := range viewHazards(info.definition, s.server) {
			h.Text = fmt.Sprintf("in the view %s.%s: %s", n.schema, n.table, h.Text)
			out = append(out, h)
		}
		add(info.definition, Mode{}, n.schema)
	}
	return out, nil
}

// viewHazards judges a definition as the server stores it: with backticks, and
// whole names.
func viewHazards(definition string, sv Server) []Hazard {
	text := scan(definition, Mode{})
	parsed, err := sqlparse.Parse(definition, sqlparse.Options{})
	if err != nil {
		parsed = nil
	}
	out := hazards(text, parsed, sv)
	f := &hazardFinder{statement: text, server: sv}
	end := len(text.toks)
	few := sv.Product != MariaDB && text.find(0, end, 0, "UNION") == end && text.find(0, end, 0, "FROM") < end &&
		(f.aggregates(0, end, 0) || text.find(0, end, 0, "LIMIT", "GROUP", "HAVING", "DISTINCT") < end)
	if few || text.hasQuery(0, end) {
		f.addBlock(ExecutedBlock, "it may be run while the server plans, if it expects one row or reads constant tables", 0, definition)
	}
	return append(out, f.found...)
}

// tableInfo is what a name stands for; the zero value for a name that does not
// exist, as that of a common table expression.
type tableInfo struct {
	view       bool
	engine     string
	definition string // of a view; "" if it may not be read
	empty      bool   // by the server's statistics
}

func (s *session) table(ctx context.Context, schema, table string) (tableInfo, error) {
	var kind, engine, definition sql.NullString
	var rows sql.NullFloat64
	row := s.conn.QueryRowContext(ctx, "SELECT TABLE_TYPE, ENGINE, TABLE_ROWS FROM information_schema.TABLES WHERE TABLE_SCHEMA=? AND TABLE_NAME=?", schema, table)
	if err := row.Scan(&kind, &engine, &rows); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		return tableInfo{}, err
	}
	info := tableInfo{view: kind.String == "VIEW", engine: engine.String, empty: rows.Valid && rows.Float64 == 0 && kind.String == "BASE TABLE"}
	if !info.view {
		return info, nil
	}
	row = s.conn.QueryRowContext(ctx, "SELECT VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_SCHEMA=? AND TABLE_NAME=?", schema, table)
	if err := row.Scan(&definition); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return tableInfo{}, err
	}
	info.definition = definition.String
	return info, nil
}

// tableNames lists what can be a table in the text, as schema and name: what the
// parser takes for one, and every name in a FROM clause.
func tableNames(text string, m Mode) [][2]string {
	var out [][2]string
	s := scan(text, m)
	f := &hazardFinder{statement: s}
	for i := range s.toks {
		if !s.name(i) || s.op(i-1, ".") {
			continue
		}
		after := s.is(i-1, "FROM", "JOIN", "STRAIGHT_JOIN", "TABLE") || (s.op(i-1, ",") || s.op(i-1, "(")) && f.clause(i) == "FROM"
		switch {
		case !after:
		case s.op(i+1, ".") && s.name(i+2):
			out = append(out, [2]string{lexer.Unquote(s.raw(i)), lexer.Unquote(s.raw(i + 2))})
		default:
			out = append(out, [2]string{"", lexer.Unquote(s.raw(i))})
		}
	}
	o := m.parser()
	if parsed, err := sqlparse.Parse(text, o); err == nil {
		sqlparse.Walk(parsed, func(n ast.Node) bool {
			if t, ok := n.(*ast.TableName); ok {
				out = append(out, [2]string{t.Schema.O, t.Name.O})
			}
			return true
		})
	}
	return out
}
