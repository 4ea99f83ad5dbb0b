package store

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// Ref names one version of an object in a [Heap]. The zero Ref means no object.
type Ref uint32

// record is the metadata of one version. It has no pointers, so the garbage
// collector does not scan it.
type record struct {
	rv         api.ResourceVersion
	at         span
	refs       int32
	labels     uint32
	dictionary uint32
	base       Ref
	flags      api.Flags
	inBlock    bool // the body is in a block
}

// Heap stores reference-counted object versions. Unless its comment says
// otherwise, a method takes and returns exactly one reference per Ref.
type Heap struct {
	Labels LabelSets
	// OnCorrupt is called when a body cannot be read from its block.
	OnCorrupt func()

	pages   []*page
	next    Ref // the first Ref that was never used
	free    []Ref
	slab    slab
	blocks  blocks
	deltas  int // number of versions that have a base
	scratch []byte
	warm    uint8 // checksum of what Prefetch read, so that the reads are not optimized away
}

// page is a fixed-size block of records. Growing one slice of all records would
// copy it and, during the copy, need the memory twice.
type page [pageSize]record

const pageSize = 256

// NewHeap returns an empty heap.
func NewHeap() *Heap {
	return &Heap{Labels: newLabelSets(), OnCorrupt: func() {}, next: 1, slab: newSlab()}
}

func (h *Heap) record(ref Ref) *record { return &h.pages[ref/pageSize][ref%pageSize] }

// Version is the data that a heap stores for one version of an object. Put copies the envelope. LabelSet
// is an ID from the heap's own LabelSets.
type Version struct {
	ResourceVersion api.ResourceVersion
	Flags           api.Flags
	LabelSet        uint32
	// Dictionary is the ID of the compression dictionary of the body. The caller
	// assigns these IDs.
	Dictionary uint32
	// Base is the version that a delta body refers to, or zero for a complete
	// body. The base itself must not have a base.
	Base     Ref
	Envelope wire.Envelope
	// Body is appended to the envelope if the caller has it in a separate slice.
	Body []byte
	// Place is the place of the envelope's body in the open block, if it has one there.
	Place Place
}

// Put stores a version and returns its first reference. It takes ownership of the
// caller's references to the label set and the base.
func (h *Heap) Put(v Version) Ref {
	if v.Place.Block != 0 {
		return h.putInBlock(v)
	}
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

// SetBody replaces the body of a version in place. If the place is not zero, it is that
// of the body. SetBody takes ownership of a reference to the base, and invalidates every
// slice obtained from the version.
func (h *Heap) SetBody(ref Ref, body api.Body, place Place, dictionary uint32, base Ref) {
	old, e := h.record(ref), h.Envelope(ref)
	h.scratch = e.AppendWithBody(h.scratch[:0], body)
	h.Labels.Retain(old.labels)
	other := h.Put(Version{
		ResourceVersion: old.rv, Flags: old.flags, LabelSet: old.labels, Dictionary: dictionary, Base: base, Envelope: h.scratch, Place: place,
	})
	now := h.record(other)
	*old, *now = *now, *old
	old.refs, now.refs = now.refs, 1
	if old.inBlock && place.Block != 0 {
		refs := h.blocks.opened().refs
		refs[len(refs)-1] = ref
	}
	h.Release(other)
}

// Retain adds a reference and returns ref. The zero Ref stays zero.
func (h *Heap) Retain(ref Ref) Ref {
	if ref != 0 {
		h.record(ref).refs++
	}
	return ref
}

// Release drops a reference. Dropping the last one frees the version and
// invalidates every slice obtained from it.
func (h *Heap) Release(ref Ref) {
	if ref == 0 {
		return
	}
	r := h.record(ref)
	if r.refs--; r.refs == 0 {
		h.drop(ref, r)
	}
}

// drop frees a version that has no references.
func (h *Heap) drop(ref Ref, r *record) {
	base := r.base
	if base != 0 {
		h.deltas--
	}
	h.Labels.Release(r.labels)
	if r.inBlock {
		h.leave(ref)
	}
	h.slab.release(r.at)
	*r = record{}
	h.free = append(h.free, ref)
	h.Release(base)
}

// ResourceVersion returns the resource version of a version.
func (h *Heap) ResourceVersion(ref Ref) api.ResourceVersion { return h.record(ref).rv }

// Flags returns the flags of a version.
func (h *Heap) Flags(ref Ref) api.Flags { return h.record(ref).flags }

// LabelSet returns the label set ID of a version.
func (h *Heap) LabelSet(ref Ref) uint32 { return h.record(ref).labels }

// Dictionary returns the dictionary ID that was given to Put.
func (h *Heap) Dictionary(ref Ref) uint32 { return h.record(ref).dictionary }

// Dictionaries yields the dictionary ID of every stored version, in no particular
// order. It also yields zeros for unused records.
func (h *Heap) Dictionaries(yield func(number uint32) bool) {
	for _, p := range h.pages {
		for i := range p {
			if !yield(p[i].dictionary) {
				return
			}
		}
	}
}

// Base returns the version that the body of ref is a delta from, or zero. It adds
// no reference. A base stays alive as long as a version refers to it.
func (h *Heap) Base(ref Ref) Ref { return h.record(ref).base }

// LabelsAndOwner returns the labels of a version, with its owner.
//
//go:noinline
func (h *Heap) LabelsAndOwner(ref Ref) api.Labels { return h.Labels.Labels(h.record(ref).labels) }

// LabelsOf returns the labels of a version, without its owner.
//
//go:noinline
func (h *Heap) LabelsOf(ref Ref) api.Labels { return h.LabelsAndOwner(ref).WithoutOwner() }

// OwnerOf returns the UID of the owner of a version, or "". It is valid as long as
// the version.
//
//go:noinline
func (h *Heap) OwnerOf(ref Ref) string { return h.LabelsAndOwner(ref).Owner() }

// RowLabels returns the labels of a version, and its owner with the complete kind and name.
func (h *Heap) RowLabels(ref Ref) api.Labels {
	labels := h.Labels.Labels(h.record(ref).labels)
	owner := api.ParseOwner(labels.OwnerText(), h.Key(ref).Name())
	if owner.Kind == "" {
		return labels
	}
	complete := append(api.Labels(nil), labels...)
	complete[0].Value = owner.Kind + "/" + owner.Name + "/" + owner.UID
	return complete
}

// Envelope returns the envelope of a version. If its body is in a block, the body is
// not readable. It aliases the heap and is valid as long as the caller holds a
// reference.
func (h *Heap) Envelope(ref Ref) wire.Envelope { return h.slab.bytes(h.record(ref).at) }

// Key returns the key of a version. It aliases the heap like Envelope.
func (h *Heap) Key(ref Ref) api.Key { return h.Envelope(ref).Key() }

// Versions returns the number of stored versions, current and older ones.
func (h *Heap) Versions() int { return int(h.next) - 1 - len(h.free) }

// Deltas returns the number of stored versions that have a base.
func (h *Heap) Deltas() int { return h.deltas }

// UsedBytes returns the memory of all stored versions and label sets.
func (h *Heap) UsedBytes() int {
	return h.slab.used + h.blocks.bytes + h.Labels.used + h.Versions()*recordSize
}

// ReservedBytes returns the memory that the heap has allocated for versions. It
// shrinks when chunks and blocks become unused.
func (h *Heap) ReservedBytes() int {
	return h.slab.reserved() + h.blocks.bytes + len(h.pages)*pageSize*recordSize
}

const recordSize = 40
