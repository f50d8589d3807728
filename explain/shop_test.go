package explain

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/quern-dev/quern/internal/testservers"
)

// shop is the schema that tests on servers use: loaded once into each server,
// whose tests run one after another and leave the rows as they were.
var shop struct {
	sync.Mutex
	schemas map[*testservers.Server]string
	drop    []func()
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, f := range shop.drop {
		f()
	}
	os.Exit(code)
}

// openShop returns a pool on the shop, and the schema's name.
func openShop(t *testing.T, srv *testservers.Server) (*sql.DB, string) {
	t.Helper()
	shop.Lock()
	defer shop.Unlock()
	if name, ok := shop.schemas[srv]; ok {
		return srv.DB(t, name), name
	}
	name := fmt.Sprintf("quern_explain_%d", os.Getpid())
	text, err := os.ReadFile("testdata/shop.sql")
	if err != nil {
		t.Fatal(err)
	}
	admin := srv.DB(t, "")
	mustExec(t, admin, "CREATE DATABASE "+name+" DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci")
	config := srv.Config(name)
	shop.drop = append(shop.drop, func() {
		if db, err := sql.Open("mysql", config.FormatDSN()); err == nil {
			db.Exec("DROP DATABASE " + name)
			db.Close()
		}
	})
	db := srv.DB(t, name)
	mustExec(t, db, strings.Split(string(text), ";\n\n")...)
	if shop.schemas == nil {
		shop.schemas = make(map[*testservers.Server]string)
	}
	shop.schemas[srv] = name
	return db, name
}

func mustExec(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, s := range statements {
		if _, err := conn.ExecContext(context.Background(), s); err != nil {
			t.Fatalf("%.80s: %v", s, err)
		}
	}
}
