package store

import (
	"bytes"
	"fmt"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/deflate"
	"github.com/watchglass/watchglass/core/wire"
)

// sibling is an object of a block, with its base if its body is a delta.
type sibling struct {
	key  api.Key
	body api.Body
	base api.Body
}

// siblings returns objects with similar bodies. Every third body is a delta.
func siblings(random *rand.Rand, n int) []sibling {
	common := bytes.Repeat([]byte("the spec of all siblings; "), 20)
	text := func(codec api.Codec) api.Body {
		data := append(bytes.Clone(common[:random.Intn(len(common))]), fmt.Sprint(random.Int63())...)
		return api.Body{Codec: codec, Data: data}
	}
	list := make([]sibling, n)
	for i := range list {
		s := sibling{key: api.Key(fmt.Sprintf("default/p%03d", i)), body: text(api.Packed)}
		if i%3 == 2 {
			s.body, s.base = text(api.Delta), text(api.JSON)
		}
		list[i] = s
	}
	return list
}

func (s *sibling) envelope() wire.Envelope {
	return wire.AppendEnvelope(nil, &api.Object{Key: s.key, UID: "u", Body: s.body})
}

// compressed returns a block with the bodies of siblings.
func compressed(list []sibling) wire.BlockBodies {
	var b wire.Block
	for i := range list {
		c := wire.Change{ResourceVersion: 9, Envelope: list[i].envelope()}
		if list[i].base.Codec != api.NoBody {
			c.Base = wire.Base{ResourceVersion: 5, Body: list[i].base}
		}
		b.Objects = append(b.Objects, c)
	}
	before := []byte("the envelopes of the block")
	bodies, members := b.AppendBodies(nil), b.AppendMembers(nil)
	data, _ := deflate.Sections(members, before, bodies)
	return wire.BlockBodies{Data: data, Before: uint32(len(before)), Members: uint32(len(members)), Bodies: uint32(len(bodies)), Objects: uint32(len(list))}
}

// putSibling stores a sibling, as member i of the open block unless block is zero.
func putSibling(h *Arena, s *sibling, block uint32, i int) Ref {
	var base Ref
	member := MemberRef{}
	if block != 0 {
		member = MemberRef{Block: block, Index: uint32(2 * i)}
	}
	if s.base.Codec != api.NoBody {
		of := member
		if block != 0 {
			of.Index++
		}
		base = h.Put(Version{ResourceVersion: 5, Member: of, Envelope: wire.AppendEnvelope(nil, &api.Object{Key: s.key, Body: s.base})})
	}
	return h.Put(Version{ResourceVersion: 9, Base: base, Member: member, Envelope: s.envelope()})
}

// putBlock stores siblings in a block, except those for which skip returns true.
func putBlock(h *Arena, list []sibling, skip func(i int) bool) []Ref {
	number := h.OpenBlock(compressed(list), false)
	var refs []Ref
	for i := range list {
		if !skip(i) {
			refs = append(refs, putSibling(h, &list[i], number, i))
		}
	}
	h.CloseBlock()
	return refs
}

func none(int) bool { return false }

// requireSibling checks all data of a version.
func requireSibling(t *testing.T, h *Arena, ref Ref, s *sibling) {
	require.Equal(t, s.key, h.Key(ref))
	require.Equal(t, s.body.Codec, h.Body(ref).Codec)
	require.Equal(t, string(s.body.Data), string(h.Body(ref).Data))
	require.Equal(t, len(s.body.Data), h.BodySize(ref))
	require.Equal(t, len(s.envelope()), h.CompleteSize(ref))
	buffer := []byte("before")
	require.Equal(t, string(s.envelope()), string(h.Complete(ref, &buffer)))
	require.True(t, h.Equals(ref, s.envelope()))
	other := s.envelope()
	other[len(other)-1] ^= 1
	require.False(t, h.Equals(ref, other))
	base := h.BaseBody(ref, &buffer)
	require.Equal(t, s.base.Codec, base.Codec)
	require.Equal(t, string(s.base.Data), string(base.Data))
}

func TestBodiesInABlockAreReadable(t *testing.T) {
	h, list := NewArena(), siblings(randomOf(1), 64)
	refs := putBlock(h, list, none)
	for i, ref := range refs {
		requireSibling(t, h, ref, &list[i])
		assert.NotZero(t, h.Envelope(ref).Body().Codec, "it has a body")
	}
	assert.Equal(t, 1, h.Blocks())
}

func TestABlockTakesLessMemoryThanItsBodies(t *testing.T) {
	in, alone, list := NewArena(), NewArena(), siblings(randomOf(2), 64)
	putBlock(in, list, none)
	bodies := 0
	for i := range list {
		putSibling(alone, &list[i], 0, 0)
		bodies += len(list[i].body.Data) + len(list[i].base.Data)
	}
	data := len(compressed(list).Data)
	assert.Less(t, in.UsedBytes(), alone.UsedBytes()-bodies*3/4+data)
	assert.GreaterOrEqual(t, in.UsedBytes(), data, "the block counts, once")
	assert.Less(t, in.UsedBytes()+in.ReservedBytes(), 2*in.ReservedBytes()+data)
}

func TestTheArenaCopiesABlockThatItDoesNotOwn(t *testing.T) {
	h, list := NewArena(), siblings(randomOf(3), 20)
	block := compressed(list)
	number := h.OpenBlock(block, false)
	ref := putSibling(h, &list[0], number, 0)
	for i := 1; i < len(list); i++ {
		putSibling(h, &list[i], number, i)
	}
	h.CloseBlock()
	clear(block.Data)
	requireSibling(t, h, ref, &list[0])
}

// A block to which only two of 64 objects refer is not stored, because it would take
// more memory than their bodies.
func TestABlockOfFewVersionsIsNotStored(t *testing.T) {
	h, list := NewArena(), siblings(randomOf(4), 64)
	refs := putBlock(h, list, func(i int) bool { return i != 3 && i != 5 })
	assert.Zero(t, h.Blocks())
	requireSibling(t, h, refs[0], &list[3])
	requireSibling(t, h, refs[1], &list[5])
	putBlock(h, list, func(int) bool { return true })
	assert.Zero(t, h.Blocks())
	h.Release(refs[0])
	h.Release(refs[1])
	assert.Zero(t, h.UsedBytes())
}

func TestABlockIsFreedWithItsLastVersion(t *testing.T) {
	h, list := NewArena(), siblings(randomOf(5), 64)
	refs := putBlock(h, list, none)
	for i, ref := range refs {
		require.Equal(t, 1, h.Blocks(), i)
		requireSibling(t, h, ref, &list[i])
		h.Release(ref)
	}
	assert.Zero(t, h.Blocks())
	assert.Zero(t, h.UsedBytes())
}

// When most members of a block have changed, Repack moves the other bodies out of it in
// steps.
func TestMembersLeaveASparseBlock(t *testing.T) {
	h, list := NewArena(), siblings(randomOf(6), 64)
	var refs [3][]Ref
	for b := range refs {
		refs[b] = putBlock(h, list, none)
	}
	for b := range refs {
		for i := 1; i < len(list); i++ {
			h.Release(refs[b][i])
		}
	}
	require.Equal(t, 3, h.Blocks())
	used := h.UsedBytes()
	for left := 2; left >= 0; left-- {
		h.Repack()
		require.Equal(t, left, h.Blocks(), "one call takes out the members of one block")
	}
	assert.Less(t, h.UsedBytes(), used)
	for b := range refs {
		requireSibling(t, h, refs[b][0], &list[0])
	}
}

// After the base of a changed object was read, Repack takes the base out of its block.
// Objects that have not changed since they arrived stay in their block, even if they are
// deltas.
func TestTheBaseOfAChangedObjectLeavesItsBlock(t *testing.T) {
	h, list := NewArena(), siblings(randomOf(7), 64)
	refs := putBlock(h, list, none)
	changed := sibling{key: list[0].key, body: api.Body{Codec: api.Delta, Data: []byte("delta")}, base: list[0].body}
	ref := h.Put(Version{ResourceVersion: 10, Base: h.Retain(refs[0]), Envelope: changed.envelope()})
	member, _ := h.memberOf(refs[0])
	require.NotZero(t, member)

	requireSibling(t, h, ref, &changed)
	requireSibling(t, h, refs[2], &list[2]) // a delta in the block
	after, _ := h.memberOf(refs[0])
	require.Equal(t, member, after, "slices of the version are valid until Repack")
	h.Repack()
	after, _ = h.memberOf(refs[0])
	assert.Zero(t, after)
	after, _ = h.memberOf(h.Base(refs[2]))
	assert.NotZero(t, after)
	requireSibling(t, h, ref, &changed)
	requireSibling(t, h, refs[0], &list[0])
}

func TestBodiesThatWereReadAreNotTakenOutOfAnotherBlock(t *testing.T) {
	h, list := NewArena(), siblings(randomOf(8), 64)
	refs := putBlock(h, list, none)
	h.BaseBody(h.Put(Version{Base: h.Retain(refs[0]), Envelope: list[0].envelope()}), new([]byte))
	require.Len(t, h.blocks.taken, 1)
	*h = *NewArena()
	refs = putBlock(h, list, none)
	changed := h.Put(Version{Base: h.Retain(refs[0]), Envelope: list[0].envelope()})
	h.BaseBody(changed, new([]byte))
	for _, ref := range append(refs, changed) {
		h.Release(ref)
	}
	require.Zero(t, h.Blocks())
	other := siblings(randomOf(9), 64)
	refs = putBlock(h, other, none) // reuses the number of the freed block, and the Refs of its versions
	h.Repack()
	for i, ref := range refs {
		requireSibling(t, h, ref, &other[i])
	}
}

func TestReadingRetainsLittleMemory(t *testing.T) {
	h := NewArena()
	list := []sibling{{key: "a", body: api.Body{Codec: api.JSON, Data: make([]byte, 1<<20-100)}}}
	refs := putBlock(h, list, none)
	requireSibling(t, h, refs[0], &list[0])
	require.NotNil(t, h.blocks.expander)
	h.Repack()
	assert.Nil(t, h.blocks.expander)
}

// arenaModel compares an arena with a map of bodies.
type arenaModel struct {
	arena  *Arena
	random *rand.Rand
	live   []Ref
	is     map[Ref]*sibling
}

func (m *arenaModel) add(ref Ref, s *sibling) {
	m.live = append(m.live, ref)
	m.is[ref] = s
}

func (m *arenaModel) pick() int { return m.random.Intn(len(m.live)) }

func (m *arenaModel) release(i int) {
	ref := m.live[i]
	m.live[i] = m.live[len(m.live)-1]
	m.live = m.live[:len(m.live)-1]
	delete(m.is, ref)
	m.arena.Release(ref)
}

// step applies a random operation.
func (m *arenaModel) step() {
	h, random := m.arena, m.random
	switch op := random.Intn(20); {
	case op < 2:
		list, percent := siblings(random, 1+random.Intn(40)), random.Intn(120)
		number := h.OpenBlock(compressed(list), false)
		for i := range list {
			if random.Intn(100) < percent {
				m.add(putSibling(h, &list[i], number, i), &list[i])
			}
			if random.Intn(8) == 0 && len(m.live) > 0 {
				m.release(m.pick())
			}
		}
		h.CloseBlock()
	case op < 3:
		s := siblings(random, 3)[random.Intn(3)]
		m.add(putSibling(h, &s, 0, 0), &s)
	case len(m.live) == 0:
	case op < 12:
		m.release(m.pick())
	case op < 14:
		h.Repack()
	case op < 15:
		h.TakeOut(m.live[m.pick()])
	case op < 17:
		m.change()
	default:
		m.setBodies()
	}
}

// change adds a version whose body is a delta to the body of another version.
func (m *arenaModel) change() {
	ref := m.live[m.pick()]
	was := m.is[ref]
	if was.base.Codec != api.NoBody {
		return
	}
	s := &sibling{key: was.key, body: api.Body{Codec: api.Delta, Data: fmt.Append(nil, m.random.Int())}, base: was.body}
	m.add(m.arena.Put(Version{Base: m.arena.Retain(ref), Envelope: s.envelope()}), s)
}

// setBodies replaces the bodies of some versions. The new bodies are in a block or stored by
// themselves.
func (m *arenaModel) setBodies() {
	list := siblings(m.random, 1+m.random.Intn(30))
	number := uint32(0)
	if m.random.Intn(2) == 0 {
		number = m.arena.OpenBlock(compressed(list), true)
		defer m.arena.CloseBlock()
	}
	for i := range list {
		at := m.random.Intn(len(m.live))
		ref, s := m.live[at], list[i]
		if i%3 == 2 || m.isBase(ref) {
			continue
		}
		s.key = m.is[ref].key
		member := MemberRef{}
		if number != 0 {
			member = MemberRef{Block: number, Index: uint32(2 * i)}
		}
		m.arena.SetBody(ref, s.body, member, 0, 0)
		m.is[ref] = &s
	}
}

func (m *arenaModel) isBase(ref Ref) bool {
	for _, other := range m.live {
		if m.arena.Base(other) == ref {
			return true
		}
	}
	return false
}

func TestArenaWithBlocksIsAMapOfBodies(t *testing.T) {
	for seed := range 40 {
		m := arenaModel{arena: NewArena(), random: randomOf(int64(seed)), is: map[Ref]*sibling{}}
		blocks := 0
		for step := range 400 {
			m.step()
			blocks = max(blocks, m.arena.Blocks())
			if len(m.live) > 0 {
				ref := m.live[m.pick()]
				requireSibling(t, m.arena, ref, m.is[ref])
			}
			if step%50 == 0 {
				for ref, s := range m.is {
					requireSibling(t, m.arena, ref, s)
				}
			}
		}
		require.Greater(t, blocks, 2)
		for len(m.live) > 0 {
			m.release(0)
		}
		require.Zero(t, m.arena.Blocks())
		require.Zero(t, m.arena.Versions())
		require.Zero(t, m.arena.UsedBytes())
	}
}

func BenchmarkReadOneOfABlock(b *testing.B) {
	h, random := NewArena(), randomOf(1)
	refs := append(putBlock(h, siblings(random, 128), none), putBlock(h, siblings(random, 128), none)...)
	b.ReportAllocs()
	for i := range b.N {
		h.Body(refs[i*128%256])
	}
}
