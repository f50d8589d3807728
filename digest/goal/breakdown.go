package goal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quern-dev/quern/internal/fixed"
	"github.com/quern-dev/quern/slowlog/requestlog"
)

// Names of the parts of the wall time that are no component.
const (
	CPU  = "cpu"
	Lost = "lost" // what nobody instrumented
)

// A Breakdown says where the wall time of some requests went.
type Breakdown struct {
	Requests float64 // weighted
	Observed uint64
	Wall     time.Duration // weighted sum, as all times here

	CPUUser, CPUSystem time.Duration

	// Parts holds the components, CPU and Lost, the largest first. Their shares
	// less Overlap's add up to 1.
	Parts []Part

	// Overlap is the time by which waits and processor time exceed the wall time
	// in requests that wait for several components at once, and OverlapRequests
	// the weighted number of those.
	Overlap         time.Duration
	OverlapRequests float64
}

// A Part is a component's part of the wall time.
type Part struct {
	Name       string
	Time       time.Duration
	Share      float64       // of the wall time
	PerRequest time.Duration // mean over all requests of the breakdown
	Calls      float64       // per request; 0 where the log does not say
}

// Share returns the share of the wall time of the part of that name.
func (b *Breakdown) Share(name string) float64 {
	for i := range b.Parts {
		if b.Parts[i].Name == name {
			return b.Parts[i].Share
		}
	}
	return 0
}

// String lists the shares: "sphinx 50.0%, mysql 24.0%, lost 16.0%, cpu 10.0%".
func (b Breakdown) String() string {
	s := make([]string, 0, len(b.Parts)+1)
	for _, p := range b.Parts {
		s = append(s, fmt.Sprintf("%s %.1f%%", p.Name, 100*p.Share))
	}
	if b.Overlap > 0 && b.Wall > 0 {
		s = append(s, fmt.Sprintf("overlap -%.1f%%", 100*float64(b.Overlap)/float64(b.Wall)))
	}
	return strings.Join(s, ", ")
}

// maxComponents bounds the components of one breakdown; more are one, other.
const maxComponents = 64

// OtherName collects what is beyond a bound: components, pages, segments.
const OtherName = "(other)"

// A breakdown adds up requests.
type breakdown struct {
	count
	wall, cpuUser, cpuSystem fixed.U128
	lost, overlap            fixed.U128
	overlapped               count
	parts                    map[string]*part
}

type part struct{ time, calls fixed.U128 }

func (b *breakdown) part(name string) *part {
	p := b.parts[name]
	if p != nil {
		return p
	}
	if b.parts == nil {
		b.parts = make(map[string]*part)
	}
	if len(b.parts) >= maxComponents {
		name = OtherName
		if p = b.parts[name]; p != nil {
			return p
		}
	}
	p = new(part)
	b.parts[strings.Clone(name)] = p
	return p
}

func (b *breakdown) add(r *requestlog.Request, w uint64) {
	b.count.add(w)
	b.wall.AddMul(uint64(r.Wall), w)
	b.cpuUser.AddMul(uint64(r.CPUUser), w)
	b.cpuSystem.AddMul(uint64(r.CPUSystem), w)
	for i := range r.Waits {
		p := b.part(r.Waits[i].Component)
		p.time.AddMul(uint64(r.Waits[i].Time), w)
		p.calls.AddMul(uint64(r.Waits[i].Calls), w)
	}
	if lost := r.Lost(); lost >= 0 {
		b.lost.AddMul(uint64(lost), w)
	} else {
		b.overlap.AddMul(uint64(-lost), w)
		b.overlapped.add(w)
	}
}

func (b *breakdown) merge(o *breakdown) {
	b.count.merge(&o.count)
	b.wall.Add(o.wall)
	b.cpuUser.Add(o.cpuUser)
	b.cpuSystem.Add(o.cpuSystem)
	b.lost.Add(o.lost)
	b.overlap.Add(o.overlap)
	b.overlapped.merge(&o.overlapped)
	for name, op := range o.parts {
		p := b.part(name)
		p.time.Add(op.time)
		p.calls.Add(op.calls)
	}
}

// sum returns the time of the part in all requests, in nanoseconds.
func (b *breakdown) sum(name string) float64 {
	switch name {
	case CPU:
		return float(b.cpuUser) + float(b.cpuSystem)
	case Lost:
		return float(b.lost)
	}
	if p := b.parts[name]; p != nil {
		return float(p.time)
	}
	return 0
}

// view returns the finished breakdown.
func (b *breakdown) view() Breakdown {
	v := Breakdown{
		Requests: b.weight(), Observed: b.observed, Wall: duration(b.wall),
		CPUUser: duration(b.cpuUser), CPUSystem: duration(b.cpuSystem),
		Overlap: duration(b.overlap), OverlapRequests: b.overlapped.weight(),
	}
	add := func(name string, sum fixed.U128, calls float64) {
		if sum == (fixed.U128{}) && calls == 0 {
			return
		}
		p := Part{Name: name, Time: duration(sum)}
		if wall := float(b.wall); wall > 0 {
			p.Share = float(sum) / wall
		}
		if v.Requests > 0 {
			p.PerRequest = time.Duration(float(sum) / v.Requests)
			p.Calls = calls / v.Requests
		}
		v.Parts = append(v.Parts, p)
	}
	cpu := b.cpuUser
	cpu.Add(b.cpuSystem)
	add(CPU, cpu, 0)
	add(Lost, b.lost, 0)
	for name, p := range b.parts {
		add(name, p.time, float(p.calls))
	}
	slices.SortFunc(v.Parts, func(a, b Part) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Name, b.Name))
	})
	return v
}
