package indexadvisor

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// suggest words the choice of one index.
func (r *run) suggest(w *workload, chosen []candidate, c candidate, taken map[string]bool) Suggestion {
	t := c.table
	rest := slices.DeleteFunc(slices.Clone(chosen), func(d candidate) bool { return d.key == c.key })
	parts, columns := generated(w, t, c.parts)
	s := Suggestion{
		Kind: Add, Schema: t.Schema, Table: t.Name, Columns: parts,
		Name:  indexName(t, parts, taken),
		Bytes: t.indexBytes(c.parts, max(1, r.rowsOf(t), float64(t.Rows)), r.server.pageSize()),
	}
	var before, after, gain, all float64
	var lead *access // the access whose rounds are shown
	var leadBlock *block
	leadGain := 0.0
	var users []user
	for _, it := range w.items {
		with, without := it.cost(w.server, chosen), it.cost(w.server, rest)
		all += it.weight * it.cost(w.server, nil)
		if cost := it.writeCost(w.server, []candidate{c}); cost > 0 {
			s.Pays = append(s.Pays, it.query.name())
		}
		if with >= without*0.97 {
			continue
		}
		gain += it.weight * (without - with)
		old, now := it.read(w.server, nil), it.read(w.server, chosen)
		before, after = before+old, after+now
		s.Serves = append(s.Serves, Served{it.query.name(), round(old), round(now)})
		x, b := it.user(w.server, chosen, c)
		if x == nil {
			continue
		}
		users = append(users, user{x, b, it.query.name()})
		if it.weight*(without-with) > leadGain {
			lead, leadBlock, leadGain = x, b, it.weight*(without-with)
		}
	}
	s.RowsBefore, s.RowsAfter = round(before), round(after)
	if all > 0 {
		s.Gain = min(1, gain/all)
	}
	var replaced []*Index
	for i := range t.Indexes {
		ix := &t.Indexes[i]
		if _, ok := covers(t, ix, &Index{Name: s.Name, Parts: c.parts, Kind: "BTREE"}); ok && !r.hinted(w, t, ix.Name) {
			if s.Kind == Add && len(ix.Parts) < len(c.parts) {
				s.Kind = Extend
				replaced = append(replaced, ix)
				r.replaced[nameKey(t, ix.Name)] = true
			} else {
				s.Redundant = append(s.Redundant, ix.Name)
			}
		}
	}
	s.DDL, s.Undo, s.Trial = r.ddl(t, s.Name, parts, columns, replaced)
	s.Reason = r.reason(lead, leadBlock, users, c, parts, replaced)
	if lead != nil {
		s.Rounds = lead.rounds
		s.Confidence = confidence(lead)
	}
	return s
}

// read is the number of rows that one execution reads.
func (it *item) read(server Server, added []candidate) float64 {
	sum := 0.0
	for _, a := range it.variants {
		_, n := a.cost(server, indexSet(added))
		sum += n
	}
	return sum / float64(max(1, len(it.variants)))
}

// user finds the access that reads by the candidate.
func (it *item) user(server Server, chosen []candidate, c candidate) (*access, *block) {
	for _, a := range it.variants {
		for _, b := range a.blocks {
			p := b.best(server, indexSet(chosen))
			for _, s := range p.steps {
				if s.index != nil && s.index.Name == "" && s.access.table == c.table && partsKey(s.index.Parts) == partsKey(c.parts) {
					return s.access, b
				}
			}
		}
	}
	return nil, nil
}

// hinted says whether a query of the workload names the index in a hint.
func (r *run) hinted(w *workload, t *Table, name string) bool {
	for _, it := range w.items {
		if it.names(t, name) {
			return true
		}
	}
	return false
}

func (it *item) names(t *Table, name string) bool {
	for _, a := range it.variants {
		for _, b := range a.blocks {
			for _, x := range b.accesses {
				if x.table == t && slices.ContainsFunc(x.hints, func(h string) bool { return strings.EqualFold(h, name) }) {
					return true
				}
			}
		}
	}
	return false
}

func confidence(x *access) string {
	c := x.counts
	if !c.Sampled {
		return fmt.Sprintf("high: all %d rows were counted", round(c.Rows))
	}
	level := "medium"
	if x.guessed {
		level = "low"
	}
	for _, r := range x.rounds {
		if strings.Contains(r.Why, "does not tell it apart") {
			level = "low"
		}
	}
	text := fmt.Sprintf("%s: %d of about %d rows were counted, in %d ranges of the primary key", level, c.sampled(), round(c.Rows), len(c.Clusters))
	for _, w := range c.within {
		text += fmt.Sprintf("; and on the table itself the %d that meet %s", w.rows.hits(0), x.where(w.mask))
	}
	return text
}

// reason says in words why the index has its columns.
func (r *run) reason(x *access, b *block, users []user, c candidate, parts []Part, replaced []*Index) string {
	if x == nil {
		return "it is cheaper than what is there."
	}
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, p := range x.preds {
		if p.Try != "" && len(p.Keys) == 1 && p.Keys[0].Expr != "" && slices.ContainsFunc(c.parts, p.Keys[0].sameColumn) {
			say("Better than an index on the expression: write %s instead of %s, and index the column.", p.Try, p.Text)
		}
	}
	for i, part := range parts {
		if part.Name != "" && part.Expr != "" {
			say("%s is a new generated column, which SELECT * does not show; the server uses its index only where the query names it, so write %[1]s in the place of %s.", part.Name, part.Expr)
		}
		if strings.Contains(strings.ToLower(c.parts[i].Expr), "json_") {
			say("From then on the server refuses documents whose value there does not fit: text of more than %d characters, or no number where a number is indexed.", jsonChars)
		}
	}
	n := round(x.rows())
	placed := uint64(0)
	order := false
	for k, role := range x.roles(b, c.parts) {
		placed |= role.met
		order = order || role.order
		text := role.text
		for _, u := range users {
			if text != "" {
				break
			}
			if text = u.access.roles(u.block, c.parts)[k].text; text != "" {
				text += ", for " + u.query
			}
		}
		if text == "" {
			text = "is read, so that the row itself need not be fetched"
		}
		say("%s %s.", parts[k], text)
	}
	var left []string
	for i, p := range x.preds {
		if p.Class == Filter || placed>>i&1 == 1 || len(p.Keys) == 0 {
			continue
		}
		was, now := x.match(placed), x.match(placed|1<<i)
		if round(was) == 0 { // nothing to filter: say what it does alone
			was, now = x.rows(), x.match(1<<i)
		}
		left = append(left, fmt.Sprintf("%s leaves %d of %d rows", p.Text, round(now), round(was)))
	}
	if len(left) > 0 {
		say("Left out, as what they filter is not worth a column: %s.", strings.Join(left, "; "))
	}
	if len(b.order) > 0 && !order && len(b.accesses) == 1 {
		say("%s", x.orderRejected(r.server, b, c))
	}
	if rows := round(x.match(uint64(1)<<len(x.preds) - 1)); rows == 0 && n > 0 && b.limit > 0 && len(b.accesses) == 1 && !x.counts.Sampled {
		say("No row meets all conditions today, so that a LIMIT cannot end the reading early.")
	}
	for _, ix := range replaced {
		say("It begins with the columns of %s and takes its place.", ix.Name)
	}
	return strings.Join(out, " ")
}

// user is an access that reads by a suggested index.
type user struct {
	access *access
	block  *block
	query  string
}

// role is what a part of an index is there for.
type role struct {
	text  string // "" if for nothing but to be read
	met   uint64 // the conditions that it serves
	order bool   // it gives the order
}

// roles says what each part of an index does for an access.
func (x *access) roles(b *block, parts []Part) []role {
	roles := make([]role, len(parts))
	placed := uint64(0)
	looked := true // all parts so far are looked up
	for k, part := range parts {
		at := func(o orderItem) bool { return o.access == x && strings.EqualFold(o.column.Name, part.Name) }
		r := &roles[k]
		here := looked
		for i, p := range x.preds {
			if !slices.ContainsFunc(p.Keys, part.sameColumn) || p.Class == Filter {
				continue
			}
			was := x.match(placed)
			placed |= 1 << i
			r.met |= 1 << i
			leaves := fmt.Sprintf("(leaves %d of %d rows)", round(x.match(placed)), round(was))
			switch {
			case p.Class == Join:
				r.text = "is looked up with a value of another table"
			case !here:
				r.text = "is checked on the index entry, before the row is fetched: " + p.Text + " " + leaves
			case p.Class == Equality:
				r.text = "is fixed by " + p.Text + " " + leaves
			case p.Class == List:
				r.text = "is looked up for each value of " + p.Text + " " + leaves
			default:
				r.text, looked = "is the range "+p.Text+" "+leaves, false
			}
		}
		if r.text != "" {
			continue
		}
		joined := slices.ContainsFunc(b.edges, func(e edge) bool {
			return e.a == x && strings.EqualFold(e.ac.Name, part.Name) || e.b == x && strings.EqualFold(e.bc.Name, part.Name)
		})
		looked = looked && joined
		switch {
		case joined:
			r.text = "is looked up with a value of the joined table"
		case slices.ContainsFunc(b.group, at):
			r.text = "gives the groups one after the other, without a temporary table"
		case slices.ContainsFunc(b.order, at):
			r.text, r.order = "gives the order, so that nothing is sorted", true
		case slices.ContainsFunc(x.preds, func(p *Predicate) bool { return len(p.columns) == 1 && strings.EqualFold(p.columns[0], part.Name) }):
			r.text = "is checked on the index entry, before the row is fetched"
		}
	}
	return roles
}

// orderRejected tells what the index that gives the order would have cost.
func (x *access) orderRejected(server Server, b *block, c candidate) string {
	var parts []Part
	for _, p := range c.parts {
		if slices.ContainsFunc(x.preds, func(q *Predicate) bool { return q.Class == Equality && slices.ContainsFunc(q.Keys, p.sameColumn) }) {
			parts = append(parts, p)
		}
	}
	for _, o := range b.order {
		if o.access == x && !x.constant(o.column) {
			parts = append(parts, Part{Name: o.column.Name, Desc: o.desc})
		}
	}
	if len(parts) == 0 {
		return ""
	}
	mine := b.read(server, x, c.index, 0)
	other := b.read(server, x, &Index{Parts: parts, Kind: "BTREE"}, 0)
	rows := other.entries
	if b.limit >= 0 && other.ordered && other.out > float64(b.limit) {
		rows *= float64(b.limit) / other.out
	}
	if !slices.ContainsFunc(b.order, func(o orderItem) bool { return !o.desc }) {
		for i := range parts {
			parts[i].Desc = false // the index is read backwards
		}
	}
	if round(rows) <= round(mine.entries) {
		return fmt.Sprintf("The ORDER BY was considered: %s would spare the sorting, but of %s that is not worth a column.",
			partList(parts), amount(int(round(mine.out)), "row"))
	}
	return fmt.Sprintf("The ORDER BY was considered: %s would spare the sorting, but reads about %d rows where this reads %d.",
		partList(parts), round(rows), round(mine.entries))
}

// nameKey tells a name of an index of one table from others.
func nameKey(t *Table, name string) string {
	return t.Schema + "\x00" + t.Name + "\x00" + strings.ToLower(name)
}

// indexName makes a name that the table does not have, and that no other
// suggestion has taken.
func indexName(t *Table, parts []Part, taken map[string]bool) string {
	var words []string
	for _, p := range parts {
		switch {
		case p.Name == "":
			words = append(words, "expr")
		default:
			words = append(words, strings.Map(func(r rune) rune {
				if r == '`' || r < ' ' {
					return '_'
				}
				return r
			}, p.Name))
		}
	}
	base := "ix_" + strings.Join(words, "_")
	for utf8.RuneCountInString(base) > 60 {
		_, size := utf8.DecodeLastRuneInString(base)
		base = base[:len(base)-size]
	}
	base = strings.TrimRight(base, " ")
	name := base
	for n := 2; taken[nameKey(t, name)] || slices.ContainsFunc(t.Indexes, func(ix Index) bool { return strings.EqualFold(ix.Name, name) }); n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	return name
}

// definition writes the parts of a key.
func definition(parts []Part) string {
	out := make([]string, len(parts))
	for i, p := range parts {
		if p.Name == "" {
			out[i] = "(" + p.Expr + ")"
		} else {
			out[i] = quote(p.Name)
		}
		if p.Length > 0 {
			out[i] += fmt.Sprintf("(%d)", p.Length)
		}
		if p.Desc {
			out[i] += " DESC"
		}
	}
	return "(" + strings.Join(out, ", ") + ")"
}

// ddl writes the statements that make an index, with the definitions of the
// generated columns it needs, and undo it.
func (r *run) ddl(t *Table, name string, parts []Part, columns []string, replaced []*Index) (do, undo, trial string) {
	table := "ALTER TABLE " + quoteTable(t.Schema, t.Name) + " "
	add := "ADD INDEX " + quote(name) + " " + definition(parts)
	online := ""
	if t.clustered() {
		online = ", ALGORITHM=INPLACE, LOCK=NONE"
	}
	undo = "DROP INDEX " + quote(name)
	for _, p := range parts {
		if p.Expr != "" && t.clustered() {
			// Nothing is copied, but writes wait until it is done.
			online = ", ALGORITHM=INPLACE, LOCK=SHARED"
		}
		if p.Expr != "" && p.Name != "" {
			undo += ", DROP COLUMN " + quote(p.Name)
		}
	}
	for _, c := range columns {
		add = "ADD COLUMN " + c + ", " + add
	}
	do = table + add
	for _, ix := range replaced {
		do += ", DROP INDEX " + quote(ix.Name)
		undo += ", ADD " + ix.definition()
	}
	if h := r.server.hidden(); h != "" {
		trial = table + add + " " + h + online
	}
	return do + online, table + undo, trial
}

// generated names the generated columns that hold the expressions of an index
// where the server has no key parts for them, and writes their definitions.
func generated(w *workload, t *Table, parts []Part) (named []Part, columns []string) {
	named = slices.Clone(parts)
	for i, part := range parts {
		typ := w.generatedType(t, part)
		if typ == "" {
			continue
		}
		named[i].Name = columnName(t, part.Expr)
		def := fmt.Sprintf("%s %s GENERATED ALWAYS AS (%s) VIRTUAL", quote(named[i].Name), typ, part.Expr)
		if w.server.hidesColumns() {
			def += " INVISIBLE"
		}
		columns = append(columns, def)
	}
	return named, columns
}

// generatedType is the type of the generated column that an expression needs,
// "" if it needs none.
func (w *workload) generatedType(t *Table, part Part) string {
	for _, it := range w.items {
		for _, a := range it.variants {
			for _, b := range a.blocks {
				for _, x := range b.accesses {
					for _, p := range x.preds {
						if x.table == t && p.Column != "" && slices.ContainsFunc(p.Keys, part.sameColumn) {
							return p.Column
						}
					}
				}
			}
		}
	}
	return ""
}

// columnName makes a name for a generated column that the table does not have.
func columnName(t *Table, expr string) string {
	words := strings.FieldsFunc(strings.ToLower(expr), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_') })
	base := "g_" + strings.Join(words, "_")
	base = base[:min(len(base), 50)]
	name := base
	for n := 2; t.column(name) != nil; n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	return name
}

// definition writes an existing index as it would be added again.
func (ix *Index) definition() string {
	s := "INDEX "
	switch {
	case ix.Unique:
		s = "UNIQUE INDEX "
	case ix.Kind == "FULLTEXT" || ix.Kind == "SPATIAL":
		s = ix.Kind + " INDEX "
	}
	s += quote(ix.Name) + " " + definition(ix.Parts)
	if ix.Kind == "HASH" {
		s += " USING HASH"
	}
	return s
}

// explain says for each query why nothing, or nothing more, is suggested.
func (r *run) explain(w *workload, chosen []candidate) {
	for _, it := range w.items {
		who := ""
		if len(w.items) > 1 {
			who = it.query.name() + ": "
		}
		seen := map[string]bool{}
		for _, a := range it.variants {
			for _, b := range a.blocks {
				p := b.best(w.server, indexSet(chosen))
				for i, s := range p.steps {
					if s.access.table == nil || s.index != nil && s.index.Name == "" {
						continue // it uses a new index
					}
					text := r.outweighed(w, it, s, chosen)
					if text == "" {
						text = r.verdict(b, s)
					}
					if i > 0 && p.steps[i-1].out == 0 {
						text = fmt.Sprintf("%s: nothing is looked up in it for these values, as no row of %s meets the conditions", s.access.name(), p.steps[i-1].access.name())
					}
					if !seen[text] {
						seen[text] = true
						r.note("%s%s", who, text)
					}
				}
				for _, x := range b.accesses {
					if x.table == nil {
						continue
					}
					for _, q := range x.preds {
						if q.Try != "" {
							r.note("%s%s cannot use an index on the column: %s. Instead: %s", who, q.Text, q.Why, q.Try)
						} else if q.Class == Filter && len(q.columns) > 0 && q.Why != "" && q.Why != "an equality fixes the column already" {
							r.note("%s%s is checked row by row: %s", who, q.Text, q.Why)
						} else if q.Class != Filter && q.SQL == "" && q.guessed {
							r.note("%sthe rows of %s are guessed: %s", who, q.Text, q.Why)
						}
					}
				}
			}
		}
		it.spread(r, w.server, who, chosen)
	}
}

// outweighed says which index the query would have gained from, had the
// workload's writes, or the limits, not kept it out; "" if there is none.
func (r *run) outweighed(w *workload, it *item, s step, chosen []candidate) string {
	best, saved, rows := candidate{}, 0.0, 0.0
	now := it.cost(w.server, chosen)
	for _, c := range it.candidates {
		with := append(slices.Clone(chosen), c)
		if gain := now - it.cost(w.server, with); c.table == s.access.table && gain > saved && r.gains(it, gain, now) {
			best, saved, rows = c, gain, it.read(w.server, with)
		}
	}
	if saved == 0 {
		return ""
	}
	parts, _ := generated(w, best.table, best.parts)
	text := fmt.Sprintf("%s.%s: an index on %s would read %d rows instead of %d, but ", best.table.Schema, best.table.Name, partList(parts), round(rows), round(it.read(w.server, chosen)))
	with := append(slices.Clone(chosen), best)
	before, after := w.total(chosen), w.total(with)
	writes := 0.0
	for _, other := range w.items {
		writes += other.weight * (other.writeCost(w.server, with) - other.writeCost(w.server, chosen))
	}
	switch {
	case after < 0.997*before:
		return text + "the limits on new indexes leave no room for it"
	case writes > 0:
		return text + "maintaining it costs the workload's writes more than its queries gain"
	}
	return ""
}

// name is the table's, with its alias.
func (x *access) name() string {
	switch {
	case x.table == nil:
		return x.alias
	case x.alias == x.table.Name:
		return x.table.Schema + "." + x.table.Name
	}
	return x.table.Schema + "." + x.table.Name + " (" + x.alias + ")"
}

// verdict says why a table gets no new index.
func (r *run) verdict(b *block, s step) string {
	x := s.access
	t := x.table
	name := x.name()
	n := x.rows()
	sargable := slices.ContainsFunc(x.preds, func(p *Predicate) bool { return p.Class != Filter })
	joined := slices.ContainsFunc(b.edges, func(e edge) bool { return e.a == x || e.b == x })
	switch {
	case x.text != "":
		return fmt.Sprintf("%s: nothing is suggested, as MATCH makes the server read the FULLTEXT index %s, and no other of the table", name, x.text)
	case x.counts == nil:
		return fmt.Sprintf("%s: nothing is suggested, as its rows could not be counted", name)
	case n == 0:
		return fmt.Sprintf("%s: nothing is suggested, as the table is empty", name)
	case s.index != nil && s.index.Unique && t.identifies(s.index) && s.entries <= 1.5:
		return fmt.Sprintf("%s: nothing is needed, as %s fixes the row", name, s.index.Name)
	case s.index != nil && n < smallTable:
		return fmt.Sprintf("%s: nothing is needed, as %s serves it already and the table has %d rows", name, s.index.Name, round(n))
	case n < smallTable:
		return fmt.Sprintf("%s: nothing is suggested, as the table is small: %d rows are read as fast as an index", name, round(n))
	case s.index != nil:
		return fmt.Sprintf("%s: nothing is needed, as %s serves it already: it reads about %d of %d rows", name, s.index.Name, round(s.entries), round(n))
	case !sargable && !joined && len(b.order) == 0 && b.group == nil:
		return fmt.Sprintf("%s: no condition is there that an index could serve", name)
	}
	all := uint64(1)<<len(x.preds) - 1
	return fmt.Sprintf("%s: nothing is suggested, as no index gains enough: %d of %d rows meet the conditions", name, round(x.match(all)), round(n))
}

// spread says where the texts of a class differ: in the rows that they need,
// and in whether they gain.
func (it *item) spread(r *run, server Server, who string, chosen []candidate) {
	if len(it.variants) < 2 {
		return
	}
	var lowest, highest float64
	gaining := 0
	for i, a := range it.variants {
		now, n := a.cost(server, indexSet(chosen))
		if i == 0 || n < lowest {
			lowest = n
		}
		highest = max(highest, n)
		if before, _ := a.cost(server, indexSet(nil)); now.cost < 0.9*before.cost {
			gaining++
		}
	}
	if highest > 10*max(1, lowest) {
		r.note("%sthe values matter: with the indexes suggested, %d texts of the class read from %d to %d rows", who, len(it.variants), round(lowest), round(highest))
	}
	if gaining > 0 && gaining < len(it.variants) {
		r.note("%sthe values matter: %d of %d texts of the class gain from the indexes suggested, the others do not", who, gaining, len(it.variants))
	}
}
