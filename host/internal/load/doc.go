// Command load measures the cost of readers for a connector, and the effect of one
// client's abuse on other readers.
//
// The connector is the watchglass binary in a separate process, with --auth kube. Its
// cluster is an etcd behind a second watchglass process, which serves the Kubernetes API.
// A proxy between the two processes answers TokenReviews and SubjectAccessReviews.
//
// The command connects readers of one resource, idle connections and informers. Some
// readers are slow, and some never read. It changes objects at a fixed rate and prints
// the memory per kind of client. Then each kind of abuse runs for a while, in a
// separate process. That process has the lowest priority, because real abusers use
// other machines and take no processor time from healthy readers. The command measures
// the latency of healthy readers before and during an abuse. The printed table shows
// the ratios of the latencies, the connector's memory and processor time, and the
// limits that refused the abuse.
//
// On two cores, the 99th percentile depends mainly on whether the connector's garbage
// collector ran during a measurement. With 15,000 connections, a cycle of the collector
// takes about one second. The reported memory includes garbage that the collector has not
// freed. The value of -ceiling is also the connector's --max-memory, so the collector
// limits the garbage.
//
// With -check, the command exits with status 1 if an abuse is not refused or increases
// a latency by more than half. The status is also 1 if the connector's memory exceeds
// its ceiling or a healthy reader is disconnected. First syncs by many clients are
// legitimate load, so the latencies during first syncs have no target. The command always
// fails if a connected healthy reader misses an event.
//
// "load sizing" measures the processor time and the memory of a connector for several
// numbers of objects, changes, readers and informers. It prints the sizing table of
// examples/deploy/README.md.
package main
