package lexer

// Long lists of literals make up most of the bytes of a log. What follows reads
// them without making tokens of them.

// SkipLiterals goes on behind the literals that each have a comma behind them:
// where the last token was a comma of a list, to what the list's last element
// may be.
func (l *Lexer) SkipLiterals() {
	for {
		i, ok := l.literal(l.pos)
		if !ok || i == len(l.src) || l.src[i] != ',' {
			return
		}
		l.pos, l.after = i+1, afterOther
	}
}

// SkipRows goes on behind the rows that hold literals alone: where the last
// token closed a row behind VALUES, to the end of the last such row.
func (l *Lexer) SkipRows() {
	for {
		i, ok := l.mark(l.pos, ',')
		if !ok {
			return
		}
		i, ok = l.mark(i, '(')
		for next := byte(','); ok && next == ','; {
			if i, ok = l.literal(i); !ok || i == len(l.src) {
				return
			}
			next = l.src[i]
			ok = next == ',' || next == ')'
			i++
		}
		if !ok {
			return
		}
		l.pos, l.after = i, afterOther
	}
}

// mark returns the end of the byte c at src[i:], behind white space.
func (l *Lexer) mark(i int, c byte) (end int, ok bool) {
	i = l.skipSpace(i)
	return i + 1, i < len(l.src) && l.src[i] == c
}

func (l *Lexer) skipSpace(i int) int {
	for i < len(l.src) && space[l.src[i]] != 0 {
		i++
	}
	return i
}

// literal returns the end of the literal at src[i:], with its sign and the
// white space around it. It knows the plain forms only.
func (l *Lexer) literal(i int) (end int, ok bool) {
	src := l.src
	i = l.skipSpace(i)
	if i < len(src) && (src[i] == '-' || src[i] == '+') && i+1 < len(src) && class[src[i+1]] == classDigit {
		i++
	}
	if i == len(src) {
		return i, false
	}
	switch c := src[i]; class[c] {
	case classQuote:
		if c == '`' || c == '"' && l.mode&ANSIQuotes != 0 {
			return i, false
		}
		i, ok = quotedEnd(src, i, l.mode.escapes(c))
	case classDigit:
		var kind Kind
		i, kind = number(src, i)
		ok = kind != Ident
	case classQuestion:
		i, ok = i+1, true
	case classLetter:
		j := nameEnd(src, i)
		i, ok = j, j < len(src) && src[j] != '.' && lookup(src, i, j) == Null
	}
	return l.skipSpace(i), ok
}
