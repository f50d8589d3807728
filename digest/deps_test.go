package digest

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The core asks nothing of the world but the standard library, and arrows between
// packages point one way.
func TestImports(t *testing.T) {
	const module = "github.com/quern-dev/quern/"
	for pkg, allowed := range map[string][]string{
		"slowlog": {"slowlog"},
		"digest":  {"slowlog", "digest"},

		"digest/perfschema": {"slowlog", "digest", "digest/perfschema"},
	} {
		out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", module+pkg).Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		for _, dep := range strings.Fields(string(out)) {
			name, ours := strings.CutPrefix(dep, module)
			if !ours || !strings.HasPrefix(name, "internal/") && !slices.Contains(allowed, name) {
				t.Errorf("%s imports %s", pkg, dep)
			}
		}
	}
}
