// Explain prints the plans of statements on a MySQL or MariaDB server, and what
// is wrong with them, without running the statements: one that writes is
// explained by the SELECT that reads the same rows.
//
//	go run ./examples/explain -dsn DSN [-schema S] (-query SQL | SLOWLOG...) [-format text|json|html]
//
// DSN is that of github.com/go-sql-driver/mysql, as root@tcp(127.0.0.1:3306)/. The
// account needs SELECT and SHOW VIEW and should have nothing else. From slow logs
// the classes that cost the most time are taken, each by one of its statements;
// the report is then of the logs, with findings over both load and plans.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	_ "github.com/go-sql-driver/mysql"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/digest/finding"
	"github.com/quern-dev/quern/digest/report"
	"github.com/quern-dev/quern/explain"
	"github.com/quern-dev/quern/internal/sources"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// statement is what is explained.
type statement struct {
	schema, sql string
	class       digest.ID
	perDay      float64 // 0 if it is not known
}

const usage = `usage: explain -dsn DSN [flags] -query STATEMENT
       explain -dsn DSN [flags] SLOWLOG...

Shows the plan of a statement, or of the classes of slow logs that take the most
time, and what is wrong with it. Statements that write are rewritten to SELECTs;
what the server might run while it plans is refused.

`

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("explain", flag.ContinueOnError)
	fs.SetOutput(stderr)
	dsn := fs.String("dsn", "", "data source name, as user:password@tcp(host:3306)/")
	schema := fs.String("schema", "", "schema in which the statements run")
	query := fs.String("query", "", "the statement to explain")
	format := fs.String("format", "text", "text, json or html")
	timeout := fs.Duration("timeout", 2*time.Second, "limit of time for one explanation")
	n := fs.Int("n", 10, "classes taken from slow logs")
	fs.Usage = func() {
		fmt.Fprint(stderr, usage)
		fs.PrintDefaults()
	}
	logs, err := sources.ParseFlags(fs, args)
	if err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	wrong := ""
	switch {
	case *dsn == "":
		wrong = "-dsn is missing"
	case (*query == "") == (len(logs) == 0):
		wrong = "either -query or the names of slow logs are expected"
	case *format != "text" && *format != "json" && *format != "html":
		wrong = fmt.Sprintf("-format is %q, text, json or html expected", *format)
	}
	if wrong != "" {
		fmt.Fprintf(stderr, "explain: %s; -h shows the usage\n", wrong)
		return 2
	}
	var statements []statement
	var profile *digest.Profile
	var read []report.Source
	if *query == "" {
		if statements, profile, read, err = fromLogs(logs, *schema, *n); err != nil {
			fmt.Fprintln(stderr, "explain:", err)
			return 1
		}
	} else {
		statements, profile = fromQuery(*query, *schema)
	}
	db, err := sql.Open("mysql", *dsn)
	if err != nil {
		fmt.Fprintln(stderr, "explain:", err)
		return 1
	}
	defer db.Close()
	ex := explain.New(db, explain.Options{Timeout: *timeout})
	results := make([]result, len(statements))
	failed := 0
	for i, s := range statements {
		results[i] = explainOne(ctx, ex, s)
		if results[i].Error != "" {
			failed++
		}
	}
	r := reportOf(profile, statements, results)
	r.Sources, r.Limit = read, *n
	switch {
	case *format == "json":
		err = writeJSON(stdout, results, r.Findings)
	case *format == "html":
		err = r.WriteHTML(stdout)
	case *query == "":
		err = r.WriteText(stdout, report.TextOptions{})
	default:
		err = writeText(stdout, results)
	}
	if err != nil {
		fmt.Fprintln(stderr, "explain:", err)
		return 1
	}
	if failed == len(results) {
		fmt.Fprintln(stderr, results[0].Error)
		return 1
	}
	return 0
}

// result is one element of the JSON output's plans.
type result struct {
	Query       string            `json:"query"`
	Select      string            `json:"select"`
	Approximate bool              `json:"approximate"`
	Why         []string          `json:"why,omitempty"`
	Hazards     []explain.Hazard  `json:"hazards"`
	Plan        *explain.Plan     `json:"plan"`
	Fingerprint string            `json:"plan_fingerprint,omitempty"`
	Problems    []explain.Problem `json:"problems"`
	Fine        []explain.Check   `json:"fine,omitempty"`
	Error       string            `json:"error"`
}

func explainOne(ctx context.Context, ex *explain.Explainer, s statement) result {
	r := result{Query: s.sql, Hazards: []explain.Hazard{}, Problems: []explain.Problem{}}
	plan, err := ex.Explain(ctx, s.schema, s.sql)
	if err != nil {
		r.Error = err.Error()
		var h *explain.HazardError
		if errors.As(err, &h) {
			r.Hazards = h.Hazards
		}
		return r
	}
	plan.PerDay = s.perDay
	r.Select, r.Approximate, r.Why, r.Plan, r.Fingerprint = plan.Select, plan.Approximate, plan.Why, plan, plan.Fingerprint()
	r.Hazards = append(r.Hazards, plan.Hazards...)
	r.Problems = append(r.Problems, plan.Problems()...)
	r.Fine = plan.Fine()
	return r
}

// writeJSON writes the plans, and of logs the findings and what else was looked for.
func writeJSON(w io.Writer, results []result, e *finding.Examination) error {
	out := struct {
		Quern    int               `json:"quern"`
		Plans    []result          `json:"plans"`
		Findings []finding.Finding `json:"findings,omitempty"`
		Checks   []finding.Check   `json:"checks,omitempty"`
	}{Quern: 1, Plans: results}
	if e != nil {
		out.Findings, out.Checks = e.Findings, e.Checks
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

func writeText(w io.Writer, results []result) error {
	var b strings.Builder
	for i, r := range results {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s\n\n", strings.TrimSpace(r.Query))
		if r.Error != "" {
			fmt.Fprintf(&b, "%s\n", r.Error)
			continue
		}
		fmt.Fprintf(&b, "%s\n%s", r.plan(), r.problems())
	}
	_, err := io.WriteString(w, report.Printable(b.String()))
	return err
}

// plan says how the statement would run.
func (r *result) plan() string {
	if r.Select != r.Query {
		return fmt.Sprintf("explained by: %s\n\n%s", r.Select, r.Plan)
	}
	return r.Plan.String()
}

// problems says what is wrong with the plan.
func (r *result) problems() string {
	var parts []string
	for _, h := range r.Hazards {
		parts = append(parts, fmt.Sprintf("%s: %s\n", h.Code, h.Text))
	}
	for _, p := range r.Problems {
		table := ""
		if p.Table != "" {
			table = " of " + p.Table
		}
		parts = append(parts, fmt.Sprintf("%s: %s%s\n  %s\n  %s\n", p.Severity, p.Code, table, p.Evidence, p.Try))
	}
	if len(r.Problems) == 0 {
		parts = append(parts, fmt.Sprintf("no problem found in %d checks\n", len(r.Fine)))
	}
	return strings.Join(parts, "\n")
}

// reportOf returns the report on the profile, with plans and problems beside the
// classes. Of a statement alone, whose load nobody knows, there are no findings.
func reportOf(p *digest.Profile, statements []statement, results []result) *report.Report {
	r := &report.Report{Profile: p, Sections: make(map[digest.ID][]report.Section)}
	var plans []finding.Plan
	for i := range results {
		class, result := statements[i].class, &results[i]
		if result.Error != "" {
			r.Sections[class] = []report.Section{{Title: "Plan", Text: result.Error}}
			plans = append(plans, finding.Plan{Class: class, Missing: result.Error})
			continue
		}
		r.Sections[class] = []report.Section{{Title: "Plan", Text: result.plan()}, {Title: "Problems", Text: result.problems()}}
		plans = append(plans, result.Plan.Findings(class, explain.Medium))
	}
	if p.QueryTime.Observed() > 0 {
		r.Findings = finding.Examine(p, finding.DefaultLimits(), plans...)
	}
	return r
}
