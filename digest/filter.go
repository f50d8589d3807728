package digest

import (
	"slices"
	"strings"
	"time"

	"github.com/quern-dev/quern/slowlog"
)

// A Filter says which events count. Each is judged by itself: one that comes
// out of order is in or out by its own time. The zero Filter lets all pass.
type Filter struct {
	Since time.Time // events of this time or later
	Until time.Time // events before this time

	Schemas []string // events of one of these default schemas
	Users   []string // events of one of these users
	Verbs   []string // statements of one of these verbs, in any case of letters
	// Tables lets pass statements that name at least one of these tables, with
	// or without the schema before it, in any case of letters.
	Tables []string

	MinTime time.Duration // events that took at least as long
	MaxTime time.Duration // events that took at most as long, if it is not 0

	// Func lets pass what it returns true for. It must not keep the event.
	Func func(ev *slowlog.Event) bool
}

// pass judges by all but verb and tables. An event whose time is not known does
// not pass a filter by time.
func (f *Filter) pass(ev *slowlog.Event) bool {
	switch {
	case !f.Since.IsZero() && (ev.Time.IsZero() || ev.Time.Before(f.Since)),
		!f.Until.IsZero() && (ev.Time.IsZero() || !ev.Time.Before(f.Until)),
		len(f.Schemas) > 0 && !slices.Contains(f.Schemas, ev.Schema),
		len(f.Users) > 0 && !slices.Contains(f.Users, ev.User),
		ev.QueryTime < f.MinTime,
		f.MaxTime > 0 && ev.QueryTime > f.MaxTime:
		return false
	}
	return f.Func == nil || f.Func(ev)
}

// ofStatement reports whether the filter asks for verb or tables.
func (f *Filter) ofStatement() bool { return len(f.Verbs) > 0 || len(f.Tables) > 0 }

// passStatement judges by verb and tables.
func (f *Filter) passStatement(st *statement) bool {
	if len(f.Verbs) > 0 && !slices.ContainsFunc(f.Verbs, func(v string) bool { return strings.EqualFold(v, st.verb) }) {
		return false
	}
	return len(f.Tables) == 0 || slices.ContainsFunc(st.tables, func(t string) bool {
		_, bare, _ := strings.Cut(t, ".")
		return slices.ContainsFunc(f.Tables, func(want string) bool {
			return strings.EqualFold(want, t) || bare != "" && strings.EqualFold(want, bare)
		})
	})
}
