package delta

import (
	"slices"

	"github.com/watchglass/watchglass/core/store"
)

// dictionaries are the compression dictionaries of bodies. Connectors can use different
// dictionaries. A collection retains the dictionaries that stored versions use, and the
// current dictionary.
type dictionaries struct {
	known   []dictionary // without number 0, which means none
	current dictionary
	last    uint32 // the newest number
	bytes   int
}

// dictionary is the data of a dictionary, with a number that is never reused. Sessions
// remember the number of the dictionary that they sent last.
type dictionary struct {
	number uint32
	data   []byte
}

// SetDictionary sets the dictionary for the bodies that follow; nil means none. It
// copies the bytes. Equal dictionaries share storage as long as the arena has a
// version that uses them.
func (b *Bodies) SetDictionary(data []byte) {
	d := &b.dictionaries
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
	d.forgetUnused(b.arena)
	d.last++
	d.current = dictionary{d.last, slices.Clone(data)}
	d.known = append(d.known, d.current)
	d.bytes += len(data)
}

// forgetUnused removes dictionaries that no version uses. It scans all versions,
// but runs only once per connection; reference counting would cost time for each
// version.
func (d *dictionaries) forgetUnused(arena *store.Arena) {
	used := make([]bool, d.last+1)
	for number := range arena.Dictionaries {
		used[number] = true
	}
	d.known = slices.DeleteFunc(d.known, func(known dictionary) bool {
		if !used[known.number] {
			d.bytes -= len(known.data)
		}
		return !used[known.number]
	})
}

// Dictionary returns the dictionary that the body of a version is compressed with, or
// nil if there is none.
func (b *Bodies) Dictionary(ref store.Ref) []byte {
	number := b.arena.Dictionary(ref)
	for _, known := range b.dictionaries.known {
		if known.number == number {
			return known.data
		}
	}
	return nil
}

// Current returns the dictionary set last and its number in the arena.
func (b *Bodies) Current() (number uint32, data []byte) {
	return b.dictionaries.current.number, b.dictionaries.current.data
}

// Number returns the number of the dictionary set last.
func (b *Bodies) Number() uint32 { return b.dictionaries.current.number }

// UsedBytes returns the memory of all dictionaries.
func (b *Bodies) UsedBytes() int { return b.dictionaries.bytes }
