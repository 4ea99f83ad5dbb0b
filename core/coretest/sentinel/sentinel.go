// Package sentinel detects bytes that disclose an object.
//
// A sentinel is a text that a test plants in an object and that occurs nowhere else.
// [Set.Find] returns the names of the objects whose sentinels occur in data, at least in
// part. A test can thus check that a reader receives only objects that it is authorized
// to read.
package sentinel

import (
	"hash/fnv"
	"slices"
)

// A sentinel consists of letters that are rarely adjacent elsewhere, and is valid in a
// name, a label or a text. Compression may leave only parts of a sentinel, so Find
// detects each part of at least ten letters. Parts of this length are too long to occur
// by chance.
const (
	letters = "jkqvwxyz"
	length  = 24
	part    = 10
)

// Set contains the planted sentinels, by the names of their objects. The zero Set is
// empty. A Set is not safe for concurrent use.
type Set struct {
	planted map[string]bool
	parts   map[string]string // name of the object, by part
}

// Plant returns the sentinel of an object. The sentinel depends only on the name of the
// object.
func (s *Set) Plant(name string) string {
	h := fnv.New64a()
	h.Write([]byte(name))
	text := make([]byte, length)
	for i, sum := 0, h.Sum64(); i < length; i++ {
		// The multiplication distributes the bits, because the lower bits of FNV
		// alone vary little.
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
				s.parts[p] = "" // shared by chance, so it identifies no object
				continue
			}
			s.parts[p] = name
		}
	}
	return string(text)
}

// Find returns the sorted names of the objects whose sentinel occurs in data, at
// least in part.
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

// Outside returns the names from Find for which the function allowed returns false.
func (s *Set) Outside(data []byte, allowed func(name string) bool) []string {
	return slices.DeleteFunc(s.Find(data), allowed)
}

var isLetter = func() (is [256]bool) {
	for _, c := range []byte(letters) {
		is[c] = true
	}
	return is
}()
