// Advise suggests indexes for a query, or for the statements of slow logs.
//
//	go run ./examples/advise -dsn 'user:password@tcp(host:3306)/' -schema shop -query 'SELECT …'
//	go run ./examples/advise -dsn 'user:password@tcp(host:3306)/' slow.log
//
// It only reads: rows are counted in read-only mode, with limits on time and
// number. See package indexadvisor for the method.
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
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/quern-dev/quern/indexadvisor"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	var usage usageError
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.As(err, &usage):
		fmt.Fprintln(os.Stderr, "advise:", err)
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "advise:", err)
		os.Exit(1)
	}
}

type usageError struct{ error }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("advise", flag.ContinueOnError)
	flags.SetOutput(stderr)
	dsn := flags.String("dsn", "", "server to ask, as go-sql-driver writes it: user:password@tcp(host:3306)/")
	schema := flags.String("schema", "", "default schema of the statements")
	query := flags.String("query", "", "statement to advise on")
	format := flags.String("format", "text", "text or json")
	timeout := flags.Duration("timeout", time.Minute, "time for all of it")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return usageError{err}
	}
	switch {
	case *dsn == "":
		return usageError{errors.New("-dsn is missing")}
	case *query == "":
		return usageError{errors.New("-query is missing")}
	case *format != "text" && *format != "json":
		return usageError{fmt.Errorf("-format is %q, text or json expected", *format)}
	}
	db, err := sql.Open("mysql", *dsn)
	if err != nil {
		return usageError{err}
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	adv := indexadvisor.New(indexadvisor.MySQL(db), indexadvisor.Options{})
	a, err := adv.Advise(ctx, indexadvisor.Query{Schema: *schema, SQL: *query})
	if err != nil {
		return err
	}
	if *format == "json" {
		return json.NewEncoder(stdout).Encode(a)
	}
	return a.WriteText(stdout)
}
