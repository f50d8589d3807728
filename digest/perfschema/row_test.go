package perfschema

import (
	"database/sql"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/quern-dev/quern/digest"
)

// serverBuckets returns the empty buckets of MySQL: 50 for each power of ten.
func serverBuckets() []bucket {
	bs := make([]bucket, 450)
	low := uint64(0)
	for i := range bs {
		high := uint64(math.Round(1e7 * math.Pow(10, float64(i)/50)))
		if i == len(bs)-1 {
			high = math.MaxUint64
		}
		bs[i] = bucket{number: uint32(i), low: low, high: high}
		low = high
	}
	return bs
}

// filled returns the buckets that hold something, as the server is asked for.
func filled(bs []bucket) []bucket {
	var some []bucket
	for _, b := range bs {
		if b.count > 0 {
			some = append(some, b)
		}
	}
	return some
}

// However far the two tables are apart when they are read, every Poll gives out as
// many values as were counted, and no value is given out twice or forgotten.
func TestHistogramOfAnIntervalHasAsManyValuesAsWereCounted(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		server := serverBuckets()
		var inBuckets, counted uint64
		before := new(row)
		var total digest.Histogram
		for poll := range 10 {
			for range rnd.IntN(50) {
				server[rnd.IntN(len(server))].count++
				inBuckets++
			}
			n := inBuckets - counted
			if poll < 9 { // values ran between the readings
				n -= min(n, uint64(rnd.IntN(5)))
			}
			counted += n
			now := &row{count: counted, max: math.MaxUint64, buckets: filled(server)}
			h := now.times(before, n)
			if h.Observed() != n {
				t.Fatalf("got %d values, want %d", h.Observed(), n)
			}
			for _, b := range now.buckets {
				if b.given > b.count {
					t.Fatalf("%d values of %d were given out", b.given, b.count)
				}
			}
			total.Merge(h)
			before = now
		}
		if total.Observed() != inBuckets {
			t.Errorf("got %d values in all, the server has %d", total.Observed(), inBuckets)
		}
		for _, b := range before.buckets {
			if b.given != b.count {
				t.Errorf("bucket %d: %d values of %d were given out", b.number, b.given, b.count)
			}
		}
	}
}

func TestHistogramReadAfterTheTablesWereEmptied(t *testing.T) {
	bs := serverBuckets()
	bs[100].count, bs[200].count = 1, 3
	r := &row{count: 8, max: math.MaxUint64, buckets: filled(bs)}
	if h := r.times(new(row), 8); h.Observed() != 8 || h.AtMost(1e6) != 2 {
		t.Errorf("got %d values, %v of them in the lower bucket; want 8 and 2", h.Observed(), h.AtMost(1e6))
	}
	if h := r.times(&row{buckets: r.buckets}, 2); h.Observed() != 0 {
		t.Errorf("got %d values of which no bucket knows", h.Observed())
	}
}

// TestQuantilesAreWithinTheStatedBounds holds the package's documentation to what
// it says of quantiles.
func TestQuantilesAreWithinTheStatedBounds(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 2))
	for range 200 {
		server := serverBuckets()
		r := &row{count: 1 + rnd.Uint64N(500), min: math.MaxUint64}
		scale := math.Pow(10, 6+5*rnd.Float64())
		var values []uint64
		for range r.count {
			v := uint64(rnd.ExpFloat64() * scale)
			values = append(values, v)
			r.min, r.max = min(r.min, v), max(r.max, v)
			for i := range server {
				if v < server[i].high {
					server[i].count++
					break
				}
			}
		}
		r.buckets = filled(server)
		h := r.times(new(row), r.count)
		if h.Min() < int64(duration(r.min)) || h.Max() > int64(duration(r.max)) {
			t.Errorf("values from %d to %d, the server says from %d to %d", h.Min(), h.Max(), duration(r.min), duration(r.max))
		}
		for _, q := range []float64{.01, .25, .5, .75, .9, .95, .99, .999} {
			want, got := float64(quantile(values, q))/picosecondsPerNanosecond, float64(h.Quantile(q))
			if bound := max(.034*want, 10_000); math.Abs(got-want) > bound {
				t.Errorf("%v-quantile of %d values: got %v ns, want %v ± %v", q, r.count, got, want, bound)
			}
		}
	}
}

func TestRestartOfARowIsSeen(t *testing.T) {
	start := time.Unix(1e9, 0)
	before := row{count: 10, errors: 1, time: 1000, min: 5, max: 200, first: start}
	for _, c := range []struct {
		name   string
		change func(r *row)
		want   bool
	}{
		{"nothing changed", func(r *row) {}, false},
		{"more of everything", func(r *row) { r.count, r.errors, r.time, r.min, r.max, r.sums[1] = 20, 2, 2000, 4, 300, 7 }, false},
		{"fewer", func(r *row) { r.count = 9 }, true},
		{"first seen later", func(r *row) { r.count, r.first = 11, start.Add(time.Microsecond) }, true},
		{"the shortest is longer", func(r *row) { r.count, r.min = 11, 6 }, true},
		{"the longest is shorter", func(r *row) { r.count, r.max = 11, 199 }, true},
		{"fewer errors", func(r *row) { r.count, r.errors = 11, 0 }, true},
		{"a smaller sum", func(r *row) { r.count, r.sums[0] = 11, 1 }, true},
		{"less time", func(r *row) { r.count, r.time = 11, 999 }, true},
	} {
		was, now := before, before
		was.sums[0], now.sums[0] = 3, 3
		c.change(&now)
		if got := now.beganAfter(&was); got != c.want {
			t.Errorf("%s: got %v", c.name, got)
		}
	}
}

func TestSumOfTimesMayStartAgainFromZero(t *testing.T) {
	const second = 1_000_000_000_000
	was := &row{count: 1000, time: math.MaxUint64 - second + 1, max: 3 * second}
	now := &row{count: 1003, time: 2 * second, max: 3 * second}
	if now.beganAfter(was) {
		t.Fatal("taken for a row that was made anew")
	}
	if c := New(nil).counts(key{}, now, was); c.TotalTime != 3*time.Second || c.Count != 3 {
		t.Errorf("got %d statements and %v, want 3 and 3s", c.Count, c.TotalTime)
	}
}

func TestExtremesWithoutHistogram(t *testing.T) {
	const ms = 1_000_000_000
	for _, c := range []struct {
		name        string
		before, now row
		min, max    time.Duration
	}{
		{"new", row{}, row{count: 5, time: 50 * ms, min: 1 * ms, max: 40 * ms}, time.Millisecond, 40 * time.Millisecond},
		{"new, one", row{}, row{count: 1, time: 40 * ms, min: 40 * ms, max: 40 * ms}, 40 * time.Millisecond, 40 * time.Millisecond},
		{"longer than before", row{count: 5, time: 50 * ms, min: 1 * ms, max: 40 * ms}, row{count: 8, time: 130 * ms, min: 1 * ms, max: 60 * ms}, 10 * time.Millisecond, 60 * time.Millisecond},
		{"within what was before", row{count: 5, time: 50 * ms, min: 1 * ms, max: 40 * ms}, row{count: 9, time: 90 * ms, min: 1 * ms, max: 40 * ms}, 10 * time.Millisecond, 10 * time.Millisecond},
	} {
		n, total := c.now.count-c.before.count, duration(c.now.time-c.before.time)
		h := c.now.extremes(&c.before, n, total)
		if h.Observed() != n || h.Sum() != float64(total) || h.Min() != int64(c.min) || h.Max() != int64(c.max) {
			t.Errorf("%s: got %d values of sum %v from %v to %v; want %d, %v, %v, %v", c.name,
				h.Observed(), time.Duration(h.Sum()), time.Duration(h.Min()), time.Duration(h.Max()), n, total, c.min, c.max)
		}
	}
}

func TestDigestsAreOfTheClassOfTheirStatements(t *testing.T) {
	long := "SELECT name FROM t WHERE note = 'aaaaaaaaaaaa..."
	for _, c := range []struct{ text, sample, statement string }{
		{"SELECT * FROM `t` WHERE `id` IN (...) ", "", "select * from t where id in (1,2,3)"},
		{"INSERT INTO `t` VALUES (...) /* , ... */ ", "", "insert into t values (1,2),(3,4)"},
		{"SELECT `a` . `b` FROM `shop` . `a` LIMIT ?, ... ", "", "select a.b from shop.a limit 5,10"},
		{"SELECT COUNT ( * ) FROM `t` WHERE `a` = - ? ", "", "SELECT COUNT(*) FROM t WHERE a = -1"},
		{"SELECT `concat` (...)", "select concat('a', 'b', 'c')", "select concat('d', 'e', 'f')"},
		{"SELECT NAME FROM `t` WHERE `note` = ? AND `id` = ?", long, "SELECT name FROM t WHERE note = 'aaaaaaaaaaaaaaa' AND id = 7"},
	} {
		got := New(nil).text(key{}, &row{text: c.text, sample: c.sample})
		if g, w := digest.Fingerprint(got), digest.Fingerprint(c.statement); g != w {
			t.Errorf("%s\n got %s\nwant %s", c.text, g, w)
		}
	}
	p := New(nil)
	p.joined["d1"] = "select 1 from joined"
	if got := p.text(key{digest: sql.NullString{String: "d1", Valid: true}}, &row{sample: "select 2"}); got != "select 1 from joined" {
		t.Errorf("a digest that was joined has the text %q", got)
	}
}

func TestWhatIsDoneWithAPreparedStatementIsToldFromIt(t *testing.T) {
	for _, tt := range []struct{ text, sample, command, want string }{
		{"SELECT ?", "SELECT 1", "", "SELECT ?"},
		{"PREPARE SELECT ?", "SELECT ?", "Prepare", "SELECT ?"},
		{"EXECUTE SELECT ?", "SELECT ?", "", "SELECT ?"},
		{"EXECUTE SELECT ?", "", "", "SELECT ?"},
		{"DEALLOCATE ( SELECT ? )", "", "Close stmt", "( SELECT ? )"},
		{"PREPARE `s` FROM ?", "PREPARE s FROM 'SELECT 1'", "", "PREPARE `s` FROM ?"},
		{"PREPARE NAMES FROM ?", "prepare names FROM 'SELECT 1'", "", "PREPARE NAMES FROM ?"},
		{"EXECUTE `s`", "", "", "EXECUTE `s`"},
		{"EXECUTE IMMEDIATE ?", "", "", "EXECUTE IMMEDIATE ?"},
		{"DEALLOCATE PREPARE `s`", "", "", "DEALLOCATE PREPARE `s`"},
		{"", "", "", ""},
	} {
		r := row{text: tt.text, sample: tt.sample}
		if command, text := r.prepared(); command != tt.command || text != tt.want {
			t.Errorf("%q of %q: got %q and %q, want %q and %q", tt.text, tt.sample, command, text, tt.command, tt.want)
		}
	}
}
