package scenarios

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/watchglass/watchglass/core/coretest"
)

// Tree is a checkout of the repository in the directory Root.
type Tree struct{ Root string }

// Module reads the module. If it is missing, the error names the command that builds
// it.
func (t Tree) Module() ([]byte, error) {
	module, err := os.ReadFile(filepath.Join(t.Root, "build", "watchglass.wasm"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, errors.New("build/watchglass.wasm is missing; build it with: make wasm")
	}
	return module, err
}

// Scenarios returns the directory of the scenarios.
func (t Tree) Scenarios() string { return filepath.Join(t.Root, "testdata", "scenarios") }

// Compile runs every scenario in a directory on the native engine. It checks the
// expectations and returns the transcripts.
func Compile(dir string) ([]*coretest.Transcript, error) {
	all, err := coretest.LoadAll(dir)
	if err != nil {
		return nil, err
	}
	var transcripts []*coretest.Transcript
	for _, s := range all {
		if err := s.Check(); err != nil {
			return nil, err
		}
		_, t, err := s.Run()
		if err != nil {
			return nil, err
		}
		transcripts = append(transcripts, t)
	}
	return transcripts, nil
}

// Run runs all runtimes and prints every difference and a summary. It returns the
// number of differences.
func Run(ctx context.Context, tree Tree, out io.Writer) (differences int, err error) {
	transcripts, err := Compile(tree.Scenarios())
	if err != nil {
		return 0, err
	}
	module, err := tree.Module()
	if err != nil {
		return 0, err
	}
	runtimes := tree.Runtimes()
	for _, r := range runtimes {
		different, err := r.Check(ctx, module, transcripts)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", r.Name, err)
		}
		for _, t := range transcripts {
			if different[t.Name] != nil {
				differences++
				fmt.Fprintf(out, "%s: %s: %v\n", r.Name, t.Name, different[t.Name])
			}
		}
	}
	steps := 0
	for _, t := range transcripts {
		steps += t.Steps
	}
	fmt.Fprintf(out, "scenarios: %d files, %d steps, %d runtimes, %d differences\n",
		len(transcripts), steps, 1+len(runtimes), differences)
	return differences, nil
}
