package report_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quern-dev/quern/digest"
	"github.com/quern-dev/quern/digest/report"
	"github.com/quern-dev/quern/internal/loggen"
	"github.com/quern-dev/quern/slowlog"
)

// A browser is a headless Chromium with one page, driven by the DevTools protocol
// over a pipe.
type browser struct {
	t       *testing.T
	in      io.Writer
	session string

	mu      sync.Mutex
	next    int
	replies map[int]chan reply
	asked   []string // addresses that were asked for
	said    []string // by the console, and what scripts failed with
}

type reply struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// newBrowser starts a browser, or skips the test.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	if os.Getenv("QUERN_LONG") == "" {
		t.Skip("the browser test runs with QUERN_LONG=1")
	}
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			program = p
			break
		}
	}
	if program == "" {
		t.Skip("the browser test needs Chromium: apt-get install chromium, or put chromium or google-chrome on PATH")
	}
	// not t.TempDir: a browser's children may write behind its end
	profile, err := os.MkdirTemp("", "quern-browser-")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
		"--user-data-dir="+profile, "--remote-debugging-pipe")
	fromUs, toBrowser, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromBrowser, toUs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.ExtraFiles = []*os.File{fromUs, toUs} // file descriptors 3 and 4
	if err := cmd.Start(); err != nil {
		t.Skipf("%s does not start: %v", program, err)
	}
	fromUs.Close()
	toUs.Close()
	b := &browser{t: t, in: toBrowser, replies: make(map[int]chan reply)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.listen(fromBrowser)
	}()
	t.Cleanup(func() {
		b.session = ""
		b.call("Browser.close", nil, nil)
		<-done // it closes its end of the pipe
		cmd.Process.Kill()
		cmd.Wait()
		toBrowser.Close()
		fromBrowser.Close()
		for range 20 {
			if os.RemoveAll(profile) == nil {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
	})

	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// listen takes in what the browser says: replies and events, each ended by a 0.
func (b *browser) listen(r io.Reader) {
	in := bufio.NewReader(r)
	for {
		message, err := in.ReadBytes(0)
		if err != nil {
			b.mu.Lock()
			for _, c := range b.replies {
				close(c)
			}
			b.replies = nil
			b.mu.Unlock()
			return
		}
		var m struct {
			ID     int
			Method string
			Params struct {
				Request          struct{ URL string }
				Args             []struct{ Value any }
				ExceptionDetails struct{ Text string }
				Entry            struct{ Text string }
			}
			reply
		}
		if json.Unmarshal(message[:len(message)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		switch m.Method {
		case "":
			if c := b.replies[m.ID]; c != nil {
				c <- m.reply
				delete(b.replies, m.ID)
			}
		case "Network.requestWillBeSent":
			b.asked = append(b.asked, m.Params.Request.URL)
		case "Runtime.consoleAPICalled":
			b.said = append(b.said, fmt.Sprint(m.Params.Args))
		case "Runtime.exceptionThrown":
			b.said = append(b.said, m.Params.ExceptionDetails.Text)
		case "Log.entryAdded":
			b.said = append(b.said, m.Params.Entry.Text)
		}
		b.mu.Unlock()
	}
}

// call calls a method of the protocol.
func (b *browser) call(method string, params any, result any) {
	b.t.Helper()
	c := make(chan reply, 1)
	b.mu.Lock()
	b.next++
	id := b.next
	if b.replies == nil {
		b.mu.Unlock()
		b.t.Fatalf("%s: the browser has ended", method)
	}
	b.replies[id] = c
	b.mu.Unlock()
	m := map[string]any{"id": id, "method": method}
	if params != nil {
		m["params"] = params
	}
	if b.session != "" {
		m["sessionId"] = b.session
	}
	message, err := json.Marshal(m)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.in.Write(append(message, 0)); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	select {
	case r, ok := <-c:
		switch {
		case !ok:
			b.t.Fatalf("%s: the browser has ended", method)
		case r.Error != nil:
			b.t.Fatalf("%s: %s", method, r.Error.Message)
		case result != nil:
			if err := json.Unmarshal(r.Result, result); err != nil {
				b.t.Fatalf("%s: %v", method, err)
			}
		}
	case <-time.After(time.Minute):
		b.t.Fatalf("%s: no answer in a minute", method)
	}
}

// open opens a page and waits until it is whole.
func (b *browser) open(html string) (url string) {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(html), 0o666); err != nil {
		b.t.Fatal(err)
	}
	url = "file://" + file
	b.call("Page.navigate", map[string]any{"url": url}, nil)
	for range 600 {
		if b.eval(`document.readyState + location.href`) == "complete"+url {
			return url
		}
		time.Sleep(50 * time.Millisecond)
	}
	b.t.Fatal("the page is not whole after half a minute")
	return ""
}

// eval returns the value of an expression in the page.
func (b *browser) eval(expression string) any {
	b.t.Helper()
	var r struct {
		Result           struct{ Value any }
		ExceptionDetails *struct {
			Exception struct{ Description string }
		}
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, r.ExceptionDetails.Exception.Description)
	}
	return r.Result.Value
}

// want compares the value of an expression.
func (b *browser) want(expression string, want any) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.eval(expression)); diff != "" {
		b.t.Errorf("%s (-want +got):\n%s", expression, diff)
	}
}

func (b *browser) key(key string) {
	b.t.Helper()
	p := map[string]any{"type": "keyDown", "key": key}
	if len(key) == 1 {
		p["text"] = key
	}
	b.call("Input.dispatchKeyEvent", p, nil)
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key}, nil)
}

// click clicks into the middle of an element, once it has come to rest.
func (b *browser) click(selector string) {
	b.t.Helper()
	b.eval("document.querySelector(`" + selector + "`).scrollIntoView({block: 'center', behavior: 'instant'})")
	place := "(() => { const r = document.querySelector(`" + selector + "`).getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })()"
	at := b.eval(place)
	for range 100 {
		time.Sleep(50 * time.Millisecond)
		now := b.eval(place)
		if cmp.Equal(at, now) {
			break
		}
		at = now
	}
	x, y := at.([]any)[0], at.([]any)[1]
	for _, kind := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
		b.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}, nil)
	}
}

// size sets the size of the window.
func (b *browser) size(width, height int) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
}

func (b *browser) media(media, scheme string) {
	b.t.Helper()
	b.call("Emulation.setEmulatedMedia", map[string]any{"media": media, "features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// silent fails the test if the page asked for anything but itself or wrote to the
// console.
func (b *browser) silent(url string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range b.asked {
		if a != url && !strings.HasPrefix(a, "data:") {
			b.t.Errorf("the page asked for %s", a)
		}
	}
	if len(b.said) > 0 {
		b.t.Errorf("the console says %q", b.said)
	}
	b.asked, b.said = nil, nil
}

// rows is the first cell of each row that shows, sections those of the headings.
const (
	rows     = `[...document.querySelectorAll('#classes tbody tr')].filter(r => !r.hidden).map(r => r.cells[0].textContent).join(' ')`
	sections = `[...document.querySelectorAll('#details section')].filter(s => !s.hidden).map(s => s.querySelector('h3 span').textContent).join(' ')`
)

func TestInABrowserThePageSortsAndFilters(t *testing.T) {
	b := newBrowser(t)
	r := shop(t)
	r.Limit = 6
	url := b.open(page(t, r))
	b.want(rows, "1 2 3 4 5 6")

	// what each heading sorts by, as the profile has it
	shown := r.Profile.Top(6, r.By)
	order := func(value func(c *digest.Class) float64) string {
		ranks := make([]int, len(shown))
		for i := range ranks {
			ranks[i] = i
		}
		for i := range ranks { // stable, and short
			for j := len(ranks) - 1; j > i; j-- {
				if value(shown[ranks[j]]) > value(shown[ranks[j-1]]) {
					ranks[j], ranks[j-1] = ranks[j-1], ranks[j]
				}
			}
		}
		var s []string
		for _, i := range ranks {
			s = append(s, fmt.Sprint(i+1))
		}
		return strings.Join(s, " ")
	}
	byCount := order(func(c *digest.Class) float64 { return c.Count })
	b.click(`#classes thead tr:last-child th:nth-child(4) button`)
	b.want(rows, byCount)
	b.want(sections, byCount)
	b.want(`document.querySelector('#classes th[aria-sort]').textContent + document.querySelector('#classes th[aria-sort]').ariaSort`, "Countdescending")
	b.click(`#classes thead tr:last-child th:nth-child(4) button`)
	b.want(`document.querySelector('#classes th[aria-sort]').ariaSort`, "ascending")
	b.click(`#classes thead tr:last-child th:nth-child(8) button`)
	b.want(rows, order(func(c *digest.Class) float64 { return c.QueryTime.Quantile(.95).Seconds() }))
	b.eval(`document.querySelector('#classes thead tr:last-child th:nth-child(1) button').focus()`)
	b.key(" ") // by the keyboard, too
	b.want(rows, "1 2 3 4 5 6")

	b.key("/")
	b.want(`document.activeElement.id`, "filter")
	b.call("Input.insertText", map[string]any{"text": "delete SESSION"}, nil)
	b.want(rows, "3")
	b.want(sections, "3")
	b.want(`document.getElementById('matches').textContent`, "1 of 6")
	b.key("Escape")
	b.want(rows, "1 2 3 4 5 6")
	b.silent(url)
}

func TestInABrowserPlansAreFoundAndFindingsLeadToTheirClasses(t *testing.T) {
	b := newBrowser(t)
	url := b.open(page(t, withPlans(t)))
	b.key("/")
	b.call("Input.insertText", map[string]any{"text": "critical: full-scan of orders"}, nil)
	b.want(rows, "2")
	b.want(sections, "2")
	b.key("Escape")
	b.want(sections, "1 2 3")
	b.click(`.findings li:nth-child(2) a[href="#c2"]`)
	for range 100 { // following a link takes its time
		if b.eval(`location.hash`) != "" {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	b.want(`location.hash + ' ' + document.querySelector(':target h3 span')?.textContent`, "#c2 2")
	b.silent(url)
}

// contrasts returns the texts whose contrast to what is behind them is below what
// WCAG 2.2 asks for (AA: 4.5, or 3 for large text), over the bars as well.
const contrasts = `(() => {
  const parse = c => { const m = c.match(/[\d.]+/g).map(Number); return m.length > 3 && m[3] === 0 ? null : m };
  const luminance = c => { const [r, g, b] = c.slice(0, 3).map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4 }); return .2126 * r + .7152 * g + .0722 * b };
  const ratio = (a, b) => { const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p); return (x + .05) / (y + .05) };
  const bad = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || e.closest('script, style, defs')) continue;
    const style = getComputedStyle(e);
    const color = parse(e instanceof SVGElement ? style.fill : style.color);
    const behind = [];
    for (let p = e; p && !behind.length; p = p.parentElement) {
      const s = getComputedStyle(p);
      for (const c of s.backgroundImage.match(/rgba?\([^)]*\)/g) || []) if (parse(c)) behind.push(parse(c));
      const c = parse(s.backgroundColor);
      if (c) behind.push(c);
      else if (behind.length) behind.push(parse(getComputedStyle(document.body).backgroundColor));
    }
    const size = parseFloat(style.fontSize);
    const least = size >= 24 || size >= 18.66 && style.fontWeight >= 700 ? 3 : 4.5;
    for (const c of behind) if (ratio(color, c) < least) bad.push(e.tagName + ' ' + walker.currentNode.textContent.trim().slice(0, 20) + ' ' + ratio(color, c).toFixed(2));
  }
  return [...new Set(bad)].join('; ');
})()`

func TestInABrowserThePageFitsAndCanBeRead(t *testing.T) {
	b := newBrowser(t)
	r := dayAfter(t, release)
	s := shop(t)
	r.Findings, r.Sources, r.Interrupted, r.Limit = s.Findings, s.Sources, true, 4
	advised := shop(t) // as examples/advise shows it
	ddl := "ALTER TABLE `shop`.`product_text` ADD INDEX `ix_language_product_id_title_weight` (`language`, `product_id`, `title`, `weight`), ALGORITHM=INPLACE, LOCK=NONE\n" +
		"  rows before 20000, after 7\n"
	advised.Overall = []report.Section{{Title: "Indexes for the whole", Text: strings.Repeat(ddl, 8)}}
	advised.Sections = map[digest.ID][]report.Section{advised.Profile.Top(1, advised.By)[0].ID: {{Title: "Indexes", Text: ddl}}}
	for name, html := range map[string]string{
		"changes": page(t, r),
		"advice":  page(t, advised),
		"plans":   page(t, withPlans(t)),
		"goals":   goalsPage(t, shopGoals(t, "search:p95<1s,p99<3s; cart:p95<500ms; nowhere:p99<1s", loggen.RequestOptions{Seed: 1})),
	} {
		b.t.Logf("the page of %s", name)
		url := b.open(html)
		for _, width := range []int{320, 390, 768, 1280, 1920} {
			b.size(width, 900)
			b.want(`document.documentElement.scrollWidth`, float64(width))
		}
		for _, media := range []string{"screen", "print"} {
			for _, scheme := range []string{"light", "dark"} {
				b.media(media, scheme)
				b.want(contrasts, "")
			}
		}
		b.media("screen", "light")
		b.want(`[...document.querySelectorAll('svg[role=img]')].every(s => s.getAttribute('aria-label')) && document.documentElement.lang`, "en")
		b.want(`[...document.querySelectorAll('a')].every(a => document.querySelector(a.getAttribute('href')))`, true)
		b.silent(url)
	}
}

func TestInABrowserThePageNeedsNoScript(t *testing.T) {
	b := newBrowser(t)
	b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	url := b.open(page(t, withPlans(t)))
	b.want(rows, "1 2 3")
	b.want(sections, "1 2 3")
	b.want(`[...document.querySelectorAll('details')].every(d => d.open)`, true)
	b.want(`getComputedStyle(document.getElementById('filter').closest('p')).display + document.querySelectorAll('th button').length`, "none0")
	b.silent(url)
}

func TestInABrowserAHostileLogDoesNothing(t *testing.T) {
	b := newBrowser(t)
	const evil = "</script><script>window.owned=1</script><svg onload=window.owned=1><img src=http://127.0.0.1:9/x onerror=window.owned=1><style>@import 'http://127.0.0.1:9/y'</style>\u202e"
	var agg digest.Aggregator
	agg.Add(&slowlog.Event{Query: "SELECT '" + evil + "' FROM `" + evil + "` /* " + evil, QueryTime: time.Second, Weight: 1,
		User: evil, Host: evil, Schema: evil, Time: time.Unix(1767225600, 0)})
	r := &report.Report{Profile: agg.Profile(), Sources: []report.Source{{Name: evil}}}
	for c := range r.Profile.Classes() {
		r.Sections = map[digest.ID][]report.Section{c.ID: {{Title: evil, Text: evil}}}
	}
	for _, r := range []*report.Report{r, hostilePlans(evil)} {
		url := b.open(page(t, r))
		b.want(`typeof window.owned + document.images.length`, "undefined0")
		b.silent(url)
	}
}

func TestInABrowserAThousandClassesFilter(t *testing.T) {
	b := newBrowser(t)
	r := thousand(t)
	url := b.open(page(t, r))
	b.key("/")
	b.call("Input.insertText", map[string]any{"text": strings.TrimPrefix(r.Profile.Top(1, r.By)[0].ID.String(), "q1:")}, nil)
	b.want(rows, "1")
	b.want(`document.getElementById('matches').textContent`, fmt.Sprintf("1 of %d", r.Profile.Len()))
	b.silent(url)
}
