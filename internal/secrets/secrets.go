// Package secrets plants secrets in statements and logs, and finds them in what is
// made of those, for tests.
package secrets

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// A Planter makes secrets and remembers their parts.
type Planter struct {
	*rand.Rand
	// Users makes users and hosts of logs secrets, too.
	Users bool

	parts map[string]bool // runs of runLetters and of runDigits
}

// New returns a Planter whose secrets depend on the seed alone.
func New(seed uint64) *Planter {
	return &Planter{Rand: rand.New(rand.NewPCG(seed, 42)), parts: make(map[string]bool)}
}

// As many letters, or digits of a number, are nowhere by chance.
const (
	letters    = "qxzjkvw"
	runLetters = 6
	runDigits  = 12
)

func (p *Planter) remember(s string, run int) {
	for i := range len(s) - run + 1 {
		p.parts[s[i:i+run]] = true
	}
}

// word returns a secret of letters that make up no word.
func (p *Planter) word() string {
	b := make([]byte, 10)
	for i := range b {
		b[i] = letters[p.IntN(len(letters))]
	}
	p.remember(string(b), runLetters)
	p.remember(hex.EncodeToString(b), runDigits)
	return string(b)
}

// number returns a secret of digits.
func (p *Planter) number() string {
	s := fmt.Sprintf("%012d", 7e11+p.Int64N(2e11))
	p.remember(s, runDigits)
	return s
}

// Leak returns a part of a secret that text holds, and what stands around it.
func (p *Planter) Leak(text []byte) (part, around string) {
	lower := bytes.ToLower(text)
	inLetters, inDigits := 0, 0
	for i, c := range lower {
		inLetters++
		inDigits++
		if strings.IndexByte(letters, c) < 0 {
			inLetters = 0
		}
		if strings.IndexByte("0123456789abcdef", c) < 0 {
			inDigits = 0
		}
		for _, r := range [...]struct{ run, in int }{{runLetters, inLetters}, {runDigits, inDigits}} {
			if r.in >= r.run && p.parts[string(lower[i+1-r.run:i+1])] {
				return string(lower[i+1-r.run : i+1]), string(lower[max(i-80, 0):min(i+80, len(lower))])
			}
		}
	}
	return "", ""
}

// forged is in literals that look like a record. A statement that is cut off and has
// one cannot be told from two records; see slowlog.Reader.
const forged = "\n# User@Host: "

// literal returns a literal that holds a secret.
func (p *Planter) literal() string {
	w := p.word
	switch p.IntN(29) {
	case 0:
		return "'" + w() + "'"
	case 1:
		return `"` + w() + `"`
	case 2:
		return "'it''s " + w() + `\' and ` + w() + "'"
	case 3:
		return "x'" + hex.EncodeToString([]byte(w())) + "'"
	case 4:
		return "0x" + hex.EncodeToString([]byte(w()))
	case 5:
		return p.number()
	case 6:
		return "-" + p.number() + ".5e3"
	case 7:
		return "." + p.number()
	case 8:
		return "_utf8mb4'" + w() + "' COLLATE utf8mb4_bin"
	case 9:
		return "N'" + w() + "'"
	case 10:
		return "DATE '" + w() + "'"
	case 11:
		return "'" + w() + "' '" + w() + "'"
	case 12:
		return "'" + w() + forged + w() + "[" + w() + "] @ " + w() + " []\n# Query_time: 1.0  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 1\nSET timestamp=1;\nselect " + w() + ";\n'"
	case 13:
		return "'/* " + w() + " */ -- " + w() + "'"
	case 14:
		return "(SELECT '" + w() + "' AS '" + w() + "')"
	case 15:
		return "JSON_EXTRACT(doc, '$." + w() + "')"
	case 16:
		return "doc->>'$." + w() + "'"
	case 17:
		return "CAST('" + w() + "' AS CHAR(10))"
	case 18:
		return "b'" + strings.Repeat("01", p.IntN(20)) + "'"
	case 19:
		return "'\xff" + w() + "\x00é'"
	case 22:
		return "{ts '" + w() + "'}"
	case 23:
		return "_binary 0x" + hex.EncodeToString([]byte(w()))
	case 24:
		return `"a""` + w() + `"`
	case 25:
		return "CASE WHEN a = '" + w() + "' THEN " + p.number() + " ELSE '" + w() + "' END"
	case 26:
		return "GROUP_CONCAT(a SEPARATOR '" + w() + "')"
	case 27:
		return "'" + w() + "' MEMBER OF ('[\"" + w() + "\"]')"
	case 28:
		return "ROW('" + w() + "'," + p.number() + ")"
	case 20:
		return "INTERVAL " + p.number() + " SECOND + NOW()"
	}
	return "'" + strings.Repeat(w()+" ", 1+p.IntN(200)) + "'"
}

// comment returns a comment that holds a secret, or none.
func (p *Planter) comment() string {
	switch p.IntN(6) {
	case 0:
		return " /* " + p.word() + " */ "
	case 1:
		return " -- " + p.word() + "\n"
	case 2:
		return " # it's " + p.word() + "\n"
	case 3:
		return " /*user='" + p.word() + "',traceparent='00-" + p.word() + "'*/ "
	}
	return " "
}

// Statement returns a statement with secrets, which may be cut off.
func (p *Planter) Statement() string {
	l, c := p.literal, p.comment
	list := func() string {
		items := make([]string, 1+p.IntN(5))
		for i := range items {
			items[i] = l()
		}
		return strings.Join(items, ", ")
	}
	var s string
	switch p.IntN(27) {
	case 0:
		s = "SELECT" + c() + "a, " + l() + " FROM t WHERE b = " + l() + c() + "AND c IN (" + list() + ")"
	case 1:
		s = "INSERT INTO t (a, b) VALUES (" + list() + "), (" + list() + ") ON DUPLICATE KEY UPDATE a = " + l()
	case 2:
		s = "UPDATE t SET a = " + l() + c() + "WHERE b LIKE " + l() + " LIMIT " + p.number()
	case 3:
		s = "DELETE FROM t WHERE a BETWEEN " + l() + " AND " + l()
	case 4:
		s = "CREATE USER 'joe'@'%' IDENTIFIED BY '" + p.word() + "'"
	case 5:
		s = "SET PASSWORD FOR joe = PASSWORD('" + p.word() + "')"
	case 6:
		s = "CHANGE MASTER TO MASTER_USER='" + p.word() + "', MASTER_PASSWORD='" + p.word() + "', MASTER_LOG_POS=" + p.number()
	case 7:
		s = "LOAD DATA INFILE '/" + p.word() + "' INTO TABLE t FIELDS TERMINATED BY '" + p.word() + "'"
	case 8:
		s = "PREPARE p FROM 'SELECT " + p.word() + " FROM t'"
	case 9:
		s = "CALL pay(" + list() + ")"
	case 10:
		s = "SET @card = " + l() + ", @@session.sql_mode = '" + p.word() + "'"
	case 11:
		s = "SELECT /*+ MAX_EXECUTION_TIME(" + p.number() + ") */ 1 FROM t WHERE a = " + l()
	case 12:
		s = "SELECT 1 FROM t /*!50000 WHERE a = " + l() + " */" + c()
	case 13:
		s = "administrator command: SELECT '" + p.word() + "'"
	case 14:
		s = "GRANT SELECT ON t TO 'joe'@'" + p.word() + "'; SELECT " + l() // two at once
	case 15:
		s = "CREATE TABLE t (a ENUM('" + p.word() + "') DEFAULT '" + p.word() + "' COMMENT '" + p.word() + "') COMMENT = '" + p.word() + "'"
	case 16:
		s = "ALTER TABLE t ADD PARTITION (PARTITION p VALUES LESS THAN (" + p.number() + "))"
	case 17:
		s = "ALTER USER joe IDENTIFIED WITH mysql_native_password AS '" + p.word() + "' REPLACE '" + p.word() + "'"
	case 18:
		s = "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'joe', PASSWORD '" + p.word() + "')"
	case 19:
		s = "KILL QUERY " + p.number()
	case 20:
		s = "XA START '" + p.word() + "','" + p.word() + "'," + p.number()
	case 21:
		s = "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '" + p.word() + "', MYSQL_ERRNO = " + p.number()
	case 22:
		s = "CREATE PROCEDURE p() BEGIN DECLARE v INT DEFAULT " + p.number() + "; SELECT " + l() + "; END"
	case 23:
		s = "SHOW TABLES LIKE '" + p.word() + "'"
	case 24:
		s = "WITH c AS (SELECT " + l() + " AS x) SELECT * FROM c WHERE x > ALL (SELECT " + l() + ") LIMIT " + p.number() + ", " + p.number()
	case 25:
		s = "EXPLAIN FORMAT=JSON SELECT " + l() + " UNION ALL SELECT " + l()
	default:
		s = c() + "SELECT * FROM t WHERE MATCH (a) AGAINST (" + l() + " IN BOOLEAN MODE) OR a REGEXP " + l() + c()
	}
	if p.IntN(5) == 0 && !strings.Contains(s, forged) {
		s = s[:p.IntN(len(s))]
	}
	return s
}

// Log returns a slow log of which some records are broken. A server writes what a
// client sent, and more: errors, warnings, plans.
func (p *Planter) Log(records int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s');\n", p.word()) // the end of a record
	at := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	for range records {
		at = at.Add(time.Duration(p.IntN(3e9)))
		var r bytes.Buffer
		user, host := "app", "web1"
		if p.Users {
			user, host = p.word(), p.word()
		}
		fmt.Fprintf(&r, "# Time: %s\n# User@Host: %s[%[2]s] @ %s [10.0.0.1]  Id:  %d\n", at.Format(time.RFC3339Nano), user, host, p.IntN(1000))
		fmt.Fprintf(&r, "# Schema: shop  Last_errno: %d  Killed: 0\n", p.IntN(2)*1062)
		fmt.Fprintf(&r, "# Query_time: %.6f  Lock_time: 0.000010  Rows_sent: %d  Rows_examined: %d\n", p.Float64()*3, p.IntN(10), p.IntN(100000))
		switch p.IntN(8) {
		case 0:
			fmt.Fprintf(&r, "# Warnings: Warning 1062 Duplicate entry '%s' for key 'k'\n", p.word())
		case 1:
			fmt.Fprintf(&r, "# explain: 1 SIMPLE t ALL NULL NULL NULL NULL 7 100.00 Using where a = '%s'\n", p.word())
		case 2:
			fmt.Fprintf(&r, "# Full_scan: %s  Unknown: %s  Tmp_tables: %s\n", p.word(), p.word(), p.number())
		}
		fmt.Fprintf(&r, "SET timestamp=%d;\n%s;\n", at.Unix(), p.Statement())
		switch p.IntN(12) {
		case 0:
			if strings.Count(r.String(), forged) == 1 { // its own
				r.Truncate(p.IntN(r.Len()))
				r.WriteString("\n")
			}
		case 1:
			fmt.Fprintf(&b, "# Query_time: %s  Lock_time: %s\n", p.word(), p.number())
		}
		b.Write(r.Bytes())
	}
	return b.Bytes()
}
