package explain

import (
	"fmt"
	"strconv"
	"strings"
)

// Product is a family of servers.
type Product string

// The products. Percona Server and Aurora MySQL are MySQL here.
const (
	MySQL   Product = "MySQL"
	MariaDB Product = "MariaDB"
	TiDB    Product = "TiDB"
)

// Server is a server's product and version. The zero value stands for a server
// that is not known: what is true of any of them is then assumed.
type Server struct {
	Product Product
	Version [3]int
	Comment string // version_comment, as "Percona Server (GPL)"
}

// ParseServer reads the server's version() and version_comment.
func ParseServer(version, comment string) Server {
	s := Server{Product: MySQL, Comment: comment}
	lower := strings.ToLower(version + " " + comment)
	switch {
	case strings.Contains(lower, "tidb"):
		s.Product = TiDB
		// 8.0.11-TiDB-v7.5.1: its own version stands behind the one it poses as.
		if _, own, ok := strings.Cut(version, "TiDB-v"); ok {
			version = own
		}
	case strings.Contains(lower, "mariadb"):
		s.Product = MariaDB
		version = strings.TrimPrefix(version, "5.5.5-") // for old replicas
	}
	for i := range s.Version {
		end := strings.IndexFunc(version, func(r rune) bool { return r < '0' || r > '9' })
		if end < 0 {
			end = len(version)
		}
		s.Version[i], _ = strconv.Atoi(version[:end])
		version = version[end:]
		if !strings.HasPrefix(version, ".") {
			break
		}
		version = version[1:]
	}
	return s
}

// AtLeast reports whether the server is of the product and not older.
func (s Server) AtLeast(p Product, version ...int) bool {
	if s.Product != p {
		return false
	}
	for i, v := range version {
		if i < len(s.Version) && s.Version[i] != v {
			return s.Version[i] > v
		}
	}
	return true
}

// Known reports whether the server is known at all.
func (s Server) Known() bool { return s.Product != "" }

func (s Server) String() string {
	if !s.Known() {
		return "unknown server"
	}
	return fmt.Sprintf("%s %d.%d.%d", s.Product, s.Version[0], s.Version[1], s.Version[2])
}
