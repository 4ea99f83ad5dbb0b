package store

// ranks contains one number per object, ascending in key order, so that two objects can be
// compared without reading their keys. Gaps between the numbers leave room for new objects.
// When a gap is exhausted, all objects are renumbered.
type ranks []uint64 // by ID

const (
	// rankStep is the gap between objects after a renumbering, and next to a new first or last
	// object. Elsewhere, rankRun limits the gap between a new object and its predecessor. The
	// limit leaves room for successors, because names often end in a counter.
	rankStep = 1 << 32
	rankRun  = 1 << 16
	// firstRank is the number of the first object, with room on both sides.
	firstRank = 1 << 62
)

// put assigns a number to id between the numbers of its neighbors. A zero neighbor means
// that there is no object on that side. put returns false if the gap is exhausted.
func (p *ranks) put(id, left, right ID) bool {
	for len(*p) <= int(id) {
		*p = append(*p, 0)
	}
	at := *p
	switch {
	case left == 0 && right == 0:
		at[id] = firstRank
	case right == 0:
		at[id] = at[left] + rankStep
		return at[id] > at[left]
	case left == 0:
		at[id] = at[right] - min(at[right]/2, rankStep)
		return at[id] < at[right]
	default:
		gap := at[right] - at[left]
		at[id] = at[left] + min(gap/2, rankRun)
		return gap > 1
	}
	return true
}

// renumber assigns new numbers to all objects in order.
func (p ranks) renumber(order *Ordered) {
	at := uint64(firstRank)
	order.From(0, func(id ID) bool {
		p[id] = at
		at += rankStep
		return true
	})
}
