package explain

import (
	"container/list"
	"errors"
	"sync"
	"time"

	"github.com/quern-dev/quern/digest"
)

// cache keeps plans and failures by class and schema, and counts explanations.
type cache struct {
	opts Options
	now  func() time.Time

	mu      sync.Mutex
	entries map[string]*list.Element
	order   *list.List // of *cached, oldest first
	tokens  float64    // explanations that may be sent at once
	filled  time.Time
}

type cached struct {
	key  string
	plan *Plan
	err  error
	at   time.Time
}

func newCache(o Options) *cache {
	return &cache{opts: o, now: time.Now, entries: make(map[string]*list.Element), order: list.New(), tokens: max(1, o.PerSecond)}
}

// do returns what is kept for the statement's class, or what explain gives.
func (c *cache) do(schema, sql string, m Mode, explain func() (*Plan, error)) (*Plan, error) {
	key := ""
	if c.opts.CacheFor > 0 {
		f := digest.Fingerprinter{Options: digest.FingerprintOptions{ANSIQuotes: m.ANSIQuotes, NoBackslashEscapes: m.NoBackslashEscapes}}
		key = schema + "\x00" + string(f.Append(nil, sql))
		if p, err, ok := c.get(key); ok {
			return p, err
		}
	}
	if !c.take() {
		return nil, ErrRate
	}
	p, err := explain()
	if key != "" && keepable(err) {
		c.put(key, p, err)
	}
	return p.copy(), err
}

// keepable tells the failures that the next try would meet too from those of
// the moment or of this one statement.
func keepable(err error) bool {
	var server *ServerError
	var hazard *HazardError
	return err == nil || errors.As(err, &server) && server.Number > 0 || errors.As(err, &hazard)
}

func (c *cache) get(key string) (*Plan, error, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok {
		return nil, nil, false
	}
	v := e.Value.(*cached)
	if c.now().Sub(v.at) > c.opts.CacheFor {
		c.order.Remove(e)
		delete(c.entries, key)
		return nil, nil, false
	}
	return v.plan.copy(), v.err, true
}

func (c *cache) put(key string, p *Plan, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[key]; ok {
		c.order.Remove(e)
	}
	c.entries[key] = c.order.PushBack(&cached{key, p, err, c.now()})
	for c.order.Len() > c.opts.CacheSize {
		oldest := c.order.Front()
		c.order.Remove(oldest)
		delete(c.entries, oldest.Value.(*cached).key)
	}
}

// take takes one explanation out of a bucket that Options.PerSecond fills.
func (c *cache) take() bool {
	if c.opts.PerSecond <= 0 {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if !c.filled.IsZero() {
		c.tokens = min(max(1, c.opts.PerSecond), c.tokens+now.Sub(c.filled).Seconds()*c.opts.PerSecond)
	}
	c.filled = now
	if c.tokens < 1 {
		return false
	}
	c.tokens--
	return true
}
