package objectjson

// DaysSinceEpoch exposes daysSinceEpoch to tests.
var DaysSinceEpoch = daysSinceEpoch

// Remembered returns how many bytes of names a Scanner stores for its guesses.
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
