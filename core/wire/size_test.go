package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSizeMatchesTheFrame(t *testing.T) {
	for _, n := range []int{0, 1, 0x7f, 0x80, 0x3fff, 0x4000, 1 << 21} {
		frame := (&SendStream{Data: make([]byte, n)}).Append(nil)
		_, payload, _, err := Next(frame)
		require.NoError(t, err)
		require.Equal(t, len(frame), Size(len(payload)))
	}
}
