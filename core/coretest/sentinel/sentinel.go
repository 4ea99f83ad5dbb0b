// Package sentinel finds out whether bytes disclose an object.
//
// A sentinel is a text that a test plants in an object and that nothing else
// contains. [Set.Find] names the objects of which a part shows up in bytes, so that
// a test can hold everything that a reader receives to what that reader may read.
package sentinel

import (
	"hash/fnv"
	"slices"
)

// A sentinel has letters that rarely stand side by side anywhere else, and is as
// valid in a name as in a label or a text. Other compression than that of whole
// texts leaves parts of it, of which the shortest that is looked for are too long
// to be the same by chance.
const (
	letters = "jkqvwxyz"
	length  = 24
	part    = 10
)

// Set is the sentinels that were planted, by the names of their objects. The zero
// Set is empty. It is not safe for concurrent use.
type Set struct {
	planted map[string]bool
	parts   map[string]string // to the name
}

// Plant returns the sentinel of an object, the same every time.
func (s *Set) Plant(name string) string {
	h := fnv.New64a()
	h.Write([]byte(name))
	text := make([]byte, length)
	for i, sum := 0, h.Sum64(); i < length; i++ {
		// Multiplication mixes: the lower bits of FNV alone are much alike.
		sum = (sum ^ sum>>29) * 0xbf58476d1ce4e5b9
		text[i] = letters[sum>>61]
	}
	if !s.planted[name] {
		if s.planted == nil {
			s.planted, s.parts = map[string]bool{}, map[string]string{}
		}
		s.planted[name] = true
		for i := 0; i+part <= length; i++ {
			p := string(text[i : i+part])
			if other, taken := s.parts[p]; taken && other != name {
				s.parts[p] = "" // by chance: it says nothing
				continue
			}
			s.parts[p] = name
		}
	}
	return string(text)
}

// Find returns the names of the objects of which there is a part in data, sorted.
func (s *Set) Find(data []byte) []string {
	var names []string
	run := 0
	for i, c := range data {
		if !isLetter[c] {
			run = 0
			continue
		}
		if run++; run < part {
			continue
		}
		if name, ok := s.parts[string(data[i+1-part:i+1])]; ok && name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Outside returns the names that Find returns and allowed does not allow.
func (s *Set) Outside(data []byte, allowed func(name string) bool) []string {
	return slices.DeleteFunc(s.Find(data), allowed)
}

var isLetter = func() (is [256]bool) {
	for _, c := range []byte(letters) {
		is[c] = true
	}
	return is
}()
