package wire

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// A message with any changed bit is refused. The test skips the type of the Checksum
// frame, because a change may turn it into an unknown optional type, which readers skip.
func TestChangedMessageIsNotIntact(t *testing.T) {
	for _, size := range []int{0, 1, 7, 8, 31, 32, 33, 64, 300} {
		message := (&Dictionary{ID: 7, Data: bytes.Repeat([]byte{'x'}, size)}).Append(nil)
		checksum := len(message)
		message = AppendChecksum(message)
		require.True(t, Intact(message))
		for at := range message {
			if at == checksum {
				continue
			}
			for bit := range 8 {
				message[at] ^= 1 << bit
				require.False(t, Intact(message) && FromConnector.Each(message, func(Type, Frame) error { return nil }) == nil,
					"size %d, byte %d, bit %d", size, at, bit)
				message[at] ^= 1 << bit
			}
		}
	}
}

// Changing any single byte of a message changes its sum, at every length.
func TestEveryChangeOfAByteChangesTheMessageSum(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for size := 1; size <= 100; size++ {
		message := make([]byte, size)
		for i := range message {
			message[i] = byte(r.Uint32())
		}
		sum := messageSum(message)
		for at := range message {
			for difference := 1; difference < 256; difference++ {
				message[at] ^= byte(difference)
				require.NotEqual(t, sum, messageSum(message), "size %d, byte %d, difference %#x", size, at, difference)
				message[at] ^= byte(difference)
			}
		}
	}
}

// A message without a Checksum is accepted, and so are frames after a Checksum.
func TestMessageWithoutChecksumIsIntact(t *testing.T) {
	message := (&Ping{Mark: 1}).Append(nil)
	require.True(t, Intact(nil))
	require.True(t, Intact(message))
	require.True(t, Intact(append(AppendChecksum(message), message...)))
}

// The checksum depends on the position of each word, and on the number of trailing zeros.
func TestChecksumDependsOnPlacesAndLength(t *testing.T) {
	words := make([]byte, 128)
	seen := map[uint64]bool{}
	for n := range words {
		require.False(t, seen[checksum(words[:n])])
		seen[checksum(words[:n])] = true
	}
	for at := 0; at < len(words); at += 8 {
		words[at] = 1
		require.False(t, seen[checksum(words)])
		seen[checksum(words)] = true
		words[at] = 0
	}
}

func BenchmarkChecksum(b *testing.B) {
	for name, size := range map[string]int{"event": 150, "block": 20 << 10} {
		b.Run(name, func(b *testing.B) {
			message := make([]byte, size)
			b.SetBytes(int64(size))
			for b.Loop() {
				checksum(message)
			}
		})
	}
}
