package testservers

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestServerAnswersAndIsShared(t *testing.T) {
	Each(t, func(t *testing.T, srv *Server) {
		if flavorOf(srv.Version) != srv.Flavor {
			t.Errorf("a server of version %q is said to be %s", srv.Version, srv.Flavor)
		}
		schema := srv.Schema(t)
		db := srv.DB(t, schema)
		var current string
		if err := db.QueryRow("SELECT DATABASE()").Scan(&current); err != nil {
			t.Fatal(err)
		}
		if current != schema {
			t.Errorf("the default schema is %q, %q expected", current, schema)
		}
		if again := shared(t, srv.Flavor, nil); again != srv {
			t.Error("a second request with the same arguments got a server of its own")
		}
	})
}

func TestServerAnswersOverTCP(t *testing.T) {
	Each(t, func(t *testing.T, srv *Server) {
		c := srv.Config("")
		c.Net, c.Addr = "tcp", fmt.Sprintf("127.0.0.1:%d", srv.Port)
		db, err := open(c)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.Ping(); err != nil {
			t.Error(err)
		}
	})
}

func TestArgumentsReachTheServerAndDataOutliveARestart(t *testing.T) {
	for _, flavor := range []Flavor{FlavorMySQL, FlavorMariaDB} {
		t.Run(string(flavor), func(t *testing.T) {
			srv := Start(t, flavor, "--long-query-time=0.25", "--slow-query-log=ON")
			db := srv.DB(t, srv.Schema(t))
			for _, stmt := range []string{"CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1), (2)"} {
				if _, err := db.Exec(stmt); err != nil {
					t.Fatal(err)
				}
			}
			srv.Restart(t)
			var rows int
			var threshold float64
			if err := retry(func() error {
				return db.QueryRow("SELECT COUNT(*), @@long_query_time FROM t").Scan(&rows, &threshold)
			}); err != nil {
				t.Fatal(err)
			}
			if rows != 2 || threshold != 0.25 {
				t.Errorf("after a restart %d rows and long_query_time %g, 2 and 0.25 expected", rows, threshold)
			}
			if log, err := os.ReadFile(srv.SlowLogPath); err != nil || strings.Count(string(log), "started with:") != 2 {
				t.Errorf("no slow log of two starts: %v\n%s", err, log)
			}
		})
	}
}

// retry lets a pool find out that its connections broke.
func retry(f func() error) (err error) {
	for range 3 {
		if err = f(); err == nil {
			return nil
		}
	}
	return err
}

func TestServerGivenByDSN(t *testing.T) {
	Each(t, func(t *testing.T, srv *Server) {
		given, err := connect(srv.Flavor, srv.DSN(""))
		if err != nil {
			t.Fatal(err)
		}
		if given.Version != srv.Version || given.Socket != srv.Socket || given.Port != srv.Port {
			t.Errorf("got %s %s %d, want %s %s %d", given.Version, given.Socket, given.Port, srv.Version, srv.Socket, srv.Port)
		}
		other := map[Flavor]Flavor{FlavorMySQL: FlavorMariaDB, FlavorMariaDB: FlavorMySQL}[srv.Flavor]
		if _, err := connect(other, srv.DSN("")); err == nil {
			t.Errorf("a %s was taken for a %s", srv.Flavor, other)
		}
	})
}

func TestVersionComparison(t *testing.T) {
	for _, c := range []struct {
		version      string
		major, minor int
		want         bool
	}{
		{"8.0.36-28", 8, 0, true},
		{"8.0.36-28", 8, 4, false},
		{"10.11.19-MariaDB-0+deb12u1", 10, 6, true},
		{"10.11.19-MariaDB-0+deb12u1", 11, 0, false},
		{"9.7.4-2", 8, 4, true},
	} {
		if got := (&Server{Version: c.version}).AtLeast(c.major, c.minor); got != c.want {
			t.Errorf("%s at least %d.%d: %t", c.version, c.major, c.minor, got)
		}
	}
}
