// Package metrics exposes the metrics of a connector and its host to Prometheus.
//
// Only this package defines the names, labels and help texts of the host's metrics, which
// OPERATIONS.md lists. Other packages return statistics, and the collectors here read them at
// every scrape. A [Timings] collects durations in histograms.
//
// The label "resource" contains only resources that the connector has listed, so that clients
// cannot create arbitrary series. Package edge implements the metrics of the edge without
// client_golang, which would more than double the size of the worker. An edge metric shares its
// name with the host metric of the same meaning, or else has the prefix watchglass_edge.
package metrics
