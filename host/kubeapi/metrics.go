package kubeapi

import (
	"maps"
	"sync"
)

// Stats describes a handler at one point in time.
type Stats struct {
	Watches int // open watches
	// Seats is the number of seats that requests other than watches take. max-requests
	// limits it.
	Seats   int
	Waiting int // requests that wait for a list or for a resource version
	// Requests counts the requests that have ended.
	Requests map[Ended]uint64
}

// Ended contains the verb and the code of requests that have ended. Verb is a verb of
// the API or "other". Code is the status code, or 499 if the client left before the
// response. The number of different values is therefore small.
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

// counts contains the numbers of ended requests.
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
