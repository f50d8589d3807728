package explain

import (
	"fmt"
	"strings"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/digest/finding"
)

// kind is what a problem means to a whole workload.
type kind struct {
	title, why string
	remedy     finding.Remedy
}

// kinds has all problems but those that are never worse than Info.
var kinds = map[ProblemCode]kind{
	FullScan:           {"a large table is read in full", "What is read grows with the table, not with the answer.", finding.Tune},
	WriteScansAll:      {"a write reads a table in full", "It locks what it reads: others wait for rows that it does not change.", finding.Tune},
	FullIndexScan:      {"a large index is read in full", "It reads as many entries as the table has rows.", finding.Tune},
	InnerFullScan:      {"a table is read in full for each row of another", "The cost is the product of both tables.", finding.Tune},
	JoinBuffer:         {"a join compares every pair of rows", "The cost is the product of both tables.", finding.Tune},
	HashJoinNoIndex:    {"a hash join reads a large table for a few rows", "All of the table is read to match what an index would find at once.", finding.Tune},
	CartesianJoin:      {"tables are joined without a condition", "Every row meets every other one; a DISTINCT or a GROUP BY often hides that.", finding.Remove},
	KeyNotUsed:         {"a key could be used and is not", "The planner expects more of a scan than of the key, by what it knows of the values.", finding.Tune},
	TypeConversion:     {"types or collations differ", "A value that has to be converted first cannot be looked up in an index.", finding.Tune},
	LowFiltered:        {"the key finds many rows too many", "Each of them is fetched to be thrown away.", finding.Tune},
	IndexFilters:       {"a part of the key only filters", "All entries of the range are read, whatever the columns behind it say.", finding.Tune},
	IndexIntersect:     {"two indexes stand in for one", "Both are read and their entries compared, where one index would do.", finding.Tune},
	IndexUnion:         {"an OR reads several indexes", "Each is read and the rows are put together without duplicates.", finding.Tune},
	RangeCheckedEach:   {"a key is chosen anew for each row", "The planner runs for each row of the outer tables.", finding.Tune},
	NullKeyScan:        {"a NULL makes IN scan", "IN has to tell unknown from false, and reads the whole subquery to do so.", finding.Tune},
	ManyPartitions:     {"many partitions are read", "Each one is a table with an index of its own to go into.", finding.Tune},
	BackwardScan:       {"a long stretch of an index is read backwards", "That is slower than forwards, by a tenth or more.", finding.Tune},
	DerivedWithoutKey:  {"a large derived table is searched without a key", "It is made for this statement alone, and then read row by row.", finding.Tune},
	DerivedNotMerged:   {"a large derived table is filled to throw most of it away", "The condition outside comes too late for the rows inside.", finding.Tune},
	OpensEveryTable:    {"every table of the server is opened", "Tools that ask information_schema hold locks that everybody needs.", finding.Remove},
	EstimateOff:        {"the planner's estimates are wrong", "A plan is as good as the numbers it was chosen by.", finding.Tune},
	WrongIndexForLimit: {"an index is read for its order though another finds the rows", "It is fast while matches are near, and reads everything on the day they are not.", finding.Tune},

	TemporaryAndSort:    {"a large temporary table is sorted", "All rows are collected and sorted before the first can be sent: a LIMIT saves nothing.", finding.Tune},
	LargeSort:           {"a large result is sorted", "All rows are read and sorted before the first can be sent: a LIMIT saves nothing.", finding.Tune},
	LargeTemporary:      {"a large temporary table is filled", "It takes memory in each connection, and goes to disk where that is not enough.", finding.Tune},
	SortSpills:          {"a sort goes to disk", "Rows are written to files and read again, once for each pass.", finding.Tune},
	DependentSubquery:   {"a subquery runs for each row", "It is cheap once and dear a thousand times.", finding.Tune},
	UncacheableSubquery: {"a subquery runs for each row though it depends on none", "Its result cannot be kept, since it may differ each time.", finding.Tune},
	DuplicateWeedout:    {"a semi-join gathers duplicates to remove them", "More rows are made than are wanted, and sorted out in a temporary table.", finding.Tune},
	UnionDistinct:       {"a large UNION looks for duplicates", "All rows go through a temporary table with a key.", finding.Remove},
	LargeWindow:         {"a window is computed over many rows", "All rows are sorted and kept before the first can be sent.", finding.Tune},
	ChangesScannedKey:   {"the key that finds the rows is changed", "The rows have to be collected before the first of them can be changed.", finding.Tune},

	FunctionOnColumn: {"a function hides a column from its index", "The index holds the column's values, not those of the function.", finding.Tune},
	LeadingWildcard:  {"a pattern begins with a wildcard", "An index is sorted by how values begin.", finding.Tune},
	LargeOffset:      {"LIMIT skips many rows", "Skipped rows are read like those that are sent.", finding.Tune},
	OrderByRand:      {"rows are sorted at random", "All are read, numbered and sorted for a few of them.", finding.Tune},
	LongList:         {"IN has a long list", "The planner guesses instead of counting, and may fall back to a scan.", finding.Tune},
	AllRowsWritten:   {"a write without a condition", "It locks every row, and its undo is as large as the table.", finding.Remove},
	SelectStar:       {"SELECT * fetches rows that an index could cover", "Columns that nobody reads cost a look into the table for each row.", finding.Remove},
	IndexHint:        {"a hint picks the index", "It stays when the data and the server have changed.", finding.Remove},
}

// Findings says what the plan means to the class whose statement was explained,
// for [finding.Examine]. Problems below the least severity are left out.
func (p *Plan) Findings(class digest.ID, least Severity) finding.Plan {
	problems, fine := p.examine()
	out := finding.Plan{Class: class}
	if p.Root == nil {
		out.Missing = "the server gave no plan"
		return out
	}
	code := func(c ProblemCode) string { return "plan/" + string(c) }
	looked := make(map[ProblemCode]bool)
	for _, c := range fine {
		looked[c.Code] = true
	}
	for _, problem := range problems {
		looked[problem.Code] = true
		if _, ok := kinds[problem.Code]; !ok || problem.Severity < least {
			continue
		}
		out.Problems = append(out.Problems, finding.PlanProblem{Code: code(problem.Code), Evidence: p.place(problem) + problem.Evidence, Try: problem.Try})
	}
	for _, c := range checks() {
		if k, ok := kinds[c.code]; ok && looked[c.code] {
			out.Looked = append(out.Looked, finding.PlanCheck{
				Code: code(c.code), Title: "Plan: " + k.title, Why: k.why, Fine: c.fine, Limit: "severity " + least.String(), Remedy: k.remedy,
			})
		}
	}
	return out
}

// place says where the problem is: which table, and how that is accessed.
func (p *Plan) place(problem Problem) string {
	if problem.Table == "" {
		return ""
	}
	for t := range p.Tables() {
		if t.Name == problem.Table && t.Access != "" && !strings.HasPrefix(problem.Evidence, "type ") {
			return fmt.Sprintf("table %s, type %s: ", t.Name, t.Access)
		}
	}
	return "table " + problem.Table + ": "
}
