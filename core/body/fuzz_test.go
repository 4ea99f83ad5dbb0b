package body_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/body"
)

// claimsMuch reports whether a block claims a large decoded length. Allocating
// that much memory would slow the fuzzer down and find no bugs.
func claimsMuch(block []byte) bool {
	n, _ := binary.Uvarint(block)
	return n > 1<<18
}

// FuzzEncode checks that each encoded body decodes to the original JSON.
func FuzzEncode(f *testing.F) {
	dictionary := pod[:600] // small inputs are quick to vary
	for _, dict := range [][]byte{nil, dictionary} {
		f.Add(pod[300:1200], dict)
		f.Add(podSkeleton[:400], dict)
		f.Add([]byte(`"2026-05-01T12:00:00Z" "2026-05-01T12:00:00.000001Z" 7c1b9f0e-52b4-4c7e-9b0a-3b7d7e6f1a20 0123456789abcdef0`), dict)
	}
	f.Fuzz(func(t *testing.T, object, dict []byte) {
		e, err := body.NewEncoder(dict)
		if err != nil {
			return
		}
		plain, err := body.Decode(nil, e.Encode(nil, object), dict, nil)
		require.NoError(t, err)
		require.Equal(t, string(object), string(plain))
	})
}

// FuzzDecode checks that the decoder does not panic for any block with any dictionary,
// and that a successful result has the length that the block states.
func FuzzDecode(f *testing.F) {
	dictionary := pod[:600]
	for _, dict := range [][]byte{nil, dictionary} {
		packed := encoder(f, dict).Encode(nil, pod[300:1200])
		f.Add(packed.Data, dict)
		f.Add(packed.Data[:len(packed.Data)/2], dict)
	}
	f.Add([]byte{4, 0x01, 0}, dictionary)
	f.Add([]byte{27, 0xfc, 2, 1, 2, 3, 4, 0, 0, 0}, dictionary)
	f.Fuzz(func(t *testing.T, block, dict []byte) {
		if claimsMuch(block) {
			return
		}
		plain, err := body.Decode(nil, api.Body{Codec: api.Packed, Data: block}, dict, nil)
		if err == nil {
			n, _ := binary.Uvarint(block)
			require.EqualValues(t, n, len(plain))
		}
	})
}
