package lexer

import "strings"

// Word is a word of SQL that means something to a reader of tokens; 0 is any
// other word, that is, a name.
type Word uint16

// The words that readers of tokens ask for by name. The table holds more: see
// reserved.
const (
	_            Word = iota
	Dotted            // a name beside a dot: see Token.Dotted
	dottedWord        // one that spells a reserved word
	unterminated      // see Token.Unterminated

	// The verbs that take a hint.
	Select
	Insert
	Replace
	Update
	Delete

	Alter
	Analyze
	As
	By
	Call
	Change
	Check
	Columns
	Create
	Cross
	Database
	Date
	Desc
	Describe
	Drop
	Dual
	Duplicate
	Event
	Except
	Explain
	False
	Fields
	For
	From
	Function
	Grant
	Group
	Having
	Identified
	If
	Ignore
	In
	Index
	Indexes
	Intersect
	Into
	Is
	Join
	Key
	Keys
	Like
	Limit
	Load
	Lock
	Not
	Null
	On
	Optimize
	Order
	Password
	Procedure
	Recursive
	References
	Rename
	Repair
	Returning
	Revoke
	Row
	Schema
	Set
	Show
	StraightJoin
	Table
	Tables
	Time
	Timestamp
	To
	Trigger
	True
	Truncate
	Union
	Unlock
	Use
	User
	Using
	Value
	Values
	View
	Where
	Window
	With
	namedWords
)

const lastVerb = Delete

var named = [namedWords]string{
	Alter:        "alter",
	Analyze:      "analyze",
	As:           "as",
	By:           "by",
	Call:         "call",
	Change:       "change",
	Check:        "check",
	Columns:      "columns",
	Create:       "create",
	Cross:        "cross",
	Database:     "database",
	Date:         "date",
	Delete:       "delete",
	Desc:         "desc",
	Describe:     "describe",
	Drop:         "drop",
	Dual:         "dual",
	Duplicate:    "duplicate",
	Event:        "event",
	Except:       "except",
	Explain:      "explain",
	False:        "false",
	Fields:       "fields",
	For:          "for",
	From:         "from",
	Function:     "function",
	Grant:        "grant",
	Group:        "group",
	Having:       "having",
	Identified:   "identified",
	If:           "if",
	Ignore:       "ignore",
	In:           "in",
	Index:        "index",
	Indexes:      "indexes",
	Insert:       "insert",
	Intersect:    "intersect",
	Into:         "into",
	Is:           "is",
	Join:         "join",
	Key:          "key",
	Keys:         "keys",
	Like:         "like",
	Limit:        "limit",
	Load:         "load",
	Lock:         "lock",
	Not:          "not",
	Null:         "null",
	On:           "on",
	Optimize:     "optimize",
	Order:        "order",
	Password:     "password",
	Procedure:    "procedure",
	Recursive:    "recursive",
	References:   "references",
	Rename:       "rename",
	Repair:       "repair",
	Replace:      "replace",
	Returning:    "returning",
	Revoke:       "revoke",
	Row:          "row",
	Schema:       "schema",
	Select:       "select",
	Set:          "set",
	Show:         "show",
	StraightJoin: "straight_join",
	Table:        "table",
	Tables:       "tables",
	Time:         "time",
	Timestamp:    "timestamp",
	To:           "to",
	Trigger:      "trigger",
	True:         "true",
	Truncate:     "truncate",
	Union:        "union",
	Unlock:       "unlock",
	Update:       "update",
	Use:          "use",
	User:         "user",
	Using:        "using",
	Value:        "value",
	Values:       "values",
	View:         "view",
	Where:        "where",
	Window:       "window",
	With:         "with",
}

// reserved are the words that cannot be a bare name in any version since
// MySQL 5.7, and three later ones that join or combine queries. Words that
// became reserved later (rank, groups, system, window) are names: queries of
// older servers use them as such.
const reserved = `accessible add all alter analyze and as asc asensitive before between bigint
binary blob both by call cascade case change char character check collate column condition
constraint continue convert create cross current_date current_time current_timestamp
current_user cursor database databases day_hour day_microsecond day_minute day_second dec
decimal declare default delayed delete desc describe deterministic distinct distinctrow div
double drop dual each else elseif enclosed escaped except exists exit explain false fetch
float float4 float8 for force foreign from fulltext get grant group having high_priority
hour_microsecond hour_minute hour_second if ignore in index infile inner inout insensitive
insert int int1 int2 int3 int4 int8 integer intersect interval into is iterate join key keys
kill lateral leading leave left like limit linear lines load localtime localtimestamp lock
long longblob longtext loop low_priority master_bind master_ssl_verify_server_cert match
maxvalue mediumblob mediumint mediumtext middleint minute_microsecond minute_second mod
modifies natural not no_write_to_binlog null numeric on optimize option optionally or order
out outer outfile partition precision primary procedure purge range read reads read_write
real references regexp release rename repeat replace require resignal restrict return revoke
right rlike schema schemas second_microsecond select sensitive separator set show signal
smallint spatial specific sql sqlexception sqlstate sqlwarning sql_big_result
sql_calc_found_rows sql_small_result ssl starting straight_join table terminated then
tinyblob tinyint tinytext to trailing trigger true undo union unique unlock unsigned update
usage use using utc_date utc_time utc_timestamp values varbinary varchar varcharacter varying
when where while with write xor year_month zerofill`

// calls are the reserved words written without a space before "(": functions
// and types that bear the name of a reserved word, and IN and VALUES.
const calls = `bigint binary blob char character convert current_date current_time
current_timestamp current_user database dec decimal double float float4 float8 if in insert
int int1 int2 int3 int4 int8 integer left localtime localtimestamp longblob longtext match
mediumblob mediumint mediumtext middleint mod numeric real repeat replace right schema
smallint tinyblob tinyint tinytext utc_date utc_time utc_timestamp values varbinary varchar
varcharacter`

// operands are the reserved words after which an operator follows, not an
// operand: a sign behind them is a binary one.
const operands = `bigint blob char current_date current_time current_timestamp current_user
date day_hour day_microsecond day_minute day_second dec decimal double dual false
float float4 float8 hour_microsecond hour_minute hour_second int int1 int2 int3 int4 int8
integer localtime localtimestamp longblob longtext maxvalue mediumblob mediumint mediumtext
middleint minute_microsecond minute_second null numeric real second_microsecond smallint
tinyblob tinyint tinytext true unsigned utc_date utc_time utc_timestamp varchar varcharacter
year_month zerofill`

// charsets are the character sets; with an underscore before it each is an
// introducer, which belongs to the literal behind it.
const charsets = `armscii8 ascii big5 binary cp1250 cp1251 cp1256 cp1257 cp850 cp852 cp866
cp932 dec8 eucjpms euckr gb18030 gb2312 gbk geostd8 greek hebrew hp8 keybcs2 koi8r koi8u
latin1 latin2 latin5 latin7 macce macroman sjis swe7 tis620 ucs2 ujis utf16 utf16le utf32
utf8 utf8mb3 utf8mb4`

type flags uint8

const (
	isReserved flags = 1 << iota
	isCall
	isOperand
	isIntroducer
)

// Reserved reports whether w cannot be a bare name, so that a name of this
// spelling needs its quotes.
func (w Word) Reserved() bool { return words[w].flags&isReserved != 0 }

// Call reports whether w is a reserved word that takes its parenthesis as a
// function does.
func (w Word) Call() bool { return words[w].flags&isCall != 0 }

// Operand reports whether w ends an operand, as NULL and CURRENT_DATE do.
func (w Word) Operand() bool { return words[w].flags&isOperand != 0 }

// Introducer reports whether w names the character set of the literal behind
// it, as _utf8mb4 does.
func (w Word) Introducer() bool { return words[w].flags&isIntroducer != 0 }

// String returns w in lower case, "" for 0.
func (w Word) String() string { return words[w].text }

// MaxWords is greater than all Words.
const MaxWords = 512

// word is what the lexer knows of a Word.
type word struct {
	text  string
	flags flags
}

// A key is what a word is found by: its first eight bytes and, where it is
// longer, its last eight. Together with the length they tell all words of up
// to 16 bytes apart; longer ones are compared in full.
type key struct{ lo, hi uint64 }

// entry is a place in the hash table of the words.
type entry struct {
	lo   uint64
	word Word // 0 if the place is free
	len  uint8
}

const (
	maxWord   = 29 // bytes of the longest word
	tableBits = 10 // 16 KiB; three in four names meet a free place
)

var (
	words [MaxWords]word
	keys  [MaxWords]key
	table [1 << tableBits]entry
)

func init() {
	end := Word(namedWords)
	index := make(map[string]Word)
	add := func(text string, f flags) {
		w, ok := index[text]
		if !ok {
			w, end = end, end+1
			index[text] = w
		}
		words[w] = word{text: text, flags: words[w].flags | f}
	}
	for w := Select; w < namedWords; w++ {
		index[named[w]] = w
		add(named[w], 0)
	}
	for _, list := range []struct {
		texts, prefix string
		flags         flags
	}{
		{reserved, "", isReserved},
		{calls, "", isCall},
		{operands, "", isOperand},
		{charsets, "_", isReserved | isIntroducer},
	} {
		for text := range strings.FieldsSeq(list.texts) {
			add(list.prefix+text, list.flags)
		}
	}
	for w := Select; w < end; w++ {
		text := words[w].text
		keys[w] = keyOf(text, 0, len(text))
		h := keys[w].hash(len(text))
		for table[h].word != 0 {
			h = (h + 1) % uint(len(table))
		}
		table[h] = entry{keys[w].lo, w, uint8(len(text))}
	}
}

// lookup returns the word src[i:j], or 0.
func lookup(src string, i, j int) Word {
	n := j - i
	if n < 2 || n > maxWord {
		return 0
	}
	if n <= 8 && len(src)-i >= 8 {
		return short(Load8(src[i:]), n)
	}
	k := keyOf(src, i, j)
	for h := k.hash(n); ; h = (h + 1) % uint(len(table)) {
		e := &table[h]
		if e.word == 0 {
			return 0
		}
		if e.lo == k.lo && int(e.len) == n && (n <= 8 || keys[e.word] == k && (n <= 16 || equalFold(src[i:j], words[e.word].text))) {
			return e.word
		}
	}
}

// short returns the word of n bytes, from two to eight, that x begins with, or 0.
func short(x uint64, n int) Word {
	lo := (x | fold) & (1<<(8*uint(n)) - 1)
	for h := (key{lo: lo}).hash(n); ; h = (h + 1) % uint(len(table)) {
		switch e := &table[h]; {
		case e.word == 0 || e.lo == lo && int(e.len) == n:
			return e.word
		}
	}
}

// keyOf loads the key of the word src[i:j] in lower case: to set bit 5 keeps
// all the bytes of names apart but capital letters from small ones.
func keyOf(src string, i, j int) key {
	if j-i > 8 {
		return key{Load8(src[i:]) | fold, Load8(src[j-8:]) | fold}
	}
	var lo uint64
	for k := i; k < j; k++ {
		lo |= uint64(src[k]|0x20) << (8 * uint(k-i))
	}
	return key{lo: lo}
}

func (k key) hash(n int) uint {
	return uint((k.lo ^ k.hi*0x9e3779b97f4a7c15 ^ uint64(n)) * 0xd6e8feb86659fd93 >> (64 - tableBits))
}

// equalFold compares a with b, which is in lower case, without regard to the
// case of ASCII letters.
func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		c := a[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != b[i] {
			return false
		}
	}
	return true
}
