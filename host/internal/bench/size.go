package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/watchglass/watchglass/wasm/strip"
)

// runSize measures P7: the size of the module relative to an empty reactor built with the
// same Go release. A second result, without a target, compares the module with a stripped
// empty reactor. If package strip does not support the Go release, the module is not
// stripped, and no target applies to it.
func runSize(ctx context.Context, b *bench) ([]Result, error) {
	empty := filepath.Join(b.dir, "empty.wasm")
	// Build the empty reactor with the flags that the Makefile uses for the module, but do
	// not strip it.
	build := exec.CommandContext(ctx, "go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", empty, "./host/internal/bench/empty")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, err
	}
	stripped := filepath.Join(b.dir, "stripped.wasm")
	warning, err := strip.File(empty, stripped)
	if err != nil {
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
	if warning != "" {
		b.logf("  P7 has no target with this Go release: %s", warning)
		return []Result{{Case: "not-stripped", Ratio: sizes[0] / sizes[1], Sides: []Side{ours, {"empty reactor", sizes[1] / 1000, "kB"}}}}, nil
	}
	return []Result{
		{Ratio: sizes[0] / sizes[1], Sides: []Side{ours, {"empty reactor", sizes[1] / 1000, "kB"}}},
		{Case: "stripped", Ratio: sizes[0] / sizes[2], Sides: []Side{ours, {"empty reactor stripped alike", sizes[2] / 1000, "kB"}}},
	}, nil
}
