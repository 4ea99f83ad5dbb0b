package store

import (
	"math/bits"

	"github.com/watchglass/watchglass/core/api"
)

// index maps a key to the ID of its object. It consists of several
// open-addressing hash tables, each for a range of hashes. Each table grows
// independently, so no single insertion rehashes a large collection. Tables store
// no keys: a lookup first compares one byte of the hash, then the key in the
// arena.
type index struct {
	tables [1 << tableBits]table
}

const tableBits = 6

// table is a hash table with linear probing. It is at most seven eighths full.
type table struct {
	groups []group
	count  int
}

// group stores consecutive slots together, so a probe usually reads one cache
// line. A slot takes six bytes.
type group struct {
	ids  [groupSize]ID // zero for an empty slot
	tags [groupSize]uint8
	// probes contains the distance of each entry from its home, the slot where its probe
	// sequence starts. A removal moves entries by these distances, without reading keys.
	probes [groupSize]uint8
}

const (
	groupSize = 8
	// maxProbe represents this distance and all greater ones.
	maxProbe = 255
)

func (t *table) slots() int { return len(t.groups) * groupSize }

func (t *table) id(slot int) ID { return t.groups[slot/groupSize].ids[slot%groupSize] }

func (t *table) set(slot int, id ID, tag uint8, probe int) {
	g, at := &t.groups[slot/groupSize], slot%groupSize
	g.ids[at], g.tags[at], g.probes[at] = id, tag, uint8(min(probe, maxProbe))
}

// probe returns the distance of an entry from its home.
func (t *table) probe(s *Store, slot int) int {
	if p := t.groups[slot/groupSize].probes[slot%groupSize]; p < maxProbe {
		return int(p)
	}
	return (slot - int(hash(s.key(t.id(slot))))) & (t.slots() - 1)
}

// A hash has three parts: the low bits select the slot, the tag filters
// candidates, and the high bits select the table.
func tableOf(h uint64) int { return int(h >> (64 - tableBits)) }
func tagOf(h uint64) uint8 { return uint8(h >> 40) }

func (x *index) get(s *Store, key api.Key) ID {
	h := hash(key)
	t := &x.tables[tableOf(h)]
	if t.count == 0 {
		return 0
	}
	return t.id(t.find(s, key, h))
}

// add inserts a key that is not in the index.
func (x *index) add(s *Store, key api.Key, id ID) {
	h := hash(key)
	t := &x.tables[tableOf(h)]
	if (t.count+1)*8 > t.slots()*7 {
		t.grow(s)
	}
	t.put(h, id)
	t.count++
}

// expect allocates space for the given number of keys in tables that are still
// empty.
func (x *index) expect(s *Store, keys int) {
	perTable := keys / len(x.tables)
	perTable += perTable / 16 // the tables do not receive equal numbers of keys
	for i := range x.tables {
		if t := &x.tables[i]; t.count == 0 && perTable > 0 {
			t.resize(s, 1<<bits.Len(uint(perTable*8/7/groupSize)))
		}
	}
}

// remove removes a key and returns its ID, or zero.
func (x *index) remove(s *Store, key api.Key) ID {
	h := hash(key)
	t := &x.tables[tableOf(h)]
	if t.count == 0 {
		return 0
	}
	hole := t.find(s, key, h)
	id := t.id(hole)
	if id != 0 {
		t.count--
		t.close(s, hole)
	}
	return id
}

// find returns the slot of the key, or the empty slot where an insertion would put the
// key.
func (t *table) find(s *Store, key api.Key, h uint64) int {
	mask, tag := t.slots()-1, tagOf(h)
	for i := int(h) & mask; ; i = (i + 1) & mask {
		g := &t.groups[uint(i)/groupSize]
		id := g.ids[i%groupSize]
		if id == 0 || g.tags[i%groupSize] == tag && s.key(id) == key {
			return i
		}
	}
}

func (t *table) put(h uint64, id ID) {
	mask := t.slots() - 1
	home := int(h) & mask
	i := home
	for t.id(i) != 0 {
		i = (i + 1) & mask
	}
	t.set(i, id, tagOf(h), (i-home)&mask)
}

func (t *table) grow(s *Store) {
	t.resize(s, max(1, 2*len(t.groups)))
}

func (t *table) resize(s *Store, groups int) {
	old := t.groups
	t.groups = make([]group, groups)
	for i := range old {
		for _, id := range old[i].ids {
			if id != 0 {
				t.put(hash(s.key(id)), id)
			}
		}
	}
}

// close moves later entries of the probe chain into the hole, so the table needs
// no tombstones.
func (t *table) close(s *Store, hole int) {
	mask := t.slots() - 1
	for i := (hole + 1) & mask; t.id(i) != 0; i = (i + 1) & mask {
		probe, distance := t.probe(s, i), (i-hole)&mask
		if probe >= distance {
			t.set(hole, t.id(i), t.groups[i/groupSize].tags[i%groupSize], probe-distance)
			hole = i
		}
	}
	t.set(hole, 0, 0, 0)
}

// hash returns the hash of a key. It reads eight bytes at a time because keys are long and
// byte access is slow in WebAssembly.
func hash(key api.Key) uint64 {
	const m = 0x9e3779b97f4a7c15
	h := uint64(len(key)) * m
	for len(key) >= 8 {
		v := uint64(key[0]) | uint64(key[1])<<8 | uint64(key[2])<<16 | uint64(key[3])<<24 |
			uint64(key[4])<<32 | uint64(key[5])<<40 | uint64(key[6])<<48 | uint64(key[7])<<56
		h = mix((h ^ v) * m)
		key = key[8:]
	}
	var v uint64
	for i := 0; i < len(key); i++ {
		v = v<<8 | uint64(key[i])
	}
	return mix(mix((h^v)*m) * m)
}

func mix(h uint64) uint64 { return h ^ h>>29 }
