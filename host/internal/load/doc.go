// Command load measures what readers cost a connector, and what abuse by one client
// costs the other readers.
//
// The connector is the watchglass binary in a process of its own, with --auth kube.
// Its cluster is an etcd behind a second watchglass process that serves the
// Kubernetes API; a proxy in between answers the reviews of tokens and rights.
//
// The command connects readers of one resource, some slow and some that never read,
// idle connections and informers, and changes objects at a fixed rate. It prints
// the memory of each kind of client. Then each kind of abuse runs for a while,
// beside a measurement of the latency of healthy readers just before. The table
// shows the ratios of the latencies, the connector's memory and processor time, and
// the limits that refused the abuse.
//
// With -check it exits with status 1 when an abuse makes a latency more than 1.5
// times as long, when the connector's memory exceeds its ceiling, when an abuse is
// not refused, or when a healthy reader is cut off. First syncs are the work of many
// legitimate clients: their row is printed, and its latencies have no target. A
// healthy reader that stays connected and misses an event is always an error.
package main
