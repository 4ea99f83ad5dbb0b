package kubeapi

import (
	"maps"
	"sync"
)

// Stats describes a handler at one point in time.
type Stats struct {
	Watches int // open watches
	// Seats is the number of seats taken by requests other than watches. Its limit is
	// max-requests.
	Seats   int
	Waiting int // requests that wait for a list or for a resource version
	// Requests contains the number of completed requests by verb and code.
	Requests map[Ended]uint64
}

// Ended is the verb and the code of a completed request. Verb is a verb of the API or
// "other". Code is the status code, or 499 if the client left before the response. Verb
// and Code have few different values, so they are suitable as metric labels.
type Ended struct {
	Verb string
	Code int
}

// Stats returns the current statistics.
func (h *Handler) Stats() Stats {
	return Stats{
		Watches: h.watches.inUse(), Seats: h.requests.inUse(), Waiting: h.waiting.inUse(),
		Requests: h.counts.copy(),
	}
}

// counts counts the requests that have ended, by verb and code.
type counts struct {
	mu    sync.Mutex
	ended map[Ended]uint64
}

func (c *counts) add(e Ended) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended == nil {
		c.ended = map[Ended]uint64{}
	}
	c.ended[e]++
}

func (c *counts) copy() map[Ended]uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.ended)
}
