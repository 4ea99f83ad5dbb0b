package store

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// Ref names one version of an object in an [Arena]. The zero Ref means no object.
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

// Arena stores reference-counted object versions. Put and Retain return a reference, which
// the caller must release. Other methods change no reference counts unless their comments
// say so.
type Arena struct {
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
	warm    uint8 // checksum of the bytes that Prefetch reads, so that the compiler does not remove the reads
}

// page is a fixed-size block of records. If all records were in one slice, growing the
// slice would copy all of them and need twice the memory during the copy.
type page [pageSize]record

const pageSize = 256

// NewArena returns an empty arena.
func NewArena() *Arena {
	return &Arena{Labels: newLabelSets(), OnCorrupt: func() {}, next: 1, slab: newSlab()}
}

func (a *Arena) record(ref Ref) *record { return &a.pages[ref/pageSize][ref%pageSize] }

// Version is the data that an arena stores for one version of an object. Put copies the
// envelope. LabelSet is an ID from the arena's own LabelSets.
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
	// Body contains the body if Envelope does not. Put appends the body to the envelope.
	Body []byte
	// Member locates the envelope's body in the open block. It is zero if the body is
	// stored by itself.
	Member MemberRef
}

// Put stores a version and returns its first reference. It takes ownership of the
// caller's references to the label set and the base.
func (a *Arena) Put(v Version) Ref {
	if v.Member.Block != 0 {
		return a.putInBlock(v)
	}
	at := a.slab.alloc(len(v.Envelope) + len(v.Body))
	b := a.slab.bytes(at)
	copy(b[copy(b, v.Envelope):], v.Body)
	ref := a.unused()
	*a.record(ref) = record{
		rv: v.ResourceVersion, at: at, refs: 1,
		labels: v.LabelSet, dictionary: v.Dictionary, base: v.Base, flags: v.Flags,
	}
	if v.Base != 0 {
		a.deltas++
	}
	return ref
}

func (a *Arena) unused() Ref {
	if n := len(a.free); n > 0 {
		ref := a.free[n-1]
		a.free = a.free[:n-1]
		return ref
	}
	ref := a.next
	if int(ref/pageSize) == len(a.pages) {
		a.pages = append(a.pages, new(page))
	}
	a.next++
	return ref
}

// SetBody replaces the body of a version in place. If member is not zero, it locates the
// body in the open block. SetBody takes ownership of a reference to the base, and
// invalidates every slice obtained from the version.
func (a *Arena) SetBody(ref Ref, body api.Body, member MemberRef, dictionary uint32, base Ref) {
	old, e := a.record(ref), a.Envelope(ref)
	a.scratch = e.AppendWithBody(a.scratch[:0], body)
	a.Labels.Retain(old.labels)
	other := a.Put(Version{
		ResourceVersion: old.rv, Flags: old.flags, LabelSet: old.labels, Dictionary: dictionary, Base: base, Envelope: a.scratch, Member: member,
	})
	now := a.record(other)
	*old, *now = *now, *old
	old.refs, now.refs = now.refs, 1
	if old.inBlock && member.Block != 0 {
		refs := a.blocks.opened().refs
		refs[len(refs)-1] = ref
	}
	a.Release(other)
}

// Retain adds a reference and returns ref. The zero Ref stays zero.
func (a *Arena) Retain(ref Ref) Ref {
	if ref != 0 {
		a.record(ref).refs++
	}
	return ref
}

// Release drops a reference. Dropping the last reference frees the version and
// invalidates every slice obtained from it.
func (a *Arena) Release(ref Ref) {
	if ref == 0 {
		return
	}
	r := a.record(ref)
	if r.refs--; r.refs == 0 {
		a.drop(ref, r)
	}
}

// drop frees a version that has no references.
func (a *Arena) drop(ref Ref, r *record) {
	base := r.base
	if base != 0 {
		a.deltas--
	}
	a.Labels.Release(r.labels)
	if r.inBlock {
		a.leave(ref)
	}
	a.slab.release(r.at)
	*r = record{}
	a.free = append(a.free, ref)
	a.Release(base)
}

// ResourceVersion returns the resource version of a version.
func (a *Arena) ResourceVersion(ref Ref) api.ResourceVersion { return a.record(ref).rv }

// Flags returns the flags of a version.
func (a *Arena) Flags(ref Ref) api.Flags { return a.record(ref).flags }

// LabelSet returns the label set ID of a version.
func (a *Arena) LabelSet(ref Ref) uint32 { return a.record(ref).labels }

// Dictionary returns the dictionary ID of a version, as passed to Put or SetBody.
func (a *Arena) Dictionary(ref Ref) uint32 { return a.record(ref).dictionary }

// Dictionaries yields the dictionary ID of every stored version, in no particular
// order. It also yields zeros for unused records.
func (a *Arena) Dictionaries(yield func(number uint32) bool) {
	for _, p := range a.pages {
		for i := range p {
			if !yield(p[i].dictionary) {
				return
			}
		}
	}
}

// Base returns the version to which the delta body of ref applies, or zero. It adds
// no reference. A base stays alive as long as a version refers to it.
func (a *Arena) Base(ref Ref) Ref { return a.record(ref).base }

// LabelsAndOwner returns the labels and the owner of a version.
//
//go:noinline
func (a *Arena) LabelsAndOwner(ref Ref) api.Labels { return a.Labels.Labels(a.record(ref).labels) }

// LabelsOf returns the labels of a version, without its owner.
//
//go:noinline
func (a *Arena) LabelsOf(ref Ref) api.Labels { return a.LabelsAndOwner(ref).WithoutOwner() }

// OwnerOf returns the UID of the owner of a version, or "". The string is valid as long as
// the version is stored.
//
//go:noinline
func (a *Arena) OwnerOf(ref Ref) string { return a.LabelsAndOwner(ref).Owner() }

// RowLabels returns the labels and the owner of a version. The kind and the name of the
// owner are not abbreviated, unlike in LabelsAndOwner.
func (a *Arena) RowLabels(ref Ref) api.Labels {
	labels := a.Labels.Labels(a.record(ref).labels)
	owner := api.ParseOwner(labels.OwnerText(), a.Key(ref).Name())
	if owner.Kind == "" {
		return labels
	}
	complete := append(api.Labels(nil), labels...)
	complete[0].Value = owner.Kind + "/" + owner.Name + "/" + owner.UID
	return complete
}

// Envelope returns the envelope of a version. If the body is in a block, the envelope
// contains an internal reference instead of the body; see Complete. The envelope aliases
// the arena and is valid as long as the caller holds a reference.
func (a *Arena) Envelope(ref Ref) wire.Envelope { return a.slab.bytes(a.record(ref).at) }

// Key returns the key of a version. The key aliases the arena, like the result of
// Envelope.
func (a *Arena) Key(ref Ref) api.Key { return a.Envelope(ref).Key() }

// Versions returns the number of stored versions, current and older ones.
func (a *Arena) Versions() int { return int(a.next) - 1 - len(a.free) }

// Deltas returns the number of stored versions that have a base.
func (a *Arena) Deltas() int { return a.deltas }

// UsedBytes returns the memory in bytes that all stored versions and label sets use.
func (a *Arena) UsedBytes() int {
	return a.slab.used + a.blocks.bytes + a.Labels.used + a.Versions()*recordSize
}

// ReservedBytes returns the memory in bytes that the arena has allocated for versions.
// The number decreases when chunks and blocks become unused.
func (a *Arena) ReservedBytes() int {
	return a.slab.reserved() + a.blocks.bytes + len(a.pages)*pageSize*recordSize
}

const recordSize = 40
