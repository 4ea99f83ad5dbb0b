package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/watchglass/watchglass/host/clustersim"
)

// updateBatch is the number of changes per message. It is typical for a reader that barely keeps
// up with its cluster.
const updateBatch = 100

// ingested is the input of P1 and P10: 11 rounds of 10,000 updates.
var ingested = dataset{pods: 30_000, updates: 110_000, batch: updateBatch, bodies: true, kubernetes: true}

func runIngest(ctx context.Context, b *bench) ([]Result, error) {
	dir, err := b.data(ctx, ingested)
	if err != nil {
		return nil, err
	}
	return b.inBoth(ctx, modulePath, dir, "ours")
}

// runDirect measures P4: the ingest of raw watch JSON without a connector.
func runDirect(ctx context.Context, b *bench) ([]Result, error) {
	dir, err := b.data(ctx, ingested)
	if err != nil {
		return nil, err
	}
	return b.inBoth(ctx, modulePath, dir, "direct")
}

// inBoth runs the ingest script in Node and in Chromium.
func (b *bench) inBoth(ctx context.Context, args ...string) ([]Result, error) {
	inNode, err := b.script(ctx, "ingest-node.js", args...)
	if err != nil {
		return nil, err
	}
	b.logf("  and in Chromium")
	inChromium, err := b.script(ctx, "ingest-chromium.js", args...)
	return append(inNode, inChromium...), err
}

// P2 and P3 share one measurement.
func runStart(ctx context.Context, b *bench) ([]Result, error)  { return b.coldStart(ctx, "P2") }
func runMemory(ctx context.Context, b *bench) ([]Result, error) { return b.coldStart(ctx, "P3") }

// runBodies measures P15: our side of the case "bodies" of P3, in bytes.
func runBodies(ctx context.Context, b *bench) ([]Result, error) {
	results, err := b.coldStart(ctx, "P3")
	if err != nil {
		return nil, err
	}
	for _, r := range results {
		if r.Case == "bodies" {
			return []Result{{Ratio: r.Sides[0].Value, Unit: "B", Sides: r.Sides}}, nil
		}
	}
	return nil, errors.New("P3 has no case for bodies")
}

func (b *bench) coldStart(ctx context.Context, figure string) ([]Result, error) {
	if b.cold == nil {
		dir, err := b.data(ctx, dataset{pods: 50_000, bodies: true, metadata: true, kubernetes: true})
		if err != nil {
			return nil, err
		}
		if b.cold, err = b.script(ctx, "cold.js", modulePath, dir); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(slices.Clone(b.cold), func(r Result) bool { return r.Figure != figure }), nil
}

// The following functions measure P25 to P28 in pages with the built npm package.
func runReactTable(ctx context.Context, b *bench) ([]Result, error) {
	return b.inPages(ctx, "table.js", dataset{pods: 50_000, updates: 9_000, batch: updateBatch, bodies: true, kubernetes: true})
}

// runPersistence measures P26 with a connector behind the slow link, and also with recorded
// messages from this machine.
func runPersistence(ctx context.Context, b *bench) (list []Result, err error) {
	const objects = 50_000
	dir, err := b.data(ctx, dataset{pods: objects, bodies: true})
	if err != nil {
		return nil, err
	}
	w, err := newWorld(pods, clustersim.Config{Pods: objects})
	if err != nil {
		return nil, err
	}
	w.progress = 3 * time.Second // like the source for etcd
	err = withLink(ctx, w, nil, func(addr string) error {
		list, err = b.script(ctx, "persist.js", modulePath, dir, "js/dist", "snapshot.bin", "ws://"+addr+"/watch")
		return err
	})
	return list, err
}

func runTabs(ctx context.Context, b *bench) ([]Result, error) {
	return b.inPages(ctx, "tabs.js", dataset{pods: 50_000, bodies: true})
}

func runTasks(ctx context.Context, b *bench) ([]Result, error) {
	return b.inPages(ctx, "tasks.js", dataset{pods: 50_000, bodies: true})
}

func runGet(ctx context.Context, b *bench) ([]Result, error) {
	return b.inPages(ctx, "get.js", dataset{pods: 50_000, bodies: true})
}

func (b *bench) inPages(ctx context.Context, script string, d dataset) ([]Result, error) {
	dir, err := b.data(ctx, d)
	if err != nil {
		return nil, err
	}
	return b.script(ctx, script, modulePath, dir, "js/dist")
}

// runSearch measures P18 in a page with the built npm package.
func runSearch(ctx context.Context, b *bench) ([]Result, error) {
	dir, err := b.data(ctx, viewed(100_000))
	if err != nil {
		return nil, err
	}
	return b.script(ctx, "search.js", modulePath, dir, "js/dist", "metadata.bin")
}

// P19 and P20 share one measurement.
func runFullView(ctx context.Context, b *bench) ([]Result, error)     { return b.fullView(ctx, "P19") }
func runOpenFullView(ctx context.Context, b *bench) ([]Result, error) { return b.fullView(ctx, "P20") }

func (b *bench) fullView(ctx context.Context, figure string) ([]Result, error) {
	if b.full == nil {
		dir, err := b.data(ctx, viewed(100_000))
		if err != nil {
			return nil, err
		}
		if b.full, err = b.script(ctx, "full-view.js", modulePath, dir); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(slices.Clone(b.full), func(r Result) bool { return r.Figure != figure }), nil
}

func runLiveQuery(ctx context.Context, b *bench) ([]Result, error) {
	queried := viewed(100_000)
	queried.updates = 36_000 // V8 still optimizes during the first ten thousand updates
	dir, err := b.data(ctx, queried)
	if err != nil {
		return nil, err
	}
	return b.script(ctx, "live-query.js", modulePath, dir)
}

// viewed is the data set for the views of P6, P11 and P18 to P21.
func viewed(pods int) dataset {
	return dataset{pods: pods, updates: 18_000, batch: updateBatch, metadata: true, churn: true}
}

func runViews(ctx context.Context, b *bench) ([]Result, error) {
	list, err := b.views(ctx, "P6", 100_000)
	return slices.DeleteFunc(list, func(r Result) bool { return r.Case == "memory" }), err
}

func runMillion(ctx context.Context, b *bench) ([]Result, error) {
	return b.views(ctx, "P11", 1_000_000)
}

func (b *bench) views(ctx context.Context, figure string, pods int) ([]Result, error) {
	few, err := b.data(ctx, viewed(1000))
	if err != nil {
		return nil, err
	}
	many, err := b.data(ctx, viewed(pods))
	if err != nil {
		return nil, err
	}
	return b.script(ctx, "views.js", figure, modulePath, few, many)
}
