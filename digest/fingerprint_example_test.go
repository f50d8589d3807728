package digest_test

import (
	"fmt"

	"github.com/quern-dev/quern/digest"
)

func ExampleFingerprint() {
	fmt.Println(digest.Fingerprint("SELECT Name FROM `users` WHERE id IN (7, 8, 9) -- page 2"))
	fmt.Println(digest.Fingerprint("INSERT INTO t (a, b) VALUES (1, 'x'), (2, NOW())"))
	// Output:
	// select name from users where id in(?+)
	// insert into t(a, b) values(?+)
}

func ExampleFingerprinter_Append() {
	var f digest.Fingerprinter
	var buf []byte
	counts := make(map[string]int)
	for _, sql := range []string{"SELECT 1", "select  2;", "SELECT 'a' FROM t"} {
		buf = f.Append(buf[:0], sql)
		counts[string(buf)]++ // allocates for new classes only
	}
	fmt.Println(counts)
	// Output: map[select ?:2 select ? from t:1]
}

func ExampleFingerprinter_Statement() {
	var f digest.Fingerprinter
	s := f.Statement("UPDATE Shop.orders o JOIN users u ON u.id = o.user\nSET o.note = 'called' /*route='%2Forders',request_id='f00d'*/")
	fmt.Println(s.Verb, s.Tables)
	fmt.Println(s.Summary)
	fmt.Printf("%q\n", s.Redacted)
	fmt.Println(s.Tags.Get("route"), s.Tags.Get("request_id"))
	// Output:
	// UPDATE [Shop.orders users]
	// UPDATE Shop.orders users
	// "UPDATE Shop.orders o JOIN users u ON u.id = o.user\nSET o.note = ? "
	// /orders f00d
}

func ExamplePerconaID() {
	id := digest.PerconaID("SELECT 1 FROM t")
	fmt.Println(id)      // as pt-query-digest prints it
	fmt.Println(id[16:]) // as PMM stores it
	// Output:
	// 7A630065187CE7E5BCC8CFCF98576B16
	// BCC8CFCF98576B16
}

// The statement as it was written, but for its literals and comments.
func ExampleFingerprinter_AppendRedacted() {
	var f digest.Fingerprinter
	fmt.Printf("%s\n", f.AppendRedacted(nil, "SELECT Name FROM customer\n WHERE email = 'a@example.com' -- of Ann"))
	// Output:
	// SELECT Name FROM customer
	//  WHERE email = ?
}

// What an application or a tracer wrote into a comment.
func ExampleFingerprinter_Tags() {
	var f digest.Fingerprinter
	tags := f.Tags("SELECT 1 /*controller='cart',traceparent='00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'*/")
	fmt.Println(tags.Get("controller"), tags.Get("traceparent"))
	// Output: cart 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
}
