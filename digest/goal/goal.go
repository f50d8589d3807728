package goal

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/quern-dev/quern/slowlog/requestlog"
)

// A Goal is one limit for one kind of request: at least Percentile of the requests
// take less than Limit.
type Goal struct {
	// Page is the page that the goal is about, such as search or /product/{n}; a *
	// in it stands for any text, and "*" alone for every page. It is held against
	// requestlog.Request.Page: where the log names no page that is the path, as
	// requestlog.Routes has it, /search with its slash.
	Page string

	// Segment restricts the goal to requests that fulfil every condition.
	Segment []Condition

	Percentile float64 // in percent, above 0 and below 100
	Limit      time.Duration
}

// A Condition compares an attribute of a request (requestlog.Request.Attr).
type Condition struct {
	Attr  string
	Op    string // = != < <= > >=; with the order operators numbers are compared
	Value string
}

// String writes the goal in the form that Parse reads: search{user=bot}:p95<1s.
func (g Goal) String() string { return g.Name() + ":" + g.LimitName() }

// Name returns whom the goal is about: search{user=bot}.
func (g Goal) Name() string {
	if len(g.Segment) == 0 {
		return g.Page
	}
	conds := make([]string, len(g.Segment))
	for i, c := range g.Segment {
		conds[i] = c.Attr + c.Op + c.Value
	}
	return g.Page + "{" + strings.Join(conds, ",") + "}"
}

// LimitName returns what the goal asks: p95<1s.
func (g Goal) LimitName() string {
	limit := g.Limit.String()
	if strings.HasSuffix(limit, "m0s") {
		limit = strings.TrimSuffix(limit, "0s")
	}
	if strings.HasSuffix(limit, "h0m") {
		limit = strings.TrimSuffix(limit, "0m")
	}
	return "p" + strconv.FormatFloat(g.Percentile, 'f', -1, 64) + "<" + limit
}

// quantile is the share of requests that has to meet the goal.
func (g Goal) quantile() float64 { return g.Percentile / 100 }

// allowed is the share of requests that may miss the goal.
func (g Goal) allowed() float64 { return (100 - g.Percentile) / 100 }

// Matches says whether the goal is about the request.
func (g Goal) Matches(r *requestlog.Request) bool {
	if !matchGlob(g.Page, r.Page) {
		return false
	}
	for i := range g.Segment {
		if !g.Segment[i].matches(r) {
			return false
		}
	}
	return true
}

func (c *Condition) matches(r *requestlog.Request) bool {
	v, ok := r.Attr(c.Attr)
	switch c.Op {
	case "=":
		return ok && v == c.Value
	case "!=":
		return v != c.Value
	}
	x, err := strconv.ParseFloat(v, 64)
	y, err2 := strconv.ParseFloat(c.Value, 64)
	if err != nil || err2 != nil {
		return false
	}
	switch c.Op {
	case "<":
		return x < y
	case "<=":
		return x <= y
	case ">":
		return x > y
	case ">=":
		return x >= y
	}
	return false
}

// matchGlob matches a pattern in which * stands for any text.
func matchGlob(pattern, s string) bool {
	prefix, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == s
	}
	if !strings.HasPrefix(s, prefix) {
		return false
	}
	s = s[len(prefix):]
	for {
		part, more, star := strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(s, part)
		}
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s, rest = s[i+len(part):], more
	}
}

// Parse reads goals from text:
//
//	search:p95<1s,p99<3s
//	search{user=bot}:p95<5s; *:p99<2s
//	gallery{images>100000,kind!=staff}:p99.9<4s
//
// Several limits of one kind of request are separated by commas, kinds of request
// by commas, semicolons or blanks. Durations are written as for time.ParseDuration.
// The error says at which byte, from 1, the text is wrong, and what it wants there.
func Parse(text string) ([]Goal, error) {
	var goals []Goal
	p := parser{text: text}
	for {
		p.skip(",;")
		if p.rest() == "" {
			break
		}
		kind, err := p.kind()
		if err != nil {
			return nil, err
		}
		for {
			g := kind
			if err := p.limit(&g); err != nil {
				return nil, err
			}
			goals = append(goals, g)
			p.skip("")
			if !strings.HasPrefix(p.rest(), ",") || !isLimit(strings.TrimSpace(p.rest()[1:])) {
				break
			}
			p.skip(",")
		}
	}
	if len(goals) == 0 {
		return nil, p.error("no goal; want one such as search:p95<1s")
	}
	return goals, nil
}

type parser struct {
	text string
	i    int
}

func (p *parser) rest() string { return p.text[p.i:] }

// skip leaves blanks behind, which are unicode's everywhere in a goal, and the
// separators.
func (p *parser) skip(separators string) {
	rest := strings.TrimLeftFunc(p.rest(), func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(separators, r)
	})
	p.i = len(p.text) - len(rest)
}

func (p *parser) error(what string) error {
	const most = 80
	text := p.text
	if len(text) > most { // what stands around the place will do
		from := max(0, min(p.i-most/2, len(text)-most))
		text = text[from:min(len(text), from+most)]
	}
	return fmt.Errorf("goal: %q, at byte %d: %s", text, p.i+1, what)
}

// kind reads page{conditions}: and leaves the rest.
func (p *parser) kind() (Goal, error) {
	var g Goal
	end := pageEnd(p.rest())
	if end >= 0 && (p.rest()[end] == '{' || p.rest()[end] == ':') {
		g.Page = strings.TrimSpace(p.rest()[:end])
	}
	if g.Page == "" {
		return g, p.error("want a page and a colon, as in search:p95<1s")
	}
	p.i += end
	if p.text[p.i] == '{' {
		p.i++
		end := strings.IndexByte(p.rest(), '}')
		if end < 0 {
			return g, p.error("want a } after the conditions")
		}
		for cond := range strings.SplitSeq(p.rest()[:end], ",") {
			c, ok := parseCondition(cond)
			if !ok {
				return g, p.error("want conditions such as user=bot or images>1000, where < and > compare numbers")
			}
			g.Segment = append(g.Segment, c)
		}
		p.i += end + 1
	}
	if !strings.HasPrefix(p.rest(), ":") {
		return g, p.error("want a colon before the limits")
	}
	p.i++
	return g, nil
}

// pageEnd returns the index behind a page's name, -1 if the name does not end. Braces
// without a condition in them belong to the name: /product/{n}.
func pageEnd(s string) int {
	for i := 0; ; {
		end := strings.IndexAny(s[i:], "{:,;<")
		if end < 0 {
			return -1
		}
		if i += end; s[i] != '{' {
			return i
		}
		name, _, closed := strings.Cut(s[i:], "}")
		if !closed || strings.ContainsAny(name, "=!<>:,;") || name == "{" {
			return i
		}
		i += len(name) + 1
	}
}

func parseCondition(s string) (Condition, bool) {
	i := max(0, strings.IndexAny(s, "=!<>"))
	for _, op := range [...]string{"!=", "<=", ">=", "=", "<", ">"} {
		if value, ok := strings.CutPrefix(s[i:], op); ok {
			c := Condition{strings.TrimSpace(s[:i]), op, strings.TrimSpace(value)}
			if op[0] == '<' || op[0] == '>' {
				_, err := strconv.ParseFloat(c.Value, 64)
				return c, c.Attr != "" && err == nil
			}
			return c, c.Attr != "" && c.Value != ""
		}
	}
	return Condition{}, false
}

// isLimit says whether s begins with a limit: p, digits, <.
func isLimit(s string) bool {
	number, _, ok := strings.Cut(s, "<")
	if !ok || len(number) < 2 || number[0] != 'p' {
		return false
	}
	_, err := strconv.ParseFloat(number[1:], 64)
	return err == nil
}

func (p *parser) limit(g *Goal) error {
	p.skip("")
	if !isLimit(p.rest()) {
		return p.error("want a limit such as p95<1s")
	}
	number, rest, _ := strings.Cut(p.rest()[1:], "<")
	g.Percentile, _ = strconv.ParseFloat(number, 64)
	if !(g.Percentile > 0 && g.Percentile < 100) {
		return p.error("want a percentile above 0 and below 100")
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || r == ',' || r == ';' })
	if end < 0 {
		end = len(rest)
	}
	d, err := time.ParseDuration(rest[:end])
	if err != nil || d <= 0 {
		p.i += len(number) + 2
		return p.error("want a duration above 0 such as 1s or 250ms")
	}
	g.Limit = d
	p.i += 1 + len(number) + 1 + end
	return nil
}
