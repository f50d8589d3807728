package explain

import (
	"slices"
	"strings"
)

// extra reads the words of Extra into the node's flags. Words are matched whole:
// "Using index condition" is not "Using index".
func extra(n *Node, s string) (out extraFlags) {
	for _, word := range splitExtra(s) {
		name, arg := word, ""
		if i := strings.IndexByte(word, '('); i > 0 && strings.HasSuffix(word, ")") {
			name, arg = strings.TrimSpace(word[:i]), word[i+1:len(word)-1]
		}
		switch name {
		case "Using temporary":
			out.temporary = true
		case "Using filesort":
			out.filesort = true
		case "Using where":
			if n.Condition == "" {
				n.Extra = append(n.Extra, word) // the table does not print the condition
			}
		case "Using index":
			n.set(Covering)
		case "Using index condition":
			n.set(IndexCondition)
			if arg == "BKA" {
				n.set(BatchedKeyAccess)
			}
		case "Using index for group-by":
			n.set(Covering)
			n.set(LooseScan)
			if arg == "scanning" {
				n.set(Scanning)
			}
		case "Using index for skip scan":
			n.set(Covering)
			n.set(SkipScan)
		case "Backward index scan":
			n.set(Backward)
		case "Using MRR", "Rowid-ordered scan", "Key-ordered scan", "Key-ordered Rowid-ordered scan":
			n.set(MultiRangeRead)
		case "Using join buffer":
			n.set(joinBuffer(arg))
			n.Extra = append(n.Extra, word)
		case "Using union":
			n.set(Union)
			n.Extra = append(n.Extra, word)
		case "Using sort_union":
			n.set(SortUnion)
			n.Extra = append(n.Extra, word)
		case "Using intersect":
			n.set(Intersect)
			n.Extra = append(n.Extra, word)
		case "Range checked for each record":
			n.set(RangeChecked)
		case "Using rowid filter":
			n.set(RowIDFilter)
		case "Using buffer":
			n.set(Buffered)
		case "Distinct":
			n.set(Distinct)
			out.distinct = true
		case "Not exists":
			n.set(NotExists)
			n.JoinType = "anti"
		case "FirstMatch":
			n.set(FirstMatch)
			n.JoinType = "semi"
			n.Extra = append(n.Extra, word)
		case "LooseScan":
			n.set(LooseScan)
			n.JoinType = "semi"
		case "Start temporary":
			out.startWeedout = true
			n.set(Weedout)
		case "End temporary":
			out.endWeedout = true
			n.set(Weedout)
		case "Full scan on NULL key":
			n.set(FullScanOnNull)
		case "Deleting all rows":
			n.set(DeleteAll)
			if n.Access == "" {
				out.none = word
			}
		case "Recursive":
			n.set(Recursive)
		case "Scanned all databases":
			if slices.Contains(n.Extra, "Open_full_table") {
				n.set(OpensTables)
			}
			n.Extra = append(n.Extra, word)
		case "unique row not found", "const row not found", "Const row not found", "no matching row in const table",
			"Impossible WHERE", "Impossible WHERE noticed after reading const tables", "Impossible HAVING",
			"Impossible HAVING noticed after reading const tables", "Impossible ON condition", "No tables used",
			"No matching min/max row", "No matching rows after partition pruning", "Select tables optimized away",
			"Zero limit", "LIMIT is zero", "Plan isn't ready yet", "Storage engine handles GROUP BY":
			out.none = word
			n.Extra = append(n.Extra, word)
		default:
			n.Extra = append(n.Extra, word)
		}
	}
	return out
}

// joinBuffer tells the join algorithm from the words in "Using join buffer (…)".
func joinBuffer(s string) Flag {
	switch {
	case strings.Contains(s, "hash join"), strings.Contains(s, "BNLH"), strings.Contains(s, "BKAH"):
		return Hash
	case strings.Contains(s, "Batched Key Access"), strings.Contains(s, "BKA"):
		return BatchedKeyAccess
	}
	return BlockNestedLoop
}

// splitExtra cuts at semicolons outside parentheses.
func splitExtra(s string) []string {
	var out []string
	depth, start := 0, 0
	for i := 0; i <= len(s); i++ {
		if i < len(s) {
			switch s[i] {
			case '(':
				depth++
			case ')':
				depth = max(depth-1, 0)
			}
			if s[i] != ';' || depth > 0 {
				continue
			}
		}
		if w := strings.TrimSpace(s[start:i]); w != "" {
			out = append(out, w)
		}
		start = i + 1
	}
	return out
}
