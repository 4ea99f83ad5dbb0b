package wire

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func fragments(t *testing.T, message []byte, size int) []Fragment {
	var all []Fragment
	require.NoError(t, Split(message, size, func(piece []byte) error {
		typ, payload, rest, err := Next(bytes.Clone(piece))
		require.NoError(t, err)
		require.Empty(t, rest)
		require.Equal(t, TypeFragment, typ)
		var f Fragment
		require.NoError(t, f.Parse(payload))
		all = append(all, f)
		return nil
	}))
	return all
}

func TestFragmentsJoinToTheMessage(t *testing.T) {
	message := bytes.Repeat([]byte("0123456789"), 100)
	for size := 1; size < 500; size++ {
		var a Assembly
		var whole []byte
		all := fragments(t, message, size)
		for i, f := range all {
			require.LessOrEqual(t, len(f.Data), size)
			var err error
			whole, err = a.Join(f.Append(nil))
			require.NoError(t, err)
			last := i == len(all)-1
			require.Equal(t, last, whole != nil)
			require.Equal(t, !last, a.Pending())
		}
		require.Equal(t, message, whole)
	}
}

func TestShortMessageIsNotSplit(t *testing.T) {
	for _, n := range []int{0, 1, 99, 200} {
		message := make([]byte, n)
		sent := 0
		require.NoError(t, Split(message, 100, func(piece []byte) error {
			sent++
			assert.Equal(t, message, piece)
			return nil
		}))
		assert.Equal(t, 1, sent)
	}
	assert.Len(t, fragments(t, make([]byte, 201), 100), 3)
}

func TestSplitEndsWithTheFirstError(t *testing.T) {
	broken := errors.New("broken")
	sent := 0
	err := Split(make([]byte, 1000), 100, func([]byte) error { sent++; return broken })
	assert.ErrorIs(t, err, broken)
	assert.Equal(t, 1, sent)
}

func TestFragmentsThatDoNotFitAreRefused(t *testing.T) {
	piece := func(n int, rest uint64) Fragment { return Fragment{Rest: rest, Data: make([]byte, n)} }
	for name, all := range map[string][]Fragment{
		"no data":              {piece(0, 5)},
		"too large":            {piece(1, MaxMessage)},
		"overflow":             {piece(1, 1<<64-1)},
		"repeated":             {piece(10, 20), piece(10, 20)},
		"one is missing":       {piece(10, 20), piece(10, 0)},
		"of another message":   {piece(10, 20), piece(10, 30)},
		"longer than was said": {piece(10, 20), piece(30, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			var a Assembly
			var err error
			for i, f := range all {
				require.NoError(t, err, "fragment %d", i)
				_, err = a.Join(f.Append(nil))
			}
			assert.Error(t, err)
		})
	}
}

func TestFragmentsAreConsecutive(t *testing.T) {
	first, other := (&Fragment{Rest: 7, Data: []byte("x")}).Append(nil), (&Ping{Mark: 1}).Append(nil)
	for name, messages := range map[string][][]byte{
		"a frame between fragments":     {first, other},
		"a malformed frame between":     {first, {0x80}},
		"a frame behind a fragment":     {append(bytes.Clone(first), other...)},
		"a fragment that is cut":        {{byte(TypeFragment), 0}},
		"a fragment and its own repeat": {append(bytes.Clone(first), first...)},
	} {
		t.Run(name, func(t *testing.T) {
			var a Assembly
			for _, m := range messages[:len(messages)-1] {
				message, err := a.Join(m)
				require.NoError(t, err)
				require.Nil(t, message)
			}
			_, err := a.Join(messages[len(messages)-1])
			assert.Error(t, err)
		})
	}
	var a Assembly
	for _, m := range [][]byte{other, {0x80}, {}} {
		message, err := a.Join(m)
		assert.NoError(t, err, "its reader judges it")
		assert.Equal(t, m, message)
	}
}
