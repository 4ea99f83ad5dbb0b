package client

import (
	"context"
	"errors"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// ErrClosed is returned by the methods of a closed client, collection, watch or
// view.
var ErrClosed = errors.New("client: closed")

// Client manages collections of one connector.
type Client struct {
	loop *loop
	done chan struct{} // closed when the loop and its goroutines have ended
}

// Open starts a client. It does not wait for a connection; the status of each collection
// reports whether the client is connecting or reconnecting. Canceling ctx after Open has
// returned has no effect.
func Open(ctx context.Context, config Config) (*Client, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	module, err := Compile(ctx, config.Module, config.CacheDir)
	if err != nil {
		return nil, err
	}
	l := newLoop(config, module)
	if err := l.start(); err != nil {
		_ = module.Close(ctx)
		return nil, err
	}
	c := &Client{loop: l, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		l.run()
	}()
	return c, nil
}

// Close closes everything that the client has opened, and waits until all of its
// goroutines have ended.
func (c *Client) Close() error {
	c.loop.cancel(ErrClosed)
	<-c.done
	return nil
}

// Reconnect starts the next scheduled connection attempt immediately. Call it, for
// example, when the network is available again or a user requests a connection.
func (c *Client) Reconnect(ctx context.Context) error {
	return c.call(ctx, func(l *loop) error { return l.step((&wire.Reconnect{}).Append(nil)) })
}

// Number is one statistic that Inspect returns.
type Number struct {
	Name  string
	Value int64
}

// Inspect returns the engine's statistics, such as "collection.1.objects", in a
// fixed order.
func (c *Client) Inspect(ctx context.Context) ([]Number, error) {
	var numbers []Number
	err := c.request(ctx, func(id uint32) []byte {
		return (&wire.Inspect{Request: id}).Append(nil)
	}, func(reply any) {
		for _, e := range reply.(*wire.InspectReply).Entries {
			numbers = append(numbers, Number{strings.Clone(string(e.Name)), e.Value})
		}
	})
	if err != nil {
		return nil, err
	}
	return numbers, nil
}

// call runs f on the loop and waits until f returns. f must not block.
func (c *Client) call(ctx context.Context, f func(l *loop) error) error {
	k := call{run: f, done: make(chan error, 1)}
	select {
	case c.loop.calls <- k:
		return <-k.done
	case <-ctx.Done():
		return ctx.Err()
	case <-c.loop.ctx.Done():
		return ErrClosed
	}
}

// request sends a command and waits for its reply. take is called on the loop with the
// parsed reply, and must copy the data that it retains. If request returns an error, take
// may still be running.
func (c *Client) request(ctx context.Context, command func(id uint32) []byte, take func(reply any)) error {
	return c.send(ctx, &pending{take: take, done: make(chan error, 1)}, command)
}

// send is like request, but the caller provides p. If p already has a number, send uses
// that number.
func (c *Client) send(ctx context.Context, p *pending, command func(id uint32) []byte) error {
	err := c.call(ctx, func(l *loop) error { return l.request(p, command) })
	if err != nil {
		return err
	}
	select {
	case err := <-p.done:
		return err
	case <-ctx.Done():
		_ = c.call(context.Background(), func(l *loop) error { delete(l.requests, p.id); return nil })
		return ctx.Err()
	case <-c.loop.ctx.Done():
		return ErrClosed
	}
}

// restarting returns the error for a request that arrives while there is no engine.
func restarting() *api.Status {
	s := api.Unavailable("the engine failed and is being started again")
	s.RetryAfterSeconds = 1
	return s
}
