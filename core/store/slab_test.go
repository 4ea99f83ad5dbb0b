package store

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSizeClassesWasteLittle(t *testing.T) {
	sizes := map[int]int{}
	last := 0
	for n := 1; n <= maxSpan; n++ {
		number, size := class(n)
		if size < n || n > minSpan && size-n > n/8+1 || number < last || sizes[number] != 0 && sizes[number] != size {
			require.Fail(t, "holds, wastes an eighth at most, ascends, has one size", "%d: class %d of %d", n, number, size)
		}
		sizes[number], last = size, number
	}
	_, size := class(maxSpan)
	assert.Equal(t, maxSpan, size)
	assert.Less(t, last, 256)
}

func TestSlabReusesFreedSpans(t *testing.T) {
	s := newSlab()
	a := s.alloc(100)
	assert.Len(t, s.bytes(a), 100)
	s.release(a)
	b := s.alloc(97)
	assert.Equal(t, a.offset, b.offset, "the same class takes the freed span")
	assert.Len(t, s.bytes(b), 97)
	c := s.alloc(100)
	assert.NotEqual(t, b.offset, c.offset)
	assert.Empty(t, s.bytes(s.alloc(0)))
}

func TestSlabStartsSmallAndGrows(t *testing.T) {
	s := newSlab()
	assert.Zero(t, s.reserved())
	s.alloc(1)
	assert.Equal(t, minChunk, s.reserved())
	for s.reserved() < 16*maxChunk {
		before := s.reserved()
		s.alloc(4096)
		assert.LessOrEqual(t, s.reserved()-before, maxChunk)
	}
}

func TestSlabFreesLargeSpans(t *testing.T) {
	s := newSlab()
	small := s.alloc(10)
	before := s.reserved()
	large := s.alloc(maxSpan + 1)
	assert.Equal(t, before+maxSpan+1, s.reserved())
	s.release(large)
	assert.Equal(t, before, s.reserved())
	again := s.alloc(3 * maxSpan)
	assert.Equal(t, large.chunk, again.chunk, "the hole is reused")
	s.release(again)
	s.release(small)
	assert.Zero(t, s.used)
}

func TestSlabFreesChunksWithoutLiveSpans(t *testing.T) {
	s := newSlab()
	var old []span
	for range 1000 {
		old = append(old, s.alloc(900))
	}
	grown := s.reserved()
	for i, sp := range old {
		next := s.alloc(200) // as when a body moves to a block
		copy(s.bytes(next), "next")
		s.release(sp)
		old[i] = next
	}
	assert.Less(t, s.reserved(), grown/3)
	for range 2000 { // free spans of freed chunks are not reused
		copy(s.bytes(s.alloc(900)), "other")
	}
	for _, sp := range old {
		require.Equal(t, "next", string(s.bytes(sp)[:4]))
	}
}

func TestAppendToASpanDoesNotOverwriteTheNext(t *testing.T) {
	s := newSlab()
	a, b := s.alloc(20), s.alloc(20)
	_ = append(s.bytes(a), "overflow"...)
	assert.Equal(t, make([]byte, 20), s.bytes(b))
}

// Spans never overlap. Each span is filled with its own pattern, which an
// overlap would change.
func TestSlabSpansNeverOverlap(t *testing.T) {
	type held struct {
		span
		pattern byte
	}
	s, random := newSlab(), randomOf(3)
	var live []held
	check := func(x held) {
		require.Equal(t, int(x.size), bytes.Count(s.bytes(x.span), []byte{x.pattern}), "a span was written over")
	}
	for step := range 30_000 {
		if random.Intn(5) < 2 && len(live) > 0 {
			i := random.Intn(len(live))
			check(live[i])
			s.release(live[i].span)
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
			continue
		}
		n := random.Intn(400)
		if random.Intn(500) == 0 {
			n = random.Intn(2 * maxSpan)
		}
		x := held{s.alloc(n), byte(step)}
		for i := range s.bytes(x.span) {
			s.bytes(x.span)[i] = x.pattern
		}
		live = append(live, x)
	}
	for _, x := range live {
		check(x)
		s.release(x.span)
	}
	assert.Zero(t, s.used)
}
