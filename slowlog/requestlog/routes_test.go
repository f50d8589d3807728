package requestlog

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPathsBecomePagesByTheirLook(t *testing.T) {
	var r Routes
	for url, want := range map[string]string{
		"/":                                     "/",
		"":                                      "/",
		"/search?q=1":                           "/search",
		"/search/":                              "/search",
		"https://shop.example.com:443/cart#top": "/cart",
		"https://shop.example.com":              "/",
		"/product/17":                           "/product/{n}",
		"/product/17/reviews":                   "/product/{n}/reviews",
		"/o/6ba7b810-9dad-11d1-80b4-00c04fd430c8": "/o/{uuid}",
		"/blob/d41d8cd98f00b204e9800998ecf8427e":  "/blob/{hash}",
		"/blob/deadbeefdeadbeef":                  "/blob/{hash}",
		"/s/dQw4w9WgXcQ1234567890a":               "/s/{hash}",
		"/blog/how-to-tune-a-query":               "/blog/{slug}",
		"/blog/top-10-queries":                    "/blog/{slug}",
		"/terms-and-conditions":                   "/terms-and-conditions",
		"/archive/2026-11-30":                     "/archive/{n}",
		"/api/v2/users/ann@example.com":           "/api/v2/users/{slug}",
		"/index.php;jsessionid=1":                 "/index.php",
		"/caf%C3%A9/menu":                         "/{slug}/menu",
	} {
		if got := r.Page("GET", url); got != want {
			t.Errorf("%s: page %s, want %s", url, got, want)
		}
	}
}

func TestRulesComeBeforeTheLook(t *testing.T) {
	rules, err := ParseRoutes("search=/find/**,product=/product/{id},buy=POST /cart")
	if err != nil {
		t.Fatal(err)
	}
	r := Routes{Rules: rules, Func: func(method, path string) string {
		if path == "/health" {
			return "health"
		}
		return ""
	}}
	got := map[string]string{}
	for _, u := range []string{"GET /find/shoes/red", "GET /find", "GET /finder", "GET /product/x", "GET /product/x/y", "GET /product/", "POST /cart", "GET /cart", "GET /health"} {
		var method, url string
		fmt.Sscan(u, &method, &url)
		got[u] = r.Page(method, url)
	}
	want := map[string]string{
		"GET /find/shoes/red": "search", "GET /find": "search", "GET /finder": "/finder", "GET /product/x": "product",
		"GET /product/x/y": "/product/x/y", "GET /product/": "/product", "POST /cart": "buy", "GET /cart": "/cart", "GET /health": "health",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := ParseRoutes("search"); err == nil {
		t.Error("a rule without a pattern was accepted")
	}
}

func TestPagesAreBounded(t *testing.T) {
	r := Routes{MaxPages: 500}
	pages := map[string]int{}
	for i := range 5000 {
		pages[r.Page("GET", "/user/name"+string(rune('a'+i%26))+string(rune('a'+i/26%26))+string(rune('a'+i/676)))]++
	}
	if len(pages) != maxFanout+1 || pages["/user/{name}"] != 5000-maxFanout {
		t.Errorf("%d pages below one path, of them %d times /user/{name}; want %d", len(pages), pages["/user/{name}"], maxFanout+1)
	}
	for i := range 5000 {
		pages[r.Page("GET", fmt.Sprintf("/%c%c%c/x", 'g'+i%17, 'g'+i/17%17, 'g'+i/289))]++
	}
	if len(pages) > 501 || pages[OtherPage] == 0 {
		t.Errorf("%d pages, %d requests of others; want 501 and some", len(pages), pages[OtherPage])
	}
}
