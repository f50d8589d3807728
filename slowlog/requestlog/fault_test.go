package requestlog

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// Logs of 3,000 requests in each format.
func logsOfEachFormat() map[Format]string {
	head := map[Format]string{CSV: "page,wall_ms\n", TSV: "page\twall_ms\n", W3C: "#Fields: cs-uri-stem time-taken\n"}
	line := map[Format]string{
		JSON: `{"page":"p%d","wall_ms":%d}`, CSV: `"p%d",%d`, TSV: "p%d\t%d", LTSV: "page:p%d\twall_ms:%d", Logfmt: "page=p%d wall_ms=%d", W3C: "/p%d %d",
		Lines: `GET /p%d %d`,
	}
	logs := make(map[Format]string)
	for format, line := range line {
		text := head[format]
		for i := range 3000 {
			text += fmt.Sprintf(line+"\n", i%7, i)
		}
		logs[format] = text
	}
	return logs
}

func open(r io.Reader, format Format) *Reader {
	reader := NewReader(r)
	if reader.Format = format; format == Lines {
		reader.Template = "$request_method $uri $wall_ms"
	}
	return reader
}

func all(r *Reader) (requests []Request, err error) {
	for req, err := range r.All() {
		if err != nil {
			return requests, err
		}
		requests = append(requests, *req)
	}
	return requests, nil
}

func TestShortReadsChangeNothing(t *testing.T) {
	for format, log := range logsOfEachFormat() {
		want, err := all(open(strings.NewReader(log), format))
		if err != nil || len(want) != 3000 {
			t.Fatalf("%s: %d requests, %v", format, len(want), err)
		}
		for name, short := range map[string]func(io.Reader) io.Reader{
			"one byte": iotest.OneByteReader, "half": iotest.HalfReader, "data with the end": iotest.DataErrReader,
		} {
			got, err := all(open(short(strings.NewReader(log)), format))
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%s, %s: %v (-at once +so):\n%s", format, name, err, diff)
			}
		}
		got, err := all(open(iotest.TimeoutReader(iotest.HalfReader(strings.NewReader(log))), format))
		if !errors.Is(err, iotest.ErrTimeout) || len(got) > len(want) || !cmp.Equal(want[:len(got)], got) {
			t.Errorf("%s: a timeout gives %d requests and %v, want the first ones and the error", format, len(got), err)
		}
	}
}
