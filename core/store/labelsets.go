package store

import (
	"github.com/watchglass/watchglass/core/api"
)

// LabelSets interns label sets under small dense IDs, so that a selector is evaluated once per
// distinct set instead of once per event. ID 0 is the empty set. IDs of unused sets are reused;
// Generation distinguishes the uses of an ID. Caches that are keyed by ID call EachFreed to
// drop stale entries.
type LabelSets struct {
	sets   []labelSet
	byText map[string]uint32
	free   []uint32
	text   []byte // scratch
	used   int
	// freed counts how often IDs were freed. recent is a ring of the last freed IDs.
	freed  int
	recent []uint32
}

// maxRecent is the number of freed IDs that EachFreed can report.
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

// Intern returns the ID of the set and adds a reference. It copies the labels of
// a new set.
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
	set := labelSet{labels: labelsIn(text, len(labels)), text: text, refs: 1}
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

// NoLabelSet is never the ID of a label set.
const NoLabelSet = ^uint32(0)

// Retain adds a reference to a set in use and returns its ID.
func (l *LabelSets) Retain(id uint32) uint32 {
	l.sets[id].refs++
	return id
}

// RetainAgain adds a reference to the set that had the ID in the given
// generation. It returns false if that set has been freed.
func (l *LabelSets) RetainAgain(id, generation uint32) bool {
	if int64(id) >= int64(len(l.sets)) || l.sets[id].generation != generation || l.sets[id].refs == 0 {
		return false
	}
	l.sets[id].refs++
	return true
}

// Release drops a reference. Dropping the last reference frees the set and its ID.
//
//go:noinline
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

// labelSetBytes estimates the memory of a set: its labels and their encoded text.
func labelSetBytes(text string) int { return 2 * len(text) }

// Freed returns how often IDs have been freed so far. The number never decreases.
func (l *LabelSets) Freed() int { return l.freed }

// EachFreed calls forget for every ID that was freed since an earlier call to Freed. The
// argument since is the result of that call. If more IDs were freed than can be reported,
// EachFreed returns false without calling forget.
func (l *LabelSets) EachFreed(since int, forget func(id uint32)) bool {
	if l.freed-since > maxRecent {
		return false
	}
	for i := since; i < l.freed; i++ {
		forget(l.recent[i%maxRecent])
	}
	return true
}

// Labels returns the labels of a set, with the owner. The caller must not modify them. They are
// valid as long as the set is in use.
func (l *LabelSets) Labels(id uint32) api.Labels { return l.sets[id].labels }

// Generation returns how often the ID has been reused.
func (l *LabelSets) Generation(id uint32) uint32 { return l.sets[id].generation }

// Len returns the number of distinct sets in use, including the empty set.
func (l *LabelSets) Len() int { return len(l.byText) }

// appendLabelText encodes a label set injectively. It writes lengths instead of separators,
// because labels that did not come from Kubernetes may contain any byte.
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

// labelsIn returns the n labels of an encoded set. The labels share the memory of text.
func labelsIn(text string, n int) api.Labels {
	labels := make(api.Labels, n)
	for i := range labels {
		labels[i].Key, text = cutLengthed(text)
		labels[i].Value, text = cutLengthed(text)
	}
	return labels
}

func cutLengthed(text string) (first, rest string) {
	n := 4 + int(text[0]) + int(text[1])<<8 + int(text[2])<<16 + int(text[3])<<24
	return text[4:n], text[n:]
}
