package store

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// The bodies of neighboring objects may be stored together in a block, compressed as
// received. A version then refers to a member of the block. The block is freed when no
// version refers to it.
//
// A block is stored only while it takes less memory than separate copies of the bodies
// that versions still use. When most members of a block have changed, Repack takes the
// other members out in steps. Repack is a separate call because it invalidates slices
// obtained from versions.

// MemberRef locates a body in a block. The zero value means that the body is stored
// by itself.
type MemberRef struct {
	Block, Index uint32
	// Size and BaseSize are the sizes in bytes of the body and of the base's body. They
	// are set only if the caller has the codecs of these bodies, but not their data.
	Size, BaseSize uint32
}

const (
	// inBlock is the codec in the envelope of a version whose body is in a block. A
	// reference replaces the body. It consists of the number of the block, the index of
	// the member, and the size of the body, in three, two and three bytes. Callers of
	// Envelope may compare the codec only with NoBody.
	inBlock       = api.Codec(0xff)
	referenceSize = 8
	// blockOverhead is the memory of a block without its data.
	blockOverhead = 64
	// maxTaken and maxTakenBytes limit the number and the total size of the bodies that
	// BaseBody records for the next Repack.
	maxTaken      = 256
	maxTakenBytes = 256 << 10
	// sweptPages is the maximum number of pages that one Repack searches.
	sweptPages = 64
	// maxIdleExpanded is the size of the largest decompressed block that Repack retains.
	maxIdleExpanded = 512 << 10
)

// block is a stored block, with the number and the total body size of the versions that
// refer to it.
type block struct {
	wire.BlockBodies
	live      int  // number of versions that refer to it
	liveBytes int  // size of their bodies
	open      bool // between OpenBlock and CloseBlock
	sparse    bool // Repack takes the remaining members out of the block
}

// openBlock is a block between OpenBlock and CloseBlock.
type openBlock struct {
	number uint32
	owned  bool  // the arena may retain the data of the block without a copy
	refs   []Ref // versions that refer to it
}

type blocks struct {
	list   []block // by number; number 0 is not used
	free   []uint32
	bytes  int
	sparse int // number of sparse blocks
	page   int // the page at which the next Repack continues

	open []openBlock // the blocks between OpenBlock and CloseBlock, the last one innermost

	expanded uint32 // the block in expander, or zero
	expander *wire.BodyExpander

	taken      []taken // bodies that the next Repack takes out
	takenBytes []byte
}

// taken is a body that the next Repack takes out of its block, as a range of takenBytes.
type taken struct {
	ref    Ref
	member MemberRef
	codec  api.Codec
	at, to int
}

// OpenBlock opens a block. Until CloseBlock, versions can refer to it by its number. If
// owned is set, the arena takes ownership of the data; otherwise CloseBlock copies it.
// Other blocks may be opened and closed before CloseBlock. For example, adding an object of
// a list may load a segment, which has its own blocks.
func (a *Arena) OpenBlock(b wire.BlockBodies, owned bool) (number uint32) {
	x := &a.blocks
	if n := len(x.free); n > 0 {
		number = x.free[n-1]
		x.free = x.free[:n-1]
	} else {
		if len(x.list) == 0 {
			x.list = append(x.list, block{})
		}
		number = uint32(len(x.list))
		x.list = append(x.list, block{})
	}
	x.list[number] = block{BlockBodies: b, open: true}
	if n := len(x.open); n < cap(x.open) {
		x.open = x.open[:n+1] // reuses refs
	} else {
		x.open = append(x.open, openBlock{})
	}
	opened := x.opened()
	*opened = openBlock{number, owned, opened.refs[:0]}
	return number
}

// CloseBlock closes the innermost open block. If the block takes more memory than the
// bodies of the versions that refer to it, each of these versions stores its own body
// instead.
func (a *Arena) CloseBlock() {
	x := &a.blocks
	opened := x.opened()
	number := opened.number
	b := &x.list[number]
	if b.live > 0 && b.worthwhile() {
		if !opened.owned {
			b.Data = append([]byte(nil), b.Data...)
		}
		b.open = false
		x.open = x.open[:len(x.open)-1]
		x.bytes += len(b.Data) + blockOverhead
		return
	}
	for _, ref := range opened.refs {
		if member, _ := a.memberOf(ref); member.Block == number {
			a.TakeOut(ref)
		}
	}
	x.open = x.open[:len(x.open)-1]
	x.list[number] = block{}
	x.forget(number)
}

// opened returns the innermost open block.
func (x *blocks) opened() *openBlock { return &x.open[len(x.open)-1] }

// worthwhile reports whether the block takes less memory than its bodies.
func (b *block) worthwhile() bool { return len(b.Data)+blockOverhead < b.liveBytes }

// forget makes the number of a block available again. It also discards cached data that
// may refer to the block.
func (x *blocks) forget(number uint32) {
	x.free = append(x.free, number)
	x.taken, x.takenBytes = x.taken[:0], x.takenBytes[:0]
	if x.expanded == number {
		x.expanded = 0
	}
}

// putInBlock stores a version whose body is in the open block.
func (a *Arena) putInBlock(v Version) Ref {
	body, member := v.Envelope.Body(), v.Member
	v.Member = MemberRef{}
	if body.Codec == api.NoBody {
		return a.Put(v)
	}
	n := max(len(body.Data), int(member.Size))
	reference := [referenceSize]byte{
		byte(member.Block), byte(member.Block >> 8), byte(member.Block >> 16),
		byte(member.Index), byte(member.Index >> 8),
		byte(n), byte(n >> 8), byte(n >> 16),
	}
	v.Envelope, v.Body = v.Envelope[:len(v.Envelope)-len(body.Data)], reference[:]
	ref := a.Put(v)
	e := a.Envelope(ref)
	e[len(e)-referenceSize-1] = byte(inBlock)
	a.record(ref).inBlock = true
	b := &a.blocks.list[member.Block]
	b.live++
	b.liveBytes += n
	opened := a.blocks.opened()
	opened.refs = append(opened.refs, ref)
	return ref
}

// memberOf returns the location and the size of a version's body. Both are zero if the
// body is not in a block.
func (a *Arena) memberOf(ref Ref) (MemberRef, int) {
	r := a.record(ref)
	if !r.inBlock {
		return MemberRef{}, 0
	}
	e := a.slab.bytes(r.at)
	e = e[len(e)-referenceSize:]
	member := MemberRef{Block: uint32(e[0]) | uint32(e[1])<<8 | uint32(e[2])<<16, Index: uint32(e[3]) | uint32(e[4])<<8}
	return member, int(e[5]) | int(e[6])<<8 | int(e[7])<<16
}

// leave drops the reference of a version to its block. It frees a block without
// references, and marks a block as sparse if separate bodies would take less memory.
func (a *Arena) leave(ref Ref) {
	x := &a.blocks
	member, n := a.memberOf(ref)
	b := &x.list[member.Block]
	b.live--
	b.liveBytes -= n
	switch {
	case b.open:
	case b.live == 0:
		x.bytes -= len(b.Data) + blockOverhead
		if b.sparse {
			x.sparse--
		}
		*b = block{}
		x.forget(member.Block)
	case !b.sparse && !b.worthwhile():
		b.sparse = true
		x.sparse++
	}
}

// Body returns the body of a version. The result is valid until the next call that reads a body
// or releases the version. If the block of the body is corrupt, Body calls OnCorrupt and
// returns the zero Body. Body decompresses a block when it first reads one of its bodies.
func (a *Arena) Body(ref Ref) api.Body {
	member, _ := a.memberOf(ref)
	if member.Block == 0 {
		return a.Envelope(ref).Body()
	}
	x := &a.blocks
	if x.expanded != member.Block {
		if x.expander == nil {
			x.expander = &wire.BodyExpander{}
		}
		x.expanded = 0
		if !x.expander.Expand(&x.list[member.Block].BlockBodies) {
			a.OnCorrupt()
			return api.Body{}
		}
		x.expanded = member.Block
	}
	return x.expander.Member(int(member.Index))
}

// Member returns the number of the block that contains the body of a version, and the index
// of its object in the block. The number is zero if the body is empty, stored by itself, or
// in the block only as the base of another body.
func (a *Arena) Member(ref Ref) (number, index uint32) {
	member, size := a.memberOf(ref)
	if member.Block == 0 || member.Index%2 != 0 || size == 0 {
		return 0, 0
	}
	return member.Block, member.Index / 2
}

// BlockBodies returns the block with the given number. The block is valid as long as a
// version refers to it.
func (a *Arena) BlockBodies(number uint32) *wire.BlockBodies {
	return &a.blocks.list[number].BlockBodies
}

// BodySize returns the size of the body of a version.
func (a *Arena) BodySize(ref Ref) int {
	if member, n := a.memberOf(ref); member.Block != 0 {
		return n
	}
	return len(a.Envelope(ref).Body().Data)
}

// Complete returns the envelope of a version with its body. If the body is in a block,
// the envelope is appended to buffer. Otherwise the result aliases the arena, like that
// of Envelope.
func (a *Arena) Complete(ref Ref, buffer *[]byte) wire.Envelope {
	if !a.record(ref).inBlock {
		return a.Envelope(ref)
	}
	at := len(*buffer)
	*buffer = a.Envelope(ref).AppendWithBody(*buffer, a.Body(ref))
	return (*buffer)[at:len(*buffer):len(*buffer)]
}

// Equals reports whether a version has the given envelope, including the body.
func (a *Arena) Equals(ref Ref, e wire.Envelope) bool {
	stored := a.Envelope(ref)
	member, n := a.memberOf(ref)
	if member.Block == 0 {
		return string(stored) == string(e)
	}
	head := len(stored) - referenceSize - 1
	if len(e) != head+1+n || string(stored[:head]) != string(e[:head]) {
		return false
	}
	body := a.Body(ref)
	return byte(body.Codec) == e[head] && string(body.Data) == string(e[head+1:])
}

// CompleteSize returns the size of the envelope of a version with its body.
func (a *Arena) CompleteSize(ref Ref) int {
	n := len(a.Envelope(ref))
	if member, body := a.memberOf(ref); member.Block != 0 {
		n += body - referenceSize
	}
	return n
}

// BaseBody returns the body of the base of a version, or the zero Body. If that body is
// in a block, it is appended to buffer. If the version itself is not in a block, its
// object has changed, and the base is likely to be read again. The next Repack therefore
// takes the base out of its block.
func (a *Arena) BaseBody(ref Ref, buffer *[]byte) api.Body {
	base := a.record(ref).base
	if base == 0 {
		return api.Body{}
	}
	body := a.Body(base)
	member, _ := a.memberOf(base)
	if member.Block == 0 {
		return body
	}
	at := len(*buffer)
	*buffer = append(*buffer, body.Data...)
	body.Data = (*buffer)[at:len(*buffer):len(*buffer)]
	if !a.record(ref).inBlock {
		a.blocks.take(base, member, body)
	}
	return body
}

// take copies a body for the next Repack, unless the copy would exceed maxTaken or
// maxTakenBytes.
func (x *blocks) take(ref Ref, member MemberRef, body api.Body) {
	at := len(x.takenBytes)
	if len(x.taken) < maxTaken && at+len(body.Data) <= maxTakenBytes {
		x.takenBytes = append(x.takenBytes, body.Data...)
		x.taken = append(x.taken, taken{ref, member, body.Codec, at, len(x.takenBytes)})
	}
}

// TakeOut stores the body of a version by itself if it is in a block. It invalidates
// every slice obtained from the version.
func (a *Arena) TakeOut(ref Ref) {
	if r := a.record(ref); r.inBlock {
		a.SetBody(ref, a.Body(ref), MemberRef{}, r.dictionary, a.Retain(r.base))
	}
}

// Repack takes bodies out of their blocks: those that BaseBody has recorded, and those in
// blocks that take more memory than separate bodies would. It decompresses at most one
// block. It invalidates slices obtained from any version.
func (a *Arena) Repack() {
	x := &a.blocks
	if len(x.taken) > 0 {
		a.repackTaken()
	}
	if x.sparse > 0 {
		a.sweep()
	}
	if x.expander != nil && x.expander.Bytes() > maxIdleExpanded {
		x.expander, x.expanded = nil, 0
	}
}

func (a *Arena) repackTaken() {
	list, bytes := a.blocks.taken, a.blocks.takenBytes
	a.blocks.taken, a.blocks.takenBytes = nil, nil // SetBody may free a block, which clears both
	for _, t := range list {
		if member, _ := a.memberOf(t.ref); member == t.member && member.Block != 0 {
			r := a.record(t.ref)
			a.SetBody(t.ref, api.Body{Codec: t.codec, Data: bytes[t.at:t.to]}, MemberRef{}, r.dictionary, a.Retain(r.base))
		}
	}
	a.blocks.taken, a.blocks.takenBytes = list[:0], bytes[:0]
}

// sweep searches pages for versions in sparse blocks. It takes out versions of at most
// one block, and stops after the first page that contains such versions.
func (a *Arena) sweep() {
	x := &a.blocks
	found := uint32(0)
	for range min(sweptPages, len(a.pages)) {
		if x.page >= len(a.pages) {
			x.page = 0
		}
		for i := range pageSize {
			ref := Ref(x.page*pageSize + i)
			member, _ := a.memberOf(ref)
			if member.Block == 0 || !x.list[member.Block].sparse {
				continue
			}
			if found != 0 && found != member.Block {
				return
			}
			found = member.Block
			a.TakeOut(ref)
		}
		x.page++
		if found != 0 {
			return
		}
	}
}

// Blocks returns the number of stored blocks.
func (a *Arena) Blocks() int { return max(len(a.blocks.list)-1, 0) - len(a.blocks.free) }

// Block returns the number of the block that contains the body of a version, or zero.
func (a *Arena) Block(ref Ref) uint32 {
	member, _ := a.memberOf(ref)
	return member.Block
}
