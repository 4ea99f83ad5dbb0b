package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// These paths are relative to the root of the repository.
const (
	modulePath  = "build/watchglass.wasm"
	bundles     = "js/build/bench"
	peerNode    = "js/bench/node_modules/.bin/node"
	nodeRelease = 24 // minimum major version of Node for client-node
)

// bench is the state of a run: its configuration, and the results that several figures
// share.
type bench struct {
	dir    string // directory for recordings
	keep   bool   // do not remove dir at the end
	node   string // path of Node, found when first needed
	start  time.Time
	cold   []Result // results of coldStart, which two figures share
	synced []Result // results of firstSyncs, which two figures share
	full   []Result // results of fullView, which two figures share
}

func newBench(keep string) (*bench, error) {
	if _, err := os.Stat(modulePath); err != nil {
		return nil, fmt.Errorf("%s is missing: run this with make bench, from the root of the repository", modulePath)
	}
	b := &bench{dir: keep, keep: keep != "", start: time.Now()}
	if b.keep {
		return b, os.MkdirAll(b.dir, 0o755)
	}
	var err error
	b.dir, err = os.MkdirTemp("build", "bench-")
	return b, err
}

func (b *bench) close() {
	if !b.keep {
		os.RemoveAll(b.dir)
	}
}

// findNode returns the path of a Node of release nodeRelease or newer. It prefers the Node that
// is installed in js/bench.
func findNode() (string, error) {
	for _, name := range []string{peerNode, "node"} {
		out, err := exec.Command(name, "--version").Output()
		if err != nil {
			continue
		}
		major, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(out)), "v"), ".")
		if n, err := strconv.Atoi(major); err == nil && n >= nodeRelease {
			return name, nil
		}
	}
	return "", fmt.Errorf("client-node needs Node %d or newer, and npm has no build of it for this platform: install it", nodeRelease)
}

// logf prints a line about the progress of the run, with the elapsed time.
func (b *bench) logf(format string, args ...any) {
	at := time.Since(b.start).Round(time.Second)
	fmt.Fprintf(os.Stderr, "%7s  %s\n", at, fmt.Sprintf(format, args...))
}

// script runs a script of js/bench and parses the results that it prints.
func (b *bench) script(ctx context.Context, name string, args ...string) ([]Result, error) {
	if b.node == "" {
		node, err := findNode()
		if err != nil {
			return nil, err
		}
		b.node = node
	}
	return results(ctx, b.node, append([]string{"--expose-gc", "--max-old-space-size=6144", filepath.Join(bundles, name)}, args...)...)
}

// results runs a command that prints one Result as JSON on each line, and returns the Results.
func results(ctx context.Context, name string, args ...string) ([]Result, error) {
	out, err := output(ctx, name, args...)
	if err != nil {
		return nil, err
	}
	var list []Result
	for lines := json.NewDecoder(bytes.NewReader(out)); lines.More(); {
		var r Result
		if err := lines.Decode(&r); err != nil {
			return nil, fmt.Errorf("%s printed no result: %w", name, err)
		}
		list = append(list, r)
	}
	return list, nil
}

func output(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return out, nil
}

// machine returns a description of this machine, which is printed with the results.
func machine() string {
	cpu := runtime.GOARCH
	info, _ := os.ReadFile("/proc/cpuinfo") // exists only on Linux
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			cpu = strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("%s, %d CPUs, %s, %s", cpu, runtime.NumCPU(), runtime.GOOS, runtime.Version())
}
