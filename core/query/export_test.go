package query

// Split returns the words of a search, and the excluded ones.
func (s Search) Split() (words, excluded []string) {
	words, excluded = []string{}, []string{}
	for i, word := range s.words {
		if s.exclude>>i&1 == 1 {
			excluded = append(excluded, word)
		} else {
			words = append(words, word)
		}
	}
	return words, excluded
}
