package memory_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/source"
	"github.com/watchglass/watchglass/host/source/memory"
	"github.com/watchglass/watchglass/host/source/sourcetest"
)

func TestContract(t *testing.T) {
	sourcetest.Run(t, func(*testing.T) sourcetest.Harness {
		s := memory.New()
		return sourcetest.Harness{
			Source:   s,
			Writer:   s,
			Progress: s.Progress,
			Compact: func(t *testing.T, rv api.ResourceVersion) {
				require.NoError(t, s.Compact(rv))
			},
		}
	})
}

// gate is a sink that signals the end of the list and blocks each call to Changes until the
// test closes pass.
type gate struct {
	listed  chan struct{}
	arrived chan []source.Change
	pass    chan struct{}
}

func newGate() *gate {
	return &gate{listed: make(chan struct{}), arrived: make(chan []source.Change), pass: make(chan struct{})}
}

func (g *gate) Identify(string) error                             { return nil }
func (g *gate) BeginList() error                                  { return nil }
func (g *gate) Object(api.Key, api.ResourceVersion, []byte) error { return nil }
func (g *gate) EndList(api.ResourceVersion) error                 { close(g.listed); return nil }
func (g *gate) Progress(api.ResourceVersion) error                { return nil }
func (g *gate) Wanted() <-chan struct{}                           { return nil }
func (g *gate) Changes(changes []source.Change) error {
	g.arrived <- changes
	<-g.pass
	return nil
}

func run(ctx context.Context, s *memory.Source, sink source.Sink) <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.Stream(ctx, sourcetest.ConfigMaps, 0, sink) }()
	return done
}

func TestE19_CompactionOvertakesASlowStream(t *testing.T) {
	s, g := memory.New(), newGate()
	done := run(t.Context(), s, g)
	<-g.listed
	s.Put(sourcetest.ConfigMaps, "a/a", []byte("1"))
	<-g.arrived
	s.Put(sourcetest.ConfigMaps, "a/a", []byte("2"))
	require.NoError(t, s.Compact(s.Put(sourcetest.ConfigMaps, "a/a", []byte("3"))))
	close(g.pass)
	require.ErrorIs(t, <-done, api.Expired(""))
}

func TestFailBreaksRunningStreamsOnly(t *testing.T) {
	broken := errors.New("connection reset")
	s, first, second := memory.New(), newGate(), newGate()
	done := run(t.Context(), s, first)
	<-first.listed
	s.Fail(broken)
	require.Same(t, broken, <-done)

	ctx, cancel := context.WithCancel(t.Context())
	done = run(ctx, s, second)
	<-second.listed
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}

func TestCompactRefusesTheFuture(t *testing.T) {
	s := memory.New()
	require.ErrorIs(t, s.Compact(s.Revision()+1), api.TooLargeResourceVersion(0, 0))
}

func TestTxnIsAllOrNothing(t *testing.T) {
	s := memory.New()
	before := s.Revision()
	put := source.Write{Resource: sourcetest.ConfigMaps, Key: "a/a", Value: []byte("1")}
	_, err := s.Txn(t.Context(), put, put)
	require.ErrorIs(t, err, api.Invalid(""))
	_, err = s.Txn(t.Context(), put, source.Write{Resource: api.Resource{Version: "v1", Name: "unicorns"}})
	require.ErrorIs(t, err, api.NotFound(""))
	assert.Equal(t, before, s.Revision())
	assert.Equal(t, before, s.Delete(sourcetest.ConfigMaps, "a/a"), "deleting a missing object is not a change")
}
