package digest

import (
	"bytes"
	"github.com/quern-dev/quern/slowlog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quern-dev/quern/internal/lexer"
)

// perconaFacts are statements and what pt-query-digest 3.2.1 writes for them.
var perconaFacts = []struct{ name, sql, want string }{
	{"mysqldump", "SELECT /*!40001 SQL_NO_CACHE */ * FROM `film`", "mysqldump"},
	{"pt-table-checksum", "REPLACE /*db1.t1:3/9*/ INTO checksum.checksum VALUES (1)", "percona-toolkit"},
	{"pt-table-checksum, chunk of two digits", "REPLACE /*db1.t1:13/19*/ INTO checksum.checksum VALUES (1)", "replace into checksum.checksum values(?+)"},
	{"administrator command", "administrator command: Init DB", "administrator command: Init DB"},
	{"CALL", "CALL Db.Proc_7(1, 'x')", "call db.proc_7"},
	{"CALL without arguments", "CALL foo", "call foo"},
	{"rows", "INSERT IGNORE INTO t VALUES (1,'a'),(2,'b')", "insert ignore into t values(?+)"},
	{"rows of functions", "INSERT INTO t (c) VALUES (NOW()), (NOW())", "insert into t (c) values (now())"},
	{"USE", "use Shop_9", "use ?"},
	{"comments", "SELECT 1 /* c */ FROM t -- tail", "select ? from t "},
	{"true and null", "SELECT a FROM t WHERE b IS TRUE AND c = NULL", "select a from t where b is ? and c = ?"},
	{"numbers", "SELECT -1, +1, 1.5e-3, 0xdead, x'41', b'01', .5 FROM t", "select ?, ?, ?, ?, ?, ?, ? from t"},
	{"operators", "SELECT a-1, a - 1, b+2 FROM t", "select a?, a ? ?, ? from t"},
	{"digits in names", "SELECT t1.c2 FROM db3.t1 AS t1 WHERE t1.c2=4", "select t? from d?t? as t? where t?=?"},
	{"digits in quoted names", "SELECT id FROM `order-items-2024` WHERE `col-1`=4", "select id from `order?items?` where `col?`=?"},
	{"lists", "SELECT * FROM t WHERE a IN (1,2,3) AND b not in ('x')", "select * from t where a in(?+) and b not in(?+)"},
	{"rows in a list", "SELECT * FROM t WHERE (a,b) IN ((1,2),(3,4))", "select * from t where (a,b) in ((?,?),(?,?))"},
	{"union", "SELECT a FROM t WHERE i=1 UNION SELECT a FROM t WHERE i=2", "select a from t where i=? /*repeat union*/"},
	{"union of three", "SELECT 1 UNION ALL SELECT 2 UNION SELECT 3", "select ? /*repeat union*/"},
	{"union of others", "SELECT 1 FROM a UNION SELECT 2 FROM b UNION SELECT 3 FROM b", "select ? from a union select ? from b /*repeat union*/"},
	{"limit", "SELECT a FROM t LIMIT 5,10", "select a from t limit ?"},
	{"limit and offset", "SELECT a FROM t LIMIT 5 OFFSET 10", "select a from t limit ?"},
	{"ascending", "SELECT a FROM t ORDER BY a ASC, b DESC LIMIT 5", "select a from t order by a, b desc limit ?"},
	{"spacing", "SELECT  a  FROM\tt\n WHERE a=1 ", "select a from t where a=? "},
	{"JSON arrow", "SELECT a FROM t WHERE j->'$.k' = 'v'", "select a from t where j?>? = ?"},
	{"introducers", "SELECT _utf8'abc', N'abc' FROM t", "select _utf??, n? from t"},
	{"hints", "SELECT /*+ MAX_EXECUTION_TIME(1000) */ a FROM t", "select a from t"},
	{"executable comment", "SELECT a /*!50100 , b */ FROM t", "select a /*!? , b */ from t"},
	{"update of duplicates", "insert into foo(a, b, c) values(2, 4, 5) on duplicate key update a=values(a)+1", "insert into foo(a, b, c) values(?+) on duplicate key update a=values(a)?"},
}

func TestPerconaFingerprints(t *testing.T) {
	f := Fingerprinter{Options: FingerprintOptions{Style: StylePercona}}
	for _, tt := range perconaFacts {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(f.Append(nil, tt.sql)); got != tt.want {
				t.Errorf("%q\n got %q\nwant %q", tt.sql, got, tt.want)
			}
		})
	}
}

func TestPerconaFingerprintsReadStringsAsTheServerDoes(t *testing.T) {
	tests := []struct{ name, sql, want string }{
		{"doubled quote", "SELECT a FROM t WHERE u = 'O''Brien' AND y = 5", "select a from t where u = ? and y = ?"},
		{"the other quote", `SELECT a FROM t WHERE u = 'say "hi' AND v = 'b"c'`, "select a from t where u = ? and v = ?"},
		{"backslash before the closing quote", `SELECT a FROM t WHERE u = 'x\\' AND v = 'y'`, "select a from t where u = ? and v = ?"},
		{"string that does not end", "SELECT a FROM t WHERE u = 'secret", "select a from t where u = ?"},
		{"comment that does not end", "SELECT a FROM t /* secret", "select a from t "},
		{"comment in a string", "SELECT a FROM t WHERE u = '/* x' AND v = 'y */'", "select a from t where u = ? and v = ?"},
		{"quote in a comment", "SELECT a FROM t # it's", "select a from t "},
		{"hexadecimal number in capital letters", "SELECT 0xDEAD FROM t", "select ? from t"},
		{"two minus signs", "SELECT a FROM t WHERE id=1--2", "select a from t where id=?"},
		{"what only begins like an administrator command", "administrator command: SELECT 'secret'", "administrator command: select ?"},
		{"end of a row in a string", "INSERT INTO t VALUES (1,'a),('),(2,'b')", "insert into t values(?+)"},
	}
	f := Fingerprinter{Options: FingerprintOptions{Style: StylePercona}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(f.Append(nil, tt.sql)); got != tt.want {
				t.Errorf("%q\n got %q\nwant %q", tt.sql, got, tt.want)
			}
		})
	}
}

func TestPerconaFingerprintsMayKeepNumbersInNames(t *testing.T) {
	f := Fingerprinter{Options: FingerprintOptions{Style: StylePerconaKeepNumbers}}
	const sql, want = "SELECT t1.c2-1 FROM db3.t1 WHERE c2=-4", "select t1.c2? from db3.t1 where c2=?"
	if got := string(f.Append(nil, sql)); got != want {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}

func TestPerconaID(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT 1":        "1FE1379FE2A31B8D16219655761820A2",
		"SELECT 1 FROM t": "7A630065187CE7E5BCC8CFCF98576B16",
	} {
		if got := PerconaID(sql); got != want {
			t.Errorf("PerconaID(%q) = %s, want %s", sql, got, want)
		}
	}
	if got := PerconaID("select sleep(2) from n"); !strings.HasSuffix(got, "7F7D57ACDD8A346E") {
		t.Errorf("the last 16 digits of %s are not PMM's", got)
	}
}

// perl fingerprints statements by the code of pt-query-digest.
const perl = `
	my ($tool, $keep) = @ARGV;
	require $tool;
	my $rewriter = QueryRewriter->new(match_embedded_numbers => $keep);
	local $/ = "\0";
	while ( my $sql = <STDIN> ) {
		chop $sql;
		print $rewriter->fingerprint($sql), "\0";
	}
`

// ptFingerprints returns the fingerprints that the pt-query-digest on PATH
// gives to the statements.
func ptFingerprints(t *testing.T, statements []string, keepNumbers string) []string {
	t.Helper()
	tool, err := exec.LookPath("pt-query-digest")
	if err != nil {
		t.Skip("pt-query-digest is not on PATH")
	}
	cmd := exec.Command("perl", "-e", perl, tool, keepNumbers)
	cmd.Stdin = strings.NewReader(strings.Join(statements, "\x00") + "\x00")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.Bytes())
	}
	got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if len(got) != len(statements) {
		t.Fatalf("%d fingerprints of %d statements", len(got), len(statements))
	}
	return got
}

// misread tells why pt-query-digest may not read sql as a server does, "" if
// it does.
func misread(sql string) string {
	var l lexer.Lexer
	l.Init(sql, 0)
	for {
		t := l.Next()
		s := sql[t.Start:t.End]
		switch {
		case t.Kind == lexer.EOF:
			return ""
		case t.Unterminated():
			return "something does not end"
		case t.Kind == lexer.String || t.Kind == lexer.Bits:
			i := strings.IndexAny(s, `'"`)
			if i < 0 {
				if strings.ToLower(s) != s {
					return "a number has capital letters"
				}
				break
			}
			inner := s[i+1 : len(s)-1]
			switch {
			case strings.ContainsAny(inner, `'"\`):
				return "a string holds a quote or a backslash"
			case strings.Contains(inner, "/*"), strings.Contains(inner, "--"), strings.Contains(inner, "#"):
				return "a string holds the mark of a comment"
			case strings.Contains(inner, "("):
				return "a string holds a parenthesis"
			}
		case t.Kind == lexer.Number && strings.Contains(s, "E"):
			return "a number has capital letters"
		case t.Kind == lexer.QuotedIdent && strings.ContainsAny(s, `'"#`):
			return "a quoted name holds a quote"
		case t.Kind == lexer.Comment:
			if strings.ContainsAny(s, `'"`) || strings.HasPrefix(s, "/**") || strings.Count(s, "--") > 1 ||
				strings.HasPrefix(s, "/*") && (strings.Contains(s, "--") || strings.Contains(s, "#")) {
				return "a comment holds a quote or a mark"
			}
		case s == "-" && strings.HasPrefix(sql[t.End:], "-"):
			return "two minus signs"
		}
	}
}

func TestPerconaFingerprintsAreThoseOfTheTool(t *testing.T) {
	statements := sampleStatements(t)
	for _, fact := range perconaFacts {
		statements = append(statements, fact.sql)
	}
	for _, tt := range []struct {
		keep  string
		style Style
	}{{"0", StylePercona}, {"1", StylePerconaKeepNumbers}} {
		want := ptFingerprints(t, statements, tt.keep)
		f := Fingerprinter{Options: FingerprintOptions{Style: tt.style}}
		reasons := make(map[string]int)
		equal := 0
		for i, sql := range statements {
			got := string(f.Append(nil, sql))
			if got == want[i] {
				equal++
				continue
			}
			reason := misread(sql)
			if reason == "" {
				t.Errorf("%.2000q\n got %.2000q\n want %.2000q", sql, got, want[i])
			}
			reasons[reason]++
		}
		t.Logf("style %d: %d of %d statements have the tool's fingerprint; the others: %v", tt.style, equal, len(statements), reasons)
	}
}

func FuzzPerconaFingerprint(f *testing.F) {
	for _, fact := range perconaFacts {
		f.Add(fact.sql, false)
	}
	f.Fuzz(func(t *testing.T, sql string, keep bool) {
		f := Fingerprinter{Options: FingerprintOptions{Style: StylePercona}}
		if keep {
			f.Options.Style = StylePerconaKeepNumbers
		}
		f.Append(nil, sql)
	})
}

// TestPerconaIDsOfSampleLogs reads the logs of Percona's own tests, where they
// are at hand, with the IDs that pt-query-digest 3.2.1 reported for each.
func TestPerconaIDsOfSampleLogs(t *testing.T) {
	dir := filepath.Join(samplesDir, "pt-slowlogs")
	table, err := os.ReadFile(filepath.Join(dir, "pt-query-digest-3.2.1.tsv"))
	if err != nil {
		t.Skipf("the logs are not at hand: %v", err)
	}
	var f Fingerprinter
	f.Options.Style = StylePercona
	// pt-query-digest takes the USE of a record for one of its headers and
	// then sees no statement.
	const emptyID = "D41D8CD98F00B204E9800998ECF8427E"
	found := 0
	for line := range strings.Lines(string(table)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) < 5 || fields[0] == "file" {
			continue
		}
		log, err := os.Open(filepath.Join(dir, fields[0]))
		if err != nil {
			t.Fatal(err)
		}
		ids := make(map[string]bool)
		for ev, err := range slowlog.NewReader(log).All() {
			if err != nil {
				t.Fatal(err)
			}
			sql := ev.Query
			if ev.Command != "" {
				sql = "administrator command: " + ev.Command
			}
			ids[f.PerconaID(sql)] = true
		}
		log.Close()
		for id := range strings.SplitSeq(fields[4], ",") {
			if id == emptyID {
				continue
			}
			if !ids[id] {
				t.Errorf("%s: no statement has the ID %s", fields[0], id)
				continue
			}
			found++
		}
	}
	t.Logf("%d IDs found", found)
}
