package requestlog_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"strings"

	"github.com/quern-dev/quern/slowlog/requestlog"
)

func ExampleReader() {
	const access = `time:2026-11-30T10:00:00Z	method:GET	uri:/product/17	status:200	reqtime:0.310	mysql_time:0.240	mysql_calls:12
time:2026-11-30T10:00:01Z	method:GET	uri:/search?q=shoes	status:200	reqtime:1.250	sphinx_time:0.900
`
	r := requestlog.NewReader(strings.NewReader(access))
	for req, err := range r.All() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(req.Page, req.Wall, req.Waits, req.Lost())
	}
	fmt.Println(r.Recognized())
	// Output:
	// /product/{n} 310ms [{mysql 240ms 12}] 70ms
	// /search 1.25s [{sphinx 900ms 0}] 350ms
	// ltsv time=time,method=method,url=uri,status=status,wall=reqtime:s,wait.mysql=mysql_time:s,calls.mysql=mysql_calls,wait.sphinx=sphinx_time:s
}

func ExampleReader_nginx() {
	const access = `192.0.2.1 [30/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 0.310 0.010, 0.290` + "\n"
	r := requestlog.NewReader(strings.NewReader(access))
	r.Template = `$remote_addr [$time_local] "$request" $status $request_time $upstream_response_time`
	req, err := r.Read()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(req.Time, req.URL, req.Wall, req.Waits)
	// Output: 2026-11-30 10:00:00 +0000 UTC /a 310ms [{upstream 300ms 2}]
}

func ExampleParseMapping() {
	m, err := requestlog.ParseMapping("wall=rt:ms,wait.api=remote:us")
	if err != nil {
		log.Fatal(err)
	}
	r := requestlog.NewReader(strings.NewReader("page:cart\trt:120\tremote:80000\n"))
	r.Mapping = m
	req, err := r.Read()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(req.Page, req.Wall, req.Waits)
	// Output: cart 120ms [{api 80ms 0}]
}

func ExampleRoutes() {
	rules, err := requestlog.ParseRoutes("search=/find/**")
	if err != nil {
		log.Fatal(err)
	}
	routes := requestlog.Routes{Rules: rules}
	fmt.Println(routes.Page("GET", "/find/shoes?page=2"))
	fmt.Println(routes.Page("GET", "/product/17/reviews"))
	// Output:
	// search
	// /product/{n}/reviews
}

// A table without a header line, as SELECT … INTO OUTFILE writes it.
func ExampleReader_columns() {
	r := requestlog.NewReader(strings.NewReader("2026-11-30 10:00:00\tcart\t120\t80\n"))
	r.Format = requestlog.TSV
	r.Columns = []string{"time", "page", "wall_ms", "wait_mysql_ms"}
	req, err := r.Read()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(req.Page, req.Wall, req.Waits)
	// Output: cart 120ms [{mysql 80ms 0}]
}

// A line that is about no request is skipped, and told.
func ExampleReader_damage() {
	r := requestlog.NewReader(strings.NewReader("{\"page\":\"cart\",\"wall_ms\":120}\n{\"page\":\n{\"page\":\"home\",\"wall_ms\":7}\n"))
	r.OnDamage = func(d requestlog.Damage) { fmt.Println("line", d.Line, "skipped") }
	for req, err := range r.All() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(req.Page, req.Wall)
	}
	// Output:
	// cart 120ms
	// line 2 skipped
	// home 7ms
}

// Requests that the application logs into a table a day.
func ExampleTable() {
	var db *sql.DB

	_ = func(ctx context.Context) error {
		t := requestlog.Table{DB: db, Name: "stats.requests_20261130"}
		for req, err := range t.All(ctx) {
			if err != nil {
				return err
			}
			fmt.Println(req.Page, req.Wall, req.Waits)
		}
		fmt.Println(t.Recognized()) // which column was taken for what
		return nil
	}
}
