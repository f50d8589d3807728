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
	maxMessage = 512 + 128     // MYSQL_ERRMSG_SIZE, what stands before it and the line behind it
)

// sight returns the part of s, up to n bytes behind i, in which to look for such an
// end: however much more the window holds, for what is found must not hang on
// that. The part is the last if the input ends with it, and short if it will be
// longer in a window that has grown.
func sight(s string, i, n int, final bool) (seen string, last, short bool) {
	if len(s)-i >= n {
		return s[:i+n], false, false
	}
	return s, final, !final
}

// brokenUser finds the end of the "# User@Host: name[name] @ ..." line at s[i:],
// of which s[end:next] is the first line end. Both names must be the same.
func brokenUser(s string, i, end, next int, final bool) (int, int, bool) {
	seen, _, short := sight(s, i, maxNames, final)
	at := strings.Index(seen[i:], "] @ ")
	if at < 0 {
		return end, next, short
	}
	names := strings.TrimPrefix(seen[i+len("# User@Host:"):i+at], " ")
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
	seen, last, short := sight(s, i, maxSchema, final)
	if other := strings.Index(seen[i:], "\n# User@Host: "); other >= 0 {
		seen, last = seen[:i+other], false
	} else if short {
		return end, next, true
	}
	for e, after := end, next; after < len(seen); {
		at := after
		var ok bool
		if e, after, ok = cutLine(seen, at, last); !ok {
			break
		}
		if hasSchemaEnd(seen[at:e]) {
			if strings.HasPrefix(seen[after:], queryPrefix) {
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
	seen, last, short := sight(s, i, maxSchema, final)
	for e, after := end, next; after < len(seen); {
		at := after
		var ok bool
		if e, after, ok = cutLine(seen, at, last); !ok {
			break
		}
		if e == at || seen[e-1] != ';' {
			continue
		}
		lineEnd, _, ok := cutLine(seen, after, last)
		if !ok {
			break
		}
		if _, stamped, _ := setValues(seen[after:lineEnd]); stamped {
			return e, after, false
		}
	}
	return end, next, short
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
	seen, last, short := sight(s, i, maxMessage, final)
	quotes := strings.Count(s[i:end], "'")
	for e, after := end, next; quotes%2 == 1 && after < len(seen); {
		at := after
		var ok bool
		if e, after, ok = cutLine(seen, at, last); !ok {
			break
		}
		if quotes += strings.Count(seen[at:e], "'"); quotes%2 == 1 {
			continue
		}
		lineEnd, _, ok := cutLine(seen, after, last)
		switch {
		case !ok && short:
			return end, next, true
		case !ok:
			lineEnd = len(seen)
		}
		line := seen[after:lineEnd]
		if _, stamped, _ := setValues(line); stamped || strings.HasPrefix(line, "use ") || strings.HasPrefix(line, "# ") && isMessage(line[2:]) {
			return e, after, false
		}
	}
	return end, next, quotes%2 == 1 && short
}
