package requestlog

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The formats that nginx writes at the same time, with what a Reader has to be told.
var nginxLogs = []struct{ name, format, escape, template string }{
	{"timed", `$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" rt=$request_time urt="$upstream_response_time" id=$request_id`, "default",
		`$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" rt=$request_time urt="$upstream_response_time" id=$request_id`},
	{"json", `{"time":"$time_iso8601","ip":"$remote_addr","method":"$request_method","uri":"$request_uri","status":$status,"bytes":$body_bytes_sent,"request_time":$request_time,"upstream_response_time":"$upstream_response_time","agent":"$http_user_agent","request_id":"$request_id"}`, "json", ""},
	{"ltsv", "time:$time_iso8601\thost:$remote_addr\tmethod:$request_method\turi:$request_uri\tstatus:$status\tsize:$body_bytes_sent\treqtime:$request_time\tupstream_response_time:$upstream_response_time\tua:$http_user_agent\trequest_id:$request_id", "default", ""},
}

// startNginx starts nginx before an upstream of two servers, of which the first does
// not answer, and returns its address and the directory of its logs.
func startNginx(t *testing.T, upstream string) (addr, dir string) {
	t.Helper()
	path, err := exec.LookPath("nginx")
	if err != nil {
		if path, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			t.Skip("nginx is not installed (Debian's package nginx)")
		}
	}
	dir = t.TempDir()
	free := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return l.Addr().String()
	}
	addr = free()
	var conf strings.Builder
	fmt.Fprintf(&conf, "daemon off; master_process off; pid %[1]s/pid; error_log %[1]s/error.log; events {}\nhttp {\n", dir)
	for _, what := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&conf, "%s_temp_path %s/%s;\n", what, dir, what)
	}
	for _, l := range nginxLogs {
		fmt.Fprintf(&conf, "log_format %s escape=%s '%s';\naccess_log %s/%s.log %s;\n", l.name, l.escape, l.format, dir, l.name, l.name)
	}
	fmt.Fprintf(&conf, "upstream app { server %s max_fails=0; server %s; }\nserver { listen %s; location / { proxy_pass http://app; } location /static/ { return 204; } }\n}\n",
		free(), upstream, addr)
	if err := os.WriteFile(filepath.Join(dir, "conf"), []byte(conf.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.Command(path, "-p", dir, "-c", filepath.Join(dir, "conf"))
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for range 200 {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			return addr, dir
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("nginx does not listen: %s", out.String())
	return "", ""
}

func TestNginxUnderLoadIsReadWithoutLoss(t *testing.T) {
	body := strings.Repeat("x", 5000)
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Duration(len(r.URL.Path)%4) * 5 * time.Millisecond)
		if strings.HasPrefix(r.URL.Path, "/missing") {
			w.WriteHeader(http.StatusNotFound)
		}
		io.WriteString(w, body[:len(r.URL.RawQuery)*7])
	}))
	defer app.Close()
	addr, dir := startNginx(t, strings.TrimPrefix(app.URL, "http://"))

	type tally struct {
		Requests, Bytes int64
		ByURL           map[string]int
		ByStatus        map[int]int
	}
	sent := tally{ByURL: map[string]int{}, ByStatus: map[int]int{}}
	var waited time.Duration
	var mu sync.Mutex
	var group sync.WaitGroup
	const clients, each = 6, 80
	for c := range clients {
		group.Go(func() {
			for i := range each {
				url := []string{"/search?q=a%20b&n=%d", "/product/%d", "/missing/%d?x", "/static/%d", `/odd/"%d"?q=\%%`, "/é/%d"}[(c+i)%6]
				url = strings.Replace(url, "%d", fmt.Sprint(i), 1)
				conn, err := net.Dial("tcp", addr)
				if err != nil {
					t.Error(err)
					return
				}
				begin := time.Now()
				fmt.Fprintf(conn, "GET %s HTTP/1.0\r\nHost: x\r\nUser-Agent: a \"quoted\"\tagent \\ %d\r\n\r\n", url, i)
				answer, err := io.ReadAll(conn)
				took := time.Since(begin)
				conn.Close()
				head, content, ok := bytes.Cut(answer, []byte("\r\n\r\n"))
				if err != nil || !ok {
					t.Errorf("%s: %v, answer %q", url, err, answer)
					return
				}
				var status int
				fmt.Sscanf(string(head), "HTTP/1.1 %d", &status)
				mu.Lock()
				sent.Requests++
				sent.Bytes += int64(len(content))
				sent.ByURL[url]++
				sent.ByStatus[status]++
				waited += took
				mu.Unlock()
			}
		})
	}
	group.Wait()

	var walls, upstreams []time.Duration
	for _, l := range nginxLogs {
		path := filepath.Join(dir, l.name+".log")
		var log []byte
		for range 200 { // nginx writes its line after the answer
			var err error
			if log, err = os.ReadFile(path); err != nil {
				t.Fatal(err)
			}
			if bytes.Count(log, []byte("\n")) >= clients*each {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		r := NewReader(bytes.NewReader(log))
		r.Template = l.template
		reqs, damage := readAll(t, r)
		if len(damage) > 0 {
			t.Errorf("%s: damage %v", l.name, damage)
		}
		got := tally{ByURL: map[string]int{}, ByStatus: map[int]int{}}
		var wall, upstream time.Duration
		retried := 0
		for _, req := range reqs {
			got.Requests++
			got.Bytes += req.Bytes
			got.ByURL[req.URL]++
			got.ByStatus[req.Status]++
			wall += req.Wall
			if req.Flags != 0 || req.ID == "" || req.Method != "GET" || req.IP != "127.0.0.1" || time.Since(req.Time) > time.Hour {
				t.Errorf("%s: odd request %+v", l.name, *req)
			}
			for _, w := range req.Waits {
				upstream += w.Time
				if w.Calls > 1 {
					retried++
				}
			}
			if agent := req.Attrs[0].Value; !strings.Contains(agent, `a "quoted"`) || !strings.Contains(agent, `agent \ `) {
				t.Errorf("%s: agent %q", l.name, agent)
			}
		}
		if diff := cmp.Diff(sent, got); diff != "" {
			t.Errorf("%s: %s", l.name, diff)
		}
		if retried == 0 {
			t.Errorf("%s: no request with a list of upstreams, though one of them refuses", l.name)
		}
		if wall > waited+clients*each*time.Millisecond || wall < waited/4 {
			t.Errorf("%s: %v in all, the clients waited %v", l.name, wall, waited)
		}
		walls, upstreams = append(walls, wall), append(upstreams, upstream)
	}
	if walls[0] != walls[1] || walls[0] != walls[2] || upstreams[0] != upstreams[1] || upstreams[0] != upstreams[2] || upstreams[0] == 0 {
		t.Errorf("the formats differ: wall times %v, upstream times %v", walls, upstreams)
	}
}
