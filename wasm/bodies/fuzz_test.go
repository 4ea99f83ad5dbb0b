package bodies_test

import (
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/wasm/bodies"
)

// FuzzDecode holds the decoder to upstream's: what one accepts the other does,
// with the same result, for every block and dictionary.
func FuzzDecode(f *testing.F) {
	dictionary := s2.MakeDict(pod[:600], pod[:20]).Bytes() // small inputs are quick to vary
	for _, dict := range [][]byte{nil, dictionary} {
		body := encoder(f, dict).Encode(nil, pod[300:1200])
		f.Add(body.Data, dict)
		f.Add(body.Data[:len(body.Data)/2], dict)
	}
	f.Add([]byte{4, 0x01, 0}, dictionary)
	f.Fuzz(func(t *testing.T, block, dict []byte) {
		if n, err := s2.DecodedLen(block); err == nil && n > 1<<18 {
			return // ours refuses the largest by length alone, and allocating finds no bugs
		}
		got, gotErr := bodies.Decode(nil, api.Body{Codec: api.S2, Data: block}, nil, nil)
		want, wantErr := s2.Decode(nil, block)
		agree(t, got, gotErr, want, wantErr)
		if d := s2.NewDict(dict); d != nil {
			got, gotErr = bodies.Decode(nil, api.Body{Codec: api.S2Dict, Data: block}, dict, nil)
			want, wantErr = d.Decode(nil, block)
			agree(t, got, gotErr, want, wantErr)
		}
	})
}

func agree(t *testing.T, got []byte, gotErr error, want []byte, wantErr error) {
	t.Helper()
	require.Equal(t, wantErr == nil, gotErr == nil, "upstream: %v, ours: %v", wantErr, gotErr)
	if wantErr == nil {
		require.Equal(t, string(want), string(got))
	}
}
