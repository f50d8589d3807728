package explain

import (
	"fmt"
	"slices"
	"strings"
)

// The problems of single table accesses and joins.
const (
	FullScan           ProblemCode = "full-scan"
	WriteScansAll      ProblemCode = "write-scans-all"
	FullIndexScan      ProblemCode = "full-index-scan"
	InnerFullScan      ProblemCode = "inner-full-scan"
	JoinBuffer         ProblemCode = "join-buffer"
	HashJoinNoIndex    ProblemCode = "hash-join-without-index"
	CartesianJoin      ProblemCode = "cartesian-join"
	KeyNotUsed         ProblemCode = "possible-key-not-used"
	TypeConversion     ProblemCode = "type-conversion"
	LowFiltered        ProblemCode = "low-filtered"
	IndexFilters       ProblemCode = "index-condition-filters"
	IndexIntersect     ProblemCode = "index-merge-intersect"
	IndexUnion         ProblemCode = "index-merge-union"
	RangeCheckedEach   ProblemCode = "range-checked-for-each-row"
	NullKeyScan        ProblemCode = "full-scan-on-null-key"
	ManyPartitions     ProblemCode = "many-partitions"
	BackwardScan       ProblemCode = "backward-scan"
	DerivedWithoutKey  ProblemCode = "derived-without-key"
	DerivedNotMerged   ProblemCode = "derived-not-merged"
	OpensEveryTable    ProblemCode = "opens-every-table"
	EmptyTable         ProblemCode = "empty-table"
	EstimateOff        ProblemCode = "estimate-off"
	WrongIndexForLimit ProblemCode = "wrong-index-for-limit"
)

var accessChecks = []check{
	{FullScan, "no large table is read in full", fullScan, nil},
	{WriteScansAll, "the statement locks few rows beyond those it changes", writeScansAll, func(e *examiner) bool { return e.plan.write == writeUpdate || e.plan.write == writeDelete }},
	{FullIndexScan, "no large index is read in full", fullIndexScan, nil},
	{InnerFullScan, "no table is read in full for each row of another", innerFullScan, nil},
	{JoinBuffer, "no join goes through a buffer for want of an index", blockNestedLoop, nil},
	{HashJoinNoIndex, "no hash join reads a large table for a few rows", hashJoin, nil},
	{CartesianJoin, "every join has a condition", cartesian, nil},
	{KeyNotUsed, "where a key could be used, one is", keyNotUsed, func(e *examiner) bool { return e.shows(Traditional, JSON1, JSONMariaDB) }},
	{TypeConversion, "no conversion of type or collation keeps a key from being used", typeConversion, func(e *examiner) bool { return e.plan.Server != "" }},
	{LowFiltered, "the keys find hardly more rows than pass the conditions", lowFiltered, nil},
	{IndexFilters, "the parts of the keys that are used decide", indexFilters, func(e *examiner) bool { return e.shows(JSON1, JSONMariaDB, JSON2) }},
	{IndexIntersect, "no two indexes stand in for one", intersect, nil},
	{IndexUnion, "no OR reads several indexes", union, nil},
	{RangeCheckedEach, "no key is chosen anew for each row", rangeChecked, nil},
	{NullKeyScan, "no NULL makes IN scan", nullKey, nil},
	{ManyPartitions, "few partitions are read", partitions, func(e *examiner) bool { return e.shows(Traditional, JSON1, JSONMariaDB) }},
	{BackwardScan, "no long stretch of an index is read backwards", backward, nil},
	{DerivedWithoutKey, "no large derived table is searched without a key", derivedWithoutKey, nil},
	{DerivedNotMerged, "no large derived table is filled to throw most of it away", derivedNotMerged, nil},
	{OpensEveryTable, "information_schema is asked for named tables", opensTables, nil},
	{EmptyTable, "every table has rows", emptyTable, func(e *examiner) bool { return e.plan.Server != "" }},
	{EstimateOff, "the estimates are near what was measured", estimateOff, func(e *examiner) bool {
		return slices.ContainsFunc(e.tables, func(t *place) bool { return t.Actual != nil })
	}},
	{WrongIndexForLimit, "no index is read for its order where another would find the rows", wrongIndexForLimit, func(e *examiner) bool { return e.sel != nil && e.sel.Limit != nil }},
}

// shows reports whether the plan is of one of the formats.
func (e *examiner) shows(formats ...Format) bool { return slices.Contains(formats, e.plan.Format) }

// stored yields the accesses to tables that are stored, with the rows that each
// reads. Tables that a server makes for itself have checks of their own.
func (e *examiner) stored(f func(t *place, rows float64)) {
	for _, t := range e.tables {
		if !t.Internal() && t.Schema != "information_schema" {
			f(t, t.Examined().Or(0))
		}
	}
}

// driven reports whether the table is read again for each row of others, of its
// join or outside its subquery.
func (t *place) driven() bool {
	return t.Loops.Or(1) > 1 && !t.Has(Hash) && !t.Has(BlockNestedLoop)
}

func fullScan(e *examiner) {
	e.stored(func(t *place, rows float64) {
		if t.Access != AccessAll || t.Has(RangeChecked) || t.driven() || !e.matters(rows) || e.writes(t.Name) {
			return
		}
		s := High
		if rows >= huge {
			s = Critical
		}
		how, try := "", "Try "+onColumns(t.Node)+". If most rows are wanted, a scan is right: then ask for fewer rows or columns, or keep a summary table."
		if e.limited(t) {
			if t.Condition == "" && !slices.Contains(t.Extra, "Using where") {
				return
			}
			s--
			how = "; LIMIT ends it once enough rows are found"
		}
		if t.Filtered.Known && t.Filtered.Value >= 50 && t.Condition == "" {
			s = min(s, Medium)
			how = "; no condition leaves any of them out"
			try = "Every row is asked for. Ask for fewer, or keep a summary table; to join all rows of two tables a scan is right."
		}
		e.add(t.Name, e.scaled(s, rows), fmt.Sprintf("type ALL: all %s are read, %s pass%s", reads(t.Node), count(t.Out.Or(0)), how), try)
	})
}

// writes reports whether the statement writes the table.
func (e *examiner) writes(name string) bool {
	if e.plan.write != writeUpdate && e.plan.write != writeDelete {
		return false
	}
	return e.sel == nil || e.selects(name)
}

func writeScansAll(e *examiner) {
	e.stored(func(t *place, rows float64) {
		scan := t.Access == AccessAll || t.Access == AccessIndex && t.Key() == "PRIMARY"
		if !scan || t.driven() || !e.matters(rows) || !e.writes(t.Name) {
			return
		}
		e.add(t.Name, e.scaled(Critical, rows), fmt.Sprintf("all %s are read to find those to write", reads(t.Node)),
			"Try "+onColumns(t.Node)+". At the default isolation level InnoDB locks every row that an UPDATE or DELETE reads, so others wait for rows that it does not change.")
	})
}

func fullIndexScan(e *examiner) {
	e.stored(func(t *place, rows float64) {
		if t.Access != AccessIndex || t.Has(LooseScan) || t.driven() || !e.matters(rows) || e.limited(t) || e.writes(t.Name) {
			return
		}
		s := Medium
		if t.Has(Covering) {
			s = Low
		}
		e.add(t.Name, e.scaled(s, rows), fmt.Sprintf("type index: all %s of %s are read", reads(t.Node), t.Key()),
			"A full index scan reads as many rows as a table scan. Try "+onColumns(t.Node)+"; for a count or an extreme of everything, a summary table.")
	})
}

func innerFullScan(e *examiner) {
	e.stored(func(t *place, rows float64) {
		if t.Access != AccessAll && t.Access != AccessIndex || !t.driven() || t.Has(RangeChecked) || !e.matters(rows) {
			return
		}
		e.add(t.Name, e.scaled(Critical, rows), fmt.Sprintf("type %s behind another table: %s", t.Access, reads(t.Node)),
			"Try an index on the columns by which "+t.Name+" is joined, of the same type and collation as those it is compared with.")
	})
}

func blockNestedLoop(e *examiner) {
	e.stored(func(t *place, rows float64) {
		outer := t.outer()
		pairs := t.Rows.Or(0) * max(1, outer)
		if !t.Has(BlockNestedLoop) || !e.matters(pairs) {
			return
		}
		s := High
		if pairs >= 100*huge {
			s = Critical
		}
		e.add(t.Name, e.scaled(s, pairs), fmt.Sprintf("Using join buffer (block nested loop): %s compared with each of %s rows", reads(t.Node), count(outer)),
			"Try an index on the columns by which "+t.Name+" is joined. Without one every pair of rows is compared.")
	})
}

// outer is the estimate of rows of the tables before this one in its join.
func (t *place) outer() float64 {
	out := 1.0
	if t.join != nil {
		for _, c := range t.join.Children[:max(0, t.pos)] {
			out *= max(0, c.Out.Or(1))
		}
	}
	return out
}

func hashJoin(e *examiner) {
	e.stored(func(t *place, rows float64) {
		if !t.Has(Hash) || t.pos < 1 || t.outer() >= 1000 || !e.matters(rows) {
			return
		}
		e.add(t.Name, e.scaled(Medium, rows), fmt.Sprintf("hash join: %s read to match %s rows", reads(t.Node), count(t.outer())),
			"Try an index on the columns by which "+t.Name+" is joined: so few rows are found faster one by one.")
	})
}

// maxJoined is how many tables servers join at most, with room to spare.
const maxJoined = 128

func cartesian(e *examiner) {
	for _, t := range e.tables {
		if t.pos < 1 || len(t.join.Children) > maxJoined || t.Rows.Or(0) <= 1 || t.outer() <= 1 || t.JoinType != "" {
			continue
		}
		free := t.Has(Cartesian)
		if e.shows(JSON1, JSONMariaDB) {
			free = !t.joined() && !e.compares(t.Name)
		}
		if pairs := t.Rows.Or(0) * t.outer(); free && e.matters(pairs) {
			e.add(t.Name, e.scaled(Critical, pairs), fmt.Sprintf("no condition joins %s to the tables before it: %s × %s rows", t.Name, count(t.outer()), count(t.Rows.Or(0))),
				"Add the missing join condition. If every pair is meant, say CROSS JOIN.")
		}
	}
}

// joined reports whether a condition or key of the plan ties the table to
// another of its join: its own, or one of a table behind it.
func (t *place) joined() bool {
	if t.Has(RangeChecked) {
		return true
	}
	for i, c := range t.join.Children {
		for n := range c.All() {
			names := n.Condition + " " + n.IndexCond + " " + strings.Join(n.Ref, " ")
			if i > t.pos && len(columns(names, t.Name)) > 0 {
				return true
			}
			if i != t.pos {
				continue
			}
			for _, other := range t.join.Children {
				for o := range other.All() {
					if o.Op == OpTable && o.Name != t.Name && len(columns(names, o.Name)) > 0 {
						return true
					}
				}
			}
			if slices.Contains(n.Ref, "func") {
				return true
			}
		}
	}
	return false
}

func keyNotUsed(e *examiner) {
	e.stored(func(t *place, rows float64) {
		if len(t.PossibleKeys) == 0 || len(t.Keys) > 0 || t.Access != AccessAll || t.Has(RangeChecked) || !e.matters(rows) {
			return
		}
		e.add(t.Name, e.scaled(Medium, rows), fmt.Sprintf("possible keys %s, none used; %s", strings.Join(t.PossibleKeys, ", "), reads(t.Node)),
			"The planner expects so many rows from these keys that reading the table in order is cheaper. Try a narrower condition, an index with more of the columns, or, where its estimates are wrong, ANALYZE TABLE.")
	})
}

func typeConversion(e *examiner) {
	for _, w := range e.plan.Warnings {
		if w.Code == 1739 || w.Code == 1105 && strings.HasPrefix(w.Message, "Cannot use key") || w.Code == 3909 {
			e.add("", High, fmt.Sprintf("warning %d: a key cannot be used, since the two sides have not the same type or collation", w.Code),
				"Compare a column with a value of its own type: a string column with a quoted string, a join of columns of one type and collation. A conversion of the column hides it from its index.")
			return
		}
	}
	e.stored(func(t *place, rows float64) {
		c := strings.ToLower(t.Condition)
		if t.Access == AccessAll && e.matters(rows) && (strings.Contains(c, "convert(`") || strings.Contains(c, "convert("+strings.ToLower(t.Name)+".")) {
			e.add(t.Name, e.scaled(High, rows), "the server converts a column of "+t.Name+" to another character set to compare it",
				"Give both columns one character set and collation: a conversion of the column hides it from its index.")
		}
	})
}

func lowFiltered(e *examiner) {
	e.stored(func(t *place, rows float64) {
		if len(t.Keys) == 0 || t.Access == AccessIndex || !t.Filtered.Known || t.Filtered.Value >= 10 || !e.matters(rows) || e.limited(t) {
			return
		}
		e.add(t.Name, e.scaled(Medium, rows), fmt.Sprintf("%s finds %s, %s %% of them pass", t.Key(), reads(t.Node), figure(t.Filtered.Value)),
			"The index decides on a part of the conditions, the rest is checked row by row. Try "+onColumns(t.Node)+", after those of "+t.Key()+".")
	})
}

func indexFilters(e *examiner) {
	e.stored(func(t *place, rows float64) {
		if t.IndexCond == "" || len(t.Keys) != 1 || len(t.Keys[0].Parts) == 0 || !e.matters(rows) {
			return
		}
		var beyond []string
		for _, c := range columns(t.IndexCond, t.Name) {
			if !slices.Contains(t.Keys[0].Parts, c) {
				beyond = append(beyond, c)
			}
		}
		if len(beyond) > 0 {
			e.add(t.Name, e.scaled(Medium, rows), fmt.Sprintf("%s of %s are read by (%s); %s is only checked in the index", reads(t.Node), t.Key(), strings.Join(t.Keys[0].Parts, ", "), strings.Join(beyond, ", ")),
				"A range ends the use of a key: what follows it is only checked. Try an index with the columns compared by equality before the one compared by range.")
		}
	})
}

func intersect(e *examiner) {
	e.stored(func(t *place, rows float64) {
		if t.Has(Intersect) {
			e.add(t.Name, e.scaled(Medium, max(rows, big)), fmt.Sprintf("index merge intersects %s", strings.ReplaceAll(t.Key(), ",", ", ")),
				"Each index finds many rows of which few are in both. One index on the columns of both finds them at once.")
		}
	})
}

func union(e *examiner) {
	e.stored(func(t *place, rows float64) {
		if (t.Has(Union) || t.Has(SortUnion)) && e.matters(rows) {
			e.add(t.Name, e.scaled(Low, rows), fmt.Sprintf("index merge joins %s: %s", strings.ReplaceAll(t.Key(), ",", ", "), reads(t.Node)),
				"An OR over several columns reads an index for each. Where it is hot, a UNION ALL of the arms, each without the rows of the arms before, lets each use its index and its order.")
		}
	})
}

func rangeChecked(e *examiner) {
	e.stored(func(t *place, rows float64) {
		if t.Has(RangeChecked) && e.matters(rows) {
			e.add(t.Name, e.scaled(High, rows), fmt.Sprintf("range checked for each record: %s", reads(t.Node)),
				"No key fits all rows of the outer tables, so the choice is made anew for each, and often is a scan. Try a join by equality, or the same type and collation on both sides.")
		}
	})
}

func nullKey(e *examiner) {
	e.stored(func(t *place, rows float64) {
		if t.Has(FullScanOnNull) && t.Loops.Or(1) >= 1000 {
			e.add(t.Name, e.scaled(Medium, rows), fmt.Sprintf("full scan on NULL key, for up to %s rows", count(t.Loops.Or(1))),
				"Where the left side of IN is NULL, the whole subquery is read. Declare the columns NOT NULL, or add IS NOT NULL, or write NOT EXISTS.")
		}
	})
}

func partitions(e *examiner) {
	e.stored(func(t *place, rows float64) {
		if len(t.Partitions) >= 4 && e.matters(rows) {
			e.add(t.Name, e.scaled(Medium, rows), fmt.Sprintf("%d partitions are read: %s", len(t.Partitions), reads(t.Node)),
				"A condition on the partitioning column, compared with constants and not inside a function, lets the server leave partitions out.")
		}
	})
}

func backward(e *examiner) {
	e.stored(func(t *place, rows float64) {
		if t.Has(Backward) && e.matters(rows) && !e.limited(t) {
			e.add(t.Name, e.scaled(Low, rows), fmt.Sprintf("backward index scan of %s: %s", t.Key(), reads(t.Node)),
				"Reading an index backwards costs some 15 % more. Where it is hot, an index with DESC parts (MySQL 8.0, MariaDB 10.8) is read forwards.")
		}
	})
}

func derivedWithoutKey(e *examiner) {
	for _, t := range e.tables {
		rows := t.Examined().Or(0)
		if t.filled() && t.Access == AccessAll && t.pos > 0 && e.matters(max(rows, t.Rows.Or(0)*t.outer())) && !t.Has(Hash) {
			e.add(t.Name, e.scaled(Medium, rows), fmt.Sprintf("the derived table is searched in full: %s", reads(t.Node)),
				"Join it by equality on a plain column, so that the server can make a key for it, or join its tables directly.")
		}
	}
}

// filled reports whether the table is a derived table or common table expression.
func (t *place) filled() bool {
	return slices.ContainsFunc(t.Children, func(c *Node) bool { return c.Op == OpMaterialize }) && !strings.HasPrefix(t.Name, "<subquery")
}

func derivedNotMerged(e *examiner) {
	for _, t := range e.tables {
		rows := t.Rows.Or(0)
		if t.filled() && t.Access == AccessAll && t.pos == 0 && e.matters(rows) && (t.Condition != "" && !pushed(t) || t.Filtered.Or(100) < 50) {
			e.add(t.Name, e.scaled(Medium, rows), fmt.Sprintf("a derived table of %s rows is filled before its condition leaves rows out", count(rows)),
				"Move the condition into the derived table. GROUP BY, DISTINCT, LIMIT and UNION keep a server from merging it; newer ones push conditions down.")
		}
	}
}

// pushed reports whether the condition on the derived table only says that a
// column is not NULL, as joins add.
func pushed(t *place) bool {
	c := strings.ToLower(t.Condition)
	return strings.Contains(c, "is not null") && !strings.Contains(c, " and ") && !strings.Contains(c, "=") && !strings.ContainsAny(c, "<>")
}

func opensTables(e *examiner) {
	for _, t := range e.tables {
		if t.Has(OpensTables) {
			e.add(t.Name, Low, "Open_full_table; Scanned all databases: every table of every schema is opened",
				"Compare TABLE_SCHEMA and TABLE_NAME with constants, or ask for names alone: they stand in the dictionary.")
		}
	}
}

func emptyTable(e *examiner) {
	for _, name := range e.plan.empty {
		e.add(name, Info, "by the statistics of this server "+name+" holds no rows",
			"A plan for an empty table says nothing about a full one. Explain the statement where the data is, or after ANALYZE TABLE "+name+".")
	}
}

func estimateOff(e *examiner) {
	for _, t := range e.tables {
		if t.Actual == nil || !t.Actual.Rows.Known || !t.Rows.Known {
			continue
		}
		got, want := t.Actual.Rows.Value, t.Rows.Value
		if got < want && e.limited(t) {
			continue // it was not read to its end
		}
		if max(got, want) >= 1000 && (got >= 10*max(want, 1) || want >= 10*max(got, 1)) {
			e.add(t.Name, Medium, fmt.Sprintf("%s rows expected, %s read", count(want), count(got)),
				"A plan rests on its estimates. Try ANALYZE TABLE, a histogram on skewed columns without an index, or an index whose entries tell the values apart.")
		}
	}
}

func wrongIndexForLimit(e *examiner) {
	e.stored(func(t *place, rows float64) {
		byOrder := t.Access == AccessIndex || t.Access == AccessRange && e.sel.OrderBy != nil
		if !byOrder || t.pos > 0 || e.sel.OrderBy == nil || !t.alone || !t.Filtered.Known || t.Filtered.Value >= 5 || len(t.Keys) != 1 {
			return
		}
		others := slices.DeleteFunc(slices.Clone(t.PossibleKeys), func(k string) bool { return k == t.Key() })
		if len(others) == 0 {
			return
		}
		e.add(t.Name, High, fmt.Sprintf("%s is read for its order, %s %% of its rows pass; %s could find them", t.Key(), figure(t.Filtered.Value), strings.Join(others, ", ")),
			"The planner bets that LIMIT is soon filled; where the rows lie at the far end it reads the whole index. Try an index with the columns of the conditions first and the order last.")
	})
}
