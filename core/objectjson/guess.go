package objectjson

// The objects of a resource list their members in nearly the same order. Each node of the
// tree therefore stores the names that it has seen, in that order, as guesses. A scan
// first compares the next name of an object with the next guess. A comparison costs less
// than decoding and looking up a name. Names without a matching guess are decoded.

// guess is a member that a scan has read before. The field text contains the member's
// name in quotes with the colon. The field member is the member's index among the node's
// selected members, or -1.
type guess struct {
	text   string
	member int
	// The field head contains up to eight bytes from the start of the text, and mask
	// selects these bytes. The field tail contains the last eight bytes, if the text has
	// at least eight.
	head, mask, tail uint64
}

const (
	// maxGuesses limits the guesses of a node. Nodes with many names, such as maps,
	// do not benefit from guesses, so storing more would waste memory.
	maxGuesses = 32
	// maxGuess is the maximum length of a remembered name, with quotes and colon.
	maxGuess = 64
	// maxMissed is the maximum number of consecutive guesses that a scan skips, for
	// members that an object lacks.
	maxMissed = 3
)

// guess returns the index of the first guess that is a prefix of b[i:], or -1. It tries
// the guess with index "from" and the next maxMissed guesses.
func (n *node) guess(b []byte, i, from int) int {
	if len(b)-i < 8 {
		return -1
	}
	head := word(b[i:])
	for at := from; at < len(n.guesses) && at <= from+maxMissed; at++ {
		g := &n.guesses[at]
		if head&g.mask != g.head {
			continue
		}
		switch long := len(g.text); {
		case long <= 8:
			return at
		case len(b)-i <= long || word(b[i+long-8:]) != g.tail:
		case long <= 16 || string(b[i+8:i+long-8]) == g.text[8:long-8]:
			return at
		}
	}
	return -1
}

// learn inserts a guess at the index "at", unless the guess exceeds a limit or the
// members of the node are labels.
func (n *node) learn(at int, text []byte, member int) {
	if len(n.guesses) < maxGuesses && len(text) <= maxGuess && !n.labels {
		n.guesses = append(n.guesses, guess{})
		copy(n.guesses[at+1:], n.guesses[at:])
		n.guesses[at] = newGuess(string(text), member)
	}
}

func newGuess(text string, member int) guess {
	g := guess{text: text, member: member}
	for i := range min(len(text), 8) {
		g.head |= uint64(text[i]) << (8 * i)
		g.mask |= 0xff << (8 * i)
	}
	if len(text) >= 8 {
		g.tail = word([]byte(text[len(text)-8:]))
	}
	return g
}
