package query

import (
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
)

// SortKey is one key of an order of rows. Rows with equal values are ordered by the
// next key, and finally by the keys of the objects.
type SortKey struct {
	Operand
	Descending bool
	// NullsFirst means that rows without a value come first, regardless of the
	// direction.
	NullsFirst bool
	// Lexical means that texts compare by bytes instead of naturally.
	Lexical bool
}

// MaxSortKeys is the maximum number of sort keys.
const MaxSortKeys = 8

// LimitSortKeys is the Cause of the error for too many sort keys.
const LimitSortKeys = "max-sort-keys"

// Sort is an order of rows. The zero value is the order of the objects' keys.
type Sort struct {
	Keys []SortKey
	// Reversed means the reversed order of the objects' keys. Keys is then empty.
	Reversed bool
}

// ParseSort parses sort keys separated by commas, and resolves their names:
//
//	sort = [ key { "," key } ] | "-"
//	key  = [ "-" ] name [ "lexical" ] [ "nulls" ( "first" | "last" ) ]
//
// "-" reverses the order of a key or, alone, of the objects' keys. A name that contains a
// comma, or ends like an option, is enclosed in double quotes. By default, rows without a
// value come first, or last if the key is reversed. A date sorts by age: the newest comes
// first, and rows without a date come last.
func ParseSort(schema *api.Schema, source string) (Sort, *api.Status) {
	var sort Sort
	switch strings.TrimSpace(source) {
	case "":
		return sort, nil
	case "-":
		return Sort{Reversed: true}, nil
	}
	for rest := source; ; {
		var part string
		part, rest = cutUnquoted(rest)
		if len(sort.Keys) == MaxSortKeys {
			return Sort{}, api.LimitReached(api.CodeTooLarge, LimitSortKeys, "the sort has more than 8 keys")
		}
		key, status := parseSortKey(schema, part)
		if status != nil {
			return Sort{}, status
		}
		if sort.Keys = append(sort.Keys, key); rest == "" {
			return sort, nil
		}
		rest = rest[1:]
	}
}

// cutUnquoted splits text before the first comma outside of double quotes.
func cutUnquoted(text string) (part, rest string) {
	quoted := false
	for i := range len(text) {
		if text[i] == '"' {
			quoted = !quoted
		}
		if text[i] == ',' && !quoted {
			return text[:i], text[i:]
		}
	}
	return text, ""
}

func parseSortKey(schema *api.Schema, part string) (SortKey, *api.Status) {
	var key SortKey
	name := strings.TrimSpace(part)
	name, key.Descending = strings.CutPrefix(name, "-")
	name, first := cutWords(name, "nulls first")
	name, last := cutWords(name, "nulls last")
	name, key.Lexical = cutWords(name, "lexical")
	if len(name) > 1 && name[0] == '"' && name[len(name)-1] == '"' {
		name = name[1 : len(name)-1]
	}
	var known bool
	if key.Operand, known = Resolve(schema, name); !known {
		return key, UnknownName(schema, "sort", name)
	}
	key.Descending = key.Descending != (key.Kind() == api.Date)
	key.NullsFirst = first || !last && !key.Descending
	return key, nil
}

// cutWords removes words from the end of text, ignoring ASCII case, and reports whether
// the text ended with these words.
func cutWords(text, words string) (string, bool) {
	at := len(text) - len(words)
	if at < 1 || text[at-1] != ' ' || !lite.EqualFold(text[at:], words) {
		return text, false
	}
	return strings.TrimSpace(text[:at]), true
}

// Comparable returns the value that represents v, a value of the operand, in comparisons.
// It also returns the buffer for the next call. The result may alias the value or the
// buffer.
func (k *SortKey) Comparable(v api.Value, buffer []byte) (api.Value, []byte) {
	switch {
	case k.Lexical:
		if v.Kind == api.String && v.Text == "" {
			v = api.Value{}
		}
		return v, buffer
	case k.Fixed():
		return NaturalText(v, buffer)
	}
	return Natural(v, buffer)
}
