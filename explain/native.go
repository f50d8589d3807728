package explain

import (
	"context"
	"fmt"
	"strings"

	"github.com/quern-dev/quern/internal/lexer"
)

// ExplainNative returns the server's own plan of an UPDATE, DELETE, INSERT or
// REPLACE, to set beside that of Explain. It needs the privilege to write the
// table, since the server asks for it, and cannot run in a READ ONLY
// transaction, which refuses it; MySQL's limit of time does not hold for it, so
// that the end of the context has to kill it. Everything that could be run is
// refused, whatever Options.Allow says.
func (ex *Explainer) ExplainNative(ctx context.Context, schema, sql string) (*Plan, error) {
	text := scan(sql, ex.opts.Mode)
	if !text.is(0, "UPDATE", "DELETE", "INSERT", "REPLACE", "WITH") {
		return nil, &RewriteError{Code: NotAQuery, Reason: "an UPDATE, DELETE, INSERT or REPLACE was expected"}
	}
	ctx, cancel := context.WithTimeout(ctx, ex.opts.Timeout)
	defer cancel()
	if !ex.cache.take() {
		return nil, ErrRate
	}
	s, r, err := ex.rewrite(ctx, schema, sql)
	if err != nil {
		return nil, err
	}
	defer s.close()
	strict := *ex
	strict.opts.Allow = nil
	// The values of SET and VALUES are not in the SELECT.
	r.Hazards = append(r.Hazards, hazards(text, nil, s.server)...)
	for i := range text.toks {
		if text.kind(i, lexer.Hint) {
			if _, gone := readOnlyHint(text.raw(i)); len(gone) > 0 {
				r.Hazards = append(r.Hazards, Hazard{Code: LiftedLimit, Text: "a hint overrides the session's limits"})
			}
		}
	}
	if err := strict.guard(ctx, s, schema, r); err != nil {
		return nil, err
	}
	p, err := s.query(ctx, ex.prefix(s.server)+text.text(0, len(text.toks)))
	if err != nil {
		return nil, s.failed(ctx, "EXPLAIN", err)
	}
	r.Approximate, r.Why, r.Select = false, nil, sql
	return ex.complete(ctx, s, p, r)
}

// RunAndAnalyze RUNS the statement and returns its plan with what was measured.
// It takes queries alone, never one that writes, runs them in a READ ONLY
// transaction with the limit of time, and refuses hazards as Explain does. A
// query that is stopped at the limit gives a plan marked approximate on MySQL,
// an error on MariaDB. MySQL 8.0.18 or MariaDB 10.1 is needed.
func (ex *Explainer) RunAndAnalyze(ctx context.Context, schema, sql string) (*Plan, error) {
	ctx, cancel := context.WithTimeout(ctx, ex.opts.Timeout)
	defer cancel()
	if !ex.cache.take() {
		return nil, ErrRate
	}
	s, r, err := ex.rewrite(ctx, schema, sql)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if r.Verb != "SELECT" && r.Verb != "TABLE" {
		return nil, &RewriteError{Code: NotAQuery, Verb: r.Verb, Reason: "only a query is run"}
	}
	var prefix string
	switch {
	case s.server.AtLeast(MySQL, 8, 0, 21):
		prefix = "EXPLAIN ANALYZE FORMAT=TREE "
	case s.server.AtLeast(MySQL, 8, 0, 18), s.server.Product == TiDB:
		prefix = "EXPLAIN ANALYZE "
	case s.server.AtLeast(MariaDB, 10, 1):
		prefix = "ANALYZE FORMAT=JSON "
	default:
		return nil, fmt.Errorf("explain: %s has no ANALYZE", s.server)
	}
	if err := ex.begin(ctx, s); err != nil {
		return nil, err
	}
	if err := ex.guard(ctx, s, schema, r); err != nil {
		return nil, err
	}
	p, err := s.query(ctx, prefix+r.Select)
	if err != nil {
		return nil, s.failed(ctx, strings.TrimSpace(prefix), err)
	}
	if p, err = ex.complete(ctx, s, p, r); err != nil {
		return nil, err
	}
	for _, w := range p.Warnings {
		if w.Code == 1317 {
			p.Approximate = true
			p.Why = append(p.Why, "the query was stopped at the limit of time: what was measured is part of it")
		}
	}
	return p, nil
}
