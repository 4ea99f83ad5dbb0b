package client

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/wasm/guesttest"
)

func newInstance(t testing.TB) *Instance {
	t.Helper()
	ctx := context.Background()
	m, err := Compile(ctx, testModule(t), cacheDir(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close(ctx)) })
	i, err := m.NewInstance(ctx)
	require.NoError(t, err)
	return i
}

var config = (&wire.Config{Seed: 1, Client: "test"}).Append(nil)

func TestInstanceReadsCommandsAndReturnsFrames(t *testing.T) {
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
	require.NoError(t, i.Tick(2), "it continues")
}

func TestInstanceStaysPoisoned(t *testing.T) {
	i := newInstance(t)
	require.NoError(t, i.Open(config))
	err := i.Step(guesttest.Fault)
	require.ErrorIs(t, err, ErrPoisoned)
	require.ErrorContains(t, err, "panic in wg_step: runtime error")
	require.Equal(t, err, i.Tick(2))
	_, readyErr := i.Ready()
	require.Equal(t, err, readyErr)
}

func TestClosedInstanceReturnsAnError(t *testing.T) {
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

// A module of another release is refused before it receives frames, because their format
// may differ. Otherwise the client would restart the module repeatedly.
func TestModuleOfAnotherRelease(t *testing.T) {
	for _, version := range []uint32{1, abiVersion + 1<<24, abiVersion ^ 1} {
		_, err := Open(context.Background(), Config{Module: moduleWithVersion(version), Dial: func(context.Context) (Conn, error) {
			return nil, errors.New("the token must not be requested")
		}})
		require.ErrorContains(t, err, fmt.Sprintf("the module has version %#08x of the interface", version))
		require.ErrorContains(t, err, "use the watchglass.wasm of the same release")
	}
}

// moduleWithVersion returns a module with all required functions. Each of them returns
// version.
func moduleWithVersion(version uint32) []byte {
	section := func(id byte, content ...byte) []byte {
		return append(binary.AppendUvarint([]byte{id}, uint64(len(content))), content...)
	}
	names := []string{"_initialize", "wg_abi", "wg_reserve", "wg_open", "wg_step", "wg_tick", "wg_ready", "wg_out", "wg_advance", "wg_error", "wg_close"}
	exports := []byte{byte(len(names) + 1), 6, 'm', 'e', 'm', 'o', 'r', 'y', 2, 0}
	for _, name := range names {
		exports = append(append(append(exports, byte(len(name))), name...), 0, 0)
	}
	body := []byte{0, 0x41} // no locals; i32.const
	for n := int32(version); ; n >>= 7 {
		if n >= -64 && n < 64 {
			body = append(body, byte(n)&0x7f, 0x0b)
			break
		}
		body = append(body, byte(n)|0x80)
	}
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, 1, 0x60, 0, 1, 0x7f), // one type: no parameters, one i32 result
		section(3, 1, 0), section(5, 1, 0, 1), section(7, exports...),
		section(10, append([]byte{1, byte(len(body))}, body...)...))
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
