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
)

const (
	dialTimeout   = 30 * time.Second
	maxStatusText = 1 << 10 // of a refusal, for a person
)

// RefusedError is the edge's answer to a connection that it does not want.
type RefusedError struct {
	Code    int
	Message string
}

// Error implements error.
func (e *RefusedError) Error() string {
	text := fmt.Sprintf("the edge answered %d %s", e.Code, http.StatusText(e.Code))
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
		return "the token must allow bringing these resources, in all namespaces"
	case http.StatusNotFound:
		return "is the path right, and the cluster known to the edge?"
	case http.StatusConflict:
		return "if the cluster was rebuilt, let the edge forget the old one with --replace"
	}
	return ""
}

// final: another attempt would be answered alike.
func (e *RefusedError) final() bool { return e.hint() != "" }

// dial connects with a token and with what is brought.
func (p *Pusher) dial(ctx context.Context) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	source, err := p.config.Source(ctx)
	if err != nil {
		return nil, fmt.Errorf("the source does not say which cluster it is: %w", err)
	}
	token, err := p.config.Token()
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	ws, resp, err := websocket.Dial(ctx, p.target(source), &websocket.DialOptions{
		Subprotocols: []string{wire.Subprotocol}, HTTPHeader: header,
	})
	if err != nil {
		if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
			return nil, refusedBy(resp)
		}
		return nil, err
	}
	if ws.Subprotocol() != wire.Subprotocol {
		ws.CloseNow()
		return nil, errors.New("the other side does not speak " + wire.Subprotocol + ": is it a watchglass edge?")
	}
	ws.SetReadLimit(wire.MaxMessage)
	return ws, nil
}

// target is the URL with the query that says what is brought.
func (p *Pusher) target(source string) string {
	names := make([]string, len(p.config.Resources))
	for i, r := range p.config.Resources {
		names[i] = r.String()
	}
	u := *p.url
	query := u.Query()
	query.Set("resources", strings.Join(names, ","))
	query.Set("source", source)
	if p.config.Replace {
		query.Set("replace", "true")
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// refusedBy reads a refusal, which is a Kubernetes Status unless something else
// than an edge answers.
func refusedBy(resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxStatusText)) // what there is of it
	refused := &RefusedError{Code: resp.StatusCode, Message: strings.TrimSpace(string(body))}
	var status struct{ Message string }
	if json.Unmarshal(body, &status) == nil && status.Message != "" {
		refused.Message = status.Message
	}
	return refused
}
