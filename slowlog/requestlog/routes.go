package requestlog

import (
	"fmt"
	"strings"
)

// Routes makes pages of the paths of URLs. Rules come first, in their order, then
// Func, then the look of the path: segments that are numbers, UUIDs, hashes or
// slugs become {n}, {uuid}, {hash} and {slug}, so that /product/17 and /product/18
// are one page. The zero value is ready; it is not for concurrent use.
type Routes struct {
	// Rules are tried in order.
	Rules []Route

	// Func, if not nil, names the page of what no rule fits; "" leaves it to the
	// look of the path.
	Func func(method, path string) string

	// MaxPages bounds the number of pages made by the look of paths; what comes
	// after is the page OtherPage. 0 means 1000.
	MaxPages int

	pages   map[string]string
	fanout  map[string]int
	scratch []byte
}

// OtherPage is the page of the requests beyond MaxPages.
const OtherPage = "(other)"

// maxFanout is the number of different names below one path, each unlike an id,
// above which further names are taken for data: users, tags, titles.
const maxFanout = 100

// A Route gives a page to the paths that match a pattern.
type Route struct {
	Page string

	// Pattern is a path whose segments are literal, * or {name} for any one
	// segment, or, at its end, ** for any rest: /product/*/reviews, /static/**.
	// A method may stand before it: "GET /cart".
	Pattern string
}

// ParseRoutes reads rules such as "search=/find/**,product=/product/*".
func ParseRoutes(text string) ([]Route, error) {
	var routes []Route
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		page, pattern, ok := strings.Cut(part, "=")
		if !ok || page == "" || !strings.Contains(pattern, "/") {
			return nil, fmt.Errorf("requestlog: route %q: want page=/path/*", part)
		}
		routes = append(routes, Route{page, pattern})
	}
	return routes, nil
}

// Page returns the page of a request. The result is a string of its own, kept for
// all requests of the page.
func (r *Routes) Page(method, url string) string {
	path := pathOf(url)
	for i := range r.Rules {
		if r.Rules[i].matches(method, path) {
			return r.Rules[i].Page
		}
	}
	if r.Func != nil {
		if page := r.Func(method, path); page != "" {
			return page
		}
	}
	key := r.normalize(path)
	if page, ok := r.pages[string(key)]; ok {
		return page
	}
	max := r.MaxPages
	if max <= 0 {
		max = 1000
	}
	if len(r.pages) >= max {
		return OtherPage
	}
	if r.pages == nil {
		r.pages = make(map[string]string)
		r.fanout = make(map[string]int)
	}
	if key = r.crowded(key); r.pages[string(key)] == "" {
		page := string(key)
		r.pages[page] = page
	}
	return r.pages[string(key)]
}

// crowded replaces the last literal segment below a path that has too many.
func (r *Routes) crowded(key []byte) []byte {
	slash := strings.LastIndexByte(string(key), '/')
	if slash <= 0 || slash+1 == len(key) || key[slash+1] == '{' {
		return key
	}
	parent := string(key[:slash])
	if r.fanout[parent] >= maxFanout {
		return append(key[:slash+1], "{name}"...)
	}
	r.fanout[parent]++
	return key
}

// normalize writes the path with its ids replaced into r.scratch.
func (r *Routes) normalize(path string) []byte {
	b := r.scratch[:0]
	path = strings.TrimPrefix(path, "/")
	for more := true; more; {
		segment := path
		if i := strings.IndexByte(path, '/'); i >= 0 {
			segment, path = path[:i], path[i+1:]
		} else {
			more = false
		}
		b = append(append(b, '/'), segmentName(segment)...)
	}
	r.scratch = b
	return b
}

// segmentName returns the segment, or the name of what it looks like.
func segmentName(s string) string {
	var digits, hexes, letters, dashes, others int
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			hexes++
		case c|0x20 >= 'g' && c|0x20 <= 'z':
			letters++
		case c == '-' || c == '_' || c == '+':
			dashes++
		default:
			others++
		}
	}
	n := len(s)
	switch {
	case n == 0:
		return s
	case digits == n:
		return "{n}"
	case digits == n-1 && s[0]|0x20 == 'v': // the version of an interface
		return s
	case n == 36 && dashes == 4 && letters == 0 && others == 0:
		return "{uuid}"
	case n >= 8 && digits > 0 && digits+hexes == n,
		n >= 16 && hexes == n,
		n >= 16 && digits >= 3 && others == 0 && dashes <= 2 && letters+hexes > 0: // base64 and its kind
		return "{hash}"
	case digits > 0 && digits+dashes+others == n:
		return "{n}" // 2026-11-30, 1,5 and 12.5
	case digits > 0 && digits*2 >= n && letters+hexes <= 3:
		return "{n}" // a17, 17px
	case dashes >= 3, dashes >= 2 && digits > 0, n > 40:
		return "{slug}"
	case strings.IndexByte(s, '%') >= 0 || others > 0 && strings.IndexByte(s, '@') >= 0:
		return "{slug}"
	}
	return s
}

// pathOf cuts scheme and host before and the query behind a URL's path.
func pathOf(url string) string {
	for i := range len(url) {
		if c := url[i]; c == '?' || c == '#' || c == ';' {
			url = url[:i]
			break
		}
	}
	if url == "" {
		return "/"
	}
	if url[0] != '/' {
		if i := strings.Index(url, "://"); i >= 0 && i < 10 {
			url = url[i+3:]
			j := strings.IndexByte(url, '/')
			if j < 0 {
				return "/"
			}
			url = url[j:]
		}
	}
	for len(url) > 1 && url[len(url)-1] == '/' {
		url = url[:len(url)-1]
	}
	return url
}

func (rt *Route) matches(method, path string) bool {
	pattern := rt.Pattern
	if m, rest, ok := strings.Cut(pattern, " "); ok {
		if m != method {
			return false
		}
		pattern = rest
	}
	for {
		p, pRest, pMore := strings.Cut(pattern, "/")
		if p == "**" && !pMore {
			return true
		}
		s, sRest, sMore := strings.Cut(path, "/")
		if p != s && !(s != "" && (p == "*" || len(p) > 1 && p[0] == '{' && p[len(p)-1] == '}')) {
			return false
		}
		if pMore != sMore {
			return pMore && pRest == "**"
		}
		if !pMore {
			return true
		}
		pattern, path = pRest, sRest
	}
}
