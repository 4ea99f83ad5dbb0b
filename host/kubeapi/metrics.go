package kubeapi

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
)

// counts are what the metrics are made of.
type counts struct {
	watches, requests atomic.Int64 // under way; requests are all but watches
	// deciding is how many wait for Access. They are counted apart, so that
	// strangers do not take the places of those who were let in.
	deciding atomic.Int64

	mu       sync.Mutex
	answered map[answer]uint64
}

// answer is a label set of the request counter; there are few.
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
	c := &h.counts
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintf(w, "# HELP watchglass_kubeapi_watches Open watches of the Kubernetes API.\n"+
		"# TYPE watchglass_kubeapi_watches gauge\nwatchglass_kubeapi_watches %d\n", c.watches.Load())
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
