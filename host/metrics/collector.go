package metrics

import (
	"fmt"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// maxScrapes is the maximum number of concurrent requests for metrics. Further requests receive
// 503.
const maxScrapes = 4

// Handler returns a handler of /metrics that serves the metrics of the collectors. It
// returns an error if two collectors have a metric with the same name.
func Handler(log *slog.Logger, collectors ...prometheus.Collector) (http.Handler, error) {
	registry := prometheus.NewRegistry()
	for _, c := range collectors {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelError), MaxRequestsInFlight: maxScrapes,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		handler.ServeHTTP(w, r)
	}), nil
}

// metric is the type and the description of a metric.
type metric struct {
	kind prometheus.ValueType
	desc *prometheus.Desc
}

func gauge(name, help string, labels ...string) metric {
	return metric{prometheus.GaugeValue, prometheus.NewDesc("watchglass_"+name, help, labels, nil)}
}

func counter(name, help string, labels ...string) metric {
	return metric{prometheus.CounterValue, prometheus.NewDesc("watchglass_"+name+"_total", help, labels, nil)}
}

// sample sends a value of a metric, with the metric's label values.
type sample func(m metric, value float64, labels ...string)

// collector is a prometheus.Collector that reads its metrics at every scrape.
type collector struct {
	metrics []metric
	read    func(sample)
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, m := range c.metrics {
		out <- m.desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	c.read(func(m metric, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(m.desc, m.kind, value, labels...)
	})
}
