package digest

import (
	"encoding/json"
	"io"
	"time"
)

// jsonVersion is the value of the key "quern". Within a version keys are added,
// and none goes.
const jsonVersion = 1

// Times are null where the log does not tell them, time spans in seconds. The
// total time of the profile is that of the events, as logged; beside it stands
// what it comes to with their weights, as the total times of classes do.

type jsonProfile struct {
	Quern        int         `json:"quern"`
	Events       uint64      `json:"events"`
	Weight       float64     `json:"weight"`
	Skipped      uint64      `json:"skipped"`
	Filtered     uint64      `json:"filtered"`
	Classes      int         `json:"classes"`
	TotalTime    float64     `json:"total_time"`
	WeightedTime float64     `json:"weighted_time"`
	From         *time.Time  `json:"from"`
	To           *time.Time  `json:"to"`
	Threshold    float64     `json:"threshold"`
	WholeSeconds bool        `json:"whole_seconds"`
	Sampled      bool        `json:"sampled"`
	GroupedBy    string      `json:"grouped_by"`
	OrderedBy    string      `json:"ordered_by"`
	Queries      []jsonClass `json:"queries"`
	Overflow     *jsonClass  `json:"overflow"`
}

type jsonClass struct {
	Rank         int        `json:"rank"`
	ID           string     `json:"id"`
	Kind         string     `json:"kind"`
	PerconaIDs   []string   `json:"percona_ids"`
	Fingerprint  string     `json:"fingerprint"`
	Key          []string   `json:"key"`
	Verb         string     `json:"verb"`
	Tables       []string   `json:"tables"`
	Count        float64    `json:"count"`
	CountError   float64    `json:"count_error"`
	Observed     uint64     `json:"observed"`
	TotalTime    float64    `json:"total_time"`
	Share        float64    `json:"share"`
	Min          float64    `json:"min"`
	Max          float64    `json:"max"`
	Avg          float64    `json:"avg"`
	P50          float64    `json:"p50"`
	P95          float64    `json:"p95"`
	P99          float64    `json:"p99"`
	LockTime     float64    `json:"lock_time"`
	RowsExamined float64    `json:"rows_examined"`
	RowsSent     float64    `json:"rows_sent"`
	Errors       float64    `json:"errors"`
	FirstSeen    *time.Time `json:"first_seen"`
	LastSeen     *time.Time `json:"last_seen"`
	Sample       string     `json:"sample"`
	SampleSchema string     `json:"sample_schema"`
}

// WriteJSON writes the profile as one JSON object, with the n first classes by
// an order, all of them if n is not above 0, under "queries", and the overflow or
// null under "overflow". Time spans are seconds, times RFC 3339 or null. Within a
// version, which is the value of "quern", keys are added, and none goes. A
// measure that no event has is 0. The error is w's.
func (p *Profile) WriteJSON(w io.Writer, n int, by Order) error {
	j := jsonProfile{
		Quern:        jsonVersion,
		Events:       p.Events,
		Weight:       p.Count,
		Skipped:      p.Skipped,
		Filtered:     p.Filtered,
		Classes:      p.Len(),
		TotalTime:    float64(p.totals.logged) / 1e9,
		WeightedTime: p.TotalSeconds(),
		From:         jsonTime(p.From()),
		To:           jsonTime(p.To()),
		Threshold:    p.Threshold().Seconds(),
		WholeSeconds: p.WholeSeconds(),
		Sampled:      p.Sampled(),
		GroupedBy:    p.GroupedBy(),
		OrderedBy:    by.String(),
		Queries:      []jsonClass{},
	}
	for i, c := range p.Top(n, by) {
		j.Queries = append(j.Queries, p.jsonClass(c, i+1))
	}
	if p.overflow != nil {
		c := p.jsonClass(p.overflow, 0)
		j.Overflow = &c
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(j)
}

func (p *Profile) jsonClass(c *Class, rank int) jsonClass {
	t := &c.QueryTime
	j := jsonClass{
		Rank:         rank,
		ID:           c.ID.String(),
		Kind:         c.Kind.String(),
		PerconaIDs:   orEmpty(c.PerconaIDs()),
		Fingerprint:  c.Fingerprint,
		Key:          orEmpty(c.Key()),
		Verb:         c.Verb,
		Tables:       orEmpty(c.Tables),
		Count:        c.Count,
		CountError:   c.CountError(),
		Observed:     c.Observed,
		TotalTime:    t.Seconds(),
		Share:        p.Share(c),
		Min:          t.Min().Seconds(),
		Max:          t.Max().Seconds(),
		Avg:          t.h.Mean() / 1e9,
		P50:          t.Quantile(.50).Seconds(),
		P95:          t.Quantile(.95).Seconds(),
		P99:          t.Quantile(.99).Seconds(),
		LockTime:     c.LockTime.Seconds(),
		RowsExamined: c.RowsExamined.Sum(),
		RowsSent:     c.Summary(RowsSent).Sum(),
		Errors:       c.ErrorCount(),
		FirstSeen:    jsonTime(c.FirstSeen()),
		LastSeen:     jsonTime(c.LastSeen()),
	}
	if s := c.Sample(); s != nil {
		j.Sample, j.SampleSchema = s.Query, s.Schema
	}
	return j
}

func jsonTime(t time.Time) *time.Time {
	if t.IsZero() || t.Year() > 9999 || t.Year() < 0 {
		return nil
	}
	return &t
}

func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
