package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core"
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/body"
	"github.com/watchglass/watchglass/core/sim"
	"github.com/watchglass/watchglass/host/client"
)

// module is a sim.Engine that runs in an instance of the WebAssembly module.
type module struct {
	*client.Instance
	t *testing.T
}

func (m module) Tick(now int64) { require.NoError(m.t, m.Instance.Tick(now)) }
func (m module) Advance()       { require.NoError(m.t, m.Instance.Advance()) }

func (m module) LoadWith(load core.Loader) { m.Instance.LoadWith(load) }

func (m module) Ready() []byte {
	out, err := m.Instance.Ready()
	require.NoError(m.t, err)
	if len(out) == 0 {
		return nil
	}
	return out
}

// Under all simulated faults, the WebAssembly module produces exactly the same bytes as
// package core.
func TestMetamorphic_ModuleAndNative(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: compiles the wasm module")
	}
	wasm, err := client.EmbeddedModule()
	require.NoError(t, err)
	compiled, err := client.Compile(t.Context(), wasm, client.DefaultCacheDir())
	require.NoError(t, err)
	defer compiled.Close(t.Context())
	var open []*client.Instance
	onModule := sim.Setup{ViewWork: -1, Engine: func(config []byte) (sim.Engine, error) {
		instance, err := compiled.NewInstance(t.Context())
		if err != nil {
			return nil, err
		}
		open = append(open, instance)
		return module{instance, t}, instance.Open(config)
	}}
	shapes := map[sim.Shape]bool{}
	for seed := uint64(1); seed <= 8; seed++ {
		shapes[sim.ShapeOf(seed)] = true
		want, got := sim.Run(seed, sim.Program(seed), sim.Setup{ViewWork: -1}), sim.Run(seed, sim.Program(seed), onModule)
		require.NoError(t, want.Err)
		require.NoError(t, got.Err, "seed %d", seed)
		require.Equal(t, want.Final, got.Final, "seed %d", seed)
		require.Equal(t, want.Trace, got.Trace, "seed %d", seed)
		for _, instance := range open {
			require.NoError(t, instance.Close(t.Context()))
		}
		open = nil
	}
	require.True(t, shapes[sim.Connectors] && shapes[sim.Edge])
}

// The choice of the dictionary changes neither the state of readers nor the decoded
// bodies that they receive.
func TestMetamorphic_Codecs(t *testing.T) {
	const padding = 400
	// The dictionary of the schema has little in common with the simulation's objects, so
	// the test uses a dictionary that resembles them.
	dictionary := []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"ns","uid":"h1-","labels":{` + strings.Repeat("=", padding))
	compressed := 0
	codec := func(dictionary []byte) sim.Codec {
		encoder, err := body.NewEncoder(dictionary)
		require.NoError(t, err)
		return sim.Codec{Padding: padding, Dictionary: dictionary, Decode: body.Decode, Encode: func(dst, json []byte) api.Body {
			body := encoder.Encode(dst, json)
			if body.Codec != api.JSON {
				compressed++
			}
			return body
		}}
	}
	for seed := uint64(1); seed <= 20; seed++ {
		// Omit the operations whose result depends on the arrival time of a message.
		ops := sim.WithoutTiming(sim.Program(seed))
		want := sim.Run(seed, ops, sim.Setup{Budget: 1, Codec: sim.Codec{Padding: padding}})
		require.NoError(t, want.Err)
		for name, c := range map[string]sim.Codec{"plain": codec(nil), "dictionary": codec(dictionary)} {
			got := sim.Run(seed, ops, sim.Setup{Budget: 1, Codec: c})
			require.NoError(t, got.Err, "seed %d, %s", seed, name)
			require.Equal(t, want.Final, got.Final, "seed %d, %s", seed, name)
			full := sim.Run(seed, sim.Program(seed), sim.Setup{Codec: c})
			require.NoError(t, full.Err, "seed %d, %s", seed, name)
		}
	}
	require.NotZero(t, compressed)
}
