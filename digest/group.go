package digest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quern-dev/quern/slowlog"
)

// A Group is a part of what events are grouped by: a class is the statements for
// which all parts have the same value. The zero Group is ByFingerprint.
type Group struct {
	name string
	// What the part is made of: a value of the event, something that the
	// statement's fingerprint tells, or the statement's Percona ID.
	ofEvent     func(ev *slowlog.Event) string
	ofStatement func(st *statement) string
	percona     bool
}

// What events can be grouped by.
var (
	ByFingerprint Group // statements that differ in their literals alone
	BySchema      = Group{name: "schema", ofEvent: func(ev *slowlog.Event) string { return ev.Schema }}
	ByUser        = Group{name: "user", ofEvent: func(ev *slowlog.Event) string { return ev.User }}
	ByHost        = Group{name: "host", ofEvent: hostOf} // the address where the host has no name
	ByRoutine     = Group{name: "routine", ofEvent: func(ev *slowlog.Event) string { return ev.StoredRoutine }}
	ByTables      = Group{name: "tables", ofStatement: func(st *statement) string { return st.tableList }}
	ByVerb        = Group{name: "verb", ofStatement: func(st *statement) string { return st.verb }}
	// ByPerconaID groups as pt-query-digest does, for exact joins with what it
	// or PMM stored.
	ByPerconaID = Group{name: "percona_id", percona: true}
)

// GroupFunc returns a Group by a function of the event, under a name that tells
// it from others: profiles whose groups differ in name do not merge. The
// function must not keep the event.
func GroupFunc(name string, key func(ev *slowlog.Event) string) Group {
	return Group{name: name, ofEvent: key}
}

// String returns the group's name.
func (g Group) String() string {
	if g.isFingerprint() {
		return "fingerprint"
	}
	return g.name
}

func (g *Group) isFingerprint() bool {
	return g.ofEvent == nil && g.ofStatement == nil && !g.percona
}

func hostOf(ev *slowlog.Event) string {
	if ev.Host != "" {
		return ev.Host
	}
	return ev.IP
}

// ParseGroups reads the names of groups with commas between them, such as
// "schema,fingerprint".
func ParseGroups(s string) ([]Group, error) {
	known := []Group{ByFingerprint, BySchema, ByUser, ByHost, ByTables, ByVerb, ByRoutine, ByPerconaID}
	var groups []Group
	for name := range strings.SplitSeq(s, ",") {
		i := slices.IndexFunc(known, func(g Group) bool { return g.String() == strings.TrimSpace(name) })
		if i < 0 {
			var names []string
			for _, g := range known {
				names = append(names, g.String())
			}
			return nil, fmt.Errorf("digest: no group %q: want one or more of %s", name, strings.Join(names, ", "))
		}
		groups = append(groups, known[i])
	}
	return groups, nil
}
