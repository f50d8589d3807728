package lexer

import "bytes"

// Scan follows a text only so far as to know whether it stands inside a
// literal, a quoted name or a block comment. It takes the text in pieces of
// any size and is a good deal faster than a Lexer. The zero value is at the
// beginning of a text.
type Scan struct {
	// Mode may be changed between statements.
	Mode  Mode
	state scanState
	quote byte
	exec  bool
}

// Snapshot returns where s stands as a number, for Restore.
func (s *Scan) Snapshot() uint32 {
	n := uint32(s.state) | uint32(s.quote)<<8 | uint32(s.Mode)<<16
	if s.exec {
		n |= 1 << 24
	}
	return n
}

// Restore puts s where the Scan stood that gave the Snapshot n. Any n is one.
func (s *Scan) Restore(n uint32) {
	*s = Scan{Mode: Mode(n >> 16), state: min(scanState(n), star), quote: byte(n >> 8), exec: n>>24&1 != 0}
}

type scanState uint8

const (
	ground    scanState = iota
	inQuotes            // inside quote … quote
	inEscape            // behind a backslash inside a string
	inLine              // inside a line comment
	inBlock             // inside a block comment
	blockStar           // behind a * inside a block comment
	// What decides may come with the next piece:
	dash       // behind one -
	dashes     // behind --
	slash      // behind a /
	slashStar  // behind /*
	slashStarM // behind /*M
	star       // behind a * inside an executable comment
)

// Reset goes back to the beginning of a text.
func (s *Scan) Reset() { *s = Scan{Mode: s.Mode} }

// Ground reports whether the text so far could end here: it stands in no
// string, no quoted name and no block comment, executable ones included.
func (s *Scan) Ground() bool {
	switch s.state {
	case inQuotes, inEscape, inBlock, blockStar, slashStar, slashStarM:
		return false
	}
	return !s.exec
}

// Feed reads on through b.
func (s *Scan) Feed(b []byte) {
	for i := 0; i < len(b); {
		switch s.state {
		case ground:
			for len(b)-i >= 8 { // by eight bytes: a statement has few stops
				if w := b[i : i+8]; stops[w[0]]|stops[w[1]]|stops[w[2]]|stops[w[3]]|stops[w[4]]|stops[w[5]]|stops[w[6]]|stops[w[7]] != 0 {
					break
				}
				i += 8
			}
			for i < len(b) && stops[b[i]] == 0 {
				i++
			}
			if i == len(b) {
				return
			}
			if end := s.pass(b, i); end > 0 {
				i = end
				continue
			}
			switch c := b[i]; c {
			case '#':
				s.state = inLine
			case '-':
				s.state = dash
			case '/':
				s.state = slash
			case '*':
				if s.exec {
					s.state = star
				}
			default:
				s.state, s.quote = inQuotes, c
			}
			i++
		case inQuotes:
			i = s.quoted(b, i)
		case inEscape:
			s.state = inQuotes
			i++
		case inLine:
			k := bytes.IndexByte(b[i:], '\n')
			if k < 0 {
				return
			}
			s.state = ground
			i += k + 1
		case inBlock:
			k := bytes.IndexByte(b[i:], '*')
			if k < 0 {
				return
			}
			s.state = blockStar
			i += k + 1
		case blockStar:
			switch b[i] {
			case '/':
				s.state = ground
			case '*':
			default:
				s.state = inBlock
			}
			i++
		case dash:
			if b[i] == '-' {
				s.state = dashes
				i++
			} else {
				s.state = ground
			}
		case dashes:
			switch c := b[i]; {
			case c == '-': // a minus sign, and two dashes again
				i++
			case c <= ' ' || c == 0x7f:
				s.state = inLine
			default:
				s.state = ground
			}
		case slash:
			if b[i] == '*' {
				s.state = slashStar
				i++
			} else {
				s.state = ground
			}
		case slashStar:
			switch b[i] {
			case '!':
				s.state, s.exec = ground, true
				i++
			case 'M':
				s.state = slashStarM
				i++
			default:
				s.state = inBlock
			}
		case slashStarM:
			if b[i] == '!' {
				s.state, s.exec = ground, true
				i++
			} else {
				s.state = inBlock
			}
		case star:
			s.state = ground
			if b[i] == '/' {
				s.exec = false
				i++
			}
		}
	}
}

// pass returns where what begins with the stop at b[i] ends, if that is within b
// and there is nothing difficult in it, so that the ground state goes on; else 0.
// It does for most what the states do for all.
func (s *Scan) pass(b []byte, i int) (end int) {
	c, rest := b[i], b[i+1:]
	switch c {
	case '-':
		if len(rest) > 0 && rest[0] != '-' {
			return i + 1
		}
	case '/':
		if len(rest) < 2 {
			return 0
		}
		if rest[0] != '*' {
			return i + 1
		}
		if rest[1] == '!' || rest[1] == 'M' {
			return 0
		}
		if k := bytes.Index(rest[1:], blockEnd); k >= 0 {
			return i + 2 + k + len(blockEnd)
		}
	case '*':
		if !s.exec {
			return i + 1
		}
	case '\'', '"', '`':
		k := bytes.IndexByte(rest, c)
		if k >= 0 && (!s.Mode.escapes(c) || bytes.IndexByte(rest[:k], '\\') < 0) {
			return i + 1 + k + 1
		}
	}
	return 0
}

var blockEnd = []byte("*/")

// quoted reads on inside quotes, from b[i], and returns where it stopped: a
// doubled quote closes and opens again.
func (s *Scan) quoted(b []byte, i int) int {
	k := bytes.IndexByte(b[i:], s.quote)
	end := i + k
	if k < 0 {
		end = len(b)
	}
	if s.Mode.escapes(s.quote) {
		for j := i; ; {
			n := bytes.IndexByte(b[j:end], '\\')
			if n < 0 {
				break
			}
			j += n + 1
			if j == len(b) {
				s.state = inEscape
				return j
			}
			if j++; j > end {
				return j // the quote was escaped
			}
		}
	}
	if k < 0 {
		return end
	}
	s.state, s.quote = ground, 0
	return end + 1
}

// stops has 1 for the bytes that may end the ground state.
var stops = [256]uint8{'\'': 1, '"': 1, '`': 1, '#': 1, '-': 1, '/': 1, '*': 1}
