package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
)

// runSize is P7.
func runSize(ctx context.Context, b *bench) ([]Result, error) {
	empty := filepath.Join(b.dir, "empty.wasm")
	// As the Makefile builds the module.
	build := exec.CommandContext(ctx, "go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", empty, "./host/internal/bench/empty")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, err
	}
	out, err := output(ctx, "node", "js/bench/compress.mjs", modulePath, empty)
	if err != nil {
		return nil, err
	}
	var sizes [2]float64
	if err := json.Unmarshal(out, &sizes); err != nil {
		return nil, err
	}
	return []Result{{Ratio: sizes[0] / sizes[1], Sides: []Side{
		{"ours", sizes[0] / 1000, "kB"}, {"empty reactor", sizes[1] / 1000, "kB"},
	}}}, nil
}
