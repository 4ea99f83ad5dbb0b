package main

import (
	"compress/gzip"
	"context"
	"errors"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/core/objectjson"
	"github.com/watchglass/watchglass/host/clustersim"
	"github.com/watchglass/watchglass/host/source"
)

// runTable measures P12: the bytes sent to a reader that requests rows first, until its
// rows are complete. The message that completes the rows may already contain the first
// bodies.
func runTable(ctx context.Context, _ *bench) ([]Result, error) {
	table, _, err := measureRows(ctx)
	return []Result{table}, err
}

// runRowsAndBodies measures P13: the bytes sent to the reader of P12 until it has every
// body.
func runRowsAndBodies(ctx context.Context, _ *bench) ([]Result, error) {
	_, all, err := measureRows(ctx)
	return []Result{all}, err
}

// measureRows measures P12 and P13. It compares them with the list of a kube-apiserver
// without managedFields, in one gzip stream of level 6.
func measureRows(ctx context.Context) (table, all Result, err error) {
	const objects = 50_000
	w, err := newWorld(pods, clustersim.Config{Pods: objects})
	if err != nil {
		return table, all, err
	}
	scanner, err := catalog.NewScanner(w.schema)
	if err != nil {
		return table, all, err
	}
	var rows, bodies int
	var small counter
	zipped, err := gzip.NewWriterLevel(&small, 6)
	if err != nil {
		return table, all, err
	}
	list := &kubernetes{list: zipped, objects: objects}
	var failed error
	w.tap = func(t api.EventType, c source.Change) {
		o, err := scanner.Scan(c.Value, objectjson.Options{})
		if err != nil {
			failed = err
			return
		}
		c.Value = o.Body.Data
		list.tap(t, c)
	}
	err = play(ctx, w, 0, 1, tape{
		rowsFirst: true,
		snapshot:  func(message []byte) { rows += len(message) },
		updates:   func(message []byte) { bodies += len(message) },
	})
	err = errors.Join(err, failed, zipped.Close())
	return against("table", rows, int(small), objects), against("all", rows+bodies, int(small), objects), err
}
