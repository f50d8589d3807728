package requestlog

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestPublicSamples reads other projects' sample logs, of which the number of
// requests is known, where they are at hand.
func TestPublicSamples(t *testing.T) {
	const dir = "../../../shared/samples/public"
	index, err := os.Open(filepath.Join(dir, "INDEX.tsv"))
	if err != nil {
		t.Skip("the collection of public sample logs is not here")
	}
	defer index.Close()
	for sc := bufio.NewScanner(index); sc.Scan(); {
		cols := strings.Split(sc.Text(), "\t")
		name, ok := strings.CutPrefix(cols[0], "request/")
		if !ok {
			continue
		}
		want, err := strconv.Atoi(cols[7])
		if err != nil {
			want = 0
		}
		t.Run(name, func(t *testing.T) {
			f, err := os.Open(filepath.Join(dir, cols[0]))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			r := NewReader(f)
			switch name {
			case "netdata__go.d.plugin__custom_time_fields.log":
				r.Template = "$request_time $upstream_response_time"
			case "elastic__beats__gitlab-production_json.json":
				want = 0 // the object lacks a comma
			}
			if name, ok := strings.CutPrefix(name, "wvanbergen__request-log-analyzer__"); ok && name != "sinatra.log" {
				// Several lines of prose a request: no format of this package.
				if _, err := r.Read(); !errors.Is(err, ErrFormat) {
					t.Errorf("error %v, want ErrFormat", err)
				}
				return
			}
			reqs, damage := readAll(t, r)
			if len(reqs) != want {
				format, m := r.Recognized()
				t.Errorf("%d requests, want %d; %s read as %v; damage %v", len(reqs), want, format, m, damage)
			}
		})
	}
}
