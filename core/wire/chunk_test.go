package wire

import (
	"bytes"
	"strings"
	"testing"
)

// Whatever bit of a chunk is damaged, it is noticed.
func TestChunkNoticesDamage(t *testing.T) {
	long := *keptChunk
	long.Frames = bytes.Repeat(long.Frames, 20)
	for _, c := range []*Chunk{keptChunk, &long, {}} {
		_, payload, _, err := Next(c.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		for bit := range 8 * len(payload) {
			payload[bit/8] ^= 1 << (bit % 8)
			if err := new(Chunk).Parse(payload); err == nil {
				t.Errorf("a chunk of %d bytes with bit %d turned over was accepted", len(payload), bit)
			}
			payload[bit/8] ^= 1 << (bit % 8)
		}
		if err := new(Chunk).Parse(payload); err != nil {
			t.Error(err)
		}
	}
}

// A chunk of another format says so, whatever else is in it.
func TestChunkOfAnotherFormat(t *testing.T) {
	err := new(Chunk).Parse([]byte{ChunkFormat + 1, 1, 2, 3})
	if err == nil || !strings.Contains(err.Error(), "another release") {
		t.Error(err)
	}
}
