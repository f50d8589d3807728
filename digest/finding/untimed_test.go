package finding

import (
	"testing"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/slowlog"
)

func TestWithoutQueryTimesNothingIsFast(t *testing.T) {
	var a digest.Aggregator
	for range 1000 {
		a.Add(&slowlog.Event{Query: "select a from b", Weight: 1})
	}
	r := Examine(a.Profile(), DefaultLimits())
	for _, f := range r.Findings {
		if f.Code == "frequent" {
			t.Errorf("of statements without times it is said that they are fast: %v", f)
		}
	}
}
