package connector

import (
	"math/rand/v2"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/limit"
)

// shedPercent is the percentage of all readers that Shed disconnects at a time.
const shedPercent = 1

// Count returns the number of readers, including those without a Hello.
func (c *Connector) Count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.readers)
}

// Shed disconnects the newest readers of the heaviest clients. The process calls Shed
// when its memory use reaches max-memory. Shed disconnects one percent of all readers,
// and at least one, but never leaves fewer than keep readers. A client is a user or an
// address block. Its weight is the number of its connections and their subscriptions.
func (c *Connector) Shed(keep int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clients := map[string]*client{}
	left := 0
	for r := range c.readers {
		if r.shed {
			continue
		}
		left++
		name := r.clientName()
		if clients[name] == nil {
			clients[name] = &client{}
		}
		clients[name].add(r)
	}
	for n := max(1, left*shedPercent/100); n > 0 && left > keep; n-- {
		c.disconnect(heaviest(clients).removeNewest())
		left--
	}
}

// disconnect ends a reader's connection with the refusal of max-memory. The caller holds
// the lock.
func (c *Connector) disconnect(r *reader) {
	status := c.config.Limits.Refuse(limit.MaxMemory, "the server has reached its memory limit and closed this connection: reconnect later")
	status.RetryAfterSeconds += rand.IntN(maxReturnSeconds)
	r.shed = true
	r.expel(status)
}

const noMemory = "the server has reached its memory limit: try again later"

// refuseWork returns the refusal of new work if the process has reached max-memory, and
// nil otherwise.
func (c *Connector) refuseWork() *api.Status {
	return c.config.Limits.RefuseReached(limit.MaxMemory, noMemory)
}

// clientName returns the name of the reader's client: its user, or its address block if
// the policy does not distinguish users. The caller holds the lock.
func (r *reader) clientName() string {
	if r.user != nil && !r.user.Shared {
		return "user " + r.user.Name
	}
	return r.address.String()
}

// weight returns the weight of the reader for Shed: its connection and its subscriptions.
// The caller holds the lock.
func (r *reader) weight() int { return 1 + len(r.rights) }

// client contains the readers of one client, and their total weight.
type client struct {
	readers []*reader
	weight  int
}

func (c *client) add(r *reader) {
	c.readers = append(c.readers, r)
	c.weight += r.weight()
}

// removeNewest removes and returns the newest reader.
func (c *client) removeNewest() *reader {
	newest := 0
	for i, r := range c.readers {
		if r.number > c.readers[newest].number {
			newest = i
		}
	}
	r := c.readers[newest]
	last := len(c.readers) - 1
	c.readers[newest], c.readers = c.readers[last], c.readers[:last]
	c.weight -= r.weight()
	return r
}

// heaviest returns the client with the most weight.
func heaviest(clients map[string]*client) *client {
	var heaviest *client
	for _, one := range clients {
		if heaviest == nil || one.weight > heaviest.weight {
			heaviest = one
		}
	}
	return heaviest
}
