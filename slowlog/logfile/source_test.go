package logfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/quern-dev/quern/slowlog"
)

func TestSourceReadsEveryKindThatServersWrite(t *testing.T) {
	const dir = "../../../shared/samples/servers/slow"
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no samples at " + dir + ": logs that real servers wrote")
	}
	for _, tt := range []struct {
		name   string
		kind   Kind
		events int
	}{
		{"mysql-9.7/over-50ms.log", SlowLog, 11},
		{"mysql-9.7/general.log", GeneralLog, 579},
		{"mysql-9.7/table.tsv", TableTSV, 452},
		{"mysql-9.7/table.csv", TableCSV, 452},
		{"mysql-9.7/table-vertical.txt", TableVertical, 120},
		{"mariadb-10.11/query-time-50ms.log", SlowLog, 15},
		{"mariadb-10.11/general.log", GeneralLog, 572},
		{"mariadb-10.11/table.tsv", TableTSV, 415},
		{"mariadb-10.11/table.csv", TableCSV, 415},
		{"mariadb-10.11/table-vertical.txt", TableVertical, 120},
	} {
		f, err := Open(filepath.Join(dir, tt.name))
		if err != nil {
			t.Error(err)
			continue
		}
		n := 0
		for _, err := range f.Source(slowlog.Options{}, func(d slowlog.Damage) { t.Errorf("%s: %v", tt.name, d) }).All() {
			if err != nil {
				t.Error(err)
			}
			n++
		}
		if f.Kind != tt.kind || n != tt.events {
			t.Errorf("%s: %s of %d events, want %s of %d", tt.name, f.Kind, n, tt.kind, tt.events)
		}
		f.Close()
	}
}
