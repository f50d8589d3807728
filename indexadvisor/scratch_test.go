package indexadvisor

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/quern-dev/quern/internal/lexer"
	"github.com/quern-dev/quern/internal/testservers"
)

func TestSchemasAreRenamedInAText(t *testing.T) {
	as := map[string]string{"shop": "x_1", "a b": "x_2", "order": "x_3"}
	for in, want := range map[string]string{
		"SELECT shop.t.a, t.shop FROM shop.t":                        "SELECT `x_1`.t.a, t.shop FROM `x_1`.t",
		"SELECT * FROM `shop` . `t` WHERE `shop`.t.`a`=1":            "SELECT * FROM `x_1` . `t` WHERE `x_1`.t.`a`=1",
		"SELECT 'shop.t', \"shop.t\", /* shop.t */ 1 FROM `a b`.`c`": "SELECT 'shop.t', \"shop.t\", /* shop.t */ 1 FROM `x_2`.`c`",
		"SELECT * FROM SHOP.t -- shop.t\nWHERE x.shop.y = 1.5":       "SELECT * FROM `x_1`.t -- shop.t\nWHERE x.shop.y = 1.5",
		"SELECT * FROM `order`.t, shopping.t, shop /* c */ . t":      "SELECT * FROM `x_3`.t, shopping.t, `x_1` /* c */ . t",
		"DELETE shop.t FROM shop.t WHERE shop.t.a > .5 AND shop.t.b": "DELETE `x_1`.t FROM `x_1`.t WHERE `x_1`.t.a > .5 AND `x_1`.t.b",
		"": "",
	} {
		if d := cmp.Diff(want, rename(in, 0, as)); d != "" {
			t.Errorf("%s: %s", in, d)
		}
	}
	if got := rename(`SELECT "shop"."t"."a""b" FROM "shop"."t"`, lexer.ANSIQuotes, as); got != "SELECT `x_1`.\"t\".\"a\"\"b\" FROM `x_1`.\"t\"" {
		t.Error(got)
	}
}

// Statements that name schemas, tables of several schemas with one name, and
// views are verified, and nothing is left behind.
func TestVerifyAcrossSchemasAndViews(t *testing.T) {
	testservers.Each(t, func(t *testing.T, srv *testservers.Server) {
		db, on := srv.DB(t, ""), scratchServer(t, srv).DB(t, "")
		t.Cleanup(func() { exec(t, srv.DB(t, ""), "DROP DATABASE IF EXISTS `a b`", "DROP DATABASE IF EXISTS crm") })
		exec(t, db, "CREATE DATABASE `a b`", "CREATE DATABASE crm")
		crm := srv.DB(t, "crm")
		fill(t, crm, 6000)
		exec(t, crm, "CREATE TABLE t (id INT PRIMARY KEY, city INT, pad VARCHAR(100))", "INSERT INTO t SELECT i, i % 200, REPEAT('x', 100) FROM seq WHERE i < 2000",
			"CREATE TABLE `a b`.t (id INT PRIMARY KEY, cust INT, st INT, pad VARCHAR(100))", "INSERT INTO `a b`.t SELECT i, i * 7919 % 2000, i % 9, REPEAT('x', 100) FROM seq",
			"CREATE TABLE copy (id INT PRIMARY KEY, cust INT)",
			"CREATE VIEW `a b`.zv AS SELECT o.id, o.cust, o.st, c.city FROM `a b`.t o JOIN crm.t c ON c.id = o.cust",
			"CREATE VIEW av AS SELECT id AS i, cust AS c FROM `a b`.zv WHERE st < 8",
			"ANALYZE TABLE t, `a b`.t")
		ctx := context.Background()
		for _, c := range []struct {
			schema, sql string
			copied      string
		}{
			{"", "SELECT crm.t.city, o.* FROM `a b`.t AS o JOIN crm.t ON crm.t.id = o.cust WHERE o.cust = 77", "a b.t crm.t"},
			{"a b", "SELECT t.*, c.city FROM t JOIN crm.t c ON c.id = t.cust WHERE `a b`.`t`.cust = 77", "a b.t crm.t"},
			{"crm", "SELECT * FROM av WHERE c = 77", "a b.t crm.t"},
			{"crm", "INSERT INTO copy SELECT id, cust FROM `a b`.t WHERE cust = 77", "a b.t"},
			{"crm", "UPDATE `a b`.t SET st = 3 WHERE cust = 77", "a b.t"},
		} {
			q := Query{Schema: c.schema, SQL: c.sql}
			a, err := New(MySQL(db), Options{}).Advise(ctx, q)
			if err != nil || len(a.Suggestions) == 0 {
				t.Errorf("%s: %v", c.sql, err)
				continue
			}
			s := a.Suggestions[0]
			v, err := Verify(ctx, Scratch{From: db, On: on}, q, s)
			if err != nil {
				t.Errorf("%s: %v", c.sql, err)
				continue
			}
			var copied []string
			for _, name := range []string{"a b.t", "crm.t", "crm.copy"} {
				if _, ok := v.Copied[name]; ok {
					copied = append(copied, name)
				}
			}
			if !v.SameResult || v.After.Entries >= v.Before.Entries || strings.Join(copied, " ") != c.copied {
				t.Errorf("%s, %s: %+v", c.sql, s.DDL, v)
			}
		}
		s := Suggestion{Kind: Add, Schema: "crm", Table: "t", Name: "k", Columns: []Part{{Name: "city"}}}
		if _, err := Verify(ctx, Scratch{From: db, On: on}, Query{SQL: "SELECT * FROM crm.t AS crm WHERE crm.city = 3"}, s); err == nil || !strings.Contains(err.Error(), "crm is a schema and a table in it") {
			t.Errorf("a schema and an alias of one name: %v", err)
		}
		s.Columns = []Part{{Name: "g", Expr: "city + 1"}}
		if _, err := Verify(ctx, Scratch{From: db, On: on}, Query{SQL: "SELECT * FROM crm.t WHERE city + 1 = 3"}, s); err == nil || !strings.Contains(err.Error(), "names it") {
			t.Errorf("a generated column that the statement does not name: %v", err)
		}
		if got := scratchSchemas(t, on); len(got) > 0 {
			t.Errorf("left on the scratch server: %v", got)
		}
		if got := scratchSchemas(t, db); len(got) > 0 {
			t.Errorf("left on the server: %v", got)
		}
	})
}

// scratchServer is a second server of the same kind.
func scratchServer(t *testing.T, srv *testservers.Server) *testservers.Server {
	t.Helper()
	if srv.Flavor == testservers.FlavorMariaDB {
		return testservers.MariaDB(t, "--server-id=9")
	}
	return testservers.MySQL(t, "--server-id=9")
}
