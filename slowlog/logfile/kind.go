package logfile

import (
	"bytes"
	"fmt"
	"regexp"
)

// A Kind is a sort of file that people hand to a reader of slow logs.
type Kind uint8

const (
	Text          Kind = iota // text that does not tell what it is
	SlowLog                   // a slow log of any dialect
	Empty                     // no bytes
	GeneralLog                // MySQL's or MariaDB's general query log
	TableTSV                  // mysql.slow_log as "mysql -B" prints it
	TableCSV                  // mysql.slow_log as the CSV engine stores it
	TableVertical             // mysql.slow_log as \G prints it
	BinaryLog                 // binary or relay log
	ErrorLog                  // a server's error log
	HTML                      // a web page
	Report                    // the output of pt-query-digest
	JSON                      // JSON of any sort
	Archive                   // zip, xz, bzip2, lz4 or tar
	Binary                    // other bytes that are no text
)

func (k Kind) String() string {
	return [...]string{
		"text", "slow log", "empty file", "general query log", "mysql.slow_log as tab-separated values",
		"mysql.slow_log as CSV", "mysql.slow_log as vertical rows", "binary log", "error log", "HTML page",
		"pt-query-digest report", "JSON", "archive", "binary file",
	}[k]
}

func (k Kind) readable() bool { return k < BinaryLog }

// A FormatError says that a file is plainly no slow log.
type FormatError struct {
	Name string // path
	Kind Kind   // what it is
}

func (e *FormatError) Error() string {
	hint := ""
	switch e.Kind {
	case BinaryLog:
		hint = "; it holds changes, not the time that statements took"
	case Report:
		hint = "; give the log that the report was made of"
	case Archive:
		hint = "; unpack it first (gzip and zstd are read as they are)"
	case ErrorLog:
		hint = "; the slow log is the file that @@slow_query_log_file names"
	}
	return fmt.Sprintf("%s: expected a slow log, found: %s%s", e.Name, e.Kind, hint)
}

// sniffLen is how many bytes tell the kind of a file.
const sniffLen = 64 << 10

var (
	slowHeader   = regexp.MustCompile(`(?m)^(.{0,80} )?# (Query_time:|Time: [0-9]|User@Host: )`)
	generalEntry = regexp.MustCompile(`(?m)^(\d{4}-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)|\d{6} +\d?\d:\d\d:\d\d)?\t *\d+ (Connect|Query|Quit|Init DB|Prepare|Execute|Close stmt|Statistics|Ping|Field List|Change user)\b`)
	errorEntry   = regexp.MustCompile(`(?m)^(\d{4}-\d\d-\d\d|\d{6})[T ] ?[0-9:.]+(Z|[+-]\d\d:\d\d)? +((0x)?[0-9a-f]+ )?\[(Note|Warning|ERROR|System|Error)\]`)
	tableHeader  = regexp.MustCompile(`^start_time\tuser_host\tquery_time\t`)
	csvRow       = regexp.MustCompile(`^"?start_time"?,"?user_host"?,|^"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?","[^\n]*\[[^\n]*\] @ `)
	verticalRow  = regexp.MustCompile(`(?m)^\*{3,} \d+\. row \*{3,}\r?\n\s*start_time: `)
	reportHead   = regexp.MustCompile(`(?m)^# (Overall: .* total, .* unique|Profile\r?$|Query \d+: .* QPS|\d.* user time, .* system time)`)
)

// Sniff tells from the first bytes of a decompressed file what it is; 64 KiB
// are enough.
func Sniff(head []byte) Kind {
	trimmed := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	hasSlow := slowHeader.Match(head)
	switch {
	case len(head) == 0:
		return Empty
	case bytes.HasPrefix(head, []byte("\xfebin")):
		return BinaryLog
	case hasPrefix(head, "PK\x03\x04", "\xfd7zXZ\x00", "BZh", "\x04\x22\x4d\x18") || len(head) > 262 && string(head[257:262]) == "ustar":
		return Archive
	case tableHeader.Match(head):
		return TableTSV
	case csvRow.Match(head):
		return TableCSV
	case verticalRow.Match(head):
		return TableVertical
	case reportHead.Match(head):
		return Report
	case generalEntry.Match(head):
		// A general log may hold statements that look like a slow log, and the
		// other way round: the first entry decides.
		if !hasSlow || generalEntry.FindIndex(head)[0] < slowHeader.FindIndex(head)[0] {
			return GeneralLog
		}
		return SlowLog
	case hasSlow:
		return SlowLog
	case hasPrefix(bytes.ToLower(trimmed[:min(len(trimmed), 15)]), "<!doctype html", "<html"):
		return HTML
	case errorEntry.Match(head):
		return ErrorLog
	case hasPrefix(trimmed, "{", "["):
		return JSON
	case bytes.Count(head, []byte{0})*100 > len(head):
		return Binary
	}
	return Text
}

func hasPrefix(b []byte, prefixes ...string) bool {
	for _, p := range prefixes {
		if bytes.HasPrefix(b, []byte(p)) {
			return true
		}
	}
	return false
}
