// Package skewtest provides recorded messages of readers and connectors for every version
// of the protocol. Tests use the messages to check compatibility between versions.
package skewtest

import (
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/wire"
)

// Bytes is a byte slice that JSON represents in hexadecimal.
type Bytes []byte

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *Bytes) UnmarshalText(text []byte) (err error) {
	*b, err = hex.DecodeString(string(text))
	return err
}

// Response is a plain HTTP response.
type Response struct {
	Code int
	Text string
}

// Version is the content of a file in testdata/skew. The README in that directory explains
// the fields.
type Version struct {
	Version                 uint32
	Hello, Welcome, Refused Bytes
	Upgrade, Get            *Response

	// Welcomed, if not nil, receives the type of the first frame that a reader sends after
	// the Welcome.
	Welcomed chan<- wire.Type `json:"-"`
}

// Load returns all recorded versions, and fails the test unless they include the current
// version.
func Load(t testing.TB) []Version {
	t.Helper()
	files, err := filepath.Glob("../../testdata/skew/v*.json")
	require.NoError(t, err)
	var all []Version
	current := false
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var v Version
		require.NoError(t, json.Unmarshal(text, &v), file)
		require.Equal(t, filepath.Base(file), "v"+strconv.FormatUint(uint64(v.Version), 10)+".json")
		current = current || v.Current()
		all = append(all, v)
	}
	require.True(t, current, "record version %d of the protocol in testdata/skew", wire.Version)
	return all
}

// Current reports whether v is the version that package wire implements.
func (v Version) Current() bool { return v.Version == wire.Version }

// Subprotocol returns the WebSocket subprotocol of the version.
func (v Version) Subprotocol() string {
	return wire.SubprotocolPrefix + strconv.FormatUint(uint64(v.Version), 10)
}

// ServeHTTP responds to a connecting reader as a connector of version v does.
func (v Version) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	offered := r.Header.Get("Sec-WebSocket-Protocol")
	switch {
	case offered == "" && v.Get != nil:
		http.Error(w, v.Get.Text, v.Get.Code)
		return
	case !v.Current() && v.Upgrade != nil:
		http.Error(w, v.Upgrade.Text, v.Upgrade.Code)
		return
	}
	first, _, _ := strings.Cut(offered, ",")
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{first}})
	if err != nil {
		return
	}
	if !v.Current() {
		_ = conn.Write(r.Context(), websocket.MessageBinary, v.Refused) // the reader may be gone
		_ = conn.Close(websocket.StatusProtocolError, "")
		return
	}
	if _, _, err := conn.Read(r.Context()); err == nil {
		_ = conn.Write(r.Context(), websocket.MessageBinary, v.Welcome)
	}
	if _, message, err := conn.Read(r.Context()); err == nil && v.Welcomed != nil {
		v.Welcomed <- wire.Type(message[0])
	}
}
