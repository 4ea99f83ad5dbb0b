package wire

import (
	"bytes"
	"strings"
	"testing"
)

// Parse detects any flipped bit in a chunk.
func TestChunkNoticesDamage(t *testing.T) {
	long := *storedChunk
	long.Frames = bytes.Repeat(long.Frames, 20)
	for _, c := range []*Chunk{storedChunk, &long, {}} {
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

// Parsing a chunk of another format returns an error about the format, regardless of the
// contents.
func TestChunkOfAnotherFormat(t *testing.T) {
	err := new(Chunk).Parse([]byte{ChunkFormat + 1, 1, 2, 3})
	if err == nil || !strings.Contains(err.Error(), "a different release") {
		t.Error(err)
	}
}
