package client

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/coder/websocket"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/internal/closereason"
)

// dialer returns a function that connects to an endpoint with a WebSocket. It sends the
// token in a header as well as in the protocol, because an edge checks the token before
// it accepts the connection.
func dialer(endpoint, token string) func(ctx context.Context) (Conn, error) {
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	return func(ctx context.Context) (Conn, error) {
		conn, response, err := websocket.Dial(ctx, endpoint, &websocket.DialOptions{Subprotocols: []string{wire.Subprotocol}, HTTPHeader: header})
		if err != nil {
			return nil, refusal(response, err)
		}
		if conn.Subprotocol() != wire.Subprotocol {
			_ = conn.CloseNow()
			return nil, fmt.Errorf("%s does not support %s: is it the watch endpoint of a watchglass connector of the same release?", endpoint, wire.Subprotocol)
		}
		conn.SetReadLimit(wire.MaxMessage)
		return socket{conn}, nil
	}
}

// refusal returns the error of a failed connection: the network's error, or the server's
// response as a Status or plain text.
func refusal(response *http.Response, err error) error {
	var network *url.Error
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &unknown): // the rest of the error only guesses at reasons
		return errors.New("x509: certificate signed by unknown authority; to trust it, set $SSL_CERT_FILE to a file with its CA")
	case errors.As(err, &network):
		return network.Err
	case response == nil || response.Body == nil || response.StatusCode == http.StatusSwitchingProtocols:
		return err
	}
	text, _ := io.ReadAll(response.Body) // the library truncates the body
	var status struct {
		Kind, Message string
		Reason        api.Reason
		Code          int
		Details       struct{ RetryAfterSeconds int }
	}
	reason := "is it a watchglass connector's watch endpoint?"
	parsed := json.Unmarshal(text, &status) == nil
	switch {
	case parsed && status.Kind == "Status" && status.Code == response.StatusCode:
		return &refused{response.Status, &api.Status{
			Code: status.Code, Reason: status.Reason, Message: status.Message, RetryAfterSeconds: status.Details.RetryAfterSeconds,
		}}
	case parsed && status.Message != "":
		reason = status.Message
	}
	if plain := strings.TrimSpace(string(text)); !parsed && plain != "" && strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain") {
		reason = plain
	}
	if version, names := theirVersion(reason); names {
		reason = wire.OtherVersion(version).Message
	}
	return fmt.Errorf("the server returned %s: %s", response.Status, reason)
}

// theirVersion returns the subprotocol that the text of a refusal names, and whether the
// text names one. Connectors of version 1 respond with plain text.
func theirVersion(text string) (version string, names bool) {
	_, version, names = strings.Cut(text, wire.SubprotocolPrefix)
	digits := len(version) - len(strings.TrimLeft(version, "0123456789"))
	return wire.SubprotocolPrefix + version[:digits], names
}

// refused is the error for a server that refused the connection with a Kubernetes Status.
type refused struct {
	http   string
	status *api.Status
}

// Error implements error.
func (r *refused) Error() string {
	return "the server returned " + r.http + ": " + r.status.Message
}

// socket is a Conn over a WebSocket.
type socket struct{ conn *websocket.Conn }

func (s socket) Read(ctx context.Context) ([]byte, error) {
	kind, message, err := s.conn.Read(ctx)
	if err == nil && kind != websocket.MessageBinary {
		err = errors.New("connector sent a text message; the protocol is binary")
	}
	return message, err
}

func (s socket) Write(ctx context.Context, message []byte) error {
	return s.conn.Write(ctx, websocket.MessageBinary, message)
}

func (s socket) Close(reason string) error {
	return s.conn.Close(websocket.StatusNormalClosure, closereason.Clip(reason))
}
