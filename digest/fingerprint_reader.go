package digest

import "github.com/quern-dev/quern/internal/lexer"

// class is what a token is to a fingerprint.
type class uint8

const (
	atStart   class = iota // of the text: no token
	aWord                  // a reserved word
	aCall                  // a reserved word that takes "(" as a function does
	aName                  // a name, bare or in quotes
	aValue                 // a literal or a placeholder
	aText                  // a string literal
	aVariable              // @v, @@v
	aStar                  // the * that stands for all columns
	anOpen                 // (
	aClose                 // )
	aComma
	aDot
	aSemicolon
	aBinary    // a binary operator, or what reads like one
	aUnary     // ! and ~
	aSign      // a + or - that is no binary operator: goes with a literal
	anArrow    // -> and ->>
	anAt       // the @ between the literals of an account
	aHintOpen  // the opening of a hint, whose tokens follow
	aHintClose // its end

	// Classes that the Fingerprinter gives in place of others.
	aRows     // VALUES, or a comma or ROW behind it: a row may follow
	aRow      // the end of a row behind VALUES
	aRowComma // the comma between two rows

	// What follows stands for no token of the fingerprint.
	aPrefix  // an introducer, or the type of a date literal: belongs to the literal
	aMore    // a string that continues the literal before it
	aComment // a comment
	anExec   // the opening or the end of an executable comment
	atEnd    // of the text
)

// operands are the classes that end an operand: an operator behind them is a
// binary one.
const operands = 1<<aName | 1<<aValue | 1<<aText | 1<<aVariable | 1<<aStar | 1<<aClose | 1<<aRow

// reader reads the tokens of a text and tells what they are: where a literal
// is, above all.
type reader struct {
	lex   lexer.Lexer
	outer lexer.Lexer // inside a hint, the one that reads on behind it
	src   string
	ansi  bool

	last  class      // of the last token: for the user of the reader to set
	word  lexer.Word // of the last token if it was a bare word, else 0
	prev  lexer.Word // the same of the token before it
	verb  lexer.Word // the first word of the statement that the lexer knows
	first bool       // the statement has no token yet
	use   bool       // the statement begins with USE
	hint  bool       // inside a hint
	bare  bool       // the last token, a name in quotes, reads the same without them

	secret    bool // the statement sets a password
	routine   bool // the text defines a stored program
	hinted    bool // the text has a hint
	truncated bool // the text ends inside a token
}

func (r *reader) init(src string, o FingerprintOptions) {
	*r = reader{src: src, first: true, ansi: o.ANSIQuotes}
	r.lex.Init(src, o.mode())
}

// classify returns the class of t, which r.lex read behind a token of class
// r.last.
func (r *reader) classify(t lexer.Token) class {
	var c class
	w := t.Word
	switch t.Kind {
	case lexer.Ident:
		if w == 0 || t.Dotted() || r.last == aDot {
			// Behind a dot is a name whatever it spells.
			c, w = r.name(t), 0
		} else if c, w = r.wordClass(w); c == aPrefix {
			return c
		}
		if r.verb == 0 {
			r.verb = w
		}
	case lexer.Op:
		c, w = r.op(t), 0
		if c == aSemicolon {
			r.prev, r.word, r.verb = 0, 0, 0
			r.first, r.use, r.secret = true, false, false
			return c
		}
	case lexer.String:
		w = 0
		if c = aText; r.last == aText {
			r.truncated = r.truncated || t.Unterminated() && !r.hint
			return aMore
		}
	case lexer.Number, lexer.Bits, lexer.Placeholder, lexer.List:
		c, w = aValue, 0
	case lexer.Variable:
		c, w = aVariable, 0
	case lexer.QuotedIdent:
		c = aName
		w, r.bare = lexer.Bare(r.src[t.Start+1 : max(t.Start+1, t.End-1)])
		if r.usesSchema() || r.secret && r.src[t.Start] == '"' {
			c, w = aValue, 0
		}
	default:
		return r.between(t)
	}
	if t.Unterminated() {
		if c, w = aValue, 0; t.Kind == lexer.String {
			c = aText
		}
		r.truncated = r.truncated || !r.hint
	}
	r.prev, r.word, r.first = r.word, w, false
	return c
}

// between tells of what stands between the tokens of a statement.
func (r *reader) between(t lexer.Token) class {
	if t.Unterminated() && !r.hint {
		r.truncated = true
	}
	c := aHintClose
	switch {
	case t.Kind == lexer.EOF && !r.hint:
		return atEnd
	case t.Kind == lexer.EOF:
		r.lex, r.hint = r.outer, false
	case t.Kind == lexer.Hint && !t.Unterminated():
		r.outer, r.hint, r.hinted = r.lex, true, true
		r.lex = r.outer.Part(t.Start+len("/*+"), t.End-len("*/"))
		c = aHintOpen
	case t.Kind == lexer.ExecOpen || t.Kind == lexer.ExecClose:
		return anExec
	default:
		return aComment
	}
	r.prev, r.word = 0, 0
	return c
}

// operandExpected reports whether an operand may follow, and so no binary
// operator.
func (r *reader) operandExpected() bool {
	return 1<<r.last&operands == 0 && !r.word.Operand()
}

// usesSchema reports whether a schema follows: behind USE at the beginning.
func (r *reader) usesSchema() bool {
	return r.use && r.word == lexer.Use
}

// name returns the class of a bare name.
func (r *reader) name(t lexer.Token) class {
	if r.usesSchema() {
		return aValue
	}
	if c := r.src[t.Start]; r.hint && '0' <= c && c <= '9' {
		return aValue // as in SET_VAR(sort_buffer_size = 16M)
	}
	return aName
}

// wordClass returns the class of a word, and the word again unless it stands
// for a name or a literal.
func (r *reader) wordClass(w lexer.Word) (class, lexer.Word) {
	switch w {
	case lexer.Null:
		// NULL is a literal where an operand may stand.
		if r.word != lexer.Is && r.word != lexer.Not && r.word != lexer.Set && r.operandExpected() {
			return aValue, 0
		}
	case lexer.True, lexer.False:
		if r.word != lexer.Is && !(r.word == lexer.Not && r.prev == lexer.Is) {
			return aValue, 0
		}
	case lexer.Date, lexer.Time, lexer.Timestamp:
		if r.operandExpected() && !r.usesSchema() && r.peek().Kind == lexer.String {
			return aPrefix, 0
		}
	case lexer.Use:
		r.use = r.first
	case lexer.Identified:
		r.secret = true
	case lexer.Password:
		switch r.verb {
		case lexer.Select, lexer.Insert, lexer.Update, lexer.Delete, lexer.Replace, lexer.With:
		default:
			r.secret = true
		}
	case lexer.Change:
		r.secret = r.secret || r.first
	case lexer.Procedure, lexer.Function, lexer.Trigger, lexer.Event:
		r.routine = r.routine || r.verb == lexer.Create || r.verb == lexer.Alter
	default:
		if w.Introducer() {
			return aPrefix, 0
		}
	}
	switch {
	case !w.Reserved():
		if r.usesSchema() {
			return aValue, 0
		}
		return aName, w
	case w.Call():
		return aCall, w
	}
	return aWord, w
}

// peek returns the next token without reading it.
func (r *reader) peek() lexer.Token {
	ahead := r.lex
	for {
		switch t := ahead.Next(); t.Kind {
		case lexer.Comment, lexer.ExecOpen, lexer.ExecClose:
		default:
			return t
		}
	}
}

// op returns the class of an operator or punctuation mark.
func (r *reader) op(t lexer.Token) class {
	switch c := r.src[t.Start]; c {
	case '(':
		return anOpen
	case ')':
		return aClose
	case ',':
		return aComma
	case '.':
		return aDot
	case ';':
		if !r.hint {
			return aSemicolon
		}
	case '@':
		return anAt
	case '*':
		if r.operandExpected() {
			return aStar
		}
	case '+', '-', '!', '~':
		switch n := t.End - t.Start; {
		case c == '-' && n > 1:
			return anArrow
		case n > 1 || !r.operandExpected():
			return aBinary
		case c == '+' || c == '-':
			return aSign
		}
		return aUnary
	}
	return aBinary
}
