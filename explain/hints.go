package explain

import "strings"

// plannerVariables are the variables that SET_VAR may change in an explained
// statement: those that change the plan. Any other could lift a limit.
var plannerVariables = map[string]bool{
	"cte_max_recursion_depth":         true,
	"eq_range_index_dive_limit":       true,
	"join_buffer_size":                true,
	"max_join_size":                   true,
	"max_length_for_sort_data":        true,
	"max_seeks_for_key":               true,
	"max_sort_length":                 true,
	"optimizer_prune_level":           true,
	"optimizer_search_depth":          true,
	"optimizer_switch":                true,
	"range_alloc_block_size":          true,
	"range_optimizer_max_mem_size":    true,
	"read_buffer_size":                true,
	"read_rnd_buffer_size":            true,
	"secondary_engine_cost_threshold": true,
	"sort_buffer_size":                true,
	"tmp_table_size":                  true,
}

// readOnlyHint takes from an optimizer hint what overrides the limits of the
// session: MAX_EXECUTION_TIME, RESOURCE_GROUP, SET_VAR of anything but the
// planner's variables. It returns the hint that is left, "" for none, and what
// was taken away. A hint that it cannot read is taken away whole if it holds one
// of these words.
func readOnlyHint(hint string) (kept string, gone []string) {
	body, ok := strings.CutSuffix(strings.TrimPrefix(hint, "/*+"), "*/")
	var keep []string
	for ok {
		body = strings.TrimLeft(body, " \t\r\n,")
		if body == "" {
			break
		}
		end := strings.IndexFunc(body, func(r rune) bool {
			return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		})
		if end < 0 {
			end = len(body)
		}
		if end == 0 {
			ok = false
			break
		}
		name, rest := strings.ToUpper(body[:end]), strings.TrimLeft(body[end:], " \t\r\n")
		args := ""
		if strings.HasPrefix(rest, "(") {
			n := closing(rest)
			if n < 0 {
				ok = false
				break
			}
			args, rest = rest[:n+1], rest[n+1:]
		}
		variable, _, _ := strings.Cut(strings.Trim(args, "() \t\r\n"), "=")
		variable = strings.ToLower(strings.TrimSpace(variable))
		switch {
		case name == "MAX_EXECUTION_TIME", name == "RESOURCE_GROUP":
			gone = append(gone, name)
		case name == "SET_VAR" && !plannerVariables[variable]:
			gone = append(gone, "SET_VAR")
		default:
			keep = append(keep, body[:end]+args)
		}
		body = rest
	}
	if !ok {
		upper := strings.ToUpper(hint)
		for _, w := range []string{"MAX_EXECUTION_TIME", "RESOURCE_GROUP", "SET_VAR"} {
			if strings.Contains(upper, w) {
				return "", []string{w}
			}
		}
		return hint, nil
	}
	if len(gone) == 0 {
		return hint, nil
	}
	if len(keep) == 0 {
		return "", gone
	}
	return "/*+ " + strings.Join(keep, " ") + " */", gone
}

// closing returns the place of the bracket that closes the one at s[0], -1 if
// there is none. Brackets in quotes do not count.
func closing(s string) int {
	depth := 0
	var quote byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '`' || c == '\'' || c == '"':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
