package objectjson

// What the tests look at from inside.
var (
	ParseDate      = parseDate
	DaysSinceEpoch = daysSinceEpoch
)

// Remembered is how many bytes of names a Scanner keeps to guess members by.
func (s *Scanner) Remembered() int { return s.root.remembered() }

func (n *node) remembered() (bytes int) {
	for _, g := range n.guesses {
		bytes += len(g.text)
	}
	for _, m := range n.members {
		bytes += m.remembered()
	}
	return bytes
}
