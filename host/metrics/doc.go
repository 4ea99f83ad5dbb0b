// Package metrics exposes a connector and its host to Prometheus.
//
// It is the only place that names metrics of the host, with their labels and help texts;
// OPERATIONS.md lists them. Other packages return statistics, and the collectors here read
// them at every scrape. A [Timings] collects durations in histograms.
//
// The label resource names only resources that the connector has listed, so that clients
// cannot create arbitrary series. Package edge implements the metrics of the edge without
// client_golang, which would more than double the size of the worker. A metric of the edge
// has the same name if it has the same meaning, and the prefix watchglass_edge otherwise.
package metrics
