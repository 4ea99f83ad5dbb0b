package store

import (
	"strings"

	"github.com/watchglass/watchglass/core/api"
)

// LabelSets keeps every distinct label set once and names it by a small dense
// number, so that a selector is evaluated once per set and not once per event.
// Number 0 is the empty set. The numbers of sets that no version has any more
// are used again; Generation tells two uses of one number apart, and whoever
// remembers something by number asks now and then which have been freed.
type LabelSets struct {
	sets   []labelSet
	byText map[string]uint32
	free   []uint32
	text   []byte // scratch
	used   int
	// freed counts the numbers freed so far; the last of them are in recent.
	freed  int
	recent []uint32
}

// maxRecent bounds the numbers that EachFreed can tell.
const maxRecent = 1024

type labelSet struct {
	labels     api.Labels
	text       string
	refs       int
	generation uint32
}

func newLabelSets() LabelSets {
	return LabelSets{
		sets:   []labelSet{{refs: 1}}, // the empty set is never freed
		byText: map[string]uint32{"": 0},
	}
}

// Intern returns the number of a set and counts one use of it. The labels are
// copied if they are new.
func (l *LabelSets) Intern(labels api.Labels) uint32 {
	if len(labels) == 0 {
		return l.Retain(0)
	}
	l.text = appendLabelText(l.text[:0], labels)
	if id, ok := l.byText[string(l.text)]; ok {
		l.sets[id].refs++
		return id
	}
	text := string(l.text)
	set := labelSet{labels: cloneLabels(labels), text: text, refs: 1}
	id := uint32(len(l.sets))
	if n := len(l.free); n > 0 {
		id = l.free[n-1]
		l.free = l.free[:n-1]
		set.generation = l.sets[id].generation + 1
		l.sets[id] = set
	} else {
		l.sets = append(l.sets, set)
	}
	l.byText[text] = id
	l.used += labelSetBytes(text)
	return id
}

// NoLabelSet is the number of no set.
const NoLabelSet = ^uint32(0)

// Retain counts one more use of a set that is in use, and returns its number.
func (l *LabelSets) Retain(id uint32) uint32 {
	l.sets[id].refs++
	return id
}

// RetainAgain counts one more use of a set that had this number and generation
// once, and reports false when it is gone.
func (l *LabelSets) RetainAgain(id, generation uint32) bool {
	if int64(id) >= int64(len(l.sets)) || l.sets[id].generation != generation || l.sets[id].refs == 0 {
		return false
	}
	l.sets[id].refs++
	return true
}

// Release takes back one use.
func (l *LabelSets) Release(id uint32) {
	s := &l.sets[id]
	s.refs--
	if s.refs > 0 {
		return
	}
	delete(l.byText, s.text)
	l.used -= labelSetBytes(s.text)
	*s = labelSet{generation: s.generation}
	l.free = append(l.free, id)
	if len(l.recent) < maxRecent {
		l.recent = append(l.recent, id)
	} else {
		l.recent[l.freed%maxRecent] = id
	}
	l.freed++
}

// labelSetBytes is about what a set takes: its labels, and once more its text.
func labelSetBytes(text string) int { return 2 * len(text) }

// Freed counts the numbers that have been freed, and so may stand for another
// set. It only grows.
func (l *LabelSets) Freed() int { return l.freed }

// EachFreed calls forget with the numbers freed since Freed was since. It calls
// nothing and returns false when they are too many to tell.
func (l *LabelSets) EachFreed(since int, forget func(id uint32)) bool {
	if l.freed-since > maxRecent {
		return false
	}
	for i := since; i < l.freed; i++ {
		forget(l.recent[i%maxRecent])
	}
	return true
}

// Labels returns a set. It must not be changed and is valid while the number
// is in use.
func (l *LabelSets) Labels(id uint32) api.Labels { return l.sets[id].labels }

// Generation counts how often the number has been used for another set before.
func (l *LabelSets) Generation(id uint32) uint32 { return l.sets[id].generation }

// Len is how many distinct sets are in use, the empty one included.
func (l *LabelSets) Len() int { return len(l.byText) }

// appendLabelText is an injective text of a label set: label keys and values
// cannot hold a NUL byte once they are in Kubernetes, and lengths are written
// out for those that never were.
func appendLabelText(dst []byte, labels api.Labels) []byte {
	for _, label := range labels {
		dst = appendLengthed(dst, label.Key)
		dst = appendLengthed(dst, label.Value)
	}
	return dst
}

func appendLengthed(dst []byte, s string) []byte {
	n := len(s)
	return append(append(dst, byte(n), byte(n>>8), byte(n>>16), byte(n>>24)), s...)
}

func cloneLabels(labels api.Labels) api.Labels {
	c := make(api.Labels, len(labels))
	for i, l := range labels {
		c[i] = api.Label{Key: strings.Clone(l.Key), Value: strings.Clone(l.Value)}
	}
	return c
}
