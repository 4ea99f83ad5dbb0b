// Package monitoring tests the alert rules and the dashboard in
// examples/deploy/monitoring with promtool and with Prometheus' parser, against the
// metrics of a running connector.
package monitoring
