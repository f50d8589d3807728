package digest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/quern-dev/quern/internal/lexer"
	"github.com/quern-dev/quern/slowlog"
)

// samplesDir holds logs and SQL files of other projects, where they are at hand.
const samplesDir = "../../shared/samples"

// sampleStatements returns the statements of the samples, each once.
func sampleStatements(t *testing.T) []string {
	t.Helper()
	statements := readSamples()
	if len(statements) == 0 {
		t.Skipf("no samples under %s", samplesDir)
	}
	return statements
}

var readSamples = sync.OnceValue(func() (statements []string) {
	seen := make(map[string]bool)
	add := func(sql string) {
		if sql = strings.TrimSpace(sql); sql != "" && !seen[sql] && !strings.Contains(sql, "\x00") {
			seen[sql] = true
			statements = append(statements, strings.Clone(sql))
		}
	}
	for _, pattern := range []string{"pt-slowlogs/*", "go-mysql-slowlogs/*", "public/slow/*.log", "servers/slow/*/*"} {
		files, _ := filepath.Glob(filepath.Join(samplesDir, pattern))
		for _, file := range files {
			f, err := os.Open(file)
			if err != nil {
				continue
			}
			for ev, err := range slowlog.NewReader(f).All() {
				if err != nil {
					break
				}
				add(ev.Query)
			}
			f.Close()
		}
	}
	files, _ := filepath.Glob(filepath.Join(samplesDir, "public/sql/*"))
	more, _ := filepath.Glob(filepath.Join(samplesDir, "servers/queries/*/*"))
	for _, file := range append(files, more...) {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		text := string(data)
		switch filepath.Ext(file) {
		case ".sql":
			if strings.Contains(file, "identity") { // a statement a line
				for line := range strings.Lines(text) {
					add(line)
				}
				continue
			}
			for _, sql := range split(text) {
				add(sql)
			}
		case ".jsonl":
			for line := range bytes.Lines(data) {
				var c struct{ Input, SQL string }
				if json.Unmarshal(line, &c) == nil {
					add(c.Input)
					add(c.SQL)
				}
			}
		}
	}
	return statements
})

// split cuts a script at its semicolons.
func split(script string) (statements []string) {
	var l lexer.Lexer
	l.Init(script, 0)
	start := 0
	for {
		t := l.Next()
		if t.Kind == lexer.EOF {
			return append(statements, script[start:])
		}
		if t.Kind == lexer.Op && script[t.Start] == ';' {
			statements = append(statements, script[start:t.Start])
			start = t.End
		}
	}
}
