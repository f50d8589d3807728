package slowlog_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quern-dev/quern/internal/loggen"
	"github.com/quern-dev/quern/slowlog"
)

// known is what a generated log says of each record.
type known struct {
	Time                                            time.Time
	Query, Command, User, Host, IP, Schema          string
	ThreadID                                        uint64
	QueryTime, LockTime                             time.Duration
	RowsSent, RowsExamined, RowsAffected, BytesSent uint64
	Errno                                           int
	Weight                                          float64
}

// Logs of every dialect, with look-alikes of records and with both line ends,
// hold exactly the records that were written.
func TestGeneratedLogsReadAsWritten(t *testing.T) {
	for _, dialect := range loggen.Dialects() {
		for _, hostile := range []bool{false, true} {
			for _, crlf := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v/hostile=%t/crlf=%t", dialect, hostile, crlf), func(t *testing.T) {
					var want []known
					var log bytes.Buffer
					truth, err := loggen.Generate(&log, loggen.Options{
						Dialect: dialect, Hostile: hostile, CRLF: crlf,
						Seed: 42, Events: 600, Gap: 50 * time.Millisecond, RateLimit: 10,
						OnRecord: func(r *loggen.Record) {
							q := string(r.Query)
							if crlf {
								q = strings.ReplaceAll(q, "\n", "\r\n")
							}
							want = append(want, known{
								r.Time, q, r.Command, r.User, r.Host, r.IP, r.Schema, r.ThreadID,
								r.QueryTime, r.LockTime, r.RowsSent, r.RowsExamined, r.RowsAffected, r.Bytes, r.Errno, float64(r.Weight),
							})
						},
					})
					if err != nil {
						t.Fatal(err)
					}
					for name, src := range map[string]io.Reader{
						"at once":    bytes.NewReader(log.Bytes()),
						"in pieces":  iotest.HalfReader(bytes.NewReader(log.Bytes())),
						"with error": iotest.DataErrReader(bytes.NewReader(log.Bytes())),
					} {
						r := slowlog.NewReader(src)
						r.Rate, r.AlwaysLog, r.ReuseEvent = 10, loggen.AlwaysLog, true
						var got []known
						schema := ""
						for ev, err := range r.All() {
							if err != nil {
								t.Fatal(err)
							}
							ev := ev.Clone()
							got = append(got, known{
								ev.Time, ev.Query, ev.Command, ev.User, ev.Host, ev.IP, ev.Schema, ev.ThreadID,
								ev.QueryTime, ev.LockTime, ev.RowsSent, ev.RowsExamined, ev.RowsAffected, ev.BytesSent, ev.Errno, ev.Weight,
							})
							// A command has no schema, and a log that says it by "use" alone
							// cannot tell.
							if last := &got[len(got)-1]; ev.Command != "" && ev.SchemaInherited && last.Schema == schema {
								last.Schema = ""
							} else {
								schema = last.Schema
							}
						}
						if diff := cmp.Diff(want, got); diff != "" {
							t.Errorf("%s, -written +read:\n%.3000s", name, diff)
						}
						if st := r.Stats(); st.Skipped() > 0 || st.Truncated > 0 || st.Bytes != truth.Bytes || uint64(st.Events) != truth.Total.Count {
							t.Errorf("%s: %+v", name, st)
						}
					}
				})
			}
		}
	}
}
