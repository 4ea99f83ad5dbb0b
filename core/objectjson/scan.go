package objectjson

import "github.com/watchglass/watchglass/core/api"

// Options configures a Scan. The Keep fields disable the removal of data from bodies;
// see the package documentation.
type Options struct {
	KeepManagedFields bool
	KeepLastApplied   bool
	KeepSecretData    bool
	// Unchecked skips unselected objects and arrays by matching only quotes and brackets.
	// The body keeps such values unchanged, even if they are invalid.
	Unchecked bool
	// Borrowed leaves the strings of the Object in the Scanner's memory, for callers
	// that do not use them after the next Scan.
	Borrowed bool
	// columnsOnly is set by Scanner.Cells.
	columnsOnly bool
}

// Limits of [Scanner.Cells].
const (
	// MaxText is the maximum length of a text, in bytes.
	MaxText = 1024
	// maxResults is the maximum number of results of all paths.
	maxResults = 8192
	// maxTexts is the maximum size of a buffer of texts that is reused, in bytes.
	maxTexts = 64 << 10
)

// Scanner extracts the envelope and the body of objects of one resource. It is not safe
// for concurrent use. Its memory grows to the size of the largest object. The slices of a
// returned Object alias that memory and are valid until the next Scan.
type Scanner struct {
	root    *node
	columns []column
	prints  []*print
	secret  bool

	// State of the current Scan:
	body        editor
	unchecked   bool
	columnsOnly bool
	omit        part // parts to cut from the body
	withhold    part // parts that must not appear in columns and fields either
	captures    []capture
	heads       []int // the last capture of each slot, or -1
	labels      []labelCapture
	owned       bool // the object has an owner

	// The memory of the returned Object:
	texts  texts
	object api.Object
}

// capture is the position of a value that a slot selects. The captures of one slot form a
// linked list, so that the captures of an overridden member can be removed without
// changing other captures.
type capture struct {
	start, end int
	link       int // previous capture of the slot, or -1
}

// labelCapture contains the offsets of a label's name (in quotes) and value.
type labelCapture struct{ name, nameEnd, value, end int }

// NewScanner compiles a schema whose columns have no printers. The error is a 400
// [*api.Status] that names the column or field with the invalid path. NewScanner does
// not retain the schema.
func NewScanner(schema *api.Schema) (*Scanner, error) { return NewPrintingScanner(schema, nil) }

// NewPrintingScanner is like NewScanner, but supports columns with the printers that find
// returns.
func NewPrintingScanner(schema *api.Schema, find Printers) (*Scanner, error) {
	root, columns, prints, slots, err := compile(schema, find)
	if err != nil {
		return nil, err
	}
	s := &Scanner{root: root, columns: columns, prints: prints, secret: isSecret(schema)}
	s.heads = make([]int, slots)
	s.object.Fields = make([]string, len(schema.Fields))
	s.object.Columns = make([]api.Value, len(schema.Columns))
	return s, nil
}

// Scan returns the envelope and the body of one object. The error is a [*SyntaxError].
//
// The Object does not alias raw. Its slices belong to the Scanner until the next Scan.
// Its strings share one allocation, so callers that retain a single string for long
// should clone it. With Borrowed the strings belong to the Scanner as well.
func (s *Scanner) Scan(raw []byte, opts Options) (api.Object, error) {
	s.reset(raw, opts)
	start := skipSpace(raw, 0)
	if at(raw, start) != '{' {
		return api.Object{}, syntaxError(raw, start, wantObject)
	}
	s.body.copied = start
	end, f := s.members(start, s.root, 0)
	if f == sound && skipSpace(raw, end) < len(raw) {
		end, f = skipSpace(raw, end), wantEnd
	}
	if f != sound {
		return api.Object{}, syntaxError(raw, end, f)
	}
	if !opts.columnsOnly {
		s.body.copyTo(end)
	}
	if err := s.assemble(); err != nil {
		return api.Object{}, err
	}
	return s.object, nil
}

// Cells computes the columns of a valid object in bounded memory, even if a client chose
// the paths. A text of more than [MaxText] bytes is cut and ends with "…". If the paths
// have more than 8192 results, all cells are Null. The cells belong to the Scanner until
// the next call.
func (s *Scanner) Cells(raw []byte) ([]api.Value, error) {
	_, err := s.Scan(raw, Options{Unchecked: true, columnsOnly: true})
	if cap(s.texts.bytes) > maxTexts {
		s.texts.bytes = nil
	}
	return s.object.Columns, err
}

func (s *Scanner) reset(raw []byte, opts Options) {
	s.body = editor{raw: raw, out: s.body.out[:0]}
	s.captures, s.labels = s.captures[:0], s.labels[:0]
	for slot := range s.heads {
		s.heads[slot] = -1
	}
	s.unchecked, s.columnsOnly = opts.Unchecked, opts.columnsOnly
	s.texts.borrowed = opts.Borrowed
	s.omit, s.withhold = partResourceVersion, 0
	if !opts.KeepManagedFields {
		s.omit |= partManagedFields
	}
	if !opts.KeepLastApplied {
		s.omit |= partLastApplied
	}
	if s.secret && !opts.KeepSecretData {
		s.withhold = partSecretData | partLastApplied
		s.omit |= s.withhold
	}
	if opts.columnsOnly {
		s.omit = 0
	}
}

// value walks the value at i, which is selected or contains selected values. The argument
// depth is the number of enclosing containers.
func (s *Scanner) value(i int, n *node, depth int) (end int, f fault) {
	switch c := at(s.body.raw, i); {
	case n.part&s.withhold != 0:
		if end, f = s.skip(i, depth); f == sound {
			s.capture(n.counts, i, end)
		}
		return end, f
	case c == '"':
		end, f = skipString(s.body.raw, i)
	case c == '{' && (n.labels || len(n.names) > 0):
		end, f = s.members(i, n, depth)
	case c == '[' && n.wantsElements():
		end, f = s.elements(i, n, depth)
	default:
		end, f = s.skip(i, depth)
	}
	if f == sound {
		s.capture(n.slots, i, end)
	}
	return end, f
}

// skip skips the unselected value at i. An unchecked scan does not validate the
// contents of an object or array.
func (s *Scanner) skip(i, depth int) (int, fault) {
	if s.unchecked {
		return skipUnchecked(s.body.raw, i, depth)
	}
	return skipValue(s.body.raw, i, depth)
}

// skipUnchecked skips an object or array by matching only quotes and brackets. It skips
// any other value as skipValue does.
func skipUnchecked(b []byte, i, depth int) (int, fault) {
	if c := at(b, i); c != '{' && c != '[' {
		return skipValue(b, i, depth)
	}
	span := Span{depth: 1}
	end, complete := span.words(b, i+1)
	if !complete {
		end, complete = span.Find(b, end)
	}
	if !complete {
		return end, wantCommaOrBrace
	}
	return end, sound
}

func (s *Scanner) capture(slots []int, start, end int) {
	for _, slot := range slots {
		if s.columnsOnly && len(s.captures) > maxResults && slot >= firstFieldSlot {
			continue // writeCells then clears all cells
		}
		s.captures = append(s.captures, capture{start, end, s.heads[slot]})
		s.heads[slot] = len(s.captures) - 1
	}
}

// members walks the object at i, and captures the selected values inside it.
func (s *Scanner) members(i int, n *node, depth int) (int, fault) {
	if depth == maxDepth {
		return i, tooDeep
	}
	raw, o := s.body.raw, overriding{since: len(s.captures)}
	kept := -1
	i, more := open(raw, i, '}')
	for g := 0; more; g++ {
		name := i
		var nameEnd, value, k, end int
		var f fault
		if hit := n.guess(raw, i, g); hit >= 0 {
			g, k = hit, n.guesses[hit].member
			nameEnd = i + len(n.guesses[hit].text) - 1
			value = skipSpace(raw, nameEnd+1)
		} else if nameEnd, value, f = member(raw, i); f != sound {
			return value, f
		} else {
			k = n.member(raw[name+1 : nameEnd-1])
			g = min(g, len(n.guesses))
			if raw[nameEnd] == ':' {
				n.learn(g, raw[name:nameEnd+1], k)
			}
		}
		child := s.child(n, k, &o)
		switch {
		case child != nil:
			end, f = s.value(value, child, depth+1)
		case at(raw, value) == '"':
			end, f = skipString(raw, value) // a common case of skip, with fewer calls
		default:
			end, f = s.skip(value, depth+1)
		}
		if f != sound {
			return end, f
		}
		if n.labels {
			s.labels = append(s.labels, labelCapture{name, nameEnd, value, end})
		}
		if end+1 < len(raw) && raw[end] == ',' && raw[end+1] > ' ' {
			i = end + 1 // like next, for input without blanks
		} else if i, more, f = next(raw, end, '}'); f != sound {
			return i, f
		}
		if child != nil && child.part&s.omit != 0 {
			s.body.cutMember(name, end, kept, followingMember(i, more))
		} else {
			kept = end
		}
	}
	return i, sound
}

// overriding detects repeated members of one object.
type overriding struct {
	since int    // captures with at least this index are inside the object
	seen  uint64 // bits by index in node.names; indexes from 64 always count as seen
}

// child returns the node of a selected member, or nil. It removes the captures of an
// earlier member with the same name, because only the last member is used.
func (s *Scanner) child(n *node, k int, o *overriding) *node {
	if k < 0 {
		return nil
	}
	child := n.members[k]
	if k >= 64 || o.seen&(1<<k) != 0 {
		s.takeBack(child, o.since)
	}
	o.seen |= 1 << k
	return child
}

// takeBack removes the captures of a node, and of the nodes below it, if their index is
// at least "since".
func (s *Scanner) takeBack(n *node, since int) {
	for _, slot := range n.under {
		if slot == slotLabels {
			s.labels = s.labels[:0]
		}
		for s.heads[slot] >= since {
			s.heads[slot] = s.captures[s.heads[slot]].link
		}
	}
}

// elements walks the array at i, and captures the selected values inside it.
func (s *Scanner) elements(i int, n *node, depth int) (int, fault) {
	if depth == maxDepth {
		return i, tooDeep
	}
	raw := s.body.raw
	i, more := open(raw, i, ']')
	for index := 0; more; index++ {
		var f fault
		if child := n.element(index); child != nil {
			i, f = s.value(i, child, depth+1)
		} else {
			i, f = s.skip(i, depth+1)
		}
		if f != sound {
			return i, f
		}
		if i, more, f = next(raw, i, ']'); f != sound {
			return i, f
		}
	}
	return i, sound
}
