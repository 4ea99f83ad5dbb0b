package server_test

import (
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/internal/skewtest"
	"github.com/watchglass/watchglass/host/server"
)

// The server accepts the recorded Hello of a reader of this version. A reader of another
// version receives a refusal that the reader can parse.
func TestSkewOfReaders(t *testing.T) {
	r := start(t, server.Config{})
	for _, v := range skewtest.Load(t) {
		t.Run(v.Subprotocol(), func(t *testing.T) {
			ws, _, err := websocket.Dial(t.Context(), r.socket(), &websocket.DialOptions{Subprotocols: []string{v.Subprotocol()}})
			require.NoError(t, err)
			defer ws.CloseNow()
			require.Equal(t, v.Subprotocol(), ws.Subprotocol(), "readers end a connection with another subprotocol without reading from it")
			require.NoError(t, ws.Write(t.Context(), websocket.MessageBinary, v.Hello))
			_, message, err := ws.Read(t.Context())
			require.NoError(t, err)
			kind, payload, rest, err := wire.Next(message)
			require.NoError(t, err)
			if v.Current() {
				require.Equal(t, wire.TypeWelcome, kind)
				return
			}
			require.Equal(t, wire.TypeSubscriptionStatus, kind)
			require.Empty(t, rest)
			var refused wire.SubscriptionStatus
			require.NoError(t, refused.Parse(payload))
			for _, part := range []string{v.Subprotocol(), wire.Subprotocol, "reload the page", "upgrade the older one"} {
				assert.Contains(t, refused.Status.Message, part)
			}
			_, _, err = ws.Read(t.Context())
			assert.Equal(t, websocket.StatusProtocolError, websocket.CloseStatus(err), "%v", err)
		})
	}
}

// The frame that explains a refusal has the same encoding in every recorded version,
// because readers of all versions must be able to parse it.
func TestSkewOfTheReason(t *testing.T) {
	for _, v := range skewtest.Load(t) {
		kind, payload, rest, err := wire.Next(v.Refused)
		require.NoError(t, err)
		require.Empty(t, rest)
		require.Equal(t, wire.TypeSubscriptionStatus, kind)
		var refused wire.SubscriptionStatus
		require.NoError(t, refused.Parse(payload), v.Subprotocol())
		require.Zero(t, refused.Subscription)
		require.Equal(t, api.ReasonProtocol, refused.Status.Reason)
		require.Equal(t, []byte(v.Refused), refused.Append(nil), "%s: the frame must never change", v.Subprotocol())
	}
}
