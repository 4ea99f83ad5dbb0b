package cacher

import (
	"slices"

	"github.com/watchglass/watchglass/core/store"
)

// dictionaries are what bodies are compressed with. Every connector has its own, so
// a cacher that outlives many of them keeps those alone that it has versions of,
// besides the current one.
type dictionaries struct {
	known   []dictionary // without number 0, which is none
	current dictionary
	last    uint32 // the newest number
	bytes   int
}

// dictionary has a number that no other one ever has: who describes versions to
// readers remembers the number that it described last.
type dictionary struct {
	number uint32
	data   []byte
}

// SetDictionary says what the bodies that follow are compressed with; nil for
// nothing. The bytes are copied, equal ones are kept only once, and all are kept
// for as long as the heap has a version that they belong to.
func (c *Cacher) SetDictionary(data []byte) {
	d := &c.dictionaries
	if len(data) == 0 {
		d.current = dictionary{}
		return
	}
	for _, known := range d.known {
		if string(known.data) == string(data) {
			d.current = known
			return
		}
	}
	d.forgetUnused(c.heap)
	d.last++
	d.current = dictionary{d.last, slices.Clone(data)}
	d.known = append(d.known, d.current)
	d.bytes += len(data)
}

// forgetUnused looks at every version. That is done once for each connector, and
// costs next to nothing beside all that it sends; counting would be done for each
// version that comes or goes.
func (d *dictionaries) forgetUnused(heap *store.Heap) {
	used := make([]bool, d.last+1)
	for number := range heap.Dictionaries {
		used[number] = true
	}
	d.known = slices.DeleteFunc(d.known, func(known dictionary) bool {
		if !used[known.number] {
			d.bytes -= len(known.data)
		}
		return !used[known.number]
	})
}

// Dictionary returns what the body of a version was compressed with.
func (c *Cacher) Dictionary(ref store.Ref) []byte {
	number := c.heap.Dictionary(ref)
	for _, known := range c.dictionaries.known {
		if known.number == number {
			return known.data
		}
	}
	return nil
}

// CurrentDictionary is the one last set, and the number that the heap has it
// under.
func (c *Cacher) CurrentDictionary() (number uint32, data []byte) {
	return c.dictionaries.current.number, c.dictionaries.current.data
}

// DictionaryBytes is the memory that dictionaries take.
func (c *Cacher) DictionaryBytes() int { return c.dictionaries.bytes }
