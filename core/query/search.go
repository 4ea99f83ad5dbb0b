package query

import (
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// The limits of a search, and the Cause of the error for each exceeded limit.
const (
	MaxSearchBytes   = 1024
	MaxSearchWords   = 30
	LimitSearchBytes = "max-search-bytes"
	LimitSearchWords = "max-search-words"
)

// Search is a full-text search. It matches a row if each word occurs in the row's name,
// namespace, labels or text columns, and no excluded word does. ASCII case is ignored.
// The zero value matches every row.
type Search struct {
	words   []string // in lower case
	exclude Words    // the excluded words
}

// Words is a set of words of a search, with one bit per word.
type Words uint32

// ParseSearch parses a search: words separated by spaces. A word with the prefix "-" is
// excluded. Spaces in double quotes belong to the word. A quote that is not closed
// extends to the end of the text, because results are shown while the user types. A label
// is searched as the text key=value.
func ParseSearch(source string) (Search, *api.Status) {
	var s Search
	if len(source) > MaxSearchBytes {
		return s, api.LimitReached(api.CodeTooLarge, LimitSearchBytes, "the search is longer than 1024 bytes")
	}
	for i := 0; i < len(source); {
		if isSpace(source[i]) {
			i++
			continue
		}
		excluded := source[i] == '-' && i+1 < len(source) && !isSpace(source[i+1])
		if excluded {
			i++
		}
		var word []byte
		for quoted := false; i < len(source) && (quoted || !isSpace(source[i])); i++ {
			if source[i] == '"' {
				quoted = !quoted
			} else {
				word = append(word, lower(source[i]))
			}
		}
		if len(word) == 0 {
			continue
		}
		if len(s.words) == MaxSearchWords {
			return Search{}, api.LimitReached(api.CodeTooLarge, LimitSearchWords, "the search has more than 30 words")
		}
		if excluded {
			s.exclude |= 1 << len(s.words)
		}
		s.words = append(s.words, string(word))
	}
	return s, nil
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// Empty reports whether the search matches every row.
func (s *Search) Empty() bool { return len(s.words) == 0 }

// InLabels returns the words that the given labels contain. Callers may cache the result
// by label set.
func (s *Search) InLabels(labels api.Labels) Words {
	var found Words
	var text []byte
	for i := range labels {
		text = append(append(append(text[:0], labels[i].Key...), '='), labels[i].Value...)
		found |= s.in(borrow(text), found)
	}
	return found
}

// Matches reports whether a row with the given cells matches the search. The argument
// inLabels is the result of InLabels for the labels of the row.
func (s *Search) Matches(cells *wire.CellIndex, inLabels Words) bool {
	found := inLabels
	if found&s.exclude != 0 {
		return false
	}
	wanted := (Words(1)<<len(s.words) - 1) &^ s.exclude
	key := cells.Key()
	found |= s.in(key.Name(), found)
	found |= s.in(key.Namespace(), found)
	if found&s.exclude == 0 && (found != wanted || s.exclude != 0) {
		cells.Texts(func(text string) bool {
			found |= s.in(text, found)
			return found&s.exclude == 0 && (found != wanted || s.exclude != 0)
		})
	}
	return found == wanted
}

// Len returns the number of words.
func (s *Search) Len() int { return len(s.words) }

// textEnd terminates each text in the search text of a row.
const textEnd = 0xff

// AppendText appends the search text of a row: the name, namespace and text columns of
// the row, in lower case.
func AppendText(dst []byte, cells *wire.CellIndex) []byte {
	key, from := cells.Key(), len(dst)
	dst = append(append(dst, key.Name()...), textEnd)
	dst = append(append(dst, key.Namespace()...), textEnd)
	cells.Texts(func(text string) bool {
		dst = append(append(dst, text...), textEnd)
		return true
	})
	lowerAll(dst[from:])
	return dst
}

// HasText reports whether MatchesText can decide the search. MatchesText cannot decide a
// search with a word that contains the byte textEnd.
func (s *Search) HasText() bool {
	for _, word := range s.words {
		if strings.IndexByte(word, textEnd) >= 0 {
			return false
		}
	}
	return true
}

// MatchesText is like Matches for a row with the given search text. The words in decided
// need no check: the row is known to contain them or, if they are excluded, not to
// contain them.
func (s *Search) MatchesText(text []byte, inLabels, decided Words) bool {
	if (inLabels&^decided)&s.exclude != 0 {
		return false
	}
	for i, word := range s.words {
		bit := Words(1) << i
		if (inLabels|decided)&bit == 0 && within(text, word) == (s.exclude&bit != 0) {
			return false
		}
	}
	return true
}

// Narrows reports whether every row that matches s also matches the other search. The
// result decided contains the words of s that are also words of the other search. Rows
// that match the other search need no check for these words.
func (s *Search) Narrows(other *Search) (decided Words, narrows bool) {
	for i, theirs := range other.words {
		excluded := other.exclude>>i&1 == 1
		implied := false
		for j, ours := range s.words {
			if excluded != (s.exclude>>j&1 == 1) {
				continue
			}
			if ours == theirs {
				decided |= 1 << j
			}
			implied = implied || excluded && strings.Contains(theirs, ours) || !excluded && strings.Contains(ours, theirs)
		}
		if !implied {
			return 0, false
		}
	}
	return decided, true
}

// in returns the words that a text contains, without the words already found.
func (s *Search) in(text string, found Words) Words {
	var more Words
	for i, word := range s.words {
		if found>>i&1 == 0 && contains(text, word) {
			more |= 1 << i
		}
	}
	return more
}

// contains reports whether a text contains a word in lower case, ignoring ASCII case.
func contains(text, word string) bool {
	if word == "" {
		return true
	}
	first, other := word[0], word[0]
	if 'a' <= first && first <= 'z' {
		other -= 'a' - 'A'
	}
	for i := 0; i+len(word) <= len(text); i++ {
		if c := text[i]; (c == first || c == other) && equalLower(text[i+1:i+len(word)], word[1:]) {
			return true
		}
	}
	return false
}

func equalLower(text, word string) bool {
	for i := range len(word) {
		if lower(text[i]) != word[i] {
			return false
		}
	}
	return true
}

func toLower(s string) string {
	b := make([]byte, len(s))
	for i := range b {
		b[i] = lower(s[i])
	}
	return string(b)
}

// leadingNumber returns the quantity before the first space of a text such as
// "3 (5m ago)".
func leadingNumber(s string) (float64, bool) {
	if i := strings.IndexByte(s, ' '); i > 0 {
		s = s[:i]
	}
	return ParseQuantity(s)
}
