package envelope

// The objects of a resource have their members in nearly one order. So each
// place of the document remembers which it has seen, in that order, and looks for
// the next of them first: to see that a name is the same takes less than to read
// it and to look it up. It is a memory of names alone; what a guess misses is read.

// guess is a member that was seen: its name in quotes with the colon, and its
// number among those that are wanted, or -1.
type guess struct {
	text   string
	member int
}

const (
	// maxGuesses bounds what a place remembers. Places with many names, such as
	// maps, remember some of them to no avail.
	maxGuesses = 32
	// maxGuess is how long a remembered name is at most, with quotes and colon.
	maxGuess = 64
	// maxMissed is how many members may be left out between two that are guessed.
	maxMissed = 3
)

// guess returns the position of the guess that b[i:] begins with, from a
// position on, or -1.
func (n *node) guess(b []byte, i, from int) int {
	for at := from; at < len(n.guesses) && at <= from+maxMissed; at++ {
		text := n.guesses[at].text
		if len(b)-i > len(text) && b[i+1] == text[1] && string(b[i:i+len(text)]) == text {
			return at
		}
	}
	return -1
}

// learn remembers a member for the next time.
func (n *node) learn(at int, text []byte, member int) {
	if len(n.guesses) < maxGuesses && len(text) <= maxGuess && !n.labels {
		n.guesses = append(n.guesses, guess{})
		copy(n.guesses[at+1:], n.guesses[at:])
		n.guesses[at] = guess{string(text), member}
	}
}
