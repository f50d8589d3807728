package digest

import (
	"math/bits"
	"strings"
)

// known is what is remembered of the statements of a skeleton.
type known struct {
	skeleton    string
	marks       []uint16 // where in the skeleton they are
	fingerprint string
	class       *Class // that an Aggregator found last, or nil

	next *known // in a tree, with the same beginning
}

func newKnown(skeleton, fingerprint string) *known {
	k := &known{skeleton: skeleton, fingerprint: fingerprint}
	for i := range len(skeleton) {
		if isMark(skeleton[i]) {
			k.marks = append(k.marks, uint16(i))
		}
	}
	return k
}

// fits reports whether sql has the skeleton. What stands between the marks is
// compared as a whole, which takes a fraction of what it takes to make a skeleton.
//
// That is enough: where sql has the same bytes as the statements of the skeleton up
// to a place, but for the literals and comments behind the marks, appendSkeleton has
// come to the same there, for it looks at no more of a literal than what it is.
func (k *known) fits(sql string) bool {
	from, i := 0, 0
	for _, m := range k.marks {
		text := k.skeleton[from:m]
		if !strings.HasPrefix(sql[i:], text) {
			return false
		}
		if i = markedEnd(sql, i+len(text), k.skeleton[m]); i < 0 {
			return false
		}
		from = int(m) + 1
	}
	return sql[i:] == k.skeleton[from:]
}

// markedEnd returns where that ends which stands at sql[i:] and has the mark, or
// -1 if nothing of the kind does.
func markedEnd(sql string, i int, mark byte) (end int) {
	if i == len(sql) {
		return -1
	}
	switch mark {
	case listSlot:
		return plainList(sql, i)
	case commentSlot:
		return plainComment(sql, i)
	}
	if c := skelClass[sql[i]]; c != skelDigit && c != skelQuote || slotOf(sql, i) != mark {
		return -1
	}
	return plainLiteral(sql, i)
}

// A tree guesses which skeleton a statement has by a few of its bytes: those in
// which the beginnings of the skeletons, up to the first mark, differ from each
// other. It is a crit-bit tree (D. J. Bernstein's name for PATRICIA, D. R. Morrison
// 1968): each branch asks for one bit, and on the way from the root the bits come
// ever later in the text.
type tree struct {
	branches []branch
	leaves   []*known // each with those of the same beginning behind it
	root     int32
}

type branch struct {
	at    uint16 // of the byte
	mask  uint8  // its bit
	plain bool   // a literal may stand there: its first byte counts as treeMark
	sides [2]int32
}

// treeMark ends the beginning of a skeleton that goes on with a literal.
const treeMark = 1

// treeByte has for the two values of branch.plain what a byte counts as.
var treeByte = func() (t [2][256]uint8) {
	for c := range 256 {
		t[0][c], t[1][c] = uint8(c), uint8(c)
		if skelClass[c] == skelDigit || skelClass[c] == skelQuote {
			t[1][c] = treeMark
		}
	}
	return t
}()

// beginning returns the i-th byte of what tells the skeleton from others in a
// tree, 0 behind it.
func (k *known) beginning(i int) byte {
	end := len(k.skeleton)
	if len(k.marks) > 0 {
		end = int(k.marks[0])
	}
	switch {
	case i < end:
		return k.skeleton[i]
	case end == len(k.skeleton):
		return 0
	case k.skeleton[end] == commentSlot && i < end+2:
		return "/*"[i-end]
	case k.skeleton[end] != commentSlot && i == end:
		return treeMark
	}
	return 0
}

func (b *branch) side(c byte) int32 {
	if c&b.mask != 0 {
		return b.sides[1]
	}
	return b.sides[0]
}

// find returns the skeleton that sql may have, and behind it others of the same
// beginning; nil if there is none.
func (t *tree) find(sql string) *known {
	if len(t.leaves) == 0 {
		return nil
	}
	n := t.root
	for n >= 0 {
		b := &t.branches[n]
		c := byte(0)
		if int(b.at) < len(sql) {
			c = sql[b.at]
		}
		kind := 0
		if b.plain {
			kind = 1
		}
		n = b.side(treeByte[kind][c])
	}
	return t.leaves[^n]
}

func (t *tree) insert(k *known) {
	if len(t.leaves) == 0 {
		t.leaves, t.root = []*known{k}, ^0
		return
	}
	n := t.root
	for n >= 0 {
		b := &t.branches[n]
		n = b.side(k.beginning(int(b.at)))
	}
	like := t.leaves[^n]
	at := 0
	for ; k.beginning(at) == like.beginning(at); at++ {
		if k.beginning(at) == 0 {
			k.next, t.leaves[^n] = like, k
			return
		}
	}
	mine, other := k.beginning(at), like.beginning(at)
	b := branch{at: uint16(at), mask: 1 << (bits.Len8(mine^other) - 1)}
	b.plain = at == 0 || skelClass[k.beginning(at-1)] != skelName && skelClass[k.beginning(at-1)] != skelDigit
	// Its place is before the first branch that asks for a later bit.
	place := &t.root
	for *place >= 0 {
		c := &t.branches[*place]
		if c.at > b.at || c.at == b.at && c.mask < b.mask {
			break
		}
		if k.beginning(int(c.at))&c.mask != 0 {
			place = &c.sides[1]
		} else {
			place = &c.sides[0]
		}
	}
	side := 0
	if mine&b.mask != 0 {
		side = 1
	}
	b.sides[side], b.sides[1-side] = int32(^len(t.leaves)), *place
	*place = int32(len(t.branches))
	t.leaves = append(t.leaves, k)
	t.branches = append(t.branches, b)
}
