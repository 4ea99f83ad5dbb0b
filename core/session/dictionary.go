package session

import (
	"slices"

	"github.com/watchglass/watchglass/core/wire"
)

// dictionaryID names a dictionary by its content (FNV-1a), so that connectors
// of the same data agree and a reader keeps it across connections.
func dictionaryID(data []byte) uint32 {
	h := uint32(2166136261)
	for _, c := range data {
		h = (h ^ uint32(c)) * 16777619
	}
	return max(h, 1)
}

// appendDictionary sends a dictionary once per connection.
func (s *Session) appendDictionary(message []byte, id uint32, data []byte) []byte {
	if slices.Contains(s.dictionaries, id) {
		return message
	}
	s.dictionaries = append(s.dictionaries, id)
	return (&wire.Dictionary{ID: id, Data: data}).Append(message)
}
