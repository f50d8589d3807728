// Rewrites compares several ways to ask the same question on a server, and prints
// which reads the fewest rows and takes the least time:
//
//	go run ./examples/rewrites -dsn 'root@tcp(127.0.0.1:3306)/'
//
// It creates a schema of its own and drops it afterwards. What came out on MySQL
// 9.7 and MariaDB 10.11 stands in results.txt. The tests of this package are a
// suite to copy from: rewrites_test.go asserts that the forms give the same rows,
// use their indexes and read no more than they should.
package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/quern-dev/quern/explain"
)

func main() {
	dsn := flag.String("dsn", "", "data source name of an account that may create a schema, as root@tcp(127.0.0.1:3306)/")
	flag.Usage = func() {
		fmt.Fprint(os.Stderr, "usage: rewrites -dsn DSN\n\nCompares several ways to ask the same question on a server, in a schema that it\ncreates and drops, and prints which reads the fewest rows and takes the least time.\n\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	switch {
	case *dsn == "":
		fmt.Fprintln(os.Stderr, "rewrites: -dsn is missing; -h shows the usage")
		os.Exit(2)
	case flag.NArg() > 0:
		fmt.Fprintln(os.Stderr, "rewrites: no arguments are expected behind the flags; -h shows the usage")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *dsn, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "rewrites:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dsn string, w io.Writer) error {
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		return err
	}
	config.DBName = ""
	admin, err := sql.Open("mysql", config.FormatDSN())
	if err != nil {
		return err
	}
	defer admin.Close()
	name := fmt.Sprintf("quern_rewrites_%d", os.Getpid())
	if _, err := admin.ExecContext(ctx, "CREATE DATABASE "+name); err != nil {
		return err
	}
	defer admin.Exec("DROP DATABASE " + name)
	config.DBName = name
	db, err := sql.Open("mysql", config.FormatDSN())
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	err = load(ctx, conn)
	conn.Close()
	if err != nil {
		return err
	}
	var version, comment string
	if err := db.QueryRowContext(ctx, "SELECT VERSION(), @@version_comment").Scan(&version, &comment); err != nil {
		return err
	}
	return report(ctx, db, explain.ParseServer(version, comment), w)
}

// report compares every form with the first of its pattern.
func report(ctx context.Context, db *sql.DB, server explain.Server, w io.Writer) error {
	fmt.Fprintf(w, "%s\n", server)
	for _, p := range patterns {
		fmt.Fprintf(w, "\n%s\nequal: %s\n", p.name, p.equal)
		fmt.Fprintf(w, "  %-28s %10s %10s %12s\n", "form", "rows", "rows read", "time")
		var sides []explain.Side
		var names []string
		for _, f := range p.forms {
			if f.not == string(server.Product) {
				continue
			}
			c, err := explain.Compare(ctx, db, p.forms[0].sql, f.sql)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", p.name, f.name, err)
			}
			name := f.name
			if !c.SameRows && !f.random {
				name += " (other rows)"
			}
			sides, names = append(sides, c.B), append(names, name)
		}
		fastest, fewest := 0, 0
		for i := range sides {
			if sides[i].Median() < sides[fastest].Median() {
				fastest = i
			}
			if sides[i].RowsRead() < sides[fewest].RowsRead() {
				fewest = i
			}
		}
		for i, s := range sides {
			var won []string
			if i == fastest {
				won = append(won, "fastest")
			}
			if i == fewest {
				won = append(won, "reads least")
			}
			line := fmt.Sprintf("  %-28s %10d %10d %12s  %s", names[i], s.Rows, s.RowsRead(), s.Median().Round(10*time.Microsecond), strings.Join(won, ", "))
			fmt.Fprintln(w, strings.TrimRight(line, " "))
		}
	}
	return nil
}
