package push

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/socket"
)

const (
	dialTimeout   = 30 * time.Second
	maxStatusText = 1 << 10 // maximum number of bytes of a refusal that are read
)

// RefusedError is the response of an edge that refuses a connection.
type RefusedError struct {
	Code    int
	Message string
}

// Error implements error.
func (e *RefusedError) Error() string {
	text := fmt.Sprintf("the edge returned %d %s", e.Code, http.StatusText(e.Code))
	if e.Message != "" {
		text += ": " + e.Message
	}
	if hint := e.hint(); hint != "" {
		text += " (" + hint + ")"
	}
	return text
}

func (e *RefusedError) hint() string {
	switch e.Code {
	case http.StatusUnauthorized:
		return "is the token still valid, and signed with the edge's secret?"
	case http.StatusForbidden:
		return "the token must grant feeding these resources in all namespaces"
	case http.StatusNotFound:
		return "check the path, and that the edge has this cluster"
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return "redirects are not followed, to keep the token private; give the URL of the edge itself"
	case http.StatusConflict:
		return "if the cluster was rebuilt, discard the old data with --replace"
	}
	return ""
}

// isFinal reports whether retrying after err is useless, because the edge would respond in
// the same way.
func isFinal(err error) bool {
	var refused *RefusedError
	return errors.As(err, &refused) && refused.hint() != "" || errors.Is(err, errIndivisible) || errors.Is(err, errNoFeed)
}

// client does not follow redirects, because a redirect could send the token to another
// server, or without encryption.
var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// dial opens the connection that feeds an object.
func (p *Pusher) dial(ctx context.Context, object object) (*socket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	clusterID, err := p.config.ClusterID(ctx)
	if err != nil {
		return nil, fmt.Errorf("the source does not report the ID of its cluster: %w", err)
	}
	header, err := p.header()
	if err != nil {
		return nil, err
	}
	conn, resp, err := socket.Dial(ctx, p.target(clusterID, object), websocket.DialOptions{
		HTTPClient: client, Subprotocols: []string{wire.Subprotocol}, HTTPHeader: header,
	})
	if err != nil {
		if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
			return nil, refusedBy(resp)
		}
		return nil, err
	}
	ws := conn.WebSocket()
	if ws.Subprotocol() != wire.Subprotocol {
		ws.CloseNow()
		return nil, errors.New("the server does not support " + wire.Subprotocol + ": is it a watchglass edge of the same release?")
	}
	ws.SetReadLimit(wire.MaxMessage)
	return conn, nil
}

// header returns an HTTP header that contains the token, if there is one.
func (p *Pusher) header() (http.Header, error) {
	token, err := p.config.Token()
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	return header, nil
}

// target returns the URL of the feed, with the resources and the shard of an object in
// the query. With an empty clusterID, the URL requests the division of the resources.
func (p *Pusher) target(clusterID string, object object) string {
	names := make([]string, len(object.resources))
	for i, r := range object.resources {
		names[i] = r.String()
	}
	u := *p.url
	query := u.Query()
	query.Set("resources", strings.Join(names, ","))
	if clusterID != "" {
		query.Set("clusterID", clusterID)
	}
	if !object.shard.Whole() {
		query.Set("shard", object.shard.String())
	}
	if p.config.Replace {
		query.Set("replace", "true")
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// refusedBy returns the RefusedError for a response. The response of an edge contains a
// Kubernetes Status.
func refusedBy(resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxStatusText)) // a partial body is sufficient
	refused := &RefusedError{Code: resp.StatusCode, Message: strings.TrimSpace(string(body))}
	var status struct{ Message string }
	if json.Unmarshal(body, &status) == nil && status.Message != "" {
		refused.Message = status.Message
	} else if location := resp.Header.Get("Location"); location != "" {
		refused.Message = "it is at " + location
	}
	return refused
}
