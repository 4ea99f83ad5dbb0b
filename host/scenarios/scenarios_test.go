package scenarios_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/coretest"
	"github.com/watchglass/watchglass/host/scenarios"
)

var tree = scenarios.Tree{Root: filepath.Join("..", "..")}

func TestScenariosOnWazero(t *testing.T) { test(t, scenarios.OnWazero) }

func TestScenariosOnNode(t *testing.T) { test(t, scenarios.OnNode) }

type replay = func(context.Context, []byte, []*coretest.Transcript) (map[string]error, error)

func test(t *testing.T, replay replay) {
	transcripts, err := scenarios.Compile(tree.Scenarios())
	require.NoError(t, err)
	module, err := tree.Module()
	require.NoError(t, err)
	forged := forge(t, transcripts[0])
	different, err := replay(context.Background(), module, append(transcripts, forged))
	require.NoError(t, err)
	require.ErrorContains(t, different[forged.Name], "ready returned - instead of 00")
	delete(different, forged.Name)
	for name, err := range different {
		t.Errorf("%s: %v\nIf the engine has changed since the module was built: make wasm", name, err)
	}
	steps := 0
	for _, transcript := range transcripts {
		steps += transcript.Steps
	}
	t.Logf("scenarios: %d files, %d steps, %d differences", len(transcripts), steps, len(different))
}

// forge changes the last output of a transcript. A driver that compares nothing
// would let it pass, and everything else too.
func forge(t *testing.T, transcript *coretest.Transcript) *coretest.Transcript {
	forged := *transcript
	forged.Name = "forged"
	forged.Calls = append([]coretest.Call(nil), transcript.Calls...)
	last := &forged.Calls[len(forged.Calls)-1]
	require.Equal(t, coretest.Nothing, last.Ready)
	last.Ready = "00"
	return &forged
}
