package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/quern-dev/quern/digest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	beam.Init()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

// TestPipelineEqualsOneProcess runs the pipeline on Prism over logs of all
// dialects, one of them compressed.
func TestPipelineEqualsOneProcess(t *testing.T) {
	const group = "schema,fingerprint"
	o, err := options(group, false)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var profiles []*digest.Profile
	for name, data := range logs(t, 200) {
		profiles = append(profiles, atOnce(t, data, o))
		if name == "mariadb-true" {
			data = compress(t, data)
		}
		write(t, dir, name+".log", data)
	}
	whole, err := digest.Merge(profiles...)
	if err != nil {
		t.Fatal(err)
	}
	want := binary(t, whole)
	for _, size := range []int64{3001, 20_011, 64 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "profile")
			// The globs name some logs twice: they count once.
			globs := []string{filepath.Join(dir, "*.log"), filepath.Join(dir, "m*.log")}
			if err := execute(context.Background(), Config{Globs: globs, Output: out, ShardSize: size, Group: group}); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(want, got) {
				p, err := decodeProfile(got)
				t.Errorf("%d bytes, one process makes %d: %d events of %d classes instead of %d of %d (%v)",
					len(got), len(want), p.Events, p.Len(), whole.Events, whole.Len(), err)
			}
		})
	}
}

func TestWithoutArgumentsTheSampleIsShown(t *testing.T) {
	var b bytes.Buffer
	if err := run(context.Background(), Config{ShardSize: 64 << 20}, &b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "the first 10 of ") {
		t.Errorf("the report is %.500q", b.String())
	}
}

func TestWhatCannotBeReadIsAnError(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{Globs: []string{filepath.Join(dir, "none.log")}, ShardSize: 1000}, "none.log"},
		{Config{Globs: []string{write(t, dir, "text", []byte("some\ntext\n"))}, ShardSize: 1000}, "no event"},
		{Config{Globs: []string{write(t, dir, "page", []byte("<html>\n"))}, ShardSize: 1000}, "HTML page"},
		{Config{Globs: []string{"x"}}, "-shard"},
		{Config{Globs: []string{"x"}, ShardSize: 1000, Group: "colour"}, "colour"},
	} {
		if err := run(context.Background(), c.config, new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("the error is %v, expected one of %q", err, c.want)
		}
	}
}
