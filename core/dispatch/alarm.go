package dispatch

// alarm is a time at which a watch needs attention.
type alarm struct {
	millis int64
	of     *registration
	slot   int // 1 + index in the heap; zero if not set
}

// alarms is a heap of the alarms that are set, ordered by time and then by the age of
// the watch. Package container/heap would add an interface and its methods to the
// module.
type alarms []*alarm

// set sets the time of an alarm, or unsets the alarm if millis is zero.
func (s *alarms) set(a *alarm, millis int64) {
	a.millis = millis
	switch {
	case millis != 0 && a.slot == 0:
		*s = append(*s, a)
		s.sift(len(*s)-1, a)
	case millis != 0:
		s.sift(a.slot-1, a)
	case a.slot != 0:
		s.remove(a)
	}
}

func (s *alarms) remove(a *alarm) {
	slot, end := a.slot-1, len(*s)-1
	last := (*s)[end]
	(*s)[end] = nil
	*s = (*s)[:end]
	a.slot = 0
	if last != a {
		s.sift(slot, last)
	}
}

// sift moves an alarm from a free slot to its position in the heap.
func (s alarms) sift(slot int, a *alarm) {
	for slot > 0 && a.before(s[(slot-1)/2]) {
		s.put(slot, s[(slot-1)/2])
		slot = (slot - 1) / 2
	}
	for {
		next := 2*slot + 1
		if next+1 < len(s) && s[next+1].before(s[next]) {
			next++
		}
		if next >= len(s) || !s[next].before(a) {
			break
		}
		s.put(slot, s[next])
		slot = next
	}
	s.put(slot, a)
}

func (s alarms) put(slot int, a *alarm) {
	s[slot] = a
	a.slot = slot + 1
}

func (a *alarm) before(b *alarm) bool {
	if a.millis != b.millis {
		return a.millis < b.millis
	}
	return a.of.entry.Before(&b.of.entry)
}

// first returns the earliest time, or zero if no alarm is set.
func (s alarms) first() int64 {
	if len(s) == 0 {
		return 0
	}
	return s[0].millis
}

// take unsets the earliest alarm if its time is before end, and returns its
// watch. Otherwise it returns nil.
func (s *alarms) take(end int64) *registration {
	if len(*s) == 0 || (*s)[0].millis >= end {
		return nil
	}
	a := (*s)[0]
	s.remove(a)
	return a.of
}
