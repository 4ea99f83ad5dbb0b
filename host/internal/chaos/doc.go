// Command chaos runs the whole product under faults and checks the data that its
// readers received.
//
// It starts three etcd members and two connectors as processes. The connectors serve
// TLS. The readers are three Go clients and a page in Chromium. All connections from connectors
// to etcd and from readers to connectors pass through proxies, which can delay, throttle, reset
// or interrupt them. Writers continuously change a few thousand objects.
//
// A run is a sequence of rounds. Each round injects one fault and heals it after a while. The
// round then measures how long each reader takes to become current, pauses the writers, and
// requires that:
//
//   - each reader's store equals etcd: the keys, resource versions and JSON
//   - the events that its watch delivered result in the same state
//   - the recordings of the round pass the validators of core/sim/check, which compare
//     them with the history of etcd that an independent witness recorded
//   - no process has ended unexpectedly
//
// The seed determines the sequence of faults, their targets and their duration.
// On a violation the command prints the seed, keeps the recordings and the logs of all
// processes, and exits with status 1. The recordings have the format that "watchglass
// verify" reads.
package main
