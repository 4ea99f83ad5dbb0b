package cacher

import "container/heap"

// alarm is a time at which something is due for a watch.
type alarm struct {
	millis int64
	of     *registration
	slot   int // in the heap, from one on; zero when not set
}

// alarms are those that are set, earliest first, and of equal ones that of the
// older watch.
type alarms []*alarm

// set makes the alarm go off at a time, or never when that is zero.
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

// first is when the first goes off, or zero.
func (s alarms) first() int64 {
	if len(s) == 0 {
		return 0
	}
	return s[0].millis
}

// take unsets the alarm that goes off first if its time is before end, and
// returns whose it is, or nil.
func (s *alarms) take(end int64) *registration {
	if len(*s) == 0 || (*s)[0].millis >= end {
		return nil
	}
	return heap.Pop(s).(*alarm).of
}

// Len, Less, Swap, Push and Pop are for container/heap.
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
