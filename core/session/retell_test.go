package session_test

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
)

// one serves sessions from one collection.
type one struct{ *cacher.Cacher }

func (o one) Collection(api.Resource, *wire.Subscribe) (*cacher.Cacher, *api.Status) {
	return o.Cacher, nil
}
func (one) Release(api.Resource) {}
func (one) Wake()                {}

func (c *collection) session(t *testing.T, f wire.Subscribe) *session.Session {
	s := session.New(session.Config{}, one{c.Cacher})
	f.Subscription, f.Resource, f.Source, f.Credit = 1, "v1/pods", "here", 1<<40
	message := f.Append((&wire.Hello{Version: wire.Version}).Append(nil))
	require.NoError(t, s.Receive(message, 1000))
	return s
}

// What a reader is told does not depend on who else is told of it: it is the same
// to the byte with companions and without, whatever they have and how far they are.
func TestG3_WhatIsToldAgain(t *testing.T) {
	for seed := range int64(30) {
		random := rand.New(rand.NewSource(seed))
		alone, shared := newCollection(20), newCollection(20)
		reader, same := alone.session(t, wire.Subscribe{}), shared.session(t, wire.Subscribe{})
		var others []*session.Session
		for i := range 200 {
			if random.Intn(10) == 0 {
				from := api.ResourceVersion(random.Intn(2)) * shared.rv
				others = append(others, shared.session(t, wire.Subscribe{ResourceVersion: from, MetadataOnly: random.Intn(4) == 0}))
			}
			for range random.Intn(4) {
				n := random.Intn(20)
				alone.change(n)
				shared.change(n)
			}
			limit := []int{1, 300, 1 << 20}[random.Intn(3)]
			for _, other := range others {
				if random.Intn(3) > 0 {
					other.Next(limit, 1000)
				}
			}
			if random.Intn(3) > 0 {
				want := reader.Next(limit, 1000)
				require.Equal(t, fmt.Sprintf("%x", want), fmt.Sprintf("%x", same.Next(limit, 1000)), "seed %d, step %d", seed, i)
			}
		}
	}
}
