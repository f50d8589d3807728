//go:build race

package digest

// underRace tells that the race detector is on, under which sync.Pool forgets at
// random.
const underRace = true
