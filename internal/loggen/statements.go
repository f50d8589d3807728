package loggen

import (
	"strconv"
	"time"
)

// machine is a host that clients connect from.
type machine struct{ name, ip string }

var machines = []machine{
	{"web01", "10.0.1.11"}, {"web02", "10.0.1.12"}, {"web03", "10.0.1.13"}, {"web04", "10.0.1.14"},
	{"jobs01", "10.0.2.21"}, {"bi01", "10.0.3.31"}, {"localhost", ""}, {"", "192.168.7.8"},
}

// shapes are the forms of statement that synthetic classes take in turn.
var shapes = []struct {
	table, verb string
	write       func(*generator, *class)
}{
	{"customer", "SELECT", func(g *generator, c *class) {
		g.text("SELECT c.id, c.name, c.email FROM ", c.table, " AS c WHERE c.id = ")
		g.number(1e7)
		g.text(" AND c.status = ")
		g.literal()
		g.text(" LIMIT 1")
	}},
	{"orders", "SELECT", func(g *generator, c *class) {
		g.text("SELECT o.id, o.total, l.sku FROM ", c.table, " o INNER JOIN order_line l ON l.order_id = o.id WHERE o.customer_id = ")
		g.number(1e7)
		g.text(" AND o.created_at >= ")
		g.date()
		g.text(" ORDER BY o.created_at DESC LIMIT ")
		g.number(200)
		g.text(", 20")
	}},
	{"inventory", "UPDATE", func(g *generator, c *class) {
		g.text("UPDATE ", c.table, " SET qty = qty - ")
		g.number(9)
		g.text(", updated_at = NOW() WHERE sku = ")
		g.literal()
		g.text(" AND warehouse_id IN (")
		g.numbers(1+g.rand.IntN(40), ", ")
		g.text(")")
	}},
	{"event_log", "INSERT", func(g *generator, c *class) {
		g.text("INSERT INTO ", c.table, " (user_id, kind, payload, created_at) VALUES (")
		g.number(1e7)
		g.text(", ")
		g.literal()
		g.text(`, '{"page":`)
		g.number(1e6)
		g.text(`,"note":"it\'s \\n fine","tags":["a","b"]}', NOW())`)
	}},
	{"session", "SELECT", func(g *generator, c *class) {
		g.text("select count(*)\n  from ", c.table, " s -- open ones\n  left join user_account u on u.id = s.user_id\n where s.last_seen > now() - interval ")
		g.number(60)
		g.text(" minute\n   and u.country = ")
		g.literal()
		g.text("\n   and u.score between ")
		g.number(10)
		g.text(" and ")
		g.number(90)
		g.text(".5e0")
	}},
	{"product", "SELECT", func(g *generator, c *class) {
		g.text("/* trace_id=")
		g.hex(16)
		g.text(" */ SELECT p.* FROM ", c.table, " p WHERE p.category_id = ")
		g.number(1000)
		g.text(" AND p.price < ")
		g.number(500)
		g.text(".99 AND MATCH(p.title) AGAINST (")
		g.literal()
		g.text(" IN BOOLEAN MODE) ORDER BY p.position LIMIT 50")
	}},
	{"cart", "DELETE", func(g *generator, c *class) {
		g.text("DELETE FROM ", c.table, " WHERE session_id = 0x")
		g.hex(16)
		g.text(" AND expires < FROM_UNIXTIME(")
		g.number(1.7e9)
		g.text(") LIMIT 1000")
	}},
	{"payment", "SELECT", func(g *generator, c *class) {
		g.text("SELECT t.d, SUM(t.amount) AS revenue FROM (SELECT DATE(created_at) AS d, amount FROM ", c.table, " WHERE merchant_id = ")
		g.number(10000)
		g.text(" AND state <> ")
		g.literal()
		g.text(") t GROUP BY t.d HAVING revenue > ")
		g.number(1e5)
		g.text(" ORDER BY t.d")
	}},
	{"click", "INSERT", func(g *generator, c *class) {
		g.text("INSERT INTO `", c.table, "` (`at`, `url`, `ms`) VALUES ")
		for i := range 1 + g.rand.IntN(30) {
			if i > 0 {
				g.text(",")
			}
			g.text("(")
			g.date()
			g.text(",")
			g.literal()
			g.text(",")
			g.number(3000)
			g.text(")")
		}
	}},
	{"invoice", "SELECT", func(g *generator, c *class) {
		g.text("SELECT id, due, total FROM ", c.table, " WHERE account_id = ")
		g.number(1e5)
		g.text(" AND paid IS NULL ORDER BY due LIMIT 25 ")
		g.tags("invoices", "index")
	}},
	{"counter", "INSERT", func(g *generator, c *class) {
		g.text("INSERT INTO ", c.table, " (k, v) VALUES (")
		g.literal()
		g.text(", 1) ON DUPLICATE KEY UPDATE v = v + 1")
	}},
	{"document", "REPLACE", func(g *generator, c *class) {
		g.text("REPLACE INTO ", c.table, " SET id = ")
		g.number(1e6)
		g.text(", title = ")
		g.literal()
		g.text(", body = ")
		g.paragraph()
	}},
	{"account", "SELECT", func(g *generator, c *class) {
		g.text("SELECT balance FROM ", c.table, " WHERE id = ")
		g.number(1e5)
		g.text(" AND owner = \"")
		g.text(words[g.rand.IntN(len(words))])
		g.text(" 5\"\" disk\" FOR UPDATE")
	}},
	{"message", "SELECT", func(g *generator, c *class) {
		g.text("(SELECT id, body FROM ", c.table, " WHERE thread_id = ")
		g.number(1e5)
		g.text(" ORDER BY id DESC LIMIT 10)\nUNION ALL\n(SELECT id, body FROM archive WHERE body LIKE ")
		g.literal()
		g.text(" LIMIT 5)")
	}},
}

// syntheticClasses returns n classes, each with a table of its own.
func syntheticClasses(n int) []class {
	schemas := []string{"shop", "stock", "billing"}
	classes := make([]class, n)
	for i := range classes {
		shape := shapes[i%len(shapes)]
		c := class{
			table:    shape.table + "_" + letters(i),
			verb:     shape.verb,
			schema:   schemas[i%len(schemas)],
			users:    []string{"app" + strconv.Itoa(i%5), "batch"},
			machines: machines[:1+i%len(machines)],
			median:   time.Duration(1+i%9) * time.Duration(1+i%13) * 200 * time.Microsecond,
			sigma:    0.6 + float64(i%5)*0.3,
			reads:    float64(1 + i*37%2000),
			sends:    uint64(1 + i*7%200),
			fullScan: i%11 == 3,
			fullJoin: i%29 == 4,
			tmpTable: i%7 == 0 && shape.verb == "SELECT",
			filesort: i%6 == 1 && shape.verb == "SELECT",
			write:    shape.write,
		}
		if i%50 == 49 {
			c.median = 3 * time.Second // some of its statements take over AlwaysLog
		}
		classes[i] = c
	}
	return classes
}

// letters writes i in letters, so that no fingerprint can mistake it for a
// number.
func letters(i int) string {
	s := ""
	for i++; i > 0; i = (i - 1) / 26 {
		s = string(rune('a'+(i-1)%26)) + s
	}
	return s
}

var words = []string{"alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "gölf", "hotel", "日本", "juliet", "kilo 😀", "lima"}

// oddities are contents of literals that a careless reader trips over.
var oddities = []string{`it\'s`, `it''s`, `say "hi"`, `c:\\dir\\`, `a; b`, `-- no comment`, `/* none`, `# none`, `50%`, "two\nlines", ``, `\Z\0`}

// forgery is what a literal holds to pass for a record of its own.
const forgery = "x\n# Time: 2020-01-01T00:00:00.000000Z\n# User@Host: nobody[nobody] @ localhost []  Id:     1\n# Query_time: 9.000000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\nSET timestamp=1577836800;\nDELETE FROM forged;\n"

func (g *generator) text(parts ...string) {
	for _, s := range parts {
		g.scratch = append(g.scratch, s...)
	}
}

// number writes a number from 1 to limit.
func (g *generator) number(limit int) {
	g.scratch = strconv.AppendInt(g.scratch, int64(1+g.rand.IntN(limit)), 10)
}

func (g *generator) numbers(n int, separator string) {
	for i := range n {
		if i > 0 {
			g.text(separator)
		}
		g.number(1e5)
	}
}

// literal writes a string in quotes.
func (g *generator) literal() {
	g.text("'")
	switch n := g.rand.IntN(64); {
	case n < len(oddities):
		g.text(oddities[n])
	case g.o.Hostile && n >= 60:
		g.text(forgery)
	default:
		g.text(words[n%len(words)])
		g.number(1e6)
	}
	g.text("'")
}

// paragraph writes a longer string in quotes.
func (g *generator) paragraph() {
	g.text("'")
	for range 5 + g.rand.IntN(60) {
		g.text(words[g.rand.IntN(len(words))], " ")
	}
	if g.o.Hostile && g.rand.IntN(8) == 0 {
		g.text(forgery)
	}
	g.text("'")
}

func (g *generator) date() {
	g.text("'2025-")
	g.scratch = appendPadded(g.scratch, 1+g.rand.Uint64N(12), 2)
	g.text("-")
	g.scratch = appendPadded(g.scratch, 1+g.rand.Uint64N(28), 2)
	g.text(" ")
	g.scratch = appendPadded(g.scratch, g.rand.Uint64N(24), 2)
	g.text(":30:00'")
}

func (g *generator) hex(n int) {
	const digits = "0123456789abcdef"
	for v := g.rand.Uint64(); n > 0; n-- {
		g.scratch = append(g.scratch, digits[v%16])
		v /= 16
	}
}

// tags writes an sqlcommenter comment.
func (g *generator) tags(controller, action string) {
	g.text("/*action='", action, "',controller='", controller, "',traceparent='00-")
	g.hex(16)
	g.hex(16)
	g.text("-")
	g.hex(16)
	g.text("-01'*/")
}
