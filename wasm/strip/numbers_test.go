package strip

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// After a module is instantiated, its tables contain the numbers that were removed from
// its data.
func TestNumbersAreWrittenAtStart(t *testing.T) {
	m, err := parse(recognized(t))
	require.NoError(t, err)
	tables, err := find(m)
	require.NoError(t, err)
	from, to := tables.FuncTab.Data, tables.End
	before := string(m.memory[from:to])
	require.NoError(t, m.numberAtStart(tables))
	for i, at := range tables.entries {
		require.Zero(t, tables.word(at), i)
		require.Zero(t, tables.word(tables.FuncTab.Data+8*uint64(i)+4), i)
	}

	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer r.Close(ctx)
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	instance, err := r.InstantiateWithConfig(ctx, m.encode(), wazero.NewModuleConfig().WithStartFunctions())
	require.NoError(t, err)
	after, ok := instance.Memory().Read(uint32(from), uint32(to-from))
	require.True(t, ok)
	require.Equal(t, before, string(after))
}

func TestTablesInAnotherOrderStay(t *testing.T) {
	m, err := parse(recognized(t))
	require.NoError(t, err)
	tables, err := find(m)
	require.NoError(t, err)
	tables.entries[1], tables.entries[2] = tables.entries[2], tables.entries[1]
	before := string(m.memory)
	require.NoError(t, m.numberAtStart(tables))
	require.Equal(t, before, string(m.memory))
}
