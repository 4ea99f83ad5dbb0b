package core

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// ChooseColumns is always in the same message as its Subscribe. A connector ignores a
// ChooseColumns in another message.
func TestNoMessageSeparatesColumnsFromTheirSubscribe(t *testing.T) {
	for _, columns := range [][]api.Column{
		{{Name: "X", Kind: api.String, Path: ".x"}},
		{{Name: strings.Repeat("x", 60_000), Kind: api.String, Path: ".x"}},
	} {
		for before := range 3 {
			var frames []byte
			for range before {
				frames = (&wire.Unsubscribe{Subscription: 1}).Append(frames)
			}
			const subscriptions = 400
			for id := range uint32(subscriptions) {
				frames = (&wire.ChooseColumns{Subscription: id, Columns: columns}).Append(frames)
				frames = (&wire.Subscribe{Subscription: id, Resource: "v1/pods"}).Append(frames)
			}
			messages, found := 0, 0
			for ; len(frames) > 0; messages++ {
				end := messageEnd(frames)
				var last wire.Type
				n := 0
				require.NoError(t, wire.FromReader.Each(frames[:end], func(t wire.Type, _ wire.Frame) error {
					last = t
					n++
					return nil
				}))
				require.Equal(t, wire.TypeSubscribe, last)
				require.LessOrEqual(t, n, maxSendFrames)
				if n > 2 {
					require.LessOrEqual(t, end, maxSendBytes)
				}
				found += n
				frames = frames[end:]
			}
			require.Equal(t, before+2*subscriptions, found)
			require.Greater(t, messages, 1)
		}
	}
}
