package closereason

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClip(t *testing.T) {
	require.Equal(t, "", Clip(""))
	require.Equal(t, "short", Clip("short"))
	require.Equal(t, strings.Repeat("a", most), Clip(strings.Repeat("a", most+1)))
	require.Equal(t, strings.Repeat("a", most-1), Clip(strings.Repeat("a", most-1)+"ü"))
	require.Equal(t, "ab", Clip("a\xffb"))
}

// Clip terminates even for a text in which no byte begins a character. A hostile edge can send
// this text.
func TestReasonWithInvalidUTF8(t *testing.T) {
	require.Equal(t, "", Clip(strings.Repeat("\x80", 2*most)))
}
