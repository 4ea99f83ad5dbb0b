// Package client provides Go programs with live, local collections of Kubernetes
// objects. It runs the same WebAssembly module as browsers and the edge, under wazero.
//
//	c, err := client.Open(ctx, client.Config{URL: "ws://localhost:8080/watch"})
//	pods, err := c.Collection(ctx, "v1/pods", client.CollectionOptions{Namespace: "shop"})
//	err = pods.WaitForSync(ctx)
//	list, err := pods.List(ctx, client.ListOptions{LabelSelector: "app=web"})
//	watch, err := pods.Watch(ctx, client.WatchOptions{ResourceVersion: list.ResourceVersion.String()})
//	for event, err := range watch.Events(ctx) { … }
//	config, err := c.Object(ctx, "v1/configmaps", "shop/config", client.ObjectOptions{})
//	for snapshot, err := range config.Changes(ctx) { … }
//
// A [Client] connects to one connector and manages any number of collections. The
// collections, watches and views of a client share a connection and a store. All
// methods are safe for concurrent use. Every call that can block takes a context.
// Errors with a Kubernetes code are *api.Status.
//
// # Stored state
//
// A program can store the state of a collection, and later open the collection with the
// stored state. The objects are then available immediately, and only changes are
// transferred.
//
//	var stored [][]byte
//	var at client.Position
//	for chunk, err := range pods.Snapshot(ctx, client.SnapshotOptions{Since: at}) { … }
//	pods, err = c.Collection(ctx, "v1/pods", client.CollectionOptions{Restore: slices.Values(stored)})
//
// # How it works
//
// One goroutine, the loop, owns the instance of the module and everything that mirrors
// the engine's state. The loop sends commands, performs the I/O that the engine requests
// (connect, send, wake at a time), and distributes deliveries. Each connection has two
// more goroutines. [Client.Close] waits for all of them.
//
// The engine makes every decision about the watch protocol. This package decides what
// happens when the instance itself fails. It replaces an instance that panicked or
// trapped, with increasing pauses if instances fail repeatedly. It reopens collections
// and views, which load their data again. A watch that has delivered events ends with 410
// Expired, as in Kubernetes when history is lost. Pending requests fail with 503. Until
// its data is loaded again, a collection reports that it is reconnecting.
//
// # Memory
//
// Returned objects are copies that the caller owns. A watch buffers at most
// [WatchOptions.Buffer] events. A view keeps only its latest snapshot.
//
// # The module without a client
//
// [Compile] and [Instance] provide the module without a network or a clock. Input and
// output are bytes. Tests use instances to replay transcripts.
package client
