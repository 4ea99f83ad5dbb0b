package kubeapi

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"
)

// counts contains the counters behind the metrics.
type counts struct {
	mu       sync.Mutex
	answered map[answer]uint64
}

// answer is a label set of the request counter. The number of label sets is small.
type answer struct {
	verb string
	code int
}

func (c *counts) add(verb string, code int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answered == nil {
		c.answered = map[answer]uint64{}
	}
	c.answered[answer{verb, code}]++
}

// WriteMetrics writes the handler's metrics in the Prometheus text format.
// Requests are counted when they end.
func (h *Handler) WriteMetrics(w io.Writer) {
	gauge := func(name, help string, value int) {
		fmt.Fprintf(w, "# HELP watchglass_kubeapi_%[1]s %[2]s\n# TYPE watchglass_kubeapi_%[1]s gauge\nwatchglass_kubeapi_%[1]s %[3]d\n", name, help, value)
	}
	gauge("watches", "Open watches of the Kubernetes API.", h.watches.inUse())
	gauge("request_seats", "Seats taken by other requests to the Kubernetes API, of max-requests.", h.requests.inUse())
	gauge("waiting_requests", "Requests to the Kubernetes API that wait for a list or for a resource version.", h.waiting.inUse())
	c := &h.counts
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprint(w, "# HELP watchglass_kubeapi_requests_total Requests to the Kubernetes API that have ended.\n"+
		"# TYPE watchglass_kubeapi_requests_total counter\n")
	answers := make([]answer, 0, len(c.answered))
	for a := range c.answered {
		answers = append(answers, a)
	}
	slices.SortFunc(answers, func(a, b answer) int {
		return cmp.Or(cmp.Compare(a.verb, b.verb), cmp.Compare(a.code, b.code))
	})
	for _, a := range answers {
		fmt.Fprintf(w, "watchglass_kubeapi_requests_total{verb=%q,code=\"%d\"} %d\n", a.verb, a.code, c.answered[a])
	}
}
