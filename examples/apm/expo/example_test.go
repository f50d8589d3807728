package expo_test

import (
	"fmt"
	"time"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/examples/apm/expo"
)

func Example() {
	var d digest.Durations
	for _, v := range []time.Duration{0, 300 * time.Millisecond, 700 * time.Millisecond, 3 * time.Second} {
		d.Add(v)
	}
	b := expo.Of(&d, 0)
	fmt.Println(b.Zero, "of 0 s")
	for i, n := range b.Counts {
		fmt.Printf("%d above %g s up to %g s\n", n, b.Lower(b.Offset+i), b.Upper(b.Offset+i))
	}
	// Output:
	// 1 of 0 s
	// 1 above 0.25 s up to 0.5 s
	// 1 above 0.5 s up to 1 s
	// 0 above 1 s up to 2 s
	// 1 above 2 s up to 4 s
}
