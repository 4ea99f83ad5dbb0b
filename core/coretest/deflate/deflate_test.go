package deflate_test

import (
	"bytes"
	"compress/flate"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/coretest/deflate"
)

// The standard library decompresses both sections. Texts of few letters have repetitions
// of all lengths and distances; one text in four consists of random bytes.
func TestSectionsAreReadByTheStandardLibrary(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		letters := 1 + r.IntN(4)
		if seed%4 == 0 {
			letters = 256
		}
		text := func() []byte {
			b := make([]byte, r.IntN(1<<r.IntN(18)))
			for i := range b {
				b[i] = byte(r.IntN(letters))
			}
			return b
		}
		envelopes, bodies := text(), text()
		data, end := deflate.Sections([]byte("before"), envelopes, bodies)
		require.Equal(t, "before", string(data[:6]))
		all, err := io.ReadAll(flate.NewReader(bytes.NewReader(data[6:])))
		require.NoError(t, err, "seed %d", seed)
		require.True(t, bytes.Equal(append(envelopes, bodies...), all), "seed %d", seed)
		first := make([]byte, len(envelopes))
		_, err = io.ReadFull(flate.NewReader(bytes.NewReader(data[6:6+end])), first)
		require.NoError(t, err, "seed %d", seed)
		assert.True(t, bytes.Equal(envelopes, first), "seed %d", seed)
	}
}

func TestRepetitionsAreShorter(t *testing.T) {
	text := bytes.Repeat([]byte(`{"kind":"Pod"},`), 100)
	data, _ := deflate.Sections(nil, nil, text)
	assert.Less(t, len(data), len(text)/10)
}
