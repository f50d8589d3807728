package explain

import (
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const samples = "../../shared/samples/servers/explain"

func TestEverySampleParses(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(samples, "*", "*.txt"))
	if len(files) == 0 {
		t.Skip("the sample plans are not there")
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Parse(string(text))
		if strings.HasSuffix(f, "60-insert-returning.analyze-json.txt") {
			if err == nil {
				t.Errorf("%s: an error message is read as a plan", f)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		for n := range p.Root.All() {
			if n.Op == OpOther && !strings.Contains(f, "27-update-range") {
				t.Errorf("%s: no name for %q", f, n.Detail)
			}
		}
		if p.Unsure != "" && !strings.Contains(f, "27-update-range") {
			t.Errorf("%s: unsure: %s", f, p.Unsure)
		}
	}
}

// accesses lists how the plan reads the tables of the schema, as "alias access
// key", in the order of execution. Constant tables are left out: TREE and JSON
// version 2 do not show them.
func accesses(p *Plan) []string {
	var out []string
	for n := range p.Tables() {
		if n.Internal() || n.Access == AccessConst || n.Access == AccessSystem {
			continue
		}
		out = append(out, n.Name+" "+string(n.Access)+" "+n.Key())
	}
	return out
}

func TestFormatsOfOneQueryAgree(t *testing.T) {
	queries, _ := filepath.Glob(filepath.Join(samples, "mysql-9.7", "*.traditional.txt"))
	if len(queries) == 0 {
		t.Skip("the sample plans are not there")
	}
	for _, q := range queries {
		base := strings.TrimSuffix(q, ".traditional.txt")
		read := func(format string) *Plan {
			text, err := os.ReadFile(base + "." + format + ".txt")
			if err != nil {
				return nil
			}
			p, err := Parse(string(text))
			if err != nil {
				t.Errorf("%s.%s: %v", base, format, err)
				return nil
			}
			return p
		}
		want := read("traditional")
		for _, format := range []string{"tab", "json-v1", "json-v2", "tree"} {
			p := read(format)
			if p == nil || strings.HasPrefix(p.Unsure, "the server shows no tree") {
				continue
			}
			if diff := cmp.Diff(accesses(want), accesses(p)); diff != "" {
				t.Errorf("%s: %s (-traditional +%s):\n%s", filepath.Base(base), format, format, diff)
			}
		}
	}
}

var update = flag.Bool("update", false, "write the golden files anew")

func TestPlansAreDrawnAsTrees(t *testing.T) {
	files, err := filepath.Glob("testdata/plans/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no plans", err)
	}
	var b strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Parse(string(text))
		if err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		fmt.Fprintf(&b, "# %s: %s, %s\n%s\n", filepath.Base(f), p.Format, p.Fingerprint(), p)
	}
	const golden = "testdata/plans.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheFingerprintIsThatOfThePlansShape(t *testing.T) {
	read := func(change ...string) string {
		text, err := os.ReadFile("testdata/plans/mysql-05-join-three.json-v1.txt")
		if err != nil {
			t.Fatal(err)
		}
		p, err := Parse(strings.NewReplacer(change...).Replace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		return p.Fingerprint()
	}
	same := read()
	if got := read("3709", "9", "500", "77", "1518.69", "12.5", "'shipped'", "'paid'", "50.00", "3.00"); got != same {
		t.Error("other estimates and values give another fingerprint")
	}
	if got := read(`"key": "customer"`, `"key": "status_ordered"`); got == same {
		t.Error("another key gives the same fingerprint")
	}
	if got := read(`"access_type": "ref"`, `"access_type": "ALL"`); got == same {
		t.Error("another access gives the same fingerprint")
	}
}

func TestUnknownWordsAreKept(t *testing.T) {
	p, err := Parse("id\tselect_type\ttable\ttype\tpossible_keys\tkey\tkey_len\tref\trows\tExtra\tnew column\n" +
		"1\tSIMPLE\tt\tquantum\tNULL\tNULL\tNULL\tNULL\t7\tUsing where; Using magic (a; b); Using index condition\tx")
	if err != nil {
		t.Fatal(err)
	}
	n := p.Root.Children[0]
	if n.Access != "quantum" || n.Rows.Value != 7 || n.Has(Covering) || !n.Has(IndexCondition) {
		t.Errorf("%+v", n)
	}
	if diff := cmp.Diff([]string{"Using where", "Using magic (a; b)"}, n.Extra); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatIsNoPlanIsAnError(t *testing.T) {
	for _, text := range []string{
		"", "   ", "hello", "{}", `{"query_block": {`, `{"query_block": {}} and more`, "+----+\n", "->", "-> ",
		"ERROR 1064 (42000) at line 1: You have an error in your SQL syntax", "id\tname\n1\tx",
		"+----+----+\n| id | x |\n+----+----+\n| 1 |", strings.Repeat(`{"a":`, 5000),
		"id\tselect_type\ttable\nx\tSIMPLE\tt", strings.Repeat("-> Filter: x\n", 6000), "id\tselect_type\ttable" + strings.Repeat("\n1\tSIMPLE\tt", 6000),
	} {
		var e *ParseError
		if p, err := Parse(text); !errors.As(err, &e) {
			t.Errorf("%.40q: got %+v, %v; want a ParseError", text, p, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/plans/*.txt")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			var e *ParseError
			if !errors.As(err, &e) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		if p.Root == nil {
			t.Fatal("a plan without a root")
		}
		_ = p.String()
		_ = p.Problems()

		if _, err := json.Marshal(p); err != nil {
			t.Error(err)
		}
	})
}

func FuzzParseRows(f *testing.F) {
	f.Add("id,select_type,table,type,possible_keys,key,key_len,ref,rows,Extra", "1,PRIMARY,<derived2>,ALL,NULL,NULL,NULL,NULL,5,Using where\n2,DERIVED,t,ref,k,k,4,const,3,Using temporary; Using filesort")
	f.Add("id,select_type,table,rows", "1,PRIMARY,a,1\n2,UNION,b,2\nNULL,UNION RESULT,<union1;2>,NULL")
	f.Add("id,estRows,task,access object,operator info", "HashJoin_1,5,root,,\n└─TableFullScan_2,7,cop,table:t,keep order:false")
	f.Fuzz(func(t *testing.T, head, body string) {
		columns := strings.Split(head, ",")
		var rows [][]sql.NullString
		for line := range strings.SplitSeq(body, "\n") {
			cells := strings.Split(line, ",")
			for len(cells) < len(columns) {
				cells = append(cells, "NULL")
			}
			values := cellValues(cells[:len(columns)])
			for i := range values {
				values[i].String = strings.ReplaceAll(values[i].String, ";2", ",2")
			}
			rows = append(rows, values)
		}
		p, err := ParseRows(columns, rows)
		if err != nil {
			var e *ParseError
			if !errors.As(err, &e) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		_, _ = p.String(), p.Problems()
		// Every row of a traditional table stands in the tree, or says why none is read.
		if p.Format == Traditional {
			n := 0
			for range p.Root.All() {
				n++
			}
			if n > 20*len(rows)+20 {
				t.Errorf("%d nodes of %d rows", n, len(rows))
			}
		}
	})
}
