package main

import (
	"compress/gzip"
	"context"
	"errors"
	"io"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/core/objectjson"
	"github.com/watchglass/watchglass/host/clustersim"
	"github.com/watchglass/watchglass/host/source"
)

// runWire measures P9: the bytes sent to a reader, without the framing of WebSocket or
// HTTP. Each event is a separate message.
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
	return append(list, snapshot...), err
}

// kindOfChange is a kind of modification that P9 measures as a separate case.
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
		stream.Write(line) // cannot fail, because a counter never fails
		stream.Flush()
	}
	updates := func(message []byte) { ours += len(message) }
	if err := play(ctx, w, k.events, 1, tape{snapshot: func([]byte) {}, updates: updates}); err != nil {
		return nil, err
	}
	return []Result{against(k.name+"-json", ours, plain, k.events), against(k.name+"-gzip", ours, int(zipped), k.events)}, nil
}

// against returns a Result with the bytes per event of both sides and the ratio of ours to
// theirs.
func against(name string, ours, theirs, events int) Result {
	return Result{Case: name, Ratio: float64(ours) / float64(theirs), Sides: []Side{
		{"ours", float64(ours) / float64(events), "B"}, {"kubernetes", float64(theirs) / float64(events), "B"},
	}}
}

// measureSnapshot compares the initial state of a reader with the list of a
// kube-apiserver. The list is measured as JSON, and compressed at the level of
// kube-apiserver (1) and at a common level (6). The compressed lists have no
// managedFields, like our objects.
func measureSnapshot(ctx context.Context) ([]Result, error) {
	const objects = 50_000
	w, err := newWorld(pods, clustersim.Config{Pods: objects})
	if err != nil {
		return nil, err
	}
	scanner, err := catalog.NewScanner(w.schema)
	if err != nil {
		return nil, err
	}
	var ours, rows int
	var plain, fast, small counter
	level1, err := gzip.NewWriterLevel(&fast, 1)
	if err != nil {
		return nil, err
	}
	level6, err := gzip.NewWriterLevel(&small, 6)
	if err != nil {
		return nil, err
	}
	whole := &kubernetes{list: &plain, objects: objects}
	stripped := &kubernetes{list: io.MultiWriter(level1, level6), objects: objects}
	var failed error
	w.tap = func(t api.EventType, c source.Change) {
		whole.tap(t, c)
		o, err := scanner.Scan(c.Value, objectjson.Options{})
		if err != nil {
			failed = err
			return
		}
		c.Value = o.Body.Data
		stripped.tap(t, c)
	}
	err = play(ctx, w, 0, 1,
		tape{snapshot: func(message []byte) { ours += len(message) }},
		tape{metadataOnly: true, snapshot: func(message []byte) { rows += len(message) }})
	if err := errors.Join(err, failed, level1.Close(), level6.Close()); err != nil {
		return nil, err
	}
	return []Result{
		against("snapshot-json", ours, int(plain), objects),
		against("snapshot-gzip1", ours, int(fast), objects),
		against("snapshot-gzip6", ours, int(small), objects),
		against("rows-gzip6", rows, int(small), objects),
	}, nil
}

// counter is a writer that counts bytes.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
