package store

import "github.com/watchglass/watchglass/core/api"

// index finds the object of a key. It is several open-addressing tables, each
// for a part of the hashes and growing by itself, so that no single insertion
// rehashes a large collection. It holds no keys: a key is compared in the heap,
// and a byte of its hash tells most others apart before that.
type index struct {
	tables [1 << tableBits]table
}

const tableBits = 6

// table uses linear probing and is at most three quarters full.
type table struct {
	ids   []ID // zero for an empty slot
	tags  []uint8
	count int
}

// A hash is used in three parts: the low bits for the slot, then a tag, and the
// high bits for the table.
func tableOf(h uint64) int { return int(h >> (64 - tableBits)) }
func tagOf(h uint64) uint8 { return uint8(h >> 40) }

func (x *index) get(s *Store, key api.Key) ID {
	h := hash(key)
	t := &x.tables[tableOf(h)]
	if t.count == 0 {
		return 0
	}
	return t.ids[t.find(s, key, h)]
}

// add puts in a key that is not there yet.
func (x *index) add(s *Store, key api.Key, id ID) {
	h := hash(key)
	t := &x.tables[tableOf(h)]
	if (t.count+1)*4 > len(t.ids)*3 {
		t.grow(s)
	}
	t.put(h, id)
	t.count++
}

// remove returns what was there, or zero.
func (x *index) remove(s *Store, key api.Key) ID {
	h := hash(key)
	t := &x.tables[tableOf(h)]
	if t.count == 0 {
		return 0
	}
	hole := t.find(s, key, h)
	id := t.ids[hole]
	if id != 0 {
		t.count--
		t.close(s, hole)
	}
	return id
}

// find returns the slot of key, or the empty slot where it belongs.
func (t *table) find(s *Store, key api.Key, h uint64) int {
	mask, tag := len(t.ids)-1, tagOf(h)
	i := int(h) & mask
	for t.ids[i] != 0 && (t.tags[i] != tag || s.key(t.ids[i]) != key) {
		i = (i + 1) & mask
	}
	return i
}

func (t *table) put(h uint64, id ID) {
	mask := len(t.ids) - 1
	i := int(h) & mask
	for t.ids[i] != 0 {
		i = (i + 1) & mask
	}
	t.ids[i], t.tags[i] = id, tagOf(h)
}

func (t *table) grow(s *Store) {
	old := t.ids
	n := max(8, 2*len(old))
	t.ids, t.tags = make([]ID, n), make([]uint8, n)
	for _, id := range old {
		if id != 0 {
			t.put(hash(s.key(id)), id)
		}
	}
}

// close moves later entries of the probe chain back into the hole, so that no
// tombstones are needed.
func (t *table) close(s *Store, hole int) {
	mask := len(t.ids) - 1
	for i := (hole + 1) & mask; t.ids[i] != 0; i = (i + 1) & mask {
		home := int(hash(s.key(t.ids[i]))) & mask
		if (i-home)&mask >= (i-hole)&mask {
			t.ids[hole], t.tags[hole] = t.ids[i], t.tags[i]
			hole = i
		}
	}
	t.ids[hole] = 0
}

// hash mixes eight bytes at a time: keys are long, and bytes are slow in
// WebAssembly.
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
