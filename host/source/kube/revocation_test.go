package kube_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/source/kube"
	"github.com/watchglass/watchglass/host/source/memory"
)

// revocationBound is the documented maximum time until a revocation closes connections.
const revocationBound = time.Minute

// served is a connector whose policy uses a reviewer, in a synctest bubble, where time is
// virtual.
type served struct {
	t         *testing.T
	reviewer  *reviewer
	policy    access.Policy
	connector *connector.Connector
}

func serve(t *testing.T, f func(s *served)) {
	synctest.Test(t, func(t *testing.T) {
		s := &served{t: t, reviewer: &reviewer{}}
		s.policy = s.reviewer.policy(t, nil)
		s.connector = connector.New(connector.Config{
			Source: memory.New(), Access: s.policy, Logger: slog.New(slog.DiscardHandler),
		})
		f(s)
		require.NoError(t, s.connector.Close(context.Background()))
		time.Sleep(kube.DefaultRequestTimeout) // reviews that are still in flight end within this time
	})
}

// subscribed connects a reader with a subscription. The returned function waits until the
// subscription ends, and returns the time of the end.
func (s *served) subscribed(token string) (ended func() time.Time) {
	s.t.Helper()
	here, there := connectortest.Pipe()
	go s.connector.Serve(s.t.Context(), here)
	reader := connectortest.NewReader(there)
	require.NoError(s.t, reader.Hello(s.t.Context(), token))
	require.Nil(s.t, reader.Status)
	sub, err := reader.Subscribe(s.t.Context(), wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: connectortest.Endless})
	require.NoError(s.t, err)
	require.NoError(s.t, reader.UntilSynced(s.t.Context(), sub))
	require.Nil(s.t, sub.Status)
	end := make(chan time.Time, 1)
	go func() {
		ctx, cancel := context.WithTimeout(s.t.Context(), time.Hour)
		defer cancel()
		err := reader.Until(ctx, func() bool { return sub.Status != nil || reader.Status != nil })
		assert.NoError(s.t, err)
		end <- time.Now()
		there.Close(nil)
	}()
	return func() time.Time { return <-end }
}

// watching opens a watch of the Kubernetes API. The returned function waits until the watch
// ends, and returns the time of the end.
func (s *served) watching(token string) (ended func() time.Time) {
	s.t.Helper()
	handler := kubeapi.New(kubeapi.Config{Backend: s.connector.Backend(), Access: s.policy})
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Hour)
	here, there := io.Pipe()
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/pods?watch=1&resourceVersion=0", nil)
	request.Header.Set("Authorization", "Bearer "+token)
	go func() {
		handler.ServeHTTP(&pipeWriter{header: http.Header{}, pipe: there}, request)
		there.Close()
		cancel()
	}()
	end := make(chan time.Time, 1)
	go func() {
		line, err := bufio.NewReader(here).ReadString('\n')
		assert.True(s.t, err == nil || errors.Is(err, io.EOF), err)
		assert.Contains(s.t, line, `"type":"ERROR"`)
		end <- time.Now()
		io.Copy(io.Discard, here)
	}()
	synctest.Wait()
	return func() time.Time { return <-end }
}

// pipeWriter is an http.ResponseWriter whose output can be read while it is written.
type pipeWriter struct {
	header http.Header
	pipe   *io.PipeWriter
}

func (w *pipeWriter) Header() http.Header         { return w.header }
func (w *pipeWriter) WriteHeader(int)             {}
func (w *pipeWriter) Write(b []byte) (int, error) { return w.pipe.Write(b) }
func (w *pipeWriter) Flush()                      {}

// A revocation takes effect within a minute even in the worst case. In this case, the
// cluster revokes a token or a right just after confirming it in a slow review. Just before
// that verdict expires, the connector uses it to accept another client.
func TestRevocationEndsGrantsWithinAMinute(t *testing.T) {
	for name, open := range map[string]func(*served, string) func() time.Time{
		"subscription": (*served).subscribed, "watch": (*served).watching,
	} {
		for _, kind := range []string{"token", "right"} {
			for last := range 4 {
				t.Run(fmt.Sprint(name, "/", kind, "/", last), func(t *testing.T) {
					serve(t, func(s *served) {
						s.reviewer.takes = 2 * time.Second
						first := open(s, "t-ann")
						time.Sleep(37 * time.Second)
						second := open(s, "t-ann")
						var revoked time.Time
						seen := 0
						s.reviewer.set(func() {
							s.reviewer.decided = func(asked string) {
								if asked != kind || !revoked.IsZero() {
									return
								}
								if seen++; seen > last {
									revoked = time.Now()
									s.reviewer.badToken, s.reviewer.badRights = kind == "token", kind == "right"
								}
							}
						})
						for i, ended := range []func() time.Time{first, second} {
							end := ended()
							assert.Positive(t, end.Sub(revoked), "client %d", i)
							assert.LessOrEqual(t, end.Sub(revoked), revocationBound, "client %d", i)
						}
					})
				})
			}
		}
	}
}

func TestVerdictsAreReviewedOnceForManyReaders(t *testing.T) {
	serve(t, func(s *served) {
		var ends []func() time.Time
		for range 20 {
			ends = append(ends, s.subscribed("t-ann"))
			time.Sleep(time.Second)
		}
		time.Sleep(10 * time.Minute)
		tokens, rights := s.reviewer.seen()
		assert.LessOrEqual(t, tokens, 17, "one in 40 seconds or more")
		assert.LessOrEqual(t, rights, 34)
		assert.GreaterOrEqual(t, tokens, 12)
		s.reviewer.set(func() { s.reviewer.badToken = true })
		for _, ended := range ends {
			ended()
		}
	})
}

func TestExpiryOfTheTokenEndsGrantsImmediately(t *testing.T) {
	for name, open := range map[string]func(*served, string) func() time.Time{
		"subscription": (*served).subscribed, "watch": (*served).watching,
	} {
		t.Run(name, func(t *testing.T) {
			serve(t, func(s *served) {
				expires := time.Now().Add(130 * time.Second).Truncate(time.Second)
				ended := open(s, unsigned(t, map[string]any{"sub": "ann", "exp": expires.Unix()}))
				assert.True(t, expires.Equal(ended()))
			})
		})
	}
}

// The expiry of a token ends its connections even if the cluster does not respond.
func TestExpiryOfTheTokenNeedsNoReview(t *testing.T) {
	for name, open := range map[string]func(*served, string) func() time.Time{
		"subscription": (*served).subscribed, "watch": (*served).watching,
	} {
		t.Run(name, func(t *testing.T) {
			serve(t, func(s *served) {
				expires := time.Now().Add(130 * time.Second).Truncate(time.Second)
				ended := open(s, unsigned(t, map[string]any{"sub": "ann", "exp": expires.Unix()}))
				s.reviewer.set(func() { s.reviewer.hold = make(chan struct{}) })
				assert.LessOrEqual(t, ended().Sub(expires), access.ReviewTimeout)
			})
		})
	}
}
