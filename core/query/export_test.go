package query

// Split returns the required and the excluded words of a search.
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

// CompareOperators returns the symbols that compare a name with a value.
func CompareOperators() (all []string) {
	for _, symbol := range symbols {
		if _, _, ok := compareOperator(symbol); ok {
			all = append(all, symbol)
		}
	}
	return all
}
