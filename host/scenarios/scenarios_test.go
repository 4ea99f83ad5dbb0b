package scenarios_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/coretest"
	"github.com/watchglass/watchglass/host/scenarios"
)

var tree = scenarios.Tree{Root: filepath.Join("..", "..")}

// within is the time limit of a test. It is short enough that a runtime that hangs is
// stopped before the test binary times out.
const within = 5 * time.Minute

func TestScenariosOnWazero(t *testing.T) { test(t, scenarios.OnWazero) }

func TestScenariosOnNode(t *testing.T) { test(t, scenarios.OnNode) }

func TestScenariosOnChromium(t *testing.T) { test(t, scenarios.OnChromium) }

func TestScenariosOnWorkerd(t *testing.T) { test(t, tree.OnWorkerd) }

func test(t *testing.T, replay scenarios.Replay) {
	transcripts, err := scenarios.Compile(tree.Scenarios())
	require.NoError(t, err)
	module, err := tree.Module()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	different, err := scenarios.Runtime{Replay: replay}.Check(ctx, module, transcripts)
	require.NoError(t, err)
	for name, err := range different {
		t.Errorf("%s: %v\nIf the engine has changed since the module was built: make wasm", name, err)
	}
	steps := 0
	for _, transcript := range transcripts {
		steps += transcript.Steps
	}
	t.Logf("scenarios: %d files, %d steps, %d differences", len(transcripts), steps, len(different))
}

func TestDriverWithoutComparisonIsDetected(t *testing.T) {
	transcripts, err := scenarios.Compile(tree.Scenarios())
	require.NoError(t, err)
	blind := func(context.Context, []byte, []*coretest.Transcript) (map[string]error, error) {
		return map[string]error{}, nil
	}
	_, err = scenarios.Runtime{Replay: blind}.Check(t.Context(), nil, transcripts)
	require.ErrorContains(t, err, "does not compare")
}

func TestMissingRuntimeErrorExplainsInstallation(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CHROMIUM", "")
	_, err := scenarios.OnChromium(t.Context(), nil, nil)
	require.ErrorContains(t, err, "make scenarios")
	_, err = scenarios.Tree{Root: t.TempDir()}.OnWorkerd(t.Context(), nil, nil)
	require.ErrorContains(t, err, "make js/node_modules")
}
