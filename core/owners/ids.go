package owners

import (
	"slices"

	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/store"
)

// IDs maps UIDs to IDs of objects. Each list of IDs is in ascending order.
type IDs map[string][]store.ID

// Add adds an ID, and reports whether the UID had no IDs before. It copies the UID.
func (m IDs) Add(uid string, id store.ID) (first bool) {
	list := m[uid]
	at, _ := slices.BinarySearch(list, id)
	m[lite.Clone(uid)] = lite.Insert(list, at, id) // a copy in any case, because an assignment also replaces an existing key
	return len(list) == 0
}

// Remove removes an ID, and reports whether it was the last ID of the UID.
func (m IDs) Remove(uid string, id store.ID) (last bool) {
	list := m[uid]
	at, found := slices.BinarySearch(list, id)
	switch {
	case !found:
		return false
	case len(list) == 1:
		delete(m, uid)
		return true
	}
	m[lite.Clone(uid)] = lite.RemoveAt(list, at)
	return false
}

// UsedBytes returns the approximate memory of the UIDs, with one ID per UID. Further IDs
// take little memory in comparison with their objects.
func (m IDs) UsedBytes() int { return uidSize * len(m) }

const uidSize = 140 // estimated bytes of a UID of 36 bytes in a map, with a list
