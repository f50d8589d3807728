package explain

import (
	"slices"
	"strings"

	"github.com/quern-dev/quern/internal/lexer"
)

// head returns the text before the verb, a WITH clause or nothing, then SELECT
// with the verb's hint.
func (r *rewriter) head(verb int) string {
	var b strings.Builder
	if verb > 0 {
		b.WriteString(r.text(0, verb) + " ")
	}
	b.WriteString("SELECT")
	if r.kind(verb+1, lexer.Hint) {
		kept, gone := readOnlyHint(r.raw(verb + 1))
		if kept != "" {
			b.WriteString(" " + kept)
		}
		if len(gone) > 0 {
			r.removed("hint " + strings.Join(gone, ", "))
		}
	}
	return b.String()
}

// skipModifiers returns the first token behind the verb that is neither a hint
// nor one of the words.
func (r *rewriter) skipModifiers(verb int, words ...string) int {
	i := verb + 1
	for r.kind(i, lexer.Hint) || r.is(i, words...) {
		i++
	}
	return i
}

// returning finds MariaDB's RETURNING at the end of a statement.
func (r *rewriter) returning(from int) int {
	i := r.find(from, len(r.toks), 0, "RETURNING")
	if i < len(r.toks) {
		r.removed("RETURNING")
	}
	return i
}

func (r *rewriter) update(verb int) error {
	r.out.write = writeUpdate
	if err := r.clauseInComment("SET", "WHERE", "ORDER", "LIMIT", "FROM"); err != nil {
		return err
	}
	refs := r.skipModifiers(verb, "LOW_PRIORITY", "IGNORE")
	end := r.returning(refs)
	set := r.find(refs, end, 0, "SET")
	if set == end || set == refs {
		return r.fail(Unreadable, "UPDATE tables SET was expected")
	}
	tail := r.find(set, end, 0, "WHERE", "ORDER", "LIMIT")
	r.out.single = r.singleTable(refs, set)

	var items []string
	if r.out.single {
		alias := r.alias(refs, set)
		r.out.Written = []string{alias}
		items = append(items, alias+".*")
	}
	for _, a := range r.split(set+1, tail, 0) {
		eq := a[0]
		for eq < a[1] && !r.op(eq, "=") && !r.op(eq, ":=") {
			eq++
		}
		if eq == a[0] || eq == a[1] {
			return r.fail(Unreadable, "SET column = value was expected")
		}
		if !r.out.single {
			owner := strings.TrimSpace(r.src[r.toks[a[0]].Start:r.toks[eq-1].Start])
			owner = strings.TrimSpace(strings.TrimSuffix(owner, "."))
			if owner == "" {
				// Nothing says which table has the column.
				if !slices.Contains(items, "*") {
					items = append(items, "*")
				}
				r.approximate("SET names a column without its table: the SELECT reads all columns of all tables, so that no index can cover")
			} else if !slices.Contains(r.out.Written, owner) {
				r.out.Written = append(r.out.Written, owner)
				items = append(items, owner+".*")
			}
		}
		items = append(items, r.valueItems(eq+1, a[1])...)
	}
	text := r.head(verb) + " " + strings.Join(items, ", ") + " FROM " + r.text(refs, r.portion(refs, set))
	if tail < end {
		text += " " + r.text(tail, end)
	}
	r.out.Select = text
	r.writesBySelect(tail, end)
	return nil
}

// valueItems are what the value of an assignment reads beyond the written
// tables: the whole expression if it has a subquery, else the columns that it
// names with their tables.
func (r *rewriter) valueItems(from, to int) []string {
	if r.hasQuery(from, to) {
		return []string{r.text(from, to)}
	}
	if r.out.single {
		return nil
	}
	var items []string
	for i := from; i < to; i++ {
		if !r.name(i) || !r.op(i+1, ".") {
			continue
		}
		j := i
		for r.op(j+1, ".") && r.name(j+2) && j+2 < to {
			j += 2
		}
		if j > i && !r.op(j+1, "(") {
			items = append(items, r.text(i, j+1))
		}
		i = j
	}
	return items
}

// singleTable reports whether [from, to) is one table with no join.
func (r *rewriter) singleTable(from, to int) bool {
	if r.op(from, "(") {
		return false
	}
	for i := from; i < to; i++ {
		if r.toks[i].depth == 0 && (r.op(i, ",") || r.is(i, "JOIN", "STRAIGHT_JOIN")) {
			return false
		}
	}
	return true
}

// alias returns the name by which the one table of [from, to) is called.
func (r *rewriter) alias(from, to int) string {
	i := from
	for r.op(i+1, ".") && i+2 < to {
		i += 2
	}
	name := r.raw(i)
	for i++; i < to; i++ {
		switch {
		case r.is(i, "PARTITION") && r.op(i+1, "("):
			i = r.toks[i+1].match
		case r.is(i, "AS") && r.name(i+1):
			return r.raw(i + 1)
		case r.is(i, "USE", "FORCE", "IGNORE") && r.is(i+1, "INDEX", "KEY"):
			return name
		case r.is(i, "FOR"):
			return name // MariaDB: FOR PORTION OF
		case r.name(i):
			return r.raw(i)
		}
	}
	return name
}

func (r *rewriter) delete(verb int) error {
	r.out.write = writeDelete
	if err := r.clauseInComment("FROM", "USING", "WHERE", "ORDER", "LIMIT"); err != nil {
		return err
	}
	first := r.skipModifiers(verb, "LOW_PRIORITY", "QUICK", "IGNORE", "HISTORY")
	if r.is(first-1, "HISTORY") && r.is(first, "FROM") {
		return r.history(verb, first+1)
	}
	end := r.returning(first)
	from := r.find(first, end, 0, "FROM")
	if from == end {
		return r.fail(Unreadable, "FROM was expected")
	}
	tail := r.find(from, end, 0, "WHERE", "ORDER", "LIMIT")
	targets, refs := [2]int{first, from}, from+1
	switch using := r.find(from, tail, 0, "USING"); {
	case from > first:
		// DELETE a, b FROM refs
	case using < tail && !r.joinBetween(from, using):
		targets, refs = [2]int{from + 1, using}, using+1
	default:
		r.out.single = true
		alias := r.alias(refs, tail)
		if !r.singleTable(refs, tail) {
			return r.fail(Unreadable, "DELETE from several tables names those that it deletes from")
		}
		r.out.Written = []string{alias}
	}
	if refs >= tail {
		return r.fail(Unreadable, "a table was expected")
	}
	if !r.out.single {
		for _, t := range r.split(targets[0], targets[1], 0) {
			name := strings.TrimSpace(strings.TrimSuffix(r.text(t[0], t[1]), "*"))
			name = strings.TrimSpace(strings.TrimSuffix(name, "."))
			r.out.Written = append(r.out.Written, name)
		}
	}
	items := make([]string, len(r.out.Written))
	for i, w := range r.out.Written {
		items[i] = w + ".*"
	}
	text := r.head(verb) + " " + strings.Join(items, ", ") + " FROM " + r.text(refs, r.portion(refs, tail))
	if tail < end {
		text += " " + r.text(tail, end)
	}
	r.out.Select = text
	r.writesBySelect(tail, end)
	return nil
}

// portion returns the end of the table in [from, to) before MariaDB's FOR PORTION
// OF period FROM a TO b, for which a SELECT has no word, or to.
func (r *rewriter) portion(from, to int) int {
	for i := from; i < to; i++ {
		if r.toks[i].depth == 0 && r.is(i, "FOR") && r.is(i+1, "PORTION") {
			r.removed("FOR PORTION OF")
			r.approximate("FOR PORTION OF adds conditions on the columns of its period, which the SELECT has not")
			return i
		}
	}
	return to
}

// history rewrites MariaDB's DELETE HISTORY FROM table [BEFORE SYSTEM_TIME t].
func (r *rewriter) history(verb, from int) error {
	end := len(r.toks)
	before := r.find(from, end, 0, "BEFORE")
	table := r.text(from, before)
	r.out.Written = []string{table}
	r.out.single = true
	text := r.head(verb) + " " + table + ".* FROM " + table + " FOR SYSTEM_TIME ALL WHERE ROW_END "
	switch t := before + 1; {
	case before == end:
		text += "< NOW(6)"
	case r.is(t, "SYSTEM_TIME") && t+1 < end && !r.is(t+1, "TRANSACTION"):
		text += "< " + r.text(t+1, end)
	default:
		return r.fail(Unreadable, "BEFORE SYSTEM_TIME and a time was expected")
	}
	r.out.Select = text
	r.approximate("the SELECT finds the rows of the past by their ROW_END, as the server does of itself")
	return nil
}

// joinBetween tells DELETE FROM a USING … from a join's USING (column).
func (r *rewriter) joinBetween(from, to int) bool {
	return r.find(from, to, 0, "JOIN", "STRAIGHT_JOIN") < to
}

func (r *rewriter) insert(verb int) error {
	r.out.write = writeInsert
	if err := r.clauseInComment("SELECT", "VALUES", "SET", "ON", "WHERE", "FROM", "LIMIT", "ORDER", "WITH"); err != nil {
		return err
	}
	i := r.skipModifiers(verb, "LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE", "INTO")
	end := r.returning(i)
	target := i
	for r.op(i+1, ".") {
		i += 2
	}
	r.out.Written = []string{r.text(target, min(i+1, end))}
	i++
	for i < end {
		switch {
		case r.is(i, "PARTITION") && r.op(i+1, "("):
			i = r.toks[i+1].match + 1
		case r.is(i, "SELECT", "WITH", "TABLE"), r.opensQuery(i):
			return r.insertSelect(verb, i, end)
		case r.op(i, "("):
			i = r.toks[i].match + 1
		case r.is(i, "VALUES", "VALUE", "SET"):
			return r.insertValues(i, end)
		default:
			return r.fail(Unreadable, "VALUES, SET or a query was expected")
		}
	}
	return r.fail(Unreadable, "VALUES, SET or a query was expected")
}

func (r *rewriter) insertSelect(verb, from, end int) error {
	to := end
	for i := from; i < end; i++ {
		if r.toks[i].depth == 0 && r.is(i, "ON") && r.is(i+1, "DUPLICATE") {
			to = i
			break
		}
	}
	if to < end && r.hasQuery(to, end) {
		r.approximate("the subqueries of ON DUPLICATE KEY UPDATE are left out")
	}
	// INSERT … (SELECT …) AS new: the row alias is no part of the query.
	if r.is(from, "TABLE") {
		r.out.Select = "SELECT * FROM " + r.text(from+1, to)
	} else {
		r.out.Select = r.text(from, to)
	}
	for i := from; i < to; i++ {
		if r.name(i) && strings.EqualFold(lexer.Unquote(r.raw(i)), lexer.Unquote(lastPart(r.out.Written[0]))) && (r.is(i-1, "FROM", "JOIN") || r.op(i-1, ",")) {
			r.approximate("the statement reads the table that it writes, and keeps the rows in a temporary table first")
		}
	}
	return nil
}

// insertValues keeps the subqueries of VALUES, SET and ON DUPLICATE KEY UPDATE.
func (r *rewriter) insertValues(from, end int) error {
	dup := end
	for i := from; i < end; i++ {
		if r.toks[i].depth == 0 && r.is(i, "ON") && r.is(i+1, "DUPLICATE") {
			dup = i
			break
		}
	}
	var items []string
	if r.is(from, "SET") {
		items = r.assigned(from+1, dup)
	} else {
		for i := from + 1; i < dup; i++ {
			if r.toks[i].depth == 0 && r.op(i, "(") && r.toks[i].match > 0 {
				for _, v := range r.split(i+1, r.toks[i].match, 1) {
					if r.hasQuery(v[0], v[1]) {
						items = append(items, r.text(v[0], v[1]))
					}
				}
				i = r.toks[i].match
			}
		}
	}
	if dup < end && r.hasQuery(dup, end) {
		if len(items) == 0 {
			return r.fail(ReadsNoRows, "only its ON DUPLICATE KEY UPDATE has subqueries, which read the row that is there already")
		}
		r.approximate("the subqueries of ON DUPLICATE KEY UPDATE are left out")
	}
	if len(items) == 0 {
		return r.fail(ReadsNoRows, "it writes given values and reads no table")
	}
	r.out.Select = "SELECT " + strings.Join(items, ", ")
	return nil
}

// assigned returns the values with subqueries of a list of assignments.
func (r *rewriter) assigned(from, to int) []string {
	if from >= to {
		return nil
	}
	var items []string
	for _, a := range r.split(from, to, r.toks[from].depth) {
		for i := a[0]; i < a[1]; i++ {
			if r.op(i, "=") || r.op(i, ":=") {
				a[0] = i + 1
				break
			}
		}
		if a[0] < a[1] && r.hasQuery(a[0], a[1]) {
			items = append(items, r.text(a[0], a[1]))
		}
	}
	return items
}

func (r *rewriter) create(verb int) error {
	if r.is(verb+1, "TEMPORARY") || r.is(verb+1, "TABLE") || r.is(verb+1, "OR") && r.is(verb+2, "REPLACE") {
		i := r.find(verb, min(verb+5, len(r.toks)), 0, "TABLE")
		if i < min(verb+5, len(r.toks)) {
			if err := r.clauseInComment("SELECT", "AS", "WITH", "TABLE"); err != nil {
				return err
			}
			for ; i < len(r.toks); i++ {
				if r.toks[i].depth == 0 && (r.is(i, "SELECT", "WITH") && !r.is(i-1, "START") || r.opensQuery(i)) {
					r.out.Select = r.text(i, len(r.toks))
					if r.find(verb, i, 0, "TEMPORARY") < i {
						r.removed("TEMPORARY TABLE")
					}
					return nil
				}
			}
		}
	}
	return r.fail(NotAQuery, "it defines something and reads no rows")
}

// expressions keeps the subqueries of SET, DO and CALL.
func (r *rewriter) expressions(verb int) error {
	var items []string
	switch from, to := verb+1, len(r.toks); r.out.Verb {
	case "SET":
		items = r.assigned(from, to)
	case "CALL":
		for from < to && !r.op(from, "(") {
			from++
		}
		if from == to || r.toks[from].match < 0 {
			return r.fail(NotAQuery, "the statements of the procedure have plans, the call has none; logs can hold each of them")
		}
		from, to = from+1, r.toks[from].match
		fallthrough
	default:
		if from < to {
			for _, v := range r.split(from, to, r.toks[from].depth) {
				if r.hasQuery(v[0], v[1]) {
					items = append(items, r.text(v[0], v[1]))
				}
			}
		}
	}
	switch {
	case len(items) > 0:
		r.out.Select = "SELECT " + strings.Join(items, ", ")
		return nil
	case r.out.Verb == "CALL":
		return r.fail(NotAQuery, "the statements of the procedure have plans, the call has none; logs can hold each of them")
	}
	return r.fail(ReadsNoRows, "it reads no table")
}

// writesBySelect says how a server's plan of the UPDATE or DELETE differs from
// its plan of the SELECT, and which settings make the two agree. The WHERE,
// ORDER BY and LIMIT stand in [tail, end). Sources: MySQL 9.7 and MariaDB 10.11,
// compared on fifty statements.
func (r *rewriter) writesBySelect(tail, end int) {
	sv := r.opts.Server
	if !r.out.single {
		switch sv.Product {
		case MySQL:
			// Joins of a multi-table UPDATE or DELETE use no join buffer and no hash.
			r.switches = append(r.switches, "block_nested_loop=off")
		case MariaDB:
			r.setting("join_cache_level=0")
		default:
			r.approximate("the SELECT may join by hash or through a buffer, which a multi-table UPDATE or DELETE does not")
		}
		return
	}
	if tail == end {
		return
	}
	ordered := r.find(tail, end, 0, "ORDER", "LIMIT") < end
	if r.is(tail, "WHERE") {
		r.approximate("a one-table UPDATE or DELETE is planned by ranges: where the SELECT reads by ref or const, it reads by range or scans")
	}
	if r.hasQuery(tail, end) {
		switch {
		case !sv.Known():
			r.approximate("whether a one-table UPDATE or DELETE can use a semi-join depends on the server")
		case (sv.AtLeast(MySQL, 8, 0, 21) || sv.AtLeast(MariaDB, 11, 1)) && !ordered:
		case sv.Product == TiDB:
		default:
			r.switches = append(r.switches, "semijoin=off", "materialization=off")
		}
		for i := tail; i < end; i++ {
			if r.is(i, "FROM", "JOIN") && r.opensQuery(i+1) {
				r.approximate("a derived table inside its subquery is materialised, where the SELECT merges it")
			}
		}
	}
	if r.out.write == writeDelete && sv.Product == MySQL {
		r.switches = append(r.switches, "index_merge_intersection=off")
	}
}

func lastPart(name string) string {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return strings.TrimSpace(name[i+1:])
	}
	return name
}
