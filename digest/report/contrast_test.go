package report_test

import (
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// schemes returns the colours that the stylesheet names, on a light screen, on a
// dark one and in print. The later blocks name those that differ.
func schemes(t *testing.T) map[string]map[string]string {
	t.Helper()
	css, err := os.ReadFile("page.css")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile(`:root \{[^}]*\}`).FindAll(css, -1)
	if len(blocks) != 3 {
		t.Fatalf("%d blocks of colours, want those of light, dark and print", len(blocks))
	}
	all := make(map[string]map[string]string)
	for i, name := range []string{"light", "dark", "print"} {
		all[name] = maps.Clone(all["light"])
		if i == 0 {
			all[name] = make(map[string]string)
		}
		for _, m := range regexp.MustCompile(`--([a-z0-9]+): #([0-9a-f]{3,6})\b`).FindAllSubmatch(blocks[i], -1) {
			all[name][string(m[1])] = string(m[2])
		}
	}
	return all
}

// contrast returns the contrast ratio of two colours by WCAG 2.2.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	luminance := func(hex string) float64 {
		if len(hex) == 3 {
			hex = fmt.Sprintf("%c%c%c%c%c%c", hex[0], hex[0], hex[1], hex[1], hex[2], hex[2])
		}
		rgb, err := strconv.ParseUint(hex, 16, 32)
		if err != nil || len(hex) != 6 {
			t.Fatalf("the colour %q: %v", hex, err)
		}
		linear := func(shift int) float64 {
			v := float64(rgb>>shift&0xff) / 255
			if v <= .04045 {
				return v / 12.92
			}
			return math.Pow((v+.055)/1.055, 2.4)
		}
		return .2126*linear(16) + .7152*linear(8) + .0722*linear(0)
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + .05) / (min(x, y) + .05)
}

func TestContrastIsThatOfTheStandard(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want float64
	}{{"000", "ffffff", 21}, {"fff", "ffffff", 1}, {"767676", "ffffff", 4.54}, {"ff0000", "fff", 4.00}} {
		if got := contrast(t, tt.a, tt.b); math.Abs(got-tt.want) > .005 {
			t.Errorf("%s on %s: %.3f, want %.2f", tt.a, tt.b, got, tt.want)
		}
	}
}

// Text has a contrast of 4.5 at least to all that it stands on, and what is drawn
// one of 3: level AA.
func TestColoursCanBeToldFromWhatIsBehindThem(t *testing.T) {
	const text, drawing = 4.5, 3
	for scheme, colour := range schemes(t) {
		check := func(name, behind string, least float64) {
			a, b := colour[name], colour[behind]
			if a == "" || b == "" {
				t.Errorf("%s: %s or %s is no colour", scheme, name, behind)
				return
			}
			if got := contrast(t, a, b); got < least {
				t.Errorf("%s: %s on %s has a contrast of %.2f, want %v", scheme, name, behind, got, least)
			}
		}
		for _, behind := range []string{"paper", "sheet"} {
			for _, name := range []string{"ink", "soft", "mark", "second", "warn", "link", "word", "value"} {
				check(name, behind, text)
			}
			for _, name := range []string{"column", "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7"} {
				check(name, behind, drawing)
			}
		}
		check("ink", "bar", text)
		check("mark", "column", 1.3) // lines that go on above the columns
	}
}
