package slowlog

import "strings"

// Names and messages may hold line breaks, which servers write into the log as
// they are, so that a line of a header goes on in the next one. What follows
// finds the end of such a line. Each looks no further than the longest name or
// message of a server; what does not fit is left as it was, and costs the
// record.

const (
	maxNames   = 2*128*4 + 256 // two user names of MariaDB, and the host
	maxSchema  = 64*4 + 256    // a schema name, and the values behind it
	maxMessage = 512 + 64      // MYSQL_ERRMSG_SIZE, and what stands before it
)

// brokenUser finds the end of the "# User@Host: name[name] @ ..." line at s[i:],
// of which s[end:next] is the first line end. Both names must be the same.
func brokenUser(s string, i, end, next int, final bool) (int, int, bool) {
	part := s[i:min(len(s), i+maxNames)]
	at := strings.Index(part, "] @ ")
	if at < 0 {
		return end, next, !final && len(part) < maxNames
	}
	names := strings.TrimPrefix(part[len("# User@Host:"):at], " ")
	n := len(names) / 2
	if len(names)%2 == 0 || names[n] != '[' || names[:n] != names[n+1:] {
		return end, next, false
	}
	e, after, ok := cutLine(s, i+at, final)
	return e, after, !ok
}

// brokenSchema finds the end of the line at s[i:] that names the schema, in which
// servers write more behind the name, and "# Query_time" in the next:
//
//	# Thread_id: 7  Schema: shop  QC_hit: No
//	# Schema: shop  Last_errno: 0  Killed: 0
func brokenSchema(s string, i, end, next int, final bool) (int, int, bool) {
	line := s[i:end]
	at := strings.Index(line, "Schema: ")
	if at < 0 || hasSchemaEnd(line[at:]) {
		return end, next, false
	}
	part := s[i:min(len(s), i+maxSchema)]
	if other := strings.Index(part, "\n# User@Host: "); other >= 0 {
		part = part[:other]
	} else if !final && len(part) < maxSchema {
		return end, next, true
	}
	for e, after := end, next; after-i < len(part); {
		at := after
		var ok bool
		if e, after, ok = cutLine(s, at, final); !ok {
			break
		}
		if hasSchemaEnd(s[at:e]) {
			if strings.HasPrefix(s[after:], queryPrefix) {
				return e, after, false
			}
			break
		}
	}
	return end, next, false
}

func hasSchemaEnd(line string) bool {
	return strings.Contains(line, "  Last_errno: ") || strings.Contains(line, "  QC_hit: ")
}

// brokenUse finds the end of the "use" line at s[i:]: the line that ends with a
// semicolon before the one in which the server sets the timestamp.
func brokenUse(s string, i, end, next int, final bool) (int, int, bool) {
	for e, after := end, next; after-i < maxSchema; {
		var ok bool
		at := after
		if e, after, ok = cutLine(s, at, final); !ok {
			return end, next, len(s)-i < maxSchema
		}
		if e == at || s[e-1] != ';' {
			if after == len(s) {
				return end, next, !final && len(s)-i < maxSchema
			}
			continue
		}
		lineEnd, _, ok := cutLine(s, after, final)
		if !ok {
			return end, next, len(s)-i < maxSchema
		}
		if _, stamped, _ := setValues(s[after:lineEnd]); stamped {
			return e, after, false
		}
	}
	return end, next, false
}

// isMessage recognises a header line with a message of the server, without its
// "# ".
func isMessage(line string) bool {
	return strings.HasPrefix(line, "Warning ") || strings.HasPrefix(line, "Note ") || strings.HasPrefix(line, "Error ")
}

// brokenMessage finds the end of the message at s[i:]. A message goes on while a
// quote that it opens is not closed, if a line behind it is one that servers
// write behind messages.
func brokenMessage(s string, i, end, next int, final bool) (int, int, bool) {
	quotes := strings.Count(s[i:end], "'")
	for e, after := end, next; quotes%2 == 1; {
		if after == len(s) && final || after-i > maxMessage {
			break
		}
		at := after
		var ok bool
		if e, after, ok = cutLine(s, at, final); !ok {
			return end, next, len(s)-i < maxMessage
		}
		if quotes += strings.Count(s[at:e], "'"); quotes%2 == 1 {
			continue
		}
		lineEnd, _, ok := cutLine(s, after, final)
		if !ok {
			return end, next, true
		}
		line := s[after:lineEnd]
		if _, stamped, _ := setValues(line); stamped || strings.HasPrefix(line, "use ") || strings.HasPrefix(line, "# ") && isMessage(line[2:]) {
			return e, after, false
		}
	}
	return end, next, false
}
