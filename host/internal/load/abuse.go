//go:build linux

package main

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coder/websocket"

	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/limit"
)

// abuse is one kind of hostile or heavy load.
type abuse struct {
	name string
	// clients is the number of clients that run concurrently.
	clients int
	// At least one of the limits in refusals must refuse the abuse. If refusals is nil, the
	// load is legitimate, and each client makes only one attempt.
	refusals []*limit.Limit
	// receiveBuffer is the size in bytes of the kernel's buffer for data that a client
	// has not read. Zero means the default, which can hold several megabytes.
	receiveBuffer int
	// act makes one attempt on behalf of one client. It returns when ctx is done, or earlier.
	act func(ctx context.Context, h *host)

	attempts atomic.Int64 // attempts that have ended
}

func abuses(c Config) []*abuse {
	return []*abuse{
		{name: "first syncs", clients: c.FirstSyncs, act: firstSync},
		{name: "random tokens", clients: c.scaled(16), refusals: []*limit.Limit{limit.MaxRefusedTokens}, act: randomToken},
		{name: "1 MB tokens", clients: c.scaled(8), refusals: []*limit.Limit{limit.MaxTokenBytes}, act: bigToken},
		{name: "refused subscriptions", clients: c.scaled(4), refusals: []*limit.Limit{limit.MaxControlBytes, limit.MaxMessageFrames}, act: refusedSubscriptions},
		{name: "huge selectors", clients: c.scaled(8), refusals: []*limit.Limit{limit.MaxSelectorBytes}, act: hugeSelectors},
		{name: "costly selectors", clients: c.scaled(8), refusals: []*limit.Limit{limit.MaxConnectionRequirements}, act: costlySelectors},
		{name: "repeated subscriptions", clients: c.scaled(4), refusals: []*limit.Limit{limit.MaxMessageRate, limit.MaxClientMessageRate}, act: repeatedSubscriptions},
		{name: "unread lists", clients: c.scaled(300), refusals: []*limit.Limit{limit.MaxRequests}, receiveBuffer: 4 << 10, act: unreadList},
		{name: "future versions", clients: c.scaled(1500), refusals: []*limit.Limit{limit.MaxWaitingRequests}, act: futureVersion},
		{name: "no Hello", clients: c.scaled(2000), refusals: []*limit.Limit{limit.MaxUnauthenticatedPerAddress}, act: noHello},
	}
}

const abuser = "user-abuser"

// flood runs all clients of an abuse until ctx is done. Legitimate clients run only once.
// Abusers share one address; legitimate clients are spread over 90 addresses.
func (a *abuse) flood(ctx context.Context, h *host) {
	var all sync.WaitGroup
	for i := range a.clients {
		h := h
		if len(a.refusals) == 0 {
			h = newHost(byte(102+i%90), h.target, a.receiveBuffer)
		}
		all.Go(func() {
			for ctx.Err() == nil {
				a.act(ctx, h)
				a.attempts.Add(1)
				if len(a.refusals) == 0 {
					return
				}
			}
		})
	}
	all.Wait()
}

// The functions below ignore errors, because the connector is expected to reject abusers.

func firstSync(ctx context.Context, h *host) {
	conn, first, err := h.greet(ctx, user(0), subscribe(endless))
	if err != nil {
		return
	}
	defer conn.CloseNow()
	r := &reader{conn: conn, synced: make(chan struct{})}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-r.synced:
			cancel()
		case <-ctx.Done():
		}
	}()
	_ = r.read(ctx, first, 0)
}

func randomToken(ctx context.Context, h *host) {
	if response, err := h.get(ctx, rand.Text(), "?limit=1"); err == nil {
		response.Body.Close()
	}
}

func bigToken(ctx context.Context, h *host) {
	conn, err := h.connect(ctx)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	if conn.Write(ctx, websocket.MessageBinary, hello(strings.Repeat(rand.Text(), 38_000))) == nil {
		_, _, _ = conn.Read(ctx)
	}
	if response, err := h.get(ctx, strings.Repeat("x", 1<<20), ""); err == nil {
		response.Body.Close()
	}
}

// refusedSubscriptions sends subscriptions to unknown resources, which the connector
// refuses, and never reads the responses.
func refusedSubscriptions(ctx context.Context, h *host) {
	conn, _, err := h.greet(ctx, abuser, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	for id := uint32(1); ; {
		var message []byte
		for range 1000 {
			message = (&wire.Subscribe{Subscription: id, Resource: "v1/unknown-" + strconv.Itoa(int(id)), Credit: endless}).Append(message)
			id++
		}
		if conn.Write(ctx, websocket.MessageBinary, message) != nil {
			return
		}
	}
}

// selectors repeatedly subscribes with the same label selector until the connection closes.
func selectors(ctx context.Context, h *host, labels string) {
	conn, _, err := h.greet(ctx, abuser, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel()
		for {
			if _, _, err := conn.Read(ctx); err != nil {
				return
			}
		}
	}()
	for id := uint32(1); ctx.Err() == nil; id++ {
		message := (&wire.Subscribe{Subscription: id, Resource: resource.String(), LabelSelector: labels, Credit: endless}).Append(nil)
		if conn.Write(ctx, websocket.MessageBinary, message) != nil {
			return
		}
	}
}

// repeatedSubscriptions subscribes to all objects repeatedly: it replaces a subscription
// as soon as it has received the complete state.
func repeatedSubscriptions(ctx context.Context, h *host) {
	conn, message, err := h.greet(ctx, abuser, subscribe(endless))
	if err != nil {
		return
	}
	defer conn.CloseNow()
	for id := uint32(1); err == nil; {
		synced := false
		for len(message) > 0 && err == nil {
			var kind wire.Type
			kind, _, message, err = wire.Next(message)
			synced = synced || kind == wire.TypeSnapshotEnd
		}
		if synced && err == nil {
			next := (&wire.Unsubscribe{Subscription: id}).Append(nil)
			id++
			next = (&wire.Subscribe{Subscription: id, Resource: resource.String(), Credit: endless}).Append(next)
			err = conn.Write(ctx, websocket.MessageBinary, next)
		}
		if err == nil {
			_, message, err = conn.Read(ctx)
		}
	}
}

// hugeSelectors sends selectors of 900 kB over a WebSocket, and then a selector of 10 kB to
// the Kubernetes API.
func hugeSelectors(ctx context.Context, h *host) {
	selectors(ctx, h, "app in ("+strings.Repeat("value,", 150_000)+"value)")
	if response, err := h.get(ctx, abuser, "?labelSelector="+url.QueryEscape("app in ("+strings.Repeat("v,", 5000)+"v)")); err == nil {
		response.Body.Close()
	}
}

// costlySelectors sends selectors with 250 requirements each. The default limit of one
// subscription is 256.
func costlySelectors(ctx context.Context, h *host) {
	terms := make([]string, 250)
	for i := range terms {
		terms[i] = "app!=x" + strconv.Itoa(i)
	}
	selectors(ctx, h, strings.Join(terms, ","))
}

// unreadList requests a list and does not read the body of the response.
func unreadList(ctx context.Context, h *host) {
	response, err := h.get(ctx, abuser, "")
	if err != nil {
		return
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		<-ctx.Done()
	}
}

func futureVersion(ctx context.Context, h *host) {
	if response, err := h.get(ctx, abuser, "?limit=1&resourceVersion=99999999&resourceVersionMatch=NotOlderThan"); err == nil {
		response.Body.Close()
	}
}

// noHello opens a WebSocket, sends no Hello, and waits until the connector closes the
// connection.
func noHello(ctx context.Context, h *host) {
	conn, err := h.connect(ctx)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	_, _, _ = conn.Read(ctx)
}
