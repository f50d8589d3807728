package indexadvisor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/quern-dev/quern/explain"
	"github.com/quern-dev/quern/internal/sqlparse"
)

// Source answers what the advisor asks.
type Source interface {
	Catalog
	Counter
}

// Options limit the advice. The zero value has sensible limits.
type Options struct {
	MaxColumns int   // columns of an index; 0 means 5
	MaxIndexes int   // new indexes per table; 0 means 5
	MaxTotal   int   // new indexes in all; 0 means no limit
	MaxBytes   int64 // size of the new indexes in all; 0 means no limit
}

// Advisor advises on indexes. It may be used by several goroutines if its
// Source may.
type Advisor struct {
	source  Source
	options Options
}

// New returns an Advisor that asks source.
func New(source Source, o Options) *Advisor {
	if o.MaxColumns == 0 {
		o.MaxColumns = 5
	}
	if o.MaxIndexes == 0 {
		o.MaxIndexes = 5
	}
	return &Advisor{source, o}
}

// Query is a statement to advise on.
type Query struct {
	ID     string // how the caller names it; may be empty
	Schema string // default schema
	SQL    string
	// Samples are more texts of the same class, with other values. The
	// advice is then for all of them, so that a hot or a rare value does not
	// decide alone.
	Samples []string
	PerDay  float64 // executions a day; 0 means unknown, and counts as one
}

func (q Query) name() string {
	if q.ID != "" {
		return q.ID
	}
	return shorten(q.SQL)
}

// shorten makes one line of at most 80 bytes.
func shorten(sql string) string {
	s := strings.Join(strings.Fields(sql), " ")
	if len(s) > 80 {
		s = strings.ToValidUTF8(s[:77], "") + "..."
	}
	return s
}

// Advice is what the advisor has to say.
type Advice struct {
	Suggestions []Suggestion
	Notes       []string // why nothing, where nothing; rewrites; what was not looked into
	Spent       Spent
	Incomplete  bool // the context ended, the server became busy, or rows could not be counted, before everything was tried; the notes say so

	workload bool // there may be several queries
}

// Spent is what the advice cost the server.
type Spent struct {
	Statements int           // counting statements
	Rows       int64         // rows that they read
	Waited     time.Duration // for the server to be less busy
}

// Kind says what a suggestion does.
type Kind string

const (
	Add    Kind = "add"    // make a new index
	Extend Kind = "extend" // put a wider index in the place of one that is there
	Drop   Kind = "drop"   // an index that another one makes superfluous, or that is not used
)

// Suggestion is one index to make, to widen or to drop.
type Suggestion struct {
	Kind          Kind
	Schema, Table string
	Name          string // of the index
	Columns       []Part
	DDL, Undo     string // statements that do and undo it
	Trial         string // a first step that is undone at once: the index is made, or becomes, invisible; "" if the server has none
	Reason        string
	RowsBefore    int64   // rows that one execution of each of the queries reads today, in all
	RowsAfter     int64   // and with all suggestions
	Bytes         int64   // estimated size; of a dropped index what is freed. 0 means unknown
	Gain          float64 // share of the queries' cost that goes with this index alone, 0 to 1
	Confidence    string
	Serves        []Served // queries that gain
	Pays          []string // statements that must maintain it
	Redundant     []string // indexes that are superfluous once it is there
	Rounds        Rounds   // the counts that led to it
}

// Served is a query that gains from a suggestion.
type Served struct {
	Query                 string
	RowsBefore, RowsAfter int64 // rows read by one execution
}

// Advise advises on one query. The error wraps ErrNoTable where a table is
// missing, ErrSyntax where the text is not understood, ErrBusy where
// the server has too much to do to count rows, and the context's error where
// it ended before anything was found. Where rows of some tables could not be
// counted, there is advice on the others, marked Incomplete; where those of none
// could, an error that wraps ErrNotCounted comes with what there is to say
// without counts.
func (v *Advisor) Advise(ctx context.Context, q Query) (*Advice, error) {
	r := v.run()
	if err := r.start(ctx); err != nil {
		return nil, err
	}
	it, err := r.item(ctx, q)
	if err != nil {
		return nil, err
	}
	_, _, a, err := r.choose(ctx, []*item{it})
	if err != nil {
		return nil, err
	}
	if len(a.Suggestions) == 0 && len(r.notes) == 0 {
		r.note("the statement reads no table")
	}
	return r.finish(a), it.failure
}

// AdviseAll advises on a workload: a small set of indexes per table that
// serves all queries, weighted by how often they run, with the cost of
// keeping the indexes up to date by its writes; and indexes of the tables read
// that may go, as another index does all they do or as nothing uses them.
// Queries that cannot be analysed are named in the notes. When the context
// ends, or the server becomes too busy to count on, the best found so far is
// returned, marked Incomplete.
func (v *Advisor) AdviseAll(ctx context.Context, queries []Query) (*Advice, error) {
	r := v.run()
	if err := r.start(ctx); err != nil {
		return nil, err
	}
	r.many = len(queries) > 1
	var items []*item
	skipped := 0
	for _, q := range queries {
		it, err := r.item(ctx, q)
		if ctx.Err() != nil {
			r.incomplete = true
			break
		}
		if errors.Is(err, ErrBusy) {
			r.note("%s: %v: neither this statement nor those after it were looked into", q.name(), err)
			r.incomplete = true
			break
		}
		switch {
		case errors.Is(err, errSkip):
			skipped++
		case err != nil:
			r.note("%s: not looked into: %s", q.name(), strings.TrimPrefix(err.Error(), "indexadvisor: "))
		default:
			items = append(items, it)
		}
	}
	if skipped > 0 {
		r.note("statements of kinds that read no table by an index, such as SET and CALL: %d", skipped)
	}
	w, chosen, a, err := r.choose(ctx, items)
	if err != nil {
		return nil, err
	}
	a.Suggestions = append(a.Suggestions, r.drops(ctx, w, chosen)...)
	a.workload = true
	return r.finish(a), nil
}

// finish adds the notes.
func (r *run) finish(a *Advice) *Advice {
	a.Notes, a.Spent = r.notes, r.spent
	return a
}

// run is the state of one call.
type run struct {
	*Advisor
	server     Server
	notes      []string
	spent      Spent
	counted    map[string]*Counts
	distinct   map[string]Distinct
	prefixes   map[string]int  // 0: whole; -1: refused
	many       bool            // queries, so that notes name theirs
	replaced   map[string]bool // indexes that a wider one takes the place of, by nameKey
	failure    error           // why the rows of a table could not be counted
	incomplete bool            // said why in a note, unless the context has ended
	tables     map[string]*Table
}

func (v *Advisor) run() *run {
	return &run{Advisor: v, tables: map[string]*Table{}, replaced: map[string]bool{}, counted: map[string]*Counts{}, distinct: map[string]Distinct{}, prefixes: map[string]int{}}
}

func (r *run) start(ctx context.Context) (err error) {
	if r.server, err = r.source.Server(ctx); err != nil {
		return fmt.Errorf("indexadvisor: asking the server what it is: %w", err)
	}
	return nil
}

// Server and Table make run a Catalog that asks for each table once.
func (r *run) Server(context.Context) (Server, error) { return r.server, nil }

func (r *run) Table(ctx context.Context, schema, name string) (*Table, error) {
	key := schema + "\x00" + name
	if t, ok := r.tables[key]; ok {
		return t, nil
	}
	t, err := r.source.Table(ctx, schema, name)
	if err == nil {
		r.tables[key] = t
	}
	return t, err
}

func (r *run) note(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(r.notes, s) {
		r.notes = append(r.notes, s)
	}
}

// maxSamples is how many texts of a class are analysed.
const maxSamples = 5

// item parses, analyses and counts a query.
func (r *run) item(ctx context.Context, q Query) (*item, error) {
	it := &item{query: q, weight: q.PerDay}
	if it.weight <= 0 {
		it.weight = 1
	}
	texts := []string{q.SQL}
	for _, s := range q.Samples {
		if len(texts) < maxSamples && !slices.Contains(texts, s) {
			texts = append(texts, s)
		}
	}
	var first error
	for _, text := range texts {
		a, err := r.analyse(ctx, q.Schema, text)
		if err == nil {
			err = r.measure(ctx, a)
		}
		if errors.Is(err, ErrBusy) || err != nil && ctx.Err() != nil {
			return nil, err
		}
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		it.variants = append(it.variants, a)
		if e := r.someCounted(a); e == nil || len(it.variants) == 1 || it.failure != nil {
			it.failure = e
		}
		for _, n := range a.notes {
			if r.many {
				n = q.name() + ": " + n
			}
			r.note("%s", n)
		}
	}
	if len(it.variants) == 0 {
		return nil, first
	}
	return it, nil
}

func (r *run) analyse(ctx context.Context, schema, sql string) (*analysis, error) {
	stmt, err := r.parse(sql)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	a := &analysis{ctx: ctx, catalog: r, server: r.server, schema: schema}
	if !r.server.MariaDB && r.server.atLeast(8, 0, 20) {
		a.indexHints = indexHints(sql, r.server.lexer())
	}
	if err := a.statement(stmt); err != nil {
		if errors.Is(err, errSkip) {
			return nil, fmt.Errorf("indexadvisor: no advice on this kind of statement: %w", err)
		}
		return nil, err
	}
	return a, nil
}

// parse reads a statement. Clauses that only say where the result goes, which
// the parser may not know, are taken away.
func (r *run) parse(sql string) (ast.StmtNode, error) {
	if _, versioned := sqlparse.SystemTime(sql, r.server.syntax()); versioned {
		r.note("FOR SYSTEM_TIME is passed over: rows are counted as they are now, and older ones come on top")
	}
	stmt, err := sqlparse.Parse(sql, r.server.syntax())
	var unknown *sqlparse.SyntaxError
	if !errors.As(err, &unknown) {
		return stmt, err
	}
	s, e := explain.Rewrite(sql, explain.RewriteOptions{Mode: explain.Mode(r.server.syntax())})
	if e != nil || s.Select == sql {
		return nil, err
	}
	if stmt, e = sqlparse.Parse(s.Select, r.server.syntax()); e != nil {
		return nil, err
	}
	if s.Verb != "SELECT" {
		r.note("of the %s only the part that reads is understood: what an index costs it is not counted", s.Verb)
	}
	return stmt, nil
}

// choose chooses among the candidates of the items and words the result.
func (r *run) choose(ctx context.Context, items []*item) (*workload, []candidate, *Advice, error) {
	w := &workload{server: r.server, options: r.options, items: items}
	var pool []candidate
	for _, it := range items {
		var all []candidate
		for _, a := range it.variants {
			for _, b := range a.blocks {
				g := &generator{server: r.server, block: b, columns: min(r.options.MaxColumns, r.server.maxParts()), prefix: r.prefix(ctx)}
				for _, c := range g.candidates() {
					if r.allowed(c) && !slices.ContainsFunc(all, func(d candidate) bool { return d.key == c.key }) {
						all = append(all, c)
					}
				}
			}
		}
		if err := w.gather(ctx, it, all); err != nil {
			r.incomplete = true
			break
		}
		for _, c := range it.candidates {
			if !slices.ContainsFunc(pool, func(d candidate) bool { return d.key == c.key }) {
				pool = append(pool, c)
			}
		}
	}
	pool = withMerged(pool, r.options.MaxColumns, len(items), r.server)
	chosen, done := w.choose(ctx, pool)
	if !done {
		r.incomplete = true
	}
	chosen = r.worth(w, chosen)
	adv := &Advice{Incomplete: r.incomplete}
	taken := map[string]bool{}
	for _, c := range chosen {
		s := r.suggest(w, chosen, c, taken)
		taken[nameKey(c.table, s.Name)] = true
		adv.Suggestions = append(adv.Suggestions, s)
	}
	slices.SortStableFunc(adv.Suggestions, func(a, b Suggestion) int { return -cmpFloat(a.Gain, b.Gain) })
	r.explain(w, chosen)
	if r.incomplete {
		if ctx.Err() != nil {
			r.note("time ran out: there may be better indexes than these")
		}
		if len(adv.Suggestions) == 0 && ctx.Err() != nil {
			return nil, nil, nil, fmt.Errorf("indexadvisor: stopped before anything was found: %w", ctx.Err())
		}
	}
	return w, chosen, adv, nil
}

func cmpFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// withMerged adds candidates that serve two queries at once.
func withMerged(pool []candidate, columns, items int, server Server) []candidate {
	if items < 2 {
		return pool
	}
	seen := map[string]bool{}
	for _, c := range pool {
		seen[c.key] = true
	}
	for i, n := 0, len(pool); i < n && len(pool) < mostMerged; i++ {
		for j := range i {
			for _, c := range merged(pool[i], pool[j], columns) {
				c = newCandidate(c.table, c.table.trim(c.parts), c.set)
				if !seen[c.key] && fits(server, c.table, c.parts) && len(pool) < mostMerged {
					seen[c.key] = true
					pool = append(pool, c)
				}
			}
		}
	}
	return pool
}

// mostMerged is how many candidates there may be for merged ones to be added.
const mostMerged = 600

// smallTable is the number of rows below which reading the whole table is as
// good as any index.
const smallTable = 1000

// allowed leaves out candidates on small tables, and such as exist.
func (r *run) allowed(c candidate) bool {
	if rows := r.rowsOf(c.table); rows >= 0 && rows < smallTable {
		return false
	}
	for i := range c.table.Indexes {
		ix := &c.table.Indexes[i]
		if ix.usable() && len(ix.Parts) >= len(c.parts) && slices.EqualFunc(ix.Parts[:len(c.parts)], c.parts, Part.equal) {
			return false
		}
	}
	return true
}

// rowsOf is the number of rows as counted, -1 if they were not.
func (r *run) rowsOf(t *Table) float64 {
	for key, c := range r.counted {
		if c != nil && strings.HasPrefix(key+"\x00", t.Schema+"\x00"+t.Name+"\x00") {
			return c.Rows
		}
	}
	return -1
}

// trifle is a cost, that of some thirty rows, that is not worth an index when
// it is spared by one execution, but is when it is spared every second.
func (s Server) trifle() float64 { return 30 * (rowCost + s.fetchPages(2)) }

// worth keeps the indexes whose gain is more than a trifle.
func (r *run) worth(w *workload, chosen []candidate) []candidate {
	for i := 0; i < len(chosen); {
		rest := slices.Delete(slices.Clone(chosen), i, i+1)
		serves := false
		for _, it := range w.items {
			without := it.cost(w.server, rest)
			if r.gains(it, without-it.cost(w.server, chosen), without) {
				serves = true
				break
			}
		}
		if serves {
			i++
		} else {
			chosen = rest
		}
	}
	return chosen
}

// gains says whether what one execution of an item saves is more than a
// trifle.
func (r *run) gains(it *item, saved, without float64) bool {
	// In a join of many tables each index gains a part only.
	part := 0.2 / float64(max(2, it.width()))
	trifle := r.server.trifle()
	return saved > trifle && saved >= part*without || saved*it.query.PerDay/86400 > trifle
}

func round(f float64) int64 { return int64(math.Round(f)) }
