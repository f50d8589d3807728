// Package slowlog reads and writes the slow query logs of MySQL, Percona
// Server, MariaDB and, as far as its keys go, TiDB.
//
// A Reader turns bytes into Events, one a record:
//
//	for ev, err := range slowlog.NewReader(f).All() {
//		if err != nil {
//			return err
//		}
//		fmt.Println(ev.Time, ev.QueryTime, ev.Query)
//	}
//
// A GeneralReader, a TableReader and a LineReader make the same events of other
// logs, as far as these tell; a Writer writes events as a slow log.
//
// Only input and output end it with an error. A damaged record is skipped,
// counted and handed to Reader.OnDamage, and costs at most itself.
package slowlog
