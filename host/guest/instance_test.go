package guest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

func newInstance(t testing.TB) *Instance {
	t.Helper()
	ctx := context.Background()
	m, err := Compile(ctx, testModule(t), scratch)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close(ctx)) })
	i, err := m.NewInstance(ctx)
	require.NoError(t, err)
	return i
}

var config = (&wire.Config{Seed: 1, Client: "test"}).Append(nil)

func TestInstanceTakesCommandsAndGivesFrames(t *testing.T) {
	i := newInstance(t)
	require.NoError(t, i.Open(config))
	require.NoError(t, i.Tick(1000))
	require.NoError(t, i.Step((&wire.OpenCollection{Collection: 1, Resource: "v1/pods"}).Append(nil)))
	out, err := i.Ready()
	require.NoError(t, err)
	var types []wire.Type
	for len(out) > 0 {
		var typ wire.Type
		typ, _, out, err = wire.Next(out)
		require.NoError(t, err)
		types = append(types, typ)
	}
	require.Contains(t, types, wire.TypeOpenStream)
	require.NoError(t, i.Advance())
}

func TestInstanceRefusesWithAStatus(t *testing.T) {
	i := newInstance(t)
	require.ErrorIs(t, i.Tick(1), api.BadRequest(""), "not open")
	require.ErrorIs(t, i.Open([]byte("nonsense")), api.Protocol(""))
	require.NoError(t, i.Open(config))
	require.ErrorIs(t, i.Step([]byte{0x30, 0}), api.Protocol(""))
	require.ErrorIs(t, i.Step(make([]byte, wire.MaxMessage+1<<20)), api.TooLarge(""))
	require.NoError(t, i.Tick(2), "and goes on")
}

func TestInstanceStaysPoisoned(t *testing.T) {
	i := newInstance(t)
	require.NoError(t, i.Open(config))
	err := i.Step(fault)
	require.ErrorIs(t, err, ErrPoisoned)
	require.ErrorContains(t, err, "panic in wg_step: runtime error")
	require.Equal(t, err, i.Tick(2))
	_, readyErr := i.Ready()
	require.Equal(t, err, readyErr)
}

func TestClosedInstanceIsNoTrap(t *testing.T) {
	i := newInstance(t)
	require.NoError(t, i.Open(config))
	require.NoError(t, i.Close(context.Background()))
	require.ErrorIs(t, i.Tick(1), ErrPoisoned)
}

func TestNotAModule(t *testing.T) {
	_, err := Compile(context.Background(), []byte("not wasm"), "")
	require.ErrorContains(t, err, "module does not compile")
	m, err := Compile(context.Background(), []byte("\x00asm\x01\x00\x00\x00"), "")
	require.NoError(t, err)
	defer m.Close(context.Background())
	_, err = m.NewInstance(context.Background())
	require.ErrorContains(t, err, "not a watchglass module: export wg_abi is missing")
}

func TestRestartPausesGrow(t *testing.T) {
	i := newLoop(Config{}, nil)
	now := i.now()
	var r restart
	for _, pause := range []int64{0, 100, 200, 400} {
		r.failed(now)
		require.EqualValues(t, pause, r.at.Sub(now).Milliseconds())
	}
	for range 100 {
		r.failed(now)
	}
	require.Equal(t, maxPause, r.at.Sub(now))
	r.started(now)
	now = now.Add(2 * healthy)
	r.failed(now)
	require.Equal(t, now, r.at, "one that lived long starts over")
}

func BenchmarkTick(b *testing.B) {
	i := newInstance(b)
	require.NoError(b, i.Open(config))
	b.ReportAllocs()
	for n := range b.N {
		_ = i.Tick(int64(n))
	}
}
