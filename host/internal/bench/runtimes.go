package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/watchglass/watchglass/core"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/client"
)

// machinery is an engine, either native or in a WebAssembly module.
type machinery interface {
	Step(frames []byte) error
	Tick(now int64) error
	Ready() ([]byte, error)
	Advance() error
}

// native is an engine in this process, compiled to machine code.
type native struct{ *core.Engine }

func (n native) Tick(now int64) error   { n.Engine.Tick(now); return nil }
func (n native) Ready() ([]byte, error) { return n.Engine.Ready(), nil }
func (n native) Advance() error         { n.Engine.Advance(); return nil }

// runRuntimes measures P10: the time that the engine takes per event in each runtime. The
// output of the engine is discarded.
func runRuntimes(ctx context.Context, b *bench) ([]Result, error) {
	dir, err := b.data(ctx, ingested)
	if err != nil {
		return nil, err
	}
	wasm, err := os.ReadFile(modulePath)
	if err != nil {
		return nil, err
	}
	module, err := client.Compile(ctx, wasm, "")
	if err != nil {
		return nil, err
	}
	defer module.Close(ctx)
	instance, err := module.NewInstance(ctx)
	if err != nil {
		return nil, err
	}
	config := (&wire.Config{Seed: 1, Client: "bench", MaxBytes: 1 << 31}).Append(nil)
	if err := instance.Open(config); err != nil {
		return nil, err
	}
	engine, err := core.New(config, nil)
	if err != nil {
		return nil, err
	}
	nanos, err := ingestNanos(dir, native{engine}, instance)
	if err != nil {
		return nil, err
	}
	v8, err := b.script(ctx, "engine-node.js", modulePath, dir)
	if err != nil {
		return nil, err
	}
	inV8 := v8[0].Ratio
	var ratios []float64
	for i := range nanos[0] {
		ratios = append(ratios, nanos[1][i]/nanos[0][i])
	}
	own := Side{"native", median(nanos[0]), "ns/event"}
	return []Result{
		{Case: "wazero", Ratio: median(ratios), Sides: []Side{{"wazero", median(nanos[1]), "ns/event"}, own}},
		{Case: "v8", Ratio: inV8 / own.Value, Sides: []Side{{"v8", inV8, "ns/event"}, own}},
	}, nil
}

// ingestNanos passes each message of a recording to several engines in turn. It returns the
// nanoseconds per event, by engine and measured round.
func ingestNanos(dir string, engines ...machinery) ([][]float64, error) {
	const rounds, warmUps = 7, 4
	snapshot, err := readChunks(filepath.Join(dir, "snapshot.bin"))
	if err != nil {
		return nil, err
	}
	updates, err := readChunks(filepath.Join(dir, "updates.bin"))
	if err != nil {
		return nil, err
	}
	for _, e := range engines {
		if err := prepare(e, snapshot); err != nil {
			return nil, err
		}
	}
	nanos := make([][]float64, len(engines))
	batches := len(updates) / (rounds + warmUps)
	for round := range rounds + warmUps {
		took, err := inTurn(updates[round*batches:(round+1)*batches], engines)
		if err != nil {
			return nil, err
		}
		for i := range engines {
			if round >= warmUps {
				nanos[i] = append(nanos[i], float64(took[i].Nanoseconds())/float64(batches*updateBatch))
			}
		}
	}
	return nanos, nil
}

// inTurn passes each message to every engine before the next message, so that other
// load on the machine affects all engines alike. It returns the total time of each engine.
func inTurn(messages [][]byte, engines []machinery) ([]time.Duration, error) {
	took := make([]time.Duration, len(engines))
	for _, message := range messages {
		for i, e := range engines {
			start := time.Now()
			if err := step(e, &wire.StreamData{Stream: 1, Data: message}); err != nil {
				return nil, err
			}
			took[i] += time.Since(start)
		}
	}
	return took, nil
}

// prepare brings an engine to the initial state of ingest.mjs in js/bench.
func prepare(e machinery, snapshot [][]byte) error {
	if err := step(e, &wire.OpenCollection{Collection: 1, Resource: pods.String()}); err != nil {
		return err
	}
	if err := step(e, &wire.StreamOpened{Stream: 1}); err != nil {
		return err
	}
	for _, message := range snapshot {
		if err := step(e, &wire.StreamData{Stream: 1, Data: message}); err != nil {
			return err
		}
	}
	if err := step(e, &wire.OpenWatch{Watch: 1, Collection: 1, LabelSelector: "app=web"}); err != nil {
		return err
	}
	return step(e, &wire.OpenView{View: 1, Collection: 1, Sort: "-Restarts", Limit: 50})
}

func step(e machinery, f interface{ Append([]byte) []byte }) error {
	if err := e.Tick(clock); err != nil {
		return err
	}
	if err := e.Step(f.Append(nil)); err != nil {
		return err
	}
	for {
		out, err := e.Ready()
		if err != nil || out == nil {
			return err
		}
		if err := e.Advance(); err != nil {
			return err
		}
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
