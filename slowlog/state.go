package slowlog

import "time"

// A State is where a Reader stands in its input, and what it knows there of the
// records to come. Stored, as JSON for example, it lets another Reader go on with
// the rest of the input.
type State struct {
	Offset int64     `json:"offset"`           // of the byte behind the last event
	Line   int64     `json:"line"`             // there, from 1
	Time   time.Time `json:"time,omitzero"`    // of the last "# Time" line
	Schema string    `json:"schema,omitempty"` // of the last "use" line

	// Stamped says that the log has a "SET timestamp" line in each record.
	Stamped bool `json:"stamped,omitempty"`
	// Within says that the last event's statement was longer than MaxStatement
	// and goes on; Open and Closed tell how it stands there.
	Within bool   `json:"within,omitempty"`
	Open   uint32 `json:"open,omitempty"`
	Closed bool   `json:"closed,omitempty"`
	// InLine says that the rest of a damaged line comes.
	InLine bool `json:"in_line,omitempty"`
	// Damaged says that the bytes before Offset were skipped as damage, of which
	// more may come.
	Damaged bool `json:"damaged,omitempty"`
}

// State returns where the Reader stands behind the last event.
func (r *Reader) State() State {
	s := &r.dec.state
	st := State{Offset: r.dec.base, Line: r.dec.line, Time: s.time, Schema: s.schema, Stamped: s.stamps, Within: s.cut, InLine: s.inLine, Damaged: r.dec.damageEnd == r.dec.base}
	if s.cut {
		st.Open, st.Closed = s.rest.Snapshot(), s.closed
	}
	return st
}

// Resume makes a Reader that has read nothing yet take its input for the rest of
// one behind st.Offset. The zero State is the start of an input.
func (r *Reader) Resume(st State) {
	r.dec.base, r.dec.line = st.Offset, max(st.Line, 1)
	r.dec.state = state{time: st.Time, schema: st.Schema, stamps: st.Stamped, cut: st.Within, closed: st.Closed, inLine: st.InLine}
	if st.Damaged {
		r.dec.damageEnd = st.Offset
	}
	if st.Within {
		r.dec.state.rest.Restore(st.Open)
	}
}
