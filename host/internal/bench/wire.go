package main

import (
	"compress/gzip"
	"context"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/clustersim"
	"github.com/watchglass/watchglass/host/source"
)

// runWire is P9: the bytes to a reader, without the framing of WebSocket or HTTP.
// Each event is a separate message.
func runWire(ctx context.Context, b *bench) ([]Result, error) {
	var list []Result
	for _, k := range kindsOfChange {
		b.logf("  %s", k.name)
		results, err := k.measure(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, results...)
	}
	b.logf("  snapshot")
	snapshot, err := measureSnapshot(ctx)
	return append(list, snapshot), err
}

// kindOfChange is a kind of modification with its own case in P9.
type kindOfChange struct {
	name     string
	resource api.Resource
	cluster  clustersim.Config
	events   int
	revise   func(was, is []byte) []byte
}

var kindsOfChange = []kindOfChange{
	{"status", pods, clustersim.Config{Pods: 2000}, 1000, newStatus},
	{"labels", pods, clustersim.Config{Pods: 2000}, 1000, relabelled},
	{"rollout", deployments, clustersim.Config{Pods: 500}, 200, newTemplate},
}

func (k *kindOfChange) measure(ctx context.Context) ([]Result, error) {
	w, err := newWorld(k.resource, k.cluster)
	if err != nil {
		return nil, err
	}
	w.revise = k.revise
	var ours, plain int
	var zipped counter
	stream := gzip.NewWriter(&zipped)
	w.tap = func(t api.EventType, c source.Change) {
		if t != api.Modified {
			return
		}
		line := append(appendEvent(nil, c), '\n')
		plain += len(line)
		stream.Write(line) // a counter never fails
		stream.Flush()
	}
	updates := func(message []byte) { ours += len(message) }
	if err := play(ctx, w, k.events, 1, tape{snapshot: func([]byte) {}, updates: updates}); err != nil {
		return nil, err
	}
	return []Result{against(k.name+"-json", ours, plain, k.events), against(k.name+"-gzip", ours, int(zipped), k.events)}, nil
}

// against compares bytes per event.
func against(name string, ours, theirs, events int) Result {
	return Result{Case: name, Ratio: float64(ours) / float64(theirs), Sides: []Side{
		{"ours", float64(ours) / float64(events), "B"}, {"kubernetes", float64(theirs) / float64(events), "B"},
	}}
}

func measureSnapshot(ctx context.Context) (Result, error) {
	const objects = 50_000
	w, err := newWorld(pods, clustersim.Config{Pods: objects})
	if err != nil {
		return Result{}, err
	}
	var ours int
	var list counter
	w.tap = (&kubernetes{list: &list, objects: objects}).tap
	err = play(ctx, w, 0, 1, tape{snapshot: func(message []byte) { ours += len(message) }})
	return against("snapshot-json", ours, int(list), objects), err
}

// counter is a writer that counts bytes.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
