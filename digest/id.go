package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// idVersion is the version of the fingerprint's rules; another version gives
// other IDs.
const idVersion = "q1"

// ID identifies a query class: the first 16 bytes of a SHA-256 over the version
// of the fingerprint's rules, the options that shape a fingerprint, and the
// fingerprint. The options that tell how to read the text (ANSIQuotes,
// NoBackslashEscapes) have no part in it, so that servers of different
// sql_mode agree on the ID of a class.
type ID [16]byte

// String returns "q1:" and 32 hexadecimal digits.
func (id ID) String() string { return idVersion + ":" + hex.EncodeToString(id[:]) }

// Short returns "q1:" and the first 12 hexadecimal digits, enough to tell the
// classes of one report apart.
func (id ID) Short() string { return id.String()[:len(idVersion)+1+12] }

// MarshalText returns the form of String.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads the form of String.
func (id *ID) UnmarshalText(text []byte) error {
	parsed, err := ParseID(string(text))
	if err == nil {
		*id = parsed
	}
	return err
}

// ParseID reads the form of ID.String; digits may be of either case.
func ParseID(s string) (ID, error) {
	var id ID
	version, digits, ok := strings.Cut(s, ":")
	if !ok || version != idVersion {
		return id, fmt.Errorf("digest: query ID does not begin with %q", idVersion+":")
	}
	if len(digits) != 2*len(id) {
		return id, fmt.Errorf("digest: query ID has %d digits instead of %d", len(digits), 2*len(id))
	}
	if _, err := hex.Decode(id[:], []byte(digits)); err != nil {
		return ID{}, errors.New("digest: query ID has a digit that is not hexadecimal")
	}
	return id, nil
}

// ID returns the ID of the class whose fingerprint f's Append made.
func (f *Fingerprinter) ID(fingerprint []byte) ID {
	h := sha256.New()
	h.Write([]byte(idVersion + f.Options.form() + "\n"))
	h.Write(fingerprint)
	var sum [sha256.Size]byte
	return ID(h.Sum(sum[:0])[:len(ID{})])
}

// form tells the options that shape a fingerprint: nothing for the default.
func (o FingerprintOptions) form() (form string) {
	switch o.Style {
	case StylePercona:
		form = " percona"
	case StylePerconaKeepNumbers:
		form = " percona-keep-numbers"
	}
	if o.FoldNumbers && o.Style == StyleQuern {
		form += " fold-numbers"
	}
	return form
}
