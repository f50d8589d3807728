package indexadvisor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shape writes the keys and kinds of a JSON value, keys in their order.
func shape(t *testing.T, dec *json.Decoder) string {
	t.Helper()
	tok, err := dec.Token()
	if err != nil {
		t.Fatal(err)
	}
	switch tok := tok.(type) {
	case json.Delim:
		var parts []string
		for dec.More() {
			if tok == '{' {
				key, err := dec.Token()
				if err != nil {
					t.Fatal(err)
				}
				parts = append(parts, fmt.Sprintf("%s:%s", key, shape(t, dec)))
			} else if s := shape(t, dec); len(parts) == 0 {
				parts = append(parts, s)
			}
		}
		end, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		return tok.String() + strings.Join(parts, " ") + fmt.Sprint(end)
	case string:
		return "text"
	case float64:
		return "number"
	case bool:
		return "bool"
	}
	return fmt.Sprint(tok)
}

// Programs read the advice: no key goes, none changes its kind, and a list
// without elements is a list.
func TestAdviceAsJSON(t *testing.T) {
	m := wide(t, "KEY ka (a), KEY kdup (a)")
	a := m.adviseAll(Options{}, Query{SQL: "SELECT * FROM t WHERE a=5 AND b=7 AND length=4", PerDay: 100}, Query{SQL: "UPDATE t SET a=3 WHERE id=4", PerDay: 1})
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	suggestion := "schema:text table:text name:text columns:[{name:text length:number desc:bool expr:text}] ddl:text undo:text trial:text kind:text reason:text " +
		"rows_before:number rows_after:number bytes:number gain:number confidence:text serves:[{query:text rows_before:number rows_after:number}] pays:[text] redundant:[text] " +
		"rounds:[{where:[] rows:number counts:[{predicate:text rows:number low:number high:number chosen:bool}] why:text}]"
	want := "{quern:number suggestions:[{" + suggestion + "}] notes:[text] spent:{statements:number rows:number waited:number} incomplete:bool}"
	if d := cmp.Diff(want, shape(t, json.NewDecoder(bytes.NewReader(text)))); d != "" {
		t.Errorf("%s\n%s", d, text)
	}
	nothing, err := json.Marshal(&Advice{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(`{"quern":1,"suggestions":[],"notes":[],"spent":{"statements":0,"rows":0,"waited":0},"incomplete":false}`, string(nothing)); d != "" {
		t.Error(d)
	}
	empty, err := json.Marshal(&Advice{Suggestions: []Suggestion{{Kind: Drop}}})
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(empty, []byte("null")) {
		t.Errorf("a list without elements is null: %s", empty)
	}
}

// No two suggestions drop the same index: one that a wider index replaces is
// not called superfluous as well.
func TestReplacedIndexIsNotDroppedTwice(t *testing.T) {
	m := wide(t, "KEY ka (a), KEY kdup (a)")
	m.Tables[0].Indexes[2].Reads = 7 // the used one of two equal ones stays
	a := m.adviseAll(Options{}, Query{SQL: "SELECT * FROM t WHERE a=5 AND length=4", PerDay: 100})
	drops := map[string]int{}
	for _, s := range a.Suggestions {
		for _, word := range strings.Split(s.DDL, "DROP INDEX ")[1:] {
			name, _, _ := strings.Cut(word, ",")
			drops[name]++
		}
	}
	for name, n := range drops {
		if n > 1 || name != "`ka`" && name != "`kdup`" {
			t.Errorf("%s is dropped %d times: %s", name, n, short(a))
		}
	}
	if len(drops) == 0 {
		t.Errorf("nothing is dropped: %s", short(a))
	}
}

// The text shows the rounds, says what each column is there for, and how to
// do, try and undo it.
func TestAdviceAsText(t *testing.T) {
	m := shop(t)
	a := m.adviseAll(Options{},
		Query{ID: "latest", SQL: "SELECT * FROM orders WHERE cust=7 ORDER BY at DESC LIMIT 10", PerDay: 1000},
		Query{ID: "open", SQL: "SELECT * FROM orders WHERE cust=7 AND amount > 900", PerDay: 1e6},
		Query{ID: "insert", SQL: "INSERT INTO orders VALUES (1, 2, 'a', '2024-01-01', 'b', 3, 'c')", PerDay: 10})
	var b strings.Builder
	if err := a.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	// Lines are wrapped anywhere.
	text := strings.Join(strings.Fields(b.String()), " ")
	for _, part := range []string{
		"Round 1: of all 20000 rows * 10 SUM(cust = 7)",
		"cust is fixed by cust = 7 (leaves 10 of 20000 rows).",
		"Rows read:", "Size: about", "Confidence: high: all 20000 rows were counted", "Serves: open (20000 rows before,", "Alone:", "Maintained by: insert",
		"Try first: ALTER TABLE `s`.`orders` ADD INDEX", " INVISIBLE, ALGORITHM=INPLACE, LOCK=NONE;", "use_invisible_indexes=on", " VISIBLE for all",
		"Do: ALTER TABLE", "Undo: ALTER TABLE `s`.`orders` DROP INDEX", "Notes", "insert: ", "Counting took 2 statements over 40000 rows.",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the text lacks %q", part)
		}
	}
	if t.Failed() {
		t.Log(b.String())
	}
}

// A column that only another query needs is explained by that query.
func TestReasonNamesTheQueryThatAColumnServes(t *testing.T) {
	m := wide(t, "")
	a := m.adviseAll(Options{MaxTotal: 1},
		Query{ID: "by b", SQL: "SELECT * FROM t WHERE a=5 ORDER BY d DESC LIMIT 3", PerDay: 1000},
		Query{ID: "by v", SQL: "SELECT * FROM t WHERE a=5 AND length=4 AND b>3", PerDay: 1000})
	if len(a.Suggestions) != 1 {
		t.Fatalf("got %s", short(a))
	}
	s := a.Suggestions[0]
	for _, p := range s.Columns {
		if strings.Contains(s.Reason, p.Name+" is read,") {
			t.Errorf("%s: %s", short(a), s.Reason)
		}
	}
	roles := (&access{table: m.Tables[0], preds: []*Predicate{
		{Text: "two > 0", Class: Range, Keys: []Part{{Name: "two"}}}, {Text: "b = 7", Class: Equality, Keys: []Part{{Name: "b"}}},
	}, counts: &Counts{Rows: 100, Clusters: []Cluster{{{3, 100}}}}, bits: []int{0, 1}}).roles(&block{}, []Part{{Name: "two"}, {Name: "b"}, {Name: "a"}})
	var got []string
	for _, r := range roles {
		text, _, _ := strings.Cut(r.text, " (")
		got = append(got, text)
	}
	if d := cmp.Diff([]string{"is the range two > 0", "is checked on the index entry, before the row is fetched: b = 7", ""}, got); d != "" {
		t.Error(d)
	}
}
