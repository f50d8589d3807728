package report

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/quern-dev/quern/digest/goal"
)

// WriteJSON writes the report as one JSON object. Characters that a terminal could
// obey are written as \u escapes. Times are seconds as numbers,
// points of time RFC 3339 or null. More keys may come in later versions, none goes.
func (g *Goals) WriteJSON(w io.Writer) error {
	out := goalsJSON{
		Quern: 1, Requests: g.Stats.Requests, NoGoal: g.Stats.NoGoal, NoWall: g.Stats.NoWall, Absurd: g.Stats.Absurd,
		From: stamp(g.Stats.From), To: stamp(g.Stats.To), Queries: g.Stats.Queries, Notes: g.Notes, Goals: []goalJSON{},
	}
	for i := range g.Verdicts {
		out.Goals = append(out.Goals, verdictJSON(&g.Verdicts[i]))
	}
	b, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err = w.Write(append(escapeJSON(b), '\n'))
	return err
}

type goalsJSON struct {
	Quern    int        `json:"quern"`
	Requests uint64     `json:"requests"`
	NoGoal   uint64     `json:"no_goal"`
	NoWall   uint64     `json:"no_wall"`
	Absurd   uint64     `json:"absurd"`
	From     *time.Time `json:"from"`
	To       *time.Time `json:"to"`
	Queries  uint64     `json:"queries"`
	Notes    []string   `json:"notes,omitempty"`
	Goals    []goalJSON `json:"goals"`
}

type goalJSON struct {
	Goal         string                 `json:"goal"`
	Page         string                 `json:"page"`
	Segment      string                 `json:"segment,omitempty"`
	Percentile   float64                `json:"percentile"`
	Limit        float64                `json:"limit"`
	State        string                 `json:"state"`
	Requests     float64                `json:"requests"`
	Observed     uint64                 `json:"observed"`
	Attained     float64                `json:"attained"`
	AttainedLow  float64                `json:"attained_low"`
	AttainedHigh float64                `json:"attained_high"`
	Missing      missingJSON            `json:"missing"`
	Apdex        float64                `json:"apdex"`
	Breakdown    breakdownJSON          `json:"breakdown"`
	All          breakdownJSON          `json:"all"`
	Potential    []potentialJSON        `json:"potential"`
	Pages        []groupJSON            `json:"pages"`
	Segments     map[string][]groupJSON `json:"segments,omitempty"`
	Interval     float64                `json:"interval"`
	Series       []pointJSON            `json:"series"`
	Hiccups      []hiccupJSON           `json:"hiccups"`
	Samples      []sampleJSON           `json:"samples"`
	Queries      *queriesJSON           `json:"queries"`
}

type missingJSON struct {
	Requests  float64 `json:"requests"`
	Observed  uint64  `json:"observed"`
	Share     float64 `json:"share"`
	ShareLow  float64 `json:"share_low"`
	ShareHigh float64 `json:"share_high"`
}

type breakdownJSON struct {
	Requests        float64    `json:"requests"`
	Wall            float64    `json:"wall"`
	CPUUser         float64    `json:"cpu_user"`
	CPUSystem       float64    `json:"cpu_system"`
	Parts           []partJSON `json:"parts"`
	Overlap         float64    `json:"overlap"`
	OverlapRequests float64    `json:"overlap_requests"`
}

type partJSON struct {
	Name       string  `json:"name"`
	Time       float64 `json:"time"`
	Share      float64 `json:"share"`
	PerRequest float64 `json:"per_request"`
	Calls      float64 `json:"calls"`
}

type potentialJSON struct {
	Component string   `json:"component"`
	Share     float64  `json:"share"`
	Gone      gainJSON `json:"gone"`
	Tenth     gainJSON `json:"tenth"`
	Half      gainJSON `json:"half"`
}

type gainJSON struct {
	Requests float64 `json:"requests"`
	Share    float64 `json:"share"`
	Meets    bool    `json:"meets"`
}

type groupJSON struct {
	Name      string        `json:"name"`
	Requests  float64       `json:"requests"`
	Attained  float64       `json:"attained"`
	Missing   missingJSON   `json:"missing"`
	Breakdown breakdownJSON `json:"breakdown"`
}

type pointJSON struct {
	Start    time.Time  `json:"start"`
	Requests float64    `json:"requests"`
	Attained float64    `json:"attained"`
	Median   float64    `json:"median"`
	Missing  float64    `json:"missing"`
	Share    float64    `json:"share"`
	Parts    []partJSON `json:"parts"` // of all requests
}

type hiccupJSON struct {
	From      time.Time   `json:"from"`
	To        time.Time   `json:"to"`
	Requests  float64     `json:"requests"`
	Missing   missingJSON `json:"missing"`
	Usual     float64     `json:"usual"`
	Component string      `json:"component"`
	Rise      float64     `json:"rise"`
	Page      string      `json:"page"`
	Every     float64     `json:"every"`

	Statement     string  `json:"statement,omitempty"` // ID of its class
	Fingerprint   string  `json:"fingerprint,omitempty"`
	StatementTime float64 `json:"statement_time,omitempty"`
}

type sampleJSON struct {
	Time   *time.Time `json:"time"`
	ID     string     `json:"id"`
	Page   string     `json:"page"`
	Method string     `json:"method"`
	URL    string     `json:"url"`
	User   string     `json:"user"`
	Wall   float64    `json:"wall"`
}

type queriesJSON struct {
	Requests    float64          `json:"requests"`
	Joined      float64          `json:"joined"`
	Weak        float64          `json:"weak"`
	NoKey       float64          `json:"no_key"`
	NotFollowed float64          `json:"not_followed"`
	Logged      uint64           `json:"logged"`
	Tagged      uint64           `json:"tagged"`
	PerRequest  float64          `json:"per_request"`
	Time        float64          `json:"time"`
	Wall        float64          `json:"wall"`
	Wait        float64          `json:"wait"`
	Unexplained float64          `json:"unexplained"`
	Classes     []queryClassJSON `json:"classes"`
}

type queryClassJSON struct {
	ID          string  `json:"id"`
	Fingerprint string  `json:"fingerprint"`
	Time        float64 `json:"time"`
	Share       float64 `json:"share"`
	WallShare   float64 `json:"wall_share"`
	Requests    float64 `json:"requests"`
	PerRequest  float64 `json:"per_request"`
	Most        float64 `json:"most"`
	Repeated    bool    `json:"repeated"`
}

func stamp(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func verdictJSON(v *goal.Verdict) goalJSON {
	out := goalJSON{
		Goal: v.Goal.String(), Page: v.Goal.Page, Percentile: v.Goal.Percentile, Limit: v.Goal.Limit.Seconds(), State: v.State.String(),
		Requests: v.Requests, Observed: v.Observed, Attained: v.Attained.Value.Seconds(), AttainedLow: v.Attained.Low.Seconds(),
		AttainedHigh: v.Attained.High.Seconds(), Missing: missing(v.Missing), Apdex: v.Apdex,
		Breakdown: breakdown(&v.Breakdown), All: breakdown(&v.All), Potential: []potentialJSON{}, Pages: groupsJSON(v.Pages),
		Interval: v.Interval.Seconds(), Series: []pointJSON{}, Hiccups: []hiccupJSON{}, Samples: []sampleJSON{},
	}
	if name := v.Goal.Name(); name != v.Goal.Page {
		out.Segment = name[len(v.Goal.Page):]
	}
	for _, p := range v.Potential {
		out.Potential = append(out.Potential, potentialJSON{p.Component, p.Share, gainJSON(p.Gone), gainJSON(p.Tenth), gainJSON(p.Half)})
	}
	for attr, groups := range v.Segments {
		if out.Segments == nil {
			out.Segments = make(map[string][]groupJSON)
		}
		out.Segments[attr] = groupsJSON(groups)
	}
	for i := range v.Series {
		p := &v.Series[i]
		out.Series = append(out.Series, pointJSON{p.Start, p.Requests, p.Attained.Seconds(), p.Median.Seconds(), p.Missing.Requests, p.Missing.Share, partsJSON(p.All.Parts)})
	}
	for _, h := range v.Hiccups {
		hiccup := hiccupJSON{From: h.From, To: h.To, Requests: h.Requests, Missing: missing(h.Missing), Usual: h.Usual,
			Component: h.Component, Rise: h.Rise.Seconds(), Page: h.Page, Every: h.Every.Seconds()}
		if h.Fingerprint != "" {
			hiccup.Statement, hiccup.Fingerprint, hiccup.StatementTime = h.Statement.String(), h.Fingerprint, h.StatementTime.Seconds()
		}
		out.Hiccups = append(out.Hiccups, hiccup)
	}
	for _, r := range v.Samples {
		out.Samples = append(out.Samples, sampleJSON{stamp(r.Time), r.ID, r.Page, r.Method, r.URL, r.User, r.Wall.Seconds()})
	}
	if q := v.Queries; q != nil {
		out.Queries = &queriesJSON{q.Requests, q.Joined, q.Weak, q.NoKey, q.NotFollowed, q.Logged, q.Tagged, q.PerRequest, q.Time.Seconds(),
			q.Wall.Seconds(), q.Wait.Seconds(), q.Unexplained.Seconds(), []queryClassJSON{}}
		for _, c := range q.Classes {
			out.Queries.Classes = append(out.Queries.Classes, queryClassJSON{c.ID.String(), c.Fingerprint, c.Time.Seconds(), c.Share, c.WallShare,
				c.Requests, c.PerRequest, c.Most, c.Repeated})
		}
	}
	return out
}

func missing(m goal.Missing) missingJSON {
	return missingJSON{m.Requests, m.Observed, m.Share, m.Low, m.High}
}

func breakdown(b *goal.Breakdown) breakdownJSON {
	return breakdownJSON{b.Requests, b.Wall.Seconds(), b.CPUUser.Seconds(), b.CPUSystem.Seconds(), partsJSON(b.Parts), b.Overlap.Seconds(), b.OverlapRequests}
}

func partsJSON(parts []goal.Part) []partJSON {
	out := make([]partJSON, 0, len(parts))
	for _, p := range parts {
		out = append(out, partJSON{p.Name, p.Time.Seconds(), p.Share, p.PerRequest.Seconds(), p.Calls})
	}
	return out
}

func groupsJSON(groups []goal.Group) []groupJSON {
	out := make([]groupJSON, 0, len(groups))
	for i := range groups {
		g := &groups[i]
		out = append(out, groupJSON{g.Name, g.Requests, g.Attained.Seconds(), missing(g.Missing), breakdown(&g.Breakdown)})
	}
	return out
}
