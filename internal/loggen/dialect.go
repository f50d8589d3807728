package loggen

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Dialect is the form that a server writes its log in.
type Dialect uint8

// The dialects.
const (
	Percona80    Dialect = iota // Percona Server 8.0 with query plan and InnoDB values
	MySQL50                     // whole seconds, no SET timestamp
	MySQL55                     // microseconds, "# Time" in seconds, no connection id
	MySQL57                     // "# Time" in ISO 8601
	MySQL80                     // the same; SET timestamp is the statement's start
	MySQL80Extra                // log_slow_extra=ON
	MariaDB                     // log_slow_verbosity=query_plan
	MariaDBFull                 // log_slow_verbosity=query_plan,innodb,explain
)

var dialectNames = [...]string{"percona80", "mysql50", "mysql55", "mysql57", "mysql80", "mysql80extra", "mariadb", "mariadbfull"}

// Dialects returns all dialects.
func Dialects() []Dialect {
	var all []Dialect
	for i := range dialectNames {
		all = append(all, Dialect(i))
	}
	return all
}

func (d Dialect) String() string { return dialectNames[d] }

// Set sets d to the dialect of that name: Dialect is a flag.Value.
func (d *Dialect) Set(name string) error {
	for i, n := range dialectNames {
		if n == name {
			*d = Dialect(i)
			return nil
		}
	}
	return fmt.Errorf("no such dialect, have %s", strings.Join(dialectNames[:], ", "))
}

const (
	mysqlColumns   = "\nTcp port: 3306  Unix socket: /var/run/mysqld/mysqld.sock\nTime                 Id Command    Argument\n"
	mariadbColumns = "\nTcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\nTime\t\t    Id Command\tArgument\n"
)

// banners are what a server writes when it opens the file.
var banners = [...]string{
	Percona80:    "/usr/sbin/mysqld, Version: 8.0.36-28 (Percona Server (GPL), Release 28, Revision 47601f19). started with:" + mysqlColumns,
	MySQL50:      "/usr/sbin/mysqld, Version: 5.0.96-log (MySQL Community Server (GPL)). started with:" + mysqlColumns,
	MySQL55:      "/usr/sbin/mysqld, Version: 5.5.62-log (MySQL Community Server (GPL)). started with:" + mysqlColumns,
	MySQL57:      "/usr/sbin/mysqld, Version: 5.7.44-log (MySQL Community Server (GPL)). started with:" + mysqlColumns,
	MySQL80:      "/usr/sbin/mysqld, Version: 8.0.40 (MySQL Community Server - GPL). started with:" + mysqlColumns,
	MySQL80Extra: "/usr/sbin/mysqld, Version: 8.0.40 (MySQL Community Server - GPL). started with:" + mysqlColumns,
	MariaDB:      "/usr/sbin/mariadbd, Version: 10.11.6-MariaDB-log (MariaDB Server). started with:" + mariadbColumns,
	MariaDBFull:  "/usr/sbin/mariadbd, Version: 10.11.6-MariaDB-log (MariaDB Server). started with:" + mariadbColumns,
}

func (d Dialect) mariaDB() bool { return d == MariaDB || d == MariaDBFull }

// secondTimes reports whether the dialect's "# Time" holds whole seconds and is
// written only when it changes.
func (d Dialect) secondTimes() bool { return d == MySQL50 || d == MySQL55 || d.mariaDB() }

// round takes from a record what the dialect does not write.
func (d Dialect) round(r *Record) {
	unit := time.Microsecond
	if d == MySQL50 {
		unit = time.Second
	}
	r.QueryTime, r.LockTime = r.QueryTime.Truncate(unit), r.LockTime.Truncate(unit)
	if d.secondTimes() {
		r.Time = r.Time.Truncate(time.Second)
	}
	if d != Percona80 && d != MySQL80Extra {
		r.Errno = 0
	}
	if d == MySQL50 || d == MySQL55 {
		r.ThreadID = 0
	}
	if d == MySQL50 || d == MySQL55 || d == MySQL57 || d == MySQL80 {
		r.Bytes = 0
	}
	if d != Percona80 && !d.mariaDB() {
		r.RowsAffected = 0
	}
}

// header writes all of a record that stands before its statement.
func (g *generator) header(r *Record) {
	d := g.o.Dialect
	switch second := r.Time.Unix(); {
	case !d.secondTimes():
		g.put("# Time: ")
		g.putTime(r.Time)
		g.put("\n")
	case second != g.lastSecond:
		g.lastSecond = second
		g.put("# Time: ")
		g.buf = r.Time.AppendFormat(g.buf, "060102 ")
		if h := r.Time.Hour(); h < 10 {
			g.put(" ")
			g.buf = strconv.AppendInt(g.buf, int64(h), 10)
		} else {
			g.buf = strconv.AppendInt(g.buf, int64(h), 10)
		}
		g.buf = r.Time.AppendFormat(g.buf, ":04:05\n")
	}
	g.put("# User@Host: ")
	g.put(r.User)
	g.put("[")
	g.put(r.User)
	g.put("] @ ")
	g.put(r.Host)
	g.put(" [")
	g.put(r.IP)
	g.put("]")
	if r.ThreadID != 0 && !d.mariaDB() {
		g.count("  Id: ", r.ThreadID)
	}
	g.put("\n")
	switch d {
	case Percona80:
		g.perconaValues(r)
	case MariaDB, MariaDBFull:
		g.mariaValues(r)
	case MySQL80Extra:
		g.mysqlValues(r)
		g.extraValues(r)
	default:
		g.mysqlValues(r)
		g.put("\n")
	}
	if r.Schema != "" && r.Schema != g.lastUse {
		g.lastUse = r.Schema
		g.put("use ")
		if d.mariaDB() {
			g.put("`")
		}
		g.put(r.Schema)
		if d.mariaDB() {
			g.put("`")
		}
		g.put(";\n")
	}
	if d != MySQL50 {
		t := r.Time
		if d == MySQL80 || d == MySQL80Extra || d == Percona80 {
			t = t.Add(-r.QueryTime)
		}
		g.count("SET timestamp=", uint64(t.Unix()))
		g.put(";\n")
	}
}

func (g *generator) mysqlValues(r *Record) {
	if g.o.Dialect == MySQL50 {
		g.count("# Query_time: ", uint64(r.QueryTime/time.Second))
		g.count("  Lock_time: ", uint64(r.LockTime/time.Second))
		g.count("  Rows_sent: ", r.RowsSent)
	} else {
		g.seconds("# Query_time: ", r.QueryTime)
		g.seconds("  Lock_time: ", r.LockTime)
		g.count(" Rows_sent: ", r.RowsSent)
	}
	g.count("  Rows_examined: ", r.RowsExamined)
}

func (g *generator) extraValues(r *Record) {
	g.count(" Thread_id: ", r.ThreadID)
	g.count(" Errno: ", uint64(r.Errno))
	g.put(" Killed: 0")
	received := len(r.Query) + 1
	if r.Command != "" {
		received = 5
	}
	g.count(" Bytes_received: ", uint64(received))
	g.count(" Bytes_sent: ", r.Bytes)
	g.put(" Read_first: 0 Read_last: 0")
	g.count(" Read_key: ", r.RowsExamined/3)
	g.count(" Read_next: ", r.RowsExamined/2)
	g.put(" Read_prev: 0 Read_rnd: 0")
	scanned, sorted := uint64(0), uint64(0)
	if r.FullScan {
		scanned = r.RowsExamined
	}
	if r.Filesort {
		sorted = r.RowsSent
	}
	g.count(" Read_rnd_next: ", scanned)
	g.put(" Sort_merge_passes: 0 Sort_range_count: 0")
	g.count(" Sort_rows: ", sorted)
	g.count(" Sort_scan_count: ", bit(r.Filesort))
	g.count(" Created_tmp_disk_tables: ", bit(r.TmpTableOnDisk))
	g.count(" Created_tmp_tables: ", bit(r.TmpTable))
	g.put(" Count_hit_tmp_table_size: 0  Start: ")
	g.putTime(r.Time.Add(-r.QueryTime))
	g.put(" End: ")
	g.putTime(r.Time)
	g.put("\n")
}

func (g *generator) perconaValues(r *Record) {
	g.put("# Schema: ")
	g.put(r.Schema)
	g.count("  Last_errno: ", uint64(r.Errno))
	g.put("  Killed: 0\n")
	g.seconds("# Query_time: ", r.QueryTime)
	g.seconds("  Lock_time: ", r.LockTime)
	g.count("  Rows_sent: ", r.RowsSent)
	g.count("  Rows_examined: ", r.RowsExamined)
	g.count("  Rows_affected: ", r.RowsAffected)
	g.count("  Bytes_sent: ", r.Bytes)
	g.put("\n")
	g.tmpTables(r)
	if r.Command == "" {
		g.put("# InnoDB_trx_id: ")
		g.buf = appendUpperHex(g.buf, 0x10000000+g.rand.Uint64N(1<<30))
		g.put("\n")
	}
	g.plan(r)
	g.put("\n")
	if r.Command == "" {
		g.count("#   InnoDB_IO_r_ops: ", r.RowsExamined/4096)
		g.count("  InnoDB_IO_r_bytes: ", r.RowsExamined/4096*16384)
		g.seconds("  InnoDB_IO_r_wait: ", r.QueryTime/3)
		g.seconds("\n#   InnoDB_rec_lock_wait: ", r.LockTime/2)
		g.put("  InnoDB_queue_wait: 0.000000")
		g.count("\n#   InnoDB_pages_distinct: ", 1+r.RowsExamined/100)
		g.put("\n")
	} else {
		g.put("# No InnoDB statistics available for this query\n")
	}
	if g.o.RateLimit > 1 {
		g.count("# Log_slow_rate_type: query  Log_slow_rate_limit: ", g.o.RateLimit)
		g.put("\n")
	}
}

func (g *generator) mariaValues(r *Record) {
	g.count("# Thread_id: ", r.ThreadID)
	g.put("  Schema: ")
	g.put(r.Schema)
	g.seconds("  QC_hit: No\n# Query_time: ", r.QueryTime)
	g.seconds("  Lock_time: ", r.LockTime)
	g.count("  Rows_sent: ", r.RowsSent)
	g.count("  Rows_examined: ", r.RowsExamined)
	g.count("\n# Rows_affected: ", r.RowsAffected)
	g.count("  Bytes_sent: ", r.Bytes)
	g.put("\n")
	if r.TmpTable {
		g.tmpTables(r)
	}
	if g.o.Dialect == MariaDBFull && r.Command == "" {
		g.count("# Pages_accessed: ", 1+r.RowsExamined/50)
		g.count("  Pages_read: ", r.RowsExamined/4096)
		g.put("  Pages_prefetched: 0  Pages_updated: 0  Old_rows_read: 0\n# Pages_read_time: 0.0000  Engine_time: 0.0123\n")
	}
	if r.FullScan || r.FullJoin || r.TmpTable || r.Filesort {
		g.plan(r)
		g.put("  Priority_queue: No\n")
	}
	if g.o.Dialect == MariaDBFull && r.Command == "" {
		g.put("#\n# explain: id\tselect_type\ttable\ttype\tpossible_keys\tkey\tkey_len\tref\trows\tr_rows\tfiltered\tr_filtered\tExtra\n# explain: 1\tSIMPLE\t")
		g.put(g.classes[r.Class].table)
		if r.FullScan {
			g.count("\tALL\tNULL\tNULL\tNULL\tNULL\t", r.RowsExamined)
		} else {
			g.count("\tref\tPRIMARY\tPRIMARY\t4\tconst\t", r.RowsExamined)
		}
		g.count("\t", r.RowsExamined)
		g.put(".00\t100.00\t100.00\tUsing where\n#\n")
	}
}

func (g *generator) tmpTables(r *Record) {
	g.count("# Tmp_tables: ", bit(r.TmpTable))
	g.count("  Tmp_disk_tables: ", bit(r.TmpTableOnDisk))
	g.count("  Tmp_table_sizes: ", bit(r.TmpTable)*1179584)
	g.put("\n")
}

func (g *generator) plan(r *Record) {
	g.put("# Full_scan: ")
	g.put(yesNo(r.FullScan))
	g.put("  Full_join: ")
	g.put(yesNo(r.FullJoin))
	g.put("  Tmp_table: ")
	g.put(yesNo(r.TmpTable))
	g.put("  Tmp_table_on_disk: ")
	g.put(yesNo(r.TmpTableOnDisk))
	g.put("\n# Filesort: ")
	g.put(yesNo(r.Filesort))
	g.put("  Filesort_on_disk: No  Merge_passes: 0")
}

func (g *generator) put(s string) { g.buf = append(g.buf, s...) }

func (g *generator) count(label string, n uint64) {
	g.buf = strconv.AppendUint(append(g.buf, label...), n, 10)
}

func (g *generator) seconds(label string, d time.Duration) {
	us := uint64(d / time.Microsecond)
	g.buf = strconv.AppendUint(append(g.buf, label...), us/1e6, 10)
	g.buf = append(g.buf, '.')
	g.buf = appendPadded(g.buf, us%1e6, 6)
}

// clock keeps the last second written as text: most records share it with the
// one before.
type clock struct {
	second int64
	text   []byte
}

func (g *generator) putTime(t time.Time) {
	if s := t.Unix(); s != g.clock.second {
		g.clock.second = s
		g.clock.text = t.AppendFormat(g.clock.text[:0], "2006-01-02T15:04:05.")
	}
	g.buf = append(g.buf, g.clock.text...)
	g.buf = appendPadded(g.buf, uint64(t.Nanosecond()/1000), 6)
	g.buf = append(g.buf, 'Z')
}

func appendPadded(b []byte, n uint64, width int) []byte {
	var digits [20]byte
	for i := width - 1; i >= 0; i-- {
		digits[i] = byte('0' + n%10)
		n /= 10
	}
	return append(b, digits[:width]...)
}

func appendUpperHex(b []byte, n uint64) []byte {
	const digits = "0123456789ABCDEF"
	var d [16]byte
	i := len(d)
	for n > 0 || i == len(d) {
		i--
		d[i] = digits[n%16]
		n /= 16
	}
	return append(b, d[i:]...)
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func yesNo(b bool) string {
	if b {
		return "Yes"
	}
	return "No"
}
