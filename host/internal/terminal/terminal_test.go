package terminal

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// controlled returns the runes that must not reach a terminal.
func controlled() []rune {
	runes := []rune{0x7f, 0x061c, 0x200e, 0x200f}
	for _, span := range [][2]rune{{0, 0x1f}, {0x80, 0x9f}, {0x202a, 0x202e}, {0x2066, 0x2069}} {
		for r := span[0]; r <= span[1]; r++ {
			runes = append(runes, r)
		}
	}
	return runes
}

func TestTextHasNoControls(t *testing.T) {
	for _, r := range controlled() {
		assert.Equal(t, "a b", Text("a"+string(r)+"b"), "%U", r)
	}
	assert.Equal(t, "a\ufffdb", Text("a\x9bb"), "a byte that is C1 where text is not UTF-8")
	for _, plain := range []string{"", "nöde-1", "日本語", "עברית", "👩‍👩‍👧", "\u200b\u2028"} {
		assert.Equal(t, plain, Text(plain))
	}
}

func TestWriterEscapesControls(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	for _, r := range controlled() {
		text := "a" + string(r) + "b"
		n, err := w.Write([]byte(text))
		require.NoError(t, err)
		assert.Equal(t, len(text), n)
	}
	for _, r := range out.String() {
		if r != '\n' && r != '\t' {
			assert.False(t, unsafe(r), "%U", r)
		}
	}
	assert.Contains(t, out.String(), `a\u001bb`)
	assert.Contains(t, out.String(), `a\u202eb`)
	assert.Contains(t, out.String(), "a\tba\nb", "lines and columns stay")
}

func TestWriterPreservesText(t *testing.T) {
	var out bytes.Buffer
	text := "NAME\tAGE\nnöde 日本語 👩‍👩‍👧 \\u001b\n"
	n, err := NewWriter(&out).Write([]byte(text))
	require.NoError(t, err)
	assert.Equal(t, len(text), n)
	assert.Equal(t, text, out.String())
}

// Unsafe controls in valid JSON occur only inside strings, where an escape has the same
// value as the control.
func TestWriterPreservesJSONValues(t *testing.T) {
	value := "C1 \u009b, DEL \u007f, \u202eright to left\u202c, \u2066isolated\u2069 and \u061c"
	document, err := json.Marshal(value)
	require.NoError(t, err)
	require.True(t, strings.ContainsFunc(string(document), unsafe))
	var out bytes.Buffer
	_, err = NewWriter(&out).Write(document)
	require.NoError(t, err)
	assert.False(t, strings.ContainsFunc(out.String(), unsafe), "%q", out.String())
	var got string
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	assert.Equal(t, value, got)
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestWriterReportsErrors(t *testing.T) {
	for _, text := range []string{"plain", "\x1b[2J"} {
		n, err := NewWriter(broken{}).Write([]byte(text))
		assert.Zero(t, n)
		assert.EqualError(t, err, "broken pipe")
	}
}

func FuzzWriter(f *testing.F) {
	f.Add([]byte("plain\n"))
	f.Add([]byte("\x1b]0;title\x07 \u202e \x9b2J"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var out bytes.Buffer
		n, err := NewWriter(&out).Write(text)
		require.NoError(t, err)
		require.Equal(t, len(text), n)
		require.True(t, utf8.Valid(out.Bytes()))
		for _, r := range out.String() {
			require.True(t, r == '\n' || r == '\t' || !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r), "%U", r)
		}
		require.Equal(t, Text(Text(string(text))), Text(string(text)))
		require.False(t, strings.ContainsFunc(Text(string(text)), func(r rune) bool {
			return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
		}))
	})
}
