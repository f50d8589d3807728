package indexadvisor

import (
	"context"
	"encoding/json"
	"testing"
)

// Whatever statement is asked about, the advisor ends, does not panic, and
// what it says can be encoded.
func FuzzAdvise(f *testing.F) {
	for _, s := range []string{
		waiting,
		"SELECT * FROM t x JOIN u USING (id) WHERE x.a IN (SELECT b FROM u WHERE c IS NULL) AND (x.b, x.a) IN ((1,2),(3,4)) GROUP BY 1, 2 HAVING a > 1 ORDER BY 2 DESC, b LIMIT ?, 5",
		"WITH RECURSIVE c AS (SELECT 1 n UNION ALL SELECT n+1 FROM c WHERE n<5), d AS (SELECT * FROM t) SELECT * FROM c, d NATURAL JOIN u WHERE NOT (d.a=1 OR d.b>2)",
		"UPDATE t, u SET t.a=u.b, u.c=DEFAULT WHERE t.id=u.id AND NOT EXISTS (SELECT 1 FROM t z WHERE z.a=u.b)",
		"DELETE a FROM t a LEFT JOIN u b ON a.id=b.id AND b.c=1 WHERE b.id IS NULL ORDER BY a.a LIMIT 3",
		"INSERT INTO t SELECT * FROM u WHERE a BETWEEN b AND c UNION SELECT 1,2,3,4 ORDER BY 1",
		"SELECT (SELECT MAX(a) FROM u WHERE u.b=t.b), CASE a WHEN 1 THEN b END FROM t WHERE a=@v AND b<=>NULL AND 5 BETWEEN a AND b AND DATE(c)='2024-01-01' AND a->>'$.x'=5",
		"SELECT DISTINCT a, COUNT(*) OVER (PARTITION BY b) FROM (SELECT * FROM t UNION ALL SELECT * FROM u) z WHERE a LIKE 'x_%' ESCAPE '|' OR a IS NOT NULL AND b<3",
		"SELECT * FROM v WHERE x=1 AND y LIKE 'a%'",
		"EXPLAIN SELECT * FROM t WHERE a=1 XOR b=2",
		"SELECT * FROM vv JOIN v USING (x) WHERE x=2",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		if len(sql) > 1000 {
			t.Skip()
		}
		m := newMemory(t)
		row := func(i int) []any { return []any{i, i % 7, i % 3, nil} }
		m.add("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, c DATETIME, KEY ka (a))", 1200, row)
		m.add("CREATE TABLE u (id INT, a INT, b VARCHAR(20), c TEXT, PRIMARY KEY (id, a), KEY kb (b(3)))", 1100, row)
		m.Tables = append(m.Tables, &Table{Schema: "s", Name: "v", View: "SELECT a AS x, b AS y FROM t WHERE id > 5", Columns: []Column{{Name: "x"}, {Name: "y"}}},
			&Table{Schema: "s", Name: "vv", View: "SELECT * FROM `s`.`vv` WHERE x > 1", Columns: []Column{{Name: "x"}}})
		a, err := New(&m.Rows, Options{}).Advise(context.Background(), Query{Schema: "s", SQL: sql})
		if err != nil {
			return
		}
		if _, err := json.Marshal(a); err != nil {
			t.Error(err)
		}
	})
}
