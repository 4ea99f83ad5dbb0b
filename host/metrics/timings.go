package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/connector"
)

var _ connector.Timings = (*Timings)(nil)

// Timings collects durations in histograms. It implements connector.Timings and
// prometheus.Collector. Assign the method Ended to kubeapi.Config.Ended. A Timings is safe for
// concurrent use.
type Timings struct {
	delivery    prometheus.Histogram
	initialSync *prometheus.HistogramVec
	list        *prometheus.HistogramVec
}

// NewTimings returns a Timings without measurements.
func NewTimings() *Timings {
	return &Timings{
		prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "watchglass_event_delivery_seconds",
			Help:    "Time from the receipt of a change from the source to its write to a reader's socket.",
			Buckets: prometheus.ExponentialBuckets(0.00025, 4, 9), // up to 16 s
		}),
		prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "watchglass_initial_sync_seconds",
			Help:    "Time from the first use of a resource to the end of its first list.",
			Buckets: prometheus.ExponentialBuckets(0.01, 4, 8), // up to 164 s
		}, []string{"resource"}),
		prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "watchglass_list_duration_seconds",
			Help:    "Duration of list requests to the Kubernetes API, to the last byte of the response.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 8), // up to 16 s
		}, []string{"code"}),
	}
}

// Delivery implements connector.Timings.
func (t *Timings) Delivery(took time.Duration) { t.delivery.Observe(took.Seconds()) }

// InitialSync implements connector.Timings.
func (t *Timings) InitialSync(resource api.Resource, took time.Duration) {
	t.initialSync.WithLabelValues(resource.String()).Observe(took.Seconds())
}

// Ended records the duration of a list request to the Kubernetes API. It ignores other
// verbs.
func (t *Timings) Ended(verb string, code int, took time.Duration) {
	if verb == "list" {
		t.list.WithLabelValues(strconv.Itoa(code)).Observe(took.Seconds())
	}
}

// Describe implements prometheus.Collector.
func (t *Timings) Describe(out chan<- *prometheus.Desc) {
	t.delivery.Describe(out)
	t.initialSync.Describe(out)
	t.list.Describe(out)
}

// Collect implements prometheus.Collector.
func (t *Timings) Collect(out chan<- prometheus.Metric) {
	t.delivery.Collect(out)
	t.initialSync.Collect(out)
	t.list.Collect(out)
}
