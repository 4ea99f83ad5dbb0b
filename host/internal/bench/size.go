package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/watchglass/watchglass/wasm/strip"
)

// runSize is P7: against the empty reactor that Go makes, and as a figure without
// a target against one that package strip has made smaller as well.
func runSize(ctx context.Context, b *bench) ([]Result, error) {
	empty := filepath.Join(b.dir, "empty.wasm")
	// As the Makefile builds the module, but for what package strip does.
	build := exec.CommandContext(ctx, "go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", empty, "./host/internal/bench/empty")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, err
	}
	stripped := filepath.Join(b.dir, "stripped.wasm")
	if err := strip.File(empty, stripped); err != nil {
		return nil, err
	}
	out, err := output(ctx, "node", "js/bench/compress.mjs", modulePath, empty, stripped)
	if err != nil {
		return nil, err
	}
	var sizes [3]float64
	if err := json.Unmarshal(out, &sizes); err != nil {
		return nil, err
	}
	ours := Side{"ours", sizes[0] / 1000, "kB"}
	return []Result{
		{Ratio: sizes[0] / sizes[1], Sides: []Side{ours, {"empty reactor", sizes[1] / 1000, "kB"}}},
		{Case: "stripped", Ratio: sizes[0] / sizes[2], Sides: []Side{ours, {"empty reactor stripped alike", sizes[2] / 1000, "kB"}}},
	}, nil
}
