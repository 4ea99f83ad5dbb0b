// Package guest is watchglass for Go programs: live, local, Kubernetes-shaped
// collections, kept by the same WebAssembly module that runs in browsers and
// at the edge, here under wazero.
//
//	client, err := guest.Open(ctx, guest.Config{URL: "ws://localhost:8080/watch"})
//	pods, err := client.Collection(ctx, "v1/pods", guest.CollectionOptions{Namespace: "shop"})
//	err = pods.WaitForSync(ctx)
//	list, err := pods.List(ctx, guest.ListOptions{LabelSelector: "app=web"})
//	watch, err := pods.Watch(ctx, guest.WatchOptions{ResourceVersion: list.ResourceVersion.String()})
//	for event, err := range watch.Events(ctx) { … }
//	config, err := client.Object(ctx, "v1/configmaps", "shop/config", guest.ObjectOptions{})
//	for snapshot, err := range config.Changes(ctx) { … }
//
// A [Client] talks to one connector and holds any number of collections.
// Collections, watches and views of one client share a connection and a store.
// Everything is safe for concurrent use, every call that can wait takes a
// context, and errors with a Kubernetes code are *api.Status.
//
// # Keeping what is there
//
// A program that ends can keep the state of a collection and open it again with
// that: the objects are there at once, and only what changed meanwhile travels.
//
//	var kept [][]byte
//	var at guest.Position
//	for chunk, err := range pods.Snapshot(ctx, guest.SnapshotOptions{Since: at}) { … }
//	pods, err = client.Collection(ctx, "v1/pods", guest.CollectionOptions{Restore: slices.Values(kept)})
//
// # How it works
//
// One goroutine, the loop, owns the instance of the module and everything that
// mirrors its state. It passes commands in, executes what the engine asks for
// (open a connection, send, wake me at), and hands deliveries on. Nothing else
// touches the instance. Each connection has two goroutines; [Client.Close]
// waits for all of them.
//
// Nothing here makes a decision about the watch protocol: that is the engine's.
// What is decided here is what happens when the instance itself fails. An
// instance that panicked or trapped is dropped and a new one made, with a
// growing pause if it happens again. Collections and views are opened anew and
// fill up again; a watch that delivered anything already ends with 410 Expired,
// as Kubernetes ends one whose history is gone; requests under way fail with
// 503. Until the data is back, a collection says that it is reconnecting.
//
// # Memory
//
// What is handed out is a copy that belongs to the caller. A watch holds at
// most [WatchOptions.Buffer] events that were not taken; a view holds its
// newest snapshot.
//
// # Lower down
//
// [Compile] and [Instance] are the module alone: bytes in, bytes out, no
// network and no clock. Tests replay transcripts on it.
package guest
