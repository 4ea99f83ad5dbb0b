package main

import "context"

// figure is a comparison with its targets. The function run may return several results, one
// for each case.
type figure struct {
	id      string
	title   string
	targets []target
	run     func(context.Context, *bench) ([]Result, error)
}

var figures = []figure{
	{"P1", "steady ingest at 30,000 pods, a watch and a view attached, against client-node's ListWatch", []target{
		{name: "node", atLeast: 20}, {name: "chromium", atLeast: 20},
	}, runIngest},
	{"P2", "cold start to synced with 50,000 pods, against client-node doing the same list", []target{
		{name: "node", atLeast: 6}, {name: "longest-step", atMost: 10},
	}, runStart},
	{"P3", "memory per object after that, against client-node's heap", []target{
		{name: "bodies", atMost: 1.0 / 6}, {name: "metadata", atMost: 1.0 / 25},
	}, runMemory},
	{"P4", "the same from raw watch JSON, without a connector, against client-node", []target{
		{name: "node", atLeast: 2.5}, {name: "chromium", atLeast: 2.5},
	}, runDirect},
	{"P5", "an event among 10,000 watches of distinct selectors of which ten match, against 10, and against kube-apiserver's cacher", []target{
		{name: "labels", atMost: 2}, {name: "fields", atMost: 2}, {name: "mixed", atMost: 2}, {name: "upstream", atLeast: 50},
	}, runDispatch},
	{"P6", "an update under a sorted view of 100,000 objects, against 1,000", []target{
		{name: "views", atMost: 3},
	}, runViews},
	{"P7", "the module after brotli -q 11, against an empty Go reactor", []target{
		{atMost: 1.45, allowed: 1.45},
	}, runSize},
	{"P8", "an event delivered to some of 1,000 WebSocket readers of distinct selectors, against a broadcast of the same bytes", []target{
		{name: "10-of-1000", atMost: 1.5}, {name: "100-of-1000", atMost: 1.5}, {name: "1000-of-1000", atMost: 1.5},
	}, runFanout},
	{"P9", "bytes on the wire, against Kubernetes JSON plain and in one gzip stream", []target{
		{name: "status-json", atMost: 1.0 / 15}, {name: "status-gzip", atMost: 0.6},
		{name: "labels-json", atMost: 1.0 / 15}, {name: "labels-gzip", atMost: 0.6},
		{name: "rollout-json", atMost: 1.0 / 15}, {name: "rollout-gzip", atMost: 0.6},
		{name: "snapshot-json", atMost: 1.0 / 6}, {name: "snapshot-gzip6", atMost: 1}, {name: "rows-gzip6", atMost: 0.4},
	}, runWire},
	{"P10", "ingest of the same frames in the native core, under wazero and in V8", []target{
		{name: "wazero", atMost: 6},
	}, runRuntimes},
	{"P11", "a million objects, metadata only, in one guest", []target{
		{name: "memory", atMost: 400}, {name: "views", atMost: 3},
	}, runMillion},
	{"P12", "bytes until a complete table of 50,000 pods, rows first, against gzip -6 of the list", []target{
		{name: "table", atMost: 0.4},
	}, runTable},
	{"P13", "bytes until everything, rows first, against the same", []target{
		{name: "all", atMost: 1},
	}, runRowsAndBodies},
	{"P14", "time to a complete, sorted and counted table of 50,000 pods over 20 Mbit/s and 40 ms, against client-node with a gzip -6 list, and against a first page", []target{
		{name: "list", atLeast: 5}, {name: "page", atMost: 1.5},
	}, runLink},
	{"P15", "memory per pod in the guest with 50,000 pods, bodies included", []target{
		{atMost: 600},
	}, runBodies},
	{"P16", "live memory of the connector per object held, of 10,000 pods, and per idle reader, of 500", []target{
		{name: "object", atMost: 1500}, {name: "reader", atMost: 30_000},
	}, runConnectorMemory},
	{"P17", "processor time of the connector for 500 simultaneous first syncs of 10,000 pods, against a broadcast of as many messages of the same size", []target{
		{atMost: 2},
	}, runFirstSyncs},
	{"P18", "search over 100,000 pods in Chromium: the first rows after the first keystroke, and after each further one that narrows", []target{
		{name: "first", atMost: 30}, {name: "further", atMost: 10},
	}, runSearch},
	{"P19", "an update under a view of 100,000 pods with a search, two sorts and five facets, against a view with one sort", []target{
		{atMost: 3},
	}, runFullView},
	{"P20", "opening that view, and its longest call into the guest", []target{
		{name: "open", atMost: 150}, {name: "longest-call", atMost: 20},
	}, runOpenFullView},
	{"P21", "updates under that view in batches of 100, against live queries of TanStack DB and against arrays sorted again for each batch", []target{
		{name: "tanstack", atLeast: 10}, {name: "arrays", atLeast: 10},
	}, runLiveQuery},
	{"P25", "main-thread time per 1,000 changes of 50,000 pods, a React table of 50 of them open, against client-node's informer and React state, and against a TanStack DB collection", []target{
		{name: "informer", atMost: 1.0 / 20}, {name: "tanstack", atMost: 1.0 / 10},
	}, runReactTable},
	{"P26", "reload with persistence to an exact table of 50,000 pods over 20 Mbit/s and 40 ms, against a cold load", []target{
		{name: "link", atMost: 0.2}, {name: "rows-first", atMost: 0.2, allowed: 0.5}, {name: "local", atMost: 0.2, allowed: 0.9},
	}, runPersistence},
	{"P27", "second tab to an exact table of 50,000 pods, against the first", []target{
		{atMost: 0.1},
	}, runTabs},
	{"P28", "a get of one of 50,000 pods in a page, in Chromium", []target{
		{name: "mean", atMost: 2}, {name: "slowest-of-100", atMost: 2},
	}, runGet},
	{"P29", "the longest task of a page's main thread while it opens 50,000 pods with their bodies, in Chromium", []target{
		{atMost: 50},
	}, runTasks},
}
