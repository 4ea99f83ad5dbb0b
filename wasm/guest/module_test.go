package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	wasm "github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/wasm/guesttest"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata/abi")

// compiled returns a runtime and the built module. The runtime is the interpreter, which
// is slow but starts immediately, because the tests make few calls to a large module.
func compiled(t *testing.T) (wazero.Runtime, wazero.CompiledModule) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: builds the wasm module first")
	}
	module, err := guesttest.Faulty() // the tag adds no export and no import
	require.NoError(t, err)
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	t.Cleanup(func() { require.NoError(t, r.Close(ctx)) })
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	_, err = r.NewHostModuleBuilder("watchglass").NewFunctionBuilder().
		WithFunc(func(_, _, _ uint32) uint32 { return 0 }).Export("load").Instantiate(ctx)
	require.NoError(t, err)
	c, err := r.CompileModule(ctx, module)
	require.NoError(t, err)
	return r, c
}

func TestExportsAndImportsArePinned(t *testing.T) {
	_, module := compiled(t)
	var exports, imports []string
	for name, f := range module.ExportedFunctions() {
		exports = append(exports, name+signature(f))
	}
	for name := range module.ExportedMemories() {
		exports = append(exports, name+" memory")
	}
	for _, f := range module.ImportedFunctions() {
		from, name, _ := f.Import()
		imports = append(imports, from+" "+name+signature(f))
	}
	golden(t, "exports.txt", exports)
	golden(t, "imports.txt", imports)
}

func signature(f wasm.FunctionDefinition) string {
	types := func(list []wasm.ValueType) string {
		names := make([]string, len(list))
		for i, v := range list {
			names[i] = wasm.ValueTypeName(v)
		}
		return "(" + strings.Join(names, ", ") + ")"
	}
	return types(f.ParamTypes()) + " " + types(f.ResultTypes())
}

func golden(t *testing.T, name string, lines []string) {
	t.Helper()
	slices.Sort(lines)
	got := strings.Join(lines, "\n") + "\n"
	path := filepath.Join("..", "..", "testdata", "abi", name)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "the ABI has changed; if it is meant, go test ./wasm/guest -update and see ABI.md on versions")
}

// module calls the exports of the built module directly.
type module struct {
	t *testing.T
	m wasm.Module
}

func instantiate(t *testing.T) module {
	r, c := compiled(t)
	m, err := r.InstantiateModule(context.Background(), c, wazero.NewModuleConfig().WithStartFunctions("_initialize"))
	require.NoError(t, err)
	return module{t, m}
}

func (m module) call(name string, args ...uint64) int32 {
	m.t.Helper()
	result, err := m.m.ExportedFunction(name).Call(context.Background(), args...)
	require.NoError(m.t, err)
	return int32(result[0])
}

func (m module) send(name string, frames []byte) int32 {
	m.t.Helper()
	address := m.call("wg_reserve", uint64(len(frames)))
	require.NotZero(m.t, address)
	require.True(m.t, m.m.Memory().Write(uint32(address), frames))
	return m.call(name, uint64(len(frames)))
}

func (m module) lastError() string {
	m.t.Helper()
	n := m.call("wg_error")
	view, ok := m.m.Memory().Read(uint32(m.call("wg_out")), uint32(n))
	require.True(m.t, ok)
	_, payload, _, err := wire.Next(view)
	require.NoError(m.t, err)
	var reply wire.ErrorReply
	require.NoError(m.t, reply.Parse(payload))
	return reply.Status.Error()
}

func TestModulePoisonsItselfOnAPanic(t *testing.T) {
	m := instantiate(t)
	require.EqualValues(t, abiVersion, m.call("wg_abi"))
	require.EqualValues(t, codeNotOpen, m.call("wg_tick", 1))
	require.Zero(t, m.call("wg_reserve", maxInput+1))
	require.EqualValues(t, codeOK, m.send("wg_open", (&wire.Config{Seed: 1, Client: "test"}).Append(nil)))
	require.EqualValues(t, codeOK, m.call("wg_tick", 1))

	require.EqualValues(t, codePoisoned, m.send("wg_step", []byte("\xff\x00")))
	require.Equal(t, "500 InternalError: panic in wg_step: runtime error: invalid memory address or nil pointer dereference", m.lastError())
	require.EqualValues(t, codePoisoned, m.call("wg_tick", 2))
	require.EqualValues(t, -codePoisoned, m.call("wg_ready"))
	require.EqualValues(t, codePoisoned, m.call("wg_close"))
}

func TestModuleClosesAndOpensAgain(t *testing.T) {
	m := instantiate(t)
	config := (&wire.Config{Seed: 1, Client: "test"}).Append(nil)
	for range 3 {
		require.EqualValues(t, codeOK, m.send("wg_open", config))
		require.EqualValues(t, codeOK, m.call("wg_close"))
	}
}
