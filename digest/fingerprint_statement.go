package digest

import "strings"

// Statement is what a statement's text tells without a parser.
type Statement struct {
	// Fingerprint is the statement without its literals, in one spelling.
	Fingerprint string
	// ID is the ID of the fingerprint.
	ID ID
	// Verb is what the (first) statement does, in upper case: SELECT, CREATE
	// TABLE, LOAD DATA, …; ADMIN for an administrator command, empty for what
	// begins with no word. A WITH clause has the verb of the statement behind
	// it, an EXPLAIN is an EXPLAIN.
	Verb string
	// Tables are the tables and views that the statement names, each once, in
	// the order and the case of the text, without quotes, qualified as they
	// are there. Names of common table expressions are none. Aliases are
	// resolved nowhere.
	Tables []string
	// Summary is OpenTelemetry's db.query.summary: operations and their
	// targets in the order of the text, at most 255 bytes, cut between names.
	Summary string
	// Redacted is OpenTelemetry's db.query.text: the text with ? for every
	// literal and without comments, in its own layout and case.
	Redacted string
	// Tags are the keys and values in the comments before and behind the
	// statement.
	Tags Tags
	// Truncated tells that the text ends inside a literal, a quoted name, a
	// comment or a parenthesis, or in the three dots by which
	// performance_schema marks a text that it cut.
	Truncated bool
	// Multi tells that the text holds several statements. The body of a stored
	// program does not count.
	Multi bool
	// HasHint tells that the statement has an optimizer hint: /*+ … */.
	HasHint bool
	// Admin tells that the text is an administrator command of a slow log.
	Admin bool
}

// Statement returns all that sql tells. It keeps nothing of sql.
func (f *Fingerprinter) Statement(sql string) Statement {
	fingerprint := f.append(nil, sql)
	if f.Options.Style != StyleQuern {
		fingerprint = f.Append(fingerprint[:0], sql)
	}
	s := Statement{
		Fingerprint: string(fingerprint),
		ID:          f.ID(fingerprint),
		Redacted:    string(f.AppendRedacted(nil, sql)),
		Tags:        f.Tags(sql),
		Truncated:   f.truncated,
		Multi:       f.multi && !f.routine,
		HasHint:     f.hinted,
		Admin:       isAdmin(sql),
	}
	if s.Admin {
		s.Verb, s.Summary = adminVerb, s.Fingerprint
		return s
	}
	a := f.analysis(sql)
	a.run()
	s.Verb, s.Tables, s.Summary = a.upperVerb(), a.tables, a.summary.String()
	return s
}

// analyze returns what sql does, and to which tables.
func (f *Fingerprinter) analyze(sql string) (verb string, tables []string) {
	if isAdmin(sql) {
		return adminVerb, nil
	}
	a := f.analysis(sql)
	a.full = true // it makes no summary
	a.run()
	return a.upperVerb(), a.tables
}

const adminVerb = "ADMIN"

func (f *Fingerprinter) analysis(sql string) analysis {
	a := analysis{src: sql}
	a.lex.Init(sql, f.Options.mode())
	return a
}

func (a *analysis) upperVerb() string { return strings.ToUpper(a.first) }
