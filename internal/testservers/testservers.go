// Package testservers gives tests a real MariaDB and a real MySQL.
//
// A server runs on a temporary data directory, listens on a unix socket and on
// a loopback port, and is shared by all tests of a test binary that ask for the
// same arguments. It is killed and its directory removed when the test binary
// ends, however it ends: a watchdog process outlives a panic, a timeout and a
// kill.
//
// Where no server is installed a test is skipped with a sentence that says what
// to install. The environment decides otherwise:
//
//	QUERN_TEST_MYSQL_DSN, QUERN_TEST_MARIADB_DSN
//	    a server to use instead, as a go-sql-driver DSN without a schema; tests
//	    create and drop schemas and accounts on it
//	QUERN_MYSQL_HOME
//	    the directory that holds MySQL's bin/mysqld
//	QUERN_REQUIRE_MYSQL=1, QUERN_REQUIRE_MARIADB=1
//	    the absence of that server fails a test instead of skipping it
//
// install.sh in this directory installs both servers on Debian.
package testservers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Flavor tells the two families of servers apart.
type Flavor string

// The flavors. Percona Server counts as MySQL.
const (
	FlavorMySQL   Flavor = "MySQL"
	FlavorMariaDB Flavor = "MariaDB"
)

func (f Flavor) env(prefix, suffix string) string {
	return os.Getenv("QUERN_" + prefix + strings.ToUpper(string(f)) + suffix)
}

// Server is a running database server. Its methods may be called from several
// goroutines, but for Restart and Kill.
type Server struct {
	Flavor  Flavor
	Version string // as SELECT VERSION() gives it
	Socket  string // path of the unix socket
	Port    int    // on 127.0.0.1

	// Dir is the server's own directory, with a folder files for LOAD DATA and
	// SELECT INTO OUTFILE. SlowLogPath is the file that the slow log goes to
	// once a test turns it on. Both are empty for a server given by a DSN.
	Dir         string
	SlowLogPath string

	config *mysql.Config
	proc   *process     // nil for a server given by a DSN
	killed bool         // by Kill
	launch func() error // starts it anew, on its data
}

// MySQL returns a MySQL server started with the given mysqld arguments,
// started now if no earlier test of this binary asked for the same.
func MySQL(t testing.TB, args ...string) *Server {
	t.Helper()
	return shared(t, FlavorMySQL, args)
}

// MariaDB returns a MariaDB server started with the given mariadbd arguments,
// started now if no earlier test of this binary asked for the same.
func MariaDB(t testing.TB, args ...string) *Server {
	t.Helper()
	return shared(t, FlavorMariaDB, args)
}

// Each runs f as a subtest for MySQL and for MariaDB, on servers shared as with
// those functions.
func Each(t *testing.T, f func(t *testing.T, srv *Server), args ...string) {
	t.Helper()
	for _, flavor := range []Flavor{FlavorMySQL, FlavorMariaDB} {
		t.Run(string(flavor), func(t *testing.T) { f(t, shared(t, flavor, args)) })
	}
}

// Start starts a server for this test alone and stops it when the test ends:
// for tests that restart it or change its global settings. It inherits the
// environment of the test, so that TZ sets its time zone.
func Start(t testing.TB, flavor Flavor, args ...string) *Server {
	t.Helper()
	program := find(t, flavor)
	srv, err := start(flavor, program, args)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.stop)
	return srv
}

var (
	poolMu sync.Mutex
	pool   = map[string]func() (*Server, error){}
)

func shared(t testing.TB, flavor Flavor, args []string) *Server {
	t.Helper()
	open := func() (*Server, error) { return connect(flavor, flavor.env("TEST_", "_DSN")) }
	if len(args) > 0 || flavor.env("TEST_", "_DSN") == "" {
		program := find(t, flavor)
		open = func() (*Server, error) { return start(flavor, program, args) }
	} else if testing.Short() {
		t.Skip("tests on servers are left out with -short")
	}
	key := strings.Join(append([]string{string(flavor)}, args...), "\x00")
	poolMu.Lock()
	once, ok := pool[key]
	if !ok {
		once = sync.OnceValues(open)
		pool[key] = once
	}
	poolMu.Unlock()
	srv, err := once()
	if err != nil {
		t.Fatal(err)
	}
	return srv
}

// find returns the path of the server program, or ends the test.
func find(t testing.TB, flavor Flavor) string {
	t.Helper()
	if testing.Short() {
		t.Skip("tests on servers are left out with -short")
	}
	program, err := lookup(flavor)
	if err == nil {
		return program
	}
	if flavor.env("REQUIRE_", "") == "1" {
		t.Fatal(err)
	}
	t.Skip(err)
	return ""
}

// Config returns the driver's configuration for root on the unix socket, with
// the given schema as default ("" for none). The caller may change it.
func (s *Server) Config(schema string) *mysql.Config {
	c := s.config.Clone()
	c.DBName = schema
	return c
}

// DSN returns what sql.Open("mysql", …) takes for [Server.Config].
func (s *Server) DSN(schema string) string { return s.Config(schema).FormatDSN() }

// DB returns a pool of connections with the given schema as default ("" for
// none), closed when the test ends. The schema must exist.
func (s *Server) DB(t testing.TB, schema string) *sql.DB {
	t.Helper()
	db, err := open(s.Config(schema))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

var schemas struct {
	sync.Mutex
	n int
}

// Schema creates an empty schema of a name not used before, dropped when the
// test ends, and returns its name.
func (s *Server) Schema(t testing.TB) string {
	t.Helper()
	schemas.Lock()
	schemas.n++
	name := fmt.Sprintf("quern_test_%d_%d", os.Getpid(), schemas.n)
	schemas.Unlock()
	if err := s.exec("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.exec("DROP DATABASE IF EXISTS " + name); err != nil && !s.killed {
			t.Error(err)
		}
	})
	return name
}

// Restart shuts the server down in good order and starts it again on its data,
// socket and port. Connections break. A server given by a DSN cannot be
// restarted: the test is skipped.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	if s.proc == nil {
		t.Skip("a server given by a DSN cannot be restarted by a test")
	}
	if err := s.exec("SHUTDOWN"); err != nil {
		t.Fatal(err)
	}
	if err := s.proc.waitExit(); err != nil {
		t.Fatal(err)
	}
	if err := s.launch(); err != nil {
		t.Fatal(err)
	}
}

// Kill ends the server at once, as a crash of its machine would: connections break
// in the middle of what they do. A server given by a DSN cannot be killed: the test
// is skipped.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	if s.proc == nil {
		t.Skip("a server given by a DSN cannot be killed by a test")
	}
	if err := s.proc.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.proc.done
	s.killed = true
}

// EndContexts calls f with contexts that end later and later, up to longest. The
// error of f is to say that its context has ended, whatever became of the
// connection, and at least one is to end in time.
func EndContexts(t testing.TB, longest time.Duration, f func(context.Context) error) {
	t.Helper()
	ended := 0
	for limit := time.Duration(0); limit < longest; limit += longest / 120 {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		err := f(ctx)
		cancel()
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			ended++
		case err != nil:
			t.Errorf("after %v: %v", limit, err)
		}
	}
	if ended == 0 {
		t.Error("the context never ended in time")
	}
}

// AwaitStatement waits until a connection other than its own runs a statement for
// which the condition on information_schema.PROCESSLIST holds, and returns the
// connection's id.
func (s *Server) AwaitStatement(t testing.TB, condition string) (id int64) {
	t.Helper()
	db, err := open(s.config)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for range 600 {
		err := db.QueryRow("SELECT ID FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND (" + condition + ") LIMIT 1").Scan(&id)
		if err == nil {
			return id
		}
		if !errors.Is(err, sql.ErrNoRows) {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("no connection with %s", condition)
	return 0
}

// exec runs one statement on a connection of its own.
func (s *Server) exec(stmt string) error {
	db, err := open(s.config)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Exec(stmt)
	return err
}

func open(c *mysql.Config) (*sql.DB, error) {
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// connect returns the server that a DSN names.
func connect(flavor Flavor, dsn string) (*Server, error) {
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("testservers: the DSN given for %s: %w", flavor, err)
	}
	s := &Server{Flavor: flavor, config: c}
	if err := s.identify(context.Background()); err != nil {
		return nil, fmt.Errorf("testservers: the %s server given by a DSN: %w", flavor, err)
	}
	return s, nil
}

// identify asks the server who it is.
func (s *Server) identify(ctx context.Context) error {
	db, err := open(s.config)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.QueryRowContext(ctx, "SELECT VERSION(), @@socket, @@port").Scan(&s.Version, &s.Socket, &s.Port); err != nil {
		return err
	}
	if got := flavorOf(s.Version); got != s.Flavor {
		return fmt.Errorf("%s expected, %s %s found", s.Flavor, got, s.Version)
	}
	return nil
}

func flavorOf(version string) Flavor {
	if strings.Contains(version, "MariaDB") {
		return FlavorMariaDB
	}
	return FlavorMySQL
}

// AtLeast reports whether the server's version is at least major.minor.
func (s *Server) AtLeast(major, minor int) bool {
	var v [2]int
	for i, part := range strings.SplitN(s.Version, ".", 3)[:2] {
		v[i], _ = strconv.Atoi(part)
	}
	return slices.Compare(v[:], []int{major, minor}) >= 0
}

// lookup finds the server program of a flavor. The error tells what to install.
func lookup(flavor Flavor) (string, error) {
	var places []string
	if flavor == FlavorMySQL {
		if home := os.Getenv("QUERN_MYSQL_HOME"); home != "" {
			places = append(places, filepath.Join(home, "bin", "mysqld"))
		}
		if cache, err := os.UserCacheDir(); err == nil {
			places = append(places, filepath.Join(cache, "quern", "mysql", "bin", "mysqld"))
		}
	}
	dirs := append(filepath.SplitList(os.Getenv("PATH")), "/usr/local/sbin", "/usr/sbin", "/usr/libexec")
	for _, name := range []string{"mariadbd", "mysqld"} {
		if name == "mariadbd" && flavor == FlavorMySQL {
			continue
		}
		for _, dir := range dirs {
			places = append(places, filepath.Join(dir, name))
		}
	}
	for _, p := range places {
		// mysqld may be either: MariaDB's packages install it as a link.
		if out, err := version(p); err == nil && flavorOf(out) == flavor {
			return p, nil
		}
	}
	if flavor == FlavorMySQL {
		return "", errors.New("MySQL is not installed: on Debian run internal/testservers/install.sh; elsewhere put mysqld of MySQL 8.0 or newer on PATH, set QUERN_MYSQL_HOME to the directory with its bin/mysqld, or set QUERN_TEST_MYSQL_DSN to a server for tests")
	}
	return "", errors.New("MariaDB is not installed: on Debian run internal/testservers/install.sh as root; elsewhere put mariadbd and mariadb-install-db of MariaDB 10.6 or newer on PATH, or set QUERN_TEST_MARIADB_DSN to a server for tests")
}
