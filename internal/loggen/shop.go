package loggen

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"time"
)

// ShopDay writes the log of one day of a made-up web shop, about 1200 records
// of Percona Server that logs one statement in 200: pages, a search that scans
// its table, order histories that sort, a page that asks for its lines one by
// one, a sale in the evening whose buyers wait for each other's row locks,
// reports and a backup at night. Of the options it heeds Seed, Start, CRLF and
// OnRecord.
func ShopDay(w io.Writer, o Options) (*Truth, error) {
	o.Dialect, o.Hostile, o.RateLimit = Percona80, false, 200
	if o.Start.IsZero() {
		o.Start = time.Date(2026, 3, 13, 0, 0, 0, 0, time.UTC)
	}
	classes := make([]class, len(shopClasses))
	for i, c := range shopClasses {
		classes[i] = c.class
	}
	g := newGenerator(w, o, classes)
	midnight := g.now

	type arrival struct {
		at    time.Time
		class int // -1: a ping of the monitoring
	}
	var day []arrival
	for i, c := range shopClasses {
		for hour := range 24 {
			n := float64(c.perDay) * c.when[hour] / sum(c.when)
			for range int(n + g.rand.Float64()) { // rounded at random, so that the sum holds
				at := midnight.Add(time.Duration(hour)*time.Hour + time.Duration(g.rand.Int64N(int64(time.Hour))).Truncate(time.Microsecond))
				day = append(day, arrival{at, i})
			}
		}
	}
	for hour := range 24 {
		day = append(day, arrival{midnight.Add(time.Duration(hour)*time.Hour + 5*time.Minute), -1})
	}
	slices.SortStableFunc(day, func(a, b arrival) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.class, b.class)) })

	for _, a := range day {
		g.now = a.at
		if a.class < 0 {
			g.command("Ping", "monitor", local)
			continue
		}
		slowdown, lockShare := 1.0, 0.0
		if h := a.at.Hour(); h == 20 {
			slowdown = 1.6 // the sale
			if shopClasses[a.class].contended {
				slowdown, lockShare = 90, 0.9
			}
		}
		g.slowStatement(a.class, slowdown, lockShare)
	}
	return g.finish()
}

type shopClass struct {
	perDay    int // records
	when      [24]float64
	contended bool // waits for row locks during the sale
	class
}

var (
	visitors = [24]float64{2, 1, 1, 1, 1, 2, 4, 7, 9, 10, 10, 11, 12, 11, 10, 10, 10, 11, 13, 16, 30, 18, 9, 4}
	night    = [24]float64{1: 1, 2: 4, 3: 4}
	hourly   = [24]float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
	office   = [24]float64{8: 2, 9: 5, 10: 5, 11: 4, 12: 1, 13: 3, 14: 4, 15: 4, 16: 3, 17: 1}

	web   = machines[:4]
	jobs  = machines[4:5]
	bi    = machines[5:6]
	local = machines[6:7]
)

func sum(hours [24]float64) (total float64) {
	for _, h := range hours {
		total += h
	}
	return total
}

var searches = []string{"rain jacket", "tent", "head lamp", "boots", "water bottle", "sleeping bag", "kids rain coat", "rope", "stove"}

// page makes a class of the web servers.
func page(perDay int, table, verb string, median time.Duration, reads float64, sends uint64, write func(*generator, *class)) shopClass {
	return shopClass{perDay: perDay, when: visitors, class: class{
		table: table, verb: verb, schema: "shop", users: []string{"web"}, machines: web,
		median: median, sigma: 0.7, reads: reads, sends: sends, write: write,
	}}
}

// job makes a class of another user.
func job(perDay int, when [24]float64, user string, from []machine, table, verb string, median time.Duration, reads float64, sends uint64, write func(*generator, *class)) shopClass {
	c := page(perDay, table, verb, median, reads, sends, write)
	c.when, c.users, c.machines, c.sigma = when, []string{user}, from, 0.4
	return c
}

func (c shopClass) scans() shopClass        { c.fullScan = true; return c }
func (c shopClass) sorts() shopClass        { c.filesort = true; return c }
func (c shopClass) materializes() shopClass { c.tmpTable = true; return c }
func (c shopClass) steady() shopClass       { c.sigma = 0.15; return c }
func (c shopClass) contends() shopClass     { c.contended = true; return c }

var shopClasses = []shopClass{
	page(195, "product", "SELECT", 300*time.Microsecond, 10, 1, func(g *generator, c *class) {
		g.text("SELECT p.id, p.name, p.price, p.stock, p.description FROM product p WHERE p.slug = '", slug(g), "' AND p.active = 1 ")
		g.tags("product", "show")
	}),
	page(110, "product_image", "SELECT", 200*time.Microsecond, 20, 8, func(g *generator, c *class) {
		g.text("SELECT url, width, height FROM product_image WHERE product_id = ")
		g.number(4000)
		g.text(" ORDER BY position ")
		g.tags("product", "show")
	}),
	page(45, "product", "SELECT", 420*time.Millisecond, 950, 24, func(g *generator, c *class) {
		g.text("SELECT p.id, p.name, p.price FROM product p JOIN product_text t ON t.product_id = p.id WHERE t.body LIKE '%", searches[g.rand.IntN(len(searches))], "%' OR p.name LIKE '%", searches[g.rand.IntN(len(searches))], "%' ORDER BY p.popularity DESC LIMIT 24 OFFSET ")
		g.text(strconv.Itoa(24 * g.rand.IntN(6)))
		g.text(" ")
		g.tags("search", "index")
	}).scans().sorts(),
	page(70, "product", "SELECT", 3*time.Millisecond, 300, 24, func(g *generator, c *class) {
		g.text("SELECT p.id, p.name, p.price, i.url\n  FROM product p\n  JOIN product_image i ON i.product_id = p.id AND i.position = 1\n WHERE p.category_id IN (")
		g.numbers(1+g.rand.IntN(8), ", ")
		g.text(")\n   AND p.price BETWEEN ")
		g.number(50)
		g.text(" AND ")
		g.number(900)
		g.text("\n ORDER BY p.popularity DESC\n LIMIT 24 ")
		g.tags("category", "show")
	}).sorts(),
	page(80, "cart_item", "SELECT", 400*time.Microsecond, 15, 6, func(g *generator, c *class) {
		g.text("SELECT ci.product_id, ci.quantity, p.name, p.price FROM cart_item ci JOIN product p ON p.id = ci.product_id WHERE ci.cart_id = ")
		g.number(2e6)
		g.text(" ")
		g.tags("cart", "show")
	}),
	page(40, "cart_item", "INSERT", 700*time.Microsecond, 1, 2, func(g *generator, c *class) {
		g.text("INSERT INTO cart_item (cart_id, product_id, quantity) VALUES (")
		g.numbers(3, ", ")
		g.text(") ON DUPLICATE KEY UPDATE quantity = quantity + VALUES(quantity)")
	}),
	page(90, "session", "UPDATE", 350*time.Microsecond, 2, 1, func(g *generator, c *class) {
		g.text("UPDATE session SET last_seen = NOW(), data = '{\\\"cart\\\":")
		g.number(2e6)
		g.text("}' WHERE token = '")
		g.hex(16)
		g.text("'")
	}),
	page(45, "orders", "SELECT", 38*time.Millisecond, 900, 20, func(g *generator, c *class) {
		g.text("SELECT o.id, o.number, o.total, o.status, o.created_at FROM orders o WHERE o.customer_id = ")
		g.number(90000)
		g.text(" AND o.status <> 'draft' ORDER BY o.created_at DESC LIMIT 20 ")
		g.tags("account", "orders")
	}).scans().sorts(),
	page(105, "order_line", "SELECT", 250*time.Microsecond, 12, 5, func(g *generator, c *class) {
		g.text("SELECT * FROM order_line WHERE order_id = ")
		g.number(1e6)
		g.text(" ")
		g.tags("account", "orders")
	}),
	page(16, "orders", "INSERT", 2*time.Millisecond, 1, 1, func(g *generator, c *class) {
		g.text("INSERT INTO orders (customer_id, number, total, status, note, created_at) VALUES (")
		g.number(90000)
		g.text(", 'W-")
		g.number(1e6)
		g.text("', ")
		g.number(400)
		g.text(".95, 'new', ", []string{"NULL", "'please ring twice'", "'it\\'s a gift'"}[g.rand.IntN(3)], ", NOW())")
	}),
	page(16, "order_line", "INSERT", 1500*time.Microsecond, 1, 6, func(g *generator, c *class) {
		g.text("INSERT INTO order_line (order_id, product_id, quantity, price) VALUES ")
		for i := range 1 + g.rand.IntN(6) {
			if i > 0 {
				g.text(", ")
			}
			g.text("(")
			g.numbers(4, ", ")
			g.text(")")
		}
	}),
	page(40, "product", "UPDATE", 2*time.Millisecond, 2, 1, func(g *generator, c *class) {
		g.text("UPDATE product SET stock = stock - ")
		g.number(3)
		g.text(" WHERE id = ")
		g.number(4000)
		g.text(" AND stock >= ")
		g.number(3)
	}).contends(),
	page(24, "coupon", "SELECT", 900*time.Microsecond, 4, 1, func(g *generator, c *class) {
		g.text("SELECT id, percent, remaining FROM coupon WHERE code = 'SPRING")
		g.number(99)
		g.text("' AND valid_until > NOW() FOR UPDATE")
	}).contends(),
	page(40, "review", "SELECT", 5*time.Millisecond, 220, 10, func(g *generator, c *class) {
		g.text("SELECT r.stars, r.body, c.first_name FROM review r JOIN customer c ON c.id = r.customer_id WHERE r.product_id = ")
		g.number(4000)
		g.text(" AND r.approved = 1 ORDER BY r.helpful DESC, r.created_at DESC LIMIT 10 ")
		g.tags("product", "show")
	}).sorts(),
	page(28, "order_line", "SELECT", 65*time.Millisecond, 700, 6, func(g *generator, c *class) {
		g.text("SELECT b.product_id, COUNT(*) AS together FROM order_line a JOIN order_line b ON b.order_id = a.order_id AND b.product_id <> a.product_id WHERE a.product_id = ")
		g.number(4000)
		g.text(" GROUP BY b.product_id ORDER BY together DESC LIMIT 6 ")
		g.tags("product", "recommendations")
	}).materializes().sorts(),
	page(45, "search_term", "SELECT", 2500*time.Microsecond, 400, 8, func(g *generator, c *class) {
		term := searches[g.rand.IntN(len(searches))]
		g.text("SELECT term FROM search_term WHERE term LIKE '", term[:1+g.rand.IntN(len(term))], "%' ORDER BY hits DESC LIMIT 8")
	}).sorts(),
	page(50, "page_view", "INSERT", 300*time.Microsecond, 0, 20, func(g *generator, c *class) {
		g.text("INSERT INTO page_view (path, ms, at) VALUES ")
		for i := range 2 + g.rand.IntN(18) {
			if i > 0 {
				g.text(",")
			}
			g.text("('/p/", slug(g), "',")
			g.number(900)
			g.text(",NOW())")
		}
	}),
	page(30, "customer", "SELECT", 300*time.Microsecond, 3, 1, func(g *generator, c *class) {
		g.text("SELECT id, password_hash FROM customer WHERE email = 'user")
		g.number(90000)
		g.text("@example.com' ")
		g.tags("session", "create")
	}),
	job(24, office, "backoffice", web[3:], "orders", "SELECT", 900*time.Millisecond, 800, 50, func(g *generator, c *class) {
		g.text("SELECT o.*, c.email FROM orders o LEFT JOIN customer c ON c.id = o.customer_id WHERE DATE(o.created_at) = ")
		g.date()
		g.text(" ORDER BY o.id DESC LIMIT ")
		g.number(9000)
		g.text(", 50")
	}).scans().sorts(),
	job(24, hourly, "jobs", jobs, "session", "DELETE", 300*time.Millisecond, 600, 5000, func(g *generator, c *class) {
		g.text("DELETE FROM session WHERE last_seen < NOW() - INTERVAL 2 DAY LIMIT 5000 /* cron: sweep */")
	}).scans(),
	job(24, hourly, "jobs", jobs, "outbox", "SELECT", 20*time.Millisecond, 50, 100, func(g *generator, c *class) {
		g.text("SELECT id, recipient, body FROM outbox WHERE sent_at IS NULL ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED")
	}),
	job(6, night, "report", bi, "orders", "SELECT", 31*time.Second, 900, 400, func(g *generator, c *class) {
		g.text("SELECT cat.name, DATE(o.created_at) AS d, SUM(l.quantity * l.price) AS revenue, COUNT(DISTINCT o.customer_id) AS buyers\n  FROM orders o\n  JOIN order_line l ON l.order_id = o.id\n  JOIN product p ON p.id = l.product_id\n  JOIN category cat ON cat.id = p.category_id\n WHERE o.created_at >= ")
		g.date()
		g.text("\n GROUP BY cat.name, d\n ORDER BY d, revenue DESC")
	}).scans().materializes().sorts().steady(),
	job(5, night, "backup", local, "page_view", "SELECT", 25*time.Second, 1100, 900000, func(g *generator, c *class) {
		g.text("SELECT /*!40001 SQL_NO_CACHE */ * FROM `page_view`")
	}).scans().steady(),
	job(24, hourly, "monitor", local, "", "SHOW", 1200*time.Microsecond, 0, 480, func(g *generator, c *class) {
		g.text("SHOW GLOBAL STATUS")
	}),
}

func slug(g *generator) string {
	return []string{"rain-jacket", "tent-2p", "head-lamp", "trail-boots", "bottle-1l", "down-bag", "rope-60m", "gas-stove"}[g.rand.IntN(8)] + "-" + strconv.Itoa(100+g.rand.IntN(900))
}
