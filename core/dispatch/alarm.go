package dispatch

import "container/heap"

// alarm is a time at which a watch needs attention.
type alarm struct {
	millis int64
	of     *registration
	slot   int // 1 + index in the heap; zero if not set
}

// alarms are the alarms that are set, ordered by time and then by the age of the
// watch.
type alarms []*alarm

// set sets the time of an alarm, or unsets it if millis is zero.
func (s *alarms) set(a *alarm, millis int64) {
	a.millis = millis
	switch {
	case millis != 0 && a.slot == 0:
		heap.Push(s, a)
	case millis != 0:
		heap.Fix(s, a.slot-1)
	case a.slot != 0:
		heap.Remove(s, a.slot-1)
	}
}

// first returns the earliest time, or zero.
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
	return heap.Pop(s).(*alarm).of
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (s alarms) Len() int { return len(s) }

func (s alarms) Less(i, j int) bool {
	if s[i].millis != s[j].millis {
		return s[i].millis < s[j].millis
	}
	return s[i].of.entry.Before(&s[j].of.entry)
}

func (s alarms) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].slot, s[j].slot = i+1, j+1
}

func (s *alarms) Push(x any) {
	a := x.(*alarm)
	*s = append(*s, a)
	a.slot = len(*s)
}

func (s *alarms) Pop() any {
	last := len(*s) - 1
	a := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	a.slot = 0
	return a
}
