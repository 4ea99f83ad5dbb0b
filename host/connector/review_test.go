package connector_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/source/memory"
)

// slowPolicy is a policy that decides when it receives a request, and responds later.
type slowPolicy struct {
	access.Policy
	takes     time.Duration
	valid     context.Context // ends when the token is withdrawn
	withdraw  context.CancelFunc
	decisions atomic.Int32
}

func (p *slowPolicy) Authenticate(context.Context, string) (*access.User, *api.Status) {
	p.decisions.Add(1)
	valid := p.valid
	refused := valid.Err() != nil
	time.Sleep(p.takes)
	if refused {
		return nil, api.Unauthorized("withdrawn")
	}
	return &access.User{Name: "ann", Valid: valid}, nil
}

// If a token is withdrawn during a review, after the policy has decided to accept it, the
// connector reviews the token again.
func TestTokenWithdrawnDuringAReviewIsReviewedAgain(t *testing.T) {
	const interval, takes = time.Minute, 2 * time.Second
	synctest.Test(t, func(t *testing.T) {
		policy := &slowPolicy{Policy: access.Everyone(), takes: takes}
		policy.valid, policy.withdraw = context.WithCancel(t.Context())
		c := connector.New(connector.Config{Source: memory.New(), Access: policy, ReviewInterval: interval})
		here, there := connectortest.Pipe()
		served := make(chan struct{})
		go func() {
			defer close(served)
			c.Serve(t.Context(), here)
		}()
		reader := connectortest.NewReader(there)
		require.NoError(t, reader.Hello(t.Context(), "t"))
		sub, err := reader.Subscribe(t.Context(), wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: connectortest.Endless})
		require.NoError(t, err)
		require.NoError(t, reader.UntilSynced(t.Context(), sub))

		time.Sleep(interval + takes/2) // the review started takes/2 ago
		require.EqualValues(t, 2, policy.decisions.Load())
		policy.withdraw()
		withdrawn := time.Now()

		require.NoError(t, reader.Until(t.Context(), func() bool { return reader.Status != nil }))
		assert.ErrorIs(t, reader.Status, api.Unauthorized(""))
		assert.EqualValues(t, 3, policy.decisions.Load())
		assert.Less(t, time.Since(withdrawn), interval, "the review after the running one")
		there.Close(nil)
		<-served
		require.NoError(t, c.Close(t.Context()))
	})
}
