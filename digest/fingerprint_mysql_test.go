package digest

import (
	"regexp"
	"strings"
	"testing"

	"github.com/quern-dev/quern/internal/testservers"
)

// normalization makes texts equal that a class may hold for one reason.
type normalization struct {
	reason string
	of     func(string) string
}

func replacing(pattern, with string) func(string) string {
	re := regexp.MustCompile(pattern)
	return func(s string) string { return re.ReplaceAllString(s, with) }
}

// Why two statements of different digests are in one class here.
var mergedHere = []normalization{
	{"names differ in case", strings.ToLower},
	{"introducers belong to their literals", replacing(`\(_charset\) `, "")},
	{"strings side by side are one", replacing(`\? \?`, "?")},
	{"types belong to date literals", replacing(`\b(date|time|timestamp) \?`, "?")},
	{"lists are made longer by introducers", replacing(`\?( , \?|, \.\.\.)+`, "?")},
	{"a number at the end may have been cut", replacing("`[0-9]+e`$", "?")},
	{"USE is one class", replacing(`^use .*`, "use")},
	{"rows of VALUES are one, whatever they hold", replacing(`\bvalues? .*?( as | on duplicate |$)`, "values$1")},
}

// Why two statements of one digest are in different classes here.
var mergedByMySQL = []normalization{
	{"MySQL folds the names of variables", replacing(`@[a-z0-9_$]+`, "@?")},
	{"MySQL folds any list of literals", replacing(`\?(, \?)+`, "?")},
	{"synonyms", func(s string) string { return synonyms.Replace(s) }},
	{"MySQL digests no more than max_digest_length", func(s string) string { return s[:min(len(s), 800)] }},
}

var synonyms = strings.NewReplacer("schema", "database", "describe", "explain", "localtimestamp", "localtime",
	"stddev_samp", "stddev", "stddev_pop", "stddev", "std(", "stddev(", "session_user", "user", "system_user", "user", "columns", "fields", "sql_tsi_", "")

// TestClassesAreThoseOfMySQL compares the classes of the sample statements with
// those of STATEMENT_DIGEST() on a server. It parses what it digests, so only
// statements that it takes count.
func TestClassesAreThoseOfMySQL(t *testing.T) {
	statements := sampleStatements(t)
	srv := testservers.MySQL(t)
	db := srv.DB(t, srv.Schema(t))
	digest, err := db.Prepare("SELECT STATEMENT_DIGEST(?), STATEMENT_DIGEST_TEXT(?)")
	if err != nil {
		t.Fatal(err)
	}
	defer digest.Close()
	digested := 0
	here, there := make(map[string]map[string]bool), make(map[string]map[string]bool)
	add := func(classes map[string]map[string]bool, class, member string) {
		if classes[class] == nil {
			classes[class] = make(map[string]bool)
		}
		classes[class][member] = true
	}
	for _, sql := range statements {
		var id, text string
		if digest.QueryRow(sql, sql).Scan(&id, &text) != nil || text == "" {
			continue // no statement, or a comment to this server
		}
		digested++
		fingerprint := Fingerprint(sql)
		add(here, fingerprint, text)
		add(there, id, fingerprint)
	}
	t.Logf("%d of %d statements have a digest: %d classes here, %d of MySQL", digested, len(statements), len(here), len(there))
	explain(t, "classes here that hold several of MySQL's", here, mergedHere)
	explain(t, "classes of MySQL that hold several of those here", there, mergedByMySQL)
}

// explain reports the classes whose members remain different when all reasons
// are granted, and logs how often each reason mattered.
func explain(t *testing.T, what string, classes map[string]map[string]bool, reasons []normalization) {
	t.Helper()
	several := 0
	counts := make(map[string]int)
	for class, members := range classes {
		if len(members) < 2 {
			continue
		}
		several++
		var texts []string
		for m := range members {
			texts = append(texts, m)
		}
		for _, r := range reasons {
			if distinct(texts) == 1 {
				break
			}
			before := distinct(texts)
			for i := range texts {
				texts[i] = r.of(texts[i])
			}
			if distinct(texts) < before {
				counts[r.reason]++
			}
		}
		if distinct(texts) > 1 {
			t.Errorf("%s: no reason for %.300q:\n%.1000q", what, class, texts)
		}
	}
	t.Logf("%d %s", several, what)
	for reason, n := range counts {
		t.Logf("%6d: %s", n, reason)
	}
}

func distinct(texts []string) int {
	set := make(map[string]bool)
	for _, s := range texts {
		set[s] = true
	}
	return len(set)
}
