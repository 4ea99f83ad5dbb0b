package store

import "math/bits"

// slab allocates byte spans of 16 to maxSpan bytes from large chunks. Freed spans are
// reused by size class. A chunk is freed when all of its spans are free, for example
// after the bodies have moved to blocks. A span larger than maxSpan gets its own chunk.
type slab struct {
	chunks [][]byte // nil if freed
	counts []counts // of the spans in each chunk
	next   int      // first unused byte of the chunk being filled
	fill   int      // index of that chunk, -1 before the first
	free   [][]span // by class; may include spans of freed chunks
	holes  []uint32 // indices of freed chunks without spans in free
	used   int      // bytes in live spans, rounded up to their class
}

// counts contains the numbers of live and free spans in a chunk, not counting spans of
// more than maxSpan bytes.
type counts struct {
	live int32
	free int32 // number of spans of the chunk in slab.free
}

type span struct {
	chunk, offset, size uint32
}

const (
	minChunk  = 64 << 10
	maxChunk  = 8 << 20
	chunkPart = 16 // a new chunk is a sixteenth of the live bytes
	maxSpan   = 64 << 10
	minSpan   = 16
)

func newSlab() slab { return slab{fill: -1} }

// class returns the size class of n and the rounded-up size. There are eight
// classes per power of two, so at most an eighth of a span is wasted.
func class(n int) (number, size int) {
	if n <= minSpan {
		return 0, minSpan
	}
	shift := max(bits.Len(uint(n-1))-4, 0)
	steps := (n - 1) >> shift // 8..15 above minSpan
	return shift*8 + steps - 7, (steps + 1) << shift
}

func (s *slab) alloc(n int) span {
	if n > maxSpan {
		return s.allocLarge(n)
	}
	number, size := class(n)
	s.used += size
	if number < len(s.free) {
		for len(s.free[number]) > 0 {
			if sp, ok := s.reuse(number); ok {
				sp.size = uint32(n)
				return sp
			}
		}
	}
	if s.fill < 0 || s.next+size > len(s.chunks[s.fill]) {
		s.grow()
	}
	sp := span{uint32(s.fill), uint32(s.next), uint32(n)}
	s.next += size
	s.counts[s.fill].live++
	return sp
}

// reuse takes a free span of a class. It returns false if the chunk of the span was freed.
func (s *slab) reuse(number int) (sp span, ok bool) {
	list := s.free[number]
	sp = list[len(list)-1]
	s.free[number] = list[:len(list)-1]
	of := &s.counts[sp.chunk]
	of.free--
	if s.chunks[sp.chunk] == nil {
		if of.free == 0 {
			s.holes = append(s.holes, sp.chunk)
		}
		return sp, false
	}
	of.live++
	return sp, true
}

// grow starts a new chunk, whose size is proportional to the live spans. A small collection
// therefore takes little memory, and a large one rarely grows. Growth is expensive because
// V8 treats grown module memory as a new allocation and triggers a JavaScript garbage
// collection. The unused end of the old chunk, less than one span, is lost.
func (s *slab) grow() {
	size := min(max(s.used/chunkPart, minChunk), maxChunk)
	full := s.fill
	s.fill = s.addChunk(size)
	s.next = 0
	if full >= 0 {
		s.freeUnused(uint32(full))
	}
}

//go:noinline
func (s *slab) addChunk(size int) int {
	if n := len(s.holes); n > 0 {
		i := s.holes[n-1]
		s.holes = s.holes[:n-1]
		s.chunks[i] = make([]byte, size)
		return int(i)
	}
	s.chunks = append(s.chunks, make([]byte, size))
	s.counts = append(s.counts, counts{})
	return len(s.chunks) - 1
}

func (s *slab) allocLarge(n int) span {
	s.used += n
	return span{uint32(s.addChunk(n)), 0, uint32(n)}
}

func (s *slab) release(sp span) {
	if sp.size > maxSpan {
		s.used -= int(sp.size)
		s.chunks[sp.chunk] = nil
		s.holes = append(s.holes, sp.chunk)
		return
	}
	number, size := class(int(sp.size))
	s.used -= size
	for len(s.free) <= number {
		s.free = append(s.free, nil)
	}
	s.free[number] = append(s.free[number], sp)
	of := &s.counts[sp.chunk]
	of.live--
	of.free++
	if of.live == 0 {
		s.freeUnused(sp.chunk)
	}
}

// freeUnused frees a chunk without live spans, unless it is being filled.
func (s *slab) freeUnused(chunk uint32) {
	of := &s.counts[chunk]
	if of.live > 0 || int(chunk) == s.fill {
		return
	}
	s.chunks[chunk] = nil
	if of.free == 0 {
		s.holes = append(s.holes, chunk)
	}
}

func (s *slab) bytes(sp span) []byte {
	end := sp.offset + sp.size
	return s.chunks[sp.chunk][sp.offset:end:end]
}

// reserved returns the number of allocated bytes.
func (s *slab) reserved() int {
	n := 0
	for _, c := range s.chunks {
		n += len(c)
	}
	return n
}
