// Package requestlog reads the logs that applications, web servers and proxies
// write about the requests they serve: JSON Lines, CSV and TSV, LTSV, logfmt,
// W3C extended logs, lines described by an nginx log_format or an Apache
// LogFormat, and MySQL tables.
//
// A [Reader] works in the manner of encoding/csv: make one with [NewReader], set
// its fields, call [Reader.Read] until io.EOF or range over [Reader.All]. The
// format is recognised by content where it can be; names of fields that are in
// common use are recognised without a [Mapping], and [Reader.Recognized] says
// what was taken for what, and in which unit.
//
// Whoever chooses the names of a log takes these: time, page (or url, or path),
// wall_ms, cpu_ms, for each component a pair such as wait_billing_ms and
// calls_billing, request_id, status, user, ip. Letters may be of either case, a
// dash or a dot may stand for an underscore, and the unit may be s, ms, us or ns.
// Common components such as mysql and redis need no wait: mysql_ms, mysql_calls.
//
// Of the line formats those of AWS load balancers, Envoy, HAProxy, lighttpd, the
// ingress controller of nginx, Traefik, uWSGI and the Common and Combined Log Format
// are recognised; of JSON among others what Caddy, Cloudflare, Envoy and Traefik
// write; of W3C logs those of IIS and CloudFront. A log of several lines of prose a
// request, as Rails writes it, is not read. JMeter's results count a redirect twice,
// in its parent and by itself: give goals to the parents' labels.
//
// A damaged line is skipped, counted and handed to OnDamage: only errors of the
// underlying reader, and a log whose format nobody can tell, are errors.
//
// The fields of a [Request] follow the log that Peter Zaitsev describes in "Goal
// driven performance optimization" (2008): the wall clock time, the processor
// time, and the wait for each component that the request calls.
package requestlog
