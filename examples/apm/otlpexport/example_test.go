package otlpexport_test

import (
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/examples/apm/otlpexport"
)

func Example() {
	collector := digest.NewCollector(digest.CollectorOptions{})
	began := time.Now()
	collector.Observe(digest.Observation{SQL: "SELECT name FROM product WHERE id = 4711", Duration: 3 * time.Millisecond})
	profile := collector.Flush() // the host's ticker

	var file strings.Builder
	md := otlpexport.Metrics(profile, began, time.Now(), otlpexport.Options{System: "mysql"})
	if err := otlpexport.WriteLine(&file, md); err != nil {
		log.Fatal(err)
	}
	_, point, _ := strings.Cut(file.String(), `"db.query.summary","value":`)
	summary, _, _ := strings.Cut(point, ",")
	fmt.Println(md.DataPointCount(), "points of", summary)
	// Output:
	// 6 points of {"stringValue":"select product"}}
}
