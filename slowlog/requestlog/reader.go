package requestlog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"
	"unsafe"
)

// A Format is a kind of request log.
type Format string

const (
	Auto   Format = ""       // recognised by content
	JSON   Format = "json"   // one object a line; an object may also span lines
	CSV    Format = "csv"    // with a header line unless Columns is set
	TSV    Format = "tsv"    // with a header line unless Columns is set: mysql -B, SELECT … INTO OUTFILE
	LTSV   Format = "ltsv"   // label:value, separated by tabs
	Logfmt Format = "logfmt" // key=value, separated by blanks
	W3C    Format = "w3c"    // W3C extended: IIS, CloudFront
	Lines  Format = "lines"  // lines of the form that Template gives
)

// ErrFormat says that the format of a log was not recognised.
var ErrFormat = errors.New("requestlog: format not recognised by content; set Format, Template or Columns")

// Damage tells of bytes that a Reader skipped.
type Damage struct {
	Line   int64 // of the first line skipped, from 1
	Offset int64 // of its first byte
	Reason string
}

// Error describes the damage; Damage is an error so that it can be logged as one.
func (d Damage) Error() string {
	return fmt.Sprintf("requestlog: line %d (offset %d): %s", d.Line, d.Offset, d.Reason)
}

// Stats counts what a Reader has seen.
type Stats struct {
	Requests int64 // returned
	Skipped  int64 // damaged records, and records that are not about a request
	Flagged  int64 // requests with a negative or absurd time
	Bytes    int64
	Lines    int64
}

// MaxRecord is the length in bytes above which a record is damage: without a bound
// one missing quote would take the rest of the log into memory.
const MaxRecord = 1 << 20

// A Reader reads requests from a log. Its fields are to be set before the first Read.
// It is not for concurrent use.
type Reader struct {
	// Format is recognised by content if it is Auto and Template is empty. That
	// takes 64 KiB, or the whole log: of a log that is still being written the
	// format should be given.
	Format Format

	// Template is an nginx log_format ("$remote_addr [$time_local] …") or an
	// Apache LogFormat ("%h %l %u %t \"%r\" %>s %b %D"). It makes the Format Lines.
	// Variables that nginx does not have may be used freely: they are fields.
	Template string

	// Columns names the columns of a CSV or TSV log that has no header line, such as
	// SELECT … INTO OUTFILE writes.
	Columns []string

	// Comma separates the fields of a CSV; 0 means the comma, or what the header
	// shows.
	Comma byte

	// Mapping says which field is what where the names alone do not tell.
	Mapping Mapping

	// Routes makes pages of paths for requests without a page of their own; nil
	// means a new Routes without rules, which groups by the look of a path.
	Routes *Routes

	// Weight is the weight of requests in a log that does not say it: 10 where one
	// request in ten is logged. 0 means 1.
	Weight float64

	// Location is the zone of time stamps that have none; nil means UTC.
	Location *time.Location

	// ReuseRequest makes Read return the same Request each time: it and its
	// strings are valid until the next Read. Request.Clone keeps one.
	ReuseRequest bool

	// OnDamage, if not nil, is called for each record that is skipped.
	OnDamage func(Damage)

	br     *bufio.Reader
	scheme *scheme
	rec    record
	reused Request
	stats  Stats
	err    error
	opened bool

	parse    func(line string) (reason string) // of the format
	detected bool                              // the format was not given
	known    *knownSet
	columns  []*field
	comma    byte
	header   string

	line []byte // the last one read
	raw  []byte // the same with its end

	// A record of several lines: as one text, the lines behind its first as they
	// stand in the log, and their number. If it comes to nothing these lines are
	// read again, from back.
	long      []byte
	more      []byte
	moreLines int64
	back      []byte

	lineOffset int64
	recOffset  int64
	recLine    int64
	scratch    []byte
}

// NewReader returns a Reader of the uncompressed log r. Package logfile opens
// compressed files.
func NewReader(r io.Reader) *Reader {
	return &Reader{br: bufio.NewReaderSize(r, 128<<10)}
}

// All iterates over the log. It ends after the first error; io.EOF is none.
func (r *Reader) All() iter.Seq2[*Request, error] {
	return func(yield func(*Request, error) bool) {
		for {
			req, err := r.Read()
			if err == io.EOF {
				return
			}
			if !yield(req, err) || err != nil {
				return
			}
		}
	}
}

// Stats returns what has been counted so far.
func (r *Reader) Stats() Stats { return r.stats }

// Recognized returns the format and what was taken for what up to now.
func (r *Reader) Recognized() (Format, Mapping) {
	if r.scheme == nil {
		return r.Format, nil
	}
	return r.Format, r.scheme.recognized()
}

// Read returns the next request, io.EOF at the end, or an error of the underlying
// reader. It returns an error that wraps ErrFormat if the format is not given and
// not recognised, and one that says what is wrong with Template if it is unusable.
func (r *Reader) Read() (*Request, error) {
	if r.err != nil && len(r.back) == 0 {
		return nil, r.err
	}
	if !r.opened {
		if r.err = r.open(); r.err != nil {
			return nil, r.err
		}
	}
	for {
		line, err := r.next()
		if err != nil {
			r.err = err
			return nil, err
		}
		r.recOffset, r.recLine = r.lineOffset, r.stats.Lines
		if len(line) == 0 {
			continue
		}
		if req := r.record(line); req != nil {
			return req, nil
		}
	}
}

// record parses the record that begins with line, and returns nil if it is no request.
func (r *Reader) record(line []byte) *Request {
	switch {
	case r.Format == W3C && line[0] == '#':
		r.directive(string(line))
		return nil
	case r.Format == JSON:
		if isArrayFrame(line) {
			return nil
		}
		line = line[prefixLen(line):]
	}
	r.more, r.moreLines = r.more[:0], 0
	var reason string
	switch r.Format {
	case CSV:
		line, reason = r.joinQuoted(line)
	case TSV:
		line, reason = r.joinEscaped(line)
	}
	var req *Request
	if reason == "" {
		req, reason = r.build(line)
	}
	if reason == openObject && len(line) == len(r.line) { // behind a prefix an object has one line
		if line, reason = r.joinObject(line); reason == "" {
			req, reason = r.build(line)
		}
	}
	if reason == headerLine {
		return nil
	}
	if reason != "" {
		r.damage(reason)
		r.readAgain()
		return nil
	}
	if req.Page == "" && req.URL != "" {
		req.Page = r.Routes.Page(req.Method, req.URL)
	}
	req.Offset, req.Line = r.recOffset, r.recLine
	r.stats.Requests++
	if req.Flags&(NegativeTime|AbsurdTime) != 0 {
		r.stats.Flagged++
	}
	return req
}

// build makes a request of the bytes of one record.
func (r *Reader) build(line []byte) (*Request, string) {
	req := &r.reused
	var text string
	if r.ReuseRequest {
		text = unsafe.String(unsafe.SliceData(line), len(line))
	} else {
		req = &Request{Waits: make([]Wait, 0, 4)}
		text = string(line)
	}
	weight := 1.0
	if r.Weight > 0 {
		weight = r.Weight
	}
	r.rec.reset(req, weight)
	reason := r.parse(text)
	if reason == "" && r.rec.finish() || reason == headerLine || reason == openObject {
		return req, reason
	}
	if r.detected {
		// A container's log may mix what its programs write.
		if r.known == nil {
			r.known = newKnownSet(r.Mapping)
		}
		if r.known.parse(&r.rec, text, weight) {
			return req, ""
		}
	}
	if reason == "" {
		reason = "not about a request: no page, URL, status or wall time in it"
	}
	return nil, reason
}

func (r *Reader) damage(reason string) {
	r.stats.Skipped++
	if r.OnDamage != nil {
		r.OnDamage(Damage{r.recLine, r.recOffset, reason})
	}
}

// next returns the next line without its end. The bytes are valid until the next
// call. Lines above MaxRecord are skipped as damage.
func (r *Reader) next() ([]byte, error) {
	for {
		if len(r.back) == 0 && r.err != nil {
			return nil, r.err
		}
		r.lineOffset = r.stats.Bytes
		raw, err := r.readLine()
		if raw == nil && err == nil {
			r.recOffset, r.recLine = r.lineOffset, r.stats.Lines
			r.damage(fmt.Sprintf("line longer than %d bytes", MaxRecord))
			continue
		}
		if err != nil && (err != io.EOF || len(raw) == 0) {
			return nil, err
		}
		line := raw
		if n := len(line); n > 0 && line[n-1] == '\n' {
			line = line[:n-1]
			if n > 1 && line[n-2] == '\r' {
				line = line[:n-2]
			}
		}
		if r.lineOffset == 0 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		r.line, r.raw = line, raw
		return line, nil
	}
}

// readLine returns the next line with its end, nil without an error if it is too long.
func (r *Reader) readLine() (line []byte, err error) {
	if len(r.back) > 0 {
		end := bytes.IndexByte(r.back, '\n') + 1
		if end == 0 {
			end = len(r.back)
		}
		line, r.back = r.back[:end], r.back[end:]
	} else if line, err = r.br.ReadSlice('\n'); err == bufio.ErrBufferFull {
		r.stats.Bytes += int64(len(line))
		r.stats.Lines++
		return r.longLine(line)
	}
	r.stats.Bytes += int64(len(line))
	if len(line) > 0 {
		r.stats.Lines++
	}
	return line, err
}

// longLine reads on a line that fills the buffer. It returns nil if the line is too long.
func (r *Reader) longLine(start []byte) ([]byte, error) {
	r.scratch = append(r.scratch[:0], start...)
	tooLong := false
	for {
		more, err := r.br.ReadSlice('\n')
		r.stats.Bytes += int64(len(more))
		if len(r.scratch)+len(more) > MaxRecord {
			tooLong = true
		} else {
			r.scratch = append(r.scratch, more...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if tooLong {
			if err == io.EOF {
				err = nil // the next read says it again
			}
			return nil, err
		}
		return r.scratch, err
	}
}

// join returns the next line of a record of several lines and adds it to r.long; false
// at the end of the log and beyond the bounds of a record.
func (r *Reader) join() ([]byte, bool) {
	if r.moreLines >= maxLines {
		return nil, false
	}
	line, err := r.next()
	if err != nil {
		if err != io.EOF {
			r.err = err // for when the lines before it have been read again
		}
		return nil, false
	}
	r.more = append(r.more, r.raw...)
	r.moreLines++
	r.long = append(append(r.long, '\n'), line...)
	return line, len(r.long) <= MaxRecord
}

// maxLines is the number of lines of one record above which it is damage.
const maxLines = 1000

// readAgain has the lines read again that were taken for parts of the first one.
func (r *Reader) readAgain() {
	if len(r.more) == 0 {
		return
	}
	r.back = append(bytes.Clone(r.more), r.back...)
	r.stats.Bytes -= int64(len(r.more))
	r.stats.Lines -= r.moreLines
	r.more = r.more[:0]
}

// open settles the format.
func (r *Reader) open() error {
	r.opened = true
	r.scheme = new(scheme)
	r.scheme.init(r.Mapping)
	r.rec.clock.loc = r.Location
	if r.Routes == nil {
		r.Routes = new(Routes)
	}
	if r.Template != "" {
		r.Format = Lines
	}
	head, err := r.br.Peek(1)
	if r.Format == Auto {
		head, err = r.br.Peek(64 << 10)
	} else if err == nil {
		head, err = r.br.Peek(r.br.Buffered()) // a live log is not waited for
	}
	if len(head) == 0 {
		return err
	}
	r.scheme.signs(head)
	if r.Format == Auto && len(r.Columns) > 0 {
		r.Format = CSV
		if line, _, _ := bytes.Cut(head, []byte{'\n'}); bytes.IndexByte(line, '\t') >= 0 {
			r.Format = TSV
		}
	}
	if r.Format == Auto {
		r.Format, r.Template = detect(head, err == nil, r.Mapping)
		if r.Format == Auto {
			return ErrFormat
		}
		r.detected = true
	}
	r.comma = r.Comma
	for i, name := range r.Columns {
		r.columns = append(r.columns, r.scheme.column(name, i+1))
	}
	switch r.Format {
	case JSON:
		r.parse = r.parseJSON
	case LTSV:
		r.scheme.hostIP = true
		r.parse = r.parseLTSV
	case Logfmt:
		r.parse = r.parseLogfmt
	case CSV:
		if r.comma == 0 && len(r.Columns) > 0 {
			r.comma = ','
		}
		r.parse = r.parseCSV
	case TSV:
		r.parse = r.parseTSV
	case W3C:
		r.parse = r.parseW3C
	case Lines:
		return r.openLines()
	default:
		return fmt.Errorf("requestlog: no format %q; want one of json, csv, tsv, ltsv, logfmt, w3c, lines", r.Format)
	}
	return nil
}

// openLines prepares for lines of the form of Template.
func (r *Reader) openLines() error {
	if r.Template == "" {
		return errors.New("requestlog: Format Lines needs a Template")
	}
	t, err := parseTemplate(r.Template)
	if err != nil {
		return err
	}
	if r.detected {
		k := newKnownSet(r.Mapping)
		i := slices.IndexFunc(k.templates, func(t *template) bool { return t.line == r.Template })
		t, r.scheme = k.templates[i], k.schemes[i]
	} else {
		t.bind(r.scheme)
	}
	r.parse = func(line string) string {
		if r.detected {
			line = cutPrefix(line)
		}
		if !t.parse(&r.rec, line) {
			return "line does not have the form of the template"
		}
		if r.detected && r.rec.Flags&BadValue != 0 {
			return "line does not have the values of the template"
		}
		return ""
	}
	return nil
}

// ParseFormat returns the format of that name.
func ParseFormat(name string) (Format, error) {
	switch f := Format(strings.ToLower(name)); f {
	case Auto, JSON, CSV, TSV, LTSV, Logfmt, W3C, Lines:
		return f, nil
	}
	return Auto, fmt.Errorf("requestlog: no format %q; want one of json, csv, tsv, ltsv, logfmt, w3c, lines", name)
}
