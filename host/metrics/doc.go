// Package metrics exposes a connector and its host to Prometheus.
//
// It is the only place that names metrics of the host, with their labels and help
// texts; OPERATIONS.md lists them. Other packages return statistics, and the
// collectors here read them at every scrape. Durations are histograms, which a
// [Timings] collects.
//
// The label resource has only values of resources that have been listed, so that
// clients cannot create series. The metrics of the edge are in package edge, because
// client_golang would more than double the size of its worker. They have the same names
// where the meaning is the same, and the prefix watchglass_edge otherwise.
package metrics
