package socket_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/internal/slowlink"
	"github.com/watchglass/watchglass/host/socket"
)

// bytesPerSecond is the rate of the links in these tests.
const bytesPerSecond = 16_000

// over calls the function "test" with the Conn of a server and with its client, which are
// connected by a slow link. The server reads until the connection ends, and then closes the
// channel "ended".
func over(t *testing.T, secure bool, test func(t *testing.T, served *socket.Conn, client *websocket.Conn, ended <-chan struct{})) {
	certificates := httptest.NewUnstartedServer(nil)
	certificates.StartTLS()
	defer certificates.Close()
	synctest.Test(t, func(t *testing.T) {
		link := slowlink.Listen(bytesPerSecond, 256<<10)
		defer link.Wait()
		accepted, ended := make(chan *socket.Conn, 1), make(chan struct{})
		server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conn, err := socket.Accept(w, r, websocket.AcceptOptions{})
			if !assert.NoError(t, err) {
				return
			}
			accepted <- conn
			conn.WebSocket().Read(context.Background())
			close(ended)
		})}
		var listener net.Listener = link
		url := "ws://127.0.0.1"
		transport := &http.Transport{DialContext: link.Dial}
		if secure {
			listener = tls.NewListener(link, &tls.Config{Certificates: certificates.TLS.Certificates, NextProtos: []string{"http/1.1"}})
			url = "wss://127.0.0.1"
			roots := x509.NewCertPool()
			roots.AddCert(certificates.Certificate())
			transport.TLSClientConfig = &tls.Config{RootCAs: roots, Time: time.Now}
		}
		go server.Serve(listener)
		defer server.Close()
		defer transport.CloseIdleConnections()
		client, _, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
		require.NoError(t, err)
		defer client.CloseNow()
		client.SetReadLimit(-1)
		served := <-accepted
		defer served.WebSocket().CloseNow()
		test(t, served, client, ended)
	})
}

// runBoth runs a test over TCP and over TLS. The in-memory link has no file descriptor for
// nonblocking writes, so both variants use blocking writes.
func runBoth(t *testing.T, test func(t *testing.T, served *socket.Conn, client *websocket.Conn, ended <-chan struct{})) {
	t.Run("plain", func(t *testing.T) { over(t, false, test) })
	t.Run("TLS", func(t *testing.T) { over(t, true, test) })
}

// A message of 1.4 MB takes a minute and a half. Pings that the server and the client send
// in that time do not end the connection.
func TestPingsDoNotEndASlowConnection(t *testing.T) {
	runBoth(t, func(t *testing.T, served *socket.Conn, client *websocket.Conn, ended <-chan struct{}) {
		defer served.KeepAlive(20 * time.Second)()
		message := bytes.Repeat([]byte("0123456789"), 140_000)
		sent := make(chan error, 1)
		begun := time.Now()
		go func() { sent <- served.Write(t.Context(), message) }()
		pinged := make(chan error, 1)
		go func() {
			time.Sleep(30 * time.Second)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			pinged <- client.Ping(ctx) // the response follows the message
		}()
		_, got, err := client.Read(t.Context())
		require.NoError(t, err)
		assert.Equal(t, message, got)
		assert.Greater(t, time.Since(begun), 80*time.Second)
		require.NoError(t, <-sent)

		reading := client.CloseRead(t.Context())
		require.NoError(t, <-pinged)
		time.Sleep(time.Hour)
		select {
		case <-ended:
			assert.Fail(t, "a client that answers pings was dropped")
		default:
		}
		require.NoError(t, reading.Err())
	})
}

// The server disconnects a client that lost its network or stopped without closing the
// connection.
func TestSilentPeerIsDropped(t *testing.T) {
	runBoth(t, func(t *testing.T, served *socket.Conn, client *websocket.Conn, ended <-chan struct{}) {
		begun := time.Now()
		defer served.KeepAlive(20 * time.Second)()
		require.NoError(t, served.Write(t.Context(), []byte("something")))
		<-ended // the client never reads, so it does not answer pings
		assert.Equal(t, 100*time.Second, time.Since(begun))
	})
}

// reversed is a listener whose connections are slow only from the client to the server.
type reversed struct{ *slowlink.Listener }

func (r reversed) Accept() (net.Conn, error) { return r.Dial(context.Background(), "", "") }

// dial has the signature that http.Transport requires.
func (r reversed) dial(context.Context, string, string) (net.Conn, error) { return r.Listener.Accept() }

// Pings do not end the connection of a connector that feeds an edge over a slow uplink.
// The connector is the client of that WebSocket.
func TestPingsDoNotEndASlowUplink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		link := slowlink.Listen(bytesPerSecond, 256<<10)
		defer link.Wait()
		message := bytes.Repeat([]byte("0123456789"), 140_000)
		pinged := make(chan error, 1)
		server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ws, err := websocket.Accept(w, r, nil)
			if !assert.NoError(t, err) {
				return
			}
			defer ws.CloseNow()
			ws.SetReadLimit(-1)
			go func() {
				time.Sleep(30 * time.Second)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				pinged <- ws.Ping(ctx)
			}()
			kind, got, err := ws.Read(t.Context())
			assert.NoError(t, err)
			assert.Equal(t, websocket.MessageBinary, kind)
			assert.True(t, bytes.Equal(message, got))
			kind, got, err = ws.Read(t.Context())
			assert.NoError(t, err)
			assert.Equal(t, websocket.MessageText, kind)
			assert.Equal(t, "end", string(got))
			ws.Close(websocket.StatusNormalClosure, "")
		})}
		go server.Serve(reversed{link})
		defer server.Close()
		transport := &http.Transport{DialContext: reversed{link}.dial}
		defer transport.CloseIdleConnections()
		conn, _, err := socket.Dial(t.Context(), "ws://127.0.0.1", websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
		require.NoError(t, err)
		defer conn.WebSocket().CloseNow()
		stop := conn.KeepAlive(20 * time.Second)
		defer stop()
		ended := make(chan error, 1)
		go func() {
			_, err := conn.Read(context.Background())
			ended <- err
		}()
		begun := time.Now()
		require.NoError(t, conn.Write(t.Context(), message))
		assert.Greater(t, time.Since(begun), 60*time.Second)
		require.NoError(t, <-pinged)
		require.NoError(t, conn.WriteText(t.Context(), "end"))
		assert.ErrorIs(t, <-ended, io.EOF)
	})
}
