package explain

import (
	"os/exec"
	"strings"
	"testing"
)

// The driver is the choice of the program.
func TestThePackageImportsNoDriver(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").CombinedOutput()
	if err != nil {
		t.Skipf("go list: %v: %s", err, out)
	}
	for dep := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(dep, "github.com/go-sql-driver/") {
			t.Errorf("it imports %s", dep)
		}
	}
}
