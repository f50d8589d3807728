package digest

import (
	"bytes"
	"compress/gzip"
	"testing"

	"github.com/quern-dev/quern/internal/loggen"
)

// BenchmarkProfileSize reports what is sent by those who send a log's profile in
// place of the log. The time is that of making the binary form.
func BenchmarkProfileSize(b *testing.B) {
	packed := func(data []byte) float64 {
		var w bytes.Buffer
		z := gzip.NewWriter(&w)
		if _, err := z.Write(data); err != nil {
			b.Fatal(err)
		}
		if err := z.Close(); err != nil {
			b.Fatal(err)
		}
		return float64(w.Len())
	}
	for _, d := range []loggen.Dialect{loggen.Percona80, loggen.MySQL80, loggen.MariaDB} {
		b.Run(d.String(), func(b *testing.B) {
			log, _ := generated(b, loggen.Options{Dialect: d, Bytes: 32 << 20})
			a := Aggregator{Options: Options{Text: TextRedacted}}
			readAll(b, &a, log)
			p := a.Profile()
			var form []byte
			for b.Loop() {
				form = marshal(b, p)
			}
			b.ReportMetric(float64(p.Events), "events")
			b.ReportMetric(float64(p.Len()), "classes")
			b.ReportMetric(float64(len(log)), "log-B")
			b.ReportMetric(packed(log), "log-gz-B")
			b.ReportMetric(float64(len(form)), "profile-B")
			b.ReportMetric(packed(form), "profile-gz-B")
			b.ReportMetric(float64(len(form))/float64(p.Len()), "B/class")
		})
	}
}
