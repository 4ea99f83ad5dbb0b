package store

import "github.com/watchglass/watchglass/core/api"

// index finds the version of a key: open addressing with linear probing, at
// most three quarters full. It holds refs only, never keys: a key is compared
// in the heap.
type index struct {
	slots []Ref
	count int
}

func hash(key api.Key) uint32 {
	h := uint32(2166136261)
	for i := 0; i < len(key); i++ {
		h = (h ^ uint32(key[i])) * 16777619
	}
	return h ^ h>>15
}

// find returns the slot of key, or the empty slot where it belongs.
func (x *index) find(h *Heap, key api.Key) int {
	mask := len(x.slots) - 1
	i := int(hash(key)) & mask
	for x.slots[i] != 0 && h.Key(x.slots[i]) != key {
		i = (i + 1) & mask
	}
	return i
}

func (x *index) get(h *Heap, key api.Key) Ref {
	if x.count == 0 {
		return 0
	}
	return x.slots[x.find(h, key)]
}

// set returns what was there before.
func (x *index) set(h *Heap, key api.Key, ref Ref) Ref {
	if (x.count+1)*4 > len(x.slots)*3 {
		x.grow(h)
	}
	i := x.find(h, key)
	old := x.slots[i]
	x.slots[i] = ref
	if old == 0 {
		x.count++
	}
	return old
}

func (x *index) grow(h *Heap) {
	old := x.slots
	x.slots = make([]Ref, max(16, 2*len(old)))
	for _, ref := range old {
		if ref != 0 {
			x.slots[x.find(h, h.Key(ref))] = ref
		}
	}
}

// remove returns what was there, and moves later entries of the probe chain
// back so that no tombstones are needed.
func (x *index) remove(h *Heap, key api.Key) Ref {
	if x.count == 0 {
		return 0
	}
	mask := len(x.slots) - 1
	hole := x.find(h, key)
	old := x.slots[hole]
	if old == 0 {
		return 0
	}
	x.count--
	for i := (hole + 1) & mask; x.slots[i] != 0; i = (i + 1) & mask {
		home := int(hash(h.Key(x.slots[i]))) & mask
		if (i-home)&mask >= (i-hole)&mask {
			x.slots[hole] = x.slots[i]
			hole = i
		}
	}
	x.slots[hole] = 0
	return old
}
