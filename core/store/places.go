package store

// places gives each object a number that grows with its key, so that two
// objects are put in the order of their keys without a look at them. Numbers
// are far apart, so that there is room for new objects in between; where it is
// used up, all are numbered anew.
type places []uint64 // by ID

const (
	// placeStep is between the numbers of neighbours, and placeRun between
	// those that come one after the other into a place between two: names
	// are often counted upwards.
	placeStep = 1 << 32
	placeRun  = 1 << 16
	// firstPlace leaves room on both sides.
	firstPlace = 1 << 62
)

// put numbers id, which comes between two others, zero for none. It reports
// false when there is no room.
func (p *places) put(id, left, right ID) bool {
	for len(*p) <= int(id) {
		*p = append(*p, 0)
	}
	at := *p
	switch {
	case left == 0 && right == 0:
		at[id] = firstPlace
	case right == 0:
		at[id] = at[left] + placeStep
		return at[id] > at[left]
	case left == 0:
		at[id] = at[right] - min(at[right]/2, placeStep)
		return at[id] < at[right]
	default:
		gap := at[right] - at[left]
		at[id] = at[left] + min(gap/2, placeRun)
		return gap > 1
	}
	return true
}

// renumber numbers all in order.
func (p places) renumber(order *Ordered) {
	at := uint64(firstPlace)
	order.From(0, func(id ID) bool {
		p[id] = at
		at += placeStep
		return true
	})
}
