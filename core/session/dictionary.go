package session

import (
	"slices"

	"github.com/watchglass/watchglass/core/wire"
)

// dictionaryID derives the ID of a dictionary from its content (FNV-1a).
// Connectors with equal dictionaries use equal IDs, so a reader can keep a
// dictionary across connections.
func dictionaryID(data []byte) uint32 {
	h := uint32(2166136261)
	for _, c := range data {
		h = (h ^ uint32(c)) * 16777619
	}
	return max(h, 1)
}

// appendDictionary appends a dictionary unless it was already sent on the connection.
func (s *Session) appendDictionary(message []byte, id uint32, data []byte) []byte {
	if slices.Contains(s.dictionaries, id) {
		return message
	}
	s.dictionaries = append(s.dictionaries, id)
	return (&wire.Dictionary{ID: id, Data: data}).Append(message)
}
