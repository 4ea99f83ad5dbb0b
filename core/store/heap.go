package store

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// Ref names one version of an object in a [Heap]. Zero is no object.
type Ref uint32

// record is one version. It has no pointers: millions of them are nothing to
// the garbage collector.
type record struct {
	rv         api.ResourceVersion
	at         span
	refs       int32
	labels     uint32
	dictionary uint32
	base       Ref
	flags      api.Flags
}

// Heap holds object versions by reference count. Every Ref that a method
// returns or takes carries exactly one count unless its comment says otherwise.
type Heap struct {
	Labels LabelSets
	pages  []*page
	next   Ref // the first that was never used
	free   []Ref
	slab   slab
	deltas int   // versions that have a base
	warm   uint8 // of what Seek has read
}

// page is some of the records. A slice of all of them would be copied, and for
// that moment held twice, whenever it grows.
type page [pageSize]record

const pageSize = 256

// NewHeap returns an empty heap.
func NewHeap() *Heap {
	return &Heap{Labels: newLabelSets(), next: 1, slab: newSlab()}
}

func (h *Heap) record(ref Ref) *record { return &h.pages[ref/pageSize][ref%pageSize] }

// Version is what a heap keeps of an object. The envelope is copied; the label
// set is one of the heap's own.
type Version struct {
	ResourceVersion api.ResourceVersion
	Flags           api.Flags
	LabelSet        uint32
	// Dictionary numbers what the body was compressed with; the numbers are
	// the caller's.
	Dictionary uint32
	// Base is the version that the body is the difference from, zero for a body
	// that stands for itself. It has no base of its own.
	Base     Ref
	Envelope wire.Envelope
	// Body is what comes behind the envelope, of one that is in two parts.
	Body []byte
}

// Put stores a version and returns it with one count. It takes over the
// caller's counts of the label set and of the base.
func (h *Heap) Put(v Version) Ref {
	at := h.slab.alloc(len(v.Envelope) + len(v.Body))
	b := h.slab.bytes(at)
	copy(b[copy(b, v.Envelope):], v.Body)
	ref := h.unused()
	*h.record(ref) = record{
		rv: v.ResourceVersion, at: at, refs: 1,
		labels: v.LabelSet, dictionary: v.Dictionary, base: v.Base, flags: v.Flags,
	}
	if v.Base != 0 {
		h.deltas++
	}
	return ref
}

func (h *Heap) unused() Ref {
	if n := len(h.free); n > 0 {
		ref := h.free[n-1]
		h.free = h.free[:n-1]
		return ref
	}
	ref := h.next
	if int(ref/pageSize) == len(h.pages) {
		h.pages = append(h.pages, new(page))
	}
	h.next++
	return ref
}

// Retain adds a count and returns ref, for handing on. Zero stays zero.
func (h *Heap) Retain(ref Ref) Ref {
	if ref != 0 {
		h.record(ref).refs++
	}
	return ref
}

// Release takes a count away. With the last one the version is gone, and every
// slice that was read from it is invalid.
func (h *Heap) Release(ref Ref) {
	if ref == 0 {
		return
	}
	r := h.record(ref)
	if r.refs--; r.refs == 0 {
		h.drop(ref, r)
	}
}

// drop lets a version go that nobody counts any more.
func (h *Heap) drop(ref Ref, r *record) {
	base := r.base
	if base != 0 {
		h.deltas--
	}
	h.Labels.Release(r.labels)
	h.slab.release(r.at)
	*r = record{}
	h.free = append(h.free, ref)
	h.Release(base)
}

// ResourceVersion of a version.
func (h *Heap) ResourceVersion(ref Ref) api.ResourceVersion { return h.record(ref).rv }

// Flags of a version.
func (h *Heap) Flags(ref Ref) api.Flags { return h.record(ref).flags }

// LabelSet is the number of a version's label set.
func (h *Heap) LabelSet(ref Ref) uint32 { return h.record(ref).labels }

// Dictionary is the number given in Put.
func (h *Heap) Dictionary(ref Ref) uint32 { return h.record(ref).dictionary }

// Dictionaries yields those numbers for every version held, and zeros, in no order
// that means anything.
func (h *Heap) Dictionaries(yield func(number uint32) bool) {
	for _, p := range h.pages {
		for i := range p {
			if !yield(p[i].dictionary) {
				return
			}
		}
	}
}

// Base is the version that a version's body is the difference from, without a
// count, or zero. It is held for as long as any version refers to it.
func (h *Heap) Base(ref Ref) Ref { return h.record(ref).base }

// LabelsOf is a version's label set.
func (h *Heap) LabelsOf(ref Ref) api.Labels { return h.Labels.Labels(h.record(ref).labels) }

// Envelope aliases the heap; it is valid while a count is held.
func (h *Heap) Envelope(ref Ref) wire.Envelope { return h.slab.bytes(h.record(ref).at) }

// Key aliases the heap like Envelope.
func (h *Heap) Key(ref Ref) api.Key { return h.Envelope(ref).Key() }

// Versions is how many versions are held, current ones and older ones.
func (h *Heap) Versions() int { return int(h.next) - 1 - len(h.free) }

// Deltas is how many of them have a base, which is among the others.
func (h *Heap) Deltas() int { return h.deltas }

// UsedBytes is the memory that live versions take with their label sets;
// ReservedBytes is what the heap has taken from the system for the versions.
func (h *Heap) UsedBytes() int { return h.slab.used + h.Labels.used + h.Versions()*recordSize }

// ReservedBytes never falls, except when large objects go.
func (h *Heap) ReservedBytes() int { return h.slab.reserved() + len(h.pages)*pageSize*recordSize }

const recordSize = 40
